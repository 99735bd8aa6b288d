//! Convolution as products: windows are columns of a matrix (im2col), a chunk at
//! a time. Where the input's memory holds that matrix already, it is read there.

use std::ops::Range;

use oneir_runtime::Answer;

use super::{Geometry, bounded, copy_line, product};
use crate::launch::{Args, Shared, prepared};

/// Numbers of columns laid out at once, so that they stay in the cache.
const CHUNK_NUMBERS: usize = 128 << 10;

/// The fewest columns of a product.
const MIN_WIDTH: usize = 64;

pub(super) fn prepare(geometry: Geometry, threads: usize) -> Answer {
    let columns = geometry.columns();
    let together = MIN_WIDTH.div_ceil(columns).min(geometry.x.shape[0].div_ceil(threads));
    let in_place = geometry.in_place();
    // Small images go into one product.
    if together > 1 {
        let numbers = threads * (geometry.inner() + geometry.rows) * together * columns;
        let answer = prepared("convolution_columns", move |args| {
            // SAFETY: the plan's layouts stay inside their buffers, and the
            // scratch is as large as was asked for.
            unsafe { geometry.run_together(args, threads, together) }
            Ok(())
        });
        return bounded(answer, numbers);
    }
    let width = geometry.width(threads, in_place.is_some());
    let numbers = if in_place.is_some() { 0 } else { threads * geometry.inner() * width };
    let answer = prepared("convolution_columns", move |args| {
        // SAFETY: as above.
        unsafe { geometry.run(args, threads, width, in_place) }
        Ok(())
    });
    bounded(answer, numbers)
}

impl Geometry {
    /// How far apart rows and columns of the matrix of windows lie in the input,
    /// where one pair of distances says it for each group's image.
    pub(super) fn in_place(&self) -> Option<(isize, isize)> {
        let (shape, strides) = (&self.x.shape[2..], &self.x.strides[2..]);
        let spatial = self.kernel.len();
        let padless = self.low.iter().all(|&n| n == 0);
        let pointwise = self.kernel.iter().all(|&n| n == 1) && self.strides.iter().all(|&n| n == 1);
        if pointwise && padless && shape[..] == self.out[..] {
            let rows = (1..spatial).all(|d| strides[d - 1] == strides[d] * shape[d] as isize);
            return rows.then(|| (self.x.strides[1], strides[spatial - 1]));
        }
        // One line of windows: taps lie as far apart as the dilation, windows
        // as far as the stride.
        let last = spatial - 1;
        let reach = (self.out[last] as isize - 1) * self.strides[last]
            + (self.kernel[last] as isize - 1) * self.dilations[last];
        let line = self.out[..last].iter().chain(&self.kernel[..last]).all(|&n| n == 1);
        let inside = padless && reach < shape[last] as isize;
        (line && inside && self.channels == 1)
            .then(|| (self.dilations[last] * strides[last], self.strides[last] * strides[last]))
    }

    /// Columns laid out at once.
    fn width(&self, parts: usize, in_place: bool) -> usize {
        let columns = self.columns();
        let images = self.x.shape[0] * self.groups;
        let split = if images >= parts { columns } else { columns.div_ceil(parts.div_ceil(images)) };
        let fits = if in_place { columns } else { CHUNK_NUMBERS / self.inner() };
        fits.max(MIN_WIDTH).min(split.max(MIN_WIDTH))
    }

    /// # Safety
    /// `args` are buffers of this geometry's layouts, with its scratch.
    unsafe fn run(&self, args: &Args<'_>, parts: usize, width: usize, in_place: Option<(isize, isize)>) {
        let (inner, columns) = (self.inner(), self.columns());
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
                    let buffer = match in_place {
                        Some(_) => scratch.get(),
                        None => scratch.get().add(part * inner * width),
                    };
                    for unit in (part..units).step_by(parts) {
                        let (image, chunk) = (unit / chunks, unit % chunks);
                        let (batch, group) = (image / self.groups, image % self.groups);
                        let (start, end) = (chunk * width, ((chunk + 1) * width).min(columns));
                        let (m, n) = (self.rows, end - start);
                        let (matrix, row, column) = match in_place {
                            Some((row, column)) => {
                                let image = self.x.offset
                                    + batch as isize * self.x.strides[0]
                                    + (group * self.channels) as isize * self.x.strides[1];
                                (x.offset(image + start as isize * column), row, column)
                            }
                            None => {
                                self.lay_out(x, batch, group, start..end, buffer, n);
                                (buffer.cast_const(), n as isize, 1)
                            }
                        };
                        product(
                            [m, n, inner],
                            (out.add((batch * self.groups + group) * m * columns + start), columns as isize),
                            (weight.offset(self.weight).add(group * m * inner), inner as isize, 1),
                            (matrix, row, column),
                        );
                    }
                }
            }
        });
    }

    /// As [`Geometry::run`], `together` images side by side.
    ///
    /// # Safety
    /// As [`Geometry::run`].
    unsafe fn run_together(&self, args: &Args<'_>, parts: usize, together: usize) {
        let (inner, columns, m) = (self.inner(), self.columns(), self.rows);
        let batch = self.x.shape[0];
        let chunks = batch.div_ceil(together);
        let units = chunks * self.groups;
        // SAFETY: the operands and the result are f32.
        let pointers = unsafe { Shared((args.read::<f32>(0), args.read::<f32>(1), args.write::<f32>(0))) };
        let scratch = Shared(args.scratch.cast::<f32>());
        args.threads.for_chunks(parts, 1, |range| {
            let (x, weight, out) = pointers.get();
            for part in range {
                // SAFETY: each part has its own scratch, and units write images
                // of the result that do not overlap.
                unsafe {
                    let buffer = scratch.get().add(part * (inner + m) * together * columns);
                    let sums = buffer.add(inner * together * columns);
                    for unit in (part..units).step_by(parts) {
                        let (first, group) = (unit / self.groups * together, unit % self.groups);
                        let images = together.min(batch - first);
                        let n = images * columns;
                        for i in 0..images {
                            self.lay_out(x, first + i, group, 0..columns, buffer.add(i * columns), n);
                        }
                        product(
                            [m, n, inner],
                            (sums, n as isize),
                            (weight.offset(self.weight).add(group * m * inner), inner as isize, 1),
                            (buffer, n as isize, 1),
                        );
                        for i in 0..images {
                            let image = out.add(((first + i) * self.groups + group) * m * columns);
                            for row in 0..m {
                                let from = sums.add(row * n + i * columns);
                                std::ptr::copy_nonoverlapping(from, image.add(row * columns), columns);
                            }
                        }
                    }
                }
            }
        });
    }

    /// Writes columns of one image's group, row after row: a row holds one
    /// number of every window.
    ///
    /// # Safety
    /// As [`Geometry::run`]; `to` has room for `inner` rows, `pitch` apart.
    unsafe fn lay_out(
        &self,
        x: *const f32,
        batch: usize,
        group: usize,
        columns: Range<usize>,
        to: *mut f32,
        pitch: usize,
    ) {
        let Range { start, end } = columns;
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
                // SAFETY: there is room for another row.
                row = unsafe { row.add(pitch) };
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
        // SAFETY: the line lies in the input.
        unsafe {
            let line = x.offset(from);
            let (stride, size) = (self.x.strides[2 + last], self.x.shape[2 + last] as isize);
            copy_line(line, stride, size, meets(last), self.strides[last], target);
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
