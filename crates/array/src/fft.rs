//! Fourier transforms, by MLX's names.
//!
//! Complex transforms give complex64, and so do real ones of what they are
//! given as f32; other dtypes convert first. Sizes may differ from an axis's
//! own: it is then cut at the end, or padded there with zeros.
//!
//! ```
//! # use oneir_cpu as _;
//! use oneir_array::{Array, Complex32, fft::{self, Norm}};
//! let x = Array::from_slice(&[1f32, 0.0, 0.0, 0.0], &[4]);
//! let spectrum = fft::rfft(&x, None, -1, Norm::Backward);
//! assert_eq!(spectrum.to_vec::<Complex32>()?, [Complex32::new(1.0, 0.0); 3]);
//! assert_eq!(fft::irfft(&spectrum, Some(4), -1, Norm::Backward).to_vec::<f32>()?, [1.0, 0.0, 0.0, 0.0]);
//! # Ok::<(), oneir_array::ArrayError>(())
//! ```

use oneir_ir::Primitive;
use oneir_ir::primitive::FftOp;
use oneir_tensor::{DType, HostTensor};

use crate::axes::{Axes, axes_of, axis_of, listed, named};
use crate::{Array, Reason};

mod frames;

pub use frames::{Frames, istft, stft};

/// Where a transform and its inverse are divided by the number of samples n.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Norm {
    /// The inverse by n.
    #[default]
    Backward,
    /// Both by √n.
    Ortho,
    /// The forward transform by n.
    Forward,
}

/// The axes and sizes of a transform of several axes.
fn several(
    op: FftOp,
    shape: &[usize],
    s: Option<&[usize]>,
    axes: impl Axes,
) -> Result<(Vec<usize>, Vec<usize>), Reason> {
    let rank = shape.len();
    let axes = match (named(&axes), s) {
        (Some(_), _) => listed(axes, rank)?,
        (None, Some(s)) if s.len() <= rank => (rank - s.len()..rank).collect(),
        (None, Some(s)) => return Err(Reason::Parameters(format!("{} sizes for {rank} axes", s.len()))),
        (None, None) => (0..rank).collect(),
    };
    axes_of(axes.iter().map(|&axis| axis as isize).collect::<Vec<_>>(), rank)?;
    let mut sizes = match s {
        Some(s) if s.len() == axes.len() => s.to_vec(),
        Some(s) => return Err(Reason::Parameters(format!("{} sizes for {} axes", s.len(), axes.len()))),
        None => axes.iter().map(|&axis| shape[axis]).collect(),
    };
    if s.is_none()
        && op == FftOp::Irfft
        && let Some(last) = sizes.last_mut()
    {
        *last = last.saturating_sub(1).saturating_mul(2);
    }
    Ok((axes, sizes))
}

/// An axis cut or padded with zeros at its end.
#[track_caller]
fn fitted(x: Array, axis: usize, size: usize) -> Array {
    let have = x.shape().get(axis).copied().unwrap_or(size);
    if have > size {
        return x.narrow(axis as isize, 0, size);
    }
    if have == size {
        return x;
    }
    let mut padding = vec![(0, 0); x.ndim()];
    padding[axis].1 = size - have;
    let zero = Array::zeros(&[], x.dtype());
    x.pad_with(&padding, &zero)
}

#[track_caller]
fn transformed(
    name: &'static str,
    op: FftOp,
    a: &Array,
    found: Result<(Vec<usize>, Vec<usize>), Reason>,
    norm: Norm,
) -> Array {
    if a.check().is_err() {
        return a.clone();
    }
    let (axes, sizes) = match found {
        Ok(found) => found,
        Err(reason) => return Array::failed(name, reason),
    };
    if sizes.contains(&0) {
        let reason = format!("a transform needs samples, found sizes {sizes:?}");
        return Array::failed(name, Reason::Parameters(reason));
    }
    if axes.is_empty() && matches!(op, FftOp::Rfft | FftOp::Irfft) {
        return Array::failed(name, Reason::Parameters("a real transform needs an axis".into()));
    }
    let real = op == FftOp::Rfft;
    let mut x = a.astype(if real { DType::F32 } else { DType::Complex64 });
    for (i, (&axis, &size)) in axes.iter().zip(&sizes).enumerate() {
        let halved = op == FftOp::Irfft && i + 1 == axes.len();
        x = fitted(x, axis, if halved { size / 2 + 1 } else { size });
    }
    let count: f64 = sizes.iter().map(|&n| n as f64).product();
    let inverse = matches!(op, FftOp::Ifft | FftOp::Irfft);
    let factor = match (norm, inverse) {
        (Norm::Backward, _) => 1.0,
        (Norm::Ortho, false) => 1.0 / count.sqrt(),
        (Norm::Ortho, true) => count.sqrt(),
        (Norm::Forward, false) => 1.0 / count,
        (Norm::Forward, true) => count,
    };
    let y = Array::primitive(name, Primitive::Fft { op, axes, sizes }, [&x]);
    let y = if factor == 1.0 { y } else { y * factor };
    y.named(name)
}

/// The axis and size of a transform of one axis.
fn one(op: FftOp, a: &Array, n: Option<usize>, axis: isize) -> Result<(Vec<usize>, Vec<usize>), Reason> {
    let shape = a.shape();
    let axis = axis_of(axis, shape.rank())?;
    let own = if op == FftOp::Irfft { shape[axis].saturating_sub(1).saturating_mul(2) } else { shape[axis] };
    Ok((vec![axis], vec![n.unwrap_or(own)]))
}

macro_rules! transforms {
    ($($op:ident: $one:ident $two:ident $all:ident, $what:literal, $size:literal;)*) => {
        $(
            #[doc = concat!($what, " along an axis, of `n` samples or ", $size, ".")]
            ///
            /// # Errors
            /// A failed array where the axis is out of range or has no samples.
            #[track_caller]
            #[must_use]
            pub fn $one(a: &Array, n: Option<usize>, axis: isize, norm: Norm) -> Array {
                transformed(stringify!($one), FftOp::$op, a, one(FftOp::$op, a, n, axis), norm)
            }

            #[doc = concat!($what, " along two axes (`[-2, -1]` as a rule), of `s` samples or ", $size, ".")]
            ///
            /// # Errors
            #[doc = concat!("As [`", stringify!($all), "`].")]
            #[track_caller]
            #[must_use]
            pub fn $two(a: &Array, s: Option<&[usize]>, axes: impl Axes, norm: Norm) -> Array {
                let found = several(FftOp::$op, &a.shape(), s, axes);
                transformed(stringify!($two), FftOp::$op, a, found, norm)
            }

            #[doc = concat!($what, " along axes, of `s` samples or ", $size, ".")]
            /// With `..`, along the last axes, as many as `s` has sizes, or all.
            ///
            /// # Errors
            /// A failed array where axes are out of range, repeated, not as many as
            /// the sizes, or have no samples.
            #[track_caller]
            #[must_use]
            pub fn $all(a: &Array, s: Option<&[usize]>, axes: impl Axes, norm: Norm) -> Array {
                let found = several(FftOp::$op, &a.shape(), s, axes);
                transformed(stringify!($all), FftOp::$op, a, found, norm)
            }
        )*
    };
}

transforms! {
    Fft: fft fft2 fftn, "The discrete Fourier transform", "as many as there are";
    Ifft: ifft ifft2 ifftn, "The inverse discrete Fourier transform", "as many as there are";
    Rfft: rfft rfft2 rfftn,
        "The first half, `n / 2 + 1`, of the discrete Fourier transform of real numbers, halved in the last axis named,",
        "as many as there are";
    Irfft: irfft irfft2 irfftn,
        "The real numbers whose transform, of which the last axis named holds the first half, is given,",
        "`2 (m - 1)` of the m numbers in the halved axis";
}

/// The halves of each axis exchanged, so that frequency 0 moves to the middle.
///
/// # Errors
/// A failed array where axes are out of range or repeated.
#[track_caller]
#[must_use]
pub fn fftshift(a: &Array, axes: impl Axes) -> Array {
    rolled("fftshift", a, axes, |n| n - n / 2)
}

/// The inverse of [`fftshift`], from which it differs for odd sizes.
///
/// # Errors
/// As [`fftshift`].
#[track_caller]
#[must_use]
pub fn ifftshift(a: &Array, axes: impl Axes) -> Array {
    rolled("ifftshift", a, axes, |n| n / 2)
}

/// Each axis begun at `from(size)` and continued at its front.
#[track_caller]
fn rolled(name: &'static str, a: &Array, axes: impl Axes, from: fn(usize) -> usize) -> Array {
    if a.check().is_err() {
        return a.clone();
    }
    let axes = match axes_of(axes, a.ndim()) {
        Ok(axes) => axes,
        Err(reason) => return Array::failed(name, reason),
    };
    let mut x = a.clone();
    for axis in axes {
        let n = x.shape()[axis];
        let (start, axis) = (from(n), axis as isize);
        if n > 1 {
            let parts = [x.narrow(axis, start, n - start), x.narrow(axis, 0, start)];
            x = Array::concatenate(&parts, axis);
        }
    }
    x.named(name)
}

/// The frequencies (f32) of `n` samples that are `d` apart, in the order in
/// which [`fft`] gives them: 0, 1, …, then the negative ones, each over `n d`.
///
/// # Errors
/// A failed array where there is no memory for so many.
#[track_caller]
#[must_use]
pub fn fftfreq(n: usize, d: f64) -> Array {
    let positive = n.div_ceil(2);
    frequencies("fftfreq", n, n, d, |k| if k < positive { k as f64 } else { k as f64 - n as f64 })
}

/// The frequencies (f32) that [`rfft`] gives of `n` samples that are `d` apart.
///
/// # Errors
/// As [`fftfreq`].
#[track_caller]
#[must_use]
pub fn rfftfreq(n: usize, d: f64) -> Array {
    frequencies("rfftfreq", n / 2 + 1, n, d, |k| k as f64)
}

#[track_caller]
fn frequencies(name: &'static str, count: usize, n: usize, d: f64, of: impl Fn(usize) -> f64) -> Array {
    let mut numbers = Vec::new();
    if n == 0 {
        return Array::failed(name, Reason::Parameters("there must be at least one sample".into()));
    }
    if numbers.try_reserve_exact(count).is_err() {
        let bytes = count.saturating_mul(4);
        return Array::failed(name, oneir_tensor::TensorError::OutOfMemory { bytes });
    }
    let step = n as f64 * d;
    numbers.extend((0..count).map(|k| (of(k) / step) as f32));
    match HostTensor::from_slice(&[count], &numbers) {
        Ok(found) => Array::from_host(found),
        Err(reason) => Array::failed(name, reason),
    }
}
