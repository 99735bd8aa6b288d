//! The derivatives of convolutions by their operands, and convolutions of
//! batches as one convolution of more items, channels or groups.

use super::{Batched, Primitive};
use crate::{Invalid, Place, UnaryOp, Value};

/// How windows lie on the tensor that they slide over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows<'a> {
    pub(super) strides: &'a [usize],
    pub(super) low: &'a [usize],
    pub(super) high: &'a [usize],
    pub(super) dilations: &'a [usize],
    pub(super) input_dilations: &'a [usize],
    pub(super) groups: usize,
}

/// Whether the tensors have elements whose products could be summed.
pub(super) fn any_products(tensors: &[&Value]) -> bool {
    tensors.iter().all(|x| x.spec().count() > 0)
}

/// Conjugates complex numbers.
pub(super) fn conjugate(x: &Value) -> Result<Value, Invalid> {
    if x.spec().dtype.is_complex() { x.unary(UnaryOp::Conjugate) } else { Ok(x.clone()) }
}

/// The first items of the spatial dimensions, every so many of them.
pub(super) fn every(x: &Value, steps: &[usize], len: &[usize]) -> Result<Value, Invalid> {
    let shape = &x.spec().shape;
    if shape[2..] == *len && steps.iter().all(|&s| s == 1) {
        return Ok(x.clone());
    }
    let slice = Primitive::Slice {
        start: vec![0; shape.rank()],
        // A step that is never taken may be of any size.
        step: [1, 1]
            .into_iter()
            .chain(steps.iter().zip(len).map(|(&s, &n)| if n > 1 { s as isize } else { 1 }))
            .collect(),
        len: shape[..2].iter().chain(len).copied().collect(),
    };
    Value::record(slice, &[x], Place::Internal)
}

/// The spatial dimensions backwards. None of them is empty.
pub(super) fn backwards(x: &Value) -> Result<Value, Invalid> {
    let shape = &x.spec().shape;
    let slice = Primitive::Slice {
        start: shape.iter().enumerate().map(|(d, &n)| if d < 2 { 0 } else { n - 1 }).collect(),
        step: (0..shape.rank()).map(|d| if d < 2 { 1 } else { -1 }).collect(),
        len: shape.to_vec(),
    };
    Value::record(slice, &[x], Place::Internal)
}

/// `x` with its axes in another order and then this shape.
fn arranged(x: &Value, front: &[usize], shape: &[usize]) -> Result<Value, Invalid> {
    let axes: Vec<usize> = front.iter().copied().chain(front.len()..x.spec().rank()).collect();
    x.transpose(&axes)?.reshape(shape)
}

fn shape_of(front: &[usize], rest: &[usize]) -> Vec<usize> {
    front.iter().chain(rest).copied().collect()
}

impl Windows<'_> {
    /// For each item of a kernel, the sum over windows of what it sees times the
    /// window's factor: `x` is `[N, C, …]` and `factors`, which are `[N, O, …]`
    /// with one for each window, act as a kernel whose items lie a stride apart.
    pub(super) fn by_weight(&self, x: &Value, factors: &Value, window: &[usize]) -> Result<Value, Invalid> {
        let (groups, sizes, counts) = (self.groups, &x.spec().shape, &factors.spec().shape);
        let (items, channels, outputs) = (sizes[0], sizes[1] / groups, counts[1]);
        // Places after the last that a window reaches.
        let high = (0..window.len()).map(|d| {
            let span = |items: usize, step: usize| (items - 1) * step;
            let places = self.low[d] + span(sizes[d + 2], self.input_dilations[d]) + 1 + self.high[d];
            let reached = span(counts[d + 2], self.strides[d]) + span(window[d], self.dilations[d]) + 1;
            self.high[d] - self.high[d].min(places - reached)
        });
        let convolution = Primitive::Convolution {
            strides: self.dilations.to_vec(),
            low: self.low.to_vec(),
            high: high.collect(),
            dilations: self.strides.to_vec(),
            input_dilations: self.input_dilations.to_vec(),
            groups,
            flip: false,
        };
        let split = x.reshape(&shape_of(&[items, groups, channels], &sizes[2..]))?;
        let input = arranged(&split, &[2, 1, 0], &shape_of(&[channels, groups * items], &sizes[2..]))?;
        let kernel = arranged(factors, &[1, 0], &shape_of(&[outputs, items], &counts[2..]))?;
        let sums = Value::record(convolution, &[&input, &kernel], Place::Internal)?;
        let sums = every(&sums, &vec![1; window.len()], window)?;
        arranged(&sums, &[1, 0], &shape_of(&[outputs, channels], window))
    }
}

/// A convolution of a batch: `record` makes it of x, the weight and the number of
/// groups. The weight of a transposed one has x's channels first and then those of
/// a group of the result; else it is the other way round.
pub(super) fn batched(
    inputs: &[Batched],
    size: usize,
    groups: usize,
    transposed: bool,
    record: impl Fn(&Value, &Value, usize) -> Result<Value, Invalid>,
) -> Result<Vec<Batched>, Invalid> {
    let (x, weight) = (&inputs[0], &inputs[1]);
    let (xs, ws) = (x.spec().shape, weight.spec().shape);
    let found = |value, axis| Ok(vec![Batched { value, axis: Some(axis) }]);
    let with_both = || -> Result<Value, Invalid> {
        // Each of the batch has groups of its own.
        let input = arranged(&x.whole(size)?, &[1, 0], &shape_of(&[xs[0], size * xs[1]], &xs[2..]))?;
        let kernels = weight.whole(size)?.reshape(&shape_of(&[size * ws[0]], &ws[1..]))?;
        record(&input, &kernels, size * groups)
    };
    match (x.axis, weight.axis) {
        (_, None) => {
            let joined = x.whole(size)?.reshape(&shape_of(&[size * xs[0]], &xs[1..]))?;
            let sums = record(&joined, &weight.value, groups)?;
            found(sums.reshape(&shape_of(&[size, xs[0]], &sums.spec().shape[1..]))?, 0)
        }
        (None, Some(_)) => {
            // Each of the batch has output channels of its own, within each group.
            let kernels = weight.whole(size)?;
            let (kernels, outputs) = if transposed {
                (arranged(&kernels, &[1, 0], &shape_of(&[ws[0], size * ws[1]], &ws[2..]))?, ws[1])
            } else {
                let outputs = ws[0] / groups;
                let split = kernels.reshape(&shape_of(&[size, groups, outputs], &ws[1..]))?;
                (arranged(&split, &[1, 0], &shape_of(&[groups * size * outputs], &ws[1..]))?, outputs)
            };
            let sums = record(&x.value, &kernels, groups)?;
            let spatial = &sums.spec().shape[2..];
            let split = sums.reshape(&shape_of(&[xs[0], groups, size, outputs], spatial))?;
            found(arranged(&split, &[2, 0, 1], &shape_of(&[size, xs[0], groups * outputs], spatial))?, 0)
        }
        (Some(_), Some(_)) => {
            let sums = with_both()?;
            let (channels, spatial) = (sums.spec().shape[1], &sums.spec().shape[2..]);
            found(sums.reshape(&shape_of(&[xs[0], size, channels / size], spatial))?, 1)
        }
    }
}
