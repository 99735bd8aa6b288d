use oneir_tensor::{DType, HostTensor};

use super::case::{of, t};
use super::fields::AsType;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules, StepOp};
use super::{Case, Primitive, one};
use crate::invalid::exactly;
use crate::{Invalid, Spec, Specs};

impl Rules for AsType<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        one(x.with_dtype(*self.dtype))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [x] = inputs else { return Err(Invalid::Arity { expected: "1", found: inputs.len() }.into()) };
        Ok(vec![x.cast(*self.dtype)?])
    }

    fn nature(&self) -> Nature {
        Nature::ElementWise
    }

    fn step(&self) -> Option<StepOp> {
        self.dtype.computes().then_some(StepOp::AsType(*self.dtype))
    }

    fn derivative(&self) -> Derivative<'_> {
        // Types that are only stored come in jumps.
        match self.dtype.is_inexact() && self.dtype.computes() {
            true => Derivative::linear_unary(|x, cotangent| cotangent.as_type(x.spec().dtype)),
            false => Derivative::Zero,
        }
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Same
    }

    fn cases() -> Vec<Case> {
        let mut cases = vec![
            Case::new(
                Primitive::AsType(DType::I8),
                vec![of(DType::F32, &[4], &[f64::NAN, 300.0, -300.0, -1.75])],
                vec![t(&[4], &[0i8, 127, -128, -1])],
            ),
            Case::new(
                Primitive::AsType(DType::U8),
                vec![t(&[2], &[-1i32, 300])],
                vec![t(&[2], &[255u8, 44])],
            ),
            Case::new(
                Primitive::AsType(DType::Bool),
                vec![of(DType::F32, &[3], &[f64::NAN, 0.0, -0.5])],
                vec![t(&[3], &[true, false, true])],
            ),
            Case::new(
                Primitive::AsType(DType::F8E4M3FN),
                vec![of(DType::F32, &[2], &[1000.0, 0.0625])],
                vec![of(DType::F8E4M3FN, &[2], &[448.0, 0.0625])],
            ),
        ];
        for from in DType::COMPUTE {
            for &to in DType::ALL {
                cases.push(Case::parity(
                    Primitive::AsType(to),
                    vec![of(from, &[2, 4], &[0.0, 1.0, 2.0, 1.0, 1.0, 0.0, 0.0, 1.0])],
                ));
            }
        }
        cases
    }
}
