//! How callers name axes.

use std::ops::RangeFull;

use crate::Reason;

mod sealed {
    pub trait Named {
        /// The axes as named, negative ones counted from the end; none for all.
        fn named(&self) -> Option<Vec<isize>>;
    }
}

use sealed::Named;

/// Axes of an array: one number, an array or slice of numbers, or `..` for all.
/// Negative ones count from the end.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, DType};
/// let x = Array::ones(&[2, 3, 4], DType::F32);
/// assert_eq!(x.sum(-1, false).shape(), [2, 3]);
/// assert_eq!(x.sum([0, 2], true).shape(), [1, 3, 1]);
/// assert_eq!(x.sum(.., false).shape(), []);
/// ```
pub trait Axes: Named {}

impl<T: Named> Axes for T {}

impl Named for RangeFull {
    fn named(&self) -> Option<Vec<isize>> {
        None
    }
}

impl<T: Named + ?Sized> Named for &T {
    fn named(&self) -> Option<Vec<isize>> {
        (**self).named()
    }
}

impl<T: Named> Named for Option<T> {
    fn named(&self) -> Option<Vec<isize>> {
        self.as_ref()?.named()
    }
}

macro_rules! numbers {
    ($($t:ty)*) => {
        $(
            impl Named for $t {
                fn named(&self) -> Option<Vec<isize>> {
                    Some(vec![*self as isize])
                }
            }
            impl Named for [$t] {
                fn named(&self) -> Option<Vec<isize>> {
                    Some(self.iter().map(|&axis| axis as isize).collect())
                }
            }
            impl<const N: usize> Named for [$t; N] {
                fn named(&self) -> Option<Vec<isize>> {
                    self[..].named()
                }
            }
            impl Named for Vec<$t> {
                fn named(&self) -> Option<Vec<isize>> {
                    self[..].named()
                }
            }
        )*
    };
}

numbers!(i32 isize);

/// The axes as named; none where all are.
pub(crate) fn named(axes: impl Axes) -> Option<Vec<isize>> {
    axes.named()
}

/// The axes counted from the front, in the order in which they were named.
pub(crate) fn listed(axes: impl Axes, rank: usize) -> Result<Vec<usize>, Reason> {
    match axes.named() {
        Some(axes) => axes.into_iter().map(|axis| axis_of(axis, rank)).collect(),
        None => Ok((0..rank).collect()),
    }
}

/// The axes counted from the front, sorted and unique.
pub(crate) fn axes_of(axes: impl Axes, rank: usize) -> Result<Vec<usize>, Reason> {
    let mut out = listed(axes, rank)?;
    out.sort_unstable();
    match out.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Reason::RepeatedAxis { axis: pair[0] }),
        None => Ok(out),
    }
}

/// The one axis that is named; none where all are, which means the elements in
/// row order.
pub(crate) fn one_or_all(axes: impl Axes, rank: usize) -> Result<Option<usize>, Reason> {
    match axes.named().as_deref() {
        None => Ok(None),
        Some(&[axis]) => axis_of(axis, rank).map(Some),
        Some(more) => Err(Reason::Parameters(format!("one axis or all (`..`) are needed, found {more:?}"))),
    }
}

/// An axis counted from the front.
pub(crate) fn axis_of(axis: isize, rank: usize) -> Result<usize, Reason> {
    let found = if axis < 0 { axis + rank as isize } else { axis };
    usize::try_from(found).ok().filter(|&a| a < rank).ok_or(Reason::Axis { axis, rank })
}
