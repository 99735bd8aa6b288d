//! Convolutions of f32: as products, where windows are columns of a matrix;
//! directly, where a group has few output channels; window by window, where there
//! are few windows.

mod columns;
mod direct;
mod few;
mod transposed;

use oneir_ir::Primitive;
use oneir_ir::graph::Sym;
use oneir_runtime::{Answer, KernelRow, Numerics, Prepared, Request};
use oneir_tensor::{DType, Layout};

use crate::simd::Level;

pub(crate) fn rows(level: Level) -> Vec<Box<dyn KernelRow>> {
    vec![Box::new(Convolution { level }), Box::new(transposed::Transposed)]
}

/// Fewer output channels of a group than this do not pay for a product.
const FEW_CHANNELS: usize = 12;
/// Fewer than this do not pay for columns that must be copied.
const FEW_FOR_COPIES: usize = 65;
/// Shorter lines than this leave vectors empty.
const SHORT_LINE: usize = 12;

struct Convolution {
    level: Level,
}

impl KernelRow for Convolution {
    fn name(&self) -> &'static str {
        "convolution"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["convolution"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let Some(geometry) = Geometry::of(request) else { return Answer::No };
        let ([x, weight], threads) = (request.operands, request.threads) else { return Answer::No };
        let repack = |k: u8| Answer::Repack([k].into_iter().collect());
        if !weight.layout.is_row_contiguous() {
            return repack(1);
        }
        // Lines of the input are copied and read as they lie.
        if x.layout.strides.last().is_some_and(|&s| s != 1) && x.layout.shape.last().is_some_and(|&n| n > 1) {
            return repack(0);
        }
        let exact = request.numerics == Numerics::Exact;
        let copies = geometry.in_place().is_none();
        let long = geometry.out.last().is_some_and(|&n| n >= SHORT_LINE);
        let few = geometry.rows < FEW_CHANNELS || (copies && long && geometry.rows < FEW_FOR_COPIES);
        if geometry.kernel.len() <= 2 && (exact || few) {
            let answer = direct::prepare(geometry.clone(), self.level, threads);
            if exact || matches!(answer, Answer::Yes(_)) {
                return answer;
            }
        }
        if let Some(answer) = few::prepare(&geometry, self.level).filter(|_| !exact) {
            return answer;
        }
        // How products of many rows sum is the `gemm` crate's choice.
        if exact { Answer::No } else { columns::prepare(geometry, threads) }
    }
}

/// One convolution: sizes as the kernels need them, spatial dimensions of one
/// place left out.
#[derive(Debug, Clone)]
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
    fn of(request: &Request<'_>) -> Option<Geometry> {
        let Sym::Prim(Primitive::Convolution {
            strides, low, dilations, input_dilations, groups, flip, ..
        }) = request.sym
        else {
            return None;
        };
        let ([x, weight], [result]) = (request.operands, request.results) else { return None };
        let plain = !*flip && input_dilations.iter().all(|&d| d == 1) && request.results_own();
        let out = &result.spec.shape;
        let empty = out.count() == 0 || weight.layout.count() == 0 || x.layout.count() == 0;
        if x.dtype != DType::F32 || weight.dtype != DType::F32 || !plain || empty {
            return None;
        }
        let mut geometry = Geometry {
            x: x.layout.clone(),
            weight: weight.layout.offset,
            groups: *groups,
            rows: out[1] / groups,
            channels: weight.layout.shape[1],
            kernel: weight.layout.shape[2..].to_vec(),
            out: out[2..].to_vec(),
            strides: strides.iter().map(|&n| n as isize).collect(),
            low: low.iter().map(|&n| n as isize).collect(),
            dilations: dilations.iter().map(|&n| n as isize).collect(),
        };
        for d in (0..geometry.kernel.len()).rev() {
            // From the one place there is nowhere to step.
            if geometry.out[d] == 1 {
                geometry.strides[d] = 1;
            }
            if geometry.kernel[d] == 1 {
                geometry.dilations[d] = 1;
            }
            let one = geometry.kernel[d] == 1 && geometry.out[d] == 1 && geometry.x.shape[2 + d] == 1;
            if one && geometry.low[d] == 0 && geometry.kernel.len() > 1 {
                geometry.x.shape.remove(2 + d);
                geometry.x.strides.remove(2 + d);
                geometry.kernel.remove(d);
                geometry.out.remove(d);
                geometry.strides.remove(d);
                geometry.low.remove(d);
                geometry.dilations.remove(d);
            }
        }
        Some(geometry)
    }

    /// Numbers in one window.
    fn inner(&self) -> usize {
        self.channels * self.kernel.iter().product::<usize>()
    }

    /// Places of a result's plane.
    fn columns(&self) -> usize {
        self.out.iter().product()
    }
}

/// The most bytes of scratch; what needs more takes another way.
const MOST_SCRATCH: usize = 256 << 20;

/// A launch with scratch for so many f32, if that is not too many.
fn bounded(mut launch: Prepared, numbers: usize) -> Answer {
    launch.scratch = numbers.saturating_mul(size_of::<f32>());
    if launch.scratch > MOST_SCRATCH { Answer::No } else { Answer::Yes(launch) }
}

/// `m` by `n` sums over `k` by this thread: of each matrix where it begins and
/// how far apart its rows lie, of the factors also its columns.
///
/// # Safety
/// The matrices lie in memory that can be read, and the result's, whose columns
/// follow each other, can be written and is written by no one else.
unsafe fn product(
    [m, n, k]: [usize; 3],
    (out, out_row): (*mut f32, isize),
    (left, left_row, left_column): (*const f32, isize, isize),
    (right, right_row, right_column): (*const f32, isize, isize),
) {
    let parallelism = gemm::Parallelism::None;
    // SAFETY: as the caller promises.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            out,
            1,
            out_row,
            false,
            left,
            left_column,
            left_row,
            right,
            right_column,
            right_row,
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// Writes what a line of `target.len()` places meets: place i is element
/// `at + i · step` of a line of `size` elements that lie `stride` apart, or 0
/// outside of it.
///
/// # Safety
/// The line can be read.
unsafe fn copy_line(
    line: *const f32,
    stride: isize,
    size: isize,
    at: isize,
    step: isize,
    target: &mut [f32],
) {
    let count = target.len() as isize;
    let low = if at < 0 { (-at).div_euclid(step) + isize::from((-at).rem_euclid(step) != 0) } else { 0 };
    let left = size - at;
    let high = if left <= 0 { 0 } else { left.div_euclid(step) + isize::from(left.rem_euclid(step) != 0) };
    let (low, high) = (low.clamp(0, count), high.clamp(0, count));
    if low >= high {
        target.fill(0.0);
        return;
    }
    let (low, high) = (low as usize, high as usize);
    target[..low].fill(0.0);
    target[high..].fill(0.0);
    let inside = &mut target[low..high];
    // SAFETY: places low..high lie in the line.
    unsafe {
        let from = line.offset((at + low as isize * step) * stride);
        if step * stride == 1 {
            std::ptr::copy_nonoverlapping(from, inside.as_mut_ptr(), inside.len());
        } else {
            for (i, number) in inside.iter_mut().enumerate() {
                *number = *from.offset(i as isize * step * stride);
            }
        }
    }
}
