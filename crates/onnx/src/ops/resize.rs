//! Images brought to other sizes.

use oneir_array::{Array, DType};

use super::creation::sizes;
use super::{Row, row};
use crate::OnnxError;
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[
    row!(Resize [10, 11, 13, 18, 19] => |call| {
        if call.version < 11 { upsample(call) } else { resize(call) }
    }),
    row!(Upsample [1, 7, 9, 10] => upsample),
];

/// Where the samples of one axis of the result come from.
struct Taps {
    /// For each tap, the source of each sample.
    index: Vec<Vec<i64>>,
    /// And its weight.
    weight: Vec<Vec<f64>>,
    /// Which samples lie outside the source.
    outside: Vec<bool>,
}

/// How samples are made of their neighbours.
#[derive(Clone, Copy, PartialEq)]
enum Kernel {
    Nearest(Rounding),
    Linear,
    Cubic(f64),
}

#[derive(Clone, Copy, PartialEq)]
enum Rounding {
    PreferFloor,
    PreferCeil,
    Floor,
    Ceil,
}

impl Kernel {
    /// How far its weights reach at scale 1.
    fn reach(self) -> f64 {
        match self {
            Kernel::Cubic(_) => 2.0,
            _ => 1.0,
        }
    }

    /// The weight of a sample at a distance (Keys, 1981, for the cubic).
    fn weight(self, at: f64) -> f64 {
        let x = at.abs();
        match self {
            Kernel::Cubic(a) if x <= 1.0 => ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0,
            Kernel::Cubic(a) if x < 2.0 => ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a,
            Kernel::Cubic(_) => 0.0,
            _ => (1.0 - x).max(0.0),
        }
    }
}

impl Rounding {
    fn of(self, x: f64) -> f64 {
        match self {
            Rounding::PreferFloor => (x - 0.5).ceil(),
            Rounding::PreferCeil => (x + 0.5).floor(),
            Rounding::Floor => x.floor(),
            Rounding::Ceil => x.ceil(),
        }
    }
}

/// Of samples at places of an axis of `size`; `shrink` (at most 1) widens the
/// kernel.
fn taps(places: &[f64], size: usize, kernel: Kernel, shrink: f64, exclude: bool) -> Taps {
    let last = size.saturating_sub(1) as f64;
    let clamp = |at: f64| at.clamp(0.0, last) as i64;
    let outside = places.iter().map(|&x| x < 0.0 || x > last).collect();
    if let Kernel::Nearest(rounding) = kernel {
        let index = places.iter().map(|&x| clamp(rounding.of(x))).collect();
        return Taps { index: vec![index], weight: vec![vec![1.0; places.len()]], outside };
    }
    let reach = (kernel.reach() / shrink).ceil() as i64;
    let count = 2 * reach as usize;
    let mut index = vec![Vec::with_capacity(places.len()); count];
    let mut weight = vec![Vec::with_capacity(places.len()); count];
    for &x in places {
        let first = x.floor() - (reach - 1) as f64;
        let weights: Vec<f64> = (0..count)
            .map(|k| {
                let at = first + k as f64;
                if exclude && !(0.0..=last).contains(&at) { 0.0 } else { kernel.weight((at - x) * shrink) }
            })
            .collect();
        let sum: f64 = weights.iter().sum();
        for (k, w) in weights.iter().enumerate() {
            index[k].push(clamp(first + k as f64));
            weight[k].push(w / sum);
        }
    }
    Taps { index, weight, outside }
}

/// One axis resampled.
fn resampled(x: &Array, axis: usize, taps: &Taps) -> Array {
    let take = |index: &[i64]| x.take(Array::from_slice(index, &[index.len()]), axis as isize);
    if let [index] = &taps.index[..] {
        return take(index);
    }
    let mut along = vec![1; x.ndim()];
    along[axis] = -1;
    let parts = taps.index.iter().zip(&taps.weight).map(|(index, weight)| {
        let weight = Array::from_slice(weight, &[weight.len()]).astype(x.dtype()).reshape(&along);
        take(index).multiply(&weight)
    });
    parts.reduce(|sum, part| sum.add(&part)).unwrap_or_else(|| x.clone())
}

/// Upsample, and Resize at version 10: sample i comes from i / scale.
fn upsample(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let scales: Vec<f64> = match call.version {
        ..7 => {
            let scale = |name| call.attributes().float(name).map(f64::from);
            vec![1.0, 1.0, scale("height_scale")?, scale("width_scale")?]
        }
        7 | 8 => call.attributes().floats("scales")?.iter().map(|&s| f64::from(s)).collect(),
        _ => floats(call, 1)?,
    };
    if scales.len() != x.ndim() || scales.iter().any(|s| !s.is_finite() || *s <= 0.0) {
        return Err(call.fails(format!("scales {scales:?} do not fit {} dimensions", x.ndim())));
    }
    let kernel = match call.attributes().string_or("mode", "nearest")? {
        "nearest" => Kernel::Nearest(Rounding::Floor),
        "linear" | "bilinear" => Kernel::Linear,
        other => return Err(call.fails(format!("mode must be nearest or linear, found {other}"))),
    };
    let dtype = x.dtype();
    let mut out = computing(&x, kernel);
    for (axis, &scale) in scales.iter().enumerate() {
        let size = x.shape()[axis];
        let count = (size as f64 * scale).floor() as usize;
        if scale != 1.0 {
            call.bounded("the places of an axis", Some(count))?;
            let places: Vec<f64> = (0..count).map(|i| i as f64 / scale).collect();
            out = resampled(&out, axis, &taps(&places, size, kernel, 1.0, false));
        }
    }
    call.one(out.astype(dtype))
}

/// Weighted sums of halves and integers are made in f32.
fn computing(x: &Array, kernel: Kernel) -> Array {
    match kernel {
        Kernel::Nearest(_) => x.clone(),
        _ if x.dtype() == DType::F64 => x.clone(),
        _ => x.astype(DType::F32),
    }
}

fn floats(call: &Call<'_>, i: usize) -> Result<Vec<f64>, OnnxError> {
    Ok(call.host(i)?.values().map_err(|e| call.fails(e.to_string()))?.to_floats())
}

fn resize(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let attributes = call.attributes();
    let rank = x.ndim();
    let kernel = match attributes.string_or("mode", "nearest")? {
        "nearest" => Kernel::Nearest(match attributes.string_or("nearest_mode", "round_prefer_floor")? {
            "round_prefer_floor" => Rounding::PreferFloor,
            "round_prefer_ceil" => Rounding::PreferCeil,
            "floor" => Rounding::Floor,
            "ceil" => Rounding::Ceil,
            other => return Err(call.fails(format!("nearest_mode {other} is not known"))),
        }),
        "linear" => Kernel::Linear,
        "cubic" => Kernel::Cubic(f64::from(attributes.float_or("cubic_coeff_a", -0.75)?)),
        other => return Err(call.fails(format!("mode {other} is not known"))),
    };
    let axes: Vec<usize> = match attributes.find_ints("axes")? {
        Some(axes) => axes.iter().map(|&a| call.axis(a, rank)).collect::<Result<_, _>>()?,
        None => (0..rank).collect(),
    };
    let from: Vec<usize> = axes.iter().map(|&a| x.shape()[a]).collect();
    // An empty input stands for none.
    let given = |i: usize| call.has(i) && call.shape(i).is_ok_and(|s| s.iter().product::<usize>() > 0);
    let (scales, to) = if given(3) {
        targets(call, &from)?
    } else if given(2) {
        let scales = floats(call, 2)?;
        let to = from.iter().zip(&scales).map(|(&n, &s)| (n as f64 * s).floor() as usize).collect();
        (scales, to)
    } else {
        return Err(call.fails("neither scales nor sizes are given"));
    };
    if scales.len() != axes.len() || scales.iter().any(|s| !s.is_finite() || *s < 0.0) {
        return Err(call.fails(format!("scales {scales:?} do not fit {} axes", axes.len())));
    }
    let mode = attributes.string_or("coordinate_transformation_mode", "half_pixel")?;
    let region = if mode == "tf_crop_and_resize" { floats(call, 1)? } else { vec![0.0; 2 * axes.len()] };
    if region.len() != 2 * axes.len() {
        return Err(call.fails(format!("roi must have {} numbers, found {}", 2 * axes.len(), region.len())));
    }
    let antialias = attributes.int_or("antialias", 0)? != 0;
    let exclude = attributes.int_or("exclude_outside", 0)? != 0;
    let dtype = x.dtype();
    let mut out = computing(&x, kernel);
    let mut outside = Array::zeros(&[], DType::Bool);
    for (i, &axis) in axes.iter().enumerate() {
        let (size, count, scale) = (from[i], to[i], scales[i]);
        call.bounded("the places of an axis", Some(count))?;
        let crop = (region[i], region[i + axes.len()]);
        let places = (0..count)
            .map(|o| source(mode, o, size, count, scale, crop))
            .collect::<Option<Vec<f64>>>()
            .ok_or_else(|| call.fails(format!("coordinate_transformation_mode {mode} is not known")))?;
        if size == count && places.iter().enumerate().all(|(o, &x)| x == o as f64) {
            continue;
        }
        let shrink = if antialias { scale.min(1.0) } else { 1.0 };
        // Each neighbour is an operation of its own.
        let reach = (kernel.reach() / shrink).ceil();
        let neighbours = 2.0 * reach * count.max(1024) as f64;
        call.bounded("the neighbours of all places", Some(neighbours as usize))?;
        let taps = taps(&places, size, kernel, shrink, exclude);
        out = resampled(&out, axis, &taps);
        if mode == "tf_crop_and_resize" {
            let mut along = vec![1; rank];
            along[axis] = -1;
            outside = outside.logical_or(Array::from_slice(&taps.outside, &[count]).reshape(&along));
        }
    }
    if mode == "tf_crop_and_resize" {
        let value = f64::from(attributes.float_or("extrapolation_value", 0.0)?);
        out = outside.where_(Array::full(&[], value, out.dtype()), &out);
    }
    call.one(out.astype(dtype))
}

/// Scales and sizes from the sizes asked for.
fn targets(call: &Call<'_>, from: &[usize]) -> Result<(Vec<f64>, Vec<usize>), OnnxError> {
    let asked = sizes(call, &call.ints(3)?)?;
    if asked.len() != from.len() {
        return Err(call.fails(format!("{} sizes for {} axes", asked.len(), from.len())));
    }
    let ratios: Vec<f64> = asked.iter().zip(from).map(|(&to, &n)| to as f64 / n as f64).collect();
    let one = match call.attributes().string_or("keep_aspect_ratio_policy", "stretch")? {
        "stretch" => return Ok((ratios, asked)),
        "not_larger" => ratios.iter().copied().fold(f64::INFINITY, f64::min),
        "not_smaller" => ratios.iter().copied().fold(0.0, f64::max),
        other => return Err(call.fails(format!("keep_aspect_ratio_policy {other} is not known"))),
    };
    let to = from.iter().map(|&n| (one * n as f64 + 0.5).floor() as usize).collect();
    Ok((vec![one; from.len()], to))
}

/// The place that sample `o` of an axis comes from.
fn source(mode: &str, o: usize, size: usize, count: usize, scale: f64, crop: (f64, f64)) -> Option<f64> {
    let (o, last, end) = (o as f64, size as f64 - 1.0, count as f64 - 1.0);
    // The corners of the size that the scale asks for, before it was cut to a
    // whole one.
    let exact = if count as f64 == scale * size as f64 { end } else { scale * size as f64 - 1.0 };
    Some(match mode {
        "half_pixel" => (o + 0.5) / scale - 0.5,
        "half_pixel_symmetric" => {
            let adjustment = count as f64 / (scale * size as f64);
            size as f64 / 2.0 * (1.0 - adjustment) + (o + 0.5) / scale - 0.5
        }
        "pytorch_half_pixel" => {
            if count > 1 {
                (o + 0.5) / scale - 0.5
            } else {
                0.0
            }
        }
        "align_corners" => {
            if count > 1 {
                o * last / exact
            } else {
                0.0
            }
        }
        "asymmetric" => o / scale,
        "tf_half_pixel_for_nn" => (o + 0.5) / scale,
        "tf_crop_and_resize" => {
            if count > 1 {
                crop.0 * last + o * (crop.1 - crop.0) * last / exact
            } else {
                0.5 * (crop.0 + crop.1) * last
            }
        }
        _ => return None,
    })
}
