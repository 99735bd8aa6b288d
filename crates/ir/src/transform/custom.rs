//! Calls of functions with rules of their own.

use std::collections::HashMap;
use std::sync::Arc;

use super::bodies::beside;
use super::walk::{Walk, address, primitive_of};
use super::{TransformError, vjp, vmap};
use crate::primitive::{Applied, Batched, ChangeRule, CustomCall, CustomRules, GivenRules, Slots, Way};
use crate::{Invalid, Place, Primitive, ReduceOp, Source, Value};

type Made<T> = Result<T, TransformError>;

/// What results are made of beside the inputs, where a transform that goes on
/// outside may ask for it: values that depend on an argument that is not known, or
/// that are to be differentiated.
pub fn captures(outputs: &[Value], inputs: &[Value]) -> Vec<Value> {
    let mut open = HashMap::new();
    beside(outputs, inputs).into_iter().filter(|v| opened(v, &mut open)).collect()
}

/// Whether a transform may still ask what a value depends on: on an argument that is
/// not known, or on something that is to be differentiated.
pub fn is_open(value: &Value) -> bool {
    value.payload().is_none() && value.as_constant().is_none() && opened(value, &mut HashMap::new())
}

fn opened(value: &Value, known: &mut HashMap<usize, bool>) -> bool {
    let mut stack = vec![(value.clone(), false)];
    while let Some((value, visited)) = stack.pop() {
        let (node, key) = (value.node(), address(value.node()));
        if known.contains_key(&key) {
            continue;
        }
        if node.is_traced() || matches!(node.source(), Source::Placeholder) {
            known.insert(key, true);
            continue;
        }
        let operands = node.operands();
        if visited {
            let any = operands.iter().any(|v| known.get(&address(v.node())) == Some(&true));
            known.insert(key, any);
        } else {
            stack.push((value.clone(), true));
            stack.extend(operands.into_iter().map(|v| (v, false)));
        }
    }
    known.get(&address(value.node())) == Some(&true)
}

/// What was recorded between inputs and outputs, recorded once more on others.
pub(super) fn replay(outputs: &[Value], inputs: &[Value], others: &[Value]) -> Made<Vec<Value>> {
    let mut made: HashMap<(usize, u32), Value> =
        inputs.iter().zip(others).map(|(input, other)| (input.key(), other.clone())).collect();
    for node in Walk::new(outputs, inputs, None).nodes {
        let Some(primitive) = primitive_of(&node) else { continue };
        let operands = node.operands();
        let operands: Vec<&Value> = operands.iter().map(|v| made.get(&v.key()).unwrap_or(v)).collect();
        let again: Vec<Value> = Value::record_all(primitive.clone(), &operands, node.place())?.into_vec();
        for (index, value) in again.into_iter().enumerate() {
            made.insert(Value::output(&node, index).key(), value);
        }
    }
    Ok(outputs.iter().map(|v| made.get(&v.key()).unwrap_or(v).clone()).collect())
}

/// Cotangents of the inputs by a recomputation that waits for those of the results,
/// so that nothing of the first computation has to be kept for it.
fn recomputed(at: &Applied<'_>, cotangents: &[Option<Value>]) -> Made<Slots> {
    let given: Vec<&Value> = cotangents.iter().flatten().collect();
    let later = |x: &Value| {
        let inputs: Vec<&Value> = std::iter::once(x).chain(given.iter().copied()).collect();
        Value::record(Primitive::Depends { n_deps: given.len() }, &inputs, Place::Internal)
    };
    let inputs = at.inputs.iter().map(later).collect::<Result<Vec<_>, _>>()?;
    let outputs = replay(at.outputs, at.inputs, &inputs)?;
    vjp(&outputs, &inputs, cotangents)
}

impl CustomCall {
    fn split<'v, T>(&self, all: &'v [T]) -> (&'v [T], &'v [T]) {
        all.split_at(self.primals.min(all.len()))
    }

    pub(crate) fn jvp(&self, at: &Applied<'_>, tangents: &[Option<Value>]) -> Made<Slots> {
        let (inputs, outputs) = self.split(at.inputs);
        match &self.rules {
            CustomRules::Given(GivenRules { jvp: Some(rule), .. }) => {
                rule(&Applied { inputs, outputs }, self.split(tangents).0)
            }
            _ => Ok(self.split(tangents).1.to_vec()),
        }
    }

    pub(crate) fn vjp(&self, at: &Applied<'_>, cotangents: &[Option<Value>]) -> Made<Slots> {
        let (inputs, outputs) = self.split(at.inputs);
        let at = Applied { inputs, outputs };
        let (found, through) = match &self.rules {
            CustomRules::Given(GivenRules { vjp: Some(rule), .. }) => (rule(&at, cotangents)?, None),
            CustomRules::Recompute => (recomputed(&at, cotangents)?, None),
            _ => (vec![None; inputs.len()], Some(cotangents)),
        };
        let rest = through.map_or_else(|| vec![None; outputs.len()], <[_]>::to_vec);
        Ok([found, rest].concat())
    }

    pub(crate) fn batched(&self, all: &[Batched], size: usize) -> Made<Vec<Batched>> {
        let (inputs, outputs) = self.split(all);
        let rules = match &self.rules {
            CustomRules::Given(GivenRules { vmap: Some(rule), .. }) => return rule(inputs, size),
            CustomRules::None => return Ok(outputs.to_vec()),
            CustomRules::Recompute => CustomRules::Recompute,
            CustomRules::Given(rules) => CustomRules::Given(GivenRules {
                jvp: rules.jvp.as_ref().map(|rule| change_of_batch(rule, inputs, size, Way::Forward)),
                vjp: rules.vjp.as_ref().map(|rule| change_of_batch(rule, inputs, size, Way::Reverse)),
                vmap: None,
            }),
        };
        // The call of the whole batch: what differentiates it meets the rules.
        let call = CustomCall { name: self.name.clone(), primals: self.primals, rules };
        let wholes = outputs.iter().map(|x| x.whole(size)).collect::<Result<Vec<_>, _>>()?;
        let operands: Vec<&Value> = inputs.iter().map(|x| &x.value).chain(&wholes).collect();
        let results = Value::record_all(Primitive::Custom(call), &operands, Place::Internal)?;
        Ok(results.into_iter().map(|value| Batched { value, axis: Some(0) }).collect())
    }
}

/// A rule of one call as that of a whole batch: the rule, batched.
fn change_of_batch(rule: &Arc<ChangeRule>, inputs: &[Batched], size: usize, way: Way) -> Arc<ChangeRule> {
    let axes: Vec<Option<usize>> = inputs.iter().map(|x| x.axis).collect();
    let rule = rule.clone();
    Arc::new(move |at, changes| {
        let results: Vec<Option<usize>> = vec![Some(0); at.outputs.len()];
        let (given_axes, found_axes) =
            if way == Way::Forward { (&axes, &results) } else { (&results, &axes) };
        let mut batch: Vec<Batched> = Vec::new();
        let mut join = |values: &[Value], axes: &[Option<usize>]| -> Vec<Value> {
            let one = |(value, &axis): (&Value, &Option<usize>)| {
                let whole = Batched { value: value.clone(), axis };
                let placeholder = Value::placeholder(whole.spec());
                batch.push(whole);
                placeholder
            };
            values.iter().zip(axes).map(one).collect()
        };
        let (inputs, outputs) = (join(at.inputs, &axes), join(at.outputs, &results));
        let known: Vec<usize> = (0..changes.len()).filter(|&k| changes[k].is_some()).collect();
        let values: Vec<Value> = changes.iter().flatten().cloned().collect();
        let value_axes: Vec<Option<usize>> = known.iter().map(|&k| given_axes[k]).collect();
        let ones = join(&values, &value_axes);
        let mut given: Slots = vec![None; changes.len()];
        for (&k, one) in known.iter().zip(&ones) {
            given[k] = Some(one.clone());
        }
        let found = rule(&Applied { inputs: &inputs, outputs: &outputs }, &given)?;
        let placeholders = [inputs, outputs, ones].concat();
        let somes: Vec<Value> = found.iter().flatten().cloned().collect();
        let mut wholes = vmap(&somes, &placeholders, &batch, size)?.into_iter();
        let place = |(slot, axis): (&Option<Value>, &Option<usize>)| -> Made<Option<Value>> {
            let (Some(_), Some(whole)) = (slot, slot.as_ref().and_then(|_| wholes.next())) else {
                return Ok(None);
            };
            let front = whole.whole(size)?;
            Ok(Some(match axis {
                Some(0) => front,
                Some(axis) => moved(&front, *axis)?,
                // The same input for all: what they do to it adds up.
                None => summed(&front)?,
            }))
        };
        found.iter().zip(found_axes).map(place).collect()
    })
}

/// The first axis at another place.
fn moved(x: &Value, to: usize) -> Result<Value, Invalid> {
    let mut axes: Vec<usize> = (1..x.spec().rank()).collect();
    axes.insert(to, 0);
    x.transpose(&axes)
}

/// The sum over the first axis.
fn summed(x: &Value) -> Result<Value, Invalid> {
    let sum = Value::record(Primitive::Reduce { op: ReduceOp::Sum, axes: vec![0] }, &[x], Place::Internal)?;
    Value::record(Primitive::Squeeze(vec![0]), &[&sum], Place::Internal)
}
