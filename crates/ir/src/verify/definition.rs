use rustc_hash::FxHashSet;

use super::named;
use crate::graph::{Access, Class, GraphError, Op, Operand, StepArg, Sym, TensorGraph, TensorId};

/// Every fused op's definition makes the op's results from the op's operands
/// (and constants), in exactly the lifted ops that it covers, and nothing
/// outside needs what it hides. A region's steps are its definition's ops.
///
/// # Errors
/// The first fused op of which this does not hold.
pub fn definition(graph: &TensorGraph) -> Result<(), GraphError> {
    let mut needed: FxHashSet<TensorId> = graph.outputs.iter().copied().collect();
    for op in &graph.ops {
        needed.extend(op.operands.iter().map(|o| o.tensor));
    }
    for (at, op) in graph.ops.iter().enumerate() {
        let Sym::Fused(fused) = &op.sym else { continue };
        let class = fused.class.name();
        let wrong = |problem: String| GraphError::Definition { op: at, class, problem };
        let given: FxHashSet<TensorId> = op.operands.iter().map(|o| o.tensor).collect();
        let mut made: FxHashSet<TensorId> = FxHashSet::default();
        for part in &fused.definition {
            for operand in &part.operands {
                let id = operand.tensor;
                if !made.contains(&id) && !given.contains(&id) && graph.value(id).is_none() {
                    return Err(wrong(format!("reads tensor {}, which the op does not", named(graph, id))));
                }
            }
            made.extend(part.results.iter().map(|r| r.tensor));
        }
        if let Some(&id) = made.iter().find(|id| given.contains(id)) {
            return Err(wrong(format!("makes tensor {}, which the op reads", named(graph, id))));
        }
        let results: FxHashSet<TensorId> = op.results.iter().map(|r| r.tensor).collect();
        if let Some(&id) = results.iter().find(|id| !made.contains(id)) {
            return Err(wrong(format!("does not make the result {}", named(graph, id))));
        }
        for &id in made.difference(&results) {
            let observed = graph.tensor(id).observed;
            if observed || needed.contains(&id) {
                let why = if observed { "observed" } else { "read outside" };
                return Err(GraphError::ObservedInside { op: at, class, tensor: named(graph, id), why });
            }
        }
        let inside: usize = fused.definition.iter().map(|part| part.covers.len()).sum();
        let covered: FxHashSet<_> = op.covers.iter().collect();
        let missing = fused.definition.iter().flat_map(|p| &p.covers).find(|c| !covered.contains(c));
        if missing.is_some() || inside != op.covers.len() {
            return Err(wrong(format!("computes {inside} lifted ops, the op covers {}", op.covers.len())));
        }
        if let Class::Region(region) = &fused.class {
            same_steps(region, op, &fused.definition).map_err(wrong)?;
        }
    }
    Ok(())
}

fn same_steps(region: &crate::graph::Region, op: &Op, definition: &[Op]) -> Result<(), String> {
    if region.steps.len() != definition.len() {
        return Err(format!("has {} ops for {} steps", definition.len(), region.steps.len()));
    }
    for (at, (step, part)) in region.steps.iter().zip(definition).enumerate() {
        if part.sym != Sym::Prim(step.primitive()) {
            return Err(format!(
                "computes `{}` where the region has `{}`",
                part.sym.name(),
                step.primitive().name()
            ));
        }
        let reads = |arg: &StepArg, operand: &Operand| match *arg {
            StepArg::Input(i) => op.operands.get(i as usize) == Some(operand),
            StepArg::Step(k) => {
                operand.access == Access::Whole
                    && definition.get(k as usize).map(Op::result) == Some(operand.tensor)
            }
        };
        if !step.args.iter().zip(&part.operands).all(|(arg, operand)| reads(arg, operand)) {
            return Err(format!("reads other values in step {at} than the region"));
        }
    }
    Ok(())
}
