//! Values made on request: zeros, ones and random numbers.

use oneir::onnx::{Strings, Term, ValueInfo};
use oneir::tensor::Values;
use oneir::{DType, HostTensor};

use super::declared::{Open, declared_dtype, declared_shape, is_strings};
use crate::args::parse_shape;
use crate::error::CliError;

/// The most elements of a value that a word or one number stands for.
pub(super) const MAX_MADE: usize = 1 << 30;

/// The most strings.
const MAX_STRINGS: usize = 1 << 20;

/// Letters of a random string.
const LETTERS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    Zeros,
    Ones,
    Random,
}

/// What is asked for; without a shape, of the declared one with 1 for each open
/// size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) made: Made,
    pub(super) shape: Option<Vec<usize>>,
}

impl Made {
    fn word(self) -> &'static str {
        match self {
            Made::Zeros => "zeros",
            Made::Ones => "ones",
            Made::Random => "random",
        }
    }

    /// What a text asks for.
    pub(super) fn read(info: &ValueInfo, text: &str) -> Result<Option<Wanted>, CliError> {
        for made in [Made::Zeros, Made::Ones, Made::Random] {
            let Some(rest) = text.strip_prefix(made.word()) else { continue };
            return match rest.strip_prefix(':') {
                Some(sizes) => match parse_shape(sizes) {
                    Some(shape) => Ok(Some(Wanted { made, shape: Some(shape) })),
                    None => Err(CliError::MadeShape {
                        name: info.name.clone(),
                        word: made.word(),
                        found: sizes.into(),
                    }),
                },
                None if rest.is_empty() => Ok(Some(Wanted { made, shape: None })),
                None => Ok(None),
            };
        }
        Ok(None)
    }
}

/// A value of the declared type.
pub(super) fn make(info: &ValueInfo, wanted: Wanted, seed: u64) -> Result<Term, CliError> {
    let Wanted { made, shape } = wanted;
    let shape = shape.unwrap_or_else(|| declared_shape(info).into_iter().map(Open::or_one).collect());
    let what = || format!("input `{}`", info.name);
    let wrong = |source| CliError::Tensor { what: what(), source };
    let strings = is_strings(info);
    let dtype = if strings { DType::U8 } else { declared_dtype(info)?.unwrap_or(DType::F32) };
    let count = oneir::Shape::new(&shape).checked_count(dtype).map_err(wrong)?;
    let limit = if strings { MAX_STRINGS } else { MAX_MADE };
    if count > limit {
        return Err(CliError::TooLarge { name: info.name.clone(), shape, limit });
    }
    let mut numbers = Numbers::new(seed, &info.name);
    if strings {
        let string = |_| match made {
            Made::Zeros => Vec::new(),
            Made::Ones => b"1".to_vec(),
            Made::Random => (0..LETTERS).map(|_| b'a' + (numbers.unit() * 26.0) as u8).collect(),
        };
        return Ok(Term::Strings(Strings { shape, values: (0..count).map(string).collect() }));
    }
    let values = match made {
        Made::Zeros => return HostTensor::zeros(dtype, &shape).map(Term::Host).map_err(wrong),
        Made::Ones => Values::Float(vec![1.0; count]),
        Made::Random => {
            // Few and small where they count things: indices stay in range.
            let top = if dtype == DType::Bool || dtype.bits() < 8 { 2.0 } else { 10.0 };
            let next = |numbers: &mut Numbers| {
                let unit = numbers.unit();
                if dtype.is_inexact() { unit } else { (unit * top).floor() }
            };
            Values::Float((0..count).map(|_| next(&mut numbers)).collect())
        }
    };
    HostTensor::from_values(dtype, &shape, &values.convert(dtype)).map(Term::Host).map_err(wrong)
}

/// Numbers that look random and follow from a seed and a name.
struct Numbers(u64);

impl Numbers {
    fn new(seed: u64, name: &str) -> Self {
        // FNV-1a.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Numbers(hash ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// The next number of [0, 1).
    fn unit(&mut self) -> f64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f64 / (1u64 << 24) as f64
    }
}
