//! The Walsh-Hadamard transform.

use oneir_tensor::DType;

use crate::{Array, Reason};

/// Rows that are transformed at once by a product with a matrix.
const CHUNK: usize = 64;

/// Whether i is a square modulo the prime p: 1 or -1, and 0 of 0.
fn square_class(i: usize, p: usize) -> i8 {
    match i % p {
        0 => 0,
        i if (1..p).any(|x| x * x % p == i) => 1,
        _ => -1,
    }
}

/// Paley's second construction (1933) of order 12, from the squares modulo 5.
fn twelve() -> Vec<i8> {
    let conference = |i: usize, j: usize| match (i, j) {
        (0, 0) => 0,
        (0, _) | (_, 0) => 1,
        (i, j) => square_class(i + 5 - j, 5),
    };
    let mut rows = Vec::with_capacity(144);
    for i in 0..12 {
        for j in 0..12 {
            let sign = conference(i / 2, j / 2);
            rows.push(match (sign, i % 2, j % 2) {
                (0, 0, 0) => 1,
                (0, _, _) => -1,
                (sign, 1, 1) => -sign,
                (sign, _, _) => sign,
            });
        }
    }
    rows
}

/// Williamson's construction (1944) from the first rows of four circulant
/// matrices.
fn williamson(first: [&str; 4]) -> Vec<i8> {
    const BLOCKS: [[(usize, i8); 4]; 4] = [
        [(0, 1), (1, 1), (2, 1), (3, 1)],
        [(1, -1), (0, 1), (3, -1), (2, 1)],
        [(2, -1), (3, 1), (0, 1), (1, -1)],
        [(3, -1), (2, -1), (1, 1), (0, 1)],
    ];
    let n = first[0].len();
    let mut rows = Vec::with_capacity(16 * n * n);
    for i in 0..4 * n {
        for j in 0..4 * n {
            let (circulant, sign) = BLOCKS[i / n][j / n];
            let at = (j % n + n - i % n) % n;
            rows.push(if first[circulant].as_bytes()[at] == b'+' { sign } else { -sign });
        }
    }
    rows
}

/// The Hadamard matrix of one of the orders 12, 20 and 28, or of a power of two
/// (Sylvester, 1867).
fn matrix(order: usize) -> Vec<i8> {
    match order {
        12 => twelve(),
        20 => williamson(["+----", "+----", "++--+", "+-++-"]),
        28 => williamson(["+------", "++----+", "+-+--+-", "+--++--"]),
        n => (0..n * n).map(|at| if ((at / n) & (at % n)).count_ones() % 2 == 0 { 1 } else { -1 }).collect(),
    }
}

/// The orders of matrices whose Kronecker product transforms `n` elements, from
/// the outermost.
fn orders(n: usize) -> Option<Vec<usize>> {
    let odd = [1, 12, 20, 28].into_iter().find(|m| n.is_multiple_of(*m) && (n / m).is_power_of_two())?;
    let mut rest = n / odd;
    let mut orders = if odd > 1 { vec![odd] } else { vec![] };
    while rest > 1 {
        orders.push(rest.min(CHUNK));
        rest /= rest.min(CHUNK);
    }
    Some(orders)
}

impl Array {
    /// The Walsh-Hadamard transform along the last axis times `scale`, or
    /// without one times `1 / √n`, which makes it its own inverse for powers of
    /// two. The size n is m · 2^k for m in 1, 12, 20 and 28. Integers convert to
    /// f32; halves are computed in f32.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[1f32, 2.0, 3.0, 4.0], &[4]);
    /// assert_eq!(x.hadamard_transform(Some(1.0)).to_vec::<f32>()?, [10.0, -2.0, -4.0, 0.0]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    /// A failed array for other sizes, and for complex elements.
    #[track_caller]
    #[must_use]
    pub fn hadamard_transform(&self, scale: Option<f64>) -> Array {
        const OP: &str = "hadamard_transform";
        if self.check().is_err() {
            return self.clone();
        }
        let dtype = self.dtype();
        let shape = self.shape();
        let n = shape.last().copied().unwrap_or(1);
        let Some(orders) = orders(n).filter(|_| !dtype.is_complex()) else {
            let reason = format!(
                "{n} elements of {dtype}: real numbers are needed, and m * 2^k of them for m in 1, 12, 20, 28"
            );
            return Array::failed(OP, Reason::Parameters(reason));
        };
        let given = if dtype.is_inexact() { dtype } else { DType::F32 };
        let wide = given.accumulator();
        let mut x = self.astype(wide);
        let mut outer = shape.iter().rev().skip(1).fold(1usize, |n, &size| n.saturating_mul(size));
        let mut inner = n;
        for order in orders {
            inner /= order;
            let signs: Vec<f32> = matrix(order).into_iter().map(f32::from).collect();
            let signs = Array::from_slice(&signs, &[order, order]).astype(wide);
            let lines = x.reshape(&[outer, order, inner].map(|n| n as isize));
            // A single column takes the plain product, of rows by the transpose.
            x = if inner == 1 {
                lines.squeeze(-1).matmul(&signs.transpose([1, 0]))
            } else {
                signs.matmul(&lines)
            };
            outer = outer.saturating_mul(order);
        }
        let whole: Vec<isize> = shape.iter().map(|&n| n as isize).collect();
        let scale = scale.unwrap_or_else(|| 1.0 / (n as f64).sqrt());
        (x * scale).reshape(&whole).astype(given).named(OP)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_orthogonal() {
        for order in [1, 2, 8, 12, 20, 28, 64] {
            let h = matrix(order);
            for i in 0..order {
                for j in 0..order {
                    let product: i32 =
                        (0..order).map(|k| i32::from(h[i * order + k]) * i32::from(h[j * order + k])).sum();
                    assert_eq!(product, if i == j { order as i32 } else { 0 }, "{order}: {i}, {j}");
                }
            }
        }
    }
}
