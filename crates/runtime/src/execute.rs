//! Running executables: a plan, and what follows it when a value must be
//! looked at on the host.

use oneir_ir::graph::{Body, GraphError, Op, Operand, Role, Storage, Sym, Tensor, TensorGraph, TensorId};
use oneir_ir::primitive::EvalError;
use oneir_ir::{Nature, Place, Primitive, Spec, Value};
use oneir_tensor::HostTensor;
use rustc_hash::FxHashSet;

use crate::device::Runs;
use crate::legalize::Target;
use crate::plan::{Home, Plan};
use crate::{Bound, Device, Evaluated, Event, Given, Profile, RuntimeError, Work, verify_plan};

/// A graph ready to run: a plan, and where the graph breaks, what follows.
pub struct Executable {
    plan: Plan,
    rest: Option<Rest>,
}

/// What follows a break: one op that looks at values on the host, and the
/// graph after it, planned when the sizes before it are known.
struct Rest {
    op: Op,
    /// Reads the executable's inputs, then the plan's outputs, then the op's
    /// results.
    tail: TensorGraph,
    /// Tensors in the order in which the tail takes them, the op's results
    /// left out.
    carried: Vec<TensorId>,
}

impl std::fmt::Debug for Executable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Executable({} launches)", self.plan.launches.len())
    }
}

impl Executable {
    pub(crate) fn new(
        device: &Device,
        graph: TensorGraph,
        given: &[Given],
        runs: Runs,
    ) -> Result<Executable, RuntimeError> {
        let (head, rest) = split(graph);
        let kept: Vec<Given> = given.iter().map(|g| Given { donated: false, ..g.clone() }).collect();
        let target = Target {
            backend: device.backend(),
            numerics: device.options().numerics,
            given: if rest.is_some() { &kept } else { given },
            runs,
        };
        let mut plan = crate::legalize::plan(head, &target)?;
        // A run that fails half way must leave its inputs as they were.
        if !plan.taken.is_empty() && plan.launches.iter().any(|launch| launch.prepared.fallible) {
            plan = crate::legalize::plan(plan.graph, &Target { given: &kept, ..target })?;
        }
        if device.options().paranoid {
            verify_plan(&plan)?;
        }
        if let Some(rest) = &rest {
            rest.check(device)?;
        }
        Ok(Executable { plan, rest })
    }

    /// The plan up to the first break.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The op at which the graph breaks, if it does.
    pub fn break_at(&self) -> Option<&'static str> {
        self.rest.as_ref().map(|rest| rest.op.sym.name())
    }

    /// Runs on one value per input.
    ///
    /// # Errors
    /// When a value is on another device, or a kernel fails.
    pub fn run(
        &self,
        device: &Device,
        inputs: &[Evaluated],
        profile: Option<&mut Profile>,
    ) -> Result<Vec<Evaluated>, RuntimeError> {
        let mut profile = profile;
        let outputs = run_plan(&self.plan, device, inputs, profile.as_deref_mut())?;
        match &self.rest {
            None => Ok(outputs),
            Some(rest) => rest.run(device, inputs, outputs, profile),
        }
    }
}

fn run_plan(
    plan: &Plan,
    device: &Device,
    inputs: &[Evaluated],
    profile: Option<&mut Profile>,
) -> Result<Vec<Evaluated>, RuntimeError> {
    let backend = device.backend();
    let expected = &plan.graph.inputs;
    if inputs.len() != expected.len() {
        return Err(GraphError::Interface {
            what: "the inputs".into(),
            expected: format!("{} values", expected.len()),
            found: inputs.len().to_string(),
        }
        .into());
    }
    let mut given = Vec::with_capacity(inputs.len());
    for (i, (value, &id)) in inputs.iter().zip(expected).enumerate() {
        if value.spec() != plan.graph.spec(id) {
            return Err(GraphError::Interface {
                what: format!("input {i}"),
                expected: plan.graph.spec(id).to_string(),
                found: value.spec().to_string(),
            }
            .into());
        }
        let planned = &plan.given[i];
        if value.layout != planned.layout || value.memory.alignment() < planned.alignment {
            return Err(GraphError::Interface {
                what: format!("input {i}"),
                expected: format!("{:?} at a multiple of {}", planned.layout, planned.alignment),
                found: format!("{:?} at a multiple of {}", value.layout, value.memory.alignment()),
            }
            .into());
        }
        if !value.device.is(device) {
            return Err(RuntimeError::WrongDevice {
                expected: device.name().into(),
                found: value.device.name().into(),
            });
        }
        if plan.graph.tensor(id).role == Role::State && !value.memory.writable() {
            return Err(RuntimeError::Step("writes its states: put them into writable memory"));
        }
        given.push(Bound { memory: value.memory.clone(), offset: 0 });
    }
    let mut waits: Vec<Event> =
        inputs.iter().map(|value| value.ready.clone()).filter(|ready| ready.signal().is_some()).collect();
    let prepaid = plan.prepaid(device, &given, &waits)?;
    waits.extend(prepaid.ready.signal().is_some().then(|| prepaid.ready.clone()));
    let writes = |id: &oneir_ir::graph::TensorId| plan.graph.tensor(*id).role == Role::State;
    if !plan.taken.is_empty() || plan.graph.inputs.iter().any(writes) {
        waits.extend(device.elsewhere());
    }
    let outputs = plan
        .output_bytes()
        .map(|bytes| Ok(Bound { memory: backend.allocate(bytes)?, offset: 0 }))
        .collect::<Result<Vec<_>, RuntimeError>>()?;
    let arena = match plan.arena {
        0 => None,
        bytes => Some(Bound { memory: backend.allocate(bytes)?, offset: 0 }),
    };
    let scratch = plan.scratch_memory(backend)?;
    let empty = backend.allocate(0)?;
    let bound = plan.bind(&prepaid, &given, &outputs, arena.as_ref(), &empty)?;
    let done = submit(plan, device, &bound, scratch.as_ref(), &waits, profile)?;
    device.asked(&done);
    plan.outputs
        .iter()
        .zip(&plan.graph.outputs)
        .map(|(output, &id)| {
            let place = &bound[output.buffer.at()];
            let dtype = plan.graph.tensor(id).dtype;
            let mut layout = output.layout.clone();
            if dtype.size().is_none() && place.memory.len() != plan.buffers[output.buffer.at()].bytes {
                // Packed elements cannot begin inside a memory that others share.
                done.wait()?;
                let bytes = backend.download(place, plan.buffers[output.buffer.at()].bytes)?;
                let (memory, ready) = backend.adopt(device.stream(), &bytes)?;
                return Ok(Evaluated::new(device, memory, dtype, layout, ready));
            }
            // Kept results share one memory: their place in it is theirs.
            layout.offset += (place.offset / dtype.size().unwrap_or(1)) as isize;
            let made = Evaluated::new(device, place.memory.clone(), dtype, layout, done.clone());
            // A later run writes the states again: what the caller keeps is a copy.
            match plan.buffers[output.buffer.at()].home {
                Home::Input(i) if plan.graph.tensor(plan.graph.inputs[i]).role == Role::State => {
                    device.put_writable(&made.to_host_copy()?)
                }
                _ => Ok(made),
            }
        })
        .collect()
}

/// Runs a plan's launches over bound buffers.
pub(crate) fn submit(
    plan: &Plan,
    device: &Device,
    bound: &[Bound],
    scratch: Option<&Bound>,
    waits: &[Event],
    profile: Option<&mut Profile>,
) -> Result<Event, RuntimeError> {
    let backend = device.backend();
    if device.options().paranoid {
        return submit_poisoned(plan, device, bound, scratch, waits);
    }
    let mut record = profile.map(|profile| profile.recorder(plan));
    let mut after = record.as_mut().map(|record| |at: usize| record(at));
    backend.submit(Work {
        launches: &plan.launches,
        buffers: bound,
        scratch,
        stream: device.stream(),
        waits,
        after: after.as_mut().map(|f| f as &mut dyn FnMut(usize)),
    })
}

/// Overwrites memory before it is written and once it is dead: a kernel that
/// reads what it must not shows in the results.
fn submit_poisoned(
    plan: &Plan,
    device: &Device,
    bound: &[Bound],
    scratch: Option<&Bound>,
    waits: &[Event],
) -> Result<Event, RuntimeError> {
    const POISON: u8 = 0xA5;
    let backend = device.backend();
    let stream = device.stream();
    let mut waits = waits.to_vec();
    for (buffer, place) in plan.buffers.iter().zip(bound) {
        if matches!(buffer.home, Home::Output | Home::Arena(_)) {
            backend.fill(stream, place, buffer.bytes, POISON)?;
        }
    }
    if plan.launches.is_empty() {
        // Results that are inputs are there when all inputs are.
        let work = Work { launches: &[], buffers: bound, scratch, stream, waits: &waits, after: None };
        return backend.submit(work);
    }
    let mut deaths = plan.deaths.iter().peekable();
    for (at, launch) in plan.launches.chunks(1).enumerate() {
        if let Some(scratch) = scratch {
            backend.fill(stream, scratch, plan.scratch, POISON)?;
        }
        let work = Work { launches: launch, buffers: bound, scratch, stream, waits: &waits, after: None };
        // A launch after one that failed fails like it.
        waits = vec![backend.submit(work)?];
        while let Some((_, buffer)) = deaths.next_if(|(launch, _)| *launch as usize == at) {
            backend.fill(stream, &bound[buffer.at()], plan.buffers[buffer.at()].bytes, POISON)?;
        }
    }
    Ok(waits.pop().unwrap_or_default())
}

/// Whether an op must look at values on the host.
fn breaks(op: &Op) -> bool {
    matches!(&op.sym, Sym::Prim(p) if matches!(p.nature(), Nature::Control | Nature::DataSized))
}

/// A graph up to its first break, and what follows.
fn split(mut graph: TensorGraph) -> (TensorGraph, Option<Rest>) {
    let Some(at) = graph.ops.iter().position(breaks) else { return (graph, None) };
    let mut after = graph.ops.split_off(at);
    let op = after.remove(0);
    let made: FxHashSet<TensorId> =
        graph.ops.iter().flat_map(|op| op.results.iter().map(|r| r.tensor)).collect();
    let given: FxHashSet<TensorId> = graph.inputs.iter().copied().collect();
    let mut needed: Vec<TensorId> = Vec::new();
    let mut need = |id: TensorId| {
        if made.contains(&id) && !given.contains(&id) && !needed.contains(&id) {
            needed.push(id);
        }
    };
    for op in std::iter::once(&op).chain(&after) {
        op.operands.iter().for_each(|o| need(o.tensor));
    }
    graph.outputs.iter().for_each(|&id| need(id));
    let carried: Vec<TensorId> = graph.inputs.iter().chain(&needed).copied().collect();
    let mut tail = TensorGraph {
        name: graph.name.clone(),
        tensors: graph.tensors.clone(),
        ops: after,
        inputs: carried.iter().copied().chain(op.results.iter().map(|r| r.tensor)).collect(),
        outputs: std::mem::take(&mut graph.outputs),
        ..TensorGraph::default()
    };
    for &id in &tail.inputs {
        let tensor = &mut tail.tensors[id.at()];
        if tensor.role == Role::Activation {
            tensor.role = Role::Input;
        }
    }
    tail.number_lifted();
    graph.outputs = needed;
    (graph, Some(Rest { op, tail, carried }))
}

impl Rest {
    /// Plans what follows, where its sizes are known, so that a missing kernel
    /// is told before anything runs.
    fn check(&self, device: &Device) -> Result<(), RuntimeError> {
        let plan = |graph: &TensorGraph| {
            let rows = |id: &TensorId| Given::rows(&graph.tensor(*id).shape);
            device.executable(graph, graph.inputs.iter().map(rows).collect()).map(|_| ())
        };
        match &self.op.sym {
            Sym::Prim(Primitive::If { then, otherwise }) => {
                plan(then.graph())?;
                plan(otherwise.graph())?;
            }
            Sym::Prim(Primitive::While { condition, body, .. }) => {
                plan(condition.graph())?;
                plan(body.graph())?;
            }
            Sym::Prim(Primitive::ScanOver { body, .. }) => plan(body.graph())?,
            _ => {}
        }
        plan(&self.tail)
    }

    fn run(
        &self,
        device: &Device,
        inputs: &[Evaluated],
        outputs: Vec<Evaluated>,
        profile: Option<&mut Profile>,
    ) -> Result<Vec<Evaluated>, RuntimeError> {
        let mut values: Vec<Evaluated> = inputs.iter().cloned().chain(outputs).collect();
        let operands = self
            .op
            .operands
            .iter()
            .map(|o| self.operand(device, o, &values))
            .collect::<Result<Vec<_>, _>>()?;
        let mut profile = profile;
        let before = profile.as_ref().map_or(0, |profile| profile.launches.len());
        values.extend(host_op(device, &self.op, &operands, profile.as_deref_mut())?);
        let specs: Vec<Spec> = values.iter().map(Evaluated::spec).collect();
        let changed = specs.iter().zip(&self.tail.inputs).any(|(s, &id)| *s != self.tail.spec(id));
        let given: Vec<Given> = values.iter().map(Given::of).collect();
        let executable = if changed {
            device.executable(&retyped(&self.tail, &specs)?, given)?
        } else {
            device.executable(&self.tail, given)?
        };
        let results = executable.run(device, &values, profile.as_deref_mut())?;
        if let Some(profile) = profile {
            profile.launches.iter_mut().skip(before).for_each(|launch| launch.covers.clear());
        }
        Ok(results)
    }

    fn operand(
        &self,
        device: &Device,
        operand: &Operand,
        values: &[Evaluated],
    ) -> Result<Evaluated, RuntimeError> {
        let value = match self.carried.iter().position(|&id| id == operand.tensor) {
            Some(i) => values[i].clone(),
            None => match &self.tail.tensor(operand.tensor).storage {
                Storage::Values(value) => device.put(value)?,
                _ => {
                    return Err(GraphError::ReadBeforeWrite {
                        op: 0,
                        name: self.op.sym.name(),
                        tensor: format!("%{}", operand.tensor.0),
                    }
                    .into());
                }
            },
        };
        match self.tail.layout(operand).over(&value.layout) {
            Some(layout) => Ok(value.with_layout(layout)),
            None => device.put(&value.to_host()?.contiguous()?.with_layout(self.tail.layout(operand))?),
        }
    }
}

/// An op whose course or size is data.
fn host_op(
    device: &Device,
    op: &Op,
    operands: &[Evaluated],
    mut profile: Option<&mut Profile>,
) -> Result<Vec<Evaluated>, RuntimeError> {
    let mut run_body =
        |body: &Body, inputs: &[Evaluated]| run_body(device, body, inputs, profile.as_deref_mut());
    let Sym::Prim(primitive) = &op.sym else { return Ok(Vec::new()) };
    match primitive {
        Primitive::If { then, otherwise } => {
            let body = if truth(&operands[0])? { then } else { otherwise };
            run_body(body, &operands[1..])
        }
        Primitive::While { condition, body, carried } => {
            let mut values = operands.to_vec();
            while truth(&run_body(condition, &values)?[0])? {
                let next = run_body(body, &values)?;
                values.splice(..*carried, next);
            }
            values.truncate(*carried);
            Ok(values)
        }
        Primitive::ScanOver { body, carried, scanned, reverse } => {
            scan(device, body, operands, [*carried, *scanned], *reverse, run_body)
        }
        Primitive::Narrow { axis } => {
            let found = operands[1].to_host()?.values()?.to_ints().and_then(|v| v.first().copied());
            let mut layout = operands[0].layout.clone();
            let high = layout.shape[*axis];
            match found.map(usize::try_from) {
                Some(Ok(count)) if count <= high => layout.shape[*axis] = count,
                _ => {
                    let why = EvalError::OutOfRange {
                        what: "the count of narrow",
                        found: found.unwrap_or(-1),
                        low: 0,
                        high: high as i64,
                    };
                    return Err(RuntimeError::Kernel {
                        device: device.name().into(),
                        op: "narrow".into(),
                        why: Box::new(why),
                    });
                }
            }
            Ok(vec![operands[0].with_layout(layout)])
        }
        other => Err(RuntimeError::Unsupported {
            device: device.name().into(),
            op: other.name().into(),
            operands: "the host".into(),
            place: Place::Internal,
            lifted: op.covers.first().map_or(u32::MAX, |c| c.0),
        }),
    }
}

fn truth(value: &Evaluated) -> Result<bool, RuntimeError> {
    Ok(value.to_host()?.to_vec::<bool>()?.first().copied().unwrap_or(false))
}

fn run_body(
    device: &Device,
    body: &Body,
    inputs: &[Evaluated],
    profile: Option<&mut Profile>,
) -> Result<Vec<Evaluated>, RuntimeError> {
    let given = inputs.iter().map(Given::of).collect();
    device.executable(body.graph(), given)?.run(device, inputs, profile)
}

fn scan(
    device: &Device,
    body: &Body,
    operands: &[Evaluated],
    [carried, scanned]: [usize; 2],
    reverse: bool,
    mut run_body: impl FnMut(&Body, &[Evaluated]) -> Result<Vec<Evaluated>, RuntimeError>,
) -> Result<Vec<Evaluated>, RuntimeError> {
    let items = operands[carried].layout.shape[0];
    let mut values = operands.to_vec();
    let results = body.graph().outputs.len();
    let mut stacks: Vec<Vec<Evaluated>> = vec![Vec::with_capacity(items); results - carried];
    for i in 0..items {
        let item = if reverse { items - 1 - i } else { i };
        for k in carried..carried + scanned {
            let mut layout = operands[k].layout.clone();
            layout.shape.remove(0);
            layout.offset += item as isize * layout.strides.remove(0);
            values[k] = operands[k].with_layout(layout);
        }
        let mut next = run_body(body, &values)?;
        for (stack, item) in stacks.iter_mut().zip(next.drain(carried..)) {
            stack.push(item);
        }
        values.splice(..carried, next);
    }
    values.truncate(carried);
    for (k, mut stack) in stacks.into_iter().enumerate() {
        if reverse {
            stack.reverse();
        }
        let spec = body.graph().spec(body.graph().outputs[carried + k]);
        values.push(stacked(device, &spec, stack)?);
    }
    Ok(values)
}

/// Items joined along a new first axis.
fn stacked(device: &Device, spec: &Spec, items: Vec<Evaluated>) -> Result<Evaluated, RuntimeError> {
    if items.is_empty() {
        let mut shape = spec.shape.clone();
        shape.insert(0, 0);
        return device.put(&HostTensor::zeros(spec.dtype, &shape)?);
    }
    let record = |primitive: Primitive, inputs: &[&Value]| {
        Value::record(primitive, inputs, Place::Internal)
            .map_err(|why| RuntimeError::Graph(GraphError::Inference { op: "scan_over".into(), why }))
    };
    let rows = items
        .into_iter()
        .map(|item| record(Primitive::ExpandDims(vec![0]), &[&item.into_value()]))
        .collect::<Result<Vec<_>, _>>()?;
    let joined = record(Primitive::Concatenate { axis: 0 }, &rows.iter().collect::<Vec<_>>())?;
    device.evaluate(std::slice::from_ref(&joined))?;
    Evaluated::of(&joined).cloned().ok_or(RuntimeError::NeverComputed)
}

/// A graph with other input sizes: shapes are inferred anew.
fn retyped(graph: &TensorGraph, specs: &[Spec]) -> Result<TensorGraph, RuntimeError> {
    let mut out = graph.clone();
    for (&id, spec) in graph.inputs.iter().zip(specs) {
        let old = &graph.tensors[id.at()];
        out.tensors[id.at()] = Tensor { shape: spec.shape.clone(), dtype: spec.dtype, ..old.clone() };
    }
    for at in 0..out.ops.len() {
        let mut op = out.ops[at].clone();
        retype_op(&mut out, &mut op)?;
        out.ops[at] = op;
    }
    Ok(out)
}

fn retype_op(graph: &mut TensorGraph, op: &mut Op) -> Result<(), RuntimeError> {
    // A view that was made for another size may leave its tensor.
    for operand in &op.operands {
        let count = graph.tensor(operand.tensor).shape.count();
        graph.layout(operand).check_within(count).map_err(|why| GraphError::ViewOutOfTensor {
            op: 0,
            name: op.sym.name(),
            tensor: format!("%{}", operand.tensor.0),
            why,
        })?;
    }
    if let Sym::Fused(fused) = &mut op.sym {
        for part in &mut fused.definition {
            retype_op(graph, part)?;
        }
    }
    let specs = graph.results(op)?;
    for (result, spec) in op.results.iter().zip(specs) {
        if result.dst == oneir_ir::graph::Dst::Own {
            graph.tensors[result.tensor.at()].shape = spec.shape;
        }
    }
    Ok(())
}
