use std::sync::{Arc, Mutex, PoisonError};

use oneir_ir::graph::TensorGraph;
use oneir_ir::{Cut, Place, Spec, Value, verify};
use oneir_runtime::{Device, Evaluated, Executable, Given, Profile};

use crate::{Array, ArrayError};

/// A function of arrays, traced to a graph: what it computes is fixed, and it
/// runs again and again on other values of the same shapes.
#[derive(Debug)]
pub struct Traced {
    graph: TensorGraph,
    captured: Vec<Value>,
    places: Vec<Place>,
    /// The latest plans: a call like one before looks nothing else up.
    plans: Mutex<Vec<Planned>>,
    /// The captured values on the devices that they were last needed on.
    bound: Mutex<Vec<(Device, Vec<Evaluated>)>>,
}

#[derive(Debug)]
struct Planned {
    device: Device,
    given: Vec<Given>,
    executable: Arc<Executable>,
}

/// Plans that a traced function holds by itself.
const MAX_PLANS: usize = 4;

impl Traced {
    /// Traces what `outputs` compute from `inputs`, which are arguments made by
    /// [`Traced::argument`]. Computed arrays that they read are captured.
    ///
    /// # Errors
    /// The first failure among the outputs.
    pub fn new(inputs: &[Array], outputs: &[Array]) -> Result<Traced, ArrayError> {
        let all = |arrays: &[Array]| arrays.iter().map(|a| a.value().cloned()).collect::<Result<Vec<_>, _>>();
        let lifted = Cut::new(&all(inputs)?, &all(outputs)?).lift()?;
        Ok(Traced::of(lifted.graph, lifted.leaves, lifted.places))
    }

    /// The function that a graph is: its states are arguments like any others, and
    /// what they hold afterwards are further results, after the graph's own.
    ///
    /// # Errors
    /// When the graph is not a right one.
    pub fn from_graph(graph: &TensorGraph) -> Result<Traced, ArrayError> {
        verify::with_bodies(graph)?;
        let arguments: Vec<Value> =
            graph.inputs.iter().map(|&id| Value::placeholder(graph.spec(id))).collect();
        let lifted = Cut::new(&arguments, &graph.as_function().call(&arguments)?).lift()?;
        let mut traced = Traced::of(lifted.graph, lifted.leaves, lifted.places);
        traced.set_name(graph.name.clone());
        Ok(traced)
    }

    /// A graph whose last inputs are these values.
    pub(crate) fn of(graph: TensorGraph, captured: Vec<Value>, places: Vec<Place>) -> Traced {
        Traced { graph, captured, places, plans: Mutex::default(), bound: Mutex::default() }
    }

    /// An argument of a function to be traced.
    pub fn argument(spec: Spec) -> Array {
        Array::from_value(Value::placeholder(spec))
    }

    /// The graph.
    pub fn graph(&self) -> &TensorGraph {
        &self.graph
    }

    /// The computed values that the function reads: the graph's last inputs.
    pub fn captured(&self) -> &[Value] {
        &self.captured
    }

    /// Names the graph, for dumps.
    pub fn set_name(&mut self, name: impl Into<String>) {
        self.graph.name = name.into();
    }

    /// Where each op of the graph was written.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Plans the function for a device without running it.
    ///
    /// # Errors
    /// When an op has no kernel there.
    pub fn plan(&self, device: &Device) -> Result<(), ArrayError> {
        let rows = |&id: &oneir_ir::graph::TensorId| Given::rows(&self.graph.tensor(id).shape);
        self.executable(device, self.graph.inputs.iter().map(rows).collect())?;
        Ok(())
    }

    /// The captured values on a device.
    fn captured_on(&self, device: &Device) -> Result<Vec<Evaluated>, ArrayError> {
        let mut bound = self.bound.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, values)) = bound.iter().find(|(d, _)| d.is(device)) {
            return Ok(values.clone());
        }
        let values = self.captured.iter().map(|v| device.bring(v)).collect::<Result<Vec<_>, _>>()?;
        if bound.len() >= MAX_PLANS {
            bound.remove(0);
        }
        bound.push((device.clone(), values.clone()));
        Ok(values)
    }

    fn executable(&self, device: &Device, given: Vec<Given>) -> Result<Arc<Executable>, ArrayError> {
        let mut plans = self.plans.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = plans.iter().find(|p| p.device.is(device) && p.given == given) {
            return Ok(found.executable.clone());
        }
        let executable = device.executable(&self.graph, given.clone()).map_err(|e| e.at(&self.places))?;
        if plans.len() >= MAX_PLANS {
            plans.remove(0);
        }
        plans.push(Planned { device: device.clone(), given, executable: executable.clone() });
        Ok(executable)
    }

    /// Runs the function on values of its arguments.
    ///
    /// # Errors
    /// When a value failed or does not fit, or an op has no kernel.
    pub fn call(&self, device: &Device, arguments: &[Array]) -> Result<Vec<Array>, ArrayError> {
        self.call_with(device, arguments, None)
    }

    /// As [`Traced::call`], with the time of each launch.
    ///
    /// # Errors
    /// As [`Traced::call`].
    pub fn call_with(
        &self,
        device: &Device,
        arguments: &[Array],
        profile: Option<&mut Profile>,
    ) -> Result<Vec<Array>, ArrayError> {
        self.run(device, arguments, &[], profile)
    }

    /// As [`Traced::call`]. The memory of arguments that are `sole`, which no one but
    /// the caller can see, may become the results': the caller lets go of these
    /// arguments when there is no error.
    pub(crate) fn call_taking(
        &self,
        device: &Device,
        arguments: &[Array],
        sole: &[bool],
    ) -> Result<Vec<Array>, ArrayError> {
        self.run(device, arguments, sole, None)
    }

    fn run(
        &self,
        device: &Device,
        arguments: &[Array],
        sole: &[bool],
        mut profile: Option<&mut Profile>,
    ) -> Result<Vec<Array>, ArrayError> {
        let arguments = arguments.iter().map(|a| a.value().cloned()).collect::<Result<Vec<_>, _>>()?;
        let pending = |v: &&Value| v.payload().is_none() && v.as_constant().is_none();
        let all = || arguments.iter().chain(&self.captured);
        if all().any(|v| pending(&v)) {
            device.evaluate(&all().filter(pending).cloned().collect::<Vec<_>>())?;
        }
        let mut uses = match sole.contains(&true) {
            true => loop {
                match device.uses(&arguments, sole) {
                    Some(uses) => break Some(uses),
                    None => std::thread::yield_now(),
                }
            },
            false => None,
        };
        let mut inputs = arguments.iter().map(|v| device.bring(v)).collect::<Result<Vec<_>, _>>()?;
        inputs.extend(self.captured_on(device)?);
        let mut given: Vec<Given> = inputs.iter().map(Given::of).collect();
        if let Some(uses) = &uses {
            for (given, &donated) in given.iter_mut().zip(uses.donated()) {
                given.donated = donated;
            }
        }
        let executable = self.executable(device, given)?;
        let before = profile.as_ref().map_or(0, |profile| profile.launches.len());
        let results = executable.run(device, &inputs, profile.as_deref_mut())?;
        if let Some(uses) = &mut uses {
            uses.spend();
        }
        if let Some(profile) = profile {
            profile.place(before, &self.places);
        }
        Ok(results.into_iter().map(|r| Array::from_value(r.into_value())).collect())
    }
}
