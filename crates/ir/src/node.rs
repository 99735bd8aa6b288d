use std::any::Any;
use std::fmt;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use oneir_tensor::HostTensor;
use smallvec::{SmallVec, smallvec};

use crate::{Invalid, Primitive, Spec, Specs};

/// An evaluated result, held for whoever computed it.
pub type Payload = Arc<dyn Any + Send + Sync>;

/// Where a node was written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// A line of Rust.
    Rust(&'static Location<'static>),
    /// A place in another source: an ONNX node, a program's statement.
    Named(Arc<str>),
    /// Made by a rule or a definition.
    Internal,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Rust(at) => at.fmt(f),
            Place::Named(name) => f.write_str(name),
            Place::Internal => f.write_str("an internal definition"),
        }
    }
}

/// What a node is.
#[derive(Debug)]
pub enum Source {
    /// A primitive applied to inputs.
    Op(Primitive),
    /// An argument of a function being traced.
    Placeholder,
    /// A value known while recording.
    Constant(HostTensor),
    /// A value that was already computed.
    Data,
}

/// A recorded primitive applied to inputs, or a leaf.
///
/// Recording checked it, so a broken node cannot exist, and nothing changes
/// it, except that evaluation attaches its results and lets go of its inputs.
pub struct Node {
    source: Source,
    outputs: Specs,
    inputs: Mutex<SmallVec<[Value; 2]>>,
    ready: OnceLock<Box<[Payload]>>,
    place: Place,
    label: OnceLock<Arc<str>>,
    trace: Option<Trace>,
}

/// While it lasts, values that depend on what it marks keep what they were made
/// from, also once they are computed: transforms walk it.
#[derive(Debug, Clone)]
pub struct Trace {
    lasts: Arc<AtomicBool>,
    /// Whether what it marks stands for values of any size.
    any_size: bool,
    /// Another that the same values belong to.
    beside: Option<Arc<Trace>>,
}

impl Trace {
    /// Begins to keep.
    #[allow(clippy::new_without_default, reason = "beginning is no default")]
    pub fn new() -> Trace {
        Trace { lasts: Arc::new(AtomicBool::new(true)), any_size: false, beside: None }
    }

    /// As [`Trace::new`], of values that stand for others of any size: what is made
    /// of them must not hold their sizes.
    pub fn of_any_size() -> Trace {
        Trace { any_size: true, ..Trace::new() }
    }

    fn is_of_any_size(&self) -> bool {
        (self.any_size && self.lasts.load(Ordering::Acquire))
            || self.beside.as_ref().is_some_and(|other| other.is_of_any_size())
    }

    /// Stops keeping: values computed from now on let go of their inputs, unless
    /// another trace keeps them.
    pub fn end(&self) {
        self.lasts.store(false, Ordering::Release);
    }

    fn lasts(&self) -> bool {
        self.lasts.load(Ordering::Acquire) || self.beside.as_ref().is_some_and(|other| other.lasts())
    }

    fn has(&self, other: &Trace) -> bool {
        Arc::ptr_eq(&self.lasts, &other.lasts) || self.beside.as_ref().is_some_and(|beside| beside.has(other))
    }

    /// Both together.
    fn and(self, other: &Trace) -> Trace {
        let all = match &other.beside {
            Some(beside) => self.and(beside),
            None => self,
        };
        if all.has(other) || !other.lasts.load(Ordering::Acquire) {
            return all;
        }
        Trace { lasts: other.lasts.clone(), any_size: other.any_size, beside: Some(Arc::new(all)) }
    }
}

/// Whether a node has been evaluated.
pub enum State {
    /// It has its results.
    Ready,
    /// It waits to be computed from these.
    Pending(SmallVec<[Value; 2]>),
}

/// A handle to one output of a [`Node`].
#[derive(Clone)]
pub struct Value {
    node: Arc<Node>,
    index: u32,
}

impl Node {
    /// What the node is.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Shape and dtype of each output.
    pub fn outputs(&self) -> &[Spec] {
        &self.outputs
    }

    /// The name given later by a front end, else where it was recorded.
    pub fn place(&self) -> Place {
        self.label.get().map_or_else(|| self.place.clone(), |name| Place::Named(name.clone()))
    }

    /// Names the place in a source that this node belongs to; the first name
    /// stays. Whether it was the first.
    pub fn set_label(&self, name: &Arc<str>) -> bool {
        self.label.set(name.clone()).is_ok()
    }

    /// The inputs, unless the results are there already.
    pub fn state(&self) -> State {
        let inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        if self.ready.get().is_some() { State::Ready } else { State::Pending(inputs.clone()) }
    }

    /// Whether a [`Trace`] keeps the inputs.
    pub fn is_traced(&self) -> bool {
        self.trace.as_ref().is_some_and(Trace::lasts)
    }

    /// The inputs that the node still holds: all until it is evaluated, and while
    /// a [`Trace`] keeps them.
    pub fn operands(&self) -> SmallVec<[Value; 2]> {
        self.inputs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The evaluated results, one per output.
    pub fn ready(&self) -> Option<&[Payload]> {
        self.ready.get().map(AsRef::as_ref)
    }

    /// Attaches results and lets go of the inputs. The first results stay.
    pub fn set_ready(&self, results: Vec<Payload>) {
        debug_assert_eq!(results.len(), self.outputs.len());
        let mut inputs = self.inputs.lock().unwrap_or_else(PoisonError::into_inner);
        _ = self.ready.set(results.into());
        if self.is_traced() {
            return;
        }
        let released = std::mem::take(&mut *inputs);
        drop(inputs);
        release(released);
    }
}

/// Drops values and whatever only they hold, without recursion.
fn release(values: SmallVec<[Value; 2]>) {
    let mut stack = values;
    while let Some(value) = stack.pop() {
        if let Some(node) = Arc::into_inner(value.node) {
            let mut inputs = node.inputs.lock().unwrap_or_else(PoisonError::into_inner);
            stack.extend(inputs.drain(..));
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let inputs = self.inputs.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !inputs.is_empty() {
            release(std::mem::take(inputs));
        }
    }
}

impl Value {
    fn leaf(source: Source, outputs: Specs, ready: Option<Box<[Payload]>>) -> Value {
        let cell = OnceLock::new();
        if let Some(ready) = ready {
            _ = cell.set(ready);
        }
        let node = Node {
            source,
            outputs,
            inputs: Mutex::default(),
            ready: cell,
            place: Place::Internal,
            label: OnceLock::new(),
            trace: None,
        };
        Value { node: Arc::new(node), index: 0 }
    }

    /// An argument of a function being traced.
    pub fn placeholder(spec: Spec) -> Value {
        Value::leaf(Source::Placeholder, smallvec![spec], None)
    }

    /// A value known while recording.
    pub fn constant(value: HostTensor) -> Value {
        let spec = Spec::new(value.dtype(), value.shape().clone());
        Value::leaf(Source::Constant(value), smallvec![spec], None)
    }

    /// A value that was already computed.
    pub fn data(spec: Spec, payload: Payload) -> Value {
        Value::leaf(Source::Data, smallvec![spec], Some([payload].into()))
    }

    /// Records a primitive with one result.
    ///
    /// # Errors
    /// When the primitive does not take these inputs.
    pub fn record(primitive: Primitive, inputs: &[&Value], place: Place) -> Result<Value, Invalid> {
        let mut all = Value::record_all(primitive, inputs, place)?;
        Ok(all.swap_remove(0))
    }

    /// Records a primitive and gives all of its results.
    ///
    /// # Errors
    /// When the primitive does not take these inputs.
    pub fn record_all(
        primitive: Primitive,
        inputs: &[&Value],
        place: Place,
    ) -> Result<SmallVec<[Value; 1]>, Invalid> {
        let mut all = inputs.iter().filter_map(|v| v.node.trace.as_ref()).filter(|t| t.lasts());
        let trace = all.next().map(|first| all.fold(first.clone(), Trace::and));
        Value::record_in(trace, primitive, inputs, place)
    }

    fn record_in(
        trace: Option<Trace>,
        primitive: Primitive,
        inputs: &[&Value],
        place: Place,
    ) -> Result<SmallVec<[Value; 1]>, Invalid> {
        let specs: SmallVec<[&Spec; 4]> = inputs.iter().map(|v| v.spec()).collect();
        let outputs = primitive.infer(&specs)?;
        let count = outputs.len() as u32;
        let node = Arc::new(Node {
            source: Source::Op(primitive),
            outputs,
            inputs: Mutex::new(inputs.iter().map(|v| (*v).clone()).collect()),
            ready: OnceLock::new(),
            place,
            label: OnceLock::new(),
            trace,
        });
        Ok((0..count).map(|index| Value { node: node.clone(), index }).collect())
    }

    /// The same value once more, apart from all that was recorded from it so far.
    pub(crate) fn again(&self) -> Result<Value, Invalid> {
        let same = Primitive::Reshape(self.spec().shape.to_vec());
        Value::record(same, &[self], Place::Internal)
    }

    /// The same value once more, marked: what is recorded from it keeps its inputs
    /// while the trace lasts.
    ///
    /// # Errors
    /// Never, for values that could be recorded.
    pub fn traced(&self, trace: &Trace) -> Result<Value, Invalid> {
        let same = Primitive::Reshape(self.spec().shape.to_vec());
        let trace = match self.node.trace.as_ref().filter(|t| t.lasts()) {
            Some(other) => trace.clone().and(other),
            None => trace.clone(),
        };
        let mut marked = Value::record_in(Some(trace), same, &[self], Place::Internal)?;
        Ok(marked.swap_remove(0))
    }

    /// Whether the value stands for others of any size ([`Trace::of_any_size`]).
    pub fn is_of_any_size(&self) -> bool {
        self.node.trace.as_ref().is_some_and(Trace::is_of_any_size)
    }

    /// An output of a node.
    pub(crate) fn output(node: &Arc<Node>, index: usize) -> Value {
        Value { node: node.clone(), index: index as u32 }
    }

    /// The node.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Which output of the node.
    pub fn index(&self) -> usize {
        self.index as usize
    }

    /// Another output of the same node.
    pub fn sibling(&self, index: usize) -> Option<Value> {
        (index < self.node.outputs.len()).then(|| Value { node: self.node.clone(), index: index as u32 })
    }

    /// Shape and dtype.
    pub fn spec(&self) -> &Spec {
        &self.node.outputs[self.index as usize]
    }

    /// The evaluated result, when there is one.
    pub fn payload(&self) -> Option<&Payload> {
        self.node.ready().and_then(|all| all.get(self.index as usize))
    }

    /// The host value, of a constant.
    pub fn as_constant(&self) -> Option<&HostTensor> {
        match &self.node.source {
            Source::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// What tells this value from every other: its node's address and index.
    pub fn key(&self) -> (usize, u32) {
        (Arc::as_ptr(&self.node) as usize, self.index)
    }
}

impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match &self.node.source {
            Source::Op(primitive) => primitive.name(),
            Source::Placeholder => "placeholder",
            Source::Constant(_) => "constant",
            Source::Data => "data",
        };
        write!(f, "{what}: {}", self.spec())
    }
}
