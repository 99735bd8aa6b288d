//! Random programs of arrays: chains of operations that fit each other.

use oneir_array::{Array, DType, PadMode, Shape};

use crate::harness::Random;

/// Arrays of more elements than this are not made.
const MOST: usize = 48;

type Apply = Box<dyn Fn(&[&Array]) -> Array + Send + Sync>;

/// One operation on earlier results.
struct Step {
    text: String,
    operands: Vec<usize>,
    apply: Apply,
}

/// Inputs, and operations on them one after the other.
pub(crate) struct Program {
    pub(crate) inputs: Vec<Vec<usize>>,
    steps: Vec<Step>,
    /// What nothing reads, other than inputs.
    results: Vec<usize>,
}

impl std::fmt::Display for Program {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "inputs {:?}", self.inputs)?;
        for (k, step) in self.steps.iter().enumerate() {
            write!(f, "\n  %{} = {} of {:?}", self.inputs.len() + k, step.text, step.operands)?;
        }
        write!(f, "\n  results {:?}", self.results)
    }
}

impl Program {
    /// The program of a seed.
    pub(crate) fn new(random: &mut Random) -> Program {
        let size = |random: &mut Random| 1 + random.below(4);
        let inputs: Vec<Vec<usize>> =
            (0..1 + random.below(3)).map(|_| (0..random.below(4)).map(|_| size(random)).collect()).collect();
        let mut program = Program { inputs, steps: Vec::new(), results: Vec::new() };
        // Shapes are known without computing anything.
        let mut values: Vec<Array> =
            program.inputs.iter().map(|shape| Array::zeros(shape, DType::F64)).collect();
        let wanted = 3 + random.below(6);
        while program.steps.len() < wanted {
            let Some(step) = propose(random, &values) else { continue };
            let operands: Vec<&Array> = step.operands.iter().map(|&k| &values[k]).collect();
            let value = (step.apply)(&operands);
            assert!(value.check().is_ok(), "{}: {:?}", step.text, value.check());
            if value.size() <= MOST && value.size() > 0 && value.ndim() <= 4 {
                values.push(value);
                program.steps.push(step);
            }
        }
        let read: Vec<usize> = program.steps.iter().flat_map(|s| s.operands.clone()).collect();
        program.results = (program.inputs.len()..values.len()).filter(|k| !read.contains(k)).collect();
        program
    }

    /// The results on these inputs.
    pub(crate) fn run(&self, inputs: &[Array]) -> Vec<Array> {
        let mut values = inputs.to_vec();
        for step in &self.steps {
            let operands: Vec<&Array> = step.operands.iter().map(|&k| &values[k]).collect();
            let value = (step.apply)(&operands);
            values.push(value);
        }
        self.results.iter().map(|&k| values[k].clone()).collect()
    }
}

macro_rules! named {
    ($($text:literal: $f:expr),* $(,)?) => { &[$(($text, $f)),*] };
}

type Unary = fn(&Array) -> Array;
type Binary = fn(&Array, &Array) -> Array;
type Along = fn(&Array, isize) -> Array;
type Over = fn(&Array, &[isize], bool) -> Array;

/// Element by element, inside each function's domain.
const UNARY: &[(&str, Unary)] = named! {
    "sin": |x| x.sin(),
    "cos": |x| x.cos(),
    "tanh": |x| x.tanh(),
    "sigmoid": |x| x.sigmoid(),
    "exp of a half": |x| (x * 0.5).exp(),
    "expm1 of tanh": |x| x.tanh().expm1(),
    "square": |x| x.square(),
    "negative": |x| -x,
    "log of 1 + square": |x| x.square().log1p(),
    "root of 0.5 + square": |x| (x.square() + 0.5).sqrt(),
    "rsqrt of 0.5 + square": |x| (x.square() + 0.5).rsqrt(),
    "reciprocal of 1 + square": |x| (1 + x.square()).reciprocal(),
    "erf": |x| x.erf(),
    "arctan": |x| x.arctan(),
    "arcsinh": |x| x.arcsinh(),
    "abs": |x| x.abs(),
    "floor beside": |x| x - x.floor() * 0.5,
    "relu": |x| x.maximum(0),
    "clip": |x| x.clip(-0.7, 0.8),
    "power 3": |x| x.power(3),
    "lgamma of 1.5 + sigmoid": |x| (x.sigmoid() + 1.5).lgamma(),
};

/// Of two that broadcast.
const BINARY: &[(&str, Binary)] = named! {
    "add": |a, b| a + b,
    "subtract": |a, b| a - b,
    "multiply": |a, b| a * b,
    "divide by 1 + square": |a, b| a / (b.square() + 1),
    "maximum": |a, b| a.maximum(b),
    "minimum": |a, b| a.minimum(b),
    "logaddexp": |a, b| a.logaddexp(b),
    "arctan2": |a, b| a.arctan2(b.square() + 0.5),
    "power": |a, b| (a.square() + 0.5).power(b.tanh()),
    "where": |a, b| a.greater(b).where_(a.sin(), b),
    "remainder": |a, b| a.remainder(b.square() + 1),
    "outer sum": |a, b| a.flatten(0, -1).expand_dims(1) + b.flatten(0, -1),
};

/// Along one axis, keeping the shape.
const ALONG: &[(&str, Along)] = named! {
    "cumsum": |x, axis| x.cumsum(axis, false, true),
    "cumsum from the end, exclusive": |x, axis| x.cumsum(axis, true, false),
    "cumprod": |x, axis| x.cumprod(axis, false, true),
    "cummax": |x, axis| x.cummax(axis, true, true),
    "logcumsumexp": |x, axis| x.logcumsumexp(axis, false, true),
    "softmax": |x, axis| x.softmax(axis),
    "sort": |x, axis| x.sort(axis),
    "flip": |x, axis| x.flip(axis),
    "roll": |x, axis| x.roll(1, axis),
    "in order of itself": |x, axis| x.sin().take_along_axis(&x.argsort(axis), axis),
    "scattered by order": |x, axis| x.put_along_axis(&x.argsort(axis), x.square(), axis),
    "less its mean": |x, axis| x - x.mean(axis, true),
    "repeat": |x, axis| x.repeat(2, axis),
    "stacked with its sine": |x, axis| Array::stack(&[x.clone(), x.sin()], axis),
    "joined with its square": |x, axis| Array::concatenate(&[x.square(), x.clone()], axis),
    "last to the front": |x, axis| x.moveaxis(axis, 0),
    "every other": |x, axis| x.take(Array::arange(0..x.shape().len_of(axis), DType::I32) * 2, axis),
    "first, twice and last": |x, axis| x.take(Array::from_slice(&[0, 0, -1], &[3]), axis),
};

/// Over some axes.
const OVER: &[(&str, Over)] = named! {
    "sum": |x, axes, keep| x.sum(axes, keep),
    "mean": |x, axes, keep| x.mean(axes, keep),
    "prod": |x, axes, keep| x.prod(axes, keep),
    "max": |x, axes, keep| x.max(axes, keep),
    "min": |x, axes, keep| x.min(axes, keep),
    "logsumexp": |x, axes, keep| x.logsumexp(axes, keep),
    "var": |x, axes, keep| x.var(axes, keep, 0),
};

/// The size of an axis that may count from the end.
trait LenOf {
    fn len_of(&self, axis: isize) -> usize;
}

impl LenOf for Shape {
    fn len_of(&self, axis: isize) -> usize {
        self[axis.rem_euclid(self.rank() as isize) as usize]
    }
}

fn boxed(apply: impl Fn(&[&Array]) -> Array + Send + Sync + 'static) -> Apply {
    Box::new(apply)
}

/// A step that fits some of the values; none where it fits none.
fn propose(random: &mut Random, values: &[Array]) -> Option<Step> {
    // Later values more often, so that chains grow long.
    let newest = values.len() - 1 - random.below(values.len()).min(random.below(values.len()));
    let other = random.below(values.len());
    let (x, y) = (&values[newest], &values[other]);
    let (shape, rank) = (x.shape(), x.ndim());
    let kind = random.below(12);
    if rank == 0 && !matches!(kind, 0 | 1 | 2 | 11) {
        return None;
    }
    let axis = if rank == 0 { 0 } else { random.below(2 * rank) as isize - rank as isize };
    let (text, two, apply): (String, bool, Apply) = match kind {
        0 | 1 => {
            let &(text, f) = random.pick(UNARY);
            (text.into(), false, boxed(move |v| f(v[0])))
        }
        2 => {
            let &(text, f) = random.pick(BINARY);
            if oneir_array::ops::broadcast_shapes(&[&shape[..], &y.shape()[..]]).is_ok() {
                (text.into(), true, boxed(move |v| f(v[0], v[1])))
            } else {
                (format!("{text} of the mean"), true, boxed(move |v| f(v[0], &v[1].mean(.., false))))
            }
        }
        3 | 4 => {
            let &(text, f) = random.pick(ALONG);
            (format!("{text} along {axis}"), false, boxed(move |v| f(v[0], axis)))
        }
        5 => {
            let &(text, f) = random.pick(OVER);
            let axes: Vec<isize> = (0..rank as isize).filter(|_| random.below(2) == 0).collect();
            let keep = random.below(2) == 0;
            (format!("{text} over {axes:?}, {keep}"), false, boxed(move |v| f(v[0], &axes, keep)))
        }
        6 => {
            let mut axes: Vec<isize> = (0..rank as isize).collect();
            (0..rank).for_each(|i| axes.swap(i, random.below(rank)));
            (format!("transpose {axes:?}"), false, boxed(move |v| v[0].transpose(&axes[..])))
        }
        7 => {
            let divisors: Vec<usize> = (1..=x.size()).filter(|d| x.size() % d == 0).collect();
            let first = *random.pick(&divisors) as isize;
            let to = if random.below(3) == 0 { vec![-1] } else { vec![first, -1] };
            (format!("reshape {to:?}"), false, boxed(move |v| v[0].reshape(&to)))
        }
        8 => {
            let mut slice = |n: usize| {
                let (start, step) = (random.below(n), [1, -1, 2, -2][random.below(4)]);
                let room = if step > 0 { (n - 1 - start) / step as usize } else { start / -step as usize };
                (start, step, 1 + random.below(room + 1))
            };
            let parts: Vec<(usize, isize, usize)> = shape.iter().map(|&n| slice(n)).collect();
            let start: Vec<usize> = parts.iter().map(|p| p.0).collect();
            let step: Vec<isize> = parts.iter().map(|p| p.1).collect();
            let len: Vec<usize> = parts.iter().map(|p| p.2).collect();
            let text = format!("slice {start:?} {step:?} {len:?}");
            match random.below(2) {
                0 => (text, false, boxed(move |v| v[0].strided_slice(&start, &step, &len))),
                _ => (
                    format!("square in {text}"),
                    false,
                    boxed(move |v| {
                        let part = v[0].strided_slice(&start, &step, &len).square();
                        v[0].strided_slice_update(&part, &start, &step)
                    }),
                ),
            }
        }
        9 => {
            let &mode = random.pick(&[PadMode::Constant, PadMode::Edge, PadMode::Wrap, PadMode::Symmetric]);
            let width: Vec<(usize, usize)> = (0..rank).map(|_| (random.below(2), random.below(2))).collect();
            (format!("pad {width:?} {mode:?}"), false, boxed(move |v| v[0].pad(width.clone(), mode, 0.5)))
        }
        10 => {
            let places: Vec<i32> = (0..3).map(|_| random.below(shape.len_of(axis)) as i32).collect();
            let text = format!("scatter to {places:?} along {axis}");
            let add = move |v: &[&Array]| {
                let places = Array::from_slice(&places, &[3]);
                let front = v[0].moveaxis(axis, 0);
                let more = front.take(&places, 0).cos();
                front.at(places).add(more)
            };
            (text, false, boxed(add))
        }
        _ => {
            let (a, b) = (shape.last().copied(), y.shape());
            let inner = if b.rank() > 1 { b[b.rank() - 2] } else { b.last().copied().unwrap_or(0) };
            let batched = b.rank() > 2 && rank > 2 && b[..b.rank() - 2] != shape[..rank - 2];
            match a {
                Some(a) if a == inner && !batched => ("matmul".into(), true, boxed(|v| v[0].matmul(v[1]))),
                Some(_) if rank >= 2 => {
                    ("times its transpose".into(), false, boxed(|v| v[0].matmul(&v[0].matrix_transpose())))
                }
                Some(_) => ("outer with itself".into(), false, boxed(|v| v[0].outer(v[0]))),
                None => ("broadcast".into(), false, boxed(|v| v[0].broadcast_to(&[2, 3]) * 0.5)),
            }
        }
    };
    let operands = if two { vec![newest, other] } else { vec![newest] };
    Some(Step { text, operands, apply })
}
