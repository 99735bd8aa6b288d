//! Images sampled at places that are data.

use oneir_array::{Array, DType};

use super::creation::sizes;
use super::{Row, row};
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] =
    &[row!(GridSample [16, 20, 22] => grid_sample), row!(AffineGrid [20] => affine_grid)];

/// What lies outside an image.
#[derive(Clone, Copy, PartialEq)]
enum Outside {
    Zeros,
    Border,
    Reflection,
}

/// How a sample is made of its neighbours.
#[derive(Clone, Copy, PartialEq)]
enum Sampling {
    Nearest,
    Linear,
    Cubic,
}

fn constant(v: f64, like: &Array) -> Array {
    Array::full(&[], v, like.dtype())
}

/// Mirrored at `low` and `high`, again and again.
fn reflected(x: &Array, low: f64, high: f64) -> Array {
    let span = high - low;
    if span <= 0.0 {
        return x.multiply(constant(0.0, x)).add(constant(low, x));
    }
    let turn = x.subtract(constant(low, x)).remainder(constant(2.0 * span, x));
    let back = constant(2.0 * span, x).subtract(&turn);
    turn.minimum(&back).add(constant(low, x))
}

/// The axis along which places are looked up: its size, and how.
struct Axis {
    size: usize,
    align: bool,
    outside: Outside,
}

impl Axis {
    fn edges(&self) -> (f64, f64) {
        let last = self.size as f64 - 1.0;
        if self.align { (0.0, last) } else { (-0.5, last + 0.5) }
    }

    /// From -1 … 1 to places.
    fn places(&self, x: &Array) -> Array {
        let size = self.size as f64;
        let half: Array =
            if self.align { (x + 1.0) * ((size - 1.0) / 2.0) } else { ((x + 1.0) * size - 1.0) * 0.5 };
        half
    }

    /// A place brought inside, where what is outside says how.
    fn inside(&self, x: &Array) -> Array {
        match self.outside {
            Outside::Zeros => x.clone(),
            Outside::Border => x.maximum(constant(0.0, x)).minimum(constant(self.size as f64 - 1.0, x)),
            Outside::Reflection => {
                let (low, high) = self.edges();
                reflected(x, low, high)
            }
        }
    }

    /// The index (i64) at a whole place, and whether it lies in the image.
    fn index(&self, x: &Array) -> (Array, Array) {
        let x = self.inside(x).round(0);
        let (first, last) = (constant(0.0, &x), constant(self.size as f64 - 1.0, &x));
        let holds = x.greater_equal(&first).logical_and(x.less_equal(&last));
        (x.maximum(&first).minimum(&last).astype(DType::I64), holds)
    }

    /// The neighbours of places, each with its weight.
    fn taps(&self, x: &Array, sampling: Sampling) -> Vec<(Array, Array)> {
        let floor = x.floor();
        let at = |k: f64| floor.add(constant(k, x));
        let r = x.subtract(&floor);
        let one = constant(1.0, x);
        match sampling {
            Sampling::Nearest => vec![(x.round(0), one)],
            Sampling::Linear => vec![(at(0.0), one.subtract(&r)), (at(1.0), r)],
            Sampling::Cubic => [-1.0, 0.0, 1.0, 2.0]
                .map(|k| {
                    // Keys, 1981, with a = -0.75.
                    let d = r.subtract(constant(k, x)).abs();
                    let poly = |c: [f64; 4]| {
                        c.iter().fold(constant(0.0, x), |sum, &c| sum.multiply(&d).add(constant(c, x)))
                    };
                    let weight = if k == 0.0 || k == 1.0 {
                        poly([1.25, -2.25, 0.0, 1.0])
                    } else {
                        poly([-0.75, 3.75, -6.0, 3.0])
                    };
                    (at(k), weight)
                })
                .into(),
        }
    }
}

fn grid_sample(call: &Call<'_>) -> Results {
    let (x, grid) = (call.array(0)?, call.array(1)?);
    let rank = x.ndim();
    if rank < 3 || grid.ndim() != rank || grid.shape().cols() != rank - 2 {
        return Err(
            call.fails("the grid must have the input's dimensions, and a number for each spatial one")
        );
    }
    let attributes = call.attributes();
    let sampling = match attributes.string_or("mode", "linear")? {
        "nearest" => Sampling::Nearest,
        "linear" | "bilinear" => Sampling::Linear,
        "cubic" | "bicubic" => Sampling::Cubic,
        other => return Err(call.fails(format!("mode {other} is not known"))),
    };
    let outside = match attributes.string_or("padding_mode", "zeros")? {
        "zeros" => Outside::Zeros,
        "border" => Outside::Border,
        "reflection" => Outside::Reflection,
        other => return Err(call.fails(format!("padding_mode {other} is not known"))),
    };
    let align = attributes.int_or("align_corners", 0)? != 0;
    let wide = if grid.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let shape = x.shape().to_vec();
    let (batch, channels, area) = (shape[0], shape[1], shape[2..].iter().product::<usize>());
    let out: Vec<usize> = grid.shape()[1..rank - 1].to_vec();
    let count: usize = out.iter().product();
    let flat = x.reshape(&[batch as isize, channels as isize, area as isize]);
    let grid = grid.astype(wide).reshape(&[batch as isize, 1, count as isize, rank as isize - 2]);
    // Each combination of taps is an operation of its own.
    call.bounded("the taps", 4usize.checked_pow(rank as u32 - 2).and_then(|n| n.checked_mul(1024)))?;
    // Sums over the taps of every axis: place in row order, weight, inside.
    let mut all: Vec<(Array, Array, Array)> = vec![(
        Array::zeros(&[batch, 1, count], DType::I64),
        Array::ones(&[batch, 1, count], wide),
        Array::ones(&[batch, 1, count], DType::Bool),
    )];
    for d in 0..rank - 2 {
        let axis = Axis { size: shape[d + 2], align, outside };
        // The grid names the last axis first.
        let given = grid.narrow(-1, rank - 3 - d, 1).squeeze([-1]);
        let mut places = axis.places(&given);
        if sampling != Sampling::Cubic {
            places = axis.inside(&places);
        }
        let taps = axis.taps(&places, sampling);
        let mut next = Vec::with_capacity(all.len() * taps.len());
        for (base, weight, holds) in &all {
            for (tap, factor) in &taps {
                let (index, inside) = axis.index(tap);
                let place = base.multiply(Array::full(&[], axis.size as f64, DType::I64)).add(&index);
                next.push((place, weight.multiply(factor), holds.logical_and(&inside)));
            }
        }
        all = next;
    }
    let accumulator = if x.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let mut sum: Option<Array> = None;
    for (place, weight, holds) in all {
        let value = flat.take_along_axis(&place.broadcast_to(&[batch, channels, count]), 2);
        let part = if sampling == Sampling::Nearest && outside != Outside::Zeros {
            value
        } else if sampling == Sampling::Nearest {
            holds.where_(&value, constant(0.0, &value))
        } else {
            let value = value.astype(accumulator);
            let weight = holds.where_(&weight, constant(0.0, &weight)).astype(accumulator);
            value.multiply(&weight)
        };
        sum = Some(match sum {
            Some(sum) => sum.add(&part),
            None => part,
        });
    }
    let sum = sum.ok_or_else(|| call.fails("there is nothing to sample"))?;
    let full: Vec<isize> = [batch, channels].iter().chain(&out).map(|&n| n as isize).collect();
    call.one(sum.reshape(&full).astype(x.dtype()))
}

fn affine_grid(call: &Call<'_>) -> Results {
    let theta = call.array(0)?;
    let size = sizes(call, &call.ints(1)?)?;
    let (Some(&batch), Some(spatial)) = (size.first(), size.get(2..)) else {
        return Err(call.fails("size must name a batch, channels, and spatial dimensions"));
    };
    let align = call.attributes().int_or("align_corners", 0)? != 0;
    let count = spatial.iter().try_fold(1usize, |all, &n| all.checked_mul(n));
    call.bounded("the places", count.and_then(|n| n.checked_mul(spatial.len() + 1)))?;
    let count = count.unwrap_or(0);
    let at = |i: usize, n: usize| -> f64 {
        match (align, n) {
            (true, 1) => 0.0,
            (true, _) => 2.0 * i as f64 / (n as f64 - 1.0) - 1.0,
            (false, _) => (2.0 * i as f64 + 1.0) / n as f64 - 1.0,
        }
    };
    // Homogeneous places, the last axis first.
    let mut places = Vec::with_capacity(count * (spatial.len() + 1));
    for place in 0..count {
        let mut rest = place;
        for &n in spatial.iter().rev() {
            places.push(at(rest % n, n));
            rest /= n;
        }
        places.push(1.0);
    }
    let dtype = theta.dtype();
    let wide = dtype.accumulator();
    let places = Array::from_slice(&places, &[count, spatial.len() + 1]).astype(wide);
    let grid = places.matmul(&theta.astype(wide).transpose([0, 2, 1]));
    let full: Vec<isize> =
        [batch].iter().chain(spatial).chain([&spatial.len()]).map(|&n| n as isize).collect();
    call.one(grid.reshape(&full).astype(dtype))
}
