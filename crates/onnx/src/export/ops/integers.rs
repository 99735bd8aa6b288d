//! Integer functions in which the standard leaves cases open that Oneir settles.

use oneir_ir::BinaryOp;
use oneir_tensor::DType;

use super::super::draft::Draft;
use super::super::term::Term;

/// The signed or unsigned type of the same size.
fn counterpart(dtype: DType) -> DType {
    match dtype {
        DType::I8 => DType::U8,
        DType::I16 => DType::U16,
        DType::I32 => DType::U32,
        DType::I64 => DType::U64,
        DType::U8 => DType::I8,
        DType::U16 => DType::I16,
        DType::U32 => DType::I32,
        DType::U64 => DType::I64,
        other => other,
    }
}

/// Whether a constant has no zero.
fn never_zero(x: &Term) -> bool {
    let numbers = x.value.as_ref().and_then(|v| v.values().ok()).map(|v| v.to_floats());
    numbers.is_some_and(|all| all.iter().all(|&n| n != 0.0))
}

/// Quotients and remainders, which are 0 for a divisor of 0: the standard leaves them
/// open, and engines stop there.
pub(super) fn divided(d: &mut Draft, op: BinaryOp, a: &Term, b: &Term) -> Term {
    if never_zero(b) {
        return divided_by_some(d, op, a, b);
    }
    let (zero, one) = (d.number(a.dtype, 0.0), d.number(a.dtype, 1.0));
    let nothing = d.test("Equal", b, &zero);
    let some = d.choose(&nothing, &one, b);
    let made = divided_by_some(d, op, a, &some);
    d.choose(&nothing, &zero, &made)
}

fn divided_by_some(d: &mut Draft, op: BinaryOp, a: &Term, b: &Term) -> Term {
    match op {
        BinaryOp::Remainder => d.modulo(a, b, false),
        BinaryOp::Fmod => d.modulo(a, b, true),
        BinaryOp::FloorDivide if a.dtype.is_signed() => {
            // Where something is left and the signs differ, one less.
            let quotient = d.binary("Div", a, b);
            let zero = d.number(a.dtype, 0.0);
            let rest = d.modulo(a, b, false);
            let (even, low) = (d.test("Equal", &rest, &zero), d.test("Less", a, &zero));
            let negative = d.test("Less", b, &zero);
            let (apart, uneven) = (d.test("Xor", &low, &negative), d.unary("Not", &even));
            let more = d.test("And", &apart, &uneven);
            let less = d.cast(&more, a.dtype);
            d.binary("Sub", &quotient, &less)
        }
        _ => d.binary("Div", a, b),
    }
}

/// Powers: in i64 where the operator does not take the type. Negative exponents give
/// what the standard's conversion of the exact power gives.
pub(super) fn power(d: &mut Draft, a: &Term, b: &Term) -> Term {
    let wide = if matches!(a.dtype, DType::I32 | DType::I64) { a.dtype } else { DType::I64 };
    let (base, exponent) = (d.cast(a, wide), d.cast(b, wide));
    let made = d.binary("Pow", &base, &exponent);
    d.cast(&made, a.dtype)
}

/// Shifts: amounts past the width move everything out.
pub(super) fn shifted(d: &mut Draft, op: BinaryOp, a: &Term, b: &Term) -> Term {
    let dtype = a.dtype;
    let bits = dtype.bits() as f64;
    let plain = if dtype.is_signed() { counterpart(dtype) } else { dtype };
    let direction = if op == BinaryOp::ShiftLeft { "LEFT" } else { "RIGHT" };
    let amount = d.cast(b, plain);
    let (limit, zero) = (d.number(plain, bits), d.number(plain, 0.0));
    let fits = amount.value.as_ref().and_then(|v| v.values().ok()).map(|v| v.to_floats());
    let known = fits.is_some_and(|all| all.iter().all(|&n| n < bits));
    let moved = |d: &mut Draft, x: &Term| {
        let shift = |d: &mut Draft, amount: &Term| {
            let term = d.binary("BitShift", x, amount);
            if let Some(node) = d.maker(&term.name) {
                node.attribute = vec![super::super::attribute::string("direction", direction)];
            }
            term
        };
        if known {
            return shift(d, &amount);
        }
        let inside = d.test("Less", &amount, &limit);
        let some = d.choose(&inside, &amount, &zero);
        let made = shift(d, &some);
        d.choose(&inside, &made, &zero)
    };
    if !dtype.is_signed() {
        return moved(d, a);
    }
    if op == BinaryOp::ShiftLeft {
        let x = d.cast(a, plain);
        let made = moved(d, &x);
        return d.cast(&made, dtype);
    }
    // Of a negative number, the bits that move in are set.
    let none = d.number(dtype, 0.0);
    let negative = d.test("Less", a, &none);
    let flipped = d.unary("BitwiseNot", a);
    let positive = d.choose(&negative, &flipped, a);
    let x = d.cast(&positive, plain);
    let made = moved(d, &x);
    let made = d.cast(&made, dtype);
    let back = d.unary("BitwiseNot", &made);
    d.choose(&negative, &back, &made)
}
