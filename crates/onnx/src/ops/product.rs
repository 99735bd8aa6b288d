//! Matrix products.

use oneir_array::{Array, DType};

use super::{Row, row};
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[
    row!(MatMul [1, 9, 13] => |call| {
        let (a, b) = (call.array(0)?, call.array(1)?);
        call.one(whole(&a, &b, Array::matmul))
    }),
    row!(Det [11, 22] => |call| call.one(call.array(0)?.det())),
    row!(Gemm [1, 6, 7, 9, 11, 13] => gemm),
];

/// Integer products are computed in f64 where that is exact enough, and
/// rounded back.
pub(super) fn whole(a: &Array, b: &Array, f: impl Fn(&Array, &Array) -> Array) -> Array {
    let dtype = a.dtype();
    if dtype.is_inexact() {
        return f(a, b);
    }
    f(&a.astype(DType::F64), &b.astype(DType::F64)).astype(dtype)
}

fn gemm(call: &Call<'_>) -> Results {
    let flip = |x: Array, name| -> Result<Array, crate::OnnxError> {
        if x.ndim() != 2 {
            return Err(call.fails("the factors must have 2 dimensions"));
        }
        Ok(if call.attributes().int_or(name, 0)? != 0 { x.transpose([1, 0]) } else { x })
    };
    let a = flip(call.array(0)?, "transA")?;
    let b = flip(call.array(1)?, "transB")?;
    let alpha = call.attributes().float_or("alpha", 1.0)?;
    let beta = call.attributes().float_or("beta", 1.0)?;
    let scaled = |x: Array, factor: f32| if factor == 1.0 { x } else { x * factor };
    let integer = !a.dtype().is_inexact();
    if integer && (alpha.fract() != 0.0 || beta.fract() != 0.0) {
        return Err(call.fails("integer factors need whole alpha and beta"));
    }
    let product = scaled(whole(&a, &b, Array::matmul), alpha);
    match call.optional(2)? {
        Some(c) if beta != 0.0 => call.one(product.add(scaled(c, beta))),
        _ => call.one(product),
    }
}
