//! Recorded values as the bodies of control-flow primitives.

use std::collections::HashSet;

use super::TransformError;
use super::custom::replay;
use super::walk::{Walk, address};
use crate::graph::Body;
use crate::{Cut, Source, Value};

/// Constants of at most this many elements belong to a body; larger ones are given
/// to it.
const SMALL: usize = 32;

/// What results are made of beside the inputs: all that was recorded apart from them,
/// each value once.
pub fn beside(outputs: &[Value], inputs: &[Value]) -> Vec<Value> {
    let walk = Walk::new(outputs, inputs, None);
    let inside: HashSet<usize> =
        walk.nodes.iter().chain(inputs.iter().map(Value::node)).map(address).collect();
    let mut seen = HashSet::new();
    let small = |v: &Value| matches!(v.node().source(), Source::Constant(c) if c.count() <= SMALL);
    let operands = walk.nodes.iter().flat_map(|node| node.operands());
    let apart = |v: &Value| !inside.contains(&address(v.node())) && !small(v) && seen.insert(v.key());
    operands.chain(outputs.iter().cloned()).filter(apart).collect()
}

/// What was recorded between inputs and outputs as a body. All that it reads but small
/// constants must be among the inputs; see [`beside`].
///
/// # Errors
/// When it cannot be recorded again.
pub fn body(outputs: &[Value], inputs: &[Value]) -> Result<Body, TransformError> {
    let placeholders: Vec<Value> = inputs.iter().map(|v| Value::placeholder(v.spec().clone())).collect();
    let results = replay(outputs, inputs, &placeholders)?;
    Ok(Body::new(Cut::new(&placeholders, &results).lift().map_err(Box::new)?.graph))
}
