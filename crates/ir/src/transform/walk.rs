use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::node::Node;
use crate::{Primitive, Source, Value};

/// The nodes between inputs and outputs that depend on the inputs, each after
/// those that it reads.
pub(super) struct Walk {
    pub(super) nodes: Vec<Arc<Node>>,
}

impl Walk {
    pub(super) fn new(outputs: &[Value], inputs: &[Value]) -> Walk {
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
            let operands = node.operands();
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
