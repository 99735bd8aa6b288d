use std::fs;
use std::path::{Path, PathBuf};

use oneir_onnx::OnnxFile;

fn mlp_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/mlp_digits.onnx")
}

pub(crate) fn mlp_bytes() -> Vec<u8> {
    fs::read(mlp_path()).expect("the model is in the repository")
}

#[test]
fn a_real_model_opens() {
    let file = OnnxFile::open(mlp_path()).unwrap();
    println!("{file:#?}");
}
