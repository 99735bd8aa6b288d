//! Floats of 4 bits (E2M1) with scales of 8 bits: MXFP4 and NVFP4.
//!
//! MXFP4 follows the OCP Microscaling Formats specification, version 1.0. Levels are
//! kept doubled, as whole numbers, and scales halved.

/// The values of the codes, times two.
const LEVELS: [f32; 16] =
    [0.0, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 0.0, -1.0, -2.0, -3.0, -4.0, -6.0, -8.0, -12.0];

/// Half of the power of two that an exponent of 8 bits stands for.
fn half_power(exponent: u8) -> f32 {
    f32::from_bits(match exponent {
        0 => 0x0020_0000,
        1 => 0x0040_0000,
        e => u32::from(e - 1) << 23,
    })
}

/// Half of an unsigned E4M3; the sign is not looked at, and the code of NaN is 0.
fn half_e4m3(code: u8) -> f32 {
    let (exponent, mantissa) = (i32::from(code >> 3) & 15, f32::from(code & 7));
    match (code, exponent) {
        (0x7F, _) => 0.0,
        (_, 0) => mantissa * 2f32.powi(-9) * 0.5,
        _ => (1.0 + mantissa / 8.0) * 2f32.powi(exponent - 7) * 0.5,
    }
}

pub(super) fn decode_mx(block: &[u8; 17], out: &mut [f32; 32]) {
    let scale = half_power(block[0]);
    for (i, &pair) in block[1..].iter().enumerate() {
        out[i] = scale * LEVELS[usize::from(pair & 15)];
        out[i + 16] = scale * LEVELS[usize::from(pair >> 4)];
    }
}

pub(super) fn encode_mx(numbers: &[f32; 32], out: &mut [u8; 17]) {
    let largest = super::furthest(numbers).abs();
    // The logarithm is rounded to f32 before its integer part is taken, so numbers
    // just below a power of two count as the power.
    let exponent = if largest > 0.0 { (f64::from(largest).log2() as f32).floor() - 2.0 + 127.0 } else { 0.0 };
    let exponent = super::low_byte(exponent);
    let scale = half_power(exponent);
    let codes = numbers.map(|x| nearest(x, scale));
    out[0] = exponent;
    for (i, pair) in out[1..].iter_mut().enumerate() {
        *pair = codes[i] | codes[i + 16] << 4;
    }
}

/// The code of the nearest level; the first of several.
fn nearest(x: f32, scale: f32) -> u8 {
    let (mut best, mut least) = (0, f32::INFINITY);
    for (code, level) in (0..).zip(LEVELS) {
        let error = (scale * level - x).abs();
        if error.is_nan() {
            return code;
        }
        if error < least {
            (best, least) = (code, error);
        }
    }
    best
}

pub(super) fn decode_nv(block: &[u8; 36], out: &mut [f32; 64]) {
    for (part, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let scale = half_e4m3(block[part]);
        for (i, &pair) in block[4 + part * 8..][..8].iter().enumerate() {
            out[i] = scale * LEVELS[usize::from(pair & 15)];
            out[i + 8] = scale * LEVELS[usize::from(pair >> 4)];
        }
    }
}
