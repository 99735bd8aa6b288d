//! Lowering a graph to launches: each op asks the kernel table; operands are
//! repacked, results move through temporaries, and fused ops without a kernel
//! become their definitions.

use std::sync::Mutex;

use oneir_ir::graph::{
    Access, Dst, Fill, Op, Operand, Role, RowSel, Storage, Sym, TensorGraph, TensorId, WriteResult,
};
use oneir_ir::{Place, Primitive, Spec, reference};
use oneir_tensor::{HostTensor, Layout};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::arena::{ALIGNMENT, Arena};
use crate::device::Runs;
use crate::plan::{Argument, BufferId, BufferPlan, Given, Home, Launch, Plan};
use crate::{Answer, Backend, Numerics, OperandSpec, Prepared, Request, ResultSpec, RuntimeError};

/// What a plan is made for.
pub(crate) struct Target<'a> {
    pub(crate) backend: &'a dyn Backend,
    pub(crate) numerics: Numerics,
    /// The inputs, one for each of the graph's.
    pub(crate) given: &'a [Given],
    pub(crate) runs: Runs,
}

/// Lowers an optimised graph.
pub(crate) fn plan(graph: TensorGraph, target: &Target<'_>) -> Result<Plan, RuntimeError> {
    let mut lowering = Lowering::new(&graph, target)?;
    for (at, op) in graph.ops.iter().enumerate() {
        lowering.op(at as u32, op)?;
    }
    let outputs = graph.outputs.iter().map(|&id| lowering.argument(id)).collect::<Result<Vec<_>, _>>()?;
    let Lowering { buffers, prologue, launches, scratch, in_place, .. } = lowering;
    let mut plan = Plan {
        buffers,
        prologue,
        launches,
        deaths: Vec::new(),
        outputs,
        arena: 0,
        kept: 0,
        scratch,
        given: target.given.to_vec(),
        taken: Vec::new(),
        once: Mutex::default(),
        graph,
    };
    place(&mut plan, &in_place);
    Ok(plan)
}

/// Of a launch and a result, operands that die there.
type Candidates = FxHashMap<(u32, BufferId), SmallVec<[BufferId; 2]>>;

struct Lowering<'a> {
    graph: &'a TensorGraph,
    target: &'a Target<'a>,
    buffers: Vec<BufferPlan>,
    /// Where each tensor lies, once it has a place.
    places: Vec<Option<Argument>>,
    /// The last op that writes rows of a tensor; `u32::MAX` where none does.
    last_write: Vec<u32>,
    /// Whether a tensor is the same at every run.
    constant: Vec<bool>,
    prologue: Vec<Launch>,
    launches: Vec<Launch>,
    scratch: usize,
    /// For a launch's result, the operand buffers that it may take the memory of.
    in_place: Candidates,
}

impl<'a> Lowering<'a> {
    fn new(graph: &'a TensorGraph, target: &'a Target<'a>) -> Result<Self, RuntimeError> {
        let mut lowering = Lowering {
            graph,
            target,
            buffers: Vec::with_capacity(graph.tensors.len()),
            places: vec![None; graph.tensors.len()],
            last_write: last_writes(graph),
            constant: graph.tensors.iter().map(|t| t.role == Role::Constant).collect(),
            prologue: Vec::new(),
            launches: Vec::with_capacity(graph.ops.len()),
            scratch: 0,
            in_place: Candidates::default(),
        };
        for (i, &id) in graph.inputs.iter().enumerate() {
            let spec = graph.spec(id);
            let layout = target.given[i].layout.clone();
            let buffer = lowering.buffer(bytes_of(&spec), Home::Input(i));
            lowering.places[id.at()] = Some(Argument { buffer, layout });
        }
        for (i, tensor) in graph.tensors.iter().enumerate() {
            let value = match (&tensor.storage, tensor.fill) {
                (Storage::Values(value), _) => value.clone(),
                (Storage::Rows { format, .. }, _) if lowering.places[i].is_none() => {
                    return Err(oneir_ir::graph::GraphError::FormatUnsupported {
                        tensor: format!("%{i}"),
                        format: format.to_string(),
                        who: "a plan without its rows bound",
                    }
                    .into());
                }
                (_, Fill::Number(number)) if lowering.places[i].is_none() => {
                    reference::filled(tensor, number)?
                }
                _ => continue,
            };
            lowering.hold(TensorId(i as u32), value);
        }
        Ok(lowering)
    }

    fn hold(&mut self, id: TensorId, value: HostTensor) {
        let bytes = bytes_of(&self.graph.spec(id));
        let layout = Layout::contiguous(value.shape());
        let buffer = self.buffer(bytes, Home::Constant(value));
        self.places[id.at()] = Some(Argument { buffer, layout });
        self.constant[id.at()] = true;
    }

    fn buffer(&mut self, bytes: usize, home: Home) -> BufferId {
        self.buffers.push(BufferPlan { bytes, home });
        BufferId(self.buffers.len() as u32 - 1)
    }

    fn argument(&self, id: TensorId) -> Result<Argument, RuntimeError> {
        self.places[id.at()].clone().ok_or_else(|| {
            oneir_ir::graph::GraphError::ReadBeforeWrite {
                op: self.graph.ops.len(),
                name: "the plan",
                tensor: format!("%{}", id.0),
            }
            .into()
        })
    }

    /// Where an operand's elements lie in its buffer; `None` where strides
    /// cannot say it.
    fn read(&self, operand: &Operand) -> Result<Option<Argument>, RuntimeError> {
        let place = self.argument(operand.tensor)?;
        let layout = match &operand.access {
            Access::Whole => Some(place.layout),
            _ => self.graph.layout(operand).over(&place.layout),
        };
        Ok(layout.map(|layout| Argument { buffer: place.buffer, layout }))
    }

    fn op(&mut self, at: u32, op: &Op) -> Result<(), RuntimeError> {
        let mut reads: SmallVec<[Argument; 3]> = SmallVec::new();
        for operand in &op.operands {
            let argument = match self.read(operand)? {
                Some(argument) => argument,
                None => {
                    // A view of a strided input that strides cannot say: copy
                    // the tensor first.
                    let whole = self.argument(operand.tensor)?;
                    let packed = self.copied(at, self.graph.tensor(operand.tensor).dtype, &whole)?;
                    let layout = self.graph.layout(operand);
                    Argument { buffer: packed.buffer, layout }
                }
            };
            reads.push(argument);
        }
        let constant = self.target.runs == Runs::Many
            && op.operands.iter().all(|o| self.constant[o.tensor.at()])
            && op.results.iter().all(|r| r.dst == Dst::Own)
            && !op.operands.is_empty()
            && pure(&op.sym);
        let presented = match &op.sym {
            Sym::View => Some(0),
            Sym::Prim(primitive) => primitive.presents(),
            Sym::Fused(_) => None,
        };
        if let Some(first) = presented.filter(|_| op.results.iter().all(|r| r.dst == Dst::Own)) {
            for ((result, operand), seen) in op.results.iter().zip(&op.operands[first..]).zip(&reads[first..])
            {
                let tensor = operand.tensor;
                // What a later op writes over must be copied now.
                let kept = if self.last_write[tensor.at()] >= at && self.last_write[tensor.at()] != u32::MAX {
                    self.copied(at, self.graph.tensor(tensor).dtype, seen)?
                } else {
                    seen.clone()
                };
                self.places[result.tensor.at()] = Some(kept);
                self.constant[result.tensor.at()] = constant;
            }
            return Ok(());
        }
        // A result with a buffer of its own is what its tensor says.
        let specs = if op.results.iter().all(|r| r.dst == Dst::Own) {
            op.results.iter().map(|r| self.graph.spec(r.tensor)).collect()
        } else {
            self.graph.results(op)?
        };
        let mut direct: SmallVec<[ResultSpec; 1]> = SmallVec::new();
        for (result, spec) in op.results.iter().zip(&specs) {
            direct.push(ResultSpec {
                spec: spec.clone(),
                dst: result.dst,
                capacity: match result.dst {
                    Dst::Own => spec.count(),
                    Dst::Rows { .. } => self.graph.tensor(result.tensor).shape.count(),
                },
            });
        }
        if self.launch(at, &op.sym, op, &mut reads, &direct, constant)? {
            return Ok(());
        }
        let lands = op.results.iter().any(|r| r.dst != Dst::Own);
        if lands {
            // Into a buffer of its own first, then into the table.
            let own: SmallVec<[ResultSpec; 1]> = specs.iter().cloned().map(ResultSpec::own).collect();
            if self.through_own(at, op, &mut reads, &own)? {
                return Ok(());
            }
        }
        if let Sym::Fused(fused) = &op.sym {
            for part in &fused.definition {
                self.op(at, part)?;
            }
            return Ok(());
        }
        let operands: Vec<String> =
            op.operands.iter().map(|o| self.graph.operand_spec(o).to_string()).collect();
        let name = match &op.sym {
            Sym::Prim(Primitive::Kernel(call)) => format!("kernel {}", call.name),
            sym => sym.name().into(),
        };
        Err(RuntimeError::Unsupported {
            device: self.target.backend.name().into(),
            op: name,
            operands: format!("({})", operands.join(", ")),
            place: Place::Internal,
            lifted: op.covers.first().map_or(u32::MAX, |c| c.0),
        })
    }

    fn ask(
        &self,
        sym: &Sym,
        reads: &[Argument],
        dtypes: &[oneir_tensor::DType],
        constants: &[bool],
        results: &[ResultSpec],
    ) -> Answer {
        let operands: SmallVec<[OperandSpec; 3]> = reads
            .iter()
            .zip(dtypes)
            .zip(constants)
            .map(|((read, &dtype), &constant)| OperandSpec {
                dtype,
                layout: read.layout.clone(),
                alignment: match self.buffers[read.buffer.at()].home {
                    Home::Input(i) => self.target.given[i].alignment,
                    _ => ALIGNMENT,
                },
                constant,
            })
            .collect();
        self.target.backend.kernels().ask(&Request {
            sym,
            operands: &operands,
            results,
            numerics: self.target.numerics,
            threads: self.target.backend.threads(),
        })
    }

    /// Launches an op whose results land where the op says. Whether a kernel
    /// took it.
    fn launch(
        &mut self,
        at: u32,
        sym: &Sym,
        op: &Op,
        reads: &mut SmallVec<[Argument; 3]>,
        results: &[ResultSpec],
        constant: bool,
    ) -> Result<bool, RuntimeError> {
        let mut dtypes: SmallVec<[oneir_tensor::DType; 3]> =
            op.operands.iter().map(|o| self.graph.tensor(o.tensor).dtype).collect();
        let mut constants: SmallVec<[bool; 3]> =
            op.operands.iter().map(|o| self.constant[o.tensor.at()]).collect();
        let before = reads.len();
        for result in &op.results {
            if let Dst::Rows { row: RowSel::Param(row), .. } = result.dst {
                reads.push(self.argument(row)?);
                dtypes.push(self.graph.tensor(row).dtype);
                constants.push(false);
            }
        }
        let mut answer = self.ask(sym, reads, &dtypes, &constants, results);
        let mut packed: SmallVec<[bool; 4]> = SmallVec::from_elem(false, reads.len());
        // One operand after the other, as the kernel asks; none twice.
        while let Answer::Repack(operands) = &answer {
            let fresh: SmallVec<[usize; 4]> =
                operands.iter().map(|&k| usize::from(k)).filter(|&k| !packed[k]).collect();
            if fresh.is_empty() {
                break;
            }
            for k in fresh {
                reads[k] = self.copied(at, dtypes[k], &reads[k])?;
                packed[k] = true;
            }
            answer = self.ask(sym, reads, &dtypes, &constants, results);
        }
        let Answer::Yes(prepared) = answer else {
            reads.truncate(before);
            return Ok(false);
        };
        let mut writes = Vec::with_capacity(op.results.len());
        for (result, spec) in op.results.iter().zip(results) {
            match result.dst {
                Dst::Own => writes.push(self.new_result(result.tensor, &spec.spec, constant)),
                Dst::Rows { .. } => writes.push(self.argument(result.tensor)?.buffer),
            }
        }
        self.push(at, sym.name(), prepared, reads, writes, constant);
        Ok(true)
    }

    fn new_result(&mut self, id: TensorId, spec: &Spec, constant: bool) -> BufferId {
        let buffer = self.buffer(bytes_of(spec), if constant { Home::Kept(0) } else { Home::Arena(0) });
        self.places[id.at()] = Some(Argument { buffer, layout: Layout::contiguous(&spec.shape) });
        self.constant[id.at()] = constant;
        buffer
    }

    fn push(
        &mut self,
        at: u32,
        symbol: &'static str,
        prepared: Prepared,
        reads: &[Argument],
        writes: Vec<BufferId>,
        constant: bool,
    ) {
        self.scratch = self.scratch.max(prepared.scratch);
        let list = if constant { &mut self.prologue } else { &mut self.launches };
        if !constant {
            for &(result, operand) in &prepared.in_place {
                let pair = (writes.get(usize::from(result)), reads.get(usize::from(operand)));
                let (Some(&write), Some(read)) = pair else { continue };
                self.in_place.entry((list.len() as u32, write)).or_default().push(read.buffer);
            }
        }
        list.push(Launch {
            prepared,
            reads: reads.iter().map(|r| r.buffer).collect(),
            writes,
            op: at,
            symbol,
        });
    }

    /// A row-contiguous copy of a value.
    fn copied(
        &mut self,
        at: u32,
        dtype: oneir_tensor::DType,
        from: &Argument,
    ) -> Result<Argument, RuntimeError> {
        let spec = Spec { shape: from.layout.shape.clone(), dtype };
        let constant = match self.buffers[from.buffer.at()].home {
            _ if self.target.runs == Runs::Once => false,
            Home::Constant(_) | Home::Kept(_) => true,
            Home::Input(i) => self.graph.tensor(self.graph.inputs[i]).role == Role::Constant,
            Home::Arena(_) | Home::Output => false,
        };
        let results = [ResultSpec::own(spec.clone())];
        let sym = Sym::Prim(Primitive::Copy);
        let reads = [from.clone()];
        match self.ask(&sym, &reads, &[dtype], &[constant], &results) {
            Answer::Yes(prepared) => {
                let home = if constant { Home::Kept(0) } else { Home::Arena(0) };
                let buffer = self.buffer(bytes_of(&spec), home);
                self.push(at, "copy", prepared, &reads, vec![buffer], constant);
                Ok(Argument { buffer, layout: Layout::contiguous(&spec.shape) })
            }
            _ => Err(RuntimeError::Unsupported {
                device: self.target.backend.name().into(),
                op: "copy".into(),
                operands: format!("({spec})"),
                place: Place::Internal,
                lifted: u32::MAX,
            }),
        }
    }

    /// Launches an op into buffers of its own, and copies from there into the
    /// tables that its results land in.
    fn through_own(
        &mut self,
        at: u32,
        op: &Op,
        reads: &mut SmallVec<[Argument; 3]>,
        own: &[ResultSpec],
    ) -> Result<bool, RuntimeError> {
        let plain = Op {
            sym: op.sym.clone(),
            operands: op.operands.clone(),
            results: op.results.iter().map(|r| WriteResult::own(r.tensor)).collect(),
            covers: SmallVec::new(),
        };
        let tables: SmallVec<[Option<Argument>; 1]> =
            op.results.iter().map(|r| self.places[r.tensor.at()].clone()).collect();
        if !self.launch(at, &op.sym, &plain, reads, own, false)? {
            return Ok(false);
        }
        for ((result, table), spec) in op.results.iter().zip(tables).zip(own) {
            if result.dst == Dst::Own {
                continue;
            }
            let Some(made) = self.places[result.tensor.at()].take() else { continue };
            self.places[result.tensor.at()] = table;
            let mut reads: SmallVec<[Argument; 3]> = [made].into_iter().collect();
            let mut dtypes: SmallVec<[oneir_tensor::DType; 2]> = [spec.spec.dtype].into_iter().collect();
            if let Dst::Rows { row: RowSel::Param(row), .. } = result.dst {
                reads.push(self.argument(row)?);
                dtypes.push(self.graph.tensor(row).dtype);
            }
            let sym = Sym::Prim(Primitive::Copy);
            let capacity = self.graph.tensor(result.tensor).shape.count();
            let lands = [ResultSpec { spec: spec.spec.clone(), dst: result.dst, capacity }];
            let Answer::Yes(prepared) = self.ask(&sym, &reads, &dtypes, &[false, false], &lands) else {
                return Err(RuntimeError::Unsupported {
                    device: self.target.backend.name().into(),
                    op: "copy into rows".into(),
                    operands: format!("({})", spec.spec),
                    place: Place::Internal,
                    lifted: op.covers.first().map_or(u32::MAX, |c| c.0),
                });
            };
            let writes = vec![self.argument(result.tensor)?.buffer];
            self.push(at, "copy", prepared, &reads, writes, false);
        }
        Ok(true)
    }
}

fn last_writes(graph: &TensorGraph) -> Vec<u32> {
    let mut last = vec![u32::MAX; graph.tensors.len()];
    for (at, op) in graph.ops.iter().enumerate() {
        for result in op.results.iter().filter(|r| r.dst != Dst::Own) {
            last[result.tensor.at()] = at as u32;
        }
    }
    last
}

fn pure(sym: &Sym) -> bool {
    match sym {
        Sym::Prim(primitive) => primitive.nature().is_pure(),
        Sym::View | Sym::Fused(_) => true,
    }
}

fn bytes_of(spec: &Spec) -> usize {
    spec.dtype.bytes_for(spec.count()).unwrap_or(usize::MAX)
}

/// Gives every buffer its place: outputs memory of their own, results of
/// constants memory that is kept, all others places in one arena by the time
/// that they live.
fn place(plan: &mut Plan, in_place: &Candidates) {
    let mut last = vec![None::<u32>; plan.buffers.len()];
    for (at, launch) in plan.launches.iter().enumerate() {
        for buffer in launch.reads.iter().chain(&launch.writes) {
            last[buffer.at()] = Some(at as u32);
        }
    }
    let mut is_output = vec![false; plan.buffers.len()];
    for output in &plan.outputs {
        is_output[output.buffer.at()] = true;
    }
    let mut kept = 0;
    for buffer in &mut plan.buffers {
        if let Home::Kept(at) = &mut buffer.home {
            *at = kept;
            kept += crate::arena::aligned(buffer.bytes.max(1));
        }
    }
    plan.kept = kept;

    let mut arena = Arena::default();
    for at in 0..plan.launches.len() {
        let mut taken: SmallVec<[BufferId; 2]> = SmallVec::new();
        for k in 0..plan.launches[at].writes.len() {
            let id = plan.launches[at].writes[k];
            let first = plan.buffers[id.at()].home == Home::Arena(0) && !placed(plan, id, at, k);
            if !first {
                continue;
            }
            let options = in_place.get(&(at as u32, id));
            let dead_after = |plan: &Plan, option: &BufferId| {
                last[option.at()] == Some(at as u32)
                    && plan.buffers[option.at()].bytes == plan.buffers[id.at()].bytes
                    && plan.launches[at].reads.iter().filter(|r| *r == option).count() == 1
                    && !is_output[option.at()]
            };
            // The memory of a donated input becomes the result's.
            let donated = options.into_iter().flatten().copied().find_map(|option| {
                match plan.buffers[option.at()].home {
                    Home::Input(i)
                        if plan.given[i].donated && !plan.taken.contains(&i) && dead_after(plan, &option) =>
                    {
                        Some(i)
                    }
                    _ => None,
                }
            });
            if let Some(i) = donated {
                plan.buffers[id.at()].home = Home::Input(i);
                plan.taken.push(i);
                continue;
            }
            if is_output[id.at()] {
                plan.buffers[id.at()].home = Home::Output;
                continue;
            }
            let reuse = match options {
                Some(options) => options.iter().copied().find(|option| {
                    matches!(plan.buffers[option.at()].home, Home::Arena(_))
                        && !taken.contains(option)
                        && dead_after(plan, option)
                }),
                None => None,
            };
            let offset = match reuse {
                Some(option) => {
                    taken.push(option);
                    match plan.buffers[option.at()].home {
                        Home::Arena(offset) => offset,
                        _ => 0,
                    }
                }
                None => arena.take(plan.buffers[id.at()].bytes),
            };
            plan.buffers[id.at()].home = Home::Arena(offset);
        }
        let launch = &plan.launches[at];
        let mut dying: SmallVec<[BufferId; 4]> = SmallVec::new();
        for &buffer in launch.reads.iter().chain(&launch.writes) {
            let dies = last[buffer.at()] == Some(at as u32) && !is_output[buffer.at()];
            if dies && matches!(plan.buffers[buffer.at()].home, Home::Arena(_)) && !dying.contains(&buffer) {
                dying.push(buffer);
            }
        }
        for buffer in dying {
            if taken.contains(&buffer) {
                continue;
            }
            if let Home::Arena(offset) = plan.buffers[buffer.at()].home {
                arena.give(offset, plan.buffers[buffer.at()].bytes);
                plan.deaths.push((at as u32, buffer));
            }
        }
    }
    plan.arena = arena.peak();
}

/// Whether an earlier launch, or an earlier result of this one, placed the
/// buffer. Each buffer is made by one launch, so this asks that launch only.
fn placed(plan: &Plan, id: BufferId, at: usize, k: usize) -> bool {
    plan.launches[at].writes[..k].contains(&id)
}
