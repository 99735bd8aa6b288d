//! Kernels that move elements: copies of any strided view, whole or into rows
//! of a table, joins, and updates of a region.

use oneir_ir::graph::{Dst, RowSel, Sym};
use oneir_ir::primitive::EvalError;
use oneir_ir::{Primitive, reference};
use oneir_runtime::{Answer, KernelRow, Request};
use oneir_tensor::{DType, Layout};
use smallvec::SmallVec;

use super::transpose::transpose;
use crate::launch::{Args, Shared, prepared};
use crate::par::Crew;

pub(crate) fn rows() -> Vec<Box<dyn KernelRow>> {
    vec![Box::new(CopyView), Box::new(Join), Box::new(Update)]
}

/// Moving fewer bytes than this is not worth a second thread.
const GRAIN_BYTES: usize = 64 << 10;

/// A copy between two layouts of one shape, with dimensions merged and ordered
/// for the memory that is written.
#[derive(Debug, Clone)]
pub(crate) struct CopyPlan {
    /// Sizes, outermost first; strides of source and target in bytes.
    dims: SmallVec<[(usize, isize, isize); 4]>,
    from: isize,
    to: isize,
    /// Bytes of what is moved at once: an element, or a run of them.
    unit: usize,
}

impl CopyPlan {
    /// From the elements of one layout to those of another, of equal shapes.
    pub(crate) fn new(from: &Layout, to: &Layout, size: usize) -> CopyPlan {
        let bytes = size as isize;
        let mut dims: SmallVec<[(usize, isize, isize); 4]> = SmallVec::new();
        for ((&n, &a), &b) in from.shape.iter().zip(&from.strides).zip(&to.strides) {
            if n == 1 {
                continue;
            }
            match dims.last_mut() {
                // One step of the outer dimension is a whole turn of this one.
                Some((m, pa, pb)) if *pa == a * bytes * n as isize && *pb == b * bytes * n as isize => {
                    *m *= n;
                    *pa = a * bytes;
                    *pb = b * bytes;
                }
                _ => dims.push((n, a * bytes, b * bytes)),
            }
        }
        let mut unit = size;
        if let Some(&(n, a, b)) = dims.last()
            && a == bytes
            && b == bytes
        {
            unit = n * size;
            dims.pop();
        }
        CopyPlan { dims, from: from.offset * bytes, to: to.offset * bytes, unit }
    }

    /// Copies.
    ///
    /// # Safety
    /// Both layouts stay inside what the pointers address, and the target is
    /// written by no one else.
    pub(crate) unsafe fn run(&self, source: *const u8, target: *mut u8, threads: &Crew<'_>) {
        let count: usize = self.dims.iter().map(|d| d.0).product();
        let total = count * self.unit;
        if total == 0 {
            return;
        }
        // SAFETY: the offsets lie inside the buffers.
        let (source, target) = unsafe { (source.offset(self.from), target.offset(self.to)) };
        let (source, target) = (Shared(source), Shared(target));
        match self.dims.split_first() {
            None => {
                threads.for_chunks(self.unit, GRAIN_BYTES, |range| {
                    // SAFETY: the range lies inside the run of bytes.
                    unsafe {
                        std::ptr::copy_nonoverlapping(
                            source.get().add(range.start),
                            target.get().add(range.start),
                            range.len(),
                        );
                    }
                });
            }
            Some((&(n, a, b), inner)) => {
                let grain = (GRAIN_BYTES / (total / n).max(1)).max(1);
                threads.for_chunks(n, grain, |range| {
                    // SAFETY: as the caller promises, for a part of dimension 0.
                    unsafe {
                        let source = source.get().offset(range.start as isize * a);
                        let target = target.get().offset(range.start as isize * b);
                        let mut dims: SmallVec<[(usize, isize, isize); 4]> = SmallVec::new();
                        dims.push((range.len(), a, b));
                        dims.extend(inner.iter().copied());
                        copy_dims(&dims, source, target, self.unit);
                    }
                });
            }
        }
    }
}

/// Copies dimension by dimension.
///
/// # Safety
/// As [`CopyPlan::run`].
unsafe fn copy_dims(dims: &[(usize, isize, isize)], source: *const u8, target: *mut u8, unit: usize) {
    // SAFETY: each call stays inside the dimensions that it was given.
    unsafe {
        match dims {
            [] => std::ptr::copy_nonoverlapping(source, target, unit),
            [(n, a, b)] => match unit {
                1 => copy_line::<u8>(*n, *a, *b, source, target),
                2 => copy_line::<u16>(*n, *a, *b, source, target),
                4 => copy_line::<u32>(*n, *a, *b, source, target),
                8 => copy_line::<u64>(*n, *a, *b, source, target),
                _ => {
                    for i in 0..*n as isize {
                        std::ptr::copy_nonoverlapping(source.offset(i * a), target.offset(i * b), unit);
                    }
                }
            },
            // A transposition: blocks keep both sides in the cache.
            [(n, a, b), (m, c, d)]
                if matches!(unit, 1 | 2 | 4 | 8) && *a == unit as isize && *d == unit as isize =>
            {
                const BLOCK: usize = 64;
                for i in (0..*n).step_by(BLOCK) {
                    for j in (0..*m).step_by(BLOCK) {
                        let block = (BLOCK.min(*n - i), BLOCK.min(*m - j));
                        let (p, q) = (i as isize * a + j as isize * c, i as isize * b + j as isize * d);
                        transpose(unit, block, (source.offset(p), *c), (target.offset(q), *b));
                    }
                }
            }
            [(n, a, b), (m, c, d)] if unit <= 8 && a.abs() < c.abs() => {
                const BLOCK: usize = 32;
                for i in (0..*n).step_by(BLOCK) {
                    for j in (0..*m).step_by(BLOCK) {
                        for k in i..(i + BLOCK).min(*n) {
                            let (p, q) = (k as isize * a + j as isize * c, k as isize * b + j as isize * d);
                            let line = [((j + BLOCK).min(*m) - j, *c, *d)];
                            copy_dims(&line, source.offset(p), target.offset(q), unit);
                        }
                    }
                }
            }
            [(n, a, b), inner @ ..] => {
                for i in 0..*n as isize {
                    copy_dims(inner, source.offset(i * a), target.offset(i * b), unit);
                }
            }
        }
    }
}

/// Copies elements of `T`.
///
/// # Safety
/// As [`CopyPlan::run`].
unsafe fn copy_line<T: Copy>(n: usize, a: isize, b: isize, source: *const u8, target: *mut u8) {
    for i in 0..n as isize {
        // SAFETY: as the caller promises. Elements may be unaligned.
        unsafe {
            let value = source.offset(i * a).cast::<T>().read_unaligned();
            target.offset(i * b).cast::<T>().write_unaligned(value);
        }
    }
}

fn whole_bytes(dtype: DType) -> Option<usize> {
    dtype.size()
}

/// Copies and views that became copies.
struct CopyView;

impl KernelRow for CopyView {
    fn name(&self) -> &'static str {
        "copy"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["copy", "reshape", "squeeze", "expand_dims", "transpose", "slice", "broadcast", "stop_gradient"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let (Sym::Prim(primitive), [result]) = (request.sym, request.results) else { return Answer::No };
        let Some(operand) = request.operands.first() else { return Answer::No };
        let Some(size) = whole_bytes(operand.dtype) else { return Answer::No };
        // Row order is what a reshape keeps.
        let from = match primitive {
            Primitive::Copy | Primitive::Reshape(_) => operand.layout.clone(),
            other => match other.view(&operand.layout) {
                Some(layout) => layout,
                None => return Answer::No,
            },
        };
        let capacity = result.capacity;
        match result.dst {
            Dst::Own => {
                let plan = CopyPlan::new(&from, &Layout::contiguous(&from.shape), size);
                Answer::Yes(prepared("copy", move |args| {
                    // SAFETY: the plan's layouts stay inside their buffers.
                    unsafe { plan.run(args.reads[0], args.writes[0], args.threads) }
                    Ok(())
                }))
            }
            Dst::Rows { pitch, row, span } => {
                if from.count() > capacity {
                    return Answer::No;
                }
                let row_dtype = request.operands.last().map_or(DType::I32, |o| o.dtype);
                let row_at = request.operands.last().map_or(0, |o| o.layout.offset);
                Answer::Yes(prepared("copy_rows", move |args| {
                    let row = match row {
                        RowSel::Fixed(row) => row as i64,
                        RowSel::Param(_) => row_named(args, row_dtype, row_at)?,
                    };
                    let place = reference::rows_layout("copy", capacity, from.count(), pitch, row, span)
                        .map_err(Box::new)?;
                    let flat = from.reshape(&place.shape);
                    match flat {
                        Some(flat) => {
                            let plan = CopyPlan::new(&flat, &place, size);
                            // SAFETY: `rows_layout` checked the place against
                            // the table; the source is the plan's.
                            unsafe { plan.run(args.reads[0], args.writes[0], args.threads) }
                        }
                        None => {
                            for (a, b) in from.offsets().zip(place.offsets()) {
                                // SAFETY: as above.
                                unsafe {
                                    std::ptr::copy_nonoverlapping(
                                        args.reads[0].offset(a * size as isize),
                                        args.writes[0].offset(b * size as isize),
                                        size,
                                    );
                                }
                            }
                        }
                    }
                    Ok(())
                }))
            }
        }
    }
}

/// The row that the last operand names.
fn row_named(args: &Args<'_>, dtype: DType, at: isize) -> Result<i64, EvalError> {
    let Some(&start) = args.reads.last() else { return Ok(0) };
    // SAFETY: the parameter has at least one element of its dtype.
    Ok(unsafe {
        match dtype {
            DType::I32 => i64::from(start.cast::<i32>().offset(at).read_unaligned()),
            DType::U32 => i64::from(start.cast::<u32>().offset(at).read_unaligned()),
            DType::I64 => start.cast::<i64>().offset(at).read_unaligned(),
            _ => {
                let what = "a row's dtype (i32, u32 or i64)";
                return Err(EvalError::OutOfRange { what, found: 0, low: 0, high: 0 });
            }
        }
    })
}

/// Concatenation: each part is copied to its place.
struct Join;

impl KernelRow for Join {
    fn name(&self) -> &'static str {
        "join"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["concatenate"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let (Sym::Prim(Primitive::Concatenate { axis }), [result]) = (request.sym, request.results) else {
            return Answer::No;
        };
        let Some(size) = whole_bytes(result.spec.dtype).filter(|_| request.results_own()) else {
            return Answer::No;
        };
        let target = Layout::contiguous(&result.spec.shape);
        let rank = target.rank();
        let mut start = vec![0; rank];
        let mut parts = Vec::with_capacity(request.operands.len());
        for operand in request.operands {
            let Ok(place) = target.slice(&start, &vec![1; rank], &operand.layout.shape) else {
                return Answer::No;
            };
            parts.push(CopyPlan::new(&operand.layout, &place, size));
            start[*axis] += operand.layout.shape[*axis];
        }
        Answer::Yes(prepared("join", move |args| {
            for (part, &source) in parts.iter().zip(args.reads) {
                // SAFETY: the parts tile the result.
                unsafe { part.run(source, args.writes[0], args.threads) }
            }
            Ok(())
        }))
    }
}

/// A region of a copy replaced; the copy costs nothing when the base's memory
/// can be taken over.
struct Update;

impl KernelRow for Update {
    fn name(&self) -> &'static str {
        "update"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["slice_update"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let (Sym::Prim(Primitive::SliceUpdate { start, step, len }), [base, update], [result]) =
            (request.sym, request.operands, request.results)
        else {
            return Answer::No;
        };
        let Some(size) = whole_bytes(result.spec.dtype).filter(|_| request.results_own()) else {
            return Answer::No;
        };
        let whole = Layout::contiguous(&result.spec.shape);
        let Ok(region) = whole.slice(start, step, len) else { return Answer::No };
        let copy = CopyPlan::new(&base.layout, &whole, size);
        let replace = CopyPlan::new(&update.layout, &region, size);
        let in_place = base.layout == whole;
        let mut answer = prepared("update", move |args| {
            // SAFETY: the plan's layouts stay inside their buffers; a base in
            // the result's own place is there already.
            unsafe {
                if !std::ptr::eq(args.reads[0], args.writes[0]) {
                    copy.run(args.reads[0], args.writes[0], args.threads);
                }
                replace.run(args.reads[1], args.writes[0], args.threads);
            }
            Ok(())
        });
        if in_place {
            answer.in_place.push((0, 0));
        }
        Answer::Yes(answer)
    }
}
