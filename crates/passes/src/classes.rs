use crate::Decision;
use crate::draft::Draft;
use crate::pattern::Patterns;

/// Finds fused classes by their definitions, from the last op to the first, so
/// that a class is found before what it contains.
pub(crate) fn decide(draft: &mut Draft) -> Vec<(u32, Decision)> {
    let mut patterns = Patterns::default();
    let mut uses = draft.uses();
    let mut decisions = Vec::new();
    for slot in (0..draft.slots.len()).rev() {
        let Some((fusion, single)) = patterns.find(draft, &uses, slot) else { continue };
        let decision = Decision::Fuse(Box::new(fusion));
        if matches!(draft.apply(slot, &decision), Ok(Some(()))) {
            decisions.push((slot as u32, decision));
            draft.questions.extend(single.into_iter().map(|question| (question, true)));
            uses = draft.uses_after(slot, uses);
        }
    }
    decisions
}
