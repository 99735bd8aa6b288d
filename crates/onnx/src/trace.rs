//! Tracing: running a graph's nodes as array calls.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use oneir_array::{Array, HostTensor};
use oneir_ir::{Source, State, Value, reference};
use oneir_runtime::Steps;

use crate::call::{Call, Looking, Made, Results, kept_name, made_name};
use crate::control::{Entered, HostLoop, Site, stacked};
use crate::error::OnnxError;
use crate::file::{Graph, OnnxFile, Opsets, TensorData};
use crate::ops::{self, Row, Run};
use crate::program::{NodeStep, Pending, Step};
use crate::term::{Strings, Term};

/// Results of at most this many elements that follow from known values alone
/// are computed while tracing.
const FOLD_LIMIT: usize = 4096;

/// The values by name that a trace has so far.
pub(crate) type Environment = HashMap<String, Term>;

/// Where a trace stopped: something is to be found out on the host.
pub(crate) enum Stop {
    /// A node has to look at a value that only a run knows.
    Read(Stopped),
    /// A loop is to run.
    Loop(Box<HostLoop>),
}

/// A value that must be read.
pub(crate) struct Stopped {
    /// The value's name.
    pub(crate) input: String,
    /// The whole error, for reports.
    pub(crate) why: OnnxError,
}

/// Refuses a model with operators that are not there, naming all of them.
pub(crate) fn check_operators(file: &OnnxFile) -> Result<(), OnnxError> {
    let mut missing = std::collections::BTreeSet::new();
    let mut graphs: Vec<(&Graph, &Opsets)> = vec![(&file.graph, &file.opsets)];
    // Each body once, however often it is called.
    let mut called = std::collections::HashSet::new();
    while let Some((graph, opsets)) = graphs.pop() {
        for node in &graph.nodes {
            if let Some(function) = file.function(node) {
                if called.insert(std::ptr::from_ref(function)) {
                    graphs.push((&function.body, &function.opsets));
                }
            } else {
                let version = opsets.version(&node.domain).unwrap_or(1);
                if ops::find(&node.domain, &node.op_type, version).is_none() {
                    missing.insert(format!("{} (version {version})", node.operator()));
                }
            }
            graphs.extend(node.attributes.all_graphs().map(|graph| (&**graph, opsets)));
        }
    }
    if missing.is_empty() {
        Ok(())
    } else {
        Err(OnnxError::MissingOperators { operators: missing.into_iter().collect() })
    }
}

/// The stored tensor as a known value.
pub(crate) fn stored(data: &TensorData) -> Result<Term, OnnxError> {
    if data.elem() == crate::file::ElemType::String {
        return Ok(Term::Strings(Strings { shape: data.shape().to_vec(), values: data.strings()? }));
    }
    Ok(Term::Host(data.to_host()?))
}

/// Does what is pending, counting on from the steps that are done, until something must be found out on the host.
pub(crate) fn nodes(
    file: &Arc<OnnxFile>,
    pending: &mut Pending,
    environment: &mut Environment,
    looking: &Looking,
    steps: &Steps,
) -> Result<Option<Stop>, OnnxError> {
    for done in steps.done().. {
        steps.set(done, done + pending.count());
        let Some(step) = pending.next() else { break };
        let found = match &*step {
            Step::Node(node) => {
                let row = row_of(node)?;
                match row.run {
                    Run::Node(run) => plain(row, run, node, pending, environment, looking),
                    Run::Control(control) => {
                        Site { file, pending, environment, looking }.begin(control, node)
                    }
                }
            }
            Step::Next(iteration) => {
                pending.done();
                Site { file, pending, environment, looking }.next(iteration)
            }
            other => {
                pending.done();
                bind(other, environment, looking).map(|()| Entered::Going)
            }
        };
        match found {
            Ok(Entered::Going) => {}
            Ok(Entered::OnHost(work)) => {
                steps.set(done + 1, done + 1 + pending.count());
                return Ok(Some(Stop::Loop(work)));
            }
            Err(OnnxError::UnknownValue { place, input, origin }) => {
                let why = OnnxError::UnknownValue { place, input: input.clone(), origin };
                return Ok(Some(Stop::Read(Stopped { input, why })));
            }
            Err(other) => return Err(other),
        }
    }
    Ok(None)
}

/// Gives values further names, alone or together.
fn bind(step: &Step, environment: &mut Environment, looking: &Looking) -> Result<(), OnnxError> {
    let never =
        |name: &String| OnnxError::Inputs { expected: vec![], problem: format!("`{name}` was never made") };
    let find =
        |environment: &Environment, name: &String| environment.get(name).cloned().ok_or_else(|| never(name));
    let lists = |environment: &Environment, from: &[Vec<String>]| {
        let each = |names: &Vec<String>| names.iter().map(|name| find(environment, name)).collect();
        from.iter().map(each).collect::<Result<Vec<Vec<Term>>, _>>()
    };
    let (terms, to) = match step {
        Step::Bind { from, to } => {
            let terms = from.iter().map(|name| find(environment, name)).collect::<Result<Vec<_>, _>>()?;
            (terms, to)
        }
        Step::Collect { from, to } => {
            (lists(environment, from)?.into_iter().map(Term::Sequence).collect(), to)
        }
        Step::Stack { node, from, to } => {
            let made = RefCell::default();
            let call = Call { node: &node.node, version: node.version, inputs: Vec::new(), looking, made };
            let graph = node.node.attributes.graph("body")?;
            let all = lists(environment, from)?.into_iter().zip(&graph.outputs);
            let joined = all.map(|(items, info)| stacked(&call, &items, 0, info));
            (joined.collect::<Result<Vec<_>, _>>()?, to)
        }
        Step::Node(_) | Step::Next(_) => return Ok(()),
    };
    for (name, term) in to.iter().zip(terms) {
        if !name.is_empty() {
            environment.insert(name.clone(), term);
        }
    }
    Ok(())
}

fn row_of(step: &NodeStep) -> Result<&'static Row, OnnxError> {
    let NodeStep { node, version, .. } = step;
    ops::find(&node.domain, &node.op_type, *version).ok_or_else(|| OnnxError::MissingOperators {
        operators: vec![format!("{} (version {version})", node.operator())],
    })
}

/// Runs a node as array calls; what it makes joins the environment.
fn plain(
    row: &Row,
    run: fn(&Call<'_>) -> Results,
    step: &NodeStep,
    pending: &mut Pending,
    environment: &mut Environment,
    looking: &Looking,
) -> Result<Entered, OnnxError> {
    let results = results(row, run, step, environment, looking)?;
    for (name, term) in step.node.outputs.iter().zip(results) {
        if !name.is_empty() {
            environment.insert(name.clone(), term);
        }
    }
    pending.done();
    Ok(Entered::Going)
}

fn results(
    row: &Row,
    run: fn(&Call<'_>) -> Results,
    step: &NodeStep,
    environment: &mut Environment,
    looking: &Looking,
) -> Results {
    let NodeStep { node, version, .. } = step;
    let version = *version;
    let inputs: Vec<Option<Term>> = node.inputs.iter().map(|name| environment.get(name).cloned()).collect();
    let known = inputs.iter().flatten().all(Term::is_static);
    let made = made_name(node);
    let kept = kept_name(&made);
    let before = match (environment.get(&made), environment.get(&kept)) {
        (Some(Term::Host(value)), Some(Term::Sequence(items))) => {
            Made::Read(value.clone(), items.iter().filter_map(Term::array).collect())
        }
        _ => Made::Nothing,
    };
    let call = Call { node, version, inputs, looking, made: RefCell::new(before) };
    if row.moves && call.inputs.iter().flatten().any(|term| matches!(term, Term::Strings(_))) {
        return moved(run, call);
    }
    let mut results = match run(&call) {
        Ok(results) => results,
        Err(why) => {
            if let Made::Unread(array, rest) = call.made.take() {
                environment.insert(made, Term::Array(array));
                environment.insert(kept, Term::Sequence(rest.into_iter().map(Term::Array).collect()));
            }
            return Err(why);
        }
    };
    let label: Arc<str> = node.place().to_string().into();
    for term in &mut results {
        term.arrays_mut(&mut |array| label_new(array, &label));
        if let Term::Array(array) = term {
            call.checked(array)?;
            if known && array.size() <= FOLD_LIMIT {
                let folded = folded(array).map_err(|e| call.fails(e.to_string()))?;
                if let Some(value) = folded {
                    *term = Term::Host(value);
                }
            }
        }
    }
    Ok(results)
}

/// An operator that moves or compares elements, on strings: it is given a
/// number for each string, equal ones for equal strings, and what it moves is
/// read back.
fn moved(run: fn(&Call<'_>) -> Results, mut call: Call<'_>) -> Result<Vec<Term>, OnnxError> {
    let mut numbers: HashMap<Vec<u8>, u64> = HashMap::new();
    let mut strings: Vec<Vec<u8>> = vec![Vec::new()];
    numbers.insert(Vec::new(), 0);
    for i in 0..call.inputs.len() {
        let term = match &call.inputs[i] {
            Some(Term::Strings(found)) => {
                let mut all = Vec::with_capacity(found.values.len());
                for value in &found.values {
                    let number = *numbers.entry(value.clone()).or_insert(strings.len() as u64);
                    if number == strings.len() as u64 {
                        strings.push(value.clone());
                    }
                    all.push(number);
                }
                HostTensor::from_slice(&found.shape, &all).map_err(|e| call.fails(e.to_string()))?
            }
            // Strings are known while tracing, so all that places them must be.
            Some(Term::Array(_)) => call.host(i)?,
            _ => continue,
        };
        call.inputs[i] = Some(Term::Host(term));
    }
    let results = run(&call)?;
    let mut back = Vec::with_capacity(results.len());
    for term in results {
        if let Some(shape) = term.shape() {
            Strings::check_count(&call, shape.iter().product())?;
        }
        let host = match &term {
            Term::Host(value) => value.clone(),
            Term::Array(array) => {
                call.checked(array)?;
                match folded(array).map_err(|e| call.fails(e.to_string()))? {
                    Some(value) => value,
                    None => return Err(call.fails("strings must be known while tracing")),
                }
            }
            _ => return Err(call.fails("strings cannot be used here")),
        };
        // Only the numbers of strings are u64 here.
        if host.dtype() != oneir_array::DType::U64 {
            back.push(Term::Host(host));
            continue;
        }
        let numbers = host.to_vec::<u64>().map_err(|e| call.fails(e.to_string()))?;
        let string = |&n: &u64| strings.get(n as usize).map_or(&[][..], |s| s);
        Strings::check_bytes(&call, numbers.iter().map(|n| string(n).len()))?;
        let values = numbers.iter().map(|n| string(n).to_vec()).collect();
        back.push(Term::Strings(Strings { shape: host.shape().to_vec(), values }));
    }
    Ok(back)
}

fn folded(array: &Array) -> Result<Option<HostTensor>, oneir_array::ArrayError> {
    Ok(reference::fold(array.value()?)?)
}

/// Names the nodes that an operator recorded after its place in the model.
fn label_new(array: &Array, label: &Arc<str>) {
    let Ok(value) = array.value() else { return };
    let mut stack: Vec<Value> = vec![value.clone()];
    while let Some(value) = stack.pop() {
        if !matches!(value.node().source(), Source::Op(_)) || !value.node().set_label(label) {
            continue;
        }
        if let State::Pending(inputs) = value.node().state() {
            stack.extend(inputs);
        }
    }
}
