//! Convolution as it is written: each result sums its window. An element's sum
//! runs over channels, then taps, whatever the batch and the threads.

use oneir_runtime::Answer;

use super::{Geometry, bounded, copy_line};
use crate::launch::{Args, Shared, prepared};
use crate::simd::{Isa, Lanes, Level, Work};

/// Numbers of the input that a part of the work copies at once, so that they
/// stay in the cache.
const BLOCK_NUMBERS: usize = 24 << 10;
/// Multiplications that are worth a thread.
const GRAIN: usize = 64 << 10;
/// Vectors that are summed at once.
const VECTORS: usize = 4;
/// The widest vector.
const WIDEST: usize = 16;

/// A convolution of two spatial dimensions, and how its input is copied: rows
/// with their padding, where a row is split by the stride so that neighbouring
/// results read neighbouring numbers.
struct Direct {
    geometry: Geometry,
    /// Of both dimensions.
    kernel: [usize; 2],
    out: [usize; 2],
    stride: [usize; 2],
    dilation: [usize; 2],
    low: [isize; 2],
    size: [usize; 2],
    places: [isize; 2],
    /// Numbers of one of a row's parts, and what a row has of them.
    width: usize,
    phases: usize,
    /// Rows of the result that are computed at once, and of the input for them.
    block: usize,
    rows: usize,
}

pub(super) fn prepare(geometry: Geometry, level: Level, threads: usize) -> Answer {
    let direct = Direct::new(geometry);
    let numbers = threads * direct.numbers();
    let answer = prepared("convolution_direct", move |args| {
        // SAFETY: the plan's layouts stay inside their buffers, and the
        // scratch is as large as was asked for.
        unsafe { direct.run(args, level, threads) }
        Ok(())
    });
    bounded(answer, numbers)
}

impl Direct {
    fn new(geometry: Geometry) -> Direct {
        // A line is a plane of one row.
        let both = |line: usize, all: &[usize]| match *all {
            [x] => [line, x],
            [y, x] => [y, x],
            _ => [line, line],
        };
        let signed = |line: isize, all: &[isize]| match *all {
            [x] => [line, x],
            [y, x] => [y, x],
            _ => [line, line],
        };
        let unsigned = |all: &[isize]| both(1, &all.iter().map(|&n| n as usize).collect::<Vec<_>>());
        let (kernel, out) = (both(1, &geometry.kernel), both(1, &geometry.out));
        let (stride, dilation) = (unsigned(&geometry.strides), unsigned(&geometry.dilations));
        let phases = stride[1];
        let reach = (out[1] - 1) * stride[1] + (kernel[1] - 1) * dilation[1] + 1;
        // Vectors may read past what is there.
        let width = reach.div_ceil(phases) + VECTORS * WIDEST;
        let row = geometry.channels * phases * width;
        let tall = (kernel[0] - 1) * dilation[0] + 1;
        let block = ((BLOCK_NUMBERS / row).saturating_sub(tall) / stride[0] + 1).clamp(1, out[0]);
        Direct {
            kernel,
            out,
            stride,
            dilation,
            low: signed(0, &geometry.low),
            size: both(1, &geometry.x.shape[2..]),
            places: signed(0, &geometry.x.strides[2..]),
            width,
            phases,
            block,
            rows: (block - 1) * stride[0] + tall,
            geometry,
        }
    }

    /// Numbers that a block's copy holds.
    fn numbers(&self) -> usize {
        self.geometry.channels * self.rows * self.phases * self.width
    }

    /// # Safety
    /// `args` are buffers of this geometry's layouts, with its scratch.
    unsafe fn run(&self, args: &Args<'_>, level: Level, threads: usize) {
        let g = &self.geometry;
        let blocks = self.out[0].div_ceil(self.block);
        let units = g.x.shape[0] * g.groups * blocks;
        let work = self.block * self.out[1] * g.inner() * g.rows;
        // SAFETY: the operands and the result are f32.
        let pointers = unsafe { Shared((args.read::<f32>(0), args.read::<f32>(1), args.write::<f32>(0))) };
        let scratch = Shared(args.scratch.cast::<f32>());
        let parts = threads.min(units.div_ceil((GRAIN / work.max(1)).max(1))).max(1);
        args.threads.for_chunks(parts, 1, |range| {
            let (x, weight, out) = pointers.get();
            for part in range {
                // SAFETY: each part has its own copy, and units write rows of
                // the result that do not overlap.
                unsafe {
                    let copy = scratch.get().add(part * self.numbers());
                    for unit in (part..units).step_by(parts) {
                        let (image, block) = (unit / blocks, unit % blocks);
                        let (batch, group) = (image / g.groups, image % g.groups);
                        let first = block * self.block;
                        let lines = self.block.min(self.out[0] - first);
                        self.copy(x, batch, group, first, lines, copy);
                        level.dispatch(Block {
                            direct: self,
                            copy,
                            weight: weight.offset(g.weight).add(group * g.rows * g.inner()),
                            out: out.add(image * g.rows * g.columns() + first * self.out[1]),
                            lines,
                        });
                    }
                }
            }
        });
    }

    /// Copies what a block of `lines` of the result's rows reads.
    ///
    /// # Safety
    /// As [`Direct::run`]; `copy` has room for a block's numbers.
    unsafe fn copy(
        &self,
        x: *const f32,
        batch: usize,
        group: usize,
        first: usize,
        lines: usize,
        copy: *mut f32,
    ) {
        let g = &self.geometry;
        let rows = (lines - 1) * self.stride[0] + (self.kernel[0] - 1) * self.dilation[0] + 1;
        let top = (first * self.stride[0]) as isize - self.low[0];
        let image = g.x.offset + batch as isize * g.x.strides[0];
        for channel in 0..g.channels {
            let plane = image + (group * g.channels + channel) as isize * g.x.strides[1];
            for row in 0..rows {
                let at = top + row as isize;
                let start = (channel * self.rows + row) * self.phases * self.width;
                // SAFETY: the row lies in the copy, and the line in the input.
                unsafe {
                    let target = std::slice::from_raw_parts_mut(copy.add(start), self.phases * self.width);
                    if at < 0 || at >= self.size[0] as isize {
                        target.fill(0.0);
                        continue;
                    }
                    let line = x.offset(plane + at * self.places[0]);
                    for (phase, part) in target.chunks_exact_mut(self.width).enumerate() {
                        let (size, begin) = (self.size[1] as isize, phase as isize - self.low[1]);
                        copy_line(line, self.places[1], size, begin, self.phases as isize, part);
                    }
                }
            }
        }
    }
}

/// Lines of a group's planes of the result.
struct Block<'a> {
    direct: &'a Direct,
    copy: *const f32,
    weight: *const f32,
    out: *mut f32,
    lines: usize,
}

impl Work for Block<'_> {
    type Out = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let rows = self.direct.geometry.rows;
        let mut row = 0;
        while row + 4 <= rows {
            self.planes::<I, 4>(row);
            row += 4;
        }
        if row + 2 <= rows {
            self.planes::<I, 2>(row);
            row += 2;
        }
        if row < rows {
            self.planes::<I, 1>(row);
        }
    }
}

impl Block<'_> {
    /// `R` planes from `row` on: what is read once serves all of them.
    #[inline(always)]
    fn planes<I: Isa, const R: usize>(&self, row: usize) {
        let n = <I::F32 as Lanes<f32>>::N;
        let width = self.direct.out[1];
        let mut line = 0;
        while line < self.lines {
            let lines = self.lines - line;
            // Short lines are summed several at once.
            let done = match width.div_ceil(n) {
                1 if lines >= 4 => self.across::<I, 1, 4, R>(line, row),
                2 if lines >= 2 => self.across::<I, 2, 2, R>(line, row),
                _ => self.across::<I, VECTORS, 1, R>(line, row),
            };
            line += done;
        }
    }

    /// `L` lines from side to side, `V` vectors at a time; gives `L`.
    #[inline(always)]
    fn across<I: Isa, const V: usize, const L: usize, const R: usize>(
        &self,
        line: usize,
        row: usize,
    ) -> usize {
        let n = <I::F32 as Lanes<f32>>::N;
        let width = self.direct.out[1];
        let mut x = 0;
        while x < width {
            // SAFETY: the copy has room for the vectors past a line's end, and
            // the lines and planes are there.
            unsafe {
                match (width - x).div_ceil(n).min(V) {
                    1 => self.some::<I, 1, L, R>(line, x, row),
                    2 => self.some::<I, 2, L, R>(line, x, row),
                    3 => self.some::<I, 3, L, R>(line, x, row),
                    _ => self.some::<I, V, L, R>(line, x, row),
                }
            }
            x += V * n;
        }
        L
    }

    /// # Safety
    /// The copy holds what `V` vectors of results from `x` on read, in `L` lines;
    /// the result has `R` planes from `row` on.
    #[inline(always)]
    unsafe fn some<I: Isa, const V: usize, const L: usize, const R: usize>(
        &self,
        line: usize,
        x: usize,
        row: usize,
    ) {
        let d = self.direct;
        let inner = d.geometry.inner();
        let n = <I::F32 as Lanes<f32>>::N;
        let mut sums = [[[I::F32::splat(0.0); R]; V]; L];
        let pitch = d.phases * d.width;
        // SAFETY: the weight has these rows.
        let mut weight = unsafe { self.weight.add(row * inner) };
        for channel in 0..d.geometry.channels {
            let plane = channel * d.rows + line * d.stride[0];
            for ky in 0..d.kernel[0] {
                // SAFETY: the row lies in the copy.
                let from = unsafe { self.copy.add((plane + ky * d.dilation[0]) * pitch + x) };
                for kx in 0..d.kernel[1] {
                    let at = kx * d.dilation[1];
                    // SAFETY: as the caller promises; the weight has this tap.
                    unsafe {
                        let from = from.add(at % d.phases * d.width + at / d.phases);
                        let taps: [I::F32; R] =
                            std::array::from_fn(|r| I::F32::splat(*weight.add(r * inner)));
                        for (l, line) in sums.iter_mut().enumerate() {
                            for (v, rows) in line.iter_mut().enumerate() {
                                let numbers = I::F32::load(from.add(l * d.stride[0] * pitch + v * n));
                                for (sum, &tap) in rows.iter_mut().zip(&taps) {
                                    *sum = numbers.fma(tap, *sum);
                                }
                            }
                        }
                        weight = weight.add(1);
                    }
                }
            }
        }
        let left = d.out[1] - x;
        for (l, sums) in sums.into_iter().enumerate() {
            for (v, sums) in sums.into_iter().enumerate() {
                for (r, sum) in sums.into_iter().enumerate() {
                    // SAFETY: `left` numbers of the line can be written.
                    unsafe {
                        let to = self.out.add((row + r) * d.geometry.columns() + (line + l) * d.out[1] + x);
                        if (v + 1) * n <= left {
                            sum.store(to.add(v * n));
                        } else {
                            let mut last = [0f32; WIDEST];
                            sum.store(last.as_mut_ptr());
                            std::ptr::copy_nonoverlapping(last.as_ptr(), to.add(v * n), left - v * n);
                        }
                    }
                }
            }
        }
    }
}
