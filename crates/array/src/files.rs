//! Arrays in files: npy, npz, safetensors and GGUF.
//!
//! What is saved is computed first; what is loaded from a safetensors or GGUF file
//! stays in the file until it is read. See [`oneir_io`] for the formats' rules.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use oneir_io::{IoError, gguf, npz, safetensors};
use oneir_tensor::{DType, HostTensor};

use crate::{Array, ArrayError};

pub use oneir_io::gguf::{Metadata, Value};

/// Arrays by name, in a file's order.
pub type Named = Vec<(String, Array)>;

impl From<IoError> for ArrayError {
    fn from(error: IoError) -> Self {
        ArrayError::File(Arc::new(error))
    }
}

/// The values on the host, by name.
fn computed(arrays: &[(&str, &Array)]) -> Result<Vec<(String, HostTensor)>, ArrayError> {
    arrays.iter().map(|(name, array)| Ok((name.to_string(), array.to_host()?))).collect()
}

fn named(tensors: Vec<(String, HostTensor)>) -> Named {
    tensors.into_iter().map(|(name, tensor)| (name, Array::from_host(tensor))).collect()
}

/// The one array of a file.
///
/// # Errors
/// When the file cannot be read, or does not hold exactly one array.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{array, files};
/// let path = std::env::temp_dir().join(format!("oneir-array-{}.npy", std::process::id()));
/// files::save(&path, &array![1.5, 2.5])?;
/// assert_eq!(files::load(&path)?.to_vec::<f32>()?, [1.5, 2.5]);
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
pub fn load(path: impl AsRef<Path>) -> Result<Array, ArrayError> {
    let mut all = load_all(&path)?;
    match (all.pop(), all.is_empty()) {
        (Some((_, array)), true) => Ok(array),
        (last, _) => {
            let names = all.into_iter().chain(last).map(|(name, _)| name).collect();
            Err(ArrayError::NotOneArray { path: path.as_ref().to_owned(), names })
        }
    }
}

/// Every array of a file by name, in the file's order.
///
/// # Errors
/// When the file cannot be read.
pub fn load_all(path: impl AsRef<Path>) -> Result<Named, ArrayError> {
    Ok(named(oneir_io::open_tensors(path)?))
}

/// Every array of a safetensors file, and the file's metadata.
///
/// # Errors
/// When the file cannot be read.
pub fn load_safetensors(path: impl AsRef<Path>) -> Result<(Named, BTreeMap<String, String>), ArrayError> {
    let contents = safetensors::read(path)?;
    Ok((named(contents.tensors), contents.metadata))
}

/// What becomes of tensors in block formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Blocks {
    /// Arrays of f32, decoded when the file is loaded.
    #[default]
    Decoded,
    /// The blocks' bytes as arrays of u8, with a row's bytes along the last axis. They
    /// stay in the file until they are read.
    Packed,
    /// No arrays: only tensors of plain types are loaded.
    Skipped,
}

/// The arrays of a GGUF file, or of all shards of its model, and the metadata.
///
/// # Errors
/// When the file cannot be read, or there is no memory for decoded blocks.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::files::{self, Blocks, Metadata};
/// use oneir_array::array;
/// let path = std::env::temp_dir().join(format!("oneir-array-{}.gguf", std::process::id()));
/// let mut metadata = Metadata::new();
/// metadata.set("general.name", "an example");
/// files::save_gguf(&path, &[("x", &array![1.5, 2.5])], &metadata)?;
/// let (arrays, metadata) = files::load_gguf(&path, Blocks::Decoded)?;
/// assert_eq!(arrays[0].1.to_vec::<f32>()?, [1.5, 2.5]);
/// assert_eq!(metadata.text("general.name")?, "an example");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
pub fn load_gguf(path: impl AsRef<Path>, blocks: Blocks) -> Result<(Named, Metadata), ArrayError> {
    let path = path.as_ref();
    let contents = gguf::read_sharded(path)?;
    let mut arrays = Vec::with_capacity(contents.tensors.len());
    for tensor in contents.tensors {
        let host = match (tensor.kind, blocks) {
            (gguf::Kind::Plain(_), _) | (gguf::Kind::Blocks(_), Blocks::Decoded) => tensor.to_host(),
            (gguf::Kind::Blocks(_), Blocks::Skipped) => continue,
            (gguf::Kind::Blocks(format), Blocks::Packed) => {
                let mut shape = tensor.shape.clone();
                if let Some(row) = shape.last_mut() {
                    *row = *row / format.elements() * format.bytes();
                }
                HostTensor::from_buffer(DType::U8, &shape, tensor.bytes.clone())
            }
        };
        let host = host.map_err(|source| IoError::Tensor {
            path: path.to_owned(),
            part: format!("data of `{}`", tensor.name),
            source,
        })?;
        arrays.push((tensor.name, Array::from_host(host)));
    }
    Ok((arrays, contents.metadata))
}

/// Writes one array to a file of the format that its ending names; in formats
/// with names it is called `array`.
///
/// # Errors
/// When the array cannot be computed, the ending names no format, or the file
/// cannot be written; it is then as it was.
pub fn save(path: impl AsRef<Path>, array: &Array) -> Result<(), ArrayError> {
    Ok(oneir_io::save_tensors(path, &computed(&[("array", array)])?)?)
}

/// Writes arrays to an npz file.
///
/// # Errors
/// As [`save`], and when a name comes twice.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{array, files};
/// let path = std::env::temp_dir().join(format!("oneir-arrays-{}.npz", std::process::id()));
/// let (x, y) = (array![1, 2], array![[true]]);
/// files::savez_compressed(&path, &[("x", &x), ("y", &y)])?;
/// let back = files::load_all(&path)?;
/// assert_eq!(back[0].1.to_vec::<i32>()?, [1, 2]);
/// assert_eq!(back[1].0, "y");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
pub fn savez(path: impl AsRef<Path>, arrays: &[(&str, &Array)]) -> Result<(), ArrayError> {
    Ok(npz::write(path, &computed(arrays)?, npz::Compression::Stored)?)
}

/// Writes arrays to an npz file, compressed.
///
/// # Errors
/// As [`savez`].
pub fn savez_compressed(path: impl AsRef<Path>, arrays: &[(&str, &Array)]) -> Result<(), ArrayError> {
    Ok(npz::write(path, &computed(arrays)?, npz::Compression::Deflated)?)
}

/// Writes arrays and metadata to a safetensors file.
///
/// # Errors
/// As [`savez`], and when the format has no name for an element type.
pub fn save_safetensors(
    path: impl AsRef<Path>,
    arrays: &[(&str, &Array)],
    metadata: &BTreeMap<String, String>,
) -> Result<(), ArrayError> {
    Ok(safetensors::write(path, &computed(arrays)?, metadata)?)
}

/// Writes arrays and metadata to a GGUF file, each array with its own element type:
/// f16, bf16, f32, f64, or a signed integer of 8 to 64 bits. For tensors in block
/// formats see [`oneir_io::gguf`].
///
/// # Errors
/// As [`savez`], and when the format has no number for an element type, or an array
/// has more than four dimensions.
pub fn save_gguf(
    path: impl AsRef<Path>,
    arrays: &[(&str, &Array)],
    metadata: &Metadata,
) -> Result<(), ArrayError> {
    let tensors: Vec<gguf::TensorInfo> =
        computed(arrays)?.iter().map(|(name, tensor)| gguf::TensorInfo::plain(name, tensor)).collect();
    Ok(gguf::write(path, &tensors, metadata)?)
}
