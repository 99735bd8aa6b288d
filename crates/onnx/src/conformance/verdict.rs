use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Difference, Way};
use crate::OnnxError;

/// What came of a case.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// Every output is right.
    Pass,
    /// Every output is right, those of random operators in shape, element type
    /// and range.
    Random,
    /// An error says that the case is not computed here.
    Refused(Refusal),
    /// An output is not the right one.
    Wrong {
        /// Where it was computed.
        device: String,
        /// How.
        way: Way,
        /// The output's name.
        output: String,
        /// How it differs.
        difference: Difference,
    },
}

/// Why a case is not computed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The model's file is refused, or operators are missing.
    #[error("{source}")]
    Model {
        /// Why.
        source: Box<OnnxError>,
    },
    /// A file of a data set cannot be read.
    #[error("{file}: {fault}")]
    Data {
        /// The file, from the case's folder.
        file: String,
        /// What is wrong with it.
        fault: DataFault,
    },
    /// The model is refused when it runs.
    #[error("on {device}, {way}: {source}")]
    Run {
        /// Where it ran.
        device: String,
        /// How.
        way: Way,
        /// Why.
        source: Box<OnnxError>,
    },
}

/// What is wrong with a file of a data set.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum DataFault {
    /// The file cannot be read.
    #[error("{source}")]
    Io {
        /// What the operating system said.
        source: Arc<std::io::Error>,
    },
    /// There must be a file: the model has an output for it.
    #[error("there is no such file, and the model has {outputs} outputs")]
    Missing {
        /// How many outputs the model has.
        outputs: usize,
    },
    /// There must be a data set: the model takes or gives something.
    #[error("there is no such folder, and the model takes {inputs} and gives {outputs} values")]
    NoSets {
        /// How many inputs the model takes.
        inputs: usize,
        /// How many outputs it has.
        outputs: usize,
    },
    /// The model has no value for the file.
    #[error("the model has {}", only(stem, *count))]
    Surplus {
        /// `input` or `output`.
        stem: &'static str,
        /// How many of them the model has.
        count: usize,
    },
    /// Something else stands where a file is read.
    #[error("expected a regular file, found {found}")]
    NotAFile {
        /// What stands there.
        found: &'static str,
    },
    /// The bytes are not the protobuf message that the declared type asks for.
    #[error("not a {message}: {reason}")]
    Undecodable {
        /// The message's name.
        message: &'static str,
        /// The decoder's words.
        reason: String,
    },
    /// A kind of value that is not read.
    #[error("{what} cannot be read")]
    Kind {
        /// The kind.
        what: &'static str,
    },
    /// A tensor is broken.
    #[error("{source}")]
    Tensor {
        /// What is wrong.
        source: Box<OnnxError>,
    },
}

/// Why a folder's cases cannot be listed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConformanceError {
    /// A folder cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// There is no case.
    #[error(
        "{} has no case: expected folders, at whatever depth, with model.onnx and test_data_set_0/output_0.pb",
        path.display()
    )]
    NoCases {
        /// The folder.
        path: PathBuf,
    },
}

/// How many files of a kind a model has values for, and which they are.
fn only(stem: &str, count: usize) -> String {
    match count {
        0 => format!("no {stem}s"),
        1 => format!("1 {stem} only, which is {stem}_0.pb"),
        _ => format!("{count} {stem}s only, {stem}_0.pb to {stem}_{}.pb", count - 1),
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Verdict::Pass => f.write_str("pass"),
            Verdict::Random => f.write_str("shape, element type and range are right"),
            Verdict::Refused(why) => why.fmt(f),
            Verdict::Wrong { device, way, output, difference } => {
                write!(f, "on {device}, {way}: `{output}` {difference}")
            }
        }
    }
}
