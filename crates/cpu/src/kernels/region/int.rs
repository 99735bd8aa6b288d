//! The scalar functions of integers and truth values.

use oneir_ir::{BinaryOp, UnaryOp};

use super::step::{StepFn, binary, unary};
use crate::simd::Level;

macro_rules! shared_unary {
    ($level:expr, $op:expr, $t:ty) => {
        unary! { $level, $op, $t, I;
            Floor => $t, |x| x;
            Ceil => $t, |x| x;
            Round => $t, |x| x;
            Trunc => $t, |x| x;
            Square => $t, |x| x.wrapping_mul(x);
            IsNan => u8, |x| 0;
            IsInf => u8, |x| 0;
            LogicalNot => u8, |x| u8::from(x == 0);
            BitwiseNot => $t, |x| !x;
            Conjugate => $t, |x| x;
            Real => $t, |x| x;
            Imag => $t, |x| 0;
        }
    };
}

macro_rules! shared_binary {
    ($level:expr, $op:expr, $t:ty) => {
        binary! { $level, $op, $t, I;
            Add => $t, |a, b| a.wrapping_add(b);
            Subtract => $t, |a, b| a.wrapping_sub(b);
            Multiply => $t, |a, b| a.wrapping_mul(b);
            Maximum => $t, |a, b| a.max(b);
            Minimum => $t, |a, b| a.min(b);
            Equal => u8, |a, b| u8::from(a == b);
            NotEqual => u8, |a, b| u8::from(a != b);
            Less => u8, |a, b| u8::from(a < b);
            LessEqual => u8, |a, b| u8::from(a <= b);
            Greater => u8, |a, b| u8::from(a > b);
            GreaterEqual => u8, |a, b| u8::from(a >= b);
            LogicalAnd => u8, |a, b| u8::from(a != 0) & u8::from(b != 0);
            LogicalOr => u8, |a, b| u8::from(a != 0) | u8::from(b != 0);
            BitwiseAnd => $t, |a, b| a & b;
            BitwiseOr => $t, |a, b| a | b;
            BitwiseXor => $t, |a, b| a ^ b;
        }
    };
}

macro_rules! signed {
    ($($t:ident $u:ident $unary:ident $binary:ident;)*) => { $(
        /// The function compiled for a level.
        pub(super) fn $unary(level: Level, op: UnaryOp) -> Option<StepFn> {
            let own = unary! { level, op, $t, I;
                Abs => $t, |x| x.wrapping_abs();
                Neg => $t, |x| x.wrapping_neg();
                Sign => $t, |x| x.signum();
            };
            own.or_else(|| shared_unary!(level, op, $t))
        }

        /// The function compiled for a level.
        pub(super) fn $binary(level: Level, op: BinaryOp) -> Option<StepFn> {
            let own = binary! { level, op, $t, I;
                Divide => $t, |a, b| if b == 0 { 0 } else { a.wrapping_div(b) };
                FloorDivide => $t, |a, b| {
                    if b == 0 {
                        0
                    } else {
                        let (q, r) = (a.wrapping_div(b), a.wrapping_rem(b));
                        if r != 0 && (a < 0) != (b < 0) { q.wrapping_sub(1) } else { q }
                    }
                };
                Remainder => $t, |a, b| {
                    if b == 0 {
                        0
                    } else {
                        let r = a.wrapping_rem(b);
                        if r != 0 && (a < 0) != (b < 0) { r.wrapping_add(b) } else { r }
                    }
                };
                Fmod => $t, |a, b| if b == 0 { 0 } else { a.wrapping_rem(b) };
                Power => $t, |a, b| match (a, b) {
                    (1, _) => 1,
                    (-1, _) => if b & 1 == 0 { 1 } else { -1 },
                    (_, b) if b < 0 => 0,
                    _ => wrapping_pow(a as u64, b as u64) as $t,
                };
                ShiftLeft => $t, |a, b| {
                    if (b as $u) < $u::BITS as $u { a.wrapping_shl(b as u32) } else { 0 }
                };
                ShiftRight => $t, |a, b| {
                    a.wrapping_shr(if (b as $u) < $u::BITS as $u { b as u32 } else { $u::BITS - 1 })
                };
            };
            own.or_else(|| shared_binary!(level, op, $t))
        }
    )* };
}

signed! {
    i8 u8 unary_i8 binary_i8;
    i16 u16 unary_i16 binary_i16;
    i32 u32 unary_i32 binary_i32;
    i64 u64 unary_i64 binary_i64;
}

macro_rules! unsigned {
    ($($t:ident $unary:ident $binary:ident;)*) => { $(
        /// The function compiled for a level.
        pub(super) fn $unary(level: Level, op: UnaryOp) -> Option<StepFn> {
            let own = unary! { level, op, $t, I;
                Abs => $t, |x| x;
                Neg => $t, |x| x.wrapping_neg();
                Sign => $t, |x| $t::from(x != 0);
            };
            own.or_else(|| shared_unary!(level, op, $t))
        }

        /// The function compiled for a level.
        pub(super) fn $binary(level: Level, op: BinaryOp) -> Option<StepFn> {
            let own = binary! { level, op, $t, I;
                Divide => $t, |a, b| a.checked_div(b).unwrap_or(0);
                FloorDivide => $t, |a, b| a.checked_div(b).unwrap_or(0);
                Remainder => $t, |a, b| a.checked_rem(b).unwrap_or(0);
                Fmod => $t, |a, b| a.checked_rem(b).unwrap_or(0);
                Power => $t, |a, b| wrapping_pow(a as u64, b as u64) as $t;
                ShiftLeft => $t, |a, b| if b < $t::BITS as $t { a.wrapping_shl(b as u32) } else { 0 };
                ShiftRight => $t, |a, b| if b < $t::BITS as $t { a.wrapping_shr(b as u32) } else { 0 };
            };
            own.or_else(|| shared_binary!(level, op, $t))
        }
    )* };
}

unsigned! {
    u8 unary_u8 binary_u8;
    u16 unary_u16 binary_u16;
    u32 unary_u32 binary_u32;
    u64 unary_u64 binary_u64;
}

/// Low bits of a power depend on low bits alone.
#[inline(always)]
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

/// The function of truth values (0 or 1) compiled for a level.
pub(super) fn unary_bool(level: Level, op: UnaryOp) -> Option<StepFn> {
    unary! { level, op, u8, I;
        Abs => u8, |x| x;
        Floor => u8, |x| x;
        Ceil => u8, |x| x;
        Round => u8, |x| x;
        Trunc => u8, |x| x;
        IsNan => u8, |x| 0;
        IsInf => u8, |x| 0;
        LogicalNot => u8, |x| x ^ 1;
        BitwiseNot => u8, |x| x ^ 1;
        Sign => u8, |x| x;
        Square => u8, |x| x;
        Conjugate => u8, |x| x;
        Real => u8, |x| x;
        Imag => u8, |x| 0;
    }
}

/// The function of two truth values (0 or 1) compiled for a level.
pub(super) fn binary_bool(level: Level, op: BinaryOp) -> Option<StepFn> {
    binary! { level, op, u8, I;
        Add => u8, |a, b| a | b;
        Subtract => u8, |a, b| a ^ b;
        Multiply => u8, |a, b| a & b;
        FloorDivide => u8, |a, b| a & b;
        Remainder => u8, |a, b| 0;
        Power => u8, |a, b| a | (b ^ 1);
        Maximum => u8, |a, b| a | b;
        Minimum => u8, |a, b| a & b;
        Equal => u8, |a, b| a ^ b ^ 1;
        NotEqual => u8, |a, b| a ^ b;
        Less => u8, |a, b| (a ^ 1) & b;
        LessEqual => u8, |a, b| (a ^ 1) | b;
        Greater => u8, |a, b| a & (b ^ 1);
        GreaterEqual => u8, |a, b| a | (b ^ 1);
        LogicalAnd => u8, |a, b| a & b;
        LogicalOr => u8, |a, b| a | b;
        BitwiseAnd => u8, |a, b| a & b;
        BitwiseOr => u8, |a, b| a | b;
        BitwiseXor => u8, |a, b| a ^ b;
    }
}
