use oneir_ir::Nature;
use oneir_ir::graph::{Access, Op, Operand, Sym, TensorId};
use oneir_tensor::Layout;

use crate::Decision;
use crate::draft::Draft;

/// Turns view ops into accesses of what they view.
pub(crate) fn decide(draft: &Draft, slot: usize) -> Option<Decision> {
    let op = draft.slots[slot].as_ref()?;
    let view = match &op.sym {
        Sym::View => true,
        Sym::Prim(primitive) => primitive.nature() == Nature::View,
        Sym::Fused(_) => false,
    };
    if !view || op.operands.iter().any(|o| draft.written_after(o.tensor, slot)) {
        return None;
    }
    if op.operands.iter().any(|o| draft.is_unsettled(o.tensor)) {
        return None;
    }
    // Readers must be able to say the view with strides, too.
    let result = op.result();
    let operand = draft.viewed(op)?;
    let base = draft.graph.layout(&operand);
    if draft.viewed_by_outputs(result).any(|o| !through(draft, &o, &base)) {
        return None;
    }
    let composes = draft.touches.reads(result).iter().all(|&reader| {
        draft.slots[reader as usize].as_ref().is_none_or(|reader| composes(draft, reader, result, &base))
    });
    composes.then_some(Decision::View)
}

/// Whether an op, and its definition where it is fused, can read a tensor
/// through one more view.
fn composes(draft: &Draft, op: &Op, tensor: TensorId, base: &Layout) -> bool {
    let own = op.operands.iter().filter(|o| o.tensor == tensor).all(|o| through(draft, o, base));
    own && match &op.sym {
        Sym::Fused(fused) => fused.definition.iter().all(|part| composes(draft, part, tensor, base)),
        _ => true,
    }
}

/// Whether strides can say an access of a view.
fn through(draft: &Draft, operand: &Operand, base: &Layout) -> bool {
    operand.access == Access::Whole || draft.graph.layout(operand).over(base).is_some()
}
