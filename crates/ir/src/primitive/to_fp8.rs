use oneir_tensor::{DType, HostTensor, Values};

use super::case::{for_dtypes, of, t};
use super::fields::ToFp8;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, Primitive, one};
use crate::invalid::{dtype_is, exactly};
use crate::{Invalid, Spec, Specs};

/// The E4M3 code nearest to each number, in one rounding whatever their dtype.
pub(super) fn e4m3_codes(numbers: &[f64]) -> Vec<u8> {
    let codes = Values::Float(numbers.to_vec()).encode(DType::F8E4M3FN);
    // The sign of a NaN differs from machine to machine.
    codes.into_iter().zip(numbers).map(|(code, x)| if x.is_nan() { 0x7F } else { code }).collect()
}

impl Rules for ToFp8<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        dtype_is("the input", x, "a float", |d| d.computes() && d.is_float())?;
        one(x.with_dtype(DType::U8))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let spec = self.results(inputs)?.remove(0);
        let codes = e4m3_codes(&inputs[0].values()?.to_floats());
        Ok(vec![HostTensor::from_bytes(spec.dtype, &spec.shape, &codes)?])
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
        use DType::{BF16, F16, F32, F64};
        let known = vec![
            Case::new(
                Primitive::ToFp8,
                vec![of(F32, &[2, 4], &[0.0, -0.0, 1.0, -1.0, 448.0, 464.0, 1000.0, -20000.0])],
                vec![t(&[2, 4], &[0u8, 0x80, 0x38, 0xB8, 0x7E, 0x7E, 0x7E, 0xFE])],
            ),
            // Ties go to the even code, below the smallest normal number too.
            Case::new(
                Primitive::ToFp8,
                vec![of(F32, &[5], &[1.0625, 1.1875, -1.0625, 0.0009765625, 0.0029296875])],
                vec![t(&[5], &[0x38u8, 0x3A, 0xB8, 0, 2])],
            ),
            Case::new(
                Primitive::ToFp8,
                vec![of(F32, &[3], &[f64::INFINITY, f64::NEG_INFINITY, f64::NAN])],
                vec![t(&[3], &[0x7Eu8, 0xFE, 0x7F])],
            ),
            Case::new(Primitive::ToFp8, vec![of(F32, &[0, 2], &[])], vec![t::<u8>(&[0, 2], &[])]),
            Case::new(Primitive::ToFp8, vec![of(F32, &[], &[-2.0])], vec![t(&[], &[0xC0u8])]),
        ];
        let mut cases = for_dtypes(F32, &[F16, BF16, F64], known);
        cases.extend([
            // Rounded to f32 first, this would be a tie.
            Case::new(
                Primitive::ToFp8,
                vec![t(&[2], &[1.0625 + 1e-12, -f64::NAN])],
                vec![t(&[2], &[0x39u8, 0x7F])],
            ),
            Case::refused(Primitive::ToFp8, vec![t(&[1], &[1i32])], "the input must be a float, found i32"),
            Case::refused(Primitive::ToFp8, vec![of(DType::F8E5M2, &[1], &[1.0])], "must be a float"),
            Case::refused(Primitive::ToFp8, vec![], "expected 1 inputs"),
        ]);
        cases
    }
}
