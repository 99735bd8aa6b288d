use oneir_tensor::{DType, HostTensor, Values};
use smallvec::smallvec;

use super::case::{of, t};
use super::fields::Quantize;
use super::quant::{LEAST_STEP, pack, weight_float};
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, Primitive, Quant, QuantMode, ReduceOp};
use crate::invalid::exactly;
use crate::{BinaryOp, Invalid, Place, Spec, Specs, UnaryOp, Value};

/// A format for a case.
pub(super) fn quant(mode: QuantMode, group_size: usize, bits: usize) -> Quant {
    Quant { mode, group_size, bits }
}

/// Numbers between -1.3 and 1.75 without a pattern, for a case.
pub(super) fn uneven(dtype: DType, shape: &[usize]) -> HostTensor {
    let number = |i: usize| f64::from(((i * i * 7919 + 13) % 1009) as f32 / 331.0 - 1.3);
    of(dtype, shape, &(0..shape.iter().product()).map(number).collect::<Vec<_>>())
}

impl Quantize<'_> {
    /// The results by functions that have derivatives. How many steps lie between a
    /// group's extreme and zero changes in jumps only, like the codes.
    fn smooth(&self, x: &Value) -> Result<Vec<Value>, Invalid> {
        let constant = Value::record(Primitive::StopGradient, &[x], Place::Internal)?;
        let fixed = Value::record_all(
            Primitive::Quantize { quant: self.quant.clone() },
            &[&constant],
            Place::Internal,
        )?;
        let (codes, scales) = (fixed[0].clone(), &fixed[1]);
        let shape = &scales.spec().shape;
        let groups: Vec<usize> = shape.iter().copied().chain([self.quant.group_size]).collect();
        let groups = x.reshape(&groups)?;
        let extreme = |op| groups.reduce(op, &[shape.rank()])?.reshape(shape);
        let (low, high) = (extreme(ReduceOp::Min)?, extreme(ReduceOp::Max)?);
        let top = scales.filled_like(f64::from((1u32 << self.quant.bits) - 1))?;
        let step = high.subtract(&low)?.divide(&top)?;
        let step = step.binary(BinaryOp::Maximum, &step.filled_like(LEAST_STEP)?)?;
        if self.quant.bits == 1 {
            return Ok(vec![codes, step, low]);
        }
        let size = |x: &Value| x.unary(UnaryOp::Abs);
        let falls = size(&low)?.binary(BinaryOp::Greater, &size(&high)?)?;
        let edge = falls.select(&low, &high)?;
        let step = falls.select(&step, &step.unary(UnaryOp::Neg)?)?;
        let fixed_edge = Value::record(Primitive::StopGradient, &[&edge], Place::Internal)?;
        let steps = fixed_edge.divide(scales)?.unary(UnaryOp::Round)?;
        let zero = steps.filled_like(0.0)?;
        let none = steps.binary(BinaryOp::Equal, &zero)?;
        let by = none.select(&steps.filled_like(1.0)?, &steps)?;
        Ok(vec![codes, none.select(&step, &edge.divide(&by)?)?, none.select(&zero, &edge)?])
    }
}

impl Rules for Quantize<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        self.quant.check()?;
        weight_float(x.dtype)?;
        let Some((&len, lead)) = x.shape.split_last() else {
            return Err(Invalid::Rank { operand: "the input", expected: "at least 1", found: vec![] });
        };
        if len % self.quant.group_size != 0 {
            return Err(Invalid::Parameter {
                parameter: "group_size",
                found: self.quant.group_size.to_string(),
                expected: "a divisor of the last size",
            });
        }
        let row = |size| lead.iter().copied().chain([size]).collect::<Vec<_>>();
        let scales = Spec::new(self.quant.scale_dtype(x.dtype), row(len / self.quant.group_size));
        let mut results: Specs = smallvec![Spec::new(DType::U32, row(self.quant.words(len))), scales.clone()];
        if self.quant.has_biases() {
            results.push(scales);
        }
        Ok(results)
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let specs = self.results(inputs)?;
        let quantized = self.quant.quantize(&inputs[0].values()?, inputs[0].dtype())?;
        let words = pack(&quantized.codes, self.quant.bits);
        let mut results = vec![
            HostTensor::from_slice(&specs[0].shape, &words)?,
            HostTensor::from_values(specs[1].dtype, &specs[1].shape, &quantized.scales)?,
        ];
        if let Some(spec) = specs.get(2) {
            results.push(HostTensor::from_values(spec.dtype, &spec.shape, &Values::Float(quantized.biases))?);
        }
        Ok(results)
    }

    fn nature(&self) -> Nature {
        Nature::Opaque
    }

    fn derivative(&self) -> Derivative<'_> {
        // Codes, and the scales of other modes, are integers.
        match self.quant.has_biases() {
            true => Derivative::Via(Box::new(|inputs| self.smooth(&inputs[0]))),
            false => Derivative::Zero,
        }
    }

    fn batching(&self) -> Batching<'_> {
        // Groups lie along the last axis.
        Batching::Same
    }

    fn cases() -> Vec<Case> {
        use DType::{BF16, F16, F32};
        use QuantMode::{Affine, Mxfp4, Mxfp8, Nvfp4};
        let baked = |dtype, quant: Quant, len, words: &[u32], scales: &[f64], biases: &[f64]| {
            let groups = scales.len();
            let mut results =
                vec![t(&[1, words.len()], words), of(quant.scale_dtype(dtype), &[1, groups], scales)];
            if quant.has_biases() {
                results.push(of(dtype, &[1, groups], biases));
            }
            Case::new(Primitive::Quantize { quant }, vec![uneven(dtype, &[1, len])], results)
        };
        #[rustfmt::skip]
        let mut cases = vec![
            baked(F32, quant(Affine, 32, 1), 64, &[0x6DC48EDA, 0x245F2C07], &[2.6888218, 2.8670695], &[-1.260725, -1.1459215]),
            baked(F32, quant(Affine, 32, 2), 64, &[0x3B475D63, 0xEBAD1ECF, 0xF26EBAD1, 0xF7CA9C41], &[-0.7140484, -0.860574], &[1.4280968, 1.721148]),
            baked(F32, quant(Affine, 32, 3), 64, &[0x0D6F3507, 0x5A361664, 0xADF8F22B, 0xF49E4A8A, 0x8602F844, 0xD96C6CA7], &[-0.3570242, -0.430287], &[1.4280968, 1.721148]),
            baked(F32, quant(Affine, 32, 4), 64, &[0x56B5481F, 0x0A9C413A, 0x25D9B0CC, 0xA67D77B4, 0xAF98C424, 0xFD1967E9, 0xB2F06116, 0xDE3ED1A8], &[-0.1785121, -0.19123867], &[1.4280968, 1.721148]),
            baked(F32, quant(Affine, 32, 5), 64, &[0x2EB4443E, 0x9408D45B, 0x83180563, 0xC81A752A, 0xAB1DA736, 0xE71CA489, 0x2643D4AF, 0x884CFF03, 0xD1B97E06, 0xE74FDE0E], &[-0.08925605, -0.09058674], &[1.4280968, 1.721148]),
            baked(F32, quant(Affine, 32, 6), 64, &[0xD64620BE, 0x3329598B, 0x02A93340, 0x66B01CB1, 0xBB901D3D, 0xAD977679, 0xA1C521D1, 0xFEE8A7F9, 0xFF80E561, 0x80684117, 0x5AE2B4AF, 0xDFA3BADC], &[-0.043275658, -0.04529337], &[1.4280968, 1.721148]),
            baked(F32, quant(Affine, 32, 8), 64, &[0x478D0AFE, 0x5A62C259, 0x420D2FA9, 0x00AE93CF, 0xB303CBCA, 0x1C4FD99B, 0x7A70BC41, 0xAE6675DC, 0xC6491E44, 0xA7FF9A87, 0x5F7DEEA1, 0xFFE30B93, 0x67120F5E, 0xB728FA00, 0xDE15AE89, 0xDEEA3AEA], &[-0.0105784945, -0.011249334], &[1.4280968, 1.721148]),
            baked(F32, quant(Affine, 64, 1), 64, &[0x45C48EDA, 0x245F2C07], &[2.981873], &[-1.260725]),
            baked(F32, quant(Affine, 64, 4), 64, &[0x77C6592F, 0x2BAD524B, 0x36EAB2DD, 0xB78E88C5, 0xAF98C424, 0xFD1967E9, 0xB2F06116, 0xDE3ED1A8], &[-0.19123867], &[1.721148]),
            baked(F32, quant(Affine, 64, 5), 64, &[0xB2D5CC9F, 0xA515166B, 0x8F591DA7, 0x0A33374B, 0xB3A1B8BF, 0xA50BA468, 0x15BF93A7, 0x084BF6C3, 0x90B17A06, 0xD70FCD0E], &[-0.095619336], &[1.721148]),
            baked(F32, quant(Affine, 128, 2), 128, &[0x2B566D63, 0xABAD5ECF, 0xF26EBAD1, 0xF7CA9C41, 0x63D07CA8, 0xB991ABAE, 0x7A3CAD5E, 0x96325D64], &[-0.860574], &[1.721148]),
            baked(F32, quant(Affine, 128, 3), 128, &[0x556EB50F, 0x4A763664, 0xAE68EA2F, 0xF49E4A8A, 0x8602F844, 0xD96C6CA7, 0x807F1B29, 0x6933506E, 0x79BA8AAE, 0x68B322AB, 0xB7095651, 0xA941C44A], &[-0.430287], &[1.721148]),
            baked(F32, quant(Affine, 128, 8), 128, &[0x589621FB, 0x6970C668, 0x542443AF, 0x19B39BD1, 0xB91CCECD, 0x325FDAA2, 0x867CC152, 0xB47481DD, 0xBC451C41, 0x9EF19280, 0x5A77E199, 0xF2D70A8C, 0x62110E59, 0xAD26ED00, 0xD314A582, 0xD2DE37DE, 0xAC81A414, 0x5FFFEB24, 0xEE560B0E, 0x568706D4, 0x9893DC72, 0xB5798BEB, 0xAC3A153E, 0x7DD5796C, 0x2849B873, 0xAE98D055, 0x0DC1C211, 0x47C48FA7, 0x5BA23617, 0x4959B762, 0x12EC1287, 0xB5574886], &[-0.011869987], &[1.721148]),
            baked(F16, quant(Affine, 32, 1), 64, &[0x6DC48EDA, 0x245F2C07], &[2.6875, 2.8671875], &[-1.2607422, -1.1455078]),
            baked(F16, quant(Affine, 32, 3), 64, &[0x0D6F3507, 0x5A361664, 0xADF8F22B, 0xF49E4A8A, 0x8602F844, 0xD96C6CA7], &[-0.3569336, -0.43017578], &[1.4277344, 1.7207031]),
            baked(F16, quant(Affine, 64, 4), 64, &[0x77C6592F, 0x2BAD524B, 0x36EAB2DD, 0xB78E88C5, 0xAF98C424, 0xFD1967E9, 0xB2F06116, 0xDE3ED1A8], &[-0.19116211], &[1.7207031]),
            baked(F16, quant(Affine, 64, 6), 64, &[0x5A5A523E, 0x946C69CC, 0x1AD9F454, 0xA8B87CF3, 0xFC14318D, 0xB5D83785, 0x20BD11D0, 0xEE269FC9, 0xF350E359, 0xC06040D6, 0x5A60AC9E, 0xD373B7D0], &[-0.047790527], &[1.7207031]),
            baked(F16, quant(Affine, 128, 8), 128, &[0x589621FB, 0x6970C668, 0x542443AF, 0x19B39BD1, 0xB91CCECD, 0x325FDAA2, 0x867CC152, 0xB47481DD, 0xBC451C41, 0x9EF19280, 0x5A77E199, 0xF2D70A8C, 0x62110E59, 0xAD26ED00, 0xD314A582, 0xD2DE37DE, 0xAC81A414, 0x5FFFEB24, 0xEE560B0E, 0x568706D4, 0x9893DC72, 0xB5798BEB, 0xAC3A153E, 0x7DD5796C, 0x2849B873, 0xAE98D055, 0x0DC1C211, 0x47C58FA7, 0x5BA23617, 0x4959B762, 0x12EC1287, 0xB5574886], &[-0.0118637085], &[1.7207031]),
            baked(BF16, quant(Affine, 32, 1), 64, &[0x6DC48EDA, 0x245F2C07], &[2.6875, 2.875], &[-1.2578125, -1.1484375]),
            baked(BF16, quant(Affine, 32, 3), 64, &[0x0D6F3507, 0x5A361664, 0xADF8F22B, 0xF49E4A8A, 0x8602F844, 0xD96C6CA7], &[-0.35742188, -0.4296875], &[1.4296875, 1.71875]),
            baked(BF16, quant(Affine, 64, 4), 64, &[0x77C6592F, 0x2BAD524B, 0x36EAB2DD, 0xB78E88C5, 0xAF98C424, 0xFD1967E9, 0xB2F06116, 0xDE3ED1A8], &[-0.19140625], &[1.71875]),
            baked(BF16, quant(Affine, 64, 6), 64, &[0x5A5A523E, 0x946C69CC, 0x1AD9F454, 0xA8B87CF3, 0xFC14318D, 0xB5D83785, 0x20BD11D0, 0xDE269FC9, 0xF360A359, 0xC06040D6, 0x5A60AC9E, 0xD373B7D0], &[-0.047851562], &[1.71875]),
            baked(BF16, quant(Affine, 128, 8), 128, &[0x589621FB, 0x6970C668, 0x542443AF, 0x18B39BD1, 0xB91CCECD, 0x315FDAA2, 0x867CC152, 0xB47481DD, 0xBC451C41, 0x9EF19280, 0x5A77E199, 0xF2D80A8C, 0x62110E59, 0xAD26ED00, 0xD314A582, 0xD2DE37DE, 0xAC81A413, 0x5FFEEB24, 0xEE550B0E, 0x568706D4, 0x9893DC72, 0xB5798BEB, 0xAC39143E, 0x7DD5796C, 0x2849B873, 0xAE98D055, 0x0DC1C210, 0x47C48FA8, 0x5BA23517, 0x4959B762, 0x11EC1287, 0xB5574886], &[-0.01184082], &[1.71875]),
            baked(F32, quant(Mxfp4, 32, 4), 64, &[0x43C4507F, 0x7B9D576B, 0x64DAC7DD, 0xB31E12C5, 0x9C01A454, 0xCB5031C0, 0x95C52553, 0xBC4CB591], &[125.0, 126.0], &[]),
            baked(F32, quant(Mxfp8, 32, 8), 64, &[0x73D87BFA, 0x6F6CF270, 0x747A77EC, 0x7BEDE0F4, 0xEF7BF4F3, 0x7972F6E5, 0x6168F174, 0xED6B64F6, 0xF0767B77, 0xE2F9BE65, 0x726AF7DC, 0xF9F57D58, 0x717C7C73, 0xEB7AF97E, 0xF47CE763, 0xF4F779F7], &[119.0, 119.0], &[]),
            baked(F32, quant(Nvfp4, 16, 4), 64, &[0x43D4597F, 0x7B9D576B, 0x65EAC7DD, 0xC32E12C5, 0x9E01C565, 0xED7042D9, 0xA6E74774, 0xDD6DD7A1], &[39.0, 39.0, 41.0, 41.0], &[]),
            baked(F16, quant(Mxfp4, 32, 4), 64, &[0x43C4507F, 0x7B9D576B, 0x64DAC7DD, 0xB31E12C5, 0x9C01A454, 0xCB5031C0, 0x95C52553, 0xBC4CB591], &[125.0, 126.0], &[]),
            baked(F16, quant(Mxfp8, 32, 8), 64, &[0x73D87BFA, 0x6F6CF270, 0x747A77EC, 0x7BEDE0F4, 0xEF7BF4F3, 0x7972F6E5, 0x6168F174, 0xED6B64F6, 0xF0767B77, 0xE2F9BE65, 0x726AF7DC, 0xF9F57D58, 0x717C7C73, 0xEB7AF97E, 0xF47CE763, 0xF4F779F7], &[119.0, 119.0], &[]),
            baked(F16, quant(Nvfp4, 16, 4), 64, &[0x43D4597F, 0x7B9D576B, 0x65EAC7DD, 0xC32E12C5, 0x9E01C565, 0xED7042D9, 0xA6E74774, 0xDD6DD7A1], &[39.0, 39.0, 41.0, 41.0], &[]),
            baked(BF16, quant(Mxfp4, 32, 4), 64, &[0x43C4507F, 0x7B9D576B, 0x64DAC7DD, 0xB31E12C5, 0x9C01A454, 0xCB5031C0, 0x95C52553, 0xBC4CB591], &[125.0, 126.0], &[]),
            baked(BF16, quant(Mxfp8, 32, 8), 64, &[0x73D87BFA, 0x6F6CF270, 0x747A77EC, 0x7BEDE0F4, 0xEF7BF4F3, 0x7972F6E5, 0x6168F174, 0xED6B64F6, 0xF0767B77, 0xE2F9BE65, 0x726AF7DC, 0xF9F57D58, 0x717C7C73, 0xEB7AF97E, 0xF47CE763, 0xF4F779F7], &[119.0, 119.0], &[]),
            baked(BF16, quant(Nvfp4, 16, 4), 64, &[0x43D4597F, 0x7B9D576B, 0x65EAC7DD, 0xC32E12C5, 0x9E01C565, 0xED7042D9, 0xA6E74774, 0xDD6DD7A1], &[39.0, 39.0, 41.0, 41.0], &[]),
        ];
        let quantize = |quant| Primitive::Quantize { quant };
        let ones = |shape: &[usize]| of(F32, shape, &vec![1.0; shape.iter().product()]);
        let affine = || quant(Affine, 32, 4);
        cases.extend([
            // Zero is kept exactly: it is a whole number of steps from the extreme.
            Case::new(
                quantize(affine()),
                vec![of(F32, &[32], &(0..32).map(|i| f64::from(i) - 16.0).collect::<Vec<_>>())],
                vec![
                    t(&[4], &[0x4322_2100u32, 0x8766_6544, 0xCBAA_A988, 0xFFEE_EDCC]),
                    of(F32, &[1], &[2.0]),
                    of(F32, &[1], &[-16.0]),
                ],
            ),
            Case::new(
                quantize(quant(Affine, 32, 2)),
                vec![ones(&[2, 1, 32])],
                vec![
                    t(&[2, 1, 2], &[0u32; 4]),
                    of(F32, &[2, 1, 1], &[-1e-7, -1e-7]),
                    of(F32, &[2, 1, 1], &[1.0, 1.0]),
                ],
            ),
            Case::new(
                quantize(quant(Affine, 32, 1)),
                vec![of(F32, &[32], &[0.0; 32])],
                vec![t(&[1], &[0u32]), of(F32, &[1], &[1e-7]), of(F32, &[1], &[0.0])],
            ),
            Case::new(
                quantize(quant(Mxfp4, 32, 4)),
                vec![of(F32, &[32], &[0.0; 32])],
                vec![t(&[4], &[0u32; 4]), t(&[1], &[127u8])],
            ),
            // The scale is the power of two from which the largest does not saturate.
            Case::new(
                quantize(quant(Mxfp4, 32, 4)),
                vec![of(F32, &[32], &[6.1; 32])],
                vec![t(&[4], &[0x5555_5555u32; 4]), t(&[1], &[128u8])],
            ),
            // Below E4M3's range, a scale is zero.
            Case::new(
                quantize(quant(Nvfp4, 16, 4)),
                vec![of(F32, &[16], &[0.001; 16])],
                vec![t(&[2], &[0u32; 2]), t(&[1], &[0u8])],
            ),
            Case::new(
                quantize(affine()),
                vec![of(F32, &[2, 0], &[])],
                vec![t::<u32>(&[2, 0], &[]), of(F32, &[2, 0], &[]), of(F32, &[2, 0], &[])],
            ),
            Case::new(
                quantize(quant(Mxfp8, 32, 8)),
                vec![of(BF16, &[0, 64], &[])],
                vec![t::<u32>(&[0, 16], &[]), t::<u8>(&[0, 2], &[])],
            ),
            Case::refused(
                quantize(quant(Affine, 16, 4)),
                vec![ones(&[32])],
                "group_size = 16 is not valid: 32, 64",
            ),
            Case::refused(quantize(quant(Affine, 32, 7)), vec![ones(&[32])], "bits = 7"),
            Case::refused(quantize(quant(Mxfp4, 32, 8)), vec![ones(&[32])], "bits = 8 is not valid: 4"),
            Case::refused(
                quantize(quant(Nvfp4, 32, 4)),
                vec![ones(&[32])],
                "group_size = 32 is not valid: 16",
            ),
            Case::refused(quantize(affine()), vec![ones(&[4, 33])], "a divisor of the last size"),
            Case::refused(quantize(affine()), vec![ones(&[])], "at least 1 dimensions"),
            Case::refused(quantize(affine()), vec![of(DType::F64, &[32], &[1.0; 32])], "f16, bf16 or f32"),
            Case::refused(quantize(affine()), vec![t(&[32], &[1i32; 32])], "f16, bf16 or f32"),
        ]);
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        for quant in [affine(), quant(Mxfp4, 32, 4), quant(Mxfp8, 32, 8), quant(Nvfp4, 16, 4)] {
            for special in [[nan, 1.0], [inf, 1.0], [-inf, inf], [nan, nan], [1e-44, 0.0], [3e38, -3e38]] {
                cases.push(Case::parity(quantize(quant.clone()), vec![of(F32, &[64], &special.repeat(32))]));
            }
            for dtype in [F32, F16, BF16] {
                cases.push(Case::parity(quantize(quant.clone()), vec![uneven(dtype, &[3, 5, 256])]));
            }
        }
        cases
    }
}
