use std::path::Path;
use std::sync::Arc;

use oneir_array::{Array, Device, Traced};
use oneir_ir::Spec;
use oneir_runtime::{Profile, Steps};

use crate::error::OnnxError;
use crate::file::{Dim, ElemType, OnnxFile, TensorType, ValueInfo, ValueType};
use crate::parts::{Part, Program, argument};
use crate::program::Pending;
use crate::term::{Keys, Term};
use crate::trace::{Environment, check_operators, stored};

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
    file: Arc<OnnxFile>,
    program: Program,
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
        check_operators(&file)?;
        let file = Arc::new(file);
        let mut constants = Environment::new();
        for (name, data) in &file.graph.initializers {
            constants.insert(name.clone(), stored(data)?);
        }
        let inputs = file.graph.required_inputs().map(|info| info.name.clone()).collect();
        let outputs = file.graph.outputs.iter().map(|info| info.name.clone()).collect();
        let name = file.graph.name.clone();
        let program = Program::new(file.clone(), name, Pending::of(&file), constants, inputs, outputs);
        Ok(Model { file, program })
    }

    /// The file's representation.
    pub fn file(&self) -> &OnnxFile {
        &self.file
    }

    /// How many of its nodes the trace under way has done, or the last one.
    pub fn steps(&self) -> &Arc<Steps> {
        &self.program.steps
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
        profile: Option<&mut Profile>,
    ) -> Result<Vec<(String, Term)>, OnnxError> {
        let outputs = self.program.call(device, self.ordered(inputs)?, profile)?;
        Ok(self.named(outputs))
    }

    fn named(&self, outputs: Vec<Term>) -> Vec<(String, Term)> {
        self.file.graph.outputs.iter().map(|info| info.name.clone()).zip(outputs).collect()
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
        let outputs = self.program.eager(device, self.ordered(inputs)?)?;
        Ok(self.named(outputs))
    }

    /// The parts that a call with inputs of these specs begins with, and the
    /// breaks met so far, for reports.
    ///
    /// # Errors
    /// When a node cannot be traced.
    pub fn trace(&self, inputs: &[(&str, Spec)]) -> Result<Arc<Part>, OnnxError> {
        let arguments: Vec<(&str, Array)> =
            inputs.iter().map(|(name, spec)| (*name, Traced::argument(spec.clone()))).collect();
        self.program.part(&self.ordered(&arguments)?)
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
        (ValueType::Map { key, value }, Term::Map(map)) => {
            let same = match map.keys {
                Keys::Ints(_) => *key == ElemType::Int64,
                Keys::Strings(_) => *key == ElemType::String,
            };
            // The declared type is that of one value.
            let fits = value.tensor().is_none_or(|one| {
                let list = TensorType { dims: None, ..one.clone() };
                is_of(&ValueType::Tensor(list), &map.values)
            });
            same && fits && map.values.shape().is_some_and(|shape| shape[..] == [map.keys.len()])
        }
        (
            ValueType::Tensor(_) | ValueType::Sequence(_) | ValueType::Optional(_) | ValueType::Map { .. },
            _,
        ) => false,
        _ => true,
    }
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Model({} nodes)", self.file.graph.nodes.len())
    }
}
