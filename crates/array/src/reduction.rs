use oneir_ir::{Primitive, ReduceOp, Value};
use oneir_tensor::DType;

use crate::create::{converted, presented};
use crate::{Array, Reason};

/// Axes counted from the front, sorted and unique.
pub(crate) fn axes_of(axes: &[isize], rank: usize) -> Result<Vec<usize>, Reason> {
    let mut out = axes.iter().map(|&axis| axis_of(axis, rank)).collect::<Result<Vec<_>, _>>()?;
    out.sort_unstable();
    match out.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Reason::RepeatedAxis { axis: pair[0] }),
        None => Ok(out),
    }
}

/// An axis counted from the front.
pub(crate) fn axis_of(axis: isize, rank: usize) -> Result<usize, Reason> {
    let found = if axis < 0 { axis + rank as isize } else { axis };
    usize::try_from(found).ok().filter(|&a| a < rank).ok_or(Reason::Axis { axis, rank })
}

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
            pub fn $name(&self, axes: &[isize], keepdims: bool) -> Array {
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
    pub fn mean(&self, axes: &[isize], keepdims: bool) -> Array {
        Array::build("mean", [self], |[x], place| {
            let axes = axes_of(axes, x.spec().rank())?;
            let dtype = x.spec().dtype;
            let result = if dtype.is_inexact() { dtype } else { DType::F32 };
            let wide = converted(x, result.accumulator(), &place)?;
            let count: usize = axes.iter().map(|&a| x.spec().shape[a]).product();
            let sum = reduced(&wide, ReduceOp::Sum, &axes, keepdims, place.clone())?;
            let count = presented(&Array::number_like(&sum, count as f64)?, &sum.spec().shape, &place)?;
            let mean =
                Value::record(Primitive::Binary(oneir_ir::BinaryOp::Divide), &[&sum, &count], place.clone())?;
            converted(&mean, result, &place)
        })
    }
}
