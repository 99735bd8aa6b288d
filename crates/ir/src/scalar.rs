//! The scalar functions: one row each, with its meaning on every class of
//! element.

use num_complex::Complex64;
use oneir_tensor::{Class, DType, Values};

use crate::{Invalid, attr::name_attr, complex, gamma};

/// What element type a scalar function gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gives {
    /// The operands' type.
    Same,
    /// Truth values.
    Bool,
    /// The real type of a complex operand's parts; else the operand's.
    Real,
}

/// A function that a class may not have.
type Maybe<F> = Option<F>;

/// From where on the square of a number tells nothing of what is added to it.
const LARGE: f64 = 1e10;

/// The inverse hyperbolic sine, also of numbers whose square is no number.
fn arcsinh(x: f64) -> f64 {
    if x.abs() < LARGE { x.asinh() } else { (x.abs().ln() + std::f64::consts::LN_2).copysign(x) }
}

/// The inverse hyperbolic cosine, also of numbers whose square is no number.
fn arccosh(x: f64) -> f64 {
    if x < LARGE { x.acosh() } else { x.ln() + std::f64::consts::LN_2 }
}

struct UnaryRow {
    gives: Gives,
    float: Maybe<fn(f64) -> f64>,
    signed: Maybe<fn(i64) -> i64>,
    unsigned: Maybe<fn(u64) -> u64>,
    bool: Maybe<fn(bool) -> bool>,
    complex: Maybe<fn(Complex64) -> Complex64>,
}

const NO_UNARY: UnaryRow =
    UnaryRow { gives: Gives::Same, float: None, signed: None, unsigned: None, bool: None, complex: None };

macro_rules! unary_ops {
    ($($(#[$doc:meta])* $name:literal $variant:ident { $($field:ident: $value:expr),* $(,)? })*) => {
        /// An element-wise function of one operand.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum UnaryOp { $($(#[$doc])* $variant),* }

        impl UnaryOp {
            /// Every function.
            pub const ALL: &[UnaryOp] = &[$(UnaryOp::$variant),*];

            /// The name used in texts and errors.
            pub const fn name(self) -> &'static str {
                match self { $(UnaryOp::$variant => $name),* }
            }

            fn row(self) -> UnaryRow {
                match self {
                    $(UnaryOp::$variant => {
                        #[allow(clippy::needless_update, reason = "a row may fill every class")]
                        UnaryRow { $($field: row_value!($field $value),)* ..NO_UNARY }
                    })*
                }
            }
        }
    };
}

macro_rules! row_value {
    (gives $value:expr) => {
        $value
    };
    ($field:ident $value:expr) => {
        Some($value)
    };
}

unary_ops! {
    /// Magnitude; of a complex number, a real one.
    "abs" Abs { gives: Gives::Real, float: f64::abs, signed: i64::wrapping_abs, unsigned: |x| x, bool: |x| x,
        complex: |x| x.norm().into() }
    /// Negation; integers wrap.
    "neg" Neg { float: |x| -x, signed: i64::wrapping_neg, unsigned: u64::wrapping_neg, complex: |x| -x }
    /// -1, 0 or 1; x / |x| of a complex number; NaN stays NaN.
    "sign" Sign { float: |x| if x == 0.0 || x.is_nan() { x } else { x.signum() }, signed: i64::signum,
        unsigned: |x| u64::from(x != 0), bool: |x| x,
        complex: |x| if x.norm() == 0.0 { x } else { x / x.norm() } }
    /// Square root.
    "sqrt" Sqrt { float: f64::sqrt, complex: |x| x.sqrt() }
    /// One over the square root.
    "rsqrt" Rsqrt { float: |x| 1.0 / x.sqrt(), complex: |x| x.sqrt().inv() }
    /// x times x; integers wrap.
    "square" Square { float: |x| x * x, signed: |x| x.wrapping_mul(x), unsigned: |x| x.wrapping_mul(x),
        bool: |x| x, complex: |x| x * x }
    /// One over x.
    "reciprocal" Reciprocal { float: |x| 1.0 / x, complex: |x| x.inv() }
    /// e to the x.
    "exp" Exp { float: f64::exp, complex: |x| x.exp() }
    /// e to the x, minus 1.
    "expm1" Expm1 { float: f64::exp_m1, complex: |x| x.exp() - 1.0 }
    /// Natural logarithm.
    "log" Log { float: f64::ln, complex: |x| x.ln() }
    /// Logarithm to base 2.
    "log2" Log2 { float: f64::log2, complex: |x| x.ln() / std::f64::consts::LN_2 }
    /// Logarithm to base 10.
    "log10" Log10 { float: f64::log10, complex: |x| x.ln() / std::f64::consts::LN_10 }
    /// Natural logarithm of 1 + x.
    "log1p" Log1p { float: f64::ln_1p, complex: |x| (x + 1.0).ln() }
    /// Sine of radians.
    "sin" Sin { float: f64::sin, complex: |x| x.sin() }
    /// Cosine of radians.
    "cos" Cos { float: f64::cos, complex: |x| x.cos() }
    /// Tangent of radians.
    "tan" Tan { float: f64::tan, complex: |x| x.tan() }
    /// Inverse sine.
    "arcsin" ArcSin { float: f64::asin, complex: complex::arcsin }
    /// Inverse cosine.
    "arccos" ArcCos { float: f64::acos, complex: complex::arccos }
    /// Inverse tangent.
    "arctan" ArcTan { float: f64::atan, complex: complex::arctan }
    /// Hyperbolic sine.
    "sinh" Sinh { float: f64::sinh, complex: |x| x.sinh() }
    /// Hyperbolic cosine.
    "cosh" Cosh { float: f64::cosh, complex: |x| x.cosh() }
    /// Hyperbolic tangent.
    "tanh" Tanh { float: f64::tanh, complex: |x| x.tanh() }
    /// Inverse hyperbolic sine.
    "arcsinh" ArcSinh { float: arcsinh, complex: complex::arcsinh }
    /// Inverse hyperbolic cosine.
    "arccosh" ArcCosh { float: arccosh, complex: complex::arccosh }
    /// Inverse hyperbolic tangent.
    "arctanh" ArcTanh { float: f64::atanh, complex: complex::arctanh }
    /// 1 / (1 + e^-x).
    "sigmoid" Sigmoid { float: |x| 1.0 / (1.0 + (-x).exp()), complex: |x| ((-x).exp() + 1.0).inv() }
    /// The error function.
    "erf" Erf { float: libm::erf }
    /// The inverse of the error function.
    "erfinv" ErfInv { float: erf_inv }
    /// The logarithm of |Γ(x)|.
    "lgamma" LogGamma { float: libm::lgamma }
    /// The derivative of the logarithm of |Γ(x)|.
    "digamma" Digamma { float: gamma::digamma }
    /// The derivative of `digamma`.
    "trigamma" Trigamma { float: gamma::trigamma }
    /// Largest integer not above x.
    "floor" Floor { float: f64::floor, signed: |x| x, unsigned: |x| x, bool: |x| x }
    /// Smallest integer not below x.
    "ceil" Ceil { float: f64::ceil, signed: |x| x, unsigned: |x| x, bool: |x| x }
    /// Nearest integer, ties to even.
    "round" Round { float: f64::round_ties_even, signed: |x| x, unsigned: |x| x, bool: |x| x,
        complex: |x| Complex64::new(x.re.round_ties_even(), x.im.round_ties_even()) }
    /// Integer part, toward zero.
    "trunc" Trunc { float: f64::trunc, signed: |x| x, unsigned: |x| x, bool: |x| x }
    /// Whether x is NaN.
    "is_nan" IsNan { gives: Gives::Bool, float: |x| f64::from(u8::from(x.is_nan())), signed: |_| 0,
        unsigned: |_| 0, bool: |_| false, complex: |x| f64::from(u8::from(x.is_nan())).into() }
    /// Whether x is an infinity.
    "is_inf" IsInf { gives: Gives::Bool, float: |x| f64::from(u8::from(x.is_infinite())), signed: |_| 0,
        unsigned: |_| 0, bool: |_| false,
        complex: |x| f64::from(u8::from(x.re.is_infinite() || x.im.is_infinite())).into() }
    /// Whether x is zero or false.
    "logical_not" LogicalNot { gives: Gives::Bool, float: |x| f64::from(u8::from(x == 0.0)),
        signed: |x| i64::from(x == 0), unsigned: |x| u64::from(x == 0), bool: |x| !x,
        complex: |x| f64::from(u8::from(x.re == 0.0 && x.im == 0.0)).into() }
    /// Every bit flipped.
    "bitwise_not" BitwiseNot { signed: |x| !x, unsigned: |x| !x, bool: |x| !x }
    /// Complex conjugate.
    "conjugate" Conjugate { float: |x| x, signed: |x| x, unsigned: |x| x, bool: |x| x, complex: |x| x.conj() }
    /// Real part.
    "real" Real { gives: Gives::Real, float: |x| x, signed: |x| x, unsigned: |x| x, bool: |x| x,
        complex: |x| x.re.into() }
    /// Imaginary part.
    "imag" Imag { gives: Gives::Real, float: |_| 0.0, signed: |_| 0, unsigned: |_| 0, bool: |_| false,
        complex: |x| x.im.into() }
}

impl UnaryOp {
    /// The element type of the result on operands of `dtype`.
    ///
    /// # Errors
    /// When the function is not defined for `dtype`.
    pub fn result(self, dtype: DType) -> Result<DType, Invalid> {
        let row = self.row();
        let defined = dtype.computes()
            && match dtype.class() {
                Class::Bool => row.bool.is_some(),
                Class::Unsigned => row.unsigned.is_some(),
                Class::Signed => row.signed.is_some(),
                Class::Float => row.float.is_some(),
                Class::Complex => row.complex.is_some(),
            };
        if !defined {
            return Err(Invalid::Undefined { op: self.name(), dtype });
        }
        Ok(gives(row.gives, dtype))
    }

    /// The function of each value (none where it is not defined).
    pub fn eval(self, x: &Values) -> Option<Values> {
        let row = self.row();
        let out = match x {
            Values::Bool(v) => Values::Bool(v.iter().copied().map(row.bool?).collect()),
            Values::Unsigned(v) => Values::Unsigned(v.iter().copied().map(row.unsigned?).collect()),
            Values::Signed(v) => Values::Signed(v.iter().copied().map(row.signed?).collect()),
            Values::Float(v) => Values::Float(v.iter().copied().map(row.float?).collect()),
            Values::Complex(v) => Values::Complex(v.iter().copied().map(row.complex?).collect()),
        };
        Some(match row.gives {
            Gives::Bool => out.convert(DType::Bool),
            _ => out,
        })
    }
}

fn gives(gives: Gives, dtype: DType) -> DType {
    match gives {
        Gives::Same => dtype,
        Gives::Bool => DType::Bool,
        Gives::Real if dtype.is_complex() => DType::F32,
        Gives::Real => dtype,
    }
}

struct BinaryRow {
    gives: Gives,
    float: Maybe<fn(f64, f64) -> f64>,
    signed: Maybe<fn(i64, i64) -> i64>,
    unsigned: Maybe<fn(u64, u64) -> u64>,
    bool: Maybe<fn(bool, bool) -> bool>,
    complex: Maybe<fn(Complex64, Complex64) -> Complex64>,
}

const NO_BINARY: BinaryRow =
    BinaryRow { gives: Gives::Same, float: None, signed: None, unsigned: None, bool: None, complex: None };

macro_rules! binary_ops {
    ($($(#[$doc:meta])* $name:literal $variant:ident { $($field:ident: $value:expr),* $(,)? })*) => {
        /// An element-wise function of two operands of one shape and dtype.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum BinaryOp { $($(#[$doc])* $variant),* }

        impl BinaryOp {
            /// Every function.
            pub const ALL: &[BinaryOp] = &[$(BinaryOp::$variant),*];

            /// The name used in texts and errors.
            pub const fn name(self) -> &'static str {
                match self { $(BinaryOp::$variant => $name),* }
            }

            fn row(self) -> BinaryRow {
                match self {
                    $(BinaryOp::$variant => {
                        #[allow(clippy::needless_update, reason = "a row may fill every class")]
                        BinaryRow { $($field: row_value!($field $value),)* ..NO_BINARY }
                    })*
                }
            }
        }
    };
}

binary_ops! {
    /// a + b; integers wrap; of truth values, "or".
    "add" Add { float: |a, b| a + b, signed: i64::wrapping_add, unsigned: u64::wrapping_add, bool: |a, b| a | b,
        complex: |a, b| a + b }
    /// a - b; integers wrap; of truth values, "either, not both".
    "sub" Subtract { float: |a, b| a - b, signed: i64::wrapping_sub, unsigned: u64::wrapping_sub,
        bool: |a, b| a ^ b, complex: |a, b| a - b }
    /// a · b; integers wrap; of truth values, "and".
    "mul" Multiply { float: |a, b| a * b, signed: i64::wrapping_mul, unsigned: u64::wrapping_mul,
        bool: |a, b| a & b, complex: |a, b| a * b }
    /// a / b; integers truncate toward zero, and give 0 for b = 0.
    "div" Divide { float: |a, b| a / b, signed: |a, b| if b == 0 { 0 } else { a.wrapping_div(b) },
        unsigned: |a, b| a.checked_div(b).unwrap_or(0), complex: |a, b| a / b }
    /// The largest integer not above a / b; integers give 0 for b = 0.
    "floor_div" FloorDivide { float: |a, b| (a / b).floor(), signed: floor_div,
        unsigned: |a, b| a.checked_div(b).unwrap_or(0), bool: |a, b| a & b }
    /// What floor division leaves, with the sign of b; integers give 0 for b = 0.
    "remainder" Remainder { float: |a, b| { let r = a % b; if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r } },
        signed: |a, b| if b == 0 { 0 } else { a.wrapping_sub(floor_div(a, b).wrapping_mul(b)) },
        unsigned: |a, b| a.checked_rem(b).unwrap_or(0), bool: |_, _| false }
    /// What division toward zero leaves, with the sign of a; integers give 0 for b = 0.
    "fmod" Fmod { float: |a, b| a % b, signed: |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) },
        unsigned: |a, b| a.checked_rem(b).unwrap_or(0) }
    /// a to the b; integers wrap, and give 0 (or ±1 of ±1) for b < 0.
    "pow" Power { float: f64::powf, signed: int_pow, unsigned: wrapping_pow,
        bool: |a, b| a | !b, complex: |a, b| if b == Complex64::default() { 1.0.into() } else { a.powc(b) } }
    /// The larger; NaN wins.
    "max" Maximum { float: |a, b| if a.is_nan() || a > b { a } else { b }, signed: i64::max, unsigned: u64::max,
        bool: |a, b| a | b, complex: |a, b| if (a.re, a.im) >= (b.re, b.im) || a.is_nan() { a } else { b } }
    /// The smaller; NaN wins.
    "min" Minimum { float: |a, b| if a.is_nan() || a < b { a } else { b }, signed: i64::min, unsigned: u64::min,
        bool: |a, b| a & b, complex: |a, b| if (a.re, a.im) <= (b.re, b.im) || a.is_nan() { a } else { b } }
    /// The logarithm of e^a + e^b.
    "logaddexp" LogAddExp { float: |a, b| {
        let top = a.max(b);
        if a.is_nan() || b.is_nan() { f64::NAN } else if top.is_infinite() { top }
        else { top + (-(a - b).abs()).exp().ln_1p() }
    }, complex: |a, b| {
        let (top, other) = if a.re >= b.re { (a, b) } else { (b, a) };
        if a.is_nan() || b.is_nan() { Complex64::new(f64::NAN, f64::NAN) }
        else if top.re.is_infinite() { top }
        else { top + ((other - top).exp() + 1.0).ln() }
    } }
    /// The angle of the point (b, a), in radians.
    "arctan2" ArcTan2 { float: f64::atan2 }
    /// Whether a equals b.
    "eq" Equal { gives: Gives::Bool, float: |a, b| f64::from(u8::from(a == b)), signed: |a, b| i64::from(a == b),
        unsigned: |a, b| u64::from(a == b), bool: |a, b| a == b,
        complex: |a, b| f64::from(u8::from(a == b)).into() }
    /// Whether a differs from b.
    "ne" NotEqual { gives: Gives::Bool, float: |a, b| f64::from(u8::from(a != b)), signed: |a, b| i64::from(a != b),
        unsigned: |a, b| u64::from(a != b), bool: |a, b| a != b,
        complex: |a, b| f64::from(u8::from(a != b)).into() }
    /// Whether a is below b; complex numbers go by their real, then their imaginary part.
    "lt" Less { gives: Gives::Bool, float: |a, b| f64::from(u8::from(a < b)),
        signed: |a, b| i64::from(a < b), unsigned: |a, b| u64::from(a < b), bool: |a, b| !a & b,
        complex: |a, b| f64::from(u8::from((a.re, a.im) < (b.re, b.im))).into() }
    /// Whether a is not above b.
    "le" LessEqual { gives: Gives::Bool, float: |a, b| f64::from(u8::from(a <= b)), signed: |a, b| i64::from(a <= b),
        unsigned: |a, b| u64::from(a <= b), bool: |a, b| a <= b,
        complex: |a, b| f64::from(u8::from((a.re, a.im) <= (b.re, b.im))).into() }
    /// Whether a is above b.
    "gt" Greater { gives: Gives::Bool, float: |a, b| f64::from(u8::from(a > b)), signed: |a, b| i64::from(a > b),
        unsigned: |a, b| u64::from(a > b), bool: |a, b| a & !b,
        complex: |a, b| f64::from(u8::from((a.re, a.im) > (b.re, b.im))).into() }
    /// Whether a is not below b.
    "ge" GreaterEqual { gives: Gives::Bool, float: |a, b| f64::from(u8::from(a >= b)), signed: |a, b| i64::from(a >= b),
        unsigned: |a, b| u64::from(a >= b), bool: |a, b| a >= b,
        complex: |a, b| f64::from(u8::from((a.re, a.im) >= (b.re, b.im))).into() }
    /// Whether both are not zero.
    "logical_and" LogicalAnd { gives: Gives::Bool, float: |a, b| f64::from(u8::from(a != 0.0 && b != 0.0)),
        signed: |a, b| i64::from(a != 0 && b != 0), unsigned: |a, b| u64::from(a != 0 && b != 0),
        bool: |a, b| a & b,
        complex: |a, b| f64::from(u8::from(a != Complex64::default() && b != Complex64::default())).into() }
    /// Whether either is not zero.
    "logical_or" LogicalOr { gives: Gives::Bool, float: |a, b| f64::from(u8::from(a != 0.0 || b != 0.0)),
        signed: |a, b| i64::from(a != 0 || b != 0), unsigned: |a, b| u64::from(a != 0 || b != 0),
        bool: |a, b| a | b,
        complex: |a, b| f64::from(u8::from(a != Complex64::default() || b != Complex64::default())).into() }
    /// Bits set in both.
    "bitwise_and" BitwiseAnd { signed: |a, b| a & b, unsigned: |a, b| a & b, bool: |a, b| a & b }
    /// Bits set in either.
    "bitwise_or" BitwiseOr { signed: |a, b| a | b, unsigned: |a, b| a | b, bool: |a, b| a | b }
    /// Bits set in one of them.
    "bitwise_xor" BitwiseXor { signed: |a, b| a ^ b, unsigned: |a, b| a ^ b, bool: |a, b| a ^ b }
    /// a moved up by b bits; 0 where b is not below the width.
    "shl" ShiftLeft { signed: |a, b| if (0..64).contains(&b) { a << b } else { 0 },
        unsigned: |a, b| if b < 64 { a << b } else { 0 } }
    /// a moved down by b bits, keeping the sign; b past the width moves all out.
    "shr" ShiftRight { signed: |a, b| a >> if (0..63).contains(&b) { b } else { 63 },
        unsigned: |a, b| if b < 64 { a >> b } else { 0 } }
}

impl BinaryOp {
    /// The element type of the result on operands of `dtype`.
    ///
    /// # Errors
    /// When the function is not defined for `dtype`.
    pub fn result(self, dtype: DType) -> Result<DType, Invalid> {
        let row = self.row();
        let defined = dtype.computes()
            && match dtype.class() {
                Class::Bool => row.bool.is_some(),
                Class::Unsigned => row.unsigned.is_some(),
                Class::Signed => row.signed.is_some(),
                Class::Float => row.float.is_some(),
                Class::Complex => row.complex.is_some(),
            };
        if !defined {
            return Err(Invalid::Undefined { op: self.name(), dtype });
        }
        Ok(gives(row.gives, dtype))
    }

    /// The function of each pair (none where it is not defined, or the two
    /// classes differ).
    pub fn eval(self, a: &Values, b: &Values) -> Option<Values> {
        let row = self.row();
        macro_rules! zip {
            ($a:expr, $b:expr, $f:expr) => {{
                let f = $f?;
                $a.iter().zip($b).map(|(&x, &y)| f(x, y)).collect()
            }};
        }
        let out = match (a, b) {
            (Values::Bool(a), Values::Bool(b)) => Values::Bool(zip!(a, b, row.bool)),
            (Values::Unsigned(a), Values::Unsigned(b)) => Values::Unsigned(zip!(a, b, row.unsigned)),
            (Values::Signed(a), Values::Signed(b)) => Values::Signed(zip!(a, b, row.signed)),
            (Values::Float(a), Values::Float(b)) => Values::Float(zip!(a, b, row.float)),
            (Values::Complex(a), Values::Complex(b)) => Values::Complex(zip!(a, b, row.complex)),
            _ => return None,
        };
        Some(match row.gives {
            Gives::Bool => out.convert(DType::Bool),
            _ => out,
        })
    }

    /// The function of two real numbers.
    pub fn on_floats(self) -> Option<fn(f64, f64) -> f64> {
        self.row().float
    }

    /// The function of two signed integers.
    pub(crate) fn on_signed(self) -> Option<fn(i64, i64) -> i64> {
        self.row().signed
    }

    /// The function of two unsigned integers.
    pub(crate) fn on_unsigned(self) -> Option<fn(u64, u64) -> u64> {
        self.row().unsigned
    }

    /// The function of two truth values.
    pub(crate) fn on_bools(self) -> Option<fn(bool, bool) -> bool> {
        self.row().bool
    }

    /// The function of two complex numbers.
    pub fn on_complex(self) -> Option<fn(Complex64, Complex64) -> Complex64> {
        self.row().complex
    }

    /// Whether swapping the operands never changes the result.
    pub fn commutes(self) -> bool {
        use BinaryOp::{
            Add, BitwiseAnd, BitwiseOr, BitwiseXor, Equal, LogAddExp, LogicalAnd, LogicalOr, Multiply,
            NotEqual,
        };
        matches!(
            self,
            Add | Multiply
                | Equal
                | NotEqual
                | LogAddExp
                | LogicalAnd
                | LogicalOr
                | BitwiseAnd
                | BitwiseOr
                | BitwiseXor
        )
    }
}

name_attr!(UnaryOp, "a unary function");
name_attr!(BinaryOp, "a binary function");

fn floor_div(a: i64, b: i64) -> i64 {
    if b == 0 {
        return 0;
    }
    let q = a.wrapping_div(b);
    if a.wrapping_rem(b) != 0 && (a < 0) != (b < 0) { q - 1 } else { q }
}

fn wrapping_pow(mut base: u64, mut exponent: u64) -> u64 {
    let mut result = 1u64;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    result
}

fn int_pow(a: i64, b: i64) -> i64 {
    match (a, b) {
        (1, _) => 1,
        (-1, _) => {
            if b % 2 == 0 {
                1
            } else {
                -1
            }
        }
        (_, b) if b < 0 => 0,
        _ => wrapping_pow(a as u64, b as u64) as i64,
    }
}

/// The inverse error function: a rational start (Giles, 2012, "Approximating
/// the erfinv function") sharpened by two Newton steps on `erf`.
fn erf_inv(x: f64) -> f64 {
    if x.abs() >= 1.0 {
        return if x.abs() == 1.0 { x * f64::INFINITY } else { f64::NAN };
    }
    let w = -((1.0 - x) * (1.0 + x)).ln();
    let mut y = if w < 5.0 {
        let w = w - 2.5;
        [
            2.81022636e-08,
            3.43273939e-07,
            -3.5233877e-06,
            -4.39150654e-06,
            0.00021858087,
            -0.00125372503,
            -0.00417768164,
            0.246640727,
            1.50140941,
        ]
        .iter()
        .fold(0.0, |p, c| p * w + c)
    } else {
        let w = w.sqrt() - 3.0;
        [
            -0.000200214257,
            0.000100950558,
            0.00134934322,
            -0.00367342844,
            0.00573950773,
            -0.0076224613,
            0.00943887047,
            1.00167406,
            2.83297682,
        ]
        .iter()
        .fold(0.0, |p, c| p * w + c)
    } * x;
    for _ in 0..2 {
        let error = libm::erf(y) - x;
        y -= error / (std::f64::consts::FRAC_2_SQRT_PI * (-y * y).exp());
    }
    y
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integer_division_by_zero_is_zero() {
        let (a, b) = (Values::Signed(vec![7, -7, 7]), Values::Signed(vec![0, 2, -2]));
        for (op, want) in [
            (BinaryOp::Divide, [0, -3, -3]),
            (BinaryOp::FloorDivide, [0, -4, -4]),
            (BinaryOp::Remainder, [0, 1, -1]),
            (BinaryOp::Fmod, [0, -1, 1]),
        ] {
            assert_eq!(op.eval(&a, &b), Some(Values::Signed(want.to_vec())), "{op:?}");
        }
    }

    #[test]
    fn undefined_types_are_refused() {
        assert!(UnaryOp::Erf.result(DType::I32).is_err());
        assert!(UnaryOp::Neg.result(DType::Bool).is_err());
        assert!(UnaryOp::Exp.result(DType::F8E4M3FN).is_err());
        assert!(BinaryOp::ArcTan2.result(DType::Complex64).is_err());
        assert_eq!(UnaryOp::Abs.result(DType::Complex64), Ok(DType::F32));
        assert_eq!(BinaryOp::Less.result(DType::U8), Ok(DType::Bool));
    }

    #[test]
    fn erf_inverse_inverts() {
        for x in [-0.999_999, -0.5, 0.0, 1e-9, 0.3, 0.99] {
            assert!((libm::erf(erf_inv(x)) - x).abs() < 1e-14, "{x}");
        }
        assert_eq!(erf_inv(1.0), f64::INFINITY);
    }
}
