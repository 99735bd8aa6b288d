//! Tracing: running a graph's nodes as array calls.

use std::collections::HashMap;
use std::sync::Arc;

use oneir_array::{Array, HostTensor};
use oneir_ir::{Source, State, Value, reference};

use crate::call::{Call, Looking};
use crate::error::OnnxError;
use crate::file::{Graph, NodeDef, TensorData};
use crate::ops;
use crate::program::Step;
use crate::term::{Strings, Term};

/// Results of at most this many elements that follow from known values alone
/// are computed while tracing.
const FOLD_LIMIT: usize = 4096;

/// The values by name that a trace has so far.
pub(crate) type Environment = HashMap<String, Term>;

/// Where a trace stopped: a node had to look at a value that only a run knows.
pub(crate) struct Stop {
    /// The node's place in the graph.
    pub(crate) node: usize,
    /// The value's name.
    pub(crate) input: String,
    /// The whole error, for reports.
    pub(crate) why: OnnxError,
}

/// Refuses a program with operators that are not there, naming all of them.
pub(crate) fn check_operators(steps: &[Step]) -> Result<(), OnnxError> {
    let mut missing = std::collections::BTreeSet::new();
    let mut check = |node: &NodeDef, version: i64| {
        if ops::find(&node.domain, &node.op_type, version).is_none() {
            missing.insert(format!("{} (version {version})", node.operator()));
        }
    };
    let mut graphs: Vec<&Graph> = Vec::new();
    for step in steps {
        check(&step.node, step.version);
        graphs.extend(step.node.attributes.all_graphs().map(AsRef::as_ref));
        while let Some(graph) = graphs.pop() {
            for node in &graph.nodes {
                check(node, step.version);
                graphs.extend(node.attributes.all_graphs().map(AsRef::as_ref));
            }
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

/// Runs the steps of a program from `start` on, until one must look at a
/// value that only a run knows.
pub(crate) fn nodes(
    steps: &[Step],
    environment: &mut Environment,
    start: usize,
    looking: &Looking,
) -> Result<Option<Stop>, OnnxError> {
    for (at, step) in steps.iter().enumerate().skip(start) {
        let node = &step.node;
        match run(step, environment, looking) {
            Ok(results) => {
                for (name, term) in node.outputs.iter().zip(results) {
                    if !name.is_empty() {
                        environment.insert(name.clone(), term);
                    }
                }
            }
            Err(OnnxError::UnknownValue { place, input, origin }) => {
                let why = OnnxError::UnknownValue { place, input: input.clone(), origin };
                return Ok(Some(Stop { node: at, input, why }));
            }
            Err(other) => return Err(other),
        }
    }
    Ok(None)
}

fn run(step: &Step, environment: &Environment, looking: &Looking) -> Result<Vec<Term>, OnnxError> {
    let Step { node, version } = step;
    let version = *version;
    let Some(operator) = ops::find(&node.domain, &node.op_type, version) else {
        return Err(OnnxError::MissingOperators {
            operators: vec![format!("{} (version {version})", node.operator())],
        });
    };
    let inputs: Vec<Option<Term>> = node.inputs.iter().map(|name| environment.get(name).cloned()).collect();
    let known = inputs.iter().flatten().all(Term::is_static);
    let call = Call { node, version, inputs, looking };
    if operator.moves && call.inputs.iter().flatten().any(|term| matches!(term, Term::Strings(_))) {
        return moved(operator, call);
    }
    let mut results = (operator.run)(&call)?;
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
fn moved(operator: &ops::Row, mut call: Call<'_>) -> Result<Vec<Term>, OnnxError> {
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
    let results = (operator.run)(&call)?;
    let mut back = Vec::with_capacity(results.len());
    for term in results {
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
        let values = numbers.iter().map(|&n| strings.get(n as usize).cloned().unwrap_or_default()).collect();
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
