use oneir_tensor::{DType, HostTensor, Values};

use super::case::{for_dtypes, of, t};
use super::fields::Sort;
use super::lanes::Lanes;
use super::order::compare;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, Primitive, one};
use crate::invalid::{axis_within, exactly};
use crate::{Invalid, Spec, Specs};

/// For each line along `axis`, in row order: which of its elements come first,
/// second, and so on.
pub(super) fn orders(x: &HostTensor, values: &Values, axis: usize) -> Vec<Vec<usize>> {
    let lanes = Lanes::new(x.shape(), axis);
    let order = |lane: super::lanes::Lane| {
        let mut order: Vec<usize> = (0..x.shape()[axis]).collect();
        order.sort_by(|&a, &b| compare(values, lane.at(a), lane.at(b)));
        order
    };
    lanes.iter().map(order).collect()
}

impl Rules for Sort<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        axis_within(*self.axis, x.rank())?;
        if !x.dtype.computes() {
            return Err(Invalid::Undefined { op: "sort", dtype: x.dtype });
        }
        one(x.clone())
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let spec = self.results(inputs)?.remove(0);
        let values = inputs[0].values()?;
        let mut places = vec![0; spec.count()];
        let lanes = Lanes::new(&spec.shape, *self.axis);
        for (lane, order) in lanes.iter().zip(orders(&inputs[0], &values, *self.axis)) {
            for (at, k) in lane.places().zip(order) {
                places[at] = lane.at(k);
            }
        }
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &values.select(&places))?])
    }

    fn nature(&self) -> Nature {
        Nature::Opaque
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::Via(Box::new(|inputs| {
            let order = inputs[0].order(*self.axis)?;
            Ok(vec![inputs[0].taken(*self.axis, &order)?])
        }))
    }

    fn batching(&self) -> Batching<'_> {
        Batching::with(|_, _| Ok(Primitive::Sort { axis: self.axis + 1 }))
    }

    fn cases() -> Vec<Case> {
        use DType::{BF16, Bool, Complex64, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let sort = |axis| Primitive::Sort { axis };
        let x = || of(F32, &[2, 3], &[5.0, 1.0, 3.0, 2.0, 2.0, 0.0]);
        let known = vec![
            Case::new(sort(1), vec![x()], vec![of(F32, &[2, 3], &[1.0, 3.0, 5.0, 0.0, 2.0, 2.0])]),
            Case::new(sort(0), vec![x()], vec![of(F32, &[2, 3], &[2.0, 1.0, 0.0, 5.0, 2.0, 3.0])]),
            Case::new(sort(1), vec![of(F32, &[2, 0], &[])], vec![of(F32, &[2, 0], &[])]),
            Case::new(sort(1), vec![of(F32, &[0, 2], &[])], vec![of(F32, &[0, 2], &[])]),
        ];
        let mut cases =
            for_dtypes(F32, &[F16, BF16, F64, Complex64, I8, I16, I32, I64, U8, U16, U32, U64], known);
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        for dtype in [F16, BF16, F32, F64] {
            cases.push(Case::new(
                sort(0),
                vec![of(dtype, &[6], &[1.0, nan, 3.0, nan, inf, -inf])],
                vec![of(dtype, &[6], &[-inf, 1.0, 3.0, inf, nan, nan])],
            ));
        }
        let c = oneir_tensor::Complex32::new;
        let nan = f32::NAN;
        cases.extend([
            Case::new(
                sort(0),
                vec![of(Bool, &[3], &[1.0, 0.0, 1.0])],
                vec![of(Bool, &[3], &[0.0, 1.0, 1.0])],
            ),
            Case::new(
                sort(0),
                vec![t(&[5], &[c(1.0, 2.0), c(nan, 0.0), c(1.0, -1.0), c(0.0, nan), c(0.0, 5.0)])],
                vec![t(&[5], &[c(0.0, 5.0), c(1.0, -1.0), c(1.0, 2.0), c(nan, 0.0), c(0.0, nan)])],
            ),
            Case::new(
                sort(0),
                vec![t(&[3], &[u64::MAX, u64::MAX - 1, 0])],
                vec![t(&[3], &[0, u64::MAX - 1, u64::MAX])],
            ),
            Case::new(
                sort(1),
                vec![t(&[1, 3, 2], &[3i32, 1, 2, 9, 1, 5])],
                vec![t(&[1, 3, 2], &[1i32, 1, 2, 5, 3, 9])],
            ),
            Case::parity(
                sort(1),
                vec![of(F64, &[2, 3, 2], &(0..12).map(|i| f64::from((i * 5) % 12)).collect::<Vec<_>>())],
            ),
            Case::new(sort(1), vec![of(F32, &[1 << 50, 0], &[])], vec![of(F32, &[1 << 50, 0], &[])]),
            Case::refused(sort(2), vec![x()], "axis 2"),
            Case::refused(sort(0), vec![t(&[], &[1f32])], "axis 0"),
            Case::refused(sort(0), vec![of(DType::I4, &[1], &[1.0])], "sort is not defined for i4"),
        ]);
        cases
    }
}
