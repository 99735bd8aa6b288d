//! Portable bitmaps, graymaps and pixmaps: a few numbers in letters, and pixels
//! as letters or bytes.

use super::{Picture, check_size, picture};
use crate::IoError;
use crate::error::Place;

/// The numbers of a header or of pixels in letters.
struct Letters<'a> {
    rest: &'a [u8],
    at: Place<'a>,
}

impl Letters<'_> {
    /// Skips blanks, and remarks up to the end of their line.
    fn skip(&mut self) {
        while let [first, tail @ ..] = self.rest {
            if first.is_ascii_whitespace() {
                self.rest = tail;
            } else if *first == b'#' {
                let end = tail.iter().position(|b| *b == b'\n').unwrap_or(tail.len());
                self.rest = &tail[end..];
            } else {
                return;
            }
        }
    }

    fn number(&mut self, what: &'static str) -> Result<usize, IoError> {
        self.skip();
        let count = self.rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        let number = std::str::from_utf8(digits).ok().and_then(|d| d.parse().ok());
        number.ok_or_else(|| self.at.malformed(what, "a number", format!("`{}`", digits.escape_ascii())))
    }

    /// A pixel of a bitmap, which may stand without blanks.
    fn bit(&mut self) -> Result<u8, IoError> {
        self.skip();
        match self.rest {
            [bit @ (b'0' | b'1'), tail @ ..] => {
                self.rest = tail;
                Ok(bit - b'0')
            }
            _ => Err(self.at.malformed("pixels", "0 or 1", "something else")),
        }
    }
}

pub(super) fn is(bytes: &[u8]) -> bool {
    matches!(bytes, [b'P', b'1'..=b'6', next, ..] if next.is_ascii_whitespace() || *next == b'#')
}

pub(super) fn decode(bytes: &[u8], at: Place<'_>) -> Result<Picture, IoError> {
    let kind = bytes[1] - b'0';
    let mut letters = Letters { rest: &bytes[2..], at };
    let (width, height) = (letters.number("width")?, letters.number("height")?);
    // A bitmap's bytes hold 8 pixels each.
    check_size(width, height, bytes.len() as u64 * 8, at)?;
    let channels = if kind.is_multiple_of(3) { 3 } else { 1 };
    let bitmap = kind % 3 == 1;
    let most = if bitmap { 1 } else { letters.number("largest sample")? };
    if most == 0 || most > 65535 {
        return Err(at.malformed("largest sample", "1 to 65535", most.to_string()));
    }
    let count = width * height * channels;
    // Bitmaps have 1 for black.
    let scaled = |sample: usize| (sample.min(most) * 255 / most) as u8;
    let mut pixels = Vec::with_capacity(count.min(bytes.len() * 8));
    if kind <= 3 {
        for _ in 0..count {
            pixels.push(if bitmap { 255 * (1 - letters.bit()?) } else { scaled(letters.number("pixels")?) });
        }
        return picture((width, height, channels), pixels, at);
    }
    // One blank parts the header from the pixels.
    let data = letters.rest.get(1..).unwrap_or_default();
    let short = |expected: usize| at.wrong_length("pixels", expected as u64, data.len() as u64);
    if bitmap {
        let row = width.div_ceil(8);
        let data = data.get(..row * height).ok_or_else(|| short(row * height))?;
        for row in data.chunks_exact(row) {
            pixels.extend((0..width).map(|x| if row[x / 8] >> (7 - x % 8) & 1 == 1 { 0 } else { 255 }));
        }
    } else if most < 256 {
        let data = data.get(..count).ok_or_else(|| short(count))?;
        pixels.extend(data.iter().map(|&sample| scaled(sample.into())));
    } else {
        let data = data.get(..2 * count).ok_or_else(|| short(2 * count))?;
        let wide = data.chunks_exact(2).map(|pair| usize::from(u16::from_be_bytes([pair[0], pair[1]])));
        pixels.extend(wide.map(scaled));
    }
    picture((width, height, channels), pixels, at)
}

#[cfg(test)]
mod tests {
    use crate::picture::from_bytes;

    #[test]
    fn letters_and_bytes_say_the_same() {
        let read = |bytes: &[u8]| {
            let found = from_bytes(bytes).unwrap();
            (found.width, found.height, found.channels, found.pixels)
        };
        let bits = (3, 2, 1, vec![255, 0, 255, 0, 0, 255]);
        assert_eq!(read(b"P1\n# a remark\n3 2\n010\n1 1 0\n"), bits);
        assert_eq!(read(b"P4 3 2\n\x40\xc0"), bits);
        assert_eq!(read(b"P2 2 1 100\n0 100"), (2, 1, 1, vec![0, 255]));
        assert_eq!(read(b"P5 2 1 255\n\x07\xff"), (2, 1, 1, vec![7, 255]));
        assert_eq!(read(b"P5 1 1 65535\n\x80\x00"), (1, 1, 1, vec![127]));
        assert_eq!(read(b"P3 1 1 255 1 2 3"), (1, 1, 3, vec![1, 2, 3]));
        assert_eq!(read(b"P6 1 1 255\n\x01\x02\x03"), (1, 1, 3, vec![1, 2, 3]));
    }

    #[test]
    fn broken_ones_are_refused() {
        for (bytes, says) in [
            (&b"P6 2 2 255\n\x01\x02"[..], "2 bytes"),
            (b"P6 60000 60000 255\n\x01", "a claim of 60000 by 60000"),
            (b"P5 0 1 255\n", "0 by 1"),
            (b"P5 1 1 0\n\x01", "largest sample"),
            (b"P2 1 1 9\n", "a number"),
            (b"P1 1 1\n7", "0 or 1"),
            (b"P5 1", "height"),
        ] {
            let error = from_bytes(bytes).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
