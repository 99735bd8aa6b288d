//! `oneir bench`: how fast a model loads and runs, and what it needs.

use std::fmt::Write;
use std::time::{Duration, Instant};

use oneir::runtime::Profile;
use serde_json::{Value, json};

use crate::args::BenchArgs;
use crate::error::CliError;
use crate::given::Given;
use crate::inputs::Missing;
use crate::print;
use crate::report::size;
use crate::trace::{self, OpTime};

/// Runs that are measured where no number is asked for: as many as fit.
const RUNS: std::ops::RangeInclusive<usize> = 5..=200;
const BUDGET: Duration = Duration::from_secs(2);

/// Runs in which each launch is timed.
const PROFILED: usize = 5;

/// Rows of the table of ops; the rest is one row.
const MAX_ROWS: usize = 20;

/// What was measured.
struct Figures {
    model: String,
    device: String,
    threads: usize,
    inputs: Vec<(String, String)>,
    load: Duration,
    first: Duration,
    /// In the order of length.
    runs: Vec<Duration>,
    memory: Memory,
    ops: Vec<OpTime>,
}

/// Bytes of the process in memory, where the system tells.
struct Memory {
    before: Option<usize>,
    peak: Option<usize>,
}

pub(crate) fn bench(args: &BenchArgs) -> Result<(), CliError> {
    let before = status("VmRSS:");
    let given = Given::of(&args.given, Missing::Random, false)?;
    let (_, first) = given.first()?;
    let runs = repeat(args.runs.map(usize::from), || given.run(None).map(drop))?;
    let memory = Memory { before, peak: status("VmHWM:") };
    let mut profile = Profile::default();
    let profiled = PROFILED.min(runs.len());
    let mut ends = Vec::with_capacity(profiled);
    for _ in 0..profiled {
        given.run(Some(&mut profile))?;
        ends.push(profile.launches.len());
    }
    if let Some(path) = &args.given.profile {
        trace::write(path, &given.name, given.device.name(), &profile, &ends)?;
    }
    let spec = |value: &oneir::onnx::Term| match value.spec() {
        Some(spec) => spec.to_string(),
        None => format!("string{:?}", value.shape().unwrap_or_default()),
    };
    let figures = Figures {
        model: given.name.clone(),
        device: given.device.name().to_owned(),
        threads: given.device.backend().threads(),
        inputs: given.values.iter().map(|(name, value)| (name.clone(), spec(value))).collect(),
        load: given.loaded,
        first,
        runs,
        memory,
        ops: trace::by_op(&profile, profiled),
    };
    print(&if args.json { format!("{:#}\n", figures.json()) } else { figures.text() })
}

/// The times of `wanted` runs, or of as many as fit the budget, in the order of
/// length.
pub(crate) fn repeat(
    wanted: Option<usize>,
    mut once: impl FnMut() -> Result<(), CliError>,
) -> Result<Vec<Duration>, CliError> {
    let mut times = Vec::new();
    let all = Instant::now();
    let more = |done: usize| match wanted {
        Some(wanted) => done < wanted,
        None => done < *RUNS.start() || (done < *RUNS.end() && all.elapsed() < BUDGET),
    };
    while more(times.len()) {
        let began = Instant::now();
        once()?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(times)
}

/// The middle one of times in the order of length.
pub(crate) fn median(times: &[Duration]) -> Duration {
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A number of bytes that the system keeps about this process.
fn status(field: &str) -> Option<usize> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

/// A time in the unit in which it is read best.
pub(crate) fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.3} ms", s * 1e3),
        s => format!("{s:.3} s"),
    }
}

impl Figures {
    fn text(&self) -> String {
        let shown = |time_: Duration| time(time_.as_secs_f64());
        let mut out = String::new();
        let mut row = |name: &str, text: String| {
            // Writing to a string cannot fail, here and below.
            _ = writeln!(out, "  {name:<13} {text}");
        };
        let threads = if self.threads == 1 { "1 thread".into() } else { format!("{} threads", self.threads) };
        row("device", format!("{}, {threads}", self.device));
        for (i, (name, spec)) in self.inputs.iter().enumerate() {
            row(if i == 0 { "inputs" } else { "" }, format!("{name}: {spec}"));
        }
        row("load", shown(self.load));
        row("first run", format!("{}, with planning", shown(self.first)));
        let (least, most) = (self.runs.first(), self.runs.last());
        row(
            "steady",
            format!(
                "{} median of {} runs, {} to {}",
                shown(median(&self.runs)),
                self.runs.len(),
                shown(least.copied().unwrap_or_default()),
                shown(most.copied().unwrap_or_default())
            ),
        );
        if let Memory { before: Some(before), peak: Some(peak) } = self.memory {
            row("peak memory", format!("{}, {} of it before loading", size(peak), size(before)));
        }
        let mut text = format!("{}\n{out}", self.model);
        if !self.ops.is_empty() {
            text.push_str("\n  by kind of op, each launch timed alone: short ones take longer so\n");
            text.push_str(&self.table());
        }
        text
    }

    fn table(&self) -> String {
        let mut rows: Vec<[String; 5]> = vec![["op", "kernel", "launches", "time", "share"].map(Into::into)];
        let row = |symbol: &str, kernel: &str, count: f64, seconds: f64, share: f64| {
            [
                symbol.into(),
                kernel.into(),
                format!("{count:.0}"),
                time(seconds),
                format!("{:.1} %", 100.0 * share),
            ]
        };
        for op in self.ops.iter().take(MAX_ROWS) {
            rows.push(row(op.symbol, op.kernel, op.count, op.seconds, op.share));
        }
        if let Some(rest) = self.ops.get(MAX_ROWS..).filter(|rest| !rest.is_empty()) {
            let sum = |f: fn(&OpTime) -> f64| rest.iter().map(f).sum();
            let (count, seconds, share) = (sum(|op| op.count), sum(|op| op.seconds), sum(|op| op.share));
            rows.push(row(&format!("{} others", rest.len()), "", count, seconds, share));
        }
        let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
        let widths: [usize; 5] = std::array::from_fn(width);
        let mut out = String::new();
        for row in &rows {
            let [op, kernel, count, time, share] = row;
            let [w0, w1, w2, w3, w4] = widths;
            _ = writeln!(out, "  {op:<w0$}  {kernel:<w1$}  {count:>w2$}  {time:>w3$}  {share:>w4$}");
        }
        out
    }

    fn json(&self) -> Value {
        let seconds = |time: Duration| time.as_secs_f64();
        let inputs: serde_json::Map<String, Value> =
            self.inputs.iter().map(|(name, spec)| (name.clone(), json!(spec))).collect();
        let ops: Vec<Value> = self
            .ops
            .iter()
            .map(|op| {
                json!({
                    "op": op.symbol,
                    "kernel": op.kernel,
                    "launches": op.count,
                    "seconds": op.seconds,
                    "share": op.share,
                })
            })
            .collect();
        json!({
            "model": self.model,
            "device": self.device,
            "threads": self.threads,
            "inputs": inputs,
            "load_seconds": seconds(self.load),
            "first_run_seconds": seconds(self.first),
            "steady_seconds": {
                "median": seconds(median(&self.runs)),
                "min": self.runs.first().copied().map(seconds),
                "max": self.runs.last().copied().map(seconds),
                "runs": self.runs.len(),
            },
            "memory_before_loading_bytes": self.memory.before,
            "peak_memory_bytes": self.memory.peak,
            "ops": ops,
        })
    }
}
