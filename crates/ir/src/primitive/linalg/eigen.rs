//! Eigenvalues of any square matrix: Householder's reduction to Hessenberg
//! form, shifted QR steps by Givens' rotations until it is triangular (Francis,
//! 1961; shifts after Wilkinson), and vectors by substitution.

use num_complex::Complex64;

use super::matrix::{Matrix, Number, add_times, inner, length};
use super::orthogonal::{CONVERGENT, FINITE, Found, times, upright};

/// QR steps for one eigenvalue after which a matrix counts as one that never
/// settles; two or three are usual.
const STEPS: usize = 300;

/// What is as small as this beside a matrix of about 1 is rounding.
const ROUNDING: f64 = 1e-13;

/// Eigenvalues, and their vectors as rows.
pub(super) struct General {
    pub(super) values: Vec<Complex64>,
    pub(super) vectors: Matrix<Complex64>,
}

/// The eigenvalues, by falling real and then imaginary part, with right
/// eigenvectors of length 1.
pub(super) fn eig(mut a: Matrix<Complex64>) -> Found<General> {
    let n = a.rows;
    if !a.is_finite() {
        return Ok(Err(FINITE));
    }
    let real = a.data.iter().all(|x| x.im == 0.0);
    let scale = a.scale();
    let mut basis = Matrix::identity(n)?;
    hessenberg(&mut a, &mut basis);
    if !triangular(&mut a, &mut basis) {
        return Ok(Err(CONVERGENT));
    }
    let size = length(&a.data);
    let mut found = Vec::with_capacity(n);
    for k in 0..n {
        let mut value = a.at(k, k);
        let mut vector = substituted(&a, &basis, k, size);
        let long = length(&vector);
        times(&mut vector, Complex64::from(1.0 / long));
        let turn = upright(&vector);
        times(&mut vector, turn);
        if real && value.im.abs() <= ROUNDING * size {
            value.im = 0.0;
            vector.iter_mut().filter(|x| x.im.abs() <= ROUNDING).for_each(|x| x.im = 0.0);
        }
        found.push((value, vector));
    }
    // Parts that differ by rounding alone count as equal.
    let step = size * 1e-10;
    let coarse = |x: f64| if step > 0.0 { (x / step).round() } else { 0.0 };
    found.sort_by(|(a, _), (b, _)| {
        coarse(b.re).total_cmp(&coarse(a.re)).then(coarse(b.im).total_cmp(&coarse(a.im)))
    });
    let mut vectors = Matrix::zeros(n, n)?;
    for (i, (_, vector)) in found.iter().enumerate() {
        vectors.row_mut(i).copy_from_slice(vector);
    }
    Ok(Ok(General { values: found.iter().map(|(value, _)| value.times(scale)).collect(), vectors }))
}

/// Reflects `a` to zeros below its first subdiagonal, `a = q h qᴴ`. `basis`
/// takes part from the right.
fn hessenberg(a: &mut Matrix<Complex64>, basis: &mut Matrix<Complex64>) {
    let n = a.rows;
    for k in 0..n.saturating_sub(2) {
        let mut v: Vec<Complex64> = (k + 1..n).map(|i| a.at(i, k)).collect();
        let norm = length(&v);
        if length(&v[1..]) == 0.0 {
            continue;
        }
        let away = v[0].phase().times(norm);
        v[0] += away;
        let size = length(&v);
        times(&mut v, Complex64::from(1.0 / size));
        // From the left: rows k + 1.. less twice v (vᴴ a).
        let mut along = vec![Complex64::default(); n];
        for (i, x) in v.iter().enumerate() {
            add_times(&mut along, x.conj(), a.row(k + 1 + i));
        }
        for (i, x) in v.iter().enumerate() {
            add_times(a.row_mut(k + 1 + i), -x.times(2.0), &along);
        }
        let back: Vec<Complex64> = v.iter().map(|x| x.conj()).collect();
        for matrix in [&mut *a, &mut *basis] {
            for i in 0..n {
                let row = &mut matrix.row_mut(i)[k + 1..];
                let along = inner(&back, row);
                add_times(row, -along.times(2.0), &back);
            }
        }
        for i in k + 2..n {
            a.set(i, k, Complex64::default());
        }
    }
}

/// Makes a Hessenberg matrix triangular, as `a = q t qᴴ`; false when it never
/// settles.
fn triangular(a: &mut Matrix<Complex64>, basis: &mut Matrix<Complex64>) -> bool {
    let n = a.rows;
    let size = length(&a.data);
    let mut end = n;
    let mut steps = 0;
    while end > 1 {
        let last = end - 1;
        // The block that ends here begins after the last negligible entry.
        let mut begin = last;
        while begin > 0 {
            let beside = a.at(begin - 1, begin - 1).norm() + a.at(begin, begin).norm();
            let beside = if beside == 0.0 { size } else { beside };
            if a.at(begin, begin - 1).norm() <= f64::EPSILON * beside {
                a.set(begin, begin - 1, Complex64::default());
                break;
            }
            begin -= 1;
        }
        if begin == last {
            end = last;
            steps = 0;
            continue;
        }
        steps += 1;
        if steps > STEPS {
            return false;
        }
        // Now and then a shift from elsewhere, as a cycle may have begun.
        let shift = if steps % 11 == 10 {
            a.at(last, last) + a.at(last, last - 1).norm()
        } else {
            nearer([a.at(last - 1, last - 1), a.at(last - 1, last), a.at(last, last - 1), a.at(last, last)])
        };
        step(a, basis, begin, end, shift);
    }
    true
}

/// The eigenvalue of `[[p, q], [r, s]]` that is nearer to s.
fn nearer([p, q, r, s]: [Complex64; 4]) -> Complex64 {
    let half = (p - s).times(0.5);
    let root = (half * half + q * r).sqrt();
    let far = if (half + root).norm() >= (half - root).norm() { half + root } else { half - root };
    if far.norm() == 0.0 { s } else { s - q * r / far }
}

/// One QR step with a shift on the rows and columns `begin..end`.
fn step(
    a: &mut Matrix<Complex64>,
    basis: &mut Matrix<Complex64>,
    begin: usize,
    end: usize,
    shift: Complex64,
) {
    let n = a.rows;
    for i in begin..end {
        a.set(i, i, a.at(i, i) - shift);
    }
    let mut rotations = Vec::with_capacity(end - begin);
    for k in begin..end - 1 {
        let (x, y) = (a.at(k, k), a.at(k + 1, k));
        let norm = x.norm().hypot(y.norm());
        let (c, s) = if norm == 0.0 {
            (Complex64::from(1.0), Complex64::default())
        } else {
            (x.times(1.0 / norm), y.times(1.0 / norm))
        };
        let (upper, lower) = a.rows_mut(k, k + 1);
        for (p, q) in upper[k..].iter_mut().zip(&mut lower[k..]) {
            (*p, *q) = (c.conj() * *p + s.conj() * *q, c * *q - s * *p);
        }
        rotations.push((c, s));
    }
    for (i, (c, s)) in rotations.into_iter().enumerate() {
        let k = begin + i;
        let turn = |row: &mut [Complex64]| {
            let (p, q) = (row[k], row[k + 1]);
            (row[k], row[k + 1]) = (p * c + q * s, q * c.conj() - p * s.conj());
        };
        for row in 0..(k + 2).min(end) {
            turn(a.row_mut(row));
        }
        for row in 0..n {
            turn(basis.row_mut(row));
        }
    }
    for i in begin..end {
        a.set(i, i, a.at(i, i) + shift);
    }
}

/// The eigenvector of the triangular matrix's value `k`, through the basis.
fn substituted(t: &Matrix<Complex64>, basis: &Matrix<Complex64>, k: usize, size: f64) -> Vec<Complex64> {
    let value = t.at(k, k);
    let mut x = vec![Complex64::default(); k + 1];
    x[k] = Complex64::from(1.0);
    for i in (0..k).rev() {
        let sum = (i + 1..=k).fold(Complex64::default(), |sum, j| sum + t.at(i, j) * x[j]);
        let mut apart = t.at(i, i) - value;
        // A repeated value: apart by as much as rounding.
        // Its square, which division takes, is a number too.
        let least = (f64::EPSILON * size).max(1e-140);
        if apart.norm() < least {
            apart = Complex64::from(least);
        }
        x[i] = -sum / apart;
        let top = x[i].norm();
        if top > 1e100 {
            times(&mut x, Complex64::from(1.0 / top));
        }
    }
    (0..t.rows)
        .map(|row| (0..=k).fold(Complex64::default(), |sum, j| sum + basis.at(row, j) * x[j]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(n: usize, numbers: Vec<Complex64>) {
        let a = Matrix { rows: n, cols: n, data: numbers };
        let found = eig(a.clone()).unwrap().unwrap();
        let size = length(&a.data).max(f64::MIN_POSITIVE);
        for (i, value) in found.values.iter().enumerate() {
            let v = found.vectors.row(i);
            assert!((length(v) - 1.0).abs() < 1e-12, "{n}: {} {value} {v:?}", length(v));
            for row in 0..n {
                let product = (0..n).fold(Complex64::default(), |sum, j| sum + a.at(row, j) * v[j]);
                assert!((product - value * v[row]).norm() < 1e-12 * size * n as f64, "{n}: value {i}");
            }
        }
    }

    #[test]
    fn vectors_are_scaled_by_their_values() {
        let mut seed = 1u64;
        let mut next = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        };
        for n in [1, 2, 3, 4, 7, 16, 33, 60] {
            check(n, (0..n * n).map(|_| Complex64::from(next())).collect());
            check(n, (0..n * n).map(|_| Complex64::new(next(), next())).collect());
        }
        // Turns of the axes, of which shifts make nothing; and no matrix at all.
        for n in [0, 2, 3, 5, 8] {
            let turn = |i: usize| Complex64::from(f64::from(u8::from(i / n == (i % n + 1) % n)));
            check(n, (0..n * n).map(turn).collect());
        }
        // One value thrice with one vector; and zeros.
        check(3, [1.0, 1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 1.0].map(Complex64::from).to_vec());
        check(3, vec![Complex64::default(); 9]);
    }

    #[test]
    fn real_values_of_real_matrices_are_real() {
        let a = Matrix { rows: 2, cols: 2, data: [1.0, -2.0, -2.0, 1.0].map(Complex64::from).to_vec() };
        let found = eig(a).unwrap().unwrap();
        assert!(found.values.iter().zip([3.0, -1.0]).all(|(a, b)| a.im == 0.0 && (a.re - b).abs() < 1e-14));
        assert!(found.vectors.data.iter().all(|x| x.im == 0.0));
    }
}
