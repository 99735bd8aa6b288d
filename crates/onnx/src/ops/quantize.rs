//! Quantized tensors: integers that stand for numbers by a scale and a zero
//! point.

use oneir_array::{Array, DType};

use super::nn::convolved;
use super::product::whole;
use super::{Row, row};
use crate::OnnxError;
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[
    row!(QuantizeLinear [10, 13, 19, 21, 23, 24, 25, 28] => quantize_linear),
    row!(DequantizeLinear [10, 13, 19, 21, 23, 24, 25, 28] => dequantize_linear),
    row!(DynamicQuantizeLinear [11] => dynamic_quantize_linear),
    row!(MatMulInteger [10] => |call| {
        let a = centred(call, 0, 2, -2)?;
        let b = centred(call, 1, 3, -1)?;
        call.one(whole(&a, &b, Array::matmul))
    }),
    row!(ConvInteger [10] => |call| {
        let x = centred(call, 0, 2, 1)?;
        let w = centred(call, 1, 3, 0)?;
        call.one(convolved(call, &x, &w, None)?)
    }),
    row!(QLinearMatMul [10, 21] => qlinear_matmul),
    row!(QLinearConv [10] => qlinear_conv),
];

/// Scale or zero point presented beside a tensor of `shape`: one for all, one
/// per item of an axis, or one per block along it.
fn spread(call: &Call<'_>, v: &Array, shape: &[usize], axis: i64, block: usize) -> Result<Array, OnnxError> {
    if v.size() == 1 && v.ndim() <= 1 {
        return Ok(v.reshape(&[]));
    }
    let rank = shape.len();
    let axis = call.axis(axis, rank)?;
    if block == 0 {
        if v.ndim() != 1 {
            return Err(call.fails(format!("one scale per item of an axis is needed, found {:?}", v.shape())));
        }
        let mut along = vec![1; rank];
        along[axis] = -1;
        return Ok(v.reshape(&along));
    }
    if v.ndim() != rank || v.shape()[axis] != shape[axis].div_ceil(block) {
        return Err(call.fails(format!("scales of shape {:?} for blocks of {block} in {shape:?}", v.shape())));
    }
    let index: Vec<i64> = (0..shape[axis]).map(|i| (i / block) as i64).collect();
    Ok(v.take(Array::from_slice(&index, &[index.len()]), axis as isize))
}

/// The least and greatest value of an integer type.
fn ends(dtype: DType) -> (f64, f64) {
    let bits = dtype.bits() as i32;
    match dtype {
        DType::U2 | DType::U4 | DType::U8 | DType::U16 | DType::U32 => (0.0, 2f64.powi(bits) - 1.0),
        _ => (-(2f64.powi(bits - 1)), 2f64.powi(bits - 1) - 1.0),
    }
}

/// Whole numbers (floats) plus a zero point (i32), saturated to an integer type.
fn saturated(rounded: &Array, zero: Option<&Array>, to: DType) -> Array {
    let (low, high) = ends(to);
    let wide = rounded.dtype();
    let number = |v: f64| Array::full(&[], v, wide);
    let moved = match zero {
        Some(zero) => rounded.add(zero.astype(DType::I32).astype(wide)),
        None => rounded.clone(),
    };
    moved.maximum(number(low)).minimum(number(high)).astype(DType::I32).astype(to)
}

fn block_size(call: &Call<'_>) -> Result<usize, OnnxError> {
    let block = call.attributes().int_or("block_size", 0)?;
    usize::try_from(block).map_err(|_| call.fails(format!("block_size must not be negative, found {block}")))
}

fn quantize_linear(call: &Call<'_>) -> Results {
    let (x, scale, zero) = (call.array(0)?, call.array(1)?, call.optional(2)?);
    let to = match (call.attributes().int_or("output_dtype", 0)?, &zero) {
        (0, Some(zero)) => zero.dtype(),
        (0, None) => DType::U8,
        (code, _) => call.dtype_of(code)?,
    };
    let axis = call.attributes().int_or("axis", 1)?;
    let (shape, block) = (x.shape(), block_size(call)?);
    let wide = if x.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let scale = spread(call, &scale, &shape, axis, block)?.astype(wide);
    let zero = zero.map(|zero| spread(call, &zero, &shape, axis, block)).transpose()?;
    let ratio = x.astype(wide).divide(&scale);
    if to.is_integer() {
        return call.one(saturated(&ratio.round(0), zero.as_ref(), to));
    }
    let moved = match &zero {
        Some(zero) => ratio.add(zero.astype(wide)),
        None => ratio,
    };
    call.one(super::convert::to_float8(&moved, to, call.attributes().int_or("saturate", 1)? != 0))
}

fn dequantize_linear(call: &Call<'_>) -> Results {
    let (x, scale, zero) = (call.array(0)?, call.array(1)?, call.optional(2)?);
    let to = match call.attributes().int_or("output_dtype", 0)? {
        0 => scale.dtype(),
        code => call.dtype_of(code)?,
    };
    let axis = call.attributes().int_or("axis", 1)?;
    let (shape, block) = (x.shape(), block_size(call)?);
    let wide = if to == DType::F64 { DType::F64 } else { DType::F32 };
    // Differences of integers are whole in i32.
    let inner = if x.dtype().is_integer() { DType::I32 } else { wide };
    let scale = spread(call, &scale, &shape, axis, block)?.astype(wide);
    let mut x = x.astype(inner);
    if let Some(zero) = zero {
        x = x.subtract(spread(call, &zero, &shape, axis, block)?.astype(inner));
    }
    call.one(x.astype(wide).multiply(&scale).astype(to))
}

fn dynamic_quantize_linear(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let axes: Vec<isize> = (0..x.ndim() as isize).collect();
    let number = |v: f64| Array::full(&[], v, DType::F32);
    // The range holds 0 always.
    let (low, high) = if x.size() == 0 {
        (number(0.0), number(0.0))
    } else {
        (x.min(&axes, false).minimum(number(0.0)), x.max(&axes, false).maximum(number(0.0)))
    };
    let range = high.subtract(&low).divide(number(255.0));
    let scale = range.equal(number(0.0)).where_(number(1.0), &range);
    let zero = saturated(&low.negative().divide(&scale).round(0), None, DType::U8);
    let y = saturated(&x.divide(&scale).round(0), Some(&zero), DType::U8);
    call.checked(&y)?;
    Ok(vec![y.into(), scale.into(), zero.into()])
}

/// Input `i` in i32 less its zero point, input `zero`: one for all, or one per
/// item of an axis.
fn centred(call: &Call<'_>, i: usize, zero: usize, axis: i64) -> Result<Array, OnnxError> {
    let x = call.array(i)?;
    let wide = x.astype(DType::I32);
    let Some(zero) = call.optional(zero)? else { return Ok(wide) };
    let zero = zero.astype(DType::I32);
    let zero = if zero.ndim() > 1 { zero } else { spread(call, &zero, &x.shape(), axis, 0)? };
    Ok(wide.subtract(&zero))
}

/// `product` (i32) times a scale, as quantized numbers.
fn requantized(product: &Array, scale: &Array, zero: &Array) -> Array {
    saturated(&product.astype(DType::F32).multiply(scale).round(0), Some(zero), zero.dtype())
}

fn qlinear_matmul(call: &Call<'_>) -> Results {
    let zero = call.array(7)?;
    // Scales of rows stand along the last axis but one.
    let scale = |i: usize, rows: bool| -> Result<Array, OnnxError> {
        let v = call.array(i)?.astype(DType::F32);
        Ok(match v.ndim() {
            1 if v.size() > 1 && rows => v.expand_dims([1]),
            1 if v.size() == 1 => v.reshape(&[]),
            _ => v,
        })
    };
    let factor = scale(1, true)?.multiply(&scale(4, false)?).divide(&scale(6, true)?);
    if zero.dtype().is_integer() {
        let (a, b) = (centred(call, 0, 2, -2)?, centred(call, 3, 5, -1)?);
        return call.one(requantized(&whole(&a, &b, Array::matmul), &factor, &zero));
    }
    let real = |i: usize, zero: usize| -> Result<Array, OnnxError> {
        Ok(call.array(i)?.astype(DType::F32).subtract(call.array(zero)?.astype(DType::F32)))
    };
    let product = real(0, 2)?.matmul(&real(3, 5)?).multiply(&factor).add(zero.astype(DType::F32));
    call.one(super::convert::to_float8(&product, zero.dtype(), true))
}

fn qlinear_conv(call: &Call<'_>) -> Results {
    let (x, w) = (centred(call, 0, 2, 1)?, centred(call, 3, 5, 0)?);
    let product = convolved(call, &x, &w, call.optional(8)?)?;
    let scale = |i: usize| -> Result<Array, OnnxError> { Ok(call.array(i)?.astype(DType::F32)) };
    let (input, output) = (scale(1)?.reshape(&[]), scale(6)?.reshape(&[]));
    let factor = input.multiply(&spread(call, &scale(4)?, &product.shape(), 1, 0)?).divide(&output);
    call.one(requantized(&product, &factor, &call.array(7)?.reshape(&[])))
}
