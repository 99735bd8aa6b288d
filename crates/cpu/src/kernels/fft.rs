//! Fourier transforms: each axis in turn, line by line, with plans that are
//! made with the launch.

use std::sync::Arc;

use oneir_ir::Primitive;
use oneir_ir::graph::Sym;
use oneir_ir::primitive::FftOp;
use oneir_runtime::{Answer, KernelRow, Request};
use oneir_tensor::Complex32;
use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::{Fft as Plan, FftPlanner};

use crate::launch::{Args, Shared, prepared};
use crate::par::Crew;

pub(crate) fn rows() -> Vec<Box<dyn KernelRow>> {
    vec![Box::new(Transforms)]
}

/// Samples that make a share worth a second thread.
const GRAIN: usize = 1 << 14;
/// Lines of an axis that is not the last which are brought together, so that
/// whole stretches of memory are read.
const BLOCK: usize = 16;
/// Samples that such a block has at most, if it has several lines.
const BLOCK_SAMPLES: usize = 1 << 16;

struct Transforms;

impl KernelRow for Transforms {
    fn name(&self) -> &'static str {
        "fft"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["fft"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let (Sym::Prim(Primitive::Fft { op, axes, sizes }), [x], [result]) =
            (request.sym, request.operands, request.results)
        else {
            return Answer::No;
        };
        if !request.results_own() || result.spec.count() == 0 || x.layout.count() == 0 {
            return Answer::No;
        }
        if !x.layout.is_row_contiguous() {
            return Answer::Repack([0].into_iter().collect());
        }
        let Some(task) = Task::new(*op, axes, sizes, &x.layout.shape, x.layout.offset) else {
            return Answer::No;
        };
        // The inverse real transform turns its input over other axes first.
        let scratch = if matches!(task.real, Real::Inverse(..)) && !task.passes.is_empty() {
            x.layout.count() * size_of::<Complex32>()
        } else {
            0
        };
        let mut answer = prepared("fft", move |args| {
            // SAFETY: buffers have these shapes and dtypes, and scratch is as
            // large as was asked for.
            unsafe { task.run(args) };
            Ok(())
        });
        answer.scratch = scratch;
        Answer::Yes(answer)
    }
}

/// The lines of an axis of a row-contiguous array.
#[derive(Clone, Copy)]
struct Lines {
    outer: usize,
    inner: usize,
}

impl Lines {
    fn of(shape: &[usize], axis: usize) -> Lines {
        Lines { outer: shape[..axis].iter().product(), inner: shape[axis + 1..].iter().product() }
    }

    /// Calls `f` with stretches of lines that lie side by side: the first's
    /// place among the outer and inner ones, and how many there are.
    fn share(
        self,
        n: usize,
        crew: &Crew<'_>,
        f: impl Fn(&mut dyn Iterator<Item = (usize, usize, usize)>) + Sync,
    ) {
        let block = if self.inner == 1 { 1 } else { (BLOCK_SAMPLES / n).clamp(1, BLOCK) };
        let grain = (GRAIN / n).max(1).next_multiple_of(block);
        crew.for_chunks(self.outer * self.inner, grain, |range| {
            let mut at = range.start;
            f(&mut std::iter::from_fn(|| {
                if at >= range.end {
                    return None;
                }
                let (outer, inner) = (at / self.inner, at % self.inner);
                let count = (range.end - at).min(self.inner - inner).min(block);
                at += count;
                Some((outer, inner, count))
            }));
        });
    }
}

/// A complex transform of one axis, in place.
struct Pass {
    lines: Lines,
    n: usize,
    plan: Arc<dyn Plan<f32>>,
    /// What results are multiplied by.
    scale: f32,
}

impl Pass {
    /// # Safety
    /// `data` is an array of these lines.
    unsafe fn run(&self, data: *mut Complex32, crew: &Crew<'_>) {
        let (data, n, inner) = (Shared(data), self.n, self.lines.inner);
        self.lines.share(n, crew, |stretches| {
            let mut scratch = vec![Complex32::default(); self.plan.get_inplace_scratch_len()];
            let mut block = Vec::new();
            for (outer, at, count) in stretches {
                // SAFETY: a line's places lie inside the array, and no two
                // threads have the same lines.
                unsafe {
                    let first = data.get().add(outer * n * inner + at);
                    if inner == 1 {
                        let line = std::slice::from_raw_parts_mut(first, n);
                        self.plan.process_with_scratch(line, &mut scratch);
                        if self.scale != 1.0 {
                            line.iter_mut().for_each(|x| *x *= self.scale);
                        }
                        continue;
                    }
                    block.resize(count * n, Complex32::default());
                    for k in 0..n {
                        for j in 0..count {
                            block[j * n + k] = *first.add(k * inner + j);
                        }
                    }
                    self.plan.process_with_scratch(&mut block, &mut scratch);
                    for k in 0..n {
                        for j in 0..count {
                            *first.add(k * inner + j) = block[j * n + k] * self.scale;
                        }
                    }
                }
            }
        });
    }
}

/// What is real of a transform.
enum Real {
    /// Nothing.
    None,
    /// Its input.
    Forward(Lines, Arc<dyn RealToComplex<f32>>),
    /// Its result, which is multiplied by a number.
    Inverse(Lines, Arc<dyn ComplexToReal<f32>>, f32),
}

struct Task {
    /// Where the input begins.
    offset: isize,
    /// How many complex numbers the input or, of a real one, the result has.
    count: usize,
    passes: Vec<Pass>,
    real: Real,
}

impl Task {
    fn new(op: FftOp, axes: &[usize], sizes: &[usize], shape: &[usize], offset: isize) -> Option<Task> {
        let inverse = match op {
            FftOp::Fft | FftOp::Rfft => false,
            FftOp::Ifft | FftOp::Irfft => true,
            _ => return None,
        };
        let mut complex = shape.to_vec();
        let scale = |n: usize| if inverse { 1.0 / n as f32 } else { 1.0 };
        let (mut real, mut whole) = (Real::None, axes.len());
        if matches!(op, FftOp::Rfft | FftOp::Irfft) {
            let (&axis, &n) = axes.last().zip(sizes.last())?;
            whole -= 1;
            let lines = Lines::of(shape, axis);
            let mut planner = RealFftPlanner::<f32>::new();
            complex[axis] = n / 2 + 1;
            real = if inverse {
                Real::Inverse(lines, planner.plan_fft_inverse(n), scale(n))
            } else {
                Real::Forward(lines, planner.plan_fft_forward(n))
            };
        }
        let mut planner = FftPlanner::<f32>::new();
        let passes = axes[..whole].iter().zip(sizes).map(|(&axis, &n)| Pass {
            lines: Lines::of(&complex, axis),
            n,
            plan: if inverse { planner.plan_fft_inverse(n) } else { planner.plan_fft_forward(n) },
            scale: scale(n),
        });
        Some(Task { offset, count: complex.iter().product(), passes: passes.collect(), real })
    }

    /// # Safety
    /// `args` are buffers of the shapes and dtypes that the task was made for,
    /// with its scratch.
    unsafe fn run(&self, args: &Args<'_>) {
        // SAFETY: as the caller promises.
        unsafe {
            match &self.real {
                Real::None => {
                    let (from, to) =
                        (args.read::<Complex32>(0).offset(self.offset), args.write::<Complex32>(0));
                    copy(from, to, self.count, args.threads);
                    self.turn(to, args.threads);
                }
                Real::Forward(lines, plan) => {
                    let to = args.write::<Complex32>(0);
                    forward(*lines, plan.as_ref(), args.read::<f32>(0).offset(self.offset), to, args.threads);
                    self.turn(to, args.threads);
                }
                Real::Inverse(lines, plan, scale) => {
                    let mut from = args.read::<Complex32>(0).offset(self.offset);
                    if !self.passes.is_empty() {
                        let turned = args.scratch.cast::<Complex32>();
                        copy(from, turned, self.count, args.threads);
                        self.turn(turned, args.threads);
                        from = turned;
                    }
                    inverse((*lines, *scale), plan.as_ref(), from, args.write::<f32>(0), args.threads);
                }
            }
        }
    }

    /// # Safety
    /// `data` has the shape of the passes.
    unsafe fn turn(&self, data: *mut Complex32, crew: &Crew<'_>) {
        for pass in &self.passes {
            // SAFETY: as the caller promises.
            unsafe { pass.run(data, crew) };
        }
    }
}

/// # Safety
/// Both have `count` numbers, and lie apart.
unsafe fn copy(from: *const Complex32, to: *mut Complex32, count: usize, crew: &Crew<'_>) {
    let both = Shared((from, to));
    crew.for_chunks(count, GRAIN, |range| {
        let (from, to) = both.get();
        // SAFETY: the range lies inside both.
        unsafe { std::ptr::copy_nonoverlapping(from.add(range.start), to.add(range.start), range.len()) }
    });
}

/// Real lines to the first halves of their spectra.
///
/// # Safety
/// `from` and `to` are arrays of these lines.
unsafe fn forward(
    lines: Lines,
    plan: &dyn RealToComplex<f32>,
    from: *const f32,
    to: *mut Complex32,
    crew: &Crew<'_>,
) {
    let (both, n, inner) = (Shared((from, to)), plan.len(), lines.inner);
    let half = n / 2 + 1;
    lines.share(n, crew, |stretches| {
        let (mut scratch, mut spectrum) = (plan.make_scratch_vec(), plan.make_output_vec());
        let mut block = Vec::new();
        let (from, to) = both.get();
        for (outer, at, count) in stretches {
            block.resize(count * n, 0.0);
            // SAFETY: a line's places lie inside the arrays, and no two threads
            // have the same lines.
            unsafe {
                let first = from.add(outer * n * inner + at);
                for k in 0..n {
                    for j in 0..count {
                        block[j * n + k] = *first.add(k * inner + j);
                    }
                }
                for (j, line) in block.chunks_exact_mut(n).enumerate() {
                    let done = plan.process_with_scratch(line, &mut spectrum, &mut scratch);
                    debug_assert!(done.is_ok(), "buffers are as long as the plan has them");
                    let first = to.add(outer * half * inner + at + j);
                    for (k, x) in spectrum.iter().enumerate() {
                        *first.add(k * inner) = *x;
                    }
                }
            }
        }
    });
}

/// First halves of spectra to real lines, times a number.
///
/// # Safety
/// `from` and `to` are arrays of these lines.
unsafe fn inverse(
    (lines, scale): (Lines, f32),
    plan: &dyn ComplexToReal<f32>,
    from: *const Complex32,
    to: *mut f32,
    crew: &Crew<'_>,
) {
    let (both, n, inner) = (Shared((from, to)), plan.len(), lines.inner);
    let half = n / 2 + 1;
    lines.share(n, crew, |stretches| {
        let (mut scratch, mut line) = (plan.make_scratch_vec(), plan.make_output_vec());
        let mut block = Vec::new();
        let (from, to) = both.get();
        for (outer, at, count) in stretches {
            block.resize(count * half, Complex32::default());
            // SAFETY: as in `forward`.
            unsafe {
                let first = from.add(outer * half * inner + at);
                for k in 0..half {
                    for j in 0..count {
                        block[j * half + k] = *first.add(k * inner + j);
                    }
                }
                for (j, spectrum) in block.chunks_exact_mut(half).enumerate() {
                    // What is its own mirror image counts as real.
                    spectrum[0].im = 0.0;
                    if n % 2 == 0 {
                        spectrum[half - 1].im = 0.0;
                    }
                    let done = plan.process_with_scratch(spectrum, &mut line, &mut scratch);
                    debug_assert!(done.is_ok(), "buffers are as long as the plan has them");
                    let first = to.add(outer * n * inner + at + j);
                    for (k, x) in line.iter().enumerate() {
                        *first.add(k * inner) = x * scale;
                    }
                }
            }
        }
    });
}
