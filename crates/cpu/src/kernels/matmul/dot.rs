//! Rows by columns that both lie contiguous along k: one vector of partial
//! sums for each element, whatever the number of rows.

use std::ops::Range;

use super::finish::{Area, Finish};
use super::{Task, Vector, Wide};
use crate::simd::{Float, Isa, Lanes, Stored, Work};

/// Rows of the left factor, and columns, that are worked on at once.
const ROWS: usize = 3;
const COLUMNS: usize = 4;
/// Columns at once for a single row.
const ALONE: usize = 8;
/// Columns whose sums wait to be finished together.
const WAITING: usize = 64;

/// Ranges of rows and columns of one batch.
pub(super) struct Dot<'a, E: Stored> {
    pub(super) task: &'a Task,
    pub(super) a: *const E,
    pub(super) b: *const E,
    pub(super) finish: Finish<'a, E>,
    pub(super) batch: usize,
    pub(super) rows: Range<usize>,
    pub(super) columns: Range<usize>,
}

impl<E: Stored> Work for Dot<'_, E> {
    type Out = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let mut column = self.columns.start;
        while column < self.columns.end {
            let n = WAITING.min(self.columns.end - column);
            let mut row = self.rows.start;
            while row < self.rows.end {
                // SAFETY: the rows and columns lie in the factors.
                unsafe {
                    row += match self.rows.end - row {
                        1 => self.strip::<I, 1, ALONE>(row, column, n),
                        2 => self.strip::<I, 2, COLUMNS>(row, column, n),
                        _ => self.strip::<I, ROWS, COLUMNS>(row, column, n),
                    };
                }
            }
            column += n;
        }
    }
}

impl<E: Stored> Dot<'_, E> {
    /// `R` rows by `n` columns; gives `R`.
    ///
    /// # Safety
    /// They lie in the factors.
    #[inline(always)]
    unsafe fn strip<I: Isa, const R: usize, const C: usize>(
        &self,
        row: usize,
        column: usize,
        n: usize,
    ) -> usize {
        let mut sums = [[Wide::<E>::ZERO; WAITING]; R];
        let mut j = 0;
        // SAFETY: as the caller promises.
        unsafe {
            while j + C <= n {
                self.block::<I, R, C>(row, column + j, j, &mut sums);
                j += C;
            }
            while j < n {
                self.block::<I, R, 1>(row, column + j, j, &mut sums);
                j += 1;
            }
            let area = Area { batch: self.batch, row, rows: R, column, columns: n };
            self.finish.area::<I>(area, sums.as_ptr().cast(), WAITING);
        }
        R
    }

    /// # Safety
    /// The rows and columns lie in the factors.
    #[inline(always)]
    unsafe fn block<I: Isa, const R: usize, const C: usize>(
        &self,
        row: usize,
        column: usize,
        place: usize,
        sums: &mut [[Wide<E>; WAITING]; R],
    ) {
        let task = self.task;
        let lanes = Vector::<E, I>::N;
        // SAFETY: as the caller promises.
        unsafe {
            let a = self.a.offset(task.a.starts.at(self.batch));
            let b = self.b.offset(task.b.starts.at(self.batch));
            let a: [*const E; R] = std::array::from_fn(|i| a.offset((row + i) as isize * task.a.row));
            let b: [*const E; C] = std::array::from_fn(|j| b.offset((column + j) as isize * task.b.column));
            let mut partial = [[Vector::<E, I>::splat(Wide::<E>::ZERO); C]; R];
            let mut l = 0;
            while l + lanes <= task.k {
                let x: [Vector<E, I>; R] = std::array::from_fn(|i| E::load::<I>(a[i].add(l)));
                for j in 0..C {
                    let y = E::load::<I>(b[j].add(l));
                    for i in 0..R {
                        partial[i][j] = x[i].fma(y, partial[i][j]);
                    }
                }
                l += lanes;
            }
            for i in 0..R {
                for j in 0..C {
                    let mut sum = partial[i][j].sum();
                    for l in l..task.k {
                        sum = Wide::<E>::fma::<I>((*a[i].add(l)).widen(), (*b[j].add(l)).widen(), sum);
                    }
                    sums[i][place + j] = sum;
                }
            }
        }
    }
}
