//! Every operation gives what other libraries give: the cases that
//! `scripts/array_oracle.py` records, on every device, and with their operands in
//! every storage of `layouts.rs`.
//!
//! `ONEIR_ORACLES` names the folder that `scripts/oracles.py` fills.
//! `ONEIR_CASES` narrows the run to the operations whose names contain it.
//! `ONEIR_ARRAY_STATUS` names a file for how many cases of each operation and
//! dtype pass, which `scripts/ops_page.py` reads. Operations that are not there
//! yet are told, and fail nothing.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use oneir_array::{Array, Device};
use serde_json::json;

mod call;
mod calls;
mod case;
mod compare;
mod factors;
mod layouts;

use case::{Case, Cases};
use layouts::Storage;

/// Cases that are known to be wrong: the operation, a part of the case's line,
/// and what is wrong. One that passes must be taken out.
const KNOWN: &[(&str, &str, &str)] = &[];

/// How many cases of one dtype pass, of how many.
type Counts = BTreeMap<String, (usize, usize)>;

/// What became of one operation.
enum Outcome {
    Missing,
    Ran(Counts, Vec<String>),
}

#[test]
fn every_operation_gives_what_others_give() {
    use oneir_cpu as _;
    let Some(oracles) = std::env::var_os("ONEIR_ORACLES") else {
        eprintln!("skipped: ONEIR_ORACLES does not name the folder of recorded cases");
        return;
    };
    let folder = Path::new(&oracles).join("array");
    let only = std::env::var("ONEIR_CASES").unwrap_or_default();
    let devices: Vec<Device> =
        oneir_testkit::devices().unwrap().into_iter().filter(|d| !d.name().contains("unfused")).collect();
    let files = files(&folder, &only);
    let (next, outcomes) = (AtomicUsize::new(0), Mutex::new(BTreeMap::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let name = file.file_stem().unwrap().to_string_lossy().into_owned();
                    let outcome = operation(&name, file, &devices);
                    outcomes.lock().unwrap().insert(name, outcome);
                }
            });
        }
    });
    let outcomes = outcomes.into_inner().unwrap();
    if let Some(path) = std::env::var_os("ONEIR_ARRAY_STATUS") {
        std::fs::write(path, status(&outcomes)).unwrap();
    }
    let (mut passed, mut run, mut wrong, mut missing) = (0, 0, 0, Vec::new());
    for (name, outcome) in &outcomes {
        match outcome {
            Outcome::Missing => missing.push(name.as_str()),
            Outcome::Ran(counts, failures) => {
                for (good, all) in counts.values() {
                    (passed, run) = (passed + good, run + all);
                }
                wrong += failures.len();
                failures.iter().for_each(|line| println!("wrong {line}"));
            }
        }
    }
    println!("missing: {}", missing.join(" "));
    println!("{passed} of {run} cases pass, {} operations are missing", missing.len());
    assert!(wrong == 0, "{wrong} cases are wrong");
}

/// The files of cases, those with most bytes first.
fn files(folder: &Path, only: &str) -> Vec<PathBuf> {
    let mut found: Vec<(u64, PathBuf)> = std::fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}; scripts/oracles.py fills it", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "safetensors"))
        .filter(|path| path.file_stem().unwrap().to_string_lossy().contains(only))
        .map(|path| (path.metadata().unwrap().len(), path))
        .collect();
    found.sort_by_key(|(bytes, path)| (std::cmp::Reverse(*bytes), path.clone()));
    found.into_iter().map(|(_, path)| path).collect()
}

/// Runs the cases of one file.
fn operation(name: &str, file: &Path, devices: &[Device]) -> Outcome {
    let cases = Cases::read(file);
    let (mut counts, mut failures) = (Counts::new(), Vec::new());
    for (number, case) in cases.cases.iter().enumerate() {
        let mut failure = None;
        let operands = case.operands();
        for (device, storage) in devices.iter().flat_map(|d| layouts::ALL.map(|storage| (d, storage))) {
            let given = match storage {
                Storage::Recorded => case.given(),
                _ => match layouts::all_stored(&operands, storage) {
                    Some(given) => given,
                    None => continue,
                },
            };
            let told = |why: &str| Some(format!("on {}, {storage:?}: {why}", device.name()));
            let result = catch_unwind(AssertUnwindSafe(|| {
                if storage != Storage::Recorded {
                    // Computed values that lie so, and no constants.
                    oneir_array::eval_on(device, &given).unwrap();
                }
                run(name, case, &cases, &given, device)
            }));
            match result {
                Ok(None) => return Outcome::Missing,
                Ok(Some(Ok(()))) => {}
                Ok(Some(Err(why))) => failure = told(&why),
                Err(_) => failure = told("panicked"),
            }
            if failure.is_some() {
                break;
            }
        }
        let count = counts.entry(case.dtype.clone()).or_default();
        count.0 += usize::from(failure.is_none());
        count.1 += 1;
        let shown = case.shown();
        let known = KNOWN.iter().find(|(op, part, _)| *op == name && shown.contains(part));
        match (failure, known) {
            (Some(why), None) => failures.push(format!("{name} {number} {shown} {why}")),
            (None, Some((.., why))) => {
                failures.push(format!("{name} {number} {shown} passes, but is known for {why}"))
            }
            _ => {}
        }
    }
    Outcome::Ran(counts, failures)
}

/// Whether a case gives what it should; nothing when the operation is not there.
fn run(
    name: &str,
    case: &Case,
    cases: &Cases,
    given: &[Array],
    device: &Device,
) -> Option<Result<(), String>> {
    let results = calls::call(name, &call::Call { args: &case.args, given })?;
    let found = results.and_then(|results| {
        oneir_array::eval_on(device, &results)?;
        results.iter().map(|r| r.to_host()).collect::<Result<Vec<_>, _>>()
    });
    Some(match (found, &case.wanted) {
        (Err(_), None) => Ok(()),
        (Err(why), Some(_)) => Err(format!("refused: {why}")),
        (Ok(found), None) => Err(format!("gives {found:?} where there is no answer")),
        (Ok(found), Some(wanted)) => compare::results(&found, wanted, case, cases),
    })
}

/// The file that `scripts/ops_page.py` reads.
fn status(outcomes: &BTreeMap<String, Outcome>) -> String {
    let all: serde_json::Map<String, serde_json::Value> = outcomes
        .iter()
        .map(|(name, outcome)| {
            let counts = match outcome {
                Outcome::Missing => json!(null),
                Outcome::Ran(counts, _) => json!(counts),
            };
            (name.clone(), counts)
        })
        .collect();
    format!("{}\n", serde_json::Value::Object(all))
}
