//! Block formats: weights of checkpoints in a few bits each.
//!
//! A format stores a run of numbers, a *block*, in a fixed number of bytes: small
//! codes, and one or a few scales for all of them. A row of a tensor is whole
//! blocks. The formats here are those of GGML, as GGUF files have them; their
//! numbers are the ones that such files use.
//!
//! ```
//! use oneir_tensor::BlockFormat;
//!
//! let numbers: Vec<f32> = (0..32).map(|n| n as f32 / 8.0).collect();
//! let mut bytes = [0; 34];
//! BlockFormat::Q8_0.encode(&numbers, &mut bytes)?;
//! let mut back = [0.0; 32];
//! BlockFormat::Q8_0.decode(&bytes, &mut back)?;
//! assert!(numbers.iter().zip(back).all(|(x, y)| (x - y).abs() < 0.02));
//! # Ok::<(), oneir_tensor::TensorError>(())
//! ```
//!
//! Decoding is exact: one multiplication, or one and an addition, in f32, in the
//! order in which the format is defined, so every reader that keeps to it gives the
//! same bits. (Which NaN a scale that is not a number gives is not defined.)

mod codebook;
mod fp4;
mod grids;
mod k;
mod lookup;
mod scaled;
mod ternary;

use std::fmt;
use std::str::FromStr;

use half::f16;

use crate::{Buffer, DType, HostTensor, TensorError};

macro_rules! formats {
    ($(
        $(#[$doc:meta])*
        $variant:ident = $number:literal: $elements:literal in $bytes:literal,
        $decode:path $(, $encode:path)?;
    )*) => {
        /// A block format. See [the module](self) for what that is.
        #[allow(non_camel_case_types)]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum BlockFormat { $($(#[$doc])* $variant),* }

        impl BlockFormat {
            /// Every format.
            pub const ALL: &[BlockFormat] = &[$(BlockFormat::$variant),*];

            /// The name used in texts, files and errors.
            pub const fn name(self) -> &'static str {
                match self { $(BlockFormat::$variant => stringify!($variant)),* }
            }

            /// The number that GGUF files give it.
            pub const fn number(self) -> u32 {
                match self { $(BlockFormat::$variant => $number),* }
            }

            /// Elements of one block.
            pub const fn elements(self) -> usize {
                match self { $(BlockFormat::$variant => $elements),* }
            }

            /// Bytes of one block.
            pub const fn bytes(self) -> usize {
                match self { $(BlockFormat::$variant => $bytes),* }
            }

            /// Whether [`BlockFormat::encode`] is there for it.
            pub const fn encodes(self) -> bool {
                match self { $(BlockFormat::$variant => formats!(@encodes $($encode)?)),* }
            }

            fn decode_all(self, blocks: &[u8], out: &mut [f32]) {
                match self {
                    $(BlockFormat::$variant => {
                        let (blocks, out) = (blocks.as_chunks::<$bytes>().0, out.as_chunks_mut::<$elements>().0);
                        blocks.iter().zip(out).for_each(|(block, out)| $decode(block, out));
                    })*
                }
            }

            fn encode_all(self, numbers: &[f32], out: &mut [u8]) {
                match self {
                    $(BlockFormat::$variant => {
                        $(
                            let (numbers, out) =
                                (numbers.as_chunks::<$elements>().0, out.as_chunks_mut::<$bytes>().0);
                            numbers.iter().zip(out).for_each(|(numbers, out)| $encode(numbers, out));
                        )?
                    })*
                }
            }
        }
    };
    (@encodes) => { false };
    (@encodes $encode:path) => { true };
}

formats! {
    /// Codes of 4 bits, centred, and a scale.
    Q4_0 = 2: 32 in 18, scaled::decode_q4_0, scaled::encode_q4_0;
    /// Codes of 4 bits, a scale, and a smallest number.
    Q4_1 = 3: 32 in 20, scaled::decode_q4_1, scaled::encode_q4_1;
    /// Codes of 5 bits, centred, and a scale.
    Q5_0 = 6: 32 in 22, scaled::decode_q5_0, scaled::encode_q5_0;
    /// Codes of 5 bits, a scale, and a smallest number.
    Q5_1 = 7: 32 in 24, scaled::decode_q5_1, scaled::encode_q5_1;
    /// Signed codes of 8 bits, and a scale.
    Q8_0 = 8: 32 in 34, scaled::decode_q8_0, scaled::encode_q8_0;
    /// Codes of 2 bits; a scale and an offset of 4 bits for every 16, scaled again.
    Q2_K = 10: 256 in 84, k::decode_q2;
    /// Codes of 3 bits; a scale of 6 bits for every 16, scaled again.
    Q3_K = 11: 256 in 110, k::decode_q3;
    /// Codes of 4 bits; a scale and an offset of 6 bits for every 32, scaled again.
    Q4_K = 12: 256 in 144, k::decode_q4;
    /// Codes of 5 bits; a scale and an offset of 6 bits for every 32, scaled again.
    Q5_K = 13: 256 in 176, k::decode_q5;
    /// Codes of 6 bits; a scale of 8 bits for every 16, scaled again.
    Q6_K = 14: 256 in 210, k::decode_q6;
    /// Eight elements by one of 256 points, signs of even parity; a scale for every 32.
    IQ2_XXS = 16: 256 in 66, codebook::decode_iq2_xxs;
    /// Eight elements by one of 512 points, signs of even parity; a scale for every 16.
    IQ2_XS = 17: 256 in 74, codebook::decode_iq2_xs;
    /// Four elements by one of 256 points, signs of even parity; a scale for every 32.
    IQ3_XXS = 18: 256 in 98, codebook::decode_iq3_xxs;
    /// Eight elements by one of 2048 points; a scale and a shift for every 32.
    IQ1_S = 19: 256 in 50, codebook::decode_iq1_s;
    /// Codes of 4 bits for one of 16 unevenly spaced levels, and a scale.
    IQ4_NL = 20: 32 in 18, lookup::decode_nl;
    /// Four elements by one of 512 points, any signs; a scale for every 32.
    IQ3_S = 21: 256 in 110, codebook::decode_iq3_s;
    /// Eight elements by one of 1024 points, any signs; a scale for every 16.
    IQ2_S = 22: 256 in 82, codebook::decode_iq2_s;
    /// As IQ4_NL, with a scale of 6 bits for every 32, scaled again.
    IQ4_XS = 23: 256 in 136, lookup::decode_xs;
    /// Eight elements by one of 2048 points and a shift; a scale for every 16.
    IQ1_M = 29: 256 in 56, codebook::decode_iq1_m;
    /// −1, 0 or 1, five to a byte, and a scale.
    TQ1_0 = 34: 256 in 54, ternary::decode_tq1, ternary::encode_tq1;
    /// −1, 0 or 1, four to a byte, and a scale.
    TQ2_0 = 35: 256 in 66, ternary::decode_tq2, ternary::encode_tq2;
    /// Floats of 4 bits, and a power of two as scale.
    MXFP4 = 39: 32 in 17, fp4::decode_mx, fp4::encode_mx;
    /// Floats of 4 bits, and a float of 8 bits as scale for every 16.
    NVFP4 = 40: 64 in 36, fp4::decode_nv;
}

impl BlockFormat {
    /// The format that GGUF files give a number.
    pub fn of_number(number: u32) -> Option<BlockFormat> {
        BlockFormat::ALL.iter().copied().find(|format| format.number() == number)
    }

    /// Bytes of so many elements; `None` where they are no whole blocks, or too many.
    ///
    /// ```
    /// use oneir_tensor::BlockFormat;
    /// assert_eq!(BlockFormat::Q4_K.bytes_for(512), Some(288));
    /// assert_eq!(BlockFormat::Q4_K.bytes_for(500), None);
    /// ```
    pub fn bytes_for(self, elements: usize) -> Option<usize> {
        if !elements.is_multiple_of(self.elements()) {
            return None;
        }
        let bytes = (elements / self.elements()).checked_mul(self.bytes())?;
        isize::try_from(bytes).ok()?;
        Some(bytes)
    }

    /// The numbers in blocks.
    ///
    /// # Errors
    /// When there are not as many bytes as the numbers of `out` take.
    pub fn decode(self, blocks: &[u8], out: &mut [f32]) -> Result<(), TensorError> {
        self.check(out.len(), blocks.len())?;
        self.decode_all(blocks, out);
        Ok(())
    }

    /// Numbers as blocks, each rounded to what is nearest to it by the block's scale.
    /// The scale comes from the largest number, without a search for a better one.
    ///
    /// Where a conversion from f32 to an integer has no result (of infinities, and in
    /// blocks so small that one over their scale is infinite), the code is 0.
    ///
    /// # Errors
    /// When the format has no encoder ([`BlockFormat::encodes`]), or `out` has not as
    /// many bytes as the numbers take.
    pub fn encode(self, numbers: &[f32], out: &mut [u8]) -> Result<(), TensorError> {
        if !self.encodes() {
            return Err(TensorError::NoEncoder { format: self });
        }
        self.check(numbers.len(), out.len())?;
        self.encode_all(numbers, out);
        Ok(())
    }

    /// Blocks as a tensor of f32. Each row, along the last axis, is whole blocks.
    ///
    /// ```
    /// use oneir_tensor::BlockFormat;
    ///
    /// // A scale of 1 in half precision, then the codes 0 to 31.
    /// let block: Vec<u8> = [0, 0x3C].into_iter().chain(0..32).collect();
    /// let x = BlockFormat::Q8_0.to_host(&[1, 32], &block)?;
    /// assert_eq!(x.to_vec::<f32>()?[31], 31.0);
    /// # Ok::<(), oneir_tensor::TensorError>(())
    /// ```
    ///
    /// # Errors
    /// When a row is not whole blocks, the bytes are not as many as the shape takes, or
    /// memory cannot be had.
    pub fn to_host(self, shape: &[usize], blocks: &[u8]) -> Result<HostTensor, TensorError> {
        let too_large = || TensorError::TooLarge { shape: shape.to_vec(), dtype: DType::F32 };
        let row = shape.last().copied().unwrap_or(1);
        if !row.is_multiple_of(self.elements()) {
            return Err(TensorError::NotWholeBlocks { format: self, elements: row });
        }
        let count = shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size)).ok_or_else(too_large)?;
        self.check(count, blocks.len())?;
        let bytes = DType::F32.bytes_for(count).ok_or_else(too_large)?;
        let numbers = Buffer::filled(bytes, |out| self.decode_all(blocks, bytemuck::cast_slice_mut(out)))?;
        HostTensor::from_buffer(DType::F32, shape, numbers)
    }

    fn check(self, elements: usize, found: usize) -> Result<(), TensorError> {
        match self.bytes_for(elements) {
            None => Err(TensorError::NotWholeBlocks { format: self, elements }),
            Some(expected) if expected != found => {
                Err(TensorError::BlockBytes { format: self, elements, expected, found })
            }
            Some(_) => Ok(()),
        }
    }
}

impl fmt::Display for BlockFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for BlockFormat {
    type Err = UnknownBlockFormat;

    /// By name, in either case of letters.
    fn from_str(name: &str) -> Result<Self, UnknownBlockFormat> {
        let found = BlockFormat::ALL.iter().find(|format| format.name().eq_ignore_ascii_case(name));
        found.copied().ok_or_else(|| UnknownBlockFormat { name: name.to_owned() })
    }
}

/// A name that no block format has.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("expected the name of a block format, such as Q4_K, found `{name}`")]
pub struct UnknownBlockFormat {
    /// The name.
    pub name: String,
}

/// A number in half precision, of a block's bytes.
fn half(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// Writes a number in half precision into a block.
fn put_half(block: &mut [u8], at: usize, number: f32) {
    block[at..at + 2].copy_from_slice(&f16::from_f32(number).to_le_bytes());
}

/// The lowest bits of an integer part, and 0 where it does not fit 32 bits. The
/// encoders that wrote most files that there are convert so.
fn low_byte(x: f32) -> u8 {
    let fits = (-2_147_483_648.0..2_147_483_648.0).contains(&x);
    if fits { x as i32 as u8 } else { 0 }
}

/// One over a scale; 0 for none.
fn inverse(scale: f32) -> f32 {
    if scale == 0.0 { 0.0 } else { 1.0 / scale }
}

/// The number of largest magnitude, the first of several; of NaNs the first.
fn furthest(numbers: &[f32]) -> f32 {
    let mut best = 0.0f32;
    for (i, &x) in numbers.iter().enumerate() {
        if x.is_nan() {
            return x;
        }
        if i == 0 || x.abs() > best.abs() {
            best = x;
        }
    }
    best
}

/// The smallest and the largest number; NaN where one is.
fn range(numbers: &[f32]) -> (f32, f32) {
    let (mut low, mut high) = (f32::INFINITY, f32::NEG_INFINITY);
    for &x in numbers {
        if x.is_nan() {
            return (x, x);
        }
        low = if x < low { x } else { low };
        high = if x > high { x } else { high };
    }
    (low, high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_unique_and_found() {
        for (i, &format) in BlockFormat::ALL.iter().enumerate() {
            assert_eq!(BlockFormat::of_number(format.number()), Some(format));
            assert_eq!(format.name().to_lowercase().parse(), Ok(format));
            assert!(BlockFormat::ALL[..i].iter().all(|other| other.name() != format.name()));
        }
        assert_eq!(BlockFormat::of_number(9999), None);
        assert!("Q4_9".parse::<BlockFormat>().is_err());
    }

    #[test]
    fn wrong_sizes_are_refused() {
        let mut out = [0.0; 32];
        let refused = BlockFormat::Q4_0.decode(&[0; 17], &mut out);
        assert!(matches!(refused, Err(TensorError::BlockBytes { expected: 18, found: 17, .. })));
        let refused = BlockFormat::Q4_0.decode(&[0; 18], &mut out[..31]);
        assert!(matches!(refused, Err(TensorError::NotWholeBlocks { elements: 31, .. })));
        let refused = BlockFormat::Q4_K.encode(&[0.0; 256], &mut [0; 144]);
        assert_eq!(refused, Err(TensorError::NoEncoder { format: BlockFormat::Q4_K }));
        // As many elements as a block, but in rows of half of one.
        let refused = BlockFormat::Q4_0.to_host(&[2, 16], &[0; 18]);
        assert!(matches!(refused, Err(TensorError::NotWholeBlocks { elements: 16, .. })));
        assert!(BlockFormat::Q4_0.to_host(&[usize::MAX, 32], &[0; 18]).is_err());
        assert!(BlockFormat::Q4_0.to_host(&[], &[0; 18]).is_err());
        assert_eq!(BlockFormat::Q4_0.bytes_for(usize::MAX & !31), None);
    }

    #[test]
    fn nothing_that_is_encoded_panics() {
        let odd = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN_POSITIVE, 1e-45, -0.0];
        for &format in BlockFormat::ALL.iter().filter(|format| format.encodes()) {
            for first in odd {
                for rest in odd {
                    let mut numbers = vec![rest; format.elements()];
                    numbers[0] = first;
                    let (mut bytes, mut back) = (vec![0; format.bytes()], vec![0.0; format.elements()]);
                    format.encode(&numbers, &mut bytes).unwrap();
                    format.decode(&bytes, &mut back).unwrap();
                }
            }
        }
    }
}
