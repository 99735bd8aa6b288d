//! Attention without a softmax, whose past is a state of fixed size.

use oneir_array::{Array, Convolution};

use super::{Row, row};
use crate::OnnxError;
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[
    row!(LinearAttention [27] => linear_attention),
    row!(CausalConvWithState [27] => causal_conv_with_state),
];

/// A positive number of heads.
fn heads(call: &Call<'_>, name: &str) -> Result<usize, OnnxError> {
    let found = call.attributes().int(name)?;
    usize::try_from(found)
        .ok()
        .filter(|&n| n > 0)
        .ok_or_else(|| call.fails(format!("{name} must be positive, found {found}")))
}

/// One step of `[batch, step, head · element]` as `[batch, head, element]`.
fn at_step(x: &Array, t: usize, heads: usize) -> Array {
    let batch = x.shape()[0] as isize;
    x.narrow(1, t, 1).reshape(&[batch, heads as isize, -1])
}

fn linear_attention(call: &Call<'_>) -> Results {
    let attributes = call.attributes();
    let (q_heads, heads) = (heads(call, "q_num_heads")?, heads(call, "kv_num_heads")?);
    let (decays, corrects) = match attributes.string_or("update_rule", "gated_delta")? {
        "linear" => (false, false),
        "gated" => (true, false),
        "delta" => (false, true),
        "gated_delta" => (true, true),
        other => return Err(call.fails(format!("update_rule {other} is not known"))),
    };
    let dtype = call.array(0)?.dtype();
    let wide = |i: usize| -> Result<Array, OnnxError> { Ok(call.array(i)?.astype(dtype.accumulator())) };
    let (q, k, v) = (wide(0)?, wide(1)?, wide(2)?);
    let ([batch, steps, q_width], [_, _, k_width], [_, _, v_width]) =
        (&q.shape()[..], &k.shape()[..], &v.shape()[..])
    else {
        return Err(call.fails("query, key and value must have 3 dimensions"));
    };
    let fits = q_heads.is_multiple_of(heads)
        && q_width.is_multiple_of(q_heads)
        && k_width.is_multiple_of(heads)
        && v_width.is_multiple_of(heads)
        && q_width / q_heads == k_width / heads;
    if !fits {
        return Err(call.fails("query, key and value do not split into their heads"));
    }
    let (size, out_size) = (k_width / heads, v_width / heads);
    let scale = match attributes.float_or("scale", 0.0)? {
        0.0 => 1.0 / (size as f64).sqrt(),
        scale => f64::from(scale),
    };
    let mut state = match call.optional(3)? {
        Some(state) => state.astype(q.dtype()),
        None => Array::zeros(&[*batch, heads, size, out_size], q.dtype()),
    };
    let decay = if decays { Some(wide(4)?) } else { None };
    let rate = if corrects { Some(wide(5)?) } else { None };
    let mut outputs = Vec::with_capacity(*steps);
    for t in 0..*steps {
        let key = at_step(&k, t, heads).expand_dims([3]);
        let mut value = at_step(&v, t, heads).expand_dims([2]);
        if let Some(decay) = &decay {
            // One number per head, or one per element of the key.
            state = state.multiply(at_step(decay, t, heads).exp().expand_dims([3]));
        }
        if let Some(rate) = &rate {
            let one = rate.shape().cols() == 1;
            let rate = at_step(rate, t, if one { 1 } else { heads }).expand_dims([3]);
            let known = key.transpose([0, 1, 3, 2]).matmul(&state);
            value = rate.multiply(value.subtract(&known));
        }
        state = state.add(key.multiply(&value));
        // Query heads that share a state are further rows of it.
        let shared = (q_heads / heads) as isize;
        let query =
            at_step(&q, t, q_heads).reshape(&[*batch as isize, heads as isize, shared, size as isize]);
        let shown: Array = query.matmul(&state) * scale;
        outputs.push(shown.reshape(&[*batch as isize, (q_heads * out_size) as isize]));
    }
    let out = if outputs.is_empty() {
        Array::zeros(&[*batch, 0, q_heads * out_size], dtype)
    } else {
        Array::stack(&outputs, 1).astype(dtype)
    };
    let state_dtype = call.optional(3)?.map_or(dtype, |s| s.dtype());
    let state = state.astype(state_dtype);
    call.checked(&out)?;
    call.checked(&state)?;
    Ok(vec![out.into(), state.into()])
}

fn causal_conv_with_state(call: &Call<'_>) -> Results {
    let (x, weight) = (call.array(0)?, call.array(1)?);
    let ([batch, channels, length], [_, 1, kernel @ (1..)]) = (&x.shape()[..], &weight.shape()[..]) else {
        return Err(call.fails("input must be [batch, channels, length], and the weight [channels, 1, k]"));
    };
    let past = match call.optional(3)? {
        Some(past) => past,
        None => Array::zeros(&[*batch, *channels, kernel - 1], x.dtype()),
    };
    let all = Array::concatenate(&[past, x.clone()], 2);
    let wide = x.dtype().accumulator();
    let geometry =
        Convolution { strides: vec![1], padding: vec![(0, 0)], dilations: vec![1], groups: *channels };
    let mut out = all.astype(wide).convolution(&weight.astype(wide), &geometry);
    if let Some(bias) = call.optional(2)? {
        out = out.add(bias.astype(wide).reshape(&[-1, 1]));
    }
    out = match call.attributes().string_or("activation", "none")? {
        "none" => out,
        "silu" | "swish" => out.multiply(out.sigmoid()),
        other => return Err(call.fails(format!("activation {other} is not known"))),
    };
    let out = out.astype(x.dtype());
    let state = all.narrow(2, *length, kernel - 1);
    call.checked(&out)?;
    call.checked(&state)?;
    Ok(vec![out.into(), state.into()])
}
