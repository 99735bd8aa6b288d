//! Numbers as codes with scales.

use oneir_array::Array;
use oneir_ir::Primitive;
use oneir_ir::primitive::{Quant, QuantMode};
use oneir_tensor::DType;

use super::super::error::Refusal;
use super::super::graph::{Site, Written};
use super::packed::{Fp8, table};
use super::{Row, parameters, row};

pub(super) const ROWS: &[Row] = &[row!("quantize" => quantize)];

fn number(n: f64) -> Array {
    Array::full(&[], n, DType::F32)
}

fn quantize(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Quantize { quant });
    let tables = Tables::new()?;
    site.arrays(|x| {
        let dtype = x[0].dtype();
        let mut groups: Vec<isize> = x[0].shape().iter().map(|&n| n as isize).collect();
        let last = groups.len() - 1;
        groups[last] /= quant.group_size as isize;
        groups.push(quant.group_size as isize);
        let x = x[0].astype(DType::F32).reshape(&groups);
        let flat = |codes: Array| packed(&codes.astype(DType::U32).flatten(-2, -1), quant.bits);
        if quant.has_biases() {
            let (codes, scales, biases) = affine(&x, quant.bits);
            return vec![flat(codes), scales.squeeze([-1]).astype(dtype), biases.squeeze([-1]).astype(dtype)];
        }
        let (codes, scales) = tables.floats(&x, quant, dtype);
        vec![flat(codes), scales.squeeze([-1])]
    })
}

/// Codes that count steps from a group's extreme of larger magnitude, beside the
/// groups' steps and where they start.
fn affine(x: &Array, bits: usize) -> (Array, Array, Array) {
    let top = number(((1u32 << bits) - 1).into());
    // NaN does not count.
    let or = |end: f64| x.isnan().where_(number(end), x);
    let (low, high) = (or(f64::INFINITY).min([-1], true), or(f64::NEG_INFINITY).max([-1], true));
    let step = ((&high - &low) / &top).maximum(number(1e-7));
    let (scale, bias) = if bits == 1 {
        (step, low)
    } else {
        let from_low = low.abs().greater(high.abs());
        let edge = from_low.where_(&low, &high);
        let step = from_low.where_(&step, step.negative());
        let steps = (&edge / &step).round(0);
        let some = steps.not_equal(number(0.0));
        let scale = some.where_(&edge / some.where_(&steps, number(1.0)), &step);
        (scale, some.where_(&edge, number(0.0)))
    };
    let steps = ((x - &bias) / &scale).round(0);
    let steps = steps.isnan().where_(number(0.0), &steps);
    (steps.maximum(number(0.0)).minimum(&top), scale, bias)
}

/// What the codes of the floating-point modes stand for.
struct Tables {
    fp8: Fp8,
    /// E4M3, E8M0 and E2M1, by code.
    e4m3: Array,
    e8m0: Array,
    e2m1: Array,
}

impl Tables {
    fn new() -> Result<Tables, Refusal> {
        let of = |format| table(format, DType::F32).map(Array::from_host);
        Ok(Tables {
            fp8: Fp8::new(DType::F32)?,
            e4m3: of(DType::F8E4M3FN)?,
            e8m0: of(DType::F8E8M0)?,
            e2m1: of(DType::F4E2M1)?,
        })
    }

    /// Codes of elements over their group's scale, and the scales' codes.
    fn floats(&self, x: &Array, quant: &Quant, dtype: DType) -> (Array, Array) {
        let round = |x: Array| x.astype(dtype).astype(DType::F32);
        let limit = number(if quant.bits == 8 { 448.0 } else { 6.0 });
        let wanted = round(x.abs().max([-1], true) / limit);
        let (codes, values) = match quant.mode {
            QuantMode::Nvfp4 => (self.fp8.codes(&wanted), &self.e4m3),
            _ => (self.power_above(&wanted), &self.e8m0),
        };
        let scale = round(values.take(&codes, [0]));
        let scaled = round(x / scale);
        let elements = if quant.bits == 8 {
            self.fp8.codes(&scaled)
        } else {
            // The first of the nearest.
            (scaled.expand_dims([-1]) - &self.e2m1).abs().argmin([-1], false)
        };
        (elements, codes.astype(DType::U8))
    }

    /// The code of the smallest power of two not below `x`: of 0 that of 1, of what is
    /// not finite that of NaN.
    fn power_above(&self, x: &Array) -> Array {
        // As many powers lie below x as the code says.
        let whole = |n: i32| Array::full(&[], f64::from(n), DType::I32);
        let mut code = Array::zeros(&x.shape(), DType::I32);
        for bit in [128, 64, 32, 16, 8, 4, 2, 1] {
            let next = &code + bit;
            let below = self.e8m0.take(&next - 1, [0]).less(x);
            code = below.where_(&next, &code);
        }
        let code = code.minimum(whole(254));
        let code = x.equal(number(0.0)).where_(whole(127), &code);
        x.isfinite().where_(&code, whole(255))
    }
}

/// The codes as one stream of bits, lowest first, in words: `[…, codes]` to
/// `[…, words]`.
fn packed(codes: &Array, bits: usize) -> Array {
    let shape: Vec<isize> = codes.shape().iter().map(|&n| n as isize).collect();
    let (lead, count) = (&shape[..shape.len() - 1], codes.shape()[shape.len() - 1]);
    let list = |all: Vec<u32>, shape: &[usize]| Array::from_slice(&all, shape);
    // As many codes as fill whole words.
    let (per, words) = if 32usize.is_multiple_of(bits) { (32 / bits, 1) } else { (32, bits) };
    let unit = codes.reshape(&[lead, &[(count / per) as isize, 1, per as isize]].concat());
    // What of a code lies in a word is moved up to its place, or down where the code
    // began in the word before; 32 moves all out.
    let place = |word: usize, i: usize| (i * bits) as isize - 32 * word as isize;
    let up = |at: isize| if (0..32).contains(&at) { at as u32 } else { 32 };
    let down = |at: isize| if (-31..0).contains(&at) { at.unsigned_abs() as u32 } else { 32 };
    let all = |f: &dyn Fn(isize) -> u32| -> Vec<u32> {
        (0..words).flat_map(|w| (0..per).map(move |i| (w, i))).map(|(w, i)| f(place(w, i))).collect()
    };
    let high = unit.left_shift(list(all(&up), &[words, per]));
    let parts = match words {
        1 => high,
        _ => high.bitwise_or(unit.right_shift(list(all(&down), &[words, per]))),
    };
    // No two codes share a bit; engines sum i64.
    let sum = parts.astype(DType::I64).sum([-1], false).astype(DType::U32);
    sum.reshape(&[lead, &[(count / per * words) as isize]].concat())
}
