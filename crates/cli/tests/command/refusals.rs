//! Bad input is refused with what is wrong, where, and what to do.

use oneir::{DType, HostTensor};

use crate::model::{INT32, INT64, one_node, value};
use crate::{Folder, MODEL, printed, refused};

#[track_caller]
fn says(args: &[&str], code: i32, parts: &[&str]) {
    let message = refused(args, code);
    for part in parts {
        assert!(message.contains(part), "{args:?}: `{part}` is not in: {message}");
    }
}

#[test]
fn models_that_are_none() {
    let folder = Folder::new("models");
    for command in ["run", "inspect"] {
        says(&[command, "no/such.onnx"], 1, &["no/such.onnx", "No such file"]);
        says(&[command, &folder.0.display().to_string()], 1, &["cannot read"]);
        let text = folder.file("text.onnx");
        std::fs::write(&text, "this is a text").unwrap();
        says(&[command, &text], 1, &["text.onnx: not an ONNX model: it is a text", "help: "]);
        let half = folder.file("half.onnx");
        std::fs::write(&half, &std::fs::read(MODEL).unwrap()[..5000]).unwrap();
        says(&[command, &half], 1, &["half.onnx: not an ONNX model"]);
        let empty = folder.file("empty.onnx");
        std::fs::write(&empty, "").unwrap();
        says(&[command, &empty], 1, &["empty.onnx"]);
    }
}

#[test]
fn devices_that_are_not_there() {
    for command in ["run", "inspect"] {
        let parts = ["no device `tpu`", "cpu-reference", "mock", "help: "];
        says(&[command, MODEL, "--device", "tpu"], 1, &parts);
    }
}

#[test]
fn inputs_that_do_not_fit() {
    let folder = Folder::new("inputs");
    let takes = "the model takes `X`: FLOAT[?, 64]";
    says(&["run", MODEL], 1, &["no value for input `X`", "--input X=VALUE", takes]);
    says(&["run", MODEL, "--input", "Y=1"], 1, &["`--input Y=1` gives `Y`", takes]);
    says(&["run", MODEL, "--input", "x=1"], 1, &["gives `x`", "did you mean `X`?", takes]);
    for empty in ["X=", ""] {
        let parts = ["input `X` is given no value: expected one after `X=`", takes, "a value is a number"];
        says(&["run", MODEL, "--input", empty], 1, &parts);
    }
    says(&["run", MODEL, "--input", "X=1", "--input", "X=2"], 1, &["`X` is given twice"]);
    says(
        &["run", MODEL, "--input", "X=nothing.npy"],
        1,
        &["input `X`: nothing.npy", "all else names a file"],
    );
    says(&["run", MODEL, "--input", "X=[[1,2],[3]]"], 1, &["at character 8", "1 items", "have 2"]);
    says(&["run", MODEL, "--input", "X=[1,2]"], 1, &["`X` must be FLOAT[?, 64]", "f32[2]"]);
    says(&["run", MODEL, "--input", "X=zeros:2xx"], 1, &["expected a shape such as 2x3", "`2xx`"]);
    says(&["run", MODEL, "--input", "X=1e50"], 1, &["1e50", "does not fit f32"]);
    says(&["run", MODEL, "--input", "X=1e400"], 1, &["1e400 is past the largest number"]);
    says(&["run", MODEL, "--input", "picture,layout=hw:x.png"], 1, &["x.png", "No such file"]);
    says(&["run", MODEL, "--input", "zeros:3"], 1, &["`X` must be FLOAT[?, 64], found f32[3]"]);
    says(&["run", MODEL, "--input", "ones:999999999x64"], 1, &["more elements than"]);
    says(&["run", MODEL, "--input", "ones:999999999999999999x64"], 1, &["input `X`"]);

    let zeros = |shape: &[usize]| HostTensor::zeros(DType::F32, shape).unwrap();
    let wrong = folder.tensors("wrong.npz", &[("Z", zeros(&[1, 64]))]);
    says(&["run", MODEL, "--inputs", &wrong], 1, &["wrong.npz gives `Z`", takes]);
    let small = folder.tensors("small.npz", &[("x", zeros(&[1, 64]))]);
    says(&["run", MODEL, "--inputs", &small], 1, &["small.npz gives `x`", "did you mean `X`?"]);
    let none = folder.tensors("none.npz", &[]);
    says(&["run", MODEL, "--inputs", &none], 1, &["no value for input `X`", takes]);
    let shape = folder.tensors("shape.npz", &[("X", zeros(&[64]))]);
    says(&["run", MODEL, "--inputs", &shape], 1, &["`X` must be FLOAT[?, 64]", "shape.npz is f32[64]"]);
    let two = folder.tensors("two.npz", &[("a", zeros(&[1])), ("b", zeros(&[1]))]);
    says(&["run", MODEL, "--input", &two], 1, &["holds 2 tensors (`a`, `b`)", "--inputs"]);
    let mut fine = vec![0f64; 64];
    fine[9] = 1e39;
    let fine = folder.tensors("fine.npy", &[("X", HostTensor::from_slice(&[1, 64], &fine).unwrap())]);
    says(&["run", MODEL, "--input", &fine], 1, &["must be f32", "elements of f64", "element 9 is 1"]);
    let text = folder.file("text.npz");
    std::fs::write(&text, "no archive").unwrap();
    says(&["run", MODEL, "--inputs", &text], 1, &["text.npz"]);
    says(&["run", MODEL, "--inputs", "no/such.npz"], 1, &["no/such.npz", "No such file"]);
}

#[test]
fn files_that_cannot_be_saved() {
    let folder = Folder::new("save");
    let run = |path: &str, parts: &[&str]| says(&["run", "--save", path], 1, parts);
    run("out.txt", &["out.txt", "the extension `txt`", ".safetensors"]);
    run("out", &["no extension"]);
    run("/no/such/folder/out.npz", &["/no/such/folder/out.npz", "cannot create"]);
    run(&folder.file("one.npy"), &["one.npy: expected one tensor", "found 2", "help: "]);
    assert!(!folder.0.join("one.npy").exists());
}

#[test]
fn command_lines_that_are_none() {
    for args in [
        &["run", MODEL, "--frobnicate"][..],
        &["run", "--input", "X=1"],
        &["run", "--inputs", "a.npz"],
        &["inspect"],
        &["inspect", MODEL, "--dump", "polish"],
        &["inspect", MODEL, "--graph", "png"],
        &["inspect", MODEL, "--graph", "dot", "--json"],
        &["inspect", MODEL, "--shape", "X=2y3"],
        &["inspect", MODEL, "--shape", "2x3"],
        &["fly"],
    ] {
        refused(args, 2);
    }
    says(&["inspect", MODEL, "--dump", "polish"], 2, &["lifted", "regions"]);
    says(&["run", "--input", "X=1"], 2, &["no model that takes them", "oneir run MODEL.onnx"]);
}

#[test]
fn shapes_that_do_not_fit() {
    says(&["inspect", MODEL, "--shape", "x=1"], 1, &["`x`", "did you mean `X`?"]);
    says(&["inspect", MODEL, "--shape", "Q=1"], 1, &["`Q`", "the model takes `X`: FLOAT[?, 64]"]);
    says(&["inspect", MODEL, "--shape", "X=1x64", "--shape", "X=2x64"], 1, &["`X` is given twice"]);
    let graph = ["inspect", MODEL, "--shape", "X=1x65", "--graph", "text"];
    says(&graph, 1, &["no graph", "FLOAT[?, 64]", "f32[1, 65]", "help: "]);
    let folder = Folder::new("open");
    let inputs = [value("x", INT32, &[0, 3]), value("shape", INT64, &[3])];
    let path = folder.file("matmul.onnx");
    std::fs::write(&path, one_node("MatMul", &["x", "x"], &inputs, &value("y", INT32, &[0]))).unwrap();
    let hint = "open sizes of x are taken to be 1; --shape NAME=2x3 sets them";
    assert!(printed(&["inspect", &path]).contains(hint));
    says(&["inspect", &path, "--graph", "dot"], 1, &["no graph", hint]);
    assert!(printed(&["inspect", &path, "--shape", "x=3x3"]).contains("after passes"));
}

#[test]
fn outputs_that_are_not_there() {
    let run = |name: &str, parts: &[&str]| {
        says(&["run", MODEL, "--input", "0", "--output", "label", "--output", name], 1, parts);
    };
    let gives = "the model gives `label`: INT64[?], `probabilities`: FLOAT[?, 10]";
    run(
        "probabilites",
        &["`--output probabilites`", "no output of this name", "did you mean `probabilities`?", gives],
    );
    run("boxes", &["`--output boxes`", &format!("help: {gives}")]);
}

#[test]
fn files_of_other_kinds_are_called_by_name() {
    let folder = Folder::new("kinds");
    let picture = concat!(env!("CARGO_MANIFEST_DIR"), "/../io/tests/data/palette.png");
    let array = concat!(env!("CARGO_MANIFEST_DIR"), "/../io/tests/data/f32.npy");
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/../io/tests/data/deflated.npz");
    let weights = concat!(env!("CARGO_MANIFEST_DIR"), "/../io/tests/data/every.safetensors");
    for (file, what, advice) in [
        (picture, "a PNG picture", "--input NAME=FILE"),
        (array, "a NumPy array (npy)", "--input NAME=FILE"),
        (archive, "an archive of NumPy arrays (npz)", "--inputs FILE"),
        (weights, "a safetensors file", "export the model to ONNX"),
        (env!("CARGO_BIN_EXE_oneir"), "a program or library", "the .onnx file"),
    ] {
        for command in ["run", "inspect", "bench"] {
            let told = format!("{file}: not an ONNX model: it is {what}");
            says(&[command, file], 1, &[&told, "help: ", advice]);
        }
    }
    let file = folder.file("model.onnx");
    for (start, what, advice) in [
        (&b"GGUF\x03\0\0\0\0\0"[..], "a GGUF file", "optimum-cli export onnx"),
        (b"PK\x03\x04\x14\0\0\0\0\0", "a zip archive", "unpack it"),
        (b"\x1f\x8b\x08\0", "a gzip file", "gunzip"),
        (b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", "a PyTorch checkpoint", "torch.onnx.export"),
        (b"\x1c\0\0\0TFL3\x14\0", "a TensorFlow Lite model", "tf2onnx.convert --tflite"),
        (b"%PDF-1.7\n", "a PDF document", "the .onnx file"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
            "a pointer of Git LFS",
            "git lfs pull",
        ),
        (b"<!DOCTYPE html>\n<html>", "a web page", "download the file again"),
    ] {
        std::fs::write(&file, start).unwrap();
        says(&["run", &file], 1, &["model.onnx: not an ONNX model: it is ", what, advice]);
    }
    // Of bytes of no known kind, what is wrong with them is said.
    std::fs::write(&file, [0xff; 40]).unwrap();
    says(&["run", &file], 1, &["model.onnx: not an ONNX model", " at byte ", "help: "]);
}
