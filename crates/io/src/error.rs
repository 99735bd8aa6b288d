use std::io;
use std::path::{Path, PathBuf};

use oneir_tensor::{DType, TensorError};

use crate::Format;

/// Why a file cannot be read or written.
///
/// `part` names the place in the file: its header, a tensor, a member.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IoError {
    /// The operating system refused.
    #[error("{path}: cannot {action}: {source}")]
    Os {
        /// The file.
        path: PathBuf,
        /// What was tried: "open", "read", "write", …
        action: &'static str,
        /// Why it was refused.
        source: io::Error,
    },
    /// Neither the name nor the first bytes say what the file is.
    #[error("{path}: expected an npy, npz, safetensors or GGUF file, found {found}")]
    UnknownFormat {
        /// The file.
        path: PathBuf,
        /// What its name and first bytes look like.
        found: String,
    },
    /// The first bytes are of another format than the name says.
    #[error("{path}: expected {expected} as the name says, found {found}")]
    WrongFormat {
        /// The file.
        path: PathBuf,
        /// What the extension says.
        expected: Format,
        /// What the first bytes say.
        found: Format,
    },
    /// The bytes break the rules of the format.
    #[error("{path}: {part}: expected {expected}, found {found}")]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The place in it.
        part: String,
        /// What the format asks for there.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// A part is shorter or longer than what was said before.
    #[error("{path}: {part}: expected {expected} bytes, found {found}")]
    WrongLength {
        /// The file.
        path: PathBuf,
        /// The place in it.
        part: String,
        /// Bytes that there should be.
        expected: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// The file claims more bytes than a file of its size can stand for.
    #[error("{path}: {part}: expected at most {limit} bytes, found a claim of {claimed}")]
    Oversized {
        /// The file.
        path: PathBuf,
        /// The place in it.
        part: String,
        /// Bytes claimed.
        claimed: u64,
        /// The most that is possible.
        limit: u64,
    },
    /// The elements have a type that no tensor has.
    #[error("{path}: {part}: expected a tensor's element type, found {found}")]
    UnreadableDType {
        /// The file.
        path: PathBuf,
        /// The place in it.
        part: String,
        /// The type as the file says it, and what it means.
        found: String,
    },
    /// The format cannot hold elements of this type.
    #[error("{path}: tensor `{name}`: expected an element type that {format} can hold, found {dtype}")]
    UnwritableDType {
        /// The file.
        path: PathBuf,
        /// The tensor's name.
        name: String,
        /// Its element type.
        dtype: DType,
        /// The format.
        format: Format,
    },
    /// Two tensors have one name.
    #[error("{path}: expected unique tensor names, found `{name}` twice")]
    DuplicateName {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
    },
    /// The format cannot hold a tensor of this name.
    #[error("{path}: expected a tensor name that is {expected}, found `{name}`")]
    BadName {
        /// The file.
        path: PathBuf,
        /// The name.
        name: String,
        /// What names must be.
        expected: &'static str,
    },
    /// An npy file holds exactly one tensor.
    #[error("{path}: expected one tensor for an npy file, found {found}")]
    NotOneTensor {
        /// The file.
        path: PathBuf,
        /// Tensors given.
        found: usize,
    },
    /// The format cannot hold so many dimensions.
    #[error("{path}: tensor `{name}`: expected at most {limit} dimensions, found {found}")]
    TooManyDimensions {
        /// The file.
        path: PathBuf,
        /// The tensor's name.
        name: String,
        /// Its dimensions.
        found: usize,
        /// The most that the format has.
        limit: usize,
    },
    /// The metadata of a GGUF file lack a key.
    #[error("metadata: expected a value of `{key}`, found none")]
    MissingKey {
        /// The key.
        key: String,
    },
    /// The metadata of a GGUF file have something else for a key.
    #[error("metadata: expected {expected} for `{key}`, found {found}")]
    WrongValue {
        /// The key.
        key: String,
        /// What was asked for.
        expected: &'static str,
        /// What is there.
        found: String,
    },
    /// The bytes do not make a tensor.
    #[error("{path}: {part}: {source}")]
    Tensor {
        /// The file.
        path: PathBuf,
        /// The place in it.
        part: String,
        /// Why not.
        source: TensorError,
    },
}

/// Where in a file something is wrong.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) path: &'a Path,
    /// The archive member or the tensor, where there are several.
    pub(crate) member: Option<&'a str>,
}

impl<'a> Place<'a> {
    pub(crate) fn file(path: &'a Path) -> Self {
        Place { path, member: None }
    }

    pub(crate) fn member(path: &'a Path, member: &'a str) -> Self {
        Place { path, member: Some(member) }
    }

    fn part(self, what: &str) -> String {
        match self.member {
            Some(member) => format!("{what} of `{member}`"),
            None => what.to_owned(),
        }
    }

    pub(crate) fn os(self, action: &'static str) -> impl FnOnce(io::Error) -> IoError + use<'a> {
        move |source| IoError::Os { path: self.path.to_owned(), action, source }
    }

    pub(crate) fn malformed(self, what: &str, expected: &'static str, found: impl Into<String>) -> IoError {
        IoError::Malformed {
            path: self.path.to_owned(),
            part: self.part(what),
            expected,
            found: found.into(),
        }
    }

    pub(crate) fn wrong_length(self, what: &str, expected: u64, found: u64) -> IoError {
        IoError::WrongLength { path: self.path.to_owned(), part: self.part(what), expected, found }
    }

    pub(crate) fn oversized(self, what: &str, claimed: u64, limit: u64) -> IoError {
        IoError::Oversized { path: self.path.to_owned(), part: self.part(what), claimed, limit }
    }

    pub(crate) fn unreadable(self, found: String) -> IoError {
        IoError::UnreadableDType { path: self.path.to_owned(), part: self.part("element type"), found }
    }

    pub(crate) fn tensor(self, what: &str) -> impl FnOnce(TensorError) -> IoError + use<'a> {
        let part = self.part(what);
        move |source| IoError::Tensor { path: self.path.to_owned(), part, source }
    }
}
