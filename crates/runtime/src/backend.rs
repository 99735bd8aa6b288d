use std::any::Any;
use std::fmt;
use std::sync::Arc;

use oneir_tensor::Buffer;

use crate::{KernelTable, Launch, RuntimeError};

/// Memory of a device. Only its back end can look inside.
pub trait Memory: Send + Sync + fmt::Debug {
    /// Bytes.
    fn len(&self) -> usize;

    /// Whether there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether kernels may write it: memory adopted from the host they may not.
    fn writable(&self) -> bool {
        true
    }

    /// For the back end that made it.
    fn as_any(&self) -> &dyn Any;
}

/// Where a buffer of a plan lies during one run.
#[derive(Debug, Clone)]
pub struct Bound {
    /// The memory.
    pub memory: Arc<dyn Memory>,
    /// Where the buffer begins in it, in bytes.
    pub offset: usize,
}

/// Launches to run in order over bound buffers.
pub struct Work<'a> {
    /// The launches.
    pub launches: &'a [Launch],
    /// One place per buffer of the plan.
    pub buffers: &'a [Bound],
    /// Where kernels may keep what they need while they run.
    pub scratch: Option<&'a Bound>,
    /// Called after each launch with its number, when its time is wanted: the
    /// back end waits for the launch first.
    pub after: Option<&'a mut dyn FnMut(usize)>,
}

/// Launches recorded once, to be run again over the same buffers without
/// deciding anything.
pub trait Captured: Send + Sync {
    /// Runs them.
    fn replay(&self) -> Result<(), RuntimeError>;
}

/// A device driver: memory, a queue, and kernels.
///
/// Work, uploads and downloads happen in the order in which they are asked
/// for; [`Backend::download`] waits for what comes before it, nothing else
/// does.
pub trait Backend: Send + Sync {
    /// The name used in messages.
    fn name(&self) -> &str;

    /// The kernels.
    fn kernels(&self) -> &KernelTable;

    /// How many threads kernels may use.
    fn threads(&self) -> usize;

    /// The same driver on at most `threads` threads, with memory that both can
    /// read; `None` where it has no threads to limit.
    fn limited(&self, _threads: usize) -> Option<Arc<dyn Backend>> {
        None
    }

    /// Memory of its own; its bytes may be anything.
    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Memory>, RuntimeError>;

    /// Host bytes as memory, without a copy where the device can read them.
    fn adopt(&self, buffer: &Buffer) -> Result<Arc<dyn Memory>, RuntimeError> {
        let memory = self.allocate(buffer.len())?;
        self.upload(&Bound { memory: memory.clone(), offset: 0 }, buffer.bytes())?;
        Ok(memory)
    }

    /// Copies host bytes to memory.
    fn upload(&self, to: &Bound, bytes: &[u8]) -> Result<(), RuntimeError>;

    /// A copy of bytes of a memory, after all that was asked for before.
    fn download(&self, from: &Bound, len: usize) -> Result<Buffer, RuntimeError>;

    /// A memory that nothing will write any more as host bytes, without a copy,
    /// after all that was asked for before; `None` where the host cannot read
    /// it.
    fn share(&self, _memory: &Arc<dyn Memory>) -> Result<Option<Buffer>, RuntimeError> {
        Ok(None)
    }

    /// Fills bytes, for tests that look for reads of dead memory.
    fn fill(&self, to: &Bound, len: usize, byte: u8) -> Result<(), RuntimeError>;

    /// Runs launches in order.
    fn submit(&self, work: Work<'_>) -> Result<(), RuntimeError>;

    /// Records launches for replay; `None` where the back end cannot.
    fn capture(&self, _work: &Work<'_>) -> Result<Option<Box<dyn Captured>>, RuntimeError> {
        Ok(None)
    }

    /// Waits for all that was asked for.
    fn synchronise(&self) -> Result<(), RuntimeError>;
}
