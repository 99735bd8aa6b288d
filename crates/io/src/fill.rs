//! Reading a known number of bytes into aligned memory.

use std::io::{self, Read};

use aligned_vec::{AVec, ConstAlign};
use oneir_tensor::{ALIGNMENT, TensorError};

use crate::IoError;
use crate::error::Place;

pub(crate) type Aligned = AVec<u8, ConstAlign<ALIGNMENT>>;

/// What is taken at first when the bytes to come are only a claim.
const FIRST: usize = 1 << 20;

/// Exactly `len` bytes of `what`.
///
/// `sure` of them are backed by bytes of the file, and memory for them is
/// taken at once; for the rest it grows with what arrives.
pub(crate) fn read_aligned(
    reader: &mut impl Read,
    len: usize,
    sure: u64,
    at: Place<'_>,
    what: &str,
) -> Result<Aligned, IoError> {
    let first = usize::try_from(sure).unwrap_or(usize::MAX).max(FIRST);
    let mut bytes = Aligned::new(ALIGNMENT);
    while bytes.len() < len {
        let filled = bytes.len();
        let step = (len - filled).min(if filled == 0 { first } else { filled });
        bytes
            .try_reserve_exact(step)
            .map_err(|_| at.tensor(what)(TensorError::OutOfMemory { bytes: filled.saturating_add(step) }))?;
        bytes.resize(filled + step, 0);
        let got = read_some(reader, &mut bytes[filled..]).map_err(|e| read_error(e, at, what))?;
        if got < step {
            return Err(at.wrong_length(what, len as u64, (filled + got) as u64));
        }
    }
    Ok(bytes)
}

/// Exactly `N` bytes of `what`.
pub(crate) fn read_array<const N: usize>(
    reader: &mut impl Read,
    at: Place<'_>,
    what: &str,
) -> Result<[u8; N], IoError> {
    let mut bytes = [0; N];
    let got = read_some(reader, &mut bytes).map_err(|e| read_error(e, at, what))?;
    if got < N { Err(at.wrong_length(what, N as u64, got as u64)) } else { Ok(bytes) }
}

/// Fills `into` as far as the reader goes.
pub(crate) fn read_some(reader: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < into.len() {
        match reader.read(&mut into[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

/// A failed read: of the disk, or of what a decoder makes of its bytes.
pub(crate) fn read_error(error: io::Error, at: Place<'_>, what: &str) -> IoError {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof => {
            at.malformed(what, "bytes that inflate to what their checksum says", error.to_string())
        }
        _ => at.os("read")(error),
    }
}
