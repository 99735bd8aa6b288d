//! Element-wise operations that are made of several functions.

use std::ops::RangeFull;

use oneir_ir::{BinaryOp, Place, ReduceOp, UnaryOp, Value};
use oneir_tensor::{Complex32, DType, HostTensor};

use crate::arithmetic::{as_it_is, binary};
use crate::operand::{Number, Operand, Side};
use crate::record::{Record, Recorded, inexact};
use crate::{Array, Reason};

mod sealed {
    pub trait Bound {
        fn bound(&self) -> Option<super::Side<'_>>;
    }
}

/// One end of [`Array::clip`]: an array, a number, or `..` for none.
pub trait Limit: sealed::Bound {}

impl<T: sealed::Bound> Limit for T {}

impl<T: Operand> sealed::Bound for T {
    fn bound(&self) -> Option<Side<'_>> {
        Some(self.side())
    }
}

impl<T: Operand> sealed::Bound for Option<T> {
    fn bound(&self) -> Option<Side<'_>> {
        self.as_ref().map(|given| given.side())
    }
}

impl sealed::Bound for RangeFull {
    fn bound(&self) -> Option<Side<'_>> {
        None
    }
}

/// Where a value is neither NaN nor infinite.
pub(crate) fn finite(at: &Place, x: &Value) -> Recorded {
    let neither =
        at.binary(BinaryOp::LogicalOr, &at.unary(UnaryOp::IsNan, x)?, &at.unary(UnaryOp::IsInf, x)?)?;
    at.unary(UnaryOp::LogicalNot, &neither)
}

/// A factor times each element, halves in f32.
fn scaled(at: &Place, x: &Value, factor: f64) -> Recorded {
    at.wide(&at.inexact(x)?, |x| at.with(BinaryOp::Multiply, x, factor))
}

/// The largest number that a float dtype has.
fn largest(dtype: DType) -> f64 {
    dtype.finfo().map_or(f64::MAX, |info| info.max)
}

/// Integers to the nearest multiple of 10^digits, ties to the even multiple;
/// a multiple that the dtype does not hold wraps.
fn rounded_integers(at: &Place, x: &Value, digits: u32) -> Recorded {
    let dtype = x.spec().dtype;
    let unit = 10i128.checked_pow(digits).map(Number::Int);
    let Some(unit) = unit.filter(|&unit| at.number(unit, dtype).is_ok()) else {
        return at.filled(0, dtype, &x.spec().shape);
    };
    let quotient = at.with(BinaryOp::FloorDivide, x, unit)?;
    let over = at.binary(BinaryOp::Subtract, x, &at.with(BinaryOp::Multiply, &quotient, unit)?)?;
    let under = at.with(BinaryOp::Subtract, &over, unit)?;
    let (over, under) = match dtype.is_signed() {
        true => (over, at.unary(UnaryOp::Neg, &under)?),
        false => (over.clone(), at.binary(BinaryOp::Subtract, &at.filled(unit, dtype, &[])?, &over)?),
    };
    let odd = at.with(BinaryOp::NotEqual, &at.with(BinaryOp::Remainder, &quotient, 2)?, 0)?;
    let tie_up = at.binary(BinaryOp::LogicalAnd, &odd, &at.binary(BinaryOp::Equal, &over, &under)?)?;
    let up = at.binary(BinaryOp::LogicalOr, &tie_up, &at.binary(BinaryOp::Greater, &over, &under)?)?;
    let quotient = at.binary(BinaryOp::Add, &quotient, &at.cast(&up, dtype)?)?;
    at.with(BinaryOp::Multiply, &quotient, unit)
}

impl Array {
    /// The array itself.
    #[track_caller]
    #[must_use]
    pub fn positive(&self) -> Array {
        self.clone()
    }

    /// Radians as degrees; integers convert to f32.
    #[track_caller]
    #[must_use]
    pub fn degrees(&self) -> Array {
        Array::build("degrees", [self], |[x], at| scaled(&at, x, 180.0 / std::f64::consts::PI))
    }

    /// Degrees as radians; integers convert to f32.
    #[track_caller]
    #[must_use]
    pub fn radians(&self) -> Array {
        Array::build("radians", [self], |[x], at| scaled(&at, x, std::f64::consts::PI / 180.0))
    }

    /// Whether each element is neither NaN nor an infinity.
    #[track_caller]
    #[must_use]
    pub fn isfinite(&self) -> Array {
        Array::build("isfinite", [self], |[x], at| finite(&at, x))
    }

    /// Whether each element is the infinity above all numbers.
    #[track_caller]
    #[must_use]
    pub fn isposinf(&self) -> Array {
        self.is_number("isposinf", f64::INFINITY)
    }

    /// Whether each element is the infinity below all numbers.
    #[track_caller]
    #[must_use]
    pub fn isneginf(&self) -> Array {
        self.is_number("isneginf", f64::NEG_INFINITY)
    }

    #[track_caller]
    fn is_number(&self, op: &'static str, number: f64) -> Array {
        Array::build(op, [self], |[x], at| {
            if !x.spec().dtype.is_inexact() {
                return at.filled(false, DType::Bool, &x.spec().shape);
            }
            at.with(BinaryOp::Equal, x, number)
        })
    }

    /// `nan` in the place of NaN, and numbers in the place of infinities: where
    /// none is given, the largest and the smallest that the dtype has. Of complex
    /// numbers, each part by itself. Integers stay.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[f32::NAN, f32::INFINITY, 1.0], &[3]);
    /// assert_eq!(x.nan_to_num(0.0, 9.0, None).to_vec::<f32>()?, [0.0, 9.0, 1.0]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn nan_to_num(
        &self,
        nan: f64,
        posinf: impl Into<Option<f64>>,
        neginf: impl Into<Option<f64>>,
    ) -> Array {
        Array::build("nan_to_num", [self], |[x], at| {
            let dtype = x.spec().dtype;
            let (above, below) = (posinf.into(), neginf.into());
            let part = |x: &Value| {
                let dtype = x.spec().dtype;
                let (above, below) =
                    (above.unwrap_or_else(|| largest(dtype)), below.unwrap_or_else(|| -largest(dtype)));
                let mut out = x.clone();
                for (where_, number) in [
                    (at.unary(UnaryOp::IsNan, x)?, nan),
                    (at.with(BinaryOp::Equal, x, f64::INFINITY)?, above),
                    (at.with(BinaryOp::Equal, x, f64::NEG_INFINITY)?, below),
                ] {
                    out = at.select(&where_, &at.number(number, dtype)?, &out)?;
                }
                Ok(out)
            };
            match dtype {
                _ if dtype.is_complex() => {
                    let (re, im) = (at.unary(UnaryOp::Real, x)?, at.unary(UnaryOp::Imag, x)?);
                    let turned = at.with(BinaryOp::Multiply, &part(&im)?, Complex32::new(0.0, 1.0))?;
                    at.binary(BinaryOp::Add, &part(&re)?, &turned)
                }
                _ if dtype.is_float() => part(x),
                _ => Ok(x.clone()),
            }
        })
    }

    /// To the nearest number with so many decimals, ties to even; negative counts
    /// are of the digits before the point.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[0.125f32, 2.5], &[2]);
    /// assert_eq!(x.round(0).to_vec::<f32>()?, [0.0, 2.0]);
    /// assert_eq!(x.round(2).to_vec::<f32>()?, [0.12, 2.5]);
    /// assert_eq!(Array::from_slice(&[15, 25], &[2]).round(-1).to_vec::<i32>()?, [20, 20]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn round(&self, decimals: i32) -> Array {
        Array::build("round", [self], |[x], at| {
            let dtype = x.spec().dtype;
            if !dtype.is_inexact() {
                return match dtype {
                    _ if decimals >= 0 => at.unary(UnaryOp::Round, x),
                    DType::Bool => at.filled(false, dtype, &x.spec().shape),
                    _ => rounded_integers(&at, x, decimals.unsigned_abs()),
                };
            }
            if decimals == 0 {
                return at.unary(UnaryOp::Round, x);
            }
            at.wide(x, |x| {
                let (into, back) = match decimals > 0 {
                    true => (BinaryOp::Multiply, BinaryOp::Divide),
                    false => (BinaryOp::Divide, BinaryOp::Multiply),
                };
                let unit = 10f64.powi(decimals.unsigned_abs().min(400) as i32);
                let held = at.number(unit.min(largest(x.spec().dtype)), x.spec().dtype)?;
                let moved = at.binary(into, x, &held)?;
                let rounded = at.binary(back, &at.unary(UnaryOp::Round, &moved)?, &held)?;
                // Too large to have decimals, or no number.
                at.select(&finite(&at, &moved)?, &rounded, x)
            })
        })
    }

    /// Each element, but none below `min` or above `max`; all broadcast, and `..`
    /// stands for no limit. NaN stays.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[-1f32, 0.5, 7.0], &[3]);
    /// assert_eq!(x.clip(0, 1).to_vec::<f32>()?, [0.0, 0.5, 1.0]);
    /// assert_eq!(x.clip(.., 1).to_vec::<f32>()?, [-1.0, 0.5, 1.0]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn clip(&self, min: impl Limit, max: impl Limit) -> Array {
        let mut out = self.clone();
        for (bound, f) in [(min.bound(), BinaryOp::Maximum), (max.bound(), BinaryOp::Minimum)] {
            if let Some(side) = bound {
                out = binary("clip", f, Side::Array(&out), side, as_it_is);
            }
        }
        out
    }

    /// The quotients of [`Array::floor_divide`] and what they leave.
    #[track_caller]
    #[must_use]
    pub fn divmod(&self, other: impl Operand) -> (Array, Array) {
        let x = Side::Array(self);
        (
            binary("divmod", BinaryOp::FloorDivide, x, other.side(), as_it_is),
            binary("divmod", BinaryOp::Remainder, x, other.side(), as_it_is),
        )
    }

    /// Whether elements are so close: `|a - b| <= atol + rtol · |b|`. Infinities
    /// are close to themselves only, and NaN to NaN where `equal_nan`.
    #[track_caller]
    #[must_use]
    pub fn isclose(&self, other: impl Operand, rtol: f64, atol: f64, equal_nan: bool) -> Array {
        let other = other.side().beside("isclose", self.dtype());
        Array::build("isclose", [self, &other], |[a, b], at| close(&at, a, b, [rtol, atol], equal_nan))
    }

    /// Whether all elements are close, as [`Array::isclose`] says: one truth value.
    #[track_caller]
    #[must_use]
    pub fn allclose(&self, other: impl Operand, rtol: f64, atol: f64, equal_nan: bool) -> Array {
        let other = other.side().beside("allclose", self.dtype());
        Array::build("allclose", [self, &other], |[a, b], at| {
            all(&at, &close(&at, a, b, [rtol, atol], equal_nan)?)
        })
    }

    /// Whether shapes and all elements are equal: one truth value. Elements are
    /// compared at the dtype that both promote to.
    #[track_caller]
    #[must_use]
    pub fn array_equal(&self, other: impl Operand, equal_nan: bool) -> Array {
        let other = other.side().beside("array_equal", self.dtype());
        Array::build("array_equal", [self, &other], |[a, b], at| {
            if a.spec().shape != b.spec().shape {
                return Ok(Value::constant(HostTensor::scalar(false)));
            }
            let equal = at.binary(BinaryOp::Equal, a, b)?;
            all(&at, &if equal_nan { or_both_nan(&at, equal, a, b)? } else { equal })
        })
    }
}

fn all(at: &Place, x: &Value) -> Recorded {
    let axes: Vec<usize> = (0..x.spec().rank()).collect();
    at.reduce(ReduceOp::All, x, &axes, false)
}

fn or_both_nan(at: &Place, equal: Value, a: &Value, b: &Value) -> Recorded {
    let both =
        at.binary(BinaryOp::LogicalAnd, &at.unary(UnaryOp::IsNan, a)?, &at.unary(UnaryOp::IsNan, b)?)?;
    at.binary(BinaryOp::LogicalOr, &equal, &both)
}

fn close(at: &Place, a: &Value, b: &Value, [rtol, atol]: [f64; 2], equal_nan: bool) -> Recorded {
    if !(rtol >= 0.0 && atol >= 0.0) {
        return Err(Reason::Parameters(format!(
            "tolerances of 0 or more are needed, found {rtol} and {atol}"
        )));
    }
    let dtype = inexact(oneir_tensor::promote(a.spec().dtype, b.spec().dtype)).accumulator();
    let (a, b) = (at.cast(a, dtype)?, at.cast(b, dtype)?);
    let apart = at.unary(UnaryOp::Abs, &at.binary(BinaryOp::Subtract, &a, &b)?)?;
    let share = at.with(BinaryOp::Multiply, &at.unary(UnaryOp::Abs, &b)?, Number::Float(rtol))?;
    let within = at.binary(BinaryOp::LessEqual, &apart, &at.with(BinaryOp::Add, &share, atol)?)?;
    let within = at.binary(BinaryOp::LogicalAnd, &within, &finite(at, &b)?)?;
    let out = at.binary(BinaryOp::LogicalOr, &within, &at.binary(BinaryOp::Equal, &a, &b)?)?;
    if equal_nan { or_both_nan(at, out, &a, &b) } else { Ok(out) }
}
