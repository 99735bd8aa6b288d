//! Spectra and windows.

use oneir_array::{Array, DType, FftOp};

use super::creation::sizes;
use super::{Row, row};
use crate::OnnxError;
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[
    row!(HannWindow [17] => |call| window(call, [0.5, 0.5, 0.0])),
    row!(HammingWindow [17] => |call| window(call, [25.0 / 46.0, 21.0 / 46.0, 0.0])),
    row!(BlackmanWindow [17] => |call| window(call, [0.42, 0.5, 0.08])),
    row!(MelWeightMatrix [17] => mel_weight_matrix),
    row!(DFT [17, 20] => dft),
    row!(STFT [17] => stft),
];

fn output_dtype(call: &Call<'_>) -> Result<DType, OnnxError> {
    call.dtype_of(call.attributes().int_or("output_datatype", 1)?)
}

fn one_size(call: &Call<'_>, i: usize) -> Result<usize, OnnxError> {
    match sizes(call, &call.ints(i)?)?[..] {
        [one] => Ok(one),
        _ => Err(call.fails(format!("input {i} must be one size"))),
    }
}

/// a - b · cos(2πn/N) + c · cos(4πn/N).
fn window(call: &Call<'_>, [a, b, c]: [f64; 3]) -> Results {
    let size = call.bounded("the window", Some(one_size(call, 0)?))?;
    let periodic = call.attributes().int_or("periodic", 1)? != 0;
    let turn = std::f64::consts::TAU / if periodic { size as f64 } else { size as f64 - 1.0 };
    let at = |n: usize| {
        if size == 1 { 1.0 } else { a - b * (turn * n as f64).cos() + c * (2.0 * turn * n as f64).cos() }
    };
    let values: Vec<f64> = (0..size).map(at).collect();
    call.one(Array::from_slice(&values, &[size]).astype(output_dtype(call)?))
}

fn mel_weight_matrix(call: &Call<'_>) -> Results {
    let (bins, length) = (one_size(call, 0)?, one_size(call, 1)?);
    call.bounded("the matrix", (length / 2 + 1).checked_mul(bins))?;
    call.bounded("the transform", Some(bins.max(length)))?;
    let (rate, low, high) = (call.number(2)?, call.number(3)?, call.number(4)?);
    let mel = |hertz: f64| 2595.0 * (1.0 + hertz / 700.0).log10();
    let hertz = |mel: f64| 700.0 * (10f64.powf(mel / 2595.0) - 1.0);
    let step = (mel(high) - mel(low)) / (bins + 2) as f64;
    let place = |i: usize| ((length + 1) as f64 * hertz(mel(low) + step * i as f64) / rate).floor();
    let rows = length / 2 + 1;
    let mut values = vec![0f64; rows * bins];
    for band in 0..bins {
        let [from, peak, to] = [place(band), place(band + 1), place(band + 2)];
        for row in 0..rows {
            let at = row as f64;
            let value = if at == peak {
                1.0
            } else if at >= from && at < peak {
                (at - from) / (peak - from)
            } else if at > peak && at < to {
                (to - at) / (to - peak)
            } else {
                continue;
            };
            values[row * bins + band] = value;
        }
    }
    call.one(Array::from_slice(&values, &[rows, bins]).astype(output_dtype(call)?))
}

/// The transform of `[…, 1 or 2]` (real, or real and imaginary parts) along an
/// axis.
fn transformed(
    call: &Call<'_>,
    x: &Array,
    axis: usize,
    length: usize,
    inverse: bool,
    onesided: bool,
) -> Result<Array, OnnxError> {
    let dtype = x.dtype();
    let rank = x.ndim();
    let parts = x.shape().cols();
    if rank < 2 || axis + 1 >= rank || !matches!(parts, 1 | 2) {
        return Err(call.fails("the last dimension must be a real, or a real and an imaginary part"));
    }
    let wide = x.astype(DType::F32);
    let has = wide.shape()[axis];
    // Half of a spectrum stands for the whole of it.
    let samples = if inverse && onesided { length / 2 + 1 } else { length };
    let wide = if has > samples {
        wide.narrow(axis as isize, 0, samples)
    } else {
        let mut padding = vec![(0, 0); rank];
        padding[axis].1 = samples - has;
        wide.pad_with(&padding, &Array::scalar(0f32))
    };
    let part = |i: usize| wide.narrow(-1, i, 1).squeeze([-1]);
    let axes = [axis as isize];
    let both = |v: &Array| Array::stack(&[v.real(), v.imag()], -1).astype(dtype);
    if onesided && !inverse {
        if parts == 2 {
            return Err(call.fails("half of the spectrum is all of it only for real signals"));
        }
        return Ok(both(&part(0).fourier(FftOp::Rfft, &axes, &[length])));
    }
    let imaginary = if parts == 2 { part(1) } else { Array::zeros(&part(0).shape(), DType::F32) };
    let values = Array::complex(&part(0), &imaginary);
    if onesided {
        return Ok(values.fourier(FftOp::Irfft, &axes, &[length]).expand_dims([-1]).astype(dtype));
    }
    let op = if inverse { FftOp::Ifft } else { FftOp::Fft };
    Ok(both(&values.fourier(op, &axes, &[length])))
}

fn dft(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let axis = match call.version {
        ..20 => call.attributes().int_or("axis", 1)?,
        _ if call.has(2) => call.number(2)? as i64,
        _ => -2,
    };
    let axis = call.axis(axis, x.ndim())?;
    let flag = |name| call.attributes().int_or(name, 0).map(|v| v != 0);
    let (inverse, onesided) = (flag("inverse")?, flag("onesided")?);
    let size = x.shape()[axis];
    let length = match call.has(1) {
        true => one_size(call, 1)?,
        false if inverse && onesided => 2 * size.saturating_sub(1),
        false => size,
    };
    call.one(transformed(call, &x, axis, length, inverse, onesided)?)
}

fn stft(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let step = one_size(call, 1)?;
    let window = call.optional(2)?;
    let length = match (&window, call.has(3)) {
        (_, true) => one_size(call, 3)?,
        (Some(window), false) => window.size(),
        (None, false) => return Err(call.fails("neither a window nor a frame length is given")),
    };
    let [_, size, _] = x.shape()[..] else {
        return Err(call.fails("the signal must have 3 dimensions"));
    };
    if step == 0 || length > size {
        return Err(call.fails(format!("frames of {length} by steps of {step} do not fit {size} samples")));
    }
    let frames = (size - length) / step + 1;
    call.bounded("the frames", frames.checked_mul(length))?;
    let index: Vec<i64> = (0..frames).flat_map(|f| (0..length).map(move |i| (f * step + i) as i64)).collect();
    let mut cut = x.take(Array::from_slice(&index, &[frames, length]), 1);
    if let Some(window) = window {
        cut = cut.multiply(window.astype(x.dtype()).reshape(&[-1, 1]));
    }
    let onesided = call.attributes().int_or("onesided", 1)? != 0 && x.shape().cols() == 1;
    call.one(transformed(call, &cut, 2, length, false, onesided)?)
}
