//! The times of launches as a Chrome trace.

use std::collections::BTreeMap;
use std::path::Path;

use oneir::runtime::{LaunchTime, Profile};
use serde_json::{Value, json};

use crate::error::CliError;
use crate::inspect::place_text;

/// Writes a trace that chrome://tracing and Perfetto show: for each run an event,
/// and within it one for each launch. `runs` are the launches that there were
/// after each run.
///
/// The format is the JSON object format of the Trace Event Format: complete
/// events (`X`) with times in microseconds, and metadata (`M`).
pub(crate) fn write(
    path: &Path,
    model: &str,
    device: &str,
    profile: &Profile,
    runs: &[usize],
) -> Result<(), CliError> {
    let text = format!("{}\n", trace(model, device, profile, runs));
    std::fs::write(path, text).map_err(|source| CliError::WriteFile { path: path.into(), source })
}

fn trace(model: &str, device: &str, profile: &Profile, runs: &[usize]) -> Value {
    let name = |what: &str, name: &str| json!({ "ph": "M", "pid": 1, "tid": 1, "name": what, "args": { "name": name } });
    let mut events = vec![name("process_name", model), name("thread_name", device)];
    let mut from = 0;
    for (run, &end) in runs.iter().enumerate() {
        let launches = profile.launches.get(from..end).unwrap_or_default();
        from = end;
        if let (Some(first), Some(last)) = (launches.first(), launches.last()) {
            let (start, end) = (nanoseconds(first).0, nanoseconds(last).1);
            events.push(complete("run", &format!("run {}", run + 1), start, end, json!({})));
        }
        events.extend(launches.iter().map(event));
    }
    json!({ "displayTimeUnit": "ms", "traceEvents": events })
}

fn event(launch: &LaunchTime) -> Value {
    let specs = |specs: &[oneir::ir::Spec]| specs.iter().map(ToString::to_string).collect::<Vec<_>>();
    let mut written: Vec<String> = launch.places.iter().filter_map(place_text).collect();
    written.dedup();
    let (start, end) = nanoseconds(launch);
    let args = json!({
        "kernel": launch.kernel,
        "reads": specs(&launch.reads),
        "gives": specs(&launch.gives),
        "from": written,
    });
    complete("launch", launch.symbol, start, end, args)
}

/// Start and end in whole nanoseconds, as clocks give them: sums of fractions
/// would let a launch end after its run does.
fn nanoseconds(launch: &LaunchTime) -> (u64, u64) {
    let whole = |seconds: f64| (seconds * 1e9).round() as u64;
    (whole(launch.start), whole(launch.start + launch.seconds))
}

fn complete(category: &str, name: &str, start: u64, end: u64, args: Value) -> Value {
    let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1e3;
    json!({
        "ph": "X",
        "pid": 1,
        "tid": 1,
        "cat": category,
        "name": name,
        "ts": microseconds(start),
        "dur": microseconds(end.saturating_sub(start)),
        "args": args,
    })
}

/// The launches of one kernel for one kind of op.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OpTime {
    pub(crate) symbol: &'static str,
    pub(crate) kernel: &'static str,
    /// Launches in a run.
    pub(crate) count: f64,
    /// Seconds in a run.
    pub(crate) seconds: f64,
    /// Of the time of all launches.
    pub(crate) share: f64,
}

/// Where the time of `runs` runs went, the longest first.
pub(crate) fn by_op(profile: &Profile, runs: usize) -> Vec<OpTime> {
    let mut sums: BTreeMap<(&str, &str), (usize, f64)> = BTreeMap::new();
    for launch in &profile.launches {
        let sum = sums.entry((launch.symbol, launch.kernel)).or_default();
        sum.0 += 1;
        sum.1 += launch.seconds;
    }
    let all: f64 = sums.values().map(|(_, seconds)| seconds).sum();
    let runs = runs.max(1) as f64;
    let mut times: Vec<OpTime> = sums
        .into_iter()
        .map(|((symbol, kernel), (count, seconds))| OpTime {
            symbol,
            kernel,
            count: count as f64 / runs,
            seconds: seconds / runs,
            share: if all > 0.0 { seconds / all } else { 0.0 },
        })
        .collect();
    times.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    times
}
