//! Functions of one thing run over many at once.

use std::collections::HashMap;

use oneir_tensor::HostTensor;

use super::TransformError;
use super::walk::{Walk, primitive_of};
use crate::primitive::{Batched, Batching, Way};
use crate::{Invalid, Place, Primitive, Spec, Value};

/// Outputs recorded from inputs, computed for each of `size` others in their
/// place. The results have the further axis in front, or none where they do not
/// depend on it.
///
/// # Errors
/// When a primitive between them cannot be batched.
pub fn vmap(
    outputs: &[Value],
    inputs: &[Value],
    batched: &[Batched],
    size: usize,
) -> Result<Vec<Batched>, TransformError> {
    let mut known: HashMap<(usize, u32), Batched> = HashMap::new();
    for (input, batched) in inputs.iter().zip(batched) {
        known.insert(input.key(), batched.in_front()?);
    }
    for node in Walk::new(outputs, inputs, Some(Way::Batch)).nodes {
        let Some(primitive) = primitive_of(&node) else { continue };
        let look =
            |v: &Value| known.get(&v.key()).cloned().unwrap_or(Batched { value: v.clone(), axis: None });
        let operands: Vec<Batched> = node.operands().iter().map(look).collect();
        let place = node.place();
        let found = primitive.batched(&operands, size, &place)?;
        for (index, result) in found.into_iter().enumerate() {
            let result = result.in_front()?;
            known.insert(Value::output(&node, index).key(), result);
        }
    }
    let look = |v: &Value| known.get(&v.key()).cloned().unwrap_or(Batched { value: v.clone(), axis: None });
    Ok(outputs.iter().map(look).collect())
}

impl Batched {
    /// With the further axis in front, if it has one.
    fn in_front(&self) -> Result<Batched, Invalid> {
        match self.axis {
            None | Some(0) => Ok(self.clone()),
            Some(axis) => {
                let rank = self.value.spec().rank();
                let axes: Vec<usize> =
                    std::iter::once(axis).chain((0..rank).filter(|&d| d != axis)).collect();
                Ok(Batched { value: self.value.transpose(&axes)?, axis: Some(0) })
            }
        }
    }

    /// With the further axis in front, repeated where there was none.
    pub(crate) fn whole(&self, size: usize) -> Result<Value, Invalid> {
        let front = self.in_front()?;
        if front.axis.is_some() {
            return Ok(front.value);
        }
        let shape: Vec<usize> =
            std::iter::once(size).chain(front.value.spec().shape.iter().copied()).collect();
        front.value.broadcast(&shape)
    }

    /// Shape and dtype of one of the batch.
    pub(crate) fn spec(&self) -> Spec {
        let mut spec = self.value.spec().clone();
        if let Some(axis) = self.axis {
            spec.shape.remove(axis);
        }
        spec
    }
}

impl Primitive {
    fn batched(
        &self,
        inputs: &[Batched],
        size: usize,
        place: &Place,
    ) -> Result<Vec<Batched>, TransformError> {
        if inputs.iter().all(|x| x.axis.is_none()) {
            let values: Vec<&Value> = inputs.iter().map(|x| &x.value).collect();
            let found = Value::record_all(self.clone(), &values, place.clone())?;
            return Ok(found.into_iter().map(|value| Batched { value, axis: None }).collect());
        }
        if size == 0 {
            // Of nothing there is nothing to compute, whatever the rule.
            let specs: Vec<Spec> = inputs.iter().map(Batched::spec).collect();
            let empty = |spec: Spec| {
                let shape: Vec<usize> = std::iter::once(0).chain(spec.shape.iter().copied()).collect();
                let value = Value::constant(HostTensor::zeros(spec.dtype, &shape)?);
                Ok(Batched { value, axis: Some(0) })
            };
            let results = self.infer(&specs.iter().collect::<Vec<_>>())?;
            return results.into_iter().map(empty).collect::<Result<_, Invalid>>().map_err(Into::into);
        }
        self.with_batching(|rule| self.batched_by(rule, inputs, size, place))
    }

    fn batched_by(
        &self,
        rule: Batching<'_>,
        inputs: &[Batched],
        size: usize,
        place: &Place,
    ) -> Result<Vec<Batched>, TransformError> {
        let all = |primitive: Primitive| -> Result<Vec<Batched>, TransformError> {
            let whole = inputs.iter().map(|x| x.whole(size)).collect::<Result<Vec<_>, _>>()?;
            let found = Value::record_all(primitive, &whole.iter().collect::<Vec<_>>(), place.clone())?;
            Ok(found.into_iter().map(|value| Batched { value, axis: Some(0) }).collect())
        };
        match rule {
            Batching::Same => all(self.clone()),
            Batching::With(change) => {
                let specs: Vec<Spec> = inputs.iter().map(Batched::spec).collect();
                all(change(&specs.iter().collect::<Vec<_>>(), size)?)
            }
            Batching::Custom(map) => Ok(map(inputs, size)?),
            Batching::Bodies(map) => map(inputs, size),
            Batching::Via(graph) => {
                let one: Vec<Value> = inputs.iter().map(|x| Value::placeholder(x.spec())).collect();
                vmap(&graph(&one)?, &one, inputs, size)
            }
            Batching::Chosen(choose) => self.batched_by(choose(inputs), inputs, size, place),
            Batching::Undefined(why) => Err(TransformError::Undefined {
                primitive: self.name(),
                rule: "batching rule",
                why,
                place: place.clone(),
            }),
        }
    }
}
