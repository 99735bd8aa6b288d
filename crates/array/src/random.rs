//! Random arrays, by MLX's names: every function is a pure function of a key.
//!
//! The same key gives the same numbers as MLX does on a CPU. Bits, uniform
//! numbers, integers, truth values and permutations are equal bit for bit; what
//! goes through a logarithm or an inverse error function differs by as much as
//! these functions are rounded differently, a few units in the last place.
//!
//! Without a key, the next one of the thread's own sequence is taken, which
//! [`seed`] begins anew. The key that the sequence has come to is the one thing
//! that functions read and change beside what they are given: [`state`] gives it,
//! [`set_state`] puts it back.
//!
//! ```
//! # use oneir_cpu as _;
//! use oneir_array::{DType, random};
//! let key = random::key(7);
//! let x = random::uniform(0, 1, &[100], DType::F32, Some(&key));
//! assert_eq!(x.to_vec::<f32>()?, random::uniform(0, 1, &[100], DType::F32, Some(&key)).to_vec::<f32>()?);
//! random::seed(3);
//! let a = random::normal(&[2, 2], DType::F32, 0, 1, None).to_vec::<f32>()?;
//! random::seed(3);
//! assert_eq!(a, random::normal(&[2, 2], DType::F32, 0, 1, None).to_vec::<f32>()?);
//! # Ok::<(), oneir_array::ArrayError>(())
//! ```

use oneir_ir::{Invalid, Primitive};
use oneir_runtime::Runtime;
use oneir_tensor::{DType, HostTensor, broadcast_shapes};

use crate::axes::axis_of;
use crate::operand::Side;
use crate::{Array, ArrayError, Number, Operand, Reason, ScanOp, linalg};

/// The largest f32 below 1.
const BELOW_ONE: f32 = 1.0 - f32::EPSILON / 2.0;

/// The key (u32, two words) that a seed stands for.
#[track_caller]
#[must_use]
pub fn key(seed: u64) -> Array {
    Array::from_slice(&[(seed >> 32) as u32, seed as u32], &[2])
}

/// Begins the sequence of keys anew that functions take when they are given
/// none: that of the calling thread, and of no other.
///
/// A thread that has neither called this nor [`set_state`] begins at a seed taken
/// from the clock, each thread at another.
pub fn seed(seed: u64) {
    if let Ok(key) = key(seed).value() {
        Runtime::global().set_random_key(key.clone());
    }
}

/// The key (`u32[2]`) that the calling thread's sequence has come to: from it the
/// next draw makes the key that it uses, and the state after it.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{DType, random};
/// let before = random::state();
/// let a = random::normal(&[3], DType::F32, 0, 1, None).to_vec::<f32>()?;
/// random::set_state(&before)?;
/// assert_eq!(random::normal(&[3], DType::F32, 0, 1, None).to_vec::<f32>()?, a);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[must_use]
pub fn state() -> Array {
    Array::from_value(Runtime::global().random_key())
}

/// Sets what [`state`] gives, in the calling thread. The state need not be known: what
/// is drawn from the argument of a traced function is a function of it.
///
/// # Errors
/// When the state is a failed array, or is not `u32[2]`; the state before stays.
#[track_caller]
pub fn set_state(state: &Array) -> Result<(), ArrayError> {
    let state = checked("set_state", "state", state);
    Runtime::global().set_random_key(state.value()?.clone());
    Ok(())
}

/// `num` keys made of one: u32 `[num, 2]`.
#[track_caller]
#[must_use]
pub fn split(key: &Array, num: usize) -> Array {
    drawn("split", &[num, 2], 4, Some(key))
}

/// Random bits as unsigned integers of `width` bytes: 1, 2 or 4 (u8, u16, u32).
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::random;
/// let words = random::bits(&[2], 4, Some(&random::key(0)));
/// assert_eq!(words.to_vec::<u32>()?, [928981903u32, 3453687069]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
#[must_use]
pub fn bits(shape: &[usize], width: u8, key: Option<&Array>) -> Array {
    drawn("bits", shape, width, key)
}

#[track_caller]
fn drawn(op: &'static str, shape: &[usize], width: u8, given: Option<&Array>) -> Array {
    let key = match given {
        Some(key) => checked(op, "key", key),
        None => next_key(),
    };
    Array::primitive(op, Primitive::RandomBits { shape: shape.to_vec(), width }, [&key])
}

/// The key, or a failed array where it is none.
#[track_caller]
fn checked(op: &'static str, what: &str, key: &Array) -> Array {
    match key.value() {
        Ok(value) if key.shape() != [2] || key.dtype() != DType::U32 => {
            let reason = format!("the {what} must be u32[2], found {}", value.spec());
            Array::failed(op, Reason::Parameters(reason))
        }
        _ => key.clone(),
    }
}

/// The next key of the thread's sequence: the state splits into the state after it,
/// and the key. A state that is known splits at once, so that a sequence leaves no
/// chain of values behind it.
#[track_caller]
fn next_key() -> Array {
    let state = Runtime::global().random_key();
    let [next, given] = match state.as_constant().and_then(halves) {
        Some(keys) => keys.map(|key| Array::from_slice(&key, &[2])),
        None => {
            let both = split(&Array::from_value(state), 2);
            [0, 1].map(|i| both.narrow(0, i, 1).squeeze(0))
        }
    };
    if let Ok(next) = next.value() {
        Runtime::global().set_random_key(next.clone());
    }
    given
}

/// The two keys that a key splits into.
fn halves(key: &HostTensor) -> Option<[[u32; 2]; 2]> {
    let split = Primitive::RandomBits { shape: vec![2, 2], width: 4 };
    let drawn = split.evaluate(std::slice::from_ref(key)).ok()?.first()?.to_vec::<u32>().ok()?;
    let &[a, b, c, d] = drawn.as_slice() else { return None };
    Some([[a, b], [c, d]])
}

/// Refuses a dtype that random floats are not drawn in.
fn float(op: &'static str, dtype: DType) -> Result<(), Reason> {
    if dtype.computes() && dtype.is_float() {
        return Ok(());
    }
    Err(Invalid::Undefined { op, dtype }.into())
}

/// Numbers of a dtype from 0 to below 1. Those of f32 and the halves are made
/// of 32 bits each, those of f64 of 53 out of 64.
#[track_caller]
fn unit(op: &'static str, shape: &[usize], dtype: DType, key: Option<&Array>) -> Array {
    if dtype == DType::F64 {
        let wide: Vec<usize> = shape.iter().copied().chain([2]).collect();
        let words = drawn(op, &wide, 4, key);
        let high = words.narrow(-1, 0, 1).squeeze(-1).right_shift(5).astype(dtype);
        let low = words.narrow(-1, 1, 1).squeeze(-1).right_shift(6).astype(dtype);
        return (high * f64::from(1 << 26) + low) * (1.0 / (1u64 << 53) as f64);
    }
    let below_one = match dtype {
        DType::F16 => 1.0 - f32::from(oneir_tensor::f16::EPSILON) / 2.0,
        DType::BF16 => 1.0 - f32::from(oneir_tensor::bf16::EPSILON) / 2.0,
        _ => BELOW_ONE,
    };
    let spread = drawn(op, shape, 4, key).astype(DType::F32) / u32::MAX as f32;
    spread.minimum(below_one).astype(dtype)
}

/// Numbers spread evenly from `low` to below `high`, which broadcast to
/// `shape`. Halves may round up to `high`. f64, which MLX does not draw, has 53
/// random bits.
///
/// # Errors
/// A failed array for a dtype that is no float, bounds that do not broadcast to
/// the shape, or a key that is not `u32[2]`.
#[track_caller]
#[must_use]
pub fn uniform(
    low: impl Operand,
    high: impl Operand,
    shape: &[usize],
    dtype: DType,
    key: Option<&Array>,
) -> Array {
    if let Err(reason) = float("uniform", dtype) {
        return Array::failed("uniform", reason);
    }
    between("uniform", low.side(), high.side(), shape, dtype, key).named("uniform")
}

#[track_caller]
fn between(
    op: &'static str,
    low: Side<'_>,
    high: Side<'_>,
    shape: &[usize],
    dtype: DType,
    key: Option<&Array>,
) -> Array {
    let low = low.of(op, dtype);
    let range = high.of(op, dtype) - &low;
    (range * unit(op, shape, dtype, key) + low).broadcast_to(shape)
}

/// Numbers (f32) spread evenly between -1 and 1, neither included.
#[track_caller]
fn signed(op: &'static str, shape: &[usize], key: Option<&Array>) -> Array {
    let (low, high) = (Number::from(-BELOW_ONE), Number::from(1f32));
    between(op, Side::Number(low), Side::Number(high), shape, DType::F32, key)
}

/// Numbers of the normal distribution with mean `loc` and standard deviation
/// `scale`, which broadcast to `shape`. Of complex64, both parts have half the
/// variance.
///
/// Samples are drawn as f32 and converted, as MLX does.
///
/// # Errors
/// A failed array for a dtype that is neither a float nor complex64, for `loc`
/// or `scale` that do not broadcast to the shape, or a bad key.
#[track_caller]
#[must_use]
pub fn normal(
    shape: &[usize],
    dtype: DType,
    loc: impl Operand,
    scale: impl Operand,
    key: Option<&Array>,
) -> Array {
    let (loc, scale) = (loc.side().of("normal", dtype), scale.side().of("normal", dtype));
    if dtype.is_complex() {
        let pairs: Vec<usize> = shape.iter().copied().chain([2]).collect();
        let parts = signed("normal", &pairs, key).erfinv() * std::f64::consts::SQRT_2;
        let samples = (parts * std::f64::consts::FRAC_1_SQRT_2).view(DType::Complex64).squeeze(-1);
        return (scale * samples + loc).broadcast_to(shape).named("normal");
    }
    if let Err(reason) = float("normal", dtype) {
        return Array::failed("normal", reason);
    }
    let scale = scale * std::f64::consts::SQRT_2;
    let samples = signed("normal", shape, key).erfinv().astype(dtype);
    (scale * samples + loc).broadcast_to(shape).named("normal")
}

/// Truth values that hold with probability `p`, in `shape` or, without one, in
/// the shape of `p`.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::random;
/// let sure = random::bernoulli(1.0, Some(&[5]), None);
/// assert_eq!(sure.to_vec::<bool>()?, [true; 5]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
///
/// # Errors
/// A failed array where `p` is an array that has no floats, or does not
/// broadcast to `shape`, or for a bad key.
#[track_caller]
#[must_use]
pub fn bernoulli(p: impl Operand, shape: Option<&[usize]>, key: Option<&Array>) -> Array {
    let p = match p.side() {
        Side::Array(p) => p.clone(),
        side => side.of("bernoulli", DType::F32),
    };
    if p.check().is_ok()
        && let Err(reason) = float("bernoulli", p.dtype())
    {
        return Array::failed("bernoulli", reason);
    }
    let own = p.shape();
    let shape = shape.unwrap_or(&own);
    let drawn = unit("bernoulli", shape, DType::F32, key);
    drawn.less(p).broadcast_to(shape).named("bernoulli")
}

/// Integers from `low` to below `high`, which broadcast to `shape`; `low` where
/// there are none.
///
/// They are drawn as f32: where the bounds or the distance between them exceed
/// 2^24, not every integer is reached.
///
/// # Errors
/// A failed array for a dtype that is no integer or bool, for bounds that do not
/// broadcast to the shape or are no integers, or for a bad key.
#[track_caller]
#[must_use]
pub fn randint(
    low: impl Operand,
    high: impl Operand,
    shape: &[usize],
    dtype: DType,
    key: Option<&Array>,
) -> Array {
    if !dtype.computes() || dtype.is_inexact() {
        return Array::failed("randint", Invalid::Undefined { op: "randint", dtype });
    }
    let wide = if dtype == DType::U64 { DType::U64 } else { DType::I64 };
    let drawn = between("randint", low.side(), high.side(), shape, DType::F32, key).floor().astype(wide);
    let low = low.side().of("randint", wide);
    let last = high.side().of("randint", wide) - 1;
    drawn.minimum(last).maximum(low).astype(dtype).named("randint")
}

/// Numbers of the standard Gumbel distribution, whose distribution function is
/// e^(-e^(-x)).
///
/// # Errors
/// A failed array for a dtype that is no float, or a bad key.
#[track_caller]
#[must_use]
pub fn gumbel(shape: &[usize], dtype: DType, key: Option<&Array>) -> Array {
    if let Err(reason) = float("gumbel", dtype) {
        return Array::failed("gumbel", reason);
    }
    -(-unit("gumbel", shape, dtype, key).log()).log()
}

/// Numbers of the Laplace distribution with mean `loc` and scale `scale`, which
/// broadcast to `shape`.
///
/// # Errors
/// A failed array for a dtype that is no float, for `loc` or `scale` that do
/// not broadcast to the shape, or a bad key.
#[track_caller]
#[must_use]
pub fn laplace(
    shape: &[usize],
    dtype: DType,
    loc: impl Operand,
    scale: impl Operand,
    key: Option<&Array>,
) -> Array {
    if let Err(reason) = float("laplace", dtype) {
        return Array::failed("laplace", reason);
    }
    let places = signed("laplace", shape, key);
    let samples = (places.sign() * (-places.abs()).log1p()).astype(dtype);
    let (loc, scale) = (loc.side().of("laplace", dtype), scale.side().of("laplace", dtype));
    (scale * samples + loc).broadcast_to(shape).named("laplace")
}

/// Numbers of the standard normal distribution cut off outside `lower` and
/// `upper`, in `shape` or, without one, in the shape to which both broadcast.
///
/// # Errors
/// A failed array for a dtype that is no float, for bounds that do not
/// broadcast to the shape, or a bad key.
#[track_caller]
#[must_use]
pub fn truncated_normal(
    lower: impl Operand,
    upper: impl Operand,
    shape: Option<&[usize]>,
    dtype: DType,
    key: Option<&Array>,
) -> Array {
    const OP: &str = "truncated_normal";
    if let Err(reason) = float(OP, dtype) {
        return Array::failed(OP, reason);
    }
    let (lower, upper) = (lower.side().of(OP, dtype), upper.side().of(OP, dtype));
    let own = match broadcast_shapes(&lower.shape(), &upper.shape()) {
        Ok(own) => own,
        Err(reason) => return Array::failed(OP, reason),
    };
    let shape = shape.unwrap_or(&own);
    let root = Number::from(std::f64::consts::SQRT_2);
    let (a, b) = ((&lower / root).erf(), (&upper / root).erf());
    let places = between(OP, Side::Array(&a), Side::Array(&b), shape, dtype, key);
    (places.erfinv() * root).minimum(upper).maximum(lower).named(OP)
}

/// How many samples of each distribution [`categorical`] draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Samples<'a> {
    /// One.
    One,
    /// A number of them, along a new last axis.
    Many(usize),
    /// As many as fill a shape, to which the distributions broadcast.
    Shape(&'a [usize]),
}

/// Places (u32) along an axis, drawn with probabilities proportional to e^logits.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, random::{self, Samples}};
/// let logits = Array::from_slice(&[0f32, f32::NEG_INFINITY], &[2]);
/// let drawn = random::categorical(&logits, -1, Samples::Many(3), None);
/// assert_eq!(drawn.to_vec::<u32>()?, [0, 0, 0]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
///
/// # Errors
/// A failed array where the axis is out of range or empty, the distributions do
/// not broadcast to the shape, or the key is bad.
#[track_caller]
#[must_use]
pub fn categorical(logits: &Array, axis: isize, samples: Samples<'_>, key: Option<&Array>) -> Array {
    const OP: &str = "categorical";
    if logits.check().is_err() {
        return logits.clone();
    }
    let all = logits.shape();
    let axis = match axis_of(axis, all.rank()) {
        Ok(axis) => axis,
        Err(reason) => return Array::failed(OP, reason),
    };
    let mut rest = all.to_vec();
    let classes = rest.remove(axis);
    let alone = rest.iter().all(|&n| n == 1);
    let wide;
    let (logits, shape) = match samples {
        Samples::One => (logits, rest),
        Samples::Many(count) => {
            wide = logits.expand_dims([all.rank() as isize]);
            rest.push(count);
            (&wide, rest)
        }
        Samples::Shape(shape) => match broadcast_shapes(shape, &rest) {
            Ok(whole) if whole[..] == *shape => (logits, shape.to_vec()),
            Ok(_) => {
                let reason = format!("distributions of shape {rest:?} do not broadcast to {shape:?}");
                return Array::failed(OP, Reason::Parameters(reason));
            }
            Err(reason) => return Array::failed(OP, reason),
        },
    };
    if alone && !shape.is_empty() && classes > 0 {
        // Of one distribution MLX draws where a number up to the whole sum falls
        // among the running sums.
        let chances = logits.astype(DType::F32).reshape(&[classes as isize]).softmax(0);
        let sums = chances.scan(ScanOp::Sum, 0, false, true);
        let numbers = unit(OP, &shape, DType::F32, key) * sums.narrow(0, classes - 1, 1);
        let past = numbers.expand_dims([shape.len() as isize]).greater_equal(sums);
        let found = past.astype(DType::U32).sum([shape.len() as isize], false);
        return found.minimum(classes - 1).named(OP);
    }
    let place = axis + 1 + shape.len() - logits.ndim();
    let mut drawn = shape;
    drawn.insert(place, classes);
    let noise = gumbel(&drawn, DType::F32, key);
    (noise + logits).argmax([place as isize], false).named(OP)
}

/// The items of an array along an axis in random order; of an integer n, the
/// numbers 0, 1, … below n (u32).
///
/// # Errors
/// A failed array where the axis is out of range, the number negative, or the
/// key bad.
#[track_caller]
#[must_use]
pub fn permutation(x: impl Operand, axis: isize, key: Option<&Array>) -> Array {
    const OP: &str = "permutation";
    match x.side() {
        Side::Number(Number::Int(n)) => match usize::try_from(n) {
            Ok(n) => drawn(OP, &[n], 4, key).argsort(0).named(OP),
            Err(_) => Array::failed(OP, Reason::Parameters(format!("{n} numbers have no order"))),
        },
        Side::Number(other) => {
            Array::failed(OP, Reason::Parameters(format!("an array or an integer is needed, found {other}")))
        }
        Side::Array(x) => match axis_of(axis, x.ndim()) {
            _ if x.check().is_err() => x.clone(),
            Ok(at) => x.take(drawn(OP, &[x.shape()[at]], 4, key).argsort(0), axis).named(OP),
            Err(reason) => Array::failed(OP, reason),
        },
    }
}

/// Numbers (f32) of the normal distribution with mean `[…, n]` and covariance
/// `[…, n, n]`, which is symmetric with no negative eigenvalue: `[shape…, n]`,
/// where `shape` is what the leading dimensions broadcast to, or, if it is
/// empty, is just that.
///
/// # Errors
/// A failed array where sizes do not fit, or the key is bad.
#[track_caller]
#[must_use]
pub fn multivariate_normal(mean: &Array, cov: &Array, shape: &[usize], key: Option<&Array>) -> Array {
    const OP: &str = "multivariate_normal";
    if let Some(failed) = [mean, cov].into_iter().find(|a| a.check().is_err()) {
        return failed.clone();
    }
    let (means, covs) = (mean.shape(), cov.shape());
    let (Some((&n, batch)), Some((cov_batch, sides))) = (means.split_last(), covs.split_last_chunk::<2>())
    else {
        let reason =
            format!("a mean [..., n] and a covariance [..., n, n] are needed, found {means:?} and {covs:?}");
        return Array::failed(OP, Reason::Parameters(reason));
    };
    if *sides != [n, n] {
        let reason = format!("a mean of {n} numbers needs a covariance [{n}, {n}], found {sides:?}");
        return Array::failed(OP, Reason::Parameters(reason));
    }
    let own = match broadcast_shapes(batch, cov_batch) {
        Ok(own) => own,
        Err(reason) => return Array::failed(OP, reason),
    };
    let whole = match shape {
        [] => own,
        shape => match broadcast_shapes(shape, &own) {
            Ok(whole) if whole[..] == *shape => whole,
            _ => {
                let reason = format!("distributions of shape {own:?} do not broadcast to {shape:?}");
                return Array::failed(OP, Reason::Parameters(reason));
            }
        },
    };
    // A root of the covariance, which need not be invertible.
    let (u, s, vt) = linalg::svd(&cov.astype(DType::F32));
    let root = (u * s.sqrt().expand_dims(-2)).matmul(&vt);
    let all: Vec<usize> = whole.iter().copied().chain([n]).collect();
    let samples = normal(&all, DType::F32, 0, 1, key);
    let turned = samples.expand_dims(-2).matmul(&root).squeeze(-2);
    (turned + mean.astype(DType::F32)).named(OP)
}
