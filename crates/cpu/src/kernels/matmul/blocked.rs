//! Many rows of f32 or f64, by the `gemm` crate: one serial call for each
//! stripe of rows, columns or batches.

use std::any::TypeId;

use super::finish::{Area, Ending, Finish};
use super::{GRAIN, Task};
use crate::launch::{Args, Shared};
use crate::simd::{Isa, Level, Stored, Work};

/// Stripes begin at multiples of this.
const STRIPE: usize = 32;

/// # Safety
/// As `super::run` says; `E` is f32 or f64.
pub(super) unsafe fn run<E: Stored>(
    task: &Task,
    level: Level,
    args: &Args<'_>,
    a: *const E,
    b: *const E,
    finish: Finish<'_, E>,
) {
    let threads = args.threads.count();
    let by_rows = task.m >= task.n;
    let long = if by_rows { task.m } else { task.n };
    let parts = if task.batches >= 4 * threads { 1 } else { threads };
    let worth = GRAIN * long / (task.m * task.n * task.k).max(1);
    let width = long.div_ceil(parts).max(worth).next_multiple_of(STRIPE).min(long);
    let stripes = long.div_ceil(width);
    let grain = (GRAIN / (task.m * task.n * task.k / stripes).max(1)).max(1);
    let pointers = Shared((a, b, finish));
    args.threads.for_chunks(task.batches * stripes, grain, |range| {
        let (a, b, finish) = pointers.get();
        for unit in range {
            let (batch, stripe) = (unit / stripes, unit % stripes);
            let (start, end) = (stripe * width, ((stripe + 1) * width).min(long));
            let mut area = Area { batch, row: 0, rows: task.m, column: 0, columns: task.n };
            if by_rows {
                (area.row, area.rows) = (start, end - start);
            } else {
                (area.column, area.columns) = (start, end - start);
            }
            // SAFETY: as the caller promises; stripes do not overlap.
            unsafe {
                if TypeId::of::<E>() == TypeId::of::<f32>() {
                    product::<f32>(task, area, a.cast(), b.cast(), finish.out.cast(), 1.0);
                } else {
                    product::<f64>(task, area, a.cast(), b.cast(), finish.out.cast(), 1.0);
                }
                if task.ending != Ending::None {
                    level.dispatch(End { finish, area });
                }
            }
        }
    });
}

/// # Safety
/// The area lies in the result, and its rows and columns in the factors.
unsafe fn product<T: Default + 'static>(
    task: &Task,
    area: Area,
    a: *const T,
    b: *const T,
    out: *mut T,
    one: T,
) {
    let (row, column) = (area.row as isize, area.column as isize);
    // SAFETY: as the caller promises.
    unsafe {
        gemm::gemm(
            area.rows,
            area.columns,
            task.k,
            out.add((area.batch * task.m + area.row) * task.n + area.column),
            1,
            task.n as isize,
            false,
            a.offset(task.a.starts.at(area.batch) + row * task.a.row),
            task.a.column,
            task.a.row,
            b.offset(task.b.starts.at(area.batch) + column * task.b.column),
            task.b.column,
            task.b.row,
            T::default(),
            one,
            false,
            false,
            false,
            gemm::Parallelism::None,
        );
    }
}

/// Finishes sums where they lie.
struct End<'a, E: Stored> {
    finish: Finish<'a, E>,
    area: Area,
}

impl<E: Stored> Work for End<'_, E> {
    type Out = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let (task, area) = (self.finish.task, self.area);
        // SAFETY: the area's sums lie where its results go; `E` is the type
        // that they are summed in.
        unsafe {
            let at = (area.batch * task.m + area.row) * task.n + area.column;
            self.finish.area::<I>(area, self.finish.out.add(at).cast(), task.n);
        }
    }
}
