use std::sync::Arc;
use std::sync::atomic::Ordering;

use oneir_runtime::{
    Backend, Bound, Event, KernelTable, Launch, Memory, MemoryFigures, MemoryLimits, RuntimeError, Stream,
    Work,
};
use oneir_tensor::Buffer;
use smallvec::SmallVec;

use crate::launch::{Args, CpuLaunch};
use crate::memory::{CpuMemory, Pool, Shared};
use crate::par::{Crew, Threads};
use crate::simd::Level;

/// Which kernels a back end has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernels {
    /// The fast ones, and the reference evaluation for what they do not take.
    All,
    /// Only the reference evaluation.
    Reference,
}

/// The CPU.
pub struct CpuBackend {
    kernels: Kernels,
    level: Level,
    table: KernelTable,
    pool: Arc<Pool>,
    threads: Threads,
}

impl CpuBackend {
    /// A back end on all cores (or as many as `ONEIR_THREADS` says).
    pub fn new(kernels: Kernels) -> CpuBackend {
        let wanted = std::env::var("ONEIR_THREADS").ok().and_then(|n| n.parse::<usize>().ok());
        let found = std::thread::available_parallelism().map_or(1, usize::from);
        CpuBackend::with_threads(kernels, wanted.filter(|&n| n > 0).unwrap_or(found))
    }

    /// A back end on `threads` threads.
    pub fn with_threads(kernels: Kernels, threads: usize) -> CpuBackend {
        CpuBackend::at_level(kernels, threads, Level::detect())
    }

    /// As [`CpuBackend::with_threads`], with the kernels of one instruction set.
    pub(crate) fn at_level(kernels: Kernels, threads: usize, level: Level) -> CpuBackend {
        CpuBackend {
            kernels,
            level,
            table: crate::kernels::table(kernels, level),
            pool: Arc::default(),
            threads: Threads::new(threads.max(1)),
        }
    }

    fn kernel<'a>(&self, launch: &'a Launch) -> Result<&'a CpuLaunch, RuntimeError> {
        launch.prepared.launch.downcast_ref().ok_or_else(|| RuntimeError::WrongDevice {
            expected: "cpu".into(),
            found: launch.prepared.kernel.into(),
        })
    }

    fn memory<'a>(&self, bound: &'a Bound) -> Result<&'a CpuMemory, RuntimeError> {
        bound.memory.as_any().downcast_ref().ok_or_else(|| RuntimeError::WrongDevice {
            expected: "cpu".into(),
            found: format!("{:?}", bound.memory),
        })
    }

    /// Where `len` writable bytes of a bound buffer begin.
    fn target(&self, to: &Bound, len: usize) -> Result<*mut u8, RuntimeError> {
        let memory = self.memory(to)?;
        let fits = to.offset.checked_add(len).is_some_and(|end| end <= memory.len());
        match memory.start_mut() {
            // SAFETY: the offset lies inside the block.
            Some(start) if fits => Ok(unsafe { start.add(to.offset) }),
            _ => Err(RuntimeError::BadPlan {
                launch: 0,
                kernel: "upload".into(),
                problem: format!("{len} bytes at {} do not fit {memory:?}", to.offset),
            }),
        }
    }
}

impl Backend for CpuBackend {
    fn name(&self) -> &str {
        "cpu"
    }

    fn kernels(&self) -> &KernelTable {
        &self.table
    }

    fn threads(&self) -> usize {
        self.threads.count()
    }

    fn limited(&self, threads: usize) -> Option<Arc<dyn Backend>> {
        let limited = CpuBackend::at_level(self.kernels, threads, self.level);
        Some(Arc::new(CpuBackend { pool: self.pool.clone(), ..limited }))
    }

    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Memory>, RuntimeError> {
        match self.pool.take(bytes) {
            Some(memory) => Ok(Arc::new(memory)),
            None => {
                let MemoryFigures { active, limits, .. } = self.pool.figures();
                Err(RuntimeError::OutOfMemory { device: "cpu".into(), bytes, active, limit: limits.total })
            }
        }
    }

    fn memory_figures(&self) -> MemoryFigures {
        self.pool.figures()
    }

    fn limit_memory(&self, limits: MemoryLimits) {
        self.pool.limit(limits);
    }

    fn clear_cache(&self) {
        self.pool.clear_cache();
    }

    fn reset_peak_memory(&self) {
        self.pool.reset_peak();
    }

    fn adopt(&self, stream: Stream, buffer: &Buffer) -> Result<(Arc<dyn Memory>, Event), RuntimeError> {
        // Kernels read whole elements: bytes that do not begin at a multiple
        // of the widest are copied to where they do.
        if (buffer.bytes().as_ptr() as usize).is_multiple_of(16) {
            return Ok((Arc::new(CpuMemory::adopt(buffer)), Event::passed()));
        }
        let memory = self.allocate(buffer.len())?;
        let ready = self.upload(stream, &Bound { memory: memory.clone(), offset: 0 }, buffer.bytes())?;
        Ok((memory, ready))
    }

    fn upload(&self, _stream: Stream, to: &Bound, bytes: &[u8]) -> Result<Event, RuntimeError> {
        let start = self.target(to, bytes.len())?;
        // SAFETY: `target` checked the range, and `bytes` is borrowed from
        // elsewhere: a block is never lent out while it can be written.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), start, bytes.len()) }
        Ok(Event::passed())
    }

    fn download(&self, from: &Bound, len: usize) -> Result<Buffer, RuntimeError> {
        let memory = self.memory(from)?;
        if from.offset.checked_add(len).is_none_or(|end| end > memory.len()) {
            return Err(RuntimeError::BadPlan {
                launch: 0,
                kernel: "download".into(),
                problem: format!("{len} bytes at {} leave {memory:?}", from.offset),
            });
        }
        if len == 0 {
            return Ok(Buffer::copy_of(&[]));
        }
        // SAFETY: the range lies inside the initialised block, and launches
        // are done when `submit` returns, so nothing writes it now.
        let bytes = unsafe { std::slice::from_raw_parts(memory.start().add(from.offset), len) };
        Ok(Buffer::copy_of(bytes))
    }

    fn share(&self, memory: &Arc<dyn Memory>) -> Result<Option<Buffer>, RuntimeError> {
        Ok(Some(Buffer::foreign(Arc::new(Shared(memory.clone())))))
    }

    fn fill(&self, _stream: Stream, to: &Bound, len: usize, byte: u8) -> Result<(), RuntimeError> {
        let start = self.target(to, len)?;
        // SAFETY: `target` checked the range.
        unsafe { std::ptr::write_bytes(start, byte, len) }
        Ok(())
    }

    fn submit(&self, mut work: Work<'_>) -> Result<Event, RuntimeError> {
        // Addresses cross into the pool as integers.
        let mut places: Vec<usize> = Vec::with_capacity(work.buffers.len());
        for bound in work.buffers {
            places.push(self.memory(bound)?.start() as usize + bound.offset);
        }
        let scratch = match work.scratch {
            Some(bound) => self.target(bound, 0)? as usize,
            None => 0,
        };
        let run = |launch: &Launch| -> Result<(), RuntimeError> {
            let CpuLaunch { run, shares } = self.kernel(launch)?;
            let reads: SmallVec<[*const u8; 8]> =
                launch.reads.iter().map(|b| places[b.at()] as *const u8).collect();
            let writes: SmallVec<[*mut u8; 2]> =
                launch.writes.iter().map(|b| places[b.at()] as *mut u8).collect();
            let threads = &Crew::new(&self.threads, shares);
            let args = Args { reads: &reads, writes: &writes, scratch: scratch as *mut u8, threads };
            run(&args).map_err(|why| RuntimeError::Kernel {
                device: "cpu".into(),
                op: launch.symbol.into(),
                why: Box::new(why),
            })
        };
        if let Some(after) = work.after.as_mut() {
            for (at, launch) in work.launches.iter().enumerate() {
                run(launch)?;
                after(at);
            }
            return Ok(Event::passed());
        }
        // Small kernels are done where they are called: handing them to the pool
        // takes longer. From the first one on that shares its work, the rest
        // runs there.
        for (at, launch) in work.launches.iter().enumerate() {
            if self.kernel(launch)?.shares.load(Ordering::Relaxed) {
                self.threads.install(|| work.launches[at..].iter().try_for_each(run))?;
                break;
            }
            run(launch)?;
        }
        Ok(Event::passed())
    }

    fn synchronise(&self) -> Result<(), RuntimeError> {
        Ok(())
    }
}
