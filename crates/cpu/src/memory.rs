//! Host memory for tensors: aligned blocks that are used again, and bytes
//! adopted from elsewhere.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use oneir_runtime::{Memory, MemoryFigures, MemoryLimits};
use oneir_tensor::Buffer;

/// Blocks begin at a multiple of this: a cache line and the widest vector.
const ALIGNMENT: usize = 64;

/// Freed blocks are kept up to this many bytes in all, unless another limit is
/// set: fresh pages cost more than the work on them.
const KEPT_BYTES: usize = 512 << 20;

/// Blocks in use and blocks free to be used again.
#[derive(Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
}

struct State {
    /// Free blocks by size.
    free: BTreeMap<usize, Vec<Block>>,
    figures: MemoryFigures,
}

impl Default for State {
    fn default() -> State {
        let limits = MemoryLimits { total: None, cached: Some(KEPT_BYTES) };
        State { free: BTreeMap::new(), figures: MemoryFigures { limits, ..MemoryFigures::default() } }
    }
}

impl State {
    /// Lets free blocks go, the largest first, until at most `bytes` are kept.
    fn shrink(&mut self, bytes: usize) {
        while self.figures.cached > bytes {
            let Some(mut entry) = self.free.last_entry() else { return };
            if let Some(block) = entry.get_mut().pop() {
                self.figures.cached -= block.size;
            }
            if entry.get().is_empty() {
                entry.remove();
            }
        }
    }

    /// Whether so many bytes more are allowed; lets free blocks go to make room.
    fn admit(&mut self, size: usize) -> bool {
        let active = self.figures.active.saturating_add(size);
        let Some(total) = self.figures.limits.total else { return true };
        if active > total {
            return false;
        }
        self.shrink(total - active);
        true
    }
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
        let mut state = self.lock();
        let used = state.free.get_mut(&size).and_then(Vec::pop);
        if used.is_some() {
            state.figures.cached -= size;
        }
        if !state.admit(size) {
            return None;
        }
        state.figures.active += size;
        state.figures.peak = state.figures.peak.max(state.figures.active);
        drop(state);
        let fresh = || {
            Block::new(size).or_else(|| {
                self.clear_cache();
                Block::new(size)
            })
        };
        match used.or_else(fresh) {
            Some(block) => {
                Some(CpuMemory { owner: Owner::Block(Some(block), Arc::downgrade(self)), len: bytes })
            }
            None => {
                self.lock().figures.active -= size;
                None
            }
        }
    }

    fn give(&self, block: Block) {
        let mut state = self.lock();
        state.figures.active -= block.size;
        let most = state.figures.limits.cached.unwrap_or(usize::MAX);
        if block.size <= most {
            state.shrink(most - block.size);
            state.figures.cached += block.size;
            state.free.entry(block.size).or_default().push(block);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn figures(&self) -> MemoryFigures {
        self.lock().figures
    }

    pub(crate) fn limit(&self, limits: MemoryLimits) {
        let mut state = self.lock();
        state.figures.limits = limits;
        let room = limits.total.map_or(usize::MAX, |total| total.saturating_sub(state.figures.active));
        state.shrink(limits.cached.unwrap_or(usize::MAX).min(room));
    }

    pub(crate) fn clear_cache(&self) {
        self.lock().shrink(0);
    }

    pub(crate) fn reset_peak(&self) {
        let mut state = self.lock();
        state.figures.peak = state.figures.active;
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

    #[test]
    fn figures_follow_and_limits_hold() {
        let pool = Arc::new(Pool::default());
        let (a, b) = (pool.take(1 << 20).unwrap(), pool.take(1 << 19).unwrap());
        drop(a);
        let found = pool.figures();
        assert_eq!((found.active, found.cached, found.peak), (1 << 19, 1 << 20, 3 << 19));
        // What is kept makes room for what is asked for, but no more.
        pool.limit(MemoryLimits { total: Some(1 << 20), cached: None });
        assert_eq!(pool.figures().cached, 0);
        assert!(pool.take((1 << 19) + 1).is_none());
        let c = pool.take(1 << 19).unwrap();
        drop((b, c));
        assert_eq!(pool.figures().cached, 1 << 20);
        pool.clear_cache();
        pool.reset_peak();
        let found = pool.figures();
        assert_eq!((found.active, found.cached, found.peak), (0, 0, 0));
    }
}
