//! Windows that slide over the dimensions of a tensor: how many there are,
//! what they see, and the sums of products that convolutions are.

use std::ops::Range;

use num_complex::Complex64;
use oneir_tensor::{HostTensor, TensorError, Values};

use super::rules::{EvalError, zeros};
use crate::Invalid;

/// One dimension with the window that slides over it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sliding {
    /// Items of the tensor along the dimension.
    pub(super) size: usize,
    /// Places from one item to the next; those between hold nothing.
    pub(super) spread: usize,
    /// Places before the first item; below 0 where places are cut off.
    pub(super) low: isize,
    /// Items of the window.
    pub(super) window: usize,
    /// Places from one item of the window to the next.
    pub(super) dilation: usize,
    /// Places from one window to the next.
    pub(super) stride: usize,
    /// How many windows there are.
    pub(super) count: usize,
}

/// Places from the first to the last of `items` that lie `step` apart.
pub(super) fn span(parameter: &'static str, items: usize, step: usize) -> Result<usize, Invalid> {
    let span = items.checked_sub(1).map_or(Some(0), |gaps| gaps.checked_mul(step)?.checked_add(1));
    addressable(parameter, step, span)
}

/// Refuses a place that signed arithmetic cannot name.
pub(super) fn addressable(
    parameter: &'static str,
    value: usize,
    place: Option<usize>,
) -> Result<usize, Invalid> {
    place.filter(|&n| n <= isize::MAX as usize / 2).ok_or_else(|| Invalid::Parameter {
        parameter,
        found: value.to_string(),
        expected: "small enough for places to be counted",
    })
}

/// Refuses a parameter that does not have one value for each dimension.
pub(super) fn per_dimension(parameter: &'static str, values: &[usize], rank: usize) -> Result<(), Invalid> {
    if values.len() == rank {
        return Ok(());
    }
    Err(Invalid::Parameter {
        parameter,
        found: format!("{values:?}"),
        expected: "one value for each dimension that a window slides over",
    })
}

/// Refuses steps that are not one per dimension, each at least 1.
pub(super) fn steps(parameter: &'static str, values: &[usize], rank: usize) -> Result<(), Invalid> {
    per_dimension(parameter, values, rank)?;
    if values.contains(&0) {
        return Err(Invalid::Parameter {
            parameter,
            found: format!("{values:?}"),
            expected: "steps of at least 1",
        });
    }
    Ok(())
}

impl Sliding {
    /// A window of `window` items over `size` items with `padding` places
    /// before and after them. An empty dimension holds no window that does not
    /// fit its padding.
    pub(super) fn new(
        axis: usize,
        (size, spread): (usize, usize),
        padding: (usize, usize),
        (window, dilation): (usize, usize),
        stride: usize,
    ) -> Result<Sliding, Invalid> {
        let inner = span("input_dilations", size, spread)?;
        let below = addressable("low", padding.0, padding.0.checked_add(inner))?;
        let available = addressable("high", padding.1, padding.1.checked_add(below))?;
        let reach = span("dilations", window, dilation)?;
        let count = match available.checked_sub(reach) {
            Some(room) => room / stride + 1,
            None if size == 0 => 0,
            None => return Err(Invalid::Window { axis, span: reach, available }),
        };
        // A step that is never taken may be of any size; 1 keeps arithmetic small.
        let taken = |items: usize, step: usize| if items > 1 { step } else { 1 };
        Ok(Sliding {
            size,
            spread: taken(size, spread),
            low: padding.0 as isize,
            window,
            dilation: taken(window, dilation),
            stride: taken(count, stride),
            count,
        })
    }

    /// The items of window `at` that see an item of the dimension (whose
    /// spread is 1).
    pub(super) fn taps(&self, at: usize) -> Range<usize> {
        let start = (at * self.stride) as isize - self.low;
        let first = (-start).max(0).unsigned_abs().div_ceil(self.dilation);
        let end = (self.size as isize - start).max(0).unsigned_abs().div_ceil(self.dilation);
        let end = end.min(self.window);
        first.min(end)..end
    }
}

/// `tensor` with all axes from `first` on running backwards.
pub(super) fn reversed(tensor: &HostTensor, first: usize) -> Result<HostTensor, TensorError> {
    let back = |axis| axis >= first && tensor.shape()[axis] > 0;
    let start: Vec<usize> =
        (0..tensor.rank()).map(|a| if back(a) { tensor.shape()[a] - 1 } else { 0 }).collect();
    let step: Vec<isize> = (0..tensor.rank()).map(|a| if back(a) { -1 } else { 1 }).collect();
    tensor.slice(&start, &step, tensor.shape())
}

/// Numbers whose products are summed.
trait Ring: Copy + Default {
    /// `self + a · b`; integers wrap.
    fn plus(self, a: Self, b: Self) -> Self;
}

impl Ring for f64 {
    fn plus(self, a: f64, b: f64) -> f64 {
        self + a * b
    }
}

impl Ring for Complex64 {
    fn plus(self, a: Complex64, b: Complex64) -> Complex64 {
        self + a * b
    }
}

impl Ring for i64 {
    fn plus(self, a: i64, b: i64) -> i64 {
        self.wrapping_add(a.wrapping_mul(b))
    }
}

impl Ring for u64 {
    fn plus(self, a: u64, b: u64) -> u64 {
        self.wrapping_add(a.wrapping_mul(b))
    }
}

/// Marks a place that holds no item.
const NOTHING: usize = usize::MAX;

/// Windows worked on at a time.
const WINDOWS: usize = 128;
/// Items of the window worked on at a time.
const TAPS: usize = 64;
/// Rows of a patch, one per channel and item of the window: with this many, a
/// patch of f64 stays in a core's own cache.
const ROWS: usize = 256;

/// Grouped sums of products of windows with weights.
pub(super) struct Windowed<'a> {
    /// The dimensions that windows slide over.
    pub(super) dims: &'a [Sliding],
    /// Independent inputs.
    pub(super) batch: usize,
    /// Groups of channels.
    pub(super) groups: usize,
    /// Input channels of a group.
    pub(super) channels: usize,
    /// Output channels of a group.
    pub(super) outputs: usize,
}

impl Windowed<'_> {
    /// [`Windowed::sum`] of the numbers of two tensors of one dtype.
    pub(super) fn evaluate(&self, x: &HostTensor, weight: &HostTensor) -> Result<Values, EvalError> {
        Ok(match (x.values()?, weight.values()?) {
            (Values::Float(x), Values::Float(w)) => Values::Float(self.sum(&x, &w)?),
            (Values::Signed(x), Values::Signed(w)) => Values::Signed(self.sum(&x, &w)?),
            (Values::Unsigned(x), Values::Unsigned(w)) => Values::Unsigned(self.sum(&x, &w)?),
            (x, w) => Values::Complex(self.sum(&x.to_complex(), &w.to_complex())?),
        })
    }

    /// Of `x`, batch × (groups · channels) × places, and `weights`,
    /// (groups · outputs) × channels × taps: batch × (groups · outputs) ×
    /// windows.
    fn sum<T: Ring>(&self, x: &[T], weights: &[T]) -> Result<Vec<T>, TensorError> {
        let windows: usize = self.dims.iter().map(|d| d.count).product();
        let taps: usize = self.dims.iter().map(|d| d.window).product();
        let places: usize = self.dims.iter().map(|d| d.size).product();
        let total = self.batch * self.outputs * self.groups * windows;
        let mut out = zeros(total)?;
        if total == 0 || taps * self.channels == 0 {
            return Ok(out);
        }
        let mut seen = vec![NOTHING; TAPS.min(taps) * WINDOWS.min(windows)];
        let mut patch = vec![T::default(); ROWS.max(TAPS) * WINDOWS];
        let mut factors = Vec::with_capacity(ROWS);
        for first in (0..windows).step_by(WINDOWS) {
            let n = WINDOWS.min(windows - first);
            for tap in (0..taps).step_by(TAPS) {
                let near = TAPS.min(taps - tap);
                self.look(first, n, tap, &mut seen[..near * n]);
                let step = (ROWS / near).max(1);
                for group in 0..self.batch * self.groups {
                    for channel in (0..self.channels).step_by(step) {
                        let some = step.min(self.channels - channel);
                        let x = &x[(group * self.channels + channel) * places..][..some * places];
                        gather(x, some, &seen[..near * n], &mut patch);
                        for output in 0..self.outputs {
                            let row = (group % self.groups * self.outputs + output) * self.channels + channel;
                            factors.clear();
                            for row in row..row + some {
                                factors.extend_from_slice(&weights[row * taps + tap..][..near]);
                            }
                            let sums = &mut out[(group * self.outputs + output) * windows + first..][..n];
                            accumulate(sums, &factors, &patch[..factors.len() * n]);
                        }
                    }
                }
            }
        }
        Ok(out)
    }

    /// For each tap from `tap` on, the place that it sees in each of `n`
    /// windows from `first` on.
    fn look(&self, first: usize, n: usize, tap: usize, seen: &mut [usize]) {
        let mut index = vec![0isize; n * self.dims.len()];
        for (i, at) in (first..first + n).enumerate() {
            let mut rest = at;
            for (d, dim) in self.dims.iter().enumerate().rev() {
                index[d * n + i] = (rest % dim.count * dim.stride) as isize - dim.low;
                rest /= dim.count;
            }
        }
        for (k, seen) in seen.chunks_exact_mut(n).enumerate() {
            seen.fill(0);
            let (mut rest, mut pitch) = (tap + k, 1);
            for (d, dim) in self.dims.iter().enumerate().rev() {
                let reach = (rest % dim.window * dim.dilation) as isize;
                rest /= dim.window;
                for (seen, start) in seen.iter_mut().zip(&index[d * n..][..n]) {
                    let mut place = (start + reach) as usize;
                    if dim.spread > 1 {
                        place = if place.is_multiple_of(dim.spread) { place / dim.spread } else { NOTHING };
                    }
                    // A place before the first is, unsigned, past the last.
                    let inside = place < dim.size && *seen != NOTHING;
                    *seen = if inside { *seen + place * pitch } else { NOTHING };
                }
                pitch *= dim.size;
            }
        }
    }
}

/// Writes what each tap sees of each of `channels` channels, a row per tap.
fn gather<T: Ring>(x: &[T], channels: usize, seen: &[usize], patch: &mut [T]) {
    let places = x.len() / channels;
    for (channel, rows) in patch.chunks_exact_mut(seen.len()).take(channels).enumerate() {
        let x = &x[channel * places..][..places];
        for (slot, &at) in rows.iter_mut().zip(seen) {
            *slot = x.get(at).copied().unwrap_or_default();
        }
    }
}

/// Adds to `sums` each row of `rows` times its factor, in order.
fn accumulate<T: Ring>(sums: &mut [T], factors: &[T], rows: &[T]) {
    if let [sum] = sums {
        *sum = factors.iter().zip(rows).fold(*sum, |sum, (a, x)| sum.plus(*a, *x));
        return;
    }
    let n = sums.len();
    let (fours, ones) = factors.as_chunks::<4>();
    let (four_rows, one_rows) = rows.split_at(fours.len() * 4 * n);
    for ([a, b, c, d], rows) in fours.iter().zip(four_rows.chunks_exact(4 * n)) {
        let (x, rest) = rows.split_at(n);
        let (y, rest) = rest.split_at(n);
        let (z, w) = rest.split_at(n);
        for ((((sum, x), y), z), w) in sums.iter_mut().zip(x).zip(y).zip(z).zip(w) {
            *sum = sum.plus(*a, *x).plus(*b, *y).plus(*c, *z).plus(*d, *w);
        }
    }
    for (a, row) in ones.iter().zip(one_rows.chunks_exact(n)) {
        for (sum, x) in sums.iter_mut().zip(row) {
            *sum = sum.plus(*a, *x);
        }
    }
}
