//! Elements read and written at indices, and orders.

use oneir_array::{Array, DType, HostTensor, ScanOp, ScatterReduce};

use super::creation::sizes;
use super::{Row, row};
use crate::OnnxError;
use crate::call::{Call, Results};
use crate::term::Term;

pub(super) const ROWS: &[Row] = &[
    row!(moves Gather [1, 11, 13] => gather),
    row!(moves GatherElements [11, 13] => gather_elements),
    row!(moves GatherND [11, 12, 13] => gather_nd),
    row!(moves Scatter [9, 11] => scatter_elements),
    row!(moves ScatterElements [11, 13, 16, 18] => scatter_elements),
    row!(moves ScatterND [11, 13, 16, 18] => scatter_nd),
    row!(TensorScatter [24] => tensor_scatter),
    row!(OneHot [9, 11, 28] => one_hot),
    row!(moves Compress [9, 11, 28] => compress),
    row!(NonZero [9, 13] => non_zero),
    row!(moves ReverseSequence [10, 28] => reverse_sequence),
    row!(Trilu [14] => trilu),
    row!(TopK [1, 10, 11, 24] => top_k),
    row!(CumSum [11, 14] => |call| cumulative(call, ScanOp::Sum)),
    row!(CumProd [26] => |call| cumulative(call, ScanOp::Prod)),
];

/// Refuses an index that is known and out of range.
fn in_range(call: &Call<'_>, i: usize, size: usize) -> Result<(), OnnxError> {
    if let Term::Host(_) = call.term(i)? {
        let size = size as i64;
        if let Some(bad) = call.ints(i)?.iter().find(|&&at| at < -size || at >= size) {
            return Err(call.fails(format!("index {bad} is out of range for an axis of {size}")));
        }
    }
    Ok(())
}

fn gather(call: &Call<'_>) -> Results {
    let (x, indices) = (call.array(0)?, call.array(1)?);
    let axis = call.axis(call.attributes().int_or("axis", 0)?, x.ndim())?;
    in_range(call, 1, x.shape()[axis])?;
    call.one(x.take(&indices, axis as isize))
}

/// The part of `x` whose sizes, but for one axis, are those of `shape`.
fn beginning(x: &Array, shape: &[usize], axis: usize) -> Array {
    let mut len = shape.to_vec();
    if len.len() != x.ndim() {
        return x.clone();
    }
    len[axis] = x.shape()[axis];
    if len[..] == x.shape()[..] {
        x.clone()
    } else {
        x.strided_slice(&vec![0; len.len()], &vec![1; len.len()], &len)
    }
}

fn gather_elements(call: &Call<'_>) -> Results {
    let (x, indices) = (call.array(0)?, call.array(1)?);
    let axis = call.axis(call.attributes().int_or("axis", 0)?, x.ndim())?;
    in_range(call, 1, x.shape()[axis])?;
    call.one(beginning(&x, &indices.shape(), axis).take_along_axis(&indices, axis as isize))
}

/// The columns of the last axis of indices, each a tensor of its own.
fn columns(call: &Call<'_>, indices: &Array) -> Result<Vec<Array>, OnnxError> {
    let Some(last) = indices.ndim().checked_sub(1) else {
        return Err(call.fails("the indices must have at least 1 dimension"));
    };
    let last = last as isize;
    Ok((0..indices.shape().cols()).map(|k| indices.narrow(last, k, 1).squeeze([last])).collect())
}

fn gather_nd(call: &Call<'_>) -> Results {
    let (x, indices) = (call.array(0)?, call.array(1)?);
    let batch = sizes(call, &[call.attributes().int_or("batch_dims", 0)?])?[0];
    let named = columns(call, &indices)?;
    let lead = &indices.shape()[..indices.ndim() - 1];
    if batch > lead.len() || batch + named.len() > x.ndim() || x.shape()[..batch] != lead[..batch] {
        return Err(call.fails("indices do not fit the input's dimensions"));
    }
    let along = (0..batch).map(|axis| Array::iota(lead, axis, indices.dtype()));
    let all: Vec<Array> = along.chain(named).collect();
    let axes: Vec<usize> = (0..all.len()).collect();
    let mut slice = x.shape().to_vec();
    slice[..axes.len()].fill(1);
    let full: Vec<isize> = lead.iter().chain(&slice[axes.len()..]).map(|&n| n as isize).collect();
    call.one(x.gather(&all, &axes, &slice).reshape(&full))
}

fn reduction(call: &Call<'_>) -> Result<ScatterReduce, OnnxError> {
    Ok(match call.attributes().string_or("reduction", "none")? {
        "none" => ScatterReduce::None,
        "add" => ScatterReduce::Sum,
        "mul" => ScatterReduce::Prod,
        "max" => ScatterReduce::Max,
        "min" => ScatterReduce::Min,
        other => return Err(call.fails(format!("reduction {other} is not known"))),
    })
}

fn scatter_elements(call: &Call<'_>) -> Results {
    let (x, indices, updates) = (call.array(0)?, call.array(1)?, call.array(2)?);
    let axis = call.axis(call.attributes().int_or("axis", 0)?, x.ndim())?;
    in_range(call, 1, x.shape()[axis])?;
    let reduce = reduction(call)?;
    let part = beginning(&x, &indices.shape(), axis);
    let written = part.scatter_along_axis(&indices, &updates, axis as isize, reduce);
    if part.shape() == x.shape() {
        return call.one(written);
    }
    call.one(x.strided_slice_update(&written, &vec![0; x.ndim()], &vec![1; x.ndim()]))
}

fn scatter_nd(call: &Call<'_>) -> Results {
    let (x, indices, updates) = (call.array(0)?, call.array(1)?, call.array(2)?);
    let named = columns(call, &indices)?;
    if named.len() > x.ndim() {
        return Err(call.fails("indices name more dimensions than the input has"));
    }
    let axes: Vec<usize> = (0..named.len()).collect();
    let lead = &indices.shape()[..indices.ndim() - 1];
    let full: Vec<isize> = lead
        .iter()
        .copied()
        .chain(axes.iter().map(|_| 1))
        .chain(x.shape()[axes.len()..].iter().copied())
        .map(|n| n as isize)
        .collect();
    call.one(x.scatter(&named, &updates.reshape(&full), &axes, reduction(call)?))
}

/// Rows written into a cache, each item of the batch from its own index on.
fn tensor_scatter(call: &Call<'_>) -> Results {
    let (cache, update) = (call.array(0)?, call.array(1)?);
    let rank = cache.ndim();
    let axis = call.axis(call.attributes().int_or("axis", -2)?, rank)?;
    if axis == 0 || update.ndim() != rank {
        return Err(call.fails("cache and update must have a batch dimension before the axis"));
    }
    let (room, count) = (cache.shape()[axis], update.shape()[axis]);
    let mut along = vec![1; rank];
    along[axis] = -1;
    let mut at = Array::arange(count, DType::I64).reshape(&along);
    if let Some(first) = call.optional(2)? {
        let mut batch = vec![1; rank];
        batch[0] = -1;
        at = first.astype(DType::I64).reshape(&batch) + at;
    }
    match call.attributes().string_or("mode", "linear")? {
        "linear" => {}
        "circular" => at = at.remainder(Array::full(&[], room as f64, DType::I64)),
        other => return Err(call.fails(format!("mode must be linear or circular, found {other}"))),
    }
    let at = at.broadcast_to(&update.shape());
    call.one(cache.scatter_along_axis(&at, &update, axis as isize, ScatterReduce::None))
}

fn one_hot(call: &Call<'_>) -> Results {
    let indices = call.array(0)?;
    let depth = call.host(1)?.values().map_err(|e| call.fails(e.to_string()))?.to_floats();
    let depth = match depth[..] {
        [depth] if (0.0..4e9).contains(&depth) => depth as usize,
        [depth] => {
            let range = "a number of classes from 0 to below 4e9";
            return Err(call.fails(format!("input 1 (depth) must be {range}, found {depth}")));
        }
        _ => {
            let (found, shape) = (depth.len(), call.shape(1)?);
            return Err(call.fails(format!(
                "input 1 (depth) must be one number of classes, found {found} numbers of shape {shape:?}"
            )));
        }
    };
    let values = call.array(2)?;
    if values.shape()[..] != [2] {
        return Err(call.fails(format!(
            "input 2 (values) must be two numbers, off and on, found the shape {:?}",
            values.shape()
        )));
    }
    let rank = indices.ndim();
    let axis = call.axis(call.attributes().int_or("axis", -1)?, rank + 1)?;
    let number = |v: f64| Array::full(&[], v, DType::I64);
    let at = indices.astype(DType::I64);
    let at = at.less(number(0.0)).where_(&(&at + number(depth as f64)), &at);
    let mut along = vec![1; rank + 1];
    along[axis] = -1;
    let on = at.expand_dims([axis as isize]).equal(Array::arange(depth, DType::I64).reshape(&along));
    let value = |i| values.narrow(0, i, 1).reshape(&[]);
    call.one(on.where_(value(1), value(0)))
}

fn compress(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let kept: Vec<i64> =
        (0..).zip(call.ints(1)?).filter(|(_, holds)| *holds != 0).map(|(at, _)| at).collect();
    let (x, axis) = match call.attributes().find_int("axis")? {
        Some(axis) => (x.clone(), call.axis(axis, x.ndim())?),
        None => (x.reshape(&[-1]), 0),
    };
    if kept.last().is_some_and(|&at| at >= x.shape()[axis] as i64) {
        return Err(call.fails(format!("the condition is longer than {} items", x.shape()[axis])));
    }
    call.one(x.take(Array::from_slice(&kept, &[kept.len()]), axis as isize))
}

fn non_zero(call: &Call<'_>) -> Results {
    let x = call.host(0)?;
    let set = x.values().map_err(|e| call.fails(e.to_string()))?.convert(DType::Bool).to_ints();
    let mut shape = x.shape().to_vec();
    if shape.is_empty() {
        shape.push(1);
    }
    let mut found: Vec<Vec<i64>> = vec![Vec::new(); shape.len()];
    for (place, _) in set.unwrap_or_default().into_iter().enumerate().filter(|(_, v)| *v != 0) {
        let mut rest = place;
        for (axis, &size) in shape.iter().enumerate().rev() {
            found[axis].push((rest % size) as i64);
            rest /= size;
        }
    }
    let count = found[0].len();
    let made = HostTensor::from_slice(&[shape.len(), count], &found.concat());
    Ok(vec![Term::Host(made.map_err(|e| call.fails(e.to_string()))?)])
}

fn reverse_sequence(call: &Call<'_>) -> Results {
    let (x, lengths) = (call.array(0)?, call.array(1)?);
    let rank = x.ndim();
    let time = call.axis(call.attributes().int_or("time_axis", 0)?, rank)?;
    let batch = call.axis(call.attributes().int_or("batch_axis", 1)?, rank)?;
    let along = |axis: usize| {
        let mut shape = vec![1; rank];
        shape[axis] = -1;
        shape
    };
    let at = Array::arange(x.shape()[time], DType::I64).reshape(&along(time));
    let length = lengths.astype(DType::I64).reshape(&along(batch));
    let mirrored = &length - &at - Array::full(&[], 1.0, DType::I64);
    let from = at.less(&length).where_(&mirrored, &at).broadcast_to(&x.shape());
    call.one(x.take_along_axis(&from, time as isize))
}

fn trilu(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let [.., rows, cols] = x.shape()[..] else {
        return Err(call.fails("the input must have at least 2 dimensions"));
    };
    let k = if call.has(1) { call.array(1)?.reshape(&[]) } else { Array::full(&[], 0.0, DType::I64) };
    let row = Array::iota(&[rows, cols], 0, DType::I64) + k;
    let col = Array::iota(&[rows, cols], 1, DType::I64);
    let keep = if call.attributes().int_or("upper", 1)? != 0 {
        col.greater_equal(&row)
    } else {
        col.less_equal(&row)
    };
    call.one(keep.where_(&x, Array::full(&[], 0.0, x.dtype())))
}

fn top_k(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let axis = call.axis(call.attributes().int_or("axis", -1)?, x.ndim())?;
    let k = if call.version < 10 { vec![call.attributes().int("k")?] } else { call.ints(1)? };
    let [k] = sizes(call, &k)?[..] else { return Err(call.fails("k must be one number")) };
    let size = x.shape()[axis];
    if k > size {
        return Err(call.fails(format!("k is {k}, but there are {size} items")));
    }
    let along = axis as isize;
    let order = if call.attributes().int_or("largest", 1)? != 0 {
        // Of equal elements the first comes first, so both ends are turned.
        let from_end = x.flip([along]).argsort(along).flip([along]).narrow(along, 0, k);
        Array::full(&[], size.saturating_sub(1) as f64, DType::I64) - from_end.astype(DType::I64)
    } else {
        x.argsort(along).narrow(along, 0, k).astype(DType::I64)
    };
    let values = x.take_along_axis(&order, along);
    call.checked(&values)?;
    Ok(vec![values.into(), order.into()])
}

fn cumulative(call: &Call<'_>, op: ScanOp) -> Results {
    let x = call.array(0)?;
    let [axis] = call.ints(1)?[..] else { return Err(call.fails("the axis must be one number")) };
    let axis = call.axis(axis, x.ndim())? as isize;
    let flag = |name| call.attributes().int_or(name, 0).map(|v| v != 0);
    call.one(x.scan(op, axis, flag("reverse")?, !flag("exclusive")?))
}
