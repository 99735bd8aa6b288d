//! What a command is given: a device, a model, and values for its inputs.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oneir::onnx::{Model, OnnxError, OnnxFile, Term};
use oneir::runtime::{Profile, Steps};
use oneir::{Device, Runtime};

use crate::args::GivenArgs;
use crate::error::CliError;
use crate::inputs::{self, Missing, Note};
use crate::progress::{Progress, Share};
use crate::show::{self, Output};
use crate::{device, digits, kinds};

/// A model with values for its inputs, ready to run.
pub(crate) struct Given {
    /// What messages call the model.
    pub(crate) name: String,
    pub(crate) model: Model,
    pub(crate) device: Device,
    pub(crate) values: Vec<(String, Term)>,
    /// How files became inputs.
    pub(crate) notes: Vec<Note>,
    /// How long reading the model took.
    pub(crate) loaded: Duration,
    /// The outputs that are wanted; all where there is no list.
    pub(crate) wanted: Option<Vec<String>>,
    quiet: bool,
}

impl Given {
    /// Reads all that the arguments name.
    pub(crate) fn of(args: &GivenArgs, missing: Missing, quiet: bool) -> Result<Given, CliError> {
        if args.model.is_none() && (!args.input.is_empty() || args.inputs.is_some()) {
            return Err(CliError::NoModel);
        }
        let device = limited(device(args.device.as_deref())?, args)?;
        let path = args.model.as_deref();
        let name = path.map_or_else(|| digits::NAME.into(), |path| path.display().to_string());
        let (model, loaded) = load(path, &name, quiet)?;
        let mut notes = Vec::new();
        let values = match path {
            Some(_) => {
                let expected = model.inputs();
                inputs::collect(&expected, args, missing, &mut notes)?
            }
            None => vec![(digits::INPUT.to_owned(), Term::Host(digits::pictures()?))],
        };
        Ok(Given { name, model, device, values, notes, loaded, wanted: None, quiet })
    }

    /// Runs the model and waits for its outputs.
    pub(crate) fn run(&self, profile: Option<&mut Profile>) -> Result<Vec<Output>, CliError> {
        let arguments: Vec<(&str, Term)> =
            self.values.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let failed = |source| CliError::Model { model: self.name.clone(), source: Box::new(source) };
        let mut outputs = self.model.call_with(&self.device, &arguments, profile).map_err(failed)?;
        if let Some(wanted) = &self.wanted {
            let place = |name: &str| wanted.iter().position(|other| other == name);
            outputs.retain(|(name, _)| place(name).is_some());
            outputs.sort_by_key(|(name, _)| place(name));
        }
        show::fetch(&self.device, outputs)
    }

    /// As [`Given::run`], the first time, which plans too.
    pub(crate) fn first(&self) -> Result<(Vec<Output>, Duration), CliError> {
        let traced = self.model.steps().clone();
        let launched = Arc::new(Steps::default());
        let mut counting = Profile::counting(launched.clone());
        let so_far = move || {
            let shares = [Share::of(&launched, "launches"), Share::of(&traced, "nodes traced")];
            let under_way = shares.into_iter().flatten().find(|share| share.done < share.all);
            under_way.or(shares[0]).or(shares[1])
        };
        let what = format!("planning and running {}", self.name);
        let progress = Progress::begin(what, self.quiet, so_far);
        let began = Instant::now();
        let outputs = self.run(progress.is_shown().then_some(&mut counting))?;
        Ok((outputs, began.elapsed()))
    }
}

fn load(path: Option<&Path>, name: &str, quiet: bool) -> Result<(Model, Duration), CliError> {
    let steps = Arc::new(Steps::default());
    let read = steps.clone();
    let so_far = move || Share::of(&read, "nodes and tensors read");
    let _progress = Progress::begin(format!("loading {name}"), quiet, so_far);
    let began = Instant::now();
    let file = match path {
        Some(path) => OnnxFile::open_counted(path, &steps),
        None => OnnxFile::from_bytes(digits::MODEL, None),
    };
    let failed = |source: OnnxError| kinds::refusal(path, name, source);
    let model = file.and_then(Model::new).map_err(failed)?;
    Ok((model, began.elapsed()))
}

/// The device on as many threads as are asked for.
fn limited(device: Device, args: &GivenArgs) -> Result<Device, CliError> {
    let Some(threads) = args.threads else { return Ok(device) };
    let device = device
        .with_threads(usize::from(threads))
        .map_err(|source| CliError::Device { source: Box::new(source) })?;
    // What is evaluated by name is to be limited too.
    Runtime::global().add(device.clone());
    Ok(device)
}
