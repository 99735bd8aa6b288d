//! Small models, put together as protobuf messages.

use oneir_onnx::proto::attribute_proto::AttributeType;
use oneir_onnx::proto::*;
use oneir_onnx::{OnnxError, OnnxFile};
use prost::Message;

pub(crate) fn node(op: &str, name: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    NodeProto {
        op_type: Some(op.into()),
        name: (!name.is_empty()).then(|| name.into()),
        input: inputs.iter().map(|s| s.to_string()).collect(),
        output: outputs.iter().map(|s| s.to_string()).collect(),
        ..Default::default()
    }
}

pub(crate) fn with(mut node: NodeProto, attribute: AttributeProto) -> NodeProto {
    node.attribute.push(attribute);
    node
}

pub(crate) fn attribute(name: &str, kind: AttributeType) -> AttributeProto {
    AttributeProto { name: Some(name.into()), r#type: Some(kind as i32), ..Default::default() }
}

pub(crate) fn int(name: &str, value: i64) -> AttributeProto {
    AttributeProto { i: Some(value), ..attribute(name, AttributeType::Int) }
}

pub(crate) fn graph_attribute(name: &str, graph: GraphProto) -> AttributeProto {
    AttributeProto { g: Some(Box::new(graph)), ..attribute(name, AttributeType::Graph) }
}

pub(crate) fn tensor_attribute(name: &str, tensor: TensorProto) -> AttributeProto {
    AttributeProto { t: Some(Box::new(tensor)), ..attribute(name, AttributeType::Tensor) }
}

pub(crate) fn reference(name: &str, parameter: &str, kind: AttributeType) -> AttributeProto {
    AttributeProto { ref_attr_name: Some(parameter.into()), ..attribute(name, kind) }
}

pub(crate) fn value(name: &str) -> ValueInfoProto {
    ValueInfoProto { name: Some(name.into()), ..Default::default() }
}

pub(crate) fn values(names: &[&str]) -> Vec<ValueInfoProto> {
    names.iter().map(|n| value(n)).collect()
}

pub(crate) fn graph(inputs: &[&str], nodes: Vec<NodeProto>, outputs: &[&str]) -> GraphProto {
    GraphProto {
        name: Some("g".into()),
        node: nodes,
        input: values(inputs),
        output: values(outputs),
        ..Default::default()
    }
}

pub(crate) fn floats(name: &str, dims: &[i64], data: &[f32]) -> TensorProto {
    TensorProto {
        name: Some(name.into()),
        dims: dims.to_vec(),
        data_type: Some(1),
        float_data: data.to_vec(),
        ..Default::default()
    }
}

pub(crate) fn longs(dims: &[i64], data: &[i64]) -> TensorProto {
    TensorProto { dims: dims.to_vec(), data_type: Some(7), int64_data: data.to_vec(), ..Default::default() }
}

pub(crate) fn raw(elem: oneir_onnx::ElemType, dims: &[i64], bytes: &[u8]) -> TensorProto {
    TensorProto {
        name: Some("t".into()),
        dims: dims.to_vec(),
        data_type: Some(elem.code()),
        raw_data: Some(bytes.to_vec().into()),
        ..Default::default()
    }
}

pub(crate) fn entry(key: &str, value: &str) -> StringStringEntryProto {
    StringStringEntryProto { key: Some(key.into()), value: Some(value.into()) }
}

pub(crate) fn opset(domain: &str, version: i64) -> OperatorSetIdProto {
    OperatorSetIdProto { domain: Some(domain.into()), version: Some(version) }
}

pub(crate) fn model(graph: GraphProto) -> ModelProto {
    ModelProto {
        ir_version: Some(14),
        opset_import: vec![opset("", 28)],
        graph: Some(graph),
        ..Default::default()
    }
}

pub(crate) fn open(model: &ModelProto) -> Result<OnnxFile, OnnxError> {
    OnnxFile::from_bytes(model.encode_to_vec(), None)
}

pub(crate) fn open_graph(graph: GraphProto) -> Result<OnnxFile, OnnxError> {
    open(&model(graph))
}

/// The message of the error that reading the graph raises.
pub(crate) fn refusal(graph: GraphProto) -> String {
    open_graph(graph).expect_err("the graph is refused").to_string()
}
