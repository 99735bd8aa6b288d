//! `oneir run`: a model's outputs for given inputs.

use std::path::Path;
use std::time::{Duration, Instant};

use oneir::io::{Format, IoError};
use oneir::onnx::{Model, OnnxError, OnnxFile};
use oneir::{Array, Device};

use crate::args::RunArgs;
use crate::error::CliError;
use crate::show::{self, Output};
use crate::{device, digits, inputs, note, print};

/// Runs whose median is the steady time: as many as fit the budget.
const STEADY_RUNS: std::ops::RangeInclusive<usize> = 3..=100;
const STEADY_BUDGET: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &RunArgs) -> Result<(), CliError> {
    if let Some(path) = &args.save {
        check_savable(path)?;
    }
    let device = device(args.device.as_deref())?;
    let name = args.model.as_ref().map_or_else(|| digits::NAME.into(), |path| path.display().to_string());
    let failed = |source| CliError::Model { model: name.clone(), source: Box::new(source) };

    let began = Instant::now();
    let file = match &args.model {
        Some(path) => OnnxFile::open(path),
        None => OnnxFile::from_bytes(digits::MODEL, None),
    };
    let model = file.and_then(Model::new).map_err(failed)?;
    let loaded = began.elapsed();

    let values = match &args.model {
        Some(_) => inputs::collect(&model.inputs(), args.inputs.as_deref(), &args.input, args.seed)?,
        None => vec![(digits::INPUT.to_owned(), digits::pictures()?)],
    };
    let arrays: Vec<(String, Array)> =
        values.iter().map(|(name, value)| (name.clone(), Array::from_host(value.clone()))).collect();
    let arguments: Vec<(&str, Array)> =
        arrays.iter().map(|(name, array)| (name.as_str(), array.clone())).collect();
    let once = || outputs_of(&model, &device, &arguments, &failed);

    let began = Instant::now();
    let outputs = once()?;
    let first = began.elapsed();
    if args.time {
        let (steady, runs) = steady(&once)?;
        note(&format!(
            "load {}\nplan and first run {}\nsteady {} (median of {runs} runs on {})",
            milliseconds(loaded),
            milliseconds(first),
            milliseconds(steady),
            device.name()
        ));
    }
    if let Some(path) = &args.save {
        show::save(path, &outputs)?;
    }
    match (&args.save, args.quiet) {
        (_, true) => Ok(()),
        (Some(path), false) => {
            let names: Vec<&str> = outputs.iter().map(|output| output.name.as_str()).collect();
            print(&format!("{}: {}\n", path.display(), names.join(", ")))
        }
        (None, false) => match &args.model {
            Some(_) => print(&show::text(&outputs, show::terminal_width())?),
            None => print(&digits::text(&values[0].1, &outputs, device.name())?),
        },
    }
}

fn outputs_of(
    model: &Model,
    device: &Device,
    arguments: &[(&str, Array)],
    failed: &dyn Fn(OnnxError) -> CliError,
) -> Result<Vec<Output>, CliError> {
    show::fetch(device, model.call_on(device, arguments).map_err(failed)?)
}

/// The median of several runs, and how many they were.
fn steady(once: &dyn Fn() -> Result<Vec<Output>, CliError>) -> Result<(Duration, usize), CliError> {
    let mut times = Vec::new();
    let all = Instant::now();
    while times.len() < *STEADY_RUNS.start()
        || (times.len() < *STEADY_RUNS.end() && all.elapsed() < STEADY_BUDGET)
    {
        let began = Instant::now();
        once()?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok((times[times.len() / 2], times.len()))
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

/// Refuses a file name that says no format before the model runs for it.
fn check_savable(path: &Path) -> Result<(), CliError> {
    if Format::of_name(path).is_some() {
        return Ok(());
    }
    let found = match path.extension() {
        Some(extension) => format!("the extension `{}`", extension.display()),
        None => "no extension".to_owned(),
    };
    Err(CliError::Tensors { source: Box::new(IoError::UnknownFormat { path: path.into(), found }) })
}
