//! What stands beside an array: another array, or a number without a dtype of
//! its own.

use oneir_ir::Value;
use oneir_tensor::{Complex32, DType, HostTensor, Values, bf16, f16};

use crate::{Array, Reason};

/// A number that takes the dtype of the array beside it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A truth value.
    Bool(bool),
    /// An integer: beside bool it makes i32; beside other integers it must fit.
    Int(i128),
    /// A float: beside integers and bool it makes f32.
    Float(f64),
    /// A complex number: beside any real dtype it makes complex64.
    Complex(Complex32),
}

impl Number {
    /// The dtype of an operation on this number and an array of `dtype`.
    pub fn dtype_beside(self, dtype: DType) -> DType {
        match self {
            Number::Bool(_) => dtype,
            Number::Int(_) if dtype == DType::Bool => DType::I32,
            Number::Int(_) => dtype,
            Number::Float(_) if dtype.is_inexact() => dtype,
            Number::Float(_) => DType::F32,
            Number::Complex(_) => DType::Complex64,
        }
    }

    /// The dtype of the number alone: of integers that i32 does not hold, i64 or u64.
    pub fn dtype(self) -> DType {
        match self {
            Number::Int(n) if i32::try_from(n).is_ok() => DType::I32,
            Number::Int(n) if i64::try_from(n).is_ok() => DType::I64,
            Number::Int(_) => DType::U64,
            other => other.dtype_beside(DType::Bool),
        }
    }

    /// The number converted to `dtype`, whatever it loses there; with none, in its
    /// own.
    ///
    /// # Errors
    /// Of integers that no dtype holds.
    pub(crate) fn held(self, dtype: Option<DType>) -> Result<HostTensor, Reason> {
        let dtype = dtype.unwrap_or_else(|| self.dtype());
        let wide = match self {
            // Converting to integers keeps the low bits.
            Number::Int(n) => match (i64::try_from(n), u64::try_from(n)) {
                (Ok(n), _) => Values::Signed(vec![n]),
                (_, Ok(n)) => Values::Unsigned(vec![n]),
                _ if dtype.is_inexact() => Values::Float(vec![n as f64]),
                _ => return Err(self.misfit(dtype)),
            },
            Number::Bool(b) => Values::Bool(vec![b]),
            Number::Float(x) => Values::Float(vec![x]),
            Number::Complex(z) => HostTensor::scalar(z).values()?,
        };
        Ok(HostTensor::from_values(dtype, &[], &wide.convert(dtype))?)
    }

    fn misfit(self, dtype: DType) -> Reason {
        Reason::Literal { value: self.to_string(), dtype }
    }

    /// The number in `dtype`, without dimensions.
    ///
    /// # Errors
    /// When `dtype` has integers and this is none of them.
    pub(crate) fn constant(self, dtype: DType) -> Result<Value, Reason> {
        let misfit = || self.misfit(dtype);
        let values = match self {
            Number::Bool(b) => Values::Bool(vec![b]),
            Number::Int(n) => match (i64::try_from(n), u64::try_from(n)) {
                (Ok(n), _) => Values::Signed(vec![n]),
                (_, Ok(n)) => Values::Unsigned(vec![n]),
                _ if dtype.is_inexact() => Values::Float(vec![n as f64]),
                _ => return Err(misfit()),
            },
            Number::Float(x) => Values::Float(vec![x]),
            Number::Complex(z) => HostTensor::scalar(z).values()?,
        };
        let held = values.convert(dtype);
        let kept = match (self, &held) {
            (Number::Int(n), Values::Signed(held)) => i128::from(held[0]) == n,
            (Number::Int(n), Values::Unsigned(held)) => i128::from(held[0]) == n,
            (Number::Float(x), Values::Signed(held)) => held[0] as f64 == x,
            (Number::Float(x), Values::Unsigned(held)) => held[0] as f64 == x,
            _ => true,
        };
        if kept { Ok(Value::constant(HostTensor::from_values(dtype, &[], &held)?)) } else { Err(misfit()) }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Bool(b) => b.fmt(f),
            Number::Int(n) => n.fmt(f),
            Number::Float(x) => x.fmt(f),
            Number::Complex(z) => z.fmt(f),
        }
    }
}

/// One side of an operation.
#[derive(Clone, Copy)]
pub enum Side<'a> {
    Array(&'a Array),
    Number(Number),
}

impl Side<'_> {
    /// This side in `dtype`.
    #[track_caller]
    pub(crate) fn of(self, op: &'static str, dtype: DType) -> Array {
        match self {
            Side::Array(array) => array.astype(dtype),
            Side::Number(number) => match number.constant(dtype) {
                Ok(value) => Array::from_value(value),
                Err(reason) => Array::failed(op, reason),
            },
        }
    }

    /// This side as it stands beside an array of `dtype`.
    #[track_caller]
    pub(crate) fn beside(self, op: &'static str, dtype: DType) -> Array {
        match self {
            Side::Array(array) => array.clone(),
            Side::Number(number) => self.of(op, number.dtype_beside(dtype)),
        }
    }

    /// This side as it stands beside another one.
    #[track_caller]
    pub(crate) fn facing(self, op: &'static str, other: Side<'_>) -> Array {
        match other {
            Side::Array(other) => self.beside(op, other.dtype()),
            Side::Number(_) => self.array(op),
        }
    }

    /// This side as an array by itself.
    #[track_caller]
    pub(crate) fn array(self, op: &'static str) -> Array {
        match self {
            Side::Array(array) => array.clone(),
            Side::Number(number) => self.of(op, number.dtype()),
        }
    }
}

mod sealed {
    pub trait Sealed {
        fn side(&self) -> super::Side<'_>;
    }
}

pub(crate) use sealed::Sealed;

/// An array, or a number that takes the dtype of the array beside it: a float
/// beside an array of halves stays a half; an integer must fit the array's dtype.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, DType};
/// let halves = Array::ones(&[2], DType::F16);
/// assert_eq!((&halves * 2.5).dtype(), DType::F16);
/// let bytes = Array::ones(&[2], DType::U8);
/// assert_eq!((&bytes + 7).dtype(), DType::U8);
/// assert_eq!((&bytes * 0.5).dtype(), DType::F32);
/// assert!((&bytes + 300).check().is_err());
/// // On the left of an operator stands a literal, or any number as a `Number`.
/// let share = 0.5f32;
/// assert_eq!((1 / &halves + oneir_array::Number::from(share) * &halves).dtype(), DType::F16);
/// ```
pub trait Operand: Sealed {}

impl<T: Sealed> Operand for T {}

impl Sealed for Array {
    fn side(&self) -> Side<'_> {
        Side::Array(self)
    }
}

impl Sealed for &Array {
    fn side(&self) -> Side<'_> {
        Side::Array(self)
    }
}

impl Sealed for Number {
    fn side(&self) -> Side<'_> {
        Side::Number(*self)
    }
}

macro_rules! numbers {
    ($($kind:ident($wide:expr): $($t:ty)*;)*) => {
        $($(
            impl From<$t> for Number {
                fn from(number: $t) -> Number {
                    let widen: fn($t) -> _ = $wide;
                    Number::$kind(widen(number))
                }
            }
                        impl Sealed for $t {
                fn side(&self) -> Side<'_> {
                    Side::Number((*self).into())
                }
            }
        )*)*
    };
}

numbers! {
    Bool(|b| b): bool;
    Int(|n| n as i128): i8 i16 i32 i64 isize u8 u16 u32 u64 usize;
    Float(f64::from): f32 f64 f16 bf16;
    Complex(|z| z): Complex32;
}
