//! Elementary functions of f32 without branches, so that loops over them
//! become vector code, and the conversions of halves.
//!
//! Polynomials were fitted for this crate: minimax by Lawson's reweighted least
//! squares on Chebyshev nodes, in f64, then rounded. Range reductions are the
//! classical ones (Cody and Waite, "Software Manual for the Elementary
//! Functions", 1980).

use crate::simd::{Float, Isa};

/// A polynomial by Horner's rule, the highest coefficient first.
#[inline(always)]
fn poly<T: Float, I: Isa, const N: usize>(x: T, coefficients: [f64; N]) -> T {
    let mut sum = T::from_f64(coefficients[0]);
    let mut i = 1;
    while i < N {
        sum = T::fma::<I>(sum, x, T::from_f64(coefficients[i]));
        i += 1;
    }
    sum
}

/// Adding this to a small f32 leaves its nearest integer in the low bits.
const MAGIC: f32 = 12_582_912.0;
/// As [`MAGIC`], of f64.
const MAGIC_64: f64 = 6_755_399_441_055_744.0;

/// ln 2 in two parts; the first has 9 bits, so that its multiples are exact.
const LN_2: [f32; 2] = [355.0 / 512.0, -2.121_944_4e-4];

/// 2^n for n in -126..=127.
#[inline(always)]
fn pow2(n: i32) -> f32 {
    f32::from_bits(((n + 127) as u32) << 23)
}

/// e to the x: x = n·ln 2 + r, then e^r by a polynomial of degree 6.
#[inline(always)]
pub(crate) fn exp<I: Isa>(x: f32) -> f32 {
    // Past these the result is infinite or 0 anyway; NaN passes both.
    let x = if x > 89.0 { 89.0 } else { x };
    let x = if x < -104.0 { -104.0 } else { x };
    let shifted = f32::fma::<I>(x, std::f32::consts::LOG2_E, MAGIC);
    let n = (shifted.to_bits() as i32).wrapping_sub(MAGIC.to_bits() as i32);
    let count = shifted - MAGIC;
    let r = f32::fma::<I>(count, -LN_2[0], x);
    let r = f32::fma::<I>(count, -LN_2[1], r);
    let p = poly::<f32, I, 5>(
        r,
        [0.0013951719738543034, 0.008369598537683487, 0.0416661873459816, 0.16666512191295624, 0.5],
    );
    let e = f32::fma::<I>(p, r * r, r) + 1.0;
    // In two factors, so that neither leaves the range of exponents. NaN
    // leaves anything in n.
    let half = (n >> 1).clamp(-100, 100);
    let rest = n.wrapping_sub(half).clamp(-100, 100);
    e * pow2(half) * pow2(rest)
}

/// x = m · 2^e with m in [√½, √2), of a positive normal x.
#[inline(always)]
fn split(x: f32) -> (f32, f32) {
    const ROOT: u32 = 0x3F35_04F3;
    let moved = x.to_bits().wrapping_sub(ROOT);
    let e = (moved as i32) >> 23;
    let m = f32::from_bits((moved & 0x007F_FFFF).wrapping_add(ROOT));
    (m, e as f32)
}

/// Natural logarithm: ln x = e·ln 2 + ln m, m within √2 of 1.
#[inline(always)]
pub(crate) fn log<I: Isa>(x: f32) -> f32 {
    let small = x < f32::MIN_POSITIVE;
    let scaled = if small { x * 8_388_608.0 } else { x };
    let (m, e) = split(scaled);
    let e = if small { e - 23.0 } else { e };
    let f = m - 1.0;
    let z = f * f;
    let q = poly::<f32, I, 9>(
        f,
        [
            0.06915424764156342,
            -0.1178983524441719,
            0.11872965842485428,
            -0.12384343147277832,
            0.14218658208847046,
            -0.16669251024723053,
            0.20002226531505585,
            -0.24999986588954926,
            0.3333331048488617,
        ],
    );
    let tail = f32::fma::<I>(e, LN_2[1], f * z * q);
    let tail = f32::fma::<I>(z, -0.5, tail);
    let y = f32::fma::<I>(e, LN_2[0], f + tail);
    let y = if x == f32::INFINITY { x } else { y };
    let y = if x == 0.0 { f32::NEG_INFINITY } else { y };
    if x >= 0.0 { y } else { f32::NAN }
}

/// Hyperbolic tangent: odd polynomial below 0.625, else 1 - 2 / (e^2|x| + 1).
#[inline(always)]
pub(crate) fn tanh<I: Isa>(x: f32) -> f32 {
    let a = x.abs();
    let z = x * x;
    let p = poly::<f32, I, 5>(
        z,
        [
            -0.005717044696211815,
            0.020650586113333702,
            -0.05374349653720856,
            0.13331490755081177,
            -0.3333328366279602,
        ],
    );
    let near = f32::fma::<I>(x * z, p, x);
    let far = 1.0 - 2.0 / (exp::<I>(a + a) + 1.0);
    let y = if a < 0.625 { near } else { far };
    y.copysign(x)
}

/// 1 / (1 + e^-x), from e^-|x| so that neither side loses digits.
#[inline(always)]
pub(crate) fn sigmoid<I: Isa>(x: f32) -> f32 {
    let e = exp::<I>(-x.abs());
    let top = if x < 0.0 { e } else { 1.0 };
    top / (1.0 + e)
}

/// The error function: odd polynomial below 0.93, else 1 - e^-t·(1 + h(t)).
#[inline(always)]
pub(crate) fn erf<I: Isa>(x: f32) -> f32 {
    let a = x.abs();
    let z = x * x;
    let q = poly::<f32, I, 6>(
        z,
        [
            -0.0005976893589831889,
            0.00499098002910614,
            -0.02676556631922722,
            0.11281802505254745,
            -0.37612494826316833,
            0.12837915122509003,
        ],
    );
    let near = f32::fma::<I>(q, x, x);
    // From 4 on the result is 1.
    let t = if a > 4.0 { 4.0 } else { a };
    let h = poly::<f32, I, 7>(
        t,
        [
            1.1522274689923506e-05,
            -0.00032565256697125733,
            0.003653763560578227,
            -0.023785345256328583,
            0.10626314580440521,
            0.6351358890533447,
            0.1286521553993225,
        ],
    );
    let far = 1.0 - exp::<I>(-f32::fma::<I>(h, t, t));
    let y = if a < 0.93 { near } else { far };
    y.copysign(x)
}

/// Up to here [`sin`] and [`cos`] hold.
pub(crate) const CIRCLE_LIMIT: f32 = 1e6;

/// x less the nearest multiple of π/2, and which multiple.
#[inline(always)]
fn quarter<I: Isa>(x: f32) -> (f32, i32) {
    let x = f64::from(x);
    let shifted = f64::fma::<I>(x, std::f64::consts::FRAC_2_PI, MAGIC_64);
    let n = shifted.to_bits() as i32;
    let count = shifted - MAGIC_64;
    // π/2 in two parts; the first has 33 bits, so that its multiples are exact.
    let r = f64::fma::<I>(count, -1.570_796_326_734_125_6, x);
    (f64::fma::<I>(count, -6.077_100_506_506_192e-11, r) as f32, n)
}

#[inline(always)]
fn circle<I: Isa>(r: f32, n: i32) -> f32 {
    let z = r * r;
    let s = poly::<f32, I, 4>(
        z,
        [2.71823728326126e-06, -0.00019839327433146536, 0.008333329111337662, -0.1666666716337204],
    );
    let s = f32::fma::<I>(s, z * r, r);
    let c = poly::<f32, I, 3>(z, [2.4437729734927416e-05, -0.001388736185617745, 0.04166664555668831]);
    let c = f32::fma::<I>(c, z * z, f32::fma::<I>(z, -0.5, 1.0));
    let y = if n & 1 == 0 { s } else { c };
    f32::from_bits(y.to_bits() ^ (((n & 2) as u32) << 30))
}

/// Sine of radians up to [`CIRCLE_LIMIT`].
#[inline(always)]
pub(crate) fn sin<I: Isa>(x: f32) -> f32 {
    let (r, n) = quarter::<I>(x);
    // -0 keeps its sign.
    if x == 0.0 { x } else { circle::<I>(r, n) }
}

/// Cosine of radians up to [`CIRCLE_LIMIT`].
#[inline(always)]
pub(crate) fn cos<I: Isa>(x: f32) -> f32 {
    let (r, n) = quarter::<I>(x);
    circle::<I>(r, n.wrapping_add(1))
}

/// 2^t in f64 to about 1e-11, for results that are rounded to f32.
#[inline(always)]
fn exp2_wide<I: Isa>(t: f64) -> f64 {
    let t = if t > 1000.0 { 1000.0 } else { t };
    let t = if t < -1000.0 { -1000.0 } else { t };
    let shifted = t + MAGIC_64;
    let n = (shifted.to_bits() as i64).wrapping_sub(MAGIC_64.to_bits() as i64);
    let f = (t - (shifted - MAGIC_64)) * std::f64::consts::LN_2;
    // The series of e^f: |f| is below 0.35.
    let p = poly::<f64, I, 10>(
        f,
        [
            1.0 / 362_880.0,
            1.0 / 40_320.0,
            1.0 / 5_040.0,
            1.0 / 720.0,
            1.0 / 120.0,
            1.0 / 24.0,
            1.0 / 6.0,
            0.5,
            1.0,
            1.0,
        ],
    );
    p * f64::from_bits(((n + 1023) as u64) << 52)
}

/// Logarithm to base 2 in f64 to about 1e-12, of x ≥ 0 that is 0, normal or
/// infinite.
#[inline(always)]
fn log2_wide<I: Isa>(x: f64) -> f64 {
    const ROOT: u64 = 0x3FE6_A09E_667F_3BCD;
    let moved = x.to_bits().wrapping_sub(ROOT);
    // An i64 to f64 without a conversion that vectors lack.
    let e = (moved as i64) >> 52;
    let e = f64::from_bits((e as u64).wrapping_add(MAGIC_64.to_bits())) - MAGIC_64;
    let m = f64::from_bits((moved & ((1 << 52) - 1)).wrapping_add(ROOT));
    // 2·artanh((m - 1) / (m + 1)), by its series.
    let s = (m - 1.0) / (m + 1.0);
    let z = s * s;
    let p = poly::<f64, I, 7>(z, [1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0]);
    let y = f64::fma::<I>(p, s * (2.0 * std::f64::consts::LOG2_E), e);
    let y = if x == 0.0 { f64::NEG_INFINITY } else { y };
    if x < f64::INFINITY { y } else { x }
}

/// a to the b, with the special cases of IEEE 754.
#[inline(always)]
pub(crate) fn pow<I: Isa>(a: f32, b: f32) -> f32 {
    let (x, y) = (f64::from(a), f64::from(b));
    let p = exp2_wide::<I>(y * log2_wide::<I>(x.abs())) as f32;
    let whole = |v: f64| (v + MAGIC_64) - MAGIC_64 == v || v.abs() >= MAGIC_64;
    let odd = whole(y) && !whole(y * 0.5);
    let whole = whole(y);
    let p = if odd { p.copysign(a) } else { p };
    let p = if a < 0.0 && a > f32::NEG_INFINITY && !whole { f32::NAN } else { p };
    let p = if a == -1.0 && b.abs() == f32::INFINITY { 1.0 } else { p };
    if a == 1.0 || b == 0.0 { 1.0 } else { p }
}

/// Logarithm to base 2.
#[inline(always)]
pub(crate) fn log2<I: Isa>(x: f32) -> f32 {
    let y = log2_wide::<I>(f64::from(x.abs())) as f32;
    if x >= 0.0 { y } else { f32::NAN }
}

/// Logarithm to base 10.
#[inline(always)]
pub(crate) fn log10<I: Isa>(x: f32) -> f32 {
    let y = (log2_wide::<I>(f64::from(x.abs())) * std::f64::consts::LOG10_2) as f32;
    if x >= 0.0 { y } else { f32::NAN }
}

/// Natural logarithm of 1 + x.
#[inline(always)]
pub(crate) fn log1p<I: Isa>(x: f32) -> f32 {
    let w = f64::from(x);
    let far = log2_wide::<I>((1.0 + w).abs()) * std::f64::consts::LN_2;
    let near = w - w * w * (0.5 - w * (1.0 / 3.0));
    let y = if x.abs() < 1e-4 { near } else { far } as f32;
    let y = if x == 0.0 { x } else { y };
    if x >= -1.0 { y } else { f32::NAN }
}

/// e to the x, minus 1.
#[inline(always)]
pub(crate) fn expm1<I: Isa>(x: f32) -> f32 {
    let w = f64::from(x);
    let far = exp2_wide::<I>(w * std::f64::consts::LOG2_E) - 1.0;
    let near = poly::<f64, I, 5>(w, [1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0]) * w;
    let y = if x.abs() < 0.01 { near } else { far } as f32;
    if x == 0.0 { x } else { y }
}

/// Hyperbolic sine.
#[inline(always)]
pub(crate) fn sinh<I: Isa>(x: f32) -> f32 {
    let w = f64::from(x);
    let e = exp2_wide::<I>(w * std::f64::consts::LOG2_E);
    let far = (e - 1.0 / e) * 0.5;
    let near = w + w * w * w * (1.0 / 6.0 + w * w * (1.0 / 120.0));
    let y = if x.abs() < 0.02 { near } else { far } as f32;
    if x == 0.0 { x } else { y }
}

/// Hyperbolic cosine.
#[inline(always)]
pub(crate) fn cosh<I: Isa>(x: f32) -> f32 {
    let e = exp2_wide::<I>(f64::from(x) * std::f64::consts::LOG2_E);
    ((e + 1.0 / e) * 0.5) as f32
}

/// The f32 that a bf16 is.
#[inline(always)]
pub(crate) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The nearest bf16, ties to even.
#[inline(always)]
pub(crate) fn f32_to_bf16(x: f32) -> u16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7FFF + ((bits >> 16) & 1));
    // A NaN stays one: its payload must not round to infinity.
    let bits = if x.is_nan() { bits | 0x0040_0000 } else { rounded };
    (bits >> 16) as u16
}

/// The f32 that an f16 is.
#[inline(always)]
pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    let sign = u32::from(bits & 0x8000) << 16;
    let rest = u32::from(bits & 0x7FFF) << 13;
    // Moving the exponent's bias by a product is right for subnormals too.
    let finite = f32::from_bits(rest) * f32::from_bits((254 - 15) << 23);
    let special = f32::from_bits(rest | 0x7F80_0000);
    let value = if rest >= 0x7C00 << 13 { special } else { finite };
    f32::from_bits(value.to_bits() | sign)
}

/// The nearest f16, ties to even.
#[inline(always)]
pub(crate) fn f32_to_f16(x: f32) -> u16 {
    let sign = (x.to_bits() >> 16) & 0x8000;
    let a = x.abs();
    let bits = a.to_bits();
    let normal = (bits.wrapping_add(0xFFF + ((bits >> 13) & 1)).wrapping_sub(112 << 23)) >> 13;
    // Half of the f32 unit at 0.5 is half of the smallest subnormal.
    let subnormal = (a + 0.5).to_bits().wrapping_sub(0.5f32.to_bits());
    let finite = if a < 6.103_515_6e-5 { subnormal } else { normal };
    let finite = if a >= 65_520.0 { 0x7C00 } else { finite };
    let nan = 0x7E00 | ((bits >> 13) & 0x3FF);
    (if x.is_nan() { nan } else { finite } | sign) as u16
}

#[cfg(test)]
#[path = "elementary_tests.rs"]
mod tests;
