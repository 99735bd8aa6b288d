use std::sync::Arc;

use oneir_ir::graph::{Dst, GraphError, Role, RowSel, TensorGraph, TensorId};
use oneir_tensor::HostTensor;

use crate::execute::{Executable, submit};
use crate::{Bound, Captured, Device, Evaluated, Event, Given, RuntimeError, Work};

/// A plan bound to weights and states, run again and again. A run allocates
/// nothing and decides nothing.
pub struct Step {
    device: Device,
    graph: TensorGraph,
    executable: Arc<Executable>,
    inputs: Vec<Evaluated>,
    bound: Vec<Bound>,
    scratch: Option<Bound>,
    outputs: Vec<Evaluated>,
    captured: Option<Box<dyn Captured>>,
    /// What the next run waits for: constants, and inputs that were given.
    waits: Vec<Event>,
    rebinds: usize,
}

impl Step {
    /// Plans a graph and binds one value per graph input: weights and the
    /// states' first contents. All but constants are copied.
    ///
    /// # Errors
    /// When the values do not fit, or the graph breaks: a step must not look
    /// at values on the host.
    pub fn new(device: &Device, graph: TensorGraph, values: &[HostTensor]) -> Result<Step, RuntimeError> {
        let roles = graph.inputs.iter().map(|&id| graph.tensor(id).role);
        let inputs = values
            .iter()
            .zip(roles)
            .map(|(value, role)| match role {
                Role::Constant => device.put(value),
                _ => device.put_writable(value),
            })
            .collect::<Result<Vec<_>, RuntimeError>>()?;
        Step::bind(device, graph, inputs, 0)
    }

    fn bind(
        device: &Device,
        graph: TensorGraph,
        inputs: Vec<Evaluated>,
        rebinds: usize,
    ) -> Result<Step, RuntimeError> {
        let executable = device.executable(&graph, inputs.iter().map(Given::of).collect())?;
        if executable.break_at().is_some() {
            return Err(RuntimeError::Step("graph breaks: a value is looked at on the host"));
        }
        let plan = executable.plan();
        if let Some((i, (&id, value))) = plan
            .graph
            .inputs
            .iter()
            .zip(&inputs)
            .enumerate()
            .find(|(_, (id, value))| plan.graph.spec(**id) != value.spec())
        {
            return Err(GraphError::Interface {
                what: format!("input {i}"),
                expected: plan.graph.spec(id).to_string(),
                found: value.spec().to_string(),
            }
            .into());
        }
        let backend = device.backend();
        let given: Vec<Bound> =
            inputs.iter().map(|x| Bound { memory: x.memory.clone(), offset: 0 }).collect();
        let mut waits: Vec<Event> = inputs.iter().map(|x| x.ready.clone()).collect();
        let prepaid = plan.prepaid(device, &given, &waits)?;
        waits.push(prepaid.ready.clone());
        waits.retain(|event| !event.is_done());
        let made = plan
            .output_bytes()
            .map(|bytes| Ok(Bound { memory: backend.allocate(bytes)?, offset: 0 }))
            .collect::<Result<Vec<_>, RuntimeError>>()?;
        let arena = match plan.arena {
            0 => None,
            bytes => Some(Bound { memory: backend.allocate(bytes)?, offset: 0 }),
        };
        let scratch = plan.scratch_memory(backend)?;
        let empty = backend.allocate(0)?;
        let bound = plan.bind(&prepaid, &given, &made, arena.as_ref(), &empty)?;
        let outputs = plan
            .outputs
            .iter()
            .zip(&plan.graph.outputs)
            .map(|(output, &id)| {
                let place = &bound[output.buffer.at()];
                let dtype = plan.graph.tensor(id).dtype;
                let mut layout = output.layout.clone();
                layout.offset += (place.offset / dtype.size().unwrap_or(1)) as isize;
                Evaluated::new(device, place.memory.clone(), dtype, layout, Event::passed())
            })
            .collect();
        let captured = if device.options().paranoid {
            None
        } else {
            backend.capture(&Work {
                launches: &plan.launches,
                buffers: &bound,
                scratch: scratch.as_ref(),
                stream: device.stream(),
                waits: &[],
                after: None,
            })?
        };
        Ok(Step {
            device: device.clone(),
            graph,
            executable,
            inputs,
            bound,
            scratch,
            outputs,
            captured,
            waits,
            rebinds,
        })
    }

    /// Gives an input or parameter its value for the next run.
    ///
    /// # Errors
    /// When the graph has no such input, or the value does not fit it.
    pub fn set(&mut self, id: TensorId, value: &HostTensor) -> Result<(), RuntimeError> {
        let at = self.index(id)?;
        let input = &self.inputs[at];
        if input.spec() != oneir_ir::Spec::new(value.dtype(), value.shape().clone()) {
            return Err(GraphError::Interface {
                what: format!("tensor %{}", id.0),
                expected: input.spec().to_string(),
                found: format!("{}{}", value.dtype(), value.shape()),
            }
            .into());
        }
        let to = Bound { memory: input.memory.clone(), offset: 0 };
        // The stream's order puts it after the last run and before the next.
        let ready = self.device.backend().upload(self.device.stream(), &to, &value.bytes())?;
        self.device.asked(&ready);
        self.inputs[at].ready = ready;
        Ok(())
    }

    fn index(&self, id: TensorId) -> Result<usize, RuntimeError> {
        self.graph
            .inputs
            .iter()
            .position(|&input| input == id)
            .ok_or(RuntimeError::Step("has no input of that number"))
    }

    /// Runs once.
    ///
    /// # Errors
    /// When a kernel fails.
    pub fn run(&mut self) -> Result<(), RuntimeError> {
        let done = match &self.captured {
            Some(captured) => captured.replay(&self.waits)?,
            None => {
                let plan = self.executable.plan();
                submit(plan, &self.device, &self.bound, self.scratch.as_ref(), &self.waits, None)?
            }
        };
        self.device.asked(&done);
        self.waits.clear();
        let states = self.graph.inputs.iter().map(|&id| self.graph.tensor(id).role == Role::State);
        for (input, _) in self.inputs.iter_mut().zip(states).filter(|(_, state)| *state) {
            input.ready = done.clone();
        }
        for output in &mut self.outputs {
            output.ready = done.clone();
        }
        Ok(())
    }

    /// Sets the position parameter and runs, refusing positions that pass the
    /// rows of a state that they name.
    ///
    /// # Errors
    /// [`RuntimeError::PastContext`], before anything runs; else as [`Step::run`].
    pub fn run_at(&mut self, position: TensorId, at: usize) -> Result<(), RuntimeError> {
        let context = self.context(position);
        if at == 0 || at > context {
            return Err(RuntimeError::PastContext { steps: 1, position: at.saturating_sub(1), context });
        }
        let spec = self.graph.spec(position);
        let value = HostTensor::from_values(
            spec.dtype,
            &spec.shape,
            &oneir_tensor::Values::Signed(vec![at as i64; spec.count()]).convert(spec.dtype),
        )?;
        self.set(position, &value)?;
        self.run()
    }

    /// Rows of the shortest state that the parameter names rows of.
    pub fn context(&self, position: TensorId) -> usize {
        let tables = self.graph.ops.iter().flat_map(|op| &op.results).filter_map(|result| match result.dst {
            Dst::Rows { pitch, row: RowSel::Param(row), .. } if row == position && pitch > 0 => {
                Some(self.graph.tensor(result.tensor).shape.count() / pitch)
            }
            _ => None,
        });
        tables.min().unwrap_or(usize::MAX)
    }

    /// The value of output `index` after the last run.
    ///
    /// # Errors
    /// When there is no such output, or the device fails.
    pub fn output(&self, index: usize) -> Result<HostTensor, RuntimeError> {
        let output = self.outputs.get(index).ok_or(RuntimeError::Step("has no output of that number"))?;
        output.to_host_copy()
    }

    /// The value of an input, parameter or state.
    ///
    /// # Errors
    /// When the graph has no such input, or the device fails.
    pub fn input(&self, id: TensorId) -> Result<HostTensor, RuntimeError> {
        self.inputs[self.index(id)?].to_host_copy()
    }

    /// Binds again to a cut of the same program whose states have more rows:
    /// what they hold stays in their first rows, the new rows are zeros. All
    /// other inputs keep their values.
    ///
    /// # Errors
    /// When the graph takes other inputs, or a state has fewer rows than before;
    /// the step stays as it was.
    pub fn grow(&mut self, graph: TensorGraph) -> Result<(), RuntimeError> {
        if graph.inputs.len() != self.graph.inputs.len() {
            return Err(RuntimeError::Step("grows into a graph of equally many inputs"));
        }
        let mut inputs = self.inputs.clone();
        for (at, (&old_id, &new_id)) in self.graph.inputs.iter().zip(&graph.inputs).enumerate() {
            let (old, new) = (self.graph.tensor(old_id), graph.tensor(new_id));
            if old.role != new.role || old.dtype != new.dtype {
                return Err(RuntimeError::Step("grows into a graph of the same inputs"));
            }
            if old.shape == new.shape {
                continue;
            }
            let rows = old.shape.rank() > 0 && new.shape.rank() > 0 && new.shape[0] >= old.shape[0];
            if old.role != Role::State || !rows || old.shape[1..] != new.shape[1..] {
                return Err(RuntimeError::Step("grows states only, and to more rows"));
            }
            let mut bytes = self.inputs[at].to_host_copy()?.bytes().into_owned();
            let count = new.shape.checked_count(new.dtype)?;
            bytes.resize(new.dtype.bytes_for(count).unwrap_or(usize::MAX), 0);
            inputs[at] = self.device.put_writable(&HostTensor::from_bytes(new.dtype, &new.shape, &bytes)?)?;
        }
        *self = Step::bind(&self.device, graph, inputs, self.rebinds + 1)?;
        Ok(())
    }

    /// Whether runs replay launches that were recorded once.
    pub fn is_captured(&self) -> bool {
        self.captured.is_some()
    }

    /// How often the step was bound again.
    pub fn rebinds(&self) -> usize {
        self.rebinds
    }
}
