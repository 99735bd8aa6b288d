//! `ImageDecoder`: the pixels of a picture's file.

use oneir_array::HostTensor;
use oneir_io::picture::{Picture, from_bytes};

use super::{Row, row};
use crate::call::{Call, Results};
use crate::term::Term;

pub(super) const ROWS: &[Row] = &[row!(ImageDecoder [20] => image_decoder)];

/// Rows, columns and channels. What is no picture has none of them.
fn image_decoder(call: &Call<'_>) -> Results {
    let format = call.attributes().string_or("pixel_format", "RGB")?;
    let shade: fn([u8; 3]) -> Vec<u8> = match format {
        "RGB" => |rgb| rgb.to_vec(),
        "BGR" => |[r, g, b]| vec![b, g, r],
        "Grayscale" => |rgb| vec![gray(rgb)],
        other => {
            return Err(call.fails(format!("pixel_format must be RGB, BGR or Grayscale, found {other}")));
        }
    };
    let bytes = call.host(0)?.to_vec::<u8>().map_err(|e| call.fails(e.to_string()))?;
    let made = match from_bytes(&bytes) {
        Ok(Picture { width, height, channels, pixels }) => {
            let rgb = pixels.chunks_exact(channels).map(|pixel| match *pixel {
                [r, g, b, ..] => [r, g, b],
                _ => [pixel[0]; 3],
            });
            let shades: Vec<u8> = rgb.flat_map(shade).collect();
            HostTensor::from_slice(&[height, width, if format == "Grayscale" { 1 } else { 3 }], &shades)
        }
        Err(_) => HostTensor::from_slice::<u8>(&[0, 0, 0], &[]),
    };
    Ok(vec![Term::Host(made.map_err(|e| call.fails(e.to_string()))?)])
}

/// The brightness of a colour (ITU-R BT.601), rounded.
fn gray([r, g, b]: [u8; 3]) -> u8 {
    ((u32::from(r) * 19595 + u32::from(g) * 38470 + u32::from(b) * 7471 + 0x8000) >> 16) as u8
}
