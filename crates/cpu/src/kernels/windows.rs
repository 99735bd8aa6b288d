//! Sums and extremes of windows of f32 along the last one or two axes.

use oneir_ir::graph::Sym;
use oneir_ir::{Primitive, ReduceOp};
use oneir_runtime::{Answer, KernelRow, Request};
use oneir_tensor::{DType, Layout};

use crate::launch::{Args, Shared, prepared};

pub(crate) fn rows() -> Vec<Box<dyn KernelRow>> {
    vec![Box::new(Windows)]
}

/// Combinations that are worth a thread.
const GRAIN: usize = 64 << 10;

struct Windows;

/// One axis: items, windows, and how both lie.
#[derive(Debug, Clone, Copy)]
struct Axis {
    size: usize,
    count: usize,
    window: usize,
    stride: usize,
    dilation: usize,
    low: usize,
    /// Elements from one item to the next.
    pitch: isize,
}

impl Axis {
    /// The taps with which some window meets an item. A window may have many
    /// more, all of them in the padding.
    fn taps(&self) -> std::ops::Range<usize> {
        let last = (self.count - 1).saturating_mul(self.stride);
        let first = self.low.saturating_sub(last).div_ceil(self.dilation);
        first..(self.size.saturating_add(self.low)).div_ceil(self.dilation).min(self.window)
    }

    /// The windows, of all, that meet an item with their `tap`.
    fn inside(&self, tap: usize) -> std::ops::Range<usize> {
        let reach = tap.saturating_mul(self.dilation);
        let first = self.low.saturating_sub(reach).div_ceil(self.stride);
        let end = self.size.saturating_add(self.low).saturating_sub(reach).div_ceil(self.stride);
        first.min(self.count)..end.min(self.count)
    }
}

impl KernelRow for Windows {
    fn name(&self) -> &'static str {
        "windows"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["window_reduce"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let Sym::Prim(Primitive::WindowReduce { op, window, strides, low, dilations, .. }) = request.sym
        else {
            return Answer::No;
        };
        let ([x], [result]) = (request.operands, request.results) else { return Answer::No };
        let shape = &result.spec.shape;
        let combines = matches!(op, ReduceOp::Sum | ReduceOp::Max | ReduceOp::Min);
        let rank = shape.rank();
        if x.dtype != DType::F32 || !combines || !request.results_own() || rank == 0 || shape.count() == 0 {
            return Answer::No;
        }
        let axis = |d: usize| Axis {
            size: x.layout.shape[d],
            count: shape[d],
            window: window[d],
            stride: strides[d],
            dilation: dilations[d],
            low: low[d],
            pitch: x.layout.strides[d],
        };
        let outer = rank.saturating_sub(2);
        let still = (0..outer)
            .all(|d| window[d] == 1 && strides[d] == 1 && low[d] == 0 && shape[d] == x.layout.shape[d]);
        if !still {
            return Answer::No;
        }
        let line = Axis { size: 1, count: 1, window: 1, stride: 1, dilation: 1, low: 0, pitch: 0 };
        let task = Task {
            x: x.layout.clone(),
            outer,
            y: if rank > 1 { axis(rank - 2) } else { line },
            z: axis(rank - 1),
        };
        let op = *op;
        Answer::Yes(prepared("windows", move |args| {
            // SAFETY: the plan's layouts stay inside their buffers.
            unsafe {
                match op {
                    ReduceOp::Sum => task.run(args, 0.0, |a, b| a + b),
                    ReduceOp::Max => {
                        task.run(args, f32::NEG_INFINITY, |a, b| if a > b || a.is_nan() { a } else { b })
                    }
                    _ => task.run(args, f32::INFINITY, |a, b| if a < b || a.is_nan() { a } else { b }),
                }
            }
            Ok(())
        }))
    }
}

struct Task {
    x: Layout,
    /// Axes before those of windows.
    outer: usize,
    y: Axis,
    z: Axis,
}

impl Task {
    /// # Safety
    /// `args` are buffers of this task's layouts.
    unsafe fn run(&self, args: &Args<'_>, start: f32, combine: impl Fn(f32, f32) -> f32 + Sync) {
        let Task { y, z, .. } = self;
        let planes: usize = self.x.shape[..self.outer].iter().product();
        let lines = planes * y.count;
        let work = z.count * z.taps().len().max(1) * y.taps().len().max(1);
        // SAFETY: the operand and the result are f32.
        let pointers = unsafe { Shared((args.read::<f32>(0), args.write::<f32>(0))) };
        args.threads.for_chunks(lines, (GRAIN / work.max(1)).max(1), |range| {
            let (x, out) = pointers.get();
            for line in range {
                let (plane, row) = (line / y.count, line % y.count);
                // SAFETY: lines of the result do not overlap.
                let target = unsafe { std::slice::from_raw_parts_mut(out.add(line * z.count), z.count) };
                target.fill(start);
                let from = self.plane(plane);
                for ky in y.taps().filter(|&ky| y.inside(ky).contains(&row)) {
                    let from = from + (row * y.stride + ky * y.dilation - y.low) as isize * y.pitch;
                    for kz in z.taps() {
                        let inside = z.inside(kz);
                        if inside.is_empty() {
                            continue;
                        }
                        let first = (inside.start * z.stride + kz * z.dilation - z.low) as isize;
                        let step = z.stride as isize * z.pitch;
                        // SAFETY: the items lie in the input.
                        unsafe {
                            let from = x.offset(from + first * z.pitch);
                            for (i, sum) in target[inside].iter_mut().enumerate() {
                                *sum = combine(*sum, *from.offset(i as isize * step));
                            }
                        }
                    }
                }
            }
        });
    }

    /// Where a plane of the input begins.
    fn plane(&self, plane: usize) -> isize {
        let (mut left, mut at) = (plane, self.x.offset);
        for axis in (0..self.outer).rev() {
            at += (left % self.x.shape[axis]) as isize * self.x.strides[axis];
            left /= self.x.shape[axis];
        }
        at
    }
}
