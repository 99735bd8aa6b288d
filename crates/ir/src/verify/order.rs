use super::named;
use crate::graph::{Dst, GraphError, Op, Role, RowSel, Storage, Sym, TensorGraph, TensorId};

/// Every tensor is given or computed before it is read, computed once, and
/// only state is written in place.
///
/// # Errors
/// The first op that breaks this.
pub fn order(graph: &TensorGraph) -> Result<(), GraphError> {
    let mut ready: Vec<bool> = graph
        .tensors
        .iter()
        .map(|t| {
            matches!(t.storage, Storage::Values(_) | Storage::Rows { .. })
                || t.fill != crate::graph::Fill::Unfilled
        })
        .collect();
    for &input in &graph.inputs {
        ready[input.at()] = true;
    }
    for (at, op) in graph.ops.iter().enumerate() {
        reads(graph, at, op, &ready)?;
        if let Sym::Fused(fused) = &op.sym {
            let mut inside = Inside { graph, at, ready: &ready, made: Vec::new() };
            for part in &fused.definition {
                inside.step(part)?;
            }
        }
        for result in &op.results {
            if result.dst == Dst::Own && std::mem::replace(&mut ready[result.tensor.at()], true) {
                return Err(GraphError::WrittenTwice {
                    op: at,
                    name: op.sym.name(),
                    tensor: named(graph, result.tensor),
                });
            }
        }
    }
    match graph.outputs.iter().find(|id| !ready[id.at()]) {
        Some(&id) => Err(GraphError::ReadBeforeWrite {
            op: graph.ops.len(),
            name: "the caller",
            tensor: named(graph, id),
        }),
        None => Ok(()),
    }
}

fn read_tensors(op: &Op) -> impl Iterator<Item = TensorId> {
    let rows = op.results.iter().filter_map(|r| match r.dst {
        Dst::Rows { row: RowSel::Param(row), .. } => Some(row),
        _ => None,
    });
    let tables = op.results.iter().filter(|r| r.dst != Dst::Own).map(|r| r.tensor);
    op.operands.iter().map(|o| o.tensor).chain(rows).chain(tables)
}

fn reads(graph: &TensorGraph, at: usize, op: &Op, ready: &[bool]) -> Result<(), GraphError> {
    match read_tensors(op).find(|id| !ready[id.at()]) {
        Some(id) => {
            Err(GraphError::ReadBeforeWrite { op: at, name: op.sym.name(), tensor: named(graph, id) })
        }
        None => Ok(()),
    }
}

/// The order inside a definition: interior tensors are made there.
struct Inside<'a> {
    graph: &'a TensorGraph,
    at: usize,
    ready: &'a [bool],
    made: Vec<TensorId>,
}

impl Inside<'_> {
    fn step(&mut self, part: &Op) -> Result<(), GraphError> {
        let missing = read_tensors(part).find(|id| !self.ready[id.at()] && !self.made.contains(id));
        if let Some(id) = missing {
            return Err(GraphError::ReadBeforeWrite {
                op: self.at,
                name: part.sym.name(),
                tensor: named(self.graph, id),
            });
        }
        for result in &part.results {
            let again = self.made.contains(&result.tensor) || self.ready[result.tensor.at()];
            let state = self.graph.tensor(result.tensor).role == Role::State;
            if again && !state {
                return Err(GraphError::WrittenTwice {
                    op: self.at,
                    name: part.sym.name(),
                    tensor: named(self.graph, result.tensor),
                });
            }
            self.made.push(result.tensor);
        }
        Ok(())
    }
}
