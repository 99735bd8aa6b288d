//! Files that are read through memory maps: the model, and the data beside it.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use crate::error::ExternalFault;
use crate::proto::StringStringEntryProto;

/// The whole of a file, mapped.
pub(super) fn map(path: &Path) -> io::Result<Bytes> {
    let file = File::open(path)?;
    if file.metadata()?.len() == 0 {
        return Ok(Bytes::new());
    }
    // SAFETY: the map is private and read-only, and lives as long as the last
    // view of its bytes. That nobody truncates or rewrites the file meanwhile
    // is what `OnnxFile::open` asks of its caller.
    let map = unsafe { memmap2::Mmap::map(&file)? };
    Ok(Bytes::from_owner(map))
}

/// The data files of one model, each mapped once.
#[derive(Debug)]
pub(super) struct ExternalFiles {
    folder: Option<PathBuf>,
    maps: Mutex<HashMap<PathBuf, Bytes>>,
}

impl ExternalFiles {
    /// Files in `folder` and below it.
    pub(super) fn new(folder: Option<PathBuf>) -> Arc<Self> {
        Arc::new(ExternalFiles { folder, maps: Mutex::default() })
    }

    fn get(&self, location: &str) -> Result<Bytes, ExternalFault> {
        let folder = self.folder.as_ref().ok_or(ExternalFault::NoFolder)?;
        let unreadable = |e: io::Error| ExternalFault::Unreadable { message: e.to_string() };
        let folder = folder.canonicalize().map_err(unreadable)?;
        let path = folder.join(location).canonicalize().map_err(unreadable)?;
        if !path.starts_with(&folder) {
            return Err(ExternalFault::LeadsOut { target: path });
        }
        let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bytes) = maps.get(&path) {
            return Ok(bytes.clone());
        }
        // Opening a pipe would wait for a writer.
        if !path.metadata().map_err(unreadable)?.is_file() {
            return Err(ExternalFault::NotAFile);
        }
        let bytes = map(&path).map_err(unreadable)?;
        maps.insert(path, bytes.clone());
        Ok(bytes)
    }
}

/// Where a tensor's data lies beside the model.
#[derive(Debug, Clone)]
pub(super) struct ExternalData {
    pub(super) location: String,
    pub(super) length: Option<usize>,
    offset: usize,
    files: Arc<ExternalFiles>,
}

impl ExternalData {
    /// Reads where the data lies, and refuses paths that leave the folder.
    pub(super) fn read(
        entries: Vec<StringStringEntryProto>,
        files: &Arc<ExternalFiles>,
    ) -> Result<Self, (String, ExternalFault)> {
        let (mut location, mut offset, mut length) = (String::new(), None, None);
        for entry in entries {
            let value = entry.value.unwrap_or_default();
            match entry.key.as_deref() {
                Some("location") => location = value,
                Some("offset") => offset = Some(value),
                Some("length") => length = Some(value),
                _ => {}
            }
        }
        let result = (|| {
            check_path(&location)?;
            Ok((byte_count("offset", offset)?.unwrap_or(0), byte_count("length", length)?))
        })();
        match result {
            Ok((offset, length)) => Ok(ExternalData { location, length, offset, files: files.clone() }),
            Err(fault) => Err((location, fault)),
        }
    }

    /// The `length` bytes at the offset, as a view of the map.
    pub(super) fn bytes(&self, length: usize) -> Result<Bytes, ExternalFault> {
        let file = self.files.get(&self.location)?;
        match self.offset.checked_add(length) {
            Some(end) if end <= file.len() => Ok(file.slice(self.offset..end)),
            _ => Err(ExternalFault::PastEnd { offset: self.offset, length, file: file.len() }),
        }
    }
}

fn check_path(location: &str) -> Result<(), ExternalFault> {
    if location.is_empty() {
        return Err(ExternalFault::NoLocation);
    }
    let inside =
        Path::new(location).components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir));
    if inside { Ok(()) } else { Err(ExternalFault::Escapes) }
}

fn byte_count(key: &'static str, value: Option<String>) -> Result<Option<usize>, ExternalFault> {
    match value {
        None => Ok(None),
        Some(value) => match value.trim().parse() {
            Ok(count) => Ok(Some(count)),
            Err(_) => Err(ExternalFault::NotANumber { key, value }),
        },
    }
}
