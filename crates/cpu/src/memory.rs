//! Host memory for tensors: aligned blocks that are used again, and bytes
//! adopted from elsewhere.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use oneir_runtime::Memory;
use oneir_tensor::Buffer;

/// Blocks begin at a multiple of this: a cache line and the widest vector.
const ALIGNMENT: usize = 64;

/// Freed blocks are kept up to this many bytes in all: fresh pages cost more
/// than the work on them.
const KEPT_BYTES: usize = 512 << 20;

/// Blocks free to be used again, by size.
#[derive(Default)]
pub(crate) struct Pool {
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    blocks: BTreeMap<usize, Vec<Block>>,
    bytes: usize,
}

/// An owned allocation.
struct Block {
    start: *mut u8,
    size: usize,
}

// SAFETY: a block is plain bytes that it owns alone; nothing about it belongs
// to a thread.
unsafe impl Send for Block {}

// SAFETY: a shared block hands out its address only; who dereferences it
// answers for the access.
unsafe impl Sync for Block {}

impl Block {
    fn new(size: usize) -> Option<Block> {
        let layout = Layout::from_size_align(size, ALIGNMENT).ok()?;
        // SAFETY: the size is not zero (callers round up to a whole class).
        let start = unsafe { alloc_zeroed(layout) };
        (!start.is_null()).then_some(Block { start, size })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Ok(layout) = Layout::from_size_align(self.size, ALIGNMENT) {
            // SAFETY: `start` came from `alloc_zeroed` with this very layout.
            unsafe { dealloc(self.start, layout) }
        }
    }
}

/// The size of the block that holds `bytes`: few classes, little waste.
fn class(bytes: usize) -> Option<usize> {
    let bytes = bytes.max(ALIGNMENT);
    // Eight classes to each doubling.
    let step = (bytes.checked_next_power_of_two()? / 16).max(ALIGNMENT);
    bytes.checked_next_multiple_of(step)
}

impl Pool {
    /// Memory of `bytes`, whose contents may be anything but are initialised.
    pub(crate) fn take(self: &Arc<Self>, bytes: usize) -> Option<CpuMemory> {
        let size = class(bytes)?;
        let used = {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            let block = free.blocks.get_mut(&size).and_then(Vec::pop);
            if block.is_some() {
                free.bytes -= size;
            }
            block
        };
        let block = match used {
            Some(block) => block,
            None => Block::new(size)?,
        };
        Some(CpuMemory { owner: Owner::Block(Some(block), Arc::downgrade(self)), len: bytes })
    }

    fn give(&self, block: Block) {
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        if free.bytes + block.size <= KEPT_BYTES {
            free.bytes += block.size;
            free.blocks.entry(block.size).or_default().push(block);
        }
    }
}

enum Owner {
    Block(Option<Block>, Weak<Pool>),
    Host(Buffer),
}

/// Memory of the CPU back end.
pub(crate) struct CpuMemory {
    owner: Owner,
    len: usize,
}

impl CpuMemory {
    /// Host bytes, read where they lie.
    pub(crate) fn adopt(buffer: &Buffer) -> CpuMemory {
        CpuMemory { len: buffer.len(), owner: Owner::Host(buffer.clone()) }
    }

    /// Where the bytes begin.
    pub(crate) fn start(&self) -> *const u8 {
        match &self.owner {
            Owner::Block(Some(block), _) => block.start,
            Owner::Block(None, _) => std::ptr::null(),
            Owner::Host(buffer) => buffer.bytes().as_ptr(),
        }
    }

    /// Where the bytes begin, of memory that may be written.
    pub(crate) fn start_mut(&self) -> Option<*mut u8> {
        match &self.owner {
            Owner::Block(Some(block), _) => Some(block.start),
            Owner::Block(None, _) | Owner::Host(_) => None,
        }
    }
}

impl Drop for CpuMemory {
    fn drop(&mut self) {
        if let Owner::Block(block, pool) = &mut self.owner
            && let (Some(block), Some(pool)) = (block.take(), pool.upgrade())
        {
            pool.give(block);
        }
    }
}

impl Memory for CpuMemory {
    fn len(&self) -> usize {
        self.len
    }

    fn writable(&self) -> bool {
        matches!(self.owner, Owner::Block(..))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for CpuMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuMemory({} bytes)", self.len)
    }
}

/// Memory that nothing writes any more, as host bytes.
pub(crate) struct Shared(pub(crate) Arc<dyn Memory>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        match self.0.as_any().downcast_ref::<CpuMemory>() {
            // SAFETY: the block is initialised, lives as long as this handle,
            // and is not written while it is shared (`Backend::share`).
            Some(memory) if memory.len > 0 => unsafe {
                std::slice::from_raw_parts(memory.start(), memory.len)
            },
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_used_again() {
        let pool = Arc::new(Pool::default());
        let first = pool.take(1000).unwrap();
        let start = first.start();
        drop(first);
        assert_eq!(pool.take(1010).unwrap().start(), start);
        assert!(pool.take(usize::MAX - 5).is_none());
        assert_eq!(class(1).unwrap(), 64);
        assert!(class(1 << 20).unwrap() == 1 << 20);
    }
}
