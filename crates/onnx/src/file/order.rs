//! An order in which everything comes after what it depends on.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Sorts `0..depends.len()` so that each item comes after all that it depends
/// on. Of the items that may come next the lowest does, so what is sorted
/// already stays as it is.
///
/// # Errors
/// The items of one cycle, each depending on the one before it and the first
/// on the last.
pub(super) fn sort(depends: &[Vec<usize>]) -> Result<Vec<usize>, Vec<usize>> {
    if depends.iter().enumerate().all(|(i, on)| on.iter().all(|&j| j < i)) {
        return Ok((0..depends.len()).collect());
    }
    let mut waiting: Vec<usize> = depends.iter().map(Vec::len).collect();
    let mut readers = vec![Vec::new(); depends.len()];
    for (i, on) in depends.iter().enumerate() {
        for &j in on {
            readers[j].push(i);
        }
    }
    let mut ready: BinaryHeap<_> = (0..depends.len()).filter(|&i| waiting[i] == 0).map(Reverse).collect();
    let mut order = Vec::with_capacity(depends.len());
    while let Some(Reverse(i)) = ready.pop() {
        order.push(i);
        for &reader in &readers[i] {
            waiting[reader] -= 1;
            if waiting[reader] == 0 {
                ready.push(Reverse(reader));
            }
        }
    }
    if order.len() == depends.len() { Ok(order) } else { Err(cycle(depends, &waiting)) }
}

/// Every item that still waits depends on another that does, so going from
/// dependency to dependency ends in a circle.
fn cycle(depends: &[Vec<usize>], waiting: &[usize]) -> Vec<usize> {
    let mut step_of = vec![usize::MAX; depends.len()];
    let mut path = Vec::new();
    let mut next = waiting.iter().position(|&w| w > 0);
    while let Some(i) = next {
        if step_of[i] != usize::MAX {
            path.drain(..step_of[i]);
            break;
        }
        step_of[i] = path.len();
        path.push(i);
        next = depends[i].iter().copied().find(|&j| waiting[j] > 0);
    }
    path.reverse();
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_stays_and_unsorted_moves_least() {
        assert_eq!(sort(&[vec![], vec![0], vec![0, 1]]), Ok(vec![0, 1, 2]));
        assert_eq!(sort(&[vec![3], vec![], vec![0], vec![1], vec![]]), Ok(vec![1, 3, 0, 2, 4]));
        assert_eq!(sort(&[]), Ok(vec![]));
    }

    #[test]
    fn a_cycle_is_found_without_what_hangs_on_it() {
        let depends = [vec![1], vec![2], vec![3], vec![1], vec![]];
        let cycle = sort(&depends).unwrap_err();
        assert_eq!(cycle.len(), 3);
        for (k, &item) in cycle.iter().enumerate() {
            let before = cycle[(k + cycle.len() - 1) % cycle.len()];
            assert!(depends[item].contains(&before));
        }
        assert_eq!(sort(&[vec![0]]), Err(vec![0]));
    }
}
