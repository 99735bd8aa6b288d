//! Operators that make tensors from attributes and shapes.

use oneir_array::{Array, DType, HostTensor};

use super::{Row, row};
use crate::Term;
use crate::call::{Call, Results};
use crate::term::Strings;
use crate::trace::stored;

pub(super) const ROWS: &[Row] = &[
    row!(Constant [1, 9, 11, 12, 13, 19, 21, 23, 24, 25] => constant),
    row!(ConstantOfShape [9, 20, 21, 23, 24, 25] => constant_of_shape),
    row!(Range [11, 27] => range),
    row!(EyeLike [9, 22] => eye_like),
];

fn constant(call: &Call<'_>) -> Results {
    let attributes = call.attributes();
    if let Some(data) = attributes.find_tensor("value")? {
        return Ok(vec![stored(data)?]);
    }
    if let Some(data) = attributes.find_sparse_tensor("sparse_value")? {
        return Ok(vec![stored(data)?]);
    }
    let made = if let Some(v) = attributes.find_float("value_float")? {
        Ok(HostTensor::scalar(v))
    } else if let Some(v) = attributes.find_floats("value_floats")? {
        HostTensor::from_slice(&[v.len()], v)
    } else if let Some(v) = attributes.find_int("value_int")? {
        Ok(HostTensor::scalar(v))
    } else if let Some(v) = attributes.find_ints("value_ints")? {
        HostTensor::from_slice(&[v.len()], v)
    } else if let Some(v) = attributes.find_bytes("value_string")? {
        return Ok(vec![Term::Strings(Strings { shape: vec![], values: vec![v.to_vec()] })]);
    } else if let Some(v) = attributes.find_byte_strings("value_strings")? {
        return Ok(vec![Term::Strings(Strings { shape: vec![v.len()], values: v.to_vec() })]);
    } else {
        return Err(call.fails("no value attribute is given"));
    };
    Ok(vec![Term::Host(made.map_err(|e| call.fails(e.to_string()))?)])
}

fn constant_of_shape(call: &Call<'_>) -> Results {
    let shape = shape_of(call, &call.ints(0)?)?;
    let value = match call.attributes().find_tensor("value")? {
        Some(data) => data.to_host()?,
        None => HostTensor::scalar(0f32),
    };
    let one = value.reshape(&[]).map_err(|e| call.fails(format!("the value must be one element: {e}")))?;
    call.one(Array::from_host(one).broadcast_to(&shape))
}

/// Refuses more dimensions than any tensor has.
pub(super) fn check_rank(call: &Call<'_>, rank: usize) -> Result<(), crate::OnnxError> {
    const MOST: usize = 256;
    if rank > MOST {
        return Err(call.fails(format!("there would be {rank} dimensions, more than {MOST}")));
    }
    Ok(())
}

/// Integers as a shape.
pub(super) fn shape_of(call: &Call<'_>, ints: &[i64]) -> Result<Vec<usize>, crate::OnnxError> {
    check_rank(call, ints.len())?;
    sizes(call, ints)
}

/// Integers as sizes.
pub(super) fn sizes(call: &Call<'_>, ints: &[i64]) -> Result<Vec<usize>, crate::OnnxError> {
    ints.iter()
        .map(|&n| {
            usize::try_from(n).map_err(|_| call.fails(format!("a size must not be negative, found {n}")))
        })
        .collect()
}

fn range(call: &Call<'_>) -> Results {
    let (start, limit, delta) = (call.host(0)?, call.host(1)?, call.host(2)?);
    let dtype = start.dtype();
    let number = |t: &HostTensor| -> Result<f64, crate::OnnxError> {
        let values = t.values().map_err(|e| call.fails(e.to_string()))?;
        values
            .to_floats()
            .first()
            .copied()
            .ok_or_else(|| call.fails("start, limit and delta must be one number each"))
    };
    let (a, b, d) = (number(&start)?, number(&limit)?, number(&delta)?);
    if d == 0.0 {
        return Err(call.fails("delta must not be 0"));
    }
    let steps = ((b - a) / d).ceil().max(0.0);
    if !steps.is_finite() || steps > (1u64 << 40) as f64 {
        return Err(call.fails(format!("from {a} to {b} by {d} are too many numbers")));
    }
    let wide = if dtype.is_half() { DType::F32 } else { dtype };
    let index = Array::arange(steps as usize, wide);
    let at = |t: HostTensor| Array::from_host(t).reshape(&[]).astype(wide);
    call.one((index * at(delta) + at(start)).astype(dtype))
}

fn eye_like(call: &Call<'_>) -> Results {
    let shape = call.shape(0)?;
    let [rows, cols] = shape[..] else { return Err(call.fails("the input must have 2 dimensions")) };
    let dtype = match call.attributes().find_int("dtype")? {
        Some(code) => call.dtype_of(code)?,
        None => call.term(0)?.dtype().unwrap_or(DType::F32),
    };
    let k = call.attributes().int_or("k", 0)? as f64;
    let row = Array::iota(&[rows, cols], 0, DType::I64) + Array::full(&[], k, DType::I64);
    call.one(row.equal(Array::iota(&[rows, cols], 1, DType::I64)).astype(dtype))
}
