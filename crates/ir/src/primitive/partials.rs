//! Derivatives of the scalar functions, element by element.

use std::f64::consts::{FRAC_2_SQRT_PI, LN_2, LN_10, PI};

use oneir_tensor::DType;

use super::transforms::Partial;
use crate::scalar::{BinaryOp, UnaryOp};
use crate::{Invalid, Value, gamma};

impl Value {
    fn plus(&self, number: f64) -> Result<Value, Invalid> {
        self.add(&self.filled_like(number)?)
    }

    fn times(&self, number: f64) -> Result<Value, Invalid> {
        self.multiply(&self.filled_like(number)?)
    }
}

/// The derivative of a real or holomorphic function at x, where it gives y; none
/// where no function here says it.
pub(super) fn of_unary(op: UnaryOp, x: &Value, y: &Value) -> Result<Option<Partial>, Invalid> {
    use UnaryOp::{
        Abs, ArcCos, ArcCosh, ArcSin, ArcSinh, ArcTan, ArcTanh, BitwiseNot, Ceil, Conjugate, Cos, Cosh,
        Digamma, Erf, ErfInv, Exp, Expm1, Floor, Imag, IsInf, IsNan, Log, Log1p, Log2, Log10, LogGamma,
        LogicalNot, Neg, Real, Reciprocal, Round, Rsqrt, Sigmoid, Sign, Sin, Sinh, Sqrt, Square, Tan, Tanh,
        Trigamma, Trunc,
    };
    let squared = || x.unary(Square);
    let factor = match op {
        // By `trigamma`.
        Trigamma => return Ok(None),
        Sign | Floor | Ceil | Round | Trunc | IsNan | IsInf | LogicalNot | BitwiseNot | Imag => {
            return Ok(Some(Partial::Zero));
        }
        Conjugate | Real => return Ok(Some(Partial::One)),
        Neg => return Ok(Some(Partial::MinusOne)),
        Abs => x.unary(Sign)?,
        Sqrt => y.unary(Reciprocal)?.times(0.5)?,
        Rsqrt => y.unary(Square)?.multiply(y)?.times(-0.5)?,
        Square => x.times(2.0)?,
        Reciprocal => y.unary(Square)?.unary(Neg)?,
        Exp => y.clone(),
        Expm1 => x.unary(Exp)?,
        Log => x.unary(Reciprocal)?,
        Log2 => x.times(LN_2)?.unary(Reciprocal)?,
        Log10 => x.times(LN_10)?.unary(Reciprocal)?,
        Log1p => x.plus(1.0)?.unary(Reciprocal)?,
        Sin => x.unary(Cos)?,
        Cos => x.unary(Sin)?.unary(Neg)?,
        Tan => y.unary(Square)?.plus(1.0)?,
        ArcSin => squared()?.unary(Neg)?.plus(1.0)?.unary(Rsqrt)?,
        ArcCos => squared()?.unary(Neg)?.plus(1.0)?.unary(Rsqrt)?.unary(Neg)?,
        ArcTan => squared()?.plus(1.0)?.unary(Reciprocal)?,
        Sinh => x.unary(Cosh)?,
        Cosh => x.unary(Sinh)?,
        Tanh => y.unary(Square)?.unary(Neg)?.plus(1.0)?,
        ArcSinh => squared()?.plus(1.0)?.unary(Rsqrt)?,
        // The product of roots: the complex function's cuts are theirs.
        ArcCosh => x.plus(-1.0)?.unary(Rsqrt)?.multiply(&x.plus(1.0)?.unary(Rsqrt)?)?,
        ArcTanh => squared()?.unary(Neg)?.plus(1.0)?.unary(Reciprocal)?,
        Sigmoid => y.multiply(&y.unary(Neg)?.plus(1.0)?)?,
        Erf => squared()?.unary(Neg)?.unary(Exp)?.times(FRAC_2_SQRT_PI)?,
        LogGamma => x.unary(Digamma)?,
        Digamma => x.unary(Trigamma)?,
        ErfInv => y.unary(Square)?.unary(Exp)?.times(1.0 / FRAC_2_SQRT_PI)?,
    };
    Ok(Some(Partial::Times(factor)))
}

/// ψ'(x) of functions that have derivatives: of any order, as those of the logarithm
/// of the gamma function never end.
pub(super) fn trigamma(x: &Value) -> Result<Value, Invalid> {
    use BinaryOp::LessEqual;
    use UnaryOp::{Reciprocal, Round, Sin, Square};
    let dtype = x.spec().dtype;
    let x = &if dtype.is_half() { x.as_type(DType::F32)? } else { x.clone() };
    let mirrored = x.binary(LessEqual, &x.filled_like(0.0)?)?;
    let positive = mirrored.select(&x.times(-1.0)?.plus(1.0)?, x)?;
    // ψ'(x) = ψ'(x + 1) + 1 / x², until x is far enough for the series.
    let mut sum = positive.unary(Square)?.unary(Reciprocal)?;
    for step in 1..gamma::STEPS {
        sum = sum.add(&positive.plus(step as f64)?.unary(Square)?.unary(Reciprocal)?)?;
    }
    let inverse = positive.plus(gamma::STEPS as f64)?.unary(Reciprocal)?;
    let square = inverse.unary(Square)?;
    let mut series = square.filled_like(0.0)?;
    for term in gamma::TRIGAMMA.iter().rev() {
        series = series.plus(*term)?.multiply(&square)?;
    }
    let sum = sum.add(&inverse)?.add(&square.times(0.5)?)?.add(&series.multiply(&inverse)?)?;
    // ψ'(x) = (π / sin πx)² - ψ'(1 - x). The angle of another x is any that has a sine.
    let turned = x.subtract(&x.unary(Round)?)?.times(PI)?;
    let angle = mirrored.select(&turned, &x.filled_like(1.0)?)?;
    let part = angle.unary(Sin)?.unary(Reciprocal)?.times(PI)?.unary(Square)?;
    mirrored.select(&part.subtract(&sum)?, &sum)?.as_type(dtype)
}

/// The derivative of a function of a and b by operand `k`, where it gives y. Where
/// both extremes are equal each counts half.
pub(super) fn of_binary(op: BinaryOp, k: usize, a: &Value, b: &Value, y: &Value) -> Result<Partial, Invalid> {
    use BinaryOp::{
        Add, ArcTan2, BitwiseAnd, BitwiseOr, BitwiseXor, Divide, Equal, FloorDivide, Fmod, Greater,
        GreaterEqual, Less, LessEqual, LogAddExp, LogicalAnd, LogicalOr, Maximum, Minimum, Multiply,
        NotEqual, Power, Remainder, ShiftLeft, ShiftRight, Subtract,
    };
    use UnaryOp::{Floor, IsInf, Log, Neg, Reciprocal, Sigmoid, Square, Trunc};
    let (this, other) = if k == 0 { (a, b) } else { (b, a) };
    let won = |beats: BinaryOp| -> Result<Value, Invalid> {
        let (zero, half, one) = (this.filled_like(0.0)?, this.filled_like(0.5)?, this.filled_like(1.0)?);
        let rest = this.binary(Equal, other)?.select(&half, &zero)?;
        this.binary(beats, other)?.select(&one, &rest)
    };
    let factor = match (op, k) {
        (Add, _) | (Subtract | Remainder | Fmod, 0) => return Ok(Partial::One),
        (Subtract, _) => return Ok(Partial::MinusOne),
        (Multiply, _) => other.clone(),
        (Divide, 0) => b.unary(Reciprocal)?,
        (Divide, _) => y.divide(b)?.unary(Neg)?,
        (Remainder, _) => a.divide(b)?.unary(Floor)?.unary(Neg)?,
        (Fmod, _) => a.divide(b)?.unary(Trunc)?.unary(Neg)?,
        (Power, 0) => {
            // 0 times an infinity is no number; the derivative of a constant is 0.
            let slope = b.multiply(&a.binary(Power, &b.plus(-1.0)?)?)?;
            b.binary(Equal, &b.filled_like(0.0)?)?.select(&b.filled_like(0.0)?, &slope)?
        }
        (Power, _) => {
            let slope = y.multiply(&a.unary(Log)?)?;
            a.binary(Equal, &a.filled_like(0.0)?)?.select(&a.filled_like(0.0)?, &slope)?
        }
        (Maximum, _) => won(Greater)?,
        (Minimum, _) => won(Less)?,
        (LogAddExp, _) => {
            // Of equal infinities, which have no difference, each counts half.
            let alike = this.binary(Equal, other)?.binary(LogicalAnd, &this.unary(IsInf)?)?;
            alike.select(&this.filled_like(0.0)?, &this.subtract(other)?)?.unary(Sigmoid)?
        }
        (ArcTan2, _) => {
            let size = a.unary(Square)?.add(&b.unary(Square)?)?;
            if k == 0 { b.divide(&size)? } else { a.divide(&size)?.unary(Neg)? }
        }
        (
            FloorDivide | Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual | LogicalAnd
            | LogicalOr | BitwiseAnd | BitwiseOr | BitwiseXor | ShiftLeft | ShiftRight,
            _,
        ) => return Ok(Partial::Zero),
    };
    Ok(Partial::Times(factor))
}
