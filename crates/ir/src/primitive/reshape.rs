use oneir_tensor::{HostTensor, Layout};

use super::case::t;
use super::fields::Reshape;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, Primitive, evaluate_view, one};
use crate::invalid::exactly;
use crate::{Invalid, Spec, Specs};

impl Rules for Reshape<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        let out = x.with_shape(self.shape.as_slice());
        let count = out.shape.checked_count(x.dtype)?;
        if count != x.count() {
            return Err(Invalid::Shape {
                operand: "the input",
                expected: self.shape.clone(),
                found: x.shape.to_vec(),
            });
        }
        one(out)
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        evaluate_view(self, inputs)
    }

    fn nature(&self) -> Nature {
        Nature::View
    }

    fn view(&self, input: &Layout) -> Option<Layout> {
        input.reshape(self.shape)
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::linear_unary(|x, cotangent| cotangent.reshape(&x.spec().shape))
    }

    fn batching(&self) -> Batching<'_> {
        let shape = |size| std::iter::once(size).chain(self.shape.iter().copied()).collect();
        Batching::with(move |_, size| Ok(Primitive::Reshape(shape(size))))
    }

    fn fixes_shape(&self) -> bool {
        true
    }

    fn cases() -> Vec<Case> {
        vec![
            Case::new(
                Primitive::Reshape(vec![3, 2]),
                vec![t(&[2, 3], &[1i32, 2, 3, 4, 5, 6])],
                vec![t(&[3, 2], &[1i32, 2, 3, 4, 5, 6])],
            ),
            Case::new(
                Primitive::Reshape(vec![4, 0]),
                vec![t::<f32>(&[0], &[])],
                vec![t::<f32>(&[4, 0], &[])],
            ),
            Case::new(Primitive::Reshape(vec![]), vec![t(&[1, 1], &[2.5f32])], vec![t(&[], &[2.5f32])]),
            Case::refused(
                Primitive::Reshape(vec![4]),
                vec![t(&[3], &[1u8, 2, 3])],
                "must have shape [4], found [3]",
            ),
        ]
    }
}
