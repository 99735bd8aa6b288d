use oneir_tensor::{HostTensor, Layout};

use super::case::t;
use super::fields::StopGradient;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, Primitive, evaluate_view, one};
use crate::invalid::exactly;
use crate::{Invalid, Spec, Specs};

impl Rules for StopGradient<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        one(x.clone())
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        evaluate_view(self, inputs)
    }

    fn nature(&self) -> Nature {
        Nature::View
    }

    fn view(&self, input: &Layout) -> Option<Layout> {
        Some(input.clone())
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::Zero
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Same
    }

    fn cases() -> Vec<Case> {
        vec![Case::new(Primitive::StopGradient, vec![t(&[2], &[1f32, 2.0])], vec![t(&[2], &[1f32, 2.0])])]
    }
}
