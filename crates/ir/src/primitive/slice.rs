use oneir_tensor::{HostTensor, Layout};

use super::case::t;
use super::fields::Slice;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::transforms::in_front;
use super::{Case, Primitive, evaluate_view, one};
use crate::invalid::exactly;
use crate::{Invalid, Place, Spec, Specs, Value};

impl Rules for Slice<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        one(x.with_shape(Layout::contiguous(&x.shape).slice(self.start, self.step, self.len)?.shape))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        evaluate_view(self, inputs)
    }

    fn nature(&self) -> Nature {
        Nature::View
    }

    fn view(&self, input: &Layout) -> Option<Layout> {
        input.slice(self.start, self.step, self.len).ok()
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::linear_unary(|x, cotangent| {
            let update = Primitive::SliceUpdate {
                start: self.start.clone(),
                step: self.step.clone(),
                len: self.len.clone(),
            };
            Value::record(update, &[&x.filled_like(0.0)?, cotangent], Place::Internal)
        })
    }

    fn batching(&self) -> Batching<'_> {
        Batching::with(|_, size| {
            Ok(Primitive::Slice {
                start: in_front(0, self.start),
                step: in_front(1, self.step),
                len: in_front(size, self.len),
            })
        })
    }

    fn fixes_shape(&self) -> bool {
        true
    }

    fn cases() -> Vec<Case> {
        let slice = |start: &[usize], step: &[isize], len: &[usize]| Primitive::Slice {
            start: start.to_vec(),
            step: step.to_vec(),
            len: len.to_vec(),
        };
        vec![
            Case::new(slice(&[3], &[-2], &[2]), vec![t(&[4], &[1i32, 2, 3, 4])], vec![t(&[2], &[4i32, 2])]),
            Case::new(
                slice(&[0, 1], &[1, 1], &[2, 1]),
                vec![t(&[2, 2], &[1f32, 2.0, 3.0, 4.0])],
                vec![t(&[2, 1], &[2f32, 4.0])],
            ),
            Case::new(slice(&[2], &[1], &[0]), vec![t(&[2], &[1u8, 2])], vec![t::<u8>(&[0], &[])]),
            Case::refused(slice(&[1], &[1], &[2]), vec![t(&[2], &[1u8, 2])], "leaves its size 2"),
            Case::refused(slice(&[1], &[0], &[1]), vec![t(&[2], &[1u8, 2])], "slice of axis 0"),
        ]
    }
}
