//! Fused classes: each names a computation that back ends may have a kernel
//! for, and is defined by ordinary primitives.

use oneir_tensor::{DType, HostTensor};

use crate::attr::Attr;
use crate::primitive::{Case, Expected};
use crate::text::{Cursor, Printer, TextError};
use crate::{BinaryOp, Invalid, Primitive, ReduceOp, Spec, Specs, UnaryOp, Value};

mod activation;
mod mask;

pub use activation::Activation;
pub use mask::Mask;

/// What one class is: its result, its definition, and its cases.
pub(crate) trait FusedClass {
    /// Shape and dtype of each result.
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid>;

    /// The same computation in ordinary primitives: what it means.
    fn definition(&self, inputs: &[Value]) -> Result<Vec<Value>, Invalid>;

    /// The ways in which exporters and people write the class, of which its
    /// definition is one.
    fn spellings(&self, inputs: &[Value]) -> Result<Vec<Value>, Invalid> {
        self.definition(inputs)
    }

    /// What the op under the probe might be the last op of, with the specs of
    /// the inputs. A parameter that is NaN stands for any number.
    fn candidates(probe: &dyn Probe) -> Vec<(FastOp, Vec<Spec>)>
    where
        Self: Sized;

    /// The class with the number found where a parameter was NaN.
    fn with_number(&self, _number: f64) -> Option<FastOp> {
        None
    }

    /// Test cases; `None` stands for whatever the definition gives.
    fn cases() -> Vec<(FastOp, Vec<HostTensor>, Option<Vec<HostTensor>>)>
    where
        Self: Sized;
}

/// What recognition asks about an op that may end a fused class.
pub trait Probe {
    /// The op.
    fn root(&self) -> &Primitive;

    /// Its result.
    fn result(&self) -> Spec;

    /// The nearest op at most `depth` steps above that `accept` takes, with
    /// the specs of its operands.
    fn nearest(&self, depth: usize, accept: &dyn Fn(&Primitive) -> bool) -> Option<(Primitive, Vec<Spec>)>;
}

macro_rules! classes {
    ($($(#[$doc:meta])* $module:ident: $variant:ident { $($(#[$fdoc:meta])* $field:ident: $t:ty),* $(,)? };)*) => {
        $(mod $module;)*

        $(
            $(#[$doc])*
            #[derive(Debug, Clone, PartialEq, Eq, Hash)]
            pub struct $variant { $($(#[$fdoc])* pub $field: $t),* }
        )*

        /// A fused class with its parameters.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum FastOp { $($(#[$doc])* $variant($variant)),* }

        impl FastOp {
            /// The name of every class, in the order of the list.
            pub const NAMES: &[&'static str] = &[$(stringify!($module)),*];

            /// The class's name.
            pub fn name(&self) -> &'static str {
                match self { $(FastOp::$variant(_) => stringify!($module)),* }
            }

            fn class(&self) -> &dyn FusedClass {
                match self { $(FastOp::$variant(class) => class),* }
            }
        }

        $(impl From<$variant> for FastOp {
            fn from(class: $variant) -> FastOp {
                FastOp::$variant(class)
            }
        })*

        impl Attr for FastOp {
            fn write(&self, out: &mut Printer) {
                out.push_str(self.name());
                match self {
                    $(FastOp::$variant(class) => {
                        out.push('{');
                        let mut first = true;
                        $(
                            if !std::mem::take(&mut first) { out.push_str(", "); }
                            out.push_str(concat!(stringify!($field), " = "));
                            Attr::write(&class.$field, out);
                        )*
                        _ = (first, class);
                        out.push('}');
                    })*
                }
            }

            fn read(text: &mut Cursor<'_>) -> Result<Self, TextError> {
                let mut ahead = text.clone();
                let name = ahead.word("a fused class")?;
                $(if name == stringify!($module) {
                    *text = ahead;
                    text.expect("{")?;
                    let mut first = true;
                    $(
                        if !std::mem::take(&mut first) { text.expect(",")?; }
                        text.expect(stringify!($field))?;
                        text.expect("=")?;
                        let $field = Attr::read(text)?;
                    )*
                    _ = first;
                    text.expect("}")?;
                    return Ok(FastOp::$variant($variant { $($field),* }));
                })*
                Err(text.error("a fused class"))
            }
        }

        impl FastOp {
            /// What the op under the probe might be the last op of, with the
            /// specs of the inputs, in the order of the list.
            pub fn candidates(probe: &dyn Probe) -> Vec<(FastOp, Vec<Spec>)> {
                let mut all = Vec::new();
                $(all.extend(<$variant as FusedClass>::candidates(probe));)*
                all
            }
        }

        fn class_cases() -> Vec<(FastOp, Vec<HostTensor>, Option<Vec<HostTensor>>)> {
            let mut all = Vec::new();
            $(all.extend(<$variant as FusedClass>::cases());)*
            all
        }
    };
}

classes! {
    /// e^x normalised to sum 1 along an axis.
    softmax: Softmax {
        /// The normalised axis.
        axis: usize,
    };
    /// `(x, weight, bias)`: x centred and scaled to variance 1 over its last axis, times weight, plus bias.
    layer_norm: LayerNorm {
        /// Added to the variance.
        eps: crate::Real,
    };
    /// `(x, weight)`: x over the root of its mean square along the last axis, times weight.
    rms_norm: RmsNorm {
        /// Added to the mean square.
        eps: crate::Real,
    };
    /// `(a, b, bias)`: an activation of a @ b + bias.
    linear: Linear {
        /// Applied to the sum.
        activation: Activation,
    };
    /// `(q, k, v[, length])`: softmax(scale · q·kᵀ + mask) · v for grouped heads.
    attention: Attention {
        /// Factor of the scores.
        scale: crate::Real,
        /// Which keys a query sees.
        mask: Mask,
    };
}

impl FastOp {
    /// Shape and dtype of each result.
    ///
    /// # Errors
    /// When the inputs do not fit.
    pub fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        self.class().infer(inputs)
    }

    /// The class's meaning, recorded in ordinary primitives.
    ///
    /// # Errors
    /// When the inputs do not fit.
    pub fn definition(&self, inputs: &[Value]) -> Result<Vec<Value>, Invalid> {
        self.class().definition(inputs)
    }
}

impl FastOp {
    /// The ways in which the class is written, one value for each.
    ///
    /// # Errors
    /// When the inputs do not fit.
    pub fn spellings(&self, inputs: &[Value]) -> Result<Vec<Value>, Invalid> {
        self.class().spellings(inputs)
    }

    /// The class with the number found where a parameter was NaN; `None` when
    /// it has no such parameter.
    pub fn with_number(&self, number: f64) -> Option<FastOp> {
        self.class().with_number(number)
    }
}

/// Runs `f` in f32 where the first input is a half type, and converts back.
fn in_f32(
    inputs: &[Value],
    f: impl FnOnce(&[Value]) -> Result<Value, Invalid>,
) -> Result<Vec<Value>, Invalid> {
    let dtype = inputs.first().map_or(DType::F32, |x| x.spec().dtype);
    if !dtype.is_half() {
        return Ok(vec![f(inputs)?]);
    }
    let wide = inputs
        .iter()
        .map(|x| if x.spec().dtype == dtype { x.as_type(DType::F32) } else { Ok(x.clone()) })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(vec![f(&wide)?.as_type(dtype)?])
}

/// The cases of every class, as primitives.
pub(crate) fn cases() -> Vec<Case> {
    class_cases()
        .into_iter()
        .map(|(op, inputs, expected)| Case {
            primitive: Primitive::Fast(op),
            inputs,
            expected: expected.map_or(Expected::AsReference, Expected::Results),
        })
        .collect()
}

/// Softmax over the last axis of the elements that `seen` (broadcast) shows;
/// a row that shows none is all zeros.
fn softmax_of(x: &Value, seen: Option<&Value>) -> Result<Value, Invalid> {
    let shape = x.spec().shape.clone();
    let last = shape.rank() - 1;
    if shape[last] == 0 {
        return Ok(x.clone());
    }
    let Some(seen) = seen else {
        let mut out = FastOp::from(Softmax { axis: last }).definition(std::slice::from_ref(x))?;
        return Ok(out.swap_remove(0));
    };
    let seen = seen.broadcast(&shape)?;
    let x = seen.select(x, &x.filled_like(f64::NEG_INFINITY)?)?;
    let top = x.reduce(ReduceOp::Max, &[last])?;
    // A row without visible keys has no largest score; any finite one serves.
    let floor = top.filled_like(f64::from(f32::MIN))?;
    let top = top.binary(BinaryOp::Maximum, &floor)?;
    let e = x.subtract(&top.broadcast(&shape)?)?.unary(UnaryOp::Exp)?;
    let sum = e.reduce(ReduceOp::Sum, &[last])?;
    let sum = sum.binary(BinaryOp::Maximum, &sum.filled_like(f64::from(f32::MIN_POSITIVE))?)?;
    e.divide(&sum.broadcast(&shape)?)
}
