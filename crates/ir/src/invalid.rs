use oneir_tensor::{DType, TensorError};

use crate::Spec;

/// Why a primitive cannot be applied to its inputs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Invalid {
    /// The wrong number of inputs.
    #[error("expected {expected} inputs, found {found}")]
    Arity {
        /// How many were needed, in words.
        expected: &'static str,
        /// How many there were.
        found: usize,
    },
    /// An input has an element type that the op does not take.
    #[error("{operand} must be {expected}, found {found}")]
    DType {
        /// Which input.
        operand: &'static str,
        /// What is accepted, in words.
        expected: &'static str,
        /// What was there.
        found: DType,
    },
    /// Two inputs must have one element type.
    #[error("operands must share a dtype, found {left} and {right}")]
    DTypesDiffer {
        /// The first.
        left: DType,
        /// The second.
        right: DType,
    },
    /// An input has the wrong shape.
    #[error("{operand} must have shape {expected:?}, found {found:?}")]
    Shape {
        /// Which input.
        operand: &'static str,
        /// The shape that was needed.
        expected: Vec<usize>,
        /// The shape that was there.
        found: Vec<usize>,
    },
    /// An input has too few or too many dimensions.
    #[error("{operand} must have {expected} dimensions, found shape {found:?}")]
    Rank {
        /// Which input.
        operand: &'static str,
        /// How many were needed, in words.
        expected: &'static str,
        /// The shape that was there.
        found: Vec<usize>,
    },
    /// An axis is out of range, repeated or out of order.
    #[error("axis {axis} is out of range, repeated or out of order for rank {rank}")]
    Axis {
        /// The axis.
        axis: usize,
        /// The rank it was used with.
        rank: usize,
    },
    /// Inner dimensions of a product differ.
    #[error("inner dimensions differ: {left:?} by {right:?}")]
    Inner {
        /// Shape of the left factor.
        left: Vec<usize>,
        /// Shape of the right factor.
        right: Vec<usize>,
    },
    /// The extreme of no elements.
    #[error("the extreme of an empty axis {axis} of shape {shape:?} is not defined")]
    EmptyExtreme {
        /// The reduced axis.
        axis: usize,
        /// The operand's shape.
        shape: Vec<usize>,
    },
    /// A parameter has a value that means nothing.
    #[error("parameter {parameter} = {found} is not valid: {expected}")]
    Parameter {
        /// Its name.
        parameter: &'static str,
        /// Its value.
        found: String,
        /// What is accepted.
        expected: &'static str,
    },
    /// A window is larger than what it slides over.
    #[error("a window that spans {span} does not fit axis {axis}, which spans {available} with its padding")]
    Window {
        /// The axis.
        axis: usize,
        /// Places from the window's first item to its last.
        span: usize,
        /// Places of the axis with its padding.
        available: usize,
    },
    /// An op is not defined for an element type.
    #[error("{op} is not defined for {dtype}")]
    Undefined {
        /// The scalar function or op.
        op: &'static str,
        /// The element type.
        dtype: DType,
    },
    /// A slice or index needs more of a tensor than there is.
    #[error("a slice of {slice:?} does not fit in shape {shape:?}")]
    NoFit {
        /// The slice's shape.
        slice: Vec<usize>,
        /// The shape it was to be taken from.
        shape: Vec<usize>,
    },
    /// A body graph does not fit the inputs.
    #[error("the {body} graph expects {expected}, found {found}")]
    Body {
        /// Which body.
        body: &'static str,
        /// What it expects, in words.
        expected: String,
        /// What was there, in words.
        found: String,
    },
    /// A result's shape cannot be made or viewed.
    #[error(transparent)]
    Tensor(#[from] TensorError),
}

/// Refuses any number of inputs but `N`.
pub(crate) fn exactly<'s, const N: usize>(inputs: &[&'s Spec]) -> Result<[&'s Spec; N], Invalid> {
    const WORDS: [&str; 8] = ["no", "1", "2", "3", "4", "5", "6", "7"];
    inputs.try_into().map_err(|_| Invalid::Arity { expected: WORDS[N.min(7)], found: inputs.len() })
}

/// Refuses an axis past the rank.
pub(crate) fn axis_within(axis: usize, rank: usize) -> Result<(), Invalid> {
    if axis < rank { Ok(()) } else { Err(Invalid::Axis { axis, rank }) }
}

/// Refuses axes that are not sorted, unique and below `rank`.
pub(crate) fn axes_within(axes: &[usize], rank: usize) -> Result<(), Invalid> {
    for (i, &axis) in axes.iter().enumerate() {
        if axis >= rank || (i > 0 && axes[i - 1] >= axis) {
            return Err(Invalid::Axis { axis, rank });
        }
    }
    Ok(())
}

/// Refuses two element types that differ.
pub(crate) fn same_dtype(a: &Spec, b: &Spec) -> Result<(), Invalid> {
    if a.dtype == b.dtype { Ok(()) } else { Err(Invalid::DTypesDiffer { left: a.dtype, right: b.dtype }) }
}

/// Refuses a shape that is not `expected`.
pub(crate) fn shape_is(operand: &'static str, found: &Spec, expected: &[usize]) -> Result<(), Invalid> {
    if found.shape[..] == *expected {
        Ok(())
    } else {
        Err(Invalid::Shape { operand, expected: expected.to_vec(), found: found.shape.to_vec() })
    }
}

/// Refuses a dtype that does not pass `accept`.
pub(crate) fn dtype_is(
    operand: &'static str,
    found: &Spec,
    expected: &'static str,
    accept: impl Fn(DType) -> bool,
) -> Result<(), Invalid> {
    if accept(found.dtype) { Ok(()) } else { Err(Invalid::DType { operand, expected, found: found.dtype }) }
}

/// Refuses a slice that is larger than what it is taken from.
pub(crate) fn slice_fits(slice: &[usize], shape: &[usize]) -> Result<(), Invalid> {
    if slice.len() == shape.len() && slice.iter().zip(shape).all(|(s, n)| s <= n) {
        Ok(())
    } else {
        Err(Invalid::NoFit { slice: slice.to_vec(), shape: shape.to_vec() })
    }
}
