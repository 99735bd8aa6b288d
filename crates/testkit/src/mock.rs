use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use oneir_ir::graph::{Class, Dst, RowSel, Sym};
use oneir_ir::primitive::EvalError;
use oneir_ir::{Nature, Primitive, reference};
use oneir_runtime::{
    Answer, Backend, Bound, Captured, KernelRow, KernelTable, Launch, Memory, OperandSpec, Prepared, Request,
    ResultSpec, RuntimeError, Work,
};
use oneir_tensor::{Buffer, HostTensor, TensorError};

/// A device that is no CPU: its memory is known by number only, its work waits
/// in a queue that another thread runs, launches can be captured and replayed,
/// and an error of the data shows when the host next waits.
///
/// Its kernels are the reference evaluation. What runs on it will not find the
/// runtime assuming that the host can see memory, or that work is done when it
/// was asked for.
pub struct MockBackend {
    table: KernelTable,
    queue: Queue,
    next: AtomicU64,
}

/// What the device's thread does, in order.
enum Command {
    Allocate(u64, usize),
    Free(u64),
    Upload(Place, Vec<u8>),
    Fill(Place, usize, u8),
    Run(Arc<Vec<MockLaunch>>),
    Download(Place, usize, Sender<Result<Vec<u8>, RuntimeError>>),
    Wait(Sender<Result<(), RuntimeError>>),
}

/// Bytes of a memory, from an offset on.
type Place = (u64, usize);

#[derive(Clone)]
struct Queue(Arc<Mutex<Sender<Command>>>);

impl Queue {
    fn send(&self, command: Command) -> Result<(), RuntimeError> {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sender.send(command).map_err(|_| RuntimeError::Stopped { device: "mock".into() })
    }
}

struct MockMemory {
    number: u64,
    len: usize,
    queue: Queue,
}

impl Memory for MockMemory {
    fn len(&self) -> usize {
        self.len
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

impl Drop for MockMemory {
    fn drop(&mut self) {
        // A device that stopped has freed everything.
        _ = self.queue.send(Command::Free(self.number));
    }
}

impl Default for MockBackend {
    fn default() -> Self {
        MockBackend::new()
    }
}

impl MockBackend {
    /// A device with an empty queue.
    pub fn new() -> MockBackend {
        let (sender, commands) = channel();
        std::thread::spawn(move || {
            let mut card = Card::default();
            for command in commands {
                card.obey(command);
            }
        });
        MockBackend {
            table: KernelTable::new(vec![Box::new(MockReference)]),
            queue: Queue(Arc::new(Mutex::new(sender))),
            next: AtomicU64::new(1),
        }
    }

    fn place(&self, bound: &Bound) -> Result<Place, RuntimeError> {
        match bound.memory.as_any().downcast_ref::<MockMemory>() {
            Some(memory) => Ok((memory.number, bound.offset)),
            None => Err(RuntimeError::WrongDevice {
                expected: "mock".into(),
                found: format!("{:?}", bound.memory),
            }),
        }
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
            let places = |ids: &[oneir_runtime::BufferId]| {
                ids.iter().map(|b| self.place(&buffers[b.at()])).collect::<Result<Vec<_>, _>>()
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

    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Memory>, RuntimeError> {
        // The host's own limit stands in for the card's.
        if bytes > 1 << 40 {
            return Err(RuntimeError::OutOfMemory { device: "mock".into(), bytes });
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.queue.send(Command::Allocate(number, bytes))?;
        Ok(Arc::new(MockMemory { number, len: bytes, queue: self.queue.clone() }))
    }

    fn upload(&self, to: &Bound, bytes: &[u8]) -> Result<(), RuntimeError> {
        self.queue.send(Command::Upload(self.place(to)?, bytes.to_vec()))
    }

    fn download(&self, from: &Bound, len: usize) -> Result<Buffer, RuntimeError> {
        let (reply, answer) = channel();
        self.queue.send(Command::Download(self.place(from)?, len, reply))?;
        let bytes = answer.recv().map_err(|_| RuntimeError::Stopped { device: "mock".into() })??;
        Ok(Buffer::copy_of(&bytes))
    }

    fn fill(&self, to: &Bound, len: usize, byte: u8) -> Result<(), RuntimeError> {
        self.queue.send(Command::Fill(self.place(to)?, len, byte))
    }

    fn submit(&self, work: Work<'_>) -> Result<(), RuntimeError> {
        match work.after {
            None => self.queue.send(Command::Run(self.launches(work.launches, work.buffers)?)),
            Some(after) => {
                for (at, launch) in work.launches.chunks(1).enumerate() {
                    self.queue.send(Command::Run(self.launches(launch, work.buffers)?))?;
                    self.synchronise()?;
                    after(at);
                }
                Ok(())
            }
        }
    }

    fn capture(&self, work: &Work<'_>) -> Result<Option<Box<dyn Captured>>, RuntimeError> {
        let launches = self.launches(work.launches, work.buffers)?;
        let held = work.buffers.iter().map(|b| b.memory.clone()).collect();
        Ok(Some(Box::new(Recorded { launches, queue: self.queue.clone(), _held: held })))
    }

    fn synchronise(&self) -> Result<(), RuntimeError> {
        let (reply, answer) = channel();
        self.queue.send(Command::Wait(reply))?;
        answer.recv().map_err(|_| RuntimeError::Stopped { device: "mock".into() })?
    }
}

struct Recorded {
    launches: Arc<Vec<MockLaunch>>,
    queue: Queue,
    _held: Vec<Arc<dyn Memory>>,
}

impl Captured for Recorded {
    fn replay(&self) -> Result<(), RuntimeError> {
        self.queue.send(Command::Run(self.launches.clone()))
    }
}

/// What the device's thread alone can see.
#[derive(Default)]
struct Card {
    memory: HashMap<u64, Vec<u8>>,
    /// The first error since the host last waited.
    status: Option<RuntimeError>,
}

impl Card {
    fn obey(&mut self, command: Command) {
        match command {
            Command::Allocate(number, bytes) => {
                // Fresh memory holds anything.
                self.memory.insert(number, vec![0xCD; bytes]);
            }
            Command::Free(number) => {
                self.memory.remove(&number);
            }
            Command::Upload((number, at), bytes) => match self.range(number, at, bytes.len()) {
                Some(range) => range.copy_from_slice(&bytes),
                None => self.fault("upload"),
            },
            Command::Fill((number, at), len, byte) => match self.range(number, at, len) {
                Some(range) => range.fill(byte),
                None => self.fault("fill"),
            },
            Command::Run(launches) => {
                for launch in launches.iter() {
                    if let Err(why) = launch.run(&mut self.memory) {
                        let op = launch.kernel.sym.name().to_string();
                        let error = RuntimeError::Kernel { device: "mock".into(), op, why: Box::new(why) };
                        self.status.get_or_insert(error);
                    }
                }
            }
            Command::Download((number, at), len, reply) => {
                let bytes = self.range(number, at, len).map(|range| range.to_vec());
                let answer = match (self.status.take(), bytes) {
                    (Some(error), _) => Err(error),
                    (None, Some(bytes)) => Ok(bytes),
                    (None, None) => Err(fault("download")),
                };
                // The host may have stopped waiting.
                _ = reply.send(answer);
            }
            Command::Wait(reply) => {
                _ = reply.send(self.status.take().map_or(Ok(()), Err));
            }
        }
    }

    fn range(&mut self, number: u64, at: usize, len: usize) -> Option<&mut [u8]> {
        self.memory.get_mut(&number)?.get_mut(at..at.checked_add(len)?)
    }

    fn fault(&mut self, what: &'static str) {
        self.status.get_or_insert(fault(what));
    }
}

fn fault(what: &'static str) -> RuntimeError {
    RuntimeError::BadPlan { launch: 0, kernel: what.into(), problem: "the range leaves its memory".into() }
}

struct MockKernel {
    sym: Sym,
    operands: Vec<OperandSpec>,
    results: Vec<ResultSpec>,
}

struct MockLaunch {
    kernel: Arc<MockKernel>,
    reads: Vec<Place>,
    writes: Vec<Place>,
}

impl MockLaunch {
    fn run(&self, memory: &mut HashMap<u64, Vec<u8>>) -> Result<(), EvalError> {
        let kernel = &*self.kernel;
        let mut inputs = Vec::with_capacity(self.reads.len());
        for ((number, at), operand) in self.reads.iter().zip(&kernel.operands) {
            let all = memory.get(number).map(Vec::as_slice).unwrap_or_default();
            inputs.push(gather(all, *at, operand)?);
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
        for ((value, result), (number, at)) in made.iter().zip(&kernel.results).zip(&self.writes) {
            let size = value.dtype().size().unwrap_or(1);
            let bytes = value.bytes();
            let target = memory.get_mut(number).and_then(|all| all.get_mut(*at..)).unwrap_or_default();
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
