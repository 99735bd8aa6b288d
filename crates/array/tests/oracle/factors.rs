//! Results that have several right answers: orders of equal elements, and
//! factors of matrices.

use oneir_array::{DType, HostTensor};

use crate::case::Rule;
use crate::compare::values;

/// The elements along an axis in ascending order.
pub(crate) fn sorted(t: &HostTensor, axis: i64) -> HostTensor {
    let (shape, lanes) = lanes(t, axis);
    let numbers = t.values().unwrap();
    let keys = numbers.to_floats();
    let mut order: Vec<usize> = Vec::with_capacity(keys.len());
    let mut places = vec![0; keys.len()];
    for lane in lanes {
        order.clear();
        order.extend(&lane);
        order.sort_by(|&a, &b| keys[a].total_cmp(&keys[b]));
        lane.iter().zip(&order).for_each(|(&at, &from)| places[at] = from);
    }
    HostTensor::from_values(t.dtype(), &shape, &numbers.select(&places)).unwrap()
}

/// The shape, and the places of each line along an axis.
fn lanes(t: &HostTensor, axis: i64) -> (Vec<usize>, Vec<Vec<usize>>) {
    let shape = t.shape().to_vec();
    let axis = if axis < 0 { (axis + shape.len() as i64) as usize } else { axis as usize };
    let (n, inner) = (shape[axis], shape[axis + 1..].iter().product::<usize>());
    let outer: usize = shape[..axis].iter().product();
    let lane = |o: usize, i: usize| (0..n).map(|k| (o * n + k) * inner + i).collect();
    let all = (0..outer).flat_map(|o| (0..inner).map(move |i| (o, i))).map(|(o, i)| lane(o, i)).collect();
    (shape, all)
}

/// The elements at indices along an axis.
pub(crate) fn picked(x: &HostTensor, indices: &HostTensor, axis: i64) -> HostTensor {
    let (shape, lanes) = lanes(indices, axis);
    let at = indices.values().unwrap().to_floats();
    let mut places = vec![0; at.len()];
    for lane in lanes {
        lane.iter().for_each(|&spot| places[spot] = lane[at[spot] as usize]);
    }
    HostTensor::from_values(x.dtype(), &shape, &x.values().unwrap().select(&places)).unwrap()
}

/// Whether each line has the same elements, and those before and after element
/// `kth` of the order are on the right sides of it.
pub(crate) fn partition(found: &HostTensor, wanted: &HostTensor, kth: i64, axis: i64) -> Result<(), String> {
    let (right, ours) = (sorted(wanted, axis), sorted(found, axis));
    values(&ours, &right, Rule::Exact, 0.0)?;
    let (numbers, keys) = (found.values().unwrap().to_floats(), right.values().unwrap().to_floats());
    for lane in lanes(found, axis).1 {
        let k = if kth < 0 { (kth + lane.len() as i64) as usize } else { kth as usize };
        let pivot = keys[lane[k]];
        let before = lane[..k].iter().all(|&at| numbers[at].total_cmp(&pivot).is_le());
        let after = lane[k..].iter().all(|&at| numbers[at].total_cmp(&pivot).is_ge());
        if !before || !after || numbers[lane[k]].total_cmp(&pivot).is_ne() {
            return Err(format!("{numbers:?} is not split at {kth}"));
        }
    }
    Ok(())
}

/// A complex matrix in f64.
struct Matrix {
    rows: usize,
    columns: usize,
    /// Real and imaginary parts in row order.
    at: Vec<(f64, f64)>,
}

impl Matrix {
    /// The matrices in the last two dimensions.
    fn all(t: &HostTensor) -> Vec<Matrix> {
        let shape = t.shape().to_vec();
        let (rows, columns) = (shape[shape.len() - 2], shape[shape.len() - 1]);
        let numbers: Vec<(f64, f64)> = if t.dtype() == DType::Complex64 {
            t.values().unwrap().to_complex().iter().map(|z| (z.re, z.im)).collect()
        } else {
            t.values().unwrap().to_floats().into_iter().map(|x| (x, 0.0)).collect()
        };
        numbers.chunks((rows * columns).max(1)).map(|c| Matrix { rows, columns, at: c.to_vec() }).collect()
    }

    fn entry(&self, i: usize, j: usize) -> (f64, f64) {
        self.at[i * self.columns + j]
    }

    fn made(rows: usize, columns: usize, f: impl Fn(usize, usize) -> (f64, f64)) -> Matrix {
        let at = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))).map(|(i, j)| f(i, j)).collect();
        Matrix { rows, columns, at }
    }

    fn times(&self, other: &Matrix) -> Matrix {
        Matrix::made(self.rows, other.columns, |i, j| {
            (0..self.columns).fold((0.0, 0.0), |sum, k| {
                let ((a, b), (c, d)) = (self.entry(i, k), other.entry(k, j));
                (sum.0 + a * c - b * d, sum.1 + a * d + b * c)
            })
        })
    }

    /// Rows and columns swapped, conjugated.
    fn adjoint(&self) -> Matrix {
        Matrix::made(self.columns, self.rows, |i, j| (self.entry(j, i).0, -self.entry(j, i).1))
    }

    /// The first columns, each times a number.
    fn scaled(&self, numbers: &[(f64, f64)]) -> Matrix {
        Matrix::made(self.rows, numbers.len(), |i, j| {
            let ((a, b), (c, d)) = (self.entry(i, j), numbers[j]);
            (a * c - b * d, a * d + b * c)
        })
    }

    fn first_rows(&self, count: usize) -> Matrix {
        Matrix::made(count, self.columns, |i, j| self.entry(i, j))
    }

    fn largest(&self) -> f64 {
        self.at.iter().map(|z| z.0.hypot(z.1)).fold(0.0, f64::max)
    }

    fn near(&self, other: &Matrix, limit: f64, what: &str) -> Result<(), String> {
        let far =
            self.at.iter().zip(&other.at).map(|(a, b)| (a.0 - b.0).hypot(a.1 - b.1)).fold(0.0, f64::max);
        let sizes = (self.rows, self.columns) == (other.rows, other.columns);
        if sizes && far <= limit * other.largest().max(1.0) {
            Ok(())
        } else {
            Err(format!("{what} is off by {far:e}"))
        }
    }

    fn orthonormal(&self, limit: f64, what: &str) -> Result<(), String> {
        let one = Matrix::made(self.columns, self.columns, |i, j| (f64::from(u8::from(i == j)), 0.0));
        self.adjoint().times(self).near(&one, limit, what)
    }
}

/// Rows of numbers: eigenvalues, singular values.
fn rows(t: &HostTensor) -> Vec<Vec<(f64, f64)>> {
    let n = t.shape().to_vec().last().copied().unwrap_or(1).max(1);
    let numbers: Vec<(f64, f64)> = if t.dtype() == DType::Complex64 {
        t.values().unwrap().to_complex().iter().map(|z| (z.re, z.im)).collect()
    } else {
        t.values().unwrap().to_floats().into_iter().map(|x| (x, 0.0)).collect()
    };
    numbers.chunks(n).map(<[_]>::to_vec).collect()
}

/// Whether eigenvalues are those wanted, in any order.
fn spectrum(found: &HostTensor, wanted: &HostTensor, limit: f64) -> Result<(), String> {
    for (ours, mut right) in rows(found).into_iter().zip(rows(wanted)) {
        let largest = right.iter().map(|z| z.0.hypot(z.1)).fold(0.0, f64::max);
        for z in ours {
            let far = |w: &(f64, f64)| (w.0 - z.0).hypot(w.1 - z.1);
            let nearest = (0..right.len()).min_by(|&a, &b| far(&right[a]).total_cmp(&far(&right[b])));
            let w = right.swap_remove(nearest.ok_or("there are more eigenvalues than wanted")?);
            if far(&w) > limit * largest {
                return Err(format!("eigenvalue {z:?}, expected {w:?}"));
            }
        }
    }
    Ok(())
}

/// Whether factors give the matrix that they were made from, have the shapes
/// of factors, and the values that have one answer are those wanted.
pub(crate) fn factors(
    kind: &str,
    x: &HostTensor,
    found: &[HostTensor],
    wanted: &[HostTensor],
    limit: f64,
) -> Result<(), String> {
    if x.count() == 0 {
        return Ok(());
    }
    let unique = if kind == "svd" { 1 } else { 0 };
    match kind {
        "svd" | "eigh" => values(&found[unique], &wanted[unique], Rule::Scale(limit), 0.0)?,
        "eig" | "eigvals" => spectrum(&found[0], &wanted[0], limit)?,
        _ => {}
    }
    if kind == "eigvals" {
        return Ok(());
    }
    for (k, a) in Matrix::all(x).iter().enumerate() {
        let factor = |i: usize| Matrix::all(&found[i]).swap_remove(k);
        match kind {
            "svd" => {
                let (u, s, v) = (factor(0), rows(&found[1]).swap_remove(k), factor(2));
                u.scaled(&s).times(&v.first_rows(s.len())).near(a, limit, "the product")?;
                u.orthonormal(limit, "the left side")?;
                v.adjoint().orthonormal(limit, "the right side")?;
            }
            "qr" => {
                let (q, r) = (factor(0), factor(1));
                q.times(&r).near(a, limit, "the product")?;
                q.orthonormal(limit, "Q")?;
                if (0..r.rows).any(|i| (0..i.min(r.columns)).any(|j| r.entry(i, j) != (0.0, 0.0))) {
                    return Err("R is not upper triangular".into());
                }
            }
            _ => {
                let (w, v) = (rows(&found[0]).swap_remove(k), factor(1));
                a.times(&v).near(&v.scaled(&w), limit * a.largest().max(1.0), "A V = V w")?;
                if kind == "eigh" {
                    v.orthonormal(limit, "the vectors")?;
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(shape: &[usize], numbers: &[f32]) -> HostTensor {
        HostTensor::from_slice(shape, numbers).unwrap()
    }

    #[test]
    fn orders_are_told_from_others() {
        let wanted = t(&[5], &[1.0, 2.0, 3.0, 5.0, 4.0]);
        assert!(partition(&t(&[5], &[2.0, 1.0, 3.0, 4.0, 5.0]), &wanted, 2, 0).is_ok());
        assert!(partition(&t(&[5], &[2.0, 3.0, 1.0, 4.0, 5.0]), &wanted, 2, 0).is_err());
        assert!(partition(&t(&[5], &[2.0, 1.0, 3.0, 4.0, 4.0]), &wanted, 2, 0).is_err());
        assert_eq!(sorted(&t(&[2, 2], &[4.0, 3.0, 2.0, 1.0]), 0), t(&[2, 2], &[2.0, 1.0, 4.0, 3.0]));
    }

    #[test]
    fn factors_may_differ_by_sign_only() {
        let a = t(&[2, 2], &[3.0, 0.0, 0.0, 2.0]);
        let eye = |x: f32| t(&[2, 2], &[x, 0.0, 0.0, 1.0]);
        let s = t(&[2], &[3.0, 2.0]);
        let right = [eye(1.0), s.clone(), eye(1.0)];
        assert!(factors("svd", &a, &[eye(-1.0), s.clone(), eye(-1.0)], &right, 1e-6).is_ok());
        assert!(factors("svd", &a, &[eye(-1.0), s.clone(), eye(1.0)], &right, 1e-6).is_err());
        assert!(factors("svd", &a, &[eye(1.0), t(&[2], &[3.0, 2.01]), eye(1.0)], &right, 1e-6).is_err());
        assert!(factors("qr", &a, &[eye(-1.0), t(&[2, 2], &[-3.0, 0.0, 0.0, 2.0])], &[], 1e-6).is_ok());
        assert!(factors("qr", &a, &[eye(-1.0), t(&[2, 2], &[3.0, 0.0, 0.0, 2.0])], &[], 1e-6).is_err());
        let w = t(&[2], &[2.0, 3.0]);
        let swap = t(&[2, 2], &[0.0, 1.0, 1.0, 0.0]);
        assert!(factors("eigh", &a, &[w.clone(), swap.clone()], std::slice::from_ref(&w), 1e-6).is_ok());
        assert!(factors("eigh", &a, &[w.clone(), eye(1.0)], std::slice::from_ref(&w), 1e-6).is_err());
        assert!(factors("eig", &a, &[s.clone(), eye(1.0)], &[w], 1e-6).is_ok());
    }
}
