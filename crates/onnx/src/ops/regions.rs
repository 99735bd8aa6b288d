//! Regions of images brought to one size, and convolution at moved places.

use oneir_array::{Array, DType};

use super::creation::sizes;
use super::{Row, row};
use crate::OnnxError;
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[
    row!(RoiAlign [10, 16, 22] => roi_align),
    row!(MaxRoiPool [1, 22] => max_roi_pool),
    row!(DeformConv [19, 22] => deform_conv),
];

fn numbers(call: &Call<'_>, i: usize) -> Result<Vec<f64>, OnnxError> {
    Ok(call.host(i)?.values().map_err(|e| call.fails(e.to_string()))?.to_floats())
}

/// Neighbours of a place along an axis and their weights; none far outside.
fn neighbours(at: f64, size: usize) -> Option<[(usize, f64); 2]> {
    if size == 0 || at < -1.0 || at > size as f64 {
        return None;
    }
    let at = at.max(0.0);
    let low = at as usize;
    if low + 1 >= size {
        return Some([(size - 1, 1.0), (size - 1, 0.0)]);
    }
    let rest = at - low as f64;
    Some([(low, 1.0 - rest), (low + 1, rest)])
}

/// Item `b` of a batch, as `[channel, place]`.
fn image(call: &Call<'_>, x: &Array, b: usize) -> Result<Array, OnnxError> {
    let [batch, channels, height, width] = x.shape()[..] else {
        return Err(call.fails("the input must have 4 dimensions"));
    };
    if b >= batch {
        return Err(call.fails(format!("a region is of item {b}, but there are {batch}")));
    }
    Ok(x.narrow(0, b, 1).reshape(&[channels as isize, (height * width) as isize]))
}

fn roi_align(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let attributes = call.attributes();
    let [_, channels, height, width] = x.shape()[..] else {
        return Err(call.fails("the input must have 4 dimensions"));
    };
    let size = |name| -> Result<usize, OnnxError> { Ok(sizes(call, &[attributes.int_or(name, 1)?])?[0]) };
    let (rows, cols) = (size("output_height")?, size("output_width")?);
    let ratio = attributes.int_or("sampling_ratio", 0)?.max(0) as usize;
    let scale = f64::from(attributes.float_or("spatial_scale", 1.0)?);
    let default = if call.version < 16 { "output_half_pixel" } else { "half_pixel" };
    let centred = match attributes.string_or("coordinate_transformation_mode", default)? {
        "half_pixel" => true,
        "output_half_pixel" => false,
        other => return Err(call.fails(format!("coordinate_transformation_mode {other} is not known"))),
    };
    let largest = match attributes.string_or("mode", "avg")? {
        "avg" => false,
        "max" => true,
        other => return Err(call.fails(format!("mode must be avg or max, found {other}"))),
    };
    let (regions, items) = (numbers(call, 1)?, sizes(call, &call.ints(2)?)?);
    if regions.len() != 4 * items.len() {
        return Err(call.fails("there must be four numbers and an item of the batch for each region"));
    }
    let dtype = x.dtype();
    let wide = dtype.accumulator();
    let (mut made, mut all) = (Vec::with_capacity(items.len()), 0usize);
    for (region, &item) in regions.as_chunks::<4>().0.iter().zip(&items) {
        let shift = if centred { 0.5 } else { 0.0 };
        let [left, top, right, bottom] = region.map(|v| v * scale - shift);
        let least = if centred { f64::NEG_INFINITY } else { 1.0 };
        let (tall, broad) = ((bottom - top).max(least), (right - left).max(least));
        let (step_y, step_x) = (tall / rows as f64, broad / cols as f64);
        let per_bin = |step: f64| if ratio > 0 { ratio } else { step.ceil().clamp(0.0, 4096.0) as usize };
        let (grid_y, grid_x) = (per_bin(step_y), per_bin(step_x));
        let samples = grid_y.saturating_mul(grid_x);
        // Four neighbours each.
        let bins = rows.saturating_mul(cols);
        all = all.saturating_add(bins.saturating_mul(samples.max(1)));
        call.bounded("all samples", all.checked_mul(4))?;
        let (mut index, mut weight) = (Vec::new(), Vec::new());
        for bin in 0..rows * cols {
            for sample in 0..samples {
                let at = |bin: usize, k: usize, grid: usize, step: f64| {
                    bin as f64 * step + (k as f64 + 0.5) * step / grid as f64
                };
                let y = neighbours(top + at(bin / cols, sample / grid_x, grid_y, step_y), height);
                let x = neighbours(left + at(bin % cols, sample % grid_x, grid_x, step_x), width);
                for k in 0..4 {
                    let (place, share) = match (y, x) {
                        (Some(y), Some(x)) => (y[k / 2].0 * width + x[k % 2].0, y[k / 2].1 * x[k % 2].1),
                        _ => (0, 0.0),
                    };
                    index.push(place as i64);
                    weight.push(share);
                }
            }
        }
        let shape = [rows * cols, samples * 4];
        let taken = image(call, &x, item)?.astype(wide).take(Array::from_slice(&index, &shape), 1);
        let parts = taken.multiply(Array::from_slice(&weight, &shape).astype(wide));
        let pooled = if samples == 0 {
            Array::zeros(&[channels, rows * cols], wide)
        } else if largest {
            // The standard's largest is over the weighted neighbours, one by one.
            parts.max([2], false)
        } else {
            parts.sum([2], false) / samples as f64
        };
        made.push(pooled.reshape(&[channels as isize, rows as isize, cols as isize]));
    }
    call.one(if made.is_empty() {
        Array::zeros(&[0, channels, rows, cols], dtype)
    } else {
        Array::stack(&made, 0).astype(dtype)
    })
}

/// The largest element of each bin of whole places; 0 for an empty one.
fn max_roi_pool(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let [_, channels, height, width] = x.shape()[..] else {
        return Err(call.fails("the input must have 4 dimensions"));
    };
    let [rows, cols] = sizes(call, call.attributes().ints("pooled_shape")?)?[..] else {
        return Err(call.fails("pooled_shape must be two sizes"));
    };
    let scale = f64::from(call.attributes().float_or("spatial_scale", 1.0)?);
    let regions = numbers(call, 1)?;
    let (mut made, chunks) = (Vec::new(), regions.as_chunks::<5>().0);
    let bins = rows.saturating_mul(cols).saturating_mul(chunks.len().max(1));
    // Each bin is an operation of its own.
    call.bounded("the bins", bins.checked_mul(256))?;
    for region in chunks {
        let [left, top, right, bottom] = [1, 2, 3, 4].map(|k| (region[k] * scale).round());
        let (tall, broad) = ((bottom - top + 1.0).max(1.0), (right - left + 1.0).max(1.0));
        let one = image(call, &x, region[0].max(0.0) as usize)?;
        let bin = |from: f64, span: f64, k: usize, count: usize, size: usize| {
            let edge = |at: f64| (from + at).clamp(0.0, size as f64) as usize;
            let step = span / count as f64;
            edge((k as f64 * step).floor())..edge(((k + 1) as f64 * step).ceil())
        };
        let mut bins = Vec::with_capacity(rows * cols);
        for at in 0..rows * cols {
            let across = bin(left, broad, at % cols, cols, width);
            let places: Vec<i64> = bin(top, tall, at / cols, rows, height)
                .flat_map(|y| across.clone().map(move |x| (y * width + x) as i64))
                .collect();
            bins.push(if places.is_empty() {
                Array::zeros(&[channels], x.dtype())
            } else {
                one.take(Array::from_slice(&places, &[places.len()]), 1).max([1], false)
            });
        }
        made.push(Array::stack(&bins, 1).reshape(&[channels as isize, rows as isize, cols as isize]));
    }
    call.one(if made.is_empty() {
        Array::zeros(&[0, channels, rows, cols], x.dtype())
    } else {
        Array::stack(&made, 0)
    })
}

/// Convolution whose kernel reads at places that offsets move, each weighted.
fn deform_conv(call: &Call<'_>) -> Results {
    let (x, w, offset) = (call.array(0)?, call.array(1)?, call.array(2)?);
    let attributes = call.attributes();
    let ([batch, channels, image @ ..], [outs, per_group, kernel @ ..]) = (&x.shape()[..], &w.shape()[..])
    else {
        return Err(call.fails("input and weight must have a batch and a channel dimension"));
    };
    let spatial = image.len();
    let list = |name: &str, count: usize, default: i64| -> Result<Vec<i64>, OnnxError> {
        let found = attributes.find_ints(name)?.map_or(vec![default; count], <[i64]>::to_vec);
        if found.len() == count {
            Ok(found)
        } else {
            Err(call.fails(format!("{name} must be {count} numbers")))
        }
    };
    let (strides, dilations) = (list("strides", spatial, 1)?, list("dilations", spatial, 1)?);
    let pads = list("pads", 2 * spatial, 0)?;
    let count = |name| -> Result<usize, OnnxError> { Ok(sizes(call, &[attributes.int_or(name, 1)?])?[0]) };
    let (groups, moved) = (count("group")?, count("offset_group")?);
    let out: Vec<usize> = offset.shape().get(2..).unwrap_or_default().to_vec();
    let (taps, windows) = (kernel.iter().product::<usize>(), out.iter().product::<usize>());
    let fits = spatial > 0
        && kernel.len() == spatial
        && out.len() == spatial
        && groups > 0
        && moved > 0
        && channels.is_multiple_of(moved)
        && per_group.checked_mul(groups) == Some(*channels)
        && outs.is_multiple_of(groups)
        && offset.shape()[0] == *batch
        && moved.checked_mul(taps).and_then(|n| n.checked_mul(spatial)) == Some(offset.shape()[1]);
    if !fits {
        return Err(call.fails("input, weight and offset do not fit each other"));
    }
    // Each corner is an operation of its own.
    let corners = 1usize.checked_shl(spatial as u32);
    let places = taps.checked_mul(windows).map(|n| n.max(1024));
    call.bounded("the places", corners.zip(places).and_then(|(n, m)| n.checked_mul(m)))?;
    let wide = if x.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let int = |v: &[usize]| -> Vec<isize> { v.iter().map(|&n| n as isize).collect() };
    let offset = offset.astype(wide).reshape(&int(&[*batch, moved, taps, spatial, windows]));
    let number = |v: f64| Array::full(&[], v, wide);
    // Corners of the cell that each place lies in: place in row order, and weight.
    let mut corners: Vec<(Array, Array)> = vec![(Array::zeros(&[], DType::I64), Array::ones(&[], wide))];
    for d in 0..spatial {
        let unravel = |mut at: usize, sizes: &[usize]| {
            for &n in sizes[d + 1..].iter().rev() {
                at /= n;
            }
            at % sizes[d].max(1)
        };
        let base: Vec<f64> = (0..taps * windows)
            .map(|i| {
                let (tap, window) = (unravel(i / windows, kernel) as f64, unravel(i % windows, &out) as f64);
                window * strides[d] as f64 + tap * dilations[d] as f64 - pads[d] as f64
            })
            .collect();
        let base = Array::from_slice(&base, &[taps, windows]).astype(wide);
        let at = offset.narrow(3, d, 1).squeeze([3]).add(&base);
        let low = at.floor();
        let rest = at.subtract(&low);
        let last = image[d] as f64 - 1.0;
        let mut next = Vec::with_capacity(corners.len() * 2);
        for (corner, share) in [(low.clone(), number(1.0).subtract(&rest)), (low.add(number(1.0)), rest)] {
            let inside = corner.greater_equal(number(0.0)).logical_and(corner.less_equal(number(last)));
            let index = corner.maximum(number(0.0)).minimum(number(last)).astype(DType::I64);
            let share = inside.where_(&share, number(0.0));
            for (place, weight) in &corners {
                let place = place.multiply(Array::full(&[], image[d] as f64, DType::I64)).add(&index);
                next.push((place, weight.multiply(&share)));
            }
        }
        corners = next;
    }
    let area: usize = image.iter().product();
    let each = channels / moved;
    let flat = x.astype(wide).reshape(&int(&[*batch, moved, each, area]));
    let parts = corners.into_iter().map(|(place, weight)| {
        let index = place.reshape(&int(&[*batch, moved, 1, taps * windows]));
        let index = index.broadcast_to(&[*batch, moved, each, taps * windows]);
        let weight = weight.reshape(&int(&[*batch, moved, 1, taps * windows]));
        flat.take_along_axis(&index, 3).multiply(&weight)
    });
    let sampled = parts.reduce(|a, b| a.add(&b)).ok_or_else(|| call.fails("there is nothing to sample"))?;
    let sampled = match call.optional(4)? {
        Some(mask) => sampled.multiply(mask.astype(wide).reshape(&int(&[*batch, moved, 1, taps * windows]))),
        None => sampled,
    };
    let columns = sampled.reshape(&int(&[*batch, groups, per_group * taps, windows]));
    let weights = w.astype(wide).reshape(&int(&[groups, outs / groups, per_group * taps]));
    let full: Vec<usize> = [*batch, *outs].into_iter().chain(out).collect();
    let mut result = weights.matmul(&columns).reshape(&int(&full));
    if let Some(bias) = call.optional(3)? {
        let mut along = vec![1; result.ndim()];
        if let Some(size) = along.get_mut(1) {
            *size = -1;
        }
        result = result.add(bias.astype(wide).reshape(&along));
    }
    call.one(result.astype(x.dtype()))
}
