//! What counts as right: near elements, and random ones within their range.

use std::path::PathBuf;

use oneir_cpu as _;
use oneir_onnx::conformance::{Case, Verdict, Way};
use oneir_onnx::proto::attribute_proto::AttributeType;
use oneir_onnx::proto::*;
use oneir_runtime::Runtime;
use prost::Message;

#[allow(dead_code)]
#[path = "file/build.rs"]
mod build;

use build::{floats, graph, int, model, node, opset, with};

/// A case of a test's own, gone when the test is done.
struct Files(PathBuf);

impl Drop for Files {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

fn verdict(test: &str, model: &ModelProto, inputs: &[TensorProto], outputs: &[TensorProto]) -> String {
    let files = Files(std::env::temp_dir().join(format!("oneir-onnx-{}-{test}", std::process::id())));
    let set = files.0.join("test_data_set_0");
    std::fs::create_dir_all(&set).unwrap();
    std::fs::write(files.0.join("model.onnx"), model.encode_to_vec()).unwrap();
    for (stem, tensors) in [("input", inputs), ("output", outputs)] {
        for (k, tensor) in tensors.iter().enumerate() {
            std::fs::write(set.join(format!("{stem}_{k}.pb")), tensor.encode_to_vec()).unwrap();
        }
    }
    let device = Runtime::global().device("cpu").unwrap();
    match Case::at(&files.0).run(&[device], &[Way::Traced, Way::Eager]) {
        Verdict::Pass => "pass".into(),
        Verdict::Random => "random".into(),
        Verdict::Refused(why) => format!("refused: {why}"),
        why => format!("wrong: {why}"),
    }
}

fn row(data: &[f32]) -> TensorProto {
    floats("", &[data.len() as i64], data)
}

fn flag(on: bool) -> TensorProto {
    TensorProto { data_type: Some(9), int32_data: vec![i32::from(on)], ..Default::default() }
}

#[test]
fn elements_are_near_or_equal() {
    let identity = model(graph(&["x"], vec![node("Identity", "", &["x"], &["y"])], &["y"]));
    let same = |test, x: &[f32], y: &[f32]| verdict(test, &identity, &[row(x)], &[row(y)]);
    let infinite = f32::INFINITY;
    assert_eq!(same("near", &[1.0009, f32::NAN, infinite], &[1.0, f32::NAN, infinite]), "pass");
    assert!(same("far", &[1.002], &[1.0]).contains("differs in 1 of 1"));
    assert!(same("zero", &[2e-7], &[0.0]).contains("differs"));
    assert!(same("infinite", &[1.0], &[infinite]).contains("expected inf"));
    assert!(same("sign", &[infinite], &[-infinite]).contains("expected -inf"));
    assert!(same("nan", &[1.0], &[f32::NAN]).contains("expected NaN"));
    let long = |values: &[i64]| build::longs(&[1], values);
    assert_eq!(verdict("long", &identity, &[long(&[1 << 60])], &[long(&[1 << 60])]), "pass");
    let found = verdict("longs", &identity, &[long(&[(1 << 60) + 1])], &[long(&[1 << 60])]);
    assert!(found.contains("1152921504606846977, expected 1152921504606846976"), "{found}");
}

#[test]
fn dropout_is_random_when_it_trains() {
    let dropout = model(graph(
        &["x", "ratio", "training"],
        vec![node("Dropout", "", &["x", "ratio", "training"], &["y", "mask"])],
        &["y"],
    ));
    let run = |test, ratio: f32, training, y: &[f32]| {
        let inputs = [row(&[1.0; 64]), floats("", &[], &[ratio]), flag(training)];
        verdict(test, &dropout, &inputs, &[row(y)])
    };
    assert_eq!(run("train", 0.5, true, &[9.0; 64]), "random");
    assert_eq!(run("infer", 0.5, false, &[1.0; 64]), "pass");
    assert!(run("infer-wrong", 0.5, false, &[9.0; 64]).starts_with("wrong"));
    assert_eq!(run("keep", 0.0, true, &[1.0; 64]), "pass");
    assert!(run("keep-wrong", 0.0, true, &[9.0; 64]).starts_with("wrong"));
    assert!(run("form", 0.5, true, &[9.0; 63]).contains("expected f32[63]"));
}

#[test]
fn only_what_follows_from_random_values_is_random() {
    let nodes = vec![
        node("RandomUniformLike", "", &["x"], &["r"]),
        node("Add", "", &["r", "r"], &["sum"]),
        node("Shape", "", &["sum"], &["shape"]),
        node("Neg", "", &["x"], &["minus"]),
    ];
    let model = model(graph(&["x"], nodes, &["r", "sum", "shape", "minus"]));
    let x = || row(&[1.0, 2.0]);
    let run = |test, shape, minus: &[f32]| {
        let right = [row(&[0.0; 2]), row(&[0.0; 2]), build::longs(&[1], &[shape]), row(minus)];
        verdict(test, &model, &[x()], &right)
    };
    assert_eq!(run("parts", 2, &[-1.0, -2.0]), "random");
    assert!(run("parts-shape", 3, &[-1.0, -2.0]).contains("`shape` differs"));
    assert!(run("parts-minus", 2, &[-1.0, 2.0]).contains("`minus` differs"));
}

#[test]
fn functions_that_draw_are_random() {
    let function = FunctionProto {
        name: Some("Draw".into()),
        domain: Some("own".into()),
        input: vec!["a".into(), "training".into()],
        output: vec!["b".into()],
        node: vec![node("Dropout", "", &["a", "", "training"], &["b"])],
        opset_import: vec![opset("", 22)],
        ..Default::default()
    };
    let call = NodeProto { domain: Some("own".into()), ..node("Draw", "", &["x", "training"], &["y"]) };
    let mut model = model(graph(&["x", "training"], vec![call], &["y"]));
    model.opset_import.push(opset("own", 1));
    model.functions.push(function);
    let run = |test, training, y: &[f32]| verdict(test, &model, &[row(&[1.0; 8]), flag(training)], &[row(y)]);
    assert_eq!(run("draw", true, &[9.0; 8]), "random");
    assert_eq!(run("plain", false, &[1.0; 8]), "pass");
    assert!(run("plain-wrong", false, &[9.0; 8]).starts_with("wrong"));
}

#[test]
fn random_values_stay_in_their_range() {
    let high = AttributeProto { f: Some(0.5), ..build::attribute("high", AttributeType::Float) };
    let draw = with(node("RandomUniformLike", "", &["x"], &["r"]), high);
    let nodes = vec![draw, with(node("Cast", "", &["r"], &["y"]), int("to", 1))];
    let within = model(graph(&["x"], nodes, &["y"]));
    assert_eq!(verdict("range", &within, &[row(&[0.0; 99])], &[row(&[0.0; 99])]), "random");
    let nodes = vec![node("Bernoulli", "", &["x"], &["r"]), node("Log", "", &["r"], &["y"])];
    let logarithms = model(graph(&["x"], nodes, &["y"]));
    let found = verdict("log", &logarithms, &[row(&[0.0; 4])], &[row(&[0.0; 4])]);
    assert!(found.contains("-inf, expected a finite number"), "{found}");
}

#[test]
fn fourier_transforms_may_err_as_single_precision_does() {
    let transform = |nodes| {
        let mut model = model(graph(&["x"], nodes, &["y"]));
        model.opset_import = vec![opset("", 20)];
        model
    };
    let dft = transform(vec![node("DFT", "", &["x"], &["y"])]);
    let x = || floats("", &[1, 2, 1], &[1000.0, 1000.0]);
    let y = |error| floats("", &[1, 2, 2], &[2000.0, 0.0, error, 0.0]);
    assert_eq!(verdict("dft", &dft, &[x()], &[y(1e-4)]), "pass");
    assert!(verdict("dft-wrong", &dft, &[x()], &[y(1e-3)]).contains("differs in 1 of 4"));
}
