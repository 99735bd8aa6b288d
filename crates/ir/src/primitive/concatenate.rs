use oneir_tensor::{DType, HostTensor, Layout};

use super::case::{for_dtypes, of, t};
use super::fields::Concatenate;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::transforms::Over;
use super::{Case, Primitive, one};
use crate::invalid::{axis_within, same_dtype, shape_is};
use crate::{Invalid, Place, Spec, Specs, Value};

impl Rules for Concatenate<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [first, rest @ ..] = inputs else {
            return Err(Invalid::Arity { expected: "at least 1", found: 0 });
        };
        axis_within(*self.axis, first.rank())?;
        let mut size = first.shape[*self.axis];
        for x in rest {
            same_dtype(first, x)?;
            if x.rank() != first.rank() {
                return Err(Invalid::Rank {
                    operand: "each input",
                    expected: "equally many",
                    found: x.shape.to_vec(),
                });
            }
            shape_is("each input", x, &first.shape.with(*self.axis, x.shape[*self.axis]))?;
            size = size.checked_add(x.shape[*self.axis]).ok_or(Invalid::Parameter {
                parameter: "axis",
                found: self.axis.to_string(),
                expected: "a joined size below 2^64",
            })?;
        }
        one(first.with_shape(first.shape.with(*self.axis, size)))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let specs: Vec<Spec> = inputs.iter().map(|x| Spec::new(x.dtype(), x.shape().clone())).collect();
        let spec = self.infer(&specs.iter().collect::<Vec<_>>())?.remove(0);
        let mut out = HostTensor::zeros(spec.dtype, &spec.shape)?.values()?;
        let mut start = vec![0; spec.rank()];
        for x in inputs {
            let values = x.values()?;
            let place = Layout::contiguous(&spec.shape).slice(&start, &vec![1; spec.rank()], x.shape())?;
            for (i, at) in place.offsets().enumerate() {
                out.set(at as usize, &values, i);
            }
            start[*self.axis] += x.shape()[*self.axis];
        }
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &out)?])
    }

    fn nature(&self) -> Nature {
        Nature::Movement
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::linear(Over::All, |at, cotangent| {
            let shape = &cotangent.spec().shape;
            let mut start = vec![0; shape.rank()];
            let mut parts = Vec::with_capacity(at.inputs.len());
            for x in at.inputs {
                let len = x.spec().shape.to_vec();
                let size = len[*self.axis];
                let slice = Primitive::Slice { start: start.clone(), step: vec![1; shape.rank()], len };
                parts.push(Some(Value::record(slice, &[cotangent], Place::Internal)?));
                start[*self.axis] += size;
            }
            Ok(parts)
        })
    }

    fn batching(&self) -> Batching<'_> {
        Batching::with(|_, _| Ok(Primitive::Concatenate { axis: self.axis + 1 }))
    }

    fn cases() -> Vec<Case> {
        let join = |axis| Primitive::Concatenate { axis };
        let known = vec![Case::new(
            join(1),
            vec![
                of(DType::F32, &[2, 1], &[1.0, 0.0]),
                of(DType::F32, &[2, 2], &[0.0, 1.0, 1.0, 1.0]),
                of(DType::F32, &[2, 0], &[]),
            ],
            vec![of(DType::F32, &[2, 3], &[1.0, 0.0, 1.0, 0.0, 1.0, 1.0])],
        )];
        let mut cases = for_dtypes(DType::F32, &DType::COMPUTE, known);
        cases.push(Case::refused(join(0), vec![t(&[1], &[1u8]), t(&[1], &[1i8])], "u8 and i8"));
        cases.push(Case::refused(
            join(0),
            vec![t(&[1, 2], &[1u8, 2]), t(&[1, 1], &[1u8])],
            "each input must have shape [1, 2]",
        ));
        cases
    }
}
