//! Folds of many elements into one, in an order that depends on their number
//! alone: lanes within blocks, then blocks.

use crate::simd::Float;

/// Lanes that grow side by side.
const LANES: usize = 64;
/// Elements of a block: a lane grows by few elements before it is joined to
/// others, so that errors stay small.
const BLOCK: usize = 64 * LANES;

/// A combination of two values that hardly depends on order.
pub(super) trait Fold {
    /// The values.
    type Value: Copy;
    /// What changes no value.
    const START: Self::Value;

    fn join(a: Self::Value, b: Self::Value) -> Self::Value;
}

/// Folds `n` values.
#[inline(always)]
pub(super) fn fold<F: Fold>(n: usize, value: impl Fn(usize) -> F::Value) -> F::Value {
    let mut total = F::START;
    let mut at = 0;
    while at < n {
        let end = n.min(at + BLOCK);
        let mut block = F::START;
        if end - at >= LANES {
            let mut lanes = [F::START; LANES];
            while at + LANES <= end {
                for (j, lane) in lanes.iter_mut().enumerate() {
                    *lane = F::join(*lane, value(at + j));
                }
                at += LANES;
            }
            block = across::<F>(lanes);
        }
        while at < end {
            block = F::join(block, value(at));
            at += 1;
        }
        total = F::join(total, block);
    }
    total
}

#[inline(always)]
fn across<F: Fold>(mut lanes: [F::Value; LANES]) -> F::Value {
    let mut n = LANES;
    while n > 1 {
        n /= 2;
        for j in 0..n {
            lanes[j] = F::join(lanes[j], lanes[j + n]);
        }
    }
    lanes[0]
}

/// Sums of floats.
pub(super) struct Sum<T>(std::marker::PhantomData<T>);

impl<T: Float> Fold for Sum<T> {
    type Value = T;
    const START: T = T::ZERO;

    #[inline(always)]
    fn join(a: T, b: T) -> T {
        T::add(a, b)
    }
}

/// The largest of floats; NaN wins.
pub(super) struct Max<T>(std::marker::PhantomData<T>);

impl<T: Float> Fold for Max<T> {
    type Value = T;
    const START: T = T::LEAST;

    #[inline(always)]
    #[allow(clippy::eq_op, reason = "only NaN differs from itself")]
    fn join(a: T, b: T) -> T {
        if a != a || a > b { a } else { b }
    }
}
