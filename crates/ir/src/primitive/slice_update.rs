use oneir_tensor::{HostTensor, Layout};

use super::case::t;
use super::fields::SliceUpdate;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::transforms::{Over, in_front};
use super::{Case, Primitive, one};
use crate::invalid::{exactly, same_dtype, shape_is};
use crate::{Invalid, Place, Spec, Specs, Value};

impl Rules for SliceUpdate<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [base, update] = exactly(inputs)?;
        same_dtype(base, update)?;
        Layout::contiguous(&base.shape).slice(self.start, self.step, self.len)?;
        shape_is("the update", update, self.len)?;
        one(base.clone())
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [base, update] = inputs else {
            return Err(Invalid::Arity { expected: "2", found: inputs.len() }.into());
        };
        let (mut out, new) = (base.values()?, update.values()?);
        let region = Layout::contiguous(base.shape()).slice(self.start, self.step, self.len)?;
        for (i, at) in region.offsets().enumerate() {
            out.set(at as usize, &new, i);
        }
        Ok(vec![HostTensor::from_values(base.dtype(), base.shape(), &out)?])
    }

    fn nature(&self) -> Nature {
        Nature::Movement
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::linear(Over::All, |at, cotangent| {
            let part = |x: &Value| {
                let slice = Primitive::Slice {
                    start: self.start.clone(),
                    step: self.step.clone(),
                    len: self.len.clone(),
                };
                Value::record(slice, &[x], Place::Internal)
            };
            let update = Primitive::SliceUpdate {
                start: self.start.clone(),
                step: self.step.clone(),
                len: self.len.clone(),
            };
            let zeros = at.inputs[1].filled_like(0.0)?;
            let base = Value::record(update, &[cotangent, &zeros], Place::Internal)?;
            Ok(vec![Some(base), Some(part(cotangent)?)])
        })
    }

    fn batching(&self) -> Batching<'_> {
        Batching::with(|_, size| {
            Ok(Primitive::SliceUpdate {
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
        let update = |start: &[usize], step: &[isize], len: &[usize]| Primitive::SliceUpdate {
            start: start.to_vec(),
            step: step.to_vec(),
            len: len.to_vec(),
        };
        vec![
            Case::new(
                update(&[2], &[-2], &[2]),
                vec![t(&[3], &[1i32, 2, 3]), t(&[2], &[8i32, 9])],
                vec![t(&[3], &[9i32, 2, 8])],
            ),
            Case::new(
                update(&[0, 1], &[1, 1], &[2, 1]),
                vec![t(&[2, 2], &[1f32, 2.0, 3.0, 4.0]), t(&[2, 1], &[7f32, 8.0])],
                vec![t(&[2, 2], &[1f32, 7.0, 3.0, 8.0])],
            ),
            Case::new(
                update(&[1], &[1], &[0]),
                vec![t(&[1], &[true]), t::<bool>(&[0], &[])],
                vec![t(&[1], &[true])],
            ),
            Case::refused(
                update(&[0], &[1], &[2]),
                vec![t(&[3], &[1u8, 2, 3]), t(&[1], &[1u8])],
                "the update must have shape [2], found [1]",
            ),
        ]
    }
}
