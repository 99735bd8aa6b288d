use oneir_tensor::HostTensor;

use super::fields::Fast;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, Primitive};
use crate::fast::{FastOp, Softmax};
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

    fn derivative(&self) -> Derivative<'_> {
        Derivative::Via(Box::new(|inputs| self.op.definition(inputs)))
    }

    fn batching(&self) -> Batching<'_> {
        match self.op {
            FastOp::Softmax(softmax) => {
                Batching::with(|_, _| Ok(Primitive::Fast(Softmax { axis: softmax.axis + 1 }.into())))
            }
            // Where the result is of the same class, recognition finds it again.
            op => Batching::Via(Box::new(|inputs| op.definition(inputs))),
        }
    }

    fn cases() -> Vec<Case> {
        crate::fast::cases()
    }
}
