use oneir_tensor::{DType, HostTensor, Layout, Values};

use super::{Access, Dst, Fill, GraphError, Op, Operand, RowSel, Span, Storage, Sym, TensorGraph, TensorId};
use crate::{BinaryOp, Invalid, Place, Primitive, Value, reference};

/// A graph as a function of values.
pub struct Function<'a>(&'a TensorGraph);

impl TensorGraph {
    /// The graph as a function: calling it records what the graph computes as
    /// primitives. A state is an argument like any other, and what it holds
    /// afterwards a further result. This is what accesses and destinations
    /// mean.
    pub fn as_function(&self) -> Function<'_> {
        Function(self)
    }
}

impl Function<'_> {
    /// Records the graph on one value per graph input. The results are the
    /// graph's outputs, then its states in the order in which they stand among
    /// the inputs.
    ///
    /// # Errors
    /// When the arguments do not fit the graph.
    ///
    /// ```
    /// use oneir_ir::{Cut, Spec, Value, graph::TensorGraph};
    /// use oneir_tensor::DType;
    ///
    /// let x = Value::placeholder(Spec::new(DType::F32, [2]));
    /// let y = x.add(&x)?;
    /// let graph = Cut::new(&[x], &[y]).lift()?.graph;
    /// let again = graph.as_function().call(&[Value::placeholder(Spec::new(DType::F32, [2]))])?;
    /// assert_eq!(again[0].spec(), &Spec::new(DType::F32, [2]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn call(&self, arguments: &[Value]) -> Result<Vec<Value>, GraphError> {
        let graph = self.0;
        let mut values: Vec<Option<Value>> = Vec::with_capacity(graph.tensors.len());
        for tensor in &graph.tensors {
            values.push(match (&tensor.storage, tensor.fill) {
                (Storage::Values(value), _) => Some(Value::constant(value.clone())),
                (_, Fill::Number(number)) => Some(Value::constant(reference::filled(tensor, number)?)),
                _ => None,
            });
        }
        if arguments.len() != graph.inputs.len() {
            return Err(GraphError::Interface {
                what: "the arguments".into(),
                expected: format!("{} values", graph.inputs.len()),
                found: arguments.len().to_string(),
            });
        }
        for (i, (&id, argument)) in graph.inputs.iter().zip(arguments).enumerate() {
            if *argument.spec() != graph.spec(id) {
                return Err(GraphError::Interface {
                    what: format!("argument {i}"),
                    expected: graph.spec(id).to_string(),
                    found: argument.spec().to_string(),
                });
            }
            values[id.at()] = Some(argument.clone());
        }
        let mut replay = Replay { graph, values };
        for op in &graph.ops {
            replay.op(op)?;
        }
        let states = graph.inputs.iter().filter(|&&id| graph.tensor(id).role == super::Role::State);
        graph.outputs.iter().chain(states).map(|&id| replay.get(id)).collect()
    }
}

struct Replay<'a> {
    graph: &'a TensorGraph,
    values: Vec<Option<Value>>,
}

fn record(op: &str, primitive: Primitive, inputs: &[&Value]) -> Result<Value, GraphError> {
    Value::record(primitive, inputs, Place::Internal)
        .map_err(|why| GraphError::Inference { op: op.into(), why })
}

impl Replay<'_> {
    fn get(&self, id: TensorId) -> Result<Value, GraphError> {
        self.values[id.at()].clone().ok_or_else(|| GraphError::ReadBeforeWrite {
            op: self.graph.ops.len(),
            name: "a function",
            tensor: format!("%{}", id.0),
        })
    }

    /// The elements that an access sees: a gather from the flat tensor, which
    /// any layout can be said with.
    fn read(&self, operand: &Operand) -> Result<Value, GraphError> {
        let whole = self.get(operand.tensor)?;
        if operand.access == Access::Whole {
            return Ok(whole);
        }
        let layout = self.graph.layout(operand);
        let flat = record("an access", Primitive::Reshape(vec![whole.spec().count()]), &[&whole])?;
        let taken = record(
            "an access",
            Primitive::Gather { axes: vec![0], slice_sizes: vec![1] },
            &[&flat, &places(&layout)?],
        )?;
        record("an access", Primitive::Reshape(layout.shape.to_vec()), &[&taken])
    }

    fn op(&mut self, op: &Op) -> Result<(), GraphError> {
        if let Sym::Fused(fused) = &op.sym {
            for part in &fused.definition {
                self.op(part)?;
            }
            return Ok(());
        }
        let inputs = op.operands.iter().map(|o| self.read(o)).collect::<Result<Vec<_>, _>>()?;
        let made = match &op.sym {
            Sym::Prim(primitive) => {
                let refs: Vec<&Value> = inputs.iter().collect();
                Value::record_all(primitive.clone(), &refs, Place::Internal)
                    .map_err(|why| GraphError::Inference { op: primitive.name().into(), why })?
                    .into_vec()
            }
            _ => inputs,
        };
        for (result, value) in op.results.iter().zip(made) {
            self.values[result.tensor.at()] = Some(match result.dst {
                Dst::Own => value,
                Dst::Rows { pitch, row, span } => self.rows(result.tensor, &value, pitch, row, span)?,
            });
        }
        Ok(())
    }

    /// The table with rows replaced: a scatter into the flat table.
    fn rows(
        &self,
        table: TensorId,
        value: &Value,
        pitch: usize,
        row: RowSel,
        span: Span,
    ) -> Result<Value, GraphError> {
        let table = self.get(table)?;
        let (count, written) = (table.spec().count(), value.spec().count());
        let first = match row {
            RowSel::Fixed(row) => row as i64,
            RowSel::Param(_) => 1,
        };
        let layout = reference::rows_layout("rows", count, written, pitch, first, span)?;
        let mut at = places(&layout)?;
        if let RowSel::Param(id) = row {
            // Rows count from 1.
            let number = record("rows", Primitive::AsType(DType::I64), &[&self.get(id)?])?;
            let number = record("rows", Primitive::Reshape(vec![]), &[&number])?;
            let inference = |why: Invalid| GraphError::Inference { op: "rows".into(), why };
            let before = number.subtract(&number.filled_like(1.0).map_err(inference)?).map_err(inference)?;
            let moved =
                before.multiply(&before.filled_like(pitch as f64).map_err(inference)?).map_err(inference)?;
            let moved = moved.broadcast(&at.spec().shape).map_err(inference)?;
            at = at.binary(BinaryOp::Add, &moved).map_err(inference)?;
        }
        let flat = record("rows", Primitive::Reshape(vec![count]), &[&table])?;
        let updates = record("rows", Primitive::Reshape(vec![written]), &[value])?;
        let reduce = crate::primitive::ScatterReduce::None;
        let scattered = record("rows", Primitive::ScatterAxis { axis: 0, reduce }, &[&flat, &at, &updates])?;
        record("rows", Primitive::Reshape(table.spec().shape.to_vec()), &[&scattered])
    }
}

/// The places of a layout's elements, as a vector of indices.
fn places(layout: &Layout) -> Result<Value, GraphError> {
    let all: Vec<i64> = layout.offsets().map(|at| at as i64).collect();
    HostTensor::from_values(DType::I64, &[all.len()], &Values::Signed(all)).map(Value::constant).map_err(
        |e| GraphError::Interface {
            what: "an access".into(),
            expected: "indices".into(),
            found: e.to_string(),
        },
    )
}
