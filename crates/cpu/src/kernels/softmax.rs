//! Softmax along any axis: the largest, then the sum of exponentials, then the
//! quotients.

use half::{bf16, f16};
use oneir_ir::fast::FastOp;
use oneir_ir::graph::{Class, Sym};
use oneir_runtime::{Answer, KernelRow, Request};
use oneir_tensor::DType;

use super::fold::{Fold, Max, Sum, fold};
use super::starts::Starts;
use crate::launch::{Shared, prepared};
use crate::simd::{Float, Isa, Level, Stored, Work};

pub(crate) fn rows(level: Level) -> Vec<Box<dyn KernelRow>> {
    vec![Box::new(Softmax { level })]
}

/// Elements that are worth a thread.
const GRAIN: usize = 16 << 10;
/// Exponentials that are kept at hand.
const KEPT: usize = 4096;
/// Columns that are worked on at once, at most: long pieces of rows stream.
const COLUMNS: usize = 1024;

struct Softmax {
    level: Level,
}

impl KernelRow for Softmax {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["softmax"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let (Sym::Fused(fused), [x]) = (request.sym, request.operands) else { return Answer::No };
        let Class::Fast(FastOp::Softmax(softmax)) = &fused.class else { return Answer::No };
        if !request.results_own() {
            return Answer::No;
        }
        let axis = softmax.axis;
        let rest = &x.layout.shape[axis..];
        let inner: usize = rest[1..].iter().product();
        let whole = x.layout.is_row_contiguous();
        // Rows may lie anywhere, columns side by side.
        let fits = whole || (inner == 1 && x.layout.strides[axis] == 1);
        if !fits {
            return Answer::Repack([0].into_iter().collect());
        }
        let shape = Shape { starts: Starts::outer(&x.layout, axis), n: rest[0], inner };
        let mut answer = match x.dtype {
            DType::F32 => launch::<f32>(self.level, shape),
            DType::F64 => launch::<f64>(self.level, shape),
            DType::F16 => launch::<f16>(self.level, shape),
            DType::BF16 => launch::<bf16>(self.level, shape),
            _ => return Answer::No,
        };
        if let (Answer::Yes(prepared), true) = (&mut answer, whole && x.layout.offset == 0) {
            prepared.in_place.push((0, 0));
        }
        answer
    }
}

struct Shape {
    /// Where each group begins.
    starts: Starts,
    /// The axis, and the elements from one of its items to the next.
    n: usize,
    inner: usize,
}

fn launch<E: Stored>(level: Level, shape: Shape) -> Answer {
    Answer::Yes(prepared("softmax", move |args| {
        if shape.n == 0 || shape.inner == 0 {
            return Ok(());
        }
        // SAFETY: the operand and the result are of `E`.
        let pointers = Shared(unsafe { (args.read::<E>(0), args.write::<E>(0)) });
        // How columns are split changes no result.
        let split = shape.inner.div_ceil(args.threads.count()).next_multiple_of(64);
        let width = split.min(COLUMNS).min(shape.inner);
        let blocks = shape.inner.div_ceil(width);
        let grain = (GRAIN / (shape.n * width)).max(1);
        args.threads.for_chunks(shape.starts.count() * blocks, grain, |range| {
            let (from, to) = pointers.get();
            level.dispatch(Groups { shape: &shape, from, to, range, width });
        });
        Ok(())
    }))
}

struct Groups<'a, E> {
    shape: &'a Shape,
    from: *const E,
    to: *mut E,
    range: std::ops::Range<usize>,
    /// Columns of a unit.
    width: usize,
}

impl<E: Stored> Work for Groups<'_, E> {
    type Out = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let shape = self.shape;
        let blocks = shape.inner.div_ceil(self.width);
        for unit in self.range {
            let (group, column) = (unit / blocks, unit % blocks * self.width);
            // SAFETY: groups and columns lie inside the operand and the
            // result, and each is one unit's. The result may lie in the
            // operand's place: elements are read before they are written.
            unsafe {
                let from = self.from.offset(shape.starts.at(group) + column as isize);
                let to = self.to.add(group * shape.n * shape.inner + column);
                if shape.inner == 1 {
                    row::<E, I>(from, to, shape.n);
                } else {
                    columns::<E, I>(from, to, shape, self.width.min(shape.inner - column));
                }
            }
        }
    }
}

/// # Safety
/// `n` elements can be read and written.
#[inline(always)]
unsafe fn row<E: Stored, I: Isa>(from: *const E, to: *mut E, n: usize) {
    // SAFETY: as the caller promises.
    let x = |i: usize| unsafe { *from.add(i) }.widen();
    let top = fold::<Max<E::Wide>>(n, x);
    let mut kept = [E::Wide::ZERO; KEPT];
    // Sums join block by block, as in one fold over all.
    let mut sum = E::Wide::ZERO;
    for first in (0..n).step_by(KEPT) {
        let kept = &mut kept[..KEPT.min(n - first)];
        // SAFETY: as the caller promises.
        unsafe { exponentials::<E, I>(from.add(first), top, kept) }
        sum = E::Wide::add(sum, fold::<Sum<E::Wide>>(kept.len(), |i| kept[i]));
    }
    for first in (0..n).step_by(KEPT) {
        let kept = &mut kept[..KEPT.min(n - first)];
        if n > KEPT {
            // SAFETY: as the caller promises.
            unsafe { exponentials::<E, I>(from.add(first), top, kept) }
        }
        for (i, &e) in kept.iter().enumerate() {
            // SAFETY: as the caller promises.
            unsafe { *to.add(first + i) = E::narrow(E::Wide::div(e, sum)) }
        }
    }
}

/// e to the x less `top`, of as many elements as there is room for.
///
/// # Safety
/// They can be read.
#[inline(always)]
unsafe fn exponentials<E: Stored, I: Isa>(from: *const E, top: E::Wide, out: &mut [E::Wide]) {
    for (i, e) in out.iter_mut().enumerate() {
        // SAFETY: as the caller promises.
        let x = unsafe { *from.add(i) }.widen();
        *e = E::Wide::exp::<I>(E::Wide::sub(x, top));
    }
}

/// # Safety
/// `columns` columns can be read and written.
#[inline(always)]
unsafe fn columns<E: Stored, I: Isa>(from: *const E, to: *mut E, shape: &Shape, columns: usize) {
    let mut top = [Max::<E::Wide>::START; COLUMNS];
    let mut sum = [E::Wide::ZERO; COLUMNS];
    let mut block = [E::Wide::ZERO; COLUMNS];
    let (top, sum, block) = (&mut top[..columns], &mut sum[..columns], &mut block[..columns]);
    // SAFETY: as the caller promises.
    let row = |i: usize| unsafe { std::slice::from_raw_parts(from.add(i * shape.inner), columns) };
    for i in 0..shape.n {
        for (top, x) in top.iter_mut().zip(row(i)) {
            *top = Max::<E::Wide>::join(*top, x.widen());
        }
    }
    for i in 0..shape.n {
        for ((e, x), &top) in block.iter_mut().zip(row(i)).zip(top.iter()) {
            *e = E::Wide::exp::<I>(E::Wide::sub(x.widen(), top));
        }
        for (sum, &e) in sum.iter_mut().zip(block.iter()) {
            *sum = E::Wide::add(*sum, e);
        }
    }
    for i in 0..shape.n {
        for ((e, x), (&top, &sum)) in block.iter_mut().zip(row(i)).zip(top.iter().zip(sum.iter())) {
            *e = E::Wide::div(E::Wide::exp::<I>(E::Wide::sub(x.widen(), top)), sum);
        }
        for (j, &e) in block.iter().enumerate() {
            // SAFETY: as the caller promises.
            unsafe { *to.add(i * shape.inner + j) = E::narrow(e) }
        }
    }
}
