//! Attention and the positions that it reads.

use oneir_array::{Array, DType, Mask};

use super::{Row, row};
use crate::OnnxError;
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] =
    &[row!(Attention [23, 24, 25] => attention), row!(RotaryEmbedding [23] => rotary_embedding)];

/// Input `i` as `[batch, head, step, element]`.
fn by_heads(call: &Call<'_>, i: usize, count: &str) -> Result<Array, OnnxError> {
    let x = call.array(i)?;
    match x.shape()[..] {
        [_, _, _, _] => Ok(x),
        [batch, steps, width] => {
            let heads = usize::try_from(call.attributes().int(count)?).ok().filter(|&n| n > 0);
            let heads = heads.filter(|n| width.is_multiple_of(*n)).ok_or_else(|| {
                call.fails(format!("{count} must divide the {width} elements of input {i}"))
            })?;
            let split = [batch, steps, heads, width / heads].map(|n| n as isize);
            Ok(x.reshape(&split).transpose([0, 2, 1, 3]))
        }
        _ => Err(call.fails(format!("input {i} must have 3 or 4 dimensions"))),
    }
}

/// Which keys a query sees, beside what the mask input says.
struct Sight {
    causal: bool,
    /// How many keys before and after its own position a query sees.
    left: Option<i64>,
    right: Option<i64>,
}

impl Sight {
    fn of(call: &Call<'_>) -> Result<Sight, OnnxError> {
        let causal = call.attributes().int_or("is_causal", 0)? != 0;
        let window = |name| match call.attributes().int_or(name, -1)? {
            -1 => Ok(None),
            _ if call.version < 25 => Err(call.fails(format!("{name} is of version 25"))),
            size if size >= 0 => Ok(Some(size.min(1 << 40))),
            size => Err(call.fails(format!("{name} must be -1 or a number of keys, found {size}"))),
        };
        Ok(Sight { causal, left: window("left_window_size")?, right: window("right_window_size")? })
    }

    /// Whether it depends on where a query stands.
    fn moves(&self) -> bool {
        self.causal || self.left.is_some() || self.right.is_some()
    }

    /// Whether queries see keys, by the place of a query among all keys.
    fn holds(&self, place: &Array, keys: usize) -> Option<Array> {
        let number = |v: i64| Array::full(&[], v as f64, DType::I64);
        let key = Array::arange(keys, DType::I64);
        let most = if self.causal { Some(0) } else { self.right };
        let above = most.map(|most| key.less_equal(place.add(number(most))));
        let below = self.left.map(|left| key.greater_equal(place.subtract(number(left))));
        match (above, below) {
            (Some(above), Some(below)) => Some(above.logical_and(&below)),
            (above, below) => above.or(below),
        }
    }
}

/// What is added to scores: the given mask, padded to all keys; what queries see
/// from where they stand; and the end of each item's keys.
fn bias(
    call: &Call<'_>,
    sight: &Sight,
    dtype: DType,
    past: usize,
    [queries, keys]: [usize; 2],
) -> Result<Option<Array>, OnnxError> {
    let number = |v: f64| Array::full(&[], v, dtype);
    let seen = |holds: &Array| holds.where_(number(0.0), number(f64::NEG_INFINITY));
    let mut parts = Vec::new();
    if let Some(mask) = call.optional(3)? {
        let flags = mask.dtype() == DType::Bool;
        let wide = mask.shape().last().copied().unwrap_or(keys);
        let mask = if flags { seen(&mask) } else { mask.astype(dtype) };
        let mut padding = vec![(0, 0); mask.ndim()];
        if let Some(last) = padding.last_mut() {
            last.1 = keys.saturating_sub(if wide == 1 { keys } else { wide });
        }
        parts.push(mask.pad_with(&padding, &number(f64::NEG_INFINITY)));
    }
    let lengths = call.optional(6)?.map(|n| n.astype(DType::I64).reshape(&[-1, 1, 1, 1]));
    if sight.moves() {
        let count = |n: usize| Array::full(&[], n as f64, DType::I64);
        // Keys before the queries: those of the past, or all but the last ones
        // of a cache that the model keeps.
        let before = match &lengths {
            Some(lengths) if !call.has(4) => lengths.subtract(count(queries)),
            _ => count(past),
        };
        let place = Array::arange(queries, DType::I64).reshape(&[-1, 1]).add(&before);
        parts.extend(sight.holds(&place, keys).map(|holds| seen(&holds)));
    }
    if let Some(ends) = lengths {
        parts.push(seen(&Array::arange(keys, DType::I64).less(&ends)));
    }
    Ok(parts.into_iter().reduce(|a, b| a.add(&b)))
}

fn attention(call: &Call<'_>) -> Results {
    let attributes = call.attributes();
    let flat = call.array(0)?.ndim() == 3;
    let q = by_heads(call, 0, "q_num_heads")?;
    let (mut k, mut v) = (by_heads(call, 1, "kv_num_heads")?, by_heads(call, 2, "kv_num_heads")?);
    let mut past = 0;
    if let Some(before) = call.optional(4)? {
        past = before.shape().get(2).copied().unwrap_or(0);
        k = Array::concatenate(&[before, k], 2);
    }
    if let Some(before) = call.optional(5)? {
        v = Array::concatenate(&[before, v], 2);
    }
    let (dtype, wide) = (q.dtype(), q.dtype().accumulator());
    let [batch, heads, queries, size] = q.shape()[..] else {
        return Err(call.fails("the query has no heads"));
    };
    let [_, groups, keys, _] = k.shape()[..] else { return Err(call.fails("the key has no heads")) };
    if groups == 0 || !heads.is_multiple_of(groups) {
        return Err(call.fails(format!("{heads} query heads do not share {groups} key heads")));
    }
    let scale = match attributes.find_float("scale")? {
        Some(scale) => f64::from(scale),
        None => 1.0 / (size as f64).sqrt(),
    };
    let softcap = f64::from(attributes.float_or("softcap", 0.0)?);
    let sight = Sight::of(call)?;
    if call.has(6) && (call.has(4) || call.has(5)) {
        return Err(call.fails("nonpad_kv_seqlen is for keys that are all given, without past ones"));
    }
    // The fused mask lets the last query see all keys.
    let open = sight.left.is_none() && (sight.right.is_none() || sight.causal);
    let plain = open && !call.has(3) && !call.has(6) && softcap == 0.0 && !call.asked(3);
    let (out, scores) = if plain && (!sight.causal || keys == past + queries) {
        let mask = if sight.causal { Mask::Causal } else { Mask::None };
        (q.attention(&k, &v.astype(dtype), scale, mask), None)
    } else {
        // Query heads that share a key head become further rows of it.
        let rows = [batch, groups, heads / groups * queries, size].map(|n| n as isize);
        let by_head = [batch, heads, queries, keys].map(|n| n as isize);
        let turned = k.astype(wide).transpose([0, 1, 3, 2]);
        let raw: Array = q.astype(wide).reshape(&rows).matmul(&turned).reshape(&by_head) * scale;
        let capped = if softcap > 0.0 {
            let inner: Array = &raw / softcap;
            inner.tanh() * softcap
        } else {
            raw.clone()
        };
        let bias = bias(call, &sight, wide, past, [queries, keys])?;
        let masked = bias.as_ref().map_or_else(|| capped.clone(), |bias| capped.add(bias));
        let precision = match attributes.find_int("softmax_precision")? {
            Some(code) => call.dtype_of(code)?,
            None => wide,
        };
        let weights = masked.astype(precision).softmax(-1).astype(wide);
        // A query that sees no key gives zeros.
        let weights = match bias.filter(|_| keys > 0) {
            Some(bias) => {
                let end = |v: f64| Array::full(&[], v, wide);
                let blind = bias.max([-1], true).equal(end(f64::NEG_INFINITY));
                blind.where_(end(0.0), &weights)
            }
            None => weights,
        };
        let shared = [batch, groups, heads / groups * queries, keys].map(|n| n as isize);
        let value = v.astype(wide);
        let full = [batch as isize, heads as isize, queries as isize, -1];
        let out = weights.reshape(&shared).matmul(&value).reshape(&full).astype(dtype);
        let shown = match attributes.int_or("qk_matmul_output_mode", 0)? {
            0 => raw,
            1 => capped,
            2 => masked,
            3 => weights,
            other => return Err(call.fails(format!("qk_matmul_output_mode {other} is not known"))),
        };
        (out, Some(shown.astype(dtype)))
    };
    let out =
        if flat { out.transpose([0, 2, 1, 3]).reshape(&[batch as isize, queries as isize, -1]) } else { out };
    call.checked(&out)?;
    let results = [Some(out), Some(k), Some(v), scores];
    Ok(results.into_iter().flatten().map(Into::into).collect())
}

/// Pairs of elements of each head turned by the angles of their position.
fn rotary_embedding(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let shape: Vec<isize> = x.shape().iter().map(|&n| n as isize).collect();
    // As [batch, step, head, element].
    let heads = match shape[..] {
        [_, _, _, _] => x.transpose([0, 2, 1, 3]),
        [batch, steps, width] => {
            let heads = call.attributes().int("num_heads")? as isize;
            if heads <= 0 || width % heads != 0 {
                return Err(call.fails(format!("{width} elements do not split into {heads} heads")));
            }
            x.reshape(&[batch, steps, heads, width / heads])
        }
        _ => return Err(call.fails("the input must have 3 or 4 dimensions")),
    };
    let size = heads.shape().cols();
    let turned = match call.attributes().int_or("rotary_embedding_dim", 0)? {
        0 => size,
        n => usize::try_from(n)
            .ok()
            .filter(|&n| n <= size)
            .ok_or_else(|| call.fails(format!("rotary_embedding_dim must be a part of {size}, found {n}")))?,
    };
    let half = turned / 2;
    let table = |i: usize| -> Result<Array, OnnxError> {
        let cache = call.array(i)?;
        let cache = match call.optional(3)? {
            Some(positions) => cache.take(&positions, 0),
            None => cache,
        };
        if cache.ndim() != 3 || cache.shape().cols() != half {
            return Err(call.fails(format!("input {i} must hold {half} angles for every step")));
        }
        Ok(cache.expand_dims([2]))
    };
    let (cos, sin) = (table(1)?, table(2)?);
    let rotated = heads.narrow(-1, 0, turned);
    let interleaved = call.attributes().int_or("interleaved", 0)? != 0;
    let full: Vec<isize> = rotated.shape().iter().map(|&n| n as isize).collect();
    let (a, b) = if interleaved {
        let pairs = rotated.reshape(&[full[0], full[1], full[2], half as isize, 2]);
        let part = |k: usize| pairs.narrow(-1, k, 1).squeeze([-1]);
        (part(0), part(1))
    } else {
        (rotated.narrow(-1, 0, half), rotated.narrow(-1, half, half))
    };
    let real = cos.multiply(&a).subtract(sin.multiply(&b));
    let imaginary = sin.multiply(&a).add(cos.multiply(&b));
    let out = if interleaved {
        Array::stack(&[real, imaginary], -1).reshape(&full)
    } else {
        Array::concatenate(&[real, imaginary], -1)
    };
    let out = if turned < size {
        Array::concatenate(&[out, heads.narrow(-1, turned, size - turned)], -1)
    } else {
        out
    };
    call.one(if shape.len() == 4 { out.transpose([0, 2, 1, 3]) } else { out.reshape(&shape) })
}
