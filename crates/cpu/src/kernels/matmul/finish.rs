//! What follows a product: scaling, an addend, a bias, an activation, and the
//! conversion to the result's type.

use super::{Task, Wide};
use crate::simd::{Float, Isa, Stored};

/// What follows the sums.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Ending {
    None,
    /// alpha · product + beta · c.
    Scaled {
        alpha: f64,
        beta: f64,
    },
    /// The activation of product + bias, each rounded to the result's type.
    Linear(Act),
}

/// The activations that a product takes along.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Act {
    None,
    Relu,
    Tanh,
    Sigmoid,
}

/// Finishes sums into the result.
pub(super) struct Finish<'a, E: Stored> {
    pub(super) task: &'a Task,
    pub(super) c: *const E,
    pub(super) out: *mut E,
}

/// A rectangle of one batch's result.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub(super) batch: usize,
    pub(super) row: usize,
    pub(super) rows: usize,
    pub(super) column: usize,
    pub(super) columns: usize,
}

/// Elements that are finished at once.
const RUN: usize = 256;

impl<E: Stored> Finish<'_, E> {
    /// Writes an area from its sums, whose rows lie `pitch` apart. The sums
    /// may be where the results go.
    ///
    /// # Safety
    /// The area lies in the result, and no one else writes it.
    #[inline(always)]
    pub(super) unsafe fn area<I: Isa>(&self, area: Area, sums: *const Wide<E>, pitch: usize) {
        let task = self.task;
        let mut values = [Wide::<E>::ZERO; RUN];
        let mut addend = [Wide::<E>::ZERO; RUN];
        for i in 0..area.rows {
            let row = area.row + i;
            let mut done = 0;
            while done < area.columns {
                let n = RUN.min(area.columns - done);
                let column = area.column + done;
                // SAFETY: as the caller promises, and as the task's layouts say.
                unsafe {
                    std::ptr::copy_nonoverlapping(sums.add(i * pitch + done), values.as_mut_ptr(), n);
                    if let Some(c) = &task.c {
                        let start =
                            c.starts.at(area.batch) + row as isize * c.row + column as isize * c.column;
                        let from = self.c.offset(start);
                        if c.column == 1 {
                            for (j, x) in addend[..n].iter_mut().enumerate() {
                                *x = (*from.add(j)).widen();
                            }
                        } else {
                            for (j, x) in addend[..n].iter_mut().enumerate() {
                                *x = (*from.offset(j as isize * c.column)).widen();
                            }
                        }
                    }
                    let to = self.out.add((area.batch * task.m + row) * task.n + column);
                    write::<E, I>(task.ending, &values[..n], &addend[..n], to);
                }
                done += n;
            }
        }
    }
}

/// # Safety
/// As many elements as there are values can be written.
#[inline(always)]
unsafe fn write<E: Stored, I: Isa>(ending: Ending, values: &[Wide<E>], addend: &[Wide<E>], to: *mut E) {
    macro_rules! each {
        (|$v:ident, $c:ident| $body:expr) => {
            for (j, (&$v, &$c)) in values.iter().zip(addend).enumerate() {
                // SAFETY: as the caller promises.
                unsafe { *to.add(j) = E::narrow($body) }
            }
        };
    }
    let round = |x: Wide<E>| E::narrow(x).widen();
    match ending {
        Ending::None => each!(|v, _c| v),
        Ending::Scaled { alpha, beta } => {
            let (alpha, beta) = (Wide::<E>::from_f64(alpha), Wide::<E>::from_f64(beta));
            each!(|v, c| Float::add(Float::mul(v, alpha), Float::mul(c, beta)));
        }
        Ending::Linear(activation) => match activation {
            Act::Relu => each!(|v, c| Float::relu(Float::add(round(v), c))),
            Act::Tanh => each!(|v, c| Float::tanh::<I>(round(Float::add(round(v), c)))),
            Act::Sigmoid => each!(|v, c| Float::sigmoid::<I>(round(Float::add(round(v), c)))),
            Act::None => each!(|v, c| Float::add(round(v), c)),
        },
    }
}
