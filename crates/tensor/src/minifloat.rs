//! The 8-bit and 4-bit floating-point formats.

use crate::DType;

/// How a format below 16 bits spends its codes.
#[derive(Clone, Copy)]
struct Format {
    exponent_bits: u32,
    mantissa_bits: u32,
    bias: i32,
    specials: Specials,
}

#[derive(Clone, Copy, PartialEq)]
enum Specials {
    /// The top exponent holds infinities and NaNs.
    Ieee,
    /// Only the all-ones code is NaN, with either sign; no infinities.
    NanAllOnes,
    /// Negative zero's code is NaN; no infinities.
    NanNegativeZero,
    /// Every code is finite.
    Finite,
}

const fn format(dtype: DType) -> Option<Format> {
    use Specials::{Finite, Ieee, NanAllOnes, NanNegativeZero};
    let (exponent_bits, mantissa_bits, bias, specials) = match dtype {
        DType::F8E4M3FN => (4, 3, 7, NanAllOnes),
        DType::F8E4M3FNUZ => (4, 3, 8, NanNegativeZero),
        DType::F8E5M2 => (5, 2, 15, Ieee),
        DType::F8E5M2FNUZ => (5, 2, 16, NanNegativeZero),
        DType::F4E2M1 => (2, 1, 1, Finite),
        _ => return None,
    };
    Some(Format { exponent_bits, mantissa_bits, bias, specials })
}

impl Format {
    fn sign_bit(self) -> u8 {
        1 << (self.exponent_bits + self.mantissa_bits)
    }

    fn decode(self, code: u8) -> f64 {
        let magnitude = code & (self.sign_bit() - 1);
        let negative = code & self.sign_bit() != 0;
        let exponent = (magnitude >> self.mantissa_bits) as i32;
        let mantissa = f64::from(magnitude & ((1 << self.mantissa_bits) - 1));
        let all_ones = magnitude == self.sign_bit() - 1;
        let top = exponent == (1 << self.exponent_bits) - 1;
        let value = match self.specials {
            Specials::NanAllOnes if all_ones => return f64::NAN,
            Specials::NanNegativeZero if negative && magnitude == 0 => return f64::NAN,
            Specials::Ieee if top && mantissa != 0.0 => return f64::NAN,
            Specials::Ieee if top => f64::INFINITY,
            _ => {
                let unit = f64::from(1u32 << self.mantissa_bits);
                if exponent == 0 {
                    mantissa / unit * 2f64.powi(1 - self.bias)
                } else {
                    (1.0 + mantissa / unit) * 2f64.powi(exponent - self.bias)
                }
            }
        };
        if negative { -value } else { value }
    }

    /// The code of the largest finite value.
    fn max_code(self) -> u8 {
        match self.specials {
            Specials::NanAllOnes => self.sign_bit() - 2,
            Specials::Ieee => self.sign_bit() - (1 << self.mantissa_bits) - 1,
            Specials::NanNegativeZero | Specials::Finite => self.sign_bit() - 1,
        }
    }

    /// Nearest, ties to even, saturating at the largest finite value
    /// (infinities too). NaN stays NaN where the format has one.
    fn encode(self, x: f64) -> u8 {
        let sign = if x.is_sign_negative() { self.sign_bit() } else { 0 };
        if x.is_nan() {
            return match self.specials {
                Specials::NanNegativeZero => self.sign_bit(),
                Specials::Finite => 0,
                Specials::NanAllOnes | Specials::Ieee => sign | (self.sign_bit() - 1),
            };
        }
        let magnitude = x.abs();
        let max = self.max_code();
        // Codes of one sign are ordered as their values are: find the
        // neighbours by bisection.
        let (mut low, mut high) = (0u8, max);
        if magnitude >= self.decode(max) {
            low = max;
        } else {
            while high - low > 1 {
                let mid = low + (high - low) / 2;
                if self.decode(mid) <= magnitude { low = mid } else { high = mid }
            }
            let (below, above) = (magnitude - self.decode(low), self.decode(high) - magnitude);
            if above < below || (above == below && high % 2 == 0) {
                low = high;
            }
        }
        if self.specials == Specials::NanNegativeZero && low == 0 { 0 } else { sign | low }
    }
}

/// The value of an 8-bit or 4-bit float code.
pub(crate) fn decode(dtype: DType, code: u8) -> f64 {
    if dtype == DType::F8E8M0 {
        return if code == 0xFF { f64::NAN } else { 2f64.powi(i32::from(code) - 127) };
    }
    format(dtype).map_or(f64::NAN, |f| f.decode(code))
}

/// The code nearest to `x` (ties to even, saturating).
pub(crate) fn encode(dtype: DType, x: f64) -> u8 {
    if dtype == DType::F8E8M0 {
        // A power of two: the nearest in value, ties upward; no sign.
        if x.is_nan() {
            return 0xFF;
        }
        if x <= 2f64.powi(-127) {
            return 0;
        }
        let exponent = x.min(2f64.powi(127)).log2().floor();
        let up = x / 2f64.powf(exponent) >= 1.5;
        return (exponent as i32 + 127 + i32::from(up)).clamp(0, 254) as u8;
    }
    format(dtype).map_or(0, |f| f.encode(x))
}

/// The value of an E4M3 code (0x7F and 0xFF are NaN).
pub fn decode_e4m3(code: u8) -> f32 {
    decode(DType::F8E4M3FN, code) as f32
}

/// The E4M3 code nearest to `x`: ties to even, saturating at ±448, NaN as 0x7F.
///
/// ```
/// use oneir_tensor::{decode_e4m3, encode_e4m3_saturating};
/// assert_eq!(decode_e4m3(encode_e4m3_saturating(1000.0)), 448.0);
/// ```
pub fn encode_e4m3_saturating(x: f32) -> u8 {
    encode(DType::F8E4M3FN, f64::from(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_round_trips() {
        for dtype in DType::ALL.iter().copied().filter(|d| d.is_float() && d.bits() <= 8) {
            for code in 0..=((1u16 << dtype.bits()) - 1) as u8 {
                let value = decode(dtype, code);
                if value.is_finite() {
                    assert_eq!(decode(dtype, encode(dtype, value)), value, "{dtype} {code:#x}");
                }
            }
        }
    }

    #[test]
    fn known_values() {
        assert_eq!(decode(DType::F8E4M3FN, 0x7E), 448.0);
        assert!(decode(DType::F8E4M3FN, 0x7F).is_nan());
        assert_eq!(decode(DType::F8E5M2, 0x7B), 57344.0);
        assert_eq!(decode(DType::F8E5M2, 0x7C), f64::INFINITY);
        assert_eq!(decode(DType::F4E2M1, 0b0111), 6.0);
        assert_eq!(decode(DType::F8E4M3FNUZ, 0x7F), 240.0);
        assert_eq!(decode(DType::F8E5M2FNUZ, 0x7F), 57344.0);
        assert_eq!(encode(DType::F4E2M1, -2.5), 0b1100);
        assert_eq!(encode(DType::F8E8M0, 1.0), 127);
        assert_eq!(encode_e4m3_saturating(-1e9), 0xFE);
    }
}
