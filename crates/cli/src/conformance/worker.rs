//! The process that runs cases. It takes folders and answers with outcomes,
//! one JSON value a line.

use std::fmt;
use std::io::{self, BufRead, Write};
use std::process::{Command, Stdio};

use clap::Parser;
use oneir::onnx::conformance::{Case, Verdict, Way};
use serde_json::{Value, json};

use crate::device;
use crate::error::CliError;

/// The word under which the command starts itself. It is no subcommand: nobody
/// is to be shown it, or to have it completed.
const NAME: &str = "conformance-worker";

/// Characters of a detail: a line must stay a line.
const LONGEST_DETAIL: usize = 2000;

#[derive(Debug, Parser)]
struct WorkerArgs {
    #[arg(long)]
    device: Vec<String>,
}

/// Whether this process is a worker.
pub(crate) fn is_worker() -> bool {
    std::env::args_os().nth(1).is_some_and(|word| word == NAME)
}

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Pass,
    Refused,
    Wrong,
    Crash,
    Random,
}

impl Ending {
    pub(super) const ALL: [Ending; 5] =
        [Ending::Pass, Ending::Refused, Ending::Wrong, Ending::Crash, Ending::Random];

    pub(super) fn name(self) -> &'static str {
        match self {
            Ending::Pass => "pass",
            Ending::Refused => "refused",
            Ending::Wrong => "wrong",
            Ending::Crash => "crash",
            Ending::Random => "random",
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How a case ended, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) ending: Ending,
    pub(super) detail: String,
}

impl Outcome {
    /// An outcome whose detail is one line of bounded length.
    pub(super) fn new(ending: Ending, detail: &str) -> Outcome {
        let mut detail: String = detail.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((at, _)) = detail.char_indices().nth(LONGEST_DETAIL) {
            detail.truncate(at);
            detail.push('…');
        }
        Outcome { ending, detail }
    }

    fn of(verdict: &Verdict) -> Outcome {
        let ending = match verdict {
            Verdict::Pass => return Outcome::new(Ending::Pass, ""),
            Verdict::Random => Ending::Random,
            Verdict::Refused(_) => Ending::Refused,
            Verdict::Wrong { .. } => Ending::Wrong,
        };
        Outcome::new(ending, &verdict.to_string())
    }

    fn to_line(&self) -> String {
        format!("{}\n", json!([self.ending.name(), self.detail]))
    }

    /// The outcome on a line that a worker wrote.
    pub(super) fn from_line(line: &str) -> Option<Outcome> {
        let value: Value = serde_json::from_str(line).ok()?;
        let name = value.get(0)?.as_str()?;
        let ending = Ending::ALL.into_iter().find(|ending| ending.name() == name)?;
        Some(Outcome::new(ending, value.get(1)?.as_str()?))
    }
}

/// The line that asks for a case.
pub(super) fn question(case: &Case) -> Option<String> {
    Some(format!("{}\n", json!(case.folder.to_str()?)))
}

/// What starts a worker.
pub(super) fn command(devices: &[String]) -> io::Result<impl Fn() -> Command + Sync> {
    let program = std::env::current_exe()?;
    let arguments: Vec<String> =
        devices.iter().flat_map(|name| ["--device".to_owned(), name.clone()]).collect();
    Ok(move || {
        let mut command = Command::new(&program);
        // A backtrace would push the message out of the lines that are kept.
        command.arg(NAME).args(&arguments).env("RUST_BACKTRACE", "0");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    })
}

/// Answers for each case on the standard input. A panic ends the process: what
/// it leaves behind must not meet the next case.
pub(crate) fn work() -> Result<(), CliError> {
    let args = WorkerArgs::parse_from(std::env::args_os().skip(1));
    let devices = args.device.iter().map(|name| device(Some(name))).collect::<Result<Vec<_>, _>>()?;
    for line in io::stdin().lock().lines() {
        let line = line.map_err(|source| CliError::Worker { source })?;
        let outcome = match serde_json::from_str::<String>(&line) {
            Ok(folder) => Outcome::of(&Case::at(folder).run(&devices, &[Way::Traced])),
            Err(why) => Outcome::new(Ending::Refused, &format!("the case's folder cannot be read: {why}")),
        };
        let mut out = io::stdout().lock();
        out.write_all(outcome.to_line().as_bytes())
            .and_then(|()| out.flush())
            .map_err(|source| CliError::Stdout { source })?;
    }
    Ok(())
}
