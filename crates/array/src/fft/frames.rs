//! Short-time transforms: of overlapping frames of a signal, and back.

use oneir_ir::primitive::PadMode;
use oneir_tensor::DType;

use super::{Norm, fft, ifft, irfft, rfft};
use crate::{Array, Reason, ScatterReduce};

/// How a signal is cut into frames. `Frames::new(n_fft)` has MLX's defaults.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, DType, fft::{self, Frames}};
/// let x = Array::arange(64, DType::F32);
/// let frames = Frames { hop_length: 8, ..Frames::new(16) };
/// let spectrum = fft::stft(&x, &frames);
/// assert_eq!(spectrum.shape(), [9, 9]);
/// let back = fft::istft(&spectrum, &frames, Some(64)).to_vec::<f32>()?;
/// assert!(back.iter().enumerate().all(|(i, y)| (i as f32 - y).abs() < 1e-3));
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Frames {
    /// Samples of a transform.
    pub n_fft: usize,
    /// Samples from one frame to the next.
    pub hop_length: usize,
    /// Samples that the window takes of a frame, in its middle.
    pub win_length: usize,
    /// Factors of these samples; without them all are 1.
    pub window: Option<Array>,
    /// Whether the signal is padded at both ends, so that frames are centred.
    pub center: bool,
    /// What the padding of a transform holds: zeros where it is `Constant`.
    pub pad_mode: PadMode,
    /// Where transforms are divided by the number of samples.
    pub norm: Norm,
    /// Whether there are only frequencies that are not negative; without a
    /// choice, for real signals.
    pub onesided: Option<bool>,
}

impl Frames {
    /// Frames of `n_fft` samples, a quarter of that apart, centred, mirrored at
    /// the ends and without a window.
    pub fn new(n_fft: usize) -> Frames {
        Frames {
            n_fft,
            hop_length: n_fft / 4,
            win_length: n_fft,
            window: None,
            center: true,
            pad_mode: PadMode::Reflect,
            norm: Norm::Backward,
            onesided: None,
        }
    }

    /// Refuses lengths that no frame has.
    fn check(&self) -> Result<(), Reason> {
        let Frames { n_fft, hop_length, win_length, .. } = *self;
        if n_fft == 0 || hop_length == 0 || win_length == 0 || win_length > n_fft {
            let reason = format!(
                "n_fft {n_fft}, hop_length {hop_length} and win_length {win_length}: each must be at least 1, \
                 and the window no longer than the transform"
            );
            return Err(Reason::Parameters(reason));
        }
        match &self.window {
            Some(window) if window.check().is_ok() && window.shape() != [win_length] => {
                let found = window.shape().to_vec();
                Err(Reason::Parameters(format!("the window must have shape [{win_length}], found {found:?}")))
            }
            _ => Ok(()),
        }
    }

    /// The factors of a frame's samples (f32).
    #[track_caller]
    fn factors(&self) -> Array {
        let window = match &self.window {
            Some(window) => window.astype(DType::F32),
            None => Array::ones(&[self.win_length], DType::F32),
        };
        let before = (self.n_fft - self.win_length) / 2;
        let padding = [(before, self.n_fft - self.win_length - before)];
        window.pad_with(&padding, &Array::zeros(&[], DType::F32))
    }
}

/// The transforms of overlapping frames along the last axis: complex64
/// `[…, frequencies, frames]`.
///
/// # Errors
/// A failed array where lengths are 0 or do not fit, or the signal is shorter
/// than a frame.
#[track_caller]
#[must_use]
pub fn stft(x: &Array, frames: &Frames) -> Array {
    const OP: &str = "stft";
    if let Some(failed) = [Some(x), frames.window.as_ref()].into_iter().flatten().find(|x| x.check().is_err())
    {
        return failed.clone();
    }
    if let Err(reason) = frames.check() {
        return Array::failed(OP, reason);
    }
    if x.ndim() == 0 {
        return Array::failed(OP, Reason::Axis { axis: -1, rank: 0 });
    }
    let n = frames.n_fft;
    let complex = x.dtype().is_complex();
    let onesided = frames.onesided.unwrap_or(!complex);
    if onesided && complex {
        return Array::failed(OP, Reason::Parameters("a complex signal has negative frequencies".into()));
    }
    let mut signal = if complex { x.clone() } else { x.astype(DType::F32) };
    if frames.center {
        let mut padding = vec![(0, 0); x.ndim()];
        padding[x.ndim() - 1] = (n / 2, n / 2);
        signal = match frames.pad_mode {
            PadMode::Constant => signal.pad_with(&padding, &Array::zeros(&[], signal.dtype())),
            mode => signal.pad_from_itself(&padding, mode),
        };
        if signal.check().is_err() {
            return signal.named(OP);
        }
    }
    let shape = signal.shape();
    let len = shape[shape.rank() - 1];
    let Some(room) = len.checked_sub(n) else {
        return Array::failed(OP, Reason::Parameters(format!("{len} samples hold no frame of {n}")));
    };
    let count = room / frames.hop_length + 1;
    let starts = Array::arange(count, DType::I64) * (frames.hop_length as i64);
    let places = starts.expand_dims(-1) + Array::arange(n, DType::I64);
    let cut = signal.take(&places, -1) * frames.factors();
    let spectrum =
        if onesided { rfft(&cut, None, -1, frames.norm) } else { fft(&cut, None, -1, frames.norm) };
    last_exchanged(&spectrum).named(OP)
}

/// The last two axes exchanged.
#[track_caller]
fn last_exchanged(x: &Array) -> Array {
    let rank = x.ndim() as isize;
    let mut axes: Vec<isize> = (0..rank).collect();
    if rank >= 2 {
        axes.swap(x.ndim() - 2, x.ndim() - 1);
    }
    x.transpose(axes)
}

/// The signal of which [`stft`] gave `spectrum` with the same frames: the
/// inverse transforms times the window, added where they overlap, over the sum
/// of the window's squares there. `length` cuts it or pads it with zeros.
///
/// # Errors
/// A failed array where lengths are 0 or do not fit, or the spectrum has other
/// frequencies than the frames.
#[track_caller]
#[must_use]
pub fn istft(spectrum: &Array, frames: &Frames, length: Option<usize>) -> Array {
    const OP: &str = "istft";
    let given = [Some(spectrum), frames.window.as_ref()];
    if let Some(failed) = given.into_iter().flatten().find(|x| x.check().is_err()) {
        return failed.clone();
    }
    if let Err(reason) = frames.check() {
        return Array::failed(OP, reason);
    }
    let n = frames.n_fft;
    let onesided = frames.onesided.unwrap_or(true);
    let (shape, expected) = (spectrum.shape(), if onesided { n / 2 + 1 } else { n });
    let Some((lead, &[frequencies, count])) = shape.split_last_chunk() else {
        let reason = format!("frequencies and frames are needed, found shape {shape:?}");
        return Array::failed(OP, Reason::Parameters(reason));
    };
    let len =
        count.checked_sub(1).and_then(|n| n.checked_mul(frames.hop_length)).and_then(|l| l.checked_add(n));
    let (Some(len), true) = (len, frequencies == expected) else {
        let reason =
            format!("{frequencies} frequencies of {count} frames: {expected} are needed, and a frame");
        return Array::failed(OP, Reason::Parameters(reason));
    };
    let lines = last_exchanged(spectrum);
    let parts = if onesided {
        irfft(&lines, Some(n), -1, frames.norm)
    } else {
        ifft(&lines, Some(n), -1, frames.norm).real()
    };
    let factors = frames.factors();
    let parts = parts * &factors;
    let starts = Array::arange(count, DType::I64) * (frames.hop_length as i64);
    let places = (starts.expand_dims(-1) + Array::arange(n, DType::I64)).reshape(&[-1]);
    let batch = lead.iter().fold(1usize, |n, &size| n.saturating_mul(size));
    let all = |x: &Array, lines: usize| {
        let updates = x.reshape(&[lines as isize, (count * n) as isize]);
        let at = places.broadcast_to(&[lines, count * n]);
        let zeros = Array::zeros(&[lines, len], x.dtype());
        zeros.scatter_along_axis(&at, &updates, 1, ScatterReduce::Sum)
    };
    let sums = all(&parts, batch);
    let weights = all(&factors.square().broadcast_to(&[count, n]), 1);
    // Where no window reaches, there is nothing to divide.
    let signal = sums / weights.greater(1e-10).where_(&weights, 1.0);
    let start = if frames.center { n / 2 } else { 0 };
    let signal = signal.narrow(1, start.min(len), len - start.min(len));
    let signal = super::fitted(signal, 1, length.unwrap_or_else(|| len.saturating_sub(2 * start)));
    let last = signal.shape().last().copied().unwrap_or(0);
    let whole: Vec<isize> = lead.iter().map(|&n| n as isize).chain([last as isize]).collect();
    signal.reshape(&whole).named(OP)
}
