use std::fmt;
use std::ops::{Deref, DerefMut};

use smallvec::SmallVec;

use crate::{DType, TensorError};

/// The size of each dimension. Rank 0 is a scalar; sizes may be 0.
#[derive(Clone, PartialEq, Eq, Hash, Default, PartialOrd, Ord)]
pub struct Shape(SmallVec<[usize; 4]>);

impl Shape {
    /// The shape with these sizes.
    pub fn new(sizes: &[usize]) -> Self {
        Shape(SmallVec::from_slice(sizes))
    }

    /// The shape of a single value.
    pub fn scalar() -> Self {
        Shape::default()
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Number of elements, wherever the shape was checked before.
    pub fn count(&self) -> usize {
        self.0.iter().product()
    }

    /// Number of elements, or an error when they and their bytes pass 2^63.
    ///
    /// A size of 0 makes the count 0 whatever the other sizes, as long as
    /// the product of the others still fits (strides are computed from it).
    pub fn checked_count(&self, dtype: DType) -> Result<usize, TensorError> {
        let too_large = || TensorError::TooLarge { shape: self.to_vec(), dtype };
        let extent = self.0.iter().try_fold(1usize, |n, &d| n.checked_mul(d.max(1))).ok_or_else(too_large)?;
        dtype.bytes_for(extent).ok_or_else(too_large)?;
        Ok(self.count())
    }

    /// The product of all sizes but the last: how many rows a table of this
    /// shape has.
    pub fn rows(&self) -> usize {
        self.0[..self.rank().saturating_sub(1)].iter().product()
    }

    /// The last size: how many values a row has (1 for a scalar).
    pub fn cols(&self) -> usize {
        self.0.last().copied().unwrap_or(1)
    }

    /// This shape with `axis` set to `size`.
    pub fn with(&self, axis: usize, size: usize) -> Shape {
        let mut shape = self.clone();
        shape[axis] = size;
        shape
    }

    /// Appends a dimension.
    pub fn push(&mut self, size: usize) {
        self.0.push(size);
    }

    /// Removes the dimension at `axis` and returns its size.
    pub fn remove(&mut self, axis: usize) -> usize {
        self.0.remove(axis)
    }

    /// Inserts a dimension at `axis`.
    pub fn insert(&mut self, axis: usize, size: usize) {
        self.0.insert(axis, size);
    }
}

/// The shape that operands of shapes `a` and `b` broadcast to: aligned at the
/// end, a size of 1 takes the place of any other, 0 included.
///
/// ```
/// use oneir_tensor::broadcast_shapes;
/// assert_eq!(broadcast_shapes(&[3, 1], &[4])?.to_vec(), [3, 4]);
/// assert_eq!(broadcast_shapes(&[0], &[1])?.to_vec(), [0]);
/// assert!(broadcast_shapes(&[0], &[2]).is_err());
/// # Ok::<(), oneir_tensor::TensorError>(())
/// ```
pub fn broadcast_shapes(a: &[usize], b: &[usize]) -> Result<Shape, TensorError> {
    let rank = a.len().max(b.len());
    let mut shape = Shape::default();
    for i in 0..rank {
        let at = |s: &[usize]| (i + s.len()).checked_sub(rank).map_or(1, |j| s[j]);
        let size = match (at(a), at(b)) {
            (x, y) if x == y => x,
            (1, y) => y,
            (x, 1) => x,
            _ => return Err(TensorError::NoBroadcast { left: a.to_vec(), right: b.to_vec() }),
        };
        shape.push(size);
    }
    Ok(shape)
}

impl AsRef<[usize]> for Shape {
    fn as_ref(&self) -> &[usize] {
        &self.0
    }
}

impl Deref for Shape {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl DerefMut for Shape {
    fn deref_mut(&mut self) -> &mut [usize] {
        &mut self.0
    }
}

impl From<&[usize]> for Shape {
    fn from(sizes: &[usize]) -> Self {
        Shape::new(sizes)
    }
}

impl<const N: usize> From<[usize; N]> for Shape {
    fn from(sizes: [usize; N]) -> Self {
        Shape::new(&sizes)
    }
}

impl From<Vec<usize>> for Shape {
    fn from(sizes: Vec<usize>) -> Self {
        Shape(SmallVec::from_vec(sizes))
    }
}

impl FromIterator<usize> for Shape {
    fn from_iter<I: IntoIterator<Item = usize>>(iter: I) -> Self {
        Shape(iter.into_iter().collect())
    }
}

impl PartialEq<[usize]> for Shape {
    fn eq(&self, other: &[usize]) -> bool {
        self.0[..] == *other
    }
}

impl<const N: usize> PartialEq<[usize; N]> for Shape {
    fn eq(&self, other: &[usize; N]) -> bool {
        self.0[..] == other[..]
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_checked() {
        let max = usize::MAX / 2;
        assert!(Shape::from([max, 3]).checked_count(DType::U8).is_err());
        assert!(Shape::from([max, 0, 3]).checked_count(DType::U8).is_err());
        assert!(Shape::from([max]).checked_count(DType::F64).is_err());
        assert_eq!(Shape::from([1 << 33, 2]).checked_count(DType::U8), Ok(1 << 34));
        assert_eq!(Shape::scalar().checked_count(DType::F32), Ok(1));
        assert_eq!(Shape::from([0, 5]).checked_count(DType::F32), Ok(0));
    }

    #[test]
    fn rows_and_cols() {
        assert_eq!((Shape::from([2, 3, 4]).rows(), Shape::from([2, 3, 4]).cols()), (6, 4));
        assert_eq!((Shape::scalar().rows(), Shape::scalar().cols()), (1, 1));
    }
}
