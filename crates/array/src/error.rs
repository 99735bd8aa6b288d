use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use oneir_ir::Invalid;
use oneir_ir::graph::GraphError;
use oneir_ir::transform::TransformError;
use oneir_runtime::RuntimeError;
use oneir_tensor::TensorError;

/// Why a call makes no sense.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// A primitive does not take the operands.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A shape or value cannot be made.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// An axis is out of range.
    #[error("axis {axis} is out of range for {rank} dimensions")]
    Axis {
        /// The axis, negative when counted from the end.
        axis: isize,
        /// Number of dimensions.
        rank: usize,
    },
    /// An axis is named twice.
    #[error("axis {axis} is named twice")]
    RepeatedAxis {
        /// The axis.
        axis: usize,
    },
    /// A size that must follow from the others does not.
    #[error("{count} elements do not fill shape {shape:?}")]
    Reshape {
        /// Elements there are.
        count: usize,
        /// The shape asked for; -1 stands for the size that follows.
        shape: Vec<isize>,
    },
    /// A literal does not fit the dtype that it must have.
    #[error("{value} does not fit {dtype}")]
    Literal {
        /// The number.
        value: String,
        /// The dtype.
        dtype: oneir_tensor::DType,
    },
    /// A place that is known lies outside of a dimension.
    #[error("index {index} is out of range for axis {axis} of size {size}")]
    Index {
        /// The place, negative when counted from the end.
        index: i64,
        /// The indexed dimension.
        axis: usize,
        /// Its size.
        size: usize,
    },
    /// A value that a size depends on cannot be computed.
    #[error("a size depends on a value that cannot be computed: {0}")]
    Evaluation(String),
    /// An operation holds sizes of the shapes that a function was traced with.
    #[error("`{op}` at {place} holds sizes of the trace, so it cannot run on other shapes")]
    FixedSize {
        /// The operation.
        op: &'static str,
        /// Where it was recorded.
        place: oneir_ir::Place,
    },
    /// A compiled function could not be planned or run.
    #[error("{0}")]
    Run(String),
    /// A transform has no rule, or values do not fit it.
    #[error(transparent)]
    Transform(#[from] TransformError),
    /// Parameters that only make sense together do not.
    #[error("{0}")]
    Parameters(String),
}

/// The first call that went wrong on the way to an array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// The operation.
    pub op: &'static str,
    /// The caller's line.
    pub place: &'static Location<'static>,
    /// Why.
    pub reason: Reason,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` at {}: {}", self.op, self.place, self.reason)
    }
}

/// Why a value cannot be had.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// A call on the way to it failed.
    #[error("{0}")]
    Failed(Arc<Failure>),
    /// It could not be computed.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
    /// It has another element type, or not one element.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(Arc<oneir_io::IoError>),
    /// A file that should hold one array holds none or several.
    #[error("{}: expected one array, found {}: {}", path.display(), names.len(), names.join(", "))]
    NotOneArray {
        /// The file.
        path: std::path::PathBuf,
        /// The arrays' names.
        names: Vec<String>,
    },
    /// A file holds no function that could be loaded.
    #[error("{}: not a saved function: {problem}", path.display())]
    NotAFunction {
        /// The file.
        path: std::path::PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A function calls what only this process has.
    #[error("`{name}` has Rust functions of this process, which cannot be saved")]
    Unsavable {
        /// The kernel, or the function with rules for transforms.
        name: String,
    },
    /// `item` on an array of other than one element.
    #[error("item needs one element, found shape {shape:?}")]
    NotOneElement {
        /// The array's shape.
        shape: Vec<usize>,
    },
}

impl From<GraphError> for ArrayError {
    fn from(error: GraphError) -> Self {
        ArrayError::Runtime(error.into())
    }
}
