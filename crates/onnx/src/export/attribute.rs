//! Attributes of nodes.

use crate::proto::attribute_proto::AttributeType;
use crate::proto::{AttributeProto, GraphProto};

fn named(name: &str, kind: AttributeType) -> AttributeProto {
    AttributeProto { name: Some(name.into()), r#type: Some(kind as i32), ..AttributeProto::default() }
}

pub(super) fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: Some(value), ..named(name, AttributeType::Int) }
}

pub(super) fn float(name: &str, value: f32) -> AttributeProto {
    AttributeProto { f: Some(value), ..named(name, AttributeType::Float) }
}

pub(super) fn string(name: &str, value: &str) -> AttributeProto {
    AttributeProto { s: Some(value.into()), ..named(name, AttributeType::String) }
}

pub(super) fn ints(name: &str, values: impl IntoIterator<Item = usize>) -> AttributeProto {
    let ints = values.into_iter().map(|n| n as i64).collect();
    AttributeProto { ints, ..named(name, AttributeType::Ints) }
}

pub(super) fn graph(name: &str, graph: GraphProto) -> AttributeProto {
    AttributeProto { g: Some(Box::new(graph)), ..named(name, AttributeType::Graph) }
}
