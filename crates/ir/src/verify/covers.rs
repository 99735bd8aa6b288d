use crate::graph::{GraphError, OpId, TensorGraph};

/// Each lifted op is computed by exactly one op, or listed once as dead or
/// folded.
///
/// # Errors
/// The first lifted op that is not.
pub fn covers(graph: &TensorGraph) -> Result<(), GraphError> {
    let mut seen = vec![false; graph.lifted as usize];
    let all = graph
        .ops
        .iter()
        .enumerate()
        .flat_map(|(at, op)| op.covers.iter().map(move |&c| (at, c)))
        .chain(graph.dead.iter().chain(&graph.folded).map(|&c| (graph.ops.len(), c)));
    for (op, OpId(lifted)) in all {
        match seen.get_mut(lifted as usize) {
            None => return Err(GraphError::Unknown { op, what: "lifted op", id: lifted }),
            Some(slot) if *slot => return Err(GraphError::CoveredTwice(lifted)),
            Some(slot) => *slot = true,
        }
    }
    match seen.iter().position(|covered| !covered) {
        Some(lifted) => Err(GraphError::CoveredNever(lifted as u32)),
        None => Ok(()),
    }
}
