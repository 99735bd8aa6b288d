use std::collections::BTreeSet;

use oneir::ir::graph::TensorGraph;
use serde_json::Value;

use crate::{Folder, MODEL, printed};

#[test]
fn the_report_says_what_the_model_is_and_becomes() {
    let report = printed(&["inspect", MODEL, "--device", "cpu"]);
    for part in [
        "ai.onnx 17, ai.onnx.ml 1",
        "skl2onnx",
        "X: FLOAT[?, 64]",
        "probabilities: FLOAT[?, 10]",
        "6 tensors",
        "2 MatMul",
        "missing       none",
        "open sizes of X are taken to be 1",
        "before passes ",
        "fused         2 linear, ",
        "plan for      cpu",
        "arena ",
        "breaks        none",
    ] {
        assert!(report.contains(part), "`{part}` is not in\n{report}");
    }
    let given = printed(&["inspect", MODEL, "--shape", "X=7x64", "--device", "cpu-unfused"]);
    assert!(given.contains("X: f32[7, 64]") && !given.contains("open sizes"), "{given}");
    assert!(given.contains("plan for      cpu-unfused"), "{given}");
}

#[test]
fn the_report_is_json_too() {
    let report: Value = serde_json::from_str(&printed(&["inspect", MODEL, "--json"])).unwrap();
    assert_eq!(report["opsets"]["ai.onnx"], 17);
    assert_eq!(report["inputs"][0]["name"], "X");
    assert_eq!(report["operators"]["MatMul"], 2);
    assert_eq!(report["missing_operators"].as_array().map(Vec::len), Some(0));
    let trace = &report["trace"];
    assert_eq!(trace["inputs"]["X"], "f32[1, 64]");
    assert_eq!(trace["open_sizes_taken_as_1"][0], "X");
    assert_eq!(trace["after_passes"]["fused"]["linear"], 2);
    let (before, after) = (&trace["before_passes"]["ops"], &trace["after_passes"]["ops"]);
    assert!(before.as_u64() > after.as_u64(), "{before} ops, then {after}");
    let kernels = trace["plan"]["kernels"].as_object().unwrap().values();
    assert_eq!(kernels.filter_map(Value::as_u64).sum::<u64>(), trace["plan"]["launches"].as_u64().unwrap());
}

#[test]
fn missing_operators_are_listed() {
    let folder = Folder::new("missing");
    // The same length, so that the file stays right.
    let mut bytes = std::fs::read(MODEL).unwrap();
    let mut found = 0;
    for at in 0..bytes.len() - 6 {
        if &bytes[at..at + 6] == b"MatMul" {
            bytes[at..at + 6].copy_from_slice(b"MatFoo");
            found += 1;
        }
    }
    assert!(found > 0);
    let path = folder.file("foo.onnx");
    std::fs::write(&path, bytes).unwrap();
    let report = printed(&["inspect", &path]);
    assert!(report.contains("missing       MatFoo (version 17)"), "{report}");
    let report: Value = serde_json::from_str(&printed(&["inspect", &path, "--json"])).unwrap();
    assert_eq!(report["missing_operators"][0], "MatFoo (version 17)");
    assert!(report["trace"]["error"].as_str().unwrap().contains("MatFoo"));
    let refusal = crate::refused(&["inspect", &path, "--graph", "dot"], 1);
    assert!(refusal.contains("MatFoo"), "{refusal}");
    let refusal = crate::refused(&["run", &path, "--input", "0"], 1);
    assert!(refusal.contains("not implemented: MatFoo"), "{refusal}");
}

#[test]
fn graphs_print_after_each_pass_and_read_back() {
    let last = printed(&["inspect", MODEL, "--graph", "text"]);
    assert_eq!(last, printed(&["inspect", MODEL, "--dump", "dead"]));
    let mut counts = Vec::new();
    for pass in std::iter::once("lifted").chain(oneir::passes::PASSES) {
        let text = printed(&["inspect", MODEL, "--dump", pass]);
        let graph: TensorGraph = text.trim_end().parse().unwrap();
        assert_eq!(graph.to_string(), text.trim_end(), "{pass}");
        counts.push(graph.ops.len());
    }
    assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
    assert!(counts.first() > counts.last(), "{counts:?}");
}

#[test]
fn the_graphviz_form_is_well_formed() {
    let dot = printed(&["inspect", MODEL, "--graph", "dot"]);
    assert!(dot.starts_with("digraph \"") && dot.ends_with("}\n"), "{dot}");
    let (mut nodes, mut ends) = (BTreeSet::new(), BTreeSet::new());
    for line in dot.lines().map(str::trim).filter(|line| line.starts_with('n') && !line.starts_with("node "))
    {
        assert!(line.ends_with("];"), "{line}");
        let quotes = line.replace("\\\\", "").replace("\\\"", "").matches('"').count();
        assert_eq!(quotes % 2, 0, "{line}");
        let head = line.split(" [").next().unwrap();
        match head.split_once(" -> ") {
            Some((from, to)) => ends.extend([from, to]),
            None => _ = nodes.insert(head),
        }
    }
    assert_eq!(nodes, ends, "every box is joined to another, and every arrow joins boxes");
    for part in ["linear + relu", "softmax", "X\\n", "probabilities\\n"] {
        assert!(dot.contains(part), "{part}");
    }
}

#[test]
fn the_picture_is_well_formed() {
    let svg = printed(&["inspect", MODEL, "--graph", "svg"]);
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
    let mut open = Vec::new();
    for tag in svg.split('<').skip(1) {
        let (tag, text) = tag.split_once('>').unwrap();
        assert!(!text.contains('"') && tag.matches('"').count() % 2 == 0, "{tag}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    for part in ["linear + relu", "softmax", ">X<", ">probabilities<", "MatMul"] {
        assert!(svg.contains(part), "{part}");
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf"));
}
