//! NumPy's npz files: zip archives of [`npy`] members.

mod metered;

use std::collections::HashSet;
use std::io::{BufReader, Cursor, ErrorKind, Read, Seek};
use std::path::Path;

use oneir_tensor::HostTensor;
use zip::read::{ArchiveOffset, Config};
use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use crate::error::Place;
use crate::{IoError, Stored, npy, open, replace};
use metered::Metered;

/// The most bytes that one byte of a deflated stream can stand for: its
/// densest code copies 258 bytes in 2 bits.
const MAX_INFLATION: u64 = 258 * 8 / 2;

/// The longest member name that a zip archive can hold.
const MAX_NAME: usize = u16::MAX as usize;

/// How [`write()`] stores the members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Compression {
    /// As they are, like `numpy.savez`.
    #[default]
    Stored,
    /// Deflated, like `numpy.savez_compressed`.
    Deflated,
}

/// Reads every array of a file with its name, in the file's order.
///
/// Members are stored or deflated, and named by the array with `.npy` behind,
/// which the result leaves out. Folders are passed over.
///
/// # Errors
/// When the file cannot be read, is no such archive, or is encrypted; when a
/// member is not an npy file that [`npy::read`] takes, fails its checksum, or
/// claims more bytes than its compressed ones can inflate to; when members
/// overlap or share a name.
///
/// ```
/// use oneir_io::npz::{self, Compression};
/// use oneir_tensor::HostTensor;
///
/// let path = std::env::temp_dir().join(format!("oneir-io-npz-{}.npz", std::process::id()));
/// let tensors = [
///     ("b".to_owned(), HostTensor::scalar(true)),
///     ("a".to_owned(), HostTensor::from_slice(&[0, 3], &[0f32; 0])?),
/// ];
/// npz::write(&path, &tensors, Compression::Deflated)?;
/// assert_eq!(npz::read(&path)?, tensors);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read(path: impl AsRef<Path>) -> Result<Vec<(String, HostTensor)>, IoError> {
    let path = path.as_ref();
    let (file, len) = open::open(path)?;
    read_archive(BufReader::new(file), len, path, |mut member, size, packed, at| {
        npy::read_stream(&mut member, size, packed, at)
    })
}

/// As [`read`], with arrays of strings too.
///
/// # Errors
/// As [`read`], for members that [`npy::read_stored`] does not take.
pub fn read_stored(path: impl AsRef<Path>) -> Result<Vec<(String, Stored)>, IoError> {
    let path = path.as_ref();
    let (file, len) = open::open(path)?;
    read_archive(BufReader::new(file), len, path, |mut member, size, packed, at| {
        npy::read_stored_stream(&mut member, size, packed, at)
    })
}

/// Reads the bytes of a file; errors name the path `<memory>`.
///
/// # Errors
/// As [`read`].
///
/// ```
/// use oneir_io::npz;
/// let empty = [b"PK\x05\x06", &[0; 18][..]].concat();
/// assert_eq!(npz::from_bytes(&empty)?, []);
/// assert!(npz::from_bytes(&empty[..21]).is_err());
/// # Ok::<(), oneir_io::IoError>(())
/// ```
pub fn from_bytes(bytes: &[u8]) -> Result<Vec<(String, HostTensor)>, IoError> {
    read_archive(
        Cursor::new(bytes),
        bytes.len() as u64,
        Path::new("<memory>"),
        |mut member, size, packed, at| npy::read_stream(&mut member, size, packed, at),
    )
}

/// Writes a file with one member for each tensor, in the given order.
///
/// # Errors
/// When NumPy has no name for an element type, a name comes twice or is too
/// long, or the file cannot be written. It is then as it was before.
pub fn write(
    path: impl AsRef<Path>,
    tensors: &[(String, HostTensor)],
    compression: Compression,
) -> Result<(), IoError> {
    let path = path.as_ref();
    let options = npy::Options::default();
    let mut names = HashSet::new();
    let mut members = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        if !names.insert(name) {
            return Err(IoError::DuplicateName { path: path.to_owned(), name: name.clone() });
        }
        // Whoever takes the file apart must not be led out of a folder.
        if name.starts_with('/') || name.split(['/', '\\']).any(|part| part == "..") {
            let expected = "a path below a folder";
            return Err(IoError::BadName { path: path.to_owned(), name: name.clone(), expected });
        }
        let member = format!("{name}.npy");
        if member.len() > MAX_NAME {
            let expected = "at most 65531 bytes long";
            return Err(IoError::BadName { path: path.to_owned(), name: name.clone(), expected });
        }
        let at = Place::member(path, name);
        members.push((at, member, npy::prelude(tensor, options, at, name)?, tensor));
    }
    let method = match compression {
        Compression::Stored => CompressionMethod::Stored,
        Compression::Deflated => CompressionMethod::Deflated,
    };
    replace::replaced(path, |file| {
        let mut archive = ZipWriter::new(file);
        for (at, member, prelude, tensor) in members {
            let size = (prelude.len() + tensor.dtype().bytes_for(tensor.count()).unwrap_or(0)) as u64;
            let member_options = SimpleFileOptions::default()
                .compression_method(method)
                // Deflating can add a few bytes in each block.
                .large_file(size + size / 1000 + 64 >= u64::from(u32::MAX));
            archive.start_file(member, member_options).map_err(|e| zip_error(e, at, "write", "member"))?;
            npy::write_stream(&mut archive, &prelude, tensor, options).map_err(at.os("write"))?;
        }
        archive.finish().map(drop).map_err(|e| zip_error(e, Place::file(path), "write", "directory"))
    })
}

fn read_archive<T>(
    reader: impl Read + Seek,
    len: u64,
    path: &Path,
    read_member: impl Fn(&mut dyn Read, u64, u64, Place<'_>) -> Result<T, IoError>,
) -> Result<Vec<(String, T)>, IoError> {
    let (reader, meter) = Metered::new(reader, len);
    let config = Config { archive_offset: ArchiveOffset::Known(0) };
    let mut archive = ZipArchive::with_config(config, reader)
        .map_err(|e| zip_error(e, Place::file(path), "read", "directory"))?;
    meter.stop();

    let mut names = HashSet::new();
    let mut tensors = Vec::new();
    let mut left = len;
    for index in 0..archive.len() {
        let member_name = archive.name_for_index(index).unwrap_or_default().to_owned();
        let at = Place::member(path, &member_name);
        let mut member = archive.by_index(index).map_err(|e| zip_error(e, at, "read", "member"))?;
        if member.is_dir() {
            continue;
        }
        let Some(name) = member_name.strip_suffix(".npy").map(str::to_owned) else {
            return Err(at.malformed("name", "a name that ends in `.npy`", format!("`{member_name}`")));
        };
        if !names.insert(name.clone()) {
            return Err(IoError::DuplicateName { path: path.to_owned(), name });
        }
        let packed = member.compressed_size();
        // Members that share bytes of the file could claim them many times.
        left = left.checked_sub(packed).ok_or_else(|| at.oversized("compressed bytes", packed, left))?;
        let limit = match member.compression() {
            CompressionMethod::Stored => packed,
            CompressionMethod::Deflated => packed.saturating_mul(MAX_INFLATION),
            other => return Err(at.malformed("compression", "stored or deflated bytes", other.to_string())),
        };
        let size = member.size();
        if size > limit {
            return Err(at.oversized("size", size, limit));
        }
        let tensor = read_member(&mut member, size, packed, at)?;
        tensors.push((name, tensor));
    }
    Ok(tensors)
}

fn zip_error(error: ZipError, at: Place<'_>, action: &'static str, what: &str) -> IoError {
    match error {
        ZipError::Io(e) if !matches!(e.kind(), ErrorKind::UnexpectedEof | ErrorKind::InvalidData) => {
            at.os(action)(e)
        }
        other => at.malformed(what, "a zip archive of stored or deflated members", other.to_string()),
    }
}
