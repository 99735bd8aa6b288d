//! Where the groups of an operand begin: its outer dimensions, in row order.

use oneir_tensor::Layout;
use smallvec::SmallVec;

/// The places of a layout's elements, found by number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Starts {
    first: isize,
    /// Size and stride of each dimension, outermost first, merged.
    dims: SmallVec<[(usize, isize); 4]>,
    count: usize,
}

impl Starts {
    /// The outer dimensions of a layout, up to `rank`.
    pub(super) fn outer(layout: &Layout, rank: usize) -> Starts {
        let dims = layout.shape.iter().zip(&layout.strides).take(rank).map(|(&n, &s)| (n, s));
        Starts::new(layout.offset, dims)
    }

    /// Dimensions, outermost first.
    pub(super) fn new(first: isize, all: impl Iterator<Item = (usize, isize)>) -> Starts {
        let mut dims: SmallVec<[(usize, isize); 4]> = SmallVec::new();
        let mut count = 1;
        for (n, stride) in all {
            count *= n;
            match dims.last_mut() {
                _ if n == 1 => {}
                // One step of the outer dimension is a whole turn of this one.
                Some((m, outer)) if *outer == stride * n as isize => {
                    *m *= n;
                    *outer = stride;
                }
                _ => dims.push((n, stride)),
            }
        }
        Starts { first, dims, count }
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The distance between neighbours, where all are the same.
    pub(super) fn step(&self) -> Option<isize> {
        match self.dims[..] {
            [] => Some(0),
            [(_, stride)] => Some(stride),
            _ => None,
        }
    }

    /// Only the first.
    pub(super) fn only_first(&self) -> Starts {
        Starts::new(self.first, std::iter::empty())
    }

    /// The start with this number.
    #[inline(always)]
    pub(super) fn at(&self, number: usize) -> isize {
        if let [(_, stride)] = self.dims[..] {
            return self.first + number as isize * stride;
        }
        let (mut left, mut at) = (number, self.first);
        for &(n, stride) in self.dims.iter().rev() {
            at += (left % n) as isize * stride;
            left /= n;
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_the_layouts_places() {
        let row = Layout::contiguous(&[2, 3, 4]);
        for layout in [row.clone(), row.transpose(&[2, 0, 1]).unwrap(), row.transpose(&[1, 2, 0]).unwrap()] {
            let starts = Starts::outer(&layout, 3);
            assert_eq!(starts.count(), 24);
            let found: Vec<isize> = (0..24).map(|i| starts.at(i)).collect();
            assert_eq!(found, layout.offsets().collect::<Vec<_>>());
        }
        assert_eq!(Starts::outer(&row, 2).step(), Some(4));
        assert_eq!(Starts::outer(&row, 0).count(), 1);
    }
}
