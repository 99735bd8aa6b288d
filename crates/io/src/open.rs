//! Opening regular files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::IoError;
use crate::error::Place;

/// An open regular file and its length.
pub(crate) fn open(path: &Path) -> Result<(File, u64), IoError> {
    let at = Place::file(path);
    // Asked before opening: opening a pipe would wait for its other end.
    let kind = std::fs::metadata(path).map_err(at.os("open"))?.file_type();
    if !kind.is_file() {
        let refusal = io::Error::new(io::ErrorKind::InvalidInput, "not a regular file");
        return Err(at.os("open")(refusal));
    }
    let file = File::open(path).map_err(at.os("open"))?;
    let len = file.metadata().map_err(at.os("open"))?.len();
    Ok((file, len))
}

/// All bytes of a regular file.
pub(crate) fn contents(path: &Path) -> Result<Vec<u8>, IoError> {
    let at = Place::file(path);
    let (mut file, len) = open(path)?;
    let mut bytes = Vec::new();
    usize::try_from(len)
        .ok()
        .and_then(|len| bytes.try_reserve_exact(len).ok())
        .ok_or_else(|| at.os("read")(io::ErrorKind::OutOfMemory.into()))?;
    file.read_to_end(&mut bytes).map_err(at.os("read"))?;
    Ok(bytes)
}
