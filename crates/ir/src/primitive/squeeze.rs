use oneir_tensor::{HostTensor, Layout};

use super::case::t;
use super::fields::Squeeze;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::transforms::further;
use super::{Case, Primitive, evaluate_view, one};
use crate::invalid::exactly;
use crate::{Invalid, Spec, Specs};

impl Rules for Squeeze<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        one(x.with_shape(Layout::contiguous(&x.shape).squeeze(self.axes)?.shape))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        evaluate_view(self, inputs)
    }

    fn nature(&self) -> Nature {
        Nature::View
    }

    fn view(&self, input: &Layout) -> Option<Layout> {
        input.squeeze(self.axes).ok()
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::linear_unary(|x, cotangent| cotangent.reshape(&x.spec().shape))
    }

    fn batching(&self) -> Batching<'_> {
        Batching::with(|_, _| Ok(Primitive::Squeeze(further(self.axes))))
    }

    fn cases() -> Vec<Case> {
        vec![
            Case::new(
                Primitive::Squeeze(vec![0, 2]),
                vec![t(&[1, 2, 1], &[1u8, 2])],
                vec![t(&[2], &[1u8, 2])],
            ),
            Case::refused(Primitive::Squeeze(vec![0]), vec![t(&[2], &[1u8, 2])], "axis 0"),
        ]
    }
}
