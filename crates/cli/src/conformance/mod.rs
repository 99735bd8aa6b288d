//! `oneir conformance`: the standard's cases, each in a process that may die.

mod pool;
mod report;
mod worker;

use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use oneir::onnx::conformance::Case;

use crate::error::CliError;
use crate::progress::Share;
use crate::{device, print};
use pool::Pool;
use report::Report;

pub(crate) use worker::{is_worker, work};

#[derive(Debug, Args)]
pub(crate) struct ConformanceArgs {
    /// The folder with the cases, at whatever depth
    pub(crate) folder: PathBuf,

    /// Writes totals and results to a JSON file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,

    /// A device that runs the cases; may be given again for more of them
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Vec<String>,

    /// Cases that run at a time (as many as there are processors)
    #[arg(long, value_name = "NUMBER")]
    pub(crate) jobs: Option<NonZeroUsize>,

    /// How long one case may take
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(crate) timeout: Duration,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().ok().filter(|&s| s > 0.0);
    let time = number.and_then(|s| Duration::try_from_secs_f64(s).ok());
    time.ok_or_else(|| format!("expected a number of seconds above 0, found `{text}`"))
}

pub(crate) fn conformance(args: &ConformanceArgs) -> Result<(), CliError> {
    let mut devices = Vec::new();
    for name in &args.device {
        devices.push(device(Some(name))?.name().to_owned());
    }
    if devices.is_empty() {
        devices.push(device(None)?.name().to_owned());
    }
    let cases = Case::find(&args.folder).map_err(|source| CliError::Cases { source: Box::new(source) })?;
    let command = worker::command(&devices).map_err(|source| CliError::Worker { source })?;
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let pool = Pool { command, jobs, timeout: args.timeout };
    let shown = io::stderr().is_terminal();
    let progress = |done: usize| {
        if shown {
            _ = write!(io::stderr(), "\r{}", Share { done, all: cases.len(), steps: "cases" });
        }
    };
    progress(0);
    let outcomes = pool.run(&cases, &progress).map_err(|source| CliError::Worker { source })?;
    if shown {
        _ = write!(io::stderr(), "\r\x1b[K");
    }
    let report = Report::new(&cases, outcomes);
    if let Some(path) = &args.json {
        let text = format!("{:#}\n", report.json());
        std::fs::write(path, text).map_err(|source| CliError::WriteFile { path: path.clone(), source })?;
    }
    print(&report.text())?;
    report.failure()
}
