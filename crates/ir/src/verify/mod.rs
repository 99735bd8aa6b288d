//! Verifiers: what must hold of a graph after every pass, each with its own
//! named error.

mod covers;
mod definition;
mod numeric;
mod order;
mod structure;

pub use covers::covers;
pub use definition::definition;
pub use numeric::{Tolerance, numeric, numeric_on, sample};
pub use order::order;
pub use structure::structure;

use crate::graph::{GraphError, TensorGraph, TensorId};

/// Everything that can be told from the graph alone: structure, order, covers
/// and definitions.
///
/// # Errors
/// The first that does not hold.
pub fn graph(graph: &TensorGraph) -> Result<(), GraphError> {
    structure(graph)?;
    order(graph)?;
    covers(graph)?;
    definition(graph)
}

/// As [`graph`], and of every graph that its control flow runs: for graphs from
/// elsewhere, whose bodies nothing has checked yet.
///
/// # Errors
/// The first that does not hold.
pub fn with_bodies(graph: &TensorGraph) -> Result<(), GraphError> {
    self::graph(graph)?;
    for primitive in graph.primitives() {
        primitive.bodies().into_iter().try_for_each(|body| with_bodies(body.graph()))?;
    }
    Ok(())
}

/// A tensor as messages name it.
fn named(graph: &TensorGraph, id: TensorId) -> String {
    match graph.tensors.get(id.at()).and_then(|t| t.name.as_deref()) {
        Some(name) => format!("%{} \"{name}\"", id.0),
        None => format!("%{}", id.0),
    }
}
