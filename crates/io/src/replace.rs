//! Writing a file whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use crate::IoError;
use crate::error::Place;

/// A file next to the one it will become, removed unless it becomes it.
struct Temporary(Option<PathBuf>);

impl Temporary {
    fn create(beside: &Path) -> io::Result<(Self, File)> {
        if beside.file_name().is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"));
        }
        // Another writer may hold a number: the next one is tried.
        for number in 0u64.. {
            let path = beside.with_file_name(format!(".oneir-{}-{number}.tmp", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((Temporary(Some(path)), file)),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn rename(mut self, to: &Path) -> io::Result<()> {
        if let Some(from) = &self.0 {
            fs::rename(from, to)?;
            self.0 = None;
        }
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Nothing more can be done about a leftover.
            let _ = fs::remove_file(path);
        }
    }
}

/// Writes a file whole or not at all: through a temporary file in its folder, which
/// takes its place once all bytes are on the disk.
///
/// # Errors
/// When the file cannot be written; it is then as it was.
pub fn replace(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), IoError> {
    let path = path.as_ref();
    replaced(path, |file| write(file).map_err(Place::file(path).os("write")))
}

/// As [`replace`], for writers with errors of their own.
pub(crate) fn replaced(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let at = Place::file(path);
    let (temporary, file) = Temporary::create(path).map_err(at.os("create"))?;
    let mut writer = BufWriter::with_capacity(1 << 16, file);
    write(&mut writer)?;
    let file = writer.into_inner().map_err(|e| at.os("write")(e.into_error()))?;
    file.sync_all().map_err(at.os("write"))?;
    drop(file);
    temporary.rename(path).map_err(at.os("replace"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = std::env::temp_dir().join(format!("oneir-io-replace-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        replaced(&path, |file| file.write_all(b"old").map_err(Place::file(&path).os("write"))).unwrap();

        let refused = replaced(&path, |file| {
            file.write_all(&[0; 1 << 17]).map_err(Place::file(&path).os("write"))?;
            Err(IoError::NotOneTensor { path: path.clone(), found: 2 })
        });
        assert!(matches!(refused, Err(IoError::NotOneTensor { .. })));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);

        replaced(&path, |file| file.write_all(b"new").map_err(Place::file(&path).os("write"))).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn paths_without_a_file_name_or_folder_are_refused() {
        for path in ["", "/", "..", "/no/such/folder/file"] {
            let refused = replaced(Path::new(path), |_| Ok(()));
            assert!(matches!(refused, Err(IoError::Os { action: "create", .. })), "{path}");
        }
    }
}
