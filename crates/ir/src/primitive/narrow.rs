use oneir_tensor::HostTensor;

use super::case::t;
use super::fields::Narrow;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::transforms::{Batched, Over};
use super::{Case, Primitive, one};
use crate::invalid::{axis_within, dtype_is, exactly, shape_is};
use crate::{Invalid, Place, Spec, Specs, Value};

impl Rules for Narrow<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x, count] = exactly(inputs)?;
        axis_within(*self.axis, x.rank())?;
        dtype_is("the count", count, "an integer", |d| d.is_integer())?;
        shape_is("the count", count, &[])?;
        one(x.clone())
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [x, count] = inputs else {
            return Err(Invalid::Arity { expected: "2", found: inputs.len() }.into());
        };
        let found = count.values()?.to_ints().and_then(|v| v.first().copied()).unwrap_or(-1);
        let mut len = x.shape().clone();
        match usize::try_from(found) {
            Ok(n) if n <= len[*self.axis] => len[*self.axis] = n,
            _ => {
                let high = len[*self.axis] as i64;
                return Err(EvalError::OutOfRange { what: "the count of narrow", found, low: 0, high });
            }
        }
        Ok(vec![x.slice(&vec![0; x.rank()], &vec![1; x.rank()], &len)?])
    }

    fn nature(&self) -> Nature {
        Nature::DataSized
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::linear(Over::Only(vec![0]), |at, cotangent| {
            // How many items there are is known only once this runs.
            let put = Primitive::DynamicSliceUpdate { axes: vec![] };
            let start = Value::constant(HostTensor::from_slice::<i32>(&[0], &[])?);
            let zeros = at.inputs[0].filled_like(0.0)?;
            Ok(vec![Some(Value::record(put, &[&zeros, cotangent, &start], Place::Internal)?), None])
        })
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Chosen(Box::new(|inputs| match inputs[1].axis {
            Some(_) => Batching::Undefined("each item of the batch could have another size"),
            None => Batching::Custom(Box::new(|inputs, _| {
                let narrow = Primitive::Narrow { axis: self.axis + 1 };
                let value = Value::record(narrow, &[&inputs[0].value, &inputs[1].value], Place::Internal)?;
                Ok(vec![Batched { value, axis: Some(0) }])
            })),
        }))
    }

    fn cases() -> Vec<Case> {
        vec![
            Case::new(
                Primitive::Narrow { axis: 0 },
                vec![t(&[3], &[1f32, 2.0, 3.0]), t(&[], &[2i32])],
                vec![t(&[2], &[1f32, 2.0])],
            ),
            Case::parity(
                Primitive::Narrow { axis: 1 },
                vec![t(&[2, 3], &[1f64, 2.0, 3.0, 4.0, 5.0, 6.0]), t(&[], &[1i64])],
            ),
            Case::parity(Primitive::Narrow { axis: 0 }, vec![t(&[2, 1], &[1f64, 2.0]), t(&[], &[0i32])]),
            Case::fails(
                Primitive::Narrow { axis: 0 },
                vec![t(&[1], &[1f32]), t(&[], &[2i32])],
                "the count of narrow is 2",
            ),
            Case::refused(
                Primitive::Narrow { axis: 0 },
                vec![t(&[1], &[1f32]), t(&[1], &[1i32])],
                "the count must have shape []",
            ),
        ]
    }
}
