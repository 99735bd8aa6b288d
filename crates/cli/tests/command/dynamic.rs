//! A model of two inputs, one of which decides a shape: the graph breaks there.

use oneir::HostTensor;
use serde_json::Value;

use crate::{Folder, printed, refused};

/// A protobuf field with a length, and one with a small number.
pub(crate) fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![number << 3 | 2, content.len() as u8];
    assert!(content.len() < 128);
    out.extend(content);
    out
}

pub(crate) fn number(field: u8, value: u8) -> Vec<u8> {
    vec![field << 3, value]
}

/// A value's name and type; an open size is 0.
pub(crate) fn value(name: &str, elem: u8, dims: &[u8]) -> Vec<u8> {
    let size = |&n: &u8| if n == 0 { field(1, &field(2, b"n")) } else { field(1, &number(1, n)) };
    let shape: Vec<u8> = dims.iter().flat_map(size).collect();
    let tensor = [number(1, elem), field(2, &shape)].concat();
    [field(1, name.as_bytes()), field(2, &field(1, &tensor))].concat()
}

/// y = Reshape(x, shape), with x i32[2, 2] and shape i64[n].
fn reshape(folder: &Folder) -> String {
    let node = [field(1, b"x"), field(1, b"shape"), field(2, b"y"), field(3, b"fold"), field(4, b"Reshape")];
    let graph = [
        field(1, &node.concat()),
        field(2, b"folding"),
        field(11, &value("x", 6, &[2, 2])),
        field(11, &value("shape", 7, &[0])),
        field(12, &value("y", 6, &[0])),
    ]
    .concat();
    // The graph has more bytes than one digit of a length can say.
    let mut file = number(1, 8);
    file.extend([7 << 3 | 2, graph.len() as u8 | 0x80, (graph.len() >> 7) as u8]);
    file.extend(graph);
    file.extend(field(8, &number(2, 17)));
    let path = folder.file("reshape.onnx");
    std::fs::write(&path, file).unwrap();
    path
}

#[test]
fn values_that_decide_shapes_are_read_on_the_way() {
    let folder = Folder::new("dynamic");
    let model = reshape(&folder);
    let x = "x=[[1,2],[3,4]]";
    let shown = printed(&["run", &model, "--input", x, "--input", "shape=[4,1]"]);
    assert_eq!(shown, "y: i32[4, 1]\n[[1]\n [2]\n [3]\n [4]]\n");
    let shown = printed(&["run", &model, "--input", x, "--input", "shape=[-1]", "--device", "mock"]);
    assert_eq!(shown, "y: i32[4]\n[1 2 3 4]\n");

    let wide = HostTensor::from_slice(&[2, 2], &[5i64, 6, 7, 8]).unwrap();
    let shape = HostTensor::from_slice(&[1], &[4u8]).unwrap();
    let file = folder.tensors("both.safetensors", &[("x", wide), ("shape", shape)]);
    let saved = folder.file("y.npy");
    printed(&["run", &model, "--inputs", &file, "--save", &saved]);
    assert_eq!(oneir::io::npy::read(&saved).unwrap().to_vec::<i32>().unwrap(), [5, 6, 7, 8]);
}

#[test]
fn breaks_are_reported_with_their_reason() {
    let folder = Folder::new("breaks");
    let model = reshape(&folder);
    let report = printed(&["inspect", &model, "--shape", "shape=2"]);
    assert!(report.contains("breaks        node `fold` (Reshape) must look at the value"), "{report}");
    let report: Value = serde_json::from_str(&printed(&["inspect", &model, "--json"])).unwrap();
    let reasons = report["trace"]["breaks"]["on_values"].as_array().unwrap();
    assert!(reasons[0].as_str().unwrap().contains("`shape`"), "{reasons:?}");
}

#[test]
fn with_several_inputs_each_must_be_named_and_fit() {
    let folder = Folder::new("several");
    let model = reshape(&folder);
    let message = refused(&["run", &model, "--input", "3"], 1);
    assert!(
        message.contains("does not say for which input") && message.contains("`shape`: INT64[n]"),
        "{message}"
    );
    let message = refused(&["run", &model, "--input", "x=1"], 1);
    assert!(message.contains("no value for input `shape`"), "{message}");
    let message = refused(&["run", &model, "--input", "x=1", "--input", "shape=[5]"], 1);
    assert!(message.contains("reshape.onnx: ") && message.contains("node `fold` (Reshape)"), "{message}");
    let message = refused(&["run", &model, "--input", "x=1.5", "--input", "shape=[4]"], 1);
    assert!(message.contains("input `x`") && message.contains("1.5 does not fit i32"), "{message}");
    let wide = HostTensor::from_slice(&[2, 2], &[1i64 << 40; 4]).unwrap();
    let file = folder.tensors("wide.npy", &[("x", wide)]);
    let message = refused(&["run", &model, "--input", &format!("x={file}"), "--input", "shape=[4]"], 1);
    assert!(message.contains("must be i32") && message.contains("element 0 is 1099511627776"), "{message}");
}
