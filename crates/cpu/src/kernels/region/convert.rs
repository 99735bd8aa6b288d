//! Conversions between element types. In tiles a half is an f32 that the half
//! type can hold, and a truth value a byte that is 0 or 1.

use oneir_tensor::{DType, odd_bits, odd_f32};

use super::step::{Map1, StepFn, map_in_place, map1, select_of};
use crate::elementary::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use crate::simd::{Isa, Level};

/// The type that elements of a dtype have in a tile; `None` where this family
/// does not compute.
pub(super) fn in_tile(dtype: DType) -> Option<DType> {
    match dtype {
        DType::F16 | DType::BF16 => Some(DType::F32),
        DType::Complex64 => None,
        other => other.computes().then_some(other),
    }
}

macro_rules! kernel {
    ($level:expr, $from:ty => $to:ty, |$x:ident| $body:expr) => {
        kernel!($level, map1, $from => $to, |$x| $body)
    };
    ($level:expr, $make:ident, $from:ty => $to:ty, |$x:ident| $body:expr) => {{
        struct K;
        impl Map1 for K {
            type A = $from;
            type R = $to;

            #[inline(always)]
            fn eval<I: Isa>($x: $from) -> $to {
                $body
            }
        }
        $make::<K>($level)
    }};
}

macro_rules! casts {
    ($level:expr, $pair:expr; $($from:ident $f:ty => [$($to:ident $t:ty),*];)*) => {
        match $pair {
            $($((DType::$from, DType::$to) => Some(kernel!($level, $f => $t, |x| x as $t)),)*)*
            _ => None,
        }
    };
}

macro_rules! casts_to_all {
    ($level:expr, $pair:expr; $($from:ident $f:ty;)*) => {
        casts! { $level, $pair; $(
            $from $f => [U8 u8, U16 u16, U32 u32, U64 u64, I8 i8, I16 i16, I32 i32, I64 i64, F32 f32, F64 f64];
        )* }
    };
}

/// From one tile type to another: float to integer truncates and saturates,
/// NaN to 0; integers wrap; to bool is "not zero".
pub(super) fn cast(level: Level, from: DType, to: DType) -> Option<StepFn> {
    if to == DType::Bool {
        return Some(match from {
            DType::Bool => kernel!(level, u8 => u8, |x| x),
            DType::U8 | DType::I8 => kernel!(level, u8 => u8, |x| u8::from(x != 0)),
            DType::U16 | DType::I16 => kernel!(level, u16 => u8, |x| u8::from(x != 0)),
            DType::U32 | DType::I32 => kernel!(level, u32 => u8, |x| u8::from(x != 0)),
            DType::U64 | DType::I64 => kernel!(level, u64 => u8, |x| u8::from(x != 0)),
            DType::F32 => kernel!(level, f32 => u8, |x| u8::from(x != 0.0)),
            DType::F64 => kernel!(level, f64 => u8, |x| u8::from(x != 0.0)),
            _ => return None,
        });
    }
    let from = if from == DType::Bool { DType::U8 } else { from };
    casts_to_all! { level, (from, to);
        U8 u8; U16 u16; U32 u32; U64 u64; I8 i8; I16 i16; I32 i32; I64 i64; F32 f32; F64 f64;
    }
}

#[inline(always)]
fn odd(magnitude: u64, sign: f32) -> f32 {
    sign * odd_bits(magnitude, f32::MANTISSA_DIGITS) as f32
}

/// To the f32 from which a half is rounded: what that does not hold leaves its lowest
/// bit set, so that the half is the one nearest to the number itself.
pub(super) fn cast_to_half(level: Level, from: DType) -> Option<StepFn> {
    Some(match from {
        DType::F64 => kernel!(level, f64 => f32, |x| odd_f32(x)),
        DType::U32 => kernel!(level, u32 => f32, |x| odd(u64::from(x), 1.0)),
        DType::U64 => kernel!(level, u64 => f32, |x| odd(x, 1.0)),
        DType::I32 => {
            kernel!(level, i32 => f32, |x| odd(u64::from(x.unsigned_abs()), f32::from(x.signum() as i8)))
        }
        DType::I64 => kernel!(level, i64 => f32, |x| odd(x.unsigned_abs(), f32::from(x.signum() as i8))),
        // All of what these hold is an f32.
        _ => return cast(level, from, DType::F32),
    })
}

/// A choice between two tiles of elements of `bytes` bytes.
pub(super) fn select(level: Level, bytes: usize) -> Option<StepFn> {
    Some(match bytes {
        1 => select_of::<u8>(level),
        2 => select_of::<u16>(level),
        4 => select_of::<u32>(level),
        8 => select_of::<u64>(level),
        _ => return None,
    })
}

/// Halves in memory to the f32 of a tile.
pub(super) fn widen(level: Level, half: DType) -> StepFn {
    match half {
        DType::F16 => kernel!(level, u16 => f32, |x| f16_to_f32(x)),
        _ => kernel!(level, u16 => f32, |x| bf16_to_f32(x)),
    }
}

/// The f32 of a tile to halves in memory.
pub(super) fn narrow(level: Level, half: DType) -> StepFn {
    match half {
        DType::F16 => kernel!(level, f32 => u16, |x| f32_to_f16(x)),
        _ => kernel!(level, f32 => u16, |x| f32_to_bf16(x)),
    }
}

/// The f32 of the target tile, rounded there to what a half can hold.
pub(super) fn round(level: Level, half: DType) -> StepFn {
    match half {
        DType::F16 => kernel!(level, map_in_place, f32 => f32, |x| f16_to_f32(f32_to_f16(x))),
        _ => kernel!(level, map_in_place, f32 => f32, |x| bf16_to_f32(f32_to_bf16(x))),
    }
}
