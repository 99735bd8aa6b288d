//! Fourier transforms: against the sum that defines them, and their laws.

use std::f64::consts::TAU;

use oneir_array::fft::{self, Frames, Norm};
use oneir_array::{Array, Complex32, DType, Overlap, random};

use crate::{assert_alike, assert_close, assert_fails, floats, grid, values};

fn signal(shape: &[usize], dtype: DType, seed: u64) -> Array {
    random::normal(shape, dtype, 0, 1, Some(&random::key(seed)))
}

/// Powers of two, primes, products of them, and lengths on both sides of where methods change.
const LENGTHS: [usize; 14] = [1, 2, 3, 4, 5, 7, 8, 12, 17, 30, 31, 64, 97, 128];

/// The definition, in f64.
fn defined(x: &[Complex32]) -> Vec<(f64, f64)> {
    let n = x.len();
    let term = |k: usize, (i, z): (usize, &Complex32)| {
        let angle = -TAU * ((i * k % n) as f64) / n as f64;
        let (re, im) = (f64::from(z.re), f64::from(z.im));
        (re * angle.cos() - im * angle.sin(), re * angle.sin() + im * angle.cos())
    };
    let sum = |k| x.iter().enumerate().map(|t| term(k, t)).fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1));
    (0..n).map(sum).collect()
}

#[test]
fn transforms_are_the_sums_that_define_them() {
    for n in LENGTHS {
        let x = signal(&[n], DType::Complex64, n as u64);
        let wanted = defined(&values::<Complex32>(&x));
        let found = fft::fft(&x, None, -1, Norm::Backward);
        assert_close(&found.real(), &wanted.iter().map(|z| z.0).collect::<Vec<_>>(), 1e-4);
        assert_close(&found.imag(), &wanted.iter().map(|z| z.1).collect::<Vec<_>>(), 1e-4);
    }
}

#[test]
fn transforms_come_back_and_keep_energy() {
    for n in LENGTHS {
        let x = signal(&[2, n, 3], DType::Complex64, 1);
        for norm in [Norm::Backward, Norm::Ortho, Norm::Forward] {
            let y = fft::fft(&x, None, 1, norm);
            assert_alike(&fft::ifft(&y, None, 1, norm), &x, 1e-5);
            let share = match norm {
                Norm::Backward => 1.0 / n as f64,
                Norm::Ortho => 1.0,
                Norm::Forward => n as f64,
            };
            let energy = |z: &Array| z.abs().square().sum(1, false);
            assert_alike(&(energy(&y) * share), &energy(&x), 1e-3);
        }
        let real = signal(&[2, n], DType::F32, 2);
        let half = fft::rfft(&real, None, -1, Norm::Backward);
        let whole = fft::fft(&real, None, -1, Norm::Backward);
        assert_alike(&half, &whole.narrow(-1, 0, n / 2 + 1), 1e-4);
        assert_alike(&fft::irfft(&half, Some(n), -1, Norm::Backward), &real, 1e-5);
    }
    let x = signal(&[2, 3, 4], DType::F32, 3);
    let several = fft::fftn(&x, None, .., Norm::Backward);
    let mut one = x.clone();
    for axis in 0..3 {
        one = fft::fft(&one, None, axis, Norm::Backward);
    }
    assert_alike(&several, &one, 1e-4);
    assert_alike(
        &fft::irfft2(&fft::rfft2(&x, None, [-2, -1], Norm::Ortho), None, [-2, -1], Norm::Ortho),
        &x,
        1e-5,
    );
}

#[test]
fn a_transform_of_a_convolution_is_a_product() {
    for (n, m) in [(7, 3), (16, 16), (1, 5), (33, 20)] {
        let (a, b) = (signal(&[n], DType::F32, 4), signal(&[m], DType::F32, 5));
        let size = Some(n + m - 1);
        let product = fft::rfft(&a, size, -1, Norm::Backward) * fft::rfft(&b, size, -1, Norm::Backward);
        assert_alike(&fft::irfft(&product, size, -1, Norm::Backward), &a.convolve(&b, Overlap::Full), 1e-4);
    }
}

#[test]
fn a_batch_is_its_lines_and_sizes_cut_or_fill() {
    let x = signal(&[3, 2, 10], DType::F32, 6);
    let whole = fft::rfft(&x, None, -1, Norm::Backward);
    for (i, j) in [(0, 0), (2, 1)] {
        assert_alike(&whole.index((i, j)), &fft::rfft(&x.index((i, j)), None, -1, Norm::Backward), 0.0);
    }
    let filled = x.pad([(0, 0), (0, 0), (0, 3)], oneir_array::PadMode::Constant, 0);
    assert_alike(&fft::fft(&x, Some(13), -1, Norm::Ortho), &fft::fft(&filled, None, -1, Norm::Ortho), 1e-6);
    let cut = x.narrow(-1, 0, 6);
    assert_alike(&fft::fft(&x, Some(6), -1, Norm::Ortho), &fft::fft(&cut, None, -1, Norm::Ortho), 0.0);
    assert_eq!(fft::fft(&Array::zeros(&[0, 4], DType::F32), None, -1, Norm::Backward).shape(), [0, 4]);
}

#[test]
fn frequencies_and_their_order() {
    assert_close(&fft::fftfreq(5, 0.5), &[0.0, 0.4, 0.8, -0.8, -0.4], 1e-6);
    assert_close(&fft::fftfreq(4, 1.0), &[0.0, 0.25, -0.5, -0.25], 1e-6);
    assert_close(&fft::rfftfreq(5, 1.0), &[0.0, 0.2, 0.4], 1e-6);
    for shape in [&[5][..], &[4], &[3, 4], &[0]] {
        let x = grid(shape);
        assert_alike(&fft::ifftshift(&fft::fftshift(&x, ..), ..), &x, 0.0);
    }
    assert_close(&fft::fftshift(&fft::fftfreq(5, 1.0), ..), &[-0.4, -0.2, 0.0, 0.2, 0.4], 1e-6);
}

#[test]
fn frames_of_a_signal_add_up_to_it_again() {
    let x = signal(&[2, 200], DType::F32, 7);
    for (n, hop) in [(16, 4), (32, 8), (20, 5), (16, 16)] {
        let window = if hop < n { Some(Array::hanning(n)) } else { None };
        let frames = Frames { hop_length: hop, window, ..Frames::new(n) };
        let back = fft::istft(&fft::stft(&x, &frames), &frames, Some(192));
        assert_alike(&back, &x.narrow(-1, 0, 192), 1e-4);
    }
}

#[test]
fn what_has_no_transform_is_refused() {
    let x = floats(&[1.0, 2.0, 3.0]);
    let plain = |n, axis| fft::fft(&x, n, axis, Norm::Backward);
    assert_fails(&plain(None, 1), "fft", "axis 1 is out of range");
    assert_fails(&plain(Some(0), 0), "fft", "needs samples");
    assert_fails(&fft::rfft(&floats(&[]), None, -1, Norm::Backward), "rfft", "needs samples");
    assert_fails(&fft::fft2(&x, None, [-2, -1], Norm::Backward), "fft2", "axis -2 is out of range");
    assert_fails(&fft::fftn(&x, Some(&[2, 2]), 0, Norm::Backward), "fftn", "2 sizes for 1 axes");
    assert_fails(&fft::fftn(&grid(&[2, 2]), None, [0, 0], Norm::Backward), "fftn", "axis 0 is named twice");
    assert_fails(&fft::fftfreq(0, 1.0), "fftfreq", "at least one sample");
    assert_fails(
        &fft::stft(&x, &Frames { center: false, ..Frames::new(8) }),
        "stft",
        "3 samples hold no frame of 8",
    );
    assert_fails(&fft::stft(&x, &Frames { hop_length: 0, ..Frames::new(2) }), "stft", "hop_length 0");
    let window = Some(Array::ones(&[3], DType::F32));
    assert_fails(
        &fft::stft(&x, &Frames { window, ..Frames::new(4) }),
        "stft",
        "the window must have shape [4]",
    );
}
