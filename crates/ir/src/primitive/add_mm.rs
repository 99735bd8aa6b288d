use oneir_tensor::{Class, DType, HostTensor, Values};

use super::case::{for_dtypes, of};
use super::fields::AddMM;
use super::matmul::{multiply, product};
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, Primitive, one};
use crate::invalid::{exactly, same_dtype, shape_is};
use crate::{Invalid, Spec, Specs};

impl Rules for AddMM<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [a, b, c] = exactly(inputs)?;
        let spec = product(a, b)?;
        same_dtype(a, c)?;
        shape_is("the addend", c, &spec.shape)?;
        one(spec)
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [a, b, c] = inputs else {
            return Err(Invalid::Arity { expected: "3", found: inputs.len() }.into());
        };
        let (shape, values) = multiply(a, b)?;
        let (alpha, beta) = (f64::from(f32::from_bits(*self.alpha)), f64::from(f32::from_bits(*self.beta)));
        let out = match c.dtype().class() {
            Class::Complex => Values::Complex(
                values
                    .to_complex()
                    .iter()
                    .zip(c.values()?.to_complex())
                    .map(|(x, c)| x * alpha + c * beta)
                    .collect(),
            ),
            _ => Values::Float(
                values
                    .to_floats()
                    .iter()
                    .zip(c.values()?.to_floats())
                    .map(|(x, c)| x * alpha + c * beta)
                    .collect(),
            ),
        };
        Ok(vec![HostTensor::from_values(c.dtype(), &shape, &out)?])
    }

    fn nature(&self) -> Nature {
        Nature::Contraction
    }

    fn derivative(&self) -> Derivative<'_> {
        let factor = |bits: u32| f64::from(f32::from_bits(bits));
        Derivative::Via(Box::new(move |x| {
            let product = x[0].matmul(&x[1])?;
            let product = product.multiply(&product.filled_like(factor(*self.alpha))?)?;
            let addend = x[2].multiply(&x[2].filled_like(factor(*self.beta))?)?;
            Ok(vec![product.add(&addend)?])
        }))
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Same
    }

    fn cases() -> Vec<Case> {
        use DType::{BF16, Complex64, F16, F32, F64};
        let add = Primitive::AddMM { alpha: 2f32.to_bits(), beta: 0.5f32.to_bits() };
        let a = || of(F32, &[1, 2], &[1.0, 2.0]);
        let b = || of(F32, &[2, 1], &[3.0, 4.0]);
        let known = vec![Case::new(
            add.clone(),
            vec![a(), b(), of(F32, &[1, 1], &[8.0])],
            vec![of(F32, &[1, 1], &[26.0])],
        )];
        let mut cases = for_dtypes(F32, &[F16, BF16, F64, Complex64], known);
        cases.push(Case::refused(
            add,
            vec![a(), b(), of(F32, &[1], &[8.0])],
            "the addend must have shape [1, 1], found [1]",
        ));
        cases
    }
}
