use crate::primitive::EvalError;
use crate::{Invalid, Place};

/// Why a program is not a graph, or a graph not a right one, by name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GraphError {
    /// An op does not take its operands.
    #[error("`{op}` does not take its operands: {why}")]
    Inference {
        /// The op.
        op: String,
        /// Why.
        why: Invalid,
    },
    /// An op's result does not have the shape or dtype that its tensor claims.
    #[error("`{op}` gives {found}, but tensor {tensor} is {expected}")]
    WrongResult {
        /// The op.
        op: String,
        /// The tensor.
        tensor: String,
        /// What the tensor claims.
        expected: String,
        /// What the op gives.
        found: String,
    },
    /// A tensor or op is named that the graph does not have.
    #[error("op {op} names {what} {id}, which the graph does not have")]
    Unknown {
        /// The op's place.
        op: usize,
        /// Tensor or lifted op.
        what: &'static str,
        /// Its number.
        id: u32,
    },
    /// A tensor is read before anything gives or computes it.
    #[error("op {op} (`{name}`) reads tensor {tensor} before it has a value")]
    ReadBeforeWrite {
        /// The op's place.
        op: usize,
        /// Its name.
        name: &'static str,
        /// The tensor.
        tensor: String,
    },
    /// Two ops compute the same tensor.
    #[error("op {op} (`{name}`) computes tensor {tensor} a second time")]
    WrittenTwice {
        /// The second op's place.
        op: usize,
        /// Its name.
        name: &'static str,
        /// The tensor.
        tensor: String,
    },
    /// Something other than state is written in place.
    #[error("op {op} (`{name}`) writes rows of tensor {tensor}, which is not state")]
    NotState {
        /// The op's place.
        op: usize,
        /// Its name.
        name: &'static str,
        /// The tensor.
        tensor: String,
    },
    /// A write leaves its table.
    #[error("`{op}` writes {written} values from row {row} of a table of {rows} rows of {pitch}")]
    RowOutOfRange {
        /// The op.
        op: String,
        /// Values written.
        written: usize,
        /// The first row, from 1.
        row: i64,
        /// Rows of the table.
        rows: usize,
        /// Values in a row.
        pitch: usize,
    },
    /// A part does not fit its unit.
    #[error("a part of {width} values at {offset} does not fit a unit of {pitch}")]
    PartOutOfUnit {
        /// Values of the part.
        width: usize,
        /// Where it begins.
        offset: usize,
        /// Values of a unit.
        pitch: usize,
    },
    /// A view reaches outside its tensor.
    #[error("op {op} (`{name}`) reads outside tensor {tensor}: {why}")]
    ViewOutOfTensor {
        /// The op's place.
        op: usize,
        /// Its name.
        name: &'static str,
        /// The tensor.
        tensor: String,
        /// Why.
        why: oneir_tensor::TensorError,
    },
    /// A lifted op is computed by no op, and listed neither as dead nor folded.
    #[error("lifted op {0} is covered by nothing")]
    CoveredNever(u32),
    /// A lifted op is covered more than once.
    #[error("lifted op {0} is covered more than once")]
    CoveredTwice(u32),
    /// A fused class stands in a graph without its definition.
    #[error("op {op}: `{name}` must be fused with its definition after lifting")]
    BareFused {
        /// The op's place.
        op: usize,
        /// The primitive.
        name: &'static str,
    },
    /// A fused op's definition does not compute what the fused op claims.
    #[error("op {op}: the definition of `{class}` {problem}")]
    Definition {
        /// The op's place.
        op: usize,
        /// The class.
        class: &'static str,
        /// What is wrong.
        problem: String,
    },
    /// An interior result of a fused op is needed outside it.
    #[error("op {op} (`{class}`) hides tensor {tensor}, which is {why}")]
    ObservedInside {
        /// The op's place.
        op: usize,
        /// The class.
        class: &'static str,
        /// The tensor.
        tensor: String,
        /// Who needs it.
        why: &'static str,
    },
    /// Two graphs that must agree give different numbers.
    #[error("output {output} differs at element {element}: {expected} before, {found} after")]
    Differs {
        /// Which output.
        output: usize,
        /// Which element.
        element: usize,
        /// The value before.
        expected: String,
        /// The value after.
        found: String,
    },
    /// A tensor to be kept or read by the caller is not of the graph.
    #[error("{what} must be {expected}, found {found}")]
    Interface {
        /// Which input or output.
        what: String,
        /// What was expected.
        expected: String,
        /// What was found.
        found: String,
    },
    /// Data has no result.
    #[error("`{op}` at {place}: {why}")]
    Evaluation {
        /// The op.
        op: String,
        /// Where it was written.
        place: Place,
        /// Why.
        why: Box<EvalError>,
    },
    /// A format that cannot be computed with here.
    #[error("tensor {tensor} is stored as {format}, which {who} does not read")]
    FormatUnsupported {
        /// The tensor.
        tensor: String,
        /// The format.
        format: String,
        /// Who was asked.
        who: &'static str,
    },
}
