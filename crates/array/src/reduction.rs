//! Reductions over axes.

use oneir_ir::{BinaryOp, Place, Primitive, ReduceOp, UnaryOp, Value};
use oneir_tensor::{Class, DType};

use crate::axes::{Axes, axes_of};
use crate::elementwise::finite;
use crate::record::{Record, Recorded, inexact};
use crate::{Array, Reason};

/// The elements as they are reduced: sums and products of integers below 32 bits
/// are taken in 32.
pub(crate) fn counted(at: &Place, op: ReduceOp, x: &Value) -> Recorded {
    let dtype = x.spec().dtype;
    let wide = match dtype.class() {
        _ if dtype.bits() >= 32 || !matches!(op, ReduceOp::Sum | ReduceOp::Prod) => dtype,
        Class::Unsigned => DType::U32,
        Class::Signed => DType::I32,
        _ => dtype,
    };
    at.cast(x, wide)
}

/// How many elements fall into one along `axes`.
fn fold(x: &Value, axes: &[usize]) -> usize {
    axes.iter().map(|&axis| x.spec().shape[axis]).product()
}

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident: $op:ident;)*) => {
        impl Array {
            $($(#[$doc])*
            ///
            /// Axes may be negative, counted from the end, or `..` for all;
            /// `keepdims` keeps them with size 1.
            #[track_caller]
            #[must_use]
            pub fn $name(&self, axes: impl Axes, keepdims: bool) -> Array {
                Array::build(stringify!($name), [self], |[x], at| {
                    let axes = axes_of(axes, x.spec().rank())?;
                    at.reduce(ReduceOp::$op, &counted(&at, ReduceOp::$op, x)?, &axes, keepdims)
                })
            })*
        }
    };
}

reductions! {
    /// Sum over axes, 0 of nothing; bool and integers below 32 bits count in 32,
    /// halves accumulate in f32.
    sum: Sum;
    /// Product over axes, 1 of nothing; dtypes as of [`Array::sum`].
    prod: Prod;
    /// Largest over axes, at least one element each; NaN wins.
    max: Max;
    /// Smallest over axes, at least one element each; NaN wins.
    min: Min;
    /// Whether all along the axes are true.
    all: All;
    /// Whether any along the axes is true.
    any: Any;
}

/// The mean over axes, in the value's own dtype.
fn mean(at: &Place, x: &Value, axes: &[usize], keepdims: bool) -> Recorded {
    let sum = at.reduce(ReduceOp::Sum, x, axes, keepdims)?;
    at.binary(BinaryOp::Divide, &sum, &at.count(x, axes, 0)?)
}

/// The variance over axes: real, and of halves still in f32.
fn variance(at: &Place, x: &Value, axes: &[usize], keepdims: bool, ddof: isize) -> Recorded {
    let x = at.cast(x, inexact(x.spec().dtype).accumulator())?;
    let apart = at.binary(BinaryOp::Subtract, &x, &mean(at, &x, axes, true)?)?;
    let squares = match x.spec().dtype.is_complex() {
        true => {
            let (re, im) = (at.unary(UnaryOp::Real, &apart)?, at.unary(UnaryOp::Imag, &apart)?);
            at.binary(BinaryOp::Add, &at.unary(UnaryOp::Square, &re)?, &at.unary(UnaryOp::Square, &im)?)?
        }
        false => at.unary(UnaryOp::Square, &apart)?,
    };
    let sum = at.reduce(ReduceOp::Sum, &squares, axes, keepdims)?;
    let divisor = at.cast(&at.count(&x, axes, ddof)?, sum.spec().dtype)?;
    at.binary(BinaryOp::Divide, &sum, &divisor)
}

/// The dtype of variances of `dtype`.
fn spread(dtype: DType) -> DType {
    if dtype.is_float() { dtype } else { DType::F32 }
}

impl Array {
    /// Mean over axes, NaN of nothing; integers convert to f32, halves accumulate
    /// in f32.
    #[track_caller]
    #[must_use]
    pub fn mean(&self, axes: impl Axes, keepdims: bool) -> Array {
        Array::build("mean", [self], |[x], at| {
            let axes = axes_of(axes, x.spec().rank())?;
            at.wide(&at.inexact(x)?, |x| mean(&at, x, &axes, keepdims))
        })
    }

    /// Mean square distance from the mean over axes, with `n - ddof` as divisor of
    /// the sum of `n` squares. Integers convert to f32, halves compute in f32, and
    /// complex numbers give f32.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[1f32, 2.0, 3.0, 4.0], &[4]);
    /// assert_eq!(x.var(.., false, 0).item::<f32>()?, 1.25);
    /// assert_eq!(x.var(.., false, 1).item::<f32>()?, 5.0 / 3.0);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn var(&self, axes: impl Axes, keepdims: bool, ddof: isize) -> Array {
        Array::build("var", [self], |[x], at| {
            let axes = axes_of(axes, x.spec().rank())?;
            at.cast(&variance(&at, x, &axes, keepdims, ddof)?, spread(x.spec().dtype))
        })
    }

    /// The square root of [`Array::var`].
    #[track_caller]
    #[must_use]
    pub fn std(&self, axes: impl Axes, keepdims: bool, ddof: isize) -> Array {
        Array::build("std", [self], |[x], at| {
            let axes = axes_of(axes, x.spec().rank())?;
            let root = at.unary(UnaryOp::Sqrt, &variance(&at, x, &axes, keepdims, ddof)?)?;
            at.cast(&root, spread(x.spec().dtype))
        })
    }

    /// The logarithm of the sum of e^x over axes, without overflow on the way; -∞
    /// of nothing. Integers convert to f32, halves compute in f32.
    #[track_caller]
    #[must_use]
    pub fn logsumexp(&self, axes: impl Axes, keepdims: bool) -> Array {
        Array::build("logsumexp", [self], |[x], at| {
            let axes = axes_of(axes, x.spec().rank())?;
            at.wide(&at.inexact(x)?, |x| {
                if fold(x, &axes) == 0 {
                    let nothing = at.reduce(ReduceOp::Sum, x, &axes, keepdims)?;
                    return at.unary(UnaryOp::Log, &nothing);
                }
                let top = at.reduce(ReduceOp::Max, &at.unary(UnaryOp::Real, x)?, &axes, true)?;
                // An infinity would make NaN of its difference with itself.
                let top = at.select(&finite(&at, &top)?, &top, &at.number(0, top.spec().dtype)?)?;
                let parts = at.unary(UnaryOp::Exp, &at.binary(BinaryOp::Subtract, x, &top)?)?;
                let sum = at.unary(UnaryOp::Log, &at.reduce(ReduceOp::Sum, &parts, &axes, true)?)?;
                let sum = at.binary(BinaryOp::Add, &sum, &top)?;
                if keepdims { Ok(sum) } else { at.squeeze(&sum, &axes) }
            })
        })
    }

    /// How many elements over axes are not zero (i32).
    #[track_caller]
    #[must_use]
    pub fn count_nonzero(&self, axes: impl Axes, keepdims: bool) -> Array {
        Array::build("count_nonzero", [self], |[x], at| {
            let axes = axes_of(axes, x.spec().rank())?;
            at.reduce(ReduceOp::Sum, &at.cast(x, DType::Bool)?, &axes, keepdims)
        })
    }

    /// The smallest and the largest over axes.
    #[track_caller]
    #[must_use]
    pub fn minmax(&self, axes: impl Axes, keepdims: bool) -> (Array, Array) {
        (self.extreme(ReduceOp::Min, &axes, keepdims), self.extreme(ReduceOp::Max, &axes, keepdims))
    }

    #[track_caller]
    fn extreme(&self, op: ReduceOp, axes: impl Axes, keepdims: bool) -> Array {
        Array::build("minmax", [self], |[x], at| at.reduce(op, x, &axes_of(axes, x.spec().rank())?, keepdims))
    }

    /// The middle element over axes in ascending order, or the mean of the two
    /// middle ones; NaN where there is a NaN or nothing. Integers convert to f32.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[5f32, 1.0, 2.0, 8.0], &[4]);
    /// assert_eq!(x.median(.., false).item::<f32>()?, 3.5);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn median(&self, axes: impl Axes, keepdims: bool) -> Array {
        Array::build("median", [self], |[x], at| {
            let axes = axes_of(axes, x.spec().rank())?;
            let sorted = Sorted::new(&at, x, &axes)?;
            let n = sorted.size;
            let out = match n {
                0 => at.filled(f64::NAN, inexact(x.spec().dtype), &sorted.rest)?,
                _ => {
                    let item = |k: usize| {
                        at.squeeze(&at.items(&sorted.lines, 0, k, 1, 1)?, &[0]).and_then(|v| at.inexact(&v))
                    };
                    let (low, high, last) = (item((n - 1) / 2)?, item(n / 2)?, item(n - 1)?);
                    let middle = match n % 2 {
                        0 => at.wide(&low, |low| {
                            let half = at.with(BinaryOp::Multiply, low, 0.5)?;
                            let other = at.cast(&high, half.spec().dtype)?;
                            at.binary(BinaryOp::Add, &half, &at.with(BinaryOp::Multiply, &other, 0.5)?)
                        })?,
                        _ => low,
                    };
                    // Sorting puts NaN last.
                    at.select(&at.unary(UnaryOp::IsNan, &last)?, &last, &middle)?
                }
            };
            sorted.shaped(&at, &out, keepdims)
        })
    }
}

/// Lines of elements over some axes, in ascending order along a first axis.
pub(crate) struct Sorted {
    /// `[size, rest…]`.
    pub(crate) lines: Value,
    /// How many elements each line has.
    pub(crate) size: usize,
    /// The other axes' sizes.
    pub(crate) rest: Vec<usize>,
    kept: Vec<usize>,
}

impl Sorted {
    pub(crate) fn new(at: &Place, x: &Value, axes: &[usize]) -> Result<Sorted, Reason> {
        let shape = &x.spec().shape;
        let others = || (0..shape.rank()).filter(|axis| !axes.contains(axis));
        let order: Vec<usize> = axes.iter().copied().chain(others()).collect();
        let rest: Vec<usize> = others().map(|axis| shape[axis]).collect();
        let size = fold(x, axes);
        let full: Vec<usize> = std::iter::once(size).chain(rest.iter().copied()).collect();
        let lines = at.reshape(&at.transpose(x, &order)?, &full)?;
        let lines = at.op(Primitive::Sort { axis: 0 }, &[&lines])?;
        let kept = (0..shape.rank()).map(|axis| if axes.contains(&axis) { 1 } else { shape[axis] }).collect();
        Ok(Sorted { lines, size, rest, kept })
    }

    /// A result of the other axes, with the reduced ones where they are kept.
    /// Axes before them stay in front.
    pub(crate) fn shaped(&self, at: &Place, out: &Value, keepdims: bool) -> Recorded {
        if !keepdims {
            return Ok(out.clone());
        }
        let before = out.spec().rank() - self.rest.len();
        let full: Vec<usize> = out.spec().shape[..before].iter().chain(&self.kept).copied().collect();
        at.reshape(out, &full)
    }
}
