//! Blocks of 32 codes with one scale: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0.
//!
//! Scales (and the smallest number of the `_1` formats) stand first, in half
//! precision. A byte of the codes of 4 bits holds two that are half a block apart, the
//! earlier one in the low bits. The fifth bits of all codes are a word of 32 bits.

use super::{furthest, half, inverse, low_byte, put_half, range};

/// The low four bits of each code.
fn nibbles(packed: &[u8]) -> [u8; 32] {
    std::array::from_fn(|i| if i < 16 { packed[i] & 15 } else { packed[i - 16] >> 4 })
}

/// The codes of five bits: fifth bits, then the others.
fn fives(packed: &[u8]) -> [u8; 32] {
    let fifth = u32::from_le_bytes([packed[0], packed[1], packed[2], packed[3]]);
    let low = nibbles(&packed[4..]);
    std::array::from_fn(|i| low[i] | (((fifth >> i) & 1) as u8) << 4)
}

fn pack_nibbles(codes: &[u8; 32], out: &mut [u8]) {
    for (i, byte) in out.iter_mut().enumerate() {
        *byte = (codes[i] & 15) | (codes[i + 16] & 15) << 4;
    }
}

fn pack_fives(codes: &[u8; 32], out: &mut [u8]) {
    let fifth = codes.iter().enumerate().fold(0u32, |bits, (i, code)| bits | u32::from(code >> 4) << i);
    out[..4].copy_from_slice(&fifth.to_le_bytes());
    pack_nibbles(codes, &mut out[4..]);
}

/// Codes around a centre, and the scale that takes the furthest number to code 0.
fn centred(numbers: &[f32; 32], centre: f32, most: u8) -> (f32, [u8; 32]) {
    let scale = furthest(numbers) / -centre;
    let over = inverse(scale);
    (scale, numbers.map(|x| low_byte(x * over + (centre + 0.5)).min(most)))
}

/// Codes from the smallest number up, the scale and that number.
fn from_smallest(numbers: &[f32; 32], most: u8) -> (f32, f32, [u8; 32]) {
    let (low, high) = range(numbers);
    let scale = (high - low) / f32::from(most);
    let over = inverse(scale);
    (scale, low, numbers.map(|x| low_byte((x - low) * over + 0.5).min(most)))
}

pub(super) fn decode_q4_0(block: &[u8; 18], out: &mut [f32; 32]) {
    let scale = half(block, 0);
    *out = nibbles(&block[2..]).map(|code| scale * (f32::from(code) - 8.0));
}

pub(super) fn encode_q4_0(numbers: &[f32; 32], out: &mut [u8; 18]) {
    let (scale, codes) = centred(numbers, 8.0, 15);
    put_half(out, 0, scale);
    pack_nibbles(&codes, &mut out[2..]);
}

pub(super) fn decode_q4_1(block: &[u8; 20], out: &mut [f32; 32]) {
    let (scale, low) = (half(block, 0), half(block, 2));
    *out = nibbles(&block[4..]).map(|code| scale * f32::from(code) + low);
}

pub(super) fn encode_q4_1(numbers: &[f32; 32], out: &mut [u8; 20]) {
    let (scale, low, codes) = from_smallest(numbers, 15);
    put_half(out, 0, scale);
    put_half(out, 2, low);
    pack_nibbles(&codes, &mut out[4..]);
}

pub(super) fn decode_q5_0(block: &[u8; 22], out: &mut [f32; 32]) {
    let scale = half(block, 0);
    *out = fives(&block[2..]).map(|code| scale * (f32::from(code) - 16.0));
}

pub(super) fn encode_q5_0(numbers: &[f32; 32], out: &mut [u8; 22]) {
    let (scale, codes) = centred(numbers, 16.0, 31);
    put_half(out, 0, scale);
    pack_fives(&codes, &mut out[2..]);
}

pub(super) fn decode_q5_1(block: &[u8; 24], out: &mut [f32; 32]) {
    let (scale, low) = (half(block, 0), half(block, 2));
    *out = fives(&block[4..]).map(|code| scale * f32::from(code) + low);
}

pub(super) fn encode_q5_1(numbers: &[f32; 32], out: &mut [u8; 24]) {
    let (scale, low, codes) = from_smallest(numbers, 31);
    put_half(out, 0, scale);
    put_half(out, 2, low);
    pack_fives(&codes, &mut out[4..]);
}

pub(super) fn decode_q8_0(block: &[u8; 34], out: &mut [f32; 32]) {
    let scale = half(block, 0);
    for (x, &code) in out.iter_mut().zip(&block[2..]) {
        *x = f32::from(code as i8) * scale;
    }
}

pub(super) fn encode_q8_0(numbers: &[f32; 32], out: &mut [u8; 34]) {
    let scale = furthest(numbers).abs() / 127.0;
    let over = inverse(scale);
    put_half(out, 0, scale);
    for (code, x) in out[2..].iter_mut().zip(numbers) {
        *code = low_byte((x * over).round());
    }
}
