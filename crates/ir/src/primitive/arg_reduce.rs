use std::cmp::Ordering;

use oneir_tensor::{DType, HostTensor, Values};

use super::case::{for_dtypes, of, t};
use super::fields::ArgReduce;
use super::lanes::{Lanes, places_fit_u32};
use super::order::{compare, is_nan};
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{ArgReduceOp, Case, Primitive, one};
use crate::invalid::{axis_within, exactly};
use crate::{Invalid, Spec, Specs};

impl Rules for ArgReduce<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        axis_within(*self.axis, x.rank())?;
        if !x.dtype.computes() {
            return Err(Invalid::Undefined { op: self.op.name(), dtype: x.dtype });
        }
        let shape = x.shape.with(*self.axis, 1);
        if x.shape[*self.axis] == 0 && shape.count() > 0 {
            return Err(Invalid::EmptyExtreme { axis: *self.axis, shape: x.shape.to_vec() });
        }
        places_fit_u32(x, *self.axis)?;
        one(Spec::new(DType::U32, shape))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let spec = self.results(inputs)?.remove(0);
        let values = inputs[0].values()?;
        let better = match self.op {
            ArgReduceOp::Max => Ordering::Greater,
            ArgReduceOp::Min => Ordering::Less,
        };
        let mut out = Vec::with_capacity(spec.count());
        for lane in Lanes::new(inputs[0].shape(), *self.axis).iter() {
            let mut best = 0;
            for (k, at) in lane.places().enumerate() {
                if is_nan(&values, lane.at(best)) {
                    break;
                }
                if is_nan(&values, at) || compare(&values, at, lane.at(best)) == better {
                    best = k;
                }
            }
            out.push(best as u64);
        }
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &Values::Unsigned(out))?])
    }

    fn nature(&self) -> Nature {
        Nature::Reduction
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::Zero
    }

    fn batching(&self) -> Batching<'_> {
        Batching::with(|_, _| Ok(Primitive::ArgReduce { op: *self.op, axis: self.axis + 1 }))
    }

    fn cases() -> Vec<Case> {
        use DType::{BF16, Bool, Complex64, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let arg = |op, axis| Primitive::ArgReduce { op, axis };
        let (max, min) = (ArgReduceOp::Max, ArgReduceOp::Min);
        let x = || of(F32, &[2, 3], &[1.0, 5.0, 5.0, 4.0, 0.0, 0.0]);
        let known = vec![
            Case::new(arg(max, 1), vec![x()], vec![t(&[2, 1], &[1u32, 0])]),
            Case::new(arg(min, 1), vec![x()], vec![t(&[2, 1], &[0u32, 1])]),
            Case::new(arg(max, 0), vec![x()], vec![t(&[1, 3], &[1u32, 0, 0])]),
            Case::new(arg(min, 0), vec![x()], vec![t(&[1, 3], &[0u32, 1, 1])]),
            Case::new(arg(max, 0), vec![of(F32, &[0, 0], &[])], vec![t::<u32>(&[1, 0], &[])]),
            Case::refused(arg(max, 1), vec![of(F32, &[2, 0], &[])], "empty axis 1"),
        ];
        let mut cases =
            for_dtypes(F32, &[F16, BF16, F64, Complex64, I8, I16, I32, I64, U8, U16, U32, U64], known);
        cases.push(Case::new(arg(max, 0), vec![of(Bool, &[3], &[0.0, 1.0, 1.0])], vec![t(&[1], &[1u32])]));
        cases.push(Case::new(arg(min, 0), vec![of(Bool, &[3], &[1.0, 0.0, 0.0])], vec![t(&[1], &[1u32])]));
        let nan = [1.0, f64::NAN, 3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        let signed_zeros = [0.0, -0.0, 0.0];
        for dtype in [F16, BF16, F32, F64] {
            for op in [max, min] {
                cases.push(Case::new(arg(op, 0), vec![of(dtype, &[6], &nan)], vec![t(&[1], &[1u32])]));
                cases.push(Case::new(
                    arg(op, 0),
                    vec![of(dtype, &[3], &signed_zeros)],
                    vec![t(&[1], &[0u32])],
                ));
            }
        }
        let c = oneir_tensor::Complex32::new;
        let complex = || t(&[4], &[c(1.0, 2.0), c(1.0, -1.0), c(0.0, 5.0), c(1.0, 2.0)]);
        cases.extend([
            Case::new(arg(max, 0), vec![complex()], vec![t(&[1], &[0u32])]),
            Case::new(arg(min, 0), vec![complex()], vec![t(&[1], &[2u32])]),
            Case::new(
                arg(min, 0),
                vec![t(&[3], &[c(1.0, 2.0), c(7.0, f32::NAN), c(f32::NAN, 0.0)])],
                vec![t(&[1], &[1u32])],
            ),
            // Larger than f64 holds exactly.
            Case::new(arg(max, 0), vec![t(&[2], &[u64::MAX - 1, u64::MAX])], vec![t(&[1], &[1u32])]),
            Case::new(arg(min, 0), vec![t(&[2], &[i64::MIN + 1, i64::MIN])], vec![t(&[1], &[1u32])]),
            Case::refused(arg(max, 2), vec![x()], "axis 2"),
            Case::refused(arg(max, 0), vec![t(&[], &[1f32])], "axis 0"),
            Case::refused(arg(max, 0), vec![of(DType::F8E5M2, &[1], &[1.0])], "not defined for f8e5m2"),
        ]);
        cases
    }
}
