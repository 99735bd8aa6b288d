use std::borrow::Cow;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use oneir_ir::graph::{GraphError, TensorGraph};
use oneir_ir::{Cut, Leaves, Lifted, Payload, Spec, Value};
use oneir_passes::Options;
use oneir_tensor::{Buffer, DType, HostTensor, Layout, TensorError};

use crate::cache::{Cache, PlanKey, optimised};
use crate::execute::Executable;
use crate::key::GraphKey;
use crate::{Backend, Bound, CacheCounts, Event, Given, Memory, Profile, RuntimeError, Stream};

/// How exact sums are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Numerics {
    /// A result never depends on batch size or chunking, bit for bit.
    Exact,
    /// The same from run to run.
    #[default]
    Fast,
}

/// How a device plans and runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DeviceOptions {
    /// Whether ops are fused.
    pub fusion: bool,
    /// How exact sums are.
    pub numerics: Numerics,
    /// Whether every plan is verified and dead memory overwritten: for tests.
    pub paranoid: bool,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        DeviceOptions { fusion: true, numerics: Numerics::default(), paranoid: false }
    }
}

/// A back end with its options and its plans, and the stream that work goes to.
/// Cheap to clone.
#[derive(Clone)]
pub struct Device {
    inner: Arc<Inner>,
    stream: Stream,
}

struct Inner {
    name: String,
    backend: Arc<dyn Backend>,
    options: DeviceOptions,
    cache: Mutex<Cache>,
    /// The last event of each stream, once there is more than one.
    tails: Mutex<Vec<(Stream, Event)>>,
}

/// A value that a device has computed: a view of its memory.
#[derive(Clone)]
pub struct Evaluated {
    /// Where the value is.
    pub device: Device,
    /// Its memory.
    pub memory: Arc<dyn Memory>,
    /// Element type.
    pub dtype: DType,
    /// Where the elements lie in the memory.
    pub layout: Layout,
    /// When the value can be read; its error, if data had no result.
    pub ready: Event,
    /// Who uses the value in an evaluation that is under way.
    pub users: Users,
}

/// How often a plan is meant to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Runs {
    /// A value is wanted: nothing is kept beside it.
    Once,
    /// What does not depend on inputs is computed once and kept.
    Many,
}

/// How many evaluations read a value, or that one of them takes its memory over.
#[derive(Clone, Default)]
pub struct Users(Arc<AtomicIsize>);

/// The memory is taken over: no one may read the value any more.
const TAKEN: isize = -1;

impl Users {
    /// Joins the readers, unless the memory is being taken over.
    fn read(&self) -> bool {
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, |n| (n != TAKEN).then_some(n + 1)).is_ok()
    }

    /// Takes the memory, unless someone reads it.
    fn take(&self) -> bool {
        self.0.compare_exchange(0, TAKEN, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}

/// The uses of values in one evaluation, given back when it ends: while it lasts, no
/// other takes over what it reads, nor reads what it takes over.
#[derive(Default)]
pub struct Uses {
    read: Vec<Users>,
    taken: Vec<Users>,
    /// The taken memories became results: they stay taken.
    spent: bool,
    /// Of each value, whether its memory may be taken over.
    donated: Vec<bool>,
}

impl Uses {
    /// Of each value, whether the evaluation may take its memory over.
    pub fn donated(&self) -> &[bool] {
        &self.donated
    }

    /// The evaluation has run: what it could take over is gone.
    pub fn spend(&mut self) {
        self.spent = true;
    }
}

impl Drop for Uses {
    fn drop(&mut self) {
        for users in &self.read {
            users.0.fetch_sub(1, Ordering::AcqRel);
        }
        if !self.spent {
            for users in &self.taken {
                users.0.store(0, Ordering::Release);
            }
        }
    }
}

impl Device {
    /// A device over a back end.
    pub fn new(name: impl Into<String>, backend: Arc<dyn Backend>, options: DeviceOptions) -> Device {
        let inner =
            Inner { name: name.into(), backend, options, cache: Mutex::default(), tails: Mutex::default() };
        Device { inner: Arc::new(inner), stream: Stream::DEFAULT }
    }

    /// The same back end with other options and its own caches.
    pub fn with_options(&self, name: impl Into<String>, options: DeviceOptions) -> Device {
        Device::new(name, self.inner.backend.clone(), options)
    }

    /// The same device on at most `count` threads, with caches of its own;
    /// [`Runtime::add`](crate::Runtime::add) makes it the one of its name.
    ///
    /// # Errors
    /// When its back end has no threads to limit.
    pub fn with_threads(&self, count: usize) -> Result<Device, RuntimeError> {
        match self.inner.backend.limited(count) {
            Some(backend) => Ok(Device::new(self.name(), backend, self.inner.options)),
            None => Err(RuntimeError::NoThreads { device: self.name().into() }),
        }
    }

    /// The device's name.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The back end.
    pub fn backend(&self) -> &dyn Backend {
        &*self.inner.backend
    }

    /// The options.
    pub fn options(&self) -> DeviceOptions {
        self.inner.options
    }

    /// Whether both are one device.
    pub fn is(&self, other: &Device) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }

    /// The stream that work goes to.
    pub fn stream(&self) -> Stream {
        self.stream
    }

    /// The same device, whose work goes to a stream of its own: beside what was
    /// asked for elsewhere, and after the values that it reads are there. On a
    /// back end with one queue, this is the device itself.
    ///
    /// # Errors
    /// When the back end fails.
    pub fn on_new_stream(&self) -> Result<Device, RuntimeError> {
        Ok(Device { inner: self.inner.clone(), stream: self.backend().stream()? })
    }

    /// Remembers the end of what this device's stream was asked for.
    pub(crate) fn asked(&self, event: &Event) {
        if event.signal().is_none() {
            return;
        }
        let mut tails = self.inner.tails.lock().unwrap_or_else(PoisonError::into_inner);
        tails.retain(|(stream, event)| *stream != self.stream && !event.is_done());
        tails.push((self.stream, event.clone()));
    }

    /// What other streams were asked for and have not done: work that writes
    /// memory which they may read waits for it.
    pub(crate) fn elsewhere(&self) -> Vec<Event> {
        let tails = self.inner.tails.lock().unwrap_or_else(PoisonError::into_inner);
        tails.iter().filter(|(stream, _)| *stream != self.stream).map(|(_, event)| event.clone()).collect()
    }

    /// How often plans were there already.
    pub fn cache_counts(&self) -> CacheCounts {
        self.cache().counts()
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, Cache> {
        self.inner.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A host value in this device's memory.
    ///
    /// # Errors
    /// When memory cannot be had.
    pub fn put(&self, value: &HostTensor) -> Result<Evaluated, RuntimeError> {
        let rows = value.layout().offset == 0 && value.layout().is_row_contiguous();
        let (memory, ready) = match value.dtype().size() {
            Some(_) if rows => self.backend().adopt(self.stream, value.buffer())?,
            _ => self.backend().adopt(self.stream, &Buffer::copy_of(&value.bytes()))?,
        };
        self.asked(&ready);
        Ok(Evaluated::new(self, memory, value.dtype(), Layout::contiguous(value.shape()), ready))
    }

    /// A host value in memory that kernels may write: a state.
    ///
    /// # Errors
    /// When memory cannot be had.
    pub fn put_writable(&self, value: &HostTensor) -> Result<Evaluated, RuntimeError> {
        let bytes = value.bytes();
        let memory = self.backend().allocate(bytes.len())?;
        let to = Bound { memory: memory.clone(), offset: 0 };
        let ready = self.backend().upload(self.stream, &to, &bytes)?;
        self.asked(&ready);
        Ok(Evaluated::new(self, memory, value.dtype(), Layout::contiguous(value.shape()), ready))
    }

    /// The executable of a lifted graph on inputs that are given so; planned
    /// when it is not there already.
    ///
    /// # Errors
    /// When the graph is not a right one, an input is missing, or an op has no
    /// kernel.
    pub fn executable(
        &self,
        lifted: &TensorGraph,
        given: Vec<Given>,
    ) -> Result<Arc<Executable>, RuntimeError> {
        self.planned(Cow::Borrowed(lifted), given, Runs::Many)
    }

    /// As [`Device::executable`], of a graph that may be used up.
    fn planned(
        &self,
        lifted: Cow<'_, TensorGraph>,
        given: Vec<Given>,
        runs: Runs,
    ) -> Result<Arc<Executable>, RuntimeError> {
        if given.len() != lifted.inputs.len() {
            return Err(GraphError::Interface {
                what: "the inputs".into(),
                expected: format!("{} values", lifted.inputs.len()),
                found: given.len().to_string(),
            }
            .into());
        }
        let key = PlanKey { graph: GraphKey::of(&lifted), given, runs };
        let recipes = {
            let mut cache = self.cache();
            if let Some(plan) = cache.plan(&key) {
                return Ok(plan);
            }
            cache.recipes(&key.graph.form)
        };
        let options = Options { fusion: self.inner.options.fusion };
        let (graph, recipe) = optimised(lifted, &options, &recipes)?;
        if self.inner.options.paranoid {
            oneir_ir::verify::graph(&graph)?;
        }
        let executable = Arc::new(Executable::new(self, graph, &key.given, runs)?);
        let mut cache = self.cache();
        match recipe {
            Some(recipe) => {
                cache.counts.misses += 1;
                let form = key.graph.form.clone();
                cache.insert_recipe(form, Arc::new(recipe));
            }
            None => cache.counts.skeleton_hits += 1,
        }
        cache.insert(key, executable.clone());
        Ok(executable)
    }

    /// Runs a lifted graph on values.
    ///
    /// # Errors
    /// When the values do not fit the graph, or a kernel fails.
    pub fn run(&self, lifted: &TensorGraph, inputs: &[Evaluated]) -> Result<Vec<Evaluated>, RuntimeError> {
        self.executable(lifted, inputs.iter().map(Given::of).collect())?.run(self, inputs, None)
    }

    /// Computes recorded values and attaches the results to their nodes.
    /// Values that someone else still holds are kept too, so that nothing is
    /// computed twice.
    ///
    /// # Errors
    /// When an op has no kernel, or a kernel fails.
    pub fn evaluate(&self, values: &[Value]) -> Result<(), RuntimeError> {
        self.evaluate_with(values, None)
    }

    /// As [`Device::evaluate`], with the time of each launch.
    ///
    /// # Errors
    /// As [`Device::evaluate`].
    pub fn evaluate_with(&self, values: &[Value], profile: Option<&mut Profile>) -> Result<(), RuntimeError> {
        let mut wanted: Vec<Value> = Vec::new();
        for value in values {
            if value.payload().is_some() || wanted.iter().any(|w| Arc::ptr_eq(w.node(), value.node())) {
                continue;
            }
            wanted.extend((0..value.node().outputs().len()).filter_map(|i| value.sibling(i)));
        }
        if wanted.is_empty() {
            return Ok(());
        }
        let (lifted, mut uses) = loop {
            let lifted = Cut { leaves: Leaves::Inputs, ..Cut::new(&[], &wanted) }.lift()?;
            match self.uses(&lifted.leaves, &lifted.sole) {
                Some(uses) => break (lifted, uses),
                // Another evaluation takes over what this one would read; once
                // it is done, what it computed is there to be read instead.
                None => std::thread::yield_now(),
            }
        };
        wanted.extend(lifted.held.iter().cloned());
        let inputs: Vec<Evaluated> =
            lifted.leaves.iter().map(|leaf| self.bring(leaf)).collect::<Result<_, _>>()?;
        let given = |(value, &donated): (&Evaluated, &bool)| Given { donated, ..Given::of(value) };
        let given: Vec<Given> = inputs.iter().zip(uses.donated()).map(given).collect();
        let Lifted { graph, places, .. } = lifted;
        let executable = self.planned(Cow::Owned(graph), given, Runs::Once).map_err(|e| e.at(&places))?;
        drop(places);
        let results = executable.run(self, &inputs, profile)?;
        uses.spend();
        drop(inputs);
        let mut results = results.into_iter();
        let mut at = 0;
        while let Some(value) = wanted.get(at) {
            let count = value.node().outputs().len();
            let all: Vec<Payload> = results.by_ref().take(count).map(|r| Arc::new(r) as Payload).collect();
            value.node().set_ready(all);
            at += count;
        }
        Ok(())
    }

    /// Joins the readers of values, and takes the memory of those that are `sole`:
    /// that no one but the caller can see. `None` when another evaluation has taken
    /// one.
    pub fn uses(&self, values: &[Value], sole: &[bool]) -> Option<Uses> {
        let mut uses = Uses::default();
        for (value, &sole) in values.iter().zip(sole) {
            let Some(found) = Evaluated::of(value) else {
                uses.donated.push(false);
                continue;
            };
            if sole && found.users.take() {
                uses.taken.push(found.users.clone());
                if found.is_sole(self) {
                    uses.donated.push(true);
                    continue;
                }
                uses.taken.pop();
                found.users.0.store(0, Ordering::Release);
            }
            if !found.users.read() {
                return None;
            }
            uses.read.push(found.users.clone());
            uses.donated.push(false);
        }
        Some(uses)
    }

    /// A computed or constant value in this device's memory.
    ///
    /// # Errors
    /// When it was never computed, or memory cannot be had.
    pub fn bring(&self, value: &Value) -> Result<Evaluated, RuntimeError> {
        if let Some(constant) = value.as_constant() {
            return self.put(constant);
        }
        let found = Evaluated::of(value).ok_or_else(|| RuntimeError::WrongDevice {
            expected: self.name().into(),
            found: "no device: it was never computed".into(),
        })?;
        if found.device.is(self) { Ok(found.clone()) } else { self.put(&found.to_host()?) }
    }
}

impl Evaluated {
    /// A value in a memory that no one else uses yet.
    pub fn new(
        device: &Device,
        memory: Arc<dyn Memory>,
        dtype: DType,
        layout: Layout,
        ready: Event,
    ) -> Evaluated {
        Evaluated { device: device.clone(), memory, dtype, layout, ready, users: Users::default() }
    }

    /// The result that a device attached to a value.
    pub fn of(value: &Value) -> Option<&Evaluated> {
        value.payload()?.downcast_ref()
    }

    /// Shape and dtype.
    pub fn spec(&self) -> Spec {
        Spec { shape: self.layout.shape.clone(), dtype: self.dtype }
    }

    /// Whether this is the only view of a whole memory of the device that may
    /// be written.
    fn is_sole(&self, device: &Device) -> bool {
        self.device.is(device)
            && Arc::strong_count(&self.memory) == 1
            && self.memory.writable()
            && self.layout == Layout::contiguous(&self.layout.shape)
            && self.dtype.bytes_for(self.layout.count()) == Some(self.memory.len())
    }

    /// This value as a leaf of further recording.
    pub fn into_value(self) -> Value {
        let spec = self.spec();
        Value::data(spec, Arc::new(self))
    }

    /// The value in host memory; waits for it. Without a copy where the device
    /// computes in host memory.
    ///
    /// # Errors
    /// When the device fails, or the data of an op that made the value had no
    /// result.
    pub fn to_host(&self) -> Result<HostTensor, RuntimeError> {
        self.ready.wait()?;
        let backend = self.device.backend();
        let buffer = match backend.share(&self.memory)? {
            Some(buffer) => buffer,
            None => backend.download(&Bound { memory: self.memory.clone(), offset: 0 }, self.memory.len())?,
        };
        self.over(buffer)
    }

    /// As [`Evaluated::to_host`], in memory of its own: for values that may be
    /// written again.
    pub(crate) fn to_host_copy(&self) -> Result<HostTensor, RuntimeError> {
        self.ready.wait()?;
        let from = Bound { memory: self.memory.clone(), offset: 0 };
        self.over(self.device.backend().download(&from, self.memory.len())?)
    }

    fn over(&self, buffer: Buffer) -> Result<HostTensor, RuntimeError> {
        match HostTensor::new(self.dtype, self.layout.clone(), buffer.clone()) {
            Ok(value) => Ok(value),
            Err(TensorError::PackedView { .. }) | Err(TensorError::WrongLength { .. }) => {
                Ok(HostTensor::from_bytes(self.dtype, &self.layout.shape, buffer.bytes())?)
            }
            Err(other) => Err(other.into()),
        }
    }

    /// The same memory seen through another layout.
    pub(crate) fn with_layout(&self, layout: Layout) -> Evaluated {
        Evaluated { layout, ..self.clone() }
    }
}

impl std::fmt::Debug for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Device({})", self.name())
    }
}

impl std::fmt::Debug for Evaluated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Evaluated({} on {})", self.spec(), self.device.name())
    }
}
