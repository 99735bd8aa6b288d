//! Shapes, views and joins.

use oneir_array::{Array, HostTensor, PadMode};

use super::creation::{check_rank, shape_of, sizes};
use super::{Row, row};
use crate::Term;
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[
    row!(Shape [1, 13, 15, 19, 21, 23, 24, 25] => shape),
    row!(Size [1, 13, 19, 21, 23, 24, 25] => size),
    row!(moves Reshape [1, 5, 13, 14, 19, 21, 23, 24, 25] => reshape),
    row!(moves Flatten [1, 9, 11, 13, 21, 23, 24, 25] => flatten),
    row!(moves Squeeze [1, 11, 13, 21, 23, 24, 25] => squeeze),
    row!(moves Unsqueeze [1, 11, 13, 21, 23, 24, 25] => unsqueeze),
    row!(moves Transpose [1, 13, 21, 23, 24, 25] => transpose),
    row!(moves Expand [8, 13] => expand),
    row!(moves Concat [1, 4, 11, 13] => concat),
    row!(moves Slice [1, 10, 11, 13] => slice),
    row!(moves Split [1, 2, 11, 13, 18] => split),
    row!(moves Tile [1, 6, 13] => tile),
    row!(moves DepthToSpace [1, 11, 13, 28] => depth_to_space),
    row!(moves SpaceToDepth [1, 13, 28] => space_to_depth),
    row!(moves CenterCropPad [18] => center_crop_pad),
    row!(moves Pad [1, 2, 11, 13, 18, 19, 21, 23, 24, 25] => pad),
];

fn host(call: &Call<'_>, values: &[i64], shape: &[usize]) -> Results {
    let tensor = HostTensor::from_slice(shape, values).map_err(|e| call.fails(e.to_string()))?;
    Ok(vec![Term::Host(tensor)])
}

fn shape(call: &Call<'_>) -> Results {
    let shape: Vec<i64> = call.shape(0)?.iter().map(|&n| n as i64).collect();
    let rank = shape.len() as i64;
    let clamp = |at: i64| (if at < 0 { at + rank } else { at }).clamp(0, rank) as usize;
    let start = clamp(call.attributes().int_or("start", 0)?);
    let end = clamp(call.attributes().int_or("end", rank)?);
    let part = shape.get(start..end.max(start)).unwrap_or_default();
    host(call, part, &[part.len()])
}

fn size(call: &Call<'_>) -> Results {
    let count: usize = call.shape(0)?.iter().product();
    host(call, &[count as i64], &[])
}

fn reshape(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let wanted = match call.ints_moved("shape", 1, 5)? {
        Some(wanted) => wanted,
        None => return Err(call.fails("no shape is given")),
    };
    check_rank(call, wanted.len())?;
    let zero_is_size = call.attributes().int_or("allowzero", 0)? != 0;
    let from = x.shape();
    let mut to = Vec::with_capacity(wanted.len());
    for (i, &n) in wanted.iter().enumerate() {
        to.push(match n {
            0 if !zero_is_size => {
                let size = from.get(i).ok_or_else(|| {
                    call.fails(format!("size {i} is 0, but the input has no dimension {i}"))
                })?;
                *size as isize
            }
            n => n as isize,
        });
    }
    call.one(x.reshape(&to))
}

fn flatten(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let rank = x.ndim();
    let axis = call.attributes().int_or("axis", 1)?;
    let axis = if axis == rank as i64 { rank } else { call.axis(axis, rank)? };
    let shape = x.shape();
    let rows: usize = shape[..axis].iter().product();
    let cols: usize = shape[axis..].iter().product();
    call.one(x.reshape(&[rows as isize, cols as isize]))
}

fn squeeze(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let rank = x.ndim();
    let axes: Vec<isize> = match call.ints_moved("axes", 1, 13)? {
        Some(axes) => {
            axes.iter().map(|&a| call.axis(a, rank).map(|a| a as isize)).collect::<Result<_, _>>()?
        }
        None => (0..rank as isize).filter(|&a| x.shape()[a as usize] == 1).collect(),
    };
    call.one(x.squeeze(&axes))
}

fn unsqueeze(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let axes = call.ints_moved("axes", 1, 13)?.ok_or_else(|| call.fails("no axes are given"))?;
    let rank = x.ndim() + axes.len();
    check_rank(call, rank)?;
    let axes: Vec<isize> =
        axes.iter().map(|&a| call.axis(a, rank).map(|a| a as isize)).collect::<Result<_, _>>()?;
    call.one(x.expand_dims(&axes))
}

fn transpose(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let rank = x.ndim();
    let axes: Vec<isize> = match call.attributes().find_ints("perm")? {
        Some(axes) => axes.iter().map(|&a| a as isize).collect(),
        None => (0..rank as isize).rev().collect(),
    };
    call.one(x.transpose(&axes))
}

fn expand(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let wanted = shape_of(call, &call.ints(1)?)?;
    let shape = oneir_tensor::broadcast_shapes(&x.shape(), &wanted).map_err(|e| call.fails(e.to_string()))?;
    call.one(x.broadcast_to(&shape))
}

fn concat(call: &Call<'_>) -> Results {
    let arrays = (0..call.inputs.len()).map(|i| call.array(i)).collect::<Result<Vec<_>, _>>()?;
    let axis = match call.attributes().find_int("axis")? {
        Some(axis) => axis,
        None if call.version < 4 => 1,
        None => return Err(call.fails("no axis is given")),
    };
    call.one(Array::concatenate(&arrays, axis as isize))
}

fn slice(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let rank = x.ndim();
    let need =
        |found: Option<Vec<i64>>, what: &str| found.ok_or_else(|| call.fails(format!("no {what} are given")));
    let starts = need(call.ints_moved("starts", 1, 10)?, "starts")?;
    let ends = need(call.ints_moved("ends", 2, 10)?, "ends")?;
    let axes = call.ints_moved("axes", 3, 10)?;
    let steps = if call.version >= 10 && call.has(4) { Some(call.ints(4)?) } else { None };
    let count = starts.len();
    let axes = axes.unwrap_or_else(|| (0..count as i64).collect());
    let steps = steps.unwrap_or_else(|| vec![1; count]);
    if ends.len() != count || axes.len() != count || steps.len() != count {
        return Err(call.fails(format!(
            "starts, ends, axes and steps must be equally many, found {count}, {}, {} and {}",
            ends.len(),
            axes.len(),
            steps.len()
        )));
    }
    let shape = x.shape();
    let (mut from, mut by, mut len) = (vec![0; rank], vec![1isize; rank], shape.to_vec());
    for i in 0..count {
        let axis = call.axis(axes[i], rank)?;
        let (start, step, items) = normalised(starts[i], ends[i], steps[i], shape[axis])
            .ok_or_else(|| call.fails("a step must not be 0"))?;
        (from[axis], by[axis], len[axis]) = (start, step, items);
    }
    call.one(x.strided_slice(&from, &by, &len))
}

/// First index, step and number of items of a slice with Python's rules.
fn normalised(start: i64, end: i64, step: i64, size: usize) -> Option<(usize, isize, usize)> {
    let n = size as i64;
    let place = |at: i64| if at < 0 { at.saturating_add(n) } else { at };
    let (start, end) = (place(start), place(end));
    let (first, count) = match step {
        0 => return None,
        1.. => {
            let (a, b) = (start.clamp(0, n), end.clamp(0, n));
            (a, (b - a).max(0).unsigned_abs().div_ceil(step.unsigned_abs()))
        }
        _ => {
            let (a, b) = (start.clamp(-1, n - 1), end.clamp(-1, n - 1));
            (a, (a - b).max(0).unsigned_abs().div_ceil(step.unsigned_abs()))
        }
    };
    let first = if count == 0 { 0 } else { first as usize };
    // One item is reached without a step.
    let step = if count <= 1 { 1 } else { isize::try_from(step).ok()? };
    Some((first, step, count as usize))
}

fn split(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let axis = call.axis(call.attributes().int_or("axis", 0)?, x.ndim())?;
    let size = x.shape()[axis];
    let given = if call.version < 13 {
        match call.attributes().find_ints("split")? {
            Some(sizes) => Some(sizes.to_vec()),
            None if call.version < 2 && call.has(1) => Some(call.ints(1)?),
            None => None,
        }
    } else if call.has(1) {
        Some(call.ints(1)?)
    } else {
        None
    };
    let parts = match given {
        Some(ints) => sizes(call, &ints)?,
        None => {
            let count = match call.attributes().find_int("num_outputs")? {
                Some(n) => sizes(call, &[n])?[0],
                None => call.node.outputs.len(),
            };
            if count == 0 {
                return Err(call.fails("there must be at least one part"));
            }
            if count > call.node.outputs.len() {
                let wanted = call.node.outputs.len();
                return Err(call.fails(format!("num_outputs is {count} where the node has {wanted} outputs")));
            }
            let each = size.div_ceil(count);
            (0..count).map(|i| each.min(size.saturating_sub(i.saturating_mul(each)))).collect()
        }
    };
    let total = parts.iter().try_fold(0usize, |all, &n| all.checked_add(n));
    if total != Some(size) {
        return Err(call.fails(format!("parts {parts:?} do not add up to {size}")));
    }
    let mut at = 0;
    let mut out = Vec::with_capacity(parts.len());
    for part in parts {
        let piece = x.narrow(axis as isize, at, part);
        call.checked(&piece)?;
        out.push(piece.into());
        at += part;
    }
    Ok(out)
}

fn tile(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let shape = x.shape();
    let repeats = if call.version < 6 {
        // Version 1 repeats one axis.
        let axis = call.axis(call.number(2)? as i64, shape.rank())?;
        let mut repeats = vec![1; shape.rank()];
        repeats[axis] = sizes(call, &[call.number(1)? as i64])?[0];
        repeats
    } else {
        sizes(call, &call.ints(1)?)?
    };
    if repeats.len() != shape.rank() {
        return Err(call.fails(format!("{} repeats for {} dimensions", repeats.len(), shape.rank())));
    }
    // Each dimension becomes (repeats, size), repeated along the first.
    let mut split = Vec::new();
    let mut wide = Vec::new();
    let mut joined = Vec::new();
    for (&n, &r) in shape.iter().zip(&repeats) {
        split.extend([1, n as isize]);
        wide.extend([r, n]);
        let size = n.checked_mul(r).and_then(|m| isize::try_from(m).ok());
        joined.push(size.ok_or_else(|| call.fails(format!("{r} repeats of {n} items are too many")))?);
    }
    call.one(x.reshape(&split).broadcast_to(&wide).reshape(&joined))
}

fn pad(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let rank = x.ndim();
    let name = if call.version < 2 { "paddings" } else { "pads" };
    let pads = call.ints_moved(name, 1, 11)?.ok_or_else(|| call.fails("no pads are given"))?;
    let axes: Vec<usize> = if call.version >= 18 && call.has(3) {
        call.ints(3)?.iter().map(|&a| call.axis(a, rank)).collect::<Result<_, _>>()?
    } else {
        (0..rank).collect()
    };
    if pads.len() != 2 * axes.len() {
        return Err(call.fails(format!("{} pads for {} axes", pads.len(), axes.len())));
    }
    // Negative pads cut off.
    let shape = x.shape();
    let (mut start, mut len) = (vec![0; rank], shape.to_vec());
    let mut padding = vec![(0, 0); rank];
    for (i, &axis) in axes.iter().enumerate() {
        let (low, high) = (pads[i], pads[i + axes.len()]);
        let cut = |n: i64| n.min(0).unsigned_abs() as usize;
        start[axis] = cut(low);
        let left = shape[axis].checked_sub(cut(low)).and_then(|n| n.checked_sub(cut(high)));
        len[axis] = left.ok_or_else(|| {
            call.fails(format!(
                "pads {low} and {high} cut more than the {} items of axis {axis}",
                shape[axis]
            ))
        })?;
        padding[axis] = (low.max(0) as usize, high.max(0) as usize);
    }
    let x = x.strided_slice(&start, &vec![1; rank], &len);
    let mode = match call.attributes().string_or("mode", "constant")? {
        "constant" => {
            let value = if call.version < 11 {
                Array::scalar(call.attributes().float_or("value", 0.0)?)
            } else {
                call.optional(2)?.unwrap_or_else(|| Array::scalar(0f32))
            };
            return call.one(x.pad_with(&padding, &value));
        }
        "edge" => PadMode::Edge,
        "reflect" => PadMode::Reflect,
        "wrap" => PadMode::Wrap,
        other => return Err(call.fails(format!("mode {other} is not known"))),
    };
    call.one(x.pad_from_itself(&padding, mode))
}

/// Batch, channels, rows and columns of an image, and the edge of its blocks.
fn blocks(call: &Call<'_>, x: &Array) -> Result<([isize; 4], isize), crate::OnnxError> {
    let [n, c, h, w] = x.shape()[..] else { return Err(call.fails("the input must have 4 dimensions")) };
    let block = call.attributes().int("blocksize")?;
    let block = isize::try_from(block).ok().filter(|&b| b > 0);
    let block = block
        .filter(|b| *b <= 1 << 20)
        .ok_or_else(|| call.fails("blocksize must be positive, and no more than 2^20"))?;
    Ok(([n as isize, c as isize, h as isize, w as isize], block))
}

fn depth_to_space(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let ([n, c, h, w], b) = blocks(call, &x)?;
    if c % (b * b) != 0 {
        return Err(call.fails(format!("{c} channels are not made of blocks of {b} by {b}")));
    }
    let depth = c / (b * b);
    let out = match call.attributes().string_or("mode", "DCR")? {
        "DCR" => x.reshape(&[n, b, b, depth, h, w]).transpose([0, 3, 4, 1, 5, 2]),
        "CRD" => x.reshape(&[n, depth, b, b, h, w]).transpose([0, 1, 4, 2, 5, 3]),
        other => return Err(call.fails(format!("mode must be DCR or CRD, found {other}"))),
    };
    call.one(out.reshape(&[n, depth, h * b, w * b]))
}

fn space_to_depth(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let ([n, c, h, w], b) = blocks(call, &x)?;
    if h % b != 0 || w % b != 0 {
        return Err(call.fails(format!("{h} by {w} is not made of blocks of {b} by {b}")));
    }
    let split = x.reshape(&[n, c, h / b, b, w / b, b]);
    let mode = if call.version < 28 { "DCR" } else { call.attributes().string_or("mode", "DCR")? };
    let moved = match mode {
        "DCR" => split.transpose([0, 3, 5, 1, 2, 4]),
        "CRD" => split.transpose([0, 1, 3, 5, 2, 4]),
        other => return Err(call.fails(format!("mode must be DCR or CRD, found {other}"))),
    };
    call.one(moved.reshape(&[n, c * b * b, h / b, w / b]))
}

/// Cut or padded with zeros at both ends to a given size; where that is uneven,
/// the end has one more.
fn center_crop_pad(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let rank = x.ndim();
    let wanted = sizes(call, &call.ints(1)?)?;
    let axes: Vec<usize> = match call.attributes().find_ints("axes")? {
        Some(axes) => axes.iter().map(|&a| call.axis(a, rank)).collect::<Result<_, _>>()?,
        None => (0..rank).collect(),
    };
    if axes.len() != wanted.len() {
        return Err(call.fails(format!("{} sizes for {} axes", wanted.len(), axes.len())));
    }
    let (mut start, mut len, mut padding) = (vec![0; rank], x.shape().to_vec(), vec![(0, 0); rank]);
    for (&axis, &wanted) in axes.iter().zip(&wanted) {
        let size = len[axis];
        if wanted < size {
            (start[axis], len[axis]) = ((size - wanted) / 2, wanted);
        } else {
            let more = wanted - size;
            padding[axis] = (more / 2, more - more / 2);
        }
    }
    let cut = x.strided_slice(&start, &vec![1; rank], &len);
    call.one(cut.pad_with(&padding, &Array::full(&[], 0.0, x.dtype())))
}
