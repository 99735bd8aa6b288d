//! Padding: every element of the result is one of the input's, or the value.

use oneir_ir::Primitive;
use oneir_ir::graph::Sym;
use oneir_ir::primitive::PadMode;
use oneir_runtime::{Answer, KernelRow, Request};
use oneir_tensor::Layout;

use crate::launch::{Args, Shared, prepared};

pub(crate) fn rows() -> Vec<Box<dyn KernelRow>> {
    vec![Box::new(Pad)]
}

/// Writing fewer bytes than this is not worth a second thread.
const GRAIN_BYTES: usize = 64 << 10;
/// Places along all axes: larger results, which hardly exist, are left to the
/// reference evaluation.
const MOST_PLACES: usize = 1 << 26;

struct Pad;

impl KernelRow for Pad {
    fn name(&self) -> &'static str {
        "pad"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["pad"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let Sym::Prim(Primitive::Pad { low, mode, .. }) = request.sym else { return Answer::No };
        let ([x, ..], [result]) = (request.operands, request.results) else { return Answer::No };
        let shape = &result.spec.shape;
        let known = [PadMode::Constant, PadMode::Edge, PadMode::Wrap, PadMode::Reflect, PadMode::Symmetric];
        if !known.contains(mode) {
            return Answer::No;
        }
        let Some(size) =
            x.dtype.size().filter(|_| request.results_own() && shape.rank() > 0 && shape.count() > 0)
        else {
            return Answer::No;
        };
        // The table of places is made with the plan, before memory is asked for.
        if shape.iter().try_fold(0usize, |all, &n| all.checked_add(n)).is_none_or(|all| all > MOST_PLACES) {
            return Answer::No;
        }
        let value = request.operands.get(1).map_or(0, |value| value.layout.offset);
        let sources = shape.iter().enumerate().map(|(axis, &n)| {
            let from = x.layout.shape[axis];
            (0..n).map(|to| source(*mode, to as i128 - low[axis] as i128, from)).collect()
        });
        let task = Task { x: x.layout.clone(), value, sources: sources.collect(), size };
        Answer::Yes(prepared("pad", move |args| {
            // SAFETY: the plan's layouts stay inside their buffers, and
            // elements have this size.
            unsafe {
                match task.size {
                    1 => task.run::<u8>(args),
                    2 => task.run::<u16>(args),
                    4 => task.run::<u32>(args),
                    8 => task.run::<u64>(args),
                    _ => task.run::<[u64; 2]>(args),
                }
            }
            Ok(())
        }))
    }
}

/// The item of an axis of `size` that stands at place `at`, counted from the
/// axis's first; `OUTSIDE` where the value does.
fn source(mode: PadMode, at: i128, size: usize) -> isize {
    let n = size as i128;
    let found = match mode {
        PadMode::Constant if (0..n).contains(&at) => at,
        PadMode::Edge => at.clamp(0, (n - 1).max(0)),
        PadMode::Wrap => at.rem_euclid(n.max(1)),
        PadMode::Symmetric => {
            let at = at.rem_euclid(2 * n.max(1));
            if at < n { at } else { 2 * n - 1 - at }
        }
        PadMode::Reflect => {
            let period = (2 * (n - 1)).max(1);
            let at = at.rem_euclid(period);
            if at < n { at } else { period - at }
        }
        _ => return OUTSIDE,
    };
    found as isize
}

const OUTSIDE: isize = -1;

struct Task {
    x: Layout,
    /// Where the value lies.
    value: isize,
    /// Of each axis, the input's item at every place.
    sources: Vec<Vec<isize>>,
    size: usize,
}

impl Task {
    /// # Safety
    /// `args` are buffers of these layouts, of elements as large as `T`.
    unsafe fn run<T: Copy + Default + Send + Sync>(&self, args: &Args<'_>) {
        let last = self.sources.len() - 1;
        let line = self.sources[last].len();
        let lines: usize = self.sources[..last].iter().map(Vec::len).product();
        if line == 0 {
            return;
        }
        let value = match args.reads.get(1) {
            // SAFETY: as the caller promises.
            Some(_) => unsafe { args.read::<T>(1).offset(self.value).read_unaligned() },
            None => T::default(),
        };
        // The longest stretch of neighbours, which is copied at once.
        let sources = &self.sources[last];
        let first = sources.iter().position(|&at| at == 0).unwrap_or(0);
        let run = sources[first..].iter().zip(0..).take_while(|(at, i)| **at == *i).count();
        let stride = self.x.strides[last];
        // SAFETY: as the caller promises.
        let pointers = unsafe { Shared((args.read::<T>(0), args.write::<T>(0))) };
        let grain = (GRAIN_BYTES / (line * self.size)).max(1);
        args.threads.for_chunks(lines, grain, |range| {
            let (x, out) = pointers.get();
            for row in range {
                // SAFETY: rows of the result do not overlap.
                let target = unsafe { std::slice::from_raw_parts_mut(out.add(row * line), line) };
                let Some(from) = self.place(row) else {
                    target.fill(value);
                    continue;
                };
                // SAFETY: the sources lie in the input.
                unsafe {
                    let from = x.offset(from);
                    let mut each = |range: std::ops::Range<usize>| {
                        for i in range {
                            target[i] = match sources[i] {
                                OUTSIDE => value,
                                at => from.offset(at * stride).read_unaligned(),
                            };
                        }
                    };
                    if stride == 1 {
                        each(0..first);
                        each(first + run..line);
                        std::ptr::copy_nonoverlapping(from, target[first..].as_mut_ptr(), run);
                    } else {
                        each(0..line);
                    }
                }
            }
        });
    }

    /// Where the line that a row of the result holds begins; `None` where it
    /// lies outside.
    fn place(&self, row: usize) -> Option<isize> {
        let (mut left, mut at) = (row, self.x.offset);
        for axis in (0..self.sources.len() - 1).rev() {
            let sources = &self.sources[axis];
            match sources[left % sources.len()] {
                OUTSIDE => return None,
                source => at += source * self.x.strides[axis],
            }
            left /= sources.len();
        }
        Some(at)
    }
}
