//! Sounds: WAV files as samples of −1 to 1.
//!
//! Samples are integers of 8 to 32 bits or floats of 32 or 64. Files that say
//! no length, as programs write them into pipes, are read to their end.

use std::path::Path;

use crate::IoError;
use crate::error::Place;
use crate::open::contents;

/// A sound: samples in the order of time, those of all channels at one moment
/// side by side.
#[derive(Debug, Clone, PartialEq)]
pub struct Sound {
    /// Moments in a second.
    pub rate: u32,
    /// Samples at each moment.
    pub channels: usize,
    /// −1 to 1 where the file has integers, as they are where it has floats.
    pub samples: Vec<f32>,
}

/// How a file stores a sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    /// Bytes around 128.
    Unsigned8,
    /// So many bytes, the value in the upper bits.
    Signed(usize),
    Float32,
    Float64,
}

/// Whether a file that begins so is a WAV file (twelve bytes are enough).
///
/// ```
/// assert!(oneir_io::sound::starts_like(b"RIFF\0\0\0\0WAVE"));
/// assert!(!oneir_io::sound::starts_like(b"RIFF\0\0\0\0AVI "));
/// ```
pub fn starts_like(bytes: &[u8]) -> bool {
    bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WAVE")
}

/// Reads a WAV file.
///
/// # Errors
/// When the file cannot be read, is no WAV file or a broken one, or holds
/// compressed samples.
pub fn read(path: impl AsRef<Path>) -> Result<Sound, IoError> {
    let path = path.as_ref();
    decode(&contents(path)?, Place::file(path))
}

/// As [`read`], of a file's bytes.
///
/// # Errors
/// As [`read`].
pub fn from_bytes(bytes: &[u8]) -> Result<Sound, IoError> {
    decode(bytes, Place::file("<memory>".as_ref()))
}

fn decode(bytes: &[u8], at: Place<'_>) -> Result<Sound, IoError> {
    if !starts_like(bytes) {
        let found = format!("`{}`", bytes[..bytes.len().min(12)].escape_ascii());
        return Err(at.malformed("first bytes", "those of a WAV file", found));
    }
    let mut rest = &bytes[12..];
    let mut format = None;
    loop {
        let Some((head, body)) = rest.split_at_checked(8) else {
            return Err(at.malformed("chunks", "one of samples", "the end of the file"));
        };
        let size = word(head, 4);
        let (name, size) = (&head[..4], size as usize);
        if name == b"data" {
            let format = format
                .ok_or_else(|| at.malformed("chunks", "the format before the samples", "the samples"))?;
            // What a writer into a pipe says, which cannot come back to correct it.
            let unknown = size >= u32::MAX as usize - 256;
            let data = if unknown { body } else { take(body, size, "samples", at)? };
            return samples(format, data, at);
        }
        let chunk = take(body, size, "a chunk", at)?;
        if name == b"fmt " {
            format = Some(format_of(chunk, at)?);
        }
        rest = &body[size.next_multiple_of(2).min(body.len())..];
    }
}

fn take<'a>(body: &'a [u8], size: usize, what: &str, at: Place<'_>) -> Result<&'a [u8], IoError> {
    body.get(..size).ok_or_else(|| at.wrong_length(what, size as u64, body.len() as u64))
}

fn half(bytes: &[u8], from: usize) -> usize {
    usize::from(u16::from_le_bytes([bytes[from], bytes[from + 1]]))
}

fn word(bytes: &[u8], from: usize) -> u32 {
    u32::from_le_bytes([bytes[from], bytes[from + 1], bytes[from + 2], bytes[from + 3]])
}

#[derive(Debug, Clone, Copy)]
struct Format {
    rate: u32,
    channels: usize,
    coding: Coding,
    /// Bytes of a sample.
    width: usize,
}

fn format_of(chunk: &[u8], at: Place<'_>) -> Result<Format, IoError> {
    const EXTENSIBLE: usize = 0xfffe;
    if chunk.len() < 16 {
        return Err(at.wrong_length("format", 16, chunk.len() as u64));
    }
    let (channels, rate) = (half(chunk, 2), word(chunk, 4));
    let (block, bits) = (half(chunk, 12), half(chunk, 14));
    let tag = match half(chunk, 0) {
        EXTENSIBLE if chunk.len() >= 26 => half(chunk, 24),
        tag => tag,
    };
    let coding = match (tag, bits) {
        (1, 8) => Coding::Unsigned8,
        (1, 9..=32) => Coding::Signed(bits.div_ceil(8)),
        (3, 32) => Coding::Float32,
        (3, 64) => Coding::Float64,
        _ => {
            let found = format!("coding {tag} with {bits} bits");
            return Err(at.malformed("format", "integers of 8 to 32 bits or floats of 32 or 64", found));
        }
    };
    let width = bits.div_ceil(8);
    if channels == 0 || rate == 0 || block != channels * width {
        let found = format!("{channels} channels of {bits} bits at {rate} Hz in blocks of {block} bytes");
        return Err(at.malformed("format", "channels, a rate, and blocks of a sample of each", found));
    }
    Ok(Format { rate, channels, coding, width })
}

fn samples(format: Format, data: &[u8], at: Place<'_>) -> Result<Sound, IoError> {
    let Format { rate, channels, coding, width } = format;
    let block = channels * width;
    if !data.len().is_multiple_of(block) {
        let whole = (data.len() / block * block) as u64;
        return Err(at.wrong_length("samples of all channels", whole, data.len() as u64));
    }
    let samples = data.chunks_exact(width).map(|bytes| match coding {
        Coding::Unsigned8 => (f32::from(bytes[0]) - 128.0) / 128.0,
        Coding::Signed(width) => {
            let mut upper = [0; 4];
            upper[4 - width..].copy_from_slice(bytes);
            (f64::from(i32::from_le_bytes(upper)) / f64::from(1u32 << 31)) as f32
        }
        Coding::Float32 => f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
        Coding::Float64 => f64::from_le_bytes(bytes.try_into().unwrap_or_default()) as f32,
    });
    Ok(Sound { rate, channels, samples: samples.collect() })
}
