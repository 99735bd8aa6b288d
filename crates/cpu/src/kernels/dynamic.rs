//! Slices that begin where data says, and updates there: starts are moved until the
//! slice fits.

use oneir_ir::Primitive;
use oneir_ir::graph::Sym;
use oneir_runtime::{Answer, KernelRow, OperandSpec, Request};
use oneir_tensor::{DType, Layout};

use super::gather::integer;
use super::movement::CopyPlan;
use crate::launch::{Args, prepared};

pub(crate) fn rows() -> Vec<Box<dyn KernelRow>> {
    vec![Box::new(Slice), Box::new(Update)]
}

/// Where a slice begins: for each axis that a number is given for, the places that it
/// may begin at, and the bytes from one to the next.
struct Begin {
    dtype: DType,
    /// The first number, and the step between them.
    first: isize,
    step: isize,
    axes: Vec<(usize, isize)>,
}

impl Begin {
    /// Of slices of `len` in an array that lies so.
    fn new(
        starts: &OperandSpec,
        axes: &[usize],
        within: &Layout,
        len: &[usize],
        size: usize,
    ) -> Option<Begin> {
        if !(starts.dtype.is_integer() && starts.dtype.computes()) {
            return None;
        }
        let one = |&axis: &usize| {
            let last = within.shape[axis].saturating_sub(len[axis]);
            (last, within.strides[axis] * size as isize)
        };
        let axes = axes.iter().map(one).collect();
        let layout = &starts.layout;
        Some(Begin { dtype: starts.dtype, first: layout.offset, step: layout.strides[0], axes })
    }

    /// How many bytes behind the array's first element the slice begins.
    ///
    /// # Safety
    /// `starts` are the bound bytes of the operand that this was made for.
    unsafe fn bytes(&self, starts: *const u8) -> isize {
        let one = |(i, &(last, step)): (usize, &(usize, isize))| {
            // SAFETY: the operand has a number for each axis.
            let start = unsafe { integer(starts, self.dtype, self.first + i as isize * self.step) };
            start.clamp(0, last as i128) as isize * step
        };
        self.axes.iter().enumerate().map(one).sum()
    }
}

/// The window of an array's layout that slices of `len` see, before they are moved.
fn window(layout: &Layout, len: &[usize]) -> Layout {
    Layout { offset: layout.offset, shape: len.into(), strides: layout.strides.clone() }
}

struct Slice;

impl KernelRow for Slice {
    fn name(&self) -> &'static str {
        "dynamic_slice"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["dynamic_slice"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let (Sym::Prim(Primitive::DynamicSlice { axes, len }), [source, starts], [result]) =
            (request.sym, request.operands, request.results)
        else {
            return Answer::No;
        };
        let Some(size) = result.spec.dtype.size().filter(|_| request.results_own()) else {
            return Answer::No;
        };
        let Some(begin) = Begin::new(starts, axes, &source.layout, len, size) else { return Answer::No };
        let copy = CopyPlan::new(&window(&source.layout, len), &Layout::contiguous(len), size);
        let empty = len.contains(&0);
        Answer::Yes(prepared("dynamic_slice", move |args: &Args<'_>| {
            if !empty {
                // SAFETY: starts are clamped so that the slice lies in the source.
                unsafe {
                    let from = args.reads[0].offset(begin.bytes(args.reads[1]));
                    copy.run(from, args.writes[0], args.threads);
                }
            }
            Ok(())
        }))
    }
}

/// As a copy with the slice replaced; the copy costs nothing when the base's memory can
/// be taken over.
struct Update;

impl KernelRow for Update {
    fn name(&self) -> &'static str {
        "dynamic_slice_update"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["dynamic_slice_update"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let (Sym::Prim(Primitive::DynamicSliceUpdate { axes }), [base, update, starts], [result]) =
            (request.sym, request.operands, request.results)
        else {
            return Answer::No;
        };
        let Some(size) = result.spec.dtype.size().filter(|_| request.results_own()) else {
            return Answer::No;
        };
        let (whole, len) = (Layout::contiguous(&result.spec.shape), &update.layout.shape);
        let Some(begin) = Begin::new(starts, axes, &whole, len, size) else { return Answer::No };
        let copy = CopyPlan::new(&base.layout, &whole, size);
        let replace = CopyPlan::new(&update.layout, &window(&whole, len), size);
        let (in_place, empty) = (base.layout == whole, len.contains(&0));
        let mut answer = prepared("dynamic_slice_update", move |args: &Args<'_>| {
            // SAFETY: starts are clamped so that the slice lies in the result; a base in
            // the result's own place is there already.
            unsafe {
                if !std::ptr::eq(args.reads[0], args.writes[0]) {
                    copy.run(args.reads[0], args.writes[0], args.threads);
                }
                if !empty {
                    let to = args.writes[0].offset(begin.bytes(args.reads[2]));
                    replace.run(args.reads[1], to, args.threads);
                }
            }
            Ok(())
        });
        if in_place {
            answer.in_place.push((0, 0));
        }
        Answer::Yes(answer)
    }
}
