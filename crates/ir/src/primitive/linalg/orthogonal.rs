//! Orthonormal vectors: reflections, and rotations until a matrix is diagonal.

use oneir_tensor::TensorError;

use super::matrix::{Matrix, Number, add_times, inner, length};

/// Sweeps of rotations after which a matrix counts as one that never settles;
/// six to ten are usual.
const SWEEPS: usize = 60;

/// A length that counts as 0 beside one of about 1: its square still has all
/// of its digits.
const NEGLIGIBLE: f64 = 1e-140;

/// What was found of a matrix, or in words what the matrix is not.
pub(super) type Found<T> = Result<Result<T, &'static str>, TensorError>;

/// Why rotations are not begun, and why they are given up.
pub(super) const FINITE: &str = "finite";
pub(super) const CONVERGENT: &str = "convergent";

/// `a = q r` by Householder's reflections.
pub(super) fn qr<T: Number>(mut a: Matrix<T>) -> Result<(Matrix<T>, Matrix<T>), TensorError> {
    let scale = a.scale();
    let (rows, k) = (a.rows, a.rows.min(a.cols));
    // Columns as rows, so that they lie together.
    let mut columns = a.transposed(|x| x);
    let mut taus = Vec::with_capacity(k);
    for j in 0..k {
        let column = &mut columns.row_mut(j)[j..];
        let (alpha, rest) = (column[0], length(&column[1..]));
        // The last row of a real matrix has nothing to reflect away.
        let norm = rest.hypot(alpha.norm());
        let beta = if alpha.re() < 0.0 { norm } else { -norm };
        let beta = if rest == 0.0 && alpha == T::from(alpha.re()) { alpha.re() } else { beta };
        let tau =
            if T::from(beta) == alpha { T::default() } else { (T::from(beta) - alpha).times(1.0 / beta) };
        let head = alpha - T::from(beta);
        column[0] = T::from(beta);
        if tau != T::default() {
            column[1..].iter_mut().for_each(|x| *x = *x / head);
        }
        taus.push(tau);
        for other in j + 1..columns.rows {
            let (v, x) = columns.rows_mut(j, other);
            reflect(&v[j..], tau.conj(), &mut x[j..]);
        }
    }
    let mut r = Matrix::zeros(k, a.cols)?;
    for i in 0..k {
        for j in i..a.cols {
            r.set(i, j, columns.at(j, i).times(scale));
        }
    }
    let mut q = Matrix::zeros(k, rows)?;
    for i in 0..k {
        q.set(i, i, T::from(1.0));
        for j in (0..=i).rev() {
            reflect(&columns.row(j)[j..], taus[j], &mut q.row_mut(i)[j..]);
        }
    }
    Ok((q.transposed(|x| x), r))
}

/// Subtracts `tau (vᴴ x) v` from x, where v begins with a 1 that is not stored.
fn reflect<T: Number>(v: &[T], tau: T, x: &mut [T]) {
    let along = tau * (x[0] + inner(&v[1..], &x[1..]));
    x[0] = x[0] - along;
    add_times(&mut x[1..], -along, &v[1..]);
}

/// The rotation that makes two vectors (or axes) orthogonal whose inner
/// product is `product` and whose squared lengths differ by `difference`.
struct Rotation<T> {
    cos: f64,
    sin: f64,
    /// Turns the second by the product's phase first.
    phase: T,
    /// The tangent.
    tan: f64,
}

impl<T: Number> Rotation<T> {
    fn new(product: T, difference: f64) -> Self {
        let half = difference / (2.0 * product.norm());
        let tan = if half < 0.0 { -1.0 } else { 1.0 } / (half.abs() + half.hypot(1.0));
        let cos = 1.0 / tan.hypot(1.0);
        Rotation { cos, sin: tan * cos, phase: product.phase().conj(), tan }
    }

    /// Turns both, where `phase` is this rotation's or its conjugate.
    fn turn(&self, phase: T, x: &mut [T], y: &mut [T]) {
        for (x, y) in x.iter_mut().zip(y) {
            let (a, b) = (*x, *y * phase);
            *x = a.times(self.cos) - b.times(self.sin);
            *y = a.times(self.sin) + b.times(self.cos);
        }
    }
}

/// The places of `keys` in falling or rising order.
fn sorted(keys: &[f64], falling: bool) -> Vec<usize> {
    let mut order: Vec<usize> = (0..keys.len()).collect();
    order.sort_by(|&i, &j| if falling { keys[j].total_cmp(&keys[i]) } else { keys[i].total_cmp(&keys[j]) });
    order
}

/// What turns a vector so that its first element of about the greatest
/// magnitude is positive. Rounding must not choose between equals.
pub(super) fn upright<T: Number>(vector: &[T]) -> T {
    let greatest = vector.iter().fold(0f64, |top, x| top.max(x.norm()));
    let leading = vector.iter().find(|x| x.norm() >= 0.9 * greatest);
    leading.map_or(T::from(1.0), |x| x.phase().conj())
}

/// Each element times `factor`.
pub(super) fn times<T: Number>(vector: &mut [T], factor: T) {
    vector.iter_mut().for_each(|x| *x = *x * factor);
}

/// Eigenvalues, rising, with their vectors as rows.
pub(super) struct Eigen<T> {
    pub(super) values: Vec<f64>,
    pub(super) vectors: Matrix<T>,
}

/// The eigenvalues and eigenvectors of the Hermitian matrix with this lower
/// triangle, by Jacobi's rotations.
pub(super) fn eigh<T: Number>(mut a: Matrix<T>) -> Found<Eigen<T>> {
    let n = a.rows;
    for i in 0..n {
        a.set(i, i, T::from(a.at(i, i).re()));
        for j in 0..i {
            a.set(j, i, a.at(i, j).conj());
        }
    }
    if !a.is_finite() {
        return Ok(Err(FINITE));
    }
    let scale = a.scale();
    let small = length(&a.data) * f64::EPSILON / 64.0;
    let mut vectors = Matrix::identity(n)?;
    let settled = (0..SWEEPS).any(|_| {
        let mut settled = true;
        for p in 0..n {
            for q in p + 1..n {
                let product = a.at(p, q);
                if product.norm() <= small {
                    continue;
                }
                settled = false;
                let (x, y) = (a.at(p, p).re(), a.at(q, q).re());
                let rotation = Rotation::new(product, y - x);
                let (upper, lower) = a.rows_mut(p, q);
                rotation.turn(rotation.phase.conj(), upper, lower);
                let shift = rotation.tan * product.norm();
                a.set(p, p, T::from(x - shift));
                a.set(q, q, T::from(y + shift));
                a.set(p, q, T::default());
                a.set(q, p, T::default());
                for k in (0..n).filter(|&k| k != p && k != q) {
                    a.set(k, p, a.at(p, k).conj());
                    a.set(k, q, a.at(q, k).conj());
                }
                let (v, w) = vectors.rows_mut(p, q);
                rotation.turn(rotation.phase, v, w);
            }
        }
        settled
    });
    if !settled {
        return Ok(Err(CONVERGENT));
    }
    let values: Vec<f64> = (0..n).map(|i| a.at(i, i).re()).collect();
    let order = sorted(&values, false);
    let mut rows = Matrix::zeros(n, n)?;
    for (to, &from) in order.iter().enumerate() {
        let turn = upright(vectors.row(from));
        rows.row_mut(to).copy_from_slice(vectors.row(from));
        times(rows.row_mut(to), turn);
    }
    Ok(Ok(Eigen { values: order.iter().map(|&i| values[i] * scale).collect(), vectors: rows }))
}

/// Singular values, falling, with their left and right vectors as rows (the
/// right ones conjugated).
pub(super) struct Singular<T> {
    pub(super) left: Matrix<T>,
    pub(super) values: Vec<f64>,
    pub(super) right: Matrix<T>,
}

/// The singular value decomposition. `full` asks for all vectors of both sides.
pub(super) fn svd<T: Number>(a: Matrix<T>, full: bool) -> Found<Singular<T>> {
    if !a.is_finite() {
        return Ok(Err(FINITE));
    }
    let wide = a.rows < a.cols;
    let mut svd = match tall_svd(if wide { a.transposed(T::conj) } else { a }, full)? {
        Ok(svd) => svd,
        Err(expected) => return Ok(Err(expected)),
    };
    if wide {
        svd.left.data.iter_mut().chain(&mut svd.right.data).for_each(|x| *x = x.conj());
        std::mem::swap(&mut svd.left, &mut svd.right);
    }
    let paired = svd.values.iter().filter(|&&value| value > 0.0).count();
    for i in 0..svd.left.rows {
        let turn = upright(svd.left.row(i));
        times(svd.left.row_mut(i), turn);
        if i < paired {
            times(svd.right.row_mut(i), turn.conj());
        }
    }
    for i in paired..svd.right.rows {
        let turn = upright(svd.right.row(i));
        times(svd.right.row_mut(i), turn);
    }
    Ok(Ok(svd))
}

/// As [`svd`], of a matrix with at least as many rows as columns, by one-sided
/// rotations (Hestenes, 1958).
fn tall_svd<T: Number>(mut a: Matrix<T>, full: bool) -> Found<Singular<T>> {
    let scale = a.scale();
    let (m, n) = (a.rows, a.cols);
    let mut columns = a.transposed(|x| x);
    let mut vectors = Matrix::identity(n)?;
    let tolerance = f64::EPSILON * (m as f64).sqrt().max(4.0);
    let settled = (0..SWEEPS).any(|_| {
        let mut settled = true;
        for p in 0..n {
            for q in p + 1..n {
                let (x, y) = columns.rows_mut(p, q);
                let (product, first, second) = (inner(x, y), length(x), length(y));
                if product.norm() <= tolerance * first * second || first.min(second) <= NEGLIGIBLE {
                    continue;
                }
                settled = false;
                let rotation = Rotation::new(product, (second - first) * (second + first));
                rotation.turn(rotation.phase, x, y);
                let (v, w) = vectors.rows_mut(p, q);
                rotation.turn(rotation.phase, v, w);
            }
        }
        settled
    });
    if !settled {
        return Ok(Err(CONVERGENT));
    }
    let lengths: Vec<f64> =
        (0..n).map(|i| length(columns.row(i))).map(|x| if x <= NEGLIGIBLE { 0.0 } else { x }).collect();
    let order = sorted(&lengths, true);
    let mut left = Matrix::zeros(if full { m } else { n }, m)?;
    let mut right = Matrix::zeros(n, n)?;
    for (to, &from) in order.iter().enumerate() {
        right.row_mut(to).copy_from_slice(vectors.row(from));
        if lengths[from] > 0.0 {
            left.row_mut(to).copy_from_slice(columns.row(from));
            times(left.row_mut(to), T::from(1.0 / lengths[from]));
        }
    }
    right.data.iter_mut().for_each(|x| *x = x.conj());
    complete(&mut left, lengths.iter().filter(|&&x| x > 0.0).count());
    Ok(Ok(Singular { left, values: order.iter().map(|&i| lengths[i] * scale).collect(), right }))
}

/// Makes the rows from `known` on orthonormal to each other and to those
/// before them.
fn complete<T: Number>(rows: &mut Matrix<T>, known: usize) {
    // How much of each axis no row reaches yet.
    let mut left: Vec<f64> =
        (0..rows.cols).map(|i| 1.0 - (0..known).map(|r| rows.at(r, i).norm().powi(2)).sum::<f64>()).collect();
    for r in known..rows.rows {
        let axis = (0..rows.cols).fold(0, |best, i| if left[i] > left[best] + 1e-9 { i } else { best });
        rows.row_mut(r)[axis] = T::from(1.0);
        // Once more, as the first pass leaves rounding errors behind.
        for _ in 0..2 {
            for other in 0..r {
                let (known, row) = rows.rows_mut(other, r);
                let along = inner(known, row);
                add_times(row, -along, known);
            }
        }
        let row = rows.row_mut(r);
        let norm = length(row);
        times(row, T::from(1.0 / norm));
        for (left, x) in left.iter_mut().zip(row) {
            *left -= x.norm().powi(2);
        }
    }
}

#[cfg(test)]
mod tests {
    use num_complex::Complex64;

    use super::*;

    /// Numbers between -1 and 1, from a linear congruence.
    fn random(count: usize, seed: &mut u64) -> Vec<f64> {
        let mut next = || {
            *seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (*seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    fn matrix<T: Number>(rows: usize, cols: usize, seed: &mut u64, make: fn(f64, f64) -> T) -> Matrix<T> {
        let parts = random(2 * rows * cols, seed);
        let (re, im) = parts.split_at(rows * cols);
        Matrix { rows, cols, data: re.iter().zip(im).map(|(re, im)| make(*re, *im)).collect() }
    }

    fn product<T: Number>(a: &Matrix<T>, b: &Matrix<T>) -> Matrix<T> {
        let mut out = Matrix::zeros(a.rows, b.cols).unwrap();
        for i in 0..a.rows {
            for k in 0..a.cols {
                add_times(out.row_mut(i), a.at(i, k), b.row(k));
            }
        }
        out
    }

    fn close<T: Number>(a: &Matrix<T>, b: &Matrix<T>, what: &str) {
        let size = length(&b.data).max(f64::MIN_POSITIVE);
        for (x, y) in a.data.iter().zip(&b.data) {
            assert!((*x - *y).norm() <= 1e-13 * size, "{what}: {x:?}, expected {y:?}");
        }
    }

    /// Rows are orthonormal.
    fn orthonormal<T: Number>(rows: &Matrix<T>, what: &str) {
        let back = product(rows, &rows.transposed(T::conj));
        close(&back, &Matrix::identity(rows.rows).unwrap(), what);
    }

    fn factors_multiply_back<T: Number>(make: fn(f64, f64) -> T) {
        let mut seed = 1;
        for (m, n, rank) in [
            (1, 1, 1),
            (4, 4, 4),
            (9, 5, 5),
            (5, 9, 5),
            (8, 8, 3),
            (12, 7, 1),
            (3, 6, 0),
            (40, 40, 39),
            (2, 2, 1),
        ] {
            let what = format!("{m} by {n} of rank {rank}");
            let a = product(&matrix(m, rank, &mut seed, make), &matrix(rank, n, &mut seed, make));
            let (q, r) = qr(a.clone()).unwrap();
            close(&product(&q, &r), &a, &what);
            orthonormal(&q.transposed(T::conj), &what);
            for full in [false, true] {
                let found = svd(a.clone(), full).unwrap().unwrap();
                orthonormal(&found.left, &what);
                orthonormal(&found.right, &what);
                assert!(found.values.is_sorted_by(|x, y| x >= y), "{what}");
                let mut middle = Matrix::zeros(found.left.rows, found.right.rows).unwrap();
                for (i, &value) in found.values.iter().enumerate() {
                    middle.set(i, i, T::from(value));
                }
                close(&product(&product(&found.left.transposed(|x| x), &middle), &found.right), &a, &what);
            }
            let square = product(&a, &a.transposed(T::conj));
            let Eigen { values, vectors } = eigh(square.clone()).unwrap().unwrap();
            orthonormal(&vectors, &what);
            assert!(values.is_sorted(), "{what}");
            let mut scaled = vectors.transposed(|x| x);
            for i in 0..m {
                for (x, value) in scaled.row_mut(i).iter_mut().zip(&values) {
                    *x = x.times(*value);
                }
            }
            let conjugate = Matrix { data: vectors.data.iter().map(|x| x.conj()).collect(), ..vectors };
            close(&product(&scaled, &conjugate), &square, &what);
        }
    }

    #[test]
    fn real_factors_multiply_back() {
        factors_multiply_back(|re, _| re);
    }

    #[test]
    fn complex_factors_multiply_back() {
        factors_multiply_back(Complex64::new);
    }

    #[test]
    fn extreme_sizes_neither_overflow_nor_vanish() {
        for size in [1e300, 1e-300, 5e-324, f64::MAX] {
            let a = Matrix { rows: 2, cols: 2, data: vec![size, 0.0, 0.0, size / 2.0] };
            let found = svd(a.clone(), false).unwrap().unwrap();
            assert_eq!(found.values, [size, size / 2.0]);
            let found = eigh(a.clone()).unwrap().unwrap();
            assert_eq!(found.values, [size / 2.0, size]);
            let (_, r) = qr(a).unwrap();
            assert_eq!(r.data, [size, 0.0, 0.0, size / 2.0]);
        }
        // Columns whose lengths differ by more than squares can say.
        let apart = Matrix { rows: 2, cols: 2, data: vec![1.0, 1e-150, 1.0, 3e-150] };
        orthonormal(&svd(apart, false).unwrap().unwrap().left, "far apart");
    }
}
