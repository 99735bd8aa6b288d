use std::f64::consts::PI;

use num_complex::{Complex32, Complex64};
use oneir_tensor::{DType, HostTensor, TensorError, Values};

use super::case::{of, t};
use super::fields::Fft;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules, zeros};
use super::transforms::further;
use super::{Case, FftOp, Primitive, one};
use crate::invalid::{axis_within, dtype_is, exactly, shape_is};
use crate::{Invalid, Place, Spec, Specs, Value};

/// A transform of `n` samples: its method and its roots of unity.
enum Transform {
    /// For a power of two, halves combined by the first n / 2 roots.
    Halves(Vec<Complex64>),
    /// For any other n, a convolution with a chirp (Bluestein, 1970), carried
    /// out over a power of two.
    Chirp {
        /// e^(-πi k²/n).
        chirp: Vec<Complex64>,
        /// The transform of the chirp's conjugate.
        spectrum: Vec<Complex64>,
        /// The roots for the spectrum's length.
        roots: Vec<Complex64>,
    },
}

/// e^(-2πi k/n) for k below n / 2.
fn roots(n: usize) -> Vec<Complex64> {
    (0..n / 2).map(|k| Complex64::cis(-2.0 * PI * k as f64 / n as f64)).collect()
}

/// Transforms a power of two samples in place.
fn halves(x: &mut [Complex64], roots: &[Complex64]) {
    let n = x.len();
    let unused = n.leading_zeros() + 1;
    for i in 0..n {
        let j = i.reverse_bits().checked_shr(unused).unwrap_or(0);
        if i < j {
            x.swap(i, j);
        }
    }
    let mut half = 1;
    while half < n {
        let step = n / (2 * half);
        for pair in x.chunks_exact_mut(2 * half) {
            let (low, high) = pair.split_at_mut(half);
            for ((a, b), root) in low.iter_mut().zip(high).zip(roots.iter().step_by(step)) {
                let turned = *b * root;
                *b = *a - turned;
                *a += turned;
            }
        }
        half *= 2;
    }
}

/// Transforms a power of two samples backwards in place, times their number.
fn halves_back(x: &mut [Complex64], roots: &[Complex64]) {
    x.iter_mut().for_each(|x| *x = x.conj());
    halves(x, roots);
    x.iter_mut().for_each(|x| *x = x.conj());
}

impl Transform {
    fn new(n: usize) -> Transform {
        if n.is_power_of_two() {
            return Transform::Halves(roots(n));
        }
        // The angle repeats every 2n; reduced first, it keeps its precision.
        let turn = |k: usize| (k as u128 * k as u128 % (2 * n.max(1) as u128)) as f64 / n as f64;
        let chirp: Vec<Complex64> = (0..n).map(|k| Complex64::cis(-PI * turn(k))).collect();
        let wide = (2 * n).next_power_of_two();
        let mut spectrum = vec![Complex64::default(); wide];
        for (k, c) in chirp.iter().enumerate() {
            spectrum[k] = c.conj();
            spectrum[(wide - k) % wide] = c.conj();
        }
        let roots = roots(wide);
        halves(&mut spectrum, &roots);
        Transform::Chirp { chirp, spectrum, roots }
    }

    /// Transforms `x` in place.
    fn run(&self, x: &mut [Complex64]) {
        match self {
            Transform::Halves(roots) => halves(x, roots),
            Transform::Chirp { chirp, spectrum, roots } => {
                let mut wide = vec![Complex64::default(); spectrum.len()];
                for ((wide, x), c) in wide.iter_mut().zip(x.iter()).zip(chirp) {
                    *wide = x * c;
                }
                halves(&mut wide, roots);
                wide.iter_mut().zip(spectrum).for_each(|(x, s)| *x *= s);
                halves_back(&mut wide, roots);
                for ((x, wide), c) in x.iter_mut().zip(&wide).zip(chirp) {
                    *x = wide * c / spectrum.len() as f64;
                }
            }
        }
    }

    /// Transforms `x` backwards in place, divided by its length.
    fn run_back(&self, x: &mut [Complex64]) {
        let n = x.len() as f64;
        x.iter_mut().for_each(|x| *x = x.conj());
        self.run(x);
        x.iter_mut().for_each(|x| *x = x.conj() / n);
    }
}

/// Replaces each line of `x` along `axis` by what `f` makes of it, `to` long.
fn along(
    x: &[Complex64],
    shape: &mut [usize],
    axis: usize,
    to: usize,
    mut f: impl FnMut(&mut Vec<Complex64>),
) -> Result<Vec<Complex64>, TensorError> {
    let from = shape[axis];
    let outer: usize = shape[..axis].iter().product();
    let inner: usize = shape[axis + 1..].iter().product();
    let mut out = zeros(outer * to * inner)?;
    let mut line = Vec::with_capacity(from.max(to));
    for i in 0..outer {
        for j in 0..inner {
            line.clear();
            line.extend((0..from).map(|k| x[(i * from + k) * inner + j]));
            f(&mut line);
            for (k, y) in line.iter().enumerate() {
                out[(i * to + k) * inner + j] = *y;
            }
        }
    }
    shape[axis] = to;
    Ok(out)
}

/// Completes the first half of a spectrum of `n`, at least 1, by its mirror
/// image. What is its own image counts as real.
fn mirror(half: &mut Vec<Complex64>, n: usize) {
    half[0].im = 0.0;
    if n.is_multiple_of(2) {
        half[n / 2].im = 0.0;
    }
    for k in half.len()..n {
        half.push(half[n - k].conj());
    }
}

impl Fft<'_> {
    /// The real transforms' halved axis with its full size.
    fn halved(&self) -> Option<(usize, usize)> {
        match self.op {
            FftOp::Fft | FftOp::Ifft => None,
            FftOp::Rfft | FftOp::Irfft => Some((*self.axes.last()?, *self.sizes.last()?)),
        }
    }
}

impl Fft<'_> {
    /// What the input gets of the result's cotangent. Both sides are vectors of
    /// real numbers here: of a half spectrum, all but what is its own mirror
    /// image stands for two numbers of the whole.
    fn transposed(&self, cotangent: &Value) -> Result<Value, Invalid> {
        let back = |op, x: &Value| {
            let fft = Primitive::Fft { op, axes: self.axes.clone(), sizes: self.sizes.clone() };
            Value::record(fft, &[x], Place::Internal)
        };
        let samples = self.sizes.iter().product::<usize>().max(1) as f64;
        let times = |x: &Value, factor: f64| x.multiply(&x.filled_like(factor)?);
        match self.op {
            FftOp::Fft => times(&back(FftOp::Ifft, cotangent)?, samples),
            FftOp::Ifft => times(&back(FftOp::Fft, cotangent)?, 1.0 / samples),
            FftOp::Rfft => {
                let halved = cotangent.multiply(&self.images(cotangent, 0.5)?)?;
                times(&back(FftOp::Irfft, &halved)?, samples)
            }
            FftOp::Irfft => {
                let spectrum = back(FftOp::Rfft, cotangent)?;
                times(&spectrum.multiply(&self.images(&spectrum, 2.0)?)?, 1.0 / samples)
            }
        }
    }

    /// `factor` where a half spectrum has a mirror image, 1 where it is its own.
    fn images(&self, spectrum: &Value, factor: f64) -> Result<Value, Invalid> {
        let spec = spectrum.spec();
        let (axis, size) = self.halved().unwrap_or((0, 0));
        let numbers = (0..spec.shape[axis]).map(|j| if (size - j) % size.max(1) == j { 1.0 } else { factor });
        let mut shape = vec![1; spec.rank()];
        shape[axis] = spec.shape[axis];
        let numbers = Values::Float(numbers.collect()).convert(spec.dtype);
        Value::constant(HostTensor::from_values(spec.dtype, &shape, &numbers)?).broadcast(&spec.shape)
    }
}

impl Rules for Fft<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        let (from, to) = match self.op {
            FftOp::Fft | FftOp::Ifft => (DType::Complex64, DType::Complex64),
            FftOp::Rfft => (DType::F32, DType::Complex64),
            FftOp::Irfft => (DType::Complex64, DType::F32),
        };
        dtype_is("the input", x, from.name(), |d| d == from)?;
        for (i, &axis) in self.axes.iter().enumerate() {
            axis_within(axis, x.rank())?;
            if self.axes[..i].contains(&axis) {
                return Err(Invalid::Axis { axis, rank: x.rank() });
            }
        }
        let needs_axis = matches!(self.op, FftOp::Rfft | FftOp::Irfft);
        if self.axes.len() != self.sizes.len() || (needs_axis && self.axes.is_empty()) {
            return Err(Invalid::Parameter {
                parameter: "sizes",
                found: format!("{:?}", self.sizes),
                expected: "one for each axis, and at least one for a real transform",
            });
        }
        let mut samples = x.shape.clone();
        for (&axis, &size) in self.axes.iter().zip(self.sizes) {
            samples[axis] = size;
        }
        let mut spectrum = samples.clone();
        if let Some((axis, size)) = self.halved() {
            spectrum[axis] = size / 2 + 1;
        }
        let (takes, gives) = if *self.op == FftOp::Irfft { (spectrum, samples) } else { (samples, spectrum) };
        shape_is("the input", x, &takes)?;
        one(Spec::new(to, gives))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [x] = inputs else { return Err(Invalid::Arity { expected: "1", found: inputs.len() }.into()) };
        let spec = self.infer(&[&Spec::of(x)])?.remove(0);
        if spec.shape.checked_count(spec.dtype)? == 0 {
            return Ok(vec![HostTensor::zeros(spec.dtype, &spec.shape)?]);
        }
        let mut values = x.values()?.to_complex();
        let mut shape = x.shape().to_vec();
        if let (FftOp::Rfft, Some((axis, n))) = (self.op, self.halved()) {
            let transform = Transform::new(n);
            values = along(&values, &mut shape, axis, n / 2 + 1, |line| {
                transform.run(line);
                line.resize(n / 2 + 1, Complex64::default());
            })?;
        }
        let whole = self.axes.len() - usize::from(self.halved().is_some());
        for (&axis, &n) in self.axes[..whole].iter().zip(self.sizes) {
            let transform = Transform::new(n);
            values = along(&values, &mut shape, axis, n, |line| match self.op {
                FftOp::Fft | FftOp::Rfft => transform.run(line),
                FftOp::Ifft | FftOp::Irfft => transform.run_back(line),
            })?;
        }
        if let (FftOp::Irfft, Some((axis, n))) = (self.op, self.halved()) {
            let transform = Transform::new(n);
            values = along(&values, &mut shape, axis, n, |line| {
                mirror(line, n);
                transform.run_back(line);
            })?;
        }
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &Values::Complex(values))?])
    }

    fn nature(&self) -> Nature {
        Nature::Opaque
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::linear_unary(|_, cotangent| self.transposed(cotangent))
    }

    fn batching(&self) -> Batching<'_> {
        Batching::with(|_, _| {
            Ok(Primitive::Fft { op: *self.op, axes: further(self.axes), sizes: self.sizes.clone() })
        })
    }

    fn fixes_shape(&self) -> bool {
        true
    }

    fn cases() -> Vec<Case> {
        let fft = |op, axes: &[usize], sizes: &[usize]| Primitive::Fft {
            op,
            axes: axes.to_vec(),
            sizes: sizes.to_vec(),
        };
        let c = |shape: &[usize], parts: &[[f64; 2]]| {
            t(shape, &parts.iter().map(|&[re, im]| Complex32::new(re as f32, im as f32)).collect::<Vec<_>>())
        };
        let r = |shape: &[usize], numbers: &[f64]| of(DType::F32, shape, numbers);
        let three = || c(&[3], &[[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]]);
        let three_spectrum = || c(&[3], &[[4.0, 2.0], [1.2320508, 1.5980762], [-2.2320508, -3.5980763]]);
        let four = || c(&[4], &[[1.0, 1.0], [2.0, 0.0], [1.0, -1.0], [0.0, 0.0]]);
        let four_spectrum = || c(&[4], &[[4.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 4.0]]);
        let half = || c(&[3], &[[1.0, 5.0], [2.0, 1.0], [3.0, 7.0]]);
        let mut cases = vec![
            Case::new(fft(FftOp::Fft, &[0], &[3]), vec![three()], vec![three_spectrum()]),
            Case::new(fft(FftOp::Ifft, &[0], &[3]), vec![three_spectrum()], vec![three()]),
            Case::new(fft(FftOp::Fft, &[0], &[4]), vec![four()], vec![four_spectrum()]),
            Case::new(fft(FftOp::Ifft, &[0], &[4]), vec![four_spectrum()], vec![four()]),
            Case::new(fft(FftOp::Fft, &[], &[]), vec![four()], vec![four()]),
            Case::new(
                fft(FftOp::Fft, &[1, 0], &[2, 2]),
                vec![c(&[2, 2], &[[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [0.0, 4.0]])],
                vec![c(&[2, 2], &[[6.0, 4.0], [2.0, -4.0], [0.0, -4.0], [-4.0, 4.0]])],
            ),
            Case::new(
                fft(FftOp::Fft, &[0], &[3]),
                vec![c(&[3, 2], &[[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [4.0, 0.0], [5.0, 0.0], [6.0, 0.0]])],
                vec![c(
                    &[3, 2],
                    &[
                        [9.0, 0.0],
                        [12.0, 0.0],
                        [-3.0, 1.7320508],
                        [-3.0, 1.7320508],
                        [-3.0, -1.7320508],
                        [-3.0, -1.7320508],
                    ],
                )],
            ),
            Case::new(
                fft(FftOp::Rfft, &[0], &[4]),
                vec![r(&[4], &[1.0, 2.0, 3.0, 5.0])],
                vec![c(&[3], &[[11.0, 0.0], [-2.0, 3.0], [-3.0, 0.0]])],
            ),
            Case::new(
                fft(FftOp::Rfft, &[0], &[5]),
                vec![r(&[5], &[1.0, 2.0, 3.0, 4.0, 6.0])],
                vec![c(&[3], &[[16.0, 0.0], [-2.190983, 4.392011], [-3.309017, 1.4000845]])],
            ),
            Case::new(
                fft(FftOp::Rfft, &[1, 0], &[3, 2]),
                vec![r(&[2, 3], &[1.0, 2.0, 4.0, 3.0, 4.0, 9.0])],
                vec![c(
                    &[2, 3],
                    &[
                        [23.0, 0.0],
                        [-5.5, 6.0621778],
                        [-5.5, -6.0621778],
                        [-9.0, 0.0],
                        [1.5, -2.5980762],
                        [1.5, 2.5980762],
                    ],
                )],
            ),
            // The imaginary parts of what must be real are not looked at.
            Case::new(fft(FftOp::Irfft, &[0], &[4]), vec![half()], vec![r(&[4], &[2.0, -1.0, 0.0, 0.0])]),
            Case::new(
                fft(FftOp::Irfft, &[0], &[5]),
                vec![half()],
                vec![r(&[5], &[2.2, -2.5498281, 2.3514509, -2.5042373, 1.5026145])],
            ),
            Case::new(
                fft(FftOp::Irfft, &[0, 1], &[2, 3]),
                vec![c(&[2, 2], &[[1.0, 0.0], [2.0, 1.0], [0.0, 3.0], [4.0, -1.0]])],
                vec![r(&[2, 3], &[2.1666667, -0.8333333, -0.8333333, -0.5, -0.0773503, 1.0773503])],
            ),
            // One sample, and none: a sum of nothing is 0.
            Case::new(
                fft(FftOp::Fft, &[0], &[1]),
                vec![c(&[1], &[[1.0, 2.0]])],
                vec![c(&[1], &[[1.0, 2.0]])],
            ),
            Case::new(fft(FftOp::Irfft, &[0], &[1]), vec![c(&[1], &[[1.0, 2.0]])], vec![r(&[1], &[1.0])]),
            Case::new(fft(FftOp::Ifft, &[0], &[0]), vec![c(&[0, 2], &[])], vec![c(&[0, 2], &[])]),
            Case::new(fft(FftOp::Rfft, &[0], &[0]), vec![r(&[0], &[])], vec![c(&[1], &[[0.0, 0.0]])]),
            Case::new(fft(FftOp::Irfft, &[0], &[0]), vec![c(&[1], &[[1.0, 0.0]])], vec![r(&[0], &[])]),
            Case::refused(
                fft(FftOp::Fft, &[0], &[2]),
                vec![t(&[2], &[1f32, 2.0])],
                "must be complex64, found f32",
            ),
            Case::refused(
                fft(FftOp::Rfft, &[0], &[2]),
                vec![t(&[2], &[1f64, 2.0])],
                "must be f32, found f64",
            ),
            Case::refused(fft(FftOp::Fft, &[0], &[3]), vec![four()], "must have shape [3], found [4]"),
            Case::refused(fft(FftOp::Irfft, &[0], &[4]), vec![four()], "must have shape [3], found [4]"),
            Case::refused(fft(FftOp::Fft, &[0, 0], &[4, 4]), vec![four()], "repeated"),
            Case::refused(fft(FftOp::Fft, &[1], &[4]), vec![four()], "axis 1"),
            Case::refused(
                fft(FftOp::Rfft, &[], &[]),
                vec![r(&[], &[1.0])],
                "at least one for a real transform",
            ),
        ];
        for n in [2, 6, 7, 8, 30, 64, 97] {
            let real: Vec<f64> = (0..2 * n).map(|i| f64::from(((i * 7) % 13) as u8) / 4.0 - 1.5).collect();
            let input = r(&[2, n], &real);
            cases.push(Case::parity(fft(FftOp::Rfft, &[1], &[n]), vec![input]));
            let parts: Vec<[f64; 2]> = real.iter().map(|&x| [x, x * x]).collect();
            cases.push(Case::parity(fft(FftOp::Fft, &[1], &[n]), vec![c(&[2, n], &parts)]));
            cases.push(Case::parity(fft(FftOp::Ifft, &[0, 1], &[n, 2]), vec![c(&[n, 2], &parts)]));
            let kept = n / 2 + 1;
            cases.push(Case::parity(fft(FftOp::Irfft, &[1], &[n]), vec![c(&[2, kept], &parts[..2 * kept])]));
        }
        cases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_agrees_with_the_definition() {
        for n in 1..70 {
            let x: Vec<Complex64> = (0..n)
                .map(|k| Complex64::new(((k * 7) % 11) as f64 - 5.0, ((k * 5) % 13) as f64 - 6.0))
                .collect();
            let transform = Transform::new(n);
            let mut y = x.clone();
            transform.run(&mut y);
            for (j, y) in y.iter().enumerate() {
                let turn = |k: usize| Complex64::cis(-2.0 * PI * (j * k % n) as f64 / n as f64);
                let sum: Complex64 = x.iter().enumerate().map(|(k, x)| x * turn(k)).sum();
                assert!((y - sum).norm() < 1e-11, "{n}, {j}: {y}, expected {sum}");
            }
            transform.run_back(&mut y);
            assert!(x.iter().zip(&y).all(|(x, y)| (x - y).norm() < 1e-12), "{n}");
        }
    }
}
