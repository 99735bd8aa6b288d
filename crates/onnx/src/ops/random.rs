//! Random operators. A node draws the same numbers at every run of a model:
//! its seed, or else its name, is its key.

use std::hash::{Hash, Hasher};

use oneir_array::{Array, DType, random};

use super::convert::dtype_or;
use super::creation::{shape_of, sizes};
use super::{Row, row};
use crate::call::{Call, Results};
use crate::{AttributeValue, OnnxError};

pub(super) const ROWS: &[Row] = &[
    row!(RandomUniform [1, 22] => |call| {
        let shape = shape_of(call, call.attributes().ints("shape")?)?;
        uniform(call, &shape, DType::F32)
    }),
    row!(RandomUniformLike [1, 22] => |call| {
        uniform(call, &call.shape(0)?, call.term(0)?.dtype().unwrap_or(DType::F32))
    }),
    row!(RandomNormal [1, 22] => |call| {
        let shape = shape_of(call, call.attributes().ints("shape")?)?;
        normal(call, &shape, DType::F32)
    }),
    row!(RandomNormalLike [1, 22] => |call| {
        normal(call, &call.shape(0)?, call.term(0)?.dtype().unwrap_or(DType::F32))
    }),
    row!(Bernoulli [15, 22] => |call| {
        let x = call.array(0)?;
        let dtype = dtype_or(call, x.dtype())?;
        let drawn = random::uniform(0, 1, &x.shape(), DType::F32, Some(&key(call)?));
        call.one(drawn.less(x.astype(DType::F32)).astype(dtype))
    }),
    row!(Multinomial [7, 22] => multinomial),
];

/// The key of a node's random numbers.
pub(super) fn key(call: &Call<'_>) -> Result<Array, OnnxError> {
    let seed = match call.attributes().get("seed") {
        Some(AttributeValue::Float(seed)) => u64::from(seed.to_bits()),
        // Dropout's is an integer.
        Some(AttributeValue::Int(seed)) => *seed as u64,
        _ => {
            let mut hasher = std::hash::DefaultHasher::new();
            call.node.place().to_string().hash(&mut hasher);
            hasher.finish()
        }
    };
    Ok(random::key(seed))
}

fn uniform(call: &Call<'_>, shape: &[usize], dtype: DType) -> Results {
    let low = f64::from(call.attributes().float_or("low", 0.0)?);
    let high = f64::from(call.attributes().float_or("high", 1.0)?);
    let drawn = random::uniform(0, 1, shape, DType::F32, Some(&key(call)?)) * (high - low) + low;
    call.one(drawn.astype(dtype_or(call, dtype)?))
}

fn normal(call: &Call<'_>, shape: &[usize], dtype: DType) -> Results {
    let mean = f64::from(call.attributes().float_or("mean", 0.0)?);
    let scale = f64::from(call.attributes().float_or("scale", 1.0)?);
    let drawn = random::normal(shape, DType::F32, 0, 1, Some(&key(call)?)) * scale + mean;
    call.one(drawn.astype(dtype_or(call, dtype)?))
}

/// Places drawn by the unnormalised logarithms of their probabilities: where a
/// number up to the whole sum falls among the running sums.
fn multinomial(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let [rows, classes] = call.shape(0)?[..] else {
        return Err(call.fails("the input must have 2 dimensions"));
    };
    let count = sizes(call, &[call.attributes().int_or("sample_size", 1)?])?[0];
    let dtype = dtype_or(call, DType::I32)?;
    let sums = x.astype(DType::F32).softmax(1).scan(oneir_array::ScanOp::Sum, 1, false, true);
    let drawn = random::uniform(0, 1, &[rows, count, 1], DType::F32, Some(&key(call)?));
    let below = drawn.greater_equal(sums.reshape(&[rows as isize, 1, classes as isize]));
    let place = below.astype(DType::I32).sum([2], false);
    let last = Array::full(&[], classes.saturating_sub(1) as f64, DType::I32);
    call.one(place.minimum(&last).astype(dtype))
}
