//! Reductions over any set of axes whose elements lie in rows: along the rows,
//! or across them.

use std::marker::PhantomData;

use half::{bf16, f16};
use oneir_ir::graph::Sym;
use oneir_ir::{Primitive, ReduceOp};
use oneir_runtime::{Answer, KernelRow, Numerics, Request};
use oneir_tensor::{DType, Layout};
use smallvec::SmallVec;

use super::fold::{Fold, fold};
use super::starts::Starts;
use crate::launch::{Args, Shared, prepared};
use crate::simd::{Isa, Level, Stored, Work};

pub(crate) fn rows(level: Level) -> Vec<Box<dyn KernelRow>> {
    vec![Box::new(Reduce { level })]
}

/// Elements that are worth a thread.
const GRAIN: usize = 32 << 10;
/// Columns that are reduced at once.
const COLUMNS: usize = 256;
/// Rows after which the columns' sums are joined to the totals.
const BLOCK_ROWS: usize = 64;
/// Elements of a part, where a result takes more than one.
const PART: usize = 256 << 10;
/// With this many results to share out, none is split.
const ENOUGH: usize = 64;

struct Reduce {
    level: Level,
}

impl KernelRow for Reduce {
    fn name(&self) -> &'static str {
        "reduce"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["reduce"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let (Sym::Prim(Primitive::Reduce { op, axes }), [x]) = (request.sym, request.operands) else {
            return Answer::No;
        };
        if !request.results_own() || x.dtype.is_complex() || !x.dtype.computes() {
            return Answer::No;
        }
        let Some(walk) = Walk::new(&x.layout, axes, request.numerics) else {
            return Answer::Repack([0].into_iter().collect());
        };
        choose(self.level, *op, x.dtype, walk)
    }
}

/// A dimension: size, stride of the operand.
type Dim = (usize, isize);

/// How the elements are walked over.
#[derive(Debug, Clone)]
struct Walk {
    /// Where each group of results begins in the operand, in result order.
    starts: Starts,
    /// The reduced dimensions but the lanes, outermost first.
    reduced: SmallVec<[Dim; 4]>,
    /// Elements that lie side by side.
    lanes: usize,
    /// Whether the lanes are reduced, or each is a result.
    along: bool,
    /// How many parts each group's reduced dimension is split into, and how
    /// many of its items each part takes.
    parts: usize,
    part: usize,
}

impl Walk {
    fn new(layout: &Layout, axes: &[usize], numerics: Numerics) -> Option<Walk> {
        let mut dims: SmallVec<[(usize, isize, bool); 4]> = SmallVec::new();
        // Of nothing, however often, nothing is walked over.
        let empty = axes.iter().any(|&axis| layout.shape[axis] == 0);
        for (axis, (&n, &stride)) in layout.shape.iter().zip(&layout.strides).enumerate() {
            let reduced = axes.contains(&axis);
            match dims.last_mut() {
                _ if n == 1 || (empty && reduced && n > 0) => {}
                Some((m, outer, same)) if *same == reduced && *outer == stride * n as isize => {
                    *m *= n;
                    *outer = stride;
                }
                _ => dims.push((n, stride, reduced)),
            }
        }
        let lane = dims.iter().rposition(|d| d.1 == 1);
        let last_kept = dims.iter().rposition(|d| !d.2);
        let (lanes, along) = match lane {
            Some(lane) if dims[lane].2 || Some(lane) == last_kept => {
                let (n, _, reduced) = dims.remove(lane);
                (n, reduced)
            }
            // One element, or none at all.
            None if empty || dims.iter().all(|d| d.0 == 0) => (1, false),
            _ => return None,
        };
        let kept = dims.iter().filter(|d| !d.2).map(|d| (d.0, d.1));
        let starts = Starts::new(layout.offset, kept);
        let reduced: SmallVec<[Dim; 4]> = dims.iter().filter(|d| d.2).map(|d| (d.0, d.1)).collect();
        // Parts follow from sizes alone, so that sums do not depend on threads.
        let units = starts.count() * if along { 1 } else { lanes.div_ceil(COLUMNS) };
        let (items, each) = match (along, reduced.first()) {
            (true, None) => (lanes, 1),
            (_, Some(first)) => {
                let inner: usize = reduced[1..].iter().map(|d| d.0).product();
                (first.0, (inner * lanes).max(1))
            }
            (false, None) => (1, 1),
        };
        // Along rows they follow from what is reduced alone.
        let split = match numerics {
            Numerics::Exact => along,
            Numerics::Fast => units < ENOUGH,
        };
        let part = if split { (PART / each).max(1).min(items.max(1)) } else { items.max(1) };
        Some(Walk { starts, reduced, lanes, along, parts: items.div_ceil(part).max(1), part })
    }

    /// Results of a group.
    fn width(&self) -> usize {
        if self.along { 1 } else { self.lanes }
    }

    /// The reduced dimensions and the lanes of one part, and where it begins.
    fn part(&self, index: usize) -> (isize, SmallVec<[Dim; 4]>, usize) {
        let mut reduced = self.reduced.clone();
        let first = index * self.part;
        match reduced.first_mut() {
            Some((n, stride)) => {
                *n = self.part.min(*n - first.min(*n));
                let start = first as isize * *stride;
                (start, reduced, self.lanes)
            }
            None if self.along => {
                (first as isize, reduced, self.part.min(self.lanes - first.min(self.lanes)))
            }
            None => (0, reduced, self.lanes),
        }
    }
}

/// What a reduction reads, folds and gives.
trait Reduction: Fold + Send + Sync + 'static {
    type In: Copy;
    type Out: Copy;

    fn read(x: Self::In) -> Self::Value;
    fn give(x: Self::Value) -> Self::Out;
}

fn launch<R: Reduction>(level: Level, walk: Walk) -> Answer {
    let results = walk.starts.count() * walk.width();
    let scratch = if walk.parts > 1 { walk.parts * results * size_of::<R::Value>() } else { 0 };
    let mut answer = prepared("reduce", move |args| {
        // SAFETY: the operand's layout stays inside its buffer, and dtypes are
        // what `R` was chosen for.
        unsafe { run::<R>(level, &walk, args) }
        Ok(())
    });
    answer.scratch = scratch;
    Answer::Yes(answer)
}

/// # Safety
/// The operand and the result are what the walk and `R` say.
unsafe fn run<R: Reduction>(level: Level, walk: &Walk, args: &Args<'_>) {
    let width = walk.width();
    let results = walk.starts.count() * width;
    if results == 0 {
        return;
    }
    // SAFETY: as the caller promises.
    let pointers = Shared(unsafe { (args.read::<R::In>(0), args.write::<R::Out>(0)) });
    let partial = Shared(args.scratch.cast::<R::Value>());
    let columns = width.min(COLUMNS);
    let blocks = width.div_ceil(COLUMNS);
    let items: usize = walk.reduced.iter().map(|d| d.0).product::<usize>() * walk.lanes.min(COLUMNS);
    let grain = (GRAIN * walk.parts / items.max(1)).max(1);
    // Single rows are reduced many at once.
    args.threads.for_chunks(walk.starts.count() * blocks * walk.parts, grain, |range| {
        level.dispatch(Chunk::<R> {
            walk,
            from: pointers.get().0,
            to: pointers.get().1,
            partial: partial.get(),
            range,
            columns,
            marker: PhantomData,
        });
    });
    if walk.parts == 1 {
        return;
    }
    for i in 0..results {
        // SAFETY: the chunks have written every part of every result.
        unsafe {
            let part = |p: usize| *partial.get().add(p * results + i);
            let total = (1..walk.parts).fold(part(0), |sum, p| R::join(sum, part(p)));
            *pointers.get().1.add(i) = R::give(total);
        }
    }
}

struct Chunk<'a, R: Reduction> {
    walk: &'a Walk,
    from: *const R::In,
    to: *mut R::Out,
    partial: *mut R::Value,
    /// Units: groups, then blocks of columns, then parts.
    range: std::ops::Range<usize>,
    columns: usize,
    marker: PhantomData<R>,
}

impl<R: Reduction> Work for Chunk<'_, R> {
    type Out = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let walk = self.walk;
        let width = walk.width();
        let blocks = width.div_ceil(COLUMNS);
        let results = walk.starts.count() * width;
        if walk.along && walk.parts == 1 {
            for group in self.range {
                // SAFETY: the walk stays inside the operand, and each group
                // has a result of its own.
                unsafe {
                    let from = self.from.offset(walk.starts.at(group));
                    *self.to.add(group) = R::give(along::<R>(from, &walk.reduced, walk.lanes));
                }
            }
            return;
        }
        let mut sums = [R::START; COLUMNS];
        for unit in self.range.clone() {
            let (part, rest) = (unit % walk.parts, unit / walk.parts);
            let (group, block) = (rest / blocks, rest % blocks);
            let (start, reduced, lanes) = walk.part(part);
            let column = block * COLUMNS;
            let n = self.columns.min(width - column);
            // SAFETY: the walk stays inside the operand, and each unit writes
            // results of its own.
            unsafe {
                let from = self.from.offset(walk.starts.at(group) + start + column as isize);
                if walk.along {
                    sums[0] = along::<R>(from, &reduced, lanes);
                } else {
                    across::<R>(from, &reduced, &mut sums[..n]);
                }
                for (j, &sum) in sums[..n].iter().enumerate() {
                    let at = group * width + column + j;
                    if walk.parts == 1 {
                        *self.to.add(at) = R::give(sum);
                    } else {
                        *self.partial.add(part * results + at) = sum;
                    }
                }
            }
        }
    }
}

/// Folds the rows that lie in `reduced` dimensions.
///
/// # Safety
/// They can be read.
#[inline(always)]
unsafe fn along<R: Reduction>(from: *const R::In, reduced: &[Dim], lanes: usize) -> R::Value {
    // SAFETY: as the caller promises.
    let row = |from: *const R::In| fold::<R>(lanes, |i| R::read(unsafe { *from.add(i) }));
    if reduced.is_empty() {
        return row(from);
    }
    let mut total = R::START;
    each(reduced, |at| {
        // SAFETY: the offset stays inside the operand.
        total = R::join(total, row(unsafe { from.offset(at) }));
    });
    total
}

/// Folds rows of columns that lie in `reduced` dimensions.
///
/// # Safety
/// They can be read.
#[inline(always)]
unsafe fn across<R: Reduction>(from: *const R::In, reduced: &[Dim], totals: &mut [R::Value]) {
    let n = totals.len();
    totals.fill(R::START);
    let mut sums = [R::START; COLUMNS];
    let mut rows = 0;
    each(reduced, |at| {
        // SAFETY: as the caller promises.
        let from = unsafe { from.offset(at) };
        if n == COLUMNS {
            for (j, sum) in sums.iter_mut().enumerate() {
                // SAFETY: as above.
                *sum = R::join(*sum, R::read(unsafe { *from.add(j) }));
            }
        } else {
            for (j, sum) in sums[..n].iter_mut().enumerate() {
                // SAFETY: as above.
                *sum = R::join(*sum, R::read(unsafe { *from.add(j) }));
            }
        }
        rows += 1;
        if rows == BLOCK_ROWS {
            rows = 0;
            for (total, sum) in totals.iter_mut().zip(&mut sums) {
                *total = R::join(*total, std::mem::replace(sum, R::START));
            }
        }
    });
    for (total, sum) in totals.iter_mut().zip(&sums) {
        *total = R::join(*total, *sum);
    }
}

/// Calls `f` with the offset of every index of some dimensions, in order.
#[inline(always)]
fn each(dims: &[Dim], mut f: impl FnMut(isize)) {
    let Some((&(n, stride), outer)) = dims.split_last() else { return f(0) };
    let rows: usize = outer.iter().map(|d| d.0).product();
    let mut index: SmallVec<[usize; 4]> = SmallVec::from_elem(0, outer.len());
    let mut at = 0;
    for _ in 0..rows {
        for i in 0..n as isize {
            f(at + i * stride);
        }
        for axis in (0..outer.len()).rev() {
            let (size, stride) = outer[axis];
            index[axis] += 1;
            at += stride;
            if index[axis] < size {
                break;
            }
            at -= stride * size as isize;
            index[axis] = 0;
        }
    }
}

macro_rules! reduction {
    ($level:expr, $walk:expr, $in:ty => $value:ty => $out:ty, $start:expr,
     |$a:ident, $b:ident| $join:expr, |$x:ident| $read:expr, |$y:ident| $give:expr) => {{
        struct K;
        impl Fold for K {
            type Value = $value;
            const START: $value = $start;

            #[inline(always)]
            fn join($a: $value, $b: $value) -> $value {
                $join
            }
        }
        impl Reduction for K {
            type In = $in;
            type Out = $out;

            #[inline(always)]
            fn read($x: $in) -> $value {
                $read
            }

            #[inline(always)]
            fn give($y: $value) -> $out {
                $give
            }
        }
        launch::<K>($level, $walk)
    }};
}

fn truth(level: Level, op: ReduceOp, dtype: DType, walk: Walk) -> Answer {
    macro_rules! truth {
        ($t:ty, |$x:ident| $is:expr) => {
            if op == ReduceOp::All {
                reduction!(level, walk, $t => u8 => u8, 1, |a, b| a & b, |$x| u8::from($is), |y| y)
            } else {
                reduction!(level, walk, $t => u8 => u8, 0, |a, b| a | b, |$x| u8::from($is), |y| y)
            }
        };
    }
    match dtype {
        DType::Bool | DType::U8 | DType::I8 => truth!(u8, |x| x != 0),
        DType::U16 | DType::I16 => truth!(u16, |x| x != 0),
        // A half is zero when all bits but the sign are.
        DType::F16 | DType::BF16 => truth!(u16, |x| x & 0x7FFF != 0),
        DType::U32 | DType::I32 => truth!(u32, |x| x != 0),
        DType::U64 | DType::I64 => truth!(u64, |x| x != 0),
        DType::F32 => truth!(f32, |x| x != 0.0),
        DType::F64 => truth!(f64, |x| x != 0.0),
        _ => Answer::No,
    }
}

fn choose(level: Level, op: ReduceOp, dtype: DType, walk: Walk) -> Answer {
    macro_rules! float {
        ($t:ty, $wide:ty) => {{
            const LEAST: $wide = <$wide>::NEG_INFINITY;
            const MOST: $wide = <$wide>::INFINITY;
            match op {
                ReduceOp::Sum => reduction!(level, walk, $t => $wide => $t, 0.0,
                    |a, b| a + b, |x| x.widen(), |y| <$t>::narrow(y)),
                ReduceOp::Prod => reduction!(level, walk, $t => $wide => $t, 1.0,
                    |a, b| a * b, |x| x.widen(), |y| <$t>::narrow(y)),
                ReduceOp::Max => reduction!(level, walk, $t => $wide => $t, LEAST,
                    |a, b| if a.is_nan() || a > b { a } else { b }, |x| x.widen(), |y| <$t>::narrow(y)),
                ReduceOp::Min => reduction!(level, walk, $t => $wide => $t, MOST,
                    |a, b| if a.is_nan() || a < b { a } else { b }, |x| x.widen(), |y| <$t>::narrow(y)),
                _ => Answer::No,
            }
        }};
    }
    macro_rules! int {
        ($t:ty) => {
            match op {
                ReduceOp::Sum => {
                    reduction!(level, walk, $t => $t => $t, 0, |a, b| a.wrapping_add(b), |x| x, |y| y)
                }
                ReduceOp::Prod => {
                    reduction!(level, walk, $t => $t => $t, 1, |a, b| a.wrapping_mul(b), |x| x, |y| y)
                }
                ReduceOp::Max => {
                    reduction!(level, walk, $t => $t => $t, <$t>::MIN, |a, b| a.max(b), |x| x, |y| y)
                }
                ReduceOp::Min => {
                    reduction!(level, walk, $t => $t => $t, <$t>::MAX, |a, b| a.min(b), |x| x, |y| y)
                }
                _ => Answer::No,
            }
        };
    }
    match (dtype, op) {
        (_, ReduceOp::All | ReduceOp::Any) => truth(level, op, dtype, walk),
        (DType::Bool, ReduceOp::Sum) => {
            reduction!(level, walk, u8 => i32 => i32, 0, |a, b| a.wrapping_add(b), |x| i32::from(x), |y| y)
        }
        (DType::Bool, ReduceOp::Prod) => {
            reduction!(level, walk, u8 => i32 => i32, 1, |a, b| a & b, |x| i32::from(x), |y| y)
        }
        (DType::Bool, ReduceOp::Max) => truth(level, ReduceOp::Any, dtype, walk),
        (DType::Bool, ReduceOp::Min) => truth(level, ReduceOp::All, dtype, walk),
        (DType::F32, _) => float!(f32, f32),
        (DType::F64, _) => float!(f64, f64),
        (DType::F16, _) => float!(f16, f32),
        (DType::BF16, _) => float!(bf16, f32),
        (DType::U8, _) => int!(u8),
        (DType::U16, _) => int!(u16),
        (DType::U32, _) => int!(u32),
        (DType::U64, _) => int!(u64),
        (DType::I8, _) => int!(i8),
        (DType::I16, _) => int!(i16),
        (DType::I32, _) => int!(i32),
        (DType::I64, _) => int!(i64),
        _ => Answer::No,
    }
}
