//! Unsigned numbers in ascending order: digit by digit from the lowest, the
//! entries of each digit in their order.

use std::mem::MaybeUninit;

use crate::launch::Shared;
use crate::par::Crew;

/// Entries per digit of eight bits, below which comparing is quicker.
const FEW: usize = 80;
/// Entries from which fewer and wider digits are quicker.
const MANY: usize = 4096;
/// Entries that are near while all their digits are counted.
const NEAR: usize = 1024;

/// What is sorted: keys, or keys with something in their lower bits.
pub(super) trait Entry: Copy + Ord + Default + Send + Sync + 'static {
    const BITS: u32;

    /// The digit from a bit on, of a base that is a power of two.
    fn digit<const BASE: usize>(self, from: u32) -> usize;
}

macro_rules! entry {
    ($($t:ty),*) => { $(impl Entry for $t {
        const BITS: u32 = <$t>::BITS;

        #[inline(always)]
        fn digit<const BASE: usize>(self, from: u32) -> usize {
            (self >> from) as usize % BASE
        }
    })* };
}

entry!(u8, u16, u32, u64, u128);

/// Sorts by the bits from `low` to `high`, below which entries are in order or
/// all the same; of a line that is shared, each thread has a part. The result
/// is in `entries`; `other` is as long.
pub(super) fn sort<E: Entry>(
    entries: &mut [E],
    other: &mut [MaybeUninit<E>],
    bits: (u32, u32),
    crew: Option<&Crew<'_>>,
) {
    let n = entries.len();
    let wide = bits.1 - bits.0;
    if n < FEW * wide.div_ceil(8) as usize || u32::try_from(n).is_err() {
        // Entries that are the same to it are the same, or differ by their place.
        return entries.sort_unstable();
    }
    let wider = n >= MANY && wide.div_ceil(11) < wide.div_ceil(8);
    match (crew.filter(|crew| crew.count() > 1), wider) {
        (None, false) => alone::<E, 256>(entries, other, bits),
        (None, true) => alone::<E, 2048>(entries, other, bits),
        (Some(crew), false) => shared::<E, 256>(entries, other, bits, crew),
        (Some(crew), true) => shared::<E, 2048>(entries, other, bits, crew),
    }
}

/// Puts each entry where the count of its digit says, which goes on by one.
///
/// # Safety
/// The places lie in `to`, and no one else writes them.
#[inline(always)]
unsafe fn spread<E: Entry, const BASE: usize>(from: &[E], to: *mut E, bit: u32, counts: &mut [u32; BASE]) {
    for entry in from {
        let place = &mut counts[entry.digit::<BASE>(bit)];
        let at = *place as usize;
        *place += 1;
        // SAFETY: as the caller promises.
        unsafe { *to.add(at) = *entry };
    }
}

/// By one thread, which counts the entries of all digits at once.
fn alone<E: Entry, const BASE: usize>(
    entries: &mut [E],
    other: &mut [MaybeUninit<E>],
    (low, high): (u32, u32),
) {
    let n = entries.len();
    let digits = (low..high).step_by(BASE.trailing_zeros() as usize);
    let mut counts = vec![[0u32; BASE]; digits.len()];
    for near in entries.chunks(NEAR) {
        for (counts, bit) in counts.iter_mut().zip(digits.clone()) {
            for entry in near {
                counts[entry.digit::<BASE>(bit)] += 1;
            }
        }
    }
    let (mut from, mut to) = (entries.as_mut_ptr(), other.as_mut_ptr().cast::<E>());
    for (counts, bit) in counts.iter_mut().zip(digits) {
        let (mut at, mut most) = (0, 0);
        for count in counts.iter_mut() {
            most = most.max(*count);
            at += std::mem::replace(count, at);
        }
        if most as usize == n {
            continue;
        }
        // SAFETY: both have `n` entries, those of `from` are written, and the
        // counts send each to another place.
        unsafe { spread(std::slice::from_raw_parts(from, n), to, bit, counts) };
        std::mem::swap(&mut from, &mut to);
    }
    bring_back(entries, other, from);
}

/// By all threads: each counts and spreads a part of the entries.
fn shared<E: Entry, const BASE: usize>(
    entries: &mut [E],
    other: &mut [MaybeUninit<E>],
    (low, high): (u32, u32),
    crew: &Crew<'_>,
) {
    let n = entries.len();
    let parts = crew.count();
    let each = n.div_ceil(parts);
    let (mut from, mut to) = (entries.as_mut_ptr(), other.as_mut_ptr().cast::<E>());
    let mut counts = vec![[0u32; BASE]; parts];
    for bit in (low..high).step_by(BASE.trailing_zeros() as usize) {
        let pointers = Shared((from, to, counts.as_mut_ptr()));
        let part = |k: usize| {
            let (from, to, counts) = pointers.get();
            let first = (k * each).min(n);
            let len = each.min(n - first);
            // SAFETY: each part has its own counts, and nothing writes entries.
            unsafe { (std::slice::from_raw_parts(from.add(first), len), to, &mut *counts.add(k)) }
        };
        crew.for_chunks(parts, 1, |range| {
            for k in range {
                let (entries, _, counts) = part(k);
                counts.fill(0);
                for entry in entries {
                    counts[entry.digit::<BASE>(bit)] += 1;
                }
            }
        });
        // Where each part puts the entries of each digit.
        let (mut at, mut most) = (0, 0);
        for digit in 0..BASE {
            let before = at;
            for counts in &mut counts {
                at += std::mem::replace(&mut counts[digit], at);
            }
            most = most.max(at - before);
        }
        if most as usize == n {
            continue;
        }
        crew.for_chunks(parts, 1, |range| {
            for k in range {
                let (entries, to, counts) = part(k);
                // SAFETY: the places of all parts and digits are different.
                unsafe { spread(entries, to, bit, counts) };
            }
        });
        std::mem::swap(&mut from, &mut to);
    }
    bring_back(entries, other, from);
}

/// Copies the result to `entries` where it is in `other`.
fn bring_back<E: Entry>(entries: &mut [E], other: &[MaybeUninit<E>], from: *const E) {
    if std::ptr::eq(from, other.as_ptr().cast()) {
        for (entry, sorted) in entries.iter_mut().zip(other) {
            // SAFETY: the last spread has written all of them.
            *entry = unsafe { sorted.assume_init() };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::par::Threads;

    #[test]
    fn few_and_many_alone_and_shared() {
        let (threads, shares) = (Threads::new(3), AtomicBool::new(false));
        let crew = Crew::new(&threads, &shares);
        let mut state = 7u64;
        for n in [0, 1, 5, 900, 5000, 70_001] {
            let random: Vec<u64> = (0..n)
                .map(|_| {
                    state =
                        state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    state >> 20
                })
                .collect();
            for crew in [None, Some(&crew)] {
                let mut sorted = random.clone();
                sorted.sort_unstable();
                let mut found = random.clone();
                sort(&mut found, &mut vec![MaybeUninit::uninit(); n], (0, 64), crew);
                assert_eq!(found, sorted);
                // By the upper half; the lower counts up.
                let mut found: Vec<u64> =
                    random.iter().enumerate().map(|(i, x)| (((x >> 12) % 97) << 32) | i as u64).collect();
                let mut sorted = found.clone();
                sorted.sort_by_key(|x| x >> 32);
                sort(&mut found, &mut vec![MaybeUninit::uninit(); n], (32, 64), crew);
                assert_eq!(found, sorted);
            }
        }
    }
}
