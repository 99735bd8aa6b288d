//! GGUF files: metadata, and tensors of plain types and of block formats.
//!
//! Versions 2 and 3 are read, little endian. A file is mapped: a tensor's bytes are a
//! view of the map, and nothing is decoded until [`TensorInfo::to_host`] is called.
//! The [`Metadata`] are read whole.
//!
//! ```
//! use oneir_io::gguf::{self, Metadata, TensorInfo};
//! use oneir_tensor::{BlockFormat, HostTensor};
//!
//! let weights: Vec<f32> = (64..128).map(|i| i as f32).collect();
//! let weights = HostTensor::from_slice(&[2, 32], &weights)?;
//! let tensors = [
//!     TensorInfo::encoded("blk.0.attn_q.weight", &weights, BlockFormat::Q8_0)?,
//!     TensorInfo::plain("output_norm.weight", &HostTensor::from_slice(&[2], &[1f32, 2.0])?),
//! ];
//! let mut metadata = Metadata::new();
//! metadata.set("general.architecture", "llama");
//! metadata.set("llama.block_count", 1u32);
//!
//! let path = std::env::temp_dir().join(format!("oneir-io-{}.gguf", std::process::id()));
//! gguf::write(&path, &tensors, &metadata)?;
//! let contents = gguf::read(&path)?;
//! assert_eq!(contents.metadata.text("general.architecture")?, "llama");
//! assert_eq!(contents.metadata.u64("llama.block_count")?, 1);
//! let q = contents.tensor("blk.0.attn_q.weight").unwrap();
//! assert_eq!((q.shape.as_slice(), q.bytes.len()), (&[2, 32][..], 68));
//! assert_eq!(q.to_host()?.to_vec::<f32>()?[63], 127.0);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a file may be
//!
//! Tensors may lie in any order and have gaps between them. They may not overlap, leave
//! the file, or begin at another place than a multiple of the alignment
//! (`general.alignment`, else 32), have more than four dimensions, or rows that are no
//! whole blocks. Keys, and names of tensors, are UTF-8 and come once; texts among the
//! values may be any bytes, as tokens of vocabularies are. Arrays may lie in arrays, 16
//! deep.

mod metadata;
mod reader;
mod shards;
mod tensor;
mod values;
mod writer;

use std::path::Path;

use oneir_tensor::Buffer;

use crate::{IoError, map};

pub use metadata::Metadata;
pub use shards::read_sharded;
pub use tensor::{Kind, TensorInfo};
pub use values::{Array, Texts, Value};
pub use writer::{to_bytes, write};

/// What every file begins with.
pub(crate) const MAGIC: &[u8; 4] = b"GGUF";

/// The most dimensions that a tensor has.
const MOST_DIMENSIONS: usize = 4;

/// How deep arrays may lie in arrays.
const DEEPEST: usize = 16;

/// The key of what the tensors' places are multiples of.
const ALIGNMENT_KEY: &str = "general.alignment";

/// The alignment of a file that does not tell its own.
const ALIGNMENT: u32 = 32;

/// What a file holds.
#[derive(Debug, Clone)]
pub struct Contents {
    /// What is said about the model, in the file's order.
    pub metadata: Metadata,
    /// The tensors, in the order of the file's list.
    pub tensors: Vec<TensorInfo>,
}

impl Contents {
    /// The tensor of a name.
    pub fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }
}

/// Reads a file by mapping it. One shard of several is read as a file of its own; see
/// [`read_sharded`].
///
/// While a tensor of the file lives, no one may change the file in place or cut it
/// short, as [`crate::safetensors::read`] says.
///
/// # Errors
/// When the file cannot be read or mapped, is of another version or byte order, breaks
/// the format, or has a tensor of a type that is not read.
pub fn read(path: impl AsRef<Path>) -> Result<Contents, IoError> {
    let path = path.as_ref();
    reader::parse(&map::map(path)?, path)
}

/// Reads the bytes of a file, which the tensors share; errors name the path
/// `<memory>`.
///
/// # Errors
/// As [`read`].
///
/// ```
/// use oneir_io::gguf;
/// use oneir_tensor::Buffer;
///
/// // Magic, version 3, no tensors, no metadata.
/// let mut file = b"GGUF\x03\0\0\0".to_vec();
/// file.extend([0; 16]);
/// assert!(gguf::from_buffer(&Buffer::copy_of(&file))?.tensors.is_empty());
/// file[4] = 9;
/// let refused = gguf::from_buffer(&Buffer::copy_of(&file)).unwrap_err();
/// assert_eq!(refused.to_string(), "<memory>: version: expected 2 or 3, found 9");
/// # Ok::<(), oneir_io::IoError>(())
/// ```
pub fn from_buffer(buffer: &Buffer) -> Result<Contents, IoError> {
    reader::parse(buffer, Path::new("<memory>"))
}
