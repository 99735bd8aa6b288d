//! Attention and the positions that it reads.

use oneir_array::Array;

use super::{Row, row};
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[row!(RotaryEmbedding [23] => rotary_embedding)];

/// Pairs of elements of each head turned by the angles of their position.
fn rotary_embedding(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let shape: Vec<isize> = x.shape().iter().map(|&n| n as isize).collect();
    // As [batch, step, head, element].
    let heads = match shape[..] {
        [_, _, _, _] => x.transpose(&[0, 2, 1, 3]),
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
    let table = |i: usize| -> Result<Array, crate::OnnxError> {
        let cache = call.array(i)?;
        let cache = match call.optional(3)? {
            Some(positions) => cache.take(&positions, 0),
            None => cache,
        };
        if cache.ndim() != 3 || cache.shape().cols() != half {
            return Err(call.fails(format!("input {i} must hold {half} angles for every step")));
        }
        Ok(cache.expand_dims(&[2]))
    };
    let (cos, sin) = (table(1)?, table(2)?);
    let rotated = heads.narrow(-1, 0, turned);
    let interleaved = call.attributes().int_or("interleaved", 0)? != 0;
    let full: Vec<isize> = rotated.shape().iter().map(|&n| n as isize).collect();
    let (a, b) = if interleaved {
        let pairs = rotated.reshape(&[full[0], full[1], full[2], half as isize, 2]);
        let part = |k: usize| pairs.narrow(-1, k, 1).squeeze(&[-1]);
        (part(0), part(1))
    } else {
        (rotated.narrow(-1, 0, half), rotated.narrow(-1, half, half))
    };
    let real = cos.multiply(&a).subtract(&sin.multiply(&b));
    let imaginary = sin.multiply(&a).add(&cos.multiply(&b));
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
    call.one(if shape.len() == 4 { out.transpose(&[0, 2, 1, 3]) } else { out.reshape(&shape) })
}
