//! Files as buffers, without a copy.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use memmap2::Mmap;
use oneir_tensor::Buffer;

use crate::error::Place;
use crate::{IoError, open};

/// The whole file, mapped read-only.
pub(crate) fn map(path: &Path) -> Result<Buffer, IoError> {
    let (file, _) = open::open(path)?;
    // SAFETY: the map is private to the returned buffer and only ever read as
    // bytes, for which every value is valid. What remains is that another
    // process may cut the file short or change it meanwhile, which no reader
    // can prevent: `safetensors::read` passes that on as a rule for callers.
    let map = unsafe { Mmap::map(&file) }.map_err(Place::file(path).os("map"))?;
    Ok(Buffer::foreign(Arc::new(map)))
}

/// Some bytes of a buffer, which stays alive as long as they do.
struct Part {
    whole: Buffer,
    range: Range<usize>,
}

impl AsRef<[u8]> for Part {
    fn as_ref(&self) -> &[u8] {
        self.whole.bytes().get(self.range.clone()).unwrap_or_default()
    }
}

/// The bytes of `whole` in `range`, without a copy; `None` when it leaves it.
pub(crate) fn part_of(whole: &Buffer, range: Range<usize>) -> Option<Buffer> {
    whole.bytes().get(range.clone())?;
    Some(Buffer::foreign(Arc::new(Part { whole: whole.clone(), range })))
}
