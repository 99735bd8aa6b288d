//! Rules that the writer of a function gives beside it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{Applied, Batched, Slots};
use crate::attr::Attr;
use crate::text::{Cursor, Printer, TextError};
use crate::transform::TransformError;

/// Tangents of results from those of inputs, or cotangents of inputs from those of
/// results, of a call of a function.
pub type ChangeRule =
    dyn Fn(&Applied<'_>, &[Option<crate::Value>]) -> Result<Slots, TransformError> + Send + Sync;

/// The results of a function for a batch of so many inputs.
pub type BatchRule = dyn Fn(&[Batched], usize) -> Result<Vec<Batched>, TransformError> + Send + Sync;

/// The rules that were given; what is none goes through the function itself.
#[derive(Clone, Default)]
pub struct GivenRules {
    /// From tangents of the inputs to tangents of the results.
    pub jvp: Option<Arc<ChangeRule>>,
    /// From cotangents of the results to cotangents of the inputs.
    pub vjp: Option<Arc<ChangeRule>>,
    /// The results of a batch.
    pub vmap: Option<Arc<BatchRule>>,
}

/// How transforms see the call of a function.
///
/// Any two are equal: what a call computes does not depend on them. A text does
/// not hold rules that were given; what is read back has none.
#[derive(Clone, Default)]
pub enum CustomRules {
    /// They go through the function.
    #[default]
    None,
    /// In reverse, what the function computed is computed again from its inputs,
    /// instead of being kept.
    Recompute,
    /// By these.
    Given(GivenRules),
}

/// How a transform goes through recorded values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Forward,
    Reverse,
    Batch,
}

impl CustomRules {
    /// Whether the transform has a rule here, and so needs nothing of what the
    /// function recorded.
    pub(crate) fn has(&self, way: Way) -> bool {
        match self {
            CustomRules::None => false,
            CustomRules::Recompute => way == Way::Reverse,
            CustomRules::Given(rules) => match way {
                Way::Forward => rules.jvp.is_some(),
                Way::Reverse => rules.vjp.is_some(),
                Way::Batch => rules.vmap.is_some(),
            },
        }
    }
}

impl PartialEq for CustomRules {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for CustomRules {}

impl Hash for CustomRules {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl fmt::Debug for CustomRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CustomRules::None => "none",
            CustomRules::Recompute => "recompute",
            CustomRules::Given(_) => "given",
        })
    }
}

impl Attr for CustomRules {
    fn write(&self, out: &mut Printer) {
        out.push_str(&format!("{self:?}"));
    }

    fn read(text: &mut Cursor<'_>) -> Result<Self, TextError> {
        if text.take("recompute") {
            Ok(CustomRules::Recompute)
        } else if text.take("none") || text.take("given") {
            Ok(CustomRules::None)
        } else {
            Err(text.error("`none`, `recompute` or `given`"))
        }
    }
}
