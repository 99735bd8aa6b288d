use oneir_tensor::HostTensor;

use super::Case;
use super::fields::Fast;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use crate::{Invalid, Spec, Specs};

impl Rules for Fast<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        self.op.infer(inputs)
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        crate::reference::definition(self.op, inputs)
    }

    fn nature(&self) -> Nature {
        Nature::Fused
    }

    fn derivative(&self) -> Option<Derivative<'_>> {
        None
    }

    fn batching(&self) -> Option<Batching<'_>> {
        None
    }

    fn cases() -> Vec<Case> {
        crate::fast::cases()
    }
}
