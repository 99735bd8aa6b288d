//! The `oneir` command: runs ONNX models and shows what becomes of them.

mod args;
mod bench;
mod conformance;
mod diagram;
mod digits;
mod dot;
mod error;
mod exact;
mod given;
mod inputs;
mod inspect;
mod kinds;
mod literal;
mod nearest;
mod numbers;
mod operators;
mod progress;
mod ranking;
mod report;
mod run;
mod show;
mod svg;
mod trace;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};
use oneir::{Device, Runtime};
// Registers the device `mock`.
use oneir_testkit as _;

use args::{Cli, Command};
use error::CliError;

fn main() -> ExitCode {
    if conformance::is_worker() {
        return ended(conformance::work());
    }
    ended(match Cli::parse().command {
        Command::Run(args) => run::run(&args),
        Command::Inspect(args) => inspect::inspect(&args),
        Command::Bench(args) => bench::bench(&args),
        Command::Inputs => print(args::INPUTS),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Cli::command(), "oneir", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
        Command::Conformance(args) => conformance::conformance(&args),
        Command::Operators => operators::operators(),
    })
}

fn ended(done: Result<(), CliError>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read the output wants no more of it.
        Err(CliError::Stdout { source }) if source.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let help = error.advice().map(|advice| format!("\nhelp: {advice}")).unwrap_or_default();
            note(&format!("error: {error}{help}"));
            if error.is_of_usage() { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

/// Writes text to the standard output.
fn print(text: &str) -> Result<(), CliError> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|source| CliError::Stdout { source })
}

/// Writes a line to the standard error, which may be closed.
fn note(text: &str) {
    _ = writeln!(io::stderr(), "{text}");
}

/// The device of a name, or the default one.
fn device(name: Option<&str>) -> Result<Device, CliError> {
    let runtime = Runtime::global();
    match name {
        Some(name) => runtime.device(name),
        None => runtime.default_device(),
    }
    .map_err(|source| CliError::Device { source: Box::new(source) })
}
