use std::fmt;
use std::str::FromStr;

use half::{bf16, f16};
use num_complex::Complex32;

/// How the elements of a type behave: what [`crate::Values`] holds them as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// Truth values.
    Bool,
    /// Unsigned integers.
    Unsigned,
    /// Signed integers.
    Signed,
    /// Real floating point.
    Float,
    /// Complex floating point.
    Complex,
}

macro_rules! dtypes {
    ($($(#[$doc:meta])* $variant:ident $name:literal $bits:literal $class:ident;)*) => {
        /// The type of a tensor's elements.
        ///
        /// The first fourteen compute. The others are storage types: casts,
        /// shape operations, quantization and files accept them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum DType { $($(#[$doc])* $variant),* }

        impl DType {
            /// Every element type.
            pub const ALL: &[DType] = &[$(DType::$variant),*];

            /// The name used in texts, files and errors.
            pub const fn name(self) -> &'static str {
                match self { $(DType::$variant => $name),* }
            }

            /// Bits of one element.
            pub const fn bits(self) -> usize {
                match self { $(DType::$variant => $bits),* }
            }

            /// How the elements behave.
            pub const fn class(self) -> Class {
                match self { $(DType::$variant => Class::$class),* }
            }
        }
    };
}

dtypes! {
    /// Truth values, one byte each, 0 or 1.
    Bool "bool" 8 Bool;
    /// Unsigned 8-bit integers.
    U8 "u8" 8 Unsigned;
    /// Unsigned 16-bit integers.
    U16 "u16" 16 Unsigned;
    /// Unsigned 32-bit integers.
    U32 "u32" 32 Unsigned;
    /// Unsigned 64-bit integers.
    U64 "u64" 64 Unsigned;
    /// Signed 8-bit integers.
    I8 "i8" 8 Signed;
    /// Signed 16-bit integers.
    I16 "i16" 16 Signed;
    /// Signed 32-bit integers.
    I32 "i32" 32 Signed;
    /// Signed 64-bit integers.
    I64 "i64" 64 Signed;
    /// IEEE half precision.
    F16 "f16" 16 Float;
    /// bfloat16: the upper half of an f32.
    BF16 "bf16" 16 Float;
    /// IEEE single precision.
    F32 "f32" 32 Float;
    /// IEEE double precision.
    F64 "f64" 64 Float;
    /// Two f32: real and imaginary part.
    Complex64 "complex64" 64 Complex;
    /// float8, 4 exponent and 3 mantissa bits, no infinities (storage).
    F8E4M3FN "f8e4m3fn" 8 Float;
    /// float8 E4M3 without negative zero (storage).
    F8E4M3FNUZ "f8e4m3fnuz" 8 Float;
    /// float8, 5 exponent and 2 mantissa bits (storage).
    F8E5M2 "f8e5m2" 8 Float;
    /// float8 E5M2 without negative zero and infinities (storage).
    F8E5M2FNUZ "f8e5m2fnuz" 8 Float;
    /// float8, 8 exponent bits: powers of two, for scales (storage).
    F8E8M0 "f8e8m0" 8 Float;
    /// float4, 2 exponent and 1 mantissa bit (storage).
    F4E2M1 "f4e2m1" 4 Float;
    /// Signed 4-bit integers (storage).
    I4 "i4" 4 Signed;
    /// Unsigned 4-bit integers (storage).
    U4 "u4" 4 Unsigned;
    /// Signed 2-bit integers (storage).
    I2 "i2" 2 Signed;
    /// Unsigned 2-bit integers (storage).
    U2 "u2" 2 Unsigned;
}

impl DType {
    /// The fourteen types that compute.
    pub const COMPUTE: [DType; 14] = [
        DType::Bool,
        DType::U8,
        DType::U16,
        DType::U32,
        DType::U64,
        DType::I8,
        DType::I16,
        DType::I32,
        DType::I64,
        DType::F16,
        DType::BF16,
        DType::F32,
        DType::F64,
        DType::Complex64,
    ];

    /// Whether values of this type compute (all others only store).
    pub const fn computes(self) -> bool {
        (self as usize) <= (DType::Complex64 as usize)
    }

    /// Bytes of one element; `None` for types packed below a byte.
    pub const fn size(self) -> Option<usize> {
        if self.bits() < 8 { None } else { Some(self.bits() / 8) }
    }

    /// Bytes that `count` elements in a row take, or `None` past 2^63.
    pub fn bytes_for(self, count: usize) -> Option<usize> {
        let bytes = match self.bits() {
            bits if bits < 8 => count.div_ceil(8 / bits),
            bits => count.checked_mul(bits / 8)?,
        };
        isize::try_from(bytes).ok()?;
        Some(bytes)
    }

    /// Whether this is a real floating-point type.
    pub const fn is_float(self) -> bool {
        matches!(self.class(), Class::Float)
    }

    /// Whether this is complex64.
    pub const fn is_complex(self) -> bool {
        matches!(self.class(), Class::Complex)
    }

    /// Whether this is real or complex floating point.
    pub const fn is_inexact(self) -> bool {
        self.is_float() || self.is_complex()
    }

    /// Whether this is a signed or unsigned integer type (bool is not).
    pub const fn is_integer(self) -> bool {
        matches!(self.class(), Class::Unsigned | Class::Signed)
    }

    /// Whether this is f16 or bf16.
    pub const fn is_half(self) -> bool {
        matches!(self, DType::F16 | DType::BF16)
    }

    /// Whether this is a signed integer type.
    pub const fn is_signed(self) -> bool {
        matches!(self.class(), Class::Signed)
    }

    /// Whether this is of a kind, as [`DTypeKind`] tells them apart.
    ///
    /// ```
    /// use oneir_tensor::{DType, DTypeKind};
    /// assert!(DType::I8.is(DTypeKind::Integral) && !DType::Bool.is(DTypeKind::Integral));
    /// assert!(DType::F16.is(DTypeKind::Inexact) && DType::F16.is(DTypeKind::Numeric));
    /// ```
    pub const fn is(self, kind: DTypeKind) -> bool {
        match kind {
            DTypeKind::Bool => matches!(self.class(), Class::Bool),
            DTypeKind::SignedInteger => self.is_signed(),
            DTypeKind::UnsignedInteger => matches!(self.class(), Class::Unsigned),
            DTypeKind::Integral => self.is_integer(),
            DTypeKind::RealFloating => self.is_float(),
            DTypeKind::ComplexFloating => self.is_complex(),
            DTypeKind::Inexact => self.is_inexact(),
            DTypeKind::Numeric => self.is_inexact() || self.is_integer(),
        }
    }

    /// Whether promotion takes this type to `to`.
    ///
    /// ```
    /// use oneir_tensor::DType;
    /// assert!(DType::I32.can_cast(DType::F16) && !DType::F32.can_cast(DType::F16));
    /// ```
    pub fn can_cast(self, to: DType) -> bool {
        promote(self, to) == to
    }

    /// The type that all promote to; none of none.
    pub fn result_type(types: &[DType]) -> Option<DType> {
        types.iter().copied().reduce(promote)
    }

    /// The limits of a real floating-point type that computes; of complex64,
    /// those of its parts.
    ///
    /// ```
    /// use oneir_tensor::DType;
    /// assert_eq!(DType::F16.finfo().map(|f| (f.max, f.eps)), Some((65504.0, 2f64.powi(-10))));
    /// assert_eq!(DType::I32.finfo(), None);
    /// ```
    pub fn finfo(self) -> Option<FloatInfo> {
        // Bits of the fraction, and the exponent of the smallest normal number.
        let (fraction, lowest) = match self {
            DType::F16 => (10, -14),
            DType::BF16 => (7, -126),
            DType::F32 | DType::Complex64 => (23, -126),
            DType::F64 => (52, -1022),
            _ => return None,
        };
        let power = |exponent: i32| 2f64.powi(exponent);
        let max = (2.0 - power(-fraction)) * power(1 - lowest);
        Some(FloatInfo { max, eps: power(-fraction), smallest_normal: power(lowest) })
    }

    /// The smallest and the largest number of an integer type.
    ///
    /// ```
    /// use oneir_tensor::DType;
    /// assert_eq!(DType::I8.iinfo(), Some((-128, 127)));
    /// ```
    pub const fn iinfo(self) -> Option<(i128, i128)> {
        match self.class() {
            Class::Unsigned => Some((0, (1 << self.bits()) - 1)),
            Class::Signed => Some((-(1 << (self.bits() - 1)), (1 << (self.bits() - 1)) - 1)),
            _ => None,
        }
    }

    /// The type in which sums over this type accumulate: f32 for halves.
    pub const fn accumulator(self) -> DType {
        if self.is_half() { DType::F32 } else { self }
    }
}

/// What [`DType::is`] asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DTypeKind {
    /// Truth values.
    Bool,
    /// Signed integers.
    SignedInteger,
    /// Unsigned integers.
    UnsignedInteger,
    /// Integers.
    Integral,
    /// Real floating point.
    RealFloating,
    /// Complex floating point.
    ComplexFloating,
    /// Real and complex floating point.
    Inexact,
    /// All but truth values.
    Numeric,
}

/// The limits of a floating-point type.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FloatInfo {
    /// The largest finite number; the smallest is its negative.
    pub max: f64,
    /// From 1 to the next number.
    pub eps: f64,
    /// The smallest positive number of full precision.
    pub smallest_normal: f64,
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for DType {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, String> {
        DType::ALL.iter().copied().find(|d| d.name() == s).ok_or_else(|| format!("unknown dtype `{s}`"))
    }
}

/// The type that operands of types `a` and `b` both convert to (MLX's table).
///
/// ```
/// use oneir_tensor::{DType, promote};
/// assert_eq!(promote(DType::U64, DType::I8), DType::F32);
/// assert_eq!(promote(DType::F16, DType::BF16), DType::F32);
/// assert_eq!(promote(DType::I64, DType::F16), DType::F16);
/// ```
pub fn promote(a: DType, b: DType) -> DType {
    use Class::{Bool, Complex, Float, Signed, Unsigned};
    if a == b {
        return a;
    }
    let (a, b) = if a.class() <= b.class() { (a, b) } else { (b, a) };
    match (a.class(), b.class()) {
        (Bool, _) => b,
        (_, Complex) => b,
        (Float, Float) => {
            if a.bits() == b.bits() {
                DType::F32
            } else {
                wider(a, b)
            }
        }
        (_, Float) => b,
        (Unsigned, Signed) => match a {
            DType::U8 => wider(b, DType::I16),
            DType::U16 => wider(b, DType::I32),
            DType::U32 => DType::I64,
            _ => DType::F32,
        },
        _ => wider(a, b),
    }
}

fn wider(a: DType, b: DType) -> DType {
    if a.bits() >= b.bits() { a } else { b }
}

/// A Rust type that elements of one [`DType`] are read and written as.
pub trait Element:
    bytemuck::NoUninit + bytemuck::CheckedBitPattern + Default + PartialEq + fmt::Debug + Send + Sync + 'static
{
    /// The element type.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($t:ty => $d:ident),* $(,)?) => { $(impl Element for $t { const DTYPE: DType = DType::$d; })* };
}

elements! {
    bool => Bool, u8 => U8, u16 => U16, u32 => U32, u64 => U64,
    i8 => I8, i16 => I16, i32 => I32, i64 => I64,
    f16 => F16, bf16 => BF16, f32 => F32, f64 => F64, Complex32 => Complex64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_computing_types_come_first() {
        for (i, d) in DType::ALL.iter().enumerate() {
            assert_eq!(d.name().parse::<DType>(), Ok(*d));
            assert_eq!(d.computes(), i < 14);
        }
        assert_eq!(&DType::ALL[..14], DType::COMPUTE);
        assert!("f23".parse::<DType>().is_err());
    }

    #[test]
    fn promotion_is_symmetric_and_reflexive() {
        for a in DType::COMPUTE {
            assert_eq!(promote(a, a), a);
            for b in DType::COMPUTE {
                assert_eq!(promote(a, b), promote(b, a), "{a} {b}");
            }
        }
        assert_eq!(promote(DType::U8, DType::I8), DType::I16);
        assert_eq!(promote(DType::U32, DType::I8), DType::I64);
        assert_eq!(promote(DType::Bool, DType::U8), DType::U8);
        assert_eq!(promote(DType::F64, DType::Complex64), DType::Complex64);
    }

    #[test]
    fn byte_counts_are_checked() {
        assert_eq!(DType::U4.bytes_for(3), Some(2));
        assert_eq!(DType::U2.bytes_for(5), Some(2));
        assert_eq!(DType::F64.bytes_for(usize::MAX / 4), None);
        assert_eq!(DType::U8.bytes_for(usize::MAX), None);
    }
}
