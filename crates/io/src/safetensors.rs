//! Safetensors files: named tensors and a map of texts about them.
//!
//! All element types of the format but the two of 6 bits can be read and
//! written: bool, the integers of 8 to 64 bits, f16, bf16, f32, f64,
//! complex64, the five float8 kinds, and f4e2m1 where the elements fill whole
//! bytes.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use ::safetensors::Dtype;
use ::safetensors::tensor::{Metadata, TensorInfo};
use oneir_tensor::{Buffer, DType, HostTensor, TensorError};
use serde_json::Value;

use crate::error::Place;
use crate::{Format, IoError, map, replace};

/// The longest header that the format allows.
const MAX_HEADER: u64 = 100_000_000;

/// The bytes of the header's length, before it.
const PREFIX: u64 = 8;

/// The header's key for texts, which no tensor can have.
const METADATA: &str = "__metadata__";

const DTYPES: [(Dtype, DType); 20] = [
    (Dtype::BOOL, DType::Bool),
    (Dtype::U8, DType::U8),
    (Dtype::U16, DType::U16),
    (Dtype::U32, DType::U32),
    (Dtype::U64, DType::U64),
    (Dtype::I8, DType::I8),
    (Dtype::I16, DType::I16),
    (Dtype::I32, DType::I32),
    (Dtype::I64, DType::I64),
    (Dtype::F16, DType::F16),
    (Dtype::BF16, DType::BF16),
    (Dtype::F32, DType::F32),
    (Dtype::F64, DType::F64),
    (Dtype::C64, DType::Complex64),
    (Dtype::F8_E4M3, DType::F8E4M3FN),
    (Dtype::F8_E4M3FNUZ, DType::F8E4M3FNUZ),
    (Dtype::F8_E5M2, DType::F8E5M2),
    (Dtype::F8_E5M2FNUZ, DType::F8E5M2FNUZ),
    (Dtype::F8_E8M0, DType::F8E8M0),
    (Dtype::F4, DType::F4E2M1),
];

/// What a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// The tensors with their names, in the order of their bytes.
    pub tensors: Vec<(String, HostTensor)>,
    /// The texts about them.
    pub metadata: BTreeMap<String, String>,
}

/// Reads a file by mapping it: the tensors' buffers are views of the map, so
/// that bytes are loaded when they are first read.
///
/// While a tensor of the file lives, no one may change the file in place or
/// cut it short: values would change, and reading past a new end stops the
/// process. Replacing the file, as the writers of this crate do, is safe.
///
/// # Errors
/// When the file cannot be read or mapped, breaks the format, is shorter or
/// longer than its header says, has bools other than 0 and 1, or elements of
/// 6 bits.
///
/// ```
/// use std::collections::BTreeMap;
/// use oneir_io::safetensors;
/// use oneir_tensor::HostTensor;
///
/// let path = std::env::temp_dir().join(format!("oneir-io-{}.safetensors", std::process::id()));
/// let tensors = [("w".to_owned(), HostTensor::from_slice(&[3], &[1f32, 2.0, 3.0])?)];
/// let metadata = BTreeMap::from([("made by".to_owned(), "an example".to_owned())]);
/// safetensors::write(&path, &tensors, &metadata)?;
/// let contents = safetensors::read(&path)?;
/// assert_eq!(contents.tensors, tensors);
/// assert_eq!(contents.metadata, metadata);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: impl AsRef<Path>) -> Result<Contents, IoError> {
    let path = path.as_ref();
    parse(&map::map(path)?, path)
}

/// Reads the bytes of a file, which the tensors share; errors name the path
/// `<memory>`.
///
/// # Errors
/// As [`read`].
///
/// ```
/// use oneir_io::safetensors;
/// use oneir_tensor::Buffer;
///
/// let mut file = 59u64.to_le_bytes().to_vec();
/// file.extend(br#"{"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}      "#);
/// file.extend([7, 9]);
/// let contents = safetensors::from_buffer(&Buffer::copy_of(&file))?;
/// assert_eq!(contents.tensors[0].1.to_vec::<u8>()?, [7, 9]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_buffer(buffer: &Buffer) -> Result<Contents, IoError> {
    parse(buffer, Path::new("<memory>"))
}

/// Writes a file.
///
/// Wide elements come before narrow ones, so that all are aligned to their
/// size in the file; among those of one width the given order stays.
///
/// # Errors
/// When the format has no name for an element type, elements below a byte do
/// not fill whole bytes, a name comes twice or is `__metadata__`, the header
/// passes 100 MB, or the file cannot be written. It is then as it was before.
pub fn write(
    path: impl AsRef<Path>,
    tensors: &[(String, HostTensor)],
    metadata: &BTreeMap<String, String>,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let mut ordered: Vec<&(String, HostTensor)> = tensors.iter().collect();
    ordered.sort_by_key(|(_, tensor)| std::cmp::Reverse(tensor.dtype().bits()));
    let header = write_header(&ordered, metadata, path)?;
    let at = Place::file(path);
    replace::replaced(path, |file| {
        file.write_all(&(header.len() as u64).to_le_bytes()).map_err(at.os("write"))?;
        file.write_all(header.as_bytes()).map_err(at.os("write"))?;
        for (_, tensor) in ordered {
            file.write_all(&tensor.bytes()).map_err(at.os("write"))?;
        }
        Ok(())
    })
}

/// Whether a file that starts so can be one of this format: a header's length
/// and then a JSON object.
pub(crate) fn starts_like(bytes: &[u8]) -> bool {
    match bytes.split_first_chunk() {
        Some((len, [b'{', ..])) => (2..=MAX_HEADER).contains(&u64::from_le_bytes(*len)),
        _ => false,
    }
}

fn parse(file: &Buffer, path: &Path) -> Result<Contents, IoError> {
    let at = Place::file(path);
    let bytes = file.bytes();
    let Some((len, rest)) = bytes.split_first_chunk() else {
        return Err(at.wrong_length("header length", PREFIX, bytes.len() as u64));
    };
    let len = u64::from_le_bytes(*len);
    if len > MAX_HEADER {
        return Err(at.oversized("header", len, MAX_HEADER));
    }
    let Some((header, data)) = rest.split_at_checked(len as usize) else {
        return Err(at.wrong_length("header", len, rest.len() as u64));
    };
    let bad_header = |found| at.malformed("header", "JSON that places each tensor after the last", found);
    let header = std::str::from_utf8(header).map_err(|e| bad_header(e.to_string()))?;
    let header: Metadata = serde_json::from_str(header).map_err(|e| bad_header(e.to_string()))?;
    if header.data_len() != data.len() {
        return Err(at.wrong_length("data", header.data_len() as u64, data.len() as u64));
    }

    let infos = header.tensors();
    let mut infos: Vec<(&String, &&TensorInfo)> = infos.iter().collect();
    infos.sort_by_key(|(name, info)| (info.data_offsets, *name));
    let start = bytes.len() - data.len();
    let mut tensors = Vec::with_capacity(infos.len());
    for (name, info) in infos {
        let at = Place::member(path, name);
        let Some((_, dtype)) = DTYPES.iter().find(|(theirs, _)| *theirs == info.dtype) else {
            return Err(at.unreadable(format!("`{}`", info.dtype)));
        };
        let (from, to) = info.data_offsets;
        let Some(part) = map::part_of(file, start + from..start + to) else {
            return Err(at.wrong_length("data", to as u64, data.len() as u64));
        };
        if *dtype == DType::Bool
            && let Some(index) = part.bytes().iter().position(|&b| b > 1)
        {
            let value = part.bytes()[index];
            return Err(at.tensor("data")(TensorError::NotABool { value, index }));
        }
        let tensor = HostTensor::from_buffer(*dtype, &info.shape, part).map_err(at.tensor("data"))?;
        tensors.push((name.clone(), tensor));
    }
    let texts = header.metadata().iter().flatten();
    Ok(Contents { tensors, metadata: texts.map(|(key, text)| (key.clone(), text.clone())).collect() })
}

fn write_header(
    tensors: &[&(String, HostTensor)],
    metadata: &BTreeMap<String, String>,
    path: &Path,
) -> Result<String, IoError> {
    let quoted = |text: &str| Value::from(text).to_string();
    let mut header = String::from("{");
    if !metadata.is_empty() {
        let texts: Vec<String> =
            metadata.iter().map(|(key, text)| format!("{}:{}", quoted(key), quoted(text))).collect();
        // Writing to a string cannot fail, here and below.
        let _ = write!(header, "{}:{{{}}}", quoted(METADATA), texts.join(","));
    }
    let mut names = HashSet::new();
    let mut at = 0;
    for (name, tensor) in tensors {
        let (path, dtype) = (path.to_owned(), tensor.dtype());
        if name == METADATA {
            let expected = "not the format's own";
            return Err(IoError::BadName { path, name: name.clone(), expected });
        }
        if !names.insert(name) {
            return Err(IoError::DuplicateName { path, name: name.clone() });
        }
        let theirs = DTYPES.iter().find(|(_, ours)| *ours == dtype).map(|(theirs, _)| theirs);
        let whole_bytes = dtype.bits() >= 8 || (tensor.count() * dtype.bits()).is_multiple_of(8);
        let (Some(theirs), true) = (theirs, whole_bytes) else {
            let format = Format::Safetensors;
            return Err(IoError::UnwritableDType { path, name: name.clone(), dtype, format });
        };
        let end = at + tensor.dtype().bytes_for(tensor.count()).unwrap_or(0);
        let comma = if header.len() > 1 { "," } else { "" };
        let (name, shape) = (quoted(name), tensor.shape().iter().map(usize::to_string).collect::<Vec<_>>());
        let _ = write!(
            header,
            r#"{comma}{name}:{{"dtype":"{theirs}","shape":[{}],"data_offsets":[{at},{end}]}}"#,
            shape.join(",")
        );
        at = end;
    }
    header.push('}');
    // So that the data starts at a multiple of 64 in the file.
    let whole = (header.len() + PREFIX as usize).next_multiple_of(64);
    header.extend(std::iter::repeat_n(' ', whole - PREFIX as usize - header.len()));
    if header.len() as u64 > MAX_HEADER {
        return Err(Place::file(path).oversized("header", header.len() as u64, MAX_HEADER));
    }
    Ok(header)
}
