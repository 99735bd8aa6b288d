//! Blocks of 256 numbers that are −1, 0 or 1, times one scale: TQ1_0 and TQ2_0.
//!
//! The scale, in half precision, stands last.

use super::{furthest, half, inverse, low_byte, put_half};

/// The digits of TQ1_0's bytes, base 3: first byte, bytes, digits in each, first element.
/// Digit `d` of byte `b` is element `first + d * bytes + b` of the block.
const RUNS: [(usize, usize, usize, usize); 3] = [(0, 32, 5, 0), (32, 16, 5, 160), (48, 4, 4, 240)];

const POWERS: [u8; 5] = [1, 3, 9, 27, 81];

/// The digits 0, 1 and 2, and the scale.
fn digits(numbers: &[f32; 256]) -> (f32, [u8; 256]) {
    let scale = furthest(numbers).abs();
    let over = inverse(scale);
    (scale, numbers.map(|x| low_byte((x * over).round()).wrapping_add(1)))
}

pub(super) fn decode_tq1(block: &[u8; 54], out: &mut [f32; 256]) {
    let scale = half(block, 52);
    for (from, bytes, digits, first) in RUNS {
        for digit in 0..digits {
            for byte in 0..bytes {
                // A byte is a fraction of 256; times a power, the next digit is before the point.
                let rest = block[from + byte].wrapping_mul(POWERS[digit]);
                let code = (u16::from(rest) * 3) >> 8;
                out[first + digit * bytes + byte] = scale * (f32::from(code) - 1.0);
            }
        }
    }
}

pub(super) fn encode_tq1(numbers: &[f32; 256], out: &mut [u8; 54]) {
    let (scale, codes) = digits(numbers);
    for (from, bytes, count, first) in RUNS {
        for byte in 0..bytes {
            let value: u16 = (0..count)
                .map(|digit| u16::from(codes[first + digit * bytes + byte].wrapping_mul(POWERS[4 - digit])))
                .sum();
            // The smallest fraction of 256 that is not below the one of 243.
            out[from + byte] = (value.wrapping_mul(256).wrapping_add(242) / 243) as u8;
        }
    }
    put_half(out, 52, scale);
}

pub(super) fn decode_tq2(block: &[u8; 66], out: &mut [f32; 256]) {
    let scale = half(block, 64);
    for (i, x) in out.iter_mut().enumerate() {
        let code = (block[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3;
        *x = scale * (f32::from(code) - 1.0);
    }
}

pub(super) fn encode_tq2(numbers: &[f32; 256], out: &mut [u8; 66]) {
    let (scale, codes) = digits(numbers);
    for (i, byte) in out[..64].iter_mut().enumerate() {
        let first = i / 32 * 128 + i % 32;
        *byte = (0..4).fold(0, |byte, k| byte | codes[first + 32 * k] << (2 * k));
    }
    put_half(out, 64, scale);
}
