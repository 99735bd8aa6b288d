//! Scans: running sums, products and extremes along an axis. Several lines grow
//! side by side, and each in the order of its elements, so that results are the
//! reference's bits: floats combine in f64 (extremes, which do not round, in f32
//! where that holds them) and are rounded once.

use half::{bf16, f16};
use num_complex::Complex64;
use oneir_ir::graph::Sym;
use oneir_ir::primitive::ScanOp;
use oneir_ir::{BinaryOp, Primitive};
use oneir_runtime::{Answer, KernelRow, Request};
use oneir_tensor::{Complex32, DType, Layout, Values, bf16_of, f16_of};

use super::lines::Lines;
use crate::launch::{Args, Shared, prepared};

pub(crate) fn rows() -> Vec<Box<dyn KernelRow>> {
    vec![Box::new(Scan)]
}

/// Elements that are worth a thread.
const GRAIN: usize = 32 << 10;
/// Lines that lie side by side and grow at once.
const COLUMNS: usize = 64;
/// Lines that lie anywhere and grow at once: enough to hide how long one
/// addition takes.
const TOGETHER: usize = 8;

struct Scan;

impl KernelRow for Scan {
    fn name(&self) -> &'static str {
        "scan"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &["scan"]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let (Sym::Prim(Primitive::Scan { op, axis, reverse, inclusive }), [x], [_]) =
            (request.sym, request.operands, request.results)
        else {
            return Answer::No;
        };
        if !request.results_own() || !x.dtype.computes() {
            return Answer::No;
        }
        let walk = Walk::new(&x.layout, *axis, *reverse, *inclusive);
        let mut answer = choose(*op, x.dtype, walk);
        if let Answer::Yes(prepared) = &mut answer {
            let counts = (*op, x.dtype) == (ScanOp::Sum, DType::Bool);
            if x.layout.offset == 0 && x.layout.is_row_contiguous() && !counts {
                prepared.in_place.push((0, 0));
            }
        }
        answer
    }
}

/// How the elements are walked over.
struct Walk {
    lines: Lines,
    /// Whether the operand's lines lie side by side as the result's do.
    columns: bool,
    reverse: bool,
    inclusive: bool,
}

impl Walk {
    fn new(layout: &Layout, axis: usize, reverse: bool, inclusive: bool) -> Walk {
        let lines = Lines::new(layout, axis);
        let columns = lines.inner >= TOGETHER && lines.side_by_side;
        Walk { lines, columns, reverse, inclusive }
    }
}

/// What a scan starts with, and how it reads, combines and gives elements.
struct Running<V, R, J, G> {
    start: V,
    read: R,
    join: J,
    give: G,
}

fn launch<I, V, O>(
    walk: Walk,
    start: V,
    read: impl Fn(I) -> V + Send + Sync + 'static,
    join: impl Fn(V, V) -> V + Send + Sync + 'static,
    give: impl Fn(V) -> O + Send + Sync + 'static,
) -> Answer
where
    I: Copy + 'static,
    V: Copy + Send + Sync + 'static,
    O: Copy + 'static,
{
    let running = Running { start, read, join, give };
    Answer::Yes(prepared("scan", move |args| {
        // SAFETY: the operand's layout stays inside its buffer, and dtypes are
        // what the functions were chosen for.
        unsafe { run(&walk, &running, args) }
        Ok(())
    }))
}

/// # Safety
/// The operand and the result are what the walk says, of types `I` and `O`.
unsafe fn run<I, V, O, R, J, G>(walk: &Walk, running: &Running<V, R, J, G>, args: &Args<'_>)
where
    I: Copy,
    V: Copy + Sync,
    O: Copy,
    R: Fn(I) -> V + Sync,
    J: Fn(V, V) -> V + Sync,
    G: Fn(V) -> O + Sync,
{
    let lines = &walk.lines;
    // SAFETY: as the caller promises.
    let pointers = Shared(unsafe { (args.read::<I>(0), args.write::<O>(0)) });
    let (n, inner) = (lines.len, lines.inner);
    if walk.columns {
        let blocks = inner.div_ceil(COLUMNS);
        let grain = (GRAIN / (n * COLUMNS.min(inner)).max(1)).max(1);
        args.threads.for_chunks(lines.count() / inner * blocks, grain, |range| {
            let (from, to) = pointers.get();
            for unit in range {
                let first = unit / blocks * inner + unit % blocks * COLUMNS;
                let width = COLUMNS.min(inner - unit % blocks * COLUMNS);
                // SAFETY: the lines lie inside the operand and the result, and
                // each has a place of its own.
                unsafe {
                    let (from, to) = (from.offset(lines.start(first)), to.add(lines.place(first)));
                    let at = |k: usize, j: usize| from.offset(k as isize * lines.step).add(j);
                    let put = |k: usize, j: usize| to.add(k * inner + j);
                    if width == COLUMNS {
                        grow::<COLUMNS, _, _, _, _, _, _>(walk, running, COLUMNS, at, put);
                    } else {
                        grow::<COLUMNS, _, _, _, _, _, _>(walk, running, width, at, put);
                    }
                }
            }
        });
        return;
    }
    let grain = (GRAIN / n.max(1)).max(1).next_multiple_of(TOGETHER);
    args.threads.for_chunks(lines.count(), grain, |range| {
        let (from, to) = pointers.get();
        for first in range.clone().step_by(TOGETHER) {
            let width = TOGETHER.min(range.end - first);
            // Of fewer lines the last stands for those that are missing, which
            // no one looks at.
            let line = |j: usize| first + j.min(width - 1);
            // SAFETY: as above.
            unsafe {
                let starts: [_; TOGETHER] = std::array::from_fn(|j| from.offset(lines.start(line(j))));
                let places: [_; TOGETHER] = std::array::from_fn(|j| to.add(lines.place(line(j))));
                let at = |k: usize, j: usize| starts[j].offset(k as isize * lines.step);
                let put = |k: usize, j: usize| places[j].add(k * inner);
                if width == TOGETHER {
                    grow::<TOGETHER, _, _, _, _, _, _>(walk, running, TOGETHER, at, put);
                } else {
                    grow::<TOGETHER, _, _, _, _, _, _>(walk, running, width, at, put);
                }
            }
        }
    });
}

/// Scans `width` lines, at most `N`, side by side; `at` and `put` say where
/// element `k` of line `j` is read and written.
///
/// # Safety
/// These places can be read and written; an element is read before its place is
/// written, and no later one's is.
#[inline(always)]
unsafe fn grow<const N: usize, I, V, O, R, J, G>(
    walk: &Walk,
    running: &Running<V, R, J, G>,
    width: usize,
    at: impl Fn(usize, usize) -> *const I,
    put: impl Fn(usize, usize) -> *mut O,
) where
    I: Copy,
    V: Copy,
    O: Copy,
    R: Fn(I) -> V,
    J: Fn(V, V) -> V,
    G: Fn(V) -> O,
{
    let n = walk.lines.len;
    let Running { start, read, join, give } = running;
    let place = |k: usize| if walk.reverse { n - 1 - k } else { k };
    let mut so_far = [*start; N];
    if n == 0 {
        return;
    }
    // The first element alone keeps the sign of its zero.
    for (j, so_far) in so_far[..width].iter_mut().enumerate() {
        // SAFETY: as the caller promises.
        unsafe {
            *so_far = read(*at(place(0), j));
            *put(place(0), j) = give(if walk.inclusive { *so_far } else { *start });
        }
    }
    for k in 1..n {
        let k = place(k);
        for (j, so_far) in so_far[..width].iter_mut().enumerate() {
            // SAFETY: as the caller promises.
            unsafe {
                let next = join(*so_far, read(*at(k, j)));
                *put(k, j) = give(if walk.inclusive { next } else { *so_far });
                *so_far = next;
            }
        }
    }
}

fn choose(op: ScanOp, dtype: DType, walk: Walk) -> Answer {
    macro_rules! float {
        ($t:ty, $extreme:ty, |$x:ident| $widen:expr, |$y:ident| $narrow:expr) => {{
            let read = |$x: $t| -> f64 { $widen };
            let give = |$y: f64| -> $t { $narrow };
            // No extreme needs rounding.
            let bare = |x: $t| <$extreme>::from(x);
            let back = |x: $extreme| -> $t {
                let $y = f64::from(x);
                $narrow
            };
            match op {
                ScanOp::Sum => launch(walk, 0.0, read, |a, b| a + b, give),
                ScanOp::Prod => launch(walk, 1.0, read, |a, b| a * b, give),
                ScanOp::Max => {
                    let larger = |a: $extreme, b: $extreme| if a.is_nan() || a > b { a } else { b };
                    launch(walk, <$extreme>::NEG_INFINITY, bare, larger, back)
                }
                ScanOp::Min => {
                    let smaller = |a: $extreme, b: $extreme| if a.is_nan() || a < b { a } else { b };
                    launch(walk, <$extreme>::INFINITY, bare, smaller, back)
                }
                ScanOp::LogAddExp => match BinaryOp::LogAddExp.on_floats() {
                    Some(join) => launch(walk, f64::NEG_INFINITY, read, join, give),
                    None => Answer::No,
                },
                _ => Answer::No,
            }
        }};
    }
    macro_rules! int {
        ($t:ty, $bits:ty) => {
            match op {
                // Wrapping, so signs make no difference.
                ScanOp::Sum => launch(walk, 0, |x: $bits| x, <$bits>::wrapping_add, |x| x),
                ScanOp::Prod => launch(walk, 1, |x: $bits| x, <$bits>::wrapping_mul, |x| x),
                ScanOp::Max => launch(walk, <$t>::MIN, |x: $t| x, |a: $t, b| a.max(b), |x| x),
                ScanOp::Min => launch(walk, <$t>::MAX, |x: $t| x, |a: $t, b| a.min(b), |x| x),
                _ => Answer::No,
            }
        };
    }
    match dtype {
        DType::F32 => float!(f32, f32, |x| f64::from(x), |y| y as f32),
        DType::F64 => float!(f64, f64, |x| x, |y| y),
        DType::F16 => float!(f16, f32, |x| x.to_f64(), |y| f16_of(y)),
        DType::BF16 => float!(bf16, f32, |x| x.to_f64(), |y| bf16_of(y)),
        DType::I8 => int!(i8, u8),
        DType::I16 => int!(i16, u16),
        DType::I32 => int!(i32, u32),
        DType::I64 => int!(i64, u64),
        DType::U8 => int!(u8, u8),
        DType::U16 => int!(u16, u16),
        DType::U32 => int!(u32, u32),
        DType::U64 => int!(u64, u64),
        DType::Bool => match op {
            ScanOp::Sum => launch(walk, 0, |x: u8| i32::from(x), i32::wrapping_add, |x| x),
            ScanOp::Prod | ScanOp::Min => launch(walk, 1, |x: u8| x, |a, b| a & b, |x| x),
            ScanOp::Max => launch(walk, 0, |x: u8| x, |a, b| a | b, |x| x),
            _ => Answer::No,
        },
        DType::Complex64 => {
            let read = |x: Complex32| Complex64::new(x.re.into(), x.im.into());
            let give = |y: Complex64| Complex32::new(y.re as f32, y.im as f32);
            match (op.identity(dtype), op.combine().on_complex()) {
                (Values::Complex(start), Some(join)) => launch(walk, start[0], read, join, give),
                _ => Answer::No,
            }
        }
        _ => Answer::No,
    }
}
