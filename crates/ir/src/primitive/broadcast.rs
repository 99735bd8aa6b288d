use oneir_tensor::{HostTensor, Layout};

use super::case::t;
use super::fields::Broadcast;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::transforms::Batched;
use super::{Case, Primitive, evaluate_view, one};
use crate::invalid::exactly;
use crate::{Invalid, ReduceOp, Spec, Specs};

impl Rules for Broadcast<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        one(x.with_shape(Layout::contiguous(&x.shape).broadcast(self.shape)?.shape))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        evaluate_view(self, inputs)
    }

    fn nature(&self) -> Nature {
        Nature::View
    }

    fn view(&self, input: &Layout) -> Option<Layout> {
        input.broadcast(self.shape).ok()
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::linear_unary(|x, cotangent| {
            let shape = &x.spec().shape;
            let lead = self.shape.len() - shape.rank();
            let repeated = |&d: &usize| d < lead || shape[d - lead] != self.shape[d];
            let axes: Vec<usize> = (0..self.shape.len()).filter(repeated).collect();
            let sum =
                if axes.is_empty() { cotangent.clone() } else { cotangent.reduce(ReduceOp::Sum, &axes)? };
            sum.reshape(shape)
        })
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Custom(Box::new(|inputs, size| {
            let x = inputs[0].whole(size)?;
            let lead = self.shape.len() + 1 - x.spec().rank();
            let mut spread = x.spec().shape.to_vec();
            spread.splice(1..1, std::iter::repeat_n(1, lead));
            let shape: Vec<usize> = std::iter::once(size).chain(self.shape.iter().copied()).collect();
            Ok(vec![Batched { value: x.reshape(&spread)?.broadcast(&shape)?, axis: Some(0) }])
        }))
    }

    fn fixes_shape(&self) -> bool {
        true
    }

    fn cases() -> Vec<Case> {
        vec![
            Case::new(
                Primitive::Broadcast(vec![2, 2]),
                vec![t(&[2, 1], &[1i32, 2])],
                vec![t(&[2, 2], &[1i32, 1, 2, 2])],
            ),
            Case::new(Primitive::Broadcast(vec![0]), vec![t(&[1], &[1i32])], vec![t::<i32>(&[0], &[])]),
            Case::refused(
                Primitive::Broadcast(vec![3]),
                vec![t(&[2], &[1u8, 2])],
                "expected shape [3], found [2]",
            ),
        ]
    }
}
