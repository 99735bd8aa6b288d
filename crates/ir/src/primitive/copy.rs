use oneir_tensor::HostTensor;

use super::case::t;
use super::fields::Copy;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, Primitive, one};
use crate::invalid::exactly;
use crate::{Invalid, Spec, Specs};

impl Rules for Copy<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        one(x.clone())
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [x] = inputs else { return Err(Invalid::Arity { expected: "1", found: inputs.len() }.into()) };
        Ok(vec![HostTensor::from_bytes(x.dtype(), x.shape(), &x.bytes())?])
    }

    fn nature(&self) -> Nature {
        Nature::Movement
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::linear_unary(|_, cotangent| Ok(cotangent.clone()))
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Same
    }

    fn cases() -> Vec<Case> {
        vec![
            Case::new(Primitive::Copy, vec![t(&[2], &[1u8, 2])], vec![t(&[2], &[1u8, 2])]),
            Case::new(Primitive::Copy, vec![t::<f32>(&[0], &[])], vec![t::<f32>(&[0], &[])]),
        ]
    }
}
