use oneir_onnx::proto::AttributeProto;
use oneir_onnx::proto::attribute_proto::AttributeType as Kind;
use oneir_onnx::proto::{SparseTensorProto, TypeProto, type_proto};
use oneir_onnx::{Attributes, OnnxError, ValueType};

use crate::build::*;

fn read(list: Vec<AttributeProto>) -> Result<Attributes, OnnxError> {
    let mut n = node("Op", "n", &["x"], &["y"]);
    n.attribute = list;
    Ok(open_graph(graph(&["x"], vec![n], &["y"]))?.graph.nodes.remove(0).attributes)
}

#[test]
fn every_kind_is_read_by_its_getter() {
    let sparse = SparseTensorProto {
        values: Some(floats("", &[1], &[5.0])),
        indices: Some(longs(&[1], &[1])),
        dims: vec![3],
    };
    let sequence =
        TypeProto { value: Some(type_proto::Value::SequenceType(Box::default())), denotation: None };
    let inner = graph(&["a"], vec![], &["a"]);
    let a = read(vec![
        int("i", -3),
        AttributeProto { f: Some(1.5), ..attribute("f", Kind::Float) },
        AttributeProto { s: Some(b"text".to_vec()), ..attribute("s", Kind::String) },
        AttributeProto { ints: vec![1, 2], ..attribute("is", Kind::Ints) },
        AttributeProto { floats: vec![0.5], ..attribute("fs", Kind::Floats) },
        AttributeProto { strings: vec![b"a".to_vec(), b"b".to_vec()], ..attribute("ss", Kind::Strings) },
        tensor_attribute("t", floats("", &[2], &[1.0, 2.0])),
        AttributeProto { tensors: vec![floats("", &[0], &[])], ..attribute("ts", Kind::Tensors) },
        AttributeProto {
            sparse_tensor: Some(Box::new(sparse.clone())),
            ..attribute("st", Kind::SparseTensor)
        },
        AttributeProto { sparse_tensors: vec![sparse], ..attribute("sts", Kind::SparseTensors) },
        graph_attribute("g", inner.clone()),
        AttributeProto { graphs: vec![inner.clone(), inner], ..attribute("gs", Kind::Graphs) },
        AttributeProto { tp: Some(Box::new(sequence.clone())), ..attribute("tp", Kind::TypeProto) },
        AttributeProto { type_protos: vec![sequence], ..attribute("tps", Kind::TypeProtos) },
    ])
    .unwrap();
    assert_eq!(a.int("i").unwrap(), -3);
    assert_eq!(a.float("f").unwrap(), 1.5);
    assert_eq!(a.string("s").unwrap(), "text");
    assert_eq!(a.bytes("s").unwrap(), b"text");
    assert_eq!(a.ints("is").unwrap(), [1, 2]);
    assert_eq!(a.floats("fs").unwrap(), [0.5]);
    assert_eq!(a.strings("ss").unwrap(), ["a", "b"]);
    assert_eq!(a.byte_strings("ss").unwrap().len(), 2);
    assert_eq!(a.tensor("t").unwrap().to_host().unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0]);
    assert_eq!(a.tensors("ts").unwrap()[0].shape(), [0]);
    assert_eq!(a.sparse_tensor("st").unwrap().shape(), [3]);
    assert!(a.sparse_tensors("sts").unwrap()[0].is_sparse());
    assert_eq!(a.graph("g").unwrap().inputs[0].name, "a");
    assert_eq!(a.graphs("gs").unwrap().len(), 2);
    let unknown = ValueType::Sequence(Box::new(ValueType::Unknown));
    assert_eq!(a.value_type("tp").unwrap(), &unknown);
    assert_eq!(a.value_types("tps").unwrap(), [unknown]);
    assert_eq!(a.all_graphs().count(), 3);
    assert_eq!(a.iter().count(), 14);
    assert_eq!(a.tensor("t").unwrap().place().to_string(), "attribute `t` of node `n` (Op)");
}

#[test]
fn absence_and_wrong_kinds_are_told_apart() {
    let a = read(vec![int("axis", 1)]).unwrap();
    assert_eq!(a.int_or("axis", 7).unwrap(), 1);
    assert_eq!(a.int_or("other", 7).unwrap(), 7);
    assert_eq!(a.find_int("other").unwrap(), None);
    assert_eq!(a.ints_or("pads", &[0, 0]).unwrap(), [0, 0]);
    assert_eq!(a.string_or("mode", "linear").unwrap(), "linear");
    assert_eq!(a.int("other").unwrap_err().to_string(), "node `n` (Op) lacks attribute `other`");
    assert_eq!(
        a.floats_or("axis", &[]).unwrap_err().to_string(),
        "attribute `axis` of node `n` (Op): expected floats, found an int"
    );
}

#[test]
fn zeros_that_a_writer_left_out_are_zeros() {
    let a = read(vec![
        attribute("i", Kind::Int),
        attribute("f", Kind::Float),
        attribute("s", Kind::String),
        attribute("is", Kind::Ints),
    ])
    .unwrap();
    assert_eq!(a.int("i").unwrap(), 0);
    assert_eq!(a.float("f").unwrap(), 0.0);
    assert_eq!(a.string("s").unwrap(), "");
    assert!(a.ints("is").unwrap().is_empty());
}

#[test]
fn kinds_are_found_where_the_file_declares_none() {
    let untyped = |a: AttributeProto| AttributeProto { r#type: None, ..a };
    let a = read(vec![untyped(int("i", 4)), untyped(attribute("none", Kind::Int))]).unwrap();
    assert_eq!(a.int("i").unwrap(), 4);
    assert_eq!(
        a.int("none").unwrap_err().to_string(),
        "attribute `none` of node `n` (Op): expected an int, found nothing"
    );
}

#[test]
fn broken_attributes_are_refused() {
    let refusal = |a: Vec<AttributeProto>| read(a).unwrap_err().to_string();
    assert_eq!(refusal(vec![int("i", 1), int("i", 2)]), "node `n` (Op) has attribute `i` twice");
    assert_eq!(
        refusal(vec![AttributeProto { r#type: Some(Kind::Ints as i32), ..int("i", 1) }]),
        "attribute `i` of node `n` (Op): expected ints, found an int"
    );
    assert_eq!(
        refusal(vec![attribute("t", Kind::Tensor)]),
        "attribute `t` of node `n` (Op): expected a tensor, found nothing"
    );
    assert_eq!(
        refusal(vec![AttributeProto { r#type: Some(99), ..int("i", 1) }]),
        "attribute `i` of node `n` (Op) has unknown kind 99"
    );
    let latin = AttributeProto { s: Some(vec![0xe9]), ..attribute("s", Kind::String) };
    let a = read(vec![latin]).unwrap();
    assert_eq!(a.bytes("s").unwrap(), [0xe9]);
    assert_eq!(a.string("s").unwrap_err().to_string(), "attribute `s` of node `n` (Op) is not UTF-8");
}
