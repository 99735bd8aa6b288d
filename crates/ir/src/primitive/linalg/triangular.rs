//! Triangular factors, and what is solved with them.

use oneir_tensor::TensorError;

use super::matrix::{Matrix, Number, add_times, inner};

/// The lower triangle l of `a = l lᴴ`; `None` where a is not positive definite.
pub(super) fn cholesky<T: Number>(a: &Matrix<T>) -> Result<Option<Matrix<T>>, TensorError> {
    let mut l = Matrix::zeros(a.rows, a.cols)?;
    for i in 0..a.rows {
        for j in 0..i {
            let sum = inner(&l.row(j)[..j], &l.row(i)[..j]);
            l.set(i, j, (a.at(i, j) - sum) / l.at(j, j));
        }
        let square = a.at(i, i).re() - inner(&l.row(i)[..i], &l.row(i)[..i]).re();
        if square.is_nan() || square <= 0.0 {
            return Ok(None);
        }
        l.set(i, i, T::from(square.sqrt()));
    }
    Ok(Some(l))
}

/// A matrix as its triangular factors: l below the diagonal of u.
pub(super) struct Factors<T> {
    /// Both factors.
    pub(super) lu: Matrix<T>,
    /// For each row in turn the later row that it was swapped with.
    pub(super) pivots: Vec<usize>,
}

/// Gaussian elimination; the pivot is the first of the greatest magnitude.
pub(super) fn factor<T: Number>(mut lu: Matrix<T>) -> Factors<T> {
    let steps = lu.rows.min(lu.cols);
    let mut pivots = Vec::with_capacity(steps);
    for k in 0..steps {
        let mut pivot = k;
        for i in k + 1..lu.rows {
            if lu.at(i, k).norm() > lu.at(pivot, k).norm() {
                pivot = i;
            }
        }
        pivots.push(pivot);
        lu.swap_rows(k, pivot);
        let top = lu.at(k, k);
        if top == T::default() {
            continue;
        }
        for i in k + 1..lu.rows {
            let (upper, row) = lu.rows_mut(k, i);
            let factor = row[k] / top;
            row[k] = factor;
            add_times(&mut row[k + 1..], -factor, &upper[k + 1..]);
        }
    }
    Factors { lu, pivots }
}

impl<T: Number> Factors<T> {
    /// The row of `l u` in which each row of the matrix is.
    pub(super) fn places(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.lu.rows).collect();
        for (i, &pivot) in self.pivots.iter().enumerate() {
            order.swap(i, pivot);
        }
        let mut places = vec![0; order.len()];
        for (place, &row) in order.iter().enumerate() {
            places[row] = place;
        }
        places
    }

    /// The lower factor with its unit diagonal, and the upper factor.
    pub(super) fn split(&self) -> Result<(Matrix<T>, Matrix<T>), TensorError> {
        let both = &self.lu;
        let k = both.rows.min(both.cols);
        let (mut l, mut u) = (Matrix::zeros(both.rows, k)?, Matrix::zeros(k, both.cols)?);
        for i in 0..both.rows {
            let below = i.min(k);
            l.row_mut(i)[..below].copy_from_slice(&both.row(i)[..below]);
            if i < k {
                l.set(i, i, T::from(1.0));
                u.row_mut(i)[i..].copy_from_slice(&both.row(i)[i..]);
            }
        }
        Ok((l, u))
    }

    /// The determinant of a square matrix.
    pub(super) fn det(&self) -> T {
        let mut product = T::from(1.0);
        for (i, &pivot) in self.pivots.iter().enumerate() {
            let x = self.lu.at(i, i);
            product = product * if pivot == i { x } else { -x };
        }
        product
    }

    /// x of `a x = b`; `None` where a is singular.
    pub(super) fn solve(&self, mut b: Matrix<T>) -> Option<Matrix<T>> {
        for (i, &pivot) in self.pivots.iter().enumerate() {
            b.swap_rows(i, pivot);
        }
        for i in 0..b.rows {
            for j in 0..i {
                let (x, row) = b.rows_mut(j, i);
                add_times(row, -self.lu.at(i, j), x);
            }
        }
        solve_upper(&self.lu, b)
    }
}

/// x of `a x = b`, reading a's lower triangle; `None` where a is singular.
pub(super) fn solve_lower<T: Number>(a: &Matrix<T>, mut b: Matrix<T>) -> Option<Matrix<T>> {
    for i in 0..b.rows {
        for j in 0..i {
            let (x, row) = b.rows_mut(j, i);
            add_times(row, -a.at(i, j), x);
        }
        divide(b.row_mut(i), a.at(i, i))?;
    }
    Some(b)
}

/// x of `a x = b`, reading a's upper triangle; `None` where a is singular.
pub(super) fn solve_upper<T: Number>(a: &Matrix<T>, mut b: Matrix<T>) -> Option<Matrix<T>> {
    for i in (0..b.rows).rev() {
        for j in i + 1..b.rows {
            let (row, x) = b.rows_mut(i, j);
            add_times(row, -a.at(i, j), x);
        }
        divide(b.row_mut(i), a.at(i, i))?;
    }
    Some(b)
}

fn divide<T: Number>(row: &mut [T], by: T) -> Option<()> {
    if by == T::default() {
        return None;
    }
    row.iter_mut().for_each(|x| *x = *x / by);
    Some(())
}
