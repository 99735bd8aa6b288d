//! Softmax, convolutions and pooling.

use oneir_array::{Array, Convolution, DType, ScatterReduce, WindowOp, Windows};

use super::{Row, row};
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[
    row!(Softmax [1, 11, 13] => |call| over_axis(call, |x, axis| x.softmax(axis))),
    row!(LogSoftmax [1, 11, 13] => |call| over_axis(call, log_softmax)),
    row!(Hardmax [1, 11, 13] => |call| over_axis(call, hardmax)),
    row!(Conv [1, 11, 22] => |call| conv(call, &call.array(0)?, &call.array(1)?, call.optional(2)?)),
    row!(ConvTranspose [1, 11, 22] => conv_transpose),
    row!(Col2Im [18] => col2im),
    row!(MaxPool [1, 8, 10, 11, 12, 22] => max_pool),
    row!(AveragePool [1, 7, 10, 11, 19, 22] => average_pool),
    row!(GlobalMaxPool [1, 22] => |call| global(call, |x, axes| x.max(axes, true))),
    row!(GlobalAveragePool [1, 22] => |call| global(call, |x, axes| x.mean(axes, true))),
    row!(GlobalLpPool [1, 2, 22] => |call| {
        let p = norm(call)?;
        global(call, |x, axes| lp(&x.abs(), p, |powers| powers.sum(axes, true)))
    }),
    row!(LpPool [1, 2, 11, 18, 22] => |call| {
        let x = call.array(0)?;
        let windows = pooling(call, &x)?;
        call.one(lp(&x.abs(), norm(call)?, |powers| powers.reduce_windows(WindowOp::Sum, &windows)))
    }),
    row!(MaxUnpool [9, 11, 22] => max_unpool),
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

pub(super) fn log_softmax(x: &Array, axis: isize) -> Array {
    let dtype = x.dtype();
    let x = if dtype.is_half() { x.astype(DType::F32) } else { x.clone() };
    if x.size() == 0 {
        return x.astype(dtype);
    }
    let shifted = &x - x.max([axis], true);
    (&shifted - shifted.exp().sum([axis], true).log()).astype(dtype)
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

/// The largest size, stride, dilation or padding of a sliding operator.
const MOST: usize = i32::MAX as usize;

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
    // Two of them multiplied fit an integer.
    if let Some(n) = sizes.iter().chain(kernel).find(|&&n| n > MOST) {
        return Err(call.fails(format!("a dimension or window of {n} is too large to slide over")));
    }
    let list = |name: &str, default: usize| -> Result<Vec<usize>, crate::OnnxError> {
        let found = call.attributes().find_ints(name)?;
        let Some(found) = found.filter(|v| !v.is_empty()) else { return Ok(vec![default; spatial]) };
        let out: Option<Vec<usize>> =
            found.iter().map(|&n| usize::try_from(n).ok().filter(|n| (1..=MOST).contains(n))).collect();
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
                (Some(&low), Some(&high), true)
                    if [low, high].iter().all(|n| (0..=MOST as i64).contains(n)) =>
                {
                    (low as usize, high as usize)
                }
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

/// Convolution with the node's attributes.
pub(super) fn conv(call: &Call<'_>, x: &Array, w: &Array, bias: Option<Array>) -> Results {
    call.one(convolved(call, x, w, bias)?)
}

/// As [`conv`], before it is checked.
pub(super) fn convolved(
    call: &Call<'_>,
    x: &Array,
    w: &Array,
    bias: Option<Array>,
) -> Result<Array, crate::OnnxError> {
    let (kernel, groups) = kernel_of(call, x, w)?;
    let Sliding { strides, dilations, padding } = sliding(call, &x.shape()[2..], &kernel)?;
    let out = x.convolution(w, &Convolution { strides, padding, dilations, groups });
    Ok(biased(out, bias))
}

/// Sizes of a kernel, and the number of groups.
fn kernel_of(call: &Call<'_>, x: &Array, w: &Array) -> Result<(Vec<usize>, usize), crate::OnnxError> {
    if x.ndim() < 3 || w.ndim() != x.ndim() {
        return Err(
            call.fails("input and weight must have a batch, a channel, and equally many spatial dimensions")
        );
    }
    let groups = call.attributes().int_or("group", 1)?;
    let groups =
        usize::try_from(groups).map_err(|_| call.fails(format!("group must be positive, found {groups}")))?;
    Ok((w.shape()[2..].to_vec(), groups))
}

/// With one number per channel added.
fn biased(out: Array, bias: Option<Array>) -> Array {
    let Some(bias) = bias else { return out };
    let mut shape = vec![1; out.ndim()];
    if let Some(size) = shape.get_mut(1) {
        *size = -1;
    }
    out.add(bias.reshape(&shape))
}

fn conv_transpose(call: &Call<'_>) -> Results {
    let (x, w) = (call.array(0)?, call.array(1)?);
    let (kernel, groups) = kernel_of(call, &x, &w)?;
    let sizes = x.shape()[2..].to_vec();
    let spatial = sizes.len();
    let Sliding { strides, dilations, padding } = sliding(call, &sizes, &kernel)?;
    let list = |name: &str| -> Result<Option<&[i64]>, crate::OnnxError> {
        let found = call.attributes().find_ints(name)?.filter(|v| !v.is_empty());
        match found {
            Some(v) if v.len() != spatial || v.iter().any(|n| !(0..=MOST as i64).contains(n)) => {
                Err(call.fails(format!("{name} must be {spatial} sizes, found {v:?}")))
            }
            other => Ok(other),
        }
    };
    let more: Vec<usize> =
        list("output_padding")?.map_or(vec![0; spatial], |v| v.iter().map(|&n| n as usize).collect());
    let auto = call.attributes().string_or("auto_pad", "NOTSET")?;
    let same = matches!(auto, "SAME_UPPER" | "SAME_LOWER");
    let wanted = match list("output_shape")? {
        Some(v) => Some(v.to_vec()),
        None if same => Some(sizes.iter().zip(&strides).map(|(n, s)| (n * s) as i64).collect()),
        None => None,
    };
    // What is cut off at each end; where that is negative, zeros are added.
    let mut cut: Vec<(i64, i64)> = padding.iter().map(|p| (p.0 as i64, p.1 as i64)).collect();
    if let Some(wanted) = wanted {
        for i in 0..spatial {
            let reach = strides[i] * sizes[i].saturating_sub(1) + (kernel[i].max(1) - 1) * dilations[i] + 1;
            let total = (reach + more[i]) as i64 - wanted[i];
            let half = total.div_euclid(2);
            // The standard turned the rule around at version 11.
            let less_before = (auto == "SAME_UPPER") == (call.version >= 11);
            cut[i] = if less_before { (half, total - half) } else { (total - half, half) };
        }
    }
    let positive = |n: i64| n.max(0) as usize;
    let geometry = Convolution {
        strides,
        padding: cut.iter().map(|c| (positive(c.0), positive(c.1))).collect(),
        dilations,
        groups,
    };
    let mut out = x.transposed_convolution(&w, &geometry, &more);
    if cut.iter().any(|c| c.0 < 0 || c.1 < 0) {
        let added = cut.iter().map(|c| (positive(-c.0), positive(-c.1)));
        let added: Vec<(usize, usize)> = [(0, 0), (0, 0)].into_iter().chain(added).collect();
        out = out.pad_with(&added, &Array::full(&[], 0.0, out.dtype()));
    }
    call.one(biased(out, call.optional(2)?))
}

/// Columns of patches summed back into an image, as convolution transposed with
/// a kernel that has a channel of ones for each of its places.
fn col2im(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let image = super::creation::sizes(call, &call.ints(1)?)?;
    let block = super::creation::sizes(call, &call.ints(2)?)?;
    let area = block.iter().try_fold(1usize, |all, &n| all.checked_mul(n)).unwrap_or(0);
    let [batch, rows, blocks] = x.shape()[..] else {
        return Err(call.fails("the input must have 3 dimensions"));
    };
    if area == 0 || !rows.is_multiple_of(area) || block.len() != image.len() {
        return Err(call.fails(format!("{rows} rows do not hold blocks of {block:?}")));
    }
    let Sliding { strides, dilations, padding } = sliding(call, &image, &block)?;
    let channels = rows / area;
    let mut counts = Vec::new();
    let mut more = Vec::new();
    for i in 0..image.len() {
        let span = (block[i] - 1) * dilations[i] + 1;
        let padded = image[i] + padding[i].0 + padding[i].1;
        let free = padded.checked_sub(span).ok_or_else(|| call.fails("a block is larger than the image"))?;
        counts.push(free / strides[i] + 1);
        more.push(free % strides[i]);
    }
    if counts.iter().try_fold(1usize, |all, &n| all.checked_mul(n)) != Some(blocks) {
        return Err(call.fails(format!("the image has {counts:?} blocks, found {blocks}")));
    }
    let spread: Vec<isize> = [batch * channels, area].iter().chain(&counts).map(|&n| n as isize).collect();
    let index = Array::arange(area, DType::I64);
    let ones = index.expand_dims([1]).equal(index.expand_dims([0])).astype(x.dtype());
    let kernel: Vec<isize> = [area, 1].iter().chain(&block).map(|&n| n as isize).collect();
    let geometry = Convolution { strides, padding, dilations, groups: 1 };
    let out = x.reshape(&spread).transposed_convolution(&ones.reshape(&kernel), &geometry, &more);
    let shape: Vec<isize> = [batch, channels].iter().chain(&image).map(|&n| n as isize).collect();
    call.one(out.reshape(&shape))
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
            let Some(last) = out.checked_sub(1) else { continue };
            let reach = last * stride + span;
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
    let x = call.array(0)?;
    let windows = pooling(call, &x)?;
    if !call.asked(1) {
        return call.one(x.reduce_windows(WindowOp::Max, &windows));
    }
    let sizes = x.shape()[2..].to_vec();
    let (places, outputs, items) = window_places(call, &windows, &sizes)?;
    let (batch, channels, area) = (x.shape()[0], x.shape()[1], sizes.iter().product::<usize>());
    // Places in the padding read one element past the end, which is never an
    // extreme.
    let least = Array::full(&[batch, channels, 1], f64::NEG_INFINITY, x.dtype());
    let flat = x.reshape(&[batch as isize, channels as isize, area as isize]);
    let padded = Array::concatenate(&[flat, least], 2);
    let count: usize = outputs.iter().product();
    let index = Array::from_slice(&places, &[count, items]);
    let patches = padded.take(&index, 2);
    let best = patches.argmax(3, true);
    let full: Vec<isize> = [batch, channels].iter().chain(&outputs).map(|&n| n as isize).collect();
    let values = patches.take_along_axis(&best, 3).reshape(&full);
    let order = if call.attributes().int_or("storage_order", 0)? == 0 {
        places
    } else {
        places.iter().map(|&at| column_major(at as usize, &sizes) as i64).collect()
    };
    let named =
        Array::from_slice(&order, &[1, 1, count, items]).broadcast_to(&[batch, channels, count, items]);
    let chosen =
        named.take_along_axis(&best, 3).reshape(&[batch as isize, channels as isize, count as isize]);
    let base = Array::arange(batch * channels, DType::I64) * area;
    let found = chosen + base.reshape(&[batch as isize, channels as isize, 1]);
    call.checked(&values)?;
    Ok(vec![values.into(), found.reshape(&full).into()])
}

/// For each window over the spatial dimensions and each of its items, the
/// place in row order (past the end in the padding), the number of windows of
/// each dimension, and the items of one.
fn window_places(
    call: &Call<'_>,
    windows: &Windows,
    sizes: &[usize],
) -> Result<(Vec<i64>, Vec<usize>, usize), crate::OnnxError> {
    let area: usize = sizes.iter().product();
    let mut outputs = Vec::new();
    let mut all = Some(1usize);
    // Row-order places along the dimensions so far, window by window.
    let mut places: Vec<Vec<i64>> = vec![vec![0]];
    for (i, &size) in sizes.iter().enumerate() {
        let [kernel, stride, dilation] =
            [windows.size[i + 2], windows.strides[i + 2], windows.dilations[i + 2]];
        let (low, high) = windows.padding[i + 2];
        let span = (kernel - 1) * dilation + 1;
        let count = (size + low + high).checked_sub(span).map_or(0, |free| free / stride + 1);
        outputs.push(count);
        all = all.and_then(|all| all.checked_mul(count.max(1))?.checked_mul(kernel));
        call.bounded("the places of all windows", all.and_then(|all| all.checked_mul(4)))?;
        let along = |o: usize, k: usize| (o * stride + k * dilation) as i64 - low as i64;
        places = places
            .iter()
            .flat_map(|lead| {
                (0..count).map(move |o| {
                    lead.iter()
                        .flat_map(|&base| {
                            (0..kernel).map(move |k| {
                                let at = along(o, k);
                                let inside = base >= 0 && (0..size as i64).contains(&at);
                                if inside { base * size as i64 + at } else { -1 }
                            })
                        })
                        .collect()
                })
            })
            .collect();
    }
    let items = windows.size[2..].iter().product();
    let flat = places.into_iter().flatten().map(|at| if at < 0 { area as i64 } else { at }).collect();
    Ok((flat, outputs, items))
}

/// A row-order place's number when the first dimension runs fastest.
fn column_major(mut at: usize, sizes: &[usize]) -> usize {
    if at >= sizes.iter().product() {
        return at;
    }
    let mut index = vec![0; sizes.len()];
    for (i, &n) in index.iter_mut().zip(sizes).rev() {
        (*i, at) = (at % n, at / n);
    }
    index.iter().zip(sizes).rev().fold(0, |place, (&i, &n)| place * n + i)
}

/// The order of an Lp norm.
fn norm(call: &Call<'_>) -> Result<f64, crate::OnnxError> {
    // Version 1 has it as a float.
    match call.attributes().get("p") {
        Some(crate::AttributeValue::Float(p)) => Ok(f64::from(*p)),
        _ => Ok(call.attributes().int_or("p", 2)? as f64),
    }
}

/// The p-th root of what `sum` makes of the p-th powers.
fn lp(x: &Array, p: f64, sum: impl Fn(&Array) -> Array) -> Array {
    let wide = x.astype(x.dtype().accumulator());
    let number = |v: f64| Array::full(&[], v, wide.dtype());
    let powers = if p == 1.0 { wide.clone() } else { wide.power(number(p)) };
    let sum = sum(&powers);
    let root = if p == 1.0 { sum } else { sum.power(number(1.0 / p)) };
    root.astype(x.dtype())
}

/// Each element back at the place that pooling took it from, zeros elsewhere.
fn max_unpool(call: &Call<'_>) -> Results {
    let (x, indices) = (call.array(0)?, call.array(1)?);
    let rank = x.ndim();
    let kernel = call.attributes().ints("kernel_shape")?;
    if rank < 3 || kernel.len() != rank - 2 || indices.shape() != x.shape() {
        return Err(call.fails("input, indices and kernel_shape do not fit each other"));
    }
    let kernel = super::creation::sizes(call, kernel)?;
    let Sliding { strides, padding, .. } = sliding(call, &x.shape()[2..], &kernel)?;
    let mut inferred = x.shape()[..2].to_vec();
    for i in 0..kernel.len() {
        let reach = (x.shape()[i + 2].max(1) - 1) * strides[i] + kernel[i];
        inferred.push(reach.saturating_sub(padding[i].0 + padding[i].1));
    }
    let shape = if call.has(2) { super::creation::sizes(call, &call.ints(2)?)? } else { inferred.clone() };
    if shape.len() != rank {
        return Err(call.fails(format!("output_shape must have {rank} sizes, found {shape:?}")));
    }
    let count = inferred.iter().try_fold(1usize, |all, &n| all.checked_mul(n));
    let count = count.ok_or_else(|| call.fails(format!("a shape of {inferred:?} is too large")))?;
    let blank = Array::zeros(&[count], x.dtype());
    let placed = blank.scatter_along_axis(&indices.reshape(&[-1]), &x.reshape(&[-1]), 0, ScatterReduce::None);
    let full: Vec<isize> = inferred.iter().map(|&n| n as isize).collect();
    let out = placed.reshape(&full);
    // A larger output holds the inferred one at its beginning.
    let more: Option<Vec<(usize, usize)>> =
        shape.iter().zip(&inferred).map(|(&n, &m)| Some((0, n.checked_sub(m)?))).collect();
    let more = more.ok_or_else(|| call.fails(format!("output_shape {shape:?} is below {inferred:?}")))?;
    call.one(out.pad_with(&more, &Array::full(&[], 0.0, out.dtype())))
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
