//! Transposed convolution of f32: a product gives what each place of the input
//! adds to its window of the result, and the windows are summed.

use oneir_ir::Primitive;
use oneir_ir::graph::Sym;
use oneir_runtime::{Answer, KernelRow, Numerics, Request};
use oneir_tensor::{DType, Layout};

use super::{bounded, product};
use crate::launch::{Args, Shared, prepared};

/// The most spatial dimensions.
const MAX_SPATIAL: usize = 6;

/// The fewest rows of a product, where there are as many.
const MIN_ROWS: usize = 16;

pub(super) struct Transposed;

impl KernelRow for Transposed {
    fn name(&self) -> &'static str {
        "transposed_convolution_columns"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["transposed_convolution"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let Sym::Prim(Primitive::TransposedConvolution { strides, low, dilations, groups, .. }) = request.sym
        else {
            return Answer::No;
        };
        let ([x, weight], [result]) = (request.operands, request.results) else { return Answer::No };
        let out = &result.spec.shape;
        let empty = out.count() == 0 || weight.layout.count() == 0 || x.layout.count() == 0;
        let exact = request.numerics == Numerics::Exact;
        if x.dtype != DType::F32 || exact || empty || out.rank() > 2 + MAX_SPATIAL || !request.results_own() {
            return Answer::No;
        }
        for k in [0, 1] {
            if !request.operands[usize::from(k)].layout.is_row_contiguous() {
                return Answer::Repack([k].into_iter().collect());
            }
        }
        let task = Task {
            x: x.layout.clone(),
            weight: weight.layout.offset,
            groups: *groups,
            channels: x.layout.shape[1] / groups,
            rows: out[1] / groups,
            kernel: weight.layout.shape[2..].to_vec(),
            out: out[2..].to_vec(),
            strides: strides.clone(),
            dilations: dilations.clone(),
            low: low.clone(),
        };
        let numbers = request.threads * task.together() * task.taps() * task.places();
        let threads = request.threads;
        let answer = prepared("transposed_convolution_columns", move |args| {
            // SAFETY: the plan's layouts stay inside their buffers, and the
            // scratch is as large as was asked for.
            unsafe { task.run(args, threads) }
            Ok(())
        });
        bounded(answer, numbers)
    }
}

struct Task {
    x: Layout,
    weight: isize,
    groups: usize,
    /// Input channels of a group.
    channels: usize,
    /// Output channels of a group.
    rows: usize,
    kernel: Vec<usize>,
    out: Vec<usize>,
    strides: Vec<usize>,
    dilations: Vec<usize>,
    low: Vec<usize>,
}

impl Task {
    fn taps(&self) -> usize {
        self.kernel.iter().product()
    }

    /// Output channels of a group that one product computes.
    fn together(&self) -> usize {
        MIN_ROWS.div_ceil(self.taps()).min(self.rows)
    }

    /// Places of the input's plane.
    fn places(&self) -> usize {
        self.x.shape[2..].iter().product()
    }

    /// # Safety
    /// `args` are buffers of this task's layouts, with its scratch.
    unsafe fn run(&self, args: &Args<'_>, threads: usize) {
        let (taps, places) = (self.taps(), self.places());
        let columns: usize = self.out.iter().product();
        let together = self.together();
        let chunks = self.rows.div_ceil(together);
        let units = self.x.shape[0] * self.groups * chunks;
        let parts = threads.min(units);
        // SAFETY: the operands and the result are f32.
        let pointers = unsafe { Shared((args.read::<f32>(0), args.read::<f32>(1), args.write::<f32>(0))) };
        let scratch = Shared(args.scratch.cast::<f32>());
        // A unit is some channels of one image's group.
        args.threads.for_chunks(parts, 1, |range| {
            let (x, weight, out) = pointers.get();
            for part in range {
                // SAFETY: each part has its own scratch, and units write planes
                // of the result that do not overlap.
                unsafe {
                    let sums = scratch.get().add(part * together * taps * places);
                    for unit in (part..units).step_by(parts) {
                        let (image, row) = (unit / chunks, unit % chunks * together);
                        let rows = together.min(self.rows - row);
                        let group = image % self.groups;
                        let from = self.x.offset as usize + image * self.channels * places;
                        // weight[c, row, tap] by x[c, place].
                        product(
                            [rows * taps, places, self.channels],
                            (sums, places as isize),
                            (
                                weight
                                    .offset(self.weight)
                                    .add((group * self.channels * self.rows + row) * taps),
                                1,
                                (self.rows * taps) as isize,
                            ),
                            (x.add(from), places as isize, 1),
                        );
                        let to = out.add((image * self.rows + row) * columns);
                        let planes = std::slice::from_raw_parts_mut(to, rows * columns);
                        let sums = std::slice::from_raw_parts(sums, rows * taps * places);
                        planes.fill(0.0);
                        for (plane, taps) in
                            planes.chunks_exact_mut(columns).zip(sums.chunks_exact(taps * places))
                        {
                            for (tap, from) in taps.chunks_exact(places).enumerate() {
                                self.add(tap, from, plane);
                            }
                        }
                    }
                }
            }
        });
    }

    /// Adds what one tap gives at every place of the input.
    fn add(&self, tap: usize, from: &[f32], plane: &mut [f32]) {
        let spatial = self.kernel.len();
        let last = spatial - 1;
        let mut offsets = [0isize; MAX_SPATIAL];
        let mut left = tap;
        for d in (0..spatial).rev() {
            offsets[d] = (left % self.kernel[d] * self.dilations[d]) as isize - self.low[d] as isize;
            left /= self.kernel[d];
        }
        let sizes = &self.x.shape[2..];
        let (stride, size) = (self.strides[last] as isize, self.out[last] as isize);
        for (line, values) in from.chunks_exact(sizes[last]).enumerate() {
            // Where the line's places land.
            let (mut left, mut to, mut pitch, mut inside) = (line, 0, self.out[last], true);
            for d in (0..last).rev() {
                let at = (left % sizes[d] * self.strides[d]) as isize + offsets[d];
                left /= sizes[d];
                inside &= at >= 0 && at < self.out[d] as isize;
                to += at.max(0) as usize * pitch;
                pitch *= self.out[d];
            }
            if !inside {
                continue;
            }
            for (i, value) in values.iter().enumerate() {
                let at = i as isize * stride + offsets[last];
                if at >= 0 && at < size {
                    plane[to + at as usize] += value;
                }
            }
        }
    }
}
