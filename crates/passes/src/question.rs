use oneir_ir::graph::{TensorGraph, TensorId};

/// Something that a pass asked about sizes. A recipe may be replayed on other
/// sizes while every answer stays the same.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Question {
    /// Whether two tensors have one shape.
    SameShape(TensorId, TensorId),
    /// Whether a tensor has at most this many elements.
    AtMost(TensorId, usize),
}

impl Question {
    /// The answer on a lifted graph.
    pub fn answer(&self, graph: &TensorGraph) -> bool {
        match *self {
            Question::SameShape(a, b) => graph.tensor(a).shape == graph.tensor(b).shape,
            Question::AtMost(t, count) => graph.tensor(t).shape.count() <= count,
        }
    }
}
