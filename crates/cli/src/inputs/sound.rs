//! A sound as a model's input.

use oneir::io::sound;
use oneir::onnx::ValueInfo;
use oneir::{DType, HostTensor};

use super::Note;
use super::declared::{Along, Open, declared_dtype, declared_shape};
use super::made::MAX_MADE;
use super::source::{Source, ratio};
use crate::error::CliError;

/// Zeros of the resampling function on each side of its middle.
const ZEROS: f64 = 16.0;

/// The most that one of two rates may be of the other.
const MAX_TIMES: f64 = 100.0;

/// The highest rate that may be asked for.
const MAX_RATE: u32 = 1_000_000;

/// The tensor; what happened to the file goes to `notes`.
pub(super) fn tensor(
    info: &ValueInfo,
    source: &Source<'_>,
    notes: &mut Vec<Note>,
) -> Result<HostTensor, CliError> {
    let name = &info.name;
    let along = Along::of(info, "the samples of a sound")?;
    let rate = source.one(name, "rate", "samples in a second, up to 1000000", |text| {
        text.parse().ok().filter(|rate| (1..=MAX_RATE).contains(rate))
    })?;
    let start = source.one(name, "start", "seconds such as 1.5", ratio)?.unwrap_or(0.0);
    let length = source.count(name, "length")?;
    let hop = source.count(name, "hop")?;
    let integers = match declared_dtype(info)? {
        None => false,
        Some(dtype) if dtype.is_inexact() => false,
        Some(DType::I16) => true,
        Some(_) => {
            let declared = info.ty.to_string();
            return Err(CliError::NoPlace { name: name.clone(), declared, what: "the samples of a sound" });
        }
    };
    let sound = sound::read(source.rest)
        .map_err(|e| CliError::InputFile { name: name.clone(), source: Box::new(e) })?;
    let too_large =
        |count: usize| CliError::TooLarge { name: name.clone(), shape: vec![count], limit: MAX_MADE };

    let mono: Vec<f32> = sound
        .samples
        .chunks(sound.channels)
        .map(|moment| moment.iter().sum::<f32>() / sound.channels as f32)
        .collect();
    let (mono, rate) = match rate {
        Some(rate) if rate != sound.rate => {
            let count = mono.len() as f64 * f64::from(rate) / f64::from(sound.rate);
            if count > MAX_MADE as f64 {
                return Err(too_large(count as usize));
            }
            let times = f64::from(rate.max(sound.rate)) / f64::from(rate.min(sound.rate));
            if times > MAX_TIMES {
                return Err(CliError::BadOption {
                    name: name.clone(),
                    option: "rate",
                    expected: "at most 100 times the file's rate, and no less than a hundredth of it",
                    found: format!("{rate} for {} Hz", sound.rate),
                });
            }
            (resampled(&mono, sound.rate, rate), rate)
        }
        _ => (mono, sound.rate),
    };
    let skipped = start * f64::from(rate);
    if skipped.abs() > MAX_MADE as f64 {
        let (name, found) = (name.clone(), format!("{start} s"));
        return Err(CliError::BadOption {
            name,
            option: "start",
            expected: "seconds that a sound can have",
            found,
        });
    }
    let first = skipped.round() as i64;
    let last = mono.len() as i64;
    let Cut { shape, starts, len } = match hop {
        None => {
            let count = length.or(along.size.fixed()).unwrap_or_else(|| (last - first).max(0) as usize);
            Cut { shape: along.shape(count), starts: vec![first], len: count }
        }
        Some(hop) => frames(info, along, length, hop, first, last)?,
    };
    let total = starts.len().checked_mul(len);
    if total.is_none_or(|total| total > MAX_MADE) {
        return Err(too_large(total.unwrap_or(usize::MAX)));
    }
    let at = |i: i64| usize::try_from(i).ok().and_then(|i| mono.get(i)).copied().unwrap_or(0.0);
    let values: Vec<f32> = starts
        .iter()
        .flat_map(|&start| (start..start + len as i64).map(at))
        .map(|sample| if integers { (sample * 32768.0).round().clamp(-32768.0, 32767.0) } else { sample })
        .collect();
    let end = starts.last().map_or(first, |start| start + len as i64);
    notes.push(Note::Done(format!(
        "{}: {} Hz, {} channel{} mixed to one{}; samples {first} to {end} of {last} at {rate} Hz",
        source.rest,
        sound.rate,
        sound.channels,
        if sound.channels == 1 { "" } else { "s" },
        if rate == sound.rate { String::new() } else { format!(", resampled to {rate} Hz") },
    )));
    if length.is_none() && end < last {
        notes.push(Note::Changed(format!(
            "{} has {last} samples at {rate} Hz, of which {} are used; \
             sound,start=SECONDS:FILE begins elsewhere, and rate=HERTZ changes the rate",
            source.rest,
            end - first.max(0)
        )));
    }
    if length.is_none() && hop.is_none() && end > last {
        notes.push(Note::Changed(format!(
            "{} ends {} samples before the input does; they are zero",
            source.rest,
            end - last
        )));
    }
    HostTensor::from_slice(&shape, &values)
        .map_err(|source| CliError::Tensor { what: format!("input `{name}`"), source })
}

/// Parts of a sound, one after another in a tensor.
struct Cut {
    shape: Vec<usize>,
    /// Where each begins.
    starts: Vec<i64>,
    /// Samples of each.
    len: usize,
}

/// Frames that begin `hop` samples apart.
fn frames(
    info: &ValueInfo,
    along: Along,
    length: Option<usize>,
    hop: usize,
    first: i64,
    last: i64,
) -> Result<Cut, CliError> {
    let sizes = declared_shape(info);
    let before = along.axis.and_then(|axis| axis.checked_sub(1)).filter(|&axis| sizes[axis] == Open::Any);
    let (Some(before), Some(frame)) = (before, length.or(along.size.fixed())) else {
        let (name, declared) = (info.name.clone(), info.ty.to_string());
        return Err(CliError::NoPlace { name, declared, what: "frames of a sound" });
    };
    let count = ((last - first).max(0) as usize).saturating_sub(frame).div_ceil(hop) + 1;
    if count.checked_mul(frame).is_none_or(|total| total > MAX_MADE) {
        let shape = vec![count, frame];
        return Err(CliError::TooLarge { name: info.name.clone(), shape, limit: MAX_MADE });
    }
    let mut shape = along.shape(frame);
    shape[before] = count;
    Ok(Cut { shape, starts: (0..count).map(|i| first + (i * hop) as i64).collect(), len: frame })
}

/// Samples at another rate: each is the sum of those around it, weighted by a
/// sine over its argument that passes what both rates can hold and fades out
/// as a raised cosine.
fn resampled(samples: &[f32], from: u32, to: u32) -> Vec<f32> {
    let (from, to) = (f64::from(from), f64::from(to));
    let count = (samples.len() as f64 * to / from).round() as usize;
    let pass = (to / from).min(1.0);
    let reach = ZEROS / pass;
    let weight = |distance: f64| {
        let x = std::f64::consts::PI * distance * pass;
        let sinc = if x == 0.0 { 1.0 } else { x.sin() / x };
        sinc * (0.5 + 0.5 * (std::f64::consts::PI * distance / reach).cos())
    };
    let sample = |i: usize| {
        let centre = i as f64 * from / to;
        let first = (centre - reach).ceil().max(0.0) as usize;
        let end = ((centre + reach).floor() as usize + 1).min(samples.len());
        let (mut sum, mut weights) = (0.0, 0.0);
        for (j, &sample) in samples.iter().enumerate().take(end).skip(first) {
            let weight = weight(j as f64 - centre);
            sum += weight * f64::from(sample);
            weights += weight;
        }
        // Near an end the weights that are left must not grow.
        (sum / weights.max(1.0 / pass)) as f32
    };
    (0..count).map(sample).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sine of a pitch, in samples of a rate.
    fn sine(pitch: f64, rate: u32, count: usize) -> Vec<f32> {
        let turn = std::f64::consts::TAU * pitch / f64::from(rate);
        (0..count).map(|i| (turn * i as f64).sin() as f32).collect()
    }

    #[test]
    fn a_tone_keeps_its_pitch_at_another_rate() {
        for (from, to) in [(44100, 16000), (16000, 22050), (8000, 8001)] {
            let seconds = 0.05;
            let count = |rate: u32| (f64::from(rate) * seconds) as usize;
            let found = resampled(&sine(440.0, from, count(from)), from, to);
            let expected = sine(440.0, to, found.len());
            assert!(found.len().abs_diff(count(to)) <= 1);
            let middle = found.len() / 4..found.len() * 3 / 4;
            for (a, b) in found[middle.clone()].iter().zip(&expected[middle]) {
                assert!((a - b).abs() < 3e-3, "{from} to {to}: {a}, expected {b}");
            }
        }
    }

    #[test]
    fn what_the_lower_rate_cannot_hold_goes() {
        let found = resampled(&sine(7000.0, 16000, 1600), 16000, 8000);
        assert!(found[200..600].iter().all(|x| x.abs() < 1e-2));
    }
}
