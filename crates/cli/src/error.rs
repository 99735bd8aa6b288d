//! Why the command cannot do what it is asked.

use std::io;
use std::path::PathBuf;

use oneir::DType;
use oneir::array::ArrayError;
use oneir::io::IoError;
use oneir::onnx::OnnxError;
use oneir::onnx::conformance::ConformanceError;
use oneir::runtime::RuntimeError;
use oneir::tensor::TensorError;

use crate::literal::LiteralFault;

/// Why the command cannot do what it is asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error("{}", model_message(model, source))]
    Model { model: String, source: Box<OnnxError> },
    #[error("{source}")]
    Device { source: Box<RuntimeError> },
    #[error("{source}")]
    Tensors { source: Box<IoError> },
    #[error("`--input {text}` does not say for which input it is")]
    Unnamed { text: String, takes: Vec<String> },
    #[error("{from} gives `{name}`, which the model does not take")]
    UnknownInput { name: String, from: String, takes: Vec<String> },
    #[error("input `{name}` is given twice")]
    GivenTwice { name: String },
    #[error("no value for input{} {}", if names.len() == 1 { "" } else { "s" }, quoted(names))]
    MissingInputs { names: Vec<String>, takes: Vec<String> },
    #[error("input `{name}`: {} holds {} tensors{}, and one is needed", path.display(), found.len(), listed(found))]
    NotOneTensor { name: String, path: PathBuf, found: Vec<String> },
    #[error("input `{name}`: {source}")]
    InputFile { name: String, source: Box<IoError> },
    #[error("input `{name}`: `{text}` is no value: {fault}")]
    Literal { name: String, text: String, fault: LiteralFault },
    #[error("input `{name}`: expected a shape such as 2x3 after `{word}:`, found `{found}`")]
    MadeShape { name: String, word: &'static str, found: String },
    #[error("input `{name}`: {shape:?} has more elements than the {limit} that a made-up value may have")]
    TooLarge { name: String, shape: Vec<usize>, limit: usize },
    #[error(
        "input `{name}` must be {expected}, and {from} has elements of {found} that it cannot hold: element {at} is {value}"
    )]
    Inexact { name: String, from: String, expected: DType, found: DType, at: usize, value: String },
    #[error("input `{name}` must be {expected}, and {from} is {found}")]
    WrongInput { name: String, expected: String, from: String, found: String },
    #[error("input `{name}` is declared as {declared}, which cannot be given here")]
    UngivableInput { name: String, declared: String },
    #[error("{what}: {source}")]
    Tensor { what: String, source: TensorError },
    #[error("output `{name}`: {source}")]
    Output { name: String, source: Box<ArrayError> },
    #[error("{}: output `{name}` holds {what}, which no tensor file can hold", path.display())]
    UnsavableOutput { path: PathBuf, name: String, what: &'static str },
    #[error("`--shape` names `{name}`, which the model does not take")]
    UnknownShape { name: String, takes: Vec<String> },
    #[error("{model} has no graph to show: {reason}")]
    NoGraph { model: String, reason: String },
    #[error("{source}")]
    Cases { source: Box<ConformanceError> },
    #[error("cannot run cases in a process: {source}")]
    Worker { source: io::Error },
    #[error("cannot write {}: {source}", path.display())]
    WriteFile { path: PathBuf, source: io::Error },
    #[error("of {of} cases {wrong} are wrong and {crashed} crashed")]
    Conformance { wrong: usize, crashed: usize, of: usize },
    #[error("cannot write to the standard output: {source}")]
    Stdout { source: io::Error },
}

/// What `--input` takes.
const VALUE_FORMS: &str =
    "a value is a number, a list such as [[1,2],[3,4]], or one such as zeros:2x3; all else names a file";

impl CliError {
    /// What to do about it.
    pub(crate) fn advice(&self) -> Option<String> {
        let takes = |takes: &[String]| Some(format!("the model takes {}", takes.join(", ")));
        Some(match self {
            CliError::Model { source, .. } => return model_advice(source).map(str::to_owned),
            CliError::Device { source } if matches!(**source, RuntimeError::UnknownDevice { .. }) => {
                "name one of them with --device, or leave it out for the fastest".into()
            }
            CliError::Tensors { source } => return file_advice(source).map(str::to_owned),
            CliError::Unnamed { takes: all, .. } if all.len() == 1 => return takes(all),
            CliError::Unnamed { takes: all, .. } => {
                format!("write NAME=VALUE or NAME=FILE; the model takes {}", all.join(", "))
            }
            CliError::UnknownInput { takes: all, .. } | CliError::UnknownShape { takes: all, .. } => {
                return takes(all);
            }
            CliError::MissingInputs { names, takes: all } => format!(
                "give it with --input {}=VALUE, or all with --inputs FILE; the model takes {}",
                names.first().map_or("NAME", String::as_str),
                all.join(", ")
            ),
            CliError::InputFile { source, .. } if matches!(**source, IoError::Os { .. }) => {
                VALUE_FORMS.into()
            }
            CliError::InputFile { source, .. } => return file_advice(source).map(str::to_owned),
            CliError::NotOneTensor { .. } => {
                "a file with all inputs under their names goes to --inputs".into()
            }
            CliError::Literal { .. } => VALUE_FORMS.into(),
            CliError::Inexact { expected, .. } => {
                format!("only values that stay the same are converted; save the tensor as {expected}")
            }
            CliError::NoGraph { .. } => "`oneir inspect` without flags shows what the file says".into(),
            _ => return None,
        })
    }
}

fn model_message(model: &str, error: &OnnxError) -> String {
    match error {
        OnnxError::Io { .. } => error.to_string(),
        _ => format!("{model}: {error}"),
    }
}

fn model_advice(error: &OnnxError) -> Option<&'static str> {
    Some(match error {
        OnnxError::Malformed { .. } | OnnxError::Undecodable { .. } | OnnxError::NoGraph => {
            "the model must be an ONNX file, as exporters write it"
        }
        OnnxError::MissingOperators { .. } => "`oneir inspect` lists all operators of a model",
        OnnxError::Input { .. } | OnnxError::Inputs { .. } => "`oneir inspect` shows what the model takes",
        _ => return None,
    })
}

fn file_advice(error: &IoError) -> Option<&'static str> {
    Some(match error {
        IoError::UnknownFormat { .. } => "tensor files end in .npy, .npz or .safetensors",
        IoError::NotOneTensor { .. } => "save to .npz or .safetensors, which hold any number of tensors",
        IoError::UnwritableDType { .. } => "another of npy, npz and safetensors may hold it",
        _ => return None,
    })
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(" ({})", quoted(names)) }
}
