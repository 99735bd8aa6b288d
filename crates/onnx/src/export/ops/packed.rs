//! Numbers in codes, and random bits: written as the integer arithmetic that they are.

use oneir_array::Array;
use oneir_ir::Primitive;
use oneir_ir::primitive::{Quant, QuantMode};
use oneir_tensor::{DType, HostTensor};

use super::super::error::Refusal;
use super::super::graph::{Site, Written};
use super::{Row, along, parameters, row};

pub(super) const ROWS: &[Row] = &[
    row!("from_fp8" => from_fp8, |site, _| along::first_alone(site, |_| true)),
    row!("to_fp8" => to_fp8, |site, _| along::first_alone(site, |_| true)),
    row!("dequantize" => dequantize),
    row!("quantized_matmul" => quantized_matmul),
    row!("random_bits" => random_bits),
];

/// What every code of a format of at most 8 bits stands for.
pub(super) fn table(format: DType, dtype: DType) -> Result<HostTensor, Refusal> {
    let count = 1usize << format.bits();
    let codes: Vec<u8> = match format.bits() {
        4 => (0..8).map(|pair| (2 * pair) | ((2 * pair + 1) << 4)).collect(),
        _ => (0..=255).collect(),
    };
    let all = HostTensor::from_bytes(format, &[count], &codes).and_then(|codes| codes.cast(dtype));
    all.map_err(|e| e.to_string().into())
}

fn from_fp8(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::FromFp8(dtype));
    let table = Array::from_host(table(DType::F8E4M3FN, *dtype)?);
    site.arrays(|x| vec![table.take(&x[0], [0])])
}

/// The greatest finite code of E4M3.
const TOP: usize = 126;

/// From where on a number of a type rounds to each E4M3 code or past it.
pub(super) struct Fp8 {
    starts: Array,
}

impl Fp8 {
    pub(super) fn new(dtype: DType) -> Result<Fp8, Refusal> {
        let values = table(DType::F8E4M3FN, DType::F64)?.to_vec::<f64>().map_err(|e| e.to_string())?;
        // Halfway from the code before, which has the tie where it is even.
        let start = |code: usize| {
            let middle = f64::midpoint(values[code - 1], values[code]);
            match (code.is_multiple_of(2), dtype) {
                (true, _) => middle,
                (false, DType::F64) => middle.next_up(),
                (false, _) => f64::from((middle as f32).next_up()),
            }
        };
        let mut starts: Vec<f64> = (1..=TOP).map(start).collect();
        starts.insert(0, 0.0);
        starts.push(f64::INFINITY);
        Ok(Fp8 { starts: Array::from_slice(&starts, &[TOP + 2]).astype(dtype) })
    }

    /// The codes of numbers of the type, as i32.
    pub(super) fn codes(&self, x: &Array) -> Array {
        let (size, zero) = (x.abs(), Array::full(&[], 0.0, x.dtype()));
        // The last code that the number reaches, bit by bit.
        let mut code = Array::zeros(&x.shape(), DType::I32);
        for bit in [64, 32, 16, 8, 4, 2, 1] {
            let next = &code + bit;
            let reached = size.greater_equal(self.starts.take(&next, [0]));
            code = reached.where_(&next, &code);
        }
        // Infinity reaches the end of the list.
        let code = code.minimum(Array::full(&[], TOP as f64, DType::I32));
        let negative = x.less(&zero).logical_or(x.reciprocal().less(&zero));
        let code = negative.where_(&code + 128, &code);
        x.isnan().where_(Array::full(&[], 127.0, DType::I32), &code)
    }
}

fn to_fp8(site: &mut Site<'_>, _: &Primitive) -> Written {
    let wide = if site.operands[0].dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let fp8 = Fp8::new(wide)?;
    site.arrays(|x| vec![fp8.codes(&x[0].astype(wide)).astype(DType::U8)])
}

/// The codes in words, each as a number of its own: `[…, words]` to `[…, codes]`.
fn codes(words: &Array, bits: usize) -> Array {
    let shape: Vec<isize> = words.shape().iter().map(|&n| n as isize).collect();
    let last = shape.len() - 1;
    let count = words.shape()[last] * 32 / bits;
    let mask = Array::full(&[], f64::from((1u32 << bits) - 1), DType::U32);
    let list =
        |f: &dyn Fn(usize) -> u32, n: usize| Array::from_slice(&(0..n).map(f).collect::<Vec<_>>(), &[n]);
    if 32usize.is_multiple_of(bits) {
        let per = 32 / bits;
        let shifts = list(&|i| (i * bits) as u32, per);
        let parts = words.expand_dims([-1]).right_shift(&shifts).bitwise_and(&mask);
        return parts.reshape(&[&shape[..last], &[count as isize]].concat());
    }
    // A code may begin in one word and end in the next.
    let end = words.shape()[last].saturating_sub(1);
    let first = list(&|i| (i * bits / 32) as u32, count);
    let next = list(&|i| (i * bits / 32 + 1).min(end) as u32, count);
    let low = words.take(&first, [-1]).right_shift(list(&|i| (i * bits % 32) as u32, count));
    let rest = |i: usize| if i * bits % 32 + bits > 32 { (32 - i * bits % 32) as u32 } else { 32 };
    let high = words.take(&next, [-1]).left_shift(list(&rest, count));
    low.bitwise_or(&high).bitwise_and(&mask)
}

/// The numbers that words, scales and biases stand for.
fn restored(quant: &Quant, inputs: &[Array], dtype: DType) -> Result<Array, Refusal> {
    let codes = codes(&inputs[0], quant.bits);
    let (elements, scales) = if quant.mode == QuantMode::Affine {
        (codes.astype(dtype), inputs[1].clone())
    } else {
        let format = if quant.bits == 8 { DType::F8E4M3FN } else { DType::F4E2M1 };
        let scale = if quant.mode == QuantMode::Nvfp4 { DType::F8E4M3FN } else { DType::F8E8M0 };
        let elements = Array::from_host(table(format, dtype)?);
        let scales = Array::from_host(table(scale, dtype)?);
        (elements.take(&codes, [0]), scales.take(&inputs[1], [0]))
    };
    let groups: Vec<isize> =
        scales.shape().iter().map(|&n| n as isize).chain([quant.group_size as isize]).collect();
    let mut all = elements.reshape(&groups) * scales.expand_dims([-1]);
    if let Some(biases) = inputs.get(2) {
        all += biases.expand_dims([-1]);
    }
    let shape: Vec<isize> = elements.shape().iter().map(|&n| n as isize).collect();
    Ok(all.reshape(&shape))
}

fn dequantize(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Dequantize { quant, dtype });
    let mut refused = None;
    let written =
        site.arrays(|x| restored(quant, x, *dtype).map_err(|e| refused = Some(e)).into_iter().collect());
    refused.map_or(written, Err)
}

fn quantized_matmul(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::QuantizedMatmul { quant, transpose });
    let mut refused = None;
    let written = site.arrays(|x| {
        let matrix = restored(quant, &x[1..], x[0].dtype()).map_err(|e| refused = Some(e));
        let turned = |m: Array| if *transpose { m.swapaxes(-1, -2) } else { m };
        matrix.map(|m| x[0].matmul(&turned(m))).into_iter().collect()
    });
    refused.map_or(written, Err)
}

/// Threefry-2x32 of keys and counters, in i64: words and what carries out of them.
fn threefry(keys: [&Array; 2], counters: [&Array; 2]) -> [Array; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let number = |n: i64| Array::from_slice(&[n], &[]);
    let mask = number(0xFFFF_FFFF);
    let word = |x: Array| x.bitwise_and(&mask);
    let rotated = |x: &Array, by: u32| {
        let (up, down) = (number(1 << by), number(1 << (32 - by)));
        word(x * &up).bitwise_or(x.trunc_divide(&down))
    };
    let third = keys[0].bitwise_xor(keys[1]).bitwise_xor(number(0x1BD1_1BDA));
    let keys = [keys[0], keys[1], &third];
    let (mut a, mut b) = (word(counters[0] + keys[0]), word(counters[1] + keys[1]));
    for group in 0..5usize {
        for rotation in ROTATIONS[group % 2] {
            a = word(&a + &b);
            b = rotated(&b, rotation).bitwise_xor(&a);
        }
        a = word(a + keys[(group + 1) % 3]);
        b = word(b + keys[(group + 2) % 3] + number(group as i64 + 1));
    }
    [a, b]
}

fn random_bits(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::RandomBits { shape, width });
    let width = usize::from(*width);
    let drawn: usize = shape.iter().product();
    let count = (drawn * width).div_ceil(4);
    let to = site.results[0].dtype;
    let whole: Vec<isize> = site.shape().iter().map(|&n| n as isize).collect();
    if drawn == 0 {
        let zero = site.draft.number(to, 0.0);
        let shape = site.shape();
        return Ok(vec![super::super::term::Shown::plain(zero).spread(&shape)]);
    }
    site.arrays(|x| {
        let keys = x[0].astype(DType::I64);
        let (first, second) = (keys.narrow(-1, 0, 1), keys.narrow(-1, 1, 1));
        let (half, odd) = (count / 2, count % 2);
        // Of an odd number, the word in the middle shares its counter with none.
        let low: Vec<i64> = (0..(half + odd) as i64).collect();
        let mut high: Vec<i64> = (0..half).map(|i| (half + odd + i) as i64).collect();
        high.resize(low.len(), 0);
        let counters = [low, high].map(|all| Array::from_slice(&all, &[all.len()]));
        let [a, b] = threefry([&first, &second], [&counters[0], &counters[1]]);
        let words = Array::concatenate(&[a, b.narrow(-1, 0, half)], -1);
        if width == 4 {
            return vec![words.astype(to).reshape(&whole)];
        }
        let parts = 4 / width;
        let steps: Vec<i64> = (0..parts).map(|i| 1i64 << (8 * width * i)).collect();
        let mask = Array::from_slice(&[(1i64 << (8 * width)) - 1], &[]);
        let split =
            words.expand_dims([-1]).trunc_divide(Array::from_slice(&steps, &[parts])).bitwise_and(&mask);
        let lead = &whole[..whole.len() - shape.len()];
        let row = split.reshape(&[lead, &[(count * parts) as isize]].concat());
        vec![row.narrow(-1, 0, drawn).astype(to).reshape(&whole)]
    })
}
