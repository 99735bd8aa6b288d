use std::any::Any;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use oneir_ir::graph::{Class, Dst, RowSel, Sym};
use oneir_ir::primitive::EvalError;
use oneir_ir::{Nature, Primitive, reference};
use oneir_runtime::{
    Answer, Backend, Bound, BufferId, Captured, Event, KernelRow, KernelTable, Launch, Memory, OperandSpec,
    Prepared, Request, ResultSpec, RuntimeError, Signal, Stream, Work,
};
use oneir_tensor::{Buffer, HostTensor, TensorError};

/// A device that is no CPU: the runtime cannot see its memory, its work waits in
/// queues that other threads run beside each other, launches can be captured and
/// replayed, and an error of the data shows when the host waits for its event.
///
/// Its kernels are the reference evaluation. What runs on it will not find the
/// runtime assuming that the host can see memory, or that work is done when it
/// was asked for.
pub struct MockBackend {
    table: KernelTable,
    queues: Mutex<Vec<Sender<Command>>>,
    numbers: AtomicU64,
}

/// What a queue's thread does, in order; it holds the memories until it has.
struct Command {
    task: Task,
    waits: Vec<Event>,
    done: Arc<MockSignal>,
}

enum Task {
    Upload(Bound, Vec<u8>),
    Fill(Bound, usize, u8),
    Run(Arc<Vec<MockLaunch>>),
    Nothing,
}

struct MockMemory {
    number: u64,
    len: usize,
    bytes: Mutex<Vec<u8>>,
}

impl Memory for MockMemory {
    fn len(&self) -> usize {
        self.len
    }

    /// Every other memory begins at an odd address, as it were.
    fn alignment(&self) -> usize {
        if self.number.is_multiple_of(2) { 64 } else { 1 }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl fmt::Debug for MockMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MockMemory #{} ({} bytes)", self.number, self.len)
    }
}

fn bytes_of(memory: &MockMemory) -> MutexGuard<'_, Vec<u8>> {
    memory.bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

fn memory(bound: &Bound) -> Result<&MockMemory, RuntimeError> {
    bound.memory.as_any().downcast_ref().ok_or_else(|| RuntimeError::WrongDevice {
        expected: "mock".into(),
        found: format!("{:?}", bound.memory),
    })
}

/// A point in a queue: what came of the work before it, once it is done.
#[derive(Default)]
struct MockSignal {
    outcome: Mutex<Option<Result<(), RuntimeError>>>,
    changed: Condvar,
}

impl MockSignal {
    fn finish(&self, outcome: Result<(), RuntimeError>) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        self.changed.notify_all();
    }
}

impl Signal for MockSignal {
    fn is_done(&self) -> bool {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn wait(&self) -> Result<(), RuntimeError> {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match &*outcome {
                Some(found) => return found.clone(),
                None => outcome = self.changed.wait(outcome).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Default for MockBackend {
    fn default() -> Self {
        MockBackend::new()
    }
}

impl MockBackend {
    /// A device with one empty queue.
    pub fn new() -> MockBackend {
        MockBackend {
            table: KernelTable::new(vec![Box::new(MockReference)]),
            queues: Mutex::new(vec![queue()]),
            numbers: AtomicU64::new(0),
        }
    }

    fn send(&self, stream: Stream, task: Task, waits: &[Event]) -> Result<Event, RuntimeError> {
        send(&self.queue(stream)?, task, waits)
    }

    fn queue(&self, stream: Stream) -> Result<Sender<Command>, RuntimeError> {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.get(stream.0 as usize).cloned().ok_or_else(stopped)
    }

    fn launches(&self, launches: &[Launch], buffers: &[Bound]) -> Result<Arc<Vec<MockLaunch>>, RuntimeError> {
        let mut out = Vec::with_capacity(launches.len());
        for launch in launches {
            let Some(kernel) = launch.prepared.launch.downcast_ref::<Arc<MockKernel>>() else {
                return Err(RuntimeError::WrongDevice {
                    expected: "mock".into(),
                    found: launch.prepared.kernel.into(),
                });
            };
            let places = |ids: &[BufferId]| {
                let bound = ids.iter().map(|b| &buffers[b.at()]);
                bound.map(|b| memory(b).map(|_| b.clone())).collect::<Result<Vec<_>, _>>()
            };
            out.push(MockLaunch {
                kernel: kernel.clone(),
                reads: places(&launch.reads)?,
                writes: places(&launch.writes)?,
            });
        }
        Ok(Arc::new(out))
    }
}

fn stopped() -> RuntimeError {
    RuntimeError::Stopped { device: "mock".into() }
}

/// A thread that does what it is sent, in order.
fn queue() -> Sender<Command> {
    let (sender, commands) = channel::<Command>();
    std::thread::spawn(move || {
        for Command { task, waits, done } in commands {
            let outcome = waits.iter().try_for_each(Event::wait).and_then(|()| perform(&task));
            // The memories go before anyone hears that they were used.
            drop((task, waits));
            done.finish(outcome);
        }
    });
    sender
}

fn send(queue: &Sender<Command>, task: Task, waits: &[Event]) -> Result<Event, RuntimeError> {
    let done = Arc::new(MockSignal::default());
    queue.send(Command { task, waits: waits.to_vec(), done: done.clone() }).map_err(|_| stopped())?;
    Ok(Event::of(done))
}

fn perform(task: &Task) -> Result<(), RuntimeError> {
    let range =
        |bytes: &mut Vec<u8>, at: usize, len: usize| -> Result<std::ops::Range<usize>, RuntimeError> {
            let end = at.checked_add(len).filter(|&end| end <= bytes.len());
            end.map(|end| at..end).ok_or_else(outside)
        };
    match task {
        Task::Upload(to, given) => {
            let mut bytes = bytes_of(memory(to)?);
            let range = range(&mut bytes, to.offset, given.len())?;
            bytes[range].copy_from_slice(given);
        }
        Task::Fill(to, len, byte) => {
            let mut bytes = bytes_of(memory(to)?);
            let range = range(&mut bytes, to.offset, *len)?;
            bytes[range].fill(*byte);
        }
        Task::Run(launches) => {
            for launch in launches.iter() {
                launch.run().map_err(|why| RuntimeError::Kernel {
                    device: "mock".into(),
                    op: launch.kernel.sym.name().to_string(),
                    why: Box::new(why),
                })?;
            }
        }
        Task::Nothing => {}
    }
    Ok(())
}

fn outside() -> RuntimeError {
    RuntimeError::BadPlan { launch: 0, kernel: "copy".into(), problem: "the range leaves its memory".into() }
}

impl Backend for MockBackend {
    fn name(&self) -> &str {
        "mock"
    }

    fn kernels(&self) -> &KernelTable {
        &self.table
    }

    fn threads(&self) -> usize {
        1
    }

    fn stream(&self) -> Result<Stream, RuntimeError> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.push(queue());
        Ok(Stream(queues.len() as u32 - 1))
    }

    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Memory>, RuntimeError> {
        // The host's own limit stands in for the card's.
        if bytes > 1 << 40 {
            return Err(RuntimeError::OutOfMemory { device: "mock".into(), bytes, active: 0, limit: None });
        }
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        // Fresh memory holds anything.
        Ok(Arc::new(MockMemory { number, len: bytes, bytes: Mutex::new(vec![0xCD; bytes]) }))
    }

    fn upload(&self, stream: Stream, to: &Bound, bytes: &[u8]) -> Result<Event, RuntimeError> {
        memory(to)?;
        self.send(stream, Task::Upload(to.clone(), bytes.to_vec()), &[])
    }

    fn download(&self, from: &Bound, len: usize) -> Result<Buffer, RuntimeError> {
        let bytes = bytes_of(memory(from)?);
        let end = from.offset.checked_add(len).ok_or_else(outside)?;
        Ok(Buffer::copy_of(bytes.get(from.offset..end).ok_or_else(outside)?))
    }

    fn fill(&self, stream: Stream, to: &Bound, len: usize, byte: u8) -> Result<(), RuntimeError> {
        memory(to)?;
        self.send(stream, Task::Fill(to.clone(), len, byte), &[]).map(|_| ())
    }

    fn submit(&self, work: Work<'_>) -> Result<Event, RuntimeError> {
        let Some(after) = work.after else {
            let launches = self.launches(work.launches, work.buffers)?;
            return self.send(work.stream, Task::Run(launches), work.waits);
        };
        let mut done = self.send(work.stream, Task::Nothing, work.waits)?;
        for (at, launch) in work.launches.chunks(1).enumerate() {
            let launches = self.launches(launch, work.buffers)?;
            done = self.send(work.stream, Task::Run(launches), &[done])?;
            // What failed is told by the last event.
            _ = done.wait();
            after(at);
        }
        Ok(done)
    }

    fn capture(&self, work: &Work<'_>) -> Result<Option<Box<dyn Captured>>, RuntimeError> {
        let launches = self.launches(work.launches, work.buffers)?;
        Ok(Some(Box::new(Recorded { launches, queue: self.queue(work.stream)? })))
    }

    fn synchronise(&self) -> Result<(), RuntimeError> {
        let queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner).clone();
        queues.iter().try_for_each(|queue| send(queue, Task::Nothing, &[])?.wait())
    }
}

struct Recorded {
    launches: Arc<Vec<MockLaunch>>,
    queue: Sender<Command>,
}

impl Captured for Recorded {
    fn replay(&self, waits: &[Event]) -> Result<Event, RuntimeError> {
        send(&self.queue, Task::Run(self.launches.clone()), waits)
    }
}

struct MockKernel {
    sym: Sym,
    operands: Vec<OperandSpec>,
    results: Vec<ResultSpec>,
}

struct MockLaunch {
    kernel: Arc<MockKernel>,
    reads: Vec<Bound>,
    writes: Vec<Bound>,
}

impl MockLaunch {
    fn run(&self) -> Result<(), EvalError> {
        let lost = || TensorError::OutOfBounds { element: 0, available: 0 };
        let kernel = &*self.kernel;
        let mut inputs = Vec::with_capacity(self.reads.len());
        for (bound, operand) in self.reads.iter().zip(&kernel.operands) {
            let all = bytes_of(memory(bound).map_err(|_| lost())?);
            inputs.push(gather(&all, bound.offset, operand)?);
        }
        let named = |r: &&ResultSpec| matches!(r.dst, Dst::Rows { row: RowSel::Param(_), .. });
        let count = kernel.results.iter().filter(named).count();
        let mut rows = inputs.split_off(inputs.len() - count).into_iter();
        let made = match &kernel.sym {
            Sym::Prim(primitive) => primitive.evaluate(&inputs)?,
            Sym::Fused(fused) => match &fused.class {
                Class::Region(region) => Primitive::Compiled(region.clone()).evaluate(&inputs)?,
                Class::Fast(fast) => Primitive::Fast(fast.clone()).evaluate(&inputs)?,
            },
            Sym::View => inputs,
        };
        for ((value, result), bound) in made.iter().zip(&kernel.results).zip(&self.writes) {
            let size = value.dtype().size().unwrap_or(1);
            let bytes = value.bytes();
            let mut all = bytes_of(memory(bound).map_err(|_| lost())?);
            let target = all.get_mut(bound.offset..).unwrap_or_default();
            let outside = || TensorError::OutOfBounds { element: bytes.len() as isize, available: 0 };
            match result.dst {
                Dst::Own => {
                    target.get_mut(..bytes.len()).ok_or_else(outside)?.copy_from_slice(&bytes);
                }
                Dst::Rows { pitch, row, span } => {
                    let row = match row {
                        RowSel::Fixed(row) => row as i64,
                        RowSel::Param(_) => {
                            let values = rows.next().map(|r| r.values()).transpose()?;
                            values.and_then(|v| v.to_ints()).and_then(|v| v.first().copied()).unwrap_or(0)
                        }
                    };
                    let name = kernel.sym.name();
                    let place =
                        reference::rows_layout(name, result.capacity, value.count(), pitch, row, span)
                            .map_err(Box::new)?;
                    for (i, to) in place.offsets().enumerate() {
                        let to = to as usize * size;
                        let from = &bytes[i * size..(i + 1) * size];
                        target.get_mut(to..to + size).ok_or_else(outside)?.copy_from_slice(from);
                    }
                }
            }
        }
        Ok(())
    }
}

fn gather(all: &[u8], at: usize, operand: &OperandSpec) -> Result<HostTensor, EvalError> {
    let bytes = all.get(at..).unwrap_or_default();
    let count = operand.layout.count();
    let Some(size) = operand.dtype.size() else {
        let len = operand.dtype.bytes_for(count).unwrap_or(0).min(bytes.len());
        return Ok(HostTensor::from_bytes(operand.dtype, &operand.layout.shape, &bytes[..len])?);
    };
    let mut row = Vec::with_capacity(count * size);
    for place in operand.layout.offsets() {
        let start = usize::try_from(place).unwrap_or(usize::MAX).saturating_mul(size);
        let element = start.checked_add(size).and_then(|end| bytes.get(start..end));
        let outside = TensorError::OutOfBounds { element: place, available: bytes.len() / size };
        row.extend_from_slice(element.ok_or(outside)?);
    }
    Ok(HostTensor::from_bytes(operand.dtype, &operand.layout.shape, &row)?)
}

/// The reference evaluation of any primitive or region.
struct MockReference;

impl KernelRow for MockReference {
    fn name(&self) -> &'static str {
        "mock_reference"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &[]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let takes = match request.sym {
            Sym::Prim(Primitive::Kernel(call)) => call.cpu.get().is_some(),
            Sym::Prim(primitive) => {
                !matches!(primitive.nature(), Nature::Control | Nature::DataSized | Nature::Fused)
            }
            Sym::Fused(fused) => matches!(fused.class, Class::Region(_)),
            Sym::View => false,
        };
        if !takes {
            return Answer::No;
        }
        let kernel = Arc::new(MockKernel {
            sym: request.sym.clone(),
            operands: request.operands.to_vec(),
            results: request.results.to_vec(),
        });
        Answer::Yes(Prepared {
            kernel: "mock_reference",
            scratch: 0,
            in_place: Default::default(),
            fallible: true,
            launch: Box::new(kernel),
        })
    }
}
