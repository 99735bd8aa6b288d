use oneir_tensor::{DType, HostTensor};

use super::case::{of, t};
use super::fields::FromFp8;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, Primitive, one};
use crate::invalid::{dtype_is, exactly};
use crate::{Invalid, Spec, Specs};

impl Rules for FromFp8<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        dtype_is("the input", x, "u8", |d| d == DType::U8)?;
        if !(self.dtype.computes() && self.dtype.is_float()) {
            return Err(Invalid::Parameter {
                parameter: "dtype",
                found: self.dtype.to_string(),
                expected: "f16, bf16, f32 or f64",
            });
        }
        one(x.with_dtype(*self.dtype))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let spec = self.results(inputs)?.remove(0);
        let codes = HostTensor::from_bytes(DType::F8E4M3FN, &spec.shape, &inputs[0].bytes())?;
        Ok(vec![codes.cast(spec.dtype)?])
    }

    fn nature(&self) -> Nature {
        Nature::ElementWise
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::Zero
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Same
    }

    fn cases() -> Vec<Case> {
        let mut cases = vec![
            Case::refused(Primitive::FromFp8(DType::I32), vec![t(&[1], &[0u8])], "f16, bf16, f32 or f64"),
            Case::refused(Primitive::FromFp8(DType::F8E5M2), vec![t(&[1], &[0u8])], "dtype = f8e5m2"),
            Case::refused(Primitive::FromFp8(DType::F32), vec![t(&[1], &[0i8])], "must be u8"),
        ];
        let every_code: Vec<u8> = (0..=255).collect();
        for dtype in [DType::F16, DType::BF16, DType::F32, DType::F64] {
            let decode = Primitive::FromFp8(dtype);
            cases.extend([
                Case::new(
                    decode.clone(),
                    vec![t(&[2, 4], &[0u8, 0x80, 0x01, 0x08, 0x38, 0x39, 0xFE, 0x7E])],
                    vec![of(dtype, &[2, 4], &[0.0, -0.0, 0.001953125, 0.015625, 1.0, 1.125, -448.0, 448.0])],
                ),
                Case::new(
                    decode.clone(),
                    vec![t(&[2], &[0x7Fu8, 0xFF])],
                    vec![of(dtype, &[2], &[f64::NAN, f64::NAN])],
                ),
                Case::new(decode.clone(), vec![t(&[], &[0xB8u8])], vec![of(dtype, &[], &[-1.0])]),
                Case::new(decode.clone(), vec![t::<u8>(&[0], &[])], vec![of(dtype, &[0], &[])]),
                Case::parity(decode, vec![t(&[256], &every_code)]),
            ]);
        }
        cases
    }
}
