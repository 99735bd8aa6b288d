use serde_json::Value;

use crate::model::{INT64, STRING, identity};
use crate::{Folder, MODEL, printed, refused};

fn figures(args: &[&str]) -> Value {
    serde_json::from_str(&printed(&[&["bench", "--json", "--runs", "3"], args].concat())).unwrap()
}

#[test]
fn times_memory_and_ops_are_measured() {
    let figures = figures(&[MODEL]);
    assert_eq!(figures["inputs"]["X"], "f32[1, 64]");
    let steady = &figures["steady_seconds"];
    assert_eq!(steady["runs"], 3);
    let time = |value: &Value| value.as_f64().unwrap();
    let (min, median, max) = (time(&steady["min"]), time(&steady["median"]), time(&steady["max"]));
    assert!(0.0 < min && min <= median && median <= max, "{steady}");
    assert!(time(&figures["load_seconds"]) > 0.0 && time(&figures["first_run_seconds"]) > 0.0);
    if cfg!(target_os = "linux") {
        let bytes = |name: &str| figures[name].as_u64().unwrap();
        assert!(bytes("peak_memory_bytes") > bytes("memory_before_loading_bytes"));
    }
    let ops = figures["ops"].as_array().unwrap();
    let shares: f64 = ops.iter().map(|op| time(&op["share"])).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{ops:?}");
    let linear = ops.iter().find(|op| op["op"] == "linear").unwrap();
    assert_eq!(linear["launches"], 2.0);

    let shown = printed(&["bench", "--runs", "1"]);
    for part in ["mlp_digits.onnx\n", "X: f32[16, 64]", "first run", "median of 1 runs", "softmax", "share"] {
        assert!(shown.contains(part), "{part} is not in: {shown}");
    }
}

#[test]
fn threads_are_as_many_as_are_asked_for() {
    for threads in ["1", "3"] {
        let figures = figures(&[MODEL, "--threads", threads]);
        assert_eq!(figures["threads"].to_string(), threads);
    }
    let plain = printed(&["run", MODEL, "--input", "1"]);
    assert_eq!(printed(&["run", MODEL, "--input", "1", "--threads", "1"]), plain);
    refused(&["bench", MODEL, "--threads", "0"], 2);
    refused(&["bench", MODEL, "--threads", "9999"], 2);
    let message = refused(&["bench", MODEL, "--threads", "2", "--device", "mock"], 1);
    assert!(message.contains("mock has no threads") && message.contains("leave --threads out"), "{message}");
}

#[test]
fn inputs_are_as_given_or_random() {
    let folder = Folder::new("bench");
    let numbers = identity(&folder, INT64, &[0, 7]);
    assert_eq!(figures(&[&numbers])["inputs"]["x"], "i64[1, 7]");
    assert_eq!(figures(&[&numbers, "--input", "x=random:4x7"])["inputs"]["x"], "i64[4, 7]");
    let strings = identity(&folder, STRING, &[2]);
    assert_eq!(figures(&[&strings])["inputs"]["x"], "string[2]");
    refused(&["bench", "--input", "x=1"], 2);
}

#[test]
fn launches_are_written_as_a_chrome_trace() {
    let folder = Folder::new("trace");
    let file = folder.file("trace.json");
    for command in ["run", "bench"] {
        let runs: &[&str] = if command == "run" { &[] } else { &["--runs", "1"] };
        printed(&[&[command, MODEL, "--input", "1", "--profile", &file], runs].concat());
        let trace: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let launches: Vec<&Value> = events.iter().filter(|event| event["ph"] == "X").collect();
        let mut end = 0.0;
        for launch in &launches {
            let (start, length) = (launch["ts"].as_f64().unwrap(), launch["dur"].as_f64().unwrap());
            assert!(start >= end && length >= 0.0, "{launch}");
            end = start + length;
        }
        let softmax = launches.iter().find(|launch| launch["name"] == "softmax").unwrap();
        assert_eq!(softmax["args"]["gives"][0], "f32[1, 10]");
        assert_eq!(softmax["args"]["kernel"], "softmax");
        assert!(softmax["args"]["from"][0].as_str().unwrap().contains("Softmax"), "{softmax}");
        std::fs::remove_file(&file).unwrap();
    }
    let message = refused(&["run", MODEL, "--input", "1", "--profile", "/no/such/trace.json"], 1);
    assert!(message.contains("cannot write /no/such/trace.json"), "{message}");
}
