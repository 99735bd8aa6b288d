use oneir_onnx::proto::{SparseTensorProto, TensorProto, tensor_proto};
use oneir_onnx::{ElemType, OnnxFile, TensorData};
use oneir_tensor::{DType, Values};
use prost::Message;
use prost::bytes::Bytes;

use crate::build::*;

fn read(tensor: TensorProto) -> Result<TensorData, String> {
    let mut g = graph(&["x"], vec![], &["x"]);
    g.initializer = vec![TensorProto { name: Some("t".into()), ..tensor }];
    match open_graph(g) {
        Ok(mut file) => Ok(file.graph.initializers.remove(0).1),
        Err(e) => Err(e.to_string()),
    }
}

fn typed(elem: ElemType, dims: &[i64]) -> TensorProto {
    TensorProto { dims: dims.to_vec(), data_type: Some(elem.code()), ..Default::default() }
}

fn values(tensor: TensorProto) -> Values {
    read(tensor).unwrap().to_host().unwrap().values().unwrap()
}

#[test]
fn raw_data_is_read_for_every_type_with_a_dtype() {
    for elem in ElemType::ALL {
        let Some(dtype) = elem.dtype() else { continue };
        let bytes: Vec<u8> = (0..dtype.bytes_for(6).unwrap()).map(|i| (i % 2) as u8).collect();
        let data = read(raw(*elem, &[2, 3], &bytes)).unwrap();
        assert_eq!((data.elem(), data.dtype().unwrap(), data.shape()), (*elem, dtype, &[2, 3][..]));
        let host = data.to_host().unwrap();
        assert_eq!((host.dtype(), &host.shape()[..]), (dtype, &[2, 3][..]));
        assert_eq!(&host.bytes()[..], bytes);

        let empty = read(typed(*elem, &[0, 3])).unwrap().to_host().unwrap();
        assert_eq!((empty.dtype(), empty.count()), (dtype, 0));
    }
}

#[test]
fn raw_data_is_a_view_of_the_file() {
    let mut g = graph(&["x"], vec![], &["x"]);
    g.initializer = vec![raw(ElemType::Float, &[4], &[7; 16])];
    let bytes = Bytes::from(model(g).encode_to_vec());
    let file = OnnxFile::from_bytes(bytes.clone(), None).unwrap();
    let host = file.graph.initializers[0].1.to_host().unwrap();
    drop(file);
    assert!(bytes.as_ptr_range().contains(&host.buffer().bytes().as_ptr()));
}

#[test]
fn typed_fields_are_read() {
    let f = |elem, dims: &[i64], floats: &[f32]| {
        values(TensorProto { float_data: floats.to_vec(), ..typed(elem, dims) })
    };
    assert_eq!(f(ElemType::Float, &[2], &[1.5, -2.0]), Values::Float(vec![1.5, -2.0]));
    assert!(matches!(f(ElemType::Complex64, &[1], &[1.0, 2.0]), Values::Complex(v) if v[0].im == 2.0));

    let i = |elem, dims: &[i64], ints: &[i32]| {
        values(TensorProto { int32_data: ints.to_vec(), ..typed(elem, dims) })
    };
    assert_eq!(i(ElemType::Int32, &[2], &[i32::MIN, 5]), Values::Signed(vec![i32::MIN.into(), 5]));
    assert_eq!(i(ElemType::Int16, &[2], &[-300, 300]), Values::Signed(vec![-300, 300]));
    assert_eq!(i(ElemType::Uint16, &[1], &[65535]), Values::Unsigned(vec![65535]));
    assert_eq!(i(ElemType::Int8, &[2], &[-128, 127]), Values::Signed(vec![-128, 127]));
    assert_eq!(i(ElemType::Uint8, &[1], &[200]), Values::Unsigned(vec![200]));
    assert_eq!(i(ElemType::Bool, &[3], &[0, 1, 2]), Values::Bool(vec![false, true, true]));
    assert_eq!(i(ElemType::Float16, &[1], &[0x3e00]), Values::Float(vec![1.5]));
    assert_eq!(i(ElemType::Bfloat16, &[1], &[0xbfc0]), Values::Float(vec![-1.5]));
    assert_eq!(i(ElemType::Float8E4M3Fn, &[1], &[0x38]), Values::Float(vec![1.0]));
    assert_eq!(i(ElemType::Float8E5M2, &[1], &[0x3c]), Values::Float(vec![1.0]));
    assert_eq!(i(ElemType::Float8E8M0, &[1], &[128]), Values::Float(vec![2.0]));
    assert_eq!(i(ElemType::Int4, &[3], &[0x7f, 0x08]), Values::Signed(vec![-1, 7, -8]));
    assert_eq!(i(ElemType::Uint4, &[2], &[0x7f]), Values::Unsigned(vec![15, 7]));
    assert_eq!(i(ElemType::Float4E2M1, &[2], &[0x52]), Values::Float(vec![1.0, 3.0]));
    assert_eq!(i(ElemType::Int2, &[5], &[0b11_10_01_00, 1]), Values::Signed(vec![0, 1, -2, -1, 1]));
    assert_eq!(i(ElemType::Uint2, &[4], &[0b11_10_01_00]), Values::Unsigned(vec![0, 1, 2, 3]));

    assert_eq!(values(longs(&[2], &[i64::MIN, 1])), Values::Signed(vec![i64::MIN, 1]));
    let doubles = TensorProto { double_data: vec![0.1], ..typed(ElemType::Double, &[]) };
    assert_eq!(values(doubles), Values::Float(vec![0.1]));
    let unsigned = |elem, data: Vec<u64>| values(TensorProto { uint64_data: data, ..typed(elem, &[1]) });
    assert_eq!(unsigned(ElemType::Uint64, vec![u64::MAX]), Values::Unsigned(vec![u64::MAX]));
    assert_eq!(unsigned(ElemType::Uint32, vec![7]), Values::Unsigned(vec![7]));
}

#[test]
fn strings_are_read_apart() {
    let t =
        TensorProto { string_data: vec![b"one".to_vec(), vec![0xff]], ..typed(ElemType::String, &[2, 1]) };
    let data = read(t).unwrap();
    assert_eq!(data.strings().unwrap(), [b"one".to_vec(), vec![0xff]]);
    assert_eq!(data.to_host().unwrap_err().to_string(), "initializer `t`: expected numbers, found strings");
    assert!(data.dtype().is_err());
    let numbers = read(longs(&[1], &[1])).unwrap();
    assert_eq!(numbers.strings().unwrap_err().to_string(), "initializer `t`: expected strings, found INT64");
    assert!(read(typed(ElemType::String, &[0])).unwrap().strings().unwrap().is_empty());
}

#[test]
fn types_without_a_dtype_are_refused_when_read() {
    let data = read(raw(ElemType::Complex128, &[1], &[0; 16])).unwrap();
    assert_eq!(
        data.to_host().unwrap_err().to_string(),
        "initializer `t`: elements of COMPLEX128 cannot be read"
    );
    assert!(read(raw(ElemType::Float6E2M3, &[5], &[0; 4])).unwrap().to_host().is_err());
    let sixes = TensorProto { int32_data: vec![0; 5], ..typed(ElemType::Float6E3M2, &[5]) };
    assert!(read(sixes).unwrap().dtype().is_err());
}

#[test]
fn data_that_does_not_fill_its_shape_is_refused() {
    let refusal = |t| read(t).unwrap_err();
    assert_eq!(
        refusal(raw(ElemType::Float, &[2, 3], &[0; 23])),
        "initializer `t`: shape [2, 3] of FLOAT needs 24 bytes, found 23"
    );
    assert_eq!(
        refusal(floats("", &[3], &[1.0])),
        "initializer `t`: shape [3] of FLOAT needs 3 float_data entries, found 1"
    );
    assert!(refusal(longs(&[0], &[1])).contains("needs 0 int64_data entries, found 1"));
    assert!(refusal(typed(ElemType::Int8, &[2])).contains("needs 2 int32_data entries, found 0"));
    assert!(refusal(raw(ElemType::String, &[1], b"abc")).contains("needs 1 string_data entries, found 0"));
    assert!(refusal(raw(ElemType::Int4, &[3], &[0; 3])).contains("needs 2 bytes, found 3"));
}

#[test]
fn absurd_shapes_are_refused() {
    let refusal = |dims: &[i64]| read(typed(ElemType::Float, dims)).unwrap_err();
    assert!(refusal(&[2, -1]).contains("shape [2, -1] has a negative dimension"));
    assert!(refusal(&[i64::MIN]).contains("negative dimension"));
    assert!(refusal(&[i64::MAX]).contains("more elements than an address can name"));
    assert!(refusal(&[i64::MAX, 0, i64::MAX]).contains("more elements than an address can name"));
    assert!(refusal(&[1 << 31, 1 << 31]).contains("more elements than an address can name"));
    assert!(refusal(&[1 << 40]).contains("found 0"));
    assert!(read(TensorProto { data_type: Some(29), ..Default::default() }).unwrap_err().contains("type 29"));
    assert!(read(TensorProto::default()).unwrap_err().contains("element type 0"));
    let segment = Some(tensor_proto::Segment::default());
    assert!(read(TensorProto { segment, ..floats("", &[], &[1.0]) }).unwrap_err().contains("segments"));
    let elsewhere = TensorProto { data_location: Some(9), ..floats("", &[], &[1.0]) };
    assert!(read(elsewhere).unwrap_err().contains("unknown data location 9"));
    let bools = read(raw(ElemType::Bool, &[2], &[1, 2])).unwrap();
    assert!(bools.to_host().unwrap_err().to_string().contains("byte 2 at element 1 is not a bool"));
}

#[test]
fn a_lone_tensor_is_read() {
    let data = TensorData::from_proto(floats("", &[1], &[2.0]), "input").unwrap();
    assert_eq!(data.to_host().unwrap().to_vec::<f32>().unwrap(), [2.0]);
    let short = TensorData::from_proto(floats("", &[2], &[2.0]), "input").unwrap_err();
    assert!(short.to_string().starts_with("value `input`: "), "{short}");
}

fn sparse(values: TensorProto, indices: TensorProto, dims: &[i64]) -> Result<TensorData, String> {
    let mut g = graph(&["x"], vec![], &["x"]);
    let values = TensorProto { name: Some("s".into()), ..values };
    g.sparse_initializer =
        vec![SparseTensorProto { values: Some(values), indices: Some(indices), dims: dims.to_vec() }];
    match open_graph(g) {
        Ok(mut file) => {
            let (name, data) = file.graph.initializers.remove(0);
            assert_eq!(name, "s");
            Ok(data)
        }
        Err(e) => Err(e.to_string()),
    }
}

#[test]
fn sparse_tensors_become_dense() {
    let linear = sparse(floats("", &[2], &[5.0, 6.0]), longs(&[2], &[1, 5]), &[2, 3]).unwrap();
    assert!(linear.is_sparse());
    let host = linear.to_host().unwrap();
    assert_eq!(host.to_vec::<f32>().unwrap(), [0.0, 5.0, 0.0, 0.0, 0.0, 6.0]);
    let tuples = sparse(floats("", &[2], &[5.0, 6.0]), longs(&[2, 2], &[0, 1, 1, 2]), &[2, 3]).unwrap();
    assert_eq!(tuples.to_host().unwrap(), host);

    let packed = TensorProto { int32_data: vec![0x9f, 3], ..typed(ElemType::Uint4, &[3]) };
    let host = sparse(packed, longs(&[3], &[0, 3, 4]), &[5]).unwrap().to_host().unwrap();
    assert_eq!((host.dtype(), host.values().unwrap()), (DType::U4, Values::Unsigned(vec![15, 0, 0, 9, 3])));

    let none = sparse(floats("", &[0], &[]), longs(&[0], &[]), &[2]).unwrap();
    assert_eq!(none.to_host().unwrap().to_vec::<f32>().unwrap(), [0.0, 0.0]);
    let words = TensorProto { string_data: vec![b"w".to_vec()], ..typed(ElemType::String, &[1]) };
    let words = sparse(words, longs(&[1, 1], &[1]), &[2]).unwrap();
    assert_eq!(words.strings().unwrap(), [vec![], b"w".to_vec()]);
}

#[test]
fn broken_sparse_tensors_are_refused() {
    let one = || floats("", &[1], &[5.0]);
    let two = || floats("", &[2], &[5.0, 6.0]);
    let late = |v, i, dims: &[i64]| sparse(v, i, dims).unwrap().to_host().unwrap_err().to_string();
    assert!(late(one(), longs(&[1], &[6]), &[2, 3]).contains("index 6 of value 0 lies outside shape [2, 3]"));
    assert!(late(one(), longs(&[1, 2], &[0, 3]), &[2, 3]).contains("index 3 of value 0"));
    assert!(late(one(), longs(&[1], &[-1]), &[2]).contains("index -1"));
    assert!(late(one(), longs(&[1], &[0]), &[0]).contains("index 0"));
    assert!(late(two(), longs(&[2], &[1, 1]), &[2]).contains("the place of value 1 does not come after"));

    let early = |v, i, dims: &[i64]| sparse(v, i, dims).unwrap_err();
    assert!(early(two(), longs(&[1], &[1]), &[2]).contains("indices have shape [1], expected [2] or [2, 1]"));
    assert!(early(floats("", &[1, 1], &[5.0]), longs(&[1], &[1]), &[2]).contains("expected a vector"));
    assert!(early(one(), floats("", &[1], &[1.0]), &[2]).contains("indices are FLOAT, expected INT64"));
    assert!(
        early(one(), longs(&[1], &[1]), &[1 << 40]).contains("are left of what the file's size justifies")
    );
    assert!(early(one(), longs(&[1], &[1]), &[-4]).contains("negative dimension"));
}
