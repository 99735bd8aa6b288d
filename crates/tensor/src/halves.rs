//! Numbers to narrower floats, rounded once. (`half::bf16::from_f64` and
//! `f16::from_f64` may take a number near the middle of two for the middle.) On the
//! way through a float that is wider than the last one, numbers are rounded *to odd*:
//! what does not fit leaves the lowest bit set, which is beside every middle.

use half::{bf16, f16};

/// The f32 that has every bit of `x` which it can hold, and the lowest bit set where
/// there were more: rounding that to a half type gives what rounding `x` gives.
///
/// ```
/// use oneir_tensor::odd_f32;
/// assert_eq!(odd_f32(1.0 + 2f64.powi(-30)), 1.0 + f32::EPSILON);
/// assert_eq!(odd_f32(-0.5), -0.5);
/// ```
#[inline(always)]
pub fn odd_f32(x: f64) -> f32 {
    let nearest = x as f32;
    let back = f64::from(nearest);
    if back == x || x.is_nan() {
        return nearest;
    }
    // The next one towards zero has the bits minus one: magnitudes are ordered as their bits.
    let bits = nearest.to_bits() - u32::from(back.abs() > x.abs());
    f32::from_bits(bits | 1)
}

/// The `bits` highest bits of a number, the lowest of them set where there were more:
/// what a float with so many bits holds exactly, and rounding that to one with fewer
/// gives what rounding the number gives.
///
/// ```
/// use oneir_tensor::odd_bits;
/// assert_eq!(odd_bits(0b1000_0001, 4), 0b1001_0000);
/// assert_eq!(odd_bits(0b1010, 4), 0b1010);
/// ```
#[inline(always)]
pub fn odd_bits(number: u64, bits: u32) -> u64 {
    let dropped = (64 - bits).saturating_sub(number.leading_zeros());
    let kept = number >> dropped;
    let more = kept << dropped != number;
    (kept | u64::from(more)) << dropped
}

/// The nearest f16, of two the even one.
///
/// ```
/// use oneir_tensor::f16_of;
/// // Just above the middle of 1 and the next f16.
/// let x = 1.0 + 2f64.powi(-11) + 2f64.powi(-50);
/// assert_eq!(f16_of(x).to_f64(), 1.0 + 2f64.powi(-10));
/// ```
pub fn f16_of(x: f64) -> f16 {
    f16::from_f32(odd_f32(x))
}

/// The nearest bf16, of two the even one.
///
/// ```
/// use oneir_tensor::bf16_of;
/// // Just above the middle of 1 and the next bf16.
/// let x = 1.0 + 2f64.powi(-8) + 2f64.powi(-23);
/// assert_eq!(bf16_of(x).to_f64(), 1.0 + 2f64.powi(-7));
/// ```
pub fn bf16_of(x: f64) -> bf16 {
    bf16::from_f32(odd_f32(x))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn around_every_middle() {
        for bits in (0..0x7F80u16).step_by(7) {
            let (low, high) = (bf16::from_bits(bits).to_f64(), bf16::from_bits(bits + 1).to_f64());
            if !high.is_finite() {
                continue;
            }
            let middle = (low + high) / 2.0;
            let even = if bits % 2 == 0 { bits } else { bits + 1 };
            assert_eq!(bf16_of(middle).to_bits(), even);
            assert_eq!(bf16_of(-middle.next_up()).to_bits(), 0x8000 | (bits + 1));
            assert_eq!(bf16_of(middle.next_down()).to_bits(), bits);
        }
        for bits in (0..0x7BFFu16).step_by(7) {
            let (low, high) = (f16::from_bits(bits).to_f64(), f16::from_bits(bits + 1).to_f64());
            let middle = (low + high) / 2.0;
            let even = if bits % 2 == 0 { bits } else { bits + 1 };
            assert_eq!(f16_of(-middle).to_bits(), 0x8000 | even);
            assert_eq!(f16_of(middle.next_up()).to_bits(), bits + 1);
            assert_eq!(f16_of(middle.next_down()).to_bits(), bits);
        }
    }

    #[test]
    fn ends() {
        assert_eq!(bf16_of(1e300), bf16::INFINITY);
        assert_eq!(f16_of(-65520.0), f16::NEG_INFINITY);
        assert_eq!(f16_of(65519.999), f16::MAX);
        assert_eq!(bf16_of(-1e-300).to_bits(), 0x8000);
        assert!(f16_of(f64::NAN).is_nan() && bf16_of(f64::NAN).is_nan());
        assert_eq!(f16_of(f64::INFINITY), f16::INFINITY);
    }
}
