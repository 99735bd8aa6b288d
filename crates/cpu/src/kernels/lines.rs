//! The lines of elements along one axis: of an operand, wherever they lie, and
//! of a result, which lies row by row.

use oneir_tensor::Layout;

use super::starts::Starts;

/// The lines along an axis, in row order of the other axes.
pub(super) struct Lines {
    starts: Starts,
    /// From one element of a line of the operand to the next.
    pub(super) step: isize,
    /// Elements of a line.
    pub(super) len: usize,
    /// Lines of the result that lie side by side: the distance of its elements.
    pub(super) inner: usize,
    /// Whether lines of the operand lie side by side where the result's do.
    pub(super) side_by_side: bool,
}

impl Lines {
    /// Of an operand of this layout.
    pub(super) fn new(layout: &Layout, axis: usize) -> Lines {
        let dims = || layout.shape.iter().copied().zip(layout.strides.iter().copied());
        let others = dims().enumerate().filter(|(at, _)| *at != axis).map(|(_, dim)| dim);
        let mut inner = 1;
        let mut side_by_side = true;
        for (n, stride) in dims().skip(axis + 1).collect::<Vec<_>>().into_iter().rev() {
            side_by_side &= n == 1 || stride == inner as isize;
            inner *= n;
        }
        Lines {
            starts: Starts::new(layout.offset, others),
            step: layout.strides[axis],
            len: layout.shape[axis],
            inner,
            side_by_side,
        }
    }

    /// How many there are: none, where they have no elements.
    pub(super) fn count(&self) -> usize {
        if self.len == 0 { 0 } else { self.starts.count() }
    }

    /// Where a line of the operand begins.
    #[inline(always)]
    pub(super) fn start(&self, line: usize) -> isize {
        self.starts.at(line)
    }

    /// Where a line of the result begins.
    #[inline(always)]
    pub(super) fn place(&self, line: usize) -> usize {
        line / self.inner * self.len * self.inner + line % self.inner
    }

    /// Calls `f` with the stretches of a range of lines that are taken together:
    /// at most `most`, side by side in the result.
    pub(super) fn stretches(
        &self,
        range: std::ops::Range<usize>,
        most: usize,
        mut f: impl FnMut(usize, usize),
    ) {
        let mut at = range.start;
        while at < range.end {
            let count = (range.end - at).min(self.inner - at % self.inner).min(most);
            f(at, count);
            at += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_where_the_layout_has_them() {
        let row = Layout::contiguous(&[2, 3, 4]);
        for layout in [row.clone(), row.transpose(&[2, 0, 1]).unwrap(), row.transpose(&[1, 2, 0]).unwrap()] {
            let places = Layout::contiguous(&layout.shape);
            for axis in 0..3 {
                let lines = Lines::new(&layout, axis);
                assert_eq!(lines.count() * lines.len, 24);
                let mut found = vec![0; 24];
                for line in 0..lines.count() {
                    for k in 0..lines.len {
                        found[lines.place(line) + k * lines.inner] =
                            lines.start(line) + k as isize * lines.step;
                    }
                }
                assert_eq!(found, layout.offsets().collect::<Vec<_>>(), "axis {axis} of {places:?}");
            }
        }
        assert!(Lines::new(&row, 1).side_by_side);
        assert!(!Lines::new(&row.transpose(&[0, 2, 1]).unwrap(), 1).side_by_side);
    }
}
