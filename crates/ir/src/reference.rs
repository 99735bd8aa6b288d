//! The reference evaluator: what a graph means, computed slowly and carefully
//! on the host. It is the constant folder, the oracle of every back end, and
//! the kernel of last resort.

use oneir_tensor::{HostTensor, Layout, Shape};

use crate::fast::FastOp;
use crate::graph::{
    Class, Dst, GraphError, Op, Operand, Role, RowSel, Span, Sym, TensorGraph, TensorId, WriteResult,
};
use crate::primitive::EvalError;
use crate::{Cut, Nature, Place, Real, Spec, Value};

/// Runs a graph on one value per graph input and gives one value per output.
///
/// A state written in place is written in the run's own copy; read it as an
/// output. The sizes that a data-sized op settles flow on to what reads it.
///
/// # Errors
/// When the inputs do not fit the graph, or data has no result.
///
/// ```
/// use oneir_ir::{graph::TensorGraph, reference};
/// use oneir_tensor::HostTensor;
///
/// let graph: TensorGraph = r#"graph "double" {
///   %0 = input f32[2]
///   %1 = activation f32[2]
///   inputs (%0)
///   outputs (%1)
///   %1 = binary(op = add) (%0, %0)
/// }"#.parse()?;
/// let x = HostTensor::from_slice(&[2], &[1f32, 2.5])?;
/// assert_eq!(reference::run(&graph, &[x])?[0].to_vec::<f32>()?, [2.0, 5.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run(graph: &TensorGraph, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, GraphError> {
    Ok(run_step(graph, inputs)?.0)
}

/// As [`run`], and gives the states after the run too, in the order in which
/// they stand among the inputs.
///
/// # Errors
/// As [`run`].
pub fn run_step(
    graph: &TensorGraph,
    inputs: &[HostTensor],
) -> Result<(Vec<HostTensor>, Vec<HostTensor>), GraphError> {
    let mut memory = Memory::bind(graph, inputs)?;
    let mut last_use = vec![usize::MAX; graph.tensors.len()];
    for (at, op) in graph.ops.iter().enumerate() {
        for operand in &op.operands {
            last_use[operand.tensor.at()] = at;
        }
    }
    let states: Vec<TensorId> =
        graph.inputs.iter().copied().filter(|&id| graph.tensor(id).role == Role::State).collect();
    for &output in graph.outputs.iter().chain(&states) {
        last_use[output.at()] = usize::MAX;
    }
    for (at, op) in graph.ops.iter().enumerate() {
        memory.run(op)?;
        for operand in &op.operands {
            if last_use[operand.tensor.at()] == at {
                memory.values[operand.tensor.at()] = None;
            }
        }
    }
    let read = |ids: &[TensorId]| ids.iter().map(|&id| memory.get(id)).collect::<Result<Vec<_>, _>>();
    Ok((read(&graph.outputs)?, read(&states)?))
}

/// The values of a graph's tensors while it runs.
struct Memory<'a> {
    graph: &'a TensorGraph,
    values: Vec<Option<HostTensor>>,
}

impl<'a> Memory<'a> {
    fn bind(graph: &'a TensorGraph, inputs: &[HostTensor]) -> Result<Self, GraphError> {
        if inputs.len() != graph.inputs.len() {
            return Err(GraphError::Interface {
                what: "the inputs".into(),
                expected: format!("{} values", graph.inputs.len()),
                found: inputs.len().to_string(),
            });
        }
        let mut values: Vec<Option<HostTensor>> = Vec::with_capacity(graph.tensors.len());
        for tensor in &graph.tensors {
            values.push(match (&tensor.storage, tensor.fill) {
                (crate::graph::Storage::Values(value), _) => Some(value.clone()),
                (_, crate::graph::Fill::Number(number)) => Some(filled(tensor, number)?),
                _ => None,
            });
        }
        for (i, (&id, value)) in graph.inputs.iter().zip(inputs).enumerate() {
            let found = Spec::new(value.dtype(), value.shape().clone());
            if found != graph.spec(id) {
                return Err(GraphError::Interface {
                    what: format!("input {i}"),
                    expected: graph.spec(id).to_string(),
                    found: found.to_string(),
                });
            }
            values[id.at()] = Some(value.clone());
        }
        Ok(Memory { graph, values })
    }

    fn get(&self, id: TensorId) -> Result<HostTensor, GraphError> {
        self.values[id.at()].clone().ok_or_else(|| GraphError::ReadBeforeWrite {
            op: self.graph.ops.len(),
            name: "the caller",
            tensor: format!("%{}", id.0),
        })
    }

    fn read(&self, operand: &Operand) -> Result<HostTensor, GraphError> {
        let value = self.get(operand.tensor)?;
        if operand.access == crate::graph::Access::Whole {
            return Ok(value);
        }
        let tensor = |e: oneir_tensor::TensorError| self.failed("an operand", e.into());
        value
            .contiguous()
            .and_then(|v| {
                let at = v.layout().offset;
                let mut layout = self.graph.layout(operand);
                layout.offset += at;
                v.with_layout(layout)
            })
            .map_err(tensor)
    }

    fn failed(&self, op: &str, why: EvalError) -> GraphError {
        GraphError::Evaluation { op: op.into(), place: Place::Internal, why: Box::new(why) }
    }

    fn run(&mut self, op: &Op) -> Result<(), GraphError> {
        if let Sym::Fused(fused) = &op.sym
            && matches!(fused.class, Class::Fast(_))
        {
            for part in &fused.definition {
                self.run(part)?;
            }
            return Ok(());
        }
        let inputs = op.operands.iter().map(|o| self.read(o)).collect::<Result<Vec<_>, _>>()?;
        let results = match &op.sym {
            Sym::Prim(primitive) => {
                primitive.evaluate(&inputs).map_err(|e| self.failed(primitive.name(), e))?
            }
            Sym::Fused(fused) => match &fused.class {
                Class::Region(region) => region.evaluate(&inputs).map_err(|e| self.failed("region", e))?,
                Class::Fast(_) => Vec::new(),
            },
            Sym::View => inputs,
        };
        for (result, value) in op.results.iter().zip(results) {
            self.write(op.sym.name(), result, value)?;
        }
        Ok(())
    }

    fn write(&mut self, op: &str, result: &WriteResult, value: HostTensor) -> Result<(), GraphError> {
        let Dst::Rows { pitch, row, span } = result.dst else {
            self.values[result.tensor.at()] = Some(value);
            return Ok(());
        };
        let table = self.get(result.tensor)?;
        let row = match row {
            RowSel::Fixed(row) => row as i64,
            RowSel::Param(id) => {
                let all = self.get(id)?.values().map_err(|e| self.failed(op, e.into()))?;
                all.to_ints().and_then(|v| v.first().copied()).unwrap_or(0)
            }
        };
        let place = rows_layout(op, table.count(), value.count(), pitch, row, span)?;
        let tensor = |e: oneir_tensor::TensorError| self.failed(op, e.into());
        let (mut all, new) = (table.values().map_err(tensor)?, value.values().map_err(tensor)?);
        for (i, at) in place.offsets().enumerate() {
            all.set(at as usize, &new, i);
        }
        let updated = HostTensor::from_values(table.dtype(), table.shape(), &all).map_err(tensor)?;
        self.values[result.tensor.at()] = Some(updated);
        Ok(())
    }
}

/// Where `written` values land in a table of `count` values.
///
/// # Errors
/// When they leave the table, or a part leaves its unit.
pub fn rows_layout(
    op: &str,
    count: usize,
    written: usize,
    pitch: usize,
    row: i64,
    span: Span,
) -> Result<Layout, GraphError> {
    let out_of_range = || GraphError::RowOutOfRange {
        op: op.into(),
        written,
        row,
        rows: count.checked_div(pitch).unwrap_or(0),
        pitch,
    };
    let start = usize::try_from(row - 1).ok().and_then(|r| r.checked_mul(pitch)).ok_or_else(out_of_range)?;
    let mut layout = match span {
        Span::Whole => Layout::contiguous(&[written]),
        Span::Unit { part, width } => {
            if part.offset.checked_add(width).is_none_or(|end| end > part.pitch) || width == 0 {
                return Err(GraphError::PartOutOfUnit { width, offset: part.offset, pitch: part.pitch });
            }
            let mut layout = Layout::contiguous(&[written / width, width]);
            layout.strides[0] = part.pitch as isize;
            layout.offset = part.offset as isize;
            layout
        }
    };
    layout.offset = layout.offset.checked_add_unsigned(start).ok_or_else(out_of_range)?;
    layout.check_within(count).map_err(|_| out_of_range())?;
    Ok(layout)
}

/// A tensor of one number, as its fill says.
pub fn filled(tensor: &crate::graph::Tensor, number: Real) -> Result<HostTensor, GraphError> {
    let one = oneir_tensor::Values::Float(vec![number.get()]);
    HostTensor::from_values(tensor.dtype, &[], &one.convert(tensor.dtype))
        .and_then(|scalar| scalar.broadcast(&tensor.shape))
        .map_err(|e| GraphError::Evaluation {
            op: "fill".into(),
            place: Place::Internal,
            why: Box::new(e.into()),
        })
}

/// What a fused class gives, by its definition.
pub(crate) fn definition(op: &FastOp, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
    let arguments: Vec<Value> =
        inputs.iter().map(|x| Value::placeholder(Spec::new(x.dtype(), Shape::clone(x.shape())))).collect();
    let outputs = op.definition(&arguments)?;
    let lifted = Cut::new(&arguments, &outputs).lift().map_err(Box::new)?;
    Ok(run(&lifted.graph, inputs).map_err(Box::new)?)
}

/// Elements that the ops of a fold may read and give in all: it happens while
/// recording, whose time should not depend on sizes.
const MOST_FOLDED: usize = 1 << 24;

/// The value of a recorded computation over constants alone; `None` when it
/// reads anything that is not known while recording, or computes too much to be
/// done there.
///
/// # Errors
/// When data has no result.
pub fn fold(value: &Value) -> Result<Option<HostTensor>, GraphError> {
    if let Some(constant) = value.as_constant() {
        return Ok(Some(constant.clone()));
    }
    let lifted = match Cut::new(&[], std::slice::from_ref(value)).lift() {
        Ok(lifted) if lifted.leaves.is_empty() => lifted,
        Ok(_) | Err(GraphError::Interface { .. }) => return Ok(None),
        Err(other) => return Err(other),
    };
    let graph = &lifted.graph;
    let computes = |op: &&Op| !matches!(&op.sym, Sym::Prim(primitive) if primitive.nature() == Nature::View);
    let elements = graph.ops.iter().filter(computes).flat_map(|op| {
        let reads = op.operands.iter().map(|operand| graph.seen(operand).count());
        reads.chain(op.results.iter().map(|result| graph.tensor(result.tensor).shape.count()))
    });
    if elements.fold(0usize, usize::saturating_add) > MOST_FOLDED {
        return Ok(None);
    }
    Ok(Some(run(graph, &[])?.remove(0)))
}
