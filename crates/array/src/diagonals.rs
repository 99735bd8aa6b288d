//! Diagonals and triangles of matrices.

use oneir_ir::{BinaryOp, Place, ReduceOp, Value};
use oneir_tensor::DType;

use crate::axes::axis_of;
use crate::record::{Record, Recorded};
use crate::reduction::counted;
use crate::{Array, Reason};

/// For each place of an `n` by `m` matrix, how its column compares with its row
/// plus `k`.
fn beside_diagonal(at: &Place, op: BinaryOp, n: usize, m: usize, k: isize) -> Recorded {
    let rows = at.iota(&[n, m], 0, DType::I64)?;
    let columns = at.iota(&[n, m], 1, DType::I64)?;
    // No diagonal lies farther away than this.
    let far = 1 << 62;
    at.binary(op, &columns, &at.with(BinaryOp::Add, &rows, (k as i64).clamp(-far, far))?)
}

/// The last two sizes.
fn matrices(x: &Value) -> Result<(usize, usize), Reason> {
    match x.spec().shape[..] {
        [.., n, m] => Ok((n, m)),
        _ => {
            let reason = format!("at least two dimensions are needed, found shape {}", x.spec().shape);
            Err(Reason::Parameters(reason))
        }
    }
}

/// The diagonals of the matrices that two axes span, as a last dimension.
fn diagonals(at: &Place, x: &Value, k: isize, axes: (isize, isize)) -> Recorded {
    matrices(x)?;
    let rank = x.spec().rank();
    let (rows, columns) = (axis_of(axes.0, rank)?, axis_of(axes.1, rank)?);
    if rows == columns {
        return Err(Reason::RepeatedAxis { axis: rows });
    }
    let order: Vec<usize> =
        (0..rank).filter(|&axis| axis != rows && axis != columns).chain([rows, columns]).collect();
    let x = at.transpose(x, &order)?;
    let (n, m) = matrices(&x)?;
    let away = k.unsigned_abs();
    let (len, start) = match k >= 0 {
        true => (n.min(m.saturating_sub(away)), away),
        false => (n.saturating_sub(away).min(m), away.saturating_mul(m)),
    };
    let mut flat = x.spec().shape[..rank - 2].to_vec();
    flat.push(n * m);
    let step = isize::try_from(m + 1).unwrap_or(isize::MAX);
    at.items(&at.reshape(&x, &flat)?, rank - 2, if len == 0 { 0 } else { start }, step, len)
}

/// The matrix with a line on a diagonal, and zeros elsewhere.
fn matrix_of(at: &Place, x: &Value, k: isize) -> Recorded {
    let (n, dtype) = (x.spec().count(), x.spec().dtype);
    let too_large = || Reason::Parameters(format!("diagonal {k} of {n} elements makes too large a matrix"));
    let size = n.checked_add(k.unsigned_abs()).ok_or_else(too_large)?;
    // In row i stands element i, or i + k where k < 0.
    let zeros = at.filled(0, dtype, &[k.unsigned_abs()])?;
    let parts = if k >= 0 { [x, &zeros] } else { [&zeros, x] };
    let rows = at.reshape(&at.concat(&parts, 0)?, &[size, 1])?;
    at.select(&beside_diagonal(at, BinaryOp::Equal, size, size, k)?, &rows, &at.filled(0, dtype, &[])?)
}

impl Array {
    /// Ones (of `dtype`) on diagonal `k` of an `n` by `m` matrix, zeros elsewhere;
    /// without `m` it is square. Diagonals above the main one have positive numbers.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, DType};
    /// assert_eq!(Array::eye(2, 3, 1, DType::I32).to_vec::<i32>()?, [0, 1, 0, 0, 0, 1]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn eye(n: usize, m: impl Into<Option<usize>>, k: isize, dtype: DType) -> Array {
        Array::build("eye", [], |[], at| {
            at.cast(&beside_diagonal(&at, BinaryOp::Equal, n, m.into().unwrap_or(n), k)?, dtype)
        })
    }

    /// The identity matrix.
    #[track_caller]
    #[must_use]
    pub fn identity(n: usize, dtype: DType) -> Array {
        Array::eye(n, n, 0, dtype)
    }

    /// Ones (of `dtype`) on and below diagonal `k` of an `n` by `m` matrix, zeros
    /// elsewhere; without `m` it is square.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, DType};
    /// assert_eq!(Array::tri(2, 3, 0, DType::I32).to_vec::<i32>()?, [1, 0, 0, 1, 1, 0]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn tri(n: usize, m: impl Into<Option<usize>>, k: isize, dtype: DType) -> Array {
        Array::build("tri", [], |[], at| {
            at.cast(&beside_diagonal(&at, BinaryOp::LessEqual, n, m.into().unwrap_or(n), k)?, dtype)
        })
    }

    /// The matrices in the last two dimensions with zeros above diagonal `k`.
    #[track_caller]
    #[must_use]
    pub fn tril(&self, k: isize) -> Array {
        self.triangle("tril", BinaryOp::LessEqual, k)
    }

    /// The matrices in the last two dimensions with zeros below diagonal `k`.
    #[track_caller]
    #[must_use]
    pub fn triu(&self, k: isize) -> Array {
        self.triangle("triu", BinaryOp::GreaterEqual, k)
    }

    #[track_caller]
    fn triangle(&self, name: &'static str, keeps: BinaryOp, k: isize) -> Array {
        Array::build(name, [self], |[x], at| {
            let (n, m) = matrices(x)?;
            let zero = at.filled(0, x.spec().dtype, &[])?;
            at.select(&beside_diagonal(&at, keeps, n, m, k)?, x, &zero)
        })
    }

    /// Diagonal `k` of a matrix, or the matrix with a line on it and zeros elsewhere.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[1i32, 2], &[2]);
    /// assert_eq!(x.diag(-1).to_vec::<i32>()?, [0, 0, 0, 1, 0, 0, 0, 2, 0]);
    /// assert_eq!(x.diag(-1).diag(-1).to_vec::<i32>()?, [1, 2]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn diag(&self, k: isize) -> Array {
        Array::build("diag", [self], |[x], at| match x.spec().rank() {
            1 => matrix_of(&at, x, k),
            2 => diagonals(&at, x, k, (0, 1)),
            _ => {
                let reason = format!("one or two dimensions are needed, found shape {}", x.spec().shape);
                Err(Reason::Parameters(reason))
            }
        })
    }

    /// Diagonal `offset` of each matrix that two axes span, as the last dimension of
    /// the result, which is without the axes.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, DType};
    /// let x = Array::arange(24, DType::I32).reshape(&[2, 3, 4]);
    /// assert_eq!(x.diagonal(1, 0, 2).to_vec::<i32>()?, [1, 14, 5, 18, 9, 22]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn diagonal(&self, offset: isize, axis1: isize, axis2: isize) -> Array {
        Array::build("diagonal", [self], |[x], at| diagonals(&at, x, offset, (axis1, axis2)))
    }

    /// The sum of diagonal `offset` of each matrix that two axes span, in `dtype`, or
    /// with `None` in the dtype of [`Array::sum`].
    #[track_caller]
    #[must_use]
    pub fn trace(&self, offset: isize, axis1: isize, axis2: isize, dtype: impl Into<Option<DType>>) -> Array {
        Array::build("trace", [self], |[x], at| {
            let line = diagonals(&at, x, offset, (axis1, axis2))?;
            let last = line.spec().rank() - 1;
            let sum = |line: &Value| at.reduce(ReduceOp::Sum, line, &[last], false);
            match dtype.into() {
                Some(dtype) => at.cast(&sum(&at.cast(&line, dtype)?)?, dtype),
                None => sum(&counted(&at, ReduceOp::Sum, &line)?),
            }
        })
    }
}
