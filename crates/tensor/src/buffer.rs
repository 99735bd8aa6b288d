use std::fmt;
use std::sync::Arc;

use aligned_vec::{AVec, ConstAlign};

use crate::TensorError;

/// Every buffer that this crate allocates starts at a multiple of this.
pub const ALIGNMENT: usize = 64;

/// Read-only bytes in host memory, shared by the tensors that view them.
#[derive(Clone)]
pub struct Buffer(Owner);

#[derive(Clone)]
enum Owner {
    Own(Arc<AVec<u8, ConstAlign<ALIGNMENT>>>),
    Foreign(Arc<dyn AsRef<[u8]> + Send + Sync>),
}

impl Buffer {
    /// A copy of `bytes`, aligned.
    pub fn copy_of(bytes: &[u8]) -> Self {
        Buffer(Owner::Own(Arc::new(AVec::from_slice(ALIGNMENT, bytes))))
    }

    /// `len` zero bytes, or an error when memory for them cannot be had.
    pub fn zeroed(len: usize) -> Result<Self, TensorError> {
        Buffer::filled(len, |_| {})
    }

    /// `len` bytes that `fill` writes over zeros.
    pub(crate) fn filled(len: usize, fill: impl FnOnce(&mut [u8])) -> Result<Self, TensorError> {
        let mut bytes: AVec<u8, ConstAlign<ALIGNMENT>> = AVec::new(ALIGNMENT);
        bytes.try_reserve(len).map_err(|_| TensorError::OutOfMemory { bytes: len })?;
        bytes.resize(len, 0);
        fill(&mut bytes);
        Ok(Buffer(Owner::Own(Arc::new(bytes))))
    }

    /// Bytes owned by something else: a mapped file, a back end's memory.
    /// They may be unaligned.
    pub fn foreign(owner: Arc<dyn AsRef<[u8]> + Send + Sync>) -> Self {
        Buffer(Owner::Foreign(owner))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        match &self.0 {
            Owner::Own(bytes) => bytes,
            Owner::Foreign(owner) => (**owner).as_ref(),
        }
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.bytes().len()
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether both share one allocation.
    pub fn same_memory(&self, other: &Buffer) -> bool {
        std::ptr::eq(self.bytes().as_ptr(), other.bytes().as_ptr())
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len())
    }
}
