//! Traced functions as ONNX models.
//!
//! [`export`] writes what a function was traced to, before any pass: each primitive by
//! its row in [`ops`](self::ops), as operators of the standard's opset 23. Broadcasts
//! and transpositions are written only where an operator needs them, computations over
//! constants are done at once, and fused classes become the operators that stand for
//! them. What has no operators is refused by name, with the line where it was written.

mod attribute;
mod draft;
mod error;
mod graph;
mod model;
mod ops;
mod save;
mod term;
mod types;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use oneir_array::{Array, ArrayError, Traced};
use oneir_ir::graph::Role;

pub use error::ExportError;
pub use save::Exported;

use draft::Draft;
use graph::{Exporter, Stop};
use term::{Shown, Term};

use crate::proto::{ModelProto, OperatorSetIdProto};

/// The operator set that models import.
const OPSET: i64 = 23;

/// The version of the file format that came with it.
const IR_VERSION: i64 = 11;

/// How a function is written.
#[derive(Debug, Clone, Default)]
pub struct ExportOptions {
    name: Option<String>,
    inputs: Option<Vec<String>>,
    outputs: Option<Vec<String>>,
    batch: Option<String>,
    weights: Vec<(Array, String)>,
}

impl ExportOptions {
    /// Inputs `input_0`, …, outputs `output_0`, …, and all sizes as they were traced.
    pub fn new() -> ExportOptions {
        ExportOptions::default()
    }

    /// Names the graph.
    #[must_use]
    pub fn graph(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Names the inputs: one name for each argument.
    #[must_use]
    pub fn inputs(mut self, names: &[&str]) -> Self {
        self.inputs = Some(names.iter().map(ToString::to_string).collect());
        self
    }

    /// Names the outputs.
    #[must_use]
    pub fn outputs(mut self, names: &[&str]) -> Self {
        self.outputs = Some(names.iter().map(ToString::to_string).collect());
        self
    }

    /// Lets the model take any number of items, where it can be shown that each item is
    /// treated on its own: the first axis of the first argument, and of every other one
    /// with as many items, gets this name instead of a size. The function must be traced
    /// with at least two items, so that they can be told from axes of size 1. Where it
    /// cannot be shown, sizes stay as they were traced: see [`Exported::batch`].
    #[must_use]
    pub fn batch(mut self, name: &str) -> Self {
        self.batch = Some(name.into());
        self
    }

    /// Names an array that the function reads, which becomes the initialiser of this name
    /// (also where it is written in another order of its axes).
    #[must_use]
    pub fn weight(mut self, array: &Array, name: &str) -> Self {
        self.weights.push((array.clone(), name.into()));
        self
    }
}

/// Writes a traced function as an ONNX model.
///
/// Arguments become inputs, what the function captured becomes initialisers. Elements
/// may be bool, integers of 8 to 64 bits, f16, bf16, f32 and f64; casts know the
/// storage types of the operator set too. Conversions of floats to integers are those
/// of the standard, which leaves open what out-of-range numbers become.
///
/// # Errors
/// When a part of the function has no operators in the standard, or the options do not
/// fit the function.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, DType, Traced, array};
/// use oneir_ir::Spec;
/// use oneir_onnx::{ExportOptions, Model, OnnxFile, export};
///
/// let (weight, bias) = (array![[1f32, -1.0], [2.0, 0.5]].exp(), array![0.5f32, 1.0].exp());
/// oneir_array::eval(&[weight.clone(), bias.clone()])?;
/// let x = Traced::argument(Spec::new(DType::F32, [3, 2]));
/// let zero = Array::full(&[], 0.0, DType::F32);
/// let function = Traced::new(&[x.clone()], &[(x.matmul(&weight) + &bias).maximum(zero)])?;
///
/// let options = ExportOptions::new().inputs(&["x"]).outputs(&["y"]).batch("N").weight(&weight, "w");
/// let exported = export(&function, &options)?;
/// assert_eq!(exported.operators(), ["Gemm", "Relu"]);
/// assert_eq!(exported.batch(), Some("N"));
///
/// let model = Model::new(OnnxFile::from_bytes(exported.to_bytes()?, None)?)?;
/// let items = Array::ones(&[5, 2], DType::F32);
/// let outputs = model.call(&[("x", items)])?;
/// assert_eq!(outputs[0].1.shape(), Some(vec![5, 2]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn export(function: &Traced, options: &ExportOptions) -> Result<Exported, ExportError> {
    let items = batch_size(function, options)?;
    if let Some(items) = items {
        match written(function, options, Some(items)) {
            Ok(exported) => return Ok(exported),
            Err(Stop::Error(error)) => return Err(error),
            Err(Stop::Batch) => {}
        }
    }
    written(function, options, None).map_err(|stop| match stop {
        Stop::Error(error) => error,
        Stop::Batch => ExportError::Options("sizes cannot be fixed".into()),
    })
}

/// How many items the arguments hold, where the model is to take any number.
fn batch_size(function: &Traced, options: &ExportOptions) -> Result<Option<usize>, ExportError> {
    if options.batch.is_none() {
        return Ok(None);
    }
    let graph = function.graph();
    let first = graph.inputs.first().filter(|&&id| graph.tensor(id).role != Role::Constant);
    match first.and_then(|&id| graph.tensor(id).shape.first()) {
        None => Err(ExportError::Options("a batch needs a first argument that has an axis".into())),
        Some(&items) if items < 2 => Err(ExportError::Options(format!(
            "for a batch, the function must be traced with at least two items, found {items}"
        ))),
        Some(&items) => Ok(Some(items)),
    }
}

/// Distinct names for `count` values.
fn names(
    what: &str,
    given: Option<&Vec<String>>,
    count: usize,
    taken: &mut HashSet<String>,
) -> Result<Vec<String>, ExportError> {
    let names = match given {
        Some(names) if names.len() == count => names.clone(),
        Some(names) => {
            return Err(ExportError::Options(format!("{} names for {count} {what}s", names.len())));
        }
        None => (0..count).map(|i| format!("{what}_{i}")).collect(),
    };
    match names.iter().find(|name| name.is_empty() || !taken.insert((*name).clone())) {
        Some(name) => Err(ExportError::Options(format!("the name `{name}` of an {what} is empty or taken"))),
        None => Ok(names),
    }
}

fn written(function: &Traced, options: &ExportOptions, items: Option<usize>) -> Result<Exported, Stop> {
    let graph = function.graph();
    let arguments = graph.inputs.len() - function.captured().len();
    let mut taken = HashSet::new();
    let ready = |error| Stop::Error(ExportError::Array(error));
    let input_names = names("input", options.inputs.as_ref(), arguments, &mut taken).map_err(Stop::Error)?;
    let output_names =
        names("output", options.outputs.as_ref(), graph.outputs.len(), &mut taken).map_err(Stop::Error)?;

    let mut draft = Draft::default();
    draft.items = items.unwrap_or(1);
    for (array, name) in &options.weights {
        draft.labels.extend(array.value()?.as_constant().map(|held| (held.clone(), name.as_str().into())));
    }
    let mut given: Vec<Shown> = Vec::new();
    for &id in &graph.inputs[..arguments] {
        let tensor = graph.tensor(id);
        let shape = tensor.shape.to_vec();
        let batch = items.and_then(|items| (shape.first() == Some(&items)).then_some(0));
        let name = draft.fresh("input");
        given.push(Shown::plain(Term { name, shape, dtype: tensor.dtype, batch, ..Term::absent() }));
    }
    let inputs: Vec<Term> = given.iter().map(|shown| shown.base.clone()).collect();
    for value in function.captured() {
        let array = Array::from_value(value.clone());
        let key = |a: &Array| a.value().map(|v| v.key()).ok();
        let label = options.weights.iter().find(|(weight, _)| key(weight) == Some(value.key()));
        let host = array.to_host().map_err(ready)?;
        given.push(Shown::plain(draft.weight(host, label.and_then(|(_, name)| graph::label(name)))));
    }
    let interface = inputs.iter().find(|term| types::elem(term.dtype).is_none());
    if let Some(term) = interface {
        let why = format!("opset {OPSET} has no {} tensors that compute", term.dtype);
        let primitive = "an argument".into();
        return Err(Stop::Error(ExportError::Unsupported { primitive, place: "the call".into(), why }));
    }
    let outputs = Exporter::new(&mut draft, graph, function.places(), given).run()?;
    let mut terms: Vec<Term> = outputs.iter().map(|shown| draft.settle(shown)).collect();

    // An output is a node's result, and only that.
    let mut used: HashSet<Arc<str>> = HashSet::new();
    for term in &mut terms {
        if draft.maker(&term.name).is_none() || !used.insert(term.name.clone()) {
            let batch = term.batch;
            *term = draft.node("Identity", &[term], vec![], (term.dtype, &term.shape));
            term.batch = batch;
            used.insert(term.name.clone());
        }
    }
    draft.checked().map_err(|refusal| match refusal {
        error::Refusal::Batch => Stop::Batch,
        error::Refusal::Unsupported(why) => Stop::Error(ExportError::Unsupported {
            primitive: "an output".into(),
            place: "the call".into(),
            why,
        }),
    })?;

    let mut nodes = draft.leave();
    let needed = model::prune(&mut nodes, &terms.iter().map(|term| &*term.name).collect::<Vec<_>>());
    let mut renamed: HashMap<String, String> = HashMap::new();
    let ends = inputs.iter().zip(input_names).chain(terms.iter().zip(output_names));
    renamed.extend(ends.map(|(term, name)| (term.name.to_string(), name)));
    let mut weights = Vec::new();
    for term in draft.constants.iter().filter(|term| needed.contains(&*term.name)) {
        let Some(value) = term.value.clone() else { continue };
        let label = term.label.as_deref().filter(|label| taken.insert((*label).to_owned()));
        let name = label.unwrap_or(&term.name).to_owned();
        renamed.insert(term.name.to_string(), name.clone());
        weights.push((name, value));
    }
    let mut clashes = Vec::new();
    // A name that a caller chose may be one that a value has already.
    for name in draft.names().filter(|&name| taken.contains(name) && !renamed.contains_key(name)) {
        let other = (1..).map(|i| format!("{name}_{i}")).find(|other| !taken.contains(other));
        clashes.extend(other.map(|other| (name.to_owned(), other)));
    }
    renamed.extend(clashes);
    let batch = items.and(options.batch.as_deref());
    let named = batch.map(|name| (name, draft.items));
    let info = |term: &Term| {
        let mut info = model::value_info(term, named, &draft.sizes);
        info.name = Some(renamed.get(&*term.name).cloned().unwrap_or_else(|| term.name.to_string()));
        info
    };
    let (inputs, outputs): (Vec<_>, Vec<_>) =
        (inputs.iter().map(info).collect(), terms.iter().map(info).collect());
    model::rename(&mut nodes, &renamed);
    let name = options.name.clone().unwrap_or_else(|| graph.name.clone());
    let mut written = model::graph(if name.is_empty() { "function" } else { &name }, nodes, &inputs, &[]);
    written.output = outputs;
    let model = ModelProto {
        ir_version: Some(IR_VERSION),
        opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: Some(OPSET) }],
        producer_name: Some("oneir".into()),
        producer_version: Some(env!("CARGO_PKG_VERSION").into()),
        graph: Some(written),
        ..ModelProto::default()
    };
    Ok(Exported::new(model, weights, batch.map(str::to_owned)))
}

impl From<ArrayError> for Stop {
    fn from(error: ArrayError) -> Self {
        Stop::Error(error.into())
    }
}
