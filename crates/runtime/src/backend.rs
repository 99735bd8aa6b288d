use std::any::Any;
use std::fmt;
use std::sync::Arc;

use oneir_tensor::Buffer;

use crate::{Event, KernelTable, Launch, RuntimeError, Stream};

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

    /// The largest power of two, as far as the back end's kernels look at it,
    /// that the memory's address is a multiple of: a plan's alignment class.
    fn alignment(&self) -> usize {
        1
    }

    /// For the back end that made it.
    fn as_any(&self) -> &dyn Any;
}

/// How much memory a device may take, in bytes; `None` for no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryLimits {
    /// Of all that values and running work hold. More is refused with
    /// [`RuntimeError::OutOfMemory`].
    pub total: Option<usize>,
    /// Of what is kept to be used again.
    pub cached: Option<usize>,
}

/// What a device's memory is used for, in bytes. Memory adopted from the host
/// does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MemoryFigures {
    /// Held by values and running work.
    pub active: usize,
    /// The most that `active` has been.
    pub peak: usize,
    /// Kept to be used again.
    pub cached: usize,
    /// What is allowed.
    pub limits: MemoryLimits,
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
    /// The queue that runs them.
    pub stream: Stream,
    /// What they wait for beside the work before them on the stream. Where one
    /// of these failed, the launches do not run and fail for the same reason.
    pub waits: &'a [Event],
    /// Called after each launch with its number, when its time is wanted: the
    /// back end waits for the launch first.
    pub after: Option<&'a mut dyn FnMut(usize)>,
}

/// Launches recorded once, to be run again over the same buffers without
/// deciding anything.
pub trait Captured: Send + Sync {
    /// Runs them on the stream that they were recorded for, after the events.
    fn replay(&self, waits: &[Event]) -> Result<Event, RuntimeError>;
}

/// A device driver: memory, queues, and kernels.
///
/// What is asked for on one [`Stream`] happens in that order. What is to be
/// written stays alive until it is: a back end holds the memories of work that
/// it has not done yet.
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

    /// Another queue; the default one, where the back end has no other.
    fn stream(&self) -> Result<Stream, RuntimeError> {
        Ok(Stream::DEFAULT)
    }

    /// Memory of its own; its bytes may be anything.
    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Memory>, RuntimeError>;

    /// What memory is used for; nothing where the back end does not count.
    fn memory_figures(&self) -> MemoryFigures {
        MemoryFigures::default()
    }

    /// Sets limits of memory, where the back end knows them.
    fn limit_memory(&self, _limits: MemoryLimits) {}

    /// Gives back what is kept to be used again.
    fn clear_cache(&self) {}

    /// Lets the peak begin anew at what is active.
    fn reset_peak_memory(&self) {}

    /// Host bytes as memory, without a copy where the device can read them, and
    /// when they can be read.
    fn adopt(&self, stream: Stream, buffer: &Buffer) -> Result<(Arc<dyn Memory>, Event), RuntimeError> {
        let memory = self.allocate(buffer.len())?;
        let ready = self.upload(stream, &Bound { memory: memory.clone(), offset: 0 }, buffer.bytes())?;
        Ok((memory, ready))
    }

    /// Copies host bytes to memory; they may change once this returns.
    fn upload(&self, stream: Stream, to: &Bound, bytes: &[u8]) -> Result<Event, RuntimeError>;

    /// A copy of bytes of a memory that can be read.
    fn download(&self, from: &Bound, len: usize) -> Result<Buffer, RuntimeError>;

    /// A memory that can be read and that nothing will write any more as host
    /// bytes, without a copy; `None` where the host cannot read it.
    fn share(&self, _memory: &Arc<dyn Memory>) -> Result<Option<Buffer>, RuntimeError> {
        Ok(None)
    }

    /// Fills bytes, for tests that look for reads of dead memory.
    fn fill(&self, stream: Stream, to: &Bound, len: usize, byte: u8) -> Result<(), RuntimeError>;

    /// Runs launches in order. The event tells when all are done, and whether
    /// data had no result.
    fn submit(&self, work: Work<'_>) -> Result<Event, RuntimeError>;

    /// Records launches for replay; `None` where the back end cannot.
    fn capture(&self, _work: &Work<'_>) -> Result<Option<Box<dyn Captured>>, RuntimeError> {
        Ok(None)
    }

    /// Waits for all that was asked for on any stream.
    fn synchronise(&self) -> Result<(), RuntimeError>;
}
