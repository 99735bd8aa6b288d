//! What callers write between the brackets.

use std::ops::{Range, RangeFrom, RangeFull, RangeInclusive, RangeTo, RangeToInclusive};

use crate::Array;

/// One item of an index, with NumPy's meaning.
#[derive(Debug, Clone)]
pub enum IndexItem {
    /// One place of a dimension, which is left out of the result; negative ones
    /// count from the end.
    At(isize),
    /// Places from `start` to before `stop` by `step`. Negative bounds count from
    /// the end, and bounds past an end mean that end.
    Span {
        /// The first place; the first in the step's direction where none is given.
        start: Option<isize>,
        /// The place before which to stop; past the last one where none is given.
        stop: Option<isize>,
        /// Places from one to the next, not 0.
        step: isize,
    },
    /// A new dimension of size 1.
    NewAxis,
    /// All dimensions that the other items leave.
    Ellipsis,
    /// Places (an array of integers), or where a boolean array of the same sizes
    /// holds.
    Array(Array),
}

/// A new dimension of size 1, in an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewAxis;

/// All dimensions that an index does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ellipsis;

impl IndexItem {
    /// This span of places, by another step.
    ///
    /// A single place or an array has no step and stays as it is.
    #[must_use]
    pub fn by(self, by: isize) -> IndexItem {
        match self {
            IndexItem::Span { start, stop, .. } => IndexItem::Span { start, stop, step: by },
            other => other,
        }
    }
}

impl From<NewAxis> for IndexItem {
    fn from(_: NewAxis) -> Self {
        IndexItem::NewAxis
    }
}

impl From<Ellipsis> for IndexItem {
    fn from(_: Ellipsis) -> Self {
        IndexItem::Ellipsis
    }
}

impl From<Array> for IndexItem {
    fn from(array: Array) -> Self {
        IndexItem::Array(array)
    }
}

impl From<&Array> for IndexItem {
    fn from(array: &Array) -> Self {
        IndexItem::Array(array.clone())
    }
}

impl From<RangeFull> for IndexItem {
    fn from(_: RangeFull) -> Self {
        IndexItem::Span { start: None, stop: None, step: 1 }
    }
}

macro_rules! numbers {
    ($($t:ty)*) => {
        $(
            impl From<$t> for IndexItem {
                fn from(place: $t) -> Self {
                    IndexItem::At(place as isize)
                }
            }
            impl From<Range<$t>> for IndexItem {
                fn from(span: Range<$t>) -> Self {
                    IndexItem::Span { start: Some(span.start as isize), stop: Some(span.end as isize), step: 1 }
                }
            }
            impl From<RangeInclusive<$t>> for IndexItem {
                fn from(span: RangeInclusive<$t>) -> Self {
                    let (start, last) = (*span.start() as isize, *span.end() as isize);
                    IndexItem::Span { start: Some(start), stop: after(last), step: 1 }
                }
            }
            impl From<RangeFrom<$t>> for IndexItem {
                fn from(span: RangeFrom<$t>) -> Self {
                    IndexItem::Span { start: Some(span.start as isize), stop: None, step: 1 }
                }
            }
            impl From<RangeTo<$t>> for IndexItem {
                fn from(span: RangeTo<$t>) -> Self {
                    IndexItem::Span { start: None, stop: Some(span.end as isize), step: 1 }
                }
            }
            impl From<RangeToInclusive<$t>> for IndexItem {
                fn from(span: RangeToInclusive<$t>) -> Self {
                    IndexItem::Span { start: None, stop: after(span.end as isize), step: 1 }
                }
            }
        )*
    };
}

/// The stop of a span whose last place is `last`: -1 is the end itself.
fn after(last: isize) -> Option<isize> {
    last.checked_add(1).filter(|&stop| stop != 0)
}

numbers!(i32 isize usize);

/// An index: one item, a tuple of items, or a list of [`IndexItem`]s, as
/// [`ix!`](crate::ix) makes it.
pub trait Index {
    /// The items, in order.
    fn items(self) -> Vec<IndexItem>;
}

impl<T: Into<IndexItem>> Index for T {
    fn items(self) -> Vec<IndexItem> {
        vec![self.into()]
    }
}

impl Index for Vec<IndexItem> {
    fn items(self) -> Vec<IndexItem> {
        self
    }
}

impl Index for &[IndexItem] {
    fn items(self) -> Vec<IndexItem> {
        self.to_vec()
    }
}

macro_rules! tuples {
    ($($($name:ident)*;)*) => {
        $(
            impl<$($name: Into<IndexItem>),*> Index for ($($name,)*) {
                #[allow(non_snake_case, reason = "one name for the type and its value")]
                fn items(self) -> Vec<IndexItem> {
                    let ($($name,)*) = self;
                    vec![$($name.into()),*]
                }
            }
        )*
    };
}

tuples! {
    ;
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}

/// An index, written as NumPy writes it: places, ranges with an optional step
/// after `;`, [`NewAxis`], [`Ellipsis`], arrays.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, DType, Ellipsis, NewAxis, ix};
/// let x = Array::arange(24, DType::I32).reshape(&[2, 3, 4]);
/// assert_eq!(x.index(ix![0, 1.., ..;-2]).to_vec::<i32>()?, [7, 5, 11, 9]);
/// assert_eq!(x.index(ix![Ellipsis, 1..-1]).shape(), [2, 3, 2]);
/// assert_eq!(x.index(ix![.., NewAxis, 0]).shape(), [2, 1, 4]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[macro_export]
macro_rules! ix {
    ($($item:expr $(; $step:expr)?),* $(,)?) => {
        {
            // `1..-1` is no empty range here.
            #[allow(clippy::reversed_empty_ranges)]
            let items =
                ::std::vec::Vec::<$crate::IndexItem>::from([$($crate::IndexItem::from($item)$(.by($step))?),*]);
            items
        }
    };
}

/// The first array among the items that failed.
pub(super) fn failed(items: &[IndexItem]) -> Option<Array> {
    items.iter().find_map(|item| match item {
        IndexItem::Array(array) if array.check().is_err() => Some(array.clone()),
        _ => None,
    })
}
