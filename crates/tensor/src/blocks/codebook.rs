//! Blocks of 256 whose elements are points of a codebook: IQ1, IQ2 and IQ3.
//!
//! A point is the magnitudes of 8 neighbouring elements (4 in IQ3), or in IQ1 numbers
//! −1, 0 and 1 to which a part's shift is added. Signs are a byte for 8 elements, or 7
//! bits whose eighth makes the number of minuses even.

use half::f16;

use super::grids::{IQ1, IQ2_S, IQ2_XS, IQ2_XXS, IQ3_S, IQ3_XXS};
use super::half;

/// The magnitudes of IQ2's coordinates.
const IQ2_LEVELS: [f32; 4] = [8.0, 25.0, 43.0, 0.0];
/// Those of IQ3_XXS.
const IQ3_XXS_LEVELS: [f32; 8] = [4.0, 12.0, 20.0, 28.0, 36.0, 44.0, 52.0, 62.0];
/// Those of IQ3_S.
const IQ3_S_LEVELS: [f32; 8] = [1.0, 3.0, 5.0, 7.0, 9.0, 11.0, 13.0, 15.0];
/// What IQ1 adds to its coordinates, or takes away.
const SHIFT: f32 = 0.125;

/// Eight signs from seven: the last makes the number of minuses even.
fn even(seven: u32) -> u8 {
    let seven = (seven & 127) as u8;
    seven | (seven.count_ones() as u8 & 1) << 7
}

/// −1 where bit `i` is set, else 1.
fn sign(signs: u8, i: usize) -> f32 {
    if signs >> i & 1 == 0 { 1.0 } else { -1.0 }
}

/// Eight elements of IQ2.
fn eight(scale: f32, point: u16, signs: u8, out: &mut [f32]) {
    for (i, x) in out.iter_mut().enumerate() {
        *x = scale * IQ2_LEVELS[usize::from(point >> (2 * i) & 3)] * sign(signs, i);
    }
}

/// Eight elements of IQ3, by two points.
fn twice_four(scale: f32, points: [u16; 2], levels: &[f32; 8], signs: u8, out: &mut [f32]) {
    for (i, x) in out.iter_mut().enumerate() {
        *x = scale * levels[usize::from(points[i / 4] >> (i % 4 * 4) & 7)] * sign(signs, i);
    }
}

/// Eight elements of IQ1.
fn shifted(scale: f32, point: u16, minus: bool, out: &mut [f32]) {
    let shift = if minus { -SHIFT } else { SHIFT };
    for (i, x) in out.iter_mut().enumerate() {
        *x = scale * (f32::from(point >> (2 * i) & 3) - 1.0 + shift);
    }
}

fn word(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([block[at], block[at + 1], block[at + 2], block[at + 3]])
}

fn short(block: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([block[at], block[at + 1]])
}

/// For each 32 elements four points and a word: four times seven signs, a scale.
pub(super) fn decode_iq2_xxs(block: &[u8; 66], out: &mut [f32; 256]) {
    let scale = half(block, 0);
    for (part, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let at = 2 + part * 8;
        let signs = word(block, at + 4);
        let scale = scale * (0.5 + (signs >> 28) as f32) * 0.25;
        for (k, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            eight(scale, IQ2_XXS[usize::from(block[at + k])], even(signs >> (7 * k)), out);
        }
    }
}

/// For each 8 elements 9 bits of a point and 7 signs; then scales of 4 bits.
pub(super) fn decode_iq2_xs(block: &[u8; 74], out: &mut [f32; 256]) {
    let scale = half(block, 0);
    for (k, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let code = short(block, 2 + k * 2);
        let scale = scale * (0.5 + f32::from(block[66 + k / 4] >> (k / 2 % 2 * 4) & 15)) * 0.25;
        eight(scale, IQ2_XS[usize::from(code & 511)], even(u32::from(code >> 9)), out);
    }
}

/// The low bits of points, signs, two upper bits of points, scales of 4 bits.
pub(super) fn decode_iq2_s(block: &[u8; 82], out: &mut [f32; 256]) {
    let scale = half(block, 0);
    for (k, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let high = block[66 + k / 4] >> (k % 4 * 2) & 3;
        let scale = scale * (0.5 + f32::from(block[74 + k / 4] >> (k / 2 % 2 * 4) & 15)) * 0.25;
        let point = IQ2_S[usize::from(block[2 + k]) | usize::from(high) << 8];
        eight(scale, point, block[34 + k], out);
    }
}

/// All points, then for each 32 elements a word: four times seven signs, a scale.
pub(super) fn decode_iq3_xxs(block: &[u8; 98], out: &mut [f32; 256]) {
    let scale = half(block, 0);
    for (part, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let signs = word(block, 66 + part * 4);
        let scale = scale * (0.5 + (signs >> 28) as f32) * 0.5;
        for (k, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let at = 2 + part * 8 + k * 2;
            let points = [0, 1].map(|i| IQ3_XXS[usize::from(block[at + i])]);
            twice_four(scale, points, &IQ3_XXS_LEVELS, even(signs >> (7 * k)), out);
        }
    }
}

/// The low bits of points, their ninth bits, signs, scales of 4 bits.
pub(super) fn decode_iq3_s(block: &[u8; 110], out: &mut [f32; 256]) {
    let scale = half(block, 0);
    for (k, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let scale = scale * f32::from(1 + 2 * (block[106 + k / 8] >> (k / 4 % 2 * 4) & 15));
        let points = [2 * k, 2 * k + 1].map(|i| {
            let ninth = block[66 + i / 8] >> (i % 8) & 1;
            IQ3_S[usize::from(block[2 + i]) | usize::from(ninth) << 8]
        });
        twice_four(scale, points, &IQ3_S_LEVELS, block[74 + k], out);
    }
}

/// The low bits of points, then for each 32 elements four times three upper bits, a
/// scale of 3 bits, and the shift's sign.
pub(super) fn decode_iq1_s(block: &[u8; 50], out: &mut [f32; 256]) {
    let scale = half(block, 0);
    for (part, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let high = short(block, 34 + part * 2);
        let scale = scale * f32::from(2 * (high >> 12 & 7) + 1);
        for (k, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
            let point = usize::from(block[2 + part * 4 + k]) | usize::from(high >> (3 * k) & 7) << 8;
            shifted(scale, IQ1[point], high >> 15 == 1, out);
        }
    }
}

/// The low bits of points; for each, three upper bits and the shift's sign; four times
/// four scales of 3 bits and a quarter of the block's scale.
pub(super) fn decode_iq1_m(block: &[u8; 56], out: &mut [f32; 256]) {
    let scales = [0, 1, 2, 3].map(|i| short(block, 48 + 2 * i));
    let bits = scales.iter().enumerate().fold(0, |bits, (i, word)| bits | word >> 12 << (4 * i));
    let scale = f16::from_bits(bits).to_f32();
    for (k, out) in out.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let scale = scale * f32::from(2 * (scales[k / 8] >> (k / 2 % 4 * 3) & 7) + 1);
        let high = block[32 + k / 2] >> (k % 2 * 4) & 15;
        let point = usize::from(block[k]) | usize::from(high & 7) << 8;
        shifted(scale, IQ1[point], high >> 3 == 1, out);
    }
}
