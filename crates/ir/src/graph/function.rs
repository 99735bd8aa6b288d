use super::accesses::{replaced, replaced_at, viewed};
use super::{
    Access, Class, Dst, Fill, GraphError, Op, Operand, RowSel, Span, Storage, Sym, TensorGraph, TensorId,
};
use crate::{Place, Primitive, Value, reference};

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
    /// the inputs. A write into rows that a parameter names is moved inside
    /// where it would leave its table; a step refuses such a parameter.
    ///
    /// The results are recorded like any others, so functions differentiate and
    /// batch:
    ///
    /// # Errors
    /// When the arguments do not fit the graph.
    ///
    /// ```
    /// use oneir_ir::{Cut, Spec, Value, reference, transform};
    /// use oneir_tensor::DType;
    ///
    /// let x = Value::placeholder(Spec::new(DType::F32, [2]));
    /// let y = x.add(&x)?;
    /// let graph = Cut::new(&[x], &[y]).lift()?.graph;
    ///
    /// let z = Value::placeholder(Spec::new(DType::F32, [2]));
    /// let doubled = graph.as_function().call(&[z.clone()])?;
    /// let ones = z.filled_like(1.0)?;
    /// let slope = transform::vjp(&doubled, &[z], &[Some(ones)])?;
    /// let slope = slope[0].as_ref().and_then(|v| reference::fold(v).ok().flatten());
    /// assert_eq!(slope.map(|s| s.to_vec::<f32>()), Some(Ok(vec![2.0, 2.0])));
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

impl Replay<'_> {
    fn get(&self, id: TensorId) -> Result<Value, GraphError> {
        self.values[id.at()].clone().ok_or_else(|| GraphError::ReadBeforeWrite {
            op: self.graph.ops.len(),
            name: "a function",
            tensor: format!("%{}", id.0),
        })
    }

    /// The elements that an access sees.
    fn read(&self, operand: &Operand) -> Result<Value, GraphError> {
        let whole = self.get(operand.tensor)?;
        match operand.access {
            Access::Whole => Ok(whole),
            _ => viewed(&whole, &self.graph.layout(operand)),
        }
    }

    fn op(&mut self, op: &Op) -> Result<(), GraphError> {
        let inputs = op.operands.iter().map(|o| self.read(o)).collect::<Result<Vec<_>, _>>()?;
        // A fused op stays one: nothing outside needs what its definition hides.
        let primitive = match &op.sym {
            Sym::Prim(primitive) => Some(primitive.clone()),
            Sym::Fused(fused) => Some(match &fused.class {
                Class::Fast(fast) => Primitive::Fast(fast.clone()),
                Class::Region(region) => Primitive::Compiled(region.clone()),
            }),
            Sym::View => None,
        };
        let made = match primitive {
            Some(primitive) => {
                let refs: Vec<&Value> = inputs.iter().collect();
                let name = op.sym.name();
                Value::record_all(primitive, &refs, Place::Internal)
                    .map_err(|why| GraphError::Inference { op: name.into(), why })?
                    .into_vec()
            }
            None => inputs,
        };
        for (result, value) in op.results.iter().zip(made) {
            self.values[result.tensor.at()] = Some(match result.dst {
                Dst::Own => value,
                Dst::Rows { pitch, row, span } => self.rows(result.tensor, &value, pitch, row, span)?,
            });
        }
        Ok(())
    }

    /// The table with rows replaced.
    fn rows(
        &self,
        table: TensorId,
        value: &Value,
        pitch: usize,
        row: RowSel,
        span: Span,
    ) -> Result<Value, GraphError> {
        let table = self.get(table)?;
        let layout = |first: i64| {
            reference::rows_layout("rows", table.spec().count(), value.spec().count(), pitch, first, span)
        };
        match row {
            RowSel::Fixed(row) => replaced(&table, &layout(row as i64)?, value),
            RowSel::Param(id) => replaced_at(&table, &self.get(id)?, pitch, &layout(1)?, value),
        }
    }
}
