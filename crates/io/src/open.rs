//! Opening regular files.

use std::fs::File;
use std::io;
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
