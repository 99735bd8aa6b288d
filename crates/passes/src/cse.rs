use std::hash::{Hash, Hasher};

use oneir_ir::Nature;
use oneir_ir::graph::{Dst, Op, Role, Sym};
use rustc_hash::{FxHashMap, FxHasher};

use crate::Decision;
use crate::draft::Draft;

/// Ops seen so far, by what they compute.
#[derive(Default)]
pub(crate) struct Seen(FxHashMap<u64, Vec<u32>>);

impl Seen {
    /// Merges an op into an equal one before it.
    pub(crate) fn decide(&mut self, draft: &Draft, slot: usize) -> Option<Decision> {
        let op = draft.slots[slot].as_ref()?;
        if !mergeable(draft, op) {
            return None;
        }
        let mut hasher = FxHasher::default();
        op.sym.hash(&mut hasher);
        op.operands.hash(&mut hasher);
        let same = self.0.entry(hasher.finish()).or_default();
        for &before in same.iter() {
            let Some(other) = draft.slots[before as usize].as_ref() else { continue };
            // Applying the decision compares again: on other sizes they may differ.
            if other.sym == op.sym && other.operands == op.operands {
                return Some(Decision::Merge(before));
            }
        }
        same.push(slot as u32);
        None
    }
}

fn mergeable(draft: &Draft, op: &Op) -> bool {
    let pure = match &op.sym {
        Sym::Prim(primitive) => {
            primitive.nature().is_pure()
                && primitive.nature() != Nature::DataSized
                && !matches!(primitive, oneir_ir::Primitive::Copy)
        }
        Sym::View => true,
        // Equal definitions write different interior tensors; leave them.
        Sym::Fused(_) => false,
    };
    pure && op.results.iter().all(|r| r.dst == Dst::Own)
        && op.operands.iter().all(|o| draft.graph.tensor(o.tensor).role != Role::State)
}
