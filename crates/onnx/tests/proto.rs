//! The checked-in messages are what the generator makes of the schemas in
//! `proto/`.

use std::path::Path;
use std::{env, fs};

#[test]
fn generated_messages_are_current() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("proto");
    fs::create_dir_all(&out).expect("a folder for the generator");

    let proto = here.join("proto");
    let files = protox::compile(["onnx.proto", "onnx-data.proto"], [proto]).expect("the schemas compile");
    prost_build::Config::new()
        .out_dir(&out)
        .disable_comments(["."])
        .bytes([".onnx.TensorProto.raw_data"])
        // An empty attribute is two bytes in a file: boxes keep what it
        // becomes in memory small.
        .boxed(".onnx.AttributeProto.t")
        .boxed(".onnx.AttributeProto.g")
        .boxed(".onnx.AttributeProto.tp")
        .boxed(".onnx.AttributeProto.sparse_tensor")
        .compile_fds(files)
        .expect("messages are generated");

    let made = fs::read_to_string(out.join("onnx.rs")).expect("the generator wrote onnx.rs");
    let kept = here.join("src/proto/onnx.rs");
    if env::var_os("ONEIR_WRITE_PROTO").is_some() {
        fs::write(&kept, &made).expect("src/proto/onnx.rs is writable");
    }
    let kept = fs::read_to_string(kept).expect("src/proto/onnx.rs is there");
    assert!(made == kept, "src/proto/onnx.rs is stale: run this test with ONEIR_WRITE_PROTO=1");
}
