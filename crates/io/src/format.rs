use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use oneir_tensor::HostTensor;

use crate::error::Place;
use crate::fill::{read_error, read_some};
use crate::{IoError, Stored, gguf, npy, npz, open, safetensors};

/// A kind of tensor file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// One NumPy array.
    Npy,
    /// A zip archive of NumPy arrays.
    Npz,
    /// A header of names and places, then the tensors.
    Safetensors,
    /// Metadata, names and places, then tensors, some of them in block formats.
    Gguf,
}

impl Format {
    /// Every format.
    pub const ALL: [Format; 4] = [Format::Npy, Format::Npz, Format::Safetensors, Format::Gguf];

    /// The name, which is also the file name's extension.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Npy => "npy",
            Format::Npz => "npz",
            Format::Safetensors => "safetensors",
            Format::Gguf => "gguf",
        }
    }

    /// What the extension says, in either case of letters.
    ///
    /// ```
    /// use oneir_io::Format;
    /// assert_eq!(Format::of_name("a/model.SafeTensors".as_ref()), Some(Format::Safetensors));
    /// assert_eq!(Format::of_name("model.bin".as_ref()), None);
    /// ```
    pub fn of_name(path: &Path) -> Option<Format> {
        let extension = path.extension()?;
        Format::ALL.into_iter().find(|f| extension.eq_ignore_ascii_case(f.name()))
    }

    /// What the first bytes of a file say (nine are enough).
    ///
    /// ```
    /// use oneir_io::Format;
    /// assert_eq!(Format::of_content(b"\x93NUMPY\x01\x00v"), Some(Format::Npy));
    /// assert_eq!(Format::of_content(b"\x7fELF"), None);
    /// ```
    pub fn of_content(bytes: &[u8]) -> Option<Format> {
        if bytes.starts_with(npy::MAGIC) {
            Some(Format::Npy)
        } else if bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06") {
            Some(Format::Npz)
        } else if bytes.starts_with(gguf::MAGIC) {
            Some(Format::Gguf)
        } else if safetensors::starts_like(bytes) {
            Some(Format::Safetensors)
        } else {
            None
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Reads every tensor of a file, in the file's order.
///
/// The extension picks the format, and the first bytes do where the extension
/// is none of the four. An npy file gives one tensor named by the file's
/// stem. Tensors of a safetensors file view the mapped file (see
/// [`safetensors::read`] for what that asks of callers), and so do those of a GGUF file
/// (with its shards) that are in no block format; the others are decoded to f32.
///
/// # Errors
/// When the file cannot be read, is of no known format or of another than its
/// name says, breaks its format, or holds elements that no tensor holds.
///
/// ```
/// use oneir_io::{npy, open_tensors};
/// use oneir_tensor::HostTensor;
///
/// let path = std::env::temp_dir().join(format!("oneir-io-open-{}.npy", std::process::id()));
/// npy::write(&path, &HostTensor::from_slice(&[3], &[1u8, 2, 3])?)?;
/// let tensors = open_tensors(&path)?;
/// assert_eq!(Some(tensors[0].0.as_ref()), path.file_stem());
/// assert_eq!(tensors[0].1.to_vec::<u8>()?, [1, 2, 3]);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_tensors(path: impl AsRef<Path>) -> Result<Vec<(String, HostTensor)>, IoError> {
    let path = path.as_ref();
    match format_of(path)? {
        Format::Npy => Ok(vec![(stem(path), npy::read(path)?)]),
        Format::Npz => npz::read(path),
        Format::Safetensors => Ok(safetensors::read(path)?.tensors),
        Format::Gguf => decoded(path),
    }
}

/// As [`open_tensors`], with tensors of strings too, which npy and npz files
/// may hold.
///
/// # Errors
/// As [`open_tensors`], but for strings.
pub fn open_stored(path: impl AsRef<Path>) -> Result<Vec<(String, Stored)>, IoError> {
    let path = path.as_ref();
    match format_of(path)? {
        Format::Npy => Ok(vec![(stem(path), npy::read_stored(path)?)]),
        Format::Npz => npz::read_stored(path),
        Format::Safetensors => Ok(stored(safetensors::read(path)?.tensors)),
        Format::Gguf => Ok(stored(decoded(path)?)),
    }
}

fn stored(tensors: Vec<(String, HostTensor)>) -> Vec<(String, Stored)> {
    tensors.into_iter().map(|(name, tensor)| (name, Stored::Tensor(tensor))).collect()
}

/// The tensors of a GGUF file.
fn decoded(path: &Path) -> Result<Vec<(String, HostTensor)>, IoError> {
    let tensors = gguf::read_sharded(path)?.tensors.into_iter();
    tensors
        .map(|tensor| {
            let host = tensor.to_host().map_err(Place::member(path, &tensor.name).tensor("data"))?;
            Ok((tensor.name, host))
        })
        .collect()
}

/// The name of a file without its extension.
fn stem(path: &Path) -> String {
    path.file_stem().map(OsStr::to_string_lossy).unwrap_or_default().into_owned()
}

/// The format of a file, by its name or else by its first bytes.
fn format_of(path: &Path) -> Result<Format, IoError> {
    let at = Place::file(path);
    let (mut file, _) = open::open(path)?;
    let mut start = [0; 9];
    let got = read_some(&mut file, &mut start).map_err(|e| read_error(e, at, "first bytes"))?;
    let start = &start[..got];
    match (Format::of_name(path), Format::of_content(start)) {
        (Some(expected), Some(found)) if expected != found => {
            Err(IoError::WrongFormat { path: path.to_owned(), expected, found })
        }
        (Some(format), _) | (None, Some(format)) => Ok(format),
        (None, None) => {
            let found = format!("the bytes `{}`", start.escape_ascii());
            Err(IoError::UnknownFormat { path: path.to_owned(), found })
        }
    }
}

/// Writes tensors to a file of the format that its extension names.
///
/// An npy file takes exactly one tensor and drops its name; npz members are
/// stored without compression; safetensors and GGUF files get no metadata.
///
/// # Errors
/// When the extension names no format, the format cannot hold a tensor's type
/// or name, a name comes twice, or the file cannot be written. The file is
/// then as it was before.
///
/// ```
/// use oneir_io::{IoError, save_tensors};
/// let refused = save_tensors("tensors.txt", &[]);
/// assert!(matches!(refused, Err(IoError::UnknownFormat { .. })));
/// ```
pub fn save_tensors(path: impl AsRef<Path>, tensors: &[(String, HostTensor)]) -> Result<(), IoError> {
    let path = path.as_ref();
    match Format::of_name(path) {
        Some(Format::Npy) => match tensors {
            [(_, tensor)] => npy::write(path, tensor),
            _ => Err(IoError::NotOneTensor { path: path.to_owned(), found: tensors.len() }),
        },
        Some(Format::Npz) => npz::write(path, tensors, npz::Compression::Stored),
        Some(Format::Safetensors) => safetensors::write(path, tensors, &BTreeMap::new()),
        Some(Format::Gguf) => {
            let tensors: Vec<gguf::TensorInfo> =
                tensors.iter().map(|(name, tensor)| gguf::TensorInfo::plain(name, tensor)).collect();
            gguf::write(path, &tensors, &gguf::Metadata::new())
        }
        None => {
            let found = match path.extension() {
                Some(extension) => format!("the extension `{}`", extension.display()),
                None => "no extension".to_owned(),
            };
            Err(IoError::UnknownFormat { path: path.to_owned(), found })
        }
    }
}
