//! BMP, TIFF, WebP and JPEG 2000, each by a decoder of its own.

use std::io::Cursor;

use hayro_jpeg2000::{ColorSpace as Space, DecodeSettings, DecoderContext, Image};
use image_webp::WebPDecoder;
use tiff::decoder::{Decoder, DecodingResult, Limits};
use tiff::{ColorType, TiffError};
use zune_bmp::BmpDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::{MAX_PIXELS, MAX_SIDE, Picture, check_size, picture};
use crate::IoError;
use crate::error::Place;

/// Pixels that one byte of a file can stand for where large parts of one colour
/// take next to none.
const FLAT_RATIO: u64 = 1 << 16;

pub(super) fn is_bmp(bytes: &[u8]) -> bool {
    bytes.starts_with(b"BM")
}

pub(super) fn bmp(bytes: &[u8], at: Place<'_>) -> Result<Picture, IoError> {
    let broken =
        |e: zune_bmp::BmpDecoderErrors| at.malformed("picture", "a whole BMP file", format!("{e:?}"));
    let options =
        DecoderOptions::default().set_max_width(MAX_SIDE).set_max_height(MAX_SIDE).set_strict_mode(true);
    // The decoder reads one bit per pixel wrongly.
    if bytes.get(28..30) == Some(&[1, 0]) {
        return Err(at.malformed("bits per pixel", "4 or more", "1"));
    }
    let mut decoder = BmpDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(broken)?;
    let (width, height) = decoder.dimensions().unwrap_or_default();
    // Runs are of up to 255 pixels in two bytes.
    check_size(width, height, bytes.len() as u64 * 256, at)?;
    let channels = match decoder.colorspace() {
        Some(ColorSpace::Luma) => 1,
        Some(ColorSpace::RGB) => 3,
        Some(ColorSpace::RGBA) => 4,
        other => return Err(at.malformed("colours", "gray or RGB", format!("{other:?}"))),
    };
    let pixels = decoder.decode().map_err(broken)?;
    picture((width, height, channels), pixels, at)
}

pub(super) fn is_tiff(bytes: &[u8]) -> bool {
    bytes.starts_with(b"II*\0") || bytes.starts_with(b"MM\0*")
}

pub(super) fn tiff(bytes: &[u8], at: Place<'_>) -> Result<Picture, IoError> {
    let broken = |e: TiffError| at.malformed("picture", "a whole TIFF file", e.to_string());
    let mut limits = Limits::default();
    limits.decoding_buffer_size = MAX_PIXELS * 4;
    let mut decoder = Decoder::new(Cursor::new(bytes)).map_err(broken)?.with_limits(limits);
    let (width, height) = decoder.dimensions().map_err(broken)?;
    let (width, height) = (width as usize, height as usize);
    check_size(width, height, bytes.len() as u64 * super::PNG_RATIO, at)?;
    let colours = decoder.colortype().map_err(broken)?;
    let channels = match colours {
        ColorType::Gray(8 | 16) => 1,
        ColorType::GrayA(8 | 16) => 2,
        ColorType::RGB(8 | 16) => 3,
        ColorType::RGBA(8 | 16) => 4,
        other => return Err(at.malformed("colours", "gray or RGB of 8 or 16 bits", format!("{other:?}"))),
    };
    let pixels = match decoder.read_image().map_err(broken)? {
        DecodingResult::U8(pixels) => pixels,
        DecodingResult::U16(pixels) => pixels.into_iter().map(|sample| (sample >> 8) as u8).collect(),
        _ => return Err(at.malformed("colours", "whole numbers", "others")),
    };
    picture((width, height, channels), pixels, at)
}

pub(super) fn is_webp(bytes: &[u8]) -> bool {
    matches!(bytes, [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..])
}

pub(super) fn webp(bytes: &[u8], at: Place<'_>) -> Result<Picture, IoError> {
    let broken = |e: image_webp::DecodingError| at.malformed("picture", "a whole WebP file", e.to_string());
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(broken)?;
    decoder.set_memory_limit(MAX_PIXELS * 4);
    let (width, height) = decoder.dimensions();
    let (width, height) = (width as usize, height as usize);
    check_size(width, height, bytes.len() as u64 * FLAT_RATIO, at)?;
    let channels = if decoder.has_alpha() { 4 } else { 3 };
    let mut pixels = vec![0; width * height * channels];
    decoder.read_image(&mut pixels).map_err(broken)?;
    picture((width, height, channels), pixels, at)
}

pub(super) fn is_jpeg2000(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\0\0\0\x0cjP  \r\n\x87\n") || bytes.starts_with(b"\xff\x4f\xff\x51")
}

pub(super) fn jpeg2000(bytes: &[u8], at: Place<'_>) -> Result<Picture, IoError> {
    let broken = |e: hayro_jpeg2000::error::DecodeError| {
        at.malformed("picture", "a whole JPEG 2000 file", e.to_string())
    };
    let settings = DecodeSettings { strict: true, ..DecodeSettings::default() };
    let image = Image::new(bytes, &settings).map_err(broken)?;
    let (width, height) = (image.width() as usize, image.height() as usize);
    check_size(width, height, bytes.len() as u64 * FLAT_RATIO, at)?;
    let colours = match image.color_space() {
        Space::Gray => 1,
        Space::RGB => 3,
        other => {
            return Err(at.malformed("colours", "gray or RGB", format!("{} channels", other.num_channels())));
        }
    };
    let channels = colours + usize::from(image.has_alpha());
    let mut context = DecoderContext::default();
    let decoded = image.decode(&mut context).map_err(broken)?;
    picture((width, height, channels), decoded.data_u8(), at)
}
