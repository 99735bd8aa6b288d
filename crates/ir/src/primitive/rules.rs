use oneir_tensor::{DType, HostTensor, Layout, TensorError};

use crate::scalar::{BinaryOp, UnaryOp};
use crate::{Invalid, Spec, Specs};

use super::Case;
pub(crate) use super::transforms::{Batching, Derivative};

/// What kind of operation a primitive is. Passes ask this, not names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Nature {
    /// The input's elements seen through another layout.
    View,
    /// Each result element from the operands' elements at the same place.
    ElementWise,
    /// A sum of products over an inner dimension.
    Contraction,
    /// Many elements of an operand into one.
    Reduction,
    /// Elements moved, not computed.
    Movement,
    /// Made from parameters alone.
    Source,
    /// Random bits: a function of its key.
    Random,
    /// A fused class or region with a definition.
    Fused,
    /// Runs body graphs.
    Control,
    /// A result whose size is data: the graph breaks there.
    DataSized,
    /// Anything else that is a pure function of its inputs.
    Opaque,
    /// Orders or reaches outside: never merged, folded, reordered or dropped
    /// while something reads it.
    Effect,
}

impl Nature {
    /// Whether two equal ops on equal inputs may become one, and an op on
    /// constants may be computed early.
    pub fn is_pure(self) -> bool {
        !matches!(self, Nature::Effect)
    }
}

/// An element-wise function that a region can hold as one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StepOp {
    /// A function of one operand.
    Unary(UnaryOp),
    /// A function of two operands of one dtype.
    Binary(BinaryOp),
    /// `(condition, a, b)`.
    Select,
    /// Conversion to a dtype.
    AsType(DType),
}

/// Why data has no result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EvalError {
    /// The inputs do not fit the primitive.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// A tensor cannot be made or read.
    #[error(transparent)]
    Tensor(#[from] TensorError),
    /// A matrix lacks what the op needs of it.
    #[error("matrix {matrix} of {op} is not {expected}")]
    Matrix {
        /// The operation.
        op: &'static str,
        /// Which matrix of the batch.
        matrix: usize,
        /// What was needed: positive definite, invertible, convergent.
        expected: &'static str,
    },
    /// A user kernel has no source for the device.
    #[error("kernel `{kernel}` has no source for {target}")]
    NoSource {
        /// The kernel's name.
        kernel: String,
        /// The device it was to run on.
        target: &'static str,
    },
    /// A user function failed.
    #[error("`{name}` failed: {reason}")]
    User {
        /// The function's name.
        name: String,
        /// What it said.
        reason: String,
    },
    /// The op only means something between several processes.
    #[error("{op} needs a group of more than one process")]
    Alone {
        /// The operation.
        op: &'static str,
    },
    /// The op runs in the processes of a group, which reference evaluation
    /// cannot reach.
    #[error("{op} over group {group} needs the processes of that group")]
    Group {
        /// The operation.
        op: &'static str,
        /// The group's id.
        group: usize,
    },
    /// A value that counts or indexes is out of range.
    #[error("{what} is {found}, but must lie in {low}..={high}")]
    OutOfRange {
        /// What it counts.
        what: &'static str,
        /// Its value.
        found: i64,
        /// Smallest accepted.
        low: i64,
        /// Largest accepted.
        high: i64,
    },
    /// Part of a graph could not be computed.
    #[error(transparent)]
    Graph(#[from] Box<crate::graph::GraphError>),
}

/// `count` zeros, or an error when memory for them cannot be had.
pub(super) fn zeros<T: Clone + Default>(count: usize) -> Result<Vec<T>, TensorError> {
    let mut all = Vec::new();
    let bytes = count.saturating_mul(size_of::<T>());
    all.try_reserve_exact(count).map_err(|_| TensorError::OutOfMemory { bytes })?;
    all.resize(count, T::default());
    Ok(all)
}

/// All rules of one primitive, over its parameters. The list of primitives
/// dispatches to these; one that lacks a rule does not compile.
pub(crate) trait Rules {
    /// Shape and dtype of each result.
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid>;

    /// The results: slow, obvious, careful. Inputs may lie with any strides.
    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError>;

    /// Shape and dtype of each result on these inputs, or why they do not fit.
    fn results(&self, inputs: &[HostTensor]) -> Result<Specs, EvalError> {
        let specs: Vec<Spec> = inputs.iter().map(|x| Spec::new(x.dtype(), x.shape().clone())).collect();
        let results = self.infer(&specs.iter().collect::<Vec<_>>())?;
        for spec in &results {
            spec.shape.checked_count(spec.dtype)?;
        }
        Ok(results)
    }

    /// What kind of operation this is.
    fn nature(&self) -> Nature;

    /// Derivative rule.
    fn derivative(&self) -> Derivative<'_>;

    /// Batching rule.
    fn batching(&self) -> Batching<'_>;

    /// Test cases: parameters, inputs and right answers.
    fn cases() -> Vec<Case>
    where
        Self: Sized;

    /// Of a view: the result's layout over the input's buffer, where strides
    /// can say it.
    fn view(&self, _input: &Layout) -> Option<Layout> {
        None
    }

    /// Of an element-wise primitive: the step of a region.
    fn step(&self) -> Option<StepOp> {
        None
    }

    /// Of what hands operands on: the first of those that the results are.
    fn presents(&self) -> Option<usize> {
        None
    }

    /// Whether parameters hold sizes taken from traced shapes.
    fn fixes_shape(&self) -> bool {
        false
    }
}
