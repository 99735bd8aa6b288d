use oneir_ir::Nature;
use oneir_ir::graph::Sym;

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
    draft.viewed(op)?;
    // Readers must be able to say the view with strides, too.
    let result = op.result();
    let operand = draft.viewed(op)?;
    let base = draft.graph.layout(&operand);
    let over = |o: &oneir_ir::graph::Operand| {
        o.access == oneir_ir::graph::Access::Whole || draft.graph.layout(o).over(&base).is_some()
    };
    if draft.viewed_by_outputs(result).any(|o| !over(&o)) {
        return None;
    }
    let composes = draft.touches.reads(result).iter().all(|&reader| {
        draft.slots[reader as usize]
            .as_ref()
            .is_none_or(|reader| reader.operands.iter().filter(|o| o.tensor == result).all(&over))
    });
    composes.then_some(Decision::View)
}
