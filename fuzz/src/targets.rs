//! What the fuzz targets do with their bytes. The tests of the importer take
//! this file in too, and run the corpus through it.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use oneir_array::{Array, HostTensor};
use oneir_cpu::{CpuBackend, Kernels};
use oneir_ir::Spec;
use oneir_onnx::{
    AttributeValue, Attributes, Dim, Graph, Model, OnnxFile, Part, Strings, TensorData, Term, ValueType,
};
use oneir_runtime::{
    Backend, Bound, Device, DeviceOptions, Event, KernelTable, Memory, RuntimeError, Stream, Work,
};
use oneir_tensor::Buffer;

/// A model that declares more elements of input is not run.
const MOST_INPUT: usize = 10_000;
/// Neither is one whose graph has a tensor of more, views included.
const MOST_ELEMENTS: usize = 1 << 20;
/// Nor one with more steps.
const MOST_NODES: usize = 64;
/// Nor one whose loops may go on for longer than a number that it stores.
const MOST_ITERATIONS: i64 = 8;
const MOST_LOOPS: usize = 3;
/// What a run may take of the device, and for how long it may use it.
const MOST_MEMORY: usize = 64 << 20;
const LONGEST: Duration = Duration::from_millis(500);

/// Bytes to a model's representation, all of whose tensors are read.
pub(crate) fn onnx_file(bytes: &[u8]) {
    match OnnxFile::from_bytes(bytes.to_vec(), None) {
        Ok(file) => {
            each_graph(&file, &mut |graph| {
                for (_, data) in &graph.initializers {
                    read(data);
                }
                for node in &graph.nodes {
                    if let Some(function) = file.function(node) {
                        let _ = function.bind(node);
                    }
                    node.attributes.iter().for_each(|(_, value)| match value {
                        AttributeValue::Tensor(data) | AttributeValue::SparseTensor(data) => read(data),
                        AttributeValue::Tensors(all) | AttributeValue::SparseTensors(all) => {
                            all.iter().for_each(read);
                        }
                        _ => {}
                    });
                }
            });
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn read(data: &TensorData) {
    let _ = (data.to_host(), data.strings(), data.dtype());
}

/// Bytes to a model, which is traced, called and run eagerly where it is small.
pub(crate) fn onnx_model(bytes: &[u8]) {
    let Ok(file) = OnnxFile::from_bytes(bytes.to_vec(), None) else { return };
    let runs = runs(&file);
    let Ok(model) = Model::new(file) else { return };
    let mut left = MOST_INPUT;
    let inputs: Option<Vec<(&str, Term)>> = model
        .inputs()
        .iter()
        .map(|info| Some((info.name.as_str(), example(&info.ty, &mut left, 4)?)))
        .collect();
    let Some(inputs) = inputs else { return };
    let specs: Option<Vec<(&str, Spec)>> =
        inputs.iter().map(|(name, term)| Some((*name, term.spec()?))).collect();
    if let Some(specs) = specs {
        match model.trace(&specs) {
            Ok(part) if !short(&part) => return,
            traced => check(traced.err()),
        }
    }
    if !runs {
        return;
    }
    // As arrays, so that values which the graph looks at are not known.
    let inputs: Vec<(&str, Term)> = inputs.into_iter().map(|(name, term)| (name, unknown(term))).collect();
    check(model.call_on(&device(), &inputs).err());
    let results = model.eager(&device(), &inputs);
    check(results.as_ref().err().cloned());
    if let Ok(results) = results {
        let arrays: Vec<Array> = results.iter().filter_map(|(_, term)| term.array()).collect();
        let _ = oneir_array::eval_on(&device(), &arrays);
    }
}

/// Whether a part works on few elements: a kernel ends when it is done.
fn short(part: &Part) -> bool {
    part.traced().graph().tensors.iter().all(|tensor| tensor.shape.count() <= MOST_ELEMENTS)
}

fn check(error: Option<oneir_onnx::OnnxError>) {
    if let Some(error) = error {
        assert!(!error.to_string().is_empty());
    }
}

fn unknown(term: Term) -> Term {
    match term {
        Term::Host(value) => Term::Array(Array::from_host(value)),
        Term::Sequence(items) => Term::Sequence(items.into_iter().map(unknown).collect()),
        Term::Optional(item) => Term::Optional(item.map(|item| Box::new(unknown(*item)))),
        other => other,
    }
}

/// A small value of a type: ones and small numbers, open sizes of 2.
fn example(ty: &ValueType, left: &mut usize, depth: usize) -> Option<Term> {
    match ty {
        ValueType::Tensor(tensor) => {
            let dims = tensor.dims.as_deref().unwrap_or(&[Dim::Unknown, Dim::Unknown]);
            let shape: Vec<usize> = dims.iter().map(|d| if let Dim::Known(n) = d { *n } else { 2 }).collect();
            let count = shape.iter().try_fold(1usize, |all, &n| all.checked_mul(n))?;
            *left = left.checked_sub(count)?;
            let Some(dtype) = tensor.elem.dtype() else {
                return Some(Term::Strings(Strings { shape, values: vec![b"a b".to_vec(); count] }));
            };
            let numbers: Vec<f32> = (0..count).map(|i| 1.0 + (i % 2) as f32).collect();
            let value = HostTensor::from_slice(&shape, &numbers).ok()?.cast(dtype);
            Some(Term::Host(value.or_else(|_| HostTensor::zeros(dtype, &shape)).ok()?))
        }
        ValueType::Sequence(item) if depth > 0 => {
            let items = (0..2).map(|_| example(item, left, depth - 1));
            Some(Term::Sequence(items.collect::<Option<_>>()?))
        }
        ValueType::Optional(item) if depth > 0 => {
            Some(Term::Optional(Some(Box::new(example(item, left, depth - 1)?))))
        }
        _ => None,
    }
}

/// Calls `f` with every graph of a file, each once.
fn each_graph(file: &OnnxFile, f: &mut dyn FnMut(&Graph)) {
    fn inner(graph: &Graph, f: &mut dyn FnMut(&Graph)) {
        f(graph);
        for node in &graph.nodes {
            node.attributes.all_graphs().for_each(|graph| inner(graph, f));
        }
    }
    inner(&file.graph, f);
    file.functions.iter().for_each(|function| inner(&function.body, f));
}

/// Whether a run of the model ends soon, as far as its text tells: what a loop
/// does for as long as it is told to is no fault.
fn runs(file: &OnnxFile) -> bool {
    let (mut nodes, mut loops, mut bounded) = (0, 0, true);
    let mut short: HashSet<String> = file.graph.required_inputs().map(|info| info.name.clone()).collect();
    each_graph(file, &mut |graph| {
        short.extend(graph.initializers.iter().filter(|(_, data)| few(data)).map(|(name, _)| name.clone()));
        for node in graph.nodes.iter().filter(|node| node.op_type == "Constant") {
            if constant(&node.attributes) {
                short.extend(node.outputs.first().cloned());
            }
        }
    });
    each_graph(file, &mut |graph| {
        nodes += graph.nodes.len();
        for node in &graph.nodes {
            loops += usize::from(matches!(&*node.op_type, "Loop" | "Scan" | "SequenceMap"));
            bounded &= match &*node.op_type {
                "Loop" => node.inputs.first().is_some_and(|name| short.contains(name)),
                "Scan" => node.inputs.last().is_some_and(|name| short.contains(name)),
                _ => true,
            };
        }
    });
    nodes <= MOST_NODES && loops <= MOST_LOOPS && bounded
}

fn constant(attributes: &Attributes) -> bool {
    match (attributes.get("value"), attributes.get("value_int")) {
        (Some(AttributeValue::Tensor(data)), _) => few(data),
        (_, Some(AttributeValue::Int(n))) => *n <= MOST_ITERATIONS,
        _ => false,
    }
}

fn few(data: &TensorData) -> bool {
    let numbers = || data.to_host().ok()?.values().ok()?.to_ints();
    data.shape().iter().product::<usize>() == 1
        && numbers().is_some_and(|all| all.iter().all(|&n| n <= MOST_ITERATIONS))
}

fn device() -> Device {
    static CPU: LazyLock<Arc<CpuBackend>> =
        LazyLock::new(|| Arc::new(CpuBackend::with_threads(Kernels::All, 1)));
    let backend = Narrow { cpu: CPU.clone(), until: Instant::now() + LONGEST };
    Device::new("cpu", Arc::new(backend), DeviceOptions { paranoid: true, ..DeviceOptions::default() })
}

/// The CPU with little memory, and for a short time.
struct Narrow {
    cpu: Arc<CpuBackend>,
    until: Instant,
}

impl Backend for Narrow {
    fn name(&self) -> &str {
        self.cpu.name()
    }

    fn kernels(&self) -> &KernelTable {
        self.cpu.kernels()
    }

    fn threads(&self) -> usize {
        self.cpu.threads()
    }

    fn allocate(&self, bytes: usize) -> Result<Arc<dyn Memory>, RuntimeError> {
        if bytes > MOST_MEMORY || Instant::now() > self.until {
            return Err(RuntimeError::OutOfMemory { device: "cpu".into(), bytes, active: 0, limit: None });
        }
        self.cpu.allocate(bytes)
    }

    fn adopt(&self, stream: Stream, buffer: &Buffer) -> Result<(Arc<dyn Memory>, Event), RuntimeError> {
        self.cpu.adopt(stream, buffer)
    }

    fn upload(&self, stream: Stream, to: &Bound, bytes: &[u8]) -> Result<Event, RuntimeError> {
        self.cpu.upload(stream, to, bytes)
    }

    fn download(&self, from: &Bound, len: usize) -> Result<Buffer, RuntimeError> {
        self.cpu.download(from, len)
    }

    fn share(&self, memory: &Arc<dyn Memory>) -> Result<Option<Buffer>, RuntimeError> {
        self.cpu.share(memory)
    }

    fn fill(&self, stream: Stream, to: &Bound, len: usize, byte: u8) -> Result<(), RuntimeError> {
        self.cpu.fill(stream, to, len, byte)
    }

    fn submit(&self, work: Work<'_>) -> Result<Event, RuntimeError> {
        if Instant::now() > self.until {
            return Err(RuntimeError::OutOfMemory { device: "cpu".into(), bytes: 0, active: 0, limit: None });
        }
        self.cpu.submit(work)
    }

    fn synchronise(&self) -> Result<(), RuntimeError> {
        self.cpu.synchronise()
    }
}
