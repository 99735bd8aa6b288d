use crate::graph::{GraphError, OpId, TensorGraph};

/// Each lifted op is computed by exactly one op, or listed once as dead or
/// folded.
///
/// # Errors
/// The first lifted op that is not.
pub fn covers(graph: &TensorGraph) -> Result<(), GraphError> {
    let listed = graph.ops.iter().map(|op| op.covers.len()).sum::<usize>();
    // Not more are looked for than are listed, and the first that is not.
    let looked_for = (graph.lifted as usize).min(listed + graph.dead.len() + graph.folded.len() + 1);
    let mut seen = vec![false; looked_for];
    let all = graph
        .ops
        .iter()
        .enumerate()
        .flat_map(|(at, op)| op.covers.iter().map(move |&c| (at, c)))
        .chain(graph.dead.iter().chain(&graph.folded).map(|&c| (graph.ops.len(), c)));
    for (op, OpId(lifted)) in all {
        match seen.get_mut(lifted as usize) {
            None if lifted < graph.lifted => {}
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
