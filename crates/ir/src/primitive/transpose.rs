use oneir_tensor::{HostTensor, Layout};

use super::case::t;
use super::fields::Transpose;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::transforms::further;
use super::{Case, Primitive, evaluate_view, one};
use crate::invalid::exactly;
use crate::{Invalid, Spec, Specs, undone};

impl Rules for Transpose<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        one(x.with_shape(Layout::contiguous(&x.shape).transpose(self.axes)?.shape))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        evaluate_view(self, inputs)
    }

    fn nature(&self) -> Nature {
        Nature::View
    }

    fn view(&self, input: &Layout) -> Option<Layout> {
        input.transpose(self.axes).ok()
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::linear_unary(|_, cotangent| cotangent.transpose(&undone(self.axes)))
    }

    fn batching(&self) -> Batching<'_> {
        let axes = || std::iter::once(0).chain(further(self.axes)).collect();
        Batching::with(move |_, _| Ok(Primitive::Transpose(axes())))
    }

    fn cases() -> Vec<Case> {
        vec![
            Case::new(
                Primitive::Transpose(vec![1, 0]),
                vec![t(&[2, 3], &[1i32, 2, 3, 4, 5, 6])],
                vec![t(&[3, 2], &[1i32, 4, 2, 5, 3, 6])],
            ),
            Case::parity(
                Primitive::Transpose(vec![2, 0, 1]),
                vec![t(&[2, 1, 3], &[true, false, true, false, true, false])],
            ),
            Case::refused(Primitive::Transpose(vec![0, 0]), vec![t(&[1, 1], &[1u8])], "axis 0"),
        ]
    }
}
