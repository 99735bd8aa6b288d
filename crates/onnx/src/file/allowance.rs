//! How much memory a file may take, so that a small one cannot take all.

use crate::error::{OnnxError, SparseFault};

/// What the messages of a file and the names that go from graph to graph may
/// take: so many bytes, and so many more for each byte of the file. Real files
/// are counted up to fortyfold, large ones less.
const FREE: usize = 64 << 20;
const PER_BYTE: usize = 64;

/// The same for the dense forms of sparse tensors.
const DENSE_FREE: usize = 64 << 20;
const DENSE_PER_BYTE: usize = 1024;

/// Bytes that one file may still take.
#[derive(Debug)]
pub(super) struct Allowance {
    file: usize,
    needed: usize,
    dense_left: usize,
}

impl Allowance {
    pub(super) fn for_file(file: usize) -> Self {
        Allowance {
            file,
            needed: 0,
            dense_left: file.saturating_mul(DENSE_PER_BYTE).saturating_add(DENSE_FREE),
        }
    }

    pub(super) fn take(&mut self, bytes: usize) -> Result<(), OnnxError> {
        self.needed = self.needed.saturating_add(bytes);
        if self.needed > self.file.saturating_mul(PER_BYTE).saturating_add(FREE) {
            return Err(OnnxError::Bomb { file: self.file, needed: self.needed });
        }
        Ok(())
    }

    /// Takes what one name in a list does.
    pub(super) fn take_name(&mut self, name: &str) -> Result<(), OnnxError> {
        self.take(2 * size_of::<String>() + name.len())
    }

    pub(super) fn take_dense(&mut self, needed: usize) -> Result<(), SparseFault> {
        let left = self.dense_left;
        self.dense_left = left.checked_sub(needed).ok_or(SparseFault::TooLarge { needed, left })?;
        Ok(())
    }
}
