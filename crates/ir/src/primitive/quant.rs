//! What the codes and scales of quantized tensors mean.
//!
//! The affine mode follows MLX: codes count steps of a group's scale from its
//! extreme of larger magnitude, so that this extreme and, where it lies in the
//! range, zero are kept exactly. Mxfp4 and mxfp8 are formats of the OCP
//! Microscaling specification, nvfp4 is NVIDIA's.

use oneir_tensor::{DType, HostTensor, Values, bf16, f16};

use super::to_fp8::e4m3_codes;
use super::{Primitive, Quant, QuantMode, ReduceOp};
use crate::invalid::{dtype_is, shape_is};
use crate::primitive::EvalError;
use crate::{Invalid, Place, Spec, Value};

/// The smallest affine scale.
pub(super) const LEAST_STEP: f64 = 1e-7;

/// The codes, scales and biases of some groups.
pub(super) struct Quantized {
    pub(super) codes: Vec<u32>,
    /// Affine scales, or the codes of the others'.
    pub(super) scales: Values,
    /// Of the affine mode only.
    pub(super) biases: Vec<f64>,
}

impl Quant {
    /// Refuses group sizes and bits that the mode does not have.
    ///
    /// # Errors
    /// Names the parameter and what is accepted.
    pub fn check(&self) -> Result<(), Invalid> {
        type Accepted = (&'static [usize], &'static str);
        let (groups, bits): (Accepted, Accepted) = match self.mode {
            QuantMode::Affine => ((&[32, 64, 128], "32, 64 or 128"), (&[1, 2, 3, 4, 5, 6, 8], "1 to 6 or 8")),
            QuantMode::Mxfp4 => ((&[32], "32"), (&[4], "4")),
            QuantMode::Mxfp8 => ((&[32], "32"), (&[8], "8")),
            QuantMode::Nvfp4 => ((&[16], "16"), (&[4], "4")),
        };
        for (parameter, found, (accepted, expected)) in
            [("group_size", self.group_size, groups), ("bits", self.bits, bits)]
        {
            if !accepted.contains(&found) {
                return Err(Invalid::Parameter { parameter, found: found.to_string(), expected });
            }
        }
        Ok(())
    }

    /// Whether groups have a bias beside their scale.
    pub fn has_biases(&self) -> bool {
        self.mode == QuantMode::Affine
    }

    /// The element type of the scales of a tensor of `dtype`.
    pub fn scale_dtype(&self, dtype: DType) -> DType {
        if self.has_biases() { dtype } else { DType::U8 }
    }

    /// How many u32 words the codes of a row of `len` elements take: `len` is
    /// a multiple of the group size.
    pub fn words(&self, len: usize) -> usize {
        len / 32 * self.bits + len % 32 * self.bits / 32
    }

    /// The dtype in which the codes of scales are read.
    fn scale_format(&self) -> DType {
        if self.mode == QuantMode::Nvfp4 { DType::F8E4M3FN } else { DType::F8E8M0 }
    }

    /// The spec of the tensor that `words` and what follows them stand for.
    pub(super) fn restored(&self, inputs: &[&Spec], dtype: DType) -> Result<Spec, Invalid> {
        self.check()?;
        weight_float(dtype)?;
        let (words, scales, biases) = match (self.has_biases(), inputs) {
            (true, [words, scales, biases]) => (words, scales, Some(biases)),
            (false, [words, scales]) => (words, scales, None),
            (true, _) => {
                return Err(Invalid::Arity { expected: "words, scales and biases as", found: inputs.len() });
            }
            (false, _) => {
                return Err(Invalid::Arity { expected: "words and scales as", found: inputs.len() });
            }
        };
        dtype_is("the words", words, "u32", |d| d == DType::U32)?;
        let Some((&groups, lead)) = scales.shape.split_last() else {
            return Err(Invalid::Rank { operand: "the scales", expected: "at least 1", found: vec![] });
        };
        let too_long = || Invalid::Parameter {
            parameter: "group_size",
            found: self.group_size.to_string(),
            expected: "rows shorter than 2^58",
        };
        let len = groups.checked_mul(self.group_size).filter(|len| len >> 58 == 0).ok_or_else(too_long)?;
        let row = |size| lead.iter().copied().chain([size]).collect::<Vec<_>>();
        shape_is("the words", words, &row(self.words(len)))?;
        match biases {
            Some(biases) => {
                dtype_is("the scales", scales, "of the dequantized dtype", |d| d == dtype)?;
                dtype_is("the biases", biases, "of the dequantized dtype", |d| d == dtype)?;
                shape_is("the biases", biases, &scales.shape)?;
            }
            None => dtype_is("the scales", scales, "u8", |d| d == DType::U8)?,
        }
        Ok(Spec::new(dtype, row(len)))
    }

    /// The numbers of `dtype` that the codes stand for; the inputs fit.
    pub(super) fn restore(&self, inputs: &[HostTensor], dtype: DType) -> Result<Vec<f64>, EvalError> {
        let codes = unpack(&inputs[0].to_vec::<u32>()?, self.bits);
        let round = |x: f32| round(dtype, x);
        let (scales, elements): (Vec<f32>, Vec<f32>) = if self.has_biases() {
            (singles(&inputs[1].values()?), codes.iter().map(|&code| code as f32).collect())
        } else {
            let format = if self.bits == 8 { DType::F8E4M3FN } else { DType::F4E2M1 };
            let bytes = inputs[1].bytes();
            let scales = Values::decode(self.scale_format(), &bytes, bytes.len())?;
            let table = element_table(format)?;
            (singles(&scales), codes.iter().map(|&code| table[code as usize]).collect())
        };
        let biases = inputs.get(2).map(HostTensor::values).transpose()?.map(|biases| singles(&biases));
        let restored = elements.iter().enumerate().map(|(i, &element)| {
            let group = i / self.group_size;
            let scaled = round(round(scales[group]) * round(element));
            f64::from(match &biases {
                Some(biases) => round(scaled + biases[group]),
                None => scaled,
            })
        });
        Ok(restored.collect())
    }

    /// Of affine groups, what their scales and biases get of the cotangent of
    /// the numbers that they stand for.
    pub(super) fn group_cotangents(
        &self,
        words: &Value,
        scales: &Value,
        cotangent: &Value,
    ) -> Result<(Value, Value), Invalid> {
        let codes = Primitive::Dequantize { quant: self.clone(), dtype: scales.spec().dtype };
        let (ones, zeros) = (scales.filled_like(1.0)?, scales.filled_like(0.0)?);
        let codes = Value::record(codes, &[words, &ones, &zeros], Place::Internal)?;
        let shape = &scales.spec().shape;
        let groups: Vec<usize> = shape.iter().copied().chain([self.group_size]).collect();
        let summed =
            |x: &Value| x.reshape(&groups)?.reduce(ReduceOp::Sum, &[groups.len() - 1])?.reshape(shape);
        Ok((summed(&cotangent.multiply(&codes)?)?, summed(cotangent)?))
    }

    /// The codes of numbers of `dtype`: whole groups of them.
    pub(super) fn quantize(&self, numbers: &Values, dtype: DType) -> Result<Quantized, EvalError> {
        let numbers = singles(numbers);
        let groups = numbers.chunks(self.group_size);
        let mut codes = Vec::with_capacity(numbers.len());
        if self.has_biases() {
            let (mut scales, mut biases) = (Vec::new(), Vec::new());
            for group in groups {
                let (scale, bias) = self.affine_group(group, &mut codes);
                scales.push(f64::from(scale));
                biases.push(f64::from(bias));
            }
            return Ok(Quantized { codes, scales: Values::Float(scales), biases });
        }
        let mut scales = Vec::new();
        for group in groups {
            scales.push(self.float_group(group, dtype, &mut codes)?);
        }
        Ok(Quantized { codes, scales: Values::Unsigned(scales), biases: Vec::new() })
    }

    /// Appends an affine group's codes; gives its scale and bias.
    fn affine_group(&self, group: &[f32], codes: &mut Vec<u32>) -> (f32, f32) {
        let top = ((1u32 << self.bits) - 1) as f32;
        let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
        for &x in group {
            // Comparisons with NaN fail: it does not count.
            low = if x < low { x } else { low };
            high = if high < x { x } else { high };
        }
        let mut scale = ((high - low) / top).max(LEAST_STEP as f32);
        let mut bias = low;
        if self.bits > 1 {
            bias = 0.0;
            let edge = if low.abs() > high.abs() {
                low
            } else {
                scale = -scale;
                high
            };
            let steps = (edge / scale).round_ties_even();
            if steps != 0.0 {
                scale = edge / steps;
                bias = edge;
            }
        }
        codes.extend(group.iter().map(|&x| {
            let steps = ((x - bias) / scale).round_ties_even();
            (if steps < 0.0 {
                0.0
            } else if top < steps {
                top
            } else {
                steps
            }) as u32
        }));
        (scale, bias)
    }

    /// Appends the codes of a group in one of the floating-point modes; gives
    /// the code of its scale.
    fn float_group(&self, group: &[f32], dtype: DType, codes: &mut Vec<u32>) -> Result<u64, EvalError> {
        let most =
            group.iter().fold(0f32, |most, x| if x.is_nan() || x.abs() > most { x.abs() } else { most });
        let limit = if self.bits == 8 { 448.0 } else { 6.0 };
        let wanted = round(dtype, most / limit);
        let code = match self.mode {
            QuantMode::Nvfp4 => e4m3_codes(&[f64::from(wanted)])[0],
            _ => power_above(wanted),
        };
        let scale = round(dtype, singles(&Values::decode(self.scale_format(), &[code], 1)?)[0]);
        let scaled = group.iter().map(|&x| round(dtype, x / scale));
        if self.bits == 8 {
            let scaled: Vec<f64> = scaled.map(f64::from).collect();
            codes.extend(e4m3_codes(&scaled).into_iter().map(u32::from));
        } else {
            let table = element_table(DType::F4E2M1)?;
            codes.extend(scaled.map(|x| nearest(&table, x)));
        }
        Ok(code.into())
    }
}

/// Refuses dtypes that quantized tensors do not restore to.
pub(super) fn weight_float(dtype: DType) -> Result<(), Invalid> {
    match dtype {
        DType::F16 | DType::BF16 | DType::F32 => Ok(()),
        other => Err(Invalid::Parameter {
            parameter: "dtype",
            found: other.to_string(),
            expected: "f16, bf16 or f32",
        }),
    }
}

/// The E8M0 code of the smallest power of two not below `x`, clamped to the
/// codes' range; of 0 that of 1, and of what is not finite that of NaN.
fn power_above(x: f32) -> u8 {
    if x == 0.0 {
        return 127;
    }
    if !x.is_finite() {
        return 0xFF;
    }
    // Every f32 is a normal f64.
    let bits = f64::from(x).to_bits();
    let exponent = (bits >> 52) as i32 - 1023 + i32::from(bits << 12 != 0);
    (exponent + 127).clamp(0, 254) as u8
}

/// The first entry of least distance to `x`, the distances taken in f32.
fn nearest(table: &[f32], x: f32) -> u32 {
    let mut best = 0;
    for (code, entry) in table.iter().enumerate() {
        if (x - entry).abs() < (x - table[best]).abs() {
            best = code;
        }
    }
    best as u32
}

/// The values of all codes of a float format.
fn element_table(format: DType) -> Result<Vec<f32>, EvalError> {
    let count = 1usize << format.bits();
    let codes: Vec<u8> = match format.bits() {
        4 => (0..8).map(|pair| (2 * pair) | ((2 * pair + 1) << 4)).collect(),
        _ => (0..=255).collect(),
    };
    Ok(singles(&Values::decode(format, &codes, count)?))
}

fn singles(numbers: &Values) -> Vec<f32> {
    numbers.to_floats().into_iter().map(|x| x as f32).collect()
}

/// `x` as the nearest number of `dtype`.
fn round(dtype: DType, x: f32) -> f32 {
    match dtype {
        DType::F16 => f16::from_f32(x).to_f32(),
        DType::BF16 => bf16::from_f32(x).to_f32(),
        _ => x,
    }
}

/// The codes as one stream of bits, lowest first, in words.
pub(super) fn pack(codes: &[u32], bits: usize) -> Vec<u32> {
    let mut words = vec![0u32; (codes.len() * bits).div_ceil(32)];
    for (i, &code) in codes.iter().enumerate() {
        let (word, shift) = (i * bits / 32, i * bits % 32);
        let wide = u64::from(code) << shift;
        words[word] |= wide as u32;
        if let Some(next) = words.get_mut(word + 1) {
            *next |= (wide >> 32) as u32;
        }
    }
    words
}

/// The codes of `bits` each that the words hold.
fn unpack(words: &[u32], bits: usize) -> Vec<u32> {
    let mask = (1u64 << bits) - 1;
    (0..words.len() * 32 / bits)
        .map(|i| {
            let (word, shift) = (i * bits / 32, i * bits % 32);
            let next = words.get(word + 1).copied().unwrap_or(0);
            let wide = u64::from(words[word]) | (u64::from(next) << 32);
            ((wide >> shift) & mask) as u32
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_pack_and_unpack() {
        for bits in [1, 2, 3, 4, 5, 6, 8] {
            let codes: Vec<u32> = (0..64u32).map(|i| (i * 37 + i / 7) & ((1 << bits) - 1)).collect();
            let words = pack(&codes, bits);
            assert_eq!(words.len(), 2 * bits);
            assert_eq!(unpack(&words, bits), codes);
        }
        assert_eq!(pack(&[7, 1, 0, 5, 2, 0, 0, 0, 1, 0, 7], 3), [0xC100_2A0F, 1]);
    }

    #[test]
    fn powers_lie_at_or_above() {
        let x = 2f32.powi(-12);
        for (x, code) in [
            (1.0, 127),
            (x, 115),
            (x.next_up(), 116),
            (x.next_down(), 115),
            (0.0, 127),
            (f32::MAX, 254),
            (f32::from_bits(1), 0),
            (f32::INFINITY, 255),
            (f32::NAN, 255),
        ] {
            assert_eq!(power_above(x), code, "{x:e}");
        }
    }
}
