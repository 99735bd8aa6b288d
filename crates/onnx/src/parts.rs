use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use oneir_array::{Array, Device, HostTensor, Traced};
use oneir_ir::Spec;
use oneir_runtime::{Profile, Steps};

use crate::call::{Looking, kept_name};
use crate::control::HostLoop;
use crate::error::OnnxError;
use crate::file::OnnxFile;
use crate::program::Pending;
use crate::term::{Keys, Map, Strings, Term};
use crate::trace::{Environment, Stop, Stopped, nodes};

/// Programs kept for input shapes seen, and continuations for values read.
const MAX_BRANCHES: usize = 64;

/// Steps from inputs to outputs, traced when they are called: a model, or the
/// body of a loop on the host.
pub(crate) struct Program {
    file: Arc<OnnxFile>,
    name: String,
    pending: Pending,
    constants: Environment,
    inputs: Vec<String>,
    outputs: Vec<String>,
    parts: Mutex<HashMap<Vec<InputForm>, Arc<Part>>>,
    /// The nodes that the trace under way has done.
    pub(crate) steps: Arc<Steps>,
}

/// What a trace depends on in an input: all but the elements of arrays.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum InputForm {
    Array(Spec),
    Strings(Strings),
    Sequence(Vec<InputForm>),
    Optional(Option<Box<InputForm>>),
    Map(Keys, Box<InputForm>),
}

/// One graph of a model between breaks.
#[derive(Debug)]
pub struct Part {
    traced: Traced,
    next: Next,
}

#[derive(Debug)]
enum Next {
    /// The outputs: terms whose arrays are the graph's outputs in order.
    Done(Vec<Term>),
    /// Something is found out on the host, and tracing goes on with it.
    Break(Box<Break>),
}

#[derive(Debug)]
struct Break {
    pending: Pending,
    host: HostWork,
    /// What is needed from here on.
    environment: Environment,
    /// The values whose arrays are the graph's outputs, in this order.
    live: Vec<String>,
    /// How many steps were done so far.
    done: usize,
    branches: Mutex<HashMap<Found, Arc<Part>>>,
}

/// What a break does on the host.
#[derive(Debug)]
enum HostWork {
    /// Reads a value.
    Read { input: String, why: OnnxError },
    /// Runs a loop.
    Loop(Box<HostLoop>),
}

/// What a continuation is traced for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Found {
    Value(HostTensor),
    Forms(Vec<InputForm>),
}

impl Program {
    pub(crate) fn new(
        file: Arc<OnnxFile>,
        name: String,
        pending: Pending,
        constants: Environment,
        inputs: Vec<String>,
        outputs: Vec<String>,
    ) -> Program {
        Program {
            file,
            name,
            pending,
            constants,
            inputs,
            outputs,
            parts: Mutex::default(),
            steps: Arc::default(),
        }
    }

    /// Runs on terms for the inputs, in order.
    pub(crate) fn call(
        &self,
        device: &Device,
        inputs: Vec<Term>,
        mut profile: Option<&mut Profile>,
    ) -> Result<Vec<Term>, OnnxError> {
        let inputs: Vec<Term> = inputs.into_iter().map(argument).collect();
        let mut part = self.part(&inputs)?;
        let mut arguments = Vec::new();
        for mut input in inputs {
            input.arrays_mut(&mut |array| arguments.push(array.clone()));
        }
        loop {
            let results = part.traced.call_with(device, &arguments, profile.as_deref_mut())?;
            let after = match &part.next {
                Next::Done(outputs) => {
                    let mut outputs = outputs.clone();
                    let mut next = results.iter();
                    outputs.iter_mut().for_each(|term| take(term, &mut next));
                    return Ok(outputs);
                }
                Next::Break(after) => after,
            };
            let mut now = after.environment.clone();
            after.fill(&mut now, &results);
            let (found, given) = match &after.host {
                HostWork::Read { input, why } => {
                    let Some(Term::Array(array)) = now.get(input) else { return Err(why.clone()) };
                    let value = array.to_host()?;
                    (Found::Value(value.clone()), vec![(input.clone(), Term::Host(value))])
                }
                HostWork::Loop(work) => {
                    let lookup = |name: &str| now.get(name).cloned();
                    let made = work.run(device, &lookup, false, profile.as_deref_mut())?;
                    let made: Vec<(String, Term)> =
                        made.into_iter().map(|(name, term)| (name, argument(term))).collect();
                    let forms = made.iter().map(|(_, term)| InputForm::of(term)).collect::<Result<_, _>>()?;
                    (Found::Forms(forms), made)
                }
            };
            let next = self.branch(after, found, &results, &given)?;
            arguments = results;
            for (_, mut term) in given {
                term.arrays_mut(&mut |array| arguments.push(array.clone()));
            }
            part = next;
        }
    }

    /// Runs without tracing first: see [`Model::eager`](crate::Model::eager).
    pub(crate) fn eager(&self, device: &Device, inputs: Vec<Term>) -> Result<Vec<Term>, OnnxError> {
        let mut environment = self.constants.clone();
        environment.extend(self.inputs.iter().cloned().zip(inputs));
        let mut pending = self.pending.clone();
        let looking = Looking::Eager(device.clone());
        self.steps.set(0, pending.count());
        while let Some(stop) = nodes(&self.file, &mut pending, &mut environment, &looking, &self.steps)? {
            match stop {
                Stop::Read(stopped) => return Err(stopped.why),
                Stop::Loop(work) => {
                    let made = work.run(device, &|name| environment.get(name).cloned(), true, None)?;
                    environment.extend(made);
                }
            }
        }
        self.outputs.iter().map(|name| self.output(&environment, name)).collect()
    }

    fn output(&self, environment: &Environment, name: &str) -> Result<Term, OnnxError> {
        environment.get(name).cloned().ok_or_else(|| OnnxError::Inputs {
            expected: vec![],
            problem: format!("output `{name}` was never made"),
        })
    }

    /// The part that a call with such inputs begins with.
    pub(crate) fn part(&self, inputs: &[Term]) -> Result<Arc<Part>, OnnxError> {
        let key = inputs.iter().map(InputForm::of).collect::<Result<Vec<_>, _>>()?;
        kept(&self.parts, key, || {
            let mut arguments = Vec::new();
            let mut environment = self.constants.clone();
            for (name, input) in self.inputs.iter().zip(inputs) {
                environment.insert(name.clone(), opened(input, &mut arguments));
            }
            self.trace_from(0, self.pending.clone(), environment, arguments)
        })
    }

    /// The part that follows a break, for what was found there.
    fn branch(
        &self,
        after: &Break,
        found: Found,
        results: &[Array],
        given: &[(String, Term)],
    ) -> Result<Arc<Part>, OnnxError> {
        kept(&after.branches, found, || {
            let mut arguments: Vec<Array> =
                results.iter().map(|a| Traced::argument(Spec::new(a.dtype(), a.shape()))).collect();
            let mut environment = after.environment.clone();
            after.fill(&mut environment, &arguments);
            for (name, term) in given {
                environment.insert(name.clone(), opened(term, &mut arguments));
            }
            self.trace_from(after.done, after.pending.clone(), environment, arguments)
        })
    }

    /// Traces what is pending after `done` steps.
    fn trace_from(
        &self,
        done: usize,
        mut pending: Pending,
        mut environment: Environment,
        arguments: Vec<Array>,
    ) -> Result<Part, OnnxError> {
        self.steps.set(done, done + pending.count());
        let stop = nodes(&self.file, &mut pending, &mut environment, &Looking::Tracing, &self.steps)?;
        let mut arrays = Vec::new();
        let next = match stop {
            None => {
                let mut outputs = Vec::with_capacity(self.outputs.len());
                for name in &self.outputs {
                    let mut term = self.output(&environment, name)?;
                    term.arrays_mut(&mut |array| arrays.push(array.clone()));
                    outputs.push(term);
                }
                Next::Done(outputs)
            }
            Some(stop) => Next::Break(Box::new(self.break_at(stop, pending, environment, &mut arrays))),
        };
        let mut traced = Traced::new(&arguments, &arrays)?;
        traced.set_name(&self.name);
        Ok(Part { traced, next })
    }

    /// The graph up to a break gives all values that the rest still needs.
    fn break_at(
        &self,
        stop: Stop,
        pending: Pending,
        mut environment: Environment,
        arrays: &mut Vec<Array>,
    ) -> Break {
        let host = match stop {
            Stop::Read(Stopped { input, why }) => HostWork::Read { input, why },
            Stop::Loop(work) => HostWork::Loop(work),
        };
        let kept = match &host {
            HostWork::Read { input, .. } => kept_name(input),
            HostWork::Loop(_) => String::new(),
        };
        let mut needed: Vec<&String> = match &host {
            HostWork::Read { input, .. } => vec![input, &kept],
            HostWork::Loop(work) => work.reads().collect(),
        };
        needed.extend(pending.reads());
        needed.extend(&self.outputs);
        let mut seen = std::collections::HashSet::new();
        let mut live: Vec<String> = Vec::new();
        for name in needed {
            if !seen.insert(name.clone()) {
                continue;
            }
            let Some(term) = environment.get_mut(name) else { continue };
            if !term.is_static() {
                term.arrays_mut(&mut |array| arrays.push(array.clone()));
                live.push(name.clone());
            }
        }
        environment.retain(|name, _| seen.contains(name));
        let done = self.steps.done();
        Break { pending, host, environment, live, done, branches: Mutex::default() }
    }
}

impl Break {
    /// Puts arrays in the place of those that the graph gave.
    fn fill(&self, environment: &mut Environment, arrays: &[Array]) {
        let mut next = arrays.iter();
        for name in &self.live {
            if let Some(term) = environment.get_mut(name) {
                take(term, &mut next);
            }
        }
    }
}

/// The part of a key, made outside of the lock where it is not there; a bounded
/// number of them is kept.
fn kept<K: Eq + Hash>(
    parts: &Mutex<HashMap<K, Arc<Part>>>,
    key: K,
    make: impl FnOnce() -> Result<Part, OnnxError>,
) -> Result<Arc<Part>, OnnxError> {
    if let Some(part) = parts.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return Ok(part.clone());
    }
    let part = Arc::new(make()?);
    let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
    if parts.len() >= MAX_BRANCHES {
        parts.clear();
    }
    parts.insert(key, part.clone());
    Ok(part)
}

/// Puts the next arrays in the place of a term's.
fn take(term: &mut Term, next: &mut std::slice::Iter<'_, Array>) {
    term.arrays_mut(&mut |array| {
        if let Some(given) = next.next() {
            *array = given.clone();
        }
    });
}

/// A term whose arrays are arguments of a function, to which they are added.
fn opened(term: &Term, arguments: &mut Vec<Array>) -> Term {
    let mut term = term.clone();
    term.arrays_mut(&mut |array| {
        *array = Traced::argument(Spec::new(array.dtype(), array.shape()));
        arguments.push(array.clone());
    });
    term
}

impl Part {
    /// The traced graph.
    pub fn traced(&self) -> &Traced {
        &self.traced
    }

    /// Why the graph breaks after this part, if it does.
    pub fn break_reason(&self) -> Option<&OnnxError> {
        match &self.next {
            Next::Done(_) => None,
            Next::Break(after) => Some(match &after.host {
                HostWork::Read { why, .. } => why,
                HostWork::Loop(work) => &work.why,
            }),
        }
    }
}

impl InputForm {
    fn of(term: &Term) -> Result<InputForm, OnnxError> {
        Ok(match term {
            Term::Array(array) => {
                array.check()?;
                InputForm::Array(Spec::new(array.dtype(), array.shape()))
            }
            Term::Host(value) => InputForm::Array(Spec::new(value.dtype(), value.shape().clone())),
            Term::Strings(strings) => InputForm::Strings(strings.clone()),
            Term::Sequence(items) => {
                InputForm::Sequence(items.iter().map(InputForm::of).collect::<Result<_, _>>()?)
            }
            Term::Optional(item) => {
                InputForm::Optional(item.as_deref().map(InputForm::of).transpose()?.map(Box::new))
            }
            Term::Map(map) => InputForm::Map(map.keys.clone(), Box::new(InputForm::of(&map.values)?)),
        })
    }
}

/// A term whose tensors of numbers are arrays: what a call is given is not
/// known while its graph is traced.
pub(crate) fn argument(term: Term) -> Term {
    match term {
        Term::Host(value) => Term::Array(Array::from_host(value)),
        Term::Sequence(items) => Term::Sequence(items.into_iter().map(argument).collect()),
        Term::Optional(item) => Term::Optional(item.map(|item| Box::new(argument(*item)))),
        Term::Map(map) => Term::Map(Map { values: Box::new(argument(*map.values)), ..map }),
        other => other,
    }
}
