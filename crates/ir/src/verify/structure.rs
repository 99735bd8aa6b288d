use super::named;
use crate::graph::{Access, Dst, GraphError, Op, Role, RowSel, Span, Sym, TensorGraph, TensorId};
use crate::{Nature, Spec, reference};

/// Names are known, accesses stay inside their tensors, every op takes its
/// operands, and every result has the shape that its tensor claims.
///
/// # Errors
/// The first op that breaks this.
pub fn structure(graph: &TensorGraph) -> Result<(), GraphError> {
    let known = |id: TensorId, op: usize| {
        if id.at() < graph.tensors.len() {
            Ok(())
        } else {
            Err(GraphError::Unknown { op, what: "tensor", id: id.0 })
        }
    };
    for &id in graph.inputs.iter().chain(&graph.outputs) {
        known(id, graph.ops.len())?;
    }
    let mut given = vec![false; graph.tensors.len()];
    if let Some(&id) = graph.inputs.iter().find(|id| std::mem::replace(&mut given[id.at()], true)) {
        return Err(GraphError::Interface {
            what: "the inputs".into(),
            expected: "each tensor once".into(),
            found: format!("{} twice", named(graph, id)),
        });
    }
    for (at, op) in graph.ops.iter().enumerate() {
        check(graph, at, op, &known)?;
    }
    Ok(())
}

fn check(
    graph: &TensorGraph,
    at: usize,
    op: &Op,
    known: &dyn Fn(TensorId, usize) -> Result<(), GraphError>,
) -> Result<(), GraphError> {
    let name = op.sym.name();
    if op.results.is_empty() {
        return Err(GraphError::Unknown { op: at, what: "result", id: 0 });
    }
    for operand in &op.operands {
        known(operand.tensor, at)?;
        if let Access::Strided(part) = operand.access
            && (part.pitch == 0 || part.offset.checked_add(part.width).is_none_or(|end| end > part.pitch))
        {
            return Err(GraphError::PartOutOfUnit {
                width: part.width,
                offset: part.offset,
                pitch: part.pitch,
            });
        }
        let count = graph.tensor(operand.tensor).shape.count();
        graph.layout(operand).check_within(count).map_err(|why| GraphError::ViewOutOfTensor {
            op: at,
            name,
            tensor: named(graph, operand.tensor),
            why,
        })?;
    }
    for result in &op.results {
        known(result.tensor, at)?;
        if let Dst::Rows { row: RowSel::Param(row), .. } = result.dst {
            known(row, at)?;
        }
    }
    match &op.sym {
        Sym::Prim(primitive) if primitive.nature() == Nature::Fused => {
            return Err(GraphError::BareFused { op: at, name: primitive.name() });
        }
        Sym::Fused(fused) => {
            for part in &fused.definition {
                check(graph, at, part, known)?;
            }
        }
        Sym::Prim(_) | Sym::View => {}
    }
    let specs = graph.results(op)?;
    if specs.len() != op.results.len() {
        return Err(GraphError::WrongResult {
            op: name.into(),
            tensor: named(graph, op.result()),
            expected: format!("one of {} results", op.results.len()),
            found: format!("{} results", specs.len()),
        });
    }
    for (result, spec) in op.results.iter().zip(specs) {
        landing(graph, at, name, result.tensor, result.dst, &spec)?;
    }
    Ok(())
}

fn landing(
    graph: &TensorGraph,
    at: usize,
    name: &'static str,
    tensor: TensorId,
    dst: Dst,
    spec: &Spec,
) -> Result<(), GraphError> {
    let target = graph.spec(tensor);
    let wrong = || GraphError::WrongResult {
        op: name.into(),
        tensor: named(graph, tensor),
        expected: target.to_string(),
        found: spec.to_string(),
    };
    match dst {
        Dst::Own if target == *spec => Ok(()),
        Dst::Own => Err(wrong()),
        Dst::Rows { .. } if graph.tensor(tensor).role != Role::State => {
            Err(GraphError::NotState { op: at, name, tensor: named(graph, tensor) })
        }
        Dst::Rows { .. } if target.dtype != spec.dtype => Err(wrong()),
        Dst::Rows { pitch, row, span } => {
            // A row known only while running is checked then; the first row
            // shows that the write fits at all.
            let first = match row {
                RowSel::Fixed(row) => row as i64,
                RowSel::Param(_) => 1,
            };
            if let Span::Unit { width, .. } = span
                && width > 0
                && !spec.count().is_multiple_of(width)
            {
                return Err(wrong());
            }
            reference::rows_layout(name, target.count(), spec.count(), pitch, first, span).map(|_| ())
        }
    }
}
