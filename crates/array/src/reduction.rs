use oneir_ir::{Primitive, ReduceOp, Value};
use oneir_tensor::DType;

use crate::axes::{Axes, axes_of};
use crate::create::{converted, presented};
use crate::operand::Number;
use crate::{Array, Reason};

fn reduced(
    x: &Value,
    op: ReduceOp,
    axes: &[usize],
    keep: bool,
    place: oneir_ir::Place,
) -> Result<Value, Reason> {
    let out = Value::record(Primitive::Reduce { op, axes: axes.to_vec() }, &[x], place.clone())?;
    if keep || axes.is_empty() {
        return Ok(out);
    }
    Ok(Value::record(Primitive::Squeeze(axes.to_vec()), &[&out], place)?)
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident: $op:ident;)*) => {
        impl Array {
            $($(#[$doc])*
            ///
            /// Axes may be negative, counted from the end; `keepdims` keeps them
            /// with size 1.
            #[track_caller]
            #[must_use]
            pub fn $name(&self, axes: impl Axes, keepdims: bool) -> Array {
                Array::build(stringify!($name), [self], |[x], place| {
                    let axes = axes_of(axes, x.spec().rank())?;
                    reduced(x, ReduceOp::$op, &axes, keepdims, place)
                })
            })*
        }
    };
}

reductions! {
    /// Sum over axes; bool counts in i32, halves accumulate in f32.
    sum: Sum;
    /// Product over axes.
    prod: Prod;
    /// Largest over axes; NaN wins.
    max: Max;
    /// Smallest over axes; NaN wins.
    min: Min;
    /// Whether all along the axes are true.
    all: All;
    /// Whether any along the axes is true.
    any: Any;
}

impl Array {
    /// Mean over axes; integers convert to f32, halves accumulate in f32.
    #[track_caller]
    #[must_use]
    pub fn mean(&self, axes: impl Axes, keepdims: bool) -> Array {
        Array::build("mean", [self], |[x], place| {
            let axes = axes_of(axes, x.spec().rank())?;
            let dtype = x.spec().dtype;
            let result = if dtype.is_inexact() { dtype } else { DType::F32 };
            let wide = converted(x, result.accumulator(), &place)?;
            let count: usize = axes.iter().map(|&a| x.spec().shape[a]).product();
            let sum = reduced(&wide, ReduceOp::Sum, &axes, keepdims, place.clone())?;
            let count = presented(
                &Number::Float(count as f64).constant(sum.spec().dtype)?,
                &sum.spec().shape,
                &place,
            )?;
            let mean =
                Value::record(Primitive::Binary(oneir_ir::BinaryOp::Divide), &[&sum, &count], place.clone())?;
            converted(&mean, result, &place)
        })
    }
}
