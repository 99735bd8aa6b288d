//! The standard's own cases: every operator that is there gives what the
//! standard's files say, on every device, traced and eager.
//!
//! `ONEIR_ORACLES` names the folder that `scripts/oracles.py` fills.
//! `ONEIR_CASES` narrows the run to the cases whose names contain it. The
//! command `oneir conformance` runs these cases and others on one device.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use oneir_onnx::OnnxError;
use oneir_onnx::conformance::{Case, Refusal, Verdict, Way};
use oneir_runtime::Runtime;

const DEVICES: [&str; 4] = ["cpu", "cpu-reference", "cpu-unfused", "mock"];

/// Cases that are refused, each with the reason.
const REFUSED: &[(&str, &str)] = &[];

#[test]
fn node() {
    folder("node");
}

#[test]
fn simple() {
    folder("simple");
}

#[test]
fn pytorch_operator() {
    folder("pytorch-operator");
}

#[test]
fn pytorch_converted() {
    folder("pytorch-converted");
}

fn folder(kind: &str) {
    use oneir_cpu as _;
    use oneir_testkit as _;
    let Some(oracles) = std::env::var_os("ONEIR_ORACLES") else {
        eprintln!("skipped: ONEIR_ORACLES does not name the folder of the standard's cases");
        return;
    };
    let only = std::env::var("ONEIR_CASES").unwrap_or_default();
    let devices = DEVICES.map(|name| Runtime::global().device(name).unwrap());
    let (mut passed, mut lacking) = (0, BTreeMap::<String, usize>::new());
    let (mut wrong, mut refused, mut known) = (Vec::new(), Vec::new(), 0);
    for case in Case::find(&Path::new(&oracles).join("onnx-1.22.0").join(kind)).unwrap() {
        let name = &case.name;
        if !name.contains(&only) {
            continue;
        }
        let reason = REFUSED.iter().find(|(n, _)| n == name).map(|(_, why)| *why);
        match catch_unwind(AssertUnwindSafe(|| case.run(&devices, &[Way::Traced, Way::Eager]))) {
            Ok(Verdict::Pass | Verdict::Random) => {
                if reason.is_some() {
                    wrong.push(format!("{name}: passes, but is listed as refused"));
                }
                passed += 1;
            }
            Ok(Verdict::Refused(Refusal::Model { source })) if lacks(&source).is_some() => {
                *lacking.entry(lacks(&source).unwrap_or_default()).or_default() += 1;
            }
            Ok(Verdict::Refused(_)) if reason.is_some() => known += 1,
            Ok(Verdict::Refused(why)) => refused.push(format!("{name}: {why}")),
            Ok(why) => wrong.push(format!("{name}: {why}")),
            Err(_) => wrong.push(format!("{name}: panicked")),
        }
    }
    for line in
        wrong.iter().map(|w| format!("wrong {w}")).chain(refused.iter().map(|r| format!("refused {r}")))
    {
        println!("{line}");
    }
    for (operator, count) in &lacking {
        println!("skipped {count} for {operator}");
    }
    println!(
        "{kind}: {passed} pass, {} wrong, {} refused ({known} of them known), {} skipped",
        wrong.len(),
        refused.len() + known,
        lacking.values().sum::<usize>(),
    );
    assert!(
        wrong.is_empty() && refused.is_empty(),
        "{kind}: {} wrong, {} refused",
        wrong.len(),
        refused.len()
    );
}

/// The operators that a model lacks.
fn lacks(error: &OnnxError) -> Option<String> {
    match error {
        OnnxError::MissingOperators { operators } => Some(operators.join(", ")),
        _ => None,
    }
}
