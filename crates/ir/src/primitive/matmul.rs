use oneir_tensor::{Class, DType, HostTensor, Shape, Values};

use super::case::{for_dtypes, of, t};
use super::fields::Matmul;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::transforms::Over;
use super::{Case, Primitive, one};
use crate::invalid::{dtype_is, exactly, same_dtype};
use crate::{Invalid, Spec, Specs, UnaryOp, Value};

/// The result of a batched product.
pub(super) fn product(a: &Spec, b: &Spec) -> Result<Spec, Invalid> {
    same_dtype(a, b)?;
    dtype_is("the operands", a, "float or complex", |d| d.computes() && d.is_inexact())?;
    for x in [a, b] {
        if x.rank() < 2 {
            return Err(Invalid::Rank {
                operand: "each factor",
                expected: "at least 2",
                found: x.shape.to_vec(),
            });
        }
    }
    let (batch, inner) = a.shape.split_at(a.rank() - 2);
    if b.rank() != a.rank() || b.shape[..batch.len()] != *batch || b.shape[batch.len()] != inner[1] {
        return Err(Invalid::Inner { left: a.shape.to_vec(), right: b.shape.to_vec() });
    }
    Ok(a.with_shape(a.shape.with(a.rank() - 1, b.shape.cols())))
}

/// The product's values, summed in f64.
pub(super) fn multiply(a: &HostTensor, b: &HostTensor) -> Result<(Shape, Values), EvalError> {
    let spec = product(&Spec::new(a.dtype(), a.shape().clone()), &Spec::new(b.dtype(), b.shape().clone()))?;
    let (m, n, k) = (spec.shape[spec.rank() - 2], spec.shape.cols(), a.shape().cols());
    let batches: usize = spec.shape[..spec.rank() - 2].iter().product();
    macro_rules! sum {
        ($a:expr, $b:expr, $zero:expr) => {{
            let (a, b) = ($a, $b);
            let mut out = vec![$zero; spec.count()];
            for batch in 0..batches {
                for i in 0..m {
                    let row = &mut out[(batch * m + i) * n..][..n];
                    for l in 0..k {
                        let x = a[(batch * m + i) * k + l];
                        for (sum, y) in row.iter_mut().zip(&b[(batch * k + l) * n..][..n]) {
                            *sum += x * y;
                        }
                    }
                }
            }
            out
        }};
    }
    let values = match a.dtype().class() {
        Class::Complex => Values::Complex(sum!(
            a.values()?.to_complex(),
            b.values()?.to_complex(),
            num_complex::Complex64::default()
        )),
        _ => Values::Float(sum!(a.values()?.to_floats(), b.values()?.to_floats(), 0.0)),
    };
    Ok((spec.shape, values))
}

/// Matrices with their rows as columns; complex ones conjugated.
pub(super) fn adjoint(x: &Value) -> Result<Value, Invalid> {
    let rank = x.spec().rank();
    let axes: Vec<usize> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
    let turned = x.transpose(&axes)?;
    if turned.spec().dtype.is_complex() { turned.unary(UnaryOp::Conjugate) } else { Ok(turned) }
}

impl Rules for Matmul<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [a, b] = exactly(inputs)?;
        one(product(a, b)?)
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [a, b] = inputs else { return Err(Invalid::Arity { expected: "2", found: inputs.len() }.into()) };
        let (shape, values) = multiply(a, b)?;
        Ok(vec![HostTensor::from_values(a.dtype(), &shape, &values)?])
    }

    fn nature(&self) -> Nature {
        Nature::Contraction
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::Multilinear {
            over: Over::All,
            transpose: Box::new(|at, cotangent, k| match k {
                0 => cotangent.matmul(&adjoint(&at.inputs[1])?),
                _ => adjoint(&at.inputs[0])?.matmul(cotangent),
            }),
        }
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Same
    }

    fn cases() -> Vec<Case> {
        use DType::{BF16, Complex64, F16, F32, F64};
        let known = vec![
            Case::new(
                Primitive::Matmul,
                vec![of(F32, &[2, 2], &[1.0, 2.0, 3.0, 4.0]), of(F32, &[2, 1], &[1.0, -1.0])],
                vec![of(F32, &[2, 1], &[-1.0, -1.0])],
            ),
            Case::new(
                Primitive::Matmul,
                vec![of(F32, &[2, 1, 2], &[1.0, 2.0, 3.0, 4.0]), of(F32, &[2, 2, 1], &[1.0, 1.0, 2.0, 2.0])],
                vec![of(F32, &[2, 1, 1], &[3.0, 14.0])],
            ),
            Case::new(
                Primitive::Matmul,
                vec![of(F32, &[2, 0], &[]), of(F32, &[0, 2], &[])],
                vec![of(F32, &[2, 2], &[0.0; 4])],
            ),
            Case::new(
                Primitive::Matmul,
                vec![of(F32, &[0, 2], &[]), of(F32, &[2, 2], &[0.0; 4])],
                vec![of(F32, &[0, 2], &[])],
            ),
        ];
        let mut cases = for_dtypes(F32, &[F16, BF16, F64, Complex64], known);
        let ramp = |n: usize| (0..n).map(|i| ((i * 7) % 11) as f64 / 8.0 - 0.5).collect::<Vec<_>>();
        for (m, k, n) in [(1, 300, 5), (7, 33, 17), (64, 64, 64), (3, 1, 70), (70, 5, 1)] {
            cases.push(Case::parity(
                Primitive::Matmul,
                vec![of(F32, &[m, k], &ramp(m * k)), of(F32, &[k, n], &ramp(k * n))],
            ));
        }
        cases.push(Case::refused(
            Primitive::Matmul,
            vec![t(&[1, 1], &[1i32]), t(&[1, 1], &[1i32])],
            "float or complex",
        ));
        cases.push(Case::refused(
            Primitive::Matmul,
            vec![t(&[1], &[1f32]), t(&[1, 1], &[1f32])],
            "at least 2",
        ));
        cases.push(Case::refused(
            Primitive::Matmul,
            vec![of(F32, &[1, 2], &[1.0, 1.0]), of(F32, &[1, 2], &[1.0, 1.0])],
            "inner dimensions differ: [1, 2] by [1, 2]",
        ));
        cases
    }
}
