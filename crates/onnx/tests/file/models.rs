use std::fs;
use std::path::{Path, PathBuf};

use oneir_onnx::{OnnxFile, ValueInfo};

fn mlp_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/mlp_digits.onnx")
}

pub(crate) fn mlp_bytes() -> Vec<u8> {
    fs::read(mlp_path()).expect("the model is in the repository")
}

#[test]
fn a_real_model_opens() {
    let file = OnnxFile::open(mlp_path()).unwrap();
    assert_eq!(
        (file.ir_version, file.opsets.version(""), file.opsets.version("ai.onnx.ml")),
        (8, Some(17), Some(1))
    );
    assert_eq!(file.producer.name, "skl2onnx");
    let declared =
        |list: &[ValueInfo]| list.iter().map(|v| format!("{}: {}", v.name, v.ty)).collect::<Vec<_>>();
    assert_eq!(declared(&file.graph.inputs), ["X: FLOAT[?, 64]"]);
    assert_eq!(declared(&file.graph.outputs), ["label: INT64[?]", "probabilities: FLOAT[?, 10]"]);
    assert_eq!(file.graph.nodes.len(), 13);
    assert!(file.graph.nodes.iter().enumerate().all(|(i, node)| node.index == i));
    let bytes: usize =
        file.graph.initializers.iter().map(|(_, data)| data.to_host().unwrap().buffer().len()).sum();
    assert_eq!((file.graph.initializers.len(), bytes), (6, 9688));
}
