use oneir_tensor::{DType, HostTensor};

use super::case::{for_dtypes, of, t};
use super::fields::Binary;
use super::partials::of_binary;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules, StepOp};
use super::{Case, Primitive, one};
use crate::invalid::{exactly, same_dtype, shape_is};
use crate::scalar::BinaryOp;
use crate::{Invalid, Spec, Specs};

impl Rules for Binary<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [a, b] = exactly(inputs)?;
        same_dtype(a, b)?;
        shape_is("the right operand", b, &a.shape)?;
        one(a.with_dtype(self.op.result(a.dtype)?))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [a, b] = inputs else { return Err(Invalid::Arity { expected: "2", found: inputs.len() }.into()) };
        let dtype = self.op.result(a.dtype())?;
        shape_is("the right operand", &Spec::of(b), a.shape())?;
        let values = self
            .op
            .eval(&a.values()?, &b.values()?)
            .ok_or(Invalid::DTypesDiffer { left: a.dtype(), right: b.dtype() })?;
        Ok(vec![HostTensor::from_values(dtype, a.shape(), &values.convert(dtype))?])
    }

    fn nature(&self) -> Nature {
        Nature::ElementWise
    }

    fn step(&self) -> Option<StepOp> {
        Some(StepOp::Binary(*self.op))
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::partials(|at, k| of_binary(*self.op, k, &at.inputs[0], &at.inputs[1], &at.outputs[0]))
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Same
    }

    fn cases() -> Vec<Case> {
        use BinaryOp::{Add, Divide, Maximum, Power, ShiftRight};
        let known = vec![
            Case::new(
                Primitive::Binary(Add),
                vec![of(DType::F32, &[3], &[1.0, 2.0, 3.0]), of(DType::F32, &[3], &[4.0, 5.0, 6.0])],
                vec![of(DType::F32, &[3], &[5.0, 7.0, 9.0])],
            ),
            Case::new(
                Primitive::Binary(Maximum),
                vec![of(DType::F32, &[2], &[1.0, 5.0]), of(DType::F32, &[2], &[4.0, 2.0])],
                vec![of(DType::F32, &[2], &[4.0, 5.0])],
            ),
        ];
        let numeric: Vec<DType> = DType::COMPUTE.iter().copied().filter(|d| *d != DType::Bool).collect();
        let mut cases = for_dtypes(DType::F32, &numeric, known);
        cases.push(Case::new(
            Primitive::Binary(Divide),
            vec![t(&[4], &[7i32, -7, 7, i32::MIN]), t(&[4], &[2i32, 2, 0, -1])],
            vec![t(&[4], &[3i32, -3, 0, i32::MIN])],
        ));
        cases.push(Case::new(
            Primitive::Binary(Maximum),
            vec![of(DType::F32, &[2], &[f64::NAN, 1.0]), of(DType::F32, &[2], &[0.0, f64::NAN])],
            vec![of(DType::F32, &[2], &[f64::NAN, f64::NAN])],
        ));
        cases.push(Case::new(
            Primitive::Binary(Power),
            vec![t(&[3], &[2u8, 3, 255]), t(&[3], &[8u8, 3, 2])],
            vec![t(&[3], &[0u8, 27, 1])],
        ));
        cases.push(Case::new(
            Primitive::Binary(ShiftRight),
            vec![t(&[2], &[-8i16, 8]), t(&[2], &[1i16, 99])],
            vec![t(&[2], &[-4i16, 0])],
        ));
        cases.push(Case::refused(
            Primitive::Binary(Add),
            vec![t(&[2], &[1i32, 2]), t(&[1], &[1i32])],
            "the right operand must have shape [2], found [1]",
        ));
        cases.push(Case::refused(
            Primitive::Binary(Add),
            vec![t(&[1], &[1i32]), t(&[1], &[1f32])],
            "operands must share a dtype, found i32 and f32",
        ));
        for &op in BinaryOp::ALL {
            for dtype in DType::COMPUTE {
                if op.result(dtype).is_ok() {
                    let a = of(dtype, &[2, 3], &[1.5, 2.0, 3.0, 0.25, 5.0, 6.5]);
                    let b = of(dtype, &[2, 3], &[2.0, 2.0, 1.0, 0.5, 3.0, 1.0]);
                    cases.push(Case::parity(Primitive::Binary(op), vec![a, b]));
                }
            }
        }
        cases
    }
}
