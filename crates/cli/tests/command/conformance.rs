//! Cases of a test's own, run as the standard's are.

use std::path::Path;

use serde_json::Value;

use crate::model::{field, number, value};
use crate::{Folder, oneir, printed, refused};

const F32: u8 = 1;
const I32: u8 = 6;

/// A model of one node.
fn model(op: &str, inputs: &[(&str, u8, &[usize])], elem: u8, dims: &[usize]) -> Vec<u8> {
    let mut node: Vec<u8> = inputs.iter().flat_map(|(name, ..)| field(1, name.as_bytes())).collect();
    node.extend([field(2, b"y"), field(4, op.as_bytes())].concat());
    let mut graph = [field(1, &node), field(2, b"g")].concat();
    graph.extend(inputs.iter().flat_map(|(name, elem, dims)| field(11, &value(name, *elem, dims))));
    graph.extend(field(12, &value("y", elem, dims)));
    [number(1, 8), field(7, &graph), field(8, &number(2, 17))].concat()
}

fn tensor(elem: u8, dims: &[usize], raw: &[u8]) -> Vec<u8> {
    let dims: Vec<u8> = dims.iter().flat_map(|&n| number(1, n)).collect();
    [dims, number(2, elem.into()), field(9, raw)].concat()
}

fn floats(values: &[f32]) -> Vec<u8> {
    let raw: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    tensor(F32, &[values.len()], &raw)
}

fn case(folder: &Folder, name: &str, model: &[u8], inputs: &[Vec<u8>], outputs: &[Vec<u8>]) {
    let set = Path::new(&folder.file(name)).join("test_data_set_0");
    std::fs::create_dir_all(&set).unwrap();
    std::fs::write(set.with_file_name("model.onnx"), model).unwrap();
    for (stem, files) in [("input", inputs), ("output", outputs)] {
        for (k, bytes) in files.iter().enumerate() {
            std::fs::write(set.join(format!("{stem}_{k}.pb")), bytes).unwrap();
        }
    }
}

/// Neg of two floats, said to give `right`.
fn negation(folder: &Folder, name: &str, right: &[f32]) {
    let neg = model("Neg", &[("x", F32, &[2])], F32, &[2]);
    case(folder, name, &neg, &[floats(&[1.0, f32::NAN])], &[floats(right)]);
}

/// The result and detail of each case, by name.
fn results(folder: &Folder, arguments: &[&str]) -> (Option<i32>, Value, String) {
    let (cases, json) = (folder.file("cases"), folder.file("results.json"));
    let output = oneir(&[&["conformance", &cases, "--json", &json], arguments].concat());
    let report = serde_json::from_str(&std::fs::read_to_string(json).unwrap()).unwrap();
    (output.status.code(), report, String::from_utf8(output.stdout).unwrap())
}

#[test]
fn every_case_has_a_result() {
    let folder = Folder::new("conformance");
    negation(&folder, "cases/deep/er/right", &[-1.0005, f32::NAN]);
    negation(&folder, "cases/wrong/number", &[-1.5, f32::NAN]);
    negation(&folder, "cases/wrong/infinity", &[f32::NEG_INFINITY, f32::NAN]);
    negation(&folder, "cases/wrong/shape", &[-1.0]);
    let foo = model("MatFoo", &[("x", F32, &[2])], F32, &[2]);
    case(&folder, "cases/refused/operator", &foo, &[floats(&[1.0, 2.0])], &[floats(&[1.0, 2.0])]);
    case(&folder, "cases/refused/file", b"a text", &[], &[floats(&[1.0])]);
    let neg = model("Neg", &[("x", F32, &[2])], F32, &[2]);
    case(&folder, "cases/refused/data", &neg, &[b"no tensor".to_vec()], &[floats(&[1.0, 2.0])]);
    case(&folder, "cases/refused/no_output", &neg, &[floats(&[1.0, 2.0])], &[]);
    case(&folder, "cases/refused/more", &neg, &[floats(&[1.0, 2.0])], &[floats(&[1.0]), floats(&[1.0])]);
    let draw = model("Bernoulli", &[("x", F32, &[2])], F32, &[2]);
    case(&folder, "cases/random/right", &draw, &[floats(&[0.5, 0.5])], &[floats(&[0.0, 0.0])]);
    let wide = tensor(I32, &[2], &[0; 8]);
    case(&folder, "cases/random/type", &draw, &[floats(&[0.5, 0.5])], &[wide]);

    let (code, report, text) = results(&folder, &["--jobs", "2"]);
    assert_eq!(code, Some(1), "{text}");
    let totals = serde_json::json!({ "pass": 1, "refused": 5, "wrong": 4, "crash": 0, "random": 1 });
    assert_eq!(report["totals"], totals);
    let found: Vec<[&str; 3]> = report["cases"].as_array().unwrap().iter().map(row).collect();
    for (found, (name, result, detail)) in found.iter().zip([
        ("deep/er/right", "pass", ""),
        ("random/right", "random", "range are right"),
        ("random/type", "wrong", "`y` is f32[2], expected i32[2]"),
        ("refused/data", "refused", "test_data_set_0/input_0.pb: not a TensorProto"),
        ("refused/file", "refused", "not an ONNX model"),
        ("refused/more", "refused", "test_data_set_0/output_1.pb: the model has 1 output only"),
        ("refused/no_output", "refused", "test_data_set_0/output_0.pb: there is no such file"),
        ("refused/operator", "refused", "not implemented: MatFoo"),
        ("wrong/infinity", "wrong", "`y` differs in 1 of 2 elements: f32[2][0] is -1, expected -inf"),
        ("wrong/number", "wrong", "on cpu, traced: `y` differs in 1 of 2 elements: f32[2][0] is -1"),
        ("wrong/shape", "wrong", "`y` is f32[2], expected f32[1]"),
    ]) {
        assert_eq!((found[0], found[1]), (name, result), "{found:?}");
        assert!(found[2].contains(detail) && (detail.is_empty() == found[2].is_empty()), "{found:?}");
        let line = format!("{result:<7} {name}: ");
        assert_eq!(text.contains(&line), result != "pass", "{text}");
    }
    assert!(text.ends_with("pass 1, refused 5, wrong 4, crash 0, random 1\n"), "{text}");
    let again = results(&folder, &["--jobs", "1"]);
    assert_eq!((code, report, text), again);
}

fn row(case: &Value) -> [&str; 3] {
    ["name", "result", "detail"].map(|key| case[key].as_str().unwrap())
}

#[test]
fn refusals_alone_do_not_fail() {
    let folder = Folder::new("refusals");
    negation(&folder, "right", &[-1.0, f32::NAN]);
    case(&folder, "broken", b"a text", &[], &[]);
    let root = folder.0.display().to_string();
    let text = printed(&["conformance", &root, "--device", "cpu-reference", "--device", "mock"]);
    assert!(text.ends_with("pass 1, refused 1, wrong 0, crash 0, random 0\n"), "{text}");
    // A folder may be a case itself.
    assert!(printed(&["conformance", &folder.file("right")]).starts_with("pass 1, "));
}

#[test]
fn a_case_that_takes_too_long_is_a_crash_and_the_next_one_runs() {
    let folder = Folder::new("slow");
    for name in ["cases/a", "cases/b", "cases/c"] {
        negation(&folder, name, &[-1.0, f32::NAN]);
    }
    let (code, report, text) = results(&folder, &["--timeout", "0.000001", "--jobs", "1"]);
    assert_eq!((code, &report["totals"]["crash"]), (Some(1), &Value::from(3)), "{text}");
    assert!(text.contains("crash   b: no answer within 1µs"), "{text}");
}

#[test]
fn what_cannot_be_run_is_refused() {
    let folder = Folder::new("no-cases");
    let root = folder.0.display().to_string();
    let message = refused(&["conformance", &root], 1);
    assert!(message.contains("has no case: expected folders") && message.contains("model.onnx"), "{message}");
    let message = refused(&["conformance", &folder.file("none")], 1);
    assert!(message.contains("cannot read") && message.contains("none"), "{message}");
    negation(&folder, "right", &[-1.0, f32::NAN]);
    let message = refused(&["conformance", &root, "--device", "tpu"], 1);
    assert!(message.contains("no device `tpu`"), "{message}");
    let message = refused(&["conformance", &root, "--json", &folder.file("no/such/file")], 1);
    assert!(message.contains("cannot write"), "{message}");
    let message = refused(&["conformance", &root, "--timeout", "0"], 2);
    assert!(message.contains("above 0"), "{message}");
}

#[test]
fn operators_are_listed_with_their_versions() {
    let text = printed(&["operators"]);
    assert!(text.lines().any(|line| line == "Add 1 6 7 13 14"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("ai.onnx.ml.Binarizer 1")), "{text}");
}

#[test]
fn what_a_case_lacks_or_has_too_much_of_is_said() {
    let folder = Folder::new("lacking");
    let neg = model("Neg", &[("x", F32, &[2])], F32, &[2]);
    let two = || floats(&[1.0, 2.0]);
    let right = || floats(&[-1.0, -2.0]);
    let path = |name: &str| std::path::PathBuf::from(folder.file(&format!("cases/{name}")));
    for (name, file) in
        [("more", "input_1.pb"), ("far", "input_7.pb"), ("odd", "input_01.pb"), ("out", "output_3.pb")]
    {
        case(&folder, &format!("cases/{name}"), &neg, &[two()], &[right()]);
        std::fs::write(path(name).join("test_data_set_0").join(file), two()).unwrap();
    }
    case(&folder, "cases/folder", &neg, &[], &[right()]);
    std::fs::create_dir_all(path("folder/test_data_set_0/input_0.pb")).unwrap();
    // No data set, beside folders of others.
    std::fs::create_dir_all(path("none")).unwrap();
    std::fs::write(path("none/model.onnx"), &neg).unwrap();
    case(&folder, "cases/none/inner", &neg, &[two()], &[right()]);
    std::fs::create_dir_all(path("nothing")).unwrap();
    let graph = field(2, b"g");
    std::fs::write(
        path("nothing/model.onnx"),
        [number(1, 8), field(7, &graph), field(8, &number(2, 17))].concat(),
    )
    .unwrap();

    let mut expected = vec![
        ("far", "refused", "test_data_set_0/input_7.pb: the model has 1 input only, which is input_0.pb"),
        ("folder", "refused", "test_data_set_0/input_0.pb: expected a regular file, found a folder"),
        ("more", "refused", "test_data_set_0/input_1.pb: the model has 1 input only, which is input_0.pb"),
        (
            "none",
            "refused",
            "test_data_set_0: there is no such folder, and the model takes 1 and gives 1 values",
        ),
        ("none/inner", "pass", ""),
        ("nothing", "pass", ""),
        ("odd", "refused", "test_data_set_0/input_01.pb: the model has 1 input only"),
        ("out", "refused", "test_data_set_0/output_3.pb: the model has 1 output only, which is output_0.pb"),
    ];
    if cfg!(unix) {
        case(&folder, "cases/pipe", &neg, &[], &[right()]);
        let pipe = |path: std::path::PathBuf| {
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        };
        pipe(path("pipe/test_data_set_0/input_0.pb"));
        case(&folder, "cases/piped", b"", &[two()], &[right()]);
        std::fs::remove_file(path("piped/model.onnx")).unwrap();
        pipe(path("piped/model.onnx"));
        expected.push((
            "pipe",
            "refused",
            "test_data_set_0/input_0.pb: expected a regular file, found a pipe",
        ));
        expected.push(("piped", "refused", "model.onnx: expected a regular file, found a pipe"));
    }
    // A folder that is a case itself, too.
    let alone = printed(&["conformance", &folder.file("cases/more")]);
    assert!(alone.starts_with("refused more: test_data_set_0/input_1.pb"), "{alone}");
    std::fs::create_dir_all(folder.file("alone")).unwrap();
    std::fs::write(folder.file("alone/model.onnx"), &neg).unwrap();
    let alone = printed(&["conformance", &folder.file("alone")]);
    assert!(alone.starts_with("refused alone: test_data_set_0: there is no such folder"), "{alone}");
    let (code, report, text) = results(&folder, &["--timeout", "10"]);
    assert_eq!(code, Some(0), "{text}");
    let cases = report["cases"].as_array().unwrap();
    assert_eq!(cases.len(), expected.len(), "{text}");
    for (case, (name, result, detail)) in cases.iter().zip(expected) {
        let found = row(case);
        assert_eq!((found[0], found[1]), (name, result), "{found:?}");
        assert!(found[2].contains(detail), "{found:?}");
    }
}

/// What a command writes to a terminal, where the system has a command that
/// makes one.
#[cfg(target_os = "linux")]
fn on_a_terminal(command: &str) -> Option<String> {
    use std::process::{Command, Stdio};
    let mut script = Command::new("script");
    script.args(["-qec", command, "/dev/null"]).stdin(Stdio::null());
    Some(String::from_utf8_lossy(&script.output().ok()?.stdout).into_owned())
}

#[test]
#[cfg(target_os = "linux")]
fn cases_are_counted_on_a_terminal_only() {
    let folder = Folder::new("counted-cases");
    for name in ["a", "b"] {
        negation(&folder, name, &[-1.0, f32::NAN]);
    }
    let root = folder.0.display().to_string();
    let output = oneir(&["conformance", &root]);
    assert!(output.status.success() && output.stderr.is_empty());
    let Some(shown) = on_a_terminal(&format!("{} conformance {root} --jobs 1", env!("CARGO_BIN_EXE_oneir")))
    else {
        return;
    };
    for part in ["[            ] 0 of 2 cases", "[======      ] 1 of 2 cases", "[============] 2 of 2 cases"]
    {
        assert!(shown.contains(part), "{shown:?}");
    }
}
