//! Reductions.

use oneir_array::{Array, DType};

use super::{Row, row};
use crate::call::{Call, Results};

/// A reduction whose axes became an input at a version.
macro_rules! reduce {
    ($since:literal, $f:expr) => {
        |call| reduce(call, $since, $f)
    };
}

pub(super) const ROWS: &[Row] = &[
    row!(ReduceSum [1, 11, 13] => reduce!(13, |x, axes, keep| x.sum(axes, keep))),
    row!(ReduceMean [1, 11, 13, 18] => reduce!(18, |x, axes, keep| x.mean(axes, keep))),
    row!(ReduceMax [1, 11, 12, 13, 18, 20] => reduce!(18, |x, axes, keep| extreme(x, axes, keep, true))),
    row!(ReduceMin [1, 11, 12, 13, 18, 20] => reduce!(18, |x, axes, keep| extreme(x, axes, keep, false))),
    row!(ReduceProd [1, 11, 13, 18] => reduce!(18, |x, axes, keep| x.prod(axes, keep))),
    row!(ReduceL1 [1, 11, 13, 18] => reduce!(18, |x, axes, keep| x.abs().sum(axes, keep))),
    row!(ReduceL2 [1, 11, 13, 18] => reduce!(18, |x, axes, keep| {
        x.square().sum(axes, keep).sqrt().astype(x.dtype())
    })),
    row!(ReduceSumSquare [1, 11, 13, 18] => reduce!(18, |x, axes, keep| x.square().sum(axes, keep))),
    row!(ReduceLogSum [1, 11, 13, 18, 28] => reduce!(18, |x, axes, keep| x.sum(axes, keep).log().astype(x.dtype()))),
    row!(ArgMax [1, 11, 12, 13] => |call| arg_extreme(call, true)),
    row!(ArgMin [1, 11, 12, 13] => |call| arg_extreme(call, false)),
    row!(ReduceLogSumExp [1, 11, 13, 18, 28] => reduce!(18, |x, axes, keep| log_sum_exp(x, axes, keep).astype(x.dtype()))),
];

/// Half types accumulate in f32.
fn reduce(call: &Call<'_>, since: i64, f: impl Fn(&Array, &[isize], bool) -> Array) -> Results {
    let x = call.array(0)?;
    let keep = call.attributes().int_or("keepdims", 1)? != 0;
    let axes = call.ints_moved("axes", 1, since)?.filter(|axes| !axes.is_empty());
    let axes: Vec<isize> = match axes {
        Some(axes) => {
            axes.iter().map(|&a| call.axis(a, x.ndim()).map(|a| a as isize)).collect::<Result<_, _>>()?
        }
        None if call.attributes().int_or("noop_with_empty_axes", 0)? != 0 => Vec::new(),
        None => (0..x.ndim() as isize).collect(),
    };
    let dtype = x.dtype();
    if dtype.is_half() {
        return call.one(f(&x.astype(DType::F32), &axes, keep).astype(dtype));
    }
    call.one(f(&x, &axes, keep))
}

/// Over no elements the extremes are the infinities (the ends of an integer
/// type); of truth values, the largest is false and the least true.
fn extreme(x: &Array, axes: &[isize], keep: bool, largest: bool) -> Array {
    if x.dtype() == DType::Bool {
        return extreme(&x.astype(DType::U8), axes, keep, largest).astype(DType::Bool);
    }
    let empty = axes.iter().any(|&a| x.shape()[a as usize] == 0);
    if !empty {
        return if largest { x.max(axes, keep) } else { x.min(axes, keep) };
    }
    let mut shape = x.shape();
    for &axis in axes {
        shape[axis as usize] = 1;
    }
    let end = if largest { f64::NEG_INFINITY } else { f64::INFINITY };
    let full = Array::full(&shape, end, x.dtype());
    if keep { full } else { full.squeeze(axes) }
}

fn log_sum_exp(x: &Array, axes: &[isize], keep: bool) -> Array {
    let x = if x.dtype().is_float() { x.clone() } else { x.astype(DType::F64) };
    let empty = axes.iter().any(|&a| x.shape()[a as usize] == 0);
    if empty {
        return x.exp().sum(axes, keep).log();
    }
    let top = x.max(axes, true);
    // An infinite largest value stands alone: minus itself it would be NaN.
    let shift = top.isinf().where_(Array::full(&[], 0.0, x.dtype()), &top);
    let sum = (&x - &shift).exp().sum(axes, true).log() + shift;
    if keep { sum } else { sum.squeeze(axes) }
}

fn arg_extreme(call: &Call<'_>, largest: bool) -> Results {
    let x = call.array(0)?;
    let axis = call.axis(call.attributes().int_or("axis", 0)?, x.ndim())? as isize;
    let keep = call.attributes().int_or("keepdims", 1)? != 0;
    let find = |x: &Array| if largest { x.argmax(axis, keep) } else { x.argmin(axis, keep) };
    if call.attributes().int_or("select_last_index", 0)? == 0 {
        return call.one(find(&x).astype(DType::I64));
    }
    // The last of equal ones is the first from the end.
    let shape = x.shape();
    let last = shape[axis as usize].saturating_sub(1);
    let (mut start, mut step) = (vec![0; shape.rank()], vec![1; shape.rank()]);
    (start[axis as usize], step[axis as usize]) = (last, -1);
    let from_end = find(&x.strided_slice(&start, &step, &shape)).astype(DType::I64);
    call.one(Array::full(&[], last as f64, DType::I64).subtract(&from_end))
}
