//! Linear algebra, by MLX's names, on the matrices in the last two dimensions,
//! one by one over all others.
//!
//! f32, f64 and complex64 are computed as they are; integers convert to f32, and
//! halves are computed in f32 and rounded once. A matrix without a result (a
//! singular one that is to be inverted, one that is not positive definite) is
//! an error of the value, which names the operation and the matrix.
//!
//! The sign, of complex ones the phase, of a singular or eigenvector is such
//! that its first element of about the greatest magnitude is positive.
//!
//! ```
//! # use oneir_cpu as _;
//! use oneir_array::{Array, linalg};
//! let a = Array::from_slice(&[2f32, 1.0, 1.0, 3.0], &[2, 2]);
//! let b = Array::from_slice(&[3f32, 5.0], &[2]);
//! assert_eq!(linalg::solve(&a, &b).to_vec::<f32>()?, [0.8, 1.4]);
//! let singular = Array::from_slice(&[1f32, 2.0, 2.0, 4.0], &[2, 2]);
//! assert!(linalg::inv(&singular).eval().unwrap_err().to_string().contains("inverse"));
//! # Ok::<(), oneir_array::ArrayError>(())
//! ```

use oneir_ir::primitive::LinalgOp;
use oneir_ir::{Invalid, Primitive, Value};
use oneir_tensor::{DType, broadcast_shapes, promote};

use crate::axes::axis_of;
use crate::create::{converted, presented};
use crate::{Array, Reason};

mod norms;

pub use norms::{Order, norm};

/// Which triangle of a matrix is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Triangle {
    /// What lies on and below the diagonal.
    #[default]
    Lower,
    /// What lies on and above the diagonal.
    Upper,
}

/// The dtype that matrices of `dtype` are computed in.
fn computed_in(dtype: DType) -> DType {
    match dtype {
        DType::F64 | DType::Complex64 => dtype,
        _ => DType::F32,
    }
}

/// The dtype of results on matrices of `dtype`.
fn given_in(dtype: DType) -> DType {
    if dtype.is_half() { dtype } else { computed_in(dtype) }
}

/// Refuses what has no matrices.
fn matrices(a: &Value) -> Result<(), Reason> {
    if a.spec().rank() < 2 {
        let found = a.spec().shape.to_vec();
        return Err(Invalid::Rank { operand: "the matrix", expected: "at least 2", found }.into());
    }
    Ok(())
}

/// The results of an operation on each matrix, those of half matrices rounded
/// to halves again.
#[track_caller]
fn factors<const N: usize>(op: &'static str, a: &Array, computed: LinalgOp) -> [Array; N] {
    let half = a.dtype().is_half().then(|| a.dtype());
    let results: [Array; N] = Array::build_all(op, [a], |[a], place| {
        matrices(a)?;
        let a = converted(a, computed_in(a.spec().dtype), &place)?;
        Ok(Value::record_all(Primitive::Linalg(computed), &[&a], place)?.into_iter().collect())
    });
    let Some(half) = half else { return results };
    let mut rounded = results;
    for result in &mut rounded {
        if matches!(result.dtype(), DType::F32) && result.check().is_ok() {
            *result = result.astype(half);
        }
    }
    rounded
}

#[track_caller]
fn only(op: &'static str, a: &Array, computed: LinalgOp) -> Array {
    let [result] = factors(op, a, computed);
    result
}

/// Rows and columns exchanged, each element conjugated.
#[track_caller]
fn adjoint(op: &'static str, a: &Array) -> Array {
    let turned = Array::build(op, [a], |[a], place| {
        matrices(a)?;
        let mut axes: Vec<usize> = (0..a.spec().rank()).collect();
        axes.swap(a.spec().rank() - 2, a.spec().rank() - 1);
        Ok(Value::record(Primitive::Transpose(axes), &[a], place)?)
    });
    if a.dtype().is_complex() { turned.conjugate() } else { turned }
}

/// Ones on the diagonal of `[n, n]`.
#[track_caller]
fn identity(n: usize, dtype: DType) -> Array {
    Array::iota(&[n, n], 0, DType::I64).equal(Array::iota(&[n, n], 1, DType::I64)).astype(dtype)
}

/// How many rows the matrices of `a` have; 0 where there are none.
fn rows(a: &Array) -> usize {
    let shape = a.shape();
    shape.rank().checked_sub(2).map_or(0, |at| shape[at])
}

/// The triangular factor of each Hermitian, positive definite matrix: l of
/// `a = l lᴴ`, or where `upper` is asked for u of `a = uᴴ u`. Only that triangle
/// of `a` is read.
///
/// # Errors
/// A failed array where the matrices are not square; an error of the value,
/// which names the matrix, where one is not positive definite.
#[track_caller]
#[must_use]
pub fn cholesky(a: &Array, upper: bool) -> Array {
    if upper {
        return adjoint("cholesky", &only("cholesky", &adjoint("cholesky", a), LinalgOp::Cholesky));
    }
    only("cholesky", a, LinalgOp::Cholesky)
}

/// The inverse of each matrix `l lᴴ`, or where `upper` `uᴴ u`, of which `a` is
/// the triangular factor.
///
/// # Errors
/// As [`tri_inv`].
#[track_caller]
#[must_use]
pub fn cholesky_inv(a: &Array, upper: bool) -> Array {
    let half = a.dtype().is_half().then(|| a.dtype());
    let wide = if half.is_some() { a.astype(DType::F32) } else { a.clone() };
    let inverse = tri_inv(&wide, upper).named("cholesky_inv");
    let turned = adjoint("cholesky_inv", &inverse);
    let product = if upper { inverse.matmul(&turned) } else { turned.matmul(&inverse) };
    half.map_or(product.clone(), |half| product.astype(half))
}

/// The inverse of each matrix.
///
/// # Errors
/// A failed array where the matrices are not square; an error of the value,
/// which names the matrix, where one is singular.
#[track_caller]
#[must_use]
pub fn inv(a: &Array) -> Array {
    only("inv", a, LinalgOp::Inverse)
}

/// The inverse of each triangular matrix; the other triangle is not read.
///
/// # Errors
/// As [`inv`].
#[track_caller]
#[must_use]
pub fn tri_inv(a: &Array, upper: bool) -> Array {
    let eye = identity(rows(a), computed_in(a.dtype()));
    let op = if upper { LinalgOp::SolveUpper } else { LinalgOp::SolveLower };
    solved("tri_inv", op, a, &eye)
}

/// x of `a x = b`, where `b` is `[…, n, k]`, or the vector `[n]`. Leading
/// dimensions broadcast.
///
/// # Errors
/// A failed array where sizes do not fit; an error of the value, which names
/// the matrix, where one is singular.
#[track_caller]
#[must_use]
pub fn solve(a: &Array, b: &Array) -> Array {
    solved("solve", LinalgOp::Solve, a, b)
}

/// x of `a x = b` for lower (or `upper`) triangular matrices; the other triangle
/// is not read. As [`solve`] otherwise.
///
/// # Errors
/// As [`solve`].
#[track_caller]
#[must_use]
pub fn solve_triangular(a: &Array, b: &Array, upper: bool) -> Array {
    let op = if upper { LinalgOp::SolveUpper } else { LinalgOp::SolveLower };
    solved("solve_triangular", op, a, b)
}

#[track_caller]
fn solved(op: &'static str, computed: LinalgOp, a: &Array, b: &Array) -> Array {
    Array::build(op, [a, b], |[a, b], place| {
        matrices(a)?;
        let dtype = promote(a.spec().dtype, b.spec().dtype);
        let result = given_in(dtype);
        let a = converted(a, computed_in(dtype), &place)?;
        let mut b = converted(b, computed_in(dtype), &place)?;
        let vector = b.spec().rank() == 1;
        if vector {
            b = Value::record(Primitive::ExpandDims(vec![1]), &[&b], place.clone())?;
        }
        let (sides, others) = (&a.spec().shape, &b.spec().shape);
        let (Some((batch, &[m, n])), Some((others, &[rows, columns]))) =
            (sides.split_last_chunk(), others.split_last_chunk())
        else {
            let found = others.to_vec();
            return Err(Invalid::Rank { operand: "the right side", expected: "at least 1", found }.into());
        };
        if m != n || n != rows {
            let reason = format!("{m} by {n} matrices and right sides of {rows} rows do not fit");
            return Err(Reason::Parameters(reason));
        }
        let whole = broadcast_shapes(batch, others)?;
        let wide = |sides: [usize; 2]| whole.iter().copied().chain(sides).collect();
        let (a, b) = (presented(&a, &wide([m, n]), &place)?, presented(&b, &wide([rows, columns]), &place)?);
        let mut x = Value::record(Primitive::Linalg(computed), &[&a, &b], place.clone())?;
        if vector {
            let last = x.spec().rank() - 1;
            x = Value::record(Primitive::Squeeze(vec![last]), &[&x], place.clone())?;
        }
        converted(&x, result, &place)
    })
}

/// `(q, r)` of `a = q r`: of `[…, m, n]`, q is `[…, m, k]` with orthonormal
/// columns and r `[…, k, n]` upper triangular, where k is the smaller side.
#[track_caller]
#[must_use]
pub fn qr(a: &Array) -> (Array, Array) {
    let [q, r] = factors("qr", a, LinalgOp::Qr);
    (q, r)
}

/// `(u, s, vt)` of `a = u diag(s) vt`: of `[…, m, n]`, u is `[…, m, m]`, s
/// `[…, min(m, n)]` (falling, real) and vt `[…, n, n]`. [`svdvals`] gives s alone.
///
/// # Errors
/// An error of the value where a matrix is not finite.
#[track_caller]
#[must_use]
pub fn svd(a: &Array) -> (Array, Array, Array) {
    let [u, s, vt] = factors("svd", a, LinalgOp::SvdFull);
    (u, s, vt)
}

/// The singular values of each matrix, falling: what MLX's
/// `svd(a, compute_uv=False)` gives.
///
/// # Errors
/// As [`svd`].
#[track_caller]
#[must_use]
pub fn svdvals(a: &Array) -> Array {
    let [_, s, _] = factors("svdvals", a, LinalgOp::Svd);
    s
}

/// `(values, vectors)` of each Hermitian matrix, of which one triangle is read:
/// values `[…, n]` rise and are real, vectors are the columns of `[…, n, n]`.
///
/// # Errors
/// A failed array where the matrices are not square; an error of the value
/// where one is not finite.
#[track_caller]
#[must_use]
pub fn eigh(a: &Array, uplo: Triangle) -> (Array, Array) {
    let [values, vectors] = match uplo {
        Triangle::Lower => factors("eigh", a, LinalgOp::Eigh),
        Triangle::Upper => factors("eigh", &adjoint("eigh", a), LinalgOp::Eigh),
    };
    (values, vectors)
}

/// The eigenvalues of each Hermitian matrix, rising.
///
/// # Errors
/// As [`eigh`].
#[track_caller]
#[must_use]
pub fn eigvalsh(a: &Array, uplo: Triangle) -> Array {
    eigh(a, uplo).0.named("eigvalsh")
}

/// `(values, vectors)` of each square matrix, complex64 whatever its dtype:
/// values by falling real and then imaginary part, and as the columns of
/// `[…, n, n]` right eigenvectors of length 1.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, Complex32, linalg};
/// let turn = Array::from_slice(&[0f32, -1.0, 1.0, 0.0], &[2, 2]);
/// let values = linalg::eigvals(&turn).to_vec::<Complex32>()?;
/// assert_eq!(values, [Complex32::new(0.0, 1.0), Complex32::new(0.0, -1.0)]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
///
/// # Errors
/// A failed array where the matrices are not square; an error of the value
/// where one is not finite.
#[track_caller]
#[must_use]
pub fn eig(a: &Array) -> (Array, Array) {
    let [values, vectors] = factors("eig", a, LinalgOp::Eig);
    (values, vectors)
}

/// The eigenvalues of each square matrix, as [`eig`] gives them.
///
/// # Errors
/// As [`eig`].
#[track_caller]
#[must_use]
pub fn eigvals(a: &Array) -> Array {
    eig(a).0.named("eigvals")
}

/// `(p, l, u)` of each matrix: row i of `a` is row `p[i]` (u32) of `l u`, where l
/// is lower triangular with ones on the diagonal and u upper triangular.
#[track_caller]
#[must_use]
pub fn lu(a: &Array) -> (Array, Array, Array) {
    let [p, l, u] = factors("lu", a, LinalgOp::Lu);
    (p, l, u)
}

/// `(lu, pivots)` of each matrix: l below the diagonal of u, and for each row in
/// turn the later one (u32) that it was exchanged with.
#[track_caller]
#[must_use]
pub fn lu_factor(a: &Array) -> (Array, Array) {
    let [lu, pivots] = factors("lu_factor", a, LinalgOp::LuFactor);
    (lu, pivots)
}

/// The Moore-Penrose pseudoinverse of each matrix. Singular values count as 0
/// up to the largest one times 10 · max(m, n) times the dtype's epsilon.
///
/// # Errors
/// As [`svd`].
#[track_caller]
#[must_use]
pub fn pinv(a: &Array) -> Array {
    if a.check().is_err() {
        return a.clone();
    }
    let half = a.dtype().is_half().then(|| a.dtype());
    let wide = a.astype(computed_in(a.dtype()));
    let [u, s, vt] = factors("pinv", &wide, LinalgOp::Svd);
    if u.check().is_err() {
        return u;
    }
    let shape = a.shape();
    let longer = shape[shape.rank() - 2].max(shape[shape.rank() - 1]);
    if shape[shape.rank() - 2..].contains(&0) {
        return adjoint("pinv", &wide).astype(half.unwrap_or(wide.dtype()));
    }
    let epsilon = if wide.dtype() == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
    let least = s.max(-1, true) * (10.0 * longer as f64 * epsilon);
    let inverse = s.greater(least).where_(s.reciprocal(), 0).expand_dims(-1);
    let product = adjoint("pinv", &vt).matmul(&(inverse * adjoint("pinv", &u)));
    product.astype(half.unwrap_or(wide.dtype())).named("pinv")
}

/// The determinant of each matrix.
///
/// # Errors
/// A failed array where the matrices are not square.
#[track_caller]
#[must_use]
pub fn det(a: &Array) -> Array {
    only("det", a, LinalgOp::Det)
}

/// `(sign, logarithm)` of each determinant, which is `sign · e^logarithm`: of a
/// singular matrix 0 and -∞; of a complex one, the sign has magnitude 1.
///
/// # Errors
/// A failed array where the matrices are not square.
#[track_caller]
#[must_use]
pub fn slogdet(a: &Array) -> (Array, Array) {
    let shape = a.shape();
    if a.check().is_ok() && shape.rank() >= 2 && shape[shape.rank() - 2] != shape[shape.rank() - 1] {
        let expected = shape.with(shape.rank() - 1, shape[shape.rank() - 2]).to_vec();
        let wrong = Invalid::Shape { operand: "the matrix", expected, found: shape.to_vec() };
        let failed = Array::failed("slogdet", wrong);
        return (failed.clone(), failed);
    }
    let half = a.dtype().is_half().then(|| a.dtype());
    let wide = if half.is_some() { a.astype(DType::F32) } else { a.clone() };
    let [lu, pivots] = factors("slogdet", &wide, LinalgOp::LuFactor);
    if lu.check().is_err() {
        return (lu.clone(), lu);
    }
    let pivots_shape = pivots.shape();
    let along: Vec<usize> = pivots_shape.iter().copied().chain([1]).collect();
    let places = Array::iota(&along, along.len() - 2, DType::I64);
    let diagonal = lu.take_along_axis(&places, -1).squeeze(-1);
    let own = Array::iota(&pivots_shape, pivots_shape.rank() - 1, DType::U32);
    let swapped = pivots.not_equal(own).astype(DType::I32).sum(-1, false);
    let turned: Array = 1 - swapped.remainder(2) * 2;
    let sign = diagonal.sign().prod(-1, false) * turned.astype(lu.dtype());
    let logarithm = diagonal.abs().log().sum(-1, false);
    match half {
        Some(half) => (sign.astype(half), logarithm.astype(half)),
        None => (sign, logarithm),
    }
}

/// The cross product along an axis of 2 or 3 numbers, where a missing third one
/// is 0; other axes broadcast, and the result has 3 numbers.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, linalg};
/// let (x, y) = (Array::from_slice(&[1, 0, 0], &[3]), Array::from_slice(&[0, 1, 0], &[3]));
/// assert_eq!(linalg::cross(&x, &y, -1).to_vec::<i32>()?, [0, 0, 1]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
///
/// # Errors
/// A failed array where the axis is out of range or has other sizes, or the
/// other axes do not broadcast.
#[track_caller]
#[must_use]
pub fn cross(a: &Array, b: &Array, axis: isize) -> Array {
    if let Some(failed) = [a, b].into_iter().find(|x| x.check().is_err()) {
        return failed.clone();
    }
    for x in [a, b] {
        match axis_of(axis, x.ndim()) {
            Ok(at) if matches!(x.shape()[at], 2 | 3) => {}
            Ok(at) => {
                let reason = format!("axis {axis} must have 2 or 3 numbers, found {}", x.shape()[at]);
                return Array::failed("cross", Reason::Parameters(reason));
            }
            Err(reason) => return Array::failed("cross", reason),
        }
    }
    let dtype = promote(a.dtype(), b.dtype());
    let (a, b) = (three(a, axis, dtype), three(b, axis, dtype));
    let parts = [(1, 2), (2, 0), (0, 1)];
    let mut results = Vec::with_capacity(3);
    for (i, j) in parts {
        results.push(&a[i] * &b[j] - &a[j] * &b[i]);
    }
    Array::concatenate(&results, axis).named("cross")
}

/// The three numbers along an axis, of which the last may be missing.
#[track_caller]
fn three(x: &Array, axis: isize, dtype: DType) -> [Array; 3] {
    let x = x.astype(dtype);
    let at = axis_of(axis, x.ndim()).unwrap_or(0);
    let first = x.narrow(axis, 0, 1);
    let second = x.narrow(axis, 1, 1);
    let third = if x.shape()[at] == 3 { x.narrow(axis, 2, 1) } else { Array::zeros(&first.shape(), dtype) };
    [first, second, third]
}
