//! Pictures that Pillow wrote (`make_pictures.py`) have the pixels that it gave
//! them.

use std::path::PathBuf;

use oneir_io::IoError;
use oneir_io::picture::{self, Picture};

const WIDTH: usize = 12;
const HEIGHT: usize = 10;

fn read(name: &str) -> Picture {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name);
    let picture = picture::read(path).unwrap();
    assert_eq!((picture.width, picture.height), (WIDTH, HEIGHT), "{name}");
    picture
}

fn colours(x: usize, y: usize) -> [usize; 3] {
    [20 * x, 25 * y, 128]
}

fn gray(x: usize, y: usize) -> usize {
    10 * x + 5 * y
}

/// That each pixel is `expected` but for `slack`.
fn compare(name: &str, slack: usize, expected: impl Fn(usize, usize) -> Vec<usize>) {
    let picture = read(name);
    for (at, pixel) in picture.pixels.chunks(picture.channels).enumerate() {
        let (x, y) = (at % WIDTH, at / WIDTH);
        let expected = expected(x, y);
        assert_eq!(pixel.len(), expected.len(), "{name}");
        for (&found, expected) in pixel.iter().zip(expected) {
            let off = usize::from(found).abs_diff(expected);
            assert!(off <= slack, "{name}: {found} at {x}, {y}, expected {expected}");
        }
    }
}

#[test]
fn png_is_exact() {
    compare("opacity.png", 0, |x, y| [&colours(x, y)[..], &[gray(x, y)]].concat());
    compare("palette.png", 0, |x, y| colours(x, y).to_vec());
    compare("sixteen.png", 0, |x, y| vec![gray(x, y)]);
    compare("bits.png", 0, |x, y| vec![if gray(x, y) > 60 { 255 } else { 0 }]);
}

#[test]
fn jpeg_is_close() {
    compare("colours.jpg", 6, |x, y| colours(x, y).to_vec());
    compare("halved.jpg", 30, |x, y| colours(x, y).to_vec());
    compare("progressive.jpg", 4, |x, y| vec![gray(x, y)]);
}

#[test]
fn what_is_no_picture_is_refused() {
    for bytes in [&b""[..], b"GIF89a", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"\xff\xd8\xff\xd9"] {
        let refused = picture::from_bytes(bytes).unwrap_err();
        assert!(matches!(refused, IoError::Malformed { .. }), "{refused}");
    }
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()))
    })
}

#[test]
fn sizes_are_checked_before_memory_is_taken() {
    let file =
        |name: &str| std::fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name));
    let mut jpeg = file("colours.jpg").unwrap();
    let frame = jpeg.windows(2).position(|mark| mark == b"\xff\xc0").unwrap();
    jpeg[frame + 5..frame + 9].copy_from_slice(&[0xff, 0xf0, 0xff, 0xf0]);
    let mut png = file("opacity.png").unwrap();
    png[16..24].copy_from_slice(&[0, 0, 0xff, 0xf0, 0, 0, 0xff, 0xf0]);
    let sum = crc(&png[12..29]);
    png[29..33].copy_from_slice(&sum.to_be_bytes());
    for bytes in [jpeg, png.clone()] {
        let refused = picture::from_bytes(&bytes).unwrap_err().to_string();
        assert!(refused.contains("a claim of 65520 by 65520 pixels"), "{refused}");
    }
    png[16..20].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff]);
    let sum = crc(&png[12..29]);
    png[29..33].copy_from_slice(&sum.to_be_bytes());
    let refused = picture::from_bytes(&png).unwrap_err().to_string();
    assert!(refused.contains("found 2147483647 by 65520 pixels"), "{refused}");
}
