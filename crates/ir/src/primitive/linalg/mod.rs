use num_complex::Complex64;
use oneir_tensor::{DType, HostTensor, Shape, Values};
use smallvec::smallvec;

use super::fields::Linalg;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules, zeros};
use super::{Case, LinalgOp};
use crate::invalid::{dtype_is, exactly, same_dtype, shape_is};
use crate::{Invalid, Spec, Specs};

mod cases;
mod derivatives;
mod eigen;
mod matrix;
mod orthogonal;
mod recorded;
mod spectra;
mod triangular;

use matrix::{Matrix, Number};
use orthogonal::Found;

impl LinalgOp {
    /// Whether the operation has a right side.
    fn solves(self) -> bool {
        matches!(self, LinalgOp::Solve | LinalgOp::SolveLower | LinalgOp::SolveUpper)
    }

    /// Whether only square matrices have what is computed.
    fn needs_square(self) -> bool {
        !matches!(self, LinalgOp::Qr | LinalgOp::Lu | LinalgOp::LuFactor | LinalgOp::Svd | LinalgOp::SvdFull)
    }
}

/// The numbers of each result of `op` for one matrix, and for a right side
/// where it has one.
fn compute<T: Number>(op: LinalgOp, a: Matrix<T>, b: Matrix<T>) -> Found<Vec<Vec<T>>> {
    let side = a.rows;
    let numbers = |reals: &[f64]| reals.iter().map(|&x| T::from(x)).collect::<Vec<T>>();
    let rows = |rows: &[usize]| rows.iter().map(|&row| T::from(row as f64)).collect::<Vec<T>>();
    let solution = |x: Option<Matrix<T>>| Ok(x.map(|x| vec![x.data]).ok_or("invertible"));
    match op {
        LinalgOp::Cholesky => Ok(triangular::cholesky(&a)?.map(|l| vec![l.data]).ok_or("positive definite")),
        LinalgOp::Inverse => solution(triangular::factor(a).solve(Matrix::identity(side)?)),
        LinalgOp::Solve => solution(triangular::factor(a).solve(b)),
        LinalgOp::SolveLower => solution(triangular::solve_lower(&a, b)),
        LinalgOp::SolveUpper => solution(triangular::solve_upper(&a, b)),
        LinalgOp::Qr => {
            let (q, r) = orthogonal::qr(a)?;
            Ok(Ok(vec![q.data, r.data]))
        }
        LinalgOp::Lu => {
            let factors = triangular::factor(a);
            let (l, u) = factors.split()?;
            Ok(Ok(vec![rows(&factors.places()), l.data, u.data]))
        }
        LinalgOp::LuFactor => {
            let factors = triangular::factor(a);
            Ok(Ok(vec![factors.lu.data, rows(&factors.pivots)]))
        }
        LinalgOp::Svd | LinalgOp::SvdFull => Ok(orthogonal::svd(a, op == LinalgOp::SvdFull)?
            .map(|svd| vec![svd.left.transposed(|x| x).data, numbers(&svd.values), svd.right.data])),
        LinalgOp::Eigh => Ok(orthogonal::eigh(a)?
            .map(|eigen| vec![numbers(&eigen.values), eigen.vectors.transposed(|x| x).data])),
        // Complex whatever the matrix is: see `compute_eigen`.
        LinalgOp::Eig => Ok(Ok(Vec::new())),
        LinalgOp::Det => Ok(Ok(vec![vec![triangular::factor(a).det()]])),
    }
}

/// The numbers of the results of [`LinalgOp::Eig`] for one matrix.
fn compute_eigen(_: LinalgOp, a: Matrix<Complex64>, _: Matrix<Complex64>) -> Found<Vec<Vec<Complex64>>> {
    Ok(eigen::eig(a)?.map(|found| vec![found.values, found.vectors.transposed(|x| x).data]))
}

/// What gives the numbers of each result for one matrix.
type Compute<T> = fn(LinalgOp, Matrix<T>, Matrix<T>) -> Found<Vec<Vec<T>>>;

/// The numbers of each result for all matrices of a batch; `b` is empty where
/// there is no right side.
fn compute_all<T: Number>(
    (op, compute): (LinalgOp, Compute<T>),
    (a, b): (&Spec, Option<&Spec>),
    (xs, ys): (&[T], &[T]),
    results: &Specs,
) -> Result<Vec<Vec<T>>, EvalError> {
    let mut all = results.iter().map(|r| zeros(r.count())).collect::<Result<Vec<Vec<T>>, _>>()?;
    if all.iter().all(Vec::is_empty) {
        return Ok(all);
    }
    let matrix = |spec: &Spec, numbers: &[T], i: usize| {
        let (rows, cols) = (spec.shape[spec.rank() - 2], spec.shape[spec.rank() - 1]);
        Matrix { rows, cols, data: numbers[i * rows * cols..][..rows * cols].to_vec() }
    };
    for i in 0..a.shape[..a.rank() - 2].iter().product() {
        let right = b.map_or(Matrix { rows: 0, cols: 0, data: vec![] }, |b| matrix(b, ys, i));
        let parts = compute(op, matrix(a, xs, i), right)?;
        let parts = parts.map_err(|expected| EvalError::Matrix { op: op.name(), matrix: i, expected })?;
        for (all, part) in all.iter_mut().zip(parts) {
            all[i * part.len()..][..part.len()].copy_from_slice(&part);
        }
    }
    Ok(all)
}

impl Rules for Linalg<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let op = *self.op;
        let (a, b) = if op.solves() {
            let [a, b] = exactly(inputs)?;
            (a, Some(b))
        } else {
            let [a] = exactly(inputs)?;
            (a, None)
        };
        dtype_is("the matrix", a, "f32, f64 or complex64", |d| {
            matches!(d, DType::F32 | DType::F64 | DType::Complex64)
        })?;
        if a.rank() < 2 {
            return Err(Invalid::Rank {
                operand: "the matrix",
                expected: "at least 2",
                found: a.shape.to_vec(),
            });
        }
        let (batch, sides) = a.shape.split_at(a.rank() - 2);
        let (m, n) = (sides[0], sides[1]);
        let k = m.min(n);
        if op.needs_square() {
            shape_is("the matrix", a, &a.shape.with(a.rank() - 1, m))?;
        }
        if let Some(b) = b {
            same_dtype(a, b)?;
            if b.rank() != a.rank() {
                let found = b.shape.to_vec();
                return Err(Invalid::Rank {
                    operand: "the right side",
                    expected: "as many as the matrix",
                    found,
                });
            }
            shape_is("the right side", b, &a.shape.with(a.rank() - 1, b.shape.cols()))?;
        }
        let of =
            |dtype, sides: &[usize]| Spec::new(dtype, batch.iter().chain(sides).copied().collect::<Shape>());
        let same = |sides: &[usize]| of(a.dtype, sides);
        let real = if a.dtype.is_complex() { DType::F32 } else { a.dtype };
        Ok(match op {
            LinalgOp::Cholesky | LinalgOp::Inverse => smallvec![a.clone()],
            LinalgOp::Solve | LinalgOp::SolveLower | LinalgOp::SolveUpper => smallvec![inputs[1].clone()],
            LinalgOp::Qr => smallvec![same(&[m, k]), same(&[k, n])],
            LinalgOp::Lu => smallvec![of(DType::U32, &[m]), same(&[m, k]), same(&[k, n])],
            LinalgOp::LuFactor => smallvec![a.clone(), of(DType::U32, &[k])],
            LinalgOp::Svd => smallvec![same(&[m, k]), of(real, &[k]), same(&[k, n])],
            LinalgOp::SvdFull => smallvec![same(&[m, m]), of(real, &[k]), same(&[n, n])],
            LinalgOp::Eigh => smallvec![of(real, &[n]), a.clone()],
            LinalgOp::Eig => smallvec![of(DType::Complex64, &[n]), of(DType::Complex64, &[n, n])],
            LinalgOp::Det => smallvec![same(&[])],
        })
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let specs: Vec<Spec> = inputs.iter().map(Spec::of).collect();
        let results = self.infer(&specs.iter().collect::<Vec<_>>())?;
        for result in &results {
            result.shape.checked_count(result.dtype)?;
        }
        let values = inputs.iter().map(HostTensor::values).collect::<Result<Vec<_>, _>>()?;
        let shapes = (&specs[0], specs.get(1));
        let eigen = *self.op == LinalgOp::Eig;
        let all: Vec<Values> = if eigen || specs[0].dtype.is_complex() {
            let numbers: Vec<_> = values.iter().map(Values::to_complex).collect();
            let right = numbers.get(1).map_or(&[][..], |b| b);
            let by: Compute<Complex64> = if eigen { compute_eigen } else { compute };
            let all = compute_all((*self.op, by), shapes, (&numbers[0], right), &results)?;
            all.into_iter().map(Values::Complex).collect()
        } else {
            let numbers: Vec<_> = values.iter().map(Values::to_floats).collect();
            let right = numbers.get(1).map_or(&[][..], |b| b);
            let all = compute_all((*self.op, compute), shapes, (&numbers[0], right), &results)?;
            all.into_iter().map(Values::Float).collect()
        };
        results
            .iter()
            .zip(&all)
            .map(|(spec, values)| Ok(HostTensor::from_values(spec.dtype, &spec.shape, values)?))
            .collect()
    }

    fn nature(&self) -> Nature {
        Nature::Opaque
    }

    fn derivative(&self) -> Derivative<'_> {
        derivatives::of(*self.op)
    }

    fn batching(&self) -> Batching<'_> {
        // Matrices are in the last two dimensions.
        Batching::Same
    }

    fn cases() -> Vec<Case> {
        cases::all()
    }
}
