use oneir_tensor::{DType, HostTensor, Values, decode_e4m3};

use super::case::{of, t};
use super::fields::Dequantize;
use super::quantize::{quant, uneven};
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::transforms::Over;
use super::{Case, Primitive, Quant, QuantMode, one};
use crate::{Invalid, Spec, Specs};

/// Numbers without a pattern, quantized, for a case.
pub(super) fn quantized(quant: &Quant, dtype: DType, shape: &[usize]) -> Vec<HostTensor> {
    Primitive::Quantize { quant: quant.clone() }
        .evaluate(&[uneven(dtype, shape)])
        .unwrap_or_else(|e| panic!("a case's tensor: {e}"))
}

impl Rules for Dequantize<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        one(self.quant.restored(inputs, *self.dtype)?)
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let spec = self.results(inputs)?.remove(0);
        let numbers = Values::Float(self.quant.restore(inputs, spec.dtype)?);
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &numbers)?])
    }

    fn nature(&self) -> Nature {
        Nature::Opaque
    }

    fn derivative(&self) -> Derivative<'_> {
        if !self.quant.has_biases() {
            return Derivative::Zero;
        }
        Derivative::linear(Over::Only(vec![1, 2]), |at, cotangent| {
            let (scales, biases) = self.quant.group_cotangents(&at.inputs[0], &at.inputs[1], cotangent)?;
            Ok(vec![None, Some(scales), Some(biases)])
        })
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Same
    }

    fn cases() -> Vec<Case> {
        use DType::{BF16, F16, F32};
        use QuantMode::{Affine, Mxfp4, Mxfp8, Nvfp4};
        let dequantize = |quant, dtype| Primitive::Dequantize { quant, dtype };
        #[rustfmt::skip]
        let streams: [(&[u32], usize, [u32; 32]); 7] = [
            (&[0x9E3779B1], 1, [1, 0, 0, 0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1]),
            (&[0x9E3779B1, 0x3C6EF362], 2, [1, 0, 3, 2, 1, 2, 3, 1, 3, 1, 3, 0, 2, 3, 1, 2, 2, 0, 2, 1, 3, 0, 3, 3, 2, 3, 2, 1, 0, 3, 3, 0]),
            (&[0x9E3779B1, 0x3C6EF362, 0xDAA66D13], 3, [1, 6, 6, 4, 7, 6, 5, 1, 6, 3, 2, 1, 6, 6, 4, 7, 6, 5, 1, 6, 3, 6, 4, 0, 5, 5, 1, 3, 2, 5, 6, 6]),
            (&[0x9E3779B1, 0x3C6EF362, 0xDAA66D13, 0x78DDE6C4], 4, [1, 11, 9, 7, 7, 3, 14, 9, 2, 6, 3, 15, 14, 6, 12, 3, 3, 1, 13, 6, 6, 10, 10, 13, 4, 12, 6, 14, 13, 13, 8, 7]),
            (&[0x9E3779B1, 0x3C6EF362, 0xDAA66D13, 0x78DDE6C4, 0x17156075], 5, [17, 13, 30, 14, 3, 15, 10, 12, 19, 23, 27, 24, 19, 9, 20, 13, 6, 21, 22, 9, 12, 19, 23, 27, 24, 11, 29, 0, 22, 10, 28, 2]),
            (&[0x9E3779B1, 0x3C6EF362, 0xDAA66D13, 0x78DDE6C4, 0x17156075, 0xB54CDA26], 6, [49, 38, 55, 13, 30, 10, 54, 60, 46, 49, 51, 4, 45, 25, 42, 54, 4, 27, 30, 55, 56, 21, 7, 24, 21, 28, 33, 9, 26, 51, 20, 45]),
            (&[0x9E3779B1, 0x3C6EF362, 0xDAA66D13, 0x78DDE6C4, 0x17156075, 0xB54CDA26, 0x538453D7, 0xF1BBCD88], 8, [177, 121, 55, 158, 98, 243, 110, 60, 19, 109, 166, 218, 196, 230, 221, 120, 117, 96, 21, 23, 38, 218, 76, 181, 215, 83, 132, 83, 136, 205, 187, 241]),
        ];
        let mut cases = Vec::new();
        for (words, bits, codes) in streams {
            let numbers = codes.map(|code| f64::from(code) * 0.25 - 3.0);
            for dtype in [F32, F16, BF16] {
                cases.push(Case::new(
                    dequantize(quant(Affine, 32, bits), dtype),
                    vec![
                        t(&[1, words.len()], words),
                        of(dtype, &[1, 1], &[0.25]),
                        of(dtype, &[1, 1], &[-3.0]),
                    ],
                    vec![of(dtype, &[1, 32], &numbers)],
                ));
            }
        }
        let words = || t(&[4], streams[3].0);
        let fours = [0x7654_3210u32, 0xFEDC_BA98, 0x7654_3210, 0xFEDC_BA98];
        let e2m1 = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0];
        let scaled = |scale: f64, times: usize| e2m1.map(|x| x * scale).repeat(times);
        for dtype in [F32, F16, BF16] {
            cases.extend([
                Case::new(
                    dequantize(quant(Mxfp4, 32, 4), dtype),
                    vec![t(&[2, 4], &fours.repeat(2)), t(&[2, 1], &[127u8, 120])],
                    vec![of(dtype, &[2, 32], &[scaled(1.0, 2), scaled(2f64.powi(-7), 2)].concat())],
                ),
                Case::new(
                    dequantize(quant(Nvfp4, 16, 4), dtype),
                    vec![t(&[4], &fours), t(&[2], &[0x38u8, 0x31])],
                    vec![of(dtype, &[32], &[scaled(1.0, 1), scaled(0.5625, 1)].concat())],
                ),
                Case::new(
                    dequantize(quant(Nvfp4, 16, 4), dtype),
                    vec![t(&[2], &fours[..2]), t(&[1], &[0x7Fu8])],
                    vec![of(dtype, &[16], &[f64::NAN; 16])],
                ),
                Case::new(
                    dequantize(quant(Mxfp4, 32, 4), dtype),
                    vec![t(&[4], &fours), t(&[1], &[0xFFu8])],
                    vec![of(dtype, &[32], &[f64::NAN; 32])],
                ),
                Case::new(
                    dequantize(quant(Affine, 32, 4), dtype),
                    vec![t::<u32>(&[2, 0], &[]), of(dtype, &[2, 0], &[]), of(dtype, &[2, 0], &[])],
                    vec![of(dtype, &[2, 0], &[])],
                ),
            ]);
            let bytes: Vec<u8> = (0..=255).collect();
            let code = |b: &u8| f64::from(decode_e4m3(*b)) * 2.0;
            cases.push(Case::new(
                dequantize(quant(Mxfp8, 32, 8), dtype),
                vec![
                    HostTensor::from_bytes(DType::U32, &[64], &bytes)
                        .unwrap_or_else(|e| panic!("a case's tensor: {e}")),
                    t(&[8], &[128u8; 8]),
                ],
                vec![of(dtype, &[256], &bytes.iter().map(code).collect::<Vec<_>>())],
            ));
        }
        let extreme = |code: u8, scale: f64| {
            Case::new(
                dequantize(quant(Mxfp4, 32, 4), F32),
                vec![t(&[4], &fours), t(&[1], &[code])],
                vec![of(F32, &[32], &scaled(scale, 2))],
            )
        };
        let scale_and_bias =
            |dtype, scale, bias| vec![words(), of(dtype, &[1], &[scale]), of(dtype, &[1], &[bias])];
        let affine = || dequantize(quant(Affine, 32, 4), F32);
        let one = || of(F32, &[1], &[1.0]);
        #[rustfmt::skip]
        cases.extend([
            extreme(0, 2f64.powi(-127)),
            extreme(254, 2f64.powi(127)),
            // Past f16, a scale is infinite before it meets its codes.
            Case::new(
                dequantize(quant(Mxfp4, 32, 4), F16),
                vec![t(&[4], &[0xA210_A210u32; 4]), t(&[1], &[143u8])],
                vec![of(F16, &[32], &[f64::NAN, f64::INFINITY, f64::INFINITY, -f64::INFINITY].repeat(8))],
            ),
            // Halves round twice: the product, then the sum.
            Case::new(
                dequantize(quant(Affine, 32, 4), F16),
                scale_and_bias(F16, 0.3, -1.7),
                vec![of(F16, &[32], &[-1.400390625, 1.6005859375, 1.0009765625, 0.3994140625, 0.3994140625, -0.7998046875, 2.5, 1.0009765625, -1.099609375, 0.1005859375, -0.7998046875, 2.80078125, 2.5, 0.1005859375, 1.9013671875, -0.7998046875, -0.7998046875, -1.400390625, 2.19921875, 0.1005859375, 0.1005859375, 1.2998046875, 1.2998046875, 2.19921875, -0.5, 1.9013671875, 0.1005859375, 2.5, 2.19921875, 2.19921875, 0.7001953125, 0.3994140625])],
            ),
            Case::new(
                dequantize(quant(Affine, 32, 4), BF16),
                scale_and_bias(BF16, 0.3, -1.7),
                vec![of(BF16, &[32], &[-1.40625, 1.609375, 1.0, 0.40625, 0.40625, -0.80078125, 2.515625, 1.0, -1.1015625, 0.1015625, -0.80078125, 2.796875, 2.515625, 0.1015625, 1.90625, -0.80078125, -0.80078125, -1.40625, 2.203125, 0.1015625, 0.1015625, 1.296875, 1.296875, 2.203125, -0.5, 1.90625, 0.1015625, 2.515625, 2.203125, 2.203125, 0.703125, 0.40625])],
            ),
            Case::refused(affine(), vec![words(), one()], "words, scales and biases as inputs, found 2"),
            Case::refused(
                dequantize(quant(Mxfp4, 32, 4), F32),
                vec![words(), t(&[1], &[127u8]), one()],
                "words and scales as inputs, found 3",
            ),
            Case::refused(affine(), vec![words(), t(&[2], &[1f32, 1.0]), t(&[2], &[1f32, 1.0])], "must have shape [8]"),
            Case::refused(affine(), vec![words(), one(), t(&[2], &[1f32, 1.0])], "the biases must have shape [1]"),
            Case::refused(affine(), vec![words(), t(&[], &[1f32]), one()], "the scales must have at least 1"),
            Case::refused(affine(), vec![t(&[4], &[0i32; 4]), one(), one()], "the words must be u32"),
            Case::refused(affine(), scale_and_bias(F16, 1.0, 0.0), "the scales must be of the dequantized dtype"),
            Case::refused(
                dequantize(quant(Mxfp8, 32, 8), F32),
                vec![t(&[8], &[0u32; 8]), one()],
                "the scales must be u8",
            ),
            Case::refused(dequantize(quant(Affine, 32, 4), DType::F64), vec![], "f16, bf16 or f32"),
            Case::refused(dequantize(quant(Affine, 48, 4), F32), vec![], "group_size = 48"),
        ]);
        for quant in [quant(Affine, 64, 5), quant(Mxfp4, 32, 4), quant(Mxfp8, 32, 8), quant(Nvfp4, 16, 4)] {
            for dtype in [F32, F16, BF16] {
                let packed = quantized(&quant, dtype, &[3, 5, 256]);
                cases.push(Case::parity(dequantize(quant.clone(), dtype), packed));
            }
        }
        cases
    }
}
