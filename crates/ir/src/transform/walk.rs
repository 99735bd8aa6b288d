use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::node::Node;
use crate::primitive::Way;
use crate::{Primitive, Source, Value};

/// The nodes between inputs and outputs that depend on the inputs, each after
/// those that it reads.
pub(super) struct Walk {
    pub(super) nodes: Vec<Arc<Node>>,
}

impl Walk {
    /// As a transform goes that may have rules of its own on the way; else through
    /// all that was recorded.
    pub(super) fn new(outputs: &[Value], inputs: &[Value], way: Option<Way>) -> Walk {
        let targets: HashSet<usize> = inputs.iter().map(|v| address(v.node())).collect();
        // Whether a node depends on a target; absent while not known.
        let mut depends: HashMap<usize, bool> = targets.iter().map(|&node| (node, true)).collect();
        let mut nodes = Vec::new();
        let mut stack: Vec<(Arc<Node>, bool)> =
            outputs.iter().rev().map(|v| (v.node().clone(), false)).collect();
        while let Some((node, visited)) = stack.pop() {
            let key = address(&node);
            if depends.contains_key(&key) {
                continue;
            }
            let mut operands = node.operands();
            if let Some(Primitive::Custom(call)) = primitive_of(&node)
                && way.is_some_and(|way| call.rules.has(way))
            {
                operands.truncate(call.primals);
            }
            if visited {
                let found = operands.iter().any(|v| depends.get(&address(v.node())) == Some(&true));
                depends.insert(key, found);
                if found {
                    nodes.push(node);
                }
                continue;
            }
            stack.push((node, true));
            stack.extend(operands.iter().map(|v| (v.node().clone(), false)));
        }
        Walk { nodes }
    }
}

pub(super) fn address(node: &Arc<Node>) -> usize {
    Arc::as_ptr(node) as usize
}

/// A node's primitive; none of a leaf.
pub(super) fn primitive_of(node: &Node) -> Option<&Primitive> {
    match node.source() {
        Source::Op(primitive) => Some(primitive),
        _ => None,
    }
}
