//! Traced functions in files.
//!
//! A saved function is one safetensors file. Its tensors are what the function
//! captured (`captured.0`, …) and the large constants of its graph (`constant.0`, …);
//! its metadata are texts: `oneir.function`, the version of this form; `graph`, the
//! graph's text form, which names large constants by their places; `places`, where
//! each op was written, a line for each. Elements below a byte stand as their bytes.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use oneir_io::safetensors;
use oneir_ir::graph::{Role, TensorGraph};
use oneir_ir::primitive::CustomRules;
use oneir_ir::{Place, Primitive, Spec, Value, verify};
use oneir_tensor::{DType, HostTensor};

use crate::{Array, ArrayError, Traced};

/// The version of the form that this writes and reads.
const VERSION: &str = "1";

/// The metadata's keys.
const FORM: &str = "oneir.function";
const GRAPH: &str = "graph";
const PLACES: &str = "places";

impl Traced {
    /// Saves the function to one safetensors file (whatever its name ends in): the
    /// graph, what it captured and its constants. [`Traced::load`] reads it in any
    /// process.
    ///
    /// The file also holds the place in the source where each op was written.
    ///
    /// # Errors
    /// When the graph calls a kernel that is a Rust function, or a function with rules
    /// for transforms that are, which cannot be saved; when a captured value cannot be computed; when the file cannot be written. It
    /// is then as it was.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, DType, Traced, array};
    /// use oneir_ir::Spec;
    ///
    /// let weight = array![[1f32, 2.0], [3.0, 4.0]].exp();
    /// weight.eval()?;
    /// let x = Traced::argument(Spec::new(DType::F32, [1, 2]));
    /// let function = Traced::new(&[x.clone()], &[x.matmul(&weight)])?;
    ///
    /// let path = std::env::temp_dir().join(format!("oneir-function-{}.safetensors", std::process::id()));
    /// function.save(&path)?;
    /// let again = Traced::load(&path)?;
    /// let device = oneir_runtime::Runtime::global().default_device()?;
    /// let input = [Array::from_slice(&[1f32, -1.0], &[1, 2])];
    /// let (a, b) = (function.call(&device, &input)?, again.call(&device, &input)?);
    /// assert_eq!(a[0].to_vec::<f32>()?, b[0].to_vec::<f32>()?);
    /// # std::fs::remove_file(&path).unwrap();
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), ArrayError> {
        check_savable(self.graph())?;
        let mut tensors = Vec::new();
        for (i, value) in self.captured().iter().enumerate() {
            tensors.push((format!("captured.{i}"), storable(Array::from_value(value.clone()).to_host()?)?));
        }
        let (text, constants) = self.graph().to_text_and_values();
        for (i, value) in constants.into_iter().enumerate() {
            tensors.push((format!("constant.{i}"), storable(value)?));
        }
        let line = |place: &Place| match place {
            Place::Internal => String::new(),
            written => written.to_string().replace('\n', " "),
        };
        let places: Vec<String> = self.places().iter().map(line).collect();
        let metadata = [(FORM, VERSION.to_owned()), (GRAPH, text), (PLACES, places.join("\n"))];
        let metadata: BTreeMap<String, String> =
            metadata.into_iter().map(|(key, text)| (key.to_owned(), text)).collect();
        Ok(safetensors::write(path, &tensors, &metadata)?)
    }

    /// Loads what [`Traced::save`] wrote. Its values stay in the file until they are
    /// read, so the file must not be changed in place while the function lives.
    ///
    /// # Errors
    /// When the file cannot be read, holds no function of a version that is known
    /// here, or its graph and tensors do not fit each other.
    pub fn load(path: impl AsRef<Path>) -> Result<Traced, ArrayError> {
        let path = path.as_ref();
        let contents = safetensors::read(path)?;
        read(contents).map_err(|problem| ArrayError::NotAFunction { path: path.to_owned(), problem })
    }
}

/// Refuses what only this process can compute.
fn check_savable(graph: &TensorGraph) -> Result<(), ArrayError> {
    for primitive in graph.primitives() {
        let name = match primitive {
            Primitive::Kernel(call) if call.cpu.get().is_some() => Some(&call.name),
            Primitive::Custom(call) if matches!(call.rules, CustomRules::Given(_)) => Some(&call.name),
            _ => None,
        };
        if let Some(name) = name {
            return Err(ArrayError::Unsavable { name: name.to_string() });
        }
        primitive.bodies().into_iter().try_for_each(|body| check_savable(body.graph()))?;
    }
    Ok(())
}

/// A tensor as safetensors can hold it.
fn storable(value: HostTensor) -> Result<HostTensor, ArrayError> {
    if value.dtype().bits() >= 8 {
        return Ok(value);
    }
    let bytes = value.bytes();
    Ok(HostTensor::from_bytes(DType::U8, &[bytes.len()], &bytes)?)
}

/// A stored tensor as what it was.
fn restored(name: &str, stored: &HostTensor, spec: &Spec) -> Result<HostTensor, String> {
    if spec.dtype.bits() < 8 && stored.dtype() == DType::U8 {
        return HostTensor::from_buffer(spec.dtype, &spec.shape, stored.buffer().clone())
            .map_err(|e| format!("tensor `{name}`: {e}"));
    }
    if Spec::of(stored) != *spec {
        return Err(format!("tensor `{name}`: expected {spec}, found {}", Spec::of(stored)));
    }
    Ok(stored.clone())
}

fn read(contents: safetensors::Contents) -> Result<Traced, String> {
    let text = |key: &str| contents.metadata.get(key).ok_or(format!("its metadata have no `{key}`"));
    let version = text(FORM)?;
    if version != VERSION {
        let version: String = version.chars().take(20).collect();
        return Err(format!("it is of version `{version}`; this reads version {VERSION}"));
    }
    let tensors: HashMap<&str, &HostTensor> = contents.tensors.iter().map(|(n, t)| (n.as_str(), t)).collect();
    let (mut constants, mut captured) = (Vec::new(), Vec::new());
    for (stem, list) in [("constant", &mut constants), ("captured", &mut captured)] {
        while let Some(&value) = tensors.get(format!("{stem}.{}", list.len()).as_str()) {
            list.push(value);
        }
    }
    if constants.len() + captured.len() != tensors.len() {
        let known = |name: &&&str| match name.split_once('.') {
            Some(("constant", n)) => n.parse().is_ok_and(|n: usize| n < constants.len()),
            Some(("captured", n)) => n.parse().is_ok_and(|n: usize| n < captured.len()),
            _ => false,
        };
        let name = tensors.keys().find(|name| !known(name)).copied().unwrap_or_default();
        return Err(format!("tensor `{name}` belongs to nothing"));
    }
    let constants: Vec<HostTensor> = constants.into_iter().cloned().collect();
    let graph = TensorGraph::from_text_and_values(text(GRAPH)?, &constants)
        .map_err(|e| format!("its graph's text: {e}"))?;
    verify::with_bodies(&graph).map_err(|e| format!("its graph: {e}"))?;
    let plain = |id: &&oneir_ir::graph::TensorId| {
        let tensor = graph.tensor(**id);
        tensor.storage == oneir_ir::graph::Storage::Computed
            && tensor.fill == oneir_ir::graph::Fill::Unfilled
            && matches!(tensor.role, Role::Input | Role::Constant)
    };
    if let Some(id) = graph.inputs.iter().find(|id| !plain(id)) {
        return Err(format!("input %{} of its graph is neither an argument nor captured", id.0));
    }
    let arguments = graph.inputs.iter().take_while(|&&id| graph.tensor(id).role == Role::Input).count();
    let wanted = &graph.inputs[arguments..];
    if wanted.len() != captured.len() || wanted.iter().any(|&id| graph.tensor(id).role != Role::Constant) {
        return Err(format!(
            "its graph has {arguments} arguments and {} captured values, the file {}",
            wanted.len(),
            captured.len()
        ));
    }
    let mut values = Vec::with_capacity(captured.len());
    for (i, (&id, stored)) in wanted.iter().zip(captured).enumerate() {
        values.push(Value::constant(restored(&format!("captured.{i}"), stored, &graph.spec(id))?));
    }
    let places = places(contents.metadata.get(PLACES), graph.lifted as usize)?;
    Ok(Traced::of(graph, values, places))
}

fn places(text: Option<&String>, count: usize) -> Result<Vec<Place>, String> {
    let text = text.map_or("", String::as_str);
    let lines: Vec<&str> = if count == 0 { Vec::new() } else { text.split('\n').collect() };
    if lines.len() != count {
        return Err(format!("it has {} places for {count} ops", lines.len()));
    }
    let mut named: HashMap<&str, Arc<str>> = HashMap::new();
    let place = |line| match line {
        "" => Place::Internal,
        line => Place::Named(named.entry(line).or_insert_with(|| line.into()).clone()),
    };
    Ok(lines.into_iter().map(place).collect())
}
