//! Forward and reverse mode.

use std::collections::HashMap;
use std::sync::Arc;

use super::TransformError;
use super::walk::{Walk, primitive_of};
use crate::node::Node;
use crate::primitive::{Applied, Asked, Derivative, Slots, Way, scaled};
use crate::{Invalid, Place, Primitive, Value};

/// The tangents of outputs, given tangents of inputs: how outputs change when the
/// inputs do. None stands for zero.
///
/// # Errors
/// When a primitive between them has no derivative, or a tangent does not look
/// like its input.
pub fn jvp(outputs: &[Value], inputs: &[Value], tangents: &[Option<Value>]) -> Result<Slots, TransformError> {
    let mut known: HashMap<(usize, u32), Value> = HashMap::new();
    for (input, tangent) in inputs.iter().zip(tangents) {
        if let Some(tangent) = tangent {
            alike("tangent", input, tangent)?;
            known.insert(input.key(), tangent.clone());
        }
    }
    for node in Walk::new(outputs, inputs, Some(Way::Forward)).nodes {
        let Some(primitive) = primitive_of(&node) else { continue };
        let (operands, results) = (node.operands(), results_of(&node));
        let given: Slots = operands.iter().map(|v| known.get(&v.key()).cloned()).collect();
        if given.iter().all(Option::is_none) {
            continue;
        }
        let at = Applied { inputs: &operands, outputs: &results };
        let found = primitive.jvp(&at, &given).map_err(|e| e.at(node.place()))?;
        for (result, tangent) in results.iter().zip(found) {
            if let Some(tangent) = tangent.filter(|_| result.spec().dtype.is_inexact()) {
                debug_assert_eq!(tangent.spec(), result.spec(), "tangent of {primitive:?}");
                known.insert(result.key(), tangent);
            }
        }
    }
    Ok(outputs.iter().map(|v| known.get(&v.key()).cloned()).collect())
}

/// The cotangents of inputs, given cotangents of outputs: what a change of each
/// input does to the sum of the outputs times their cotangents. None stands for
/// zero.
///
/// # Errors
/// As [`jvp`].
pub fn vjp(
    outputs: &[Value],
    inputs: &[Value],
    cotangents: &[Option<Value>],
) -> Result<Slots, TransformError> {
    let mut known: HashMap<(usize, u32), Value> = HashMap::new();
    for (output, cotangent) in outputs.iter().zip(cotangents) {
        if let Some(cotangent) = cotangent {
            alike("cotangent", output, cotangent)?;
            gather(&mut known, output, cotangent.clone())?;
        }
    }
    for node in Walk::new(outputs, inputs, Some(Way::Reverse)).nodes.into_iter().rev() {
        let Some(primitive) = primitive_of(&node) else { continue };
        let (operands, results) = (node.operands(), results_of(&node));
        let given: Slots = results.iter().map(|v| known.remove(&v.key())).collect();
        if given.iter().all(Option::is_none) {
            continue;
        }
        let at = Applied { inputs: &operands, outputs: &results };
        let found = primitive.vjp(&at, &given).map_err(|e| e.at(node.place()))?;
        for (operand, cotangent) in operands.iter().zip(found) {
            if let Some(cotangent) = cotangent.filter(|_| operand.spec().dtype.is_inexact()) {
                debug_assert_eq!(cotangent.spec(), operand.spec(), "cotangent of {primitive:?}");
                gather(&mut known, operand, cotangent)?;
            }
        }
    }
    Ok(inputs.iter().map(|v| known.get(&v.key()).cloned()).collect())
}

fn alike(what: &'static str, value: &Value, found: &Value) -> Result<(), TransformError> {
    if value.spec() == found.spec() {
        return Ok(());
    }
    let (expected, found) = (value.spec().to_string(), found.spec().to_string());
    Err(TransformError::Unlike { what, expected, found })
}

fn gather(known: &mut HashMap<(usize, u32), Value>, at: &Value, more: Value) -> Result<(), TransformError> {
    let sum = match known.get(&at.key()) {
        Some(there) => there.add(&more)?,
        None => more,
    };
    known.insert(at.key(), sum);
    Ok(())
}

fn results_of(node: &Arc<Node>) -> Vec<Value> {
    (0..node.outputs().len()).map(|index| Value::output(node, index)).collect()
}

/// A failure of a rule, before it is known where the primitive was recorded.
enum Missing {
    Undefined(&'static str, &'static str),
    Other(TransformError),
}

impl Missing {
    fn at(self, place: Place) -> TransformError {
        match self {
            Missing::Undefined(primitive, why) => {
                TransformError::Undefined { primitive, rule: "derivative", why, place }
            }
            Missing::Other(error) => error,
        }
    }
}

impl From<Invalid> for Missing {
    fn from(error: Invalid) -> Missing {
        Missing::Other(error.into())
    }
}

impl From<TransformError> for Missing {
    fn from(error: TransformError) -> Missing {
        Missing::Other(error)
    }
}

/// Inputs apart from all other values, so that a graph of them can be walked.
fn apart(inputs: &[Value]) -> Result<Vec<Value>, TransformError> {
    Ok(inputs.iter().map(Value::again).collect::<Result<_, _>>()?)
}

impl Primitive {
    fn jvp(&self, at: &Applied<'_>, tangents: &[Option<Value>]) -> Result<Slots, Missing> {
        self.with_derivative(|rule| self.jvp_by(rule, at, tangents))
    }

    fn jvp_by(
        &self,
        rule: Derivative<'_>,
        at: &Applied<'_>,
        tangents: &[Option<Value>],
    ) -> Result<Slots, Missing> {
        match rule {
            Derivative::Zero => Ok(vec![None; at.outputs.len()]),
            Derivative::Undefined(why) => Err(Missing::Undefined(self.name(), why)),
            Derivative::Partials(partial) => {
                let mut sum: Option<Value> = None;
                for (k, tangent) in tangents.iter().enumerate() {
                    let Some(tangent) = tangent else { continue };
                    let Some(term) = scaled(tangent, partial(at, k)?, false)? else { continue };
                    sum = Some(match sum {
                        Some(sum) => sum.add(&term)?,
                        None => term,
                    });
                }
                Ok(vec![sum])
            }
            Derivative::Linear { over, .. } => {
                let mut inputs = at.inputs.to_vec();
                for (k, input) in inputs.iter_mut().enumerate().filter(|(k, _)| over.has(*k)) {
                    *input = match &tangents[k] {
                        Some(tangent) => tangent.clone(),
                        None => input.filled_like(0.0)?,
                    };
                }
                if (0..inputs.len()).all(|k| !over.has(k) || tangents[k].is_none()) {
                    return Ok(vec![None; at.outputs.len()]);
                }
                Ok(self.again(&inputs)?.into_iter().map(Some).collect())
            }
            Derivative::Multilinear { over, .. } => {
                let mut sum: Option<Value> = None;
                for (k, tangent) in tangents.iter().enumerate().filter(|(k, _)| over.has(*k)) {
                    let Some(tangent) = tangent else { continue };
                    let mut inputs = at.inputs.to_vec();
                    inputs[k] = tangent.clone();
                    let term = self.again(&inputs)?.remove(0);
                    sum = Some(match sum {
                        Some(sum) => sum.add(&term)?,
                        None => term,
                    });
                }
                Ok(vec![sum])
            }
            Derivative::Via(graph) => {
                let inputs = apart(at.inputs)?;
                Ok(jvp(&graph(&inputs)?, &inputs, tangents)?)
            }
            Derivative::Chosen(choose) => self.jvp_by(choose(at.inputs, Asked::Tangents), at, tangents),
            Derivative::Custom { jvp, .. } => Ok(jvp(at, tangents)?),
            Derivative::Bodies { jvp, .. } => Ok(jvp(at, tangents)?),
        }
    }

    fn vjp(&self, at: &Applied<'_>, cotangents: &[Option<Value>]) -> Result<Slots, Missing> {
        self.with_derivative(|rule| self.vjp_by(rule, at, cotangents))
    }

    fn vjp_by(
        &self,
        rule: Derivative<'_>,
        at: &Applied<'_>,
        cotangents: &[Option<Value>],
    ) -> Result<Slots, Missing> {
        match rule {
            Derivative::Zero => Ok(vec![None; at.inputs.len()]),
            Derivative::Undefined(why) => Err(Missing::Undefined(self.name(), why)),
            Derivative::Partials(partial) => {
                let Some(cotangent) = &cotangents[0] else { return Ok(vec![None; at.inputs.len()]) };
                let one = |k: usize| match at.inputs[k].spec().dtype.is_inexact() {
                    true => scaled(cotangent, partial(at, k)?, true),
                    false => Ok(None),
                };
                Ok((0..at.inputs.len()).map(one).collect::<Result<_, Invalid>>()?)
            }
            Derivative::Linear { transpose, .. } => Ok(transpose(at, cotangents)?),
            Derivative::Multilinear { over, transpose } => {
                let Some(cotangent) = &cotangents[0] else { return Ok(vec![None; at.inputs.len()]) };
                let one = |k: usize| match over.has(k) && at.inputs[k].spec().dtype.is_inexact() {
                    true => Ok(Some(transpose(at, cotangent, k)?)),
                    false => Ok(None),
                };
                (0..at.inputs.len()).map(one).collect()
            }
            Derivative::Via(graph) => {
                let inputs = apart(at.inputs)?;
                Ok(vjp(&graph(&inputs)?, &inputs, cotangents)?)
            }
            Derivative::Chosen(choose) => {
                self.vjp_by(choose(at.inputs, Asked::Cotangents(cotangents)), at, cotangents)
            }
            Derivative::Custom { vjp, .. } => Ok(vjp(at, cotangents)?),
            Derivative::Bodies { vjp, .. } => Ok(vjp(at, cotangents)?),
        }
    }

    fn again(&self, inputs: &[Value]) -> Result<Vec<Value>, TransformError> {
        let inputs: Vec<&Value> = inputs.iter().collect();
        Ok(Value::record_all(self.clone(), &inputs, Place::Internal)?.into_vec())
    }
}
