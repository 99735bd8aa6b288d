use oneir_tensor::{DType, HostTensor};

use super::case::t;
use super::fields::View;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, Primitive, one};
use crate::invalid::{dtype_is, exactly};
use crate::{Invalid, Place, Spec, Specs, Value};

impl Rules for View<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        dtype_is("the input", x, "of whole bytes", |d| d.size().is_some())?;
        let (Some(from), Some(to)) = (x.dtype.size(), self.dtype.size()) else {
            return Err(Invalid::DType {
                operand: "the result",
                expected: "of whole bytes",
                found: *self.dtype,
            });
        };
        let mut shape = x.shape.clone();
        if from != to {
            let Some(last) = shape.rank().checked_sub(1) else {
                return Err(Invalid::Rank { operand: "the input", expected: "at least 1", found: vec![] });
            };
            let bytes =
                shape[last].checked_mul(from).filter(|bytes| bytes % to == 0).ok_or(Invalid::Parameter {
                    parameter: "dtype",
                    found: self.dtype.to_string(),
                    expected: "an element size that divides the last dimension's bytes",
                })?;
            shape[last] = bytes / to;
        }
        one(Spec::new(*self.dtype, shape))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [x] = inputs else { return Err(Invalid::Arity { expected: "1", found: inputs.len() }.into()) };
        let out = self.infer(&[&Spec::new(x.dtype(), x.shape().clone())])?.remove(0);
        Ok(vec![HostTensor::from_bytes(*self.dtype, &out.shape, &x.bytes())?])
    }

    fn nature(&self) -> Nature {
        Nature::Movement
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::Chosen(Box::new(|inputs, _| {
            let from = inputs[0].spec().dtype;
            if !from.is_inexact() && !self.dtype.is_inexact() {
                Derivative::Zero
            } else if from == *self.dtype {
                Derivative::linear_unary(|_, cotangent| Ok(cotangent.clone()))
            } else if matches!(
                (from, *self.dtype),
                (DType::F32, DType::Complex64) | (DType::Complex64, DType::F32)
            ) {
                // The parts of complex numbers lie beside each other.
                Derivative::linear_unary(move |_, cotangent| {
                    Value::record(Primitive::View(from), &[cotangent], Place::Internal)
                })
            } else {
                Derivative::Undefined(
                    "bytes read as another element type do not change smoothly with what they were",
                )
            }
        }))
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Same
    }

    fn cases() -> Vec<Case> {
        let c = oneir_tensor::Complex32::new;
        vec![
            Case::new(
                Primitive::View(DType::Complex64),
                vec![t(&[2, 2], &[1f32, -2.0, 0.5, 3.0])],
                vec![t(&[2, 1], &[c(1.0, -2.0), c(0.5, 3.0)])],
            ),
            Case::new(
                Primitive::View(DType::F32),
                vec![t(&[2], &[c(1.0, -2.0), c(0.5, 3.0)])],
                vec![t(&[4], &[1f32, -2.0, 0.5, 3.0])],
            ),
            Case::new(
                Primitive::View(DType::F64),
                vec![t(&[2], &[1.0f64, 2.0])],
                vec![t(&[2], &[1.0f64, 2.0])],
            ),
            Case::new(
                Primitive::View(DType::U32),
                vec![t(&[1], &[1.0f32])],
                vec![t(&[1], &[0x3F80_0000u32])],
            ),
            Case::new(
                Primitive::View(DType::U8),
                vec![t(&[1, 1], &[0x0102u16])],
                vec![t(&[1, 2], &[2u8, 1])],
            ),
            Case::new(Primitive::View(DType::U16), vec![t(&[2], &[2u8, 1])], vec![t(&[1], &[0x0102u16])]),
            Case::refused(
                Primitive::View(DType::U32),
                vec![t(&[3], &[1u8, 2, 3])],
                "divides the last dimension",
            ),
            Case::refused(Primitive::View(DType::U32), vec![t(&[], &[1u8])], "at least 1 dimensions"),
        ]
    }
}
