//! A trace that runs on other shapes than those that it was made with.

use std::sync::{Arc, Mutex, PoisonError};

use oneir_ir::graph::{Class, Op, Operand, Storage, Sym, TensorGraph, TensorId};
use oneir_ir::{Cut, Nature, Place, Primitive, Spec, Value};
use oneir_tensor::broadcast_shapes;

use crate::record::Record;
use crate::{Array, Reason, Traced};

/// For how many shapes functions are kept.
const MAX_SHAPES: usize = 32;

/// A trace without sizes.
pub(super) struct Shapeless {
    graph: TensorGraph,
    captured: Vec<Value>,
    places: Vec<Place>,
    kept: Mutex<Vec<(Vec<Spec>, Arc<Traced>)>>,
}

impl Shapeless {
    /// What was recorded between values; refused where it holds sizes.
    pub(super) fn new(inputs: &[Value], outputs: &[Value]) -> Result<Shapeless, Reason> {
        let lifted = Cut::new(inputs, outputs).lift().map_err(|e| Reason::Run(e.to_string()))?;
        let made = Shapeless {
            graph: lifted.graph,
            captured: lifted.leaves,
            places: lifted.places,
            kept: Mutex::default(),
        };
        let specs: Vec<Spec> = inputs.iter().map(|v| v.spec().clone()).collect();
        let again = made.traced(&specs)?;
        made.kept.lock().unwrap_or_else(PoisonError::into_inner).push((specs, Arc::new(again)));
        Ok(made)
    }

    /// The function for arguments of these shapes.
    pub(super) fn on(&self, arguments: &[Array]) -> Result<Arc<Traced>, Reason> {
        let values = arguments.iter().map(Array::value_or_reason).collect::<Result<Vec<_>, _>>()?;
        let specs: Vec<Spec> = values.iter().map(|v| v.spec().clone()).collect();
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, found)) = kept().iter().find(|(known, _)| *known == specs) {
            return Ok(found.clone());
        }
        let made = Arc::new(self.traced(&specs)?);
        let mut kept = kept();
        if kept.len() >= MAX_SHAPES {
            kept.remove(0);
        }
        kept.push((specs, made.clone()));
        Ok(made)
    }

    /// The operations recorded on arguments of these specs. Those of the trace itself
    /// must give what they gave there.
    fn traced(&self, specs: &[Spec]) -> Result<Traced, Reason> {
        let arguments: Vec<Array> = specs.iter().cloned().map(Traced::argument).collect();
        let mut made: Vec<Option<Made>> = (0..self.graph.tensors.len()).map(|_| None).collect();
        for (tensor, slot) in self.graph.tensors.iter().zip(&mut made) {
            if let Storage::Values(value) = &tensor.storage {
                *slot = Some(Made::whole(Value::constant(value.clone())));
            }
        }
        let given = arguments.iter().map(Array::value_or_reason).collect::<Result<Vec<_>, _>>()?;
        for (&id, value) in
            self.graph.inputs.iter().zip(given.into_iter().chain(self.captured.iter().cloned()))
        {
            made[id.at()] = Some(Made::whole(value));
        }
        let of_trace = specs.iter().zip(&self.graph.inputs).all(|(spec, &id)| *spec == self.graph.spec(id));
        for op in &self.graph.ops {
            self.record(op, &mut made, of_trace)?;
        }
        let output = |id: &TensorId| match &made[id.at()] {
            Some(Made { value, presented: None }) => Ok(Array::from_value(value.clone())),
            Some(Made { presented: Some(place), .. }) => Err(fixed("broadcast", place)),
            None => Err(Reason::Run("an output is never computed".into())),
        };
        let outputs = self.graph.outputs.iter().map(output).collect::<Result<Vec<_>, _>>()?;
        Traced::new(&arguments, &outputs).map_err(|e| Reason::Run(e.to_string()))
    }

    fn record(&self, op: &Op, made: &mut [Option<Made>], of_trace: bool) -> Result<(), Reason> {
        let place =
            op.covers.first().and_then(|id| self.places.get(id.0 as usize)).unwrap_or(&Place::Internal);
        let read = |operand: &Operand| {
            made[operand.tensor.at()]
                .clone()
                .ok_or_else(|| Reason::Run("a value is read before it is made".into()))
        };
        let operands = op.operands.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        let primitive = match &op.sym {
            Sym::Prim(primitive) => primitive.clone(),
            Sym::Fused(fused) => match &fused.class {
                Class::Fast(fast) => Primitive::Fast(fast.clone()),
                Class::Region(region) => Primitive::Compiled(region.clone()),
            },
            Sym::View => return Err(Reason::Run("a view in a trace".into())),
        };
        if let Primitive::Broadcast(_) = primitive {
            // As wide as what reads it needs.
            let presented = Some(place.clone());
            made[op.result().at()] = Some(Made { value: operands[0].value.clone(), presented });
            return Ok(());
        }
        if primitive.fixes_shape() {
            return Err(fixed(primitive.name(), place));
        }
        let element_wise = primitive.nature() == Nature::ElementWise;
        if let [Made { value, presented: presented @ Some(_) }] = &operands[..]
            && element_wise
        {
            let value = place.op(primitive, &[value])?;
            made[op.result().at()] = Some(Made { value, presented: presented.clone() });
            return Ok(());
        }
        let mut inputs: Vec<Value> = operands.iter().map(|x| x.value.clone()).collect();
        if element_wise {
            let mut shape = inputs[0].spec().shape.clone();
            for input in &inputs[1..] {
                shape = broadcast_shapes(&shape, &input.spec().shape)?;
            }
            inputs = inputs.iter().map(|x| place.broadcast(x, &shape)).collect::<Result<_, _>>()?;
        } else if let Some(place) = operands.iter().find_map(|x| x.presented.as_ref()) {
            return Err(fixed("broadcast", place));
        }
        let results = match primitive {
            Primitive::AxisCount { axes, dtype } => {
                let count: usize = axes.iter().map(|&axis| inputs[0].spec().shape[axis]).product();
                vec![place.number(count as f64, dtype)?]
            }
            other => Value::record_all(other, &inputs.iter().collect::<Vec<_>>(), place.clone())?.into_vec(),
        };
        for (result, value) in op.results.iter().zip(results) {
            if of_trace && *value.spec() != self.graph.spec(result.tensor) {
                // It was wider than its operands tell.
                let place = operands.iter().find_map(|x| x.presented.as_ref()).unwrap_or(place);
                return Err(fixed("broadcast", place));
            }
            made[result.tensor.at()] = Some(Made::whole(value));
        }
        Ok(())
    }
}

/// A value on the new shapes.
#[derive(Clone)]
struct Made {
    value: Value,
    /// Where it was broadcast in the trace, which is still to be done.
    presented: Option<Place>,
}

impl Made {
    fn whole(value: Value) -> Made {
        Made { value, presented: None }
    }
}

fn fixed(op: &'static str, place: &Place) -> Reason {
    Reason::FixedSize { op, place: place.clone() }
}
