//! How a primitive is differentiated and run over a further axis: each declares
//! one of these, and the drivers in `crate::transform` do the rest.

use crate::transform::TransformError;
use crate::{Invalid, Primitive, Spec, UnaryOp, Value};

/// One value per input or result; none for one that is zero everywhere.
pub type Slots = Vec<Option<Value>>;

/// A recorded call that a rule looks at.
#[derive(Debug, Clone, Copy)]
pub struct Applied<'a> {
    /// What it was called with.
    pub inputs: &'a [Value],
    /// What came out.
    pub outputs: &'a [Value],
}

/// Of an element-wise function, the derivative by one operand.
#[derive(Debug, Clone)]
pub enum Partial {
    /// 0 everywhere: the result does not change, or in jumps only.
    Zero,
    /// 1 everywhere.
    One,
    /// -1 everywhere.
    MinusOne,
    /// This, element by element.
    Times(Value),
}

type Partials<'a> = dyn Fn(&Applied<'_>, usize) -> Result<Partial, Invalid> + 'a;
type Transpose<'a> = dyn Fn(&Applied<'_>, &[Option<Value>]) -> Result<Slots, Invalid> + 'a;
type Factor<'a> = dyn Fn(&Applied<'_>, &Value, usize) -> Result<Value, Invalid> + 'a;
type Choice<'a> = dyn Fn(&[Value], Asked<'_>) -> Derivative<'a> + 'a;
type Graph<'a> = dyn Fn(&[Value]) -> Result<Vec<Value>, Invalid> + 'a;

/// A rule that transforms bodies.
pub(crate) type Deep<'a> = dyn Fn(&Applied<'_>, &[Option<Value>]) -> Result<Slots, TransformError> + 'a;

/// What a derivative is asked for.
#[derive(Debug, Clone, Copy)]
pub enum Asked<'a> {
    /// Tangents of the results.
    Tangents,
    /// Cotangents of the inputs, of these of the results.
    Cotangents(&'a [Option<Value>]),
}

/// How a primitive is differentiated.
#[non_exhaustive]
pub enum Derivative<'a> {
    /// No result changes with any input, or in jumps only.
    Zero,
    /// There is no derivative, for the reason told.
    Undefined(&'static str),
    /// Element by element: the derivative by each operand. Complex functions are
    /// holomorphic.
    Partials(Box<Partials<'a>>),
    /// Linear in `over` together: a change of the result is the primitive of the
    /// changes. The closure gives what each input gets of cotangents of the
    /// results.
    Linear {
        /// The inputs that it is linear in; the others are taken as they are.
        over: Over,
        /// From cotangents of the results to cotangents of the inputs.
        transpose: Box<Transpose<'a>>,
    },
    /// Linear in each of `over` by itself, with one result: a change of the
    /// result is the sum of the primitive with one input changed. The closure
    /// gives what input `k` gets of the result's cotangent.
    Multilinear {
        /// The inputs that it is linear in.
        over: Over,
        /// From the result's cotangent to that of one input.
        transpose: Box<Factor<'a>>,
    },
    /// As a graph of other primitives that computes the same.
    Via(Box<Graph<'a>>),
    /// The one that this chooses by what the primitive was called with and is
    /// asked for.
    Chosen(Box<Choice<'a>>),
    /// By rules of its own.
    Custom {
        /// From tangents of the inputs to tangents of the results.
        jvp: Box<Transpose<'a>>,
        /// From cotangents of the results to cotangents of the inputs.
        vjp: Box<Transpose<'a>>,
    },
    /// By the derivatives of its bodies.
    Bodies {
        /// From tangents of the inputs to tangents of the results.
        jvp: Box<Deep<'a>>,
        /// From cotangents of the results to cotangents of the inputs.
        vjp: Box<Deep<'a>>,
    },
}

/// Some of a primitive's inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Over {
    /// All of them.
    All,
    /// These.
    Only(Vec<usize>),
}

impl Over {
    /// Whether an input is among them.
    pub fn has(&self, input: usize) -> bool {
        match self {
            Over::All => true,
            Over::Only(inputs) => inputs.contains(&input),
        }
    }
}

impl<'a> Derivative<'a> {
    /// [`Derivative::Linear`] of a primitive with one result.
    pub(crate) fn linear(
        over: Over,
        transpose: impl Fn(&Applied<'_>, &Value) -> Result<Slots, Invalid> + 'a,
    ) -> Derivative<'a> {
        let transpose: Box<Transpose<'a>> = Box::new(move |at, cotangents| match cotangents {
            [Some(cotangent)] => transpose(at, cotangent),
            _ => Ok(vec![None; at.inputs.len()]),
        });
        Derivative::Linear { over, transpose }
    }

    /// [`Derivative::Linear`] of a primitive with one input and one result.
    pub(crate) fn linear_unary(
        transpose: impl Fn(&Value, &Value) -> Result<Value, Invalid> + 'a,
    ) -> Derivative<'a> {
        Derivative::linear(Over::All, move |at, cotangent| {
            Ok(vec![Some(transpose(&at.inputs[0], cotangent)?)])
        })
    }

    /// [`Derivative::Partials`].
    pub(crate) fn partials(
        partial: impl Fn(&Applied<'_>, usize) -> Result<Partial, Invalid> + 'a,
    ) -> Derivative<'a> {
        Derivative::Partials(Box::new(partial))
    }
}

/// A value of a batch: where its further axis is, or none where it is the same
/// for all.
#[derive(Debug, Clone)]
pub struct Batched {
    /// The value.
    pub value: Value,
    /// The further axis.
    pub axis: Option<usize>,
}

type Changed<'a> = dyn Fn(&[&Spec], usize) -> Result<Primitive, Invalid> + 'a;
type DeepMapped<'a> = dyn Fn(&[Batched], usize) -> Result<Vec<Batched>, TransformError> + 'a;
type BatchingChoice<'a> = dyn Fn(&[Batched]) -> Batching<'a> + 'a;
type Mapped<'a> = dyn Fn(&[Batched], usize) -> Result<Vec<Batched>, Invalid> + 'a;

/// How a primitive runs over a further axis.
#[non_exhaustive]
pub enum Batching<'a> {
    /// The same primitive, all inputs with the further axis in front.
    Same,
    /// The primitive that this makes of the inputs' specs without the further
    /// axis and its size, on inputs that have it in front, as the results will.
    With(Box<Changed<'a>>),
    /// As a graph of other primitives that computes the same.
    Via(Box<Graph<'a>>),
    /// By a rule of its own, on inputs that have the further axis in front or
    /// not at all.
    Custom(Box<Mapped<'a>>),
    /// By batches of its bodies, on inputs as for `Custom`.
    Bodies(Box<DeepMapped<'a>>),
    /// The one that this chooses by which inputs have the further axis.
    Chosen(Box<BatchingChoice<'a>>),
    /// It cannot, for the reason told.
    Undefined(&'static str),
}

impl<'a> Batching<'a> {
    /// [`Batching::With`].
    pub(crate) fn with(change: impl Fn(&[&Spec], usize) -> Result<Primitive, Invalid> + 'a) -> Batching<'a> {
        Batching::With(Box::new(change))
    }
}

/// A change times a derivative, whose conjugate is taken in reverse.
pub(crate) fn scaled(change: &Value, partial: Partial, reverse: bool) -> Result<Option<Value>, Invalid> {
    Ok(match partial {
        Partial::Zero => None,
        Partial::One => Some(change.clone()),
        Partial::MinusOne => Some(change.unary(UnaryOp::Neg)?),
        Partial::Times(factor) => {
            let complex = factor.spec().dtype.is_complex() && reverse;
            let factor = if complex { factor.unary(UnaryOp::Conjugate)? } else { factor };
            Some(change.multiply(&factor)?)
        }
    })
}

/// Axes where a further one stands in front.
pub(super) fn further(axes: &[usize]) -> Vec<usize> {
    axes.iter().map(|axis| axis + 1).collect()
}

/// Something of each axis where a further one stands in front.
pub(super) fn in_front<T: Clone>(first: T, rest: &[T]) -> Vec<T> {
    std::iter::once(first).chain(rest.iter().cloned()).collect()
}
