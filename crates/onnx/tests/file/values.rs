use oneir_onnx::proto::tensor_shape_proto::{Dimension, dimension::Value as DimValue};
use oneir_onnx::proto::type_proto::{self, Value};
use oneir_onnx::proto::{TensorShapeProto, TypeProto, ValueInfoProto};
use oneir_onnx::{Dim, ElemType, TensorType, ValueType};

use crate::build::*;

fn dims(dims: Vec<Option<DimValue>>) -> TensorShapeProto {
    TensorShapeProto { dim: dims.into_iter().map(|value| Dimension { value, denotation: None }).collect() }
}

fn tensor(elem: i32, shape: Option<TensorShapeProto>) -> TypeProto {
    let tensor = type_proto::Tensor { elem_type: Some(elem), shape };
    TypeProto { value: Some(Value::TensorType(tensor)), denotation: None }
}

fn of(value: Value) -> TypeProto {
    TypeProto { value: Some(value), denotation: None }
}

fn read(ty: TypeProto) -> Result<ValueType, String> {
    let mut g = graph(&[], vec![], &["x"]);
    g.input = vec![ValueInfoProto { r#type: Some(ty), ..value("x") }];
    match open_graph(g) {
        Ok(mut file) => Ok(file.graph.inputs.remove(0).ty),
        Err(e) => Err(e.to_string()),
    }
}

#[test]
fn dimensions_are_sizes_names_or_unknown() {
    let shape = dims(vec![
        Some(DimValue::DimValue(3)),
        Some(DimValue::DimParam("batch".into())),
        Some(DimValue::DimParam(String::new())),
        Some(DimValue::DimValue(-1)),
        Some(DimValue::DimValue(0)),
        None,
    ]);
    let ty = read(tensor(1, Some(shape))).unwrap();
    let expected =
        [Dim::Known(3), Dim::Symbol("batch".into()), Dim::Unknown, Dim::Unknown, Dim::Known(0), Dim::Unknown];
    assert_eq!(ty.tensor(), Some(&TensorType { elem: ElemType::Float, dims: Some(expected.to_vec()) }));
    assert_eq!(ty.to_string(), "FLOAT[3, batch, ?, ?, 0, ?]");
    assert_eq!(read(tensor(8, None)).unwrap().to_string(), "STRING[..]");
    assert_eq!(read(tensor(0, Some(dims(vec![])))).unwrap().to_string(), "UNDEFINED[]");
    assert_eq!(read(TypeProto::default()).unwrap(), ValueType::Unknown);
}

#[test]
fn all_other_types_are_read() {
    let map = Value::MapType(Box::new(type_proto::Map {
        key_type: Some(7),
        value_type: Some(Box::new(tensor(1, None))),
    }));
    let sequence = Value::SequenceType(Box::new(type_proto::Sequence { elem_type: Some(Box::new(of(map))) }));
    let optional =
        Value::OptionalType(Box::new(type_proto::Optional { elem_type: Some(Box::new(of(sequence))) }));
    assert_eq!(read(of(optional)).unwrap().to_string(), "optional(sequence(map(INT64, FLOAT[..])))");
    let sparse = Value::SparseTensorType(type_proto::SparseTensor { elem_type: Some(11), shape: None });
    assert_eq!(read(of(sparse)).unwrap().to_string(), "sparse(DOUBLE[..])");
    let opaque = Value::OpaqueType(type_proto::Opaque { domain: Some("d".into()), name: Some("n".into()) });
    assert_eq!(read(of(opaque)).unwrap().to_string(), "opaque(d, n)");
}

#[test]
fn senseless_types_are_refused() {
    assert_eq!(
        read(tensor(77, None)).unwrap_err(),
        "graph input `x` is declared with element type 77, which the standard does not have"
    );
    assert_eq!(
        read(tensor(1, Some(dims(vec![Some(DimValue::DimValue(-2))])))).unwrap_err(),
        "graph input `x` is declared with a dimension of -2"
    );
}
