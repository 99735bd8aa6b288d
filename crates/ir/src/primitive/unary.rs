use oneir_tensor::{Complex32, DType, HostTensor};

use super::case::{for_dtypes, of, t};
use super::fields::Unary;
use super::partials::{of_unary, trigamma};
use super::rules::{Batching, Derivative, EvalError, Nature, Rules, StepOp};
use super::transforms::{Applied, Partial, Slots, scaled};
use super::{Case, Primitive, one};
use crate::invalid::exactly;
use crate::scalar::UnaryOp;
use crate::{Invalid, Spec, Specs, Value};

impl Unary<'_> {
    /// What becomes of a change: of a tangent, or in `reverse` of a cotangent.
    fn change(&self, at: &Applied<'_>, given: &[Option<Value>], reverse: bool) -> Result<Slots, Invalid> {
        let (Some(change), x, y) = (&given[0], &at.inputs[0], &at.outputs[0]) else { return Ok(vec![None]) };
        if !x.spec().dtype.is_inexact() || !y.spec().dtype.is_inexact() {
            return Ok(vec![None]);
        }
        let complex = x.spec().dtype.is_complex();
        let wide = |v: &Value| v.as_type(DType::Complex64);
        let found = match (self.op, complex, reverse) {
            // Linear in the two parts of a complex number, not in the number.
            (UnaryOp::Conjugate, true, _) => change.unary(UnaryOp::Conjugate)?,
            (UnaryOp::Real | UnaryOp::Imag, true, false) => change.unary(*self.op)?,
            (UnaryOp::Real, true, true) => wide(change)?,
            (UnaryOp::Imag, true, true) => {
                let i = Value::constant(HostTensor::scalar(Complex32::new(0.0, 1.0)));
                wide(change)?.multiply(&i.broadcast(&x.spec().shape)?)?
            }
            (UnaryOp::Abs, true, false) => along(&x.unary(UnaryOp::Sign)?, change)?,
            (UnaryOp::Abs, true, true) => wide(change)?.multiply(&x.unary(UnaryOp::Sign)?)?,
            (UnaryOp::Sign, true, _) => {
                let rest = change.subtract(&y.multiply(&wide(&along(y, change)?)?)?)?;
                rest.divide(&wide(&x.unary(UnaryOp::Abs)?)?)?
            }
            _ => {
                let partial = of_unary(*self.op, x, y)?.unwrap_or(Partial::Zero);
                return Ok(vec![scaled(change, partial, reverse)?]);
            }
        };
        Ok(vec![Some(found)])
    }
}

/// The part of complex numbers along directions of size 1, which is real.
fn along(direction: &Value, x: &Value) -> Result<Value, Invalid> {
    direction.unary(UnaryOp::Conjugate)?.multiply(x)?.unary(UnaryOp::Real)
}

impl Rules for Unary<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        one(x.with_dtype(self.op.result(x.dtype)?))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [x] = inputs else { return Err(Invalid::Arity { expected: "1", found: inputs.len() }.into()) };
        let dtype = self.op.result(x.dtype())?;
        let values =
            self.op.eval(&x.values()?).ok_or(Invalid::Undefined { op: self.op.name(), dtype: x.dtype() })?;
        Ok(vec![HostTensor::from_values(dtype, x.shape(), &values.convert(dtype))?])
    }

    fn nature(&self) -> Nature {
        Nature::ElementWise
    }

    fn step(&self) -> Option<StepOp> {
        Some(StepOp::Unary(*self.op))
    }

    fn derivative(&self) -> Derivative<'_> {
        if matches!(self.op, UnaryOp::Trigamma) {
            return Derivative::Via(Box::new(|inputs| Ok(vec![trigamma(&inputs[0])?])));
        }
        Derivative::Custom {
            jvp: Box::new(|at, tangents| self.change(at, tangents, false)),
            vjp: Box::new(|at, cotangents| self.change(at, cotangents, true)),
        }
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Same
    }

    fn cases() -> Vec<Case> {
        use DType::{BF16, Bool, Complex64, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let known = vec![
            Case::new(
                Primitive::Unary(UnaryOp::Abs),
                vec![of(F32, &[2, 2], &[-1.5, 0.0, 2.0, -4.0])],
                vec![of(F32, &[2, 2], &[1.5, 0.0, 2.0, 4.0])],
            ),
            Case::new(
                Primitive::Unary(UnaryOp::Round),
                vec![of(F32, &[5], &[0.5, 1.5, -0.5, -2.5, 2.25])],
                vec![of(F32, &[5], &[0.0, 2.0, -0.0, -2.0, 2.0])],
            ),
            Case::new(
                Primitive::Unary(UnaryOp::Rsqrt),
                vec![of(F32, &[2], &[4.0, 0.25])],
                vec![of(F32, &[2], &[0.5, 2.0])],
            ),
        ];
        let mut cases = for_dtypes(F32, &[F16, BF16, F64], known);
        cases.push(Case::new(
            Primitive::Unary(UnaryOp::IsNan),
            vec![of(F32, &[2], &[f64::NAN, 1.0])],
            vec![t(&[2], &[true, false])],
        ));
        cases.push(Case::new(
            Primitive::Unary(UnaryOp::Neg),
            vec![t(&[2], &[i8::MIN, 5])],
            vec![t(&[2], &[i8::MIN, -5])],
        ));
        cases.push(Case::refused(
            Primitive::Unary(UnaryOp::Exp),
            vec![t(&[1], &[1i32])],
            "exp is not defined for i32",
        ));
        let c = oneir_tensor::Complex32::new;
        cases.push(Case::new(
            Primitive::Unary(UnaryOp::ArcSin),
            vec![t(&[2], &[c(3.0, 0.0), c(3.0, -0.0)])],
            vec![t(&[2], &[c(1.570_796_4, 1.762_747_2), c(1.570_796_4, -1.762_747_2)])],
        ));
        // Every function on every dtype that it takes, on numbers inside its domain.
        for &op in UnaryOp::ALL {
            let numbers: &[f64] = match op {
                UnaryOp::ArcCosh => &[1.0, 1.5, 2.0, 8.0, 1.25, 3.0],
                UnaryOp::Digamma | UnaryOp::Trigamma => &[-0.75, 0.5, 0.25, -1.5, 0.875, 3.0],
                UnaryOp::Sqrt | UnaryOp::Rsqrt | UnaryOp::Log | UnaryOp::Log2 | UnaryOp::Log10 => {
                    &[0.5, 1.0, 2.0, 4.0, 0.25, 7.0]
                }
                _ => &[-0.75, 0.5, 0.25, -0.125, 0.875, -0.5],
            };
            for dtype in [Bool, U8, U16, U32, U64, I8, I16, I32, I64, F16, BF16, F32, F64, Complex64] {
                if op.result(dtype).is_ok() {
                    let scaled: Vec<f64> = if dtype.is_inexact() {
                        numbers.to_vec()
                    } else {
                        numbers.iter().map(|x| x * 8.0).collect()
                    };
                    cases.push(Case::parity(Primitive::Unary(op), vec![of(dtype, &[2, 3], &scaled)]));
                }
            }
        }
        cases.push(Case::parity(Primitive::Unary(UnaryOp::Exp), vec![of(F32, &[0, 3], &[])]));
        cases.push(Case::parity(Primitive::Unary(UnaryOp::Exp), vec![of(F32, &[], &[1.0])]));
        cases
    }
}
