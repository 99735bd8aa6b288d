use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use oneir_array::{Array, Device, HostTensor, Traced};
use oneir_ir::Spec;
use oneir_runtime::Profile;

use crate::call::Looking;
use crate::error::OnnxError;
use crate::file::{Dim, ElemType, OnnxFile, ValueInfo, ValueType};
use crate::program::{self, Step};
use crate::term::{Strings, Term};
use crate::trace::{Environment, Stop, check_operators, nodes, stored};

/// Programs kept for input shapes seen, and continuations for values read.
const MAX_BRANCHES: usize = 64;

/// An ONNX model, ready to be called.
///
/// The first call with inputs of some shapes traces the model to a graph, which
/// later calls run again. Where an operator must look at a value that only a
/// run knows, the graph breaks: the part so far runs, the value is read, and
/// tracing goes on with it.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::Array;
/// use oneir_onnx::Model;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mlp_digits.onnx");
/// let model = Model::open(path)?;
/// let blank = Array::from_slice(&[0f32; 64], &[1, 64]);
/// let outputs = model.call(&[("X", blank)])?;
/// assert_eq!(outputs[1].0, "probabilities");
/// # Ok::<(), oneir_onnx::OnnxError>(())
/// ```
pub struct Model {
    file: OnnxFile,
    steps: Vec<Step>,
    constants: Environment,
    parts: Mutex<HashMap<Vec<InputForm>, Arc<Part>>>,
}

/// What a trace depends on in an input: all but the elements of arrays.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum InputForm {
    Array(Spec),
    Strings(Strings),
    Sequence(Vec<InputForm>),
    Optional(Option<Box<InputForm>>),
}

/// One graph of a model between breaks.
#[derive(Debug)]
pub struct Part {
    traced: Traced,
    /// What the graph's outputs are called in the environment.
    live: Vec<String>,
    next: Next,
}

#[derive(Debug)]
enum Next {
    /// The model's outputs: terms whose arrays are the graph's outputs in order.
    Done(Vec<(String, Term)>),
    /// A value is read, and tracing goes on at a node.
    Break(Box<Break>),
}

#[derive(Debug)]
struct Break {
    node: usize,
    input: String,
    why: OnnxError,
    /// The environment; its arrays are the graph's outputs in order.
    environment: Environment,
    branches: Mutex<HashMap<HostTensor, Arc<Part>>>,
}

impl Model {
    /// Reads a model's file; its external data lies in the same folder.
    ///
    /// # Errors
    /// When the file is not a right model, or it uses operators that are not
    /// there (all of them are named).
    pub fn open(path: impl AsRef<Path>) -> Result<Model, OnnxError> {
        Model::new(OnnxFile::open(path)?)
    }

    /// A model of a file's representation.
    ///
    /// # Errors
    /// When it uses operators that are not there.
    pub fn new(file: OnnxFile) -> Result<Model, OnnxError> {
        let steps = program::steps(&file);
        check_operators(&steps)?;
        let mut constants = Environment::new();
        for (name, data) in &file.graph.initializers {
            constants.insert(name.clone(), stored(data)?);
        }
        Ok(Model { file, steps, constants, parts: Mutex::default() })
    }

    /// The file's representation.
    pub fn file(&self) -> &OnnxFile {
        &self.file
    }

    /// The inputs that a caller must give.
    pub fn inputs(&self) -> Vec<&ValueInfo> {
        self.file.graph.required_inputs().collect()
    }

    /// The outputs, in order.
    pub fn outputs(&self) -> &[ValueInfo] {
        &self.file.graph.outputs
    }

    /// Calls the model on the default device.
    ///
    /// # Errors
    /// When an input is missing, unknown or of another type; when a node
    /// cannot be computed.
    pub fn call<T: Into<Term> + Clone>(
        &self,
        inputs: &[(&str, T)],
    ) -> Result<Vec<(String, Term)>, OnnxError> {
        let device =
            oneir_runtime::Runtime::global().default_device().map_err(oneir_array::ArrayError::from)?;
        self.call_on(&device, inputs)
    }

    /// Calls the model on a device.
    ///
    /// # Errors
    /// As [`Model::call`].
    pub fn call_on<T: Into<Term> + Clone>(
        &self,
        device: &Device,
        inputs: &[(&str, T)],
    ) -> Result<Vec<(String, Term)>, OnnxError> {
        self.call_with(device, inputs, None)
    }

    /// As [`Model::call_on`], with the time of each launch.
    ///
    /// # Errors
    /// As [`Model::call`].
    pub fn call_with<T: Into<Term> + Clone>(
        &self,
        device: &Device,
        inputs: &[(&str, T)],
        mut profile: Option<&mut Profile>,
    ) -> Result<Vec<(String, Term)>, OnnxError> {
        let inputs = self.ordered(inputs)?;
        let mut part = self.part(&inputs)?;
        let mut arguments = Vec::new();
        for mut input in inputs {
            input.arrays_mut(&mut |array| arguments.push(array.clone()));
        }
        loop {
            let results = part.traced.call_with(device, &arguments, profile.as_deref_mut())?;
            match &part.next {
                Next::Done(outputs) => {
                    let mut results = results.into_iter();
                    let mut outputs = outputs.clone();
                    for (_, term) in &mut outputs {
                        term.arrays_mut(&mut |array| {
                            if let Some(result) = results.next() {
                                *array = result;
                            }
                        });
                    }
                    return Ok(outputs);
                }
                Next::Break(after) => {
                    let at = part.live.iter().position(|name| *name == after.input);
                    let read = match at.and_then(|i| results.get(i)) {
                        Some(array) => array.to_host()?,
                        None => return Err(after.why.clone()),
                    };
                    let next = self.branch(after, &part.live, &results, read)?;
                    arguments = results;
                    part = next;
                }
            }
        }
    }

    /// Calls the model without tracing it first: nodes run as array calls, and
    /// a value that an operator looks at is computed there and then. The
    /// results are recorded, so that a model is a function of arrays like any
    /// other.
    ///
    /// # Errors
    /// As [`Model::call`].
    pub fn eager<T: Into<Term> + Clone>(
        &self,
        device: &Device,
        inputs: &[(&str, T)],
    ) -> Result<Vec<(String, Term)>, OnnxError> {
        let inputs = self.ordered(inputs)?;
        let mut environment = self.constants.clone();
        for (info, term) in self.inputs().iter().zip(inputs) {
            environment.insert(info.name.clone(), term);
        }
        if let Some(stop) = nodes(&self.steps, &mut environment, 0, &Looking::Eager(device.clone()))? {
            return Err(stop.why);
        }
        let outputs = self.file.graph.outputs.iter();
        Ok(outputs.filter_map(|info| Some((info.name.clone(), environment.remove(&info.name)?))).collect())
    }

    /// The parts that a call with inputs of these specs begins with, and the
    /// breaks met so far, for reports.
    ///
    /// # Errors
    /// When a node cannot be traced.
    pub fn trace(&self, inputs: &[(&str, Spec)]) -> Result<Arc<Part>, OnnxError> {
        let arguments: Vec<(&str, Array)> =
            inputs.iter().map(|(name, spec)| (*name, Traced::argument(spec.clone()))).collect();
        self.part(&self.ordered(&arguments)?)
    }

    /// The given inputs in the model's order, checked against what it declares.
    fn ordered<T: Into<Term> + Clone>(&self, given: &[(&str, T)]) -> Result<Vec<Term>, OnnxError> {
        let expected = self.inputs();
        let wrong = |problem: String| OnnxError::Inputs {
            expected: expected.iter().map(|v| format!("`{}`: {}", v.name, v.ty)).collect(),
            problem,
        };
        if let Some((name, _)) = given.iter().find(|(name, _)| !expected.iter().any(|v| v.name == *name)) {
            return Err(wrong(format!("`{name}` is none of them")));
        }
        let mut terms = Vec::with_capacity(expected.len());
        for info in &expected {
            let mut found = given.iter().filter(|(name, _)| *name == info.name);
            let Some((_, term)) = found.next() else {
                return Err(wrong(format!("`{}` is missing", info.name)));
            };
            if found.next().is_some() {
                return Err(wrong(format!("`{}` is given twice", info.name)));
            }
            let term = argument(term.clone().into());
            fits(info, &term)?;
            terms.push(term);
        }
        Ok(terms)
    }

    fn part(&self, inputs: &[Term]) -> Result<Arc<Part>, OnnxError> {
        let key = inputs.iter().map(InputForm::of).collect::<Result<Vec<_>, _>>()?;
        if let Some(part) = self.parts.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(part.clone());
        }
        let mut arguments = Vec::new();
        let mut environment = self.constants.clone();
        for (info, input) in self.inputs().iter().zip(inputs) {
            let mut term = input.clone();
            term.arrays_mut(&mut |array| {
                *array = Traced::argument(Spec::new(array.dtype(), array.shape()));
                arguments.push(array.clone());
            });
            environment.insert(info.name.clone(), term);
        }
        let part = Arc::new(self.trace_from(environment, arguments, 0)?);
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        if parts.len() >= MAX_BRANCHES {
            parts.clear();
        }
        parts.insert(key, part.clone());
        Ok(part)
    }

    /// The part that follows a break, for the value read there.
    fn branch(
        &self,
        after: &Break,
        live: &[String],
        results: &[Array],
        read: HostTensor,
    ) -> Result<Arc<Part>, OnnxError> {
        if let Some(part) = after.branches.lock().unwrap_or_else(PoisonError::into_inner).get(&read) {
            return Ok(part.clone());
        }
        let arguments: Vec<Array> =
            results.iter().map(|a| Traced::argument(Spec::new(a.dtype(), a.shape()))).collect();
        let mut environment = after.environment.clone();
        let mut next = arguments.iter();
        for name in live {
            if let Some(term) = environment.get_mut(name) {
                term.arrays_mut(&mut |array| {
                    if let Some(argument) = next.next() {
                        *array = argument.clone();
                    }
                });
            }
        }
        environment.insert(after.input.clone(), Term::Host(read.clone()));
        let part = Arc::new(self.trace_from(environment, arguments, after.node)?);
        let mut branches = after.branches.lock().unwrap_or_else(PoisonError::into_inner);
        if branches.len() >= MAX_BRANCHES {
            branches.clear();
        }
        branches.insert(read, part.clone());
        Ok(part)
    }

    fn trace_from(
        &self,
        mut environment: Environment,
        arguments: Vec<Array>,
        start: usize,
    ) -> Result<Part, OnnxError> {
        let stop = nodes(&self.steps, &mut environment, start, &Looking::Tracing)?;
        let (mut traced, live, next) = match stop {
            None => self.finish(environment, &arguments)?,
            Some(stop) => self.break_at(stop, environment, &arguments)?,
        };
        traced.set_name(&self.file.graph.name);
        Ok(Part { traced, live, next })
    }

    fn finish(
        &self,
        mut environment: Environment,
        arguments: &[Array],
    ) -> Result<(Traced, Vec<String>, Next), OnnxError> {
        let mut outputs = Vec::new();
        let mut arrays = Vec::new();
        for info in &self.file.graph.outputs {
            let term = environment.get_mut(&info.name).ok_or_else(|| OnnxError::Inputs {
                expected: vec![],
                problem: format!("output `{}` was never made", info.name),
            })?;
            term.arrays_mut(&mut |array| arrays.push(array.clone()));
            outputs.push((info.name.clone(), term.clone()));
        }
        Ok((Traced::new(arguments, &arrays)?, Vec::new(), Next::Done(outputs)))
    }

    /// The graph up to a break gives all values that the rest still needs.
    fn break_at(
        &self,
        stop: Stop,
        mut environment: Environment,
        arguments: &[Array],
    ) -> Result<(Traced, Vec<String>, Next), OnnxError> {
        let graph = &self.file.graph;
        let mut needed: Vec<&String> = vec![&stop.input];
        for Step { node, .. } in &self.steps[stop.node..] {
            needed.extend(node.inputs.iter().chain(&node.captures));
        }
        needed.extend(graph.outputs.iter().map(|info| &info.name));
        let mut live: Vec<String> = Vec::new();
        let mut arrays = Vec::new();
        for name in needed {
            if live.contains(name) {
                continue;
            }
            let Some(term) = environment.get_mut(name) else { continue };
            if term.is_static() {
                continue;
            }
            term.arrays_mut(&mut |array| arrays.push(array.clone()));
            live.push(name.clone());
        }
        environment.retain(|name, term| term.is_static() || live.contains(name));
        let after = Break {
            node: stop.node,
            input: stop.input,
            why: stop.why,
            environment,
            branches: Mutex::default(),
        };
        Ok((Traced::new(arguments, &arrays)?, live, Next::Break(Box::new(after))))
    }
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
            Next::Break(after) => Some(&after.why),
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
        })
    }
}

/// A term whose tensors of numbers are arrays: what a call is given is not
/// known while its graph is traced.
fn argument(term: Term) -> Term {
    match term {
        Term::Host(value) => Term::Array(Array::from_host(value)),
        Term::Sequence(items) => Term::Sequence(items.into_iter().map(argument).collect()),
        Term::Optional(item) => Term::Optional(item.map(|item| Box::new(argument(*item)))),
        other => other,
    }
}

fn fits(info: &ValueInfo, term: &Term) -> Result<(), OnnxError> {
    if let Term::Array(array) = term {
        array.check()?;
    }
    if is_of(&info.ty, term) {
        return Ok(());
    }
    Err(OnnxError::Input { name: info.name.clone(), expected: info.ty.to_string(), found: term.describe() })
}

fn is_of(ty: &ValueType, term: &Term) -> bool {
    match (ty, term) {
        (ValueType::Tensor(tensor), Term::Array(_) | Term::Host(_) | Term::Strings(_)) => {
            let elem = match term.dtype() {
                Some(dtype) => ElemType::of(dtype),
                None => ElemType::String,
            };
            if tensor.elem != ElemType::Undefined && tensor.elem != elem {
                return false;
            }
            let (Some(dims), Some(shape)) = (&tensor.dims, term.shape()) else { return true };
            // Named sizes do not bind: exporters give one name to two sizes.
            let agrees = dims.iter().zip(&shape).all(|(dim, &n)| match dim {
                Dim::Known(size) => *size == n,
                Dim::Symbol(_) | Dim::Unknown => true,
            });
            dims.len() == shape.len() && agrees
        }
        (ValueType::Sequence(item), Term::Sequence(items)) => items.iter().all(|term| is_of(item, term)),
        (ValueType::Optional(item), Term::Optional(term)) => {
            term.as_deref().is_none_or(|term| is_of(item, term))
        }
        (ValueType::Tensor(_) | ValueType::Sequence(_) | ValueType::Optional(_), _) => false,
        _ => true,
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Model({} nodes)", self.file.graph.nodes.len())
    }
}
