use super::{TensorGraph, TensorId};

/// The ops that read and write each tensor, by their place in the graph.
#[derive(Debug, Clone)]
pub struct Touches {
    read_starts: Vec<u32>,
    reads: Vec<u32>,
    write_starts: Vec<u32>,
    writes: Vec<u32>,
}

impl Touches {
    /// The touches of a graph. The row that a write's parameter names is read
    /// too.
    pub(super) fn of(graph: &TensorGraph) -> Touches {
        let tensors = graph.tensors.len();
        let (mut reads, mut writes) = (Vec::new(), Vec::new());
        for (at, op) in graph.ops.iter().enumerate() {
            let at = at as u32;
            reads.extend(op.operands.iter().map(|o| (o.tensor.0, at)));
            for result in &op.results {
                writes.push((result.tensor.0, at));
                if let super::Dst::Rows { row: super::RowSel::Param(row), .. } = result.dst {
                    reads.push((row.0, at));
                }
            }
        }
        let (read_starts, reads) = by_tensor(tensors, &reads);
        let (write_starts, writes) = by_tensor(tensors, &writes);
        Touches { read_starts, reads, write_starts, writes }
    }

    /// The ops that read a tensor, in order (once per reading operand).
    pub fn reads(&self, tensor: TensorId) -> &[u32] {
        &self.reads[self.read_starts[tensor.at()] as usize..self.read_starts[tensor.at() + 1] as usize]
    }

    /// The ops that write a tensor, in order.
    pub fn writes(&self, tensor: TensorId) -> &[u32] {
        &self.writes[self.write_starts[tensor.at()] as usize..self.write_starts[tensor.at() + 1] as usize]
    }
}

/// Groups pairs by tensor, keeping order: where each group starts, and the ops.
fn by_tensor(tensors: usize, pairs: &[(u32, u32)]) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0u32; tensors + 1];
    for &(tensor, _) in pairs {
        starts[tensor as usize + 1] += 1;
    }
    for i in 0..tensors {
        starts[i + 1] += starts[i];
    }
    let mut next = starts.clone();
    let mut ops = vec![0; pairs.len()];
    for &(tensor, op) in pairs {
        ops[next[tensor as usize] as usize] = op;
        next[tensor as usize] += 1;
    }
    (starts, ops)
}
