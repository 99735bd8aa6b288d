//! Codes of 4 bits for one of 16 unevenly spaced levels: IQ4_NL and IQ4_XS.

use super::half;

const LEVELS: [f32; 16] = [
    -127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0, 13.0, 25.0, 38.0, 53.0, 69.0, 89.0, 113.0,
];

/// 32 elements in 16 bytes: the low bits of all are the first half.
fn decode(scale: f32, packed: &[u8], out: &mut [f32; 32]) {
    for (i, &pair) in packed.iter().enumerate() {
        out[i] = scale * LEVELS[usize::from(pair & 15)];
        out[i + 16] = scale * LEVELS[usize::from(pair >> 4)];
    }
}

pub(super) fn decode_nl(block: &[u8; 18], out: &mut [f32; 32]) {
    decode(half(block, 0), &block[2..], out);
}

/// The scale, two upper bits of each part's scale, four lower bits, the codes.
pub(super) fn decode_xs(block: &[u8; 136], out: &mut [f32; 256]) {
    let scale = half(block, 0);
    let high = u16::from_le_bytes([block[2], block[3]]);
    for (part, out) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let low = (block[4 + part / 2] >> (part % 2 * 4)) & 15;
        let code = low | ((high >> (2 * part)) as u8 & 3) << 4;
        decode(scale * (f32::from(code) - 32.0), &block[8 + part * 16..][..16], out);
    }
}
