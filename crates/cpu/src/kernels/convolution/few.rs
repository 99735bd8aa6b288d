//! Convolutions with few windows: each window is copied once, and every row of
//! the weight, read as it lies, meets all of them.

use oneir_runtime::Answer;

use super::{Geometry, bounded, copy_line};
use crate::kernels::matmul::Dots;
use crate::launch::{Args, Shared, prepared};
use crate::simd::Level;

/// The most windows that are worth their copies.
const FEW_WINDOWS: usize = 8;
/// The fewest numbers of a window that fill vectors.
const LONG_WINDOW: usize = 32;
/// Multiplications that are worth a thread.
const GRAIN: usize = 256 << 10;

/// A convolution that fits this way, prepared.
pub(super) fn prepare(geometry: &Geometry, level: Level) -> Option<Answer> {
    let (inner, columns) = (geometry.inner(), geometry.columns());
    let windows = geometry.x.shape[0] * columns;
    if windows > FEW_WINDOWS || inner < LONG_WINDOW {
        return None;
    }
    let (geometry, dots) = (geometry.clone(), Dots::new(geometry.rows, columns, inner));
    let numbers = windows * geometry.groups * inner;
    let answer = prepared("convolution_few", move |args| {
        // SAFETY: the plan's layouts stay inside their buffers, and the
        // scratch is as large as was asked for.
        unsafe { geometry.run_few(args, level, &dots) }
        Ok(())
    });
    Some(bounded(answer, numbers))
}

impl Geometry {
    /// # Safety
    /// `args` are buffers of this geometry's layouts, with its scratch.
    unsafe fn run_few(&self, args: &Args<'_>, level: Level, dots: &Dots) {
        let (inner, columns, m) = (self.inner(), self.columns(), self.rows);
        let images = self.x.shape[0] * self.groups;
        let windows = args.scratch.cast::<f32>();
        // SAFETY: the operands and the result are f32.
        let (x, weight, out) = unsafe { (args.read::<f32>(0), args.read::<f32>(1), args.write::<f32>(0)) };
        for image in 0..images {
            // SAFETY: there is room for the windows of all images.
            unsafe { self.windows(x, image, windows.add(image * columns * inner)) };
        }
        let pointers = Shared((weight, windows.cast_const(), out));
        let grain = (GRAIN / (columns * inner)).max(1).next_multiple_of(16);
        args.threads.for_chunks(images * m, grain, |range| {
            let (weight, windows, out) = pointers.get();
            let mut row = range.start;
            while row < range.end {
                let (image, first) = (row / m, row % m);
                let rows = (m - first).min(range.end - row);
                // SAFETY: the rows lie in the weight and in the result, and no
                // one else writes them.
                unsafe {
                    dots.run(
                        level,
                        first..first + rows,
                        weight.offset(self.weight).add(image % self.groups * m * inner),
                        windows.add(image * columns * inner),
                        out.add(image * m * columns),
                    );
                }
                row += rows;
            }
        });
    }

    /// Copies the windows of one image's group, one after the other.
    ///
    /// # Safety
    /// As [`Geometry::run_few`]; `to` has room for them.
    unsafe fn windows(&self, x: *const f32, image: usize, to: *mut f32) {
        let last = self.kernel.len() - 1;
        let (batch, group) = (image / self.groups, image % self.groups);
        let strides = &self.x.strides;
        let mut target = to;
        for window in 0..self.columns() {
            for channel in 0..self.channels {
                let plane = self.x.offset
                    + batch as isize * strides[0]
                    + (group * self.channels + channel) as isize * strides[1];
                for tap in 0..self.kernel[..last].iter().product() {
                    // The window's and the tap's place, dimension by dimension.
                    let (mut place, mut tap, mut inside) = (window / self.out[last], tap, true);
                    let mut from = plane;
                    for d in (0..last).rev() {
                        let at = (place % self.out[d]) as isize * self.strides[d]
                            + (tap % self.kernel[d]) as isize * self.dilations[d]
                            - self.low[d];
                        (place, tap) = (place / self.out[d], tap / self.kernel[d]);
                        inside &= (0..self.x.shape[2 + d] as isize).contains(&at);
                        from += at * strides[2 + d];
                    }
                    let count = self.kernel[last];
                    // SAFETY: the line of the window lies in the target; where it
                    // is inside, the input's line can be read.
                    unsafe {
                        let line = std::slice::from_raw_parts_mut(target, count);
                        if inside {
                            let (stride, size) = (strides[2 + last], self.x.shape[2 + last] as isize);
                            let at = (window % self.out[last]) as isize * self.strides[last] - self.low[last];
                            copy_line(x.offset(from), stride, size, at, self.dilations[last], line);
                        } else {
                            line.fill(0.0);
                        }
                        target = target.add(count);
                    }
                }
            }
        }
    }
}
