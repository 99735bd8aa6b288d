//! `oneir run`: a model's outputs for given inputs.

use std::path::Path;
use std::time::Duration;

use oneir::HostTensor;
use oneir::io::{Format, IoError};
use oneir::onnx::{Term, ValueInfo};
use oneir::runtime::Profile;

use crate::args::RunArgs;
use crate::error::CliError;
use crate::given::Given;
use crate::inputs::{Missing, Note, takes};
use crate::nearest::nearest;
use crate::numbers::Extent;
use crate::ranking::{Labels, Ranking};
use crate::show::{self, Output};
use crate::{bench, digits, note, print, trace};

pub(crate) fn run(args: &RunArgs) -> Result<(), CliError> {
    if let Some(path) = &args.save {
        check_savable(path)?;
    }
    let mut given = Given::of(&args.given, Missing::Refuse, args.quiet)?;
    given.wanted = wanted(&args.output, given.model.outputs())?;
    let ranking = ranking(args, &given)?;
    for told in &given.notes {
        match told {
            Note::Changed(text) if !args.quiet => note(&format!("note: {text}")),
            Note::Done(text) if args.verbose => note(text),
            _ => {}
        }
    }
    if let Some(path) = &args.save {
        let all = given.model.outputs().len();
        check_outputs(path, given.wanted.as_ref().map_or(all, Vec::len))?;
    }
    let (outputs, first) = given.first()?;
    if args.time {
        let times = bench::repeat(None, || given.run(None).map(drop))?;
        note(&format!(
            "load {}\nplan and first run {}\nsteady {} (median of {} runs on {})",
            milliseconds(given.loaded),
            milliseconds(first),
            milliseconds(bench::median(&times)),
            times.len(),
            given.device.name()
        ));
    }
    if let Some(path) = &args.given.profile {
        let mut profile = Profile::default();
        given.run(Some(&mut profile))?;
        trace::write(path, &given.name, given.device.name(), &profile, &[profile.launches.len()])?;
    }
    if let Some(path) = &args.save {
        show::save(path, &outputs)?;
    }
    if args.quiet {
        return Ok(());
    }
    match (&args.save, ranking) {
        (Some(path), _) => {
            let names: Vec<&str> = outputs.iter().map(|output| output.name.as_str()).collect();
            print(&format!("{}: {}\n", path.display(), names.join(", ")))
        }
        (None, Some(ranking)) => {
            if let Some(from) = &args.labels {
                ranking.unnamed(&outputs, from).iter().for_each(|told| note(&format!("note: {told}")));
            }
            print(&ranking.text(&outputs)?)
        }
        (None, None) => shown(args, &given, &outputs),
    }
}

fn shown(args: &RunArgs, given: &Given, outputs: &[Output]) -> Result<(), CliError> {
    match (&args.given.model, pictures(given)) {
        (None, Some(pictures)) if !args.full && args.output.is_empty() => {
            print(&digits::text(pictures, outputs, given.device.name())?)
        }
        _ => {
            let extent = if args.full { Extent::All } else { Extent::Fits };
            let (text, cut) = show::text(outputs, show::terminal_width(), extent)?;
            print(&text)?;
            if cut {
                note("note: long outputs are cut; --full prints all values, --save FILE keeps them");
            }
            Ok(())
        }
    }
}

/// The outputs that are named, each once.
fn wanted(named: &[String], outputs: &[ValueInfo]) -> Result<Option<Vec<String>>, CliError> {
    let mut wanted: Vec<String> = Vec::new();
    for name in named {
        if !outputs.iter().any(|output| output.name == *name) {
            let meant = nearest(name, outputs.iter().map(|output| output.name.as_str()));
            return Err(CliError::UnknownOutput {
                name: name.clone(),
                meant: meant.map(str::to_owned),
                gives: takes(&outputs.iter().collect::<Vec<_>>()),
            });
        }
        if !wanted.contains(name) {
            wanted.push(name.clone());
        }
    }
    Ok((!named.is_empty()).then_some(wanted))
}

fn pictures(given: &Given) -> Option<&HostTensor> {
    match given.values.first() {
        Some((_, Term::Host(pictures))) => Some(pictures),
        _ => None,
    }
}

/// How rows are told, where that is asked for.
fn ranking(args: &RunArgs, given: &Given) -> Result<Option<Ranking>, CliError> {
    let labels = match &args.labels {
        Some(named) => Some(Labels::open(named, &given.model.file().metadata)?),
        None => None,
    };
    if args.top.is_none() && labels.is_none() && !args.softmax {
        return Ok(None);
    }
    let labels = labels.unwrap_or_default();
    Ok(Some(Ranking { top: args.top.map(usize::from), softmax: args.softmax, labels, ctc: args.ctc }))
}

fn milliseconds(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}

/// Refuses a file for one tensor where there are several, before the model runs.
fn check_outputs(path: &Path, outputs: usize) -> Result<(), CliError> {
    if Format::of_name(path) == Some(Format::Npy) && outputs != 1 {
        let source = IoError::NotOneTensor { path: path.into(), found: outputs };
        return Err(CliError::Tensors { source: Box::new(source) });
    }
    Ok(())
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
