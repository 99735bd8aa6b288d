//! Many rows: columns of the right factor are packed, and every sum stays in a
//! register while it grows by one product after another.

use super::finish::{Area, Finish};
use super::{GRAIN, Task, Vector, Wide};
use crate::launch::{Args, Shared};
use crate::simd::{Float, Isa, Lanes, Level, Stored, Work};

/// Columns that are packed at once: two of the widest vectors of f32.
const PANEL: usize = 32;
/// Rows that are worked on at once.
const ROWS: usize = 6;

/// Bytes of the packed columns of every thread, and of the left factor as
/// floats where it holds halves.
pub(super) fn scratch<E: Stored>(task: &Task, threads: usize) -> usize {
    let size = size_of::<Wide<E>>();
    let panels = threads.max(1) * task.k * PANEL * size;
    panels + if converts::<E>() { task.batches * task.m * task.k * size } else { 0 }
}

fn converts<E: Stored>() -> bool {
    size_of::<E>() != size_of::<Wide<E>>()
}

/// The left factor as it is read.
#[derive(Clone, Copy)]
struct Left<T> {
    start: *const T,
    /// Elements from one batch to the next, where it was converted.
    batch: Option<usize>,
    row: isize,
    column: isize,
}

/// # Safety
/// As `super::run` says, with scratch as [`scratch`] says.
pub(super) unsafe fn run<E: Stored>(
    task: &Task,
    level: Level,
    args: &Args<'_>,
    a: *const E,
    b: *const E,
    finish: Finish<'_, E>,
) {
    let threads = args.threads.count();
    let scratch = args.scratch.cast::<Wide<E>>();
    let left = if converts::<E>() {
        // SAFETY: the converted factor follows the panels.
        let start = unsafe { scratch.add(threads * task.k * PANEL) };
        let pointers = Shared((a, start));
        let per_row = (GRAIN / task.k.max(1)).max(1);
        args.threads.for_chunks(task.batches * task.m, per_row, |range| {
            let (a, start) = pointers.get();
            for row in range {
                // SAFETY: the row lies in the factor, and its room is its own.
                unsafe {
                    let from = task.a.starts.at(row / task.m) + (row % task.m) as isize * task.a.row;
                    let to = start.add(row * task.k);
                    level.dispatch(Widen { from: a.offset(from), stride: task.a.column, n: task.k, to });
                }
            }
        });
        let (batch, row) = (Some(task.m * task.k), task.k as isize);
        Left { start: start.cast_const(), batch, row, column: 1 }
    } else {
        Left { start: a.cast(), batch: None, row: task.a.row, column: task.a.column }
    };
    let panels = task.n.div_ceil(PANEL);
    // With few panels, rows are split as well.
    let splits = threads.div_ceil(panels * task.batches).min(task.m.div_ceil(ROWS)).max(1);
    let rows = task.m.div_ceil(splits).next_multiple_of(ROWS);
    let splits = task.m.div_ceil(rows);
    let units = task.batches * panels * splits;
    let parts = threads.min(units);
    let pointers = Shared((b, finish, left, scratch));
    args.threads.for_chunks(parts, 1, |range| {
        let (b, finish, left, scratch) = pointers.get();
        for part in range {
            for unit in units * part / parts..units * (part + 1) / parts {
                let (batch, rest) = (unit / (panels * splits), unit % (panels * splits));
                let (panel, split) = (rest / splits, rest % splits);
                level.dispatch(Panel {
                    task,
                    left,
                    b,
                    finish,
                    // SAFETY: each part has a panel of its own.
                    room: unsafe { scratch.add(part * task.k * PANEL) },
                    batch,
                    column: panel * PANEL,
                    rows: split * rows..((split + 1) * rows).min(task.m),
                });
            }
        }
    });
}

/// A row of the left factor as floats.
struct Widen<E: Stored> {
    from: *const E,
    stride: isize,
    n: usize,
    to: *mut Wide<E>,
}

impl<E: Stored> Work for Widen<E> {
    type Out = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        // SAFETY: the row has `n` elements, and there is room for as many.
        unsafe {
            if self.stride == 1 {
                for l in 0..self.n {
                    *self.to.add(l) = (*self.from.add(l)).widen();
                }
            } else {
                for l in 0..self.n {
                    *self.to.add(l) = (*self.from.offset(l as isize * self.stride)).widen();
                }
            }
        }
    }
}

/// Some rows by one panel of columns.
struct Panel<'a, E: Stored> {
    task: &'a Task,
    left: Left<Wide<E>>,
    b: *const E,
    finish: Finish<'a, E>,
    room: *mut Wide<E>,
    batch: usize,
    column: usize,
    rows: std::ops::Range<usize>,
}

impl<E: Stored> Work for Panel<'_, E> {
    type Out = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let task = self.task;
        let n = PANEL.min(task.n - self.column);
        // SAFETY: the panel lies in the factor, and the room holds it.
        unsafe {
            let start = task.b.starts.at(self.batch) + self.column as isize * task.b.column;
            let b = self.b.offset(start);
            for l in 0..task.k {
                let from = b.offset(l as isize * task.b.row);
                let to = self.room.add(l * PANEL);
                if task.b.column == 1 && n == PANEL {
                    for j in 0..PANEL {
                        *to.add(j) = (*from.add(j)).widen();
                    }
                } else {
                    for j in 0..n {
                        *to.add(j) = (*from.offset(j as isize * task.b.column)).widen();
                    }
                    for j in n..PANEL {
                        *to.add(j) = Wide::<E>::ZERO;
                    }
                }
            }
            let a = match self.left.batch {
                Some(batch) => self.left.start.add(self.batch * batch),
                None => self.left.start.offset(task.a.starts.at(self.batch)),
            };
            let mut row = self.rows.start;
            while row < self.rows.end {
                row += if row + ROWS <= self.rows.end {
                    self.block::<I, ROWS>(a, row, n)
                } else {
                    self.block::<I, 1>(a, row, n)
                };
            }
        }
    }
}

impl<E: Stored> Panel<'_, E> {
    /// `R` rows; gives `R`.
    ///
    /// # Safety
    /// The rows lie in the left factor.
    #[inline(always)]
    unsafe fn block<I: Isa, const R: usize>(&self, a: *const Wide<E>, row: usize, n: usize) -> usize {
        let lanes = Vector::<E, I>::N;
        let mut sums = [[Wide::<E>::ZERO; PANEL]; R];
        // SAFETY: as the caller promises; the panel is packed.
        unsafe {
            let a: [*const Wide<E>; R] =
                std::array::from_fn(|i| a.offset((row + i) as isize * self.left.row));
            let mut j = 0;
            while j < n {
                let mut low = [Vector::<E, I>::splat(Wide::<E>::ZERO); R];
                let mut high = low;
                let mut b = self.room.add(j).cast_const();
                for l in 0..self.task.k as isize {
                    let (y, z) = (Vector::<E, I>::load(b), Vector::<E, I>::load(b.add(lanes)));
                    for i in 0..R {
                        let x = Vector::<E, I>::splat(*a[i].offset(l * self.left.column));
                        low[i] = x.fma(y, low[i]);
                        high[i] = x.fma(z, high[i]);
                    }
                    b = b.add(PANEL);
                }
                for i in 0..R {
                    low[i].store(sums[i].as_mut_ptr().add(j));
                    high[i].store(sums[i].as_mut_ptr().add(j + lanes));
                }
                j += 2 * lanes;
            }
            let area = Area { batch: self.batch, row, rows: R, column: self.column, columns: n };
            self.finish.area::<I>(area, sums.as_ptr().cast(), PANEL);
        }
        R
    }
}
