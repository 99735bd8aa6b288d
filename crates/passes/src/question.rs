use oneir_ir::graph::{TensorGraph, TensorId};

/// Something that a pass asked about sizes. A recipe may be replayed on other
/// sizes while every answer stays the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Question {
    /// Whether two tensors have one shape.
    SameShape(TensorId, TensorId),
    /// Whether a tensor's dimension has a size.
    SizeIs(TensorId, usize, usize),
    /// Whether a tensor has at most this many elements.
    AtMost(TensorId, usize),
}

impl Question {
    /// The answer on a lifted graph.
    pub fn answer(&self, graph: &TensorGraph) -> bool {
        match *self {
            Question::SameShape(a, b) => graph.tensor(a).shape == graph.tensor(b).shape,
            Question::SizeIs(t, axis, size) => graph.tensor(t).shape.get(axis) == Some(&size),
            Question::AtMost(t, count) => graph.tensor(t).shape.count() <= count,
        }
    }
}
