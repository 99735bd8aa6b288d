//! The lines of elements along one axis.

use oneir_tensor::Shape;

use crate::{Invalid, Spec};

/// The lines along one axis of a row-ordered tensor. A tensor without elements
/// has none, however many its shape tells of.
pub(super) struct Lanes {
    before: usize,
    len: usize,
    after: usize,
}

/// The places of one line's elements.
#[derive(Clone, Copy)]
pub(super) struct Lane {
    start: usize,
    step: usize,
    len: usize,
}

impl Lanes {
    /// The lines along `axis` of a tensor of `shape`.
    pub(super) fn new(shape: &Shape, axis: usize) -> Self {
        Lanes {
            before: if shape.count() == 0 { 0 } else { shape[..axis].iter().product() },
            len: shape[axis],
            after: shape[axis + 1..].iter().product(),
        }
    }

    /// The lines, in row order of the other axes.
    pub(super) fn iter(&self) -> impl Iterator<Item = Lane> {
        let (len, after) = (self.len, self.after);
        (0..self.before)
            .flat_map(move |i| (0..after).map(move |j| Lane { start: i * len * after + j, step: after, len }))
    }
}

impl Lane {
    /// The place of the line's element `k`.
    pub(super) fn at(self, k: usize) -> usize {
        self.start + k * self.step
    }

    /// The places of the line's elements, in order.
    pub(super) fn places(self) -> impl DoubleEndedIterator<Item = usize> {
        (0..self.len).map(move |k| self.at(k))
    }
}

/// Refuses an axis whose places do not fit u32.
pub(super) fn places_fit_u32(x: &Spec, axis: usize) -> Result<(), Invalid> {
    match u32::try_from(x.shape[axis].saturating_sub(1)) {
        Ok(_) => Ok(()),
        Err(_) => Err(Invalid::Parameter {
            parameter: "axis",
            found: format!("{axis} of size {}", x.shape[axis]),
            expected: "a size of at most 2^32",
        }),
    }
}
