//! Gathers: slices or elements at places that integers name. Negative ones
//! count from the end, those out of range are clamped.

use oneir_ir::Primitive;
use oneir_ir::graph::Sym;
use oneir_runtime::{Answer, KernelRow, OperandSpec, Request};
use oneir_tensor::{DType, Layout};

use super::movement::CopyPlan;
use crate::launch::{Args, Shared, prepared};

pub(crate) fn rows() -> Vec<Box<dyn KernelRow>> {
    vec![Box::new(Slices), Box::new(AlongAxis)]
}

/// Moving fewer bytes than this is not worth a second thread.
const GRAIN_BYTES: usize = 64 << 10;

/// The integer of `dtype` at a place.
///
/// # Safety
/// There is an element of `dtype`, an integer type, at `at`.
pub(super) unsafe fn integer(from: *const u8, dtype: DType, at: isize) -> i128 {
    macro_rules! read {
        ($t:ty) => {
            // SAFETY: as the caller promises. Elements may be unaligned.
            i128::from(unsafe { from.cast::<$t>().offset(at).read_unaligned() })
        };
    }
    match dtype {
        DType::U8 => read!(u8),
        DType::U16 => read!(u16),
        DType::U32 => read!(u32),
        DType::U64 => read!(u64),
        DType::I8 => read!(i8),
        DType::I16 => read!(i16),
        DType::I32 => read!(i32),
        _ => read!(i64),
    }
}

/// The place that an index names among `size`, so that `span` items fit.
///
/// # Safety
/// `indices` has an element of `dtype`, an integer type, at `at`.
unsafe fn place(indices: *const u8, dtype: DType, at: isize, size: usize, span: usize) -> isize {
    // SAFETY: as the caller promises.
    let index = unsafe { integer(indices, dtype, at) };
    let index = if index < 0 { index + size as i128 } else { index };
    index.clamp(0, size.saturating_sub(span) as i128) as isize
}

/// The element size, where operands and result are what the kernels take.
fn element(request: &Request<'_>, indices: &[OperandSpec]) -> Option<usize> {
    let [result] = request.results else { return None };
    let integers = indices.iter().all(|i| i.dtype.is_integer() && i.dtype.computes());
    result.spec.dtype.size().filter(|_| integers && request.results_own())
}

/// A slice for each place of the index arrays.
struct Slices;

impl KernelRow for Slices {
    fn name(&self) -> &'static str {
        "gather"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["gather"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let Sym::Prim(Primitive::Gather { axes, slice_sizes }) = request.sym else { return Answer::No };
        let Some((source, indices)) = request.operands.split_first() else { return Answer::No };
        let Some(size) = element(request, indices) else { return Answer::No };
        if indices.iter().any(|i| !i.layout.is_row_contiguous()) {
            return Answer::Repack((1..=indices.len() as u8).collect());
        }
        let count = indices.first().map_or(1, |i| i.layout.count());
        let slice = Layout {
            offset: source.layout.offset,
            shape: slice_sizes.as_slice().into(),
            strides: source.layout.strides.clone(),
        };
        let bytes = slice.count() * size;
        let copy = CopyPlan::new(&slice, &Layout::contiguous(slice_sizes), size);
        // Of each index array: where it begins, and the axis that it names places of.
        let arrays: Vec<(DType, isize, usize, usize, isize)> = indices
            .iter()
            .zip(axes)
            .map(|(i, &axis)| {
                let stride = source.layout.strides[axis] * size as isize;
                (i.dtype, i.layout.offset, source.layout.shape[axis], slice_sizes[axis], stride)
            })
            .collect();
        Answer::Yes(prepared("gather", move |args| {
            if bytes == 0 {
                return Ok(());
            }
            let (from, to) = (Shared(args.reads), Shared(args.writes[0]));
            args.threads.for_chunks(count, (GRAIN_BYTES / bytes).max(1), |range| {
                for at in range {
                    // SAFETY: places are clamped to the source, and each slice
                    // of the result is written once.
                    unsafe {
                        let start: isize = arrays
                            .iter()
                            .zip(&from.get()[1..])
                            .map(|(&(dtype, first, size, span, stride), &indices)| {
                                place(indices, dtype, first + at as isize, size, span) * stride
                            })
                            .sum();
                        copy.run(from.get()[0].offset(start), to.get().add(at * bytes), args.threads);
                    }
                }
            });
            Ok(())
        }))
    }
}

/// An element for each index, along one axis.
struct AlongAxis;

impl KernelRow for AlongAxis {
    fn name(&self) -> &'static str {
        "gather_axis"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["gather_axis"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let Sym::Prim(Primitive::GatherAxis { axis }) = request.sym else { return Answer::No };
        let [source, indices] = request.operands else { return Answer::No };
        let Some(size) = element(request, std::slice::from_ref(indices)) else { return Answer::No };
        if source.layout.rank() == 0 {
            return Answer::No;
        }
        // The source as the indices lie over it, standing still along the axis.
        let mut base = source.layout.clone();
        base.shape = indices.layout.shape.clone();
        base.strides[*axis] = 0;
        let gather = Along {
            base,
            indices: indices.layout.clone(),
            dtype: indices.dtype,
            count: source.layout.shape[*axis],
            stride: source.layout.strides[*axis],
            size,
        };
        Answer::Yes(prepared("gather_axis", move |args| {
            // SAFETY: the plan's layouts stay inside their buffers.
            unsafe { gather.run(args) }
            Ok(())
        }))
    }
}

struct Along {
    base: Layout,
    indices: Layout,
    dtype: DType,
    /// Items of the source's axis, and the step between them.
    count: usize,
    stride: isize,
    size: usize,
}

impl Along {
    /// # Safety
    /// `args` are buffers of these layouts.
    unsafe fn run(&self, args: &Args<'_>) {
        let rows = self.indices.shape[0];
        let row: usize = self.indices.shape[1..].iter().product();
        if self.indices.count() == 0 {
            return;
        }
        let (from, to) = (Shared(args.reads), Shared(args.writes[0]));
        let grain = (GRAIN_BYTES / (row * self.size)).max(1);
        args.threads.for_chunks(rows, grain, |range| {
            let part = |layout: &Layout| Layout {
                offset: layout.offset + range.start as isize * layout.strides[0],
                shape: layout.shape.with(0, range.len()),
                strides: layout.strides.clone(),
            };
            let (base, indices) = (part(&self.base), part(&self.indices));
            for (i, (start, at)) in base.offsets().zip(indices.offsets()).enumerate() {
                // SAFETY: places are clamped to the source, and each element of
                // the result is written once.
                unsafe {
                    let index = place(from.get()[1], self.dtype, at, self.count, 1);
                    let element = from.get()[0].offset((start + index * self.stride) * self.size as isize);
                    let target = to.get().add((range.start * row + i) * self.size);
                    std::ptr::copy_nonoverlapping(element, target, self.size);
                }
            }
        });
    }
}
