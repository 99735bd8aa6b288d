//! Elements as unsigned numbers of the same order: NaN last, zeros of either
//! sign equal.

use half::{bf16, f16};
use oneir_tensor::Complex32;

use super::radix::Entry;

/// What elements are compared by.
pub(super) trait Key: Entry {
    /// A key and, below it, the place of its element.
    type Placed: Entry;

    fn at(self, place: u32) -> Self::Placed;

    fn place(placed: Self::Placed) -> u32;
}

/// Bits of a place.
pub(super) const PLACE: u32 = u32::BITS;

macro_rules! key {
    ($($t:ty: $placed:ty),*) => { $(impl Key for $t {
        type Placed = $placed;

        #[inline(always)]
        fn at(self, place: u32) -> $placed {
            (<$placed>::from(self) << PLACE) | <$placed>::from(place)
        }

        #[inline(always)]
        fn place(placed: $placed) -> u32 {
            placed as u32
        }
    })* };
}

key!(u8: u64, u16: u64, u32: u64, u64: u128);

/// An element that has a place in the order.
pub(super) trait Ordered: Copy + Send + Sync + 'static {
    type Key: Key;

    /// Equal for equal elements.
    fn key(self) -> Self::Key;
}

/// An element that its key tells, but for a few.
pub(super) trait Told: Ordered {
    /// The keys that elements of different bits share.
    const SHARED: &[Self::Key];

    /// The element, or of several one.
    fn of(key: Self::Key) -> Self;

    /// Whether its key tells another.
    fn hidden(self) -> bool;
}

macro_rules! unsigned {
    ($($t:ty),*) => { $(
        impl Ordered for $t {
            type Key = $t;

            #[inline(always)]
            fn key(self) -> $t {
                self
            }
        }

        impl Told for $t {
            const SHARED: &[$t] = &[];

            #[inline(always)]
            fn of(key: $t) -> $t {
                key
            }

            #[inline(always)]
            fn hidden(self) -> bool {
                false
            }
        }
    )* };
}

unsigned!(u8, u16, u32, u64);

macro_rules! signed {
    ($($t:ty: $key:ty),*) => { $(
        impl Ordered for $t {
            type Key = $key;

            #[inline(always)]
            fn key(self) -> $key {
                (self ^ <$t>::MIN) as $key
            }
        }

        impl Told for $t {
            const SHARED: &[$key] = &[];

            #[inline(always)]
            fn of(key: $key) -> $t {
                key as $t ^ <$t>::MIN
            }

            #[inline(always)]
            fn hidden(self) -> bool {
                false
            }
        }
    )* };
}

signed!(i8: u8, i16: u16, i32: u32, i64: u64);

macro_rules! float {
    ($($t:ty: $key:ty),*) => { $(
        impl Ordered for $t {
            type Key = $key;

            #[inline(always)]
            fn key(self) -> $key {
                const SIGN: $key = 1 << (<$key>::BITS - 1);
                let bits = self.to_bits();
                if self.is_nan() {
                    <$key>::MAX
                } else if bits > SIGN {
                    !bits
                } else {
                    bits | SIGN
                }
            }
        }

        impl Told for $t {
            // Zeros, and what is no number.
            const SHARED: &[$key] = &[1 << (<$key>::BITS - 1), <$key>::MAX];

            #[inline(always)]
            fn of(key: $key) -> $t {
                const SIGN: $key = 1 << (<$key>::BITS - 1);
                <$t>::from_bits(if key & SIGN == 0 { !key } else { key ^ SIGN })
            }

            #[inline(always)]
            fn hidden(self) -> bool {
                self.is_nan() || self.to_bits() == 1 << (<$key>::BITS - 1)
            }
        }
    )* };
}

float!(f16: u16, bf16: u16, f32: u32, f64: u64);

impl Ordered for Complex32 {
    type Key = u64;

    /// By the real part, then by the imaginary one.
    #[inline(always)]
    fn key(self) -> u64 {
        if self.is_nan() { u64::MAX } else { (u64::from(self.re.key()) << 32) | u64::from(self.im.key()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_elements() {
        let numbers = [f32::NEG_INFINITY, -2.5, -1e-45, 0.0, 1e-45, 3.0, f32::INFINITY, f32::NAN];
        let keys: Vec<u32> = numbers.iter().map(|x| x.key()).collect();
        assert!(keys.is_sorted_by(|a, b| a < b), "{keys:?}");
        assert_eq!((-0f32).key(), 0f32.key());
        assert_eq!((-f32::NAN).key(), f32::NAN.key());
        for x in numbers {
            assert!(x.hidden() || f32::of(x.key()).to_bits() == x.to_bits());
        }
        for x in [i16::MIN, -1, 0, 1, i16::MAX] {
            assert_eq!(i16::of(x.key()), x);
        }
        assert!((-1i64).key() < 0i64.key());
        // Every half, and its neighbour.
        for bits in 0..=u16::MAX {
            let x = f16::from_bits(bits);
            assert!(x.hidden() || f16::of(x.key()).to_bits() == bits);
            assert!(!x.hidden() || f16::SHARED.contains(&x.key()));
        }
    }
}
