//! Few rows by a right factor with contiguous rows: each row of it is read
//! once, and every sum grows by one product after another.

use std::ops::Range;

use super::finish::{Area, Finish};
use super::{Task, Vector, Wide};
use crate::simd::{Float, Isa, Lanes, Stored, Work};

/// Sums that are kept in the first cache.
const SUMS: usize = 4096;
/// Rows of the right factor that are read at once.
const AT_ONCE: usize = 8;

/// A range of columns of one batch.
pub(super) struct Stream<'a, E: Stored> {
    pub(super) task: &'a Task,
    pub(super) a: *const E,
    pub(super) b: *const E,
    pub(super) finish: Finish<'a, E>,
    pub(super) batch: usize,
    pub(super) columns: Range<usize>,
}

impl<E: Stored> Work for Stream<'_, E> {
    type Out = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let task = self.task;
        let mut sums = [Wide::<E>::ZERO; SUMS];
        let width = (SUMS / task.m).next_multiple_of(64).min(SUMS / task.m);
        let mut column = self.columns.start;
        while column < self.columns.end {
            let n = width.min(self.columns.end - column);
            sums[..n * task.m].fill(Wide::<E>::ZERO);
            // SAFETY: the columns and all rows lie in the factors.
            unsafe {
                let a = self.a.offset(task.a.starts.at(self.batch));
                let b = self.b.offset(task.b.starts.at(self.batch) + column as isize);
                let mut l = 0;
                while l + AT_ONCE <= task.k {
                    rows::<E, I, AT_ONCE>(task, a, b, l, n, &mut sums);
                    l += AT_ONCE;
                }
                while l < task.k {
                    rows::<E, I, 1>(task, a, b, l, n, &mut sums);
                    l += 1;
                }
                let area = Area { batch: self.batch, row: 0, rows: task.m, column, columns: n };
                self.finish.area::<I>(area, sums.as_ptr(), n);
            }
            column += n;
        }
    }
}

/// Adds the products of `R` rows from row `l` on.
///
/// # Safety
/// The rows, and `n` columns of them, lie in the factors.
#[inline(always)]
unsafe fn rows<E: Stored, I: Isa, const R: usize>(
    task: &Task,
    a: *const E,
    b: *const E,
    l: usize,
    n: usize,
    sums: &mut [Wide<E>; SUMS],
) {
    let lanes = Vector::<E, I>::N;
    // SAFETY: as the caller promises; the sums hold `n` for each row.
    unsafe {
        let b: [*const E; R] = std::array::from_fn(|r| b.offset((l + r) as isize * task.b.row));
        for i in 0..task.m {
            let a = a.offset(i as isize * task.a.row + l as isize * task.a.column);
            let factors: [Wide<E>; R] =
                std::array::from_fn(|r| (*a.offset(r as isize * task.a.column)).widen());
            let wide: [Vector<E, I>; R] = factors.map(Lanes::splat);
            let sums = sums.as_mut_ptr().add(i * n);
            let mut j = 0;
            while j + lanes <= n {
                let mut sum = Vector::<E, I>::load(sums.add(j));
                for r in 0..R {
                    sum = wide[r].fma(E::load::<I>(b[r].add(j)), sum);
                }
                sum.store(sums.add(j));
                j += lanes;
            }
            while j < n {
                let mut sum = *sums.add(j);
                for r in 0..R {
                    sum = Wide::<E>::fma::<I>(factors[r], (*b[r].add(j)).widen(), sum);
                }
                *sums.add(j) = sum;
                j += 1;
            }
        }
    }
}
