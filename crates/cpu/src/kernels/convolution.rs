//! Convolution of f32 as products: windows are laid out as columns of a matrix
//! (im2col), a chunk at a time, and multiplied with the kernels.

use oneir_ir::Primitive;
use oneir_ir::graph::Sym;
use oneir_runtime::{Answer, KernelRow, Request};
use oneir_tensor::{DType, Layout};

use crate::launch::{Args, Shared, prepared};

pub(crate) fn rows() -> Vec<Box<dyn KernelRow>> {
    vec![Box::new(Convolution)]
}

/// Numbers of columns laid out at once, so that they stay in the cache.
const CHUNK_NUMBERS: usize = 256 << 10;

/// Fewer output channels of a group than this do not pay for the columns.
const FEW_CHANNELS: usize = 4;

struct Convolution;

impl KernelRow for Convolution {
    fn name(&self) -> &'static str {
        "convolution_columns"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["convolution"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let Sym::Prim(Primitive::Convolution {
            strides, low, dilations, input_dilations, groups, flip, ..
        }) = request.sym
        else {
            return Answer::No;
        };
        let ([x, weight], [result]) = (request.operands, request.results) else { return Answer::No };
        let plain = !*flip && input_dilations.iter().all(|&d| d == 1) && request.results_own();
        let exact = request.numerics == oneir_runtime::Numerics::Exact;
        if x.dtype != DType::F32 || weight.dtype != DType::F32 || !plain || exact {
            return Answer::No;
        }
        let out = &result.spec.shape;
        let channels = out[1] / groups;
        if out.count() == 0 || weight.layout.count() == 0 || channels < FEW_CHANNELS {
            return Answer::No;
        }
        if !weight.layout.is_row_contiguous() {
            return Answer::Repack([1].into_iter().collect());
        }
        let geometry = Geometry {
            x: x.layout.clone(),
            weight: weight.layout.offset,
            groups: *groups,
            rows: channels,
            channels: weight.layout.shape[1],
            kernel: weight.layout.shape[2..].to_vec(),
            out: out[2..].to_vec(),
            strides: strides.iter().map(|&n| n as isize).collect(),
            low: low.iter().map(|&n| n as isize).collect(),
            dilations: dilations.iter().map(|&n| n as isize).collect(),
        };
        let parts = request.threads;
        let bytes = parts * geometry.inner() * geometry.width(parts) * size_of::<f32>();
        let mut answer = prepared("convolution_columns", move |args| {
            // SAFETY: the plan's layouts stay inside their buffers, and the
            // scratch is as large as was asked for.
            unsafe { geometry.run(args, parts) }
            Ok(())
        });
        answer.scratch = bytes;
        Answer::Yes(answer)
    }
}

/// One convolution: sizes as the kernel needs them.
struct Geometry {
    x: Layout,
    weight: isize,
    groups: usize,
    /// Output channels of a group.
    rows: usize,
    /// Input channels of a group.
    channels: usize,
    kernel: Vec<usize>,
    out: Vec<usize>,
    strides: Vec<isize>,
    low: Vec<isize>,
    dilations: Vec<isize>,
}

impl Geometry {
    /// Numbers in a column: those of one window.
    fn inner(&self) -> usize {
        self.channels * self.kernel.iter().product::<usize>()
    }

    /// Columns laid out at once.
    fn width(&self, parts: usize) -> usize {
        let columns: usize = self.out.iter().product();
        (CHUNK_NUMBERS / self.inner()).clamp(64, columns.max(64)).min(columns.div_ceil(parts).max(64))
    }

    /// # Safety
    /// `args` are buffers of this geometry's layouts, with its scratch.
    unsafe fn run(&self, args: &Args<'_>, parts: usize) {
        let (inner, width) = (self.inner(), self.width(parts));
        let columns: usize = self.out.iter().product();
        let chunks = columns.div_ceil(width);
        let units = self.x.shape[0] * self.groups * chunks;
        // SAFETY: the operands and the result are f32.
        let pointers = unsafe { Shared((args.read::<f32>(0), args.read::<f32>(1), args.write::<f32>(0))) };
        let scratch = Shared(args.scratch.cast::<f32>());
        args.threads.for_chunks(parts, 1, |range| {
            let (x, weight, out) = pointers.get();
            for part in range {
                // SAFETY: each part has its own columns, and units write parts
                // of the result that do not overlap.
                unsafe {
                    let buffer = scratch.get().add(part * inner * width);
                    for unit in (part..units).step_by(parts) {
                        let (image, chunk) = (unit / chunks, unit % chunks);
                        let (batch, group) = (image / self.groups, image % self.groups);
                        let (start, end) = (chunk * width, ((chunk + 1) * width).min(columns));
                        self.lay_out(x, batch, group, start, end, buffer);
                        let (m, n) = (self.rows, end - start);
                        gemm::gemm(
                            m,
                            n,
                            inner,
                            out.add((batch * self.groups + group) * m * columns + start),
                            1,
                            columns as isize,
                            false,
                            weight.offset(self.weight).add(group * m * inner),
                            1,
                            inner as isize,
                            buffer,
                            1,
                            n as isize,
                            0.0,
                            1.0,
                            false,
                            false,
                            false,
                            gemm::Parallelism::None,
                        );
                    }
                }
            }
        });
    }

    /// Writes the columns `start..end` of one image's group, row after row: a
    /// row holds one number of every window.
    ///
    /// # Safety
    /// As [`Geometry::run`]; `to` has room for `inner` rows of the columns.
    unsafe fn lay_out(
        &self,
        x: *const f32,
        batch: usize,
        group: usize,
        start: usize,
        end: usize,
        to: *mut f32,
    ) {
        let spatial = self.kernel.len();
        let taps: usize = self.kernel.iter().product();
        let strides = &self.x.strides;
        let first = self.x.offset + batch as isize * strides[0];
        let line = self.out[spatial - 1];
        let mut row = to;
        for channel in 0..self.channels {
            let plane = first + (group * self.channels + channel) as isize * strides[1];
            for tap in 0..taps {
                let place = split(tap, &self.kernel);
                let mut at = start;
                while at < end {
                    // One run along the last dimension.
                    let index = split(at, &self.out);
                    let count = (line - index[spatial - 1]).min(end - at);
                    // SAFETY: the run lies in the row.
                    unsafe {
                        let target = std::slice::from_raw_parts_mut(row.add(at - start), count);
                        self.line(x, plane, &place, &index, target);
                    }
                    at += count;
                }
                // SAFETY: the next row begins where this one ends.
                row = unsafe { row.add(end - start) };
            }
        }
    }

    /// The numbers that one tap meets along a line of windows; zeros in the
    /// padding.
    ///
    /// # Safety
    /// As [`Geometry::run`].
    unsafe fn line(&self, x: *const f32, plane: isize, place: &[usize], index: &[usize], target: &mut [f32]) {
        let last = self.kernel.len() - 1;
        let meets = |d: usize| {
            index[d] as isize * self.strides[d] + place[d] as isize * self.dilations[d] - self.low[d]
        };
        let mut from = plane;
        for d in 0..last {
            let at = meets(d);
            if at < 0 || at >= self.x.shape[2 + d] as isize {
                target.fill(0.0);
                return;
            }
            from += at * self.x.strides[2 + d];
        }
        let (at, step, size) = (meets(last), self.strides[last], self.x.shape[2 + last] as isize);
        let stride = self.x.strides[2 + last];
        for (i, number) in target.iter_mut().enumerate() {
            let at = at + i as isize * step;
            *number = if at < 0 || at >= size {
                0.0
            } else {
                // SAFETY: the place lies in the input.
                unsafe { *x.offset(from + at * stride) }
            };
        }
    }
}

/// The index of a place in row order.
fn split(mut place: usize, sizes: &[usize]) -> smallvec::SmallVec<[usize; 4]> {
    let mut index = smallvec::SmallVec::from_elem(0, sizes.len());
    for (slot, &size) in index.iter_mut().zip(sizes).rev() {
        *slot = place % size;
        place /= size;
    }
    index
}
