//! From contents to bytes.

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::path::Path;

use crate::error::Place;
use crate::{Format, IoError, replace};

use super::values::numbers;
use super::{Array, Kind, MAGIC, MOST_DIMENSIONS, Metadata, TensorInfo, Value, reader};

/// The version that is written.
const VERSION: u32 = 3;

/// Writes a file of version 3: metadata and tensors in the order given, the tensors at
/// multiples of `general.alignment`, where the metadata have it, else of 32. The last one
/// is followed by as many zeros as take the file to such a multiple.
///
/// # Errors
/// When a tensor's type is none that the format has, it has more than four dimensions,
/// its shape and bytes do not fit together, a name comes twice, the alignment is no
/// power of two as u32, or the file cannot be written. It is then as it was before.
pub fn write(path: impl AsRef<Path>, tensors: &[TensorInfo], metadata: &Metadata) -> Result<(), IoError> {
    let path = path.as_ref();
    let (head, alignment) = head(tensors, metadata, path)?;
    replace::replaced(path, |file| {
        put(file, &head, tensors, alignment).map_err(Place::file(path).os("write"))
    })
}

/// The bytes of a file, as [`write()`] has them; errors name the path `<memory>`.
///
/// # Errors
/// As [`write()`].
pub fn to_bytes(tensors: &[TensorInfo], metadata: &Metadata) -> Result<Vec<u8>, IoError> {
    let path = Path::new("<memory>");
    let (head, alignment) = head(tensors, metadata, path)?;
    let mut bytes = Vec::new();
    put(&mut bytes, &head, tensors, alignment).map_err(Place::file(path).os("write"))?;
    Ok(bytes)
}

/// What stands before the tensors' data, and the alignment.
fn head(tensors: &[TensorInfo], metadata: &Metadata, path: &Path) -> Result<(Vec<u8>, usize), IoError> {
    let alignment = reader::alignment(metadata)?;
    let mut head = MAGIC.to_vec();
    head.extend(VERSION.to_le_bytes());
    head.extend((tensors.len() as u64).to_le_bytes());
    head.extend((metadata.len() as u64).to_le_bytes());
    for (key, value) in metadata.iter() {
        put_text(&mut head, key.as_bytes());
        head.extend(value.number().to_le_bytes());
        put_value(&mut head, value);
    }
    let mut names = HashSet::new();
    let mut offset = 0u64;
    for tensor in tensors {
        let name = || tensor.name.clone();
        if !names.insert(&tensor.name) {
            return Err(IoError::DuplicateName { path: path.to_owned(), name: name() });
        }
        let Some(number) = tensor.kind.number() else {
            let Kind::Plain(dtype) = tensor.kind else { continue };
            let (path, format) = (path.to_owned(), Format::Gguf);
            return Err(IoError::UnwritableDType { path, name: name(), dtype, format });
        };
        let found = tensor.shape.len();
        if found > MOST_DIMENSIONS {
            let path = path.to_owned();
            return Err(IoError::TooManyDimensions { path, name: name(), found, limit: MOST_DIMENSIONS });
        }
        tensor.check().map_err(Place::member(path, &tensor.name).tensor("data"))?;
        put_text(&mut head, tensor.name.as_bytes());
        head.extend((found as u32).to_le_bytes());
        for &size in tensor.shape.iter().rev() {
            head.extend((size as u64).to_le_bytes());
        }
        head.extend(number.to_le_bytes());
        head.extend(offset.to_le_bytes());
        offset += (tensor.bytes.len() as u64).next_multiple_of(alignment as u64);
    }
    Ok((head, alignment))
}

fn put(file: &mut impl Write, head: &[u8], tensors: &[TensorInfo], alignment: usize) -> io::Result<()> {
    let parts = tensors.iter().map(|tensor| tensor.bytes.bytes()).filter(|bytes| !bytes.is_empty());
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return file.write_all(head);
    }
    for part in std::iter::once(head).chain(parts) {
        file.write_all(part)?;
        let padding = (part.len() as u64).next_multiple_of(alignment as u64) - part.len() as u64;
        io::copy(&mut io::repeat(0).take(padding), file)?;
    }
    Ok(())
}

fn put_text(out: &mut Vec<u8>, text: &[u8]) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text);
}

macro_rules! put_values {
    ($($variant:ident $type:ident $number:literal),*) => {
        fn put_value(out: &mut Vec<u8>, value: &Value) {
            match value {
                $(Value::$variant(x) => out.extend(x.to_le_bytes()),)*
                Value::Bool(truth) => out.push(u8::from(*truth)),
                Value::Text(text) => put_text(out, text),
                Value::Array(array) => put_array(out, array),
            }
        }

        fn put_array(out: &mut Vec<u8>, array: &Array) {
            out.extend(array.number().to_le_bytes());
            out.extend((array.len() as u64).to_le_bytes());
            match array {
                $(Array::$variant(values) => out.extend(values.iter().flat_map(|x| x.to_le_bytes())),)*
                Array::Bool(values) => out.extend(values.iter().map(|&truth| u8::from(truth))),
                Array::Text(texts) => texts.iter().for_each(|text| put_text(out, text)),
                Array::Array(arrays) => arrays.iter().for_each(|array| put_array(out, array)),
            }
        }
    };
}
numbers!(put_values);
