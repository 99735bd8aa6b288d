//! Pictures as pixels of 8 bits: files of PNG, JPEG, BMP, TIFF, WebP, JPEG 2000
//! and the portable formats (PBM, PGM, PPM).
//!
//! Palettes are looked up, 16-bit samples keep their upper 8 bits, and the
//! turn that a camera notes beside the pixels is not carried out. Of an
//! animated PNG the first picture is read.

mod formats;
mod jpeg;
mod pnm;

use std::io::Cursor;
use std::path::Path;

use png::{ColorType, Limits, Transformations};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::IoError;
use crate::error::Place;
use crate::open::contents;

/// The most pixels of a picture.
pub const MAX_PIXELS: usize = 1 << 27;

/// The most pixels along a side.
const MAX_SIDE: usize = u16::MAX as usize;

/// Rows that one byte of a PNG file can stand for, in bytes: what deflate
/// reaches on a run of one byte.
const PNG_RATIO: u64 = 1032;

/// Pixels that one byte of a JPEG file can stand for: a block of 64 at the
/// fewest bits.
const JPEG_RATIO: u64 = 512;

/// What headers and tables may add to either.
const SLACK: u64 = 4096;

/// A picture: rows from the top, pixels from the left, the channels of a pixel
/// side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Gray, gray and opacity, RGB, or RGB and opacity: 1 to 4.
    pub channels: usize,
    /// One byte per channel of each pixel.
    pub pixels: Vec<u8>,
}

/// Whether a file that begins so is surely a picture: PNG or JPEG (eight bytes
/// are enough).
///
/// ```
/// assert!(oneir_io::picture::starts_like(b"\x89PNG\r\n\x1a\n"));
/// assert!(!oneir_io::picture::starts_like(b"GIF89a.."));
/// ```
pub fn starts_like(bytes: &[u8]) -> bool {
    is_png(bytes) || is_jpeg(bytes)
}

fn is_png(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89PNG\r\n\x1a\n")
}

fn is_jpeg(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xd8\xff")
}

/// Reads a picture's file; its first bytes say of which format it is.
///
/// # Errors
/// When the file cannot be read, is of none, is broken, or has more pixels
/// than [`MAX_PIXELS`] or than a file of its size can stand for.
pub fn read(path: impl AsRef<Path>) -> Result<Picture, IoError> {
    let path = path.as_ref();
    decode(&contents(path)?, Place::file(path))
}

/// As [`read`], of a file's bytes.
///
/// # Errors
/// As [`read`].
pub fn from_bytes(bytes: &[u8]) -> Result<Picture, IoError> {
    decode(bytes, Place::file("<memory>".as_ref()))
}

fn decode(bytes: &[u8], at: Place<'_>) -> Result<Picture, IoError> {
    if is_png(bytes) {
        png(bytes, at)
    } else if is_jpeg(bytes) {
        jpeg(bytes, at)
    } else if formats::is_bmp(bytes) {
        formats::bmp(bytes, at)
    } else if formats::is_tiff(bytes) {
        formats::tiff(bytes, at)
    } else if formats::is_webp(bytes) {
        formats::webp(bytes, at)
    } else if formats::is_jpeg2000(bytes) {
        formats::jpeg2000(bytes, at)
    } else if pnm::is(bytes) {
        pnm::decode(bytes, at)
    } else {
        let found = format!("`{}`", bytes[..bytes.len().min(8)].escape_ascii());
        Err(at.malformed("first bytes", "those of a PNG or JPEG picture, or of another format", found))
    }
}

/// Refuses sizes that no picture has, or none in a file of so many bytes.
fn check_size(width: usize, height: usize, limit: u64, at: Place<'_>) -> Result<(), IoError> {
    let pixels = width as u64 * height as u64;
    let limit = limit.min(MAX_PIXELS as u64);
    if width == 0 || height == 0 || width > MAX_SIDE || height > MAX_SIDE {
        let found = format!("{width} by {height} pixels");
        return Err(at.malformed("size", "1 to 65535 pixels along each side", found));
    }
    if pixels > limit {
        let found = format!("a claim of {width} by {height} pixels, of which there can be {limit}");
        return Err(at.malformed("size", "no more pixels than the file has bytes for", found));
    }
    Ok(())
}

fn png(bytes: &[u8], at: Place<'_>) -> Result<Picture, IoError> {
    let broken = |e: png::DecodingError| at.malformed("picture", "a whole PNG file", e.to_string());
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), Limits { bytes: 1 << 31 });
    decoder.set_transformations(Transformations::normalize_to_color8());
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    let info = decoder.read_header_info().map_err(broken)?;
    let (width, height) = (info.width as usize, info.height as usize);
    let bits = (info.bits_per_pixel() as u64).max(1);
    let backed = (bytes.len() as u64 * PNG_RATIO + SLACK) * 8 / bits;
    check_size(width, height, backed, at)?;
    let mut reader = decoder.read_info().map_err(broken)?;
    let size = reader.output_buffer_size().unwrap_or(0);
    let mut pixels = vec![0; size];
    let frame = reader.next_frame(&mut pixels).map_err(broken)?;
    reader.finish().map_err(broken)?;
    let channels = match frame.color_type {
        ColorType::Grayscale => 1,
        ColorType::GrayscaleAlpha => 2,
        ColorType::Rgb => 3,
        ColorType::Rgba => 4,
        // The transformation has looked palettes up.
        ColorType::Indexed => return Err(at.malformed("picture", "colours", "places in a palette")),
    };
    picture((width, height, channels), pixels, at)
}

fn jpeg(bytes: &[u8], at: Place<'_>) -> Result<Picture, IoError> {
    let broken =
        |e: zune_jpeg::errors::DecodeErrors| at.malformed("picture", "a whole JPEG file", e.to_string());
    let options = DecoderOptions::new_fast()
        .set_strict_mode(true)
        .set_max_width(MAX_SIDE)
        .set_max_height(MAX_SIDE)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(broken)?;
    let Some((width, height)) = decoder.dimensions() else {
        return Err(at.malformed("picture", "a whole JPEG file", "no size"));
    };
    check_size(width, height, bytes.len() as u64 * JPEG_RATIO + SLACK, at)?;
    let most = (bytes.len() as u64 * JPEG_RATIO + SLACK).min(MAX_PIXELS as u64);
    if let Some((width, height, channels, pixels)) = jpeg::decode(bytes, most) {
        return picture((width, height, channels), pixels, at);
    }
    let gray = decoder.input_colorspace() == Some(ColorSpace::Luma);
    if gray {
        decoder.set_options(options.jpeg_set_out_colorspace(ColorSpace::Luma));
    }
    let pixels = decoder.decode().map_err(broken)?;
    // The decoder makes pixels up where a scan ends early.
    if !is_whole(bytes) {
        return Err(at.malformed("picture", "a whole JPEG file", "an end within the pixels"));
    }
    picture((width, height, if gray { 1 } else { 3 }), pixels, at)
}

/// Whether the pixels of a JPEG file are followed by the mark of its end.
fn is_whole(bytes: &[u8]) -> bool {
    const SCAN: u8 = 0xda;
    let mut rest = bytes.get(2..).unwrap_or_default();
    // Segments may hold another picture, with an end of its own.
    while let [0xff, mark, tail @ ..] = rest {
        match (*mark, tail) {
            (SCAN, _) => return tail.windows(2).any(|pair| pair == b"\xff\xd9"),
            (0xff, _) => rest = &rest[1..],
            (_, [high, low, ..]) => {
                let size = usize::from(u16::from_be_bytes([*high, *low]));
                rest = tail.get(size..).unwrap_or_default();
            }
            _ => return false,
        }
    }
    false
}

fn picture(
    (width, height, channels): (usize, usize, usize),
    pixels: Vec<u8>,
    at: Place<'_>,
) -> Result<Picture, IoError> {
    let expected = width * height * channels;
    if pixels.len() != expected {
        return Err(at.wrong_length("pixels", expected as u64, pixels.len() as u64));
    }
    Ok(Picture { width, height, channels, pixels })
}
