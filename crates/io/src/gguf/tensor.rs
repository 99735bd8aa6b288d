//! The tensors of a file: names, shapes, types and bytes.

use std::fmt;

use oneir_tensor::{BlockFormat, Buffer, DType, HostTensor, TensorError};

/// The numbers that files give element types.
const PLAIN: [(u32, DType); 8] = [
    (0, DType::F32),
    (1, DType::F16),
    (24, DType::I8),
    (25, DType::I16),
    (26, DType::I32),
    (27, DType::I64),
    (28, DType::F64),
    (30, DType::BF16),
];

/// Types that files had or programs have, which are not read.
const UNREAD: [(u32, &str); 11] = [
    (4, "Q4_2"),
    (5, "Q4_3"),
    (9, "Q8_1"),
    (15, "Q8_K"),
    (31, "Q4_0_4_4"),
    (32, "Q4_0_4_8"),
    (33, "Q4_0_8_8"),
    (36, "IQ4_NL_4_4"),
    (37, "IQ4_NL_4_8"),
    (38, "IQ4_NL_8_8"),
    (41, "Q1_0"),
];

/// How a tensor's numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// As elements of a type.
    Plain(DType),
    /// In blocks.
    Blocks(BlockFormat),
}

impl Kind {
    /// The kind that files give a number.
    pub(super) fn of_number(number: u32) -> Option<Kind> {
        let plain = PLAIN.iter().find(|(theirs, _)| *theirs == number).map(|(_, dtype)| Kind::Plain(*dtype));
        plain.or_else(|| BlockFormat::of_number(number).map(Kind::Blocks))
    }

    /// The number that files give this kind; `None` for types that they cannot hold.
    pub(super) fn number(self) -> Option<u32> {
        match self {
            Kind::Plain(dtype) => PLAIN.iter().find(|(_, ours)| *ours == dtype).map(|(number, _)| *number),
            Kind::Blocks(format) => Some(format.number()),
        }
    }

    /// A number that is none of a kind, as errors tell it.
    pub(super) fn unread(number: u32) -> String {
        match UNREAD.iter().find(|(theirs, _)| *theirs == number) {
            Some((_, name)) => format!("type {number} ({name}), which is not read"),
            None => format!("type {number}, which is not known"),
        }
    }

    /// Elements that are stored together: rows are whole multiples.
    pub fn elements(self) -> usize {
        match self {
            Kind::Plain(_) => 1,
            Kind::Blocks(format) => format.elements(),
        }
    }

    /// Bytes of so many elements; `None` where they are no whole blocks, or too many.
    pub fn bytes_for(self, elements: usize) -> Option<usize> {
        match self {
            Kind::Plain(dtype) => dtype.bytes_for(elements),
            Kind::Blocks(format) => format.bytes_for(elements),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Plain(dtype) => f.pad(dtype.name()),
            Kind::Blocks(format) => f.pad(format.name()),
        }
    }
}

/// A tensor of a file.
#[derive(Debug, Clone)]
pub struct TensorInfo {
    /// The name.
    pub name: String,
    /// Size of each dimension, the one of neighbouring elements last, as in all of
    /// Oneir (the file has it first).
    pub shape: Vec<usize>,
    /// How the numbers are stored.
    pub kind: Kind,
    /// The bytes: elements or blocks, in row order.
    pub bytes: Buffer,
}

impl TensorInfo {
    /// A tensor's elements as they are.
    pub fn plain(name: impl Into<String>, tensor: &HostTensor) -> TensorInfo {
        let bytes = match tensor.bytes() {
            all if all.len() == tensor.buffer().len() && std::ptr::eq(&*all, tensor.buffer().bytes()) => {
                tensor.buffer().clone()
            }
            some => Buffer::copy_of(&some),
        };
        let kind = Kind::Plain(tensor.dtype());
        TensorInfo { name: name.into(), shape: tensor.shape().to_vec(), kind, bytes }
    }

    /// Blocks that are there already.
    ///
    /// # Errors
    /// When a row is no whole blocks, or the bytes are not as many as the shape takes.
    pub fn blocks(
        name: impl Into<String>,
        shape: &[usize],
        format: BlockFormat,
        bytes: Buffer,
    ) -> Result<TensorInfo, TensorError> {
        let info = TensorInfo { name: name.into(), shape: shape.to_vec(), kind: Kind::Blocks(format), bytes };
        info.check()?;
        Ok(info)
    }

    /// A tensor's numbers, rounded to f32 and then encoded.
    ///
    /// # Errors
    /// When the format has no encoder, a row is no whole blocks, or memory cannot be had.
    pub fn encoded(
        name: impl Into<String>,
        tensor: &HostTensor,
        format: BlockFormat,
    ) -> Result<TensorInfo, TensorError> {
        let row = tensor.shape().last().copied().unwrap_or(1);
        if !row.is_multiple_of(format.elements()) {
            return Err(TensorError::NotWholeBlocks { format, elements: row });
        }
        let numbers = tensor.cast(DType::F32)?.to_vec::<f32>()?;
        let mut bytes = vec![0; numbers.len() / format.elements() * format.bytes()];
        format.encode(&numbers, &mut bytes)?;
        TensorInfo::blocks(name, tensor.shape(), format, Buffer::copy_of(&bytes))
    }

    /// Number of elements; `None` past what an address can name.
    pub fn count(&self) -> Option<usize> {
        self.shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size))
    }

    /// The numbers: elements as they lie, without a copy, and blocks decoded to f32.
    ///
    /// # Errors
    /// When shape, kind and bytes do not fit together, or memory cannot be had.
    pub fn to_host(&self) -> Result<HostTensor, TensorError> {
        match self.kind {
            Kind::Plain(dtype) => HostTensor::from_buffer(dtype, &self.shape, self.bytes.clone()),
            Kind::Blocks(format) => format.to_host(&self.shape, self.bytes.bytes()),
        }
    }

    /// Whether shape, kind and bytes fit together.
    pub(super) fn check(&self) -> Result<(), TensorError> {
        let (shape, found) = (self.shape.to_vec(), self.bytes.len());
        let row = shape.last().copied().unwrap_or(1);
        match (self.kind, self.count().and_then(|count| self.kind.bytes_for(count))) {
            (Kind::Blocks(format), _) if !row.is_multiple_of(format.elements()) => {
                Err(TensorError::NotWholeBlocks { format, elements: row })
            }
            (_, Some(expected)) if expected == found => Ok(()),
            (Kind::Plain(dtype), Some(expected)) => {
                Err(TensorError::WrongLength { shape, dtype, expected, found })
            }
            (Kind::Blocks(format), Some(expected)) => {
                let elements = self.count().unwrap_or(usize::MAX);
                Err(TensorError::BlockBytes { format, elements, expected, found })
            }
            (Kind::Plain(dtype), None) => Err(TensorError::TooLarge { shape, dtype }),
            (Kind::Blocks(_), None) => Err(TensorError::TooLarge { shape, dtype: DType::F32 }),
        }
    }
}
