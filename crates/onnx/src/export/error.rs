use std::sync::Arc;

use oneir_array::ArrayError;
use oneir_io::IoError;

/// Why a function cannot be exported to ONNX.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The standard has no operators for a part of the function.
    #[error("`{primitive}`, written at {place}, cannot be exported to ONNX: {why}")]
    Unsupported {
        /// The primitive or fused class.
        primitive: String,
        /// Where it was written.
        place: String,
        /// Why not.
        why: String,
    },
    /// The names or the batch that were asked for do not fit the function.
    #[error("{0}")]
    Options(String),
    /// A captured value cannot be had.
    #[error(transparent)]
    Array(#[from] ArrayError),
    /// The model is larger than a protobuf message can be: its weights must go to a
    /// file of their own.
    #[error("a model of {bytes} bytes does not fit one protobuf message: save it with external weights")]
    TooLarge {
        /// Bytes of the model.
        bytes: usize,
    },
    /// A file cannot be written.
    #[error(transparent)]
    File(Arc<IoError>),
}

impl From<IoError> for ExportError {
    fn from(error: IoError) -> Self {
        ExportError::File(Arc::new(error))
    }
}

/// Why a row does not export an op.
#[derive(Debug)]
pub(super) enum Refusal {
    /// There are no operators for it.
    Unsupported(String),
    /// It does not treat the items of a batch alike: sizes must be fixed.
    Batch,
}

impl<T: Into<String>> From<T> for Refusal {
    fn from(why: T) -> Self {
        Refusal::Unsupported(why.into())
    }
}
