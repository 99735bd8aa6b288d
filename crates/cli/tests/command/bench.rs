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

/// A time of an event in nanoseconds, which must be a whole number of them.
#[track_caller]
fn nanoseconds(event: &Value, field: &str) -> i64 {
    let microseconds = event[field].as_f64().unwrap_or_else(|| panic!("no {field} in {event}"));
    let nanoseconds = (microseconds * 1e3).round();
    assert!((microseconds * 1e3 - nanoseconds).abs() < 1e-3 && nanoseconds >= 0.0, "{event}");
    nanoseconds as i64
}

/// That a trace is what the Trace Event Format says: each event has the fields
/// of its phase, a thread has a name, and of two events of a thread that share
/// time one holds the other. Gives the complete events.
fn checked_trace(trace: &Value) -> Vec<&Value> {
    let unit = trace["displayTimeUnit"].as_str().unwrap();
    assert!(["ms", "ns"].contains(&unit), "{unit}");
    let events = trace["traceEvents"].as_array().unwrap();
    let mut complete: Vec<&Value> = Vec::new();
    let mut named = Vec::new();
    for event in events {
        assert!(event["name"].is_string() && event["pid"].is_u64() && event["tid"].is_u64(), "{event}");
        match event["ph"].as_str().unwrap() {
            "M" => {
                assert!(event["args"]["name"].is_string(), "{event}");
                named.push((event["name"].as_str().unwrap(), &event["pid"], &event["tid"]));
            }
            "X" => {
                assert!(event["args"].is_object() && event["cat"].is_string(), "{event}");
                complete.push(event);
            }
            other => panic!("{other}: {event}"),
        }
    }
    let mut open: Vec<(i64, i64)> = Vec::new();
    for event in &complete {
        let of = |what: &'static str| (what, &event["pid"], &event["tid"]);
        assert!(named.contains(&of("process_name")) && named.contains(&of("thread_name")), "{event}");
        let start = nanoseconds(event, "ts");
        let end = start + nanoseconds(event, "dur");
        while open.pop_if(|(_, last)| *last <= start).is_some() {}
        if let Some((first, last)) = open.last() {
            assert!(*first <= start && end <= *last, "{event} is not within {first} to {last}");
        }
        open.push((start, end));
    }
    complete
}

#[test]
fn launches_are_written_as_a_chrome_trace() {
    let folder = Folder::new("trace");
    let file = folder.file("trace.json");
    for (command, flags, runs) in [("run", &[][..], 1), ("bench", &["--runs", "3"][..], 3)] {
        let began = std::time::Instant::now();
        printed(&[&[command, MODEL, "--input", "1", "--profile", &file], flags].concat());
        let most = began.elapsed().as_nanos() as i64;
        let trace: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        let complete = checked_trace(&trace);
        let of = |category: &str| {
            complete.iter().copied().filter(|event| event["cat"] == category).collect::<Vec<&Value>>()
        };
        assert_eq!(of("run").len(), runs);
        let names: Vec<&str> = of("run").iter().map(|run| run["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["run 1", "run 2", "run 3"][..runs]);
        // Microseconds, of a process that ran less long than it was waited for.
        let (first, last) = (of("run")[0], of("run")[runs - 1]);
        let all = nanoseconds(last, "ts") + nanoseconds(last, "dur") - nanoseconds(first, "ts");
        assert!(1_000 < all && all < most, "{all} ns of {most} ns");
        // Each launch stands in a run, and none takes part of another's time.
        let mut end = 0;
        for launch in of("launch") {
            let start = nanoseconds(launch, "ts");
            assert!(start >= end, "{launch}");
            end = start + nanoseconds(launch, "dur");
            let within = |run: &&Value| {
                nanoseconds(run, "ts") <= start && end <= nanoseconds(run, "ts") + nanoseconds(run, "dur")
            };
            assert_eq!(of("run").into_iter().filter(within).count(), 1, "{launch}");
        }
        let launches = of("launch");
        let softmax = launches.iter().find(|launch| launch["name"] == "softmax").unwrap();
        assert_eq!(softmax["args"]["gives"][0], "f32[1, 10]");
        assert_eq!(softmax["args"]["kernel"], "softmax");
        assert!(softmax["args"]["from"][0].as_str().unwrap().contains("Softmax"), "{softmax}");
        std::fs::remove_file(&file).unwrap();
    }
    let message = refused(&["run", MODEL, "--input", "1", "--profile", "/no/such/trace.json"], 1);
    assert!(message.contains("cannot write /no/such/trace.json"), "{message}");
}
