//! The scalar functions of f32 and f64.

use oneir_ir::{BinaryOp, UnaryOp};
use oneir_tensor::Values;

use super::step::{Map1, StepFn, binary, map1, unary};
use crate::elementary as e;
use crate::simd::{Isa, Level};

/// What f32 and f64 compute alike.
macro_rules! unary_of {
    ($level:expr, $op:expr, $t:ty) => {
        unary! { $level, $op, $t, I;
            Abs => $t, |x| x.abs();
            Neg => $t, |x| -x;
            Sign => $t, |x| if x > 0.0 { 1.0 } else if x < 0.0 { -1.0 } else { x };
            Sqrt => $t, |x| x.sqrt();
            Rsqrt => $t, |x| 1.0 / x.sqrt();
            Square => $t, |x| x * x;
            Reciprocal => $t, |x| 1.0 / x;
            Tan => $t, |x| x.tan();
            ArcSin => $t, |x| x.asin();
            ArcCos => $t, |x| x.acos();
            ArcTan => $t, |x| x.atan();
            ArcTanh => $t, |x| x.atanh();
            Floor => $t, |x| x.floor();
            Ceil => $t, |x| x.ceil();
            Round => $t, |x| x.round_ties_even();
            Trunc => $t, |x| x.trunc();
            IsNan => u8, |x| u8::from(x.is_nan());
            IsInf => u8, |x| u8::from(x.is_infinite());
            LogicalNot => u8, |x| u8::from(x == 0.0);
            Conjugate => $t, |x| x;
            Real => $t, |x| x;
            Imag => $t, |x| 0.0;
        }
    };
}

/// The function of f32 compiled for a level.
pub(super) fn unary_f32(level: Level, op: UnaryOp) -> Option<StepFn> {
    let own = unary! { level, op, f32, I;
        Exp => f32, |x| e::exp::<I>(x);
        Expm1 => f32, |x| e::expm1::<I>(x);
        Log => f32, |x| e::log::<I>(x);
        Log2 => f32, |x| e::log2::<I>(x);
        Log10 => f32, |x| e::log10::<I>(x);
        Log1p => f32, |x| e::log1p::<I>(x);
        Sinh => f32, |x| e::sinh::<I>(x);
        Cosh => f32, |x| e::cosh::<I>(x);
        Tanh => f32, |x| e::tanh::<I>(x);
        Sigmoid => f32, |x| e::sigmoid::<I>(x);
        Erf => f32, |x| e::erf::<I>(x);
        // Steps of f32 lose too many digits near 0 and 1.
        ArcSinh => f32, |x| f64::from(x).asinh() as f32;
        ArcCosh => f32, |x| f64::from(x).acosh() as f32;
        ArcTanh => f32, |x| f64::from(x).atanh() as f32;
    };
    match op {
        UnaryOp::Sin => Some(map1::<Sin>(level)),
        UnaryOp::Cos => Some(map1::<Cos>(level)),
        UnaryOp::ErfInv => Some(rare_f32::<{ Rare::ERF_INV }>),
        UnaryOp::LogGamma => Some(rare_f32::<{ Rare::LOG_GAMMA }>),
        UnaryOp::Digamma => Some(rare_f32::<{ Rare::DIGAMMA }>),
        UnaryOp::Trigamma => Some(rare_f32::<{ Rare::TRIGAMMA }>),
        _ => own.or_else(|| unary_of!(level, op, f32)),
    }
}

/// The function of f64 compiled for a level.
pub(super) fn unary_f64(level: Level, op: UnaryOp) -> Option<StepFn> {
    let own = unary! { level, op, f64, I;
        Exp => f64, |x| x.exp();
        Expm1 => f64, |x| x.exp_m1();
        Log => f64, |x| x.ln();
        Log2 => f64, |x| x.log2();
        Log10 => f64, |x| x.log10();
        Log1p => f64, |x| x.ln_1p();
        Sin => f64, |x| x.sin();
        Cos => f64, |x| x.cos();
        Sinh => f64, |x| x.sinh();
        Cosh => f64, |x| x.cosh();
        Tanh => f64, |x| x.tanh();
        Sigmoid => f64, |x| 1.0 / (1.0 + (-x).exp());
    };
    match op {
        UnaryOp::Erf => Some(rare_f64::<{ Rare::ERF }>),
        UnaryOp::ArcSinh => Some(rare_f64::<{ Rare::ARC_SINH }>),
        UnaryOp::ArcCosh => Some(rare_f64::<{ Rare::ARC_COSH }>),
        UnaryOp::ErfInv => Some(rare_f64::<{ Rare::ERF_INV }>),
        UnaryOp::LogGamma => Some(rare_f64::<{ Rare::LOG_GAMMA }>),
        UnaryOp::Digamma => Some(rare_f64::<{ Rare::DIGAMMA }>),
        UnaryOp::Trigamma => Some(rare_f64::<{ Rare::TRIGAMMA }>),
        _ => own.or_else(|| unary_of!(level, op, f64)),
    }
}

macro_rules! circle {
    ($($name:ident $f:ident;)*) => { $(
        struct $name;

        impl Map1 for $name {
            type A = f32;
            type R = f32;
            const PARTIAL: bool = true;

            #[inline(always)]
            fn eval<I: Isa>(x: f32) -> f32 {
                e::$f::<I>(x)
            }

            #[inline(always)]
            fn outside(x: f32) -> bool {
                x.abs() > e::CIRCLE_LIMIT
            }

            #[inline(always)]
            fn careful(x: f32) -> f32 {
                x.$f()
            }
        }
    )* };
}

circle! {
    Sin sin;
    Cos cos;
}

/// Functions that are computed by their definition.
struct Rare;

impl Rare {
    const ERF: u8 = 0;
    const ERF_INV: u8 = 1;
    const LOG_GAMMA: u8 = 2;
    const DIGAMMA: u8 = 3;
    const TRIGAMMA: u8 = 4;
    const ARC_SINH: u8 = 5;
    const ARC_COSH: u8 = 6;

    fn eval(which: u8, x: Vec<f64>) -> Vec<f64> {
        let op = match which {
            Rare::ERF => UnaryOp::Erf,
            Rare::ERF_INV => UnaryOp::ErfInv,
            Rare::ARC_SINH => UnaryOp::ArcSinh,
            Rare::ARC_COSH => UnaryOp::ArcCosh,
            Rare::DIGAMMA => UnaryOp::Digamma,
            Rare::TRIGAMMA => UnaryOp::Trigamma,
            _ => UnaryOp::LogGamma,
        };
        op.eval(&Values::Float(x)).map(|y| y.to_floats()).unwrap_or_default()
    }
}

/// A rare function of f32.
///
/// # Safety
/// As [`StepFn`].
unsafe fn rare_f32<const WHICH: u8>(args: &[*const u8; 3], out: *mut u8, n: usize) {
    // SAFETY: as the caller promises.
    let x = (0..n).map(|i| f64::from(unsafe { *args[0].cast::<f32>().add(i) })).collect();
    for (i, y) in Rare::eval(WHICH, x).into_iter().enumerate() {
        // SAFETY: as the caller promises.
        unsafe { *out.cast::<f32>().add(i) = y as f32 }
    }
}

/// A rare function of f64.
///
/// # Safety
/// As [`StepFn`].
unsafe fn rare_f64<const WHICH: u8>(args: &[*const u8; 3], out: *mut u8, n: usize) {
    // SAFETY: as the caller promises.
    let x = (0..n).map(|i| unsafe { *args[0].cast::<f64>().add(i) }).collect();
    for (i, y) in Rare::eval(WHICH, x).into_iter().enumerate() {
        // SAFETY: as the caller promises.
        unsafe { *out.cast::<f64>().add(i) = y }
    }
}

macro_rules! binary_of {
    ($level:expr, $op:expr, $t:ty) => {
        binary! { $level, $op, $t, I;
            Add => $t, |a, b| a + b;
            Subtract => $t, |a, b| a - b;
            Multiply => $t, |a, b| a * b;
            Divide => $t, |a, b| a / b;
            // In f64: a quotient that f32 rounds up to an integer would be
            // one too large.
            FloorDivide => $t, |a, b| ((a as f64) / (b as f64)).floor() as $t;
            Remainder => $t, |a, b| {
                let r = a % b;
                if r != 0.0 && (r < 0.0) != (b < 0.0) { r + b } else { r }
            };
            Fmod => $t, |a, b| a % b;
            Maximum => $t, |a, b| if a.is_nan() || a > b { a } else { b };
            Minimum => $t, |a, b| if a.is_nan() || a < b { a } else { b };
            LogAddExp => $t, |a, b| log_add_exp(a as f64, b as f64) as $t;
            ArcTan2 => $t, |a, b| a.atan2(b);
            Equal => u8, |a, b| u8::from(a == b);
            NotEqual => u8, |a, b| u8::from(a != b);
            Less => u8, |a, b| u8::from(a < b);
            LessEqual => u8, |a, b| u8::from(a <= b);
            Greater => u8, |a, b| u8::from(a > b);
            GreaterEqual => u8, |a, b| u8::from(a >= b);
            LogicalAnd => u8, |a, b| u8::from(a != 0.0) & u8::from(b != 0.0);
            LogicalOr => u8, |a, b| u8::from(a != 0.0) | u8::from(b != 0.0);
        }
    };
}

#[inline(always)]
fn log_add_exp(a: f64, b: f64) -> f64 {
    let top = a.max(b);
    if a.is_nan() || b.is_nan() {
        f64::NAN
    } else if top.is_infinite() {
        top
    } else {
        top + (-(a - b).abs()).exp().ln_1p()
    }
}

/// The function of two f32 compiled for a level.
pub(super) fn binary_f32(level: Level, op: BinaryOp) -> Option<StepFn> {
    let own = binary! { level, op, f32, I;
        Power => f32, |a, b| e::pow::<I>(a, b);
    };
    own.or_else(|| binary_of!(level, op, f32))
}

/// The function of two f64 compiled for a level.
#[allow(clippy::unnecessary_cast, reason = "the rows are written for f32 too")]
pub(super) fn binary_f64(level: Level, op: BinaryOp) -> Option<StepFn> {
    let own = binary! { level, op, f64, I;
        Power => f64, |a, b| a.powf(b);
    };
    own.or_else(|| binary_of!(level, op, f64))
}
