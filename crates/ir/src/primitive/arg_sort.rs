use oneir_tensor::{DType, HostTensor, Values};

use super::case::{for_dtypes, of, t};
use super::fields::ArgSort;
use super::lanes::{Lanes, places_fit_u32};
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::sort::orders;
use super::{Case, Primitive, one};
use crate::invalid::{axis_within, exactly};
use crate::{Invalid, Spec, Specs};

impl Rules for ArgSort<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        axis_within(*self.axis, x.rank())?;
        if !x.dtype.computes() {
            return Err(Invalid::Undefined { op: "arg_sort", dtype: x.dtype });
        }
        places_fit_u32(x, *self.axis)?;
        one(x.with_dtype(DType::U32))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let spec = self.results(inputs)?.remove(0);
        let values = inputs[0].values()?;
        let mut out = vec![0; spec.count()];
        let lanes = Lanes::new(&spec.shape, *self.axis);
        for (lane, order) in lanes.iter().zip(orders(&inputs[0], &values, *self.axis)) {
            for (at, k) in lane.places().zip(order) {
                out[at] = k as u64;
            }
        }
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &Values::Unsigned(out))?])
    }

    fn nature(&self) -> Nature {
        Nature::Opaque
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::Zero
    }

    fn batching(&self) -> Batching<'_> {
        Batching::with(|_, _| Ok(Primitive::ArgSort { axis: self.axis + 1 }))
    }

    fn cases() -> Vec<Case> {
        use DType::{BF16, Bool, Complex64, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let sort = |axis| Primitive::ArgSort { axis };
        let x = || of(F32, &[2, 3], &[5.0, 1.0, 3.0, 2.0, 2.0, 0.0]);
        let known = vec![
            Case::new(sort(1), vec![x()], vec![t(&[2, 3], &[1u32, 2, 0, 2, 0, 1])]),
            Case::new(sort(0), vec![x()], vec![t(&[2, 3], &[1u32, 0, 1, 0, 1, 0])]),
            Case::new(sort(1), vec![of(F32, &[2, 0], &[])], vec![t::<u32>(&[2, 0], &[])]),
            Case::new(sort(0), vec![of(F32, &[4], &[1.0, 0.0, 1.0, 0.0])], vec![t(&[4], &[1u32, 3, 0, 2])]),
        ];
        let mut cases =
            for_dtypes(F32, &[F16, BF16, F64, Complex64, I8, I16, I32, I64, U8, U16, U32, U64], known);
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        for dtype in [F16, BF16, F32, F64] {
            cases.extend([
                Case::new(
                    sort(0),
                    vec![of(dtype, &[6], &[1.0, -nan, 3.0, nan, inf, -inf])],
                    vec![t(&[6], &[5u32, 0, 2, 4, 1, 3])],
                ),
                Case::new(sort(0), vec![of(dtype, &[3], &[0.0, -0.0, 0.0])], vec![t(&[3], &[0u32, 1, 2])]),
            ]);
        }
        let c = oneir_tensor::Complex32::new;
        cases.extend([
            Case::new(sort(0), vec![of(Bool, &[3], &[1.0, 0.0, 1.0])], vec![t(&[3], &[1u32, 0, 2])]),
            Case::new(
                sort(0),
                vec![t(&[4], &[c(1.0, 2.0), c(f32::NAN, 0.0), c(1.0, -1.0), c(0.0, 5.0)])],
                vec![t(&[4], &[3u32, 2, 0, 1])],
            ),
            Case::refused(sort(2), vec![x()], "axis 2"),
            Case::refused(sort(0), vec![of(DType::I4, &[1], &[1.0])], "arg_sort is not defined for i4"),
        ]);
        cases
    }
}
