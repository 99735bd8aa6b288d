//! Element-wise functions, with promotion and broadcasting.

use std::ops::{Add, Div, Mul, Neg, Sub};

use oneir_ir::{BinaryOp, Place, Primitive, UnaryOp, Value};
use oneir_tensor::{DType, broadcast_shapes, promote};

use crate::create::{converted, presented};
use crate::{Array, Reason};

/// Two values of one dtype and shape.
fn matched(a: &Value, b: &Value, dtype: DType, place: &Place) -> Result<(Value, Value), Reason> {
    let shape = broadcast_shapes(&a.spec().shape, &b.spec().shape)?;
    let one = |v: &Value| presented(&converted(v, dtype, place)?, &shape, place);
    Ok((one(a)?, one(b)?))
}

/// The dtype that a function which only floats have computes in.
fn inexact(dtype: DType) -> DType {
    if dtype.is_inexact() { dtype } else { DType::F32 }
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
    /// Nearest integer, ties to even.
    round: Round;
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

macro_rules! binary {
    ($($(#[$doc:meta])* $name:ident: $op:ident $(($convert:ident))?;)*) => {
        impl Array {
            $($(#[$doc])*
            #[track_caller]
            #[must_use]
            pub fn $name(&self, other: &Array) -> Array {
                Array::build(stringify!($name), [self, other], |[a, b], place| {
                    let dtype = promote(a.spec().dtype, b.spec().dtype);
                    $(let dtype = $convert(dtype);)?
                    let (a, b) = matched(a, b, dtype, &place)?;
                    Ok(Value::record(Primitive::Binary(BinaryOp::$op), &[&a, &b], place)?)
                })
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
    /// What division toward zero leaves, with the dividend's sign.
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
    /// Bits set in both.
    bitwise_and: BitwiseAnd;
    /// Bits set in either.
    bitwise_or: BitwiseOr;
    /// Bits set in one of them.
    bitwise_xor: BitwiseXor;
    /// Each element moved up by the other's number of bits.
    left_shift: ShiftLeft;
    /// Each element moved down by the other's number of bits.
    right_shift: ShiftRight;
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
    #[track_caller]
    #[must_use]
    pub fn select(&self, a: &Array, b: &Array) -> Array {
        Array::build("where", [self, a, b], |[condition, a, b], place| {
            let dtype = promote(a.spec().dtype, b.spec().dtype);
            let shape = broadcast_shapes(&a.spec().shape, &b.spec().shape)?;
            let shape = broadcast_shapes(&condition.spec().shape, &shape)?;
            let condition = presented(&converted(condition, DType::Bool, &place)?, &shape, &place)?;
            let a = presented(&converted(a, dtype, &place)?, &shape, &place)?;
            let b = presented(&converted(b, dtype, &place)?, &shape, &place)?;
            Ok(Value::record(Primitive::Select, &[&condition, &a, &b], place)?)
        })
    }

    /// A function of this array and a number that takes its dtype.
    #[track_caller]
    fn with_number(&self, op: &'static str, number: f64, swap: bool, f: BinaryOp) -> Array {
        Array::build(op, [self], |[x], place| {
            // A fraction beside integers makes floats of them.
            let x = if number.fract() != 0.0 {
                converted(x, inexact(x.spec().dtype), &place)?
            } else {
                x.clone()
            };
            let x = if f == BinaryOp::Divide { converted(&x, inexact(x.spec().dtype), &place)? } else { x };
            let number = presented(&Array::number_like(&x, number)?, &x.spec().shape, &place)?;
            let pair = if swap { [&number, &x] } else { [&x, &number] };
            Ok(Value::record(Primitive::Binary(f), &pair, place)?)
        })
    }
}

mod sealed {
    use super::Array;

    /// What stands on the right of an operator.
    pub enum Side<'a> {
        Array(&'a Array),
        Number(f64),
    }

    pub trait Right {
        fn side(&self) -> Side<'_>;
    }
}

use sealed::{Right, Side};

/// The right side of an operator: an array, or a number that takes the dtype of
/// the array on the left.
pub trait Operand: Right {}

impl<T: Right> Operand for T {}

impl Right for &Array {
    fn side(&self) -> Side<'_> {
        Side::Array(self)
    }
}

impl Right for Array {
    fn side(&self) -> Side<'_> {
        Side::Array(self)
    }
}

macro_rules! numbers {
    ($($t:ty)*) => {
        $(impl Right for $t {
            fn side(&self) -> Side<'_> {
                Side::Number(f64::from(*self))
            }
        })*
    };
}

numbers!(f64 f32 i32 u32 i16 u16 i8 u8);

macro_rules! operators {
    ($($trait:ident $method:ident $call:ident $op:ident;)*) => {
        $(
            impl<R: Operand> $trait<R> for &Array {
                type Output = Array;
                #[track_caller]
                fn $method(self, right: R) -> Array {
                    match right.side() {
                        Side::Array(other) => Array::$call(self, other),
                        Side::Number(n) => self.with_number(stringify!($call), n, false, BinaryOp::$op),
                    }
                }
            }
            impl<R: Operand> $trait<R> for Array {
                type Output = Array;
                #[track_caller]
                fn $method(self, right: R) -> Array {
                    $trait::$method(&self, right)
                }
            }
            operators!(@left $trait $method $call $op f64 f32 i32);
        )*
    };
    (@left $trait:ident $method:ident $call:ident $op:ident $($t:ty)*) => {
        $(
            impl $trait<&Array> for $t {
                type Output = Array;
                #[track_caller]
                fn $method(self, array: &Array) -> Array {
                    array.with_number(stringify!($call), f64::from(self), true, BinaryOp::$op)
                }
            }
            impl $trait<Array> for $t {
                type Output = Array;
                #[track_caller]
                fn $method(self, array: Array) -> Array {
                    $trait::$method(self, &array)
                }
            }
        )*
    };
}

operators! {
    Add add add Add;
    Sub sub subtract Subtract;
    Mul mul multiply Multiply;
    Div div divide Divide;
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
