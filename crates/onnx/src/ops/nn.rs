//! Normalisations, convolutions and pooling.

use oneir_array::{Array, Convolution, DType, WindowOp, Windows};

use super::{Row, row};
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[
    row!(Softmax [1, 11, 13] => |call| over_axis(call, |x, axis| x.softmax(axis))),
    row!(LogSoftmax [1, 11, 13] => |call| over_axis(call, log_softmax)),
    row!(Hardmax [1, 11, 13] => |call| over_axis(call, hardmax)),
    row!(Conv [1, 11, 22] => conv),
    row!(MaxPool [1, 8, 10, 11, 12, 22] => max_pool),
    row!(AveragePool [1, 7, 10, 11, 19, 22] => average_pool),
    row!(GlobalMaxPool [1, 22] => |call| global(call, |x, axes| x.max(axes, true))),
    row!(GlobalAveragePool [1, 22] => |call| global(call, |x, axes| x.mean(axes, true))),
    row!(LayerNormalization [17] => layer_normalization),
    row!(RMSNormalization [23] => rms_normalization),
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

/// 1 at the first largest element, 0 elsewhere.
fn hardmax(x: &Array, axis: isize) -> Array {
    let place = x.argmax(axis, true);
    let index = Array::iota(&x.shape(), axis.unsigned_abs(), DType::U32);
    index.equal(&place).astype(x.dtype())
}

fn global(call: &Call<'_>, f: impl Fn(&Array, &[isize]) -> Array) -> Results {
    let x = call.array(0)?;
    if x.ndim() < 2 {
        return Err(call.fails("the input must have a batch and a channel dimension"));
    }
    let axes: Vec<isize> = (2..x.ndim() as isize).collect();
    call.one(f(&x, &axes))
}

/// Strides, dilations and padding of a sliding operator.
struct Sliding {
    strides: Vec<usize>,
    dilations: Vec<usize>,
    padding: Vec<(usize, usize)>,
}

/// Attributes that all sliding operators share, for windows of `kernel` over
/// spatial dimensions of `sizes`.
fn sliding(call: &Call<'_>, sizes: &[usize], kernel: &[usize]) -> Result<Sliding, crate::OnnxError> {
    let spatial = sizes.len();
    let list = |name: &str, default: usize| -> Result<Vec<usize>, crate::OnnxError> {
        let found = call.attributes().find_ints(name)?;
        let Some(found) = found.filter(|v| !v.is_empty()) else { return Ok(vec![default; spatial]) };
        let out: Option<Vec<usize>> =
            found.iter().map(|&n| usize::try_from(n).ok().filter(|&n| n > 0)).collect();
        match out {
            Some(out) if out.len() == spatial => Ok(out),
            _ => Err(call.fails(format!("{name} must be {spatial} positive numbers, found {found:?}"))),
        }
    };
    let (strides, dilations) = (list("strides", 1)?, list("dilations", 1)?);
    let pads = call.attributes().ints_or("pads", &[])?;
    let auto = call.attributes().string_or("auto_pad", "NOTSET")?;
    let mut padding = Vec::with_capacity(spatial);
    for i in 0..spatial {
        padding.push(match auto {
            "NOTSET" if pads.is_empty() => (0, 0),
            "NOTSET" => match (pads.get(i), pads.get(i + spatial), pads.len() == 2 * spatial) {
                (Some(&low), Some(&high), true) if low >= 0 && high >= 0 => (low as usize, high as usize),
                _ => return Err(call.fails(format!("pads must be {} sizes, found {pads:?}", 2 * spatial))),
            },
            "VALID" => (0, 0),
            "SAME_UPPER" | "SAME_LOWER" => {
                let out = sizes[i].div_ceil(strides[i]);
                let span = kernel[i].saturating_sub(1) * dilations[i] + 1;
                let total = (out.saturating_sub(1) * strides[i] + span).saturating_sub(sizes[i]);
                let half = total / 2;
                if auto == "SAME_UPPER" { (half, total - half) } else { (total - half, half) }
            }
            other => return Err(call.fails(format!("auto_pad {other} is not known"))),
        });
    }
    Ok(Sliding { strides, dilations, padding })
}

fn conv(call: &Call<'_>) -> Results {
    let (x, w) = (call.array(0)?, call.array(1)?);
    if x.ndim() < 3 || w.ndim() != x.ndim() {
        return Err(
            call.fails("input and weight must have a batch, a channel, and equally many spatial dimensions")
        );
    }
    let kernel = w.shape()[2..].to_vec();
    let groups = call.attributes().int_or("group", 1)?;
    let groups =
        usize::try_from(groups).map_err(|_| call.fails(format!("group must be positive, found {groups}")))?;
    let Sliding { strides, dilations, padding } = sliding(call, &x.shape()[2..], &kernel)?;
    let out = x.convolve(&w, &Convolution { strides, padding, dilations, groups });
    match call.optional(2)? {
        None => call.one(out),
        Some(bias) => {
            let mut shape = vec![1; out.ndim()];
            if shape.len() > 1 {
                shape[1] = -1;
            }
            call.one(out.add(&bias.reshape(&shape)))
        }
    }
}

/// Windows over the spatial dimensions; with `ceil_mode` the last window may
/// hang over the end.
fn pooling(call: &Call<'_>, x: &Array) -> Result<Windows, crate::OnnxError> {
    let kernel = call.attributes().ints("kernel_shape")?;
    let kernel: Option<Vec<usize>> =
        kernel.iter().map(|&n| usize::try_from(n).ok().filter(|&n| n > 0)).collect();
    let kernel = kernel.ok_or_else(|| call.fails("kernel_shape must be positive sizes"))?;
    if x.ndim() != kernel.len() + 2 {
        return Err(call.fails(format!(
            "kernel_shape has {} sizes for input shape {:?}",
            kernel.len(),
            x.shape()
        )));
    }
    let sizes = x.shape()[2..].to_vec();
    let mut found = sliding(call, &sizes, &kernel)?;
    if call.attributes().int_or("ceil_mode", 0)? != 0 {
        for i in 0..sizes.len() {
            let span = (kernel[i] - 1) * found.dilations[i] + 1;
            let padded = sizes[i] + found.padding[i].0 + found.padding[i].1;
            let stride = found.strides[i];
            let mut out = padded.saturating_sub(span).div_ceil(stride) + 1;
            // A window that would begin in the padding after the end is none.
            if (out - 1) * stride >= sizes[i] + found.padding[i].0 {
                out -= 1;
            }
            let reach = (out - 1) * stride + span;
            found.padding[i].1 += reach.saturating_sub(padded);
        }
    }
    let full = |rest: Vec<usize>| [1, 1].into_iter().chain(rest).collect();
    Ok(Windows {
        size: full(kernel),
        strides: full(found.strides),
        dilations: full(found.dilations),
        padding: [(0, 0), (0, 0)].into_iter().chain(found.padding).collect(),
    })
}

fn max_pool(call: &Call<'_>) -> Results {
    if call.node.outputs.get(1).is_some_and(|name| !name.is_empty()) {
        return Err(call.fails("the indices of MaxPool are not implemented"));
    }
    let x = call.array(0)?;
    let windows = pooling(call, &x)?;
    call.one(x.reduce_windows(WindowOp::Max, &windows))
}

fn average_pool(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let dtype = x.dtype();
    let wide = if dtype.is_half() { x.astype(DType::F32) } else { x.clone() };
    let windows = pooling(call, &x)?;
    let sum = wide.reduce_windows(WindowOp::Sum, &windows);
    let ones = Array::ones(&x.shape(), wide.dtype());
    let count = if call.attributes().int_or("count_include_pad", 0)? != 0 {
        // Padding counts as far as it was asked for, not where a window hangs over.
        let asked = sliding(call, &x.shape()[2..], &windows.size[2..])?.padding;
        let asked: Vec<(usize, usize)> = [(0, 0), (0, 0)].into_iter().chain(asked).collect();
        let padded = ones.pad_with(&asked, &Array::scalar(1f32));
        let rest = windows.padding.iter().zip(&asked).map(|(w, a)| (w.0 - a.0, w.1 - a.1)).collect();
        padded.reduce_windows(WindowOp::Sum, &Windows { padding: rest, ..windows })
    } else {
        ones.reduce_windows(WindowOp::Sum, &windows)
    };
    call.one(sum.divide(&count).astype(dtype))
}

/// The axes from `axis` on as one last axis, and the shape to go back to.
fn flattened(call: &Call<'_>, x: &Array) -> Result<(Array, Vec<isize>), crate::OnnxError> {
    let axis = call.axis(call.attributes().int_or("axis", -1)?, x.ndim())?;
    let shape: Vec<isize> = x.shape().iter().map(|&n| n as isize).collect();
    let cols: isize = shape[axis..].iter().product();
    let mut flat = shape[..axis].to_vec();
    flat.push(cols);
    Ok((x.reshape(&flat), shape))
}

fn layer_normalization(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    if call.node.outputs.iter().skip(1).any(|name| !name.is_empty()) {
        return Err(call.fails("the mean and deviation of LayerNormalization are not implemented"));
    }
    let (flat, shape) = flattened(call, &x)?;
    let cols = flat.shape().cols() as isize;
    let weight = call.array(1)?.reshape(&[cols]);
    let bias = match call.optional(2)? {
        Some(bias) => bias.reshape(&[cols]),
        None => Array::zeros(&[cols as usize], x.dtype()),
    };
    let eps = f64::from(call.attributes().float_or("epsilon", 1e-5)?);
    call.one(flat.layer_norm(&weight, &bias, eps).reshape(&shape))
}

fn rms_normalization(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let (flat, shape) = flattened(call, &x)?;
    let weight = call.array(1)?.reshape(&[flat.shape().cols() as isize]);
    let eps = f64::from(call.attributes().float_or("epsilon", 1e-5)?);
    call.one(flat.rms_norm(&weight, eps).reshape(&shape))
}
