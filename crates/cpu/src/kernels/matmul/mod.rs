//! Products: `matmul`, `add_mm` and the fused class `linear`.
//!
//! Every element's sum runs over k in an order that depends on k and on how
//! the right factor lies, never on rows, batches or threads. Only products of
//! many rows in [`Numerics::Fast`] leave the order to the `gemm` crate.

mod blocked;
mod dot;
mod finish;
mod packed;
mod stream;

use half::{bf16, f16};
use oneir_ir::Primitive;
use oneir_ir::fast::{Activation, FastOp};
use oneir_ir::graph::{Class, Sym};
use oneir_runtime::{Answer, KernelRow, Numerics, Request};
use oneir_tensor::{DType, Layout};

use super::starts::Starts;
use crate::launch::{Args, Shared, prepared};
use crate::simd::{Float, Level, Stored};
use finish::{Act, Ending, Finish};

pub(crate) fn rows(level: Level) -> Vec<Box<dyn KernelRow>> {
    vec![Box::new(Product { level })]
}

/// Products of at most this many rows read the right factor once.
const FEW_ROWS: usize = 16;
/// Multiplications that are worth a thread.
const GRAIN: usize = 128 << 10;

struct Product {
    level: Level,
}

/// Where the matrices of one operand lie, in elements.
#[derive(Debug, Clone)]
struct Side {
    /// Where each batch's matrix begins.
    starts: Starts,
    row: isize,
    column: isize,
}

impl Side {
    fn new(layout: &Layout) -> Option<Side> {
        let batch = layout.rank().checked_sub(2)?;
        let starts = Starts::outer(layout, batch);
        Some(Side { starts, row: layout.strides[batch], column: layout.strides[batch + 1] })
    }

    /// Whether the batches follow each other as further rows.
    fn stacks(&self, rows: usize) -> bool {
        self.starts.step() == Some(self.row * rows as isize)
    }
}

/// A product with its shape, places and what follows it.
#[derive(Debug, Clone)]
struct Task {
    batches: usize,
    m: usize,
    n: usize,
    k: usize,
    a: Side,
    b: Side,
    c: Option<Side>,
    ending: Ending,
}

/// How a product is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    /// Few rows: rows of the right factor stream past, k by k.
    Stream,
    /// Rows of the left factor by columns of the right one, both contiguous
    /// along k.
    Dot,
    /// Many rows over packed columns, k by k.
    Packed,
    /// Many rows by the `gemm` crate.
    Blocked,
}

impl Task {
    fn new(request: &Request<'_>) -> Option<Task> {
        let [result] = request.results else { return None };
        let shape = &result.spec.shape;
        let rank = shape.rank();
        let (ending, c) = match request.sym {
            Sym::Prim(Primitive::Matmul) => (Ending::None, None),
            Sym::Prim(Primitive::AddMM { alpha, beta }) => {
                let (alpha, beta) = (f64::from(f32::from_bits(*alpha)), f64::from(f32::from_bits(*beta)));
                (Ending::Scaled { alpha, beta }, Some(request.operands.get(2)?.layout.clone()))
            }
            Sym::Fused(fused) => match &fused.class {
                Class::Fast(FastOp::Linear(linear)) => {
                    let bias = request.operands.get(2)?.layout.broadcast(shape).ok()?;
                    let act = match linear.activation {
                        Activation::None => Act::None,
                        Activation::Relu => Act::Relu,
                        Activation::Tanh => Act::Tanh,
                        Activation::Sigmoid => Act::Sigmoid,
                        _ => return None,
                    };
                    (Ending::Linear(act), Some(bias))
                }
                _ => return None,
            },
            _ => return None,
        };
        let (a, b) = (&request.operands[0].layout, &request.operands[1].layout);
        let mut task = Task {
            batches: shape[..rank - 2].iter().product(),
            m: shape[rank - 2],
            n: shape[rank - 1],
            k: a.shape[rank - 1],
            a: Side::new(a)?,
            b: Side::new(b)?,
            c: match c {
                Some(layout) => Some(Side::new(&layout)?),
                None => None,
            },
            ending,
        };
        task.stack();
        Some(task)
    }

    /// Batches of one right factor become further rows of one product.
    fn stack(&mut self) {
        let one = self.b.starts.step() == Some(0);
        let stacks = |side: &Side| side.stacks(self.m);
        if self.batches > 1 && one && stacks(&self.a) && self.c.as_ref().is_none_or(stacks) {
            for side in [Some(&mut self.a), Some(&mut self.b), self.c.as_mut()].into_iter().flatten() {
                side.starts = side.starts.only_first();
            }
            self.m *= self.batches;
            self.batches = 1;
        }
    }

    /// The method, and whether it needs the left factor packed first.
    fn method(&self, numerics: Numerics, dtype: DType) -> (Method, bool) {
        let along = self.b.row == 1 || self.k == 1;
        let across = self.b.column == 1 || self.n == 1;
        let few = self.m <= FEW_ROWS;
        // A single column lies along k as well.
        let dot = along && (!across || self.n == 1);
        if !few && numerics == Numerics::Fast && !dtype.is_half() && self.k > 0 {
            return (Method::Blocked, false);
        }
        let many_halves = !few && numerics == Numerics::Fast;
        if dot && !many_halves {
            return (Method::Dot, self.a.column != 1 && self.k > 1);
        }
        if few && across { (Method::Stream, false) } else { (Method::Packed, false) }
    }
}

impl KernelRow for Product {
    fn name(&self) -> &'static str {
        "matmul"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["matmul", "add_mm", "linear"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        if !request.results_own() {
            return Answer::No;
        }
        let dtype = request.operands[0].dtype;
        if !dtype.is_float() || !dtype.computes() {
            return Answer::No;
        }
        let Some(task) = Task::new(request) else { return Answer::No };
        let (method, packs) = task.method(request.numerics, dtype);
        if packs {
            return Answer::Repack([0].into_iter().collect());
        }
        let (level, threads) = (self.level, request.threads);
        match dtype {
            DType::F32 => launch::<f32>(task, method, level, threads),
            DType::F64 => launch::<f64>(task, method, level, threads),
            DType::F16 => launch::<f16>(task, method, level, threads),
            _ => launch::<bf16>(task, method, level, threads),
        }
    }
}

fn launch<E: Stored>(task: Task, method: Method, level: Level, threads: usize) -> Answer {
    let (name, scratch) = match method {
        Method::Stream => ("matmul_stream", 0),
        Method::Dot => ("matmul_dot", 0),
        Method::Packed => ("matmul_packed", packed::scratch::<E>(&task, threads)),
        Method::Blocked => ("matmul_blocked", 0),
    };
    let mut answer = prepared(name, move |args| {
        if task.batches * task.m * task.n > 0 {
            // SAFETY: the operands' dtype is `E`'s, and their layouts stay
            // inside their buffers.
            unsafe { run::<E>(&task, method, level, args) }
        }
        Ok(())
    });
    answer.scratch = scratch;
    Answer::Yes(answer)
}

/// # Safety
/// The operands' and the result's elements are `E`, laid out as the task says.
unsafe fn run<E: Stored>(task: &Task, method: Method, level: Level, args: &Args<'_>) {
    // SAFETY: as the caller promises.
    let (a, b, out) = unsafe { (args.read::<E>(0), args.read::<E>(1), args.write::<E>(0)) };
    let c = match task.c {
        // SAFETY: as the caller promises.
        Some(_) => unsafe { args.read::<E>(2) },
        None => a,
    };
    let finish = Finish { task, c, out };
    // SAFETY: as the caller promises; parts write different elements.
    unsafe {
        match method {
            Method::Stream | Method::Dot => {
                let (width, units, grain) = columns(task, args.threads.count());
                let pointers = Shared((a, b, finish));
                args.threads.for_chunks(task.batches * units, grain, |range| {
                    let (a, b, finish) = pointers.get();
                    for unit in range {
                        let (batch, part) = (unit / units, unit % units);
                        let columns = part * width..((part + 1) * width).min(task.n);
                        if method == Method::Dot {
                            level.dispatch(dot::Dot { task, a, b, finish, batch, rows: 0..task.m, columns });
                        } else {
                            level.dispatch(stream::Stream { task, a, b, finish, batch, columns });
                        }
                    }
                });
            }
            Method::Packed => packed::run(task, level, args, a, b, finish),
            Method::Blocked => blocked::run(task, level, args, a, b, finish),
        }
    }
}

/// How wide the parts are that columns are split into, how many there are, and
/// how many are worth a thread.
fn columns(task: &Task, threads: usize) -> (usize, usize, usize) {
    let parts = if task.batches >= threads { 1 } else { threads };
    let worth = (GRAIN / (task.m * task.k).max(1)).max(1);
    let width = task.n.div_ceil(parts).max(worth).next_multiple_of(64).min(task.n.max(1));
    let grain = (GRAIN / (task.m * task.k * width).max(1)).max(1);
    (width, task.n.div_ceil(width), grain)
}

impl<E: Stored> Copy for Finish<'_, E> {}

impl<E: Stored> Clone for Finish<'_, E> {
    fn clone(&self) -> Self {
        *self
    }
}

/// The type that a product of `E` sums in.
type Wide<E> = <E as Stored>::Wide;

/// A vector of it.
type Vector<E, I> = <Wide<E> as Float>::Lanes<I>;

/// Rows of one matrix by rows of another, f32, by one thread: `[m, k]` and
/// `[n, k]` to `[m, n]`.
pub(super) struct Dots(Task);

impl Dots {
    pub(super) fn new(m: usize, n: usize, k: usize) -> Dots {
        let one = Starts::new(0, std::iter::empty());
        let side = |row: usize, column: usize| Side {
            starts: one.clone(),
            row: row as isize,
            column: column as isize,
        };
        Dots(Task { batches: 1, m, n, k, a: side(k, 1), b: side(1, k), c: None, ending: Ending::None })
    }

    /// The result's `rows`.
    ///
    /// # Safety
    /// The matrices lie row by row, and the result's rows can be written and
    /// are written by no one else.
    pub(super) unsafe fn run(
        &self,
        level: Level,
        rows: std::ops::Range<usize>,
        a: *const f32,
        b: *const f32,
        out: *mut f32,
    ) {
        let task = &self.0;
        let finish = Finish { task, c: a, out };
        let columns = 0..task.n;
        level.dispatch(dot::Dot { task, a, b, finish, batch: 0, rows, columns });
    }
}
