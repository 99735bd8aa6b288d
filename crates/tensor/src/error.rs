use crate::{BlockFormat, DType};

/// Why a tensor cannot be made, viewed or read.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TensorError {
    /// The element or byte count does not fit 63 bits.
    #[error("shape {shape:?} of {dtype} has more bytes than an address can name")]
    TooLarge {
        /// The shape asked for.
        shape: Vec<usize>,
        /// Its element type.
        dtype: DType,
    },
    /// The data does not fill the shape.
    #[error("shape {shape:?} of {dtype} needs {expected} bytes, found {found}")]
    WrongLength {
        /// The shape asked for.
        shape: Vec<usize>,
        /// Its element type.
        dtype: DType,
        /// Bytes that the shape needs.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// A read asked for another element type than the tensor's.
    #[error("expected elements of {expected}, found {found}")]
    WrongDType {
        /// The element type asked for.
        expected: DType,
        /// The tensor's element type.
        found: DType,
    },
    /// An axis is past the rank, or named twice.
    #[error("axis {axis} is out of range or repeated for rank {rank}")]
    BadAxis {
        /// The axis.
        axis: usize,
        /// The tensor's rank.
        rank: usize,
    },
    /// Two shapes that must match do not.
    #[error("expected shape {expected:?}, found {found:?}")]
    ShapeMismatch {
        /// The shape that was needed.
        expected: Vec<usize>,
        /// The shape that was there.
        found: Vec<usize>,
    },
    /// A slice reads outside the tensor.
    #[error("slice of axis {axis} from {start} by {step}, {len} items, leaves its size {size}")]
    SliceOutOfRange {
        /// The sliced axis.
        axis: usize,
        /// First index.
        start: usize,
        /// Step between indices.
        step: isize,
        /// Number of items.
        len: usize,
        /// The axis's size.
        size: usize,
    },
    /// A layout addresses bytes outside its buffer.
    #[error("a view reaches element {element} of a buffer of {available} elements")]
    OutOfBounds {
        /// The furthest element addressed.
        element: isize,
        /// Elements in the buffer.
        available: usize,
    },
    /// Two shapes do not broadcast together.
    #[error("shapes {left:?} and {right:?} do not broadcast together")]
    NoBroadcast {
        /// The left shape.
        left: Vec<usize>,
        /// The right shape.
        right: Vec<usize>,
    },
    /// The bytes of a bool tensor hold something other than 0 and 1.
    #[error("byte {value} at element {index} is not a bool")]
    NotABool {
        /// The byte.
        value: u8,
        /// Its place.
        index: usize,
    },
    /// Memory for the tensor could not be had.
    #[error("out of host memory: {bytes} bytes")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// Sub-byte elements cannot be viewed with strides.
    #[error("{dtype} elements are packed below a byte; cast before making a strided view")]
    PackedView {
        /// The element type.
        dtype: DType,
    },
    /// Numbers that do not fill blocks.
    #[error("{format}: expected elements in whole blocks of {}, found {elements}", format.elements())]
    NotWholeBlocks {
        /// The block format.
        format: BlockFormat,
        /// Elements of a row, or in all.
        elements: usize,
    },
    /// Too few or too many bytes for the elements of blocks.
    #[error("{format}: {elements} elements take {expected} bytes, found {found}")]
    BlockBytes {
        /// The block format.
        format: BlockFormat,
        /// The elements.
        elements: usize,
        /// Bytes that they take.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
    /// A block format that can only be read.
    #[error("{format}: there is no encoder for this block format")]
    NoEncoder {
        /// The block format.
        format: BlockFormat,
    },
}
