//! Nodes and constants as a model's messages.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use oneir_tensor::HostTensor;

use super::term::Term;
use super::types;
use crate::file::ElemType;
use crate::proto::{
    GraphProto, NodeProto, TensorProto, TensorShapeProto, TypeProto, ValueInfoProto, tensor_shape_proto,
    type_proto,
};

/// A value's name, type and shape. A batch's axis, and axes that `sizes` names by the
/// value's name, have names instead of sizes.
pub(super) fn value_info(
    term: &Term,
    batch: Option<(&str, usize)>,
    sizes: &HashMap<(Arc<str>, usize), String>,
) -> ValueInfoProto {
    use tensor_shape_proto::dimension::Value;
    let dim = |(axis, &size): (usize, &usize)| {
        let name = batch.filter(|_| term.batch == Some(axis)).map(|(name, items)| match size / items {
            1 => name.to_owned(),
            per => format!("{per}*{name}"),
        });
        let name = name.or_else(|| sizes.get(&(term.name.clone(), axis)).cloned());
        let value = name.map_or(Value::DimValue(size as i64), Value::DimParam);
        tensor_shape_proto::Dimension { value: Some(value), denotation: None }
    };
    let shape = TensorShapeProto { dim: term.shape.iter().enumerate().map(dim).collect() };
    let elem_type = types::elem(term.dtype).map(ElemType::code);
    let tensor = type_proto::Tensor { elem_type, shape: Some(shape) };
    ValueInfoProto {
        name: Some(term.name.to_string()),
        r#type: Some(TypeProto { denotation: None, value: Some(type_proto::Value::TensorType(tensor)) }),
        ..ValueInfoProto::default()
    }
}

/// A graph of nodes.
pub(super) fn graph(
    name: &str,
    nodes: Vec<NodeProto>,
    inputs: &[ValueInfoProto],
    outputs: &[Term],
) -> GraphProto {
    GraphProto {
        node: nodes,
        name: Some(name.into()),
        input: inputs.to_vec(),
        output: outputs.iter().map(|term| value_info(term, None, &HashMap::new())).collect(),
        ..GraphProto::default()
    }
}

/// Names, types and shapes of values.
pub(super) fn infos<'t>(terms: impl Iterator<Item = &'t Term>) -> Vec<ValueInfoProto> {
    terms.map(|term| value_info(term, None, &HashMap::new())).collect()
}

/// The graph of an attribute.
pub(super) fn body(name: &str, nodes: Vec<NodeProto>, inputs: &[Term], outputs: &[Term]) -> GraphProto {
    graph(name, nodes, &infos(inputs.iter()), outputs)
}

/// A constant as a message without its bytes.
pub(super) fn header(name: &str, value: &HostTensor) -> TensorProto {
    TensorProto {
        dims: value.shape().iter().map(|&n| n as i64).collect(),
        data_type: types::elem(value.dtype()).map(ElemType::code),
        name: Some(name.into()),
        ..TensorProto::default()
    }
}

/// A constant as a message that holds its bytes.
pub(super) fn tensor(name: &str, value: &HostTensor) -> TensorProto {
    TensorProto { raw_data: Some(value.bytes().into_owned().into()), ..header(name, value) }
}

/// The graphs in a node's attributes.
fn graphs(node: &mut NodeProto) -> impl Iterator<Item = &mut GraphProto> {
    node.attribute.iter_mut().filter_map(|attribute| attribute.g.as_deref_mut())
}

/// Drops nodes that nothing needs, and gives the names that the others read.
pub(super) fn prune(nodes: &mut Vec<NodeProto>, outputs: &[&str]) -> HashSet<String> {
    let mut needed: HashSet<String> = outputs.iter().map(|&name| name.to_owned()).collect();
    let mut kept = Vec::with_capacity(nodes.len());
    while let Some(mut node) = nodes.pop() {
        if !node.output.iter().any(|name| needed.contains(name)) {
            continue;
        }
        needed.extend(node.input.iter().cloned());
        for graph in graphs(&mut node) {
            let outputs: Vec<String> = graph.output.iter().filter_map(|info| info.name.clone()).collect();
            let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
            needed.extend(prune(&mut graph.node, &outputs));
        }
        kept.push(node);
    }
    kept.reverse();
    *nodes = kept;
    needed
}

/// Gives values other names, wherever they stand.
pub(super) fn rename(nodes: &mut [NodeProto], names: &HashMap<String, String>) {
    let renamed = |all: &mut Vec<String>| {
        for name in all {
            if let Some(new) = names.get(name) {
                new.clone_into(name);
            }
        }
    };
    for node in nodes {
        renamed(&mut node.input);
        renamed(&mut node.output);
        if let Some(name) = node.name.as_mut()
            && let Some(new) = names.get(name)
        {
            new.clone_into(name);
        }
        for graph in graphs(node) {
            rename(&mut graph.node, names);
        }
    }
}
