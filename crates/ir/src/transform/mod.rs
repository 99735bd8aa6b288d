//! Derivatives and batching of recorded values.
//!
//! The drivers walk what was recorded between given inputs and outputs and apply
//! each primitive's declared rule. They record; they compute nothing.

mod batching;
mod bodies;
pub(crate) mod control;
mod custom;
mod derivative;
mod walk;

pub use batching::vmap;
pub use bodies::{beside, body};
pub use custom::{captures, is_open};
pub use derivative::{jvp, vjp};

use crate::graph::GraphError;
use crate::{Invalid, Place};

/// Why a transform does not exist.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransformError {
    /// There is no such rule.
    #[error("`{primitive}` at {place} has no {rule}: {why}")]
    Undefined {
        /// The primitive's name.
        primitive: &'static str,
        /// Derivative or batching.
        rule: &'static str,
        /// The reason.
        why: &'static str,
        /// Where it was recorded.
        place: Place,
    },
    /// A rule recorded what does not fit.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// The body of a control-flow primitive cannot be transformed.
    #[error(transparent)]
    Body(#[from] Box<GraphError>),
    /// A rule that a user gave failed.
    #[error("the rule of `{function}` failed: {why}")]
    User {
        /// The function's name.
        function: String,
        /// What the rule said.
        why: String,
    },
    /// A tangent or cotangent does not look like its value.
    #[error("a {what} must be {expected}, as its value is; found {found}")]
    Unlike {
        /// What it is.
        what: &'static str,
        /// The value's shape and dtype.
        expected: String,
        /// The shape and dtype found.
        found: String,
    },
}
