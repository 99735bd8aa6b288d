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
    #[error("{model}: not an ONNX model: it is {what}")]
    NotAModel { model: String, what: &'static str, advice: &'static str },
    #[error("{source}")]
    Device { source: Box<RuntimeError> },
    #[error("{source}")]
    Tensors { source: Box<IoError> },
    #[error("inputs are given, and no model that takes them")]
    NoModel,
    #[error("{from}: {problem}")]
    Labels { from: String, problem: String },
    #[error("`--input {text}` does not say for which input it is")]
    Unnamed { text: String, takes: Vec<String> },
    #[error("{from} gives `{name}`, which the model does not take")]
    UnknownInput { name: String, meant: Option<String>, from: String, takes: Vec<String> },
    #[error("`--output {name}`: the model gives no output of this name")]
    UnknownOutput { name: String, meant: Option<String>, gives: Vec<String> },
    #[error("input `{name}` is given no value: expected one after `{name}=`, found nothing")]
    NoValue { name: String, declared: String },
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
    #[error("input `{name}`: `{text}` is no list of strings: {found}")]
    BadStrings { name: String, text: String, found: String },
    #[error("input `{name}`: expected a file after `{kind}` and its options, with `:` between")]
    NothingAfterKind { name: String, kind: &'static str },
    #[error("input `{name}`: expected an option of `{kind}` that comes once, found `{option}`")]
    UnknownOption { name: String, kind: &'static str, option: String, known: &'static [&'static str] },
    #[error("input `{name}`: `{option}`: expected {expected}, found {found}")]
    BadOption { name: String, option: &'static str, expected: &'static str, found: String },
    #[error("input `{name}` is declared as {declared}, which does not say where {what} go")]
    NoPlace { name: String, declared: String, what: &'static str },
    #[error(
        "input `{name}` is declared as {declared}, which does not say where a picture's channels and sides go"
    )]
    NoLayout { name: String, declared: String },
    #[error("input `{name}` is declared as {declared}, which does not say what shape or type the bytes have")]
    NoRawShape { name: String, declared: String },
    #[error("input `{name}`: {needed} bytes are asked for, and there are {found}")]
    TooShort { name: String, found: usize, needed: usize },
    #[error("input `{name}` must be {declared}, and {found} values are given")]
    WrongCount { name: String, declared: String, found: usize },
    #[error("input `{name}`: expected a shape such as 2x3 after `{word}:`, found `{found}`")]
    MadeShape { name: String, word: &'static str, found: String },
    #[error("input `{name}`: {shape:?} has more elements than the {limit} that a value made here may have")]
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
    UnknownShape { name: String, meant: Option<String>, takes: Vec<String> },
    #[error("{model} has no graph to show: {reason}")]
    NoGraph { model: String, reason: String, assumed: Vec<String> },
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
const VALUE_FORMS: &str = "a value is a number, a list such as [[1,2],[3,4]], or a word such as zeros:2x3 or text:hello; \
     all else names a file, and `oneir help inputs` lists the forms";

impl CliError {
    /// Whether the command line itself is wrong.
    pub(crate) fn is_of_usage(&self) -> bool {
        matches!(self, CliError::NoModel)
    }

    /// What to do about it.
    pub(crate) fn advice(&self) -> Option<String> {
        let takes = |takes: &[String]| Some(format!("the model takes {}", takes.join(", ")));
        Some(match self {
            CliError::Model { source, .. } => return model_advice(source).map(str::to_owned),
            CliError::Device { source } if matches!(**source, RuntimeError::UnknownDevice { .. }) => {
                "name one of them with --device, or leave it out for the fastest".into()
            }
            CliError::NoModel => "name the ONNX file, as in oneir run MODEL.onnx --input NAME=VALUE".into(),
            CliError::Labels { .. } => {
                "labels are a file with a line each or a JSON list of names, FILE#KEY or metadata:KEY".into()
            }
            CliError::Device { source } if matches!(**source, RuntimeError::NoThreads { .. }) => {
                "leave --threads out for this device".into()
            }
            CliError::Tensors { source } => return file_advice(source).map(str::to_owned),
            CliError::Unnamed { takes: all, .. } if all.len() == 1 => return takes(all),
            CliError::Unnamed { takes: all, .. } => {
                format!("write NAME=VALUE or NAME=FILE; the model takes {}", all.join(", "))
            }
            CliError::NotAModel { advice, .. } => (*advice).into(),
            CliError::UnknownInput { meant, takes: all, .. }
            | CliError::UnknownShape { meant, takes: all, .. } => {
                format!("{}the model takes {}", question(meant.as_deref()), all.join(", "))
            }
            CliError::UnknownOutput { meant, gives, .. } => {
                format!("{}the model gives {}", question(meant.as_deref()), gives.join(", "))
            }
            CliError::NoValue { name, declared } => {
                let empty = if declared.starts_with("STRING") {
                    format!("; {name}=text: is a string without letters")
                } else {
                    String::new()
                };
                format!("the model takes `{name}`: {declared}; {VALUE_FORMS}{empty}")
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
            CliError::BadStrings { .. } => {
                r#"write a list such as ["a", "b"], or text:WORDS for one string"#.into()
            }
            CliError::NothingAfterKind { kind, .. } => {
                format!("write {kind}:FILE, or {kind},OPTION=VALUE:FILE; ./{kind} is a file of that name")
            }
            CliError::UnknownOption { kind, known: [], .. } => {
                format!("`{kind}` takes no options")
            }
            CliError::UnknownOption { kind, known, .. } => {
                format!("`{kind}` takes {}; `oneir help inputs` explains them", known.join(", "))
            }
            CliError::BadOption { .. } => "`oneir help inputs` explains the options".into(),
            CliError::NoLayout { .. } => {
                "name it, as in picture,layout=nchw:FILE (n is the batch, c the channels)".into()
            }
            CliError::NoRawShape { .. } => {
                "raw,shape=2x3:FILE gives the shape; the type must be declared".into()
            }
            CliError::NoPlace { .. } => {
                "save the values as a .npy file of the declared type and shape, and give that".into()
            }
            CliError::TooShort { .. } | CliError::WrongCount { .. } => {
                "pad=VALUE fills up, first=COUNT and last=COUNT take a part, as in bytes,first=512,pad=0:FILE"
                    .into()
            }
            CliError::Inexact { expected, .. } => {
                format!("only values that stay the same are converted; save the tensor as {expected}")
            }
            CliError::NoGraph { assumed, .. } if !assumed.is_empty() => {
                format!("{}; `oneir inspect` without flags shows what the file says", assumption(assumed))
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
        OnnxError::Operator { .. } => {
            "if sizes do not fit, open sizes are yours to choose: NAME=random:1x3x48x320, or size=, length= \
             and first= of files (`oneir help inputs`); `oneir inspect` shows what the model declares"
        }
        OnnxError::Input { .. } | OnnxError::Inputs { .. } => "`oneir inspect` shows what the model takes",
        _ => return None,
    })
}

fn file_advice(error: &IoError) -> Option<&'static str> {
    Some(match error {
        IoError::UnknownFormat { .. } => {
            "tensor files end in .npy, .npz, .safetensors or .gguf; for --input, a picture, a sound, text and bytes \
             do too: `oneir help inputs`"
        }
        IoError::NotOneTensor { .. } => "save to .npz or .safetensors, which hold any number of tensors",
        IoError::UnwritableDType { .. } => "another of npy, npz, safetensors and gguf may hold it",
        _ => return None,
    })
}

/// What is said of inputs of which a size was taken to be 1.
pub(crate) fn assumption(names: &[String]) -> String {
    format!("open sizes of {} are taken to be 1; --shape NAME=2x3 sets them", names.join(", "))
}

/// Asks whether a name was meant.
fn question(meant: Option<&str>) -> String {
    meant.map(|name| format!("did you mean `{name}`? ")).unwrap_or_default()
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(" ({})", quoted(names)) }
}
