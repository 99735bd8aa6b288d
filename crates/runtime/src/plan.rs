use std::sync::{Arc, Mutex, PoisonError};

use oneir_ir::Spec;
use oneir_ir::graph::{Role, TensorGraph};
use oneir_tensor::{HostTensor, Layout};

use crate::{Backend, Bound, Device, Evaluated, Event, Prepared, RuntimeError};

/// Names a buffer of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BufferId(pub u32);

impl BufferId {
    /// The place in the plan's buffers.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// Where a buffer's memory comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum Home {
    /// The graph's input with this number, whose value has this layout.
    Input(usize),
    /// A constant that the plan holds.
    Constant(HostTensor),
    /// A place in the memory of one run, shared over time.
    Arena(usize),
    /// A place in the memory computed once from constants.
    Kept(usize),
    /// Memory of its own in each run: an output.
    Output,
}

/// One buffer of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct BufferPlan {
    /// Bytes.
    pub bytes: usize,
    /// Where its memory comes from.
    pub home: Home,
}

/// An output of a plan: a view of a buffer.
#[derive(Debug, Clone, PartialEq)]
pub struct Argument {
    /// The buffer.
    pub buffer: BufferId,
    /// Where the elements lie in it.
    pub layout: Layout,
}

/// An input of a graph as a plan takes it: what the plan is made for beside the
/// graph.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Given {
    /// Where the elements lie in the value's memory.
    pub layout: Layout,
    /// The memory's alignment class ([`Memory::alignment`](crate::Memory::alignment)).
    pub alignment: usize,
    /// Whether a result may take the memory over.
    pub donated: bool,
}

impl Given {
    /// A value in rows from the start of a memory of its own of any alignment.
    pub fn rows(shape: &[usize]) -> Given {
        Given::laid_out(Layout::contiguous(shape))
    }

    /// A value with a layout in a memory of any alignment.
    pub fn laid_out(layout: Layout) -> Given {
        Given { layout, alignment: 1, donated: false }
    }

    /// A computed value.
    pub fn of(value: &Evaluated) -> Given {
        Given { layout: value.layout.clone(), alignment: value.memory.alignment(), donated: false }
    }
}

/// One launch of a plan.
pub struct Launch {
    /// The kernel and its decisions.
    pub prepared: Prepared,
    /// The buffers that it reads, in operand order.
    pub reads: Vec<BufferId>,
    /// The buffers that it writes, in result order.
    pub writes: Vec<BufferId>,
    /// The op of the graph that it belongs to.
    pub op: u32,
    /// The op's name.
    pub symbol: &'static str,
}

/// A graph lowered for one back end: ordered launches and a buffer table.
pub struct Plan {
    /// The graph that the plan runs.
    pub graph: TensorGraph,
    /// The buffers.
    pub buffers: Vec<BufferPlan>,
    /// Launches over constants alone, run once.
    pub prologue: Vec<Launch>,
    /// Launches of every run.
    pub launches: Vec<Launch>,
    /// Buffers whose memory is dead after each launch.
    pub deaths: Vec<(u32, BufferId)>,
    /// The outputs, in order.
    pub outputs: Vec<Argument>,
    /// Bytes of the memory of one run.
    pub arena: usize,
    /// Bytes of the memory computed once.
    pub kept: usize,
    /// Bytes of scratch that the hungriest kernel needs.
    pub scratch: usize,
    /// The inputs that the plan was made for.
    pub given: Vec<Given>,
    /// Inputs whose memory became a result's: their values are gone after a run.
    pub taken: Vec<usize>,
    pub(crate) once: Mutex<Vec<Prepaid>>,
}

/// Sets of bound constants whose prepared results a plan keeps.
const MAX_PREPAID: usize = 8;

/// What a plan has uploaded and computed once.
#[derive(Clone)]
pub(crate) struct Prepaid {
    /// The memories of the constants that the caller bound: other constants of
    /// the same form have results of their own.
    bound: Vec<Arc<dyn crate::Memory>>,
    pub(crate) kept: Option<Arc<dyn crate::Memory>>,
    pub(crate) constants: Vec<Option<Arc<dyn crate::Memory>>>,
    /// When all of it can be read.
    pub(crate) ready: Event,
}

impl Plan {
    /// Shape and dtype of each output.
    pub fn output_specs(&self) -> Vec<Spec> {
        self.graph.outputs.iter().map(|&id| self.graph.spec(id)).collect()
    }

    /// Uploads constants and runs the prologue, the first time that these
    /// constants are bound.
    pub(crate) fn prepaid(
        &self,
        device: &Device,
        inputs: &[Bound],
        waits: &[Event],
    ) -> Result<Prepaid, RuntimeError> {
        let bound: Vec<Arc<dyn crate::Memory>> = inputs
            .iter()
            .zip(&self.graph.inputs)
            .filter(|(_, id)| self.graph.tensor(**id).role == Role::Constant)
            .map(|(input, _)| input.memory.clone())
            .collect();
        let same = |p: &&Prepaid| {
            p.bound.len() == bound.len() && p.bound.iter().zip(&bound).all(|(a, b)| Arc::ptr_eq(a, b))
        };
        let mut known = self.once.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.iter().find(same) {
            return Ok(found.clone());
        }
        let prepaid = self.prepare(device, inputs, waits, bound)?;
        if known.len() >= MAX_PREPAID {
            known.remove(0);
        }
        known.push(prepaid.clone());
        Ok(prepaid)
    }

    fn prepare(
        &self,
        device: &Device,
        inputs: &[Bound],
        waits: &[Event],
        bound: Vec<Arc<dyn crate::Memory>>,
    ) -> Result<Prepaid, RuntimeError> {
        let backend = device.backend();
        let mut ready = Event::passed();
        let mut constants = Vec::with_capacity(self.buffers.len());
        for buffer in &self.buffers {
            constants.push(match &buffer.home {
                Home::Constant(value) => {
                    let row = value.contiguous()?;
                    let whole = row.layout().offset == 0 && row.buffer().len() == buffer.bytes;
                    let bytes = if whole {
                        row.buffer().clone()
                    } else {
                        oneir_tensor::Buffer::copy_of(&row.bytes())
                    };
                    // One stream: the last upload is done when all are.
                    let (memory, uploaded) = backend.adopt(device.stream(), &bytes)?;
                    if uploaded.signal().is_some() {
                        ready = uploaded;
                    }
                    Some(memory)
                }
                _ => None,
            });
        }
        let kept = if self.kept > 0 { Some(backend.allocate(self.kept)?) } else { None };
        let mut prepaid = Prepaid { bound, kept, constants, ready };
        if !self.prologue.is_empty() {
            let empty = backend.allocate(0)?;
            let buffers = self.bind(&prepaid, inputs, &[], None, &empty)?;
            let scratch = self.scratch_memory(backend)?;
            prepaid.ready = backend.submit(crate::Work {
                launches: &self.prologue,
                buffers: &buffers,
                scratch: scratch.as_ref(),
                stream: device.stream(),
                waits,
                after: None,
            })?;
        }
        device.asked(&prepaid.ready);
        Ok(prepaid)
    }

    pub(crate) fn scratch_memory(&self, backend: &dyn Backend) -> Result<Option<Bound>, RuntimeError> {
        if self.scratch == 0 {
            return Ok(None);
        }
        Ok(Some(Bound { memory: backend.allocate(self.scratch)?, offset: 0 }))
    }

    /// Where every buffer lies in one run.
    pub(crate) fn bind(
        &self,
        prepaid: &Prepaid,
        inputs: &[Bound],
        outputs: &[Bound],
        arena: Option<&Bound>,
        empty: &Arc<dyn crate::Memory>,
    ) -> Result<Vec<Bound>, RuntimeError> {
        let mut next_output = outputs.iter();
        let nothing = || Bound { memory: empty.clone(), offset: 0 };
        self.buffers
            .iter()
            .zip(&prepaid.constants)
            .map(|(buffer, constant)| {
                Ok(match (&buffer.home, constant) {
                    (Home::Input(i), _) => inputs.get(*i).cloned().unwrap_or_else(nothing),
                    (Home::Constant(_), Some(memory)) => Bound { memory: memory.clone(), offset: 0 },
                    (Home::Arena(offset), _) => match arena {
                        Some(arena) => Bound { memory: arena.memory.clone(), offset: arena.offset + offset },
                        None => nothing(),
                    },
                    (Home::Kept(offset), _) => match &prepaid.kept {
                        Some(memory) => Bound { memory: memory.clone(), offset: *offset },
                        None => nothing(),
                    },
                    (Home::Output, _) => next_output.next().cloned().unwrap_or_else(nothing),
                    (Home::Constant(_), None) => nothing(),
                })
            })
            .collect()
    }

    /// Bytes of each output buffer that a run allocates.
    pub fn output_bytes(&self) -> impl Iterator<Item = usize> {
        self.buffers.iter().filter(|b| b.home == Home::Output).map(|b| b.bytes)
    }
}
