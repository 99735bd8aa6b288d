use oneir_ir::fast::{Attention, FastOp, LayerNorm, RmsNorm, Softmax};
use oneir_ir::{Primitive, Real};

pub use oneir_ir::fast::{Activation, Mask};

use crate::Array;
use crate::axes::axis_of;

impl Array {
    /// e^x normalised to sum 1 along an axis, as one fused operation.
    #[track_caller]
    #[must_use]
    pub fn softmax(&self, axis: isize) -> Array {
        Array::build("softmax", [self], |[x], place| {
            let axis = axis_of(axis, x.spec().rank())?;
            let op = FastOp::from(Softmax { axis });
            Ok(oneir_ir::Value::record(Primitive::Fast(op), &[x], place)?)
        })
    }

    /// Centred and scaled to variance 1 over the last axis, times `weight`, plus
    /// `bias` (both of the last axis's size).
    #[track_caller]
    #[must_use]
    pub fn layer_norm(&self, weight: &Array, bias: &Array, eps: f64) -> Array {
        let op = FastOp::from(LayerNorm { eps: Real::new(eps) });
        Array::primitive("layer_norm", Primitive::Fast(op), [self, weight, bias])
    }

    /// Over the root of the mean square along the last axis, times `weight`.
    #[track_caller]
    #[must_use]
    pub fn rms_norm(&self, weight: &Array, eps: f64) -> Array {
        let op = FastOp::from(RmsNorm { eps: Real::new(eps) });
        Array::primitive("rms_norm", Primitive::Fast(op), [self, weight])
    }

    /// softmax(scale · q·kᵀ + mask) · v of queries `[B, H, S, D]`, keys
    /// `[B, G, T, D]` and values `[B, G, T, E]`, where G divides H, as one fused
    /// operation. The mask is none or causal: [`Mask::UpTo`] needs a length.
    #[track_caller]
    #[must_use]
    pub fn attention(&self, keys: &Array, values: &Array, scale: f64, mask: Mask) -> Array {
        let op = FastOp::from(Attention { scale: Real::new(scale), mask });
        Array::primitive("attention", Primitive::Fast(op), [self, keys, values])
    }
}
