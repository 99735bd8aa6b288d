//! Arrays of strings of one length, shorter ones filled with zeros.

use super::Endian;
use super::header::Header;
use crate::error::Place;
use crate::{IoError, StringTensor};

/// The most strings that are read of one array: each takes more memory than the
/// file shows.
const MAX_STRINGS: usize = 1 << 24;

/// The most strings without any letter, of which a file can claim any number.
const MAX_EMPTY: usize = 1 << 16;

/// A type of strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Width {
    code: Code,
    /// Bytes, or characters.
    length: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    /// `S`: bytes.
    Bytes,
    /// `U`: Unicode characters of four bytes.
    Text(Endian),
}

impl Width {
    /// The strings that NumPy's name of a type stands for.
    pub(super) fn parse(descr: &str) -> Option<Width> {
        let mut chars = descr.chars();
        let order = chars.next()?;
        let code = match (order, chars.next()?) {
            ('|' | '<' | '>', 'S') => Code::Bytes,
            ('<', 'U') => Code::Text(Endian::Little),
            ('>', 'U') => Code::Text(Endian::Big),
            _ => return None,
        };
        let length = chars.as_str();
        let plain = length.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| length.parse().ok()).flatten().map(|length| Width { code, length })
    }

    fn bytes(self) -> Option<usize> {
        match self.code {
            Code::Bytes => Some(self.length),
            Code::Text(_) => self.length.checked_mul(4),
        }
    }

    /// How many strings an array has, and the bytes of all.
    pub(super) fn sizes(self, shape: &[usize], at: Place<'_>) -> Result<(usize, usize), IoError> {
        let count = shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
        let (most, expected) = match self.length {
            0 => (MAX_EMPTY, "a shape of at most 65536 strings without letters"),
            _ => (MAX_STRINGS, "a shape of at most 16777216 strings"),
        };
        let wrong = || at.malformed("shape", expected, format!("{shape:?}"));
        let count = count.filter(|&count| count <= most).ok_or_else(wrong)?;
        let bytes = self.bytes().and_then(|bytes| bytes.checked_mul(count)).unwrap_or(usize::MAX);
        Ok((count, bytes))
    }

    /// The strings of an array's bytes.
    pub(super) fn decode(
        self,
        header: Header,
        count: usize,
        bytes: &[u8],
        at: Place<'_>,
    ) -> Result<StringTensor, IoError> {
        let size = self.bytes().unwrap_or(0);
        let mut values = Vec::with_capacity(count);
        for row in 0..count {
            let i = if header.fortran_order { fortran_place(&header.shape, row) } else { row };
            let string = &bytes[i * size..(i + 1) * size];
            values.push(self.string(string).map_err(|character| {
                at.malformed(
                    "data",
                    "Unicode characters",
                    format!("the number {character:#x} in string {row}, counted from 0"),
                )
            })?);
        }
        Ok(StringTensor { shape: header.shape, values })
    }

    /// One string without the zeros that fill it, or the number of a character
    /// that there is not.
    fn string(self, bytes: &[u8]) -> Result<Vec<u8>, u32> {
        let Code::Text(endian) = self.code else {
            let end = bytes.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
            return Ok(bytes[..end].to_vec());
        };
        let mut text = String::new();
        for character in bytes.chunks_exact(4) {
            let character = [character[0], character[1], character[2], character[3]];
            let number = match endian {
                Endian::Little => u32::from_le_bytes(character),
                Endian::Big => u32::from_be_bytes(character),
            };
            text.push(char::from_u32(number).ok_or(number)?);
        }
        text.truncate(text.trim_end_matches('\0').len());
        Ok(text.into_bytes())
    }
}

/// Where an element, given by its place in row order, lies when the first index
/// runs fastest.
fn fortran_place(shape: &[usize], place: usize) -> usize {
    let mut rest = place;
    let mut index = vec![0; shape.len()];
    for (at, &size) in index.iter_mut().zip(shape).rev() {
        *at = rest % size;
        rest /= size;
    }
    index.iter().zip(shape).rev().fold(0, |place, (&at, &size)| place * size + at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_of_strings_are_known_by_name() {
        let width = |code, length| Some(Width { code, length });
        assert_eq!(Width::parse("|S3"), width(Code::Bytes, 3));
        assert_eq!(Width::parse("<U0"), width(Code::Text(Endian::Little), 0));
        assert_eq!(Width::parse(">U12"), width(Code::Text(Endian::Big), 12));
        for other in ["<f4", "|O", "U3", "|U3", "<U-1", "<U+1", "<U", "", "<"] {
            assert_eq!(Width::parse(other), None, "{other}");
        }
    }

    #[test]
    fn places_of_both_orders() {
        let places: Vec<usize> = (0..6).map(|at| fortran_place(&[2, 3], at)).collect();
        assert_eq!(places, [0, 2, 4, 1, 3, 5]);
        assert_eq!(fortran_place(&[], 0), 0);
    }
}
