//! Operators that change types or nothing.

use super::{Row, row};
use crate::Term;
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[
    row!(Cast [1, 6, 9, 13, 19, 21, 23, 24, 25] => cast),
    row!(CastLike [15, 19, 21, 23, 24, 25] => cast_like),
    row!(Identity [1, 13, 14, 16, 19, 21, 23, 24, 25] => |call| Ok(vec![call.term(0)?.clone()])),
    row!(Dropout [1, 6, 7, 10, 12, 13, 22] => dropout),
];

fn cast(call: &Call<'_>) -> Results {
    let dtype = if call.version < 6 {
        // Version 1 names the type.
        let name = call.attributes().string("to")?;
        crate::ElemType::named(name)
            .and_then(crate::ElemType::dtype)
            .ok_or_else(|| call.fails(format!("cannot cast to {name}")))?
    } else {
        call.dtype_of(call.attributes().int("to")?)?
    };
    call.one(call.array(0)?.astype(dtype))
}

fn cast_like(call: &Call<'_>) -> Results {
    let dtype = call.term(1)?.dtype().ok_or_else(|| call.fails("input 1 must be a tensor of numbers"))?;
    call.one(call.array(0)?.astype(dtype))
}

/// Outside training nothing is dropped: the mask, where asked for, is all true.
fn dropout(call: &Call<'_>) -> Results {
    let x = call.term(0)?.clone();
    let training = match call.version {
        ..7 => call.attributes().int_or("is_test", 0)? == 0 && call.version < 7,
        7..12 => false,
        _ => call.has(2) && call.ints(2)?.first().is_some_and(|&v| v != 0),
    };
    if training && call.version >= 12 {
        let ratio = if call.has(1) {
            call.host(1)?.values().map_err(|e| call.fails(e.to_string()))?.to_floats()[0]
        } else {
            0.5
        };
        if ratio != 0.0 {
            return Err(call.fails("dropping at random in training mode is not implemented"));
        }
    }
    let mut out = vec![x.clone()];
    if call.node.outputs.len() > 1 {
        let shape = call.shape(0)?;
        let dtype = if call.version < 10 {
            x.dtype().unwrap_or(oneir_array::DType::F32)
        } else {
            oneir_array::DType::Bool
        };
        out.push(Term::Array(oneir_array::Array::ones(&shape, dtype)));
    }
    Ok(out)
}
