use oneir_ir::graph::{TensorGraph, TensorId};

/// Something that a pass asked about sizes. A recipe may be replayed on other
/// sizes while every answer stays the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Question {
    /// Whether two tensors have one shape.
    SameShape(TensorId, TensorId),
    /// Whether an op sees at most one item of an operand's dimension.
    Single {
        /// The lifted graph's op, by its place.
        op: u32,
        /// Which of its operands.
        operand: u8,
        /// The dimension, as the op sees it.
        axis: u8,
    },
    /// Whether a tensor has at most this many elements.
    AtMost(TensorId, usize),
}

impl Question {
    /// The answer on a lifted graph.
    pub fn answer(&self, graph: &TensorGraph) -> bool {
        match *self {
            Question::SameShape(a, b) => graph.tensor(a).shape == graph.tensor(b).shape,
            Question::Single { op, operand, axis } => {
                let op = graph.ops.get(op as usize);
                let operand = op.and_then(|op| op.operands.get(usize::from(operand)));
                let size = operand.and_then(|o| graph.seen(o).get(usize::from(axis)).copied());
                size.is_some_and(|size| size <= 1)
            }
            Question::AtMost(t, count) => graph.tensor(t).shape.count() <= count,
        }
    }
}
