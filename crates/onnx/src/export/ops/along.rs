//! Where a batch's axis goes.

use super::super::graph::Site;

/// The batch's axis of the operands that have one, where it is one and the same.
fn common(site: &Site<'_>) -> Option<usize> {
    let mut all = site.operands.iter().filter_map(|x| x.batch());
    let first = all.next()?;
    all.all(|axis| axis == first).then_some(first)
}

/// Each result element is from the operands' elements at the same place; operands
/// that are the same for all items only repeat.
pub(super) fn same_place(site: &Site<'_>) -> Option<usize> {
    let axis = common(site)?;
    site.operands.iter().all(|x| x.batch().is_some() || x.repeats(axis)).then_some(axis)
}

/// Only the first operand has a batch, whose axis stays where `stays` says that it may.
pub(super) fn first_alone(site: &Site<'_>, stays: impl FnOnce(usize) -> bool) -> Option<usize> {
    let (first, others) = site.operands.split_first()?;
    let axis = first.batch()?;
    (others.iter().all(|x| x.batch().is_none()) && stays(axis)).then_some(axis)
}

/// As [`same_place`], where all operands have the batch and `stays` holds of its axis.
pub(super) fn all_have(site: &Site<'_>, stays: impl FnOnce(usize) -> bool) -> Option<usize> {
    let axis = common(site)?;
    (site.operands.iter().all(|x| x.batch().is_some()) && stays(axis)).then_some(axis)
}
