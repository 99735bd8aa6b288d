//! Normalisations over an axis.

use oneir_array::{Array, DType};

use super::{Row, row};
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[
    row!(Softmax [1, 11, 13] => |call| over_axis(call, |x, axis| x.softmax(axis))),
    row!(LogSoftmax [1, 11, 13] => |call| over_axis(call, log_softmax)),
];

/// From version 13 on the operator works along one axis; before, on the rows
/// that flattening at the axis gives.
fn over_axis(call: &Call<'_>, f: impl Fn(&Array, isize) -> Array) -> Results {
    let x = call.array(0)?;
    let rank = x.ndim();
    if call.version >= 13 {
        let axis = call.axis(call.attributes().int_or("axis", -1)?, rank)?;
        return call.one(f(&x, axis as isize));
    }
    let axis = call.attributes().int_or("axis", 1)?;
    let axis = if axis == rank as i64 { rank } else { call.axis(axis, rank)? };
    let shape: Vec<isize> = x.shape().iter().map(|&n| n as isize).collect();
    let rows: isize = shape[..axis].iter().product();
    let cols: isize = shape[axis..].iter().product();
    call.one(f(&x.reshape(&[rows, cols]), 1).reshape(&shape))
}

fn log_softmax(x: &Array, axis: isize) -> Array {
    let dtype = x.dtype();
    let x = if dtype.is_half() { x.astype(DType::F32) } else { x.clone() };
    if x.size() == 0 {
        return x.astype(dtype);
    }
    let shifted = &x - x.max(&[axis], true);
    (&shifted - shifted.exp().sum(&[axis], true).log()).astype(dtype)
}
