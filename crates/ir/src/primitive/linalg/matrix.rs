use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

use num_complex::Complex64;
use oneir_tensor::TensorError;

use crate::primitive::rules::zeros;

/// A real or complex number.
pub(super) trait Number:
    Copy
    + Default
    + PartialEq
    + Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + From<f64>
{
    /// The complex conjugate.
    fn conj(self) -> Self;
    /// The magnitude.
    fn norm(self) -> f64;
    /// The real part.
    fn re(self) -> f64;
    /// Whether this is neither NaN nor an infinity.
    fn is_finite(self) -> bool;

    /// This times a real number.
    fn times(self, factor: f64) -> Self {
        self * Self::from(factor)
    }

    /// The direction: of magnitude 1, and 1 for 0.
    fn phase(self) -> Self {
        match self.norm() {
            0.0 => Self::from(1.0),
            norm => self.times(1.0 / norm),
        }
    }
}

impl Number for f64 {
    fn conj(self) -> f64 {
        self
    }

    fn norm(self) -> f64 {
        self.abs()
    }

    fn re(self) -> f64 {
        self
    }

    fn is_finite(self) -> bool {
        f64::is_finite(self)
    }

    fn phase(self) -> f64 {
        if self < 0.0 { -1.0 } else { 1.0 }
    }
}

impl Number for Complex64 {
    fn conj(self) -> Complex64 {
        Complex64::conj(&self)
    }

    fn norm(self) -> f64 {
        Complex64::norm(self)
    }

    fn re(self) -> f64 {
        self.re
    }

    fn is_finite(self) -> bool {
        Complex64::is_finite(self)
    }
}

/// Adds `factor · x` to `y`.
pub(super) fn add_times<T: Number>(y: &mut [T], factor: T, x: &[T]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y = *y + factor * *x;
    }
}

/// The sum of `conj(x) · y`.
pub(super) fn inner<T: Number>(x: &[T], y: &[T]) -> T {
    x.iter().zip(y).fold(T::default(), |sum, (x, y)| sum + x.conj() * *y)
}

/// The Euclidean length.
pub(super) fn length<T: Number>(x: &[T]) -> f64 {
    x.iter().map(|x| x.norm() * x.norm()).sum::<f64>().sqrt()
}

/// A matrix, row by row.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Matrix<T> {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) data: Vec<T>,
}

impl<T: Number> Matrix<T> {
    /// A matrix of zeros.
    pub(super) fn zeros(rows: usize, cols: usize) -> Result<Self, TensorError> {
        let count = rows.checked_mul(cols).ok_or(TensorError::OutOfMemory { bytes: usize::MAX })?;
        Ok(Matrix { rows, cols, data: zeros(count)? })
    }

    /// A square matrix with ones on the diagonal.
    pub(super) fn identity(n: usize) -> Result<Self, TensorError> {
        let mut all = Self::zeros(n, n)?;
        all.data.iter_mut().step_by(n + 1).for_each(|x| *x = T::from(1.0));
        Ok(all)
    }

    /// The element in row `i` and column `j`.
    pub(super) fn at(&self, i: usize, j: usize) -> T {
        self.data[i * self.cols + j]
    }

    /// Sets an element.
    pub(super) fn set(&mut self, i: usize, j: usize, x: T) {
        self.data[i * self.cols + j] = x;
    }

    /// Row `i`.
    pub(super) fn row(&self, i: usize) -> &[T] {
        &self.data[i * self.cols..][..self.cols]
    }

    /// Row `i`, to write.
    pub(super) fn row_mut(&mut self, i: usize) -> &mut [T] {
        &mut self.data[i * self.cols..][..self.cols]
    }

    /// Two rows to write, of which `i` comes first.
    pub(super) fn rows_mut(&mut self, i: usize, j: usize) -> (&mut [T], &mut [T]) {
        let (before, after) = self.data.split_at_mut(j * self.cols);
        (&mut before[i * self.cols..][..self.cols], &mut after[..self.cols])
    }

    /// Exchanges two rows.
    pub(super) fn swap_rows(&mut self, i: usize, j: usize) {
        if i != j {
            let (a, b) = self.rows_mut(i.min(j), i.max(j));
            a.swap_with_slice(b);
        }
    }

    /// Rows and columns exchanged, each element as `f` makes it.
    pub(super) fn transposed(&self, f: impl Fn(T) -> T) -> Self {
        let mut data = Vec::with_capacity(self.data.len());
        for j in 0..self.cols {
            data.extend((0..self.rows).map(|i| f(self.at(i, j))));
        }
        Matrix { rows: self.cols, cols: self.rows, data }
    }

    /// Whether no element is NaN or an infinity.
    pub(super) fn is_finite(&self) -> bool {
        self.data.iter().all(|x| x.is_finite())
    }

    /// Divides by a power of two, which it returns, so that squares of elements
    /// neither overflow nor vanish.
    pub(super) fn scale(&mut self) -> f64 {
        let greatest = self.data.iter().fold(0f64, |top, x| top.max(x.norm()));
        if greatest == 0.0 || !greatest.is_finite() {
            return 1.0;
        }
        let exponent = libm::frexp(greatest).1.clamp(-1000, 1000);
        let down = libm::scalbn(1.0, -exponent);
        self.data.iter_mut().for_each(|x| *x = x.times(down));
        libm::scalbn(1.0, exponent)
    }
}
