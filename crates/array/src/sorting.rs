//! Orders, and what is found by them.

use oneir_ir::{BinaryOp, Place, Primitive, UnaryOp, Value};
use oneir_tensor::{DType, promote};

use crate::axes::{Axes, one_or_all};
use crate::record::{Record, Recorded};
use crate::{Array, Reason};

/// On which side of equal elements [`Array::searchsorted`] finds a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SearchSide {
    /// Before all of them.
    Left,
    /// After all of them.
    Right,
}

/// The value and the axis that is named, or all elements in one dimension.
fn along(at: &Place, x: &Value, axis: impl Axes) -> Result<(Value, usize), Reason> {
    match one_or_all(axis, x.spec().rank())? {
        Some(axis) => Ok((x.clone(), axis)),
        None => Ok((at.line(x)?, 0)),
    }
}

/// Refuses a place that an axis does not have; negative ones count from the end.
fn within(what: &str, k: isize, x: &Value, axis: usize) -> Result<(), Reason> {
    let n = x.spec().shape[axis] as isize;
    if (-n..n).contains(&k) {
        return Ok(());
    }
    Err(Reason::Parameters(format!("{what} {k} is out of range for axis {axis} of shape {}", x.spec().shape)))
}

macro_rules! orders {
    ($($(#[$doc:meta])* $name:ident: $primitive:ident;
       $(#[$partial_doc:meta])* $partial:ident;)*) => {
        impl Array {
            $($(#[$doc])*
            ///
            /// Along an axis, or with `..` of all elements, which gives one dimension.
            #[track_caller]
            #[must_use]
            pub fn $name(&self, axis: impl Axes) -> Array {
                Array::build(stringify!($name), [self], |[x], at| {
                    let (x, axis) = along(&at, x, axis)?;
                    at.op(Primitive::$primitive { axis }, &[&x])
                })
            }

            $(#[$partial_doc])*
            #[track_caller]
            #[must_use]
            pub fn $partial(&self, kth: isize, axis: impl Axes) -> Array {
                Array::build(stringify!($partial), [self], |[x], at| {
                    let (x, axis) = along(&at, x, axis)?;
                    within("kth", kth, &x, axis)?;
                    at.op(Primitive::$primitive { axis }, &[&x])
                })
            })*
        }
    };
}

orders! {
    /// In ascending order, NaN last; complex numbers by their real, then their
    /// imaginary part.
    sort: Sort;
    /// The elements such that the one at `kth` (negative from the end) is where
    /// sorting puts it, with none larger before it and none smaller after it.
    /// Arguments as of [`Array::sort`].
    partition;
    /// The places (u32) from which [`Array::sort`] takes its elements; equal
    /// elements keep their order.
    argsort: ArgSort;
    /// The places (u32) from which [`Array::partition`] takes its elements.
    argpartition;
}

/// Whether `a` stands before `b` in ascending order: NaN after all else.
fn before(at: &Place, a: &Value, b: &Value) -> Recorded {
    let less = at.binary(BinaryOp::Less, a, b)?;
    if !a.spec().dtype.is_inexact() {
        return Ok(less);
    }
    let number = at.unary(UnaryOp::LogicalNot, &at.unary(UnaryOp::IsNan, a)?)?;
    let apart = at.binary(BinaryOp::LogicalAnd, &number, &at.unary(UnaryOp::IsNan, b)?)?;
    at.binary(BinaryOp::LogicalOr, &less, &apart)
}

/// How many elements of a sorted line stand before each value: a binary search,
/// a step of which is one gather for all values.
pub(crate) fn search(at: &Place, sorted: &Value, values: &Value, side: SearchSide) -> Recorded {
    let n = sorted.spec().count();
    if u32::try_from(n).is_err() {
        return Err(Reason::Parameters(format!("places in a line of {n} elements do not fit u32")));
    }
    let dtype = promote(sorted.spec().dtype, values.spec().dtype);
    let (sorted, values) = (at.cast(sorted, dtype)?, at.cast(values, dtype)?);
    let mut found = at.filled(0, DType::U32, &values.spec().shape)?;
    let mut step = n.checked_ilog2().map_or(0, |bits| 1usize << bits);
    while step > 0 {
        // Whether the element at `found + step - 1` exists and stands before.
        let place = at.with(BinaryOp::Add, &found, step - 1)?;
        let there = at.with(BinaryOp::Less, &place, n)?;
        let element = at.rows(&sorted, &at.with(BinaryOp::Minimum, &place, n - 1)?)?;
        let earlier = match side {
            SearchSide::Left => before(at, &element, &values)?,
            SearchSide::Right => at.unary(UnaryOp::LogicalNot, &before(at, &values, &element)?)?,
        };
        let moves = at.binary(BinaryOp::LogicalAnd, &there, &earlier)?;
        let by = at.with(BinaryOp::Multiply, &at.cast(&moves, DType::U32)?, step)?;
        found = at.binary(BinaryOp::Add, &found, &by)?;
        step /= 2;
    }
    Ok(found)
}

/// Refuses an array that is no line.
pub(crate) fn a_line(what: &str, x: &Value) -> Result<(), Reason> {
    if x.spec().rank() == 1 {
        return Ok(());
    }
    Err(Reason::Parameters(format!("{what} must have one dimension, found shape {}", x.spec().shape)))
}

impl Array {
    /// The `k` largest elements along an axis, or with `..` of all, in ascending
    /// order; NaN counts as the largest.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[5i32, 1, 4, 2], &[4]);
    /// assert_eq!(x.topk(2, -1).to_vec::<i32>()?, [4, 5]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn topk(&self, k: usize, axis: impl Axes) -> Array {
        Array::build("topk", [self], |[x], at| {
            let (x, axis) = along(&at, x, axis)?;
            let n = x.spec().shape[axis];
            let Some(start) = n.checked_sub(k) else {
                let reason = format!("k = {k} is more than axis {axis} of shape {} has", x.spec().shape);
                return Err(Reason::Parameters(reason));
            };
            let sorted = at.op(Primitive::Sort { axis }, &[&x])?;
            at.items(&sorted, axis, if k == 0 { 0 } else { start }, 1, k)
        })
    }

    /// Where each of `values` would stand in this array, which has one dimension in
    /// ascending order (u32, in the shape of `values`); NaN stands after all else.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, SearchSide};
    /// let x = Array::from_slice(&[1i32, 2, 2, 4], &[4]);
    /// let values = Array::from_slice(&[0i32, 2, 5], &[3]);
    /// assert_eq!(x.searchsorted(&values, SearchSide::Left).to_vec::<u32>()?, [0, 1, 4]);
    /// assert_eq!(x.searchsorted(&values, SearchSide::Right).to_vec::<u32>()?, [0, 3, 4]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn searchsorted(&self, values: &Array, side: SearchSide) -> Array {
        Array::build("searchsorted", [self, values], |[x, values], at| {
            a_line("the sorted array", x)?;
            search(&at, x, values, side)
        })
    }
}
