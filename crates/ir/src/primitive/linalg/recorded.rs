//! Recorded values as matrices in their last two dimensions.

use oneir_tensor::{DType, HostTensor, Values};

use crate::primitive::{ArgReduceOp, BinaryOp, LinalgOp, Primitive, ReduceOp};
use crate::{Invalid, Place, UnaryOp, Value};

pub(super) use crate::primitive::matmul::adjoint;

/// A matrix operation with one result.
pub(super) fn linalg(op: LinalgOp, inputs: &[&Value]) -> Result<Value, Invalid> {
    Value::record(Primitive::Linalg(op), inputs, Place::Internal)
}

/// Rows and columns.
pub(super) fn sides(x: &Value) -> (usize, usize) {
    let shape = &x.spec().shape;
    (shape[shape.rank() - 2], shape.cols())
}

/// The dimensions before the last two, and then these.
fn with_sides(x: &Value, batch: usize, sides: &[usize]) -> Vec<usize> {
    x.spec().shape[..batch].iter().chain(sides).copied().collect()
}

/// Times a number.
pub(super) fn times(x: &Value, number: f64) -> Result<Value, Invalid> {
    x.multiply(&x.filled_like(number)?)
}

/// x minus its conjugate, halved: i times the imaginary part.
pub(super) fn imaginary(x: &Value) -> Result<Value, Invalid> {
    times(&x.subtract(&x.unary(UnaryOp::Conjugate)?)?, 0.5)
}

/// The real part, in the dtype of a real value with which it is used.
pub(super) fn real(x: &Value, dtype: DType) -> Result<Value, Invalid> {
    if x.spec().dtype.is_complex() { x.unary(UnaryOp::Real)?.as_type(dtype) } else { Ok(x.clone()) }
}

/// The elements at the places (row, column) that `keep` accepts, and zeros.
pub(super) fn kept(x: &Value, keep: impl Fn(usize, usize) -> bool) -> Result<Value, Invalid> {
    let (rows, cols) = sides(x);
    let places = (0..rows * cols).map(|at| keep(at / cols, at % cols)).collect();
    let mask = HostTensor::from_values(DType::Bool, &[rows, cols], &Values::Bool(places))?;
    let mask = Value::constant(mask).broadcast(&x.spec().shape)?;
    mask.select(x, &x.filled_like(0.0)?)
}

/// What lies below the diagonal.
pub(super) fn below(x: &Value) -> Result<Value, Invalid> {
    kept(x, |i, j| i > j)
}

/// What lies below the diagonal, and half of the diagonal.
pub(super) fn half_lower(x: &Value) -> Result<Value, Invalid> {
    below(x)?.add(&times(&kept(x, |i, j| i == j)?, 0.5)?)
}

/// The Hermitian matrix with x's lower triangle, of whose diagonal the real part
/// counts.
pub(super) fn mirrored(x: &Value) -> Result<Value, Invalid> {
    let half = half_lower(x)?;
    half.add(&adjoint(&half)?)
}

/// What x's lower triangle gets of the cotangent of [`mirrored`].
pub(super) fn unmirrored(cotangent: &Value) -> Result<Value, Invalid> {
    half_lower(&cotangent.add(&adjoint(cotangent)?)?)
}

/// The diagonal of a square matrix, as a vector.
pub(super) fn diagonal(x: &Value) -> Result<Value, Invalid> {
    let rank = x.spec().rank();
    let (rows, _) = sides(x);
    kept(x, |i, j| i == j)?.reduce(ReduceOp::Sum, &[rank - 1])?.reshape(&with_sides(x, rank - 2, &[rows]))
}

/// A vector as a column, the same in each of some columns.
pub(super) fn in_columns(s: &Value, columns: usize) -> Result<Value, Invalid> {
    let (batch, n) = (s.spec().rank() - 1, s.spec().shape.cols());
    s.reshape(&with_sides(s, batch, &[n, 1]))?.broadcast(&with_sides(s, batch, &[n, columns]))
}

/// A vector as a row, the same in each of some rows.
pub(super) fn in_rows(s: &Value, rows: usize) -> Result<Value, Invalid> {
    let (batch, n) = (s.spec().rank() - 1, s.spec().shape.cols());
    s.reshape(&with_sides(s, batch, &[1, n]))?.broadcast(&with_sides(s, batch, &[rows, n]))
}

/// A vector as a diagonal matrix of this dtype.
pub(super) fn diagonal_of(s: &Value, dtype: DType) -> Result<Value, Invalid> {
    kept(&in_rows(&s.as_type(dtype)?, s.spec().shape.cols())?, |i, j| i == j)
}

/// x times the diagonal matrix of s.
pub(super) fn columns_times(x: &Value, s: &Value) -> Result<Value, Invalid> {
    x.multiply(&in_rows(&s.as_type(x.spec().dtype)?, sides(x).0)?)
}

/// The diagonal matrix of s times x.
pub(super) fn rows_times(s: &Value, x: &Value) -> Result<Value, Invalid> {
    x.multiply(&in_columns(&s.as_type(x.spec().dtype)?, sides(x).1)?)
}

/// One over s, j minus s, i, off the diagonal, and 0 on it. Equal numbers give an
/// infinity.
pub(super) fn gaps(s: &Value, dtype: DType) -> Result<Value, Invalid> {
    let n = s.spec().shape.cols();
    let gaps = in_rows(s, n)?.subtract(&in_columns(s, n)?)?;
    kept(&gaps.unary(UnaryOp::Reciprocal)?, |i, j| i != j)?.as_type(dtype)
}

/// The columns from one on.
pub(super) fn columns(x: &Value, first: usize, count: usize) -> Result<Value, Invalid> {
    part(x, x.spec().rank() - 1, first, count)
}

/// The rows from one on.
pub(super) fn rows(x: &Value, first: usize, count: usize) -> Result<Value, Invalid> {
    part(x, x.spec().rank() - 2, first, count)
}

fn part(x: &Value, axis: usize, first: usize, count: usize) -> Result<Value, Invalid> {
    let (shape, rank) = (&x.spec().shape, x.spec().rank());
    if count == shape[axis] {
        return Ok(x.clone());
    }
    let mut start = vec![0; rank];
    start[axis] = first;
    let slice = Primitive::Slice { start, step: vec![1; rank], len: shape.with(axis, count).to_vec() };
    Value::record(slice, &[x], Place::Internal)
}

/// Matrices beside each other.
pub(super) fn beside(a: &Value, b: &Value) -> Result<Value, Invalid> {
    Value::record(Primitive::Concatenate { axis: a.spec().rank() - 1 }, &[a, b], Place::Internal)
}

/// Matrices above each other.
pub(super) fn above(a: &Value, b: &Value) -> Result<Value, Invalid> {
    Value::record(Primitive::Concatenate { axis: a.spec().rank() - 2 }, &[a, b], Place::Internal)
}

/// x with rows of zeros below it.
pub(super) fn extended(x: &Value, rows_in_all: usize) -> Result<Value, Invalid> {
    let (rows, cols) = sides(x);
    if rows == rows_in_all {
        return Ok(x.clone());
    }
    let zero = rows_times_none(x)?;
    above(x, &zero.broadcast(&with_sides(x, x.spec().rank() - 2, &[rows_in_all - rows, cols]))?)
}

fn rows_times_none(x: &Value) -> Result<Value, Invalid> {
    let zero = Values::Float(vec![0.0]).convert(x.spec().dtype);
    Ok(Value::constant(HostTensor::from_values(x.spec().dtype, &[], &zero)?))
}

/// 1 where each column's first element of about the greatest magnitude is, which
/// vectors of a decomposition are turned to make positive; else 0.
fn anchors(vectors: &Value) -> Result<Value, Invalid> {
    let (shape, axis) = (vectors.spec().shape.to_vec(), vectors.spec().rank() - 2);
    let sizes = vectors.unary(UnaryOp::Abs)?;
    let enough = times(&sizes.reduce(ReduceOp::Max, &[axis])?, 0.9)?.broadcast(&shape)?;
    let leads = sizes.binary(BinaryOp::GreaterEqual, &enough)?.as_type(DType::F32)?;
    let first = Primitive::ArgReduce { op: ArgReduceOp::Max, axis };
    let first = Value::record(first, &[&leads], Place::Internal)?.broadcast(&shape)?;
    let row = Primitive::Iota { dtype: DType::U32, shape, axis };
    let row = Value::record(row, &[], Place::Internal)?;
    first.binary(BinaryOp::Equal, &row)?.as_type(vectors.spec().dtype)
}

/// i times the angles by which columns must turn with a change of theirs for
/// their anchors to stay real.
pub(super) fn turns(vectors: &Value, change: &Value) -> Result<Value, Invalid> {
    let at = anchors(vectors)?;
    let relative = summed(&at.multiply(change)?)?.divide(&summed(&at.multiply(vectors)?)?)?;
    times(&imaginary(&relative)?, -1.0)
}

/// What a change of the columns gets of the cotangents of [`turns`], which are
/// given as products of vectors and cotangents.
pub(super) fn unturned(vectors: &Value, products: &Value) -> Result<Value, Invalid> {
    let at = anchors(vectors)?;
    let relative = times(&imaginary(products)?, -1.0)?.divide(&summed(&at.multiply(vectors)?)?)?;
    columns_times(&at, &relative)
}

/// The sum of each column.
fn summed(x: &Value) -> Result<Value, Invalid> {
    let (rank, cols) = (x.spec().rank(), sides(x).1);
    x.reduce(ReduceOp::Sum, &[rank - 2])?.reshape(&with_sides(x, rank - 2, &[cols]))
}
