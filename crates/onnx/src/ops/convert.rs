//! Operators that change element types or nothing.

use oneir_array::{Array, DType, random};

use super::random::key;
use super::{Row, row};
use crate::call::{Call, Results};
use crate::term::{Strings, Term};
use crate::{ElemType, OnnxError};

pub(super) const ROWS: &[Row] = &[
    row!(Cast [1, 6, 9, 13, 19, 21, 23, 24, 25, 28] => |call| {
        let to = if call.version < 6 {
            // Version 1 names the type.
            ElemType::named(call.attributes().string("to")?)
        } else {
            i32::try_from(call.attributes().int("to")?).ok().and_then(ElemType::from_code)
        };
        cast(call, to.ok_or_else(|| call.fails("the type to cast to is not in the standard"))?)
    }),
    row!(CastLike [15, 19, 21, 23, 24, 25] => |call| {
        let to = match call.term(1)? {
            Term::Strings(_) => ElemType::String,
            other => match other.dtype() {
                Some(dtype) => ElemType::of(dtype),
                None => return Err(call.fails("input 1 must be a tensor")),
            },
        };
        cast(call, to)
    }),
    row!(BitCast [26] => |call| {
        let x = call.array(0)?;
        let to = call.dtype_of(call.attributes().int("to")?)?;
        if x.dtype().bits() != to.bits() {
            return Err(call.fails(format!("{to} does not have as many bits as {}", x.dtype())));
        }
        if to.size().is_some() {
            return call.one(x.view(to));
        }
        // Elements below a byte are repacked: between integers, and of known values.
        if x.dtype().is_integer() && to.is_integer() {
            return call.one(x.astype(to));
        }
        let host = call.host(0)?;
        let bytes = oneir_tensor::Buffer::copy_of(&host.bytes());
        let seen = oneir_array::HostTensor::from_buffer(to, host.shape(), bytes);
        Ok(vec![Term::Host(seen.map_err(|e| call.fails(e.to_string()))?)])
    }),
    row!(Identity [1, 13, 14, 16, 19, 21, 23, 24, 25] => |call| Ok(vec![call.term(0)?.clone()])),
    row!(Dropout [1, 6, 7, 10, 12, 13, 22] => dropout),
];

/// Input 0 with elements of another type.
pub(super) fn cast(call: &Call<'_>, to: ElemType) -> Results {
    match (call.term(0)?, to) {
        (Term::Strings(_), ElemType::String) => return Ok(vec![call.term(0)?.clone()]),
        (Term::Strings(strings), _) => return parsed(call, strings, to),
        (_, ElemType::String) => return printed(call),
        _ => {}
    }
    let to = to.dtype().ok_or_else(|| call.fails(format!("elements of {to} do not compute")))?;
    let saturate = call.attributes().int_or("saturate", 1)? != 0;
    let x = call.array(0)?;
    call.one(match to {
        DType::F8E8M0 => {
            let mode = call.attributes().string_or("round_mode", "up")?;
            power_of_two(&x, mode, saturate)
                .ok_or_else(|| call.fails(format!("round_mode must be up, down or nearest, found {mode}")))?
        }
        DType::F8E4M3FN | DType::F8E4M3FNUZ | DType::F8E5M2 | DType::F8E5M2FNUZ => {
            to_float8(&x, to, saturate)
        }
        // Integers below a byte wrap, where wider ones saturate.
        DType::I4 | DType::U4 | DType::I2 | DType::U2 if x.dtype().is_float() => {
            x.astype(DType::I32).astype(to)
        }
        _ => x.astype(to),
    })
}

/// Conversion to a float8 or float4 type.
pub(super) fn to_float8(x: &Array, to: DType, saturate: bool) -> Array {
    if saturate || to.bits() < 8 { x.astype(to) } else { unsaturated(x, to) }
}

/// A float8 of each element, with what is past the largest as NaN, or as an
/// infinity where the type has one.
fn unsaturated(x: &Array, to: DType) -> Array {
    let wide = x.astype(DType::F32);
    let size = wide.abs();
    let past = |bound: f64| Array::full(&[], bound, DType::F32);
    // The halfway point to the next number up rounds to even: down for E4M3FN.
    let over = match to {
        DType::F8E4M3FN => size.greater(past(464.0)),
        DType::F8E4M3FNUZ => size.greater_equal(past(248.0)),
        _ => size.greater_equal(past(61440.0)),
    };
    if to == DType::F8E5M2 {
        let code = |v: f64| Array::full(&[], v, DType::U8);
        let infinite = wide.less(past(0.0)).where_(code(252.0), code(124.0));
        return over.where_(&infinite, wide.astype(to).view(DType::U8)).view(to);
    }
    over.where_(past(f64::NAN), &wide).astype(to)
}

/// The exponent alone of each element, as E8M0 holds it.
fn power_of_two(x: &Array, mode: &str, saturate: bool) -> Option<Array> {
    let number = |v: f64| Array::full(&[], v, DType::U32);
    let wide = x.astype(DType::F32).abs();
    let bits = wide.view(DType::U32);
    let exponent = bits.right_shift(number(23.0));
    let fraction = bits.bitwise_and(number(f64::from(0x007F_FFFF)));
    // Code 0 is 2^-127, which f32 holds below its normal numbers.
    let tiny = exponent.equal(number(0.0));
    let least = number(f64::from(0x0040_0000));
    let up = match mode {
        "up" => tiny.where_(fraction.greater(&least), fraction.greater(number(0.0))),
        "nearest" => {
            let normal = fraction.greater_equal(&least);
            tiny.where_(fraction.greater(number(f64::from(0x0060_0000))), &normal)
        }
        "down" => Array::zeros(&[], DType::Bool),
        _ => return None,
    };
    let code = exponent.add(up.astype(DType::U32));
    let code = if saturate {
        code.minimum(number(254.0))
    } else {
        wide.equal(Array::full(&[], 0.0, DType::F32)).where_(number(255.0), code.minimum(number(255.0)))
    };
    let code = wide.isnan().where_(number(255.0), &code);
    Some(code.astype(DType::U8).view(DType::F8E8M0))
}

fn parsed(call: &Call<'_>, strings: &Strings, to: ElemType) -> Results {
    let dtype = to.dtype().ok_or_else(|| call.fails(format!("strings cannot become {to}")))?;
    let texts = strings.values.iter().map(|bytes| String::from_utf8_lossy(bytes));
    let made = if dtype.is_integer() {
        let whole = |text: &str| {
            let text = text.trim();
            text.parse::<i64>().ok().or_else(|| text.parse::<f64>().ok().map(|x| x as i64))
        };
        let ints: Option<Vec<i64>> = texts.map(|text| whole(&text)).collect();
        ints.map(|v| Array::from_slice(&v, &strings.shape))
    } else {
        let floats: Option<Vec<f64>> = texts.map(|text| text.trim().parse().ok()).collect();
        floats.map(|v| Array::from_slice(&v, &strings.shape))
    };
    let made = made.ok_or_else(|| call.fails("a string is not a number"))?;
    call.one(made.astype(dtype))
}

fn printed(call: &Call<'_>) -> Results {
    use oneir_tensor::Values;
    let host = call.host(0)?;
    let values = match host.values().map_err(|e| call.fails(e.to_string()))? {
        Values::Bool(v) => v.iter().map(|x| if *x { "True".into() } else { "False".into() }).collect(),
        Values::Signed(v) => v.iter().map(ToString::to_string).collect(),
        Values::Unsigned(v) => v.iter().map(ToString::to_string).collect(),
        Values::Float(v) => {
            let single = host.dtype() != DType::F64;
            v.iter().map(|&x| if single { digits(&(x as f32)) } else { digits(&x) }).collect::<Vec<String>>()
        }
        Values::Complex(_) => return Err(call.fails("complex numbers have no text")),
    };
    let values = values.into_iter().map(String::into_bytes).collect();
    Ok(vec![Term::Strings(Strings { shape: host.shape().to_vec(), values })])
}

/// The fewest digits that name a float.
fn digits(x: &(impl std::fmt::Debug + Copy + Into<f64>)) -> String {
    let number: f64 = (*x).into();
    if number.is_infinite() {
        return if number > 0.0 { "INF".into() } else { "-INF".into() };
    }
    let text = format!("{x:?}");
    text.strip_suffix(".0").map(str::to_string).unwrap_or(text)
}

/// Outside training nothing is dropped: the mask, where asked for, is all true.
fn dropout(call: &Call<'_>) -> Results {
    let x = call.term(0)?.clone();
    let masked = call.node.outputs.get(1).is_some_and(|name| !name.is_empty());
    let (training, ratio) = match call.version {
        ..7 => (
            call.attributes().int_or("is_test", 0)? == 0,
            f64::from(call.attributes().float_or("ratio", 0.5)?),
        ),
        7..12 => (false, 0.0),
        _ => {
            let training = call.has(2) && call.ints(2)?.first().is_some_and(|&v| v != 0);
            // What is not looked at need not be known.
            let ratio = if training && call.has(1) { call.number(1)? } else { 0.5 };
            (training, ratio)
        }
    };
    let mask_dtype = if call.version < 10 { x.dtype().unwrap_or(DType::F32) } else { DType::Bool };
    if !training || ratio == 0.0 {
        let mut out = vec![x];
        if masked {
            out.push(Array::ones(&call.shape(0)?, mask_dtype).into());
        }
        return Ok(out);
    }
    let x = call.array(0)?;
    let kept = random::uniform(0, 1, &x.shape(), DType::F32, Some(&key(call)?)).greater_equal(Array::full(
        &[],
        ratio,
        DType::F32,
    ));
    let scale = if ratio < 1.0 { 1.0 / (1.0 - ratio) } else { 0.0 };
    let zero = Array::full(&[], 0.0, x.dtype());
    let out = kept.where_(&(&x * scale), &zero);
    call.checked(&out)?;
    Ok(if masked { vec![out.into(), kept.astype(mask_dtype).into()] } else { vec![out.into()] })
}

/// The dtype that attribute `dtype` names, or another where it is absent.
pub(super) fn dtype_or(call: &Call<'_>, otherwise: DType) -> Result<DType, OnnxError> {
    match call.attributes().find_int("dtype")? {
        Some(code) => call.dtype_of(code),
        None => Ok(otherwise),
    }
}
