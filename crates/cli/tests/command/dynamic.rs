//! A model of two inputs, one of which decides a shape: the graph breaks there.

use oneir::HostTensor;
use serde_json::Value;

use crate::model::{INT32, INT64, one_node, value};
use crate::{Folder, printed, refused};

/// y = Reshape(x, shape), with x i32[2, 2] and shape i64[n].
fn reshape(folder: &Folder) -> String {
    let inputs = [value("x", INT32, &[2, 2]), value("shape", INT64, &[0])];
    let path = folder.file("reshape.onnx");
    std::fs::write(&path, one_node("Reshape", &["x", "shape"], &inputs, &value("y", INT32, &[0]))).unwrap();
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
