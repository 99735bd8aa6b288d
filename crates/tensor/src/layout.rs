use smallvec::SmallVec;

use crate::{Shape, TensorError};

/// Where the elements of a strided view lie in a buffer, counted in elements.
///
/// Element `i` lies at `offset + Σ i[k]·strides[k]`. Strides may be negative
/// or 0 (broadcast).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Layout {
    /// Place of the first element.
    pub offset: isize,
    /// Size of each dimension.
    pub shape: Shape,
    /// Distance between neighbours along each dimension.
    pub strides: SmallVec<[isize; 4]>,
}

impl Layout {
    /// Row-contiguous from the start of a buffer.
    pub fn contiguous(shape: &[usize]) -> Self {
        let mut strides = SmallVec::from_elem(0, shape.len());
        let mut step = 1isize;
        for (stride, &size) in strides.iter_mut().zip(shape).rev() {
            *stride = step;
            step = step.saturating_mul(size.max(1) as isize);
        }
        Layout { offset: 0, shape: Shape::new(shape), strides }
    }

    /// Number of elements seen through the view.
    pub fn count(&self) -> usize {
        self.shape.count()
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// Whether the elements follow each other in row order, wherever they
    /// start (dimensions of size 1 may have any stride).
    pub fn is_row_contiguous(&self) -> bool {
        let mut step = 1isize;
        for (&stride, &size) in self.strides.iter().zip(self.shape.iter()).rev() {
            match size {
                0 => return true,
                1 => {}
                _ if stride != step => return false,
                _ => step *= size as isize,
            }
        }
        true
    }

    /// The lowest and highest element addressed; `None` when there are none.
    /// What no address can name is as far away as can be said.
    pub fn span(&self) -> Option<(isize, isize)> {
        let (mut low, mut high) = (self.offset, self.offset);
        for (&stride, &size) in self.strides.iter().zip(self.shape.iter()) {
            if size == 0 {
                return None;
            }
            let steps = isize::try_from(size - 1).unwrap_or(isize::MAX);
            let reach = stride.saturating_mul(steps);
            if reach < 0 { low = low.saturating_add(reach) } else { high = high.saturating_add(reach) }
        }
        Some((low, high))
    }

    /// Refuses a view that leaves a buffer of `available` elements.
    pub fn check_within(&self, available: usize) -> Result<(), TensorError> {
        match self.span() {
            Some((low, _)) if low < 0 => Err(TensorError::OutOfBounds { element: low, available }),
            Some((_, high)) if high as usize >= available => {
                Err(TensorError::OutOfBounds { element: high, available })
            }
            _ => Ok(()),
        }
    }

    /// Axes reordered: result axis `i` is this view's axis `axes[i]`.
    pub fn transpose(&self, axes: &[usize]) -> Result<Layout, TensorError> {
        let rank = self.rank();
        let mut seen: SmallVec<[bool; 8]> = SmallVec::from_elem(false, rank);
        for &axis in axes {
            if axis >= rank || std::mem::replace(&mut seen[axis], true) {
                return Err(TensorError::BadAxis { axis, rank });
            }
        }
        if axes.len() != rank {
            return Err(TensorError::BadAxis { axis: axes.len(), rank });
        }
        Ok(Layout {
            offset: self.offset,
            shape: axes.iter().map(|&a| self.shape[a]).collect(),
            strides: axes.iter().map(|&a| self.strides[a]).collect(),
        })
    }

    /// `len` items of each dimension from `start` by `step`.
    pub fn slice(&self, start: &[usize], step: &[isize], len: &[usize]) -> Result<Layout, TensorError> {
        let rank = self.rank();
        if start.len() != rank || step.len() != rank || len.len() != rank {
            return Err(TensorError::BadAxis { axis: start.len(), rank });
        }
        let mut out = self.clone();
        for axis in 0..rank {
            let (start, step, len, size) = (start[axis], step[axis], len[axis], self.shape[axis]);
            let last = (len.max(1) - 1)
                .try_into()
                .ok()
                .and_then(|n: isize| step.checked_mul(n))
                .and_then(|reach| reach.checked_add_unsigned(start));
            let inside = match last {
                _ if len == 0 => start <= size,
                Some(last) => start < size && last >= 0 && (last as usize) < size,
                None => false,
            };
            if !inside || step == 0 {
                return Err(TensorError::SliceOutOfRange { axis, start, step, len, size });
            }
            if len > 0 {
                out.offset += self.strides[axis] * start as isize;
            }
            // A step past one item is never taken: it may be of any size.
            if len > 1 {
                out.strides[axis] = self.strides[axis].saturating_mul(step);
            }
            out.shape[axis] = len;
        }
        Ok(out)
    }

    /// Presented as the larger shape `to`, aligned at the end, repeating
    /// dimensions of size 1.
    pub fn broadcast(&self, to: &[usize]) -> Result<Layout, TensorError> {
        let mismatch = || TensorError::ShapeMismatch { expected: to.to_vec(), found: self.shape.to_vec() };
        let lead = to.len().checked_sub(self.rank()).ok_or_else(mismatch)?;
        let mut strides = SmallVec::from_elem(0, to.len());
        for axis in 0..self.rank() {
            if self.shape[axis] == to[lead + axis] {
                strides[lead + axis] = self.strides[axis];
            } else if self.shape[axis] != 1 {
                return Err(mismatch());
            }
        }
        Ok(Layout { offset: self.offset, shape: Shape::new(to), strides })
    }

    /// Without the size-1 dimensions at `axes` (sorted, unique).
    pub fn squeeze(&self, axes: &[usize]) -> Result<Layout, TensorError> {
        let mut out = self.clone();
        for &axis in axes.iter().rev() {
            if axis >= out.rank() || out.shape[axis] != 1 {
                return Err(TensorError::BadAxis { axis, rank: self.rank() });
            }
            out.shape.remove(axis);
            out.strides.remove(axis);
        }
        Ok(out)
    }

    /// With size-1 dimensions inserted at the result's `axes` (sorted, unique).
    pub fn expand_dims(&self, axes: &[usize]) -> Result<Layout, TensorError> {
        let mut out = self.clone();
        for &axis in axes {
            if axis > out.rank() {
                return Err(TensorError::BadAxis { axis, rank: self.rank() + axes.len() });
            }
            out.shape.insert(axis, 1);
            out.strides.insert(axis, 0);
        }
        Ok(out)
    }

    /// The same elements in row order as shape `to`, when strides can say it;
    /// `None` when only a copy can.
    pub fn reshape(&self, to: &[usize]) -> Option<Layout> {
        let count: usize = to.iter().product();
        if self.count() != count {
            return None;
        }
        if count == 0 {
            return Some(Layout { offset: self.offset, ..Layout::contiguous(to) });
        }
        // Runs of dimensions that step evenly, outermost first.
        let mut runs: SmallVec<[(usize, isize); 8]> = SmallVec::new();
        for (&size, &stride) in self.shape.iter().zip(&self.strides) {
            if size == 1 {
                continue;
            }
            match runs.last_mut() {
                Some((n, s)) if *s == stride * size as isize => {
                    *n *= size;
                    *s = stride;
                }
                _ => runs.push((size, stride)),
            }
        }
        let mut strides: SmallVec<[isize; 4]> = SmallVec::from_elem(0, to.len());
        let mut run = runs.pop();
        for axis in (0..to.len()).rev() {
            if to[axis] == 1 {
                continue;
            }
            let (left, stride) = run?;
            if left % to[axis] != 0 {
                return None;
            }
            strides[axis] = stride;
            let left = left / to[axis];
            run = if left == 1 { runs.pop() } else { Some((left, stride * to[axis] as isize)) };
        }
        Some(Layout { offset: self.offset, shape: Shape::new(to), strides })
    }

    /// This view of a tensor, applied to where that tensor itself lies:
    /// `self` addresses a row-contiguous tensor of shape `base.shape`, and
    /// `base` says where its elements are. `None` when strides cannot say it.
    pub fn over(&self, base: &Layout) -> Option<Layout> {
        if base.is_row_contiguous() {
            return Some(Layout { offset: self.offset + base.offset, ..self.clone() });
        }
        // Each stride must walk along base's dimensions without carrying.
        let row = Layout::contiguous(&base.shape);
        let place = |mut at: isize| -> Option<SmallVec<[isize; 8]>> {
            let mut index = SmallVec::from_elem(0, row.rank());
            for axis in 0..row.rank() {
                if base.shape[axis] > 1 {
                    index[axis] = at / row.strides[axis];
                    at %= row.strides[axis];
                }
            }
            (at == 0).then_some(index)
        };
        if self.count() == 0 {
            return Some(Layout { offset: base.offset, ..self.clone() });
        }
        let start = place(self.offset)?;
        let mut reach_low: SmallVec<[isize; 8]> = start.clone();
        let mut reach_high = start.clone();
        let mut out = self.clone();
        out.offset = base.offset + start.iter().zip(&base.strides).map(|(i, s)| i * s).sum::<isize>();
        for axis in 0..self.rank() {
            if self.shape[axis] <= 1 || self.strides[axis] == 0 {
                out.strides[axis] = 0;
                continue;
            }
            let step = place(self.strides[axis])?;
            out.strides[axis] = step.iter().zip(&base.strides).map(|(i, s)| i * s).sum();
            for (k, &s) in step.iter().enumerate() {
                let reach = s * (self.shape[axis] as isize - 1);
                if reach < 0 { reach_low[k] += reach } else { reach_high[k] += reach }
            }
        }
        let inside =
            (0..row.rank()).all(|k| reach_low[k] >= 0 && reach_high[k] < base.shape[k].max(1) as isize);
        inside.then_some(out)
    }

    /// The place of every element in row order.
    pub fn offsets(&self) -> Offsets<'_> {
        Offsets {
            layout: self,
            index: SmallVec::from_elem(0, self.rank()),
            at: self.offset,
            left: self.count(),
        }
    }
}

/// Iterator over the places of a layout's elements, in row order.
#[derive(Debug, Clone)]
pub struct Offsets<'a> {
    layout: &'a Layout,
    index: SmallVec<[usize; 8]>,
    at: isize,
    left: usize,
}

impl Iterator for Offsets<'_> {
    type Item = isize;

    fn next(&mut self) -> Option<isize> {
        self.left = self.left.checked_sub(1)?;
        let here = self.at;
        for axis in (0..self.index.len()).rev() {
            self.index[axis] += 1;
            self.at += self.layout.strides[axis];
            if self.index[axis] < self.layout.shape[axis] {
                break;
            }
            self.at -= self.layout.strides[axis] * self.layout.shape[axis] as isize;
            self.index[axis] = 0;
        }
        Some(here)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Offsets<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(l: &Layout) -> Vec<isize> {
        l.offsets().collect()
    }

    #[test]
    fn views_address_the_right_elements() {
        let l = Layout::contiguous(&[2, 3]);
        assert_eq!(places(&l.transpose(&[1, 0]).unwrap()), [0, 3, 1, 4, 2, 5]);
        assert_eq!(places(&l.slice(&[1, 2], &[-1, -2], &[2, 2]).unwrap()), [5, 3, 2, 0]);
        let row = l.slice(&[0, 0], &[1, 1], &[1, 3]).unwrap();
        assert_eq!(places(&row.broadcast(&[2, 2, 3]).unwrap()), [0, 1, 2].repeat(4));
        assert_eq!(places(&Layout::contiguous(&[])), [0]);
        assert!(places(&Layout::contiguous(&[0, 3])).is_empty());
    }

    #[test]
    fn bad_views_are_refused() {
        let l = Layout::contiguous(&[4]);
        assert!(l.slice(&[4], &[1], &[1]).is_err());
        assert!(l.slice(&[0], &[-1], &[2]).is_err());
        assert!(l.slice(&[0], &[0], &[1]).is_err());
        assert!(l.slice(&[1], &[isize::MAX], &[3]).is_err());
        assert!(l.slice(&[4], &[1], &[0]).is_ok());
        assert!(l.transpose(&[1]).is_err());
        assert!(l.broadcast(&[5]).is_err());
        assert!(Layout { offset: -1, ..l.clone() }.check_within(4).is_err());
        assert!(l.check_within(3).is_err());
    }

    #[test]
    fn reshape_is_a_view_exactly_when_strides_allow() {
        let l = Layout::contiguous(&[2, 3, 4]);
        assert!(l.reshape(&[6, 4]).is_some());
        let t = l.transpose(&[0, 2, 1]).unwrap();
        assert!(t.reshape(&[2, 12]).is_none());
        let split = t.reshape(&[2, 2, 2, 1, 3]).unwrap();
        assert_eq!(places(&split), places(&t));
        let b = Layout::contiguous(&[1, 4]).broadcast(&[3, 4]).unwrap();
        assert!(b.reshape(&[12]).is_none());
        assert_eq!(Layout::contiguous(&[0, 3]).reshape(&[3, 0, 7]).unwrap().count(), 0);
    }

    #[test]
    fn rank_sixteen() {
        let sizes = [2; 16];
        let axes: Vec<usize> = (0..16).rev().collect();
        let l = Layout::contiguous(&sizes).transpose(&axes).unwrap();
        assert_eq!(l.offsets().len(), 1 << 16);
        assert_eq!(l.offsets().nth(1), Some(1 << 15));
    }

    #[test]
    fn views_compose_over_strided_bases() {
        let base = Layout::contiguous(&[4, 6]).transpose(&[1, 0]).unwrap();
        let views = [
            Layout::contiguous(&[6, 4]).transpose(&[1, 0]).unwrap(),
            Layout::contiguous(&[6, 4]).slice(&[5, 1], &[-2, 2], &[3, 2]).unwrap(),
            Layout::contiguous(&[6, 2, 2]).transpose(&[1, 0, 2]).unwrap(),
            Layout::contiguous(&[24]),
        ];
        let at: Vec<isize> = base.offsets().collect();
        for v in &views {
            let want: Vec<isize> = v.offsets().map(|i| at[i as usize]).collect();
            match v.over(&base) {
                Some(got) => assert_eq!(places(&got), want, "{v:?}"),
                None => assert_eq!(v.rank(), 1),
            }
        }
    }
}
