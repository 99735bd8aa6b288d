//! Blocks of 256 whose parts have scales of their own, in few bits: Q2_K to Q6_K.
//!
//! A block's one or two numbers in half precision scale the parts' scales and
//! offsets. Codes are spread over the bytes: a byte of 2-bit codes has four that are
//! 32 elements apart, one of 4-bit codes two.

use super::half;

/// Code `i` of codes of 2 bits: 128 elements in 32 bytes, then the next.
fn two_bits(packed: &[u8], i: usize) -> u8 {
    (packed[i / 128 * 32 + i % 32] >> (i % 128 / 32 * 2)) & 3
}

/// Code `i` of codes of 4 bits: 64 elements in 32 bytes, then the next.
fn four_bits(packed: &[u8], i: usize) -> u8 {
    (packed[i / 64 * 32 + i % 32] >> (i % 64 / 32 * 4)) & 15
}

/// Bit `i` of bits that are a further one of each code: byte `i % 32`.
fn one_bit(packed: &[u8], i: usize) -> u8 {
    (packed[i % 32] >> (i / 32)) & 1
}

/// Eight scales and eight offsets of 6 bits. Of the first four of each, a byte has all
/// bits; its upper two are those of the last four, whose others are in the last bytes.
fn scales_and_offsets(packed: &[u8]) -> ([u8; 8], [u8; 8]) {
    let scales = std::array::from_fn(|i| match i {
        0..4 => packed[i] & 63,
        _ => packed[i + 4] & 15 | packed[i - 4] >> 6 << 4,
    });
    let offsets = std::array::from_fn(|i| match i {
        0..4 => packed[i + 4] & 63,
        _ => packed[i + 4] >> 4 | packed[i] >> 6 << 4,
    });
    (scales, offsets)
}

pub(super) fn decode_q2(block: &[u8; 84], out: &mut [f32; 256]) {
    let (scale, offset) = (half(block, 80), half(block, 82));
    for (part, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let scale = scale * f32::from(block[part] & 15);
        let offset = offset * f32::from(block[part] >> 4);
        for (i, x) in out.iter_mut().enumerate() {
            *x = scale * f32::from(two_bits(&block[16..80], part * 16 + i)) - offset;
        }
    }
}

pub(super) fn decode_q3(block: &[u8; 110], out: &mut [f32; 256]) {
    let scale = half(block, 108);
    let packed = &block[96..108];
    for (part, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let low = (packed[part % 8] >> (part / 8 * 4)) & 15;
        let high = (packed[8 + part % 4] >> (part / 4 * 2)) & 3;
        let scale = scale * (f32::from(low | high << 4) - 32.0);
        for (i, x) in out.iter_mut().enumerate() {
            let i = part * 16 + i;
            // The third bit is set where four are not to be taken away.
            let less = 4 * (1 - one_bit(&block[..32], i));
            *x = scale * (f32::from(two_bits(&block[32..96], i)) - f32::from(less));
        }
    }
}

pub(super) fn decode_q4(block: &[u8; 144], out: &mut [f32; 256]) {
    decode_offset(block, out, |i| four_bits(&block[16..], i));
}

pub(super) fn decode_q5(block: &[u8; 176], out: &mut [f32; 256]) {
    decode_offset(block, out, |i| four_bits(&block[48..], i) | one_bit(&block[16..48], i) << 4);
}

fn decode_offset(block: &[u8], out: &mut [f32; 256], code: impl Fn(usize) -> u8) {
    let (scale, offset) = (half(block, 0), half(block, 2));
    let (scales, offsets) = scales_and_offsets(&block[4..16]);
    for (part, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let scale = scale * f32::from(scales[part]);
        let offset = offset * f32::from(offsets[part]);
        for (i, x) in out.iter_mut().enumerate() {
            *x = scale * f32::from(code(part * 32 + i)) - offset;
        }
    }
}

pub(super) fn decode_q6(block: &[u8; 210], out: &mut [f32; 256]) {
    let scale = half(block, 208);
    for (part, out) in out.as_chunks_mut::<16>().0.iter_mut().enumerate() {
        let scale = scale * f32::from(block[192 + part] as i8);
        for (i, x) in out.iter_mut().enumerate() {
            let i = part * 16 + i;
            // The low bits are spread over 64 bytes for each half of the block.
            let low = (block[i / 128 * 64 + i % 64] >> (i % 128 / 64 * 4)) & 15;
            let code = low | two_bits(&block[128..192], i) << 4;
            *x = scale * (f32::from(code) - 32.0);
        }
    }
}
