//! Operations of models, each as one fused operation where there is a class for it.

use oneir_ir::fast::{Attention, FastOp, LayerNorm, RmsNorm, Softmax};
use oneir_ir::{Primitive, Real, Value, undone};
use oneir_tensor::{DType, promote};

pub use oneir_ir::fast::{Activation, Mask};

use crate::axes::{Axes, axes_of};
use crate::operand::Operand;
use crate::record::{Record, inexact};
use crate::{Array, IndexItem, Reason};

impl Array {
    /// e^x normalised to sum 1 along an axis, several or all, as one fused
    /// operation; integers and truth values convert to f32.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::array;
    /// let x = array![[0, 0], [0, 0]];
    /// assert_eq!(x.softmax(-1).to_vec::<f32>()?, [0.5; 4]);
    /// assert_eq!(x.softmax(..).to_vec::<f32>()?, [0.25; 4]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn softmax(&self, axes: impl Axes) -> Array {
        Array::build("softmax", [self], |[x], place| {
            let axes = axes_of(axes, x.spec().rank())?;
            let x = place.inexact(x)?;
            let shape = x.spec().shape.clone();
            let along = |x: &Value, axis| place.op(Primitive::Fast(FastOp::from(Softmax { axis })), &[x]);
            if let &[axis] = &axes[..] {
                return along(&x, axis);
            }
            // The axes side by side, as one.
            let kept: Vec<usize> = (0..shape.rank()).filter(|d| !axes.contains(d)).collect();
            let order: Vec<usize> = kept.iter().chain(&axes).copied().collect();
            let turned = place.transpose(&x, &order)?;
            let mut sizes: Vec<usize> = kept.iter().map(|&d| shape[d]).collect();
            sizes.push(axes.iter().map(|&d| shape[d]).product());
            let found = along(&place.reshape(&turned, &sizes)?, kept.len())?;
            place.transpose(&place.reshape(&found, &turned.spec().shape)?, &undone(&order))
        })
    }

    /// Centred and scaled to variance 1 over the last axis, times `weight`, plus
    /// `bias` (both of the last axis's size).
    #[track_caller]
    #[must_use]
    pub fn layer_norm(&self, weight: &Array, bias: &Array, eps: f64) -> Array {
        let op = FastOp::from(LayerNorm { eps: Real::new(eps) });
        Array::primitive("layer_norm", Primitive::Fast(op), [self, weight, bias])
    }

    /// Over the root of the mean square along the last axis, times `weight`.
    #[track_caller]
    #[must_use]
    pub fn rms_norm(&self, weight: &Array, eps: f64) -> Array {
        let op = FastOp::from(RmsNorm { eps: Real::new(eps) });
        Array::primitive("rms_norm", Primitive::Fast(op), [self, weight])
    }

    /// softmax(scale · q·kᵀ + mask) · v of queries `[B, H, S, D]`, keys
    /// `[B, G, T, D]` and values `[B, G, T, E]`, where G divides H, as one fused
    /// operation. The mask is none or causal: [`Mask::UpTo`] needs a length.
    #[track_caller]
    #[must_use]
    pub fn attention(&self, keys: &Array, values: &Array, scale: f64, mask: Mask) -> Array {
        let op = FastOp::from(Attention { scale: Real::new(scale), mask });
        Array::primitive("attention", Primitive::Fast(op), [self, keys, values])
    }
}

/// Divided by the root of the mean square along the last axis, times `weight` (of
/// that axis's size) where it is given.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{array, fast};
/// let y = fast::rms_norm(&array![3.0, 4.0], Some(&array![1.0, 2.0]), 0.0);
/// assert!((y.to_vec::<f32>()?[1] - 8.0 / 12.5f32.sqrt()).abs() < 1e-6);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
#[must_use]
pub fn rms_norm(x: &Array, weight: Option<&Array>, eps: f64) -> Array {
    let dtype = weight.map_or(x.dtype(), |w| promote(x.dtype(), w.dtype()));
    x.astype(dtype).rms_norm(&scales(x, weight, 1, dtype), eps)
}

/// Centred and divided by the standard deviation along the last axis, times
/// `weight`, plus `bias` (of that axis's size) where they are given.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{array, fast};
/// let y = fast::layer_norm(&array![1.0, 3.0], None, Some(&array![10.0, 10.0]), 0.0);
/// assert_eq!(y.to_vec::<f32>()?, [9.0, 11.0]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
#[must_use]
pub fn layer_norm(x: &Array, weight: Option<&Array>, bias: Option<&Array>, eps: f64) -> Array {
    let dtype = [weight, bias].into_iter().flatten().fold(x.dtype(), |d, w| promote(d, w.dtype()));
    x.astype(dtype).layer_norm(&scales(x, weight, 1, dtype), &scales(x, bias, 0, dtype), eps)
}

/// A given array in `dtype`, or `number` for each place of the last axis.
#[track_caller]
fn scales(x: &Array, given: Option<&Array>, number: i32, dtype: DType) -> Array {
    match given {
        Some(array) => array.astype(dtype),
        None => Array::full(&[x.shape().last().copied().unwrap_or(1)], number, dtype),
    }
}

/// Rotary positions: of `[B, …, T, D]`, the first `dims` of each of T positions
/// turned in pairs by angles that grow with the position
/// ([Su et al. 2021](https://arxiv.org/abs/2104.09864)).
///
/// Pairs are neighbours where `traditional`, else halves of `dims`. Angles are
/// `(offset + t) · scale · base^(-2i / dims)` for pair i, or divided by `freqs[i]`:
/// one of `base` and `freqs` is given. The offset is one number, or an array of one
/// for each of B.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{array, fast};
/// let x = array![[[1.0, 0.0], [1.0, 0.0]]];
/// let y = fast::rope(&x, 2, false, Some(10000.0), 1.0, 0, None).to_vec::<f32>()?;
/// assert!((y[2] - 1f32.cos()).abs() < 1e-6 && (y[3] - 1f32.sin()).abs() < 1e-6);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
#[must_use]
pub fn rope(
    x: &Array,
    dims: usize,
    traditional: bool,
    base: Option<f64>,
    scale: f64,
    offset: impl Operand,
    freqs: Option<&Array>,
) -> Array {
    let fail = |text: String| Array::failed("rope", Reason::Parameters(text));
    if x.check().is_err() {
        return x.clone();
    }
    let (shape, rank) = (x.shape(), x.ndim());
    if rank < 3 || dims == 0 || !dims.is_multiple_of(2) || dims > shape[rank - 1] {
        return fail(format!(
            "an even number of dimensions of [B, …, T, D] turns, found {dims} of {shape:?}"
        ));
    }
    let (half, steps, wide_dtype) = (dims / 2, shape[rank - 2], inexact(x.dtype()).accumulator());
    let slowness = match (base, freqs) {
        (Some(base), None) => (Array::arange(half, wide_dtype) * (base.ln() / half as f64)).exp(),
        (None, Some(freqs)) if freqs.check().is_err() || freqs.shape() == [half] => freqs.astype(wide_dtype),
        (None, Some(freqs)) => {
            return fail(format!("{half} frequencies are needed, found {:?}", freqs.shape()));
        }
        _ => return fail("one of base and freqs is needed".into()),
    };
    let offset = offset.side().array("rope");
    // Positions as [B or 1, 1, …, T, 1].
    let mut lead = vec![1; rank];
    if offset.ndim() == 1 {
        lead[0] = -1;
    }
    let offset = offset.astype(wide_dtype).reshape(&lead);
    let positions = Array::arange(steps, wide_dtype).reshape(&[-1, 1]) + offset;
    let angles = positions * scale / slowness;
    let (cos, sin) = (angles.cos(), angles.sin());
    let wide = x.astype(wide_dtype);
    let part = |from: isize, to: isize, step: isize| {
        let span = IndexItem::Span { start: Some(from), stop: Some(to), step };
        wide.index(vec![IndexItem::Ellipsis, span])
    };
    let all = dims as isize;
    let (a, b) = match traditional {
        true => (part(0, all, 2), part(1, all, 2)),
        false => (part(0, all / 2, 1), part(all / 2, all, 1)),
    };
    let turned = [&a * &cos - &b * &sin, &a * &sin + &b * &cos];
    let turned = match traditional {
        true => {
            let mut sizes: Vec<isize> = shape.iter().map(|&n| n as isize).collect();
            sizes[rank - 1] = all;
            Array::stack(&turned, -1).reshape(&sizes)
        }
        false => Array::concatenate(&turned, -1),
    };
    let rest = part(all, shape[rank - 1] as isize, 1);
    Array::concatenate(&[turned, rest], -1).astype(x.dtype())
}

/// Which keys a query looks at.
#[derive(Debug, Clone, Copy)]
pub enum Attended<'a> {
    /// All.
    All,
    /// Those up to its own place, where the last query stands at the last key.
    Causal,
    /// Those where a boolean array holds, or all with a float array added to their
    /// scores; it broadcasts to `[B, H, S, T]`.
    Mask(&'a Array),
}

/// softmax(scale · q·kᵀ + mask) · v of queries `[B, H, S, D]`, keys `[B, G, T, D]`
/// and values `[B, G, T, E]`, where G divides H: each of G serves H / G heads. Scores
/// of halves are f32. A sink, one score for each of H, takes its share and gives nothing. A
/// query that looks at no key gives zeros.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::fast::{Attended, scaled_dot_product_attention};
/// use oneir_array::{Array, DType};
/// let (q, v) = (Array::zeros(&[1, 1, 2, 4], DType::F32), Array::arange(2, DType::F32).reshape(&[1, 1, 2, 1]));
/// let y = scaled_dot_product_attention(&q, &q, &v, 0.5, Attended::Causal, None);
/// assert_eq!(y.to_vec::<f32>()?, [0.0, 0.5]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
#[must_use]
pub fn scaled_dot_product_attention(
    q: &Array,
    k: &Array,
    v: &Array,
    scale: f64,
    mask: Attended<'_>,
    sinks: Option<&Array>,
) -> Array {
    let dtype = promote(promote(q.dtype(), k.dtype()), v.dtype());
    let (q, k, v) = (q.astype(dtype), k.astype(dtype), v.astype(dtype));
    let plain = match mask {
        Attended::All => Some(Mask::None),
        Attended::Causal => Some(Mask::Causal),
        Attended::Mask(_) => None,
    };
    // Also refuses what does not fit together.
    let fused = q.attention(&k, &v, scale, plain.unwrap_or(Mask::None));
    if fused.check().is_err() || (plain.is_some() && sinks.is_none()) {
        return fused;
    }
    let ([b, h, s, d], [g, t]) = (sizes(&q), [k.shape()[1] as isize, k.shape()[2] as isize]);
    let wide = |x: &Array| x.astype(dtype.accumulator());
    let grouped = (wide(&q) * scale).reshape(&[b, g, h / g, s, d]);
    let keys = wide(&k).expand_dims(2).swapaxes(-1, -2);
    let mut scores = grouped.matmul(&keys).reshape(&[b, h, s, t]);
    let causal = Array::arange(s as usize, DType::I32).reshape(&[-1, 1]) + (t - s);
    let seen = match mask {
        Attended::All => None,
        Attended::Causal => Some(causal.greater_equal(Array::arange(t as usize, DType::I32))),
        Attended::Mask(mask) if mask.dtype() == DType::Bool => Some(mask.clone()),
        Attended::Mask(mask) => {
            scores += wide(mask);
            None
        }
    };
    if let Some(seen) = seen {
        scores = seen.where_(&scores, f64::NEG_INFINITY);
    }
    if let Some(sinks) = sinks {
        let column =
            wide(sinks).reshape(&[1, h, 1, 1]).broadcast_to(&[b as usize, h as usize, s as usize, 1]);
        scores = Array::concatenate(&[scores, column], -1);
    }
    let top = scores.max(-1, true);
    let weights = (scores - top.equal(f64::NEG_INFINITY).where_(0.0, &top)).exp();
    let sum = weights.sum(-1, true);
    let weights = weights / sum.equal(0).where_(1.0, &sum);
    let weights = weights.narrow(-1, 0, t as usize).reshape(&[b, g, h / g, s, t]);
    let out = weights.matmul(&wide(&v).expand_dims(2));
    out.reshape(&[b, h, s, v.shape()[3] as isize]).astype(dtype)
}

fn sizes(x: &Array) -> [isize; 4] {
    let shape = x.shape();
    std::array::from_fn(|d| shape[d] as isize)
}

/// For each place of `targets`, integers of the shape of `logits` without its last
/// axis: the logarithm of the sum of e to the logits, minus the target's logit; of
/// halves as f32.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{array, fast};
/// let loss = fast::cross_entropy(&array![[0.0, 0.0]], &array![1]).to_vec::<f32>()?;
/// assert!((loss[0] - 2f32.ln()).abs() < 1e-6);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
#[must_use]
pub fn cross_entropy(logits: &Array, targets: &Array) -> Array {
    let wide = logits.astype(inexact(logits.dtype()).accumulator());
    let chosen = wide.take_along_axis(&targets.expand_dims(-1), -1);
    wide.logsumexp(-1, false) - chosen.squeeze(-1)
}

/// The gated delta rule ([Yang et al. 2024](https://arxiv.org/abs/2412.06464)), step
/// by step: queries and keys `[B, T, G, D]`, values `[B, T, H, E]` where G divides H,
/// decays `gamma` and rates `beta` `[B, T, H]`. A memory `[B, H, E, D]`, f32 zeros
/// unless one is given, is multiplied by gamma, moves by beta towards giving the value
/// for the key, and is asked with the query. Steps where a mask `[B, T]` does not hold
/// leave it as it was. Gives what is answered, `[B, T, H, E]`, and the last memory.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, DType, fast};
/// let ones = |shape: &[usize]| Array::ones(shape, DType::F32);
/// let (x, rate) = (ones(&[1, 2, 1, 1]), ones(&[1, 2, 1]));
/// let (y, memory) = fast::gated_delta_update(&x, &x, &(3 * &x), &rate, &(0.5 * &rate), None, None);
/// assert_eq!(y.to_vec::<f32>()?, [1.5, 2.25]);
/// assert_eq!(memory.item::<f32>()?, 2.25);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
#[must_use]
pub fn gated_delta_update(
    q: &Array,
    k: &Array,
    v: &Array,
    gamma: &Array,
    beta: &Array,
    state: Option<&Array>,
    mask: Option<&Array>,
) -> (Array, Array) {
    let fits = q.ndim() == 4 && v.ndim() == 4 && k.shape() == q.shape() && q.shape()[..2] == v.shape()[..2];
    let fits = fits && q.shape()[2] > 0 && v.shape()[2].is_multiple_of(q.shape()[2]);
    if let Some(failed) = [q, k, v, gamma, beta].into_iter().find(|x| x.check().is_err()) {
        return (failed.clone(), failed.clone());
    }
    if !fits || [gamma, beta].iter().any(|x| x.shape()[..] != v.shape()[..3]) {
        let shapes: Vec<String> = [q, k, v, gamma, beta].iter().map(|x| format!("{:?}", x.shape())).collect();
        let reason = format!(
            "[B, T, G, D] twice, [B, T, H, E] and [B, T, H] twice are needed, found {}",
            shapes.join(", ")
        );
        let failed = Array::failed("gated_delta_update", Reason::Parameters(reason));
        return (failed.clone(), failed);
    }
    let (b, steps, heads, e, d) = (v.shape()[0], v.shape()[1], v.shape()[2], v.shape()[3], q.shape()[3]);
    let wide = |x: &Array| x.astype(DType::F32);
    let spread = |x: &Array| wide(x).repeat(heads / q.shape()[2], 2);
    let (queries, keys, values) = (spread(q), spread(k), wide(v));
    let (gamma, beta) = (wide(gamma), wide(beta));
    let mut memory = match state {
        Some(state) => wide(state),
        None => Array::zeros(&[b, heads, e, d], DType::F32),
    };
    let mut answers = Vec::with_capacity(steps);
    for t in 0..steps {
        let at = |x: &Array| x.index((.., t));
        let key = at(&keys).expand_dims(2);
        let kept = &memory * at(&gamma).reshape(&[b as isize, heads as isize, 1, 1]);
        let known = (&kept * &key).sum(-1, false);
        let change = (at(&values) - known) * at(&beta).expand_dims(-1);
        let next = kept + change.expand_dims(-1) * key;
        answers.push((&next * at(&queries).expand_dims(2)).sum(-1, false).astype(v.dtype()));
        memory = match mask {
            Some(mask) => at(mask).reshape(&[b as isize, 1, 1, 1]).where_(&next, &memory),
            None => next,
        };
    }
    let answers = match steps {
        0 => Array::zeros(&v.shape(), v.dtype()),
        _ => Array::stack(&answers, 1),
    };
    (answers, memory)
}
