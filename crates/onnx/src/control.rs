//! Control flow: `If`, `Loop`, `Scan` and `SequenceMap`.
//!
//! A body is traced where it stands, as often as it runs, while it is known that
//! it does: its steps are put before what is left to do, with names of their own.
//! A condition of `If` that is not known ends the trace like any other value that
//! must be looked at. A loop that goes on for too long, or for how long only a run
//! knows, becomes a loop on the host over its body, a program of its own.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use oneir_array::{Array, Device, HostTensor};
use oneir_runtime::Profile;

use crate::call::{Call, Looking};
use crate::error::OnnxError;
use crate::file::{Dim, Graph, OnnxFile, ValueInfo, ValueType};
use crate::ops::{Row, row};
use crate::parts::Program;
use crate::program::{NodeStep, Pending, Step, enter};
use crate::term::Term;
use crate::trace::Environment;

pub(crate) const ROWS: &[Row] = &[
    row!(control If [1, 11, 13, 16, 19, 21, 23, 24, 25]),
    row!(control Loop [1, 11, 13, 16, 19, 21, 23, 24, 25]),
    row!(control Scan [8, 9, 11, 16, 19, 21, 23, 24, 25]),
    row!(control SequenceMap [17]),
    row!(control "ai.onnx.preview" FlexAttention [1]),
];

/// A loop is traced as often as it runs up to this many nodes in all.
const MAX_UNROLLED: u64 = 2048;

/// The operators whose attributes hold graphs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Control {
    If,
    Loop,
    Scan,
    SequenceMap,
    FlexAttention,
}

/// A loop under way.
#[derive(Debug, Clone)]
pub(crate) struct Iteration {
    step: Arc<NodeStep>,
    kind: Kind,
    /// Iterations that are done.
    done: u64,
    /// The values carried from one iteration to the next.
    carried: Vec<String>,
    /// What each iteration gave for the outputs that join all of them.
    joined: Vec<Vec<String>>,
}

#[derive(Debug, Clone)]
enum Kind {
    Loop {
        most: Most,
        /// Whether the next iteration runs; it does where nothing says so.
        condition: Option<String>,
    },
    Scan {
        items: u64,
        /// The tensors whose items are read, their axes, and whether from the end.
        scanned: Vec<(String, usize, bool)>,
        /// The axes of the outputs that join items, and whether from the end.
        lands: Vec<(i64, bool)>,
    },
}

/// How many iterations there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Most {
    Known(u64),
    /// As many as the node's first input says when it runs.
    Read,
    Unbounded,
}

/// What came of a step of control flow.
pub(crate) enum Entered {
    /// Steps were put before what is left to do, or values made.
    Going,
    /// The loop is to run on the host.
    OnHost(Box<HostLoop>),
}

/// A loop whose body runs as a program of its own.
pub(crate) struct HostLoop {
    iteration: Iteration,
    body: Program,
    captures: Vec<String>,
    pub(crate) why: OnnxError,
}

impl std::fmt::Debug for HostLoop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HostLoop({})", self.why)
    }
}

/// What control flow works on while it is traced.
pub(crate) struct Site<'a> {
    pub(crate) file: &'a Arc<OnnxFile>,
    pub(crate) pending: &'a mut Pending,
    pub(crate) environment: &'a mut Environment,
    pub(crate) looking: &'a Looking,
}

impl Site<'_> {
    pub(crate) fn call<'c>(&'c self, step: &'c NodeStep) -> Call<'c> {
        let inputs = step.node.inputs.iter().map(|name| self.environment.get(name).cloned()).collect();
        Call {
            node: &step.node,
            version: step.version,
            inputs,
            looking: self.looking,
            made: RefCell::default(),
        }
    }

    pub(crate) fn enter(
        &mut self,
        step: &NodeStep,
        graph: &Graph,
        given: &HashMap<&str, String>,
        prefix: &str,
        out: &mut Vec<Step>,
    ) -> Result<Vec<String>, OnnxError> {
        enter(self.file, step, graph, given, prefix, self.environment, out)
    }

    /// Begins a node of control flow. When it must look at a value that is not
    /// known, nothing has changed.
    pub(crate) fn begin(&mut self, control: Control, step: &Arc<NodeStep>) -> Result<Entered, OnnxError> {
        match control {
            Control::If => self.branch(step)?,
            Control::SequenceMap => self.map(step)?,
            Control::FlexAttention => self.flex_attention(step)?,
            Control::Loop => return self.begin_loop(step),
            Control::Scan => return self.begin_scan(step),
        }
        Ok(Entered::Going)
    }

    fn branch(&mut self, step: &NodeStep) -> Result<(), OnnxError> {
        let call = self.call(step);
        let chosen = truth(&call, &call.host(0)?)?;
        let graph = step.node.attributes.graph(if chosen { "then_branch" } else { "else_branch" })?.clone();
        if graph.outputs.len() < step.node.outputs.len() {
            return Err(call.fails(format!(
                "the branch has {} outputs for the node's {}",
                graph.outputs.len(),
                step.node.outputs.len()
            )));
        }
        self.pending.done();
        let prefix = self.pending.prefix(step);
        let mut steps = Vec::new();
        let from = self.enter(step, &graph, &HashMap::new(), &prefix, &mut steps)?;
        steps.push(Step::Bind { from, to: step.node.outputs.clone() });
        self.pending.first(steps);
        Ok(())
    }

    /// Runs a body on each item of sequences.
    fn map(&mut self, step: &NodeStep) -> Result<(), OnnxError> {
        let call = self.call(step);
        let graph = step.node.attributes.graph("body")?.clone();
        let Term::Sequence(first) = call.term(0)? else {
            return Err(call.fails("input 0 must be a sequence"));
        };
        let count = first.len();
        let mut items: Vec<Vec<Term>> = vec![Vec::new(); count];
        for (k, term) in call.inputs.iter().enumerate() {
            match term {
                Some(Term::Sequence(list)) if list.len() == count => {
                    items.iter_mut().zip(list).for_each(|(all, item)| all.push(item.clone()));
                }
                Some(Term::Sequence(list)) => {
                    let problem = format!("input {k} has {} items where input 0 has {count}", list.len());
                    return Err(call.fails(problem));
                }
                Some(whole) => items.iter_mut().for_each(|all| all.push(whole.clone())),
                None => return Err(call.fails(format!("input {k} is missing"))),
            }
        }
        check_arity(&call, "the body", "inputs", graph.inputs.len(), call.inputs.len())?;
        self.pending.done();
        let mut steps = Vec::new();
        let mut from = vec![Vec::new(); step.node.outputs.len()];
        for all in items {
            let prefix = self.pending.prefix(step);
            let given = self.give(&graph.inputs, all, &prefix);
            let results = self.enter(step, &graph, &given, &prefix, &mut steps)?;
            from.iter_mut().zip(results).for_each(|(list, name)| list.push(name));
        }
        steps.push(Step::Collect { from, to: step.node.outputs.clone() });
        self.pending.first(steps);
        Ok(())
    }

    /// Names for a body's inputs, which are put into the environment.
    fn give<'g>(
        &mut self,
        inputs: &'g [ValueInfo],
        terms: Vec<Term>,
        prefix: &str,
    ) -> HashMap<&'g str, String> {
        let mut given = HashMap::new();
        for (input, term) in inputs.iter().zip(terms) {
            let name = format!("{prefix}{}", input.name);
            self.environment.insert(name.clone(), term);
            given.insert(input.name.as_str(), name);
        }
        given
    }

    fn begin_loop(&mut self, step: &Arc<NodeStep>) -> Result<Entered, OnnxError> {
        let call = self.call(step);
        let graph = step.node.attributes.graph("body")?.clone();
        let carried: Vec<String> = step.node.inputs.iter().skip(2).cloned().collect();
        check_arity(&call, "the body", "inputs", graph.inputs.len(), carried.len() + 2)?;
        let joined = graph.outputs.len().checked_sub(carried.len() + 1).ok_or_else(|| {
            call.fails(format!(
                "the body has {} outputs: a condition and {} carried values are expected",
                graph.outputs.len(),
                carried.len()
            ))
        })?;
        let mut unknown = None;
        let most = match call.has(0).then(|| most_of(&call)) {
            None => Most::Unbounded,
            Some(Ok(most)) => Most::Known(most),
            Some(Err(why @ OnnxError::UnknownValue { .. })) => {
                unknown = Some(why);
                Most::Read
            }
            Some(Err(other)) => return Err(other),
        };
        let condition = call.has(1).then(|| step.node.inputs[1].clone());
        self.pending.done();
        let iteration = Iteration {
            step: step.clone(),
            kind: Kind::Loop { most, condition },
            done: 0,
            carried,
            joined: vec![Vec::new(); joined],
        };
        match unknown {
            Some(why) => self.on_host(&iteration, why),
            None => self.next(&iteration),
        }
    }

    fn begin_scan(&mut self, step: &Arc<NodeStep>) -> Result<Entered, OnnxError> {
        let call = self.call(step);
        let attributes = &step.node.attributes;
        let graph = attributes.graph("body")?.clone();
        if step.version < 9 {
            self.batches(step)?;
            return Ok(Entered::Going);
        }
        let (given, all) = (attributes.int("num_scan_inputs")?, step.node.inputs.len());
        let count =
            usize::try_from(given).ok().filter(|count| (1..=all).contains(count)).ok_or_else(|| {
                call.fails(format!(
                    "num_scan_inputs must be from 1 to {all}, the number of the node's inputs, found {given}"
                ))
            })?;
        let states = all - count;
        check_arity(&call, "the body", "inputs", graph.inputs.len(), states + count)?;
        let outputs = graph.outputs.len().checked_sub(states).ok_or_else(|| {
            call.fails(format!("the body has {} outputs for {states} states", graph.outputs.len()))
        })?;
        let list = |name: &str, many: usize| -> Result<Vec<i64>, OnnxError> {
            let found = attributes.find_ints(name)?.map_or_else(|| vec![0; many], <[i64]>::to_vec);
            check_arity(&call, name, "items", found.len(), many)?;
            Ok(found)
        };
        let reversed = if attributes.has("directions") { "directions" } else { "scan_input_directions" };
        let (axes, from_end) = (list("scan_input_axes", count)?, list(reversed, count)?);
        let mut scanned = Vec::with_capacity(count);
        let mut items = None;
        for (k, (axis, from_end)) in axes.into_iter().zip(from_end).enumerate() {
            let shape = call.shape(states + k)?;
            let axis = call.axis(axis, shape.len())?;
            if let Some(n) = items.filter(|&n| n != shape[axis] as u64) {
                return Err(call.fails(format!(
                    "all scanned inputs must have as many items as the first, {n}, found {} in input {}",
                    shape[axis],
                    states + k
                )));
            }
            items = Some(shape[axis] as u64);
            scanned.push((step.node.inputs[states + k].clone(), axis, from_end != 0));
        }
        let Some(items) = items else { return Err(call.fails("no input is scanned")) };
        let lands = list("scan_output_axes", outputs)?;
        let lands = lands.into_iter().zip(list("scan_output_directions", outputs)?);
        let lands = lands.map(|(axis, from_end)| (axis, from_end != 0)).collect();
        self.pending.done();
        let iteration = Iteration {
            step: step.clone(),
            kind: Kind::Scan { items, scanned, lands },
            done: 0,
            carried: step.node.inputs[..states].to_vec(),
            joined: vec![Vec::new(); outputs],
        };
        self.next(&iteration)
    }

    /// A scan of version 8: one for each item of the batch, which is the first
    /// axis of everything.
    fn batches(&mut self, step: &Arc<NodeStep>) -> Result<(), OnnxError> {
        let call = self.call(step);
        let sizes = call.shape(1)?;
        let batch = *sizes.first().ok_or_else(|| call.fails("input 1 must have a batch axis"))?;
        if call.has(0) {
            let scans = usize::try_from(step.node.attributes.int("num_scan_inputs")?).unwrap_or(0);
            let last = call.inputs.len().checked_sub(scans.max(1));
            let full = last.map(|i| call.shape(i)).transpose()?.and_then(|s| s.get(1).copied());
            if call.ints(0)?.iter().any(|&n| Some(n) != full.map(|n| n as i64)) {
                return Err(call.fails("sequences of different lengths in one batch are not supported"));
            }
        }
        let mut given: Vec<Vec<Array>> = Vec::with_capacity(batch);
        for b in 0..batch {
            let inputs = (1..call.inputs.len()).map(|k| {
                let array = call.array(k)?;
                match array.shape().first() {
                    Some(&n) if n == batch => Ok(item(&array, 0, b)),
                    _ => Err(call.fails(format!("input {k} must have {batch} items in its batch"))),
                }
            });
            given.push(inputs.collect::<Result<_, _>>()?);
        }
        self.pending.done();
        let mut steps = Vec::new();
        let mut from = vec![Vec::new(); step.node.outputs.len()];
        for arrays in given {
            let prefix = self.pending.prefix(step);
            let mut node = step.node.clone();
            node.inputs = (0..arrays.len()).map(|k| format!("{prefix}in{k}")).collect();
            node.outputs = (0..from.len()).map(|k| format!("{prefix}out{k}")).collect();
            for (name, array) in node.inputs.iter().zip(arrays) {
                self.environment.insert(name.clone(), Term::Array(array));
            }
            from.iter_mut().zip(&node.outputs).for_each(|(list, name)| list.push(name.clone()));
            let (opsets, scope) = (step.opsets.clone(), step.scope.clone());
            steps.push(Step::Node(Arc::new(NodeStep { node, version: 9, opsets, scope })));
        }
        steps.push(Step::Stack { node: step.clone(), from, to: step.node.outputs.clone() });
        self.pending.first(steps);
        Ok(())
    }

    /// Traces one more iteration, ends the loop, or leaves it to the host.
    pub(crate) fn next(&mut self, iteration: &Iteration) -> Result<Entered, OnnxError> {
        let step = &*iteration.step;
        let graph = step.node.attributes.graph("body")?.clone();
        let goes_on = match &iteration.kind {
            Kind::Loop { most, condition, .. } => {
                let wanted = match condition {
                    Some(name) => {
                        let mut call = self.call(step);
                        call.inputs = vec![self.environment.get(name).cloned()];
                        match call.host(0).and_then(|value| truth(&call, &value)) {
                            Err(why @ OnnxError::UnknownValue { .. }) => return self.on_host(iteration, why),
                            other => other?,
                        }
                    }
                    None => true,
                };
                wanted && most.left(iteration.done).is_none_or(|left| left > 0)
            }
            Kind::Scan { items, .. } => iteration.done < *items,
        };
        if !goes_on {
            let values = iteration.finish(&self.call(step), &|name| self.environment.get(name).cloned())?;
            for (name, term) in step.node.outputs.iter().zip(values) {
                if !name.is_empty() {
                    self.environment.insert(name.clone(), term);
                }
            }
            return Ok(Entered::Going);
        }
        let left = match &iteration.kind {
            Kind::Loop { most, .. } => most.left(iteration.done),
            Kind::Scan { items, .. } => Some(items - iteration.done),
        };
        let traced = iteration.done.saturating_add(left.unwrap_or(1));
        if traced.saturating_mul(graph.nodes.len() as u64 + 1) > MAX_UNROLLED {
            let why = OnnxError::LongLoop { place: step.node.place().clone(), limit: MAX_UNROLLED };
            return self.on_host(iteration, why);
        }
        let prefix = self.pending.prefix(step);
        let call = self.call(step);
        let lookup = |name: &str| self.environment.get(name).cloned();
        let terms = iteration.arguments(&call, &lookup)?;
        let given = self.give(&graph.inputs, terms, &prefix);
        let mut steps = Vec::new();
        let results = self.enter(step, &graph, &given, &prefix, &mut steps)?;
        steps.push(Step::Next(iteration.after(results)));
        self.pending.first(steps);
        Ok(Entered::Going)
    }

    /// The loop from here on, as a loop on the host.
    fn on_host(&mut self, iteration: &Iteration, why: OnnxError) -> Result<Entered, OnnxError> {
        let step = &*iteration.step;
        let graph = step.node.attributes.graph("body")?.clone();
        let mut constants = Environment::new();
        let mut steps = Vec::new();
        // Outer values keep their names, which no inner one has.
        let prefix = format!("{}#body/", step.node.name);
        let outputs = enter(self.file, step, &graph, &HashMap::new(), &prefix, &mut constants, &mut steps)?;
        let mut pending = self.pending.inner();
        pending.first(steps);
        let captures = step.node.captures.clone();
        let known = captures.iter().filter_map(|name| match self.environment.get(name) {
            Some(term) if term.is_static() => Some((name.clone(), term.clone())),
            _ => None,
        });
        constants.extend(known);
        let captures: Vec<String> =
            captures.into_iter().filter(|name| !constants.contains_key(name)).collect();
        let inputs = graph.inputs.iter().map(|input| format!("{prefix}{}", input.name));
        let inputs = inputs.chain(captures.iter().cloned()).collect();
        let body = Program::new(self.file.clone(), graph.name.clone(), pending, constants, inputs, outputs);
        Ok(Entered::OnHost(Box::new(HostLoop { iteration: iteration.clone(), body, captures, why })))
    }
}

impl Most {
    fn left(self, done: u64) -> Option<u64> {
        match self {
            Most::Known(most) => Some(most.saturating_sub(done)),
            Most::Read | Most::Unbounded => None,
        }
    }
}

impl Iteration {
    /// Names of the values that the loop still reads.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &String> {
        let (condition, scanned) = match &self.kind {
            Kind::Loop { condition, .. } => (condition.as_ref(), &[][..]),
            Kind::Scan { scanned, .. } => (None, scanned.as_slice()),
        };
        self.carried
            .iter()
            .chain(self.joined.iter().flatten())
            .chain(condition)
            .chain(self.step.node.inputs.first())
            .chain(scanned.iter().map(|(name, ..)| name))
            .chain(&self.step.node.captures)
    }

    /// What the body's inputs are in this iteration.
    fn arguments(
        &self,
        call: &Call<'_>,
        lookup: &dyn Fn(&str) -> Option<Term>,
    ) -> Result<Vec<Term>, OnnxError> {
        let find = |name: &String| {
            lookup(name).ok_or_else(|| call.fails(format!("`{name}`, which it carries, was never made")))
        };
        let mut terms = Vec::new();
        if let Kind::Loop { .. } = self.kind {
            let number = HostTensor::from_slice(&[], &[self.done as i64]);
            terms.push(Term::Host(number.map_err(|e| call.fails(e.to_string()))?));
            let goes_on = HostTensor::from_slice(&[], &[true]);
            terms.push(Term::Host(goes_on.map_err(|e| call.fails(e.to_string()))?));
        }
        terms.extend(self.carried.iter().map(find).collect::<Result<Vec<_>, _>>()?);
        if let Kind::Scan { items, scanned, .. } = &self.kind {
            for (name, axis, from_end) in scanned {
                let term = find(name)?;
                let array = term.array().ok_or_else(|| call.fails(format!("`{name}` must be a tensor")))?;
                let at = if *from_end { items - 1 - self.done } else { self.done };
                terms.push(Term::Array(item(&array, *axis, at as usize)));
            }
        }
        Ok(terms)
    }

    /// The loop after an iteration whose body gave these.
    fn after(&self, results: Vec<String>) -> Iteration {
        let mut results = results.into_iter();
        let kind = match &self.kind {
            Kind::Loop { most, .. } => Kind::Loop { most: *most, condition: results.next() },
            scan => scan.clone(),
        };
        let carried = results.by_ref().take(self.carried.len()).collect();
        let mut joined = self.joined.clone();
        joined.iter_mut().zip(results).for_each(|(list, name)| list.push(name));
        Iteration { step: self.step.clone(), kind, done: self.done + 1, carried, joined }
    }

    /// The node's results, once all iterations are done.
    fn finish(&self, call: &Call<'_>, lookup: &dyn Fn(&str) -> Option<Term>) -> Result<Vec<Term>, OnnxError> {
        let find = |name: &String| {
            lookup(name).ok_or_else(|| call.fails(format!("`{name}`, which it carries, was never made")))
        };
        let carried = self.carried.iter().map(find).collect::<Result<Vec<_>, _>>()?;
        let joined = self
            .joined
            .iter()
            .map(|names| names.iter().map(find).collect::<Result<Vec<_>, _>>())
            .collect::<Result<Vec<_>, _>>()?;
        self.results(call, carried, joined)
    }

    fn results(
        &self,
        call: &Call<'_>,
        mut carried: Vec<Term>,
        joined: Vec<Vec<Term>>,
    ) -> Result<Vec<Term>, OnnxError> {
        let graph = self.step.node.attributes.graph("body")?;
        let first = graph.outputs.len() - joined.len();
        for (k, mut items) in joined.into_iter().enumerate() {
            let (axis, from_end) = match &self.kind {
                Kind::Loop { .. } => (0, false),
                Kind::Scan { lands, .. } => lands[k],
            };
            if from_end {
                items.reverse();
            }
            carried.push(stacked(call, &items, axis, &graph.outputs[first + k])?);
        }
        Ok(carried)
    }
}

impl HostLoop {
    /// Names of the values that the loop reads.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &String> {
        self.iteration.reads()
    }

    /// Runs the loop and gives what its node makes that is wanted, by name;
    /// `eager` says that its body is not traced first.
    pub(crate) fn run(
        &self,
        device: &Device,
        lookup: &dyn Fn(&str) -> Option<Term>,
        eager: bool,
        mut profile: Option<&mut Profile>,
    ) -> Result<Vec<(String, Term)>, OnnxError> {
        let looking = Looking::Eager(device.clone());
        let step = &*self.iteration.step;
        let inputs = step.node.inputs.iter().map(|name| lookup(name)).collect();
        let made = RefCell::default();
        let call = Call { node: &step.node, version: step.version, inputs, looking: &looking, made };
        let missing = |name: &String| call.fails(format!("`{name}`, which it reads, was never made"));
        let captured = self.captures.iter().map(|name| lookup(name).ok_or_else(|| missing(name)));
        let captured = captured.collect::<Result<Vec<Term>, _>>()?;
        let mut now = self.iteration.clone();
        let mut carried: Vec<Term> = now
            .carried
            .iter()
            .map(|name| lookup(name).ok_or_else(|| missing(name)))
            .collect::<Result<_, _>>()?;
        let mut joined: Vec<Vec<Term>> = Vec::new();
        for names in &now.joined {
            joined.push(names.iter().map(|n| lookup(n).ok_or_else(|| missing(n))).collect::<Result<_, _>>()?);
        }
        let most = match &now.kind {
            Kind::Loop { most: Most::Read, .. } => Some(most_of(&call)?),
            Kind::Loop { most, .. } => most.left(0),
            Kind::Scan { items, .. } => Some(*items),
        };
        let mut goes_on = match &now.kind {
            Kind::Loop { condition: Some(name), .. } => {
                truth(&call, &host(&call, &lookup(name).ok_or_else(|| missing(name))?)?)?
            }
            _ => true,
        };
        while goes_on && most.is_none_or(|most| now.done < most) {
            let here = |name: &str| {
                now.carried
                    .iter()
                    .position(|n| n == name)
                    .map_or_else(|| lookup(name), |i| carried.get(i).cloned())
            };
            let mut arguments = now.arguments(&call, &here)?;
            arguments.extend(captured.iter().cloned());
            let mut results = match eager {
                true => self.body.eager(device, arguments)?,
                false => self.body.call(device, arguments, profile.as_deref_mut())?,
            }
            .into_iter();
            if let Kind::Loop { .. } = now.kind {
                let said = results.next().ok_or_else(|| call.fails("the body gave no condition"))?;
                goes_on = truth(&call, &host(&call, &said)?)?;
            }
            let count = carried.len();
            carried = results.by_ref().take(count).collect();
            joined.iter_mut().zip(results).for_each(|(list, term)| list.push(term));
            now.done += 1;
        }
        let made = self.iteration.results(&call, carried, joined)?;
        let named = step.node.outputs.iter().cloned().zip(made);
        Ok(named.filter(|(name, _)| !name.is_empty()).collect())
    }
}

/// The most iterations of a loop: its first input.
fn most_of(call: &Call<'_>) -> Result<u64, OnnxError> {
    match call.ints(0)?[..] {
        [count] => Ok(u64::try_from(count).unwrap_or(0)),
        ref other => Err(call.fails(format!("input 0 must be one number, found {}", other.len()))),
    }
}

fn truth(call: &Call<'_>, value: &HostTensor) -> Result<bool, OnnxError> {
    let one = value.values().map_err(|e| call.fails(e.to_string()))?.to_floats();
    match one[..] {
        [one] => Ok(one != 0.0),
        _ => Err(call.fails(format!("the condition must be one truth value, found {}", one.len()))),
    }
}

fn host(call: &Call<'_>, term: &Term) -> Result<HostTensor, OnnxError> {
    match term {
        Term::Host(value) => Ok(value.clone()),
        Term::Array(array) => call.known(array, 0),
        other => Err(call.fails(format!("a tensor of numbers is expected, found {}", other.describe()))),
    }
}

fn check_arity(
    call: &Call<'_>,
    what: &str,
    of: &str,
    found: usize,
    expected: usize,
) -> Result<(), OnnxError> {
    if found == expected {
        return Ok(());
    }
    Err(call.fails(format!("{what} has {found} {of} where {expected} are expected")))
}

/// One item along an axis, which goes.
fn item(array: &Array, axis: usize, at: usize) -> Array {
    array.narrow(axis as isize, at, 1).squeeze([axis as isize])
}

/// Items joined along a new axis; `declared` says what there would be where
/// there are none.
pub(crate) fn stacked(
    call: &Call<'_>,
    items: &[Term],
    axis: i64,
    declared: &ValueInfo,
) -> Result<Term, OnnxError> {
    let numbers = || call.fails(format!("`{}` must be a tensor of numbers to be joined", declared.name));
    if items.is_empty() {
        let ValueType::Tensor(ty) = &declared.ty else {
            let problem =
                format!("no iteration ran, and the body does not say of what type `{}` is", declared.name);
            return Err(call.fails(problem));
        };
        let known = |dim: &Dim| if let Dim::Known(size) = dim { *size } else { 0 };
        let mut shape: Vec<usize> = ty.dims.as_ref().map_or_else(Vec::new, |d| d.iter().map(known).collect());
        let axis = call.axis(axis, shape.len() + 1)?;
        shape.insert(axis, 0);
        let dtype = ty.elem.dtype().ok_or_else(numbers)?;
        return Ok(Term::Host(HostTensor::zeros(dtype, &shape).map_err(|e| call.fails(e.to_string()))?));
    }
    let arrays = items.iter().map(|t| t.array().ok_or_else(numbers)).collect::<Result<Vec<_>, _>>()?;
    let axis = call.axis(axis, arrays[0].ndim() + 1)?;
    let joined = Array::stack(&arrays, axis as isize);
    call.checked(&joined)?;
    Ok(Term::Array(joined))
}
