//! Element-wise functions, with promotion and broadcasting.

use std::ops::{
    Add, AddAssign, BitAnd, BitAndAssign, BitOr, BitOrAssign, BitXor, BitXorAssign, Div, DivAssign, Mul,
    MulAssign, Neg, Not, Rem, RemAssign, Shl, ShlAssign, Shr, ShrAssign, Sub, SubAssign,
};

use oneir_ir::{BinaryOp, Place, Primitive, UnaryOp, Value};
use oneir_tensor::{DType, broadcast_shapes, promote};

use crate::create::{converted, presented};
use crate::operand::{Number, Operand, Side};
use crate::record::inexact;
use crate::{Array, Reason};

/// Two values of one dtype and shape.
fn matched(a: &Value, b: &Value, dtype: DType, place: &Place) -> Result<(Value, Value), Reason> {
    let shape = broadcast_shapes(&a.spec().shape, &b.spec().shape)?;
    let one = |v: &Value| presented(&converted(v, dtype, place)?, &shape, place);
    Ok((one(a)?, one(b)?))
}

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident: $op:ident $(($convert:ident))?;)*) => {
        impl Array {
            $($(#[$doc])*
            #[track_caller]
            #[must_use]
            pub fn $name(&self) -> Array {
                Array::build(stringify!($name), [self], |[x], place| {
                    #[allow(unused_mut, unused_assignments, reason = "some functions convert first")]
                    let mut x = x.clone();
                    $(x = converted(&x, $convert(x.spec().dtype), &place)?;)?
                    Ok(Value::record(Primitive::Unary(UnaryOp::$op), &[&x], place)?)
                })
            })*
        }
    };
}

unary! {
    /// Magnitude of each element.
    abs: Abs;
    /// Each element negated.
    negative: Neg;
    /// -1, 0 or 1 of each element.
    sign: Sign;
    /// Square root; integers convert to f32.
    sqrt: Sqrt(inexact);
    /// One over the square root; integers convert to f32.
    rsqrt: Rsqrt(inexact);
    /// Each element times itself.
    square: Square;
    /// One over each element; integers convert to f32.
    reciprocal: Reciprocal(inexact);
    /// e to each element; integers convert to f32.
    exp: Exp(inexact);
    /// e to each element, minus 1.
    expm1: Expm1(inexact);
    /// Natural logarithm.
    log: Log(inexact);
    /// Logarithm to base 2.
    log2: Log2(inexact);
    /// Logarithm to base 10.
    log10: Log10(inexact);
    /// Natural logarithm of 1 + x.
    log1p: Log1p(inexact);
    /// Sine of radians.
    sin: Sin(inexact);
    /// Cosine of radians.
    cos: Cos(inexact);
    /// Tangent of radians.
    tan: Tan(inexact);
    /// Inverse sine.
    arcsin: ArcSin(inexact);
    /// Inverse cosine.
    arccos: ArcCos(inexact);
    /// Inverse tangent.
    arctan: ArcTan(inexact);
    /// Hyperbolic sine.
    sinh: Sinh(inexact);
    /// Hyperbolic cosine.
    cosh: Cosh(inexact);
    /// Hyperbolic tangent.
    tanh: Tanh(inexact);
    /// Inverse hyperbolic sine.
    arcsinh: ArcSinh(inexact);
    /// Inverse hyperbolic cosine.
    arccosh: ArcCosh(inexact);
    /// Inverse hyperbolic tangent.
    arctanh: ArcTanh(inexact);
    /// 1 / (1 + e^-x).
    sigmoid: Sigmoid(inexact);
    /// The error function.
    erf: Erf(inexact);
    /// The inverse of the error function.
    erfinv: ErfInv(inexact);
    /// The logarithm of |Γ(x)|.
    lgamma: LogGamma(inexact);
    /// Largest integer not above each element.
    floor: Floor;
    /// Smallest integer not below each element.
    ceil: Ceil;
    /// Integer part, toward zero.
    trunc: Trunc;
    /// Whether each element is NaN.
    isnan: IsNan;
    /// Whether each element is an infinity.
    isinf: IsInf;
    /// Whether each element is zero or false.
    logical_not: LogicalNot;
    /// Every bit flipped.
    bitwise_invert: BitwiseNot;
    /// Complex conjugate.
    conjugate: Conjugate;
    /// Real part.
    real: Real;
    /// Imaginary part.
    imag: Imag;
}

/// A function of two sides, in the dtype that `domain` makes of what both
/// promote to.
#[track_caller]
pub(crate) fn binary(
    op: &'static str,
    f: BinaryOp,
    a: Side<'_>,
    b: Side<'_>,
    domain: fn(DType) -> DType,
) -> Array {
    let record = |a: &Value, b: &Value, place| Ok(Value::record(Primitive::Binary(f), &[a, b], place)?);
    match (a, b) {
        (Side::Array(a), Side::Array(b)) => Array::build(op, [a, b], |[a, b], place| {
            let dtype = domain(promote(a.spec().dtype, b.spec().dtype));
            let (a, b) = matched(a, b, dtype, &place)?;
            record(&a, &b, place)
        }),
        (Side::Array(array), Side::Number(number)) | (Side::Number(number), Side::Array(array)) => {
            let swap = matches!(a, Side::Number(_));
            Array::build(op, [array], |[x], place| {
                let dtype = domain(number.dtype_beside(x.spec().dtype));
                let x = converted(x, dtype, &place)?;
                let number = presented(&number.constant(dtype)?, &x.spec().shape, &place)?;
                if swap { record(&number, &x, place) } else { record(&x, &number, place) }
            })
        }
        (Side::Number(_), Side::Number(_)) => {
            let (a, b) = (a.array(op), b.array(op));
            binary(op, f, Side::Array(&a), Side::Array(&b), domain)
        }
    }
}

/// Any dtype.
pub(crate) fn as_it_is(dtype: DType) -> DType {
    dtype
}

/// What is asked for truth.
fn truth(_: DType) -> DType {
    DType::Bool
}

/// What has bits to shift: bool counts as u8.
fn shiftable(dtype: DType) -> DType {
    if dtype == DType::Bool { DType::U8 } else { dtype }
}

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident: $op:ident $(($domain:ident))?;)*) => {
        impl Array {
            $($(#[$doc])*
            #[track_caller]
            #[must_use]
            pub fn $name(&self, other: impl Operand) -> Array {
                #[allow(unused_variables, reason = "some functions convert first")]
                let domain: fn(DType) -> DType = as_it_is;
                $(let domain: fn(DType) -> DType = $domain;)?
                binary(stringify!($name), BinaryOp::$op, Side::Array(self), other.side(), domain)
            })*
        }

        pub(crate) mod functions {
            use super::*;

            $(#[doc = concat!("[`Array::", stringify!($name), "`], where either side may be a number.")]
            #[track_caller]
            #[must_use]
            pub fn $name(a: impl Operand, b: impl Operand) -> Array {
                #[allow(unused_variables, reason = "some functions convert first")]
                let domain: fn(DType) -> DType = as_it_is;
                $(let domain: fn(DType) -> DType = $domain;)?
                binary(stringify!($name), BinaryOp::$op, a.side(), b.side(), domain)
            })*
        }
    };
}

binary! {
    /// Element-wise sum.
    add: Add;
    /// Element-wise difference.
    subtract: Subtract;
    /// Element-wise product.
    multiply: Multiply;
    /// Element-wise quotient; integers convert to f32.
    divide: Divide(inexact);
    /// Element-wise quotient of integers, truncated toward zero; of floats as
    /// `divide`.
    trunc_divide: Divide;
    /// Largest integer not above the quotient.
    floor_divide: FloorDivide;
    /// What floor division leaves, with the divisor's sign.
    remainder: Remainder;
    /// What division toward zero leaves, with the dividend's sign; of integers
    /// 0 where the divisor is.
    fmod: Fmod;
    /// Element-wise power.
    power: Power;
    /// The larger of each pair; NaN wins.
    maximum: Maximum;
    /// The smaller of each pair; NaN wins.
    minimum: Minimum;
    /// The logarithm of e^a + e^b.
    logaddexp: LogAddExp(inexact);
    /// The angle of the point (other, self), in radians.
    arctan2: ArcTan2(inexact);
    /// Whether the elements are equal.
    equal: Equal;
    /// Whether the elements differ.
    not_equal: NotEqual;
    /// Whether each element is below the other.
    less: Less;
    /// Whether each element is not above the other.
    less_equal: LessEqual;
    /// Whether each element is above the other.
    greater: Greater;
    /// Whether each element is not below the other.
    greater_equal: GreaterEqual;
    /// Whether both are not zero.
    logical_and: LogicalAnd;
    /// Whether either is not zero.
    logical_or: LogicalOr;
    /// Whether one of them is not zero, and the other is.
    logical_xor: NotEqual(truth);
    /// Bits set in both.
    bitwise_and: BitwiseAnd;
    /// Bits set in either.
    bitwise_or: BitwiseOr;
    /// Bits set in one of them.
    bitwise_xor: BitwiseXor;
    /// Each element moved up by the other's number of bits: 0 past the width.
    left_shift: ShiftLeft(shiftable);
    /// Each element moved down by the other's number of bits, keeping the sign.
    right_shift: ShiftRight(shiftable);
}

impl Array {
    /// Converted to `dtype`: float to integer saturates (NaN gives 0), integer
    /// to integer wraps, to bool asks "not zero".
    #[track_caller]
    #[must_use]
    pub fn astype(&self, dtype: DType) -> Array {
        Array::build("astype", [self], |[x], place| converted(x, dtype, &place))
    }

    /// `a` where this condition holds, else `b`; all three broadcast.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[-1f32, 2.0], &[2]);
    /// assert_eq!(x.greater(0).where_(&x, 0).to_vec::<f32>()?, [0.0, 2.0]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn where_(&self, a: impl Operand, b: impl Operand) -> Array {
        let dtype = match (a.side(), b.side()) {
            (Side::Array(a), Side::Array(b)) => promote(a.dtype(), b.dtype()),
            (Side::Array(a), Side::Number(n)) | (Side::Number(n), Side::Array(a)) => {
                n.dtype_beside(a.dtype())
            }
            (Side::Number(a), Side::Number(b)) => promote(a.dtype(), b.dtype()),
        };
        let (a, b) = (a.side().of("where", dtype), b.side().of("where", dtype));
        Array::build("where", [self, &a, &b], |[condition, a, b], place| {
            let shape = broadcast_shapes(&a.spec().shape, &b.spec().shape)?;
            let shape = broadcast_shapes(&condition.spec().shape, &shape)?;
            let condition = presented(&converted(condition, DType::Bool, &place)?, &shape, &place)?;
            let (a, b) = (presented(a, &shape, &place)?, presented(b, &shape, &place)?);
            Ok(Value::record(Primitive::Select, &[&condition, &a, &b], place)?)
        })
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $assign:ident $assign_method:ident $call:ident;)*) => {
        $(
            impl<R: Operand> $trait<R> for &Array {
                type Output = Array;
                #[track_caller]
                fn $method(self, right: R) -> Array {
                    functions::$call(self, right)
                }
            }
            impl<R: Operand> $trait<R> for Array {
                type Output = Array;
                #[track_caller]
                fn $method(self, right: R) -> Array {
                    functions::$call(self, right)
                }
            }
            impl<R: Operand> $assign<R> for Array {
                #[track_caller]
                fn $assign_method(&mut self, right: R) {
                    *self = functions::$call(&*self, right);
                }
            }
            // One type of integers and one of floats: so a literal on the left has a type.
            operators!(@left $trait $method $call f64 i32 Number);
        )*
    };
    (@left $trait:ident $method:ident $call:ident $($t:ty)*) => {
        $(
            impl $trait<&Array> for $t {
                type Output = Array;
                #[track_caller]
                fn $method(self, array: &Array) -> Array {
                    functions::$call(self, array)
                }
            }
            impl $trait<Array> for $t {
                type Output = Array;
                #[track_caller]
                fn $method(self, array: Array) -> Array {
                    functions::$call(self, array)
                }
            }
        )*
    };
}

operators! {
    Add add AddAssign add_assign add;
    Sub sub SubAssign sub_assign subtract;
    Mul mul MulAssign mul_assign multiply;
    Div div DivAssign div_assign divide;
    Rem rem RemAssign rem_assign remainder;
    BitAnd bitand BitAndAssign bitand_assign bitwise_and;
    BitOr bitor BitOrAssign bitor_assign bitwise_or;
    BitXor bitxor BitXorAssign bitxor_assign bitwise_xor;
    Shl shl ShlAssign shl_assign left_shift;
    Shr shr ShrAssign shr_assign right_shift;
}

impl Not for &Array {
    type Output = Array;
    #[track_caller]
    fn not(self) -> Array {
        self.bitwise_invert()
    }
}

impl Not for Array {
    type Output = Array;
    #[track_caller]
    fn not(self) -> Array {
        self.bitwise_invert()
    }
}

impl Neg for &Array {
    type Output = Array;
    #[track_caller]
    fn neg(self) -> Array {
        self.negative()
    }
}

impl Neg for Array {
    type Output = Array;
    #[track_caller]
    fn neg(self) -> Array {
        self.negative()
    }
}
