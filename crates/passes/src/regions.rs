use oneir_ir::graph::{Access, Class, Dst, Operand, Region, RegionStep, StepArg, Sym, TensorId};
use rustc_hash::FxHashMap;

use crate::draft::Draft;
use crate::pattern::movable;
use crate::{Decision, Fusion, Read, Take};

/// A region's kernel keeps a tile of every step at hand.
const MAX_STEPS: usize = 48;
/// And a pointer and strides for every input.
const MAX_READS: usize = 24;

#[derive(Default)]
struct Group {
    /// The element-wise ops, in order.
    members: Vec<u32>,
    /// The operands that come from outside.
    reads: Vec<Operand>,
    /// Something outside has read a member: what comes later cannot join.
    closed: bool,
}

/// Joins element-wise ops of one shape, each with the ops that feed it.
pub(crate) fn decide(draft: &mut Draft) -> Vec<(u32, Decision)> {
    let uses = draft.uses();
    let mut groups: Vec<Group> = Vec::new();
    // Groups merge; each slot's group is found through its links.
    let mut links: Vec<u32> = Vec::new();
    let mut group_of: Vec<u32> = vec![u32::MAX; draft.slots.len()];
    fn find(links: &mut [u32], mut g: u32) -> u32 {
        while links[g as usize] != g {
            links[g as usize] = links[links[g as usize] as usize];
            g = links[g as usize];
        }
        g
    }

    /// As [`find`], without shortening the way.
    fn root(links: &[u32], mut g: u32) -> u32 {
        while links[g as usize] != g {
            g = links[g as usize];
        }
        g
    }

    for slot in 0..draft.slots.len() {
        let Some(op) = &draft.slots[slot] else { continue };
        let shape = op.results.first().map(|r| &draft.graph.tensor(r.tensor).shape);
        let step = match &op.sym {
            Sym::Prim(primitive) => primitive.step(),
            _ => None,
        };
        let joins = step.is_some() && op.results.len() == 1 && op.results[0].dst == Dst::Own;
        let mut feeders: Vec<u32> = Vec::new();
        for operand in &op.operands {
            let Some(producer) = uses.producer[operand.tensor.at()] else { continue };
            let g = group_of[producer as usize];
            if g == u32::MAX {
                continue;
            }
            let g = find(&mut links, g);
            let same =
                operand.access == Access::Whole && Some(&draft.graph.tensor(operand.tensor).shape) == shape;
            if joins && same && !groups[g as usize].closed {
                if !feeders.contains(&g) {
                    feeders.push(g);
                }
            } else {
                groups[g as usize].closed = true;
            }
        }
        if !joins {
            continue;
        }
        // A group that another operand has just closed cannot be joined.
        feeders.retain(|&g| !groups[g as usize].closed);
        let outside = |feeders: &[u32]| {
            let inside = |tensor: TensorId| {
                uses.producer[tensor.at()].is_some_and(|p| {
                    let g = group_of[p as usize];
                    g != u32::MAX && feeders.contains(&root(&links, g))
                })
            };
            let mut reads = Vec::new();
            join(&mut reads, op.operands.iter().filter(|o| !inside(o.tensor)));
            reads
        };
        let fits = |groups: &[Group], feeders: &[u32]| {
            let steps: usize = feeders.iter().map(|&g| groups[g as usize].members.len()).sum();
            let mut reads = outside(feeders);
            for &g in feeders {
                join(&mut reads, &groups[g as usize].reads);
            }
            let still = feeders.iter().flat_map(|&g| &groups[g as usize].members).all(|&m| {
                draft.slots[m as usize]
                    .as_ref()
                    .is_some_and(|member| movable(draft, member, m as usize, slot))
            });
            steps < MAX_STEPS && reads.len() <= MAX_READS && still
        };
        while !feeders.is_empty() && !fits(&groups, &feeders) {
            if let Some(g) = feeders.pop() {
                groups[g as usize].closed = true;
            }
        }
        let reads = outside(&feeders);
        let home = match feeders.split_first() {
            None => {
                groups.push(Group::default());
                links.push(links.len() as u32);
                links.len() as u32 - 1
            }
            Some((&home, others)) => {
                for &g in others {
                    let other = std::mem::take(&mut groups[g as usize]);
                    join(&mut groups[home as usize].reads, &other.reads);
                    groups[home as usize].members.extend(other.members);
                    links[g as usize] = home;
                }
                home
            }
        };
        group_of[slot] = home;
        groups[home as usize].members.push(slot as u32);
        join(&mut groups[home as usize].reads, &reads);
    }

    let mut decisions = Vec::new();
    for mut group in groups {
        if group.members.len() < 2 {
            continue;
        }
        group.members.sort_unstable();
        let Some(fusion) = fusion(draft, &uses.reads, &group.members) else { continue };
        let slot = *group.members.last().unwrap_or(&0);
        let decision = Decision::Fuse(Box::new(fusion));
        if matches!(draft.apply(slot as usize, &decision), Ok(Some(()))) {
            decisions.push((slot, decision));
        }
    }
    decisions
}

/// Adds operands that are not there yet.
fn join<'a>(reads: &mut Vec<Operand>, more: impl IntoIterator<Item = &'a Operand>) {
    for operand in more {
        if !reads.contains(operand) {
            reads.push(operand.clone());
        }
    }
}

fn fusion(draft: &Draft, reads: &[u32], members: &[u32]) -> Option<Fusion> {
    let mut steps: FxHashMap<TensorId, u32> = FxHashMap::default();
    let mut inside: FxHashMap<TensorId, u32> = FxHashMap::default();
    let mut region = Region { inputs: 0, steps: Vec::new(), outputs: Vec::new() };
    let mut operands = Vec::new();
    let mut from = Vec::new();
    for (i, &member) in members.iter().enumerate() {
        let op = draft.slots[member as usize].as_ref()?;
        let Sym::Prim(primitive) = &op.sym else { return None };
        let mut args = Vec::with_capacity(op.operands.len());
        for (k, operand) in op.operands.iter().enumerate() {
            if operand.access == Access::Whole
                && let Some(&step) = steps.get(&operand.tensor)
            {
                *inside.entry(operand.tensor).or_default() += 1;
                args.push(StepArg::Step(step));
                continue;
            }
            let input = match operands.iter().position(|o| *o == operand) {
                Some(input) => input,
                None => {
                    operands.push(operand);
                    from.push(Read { part: member, operand: k as u8, take: Take::AsIs });
                    operands.len() - 1
                }
            };
            args.push(StepArg::Input(input as u32));
        }
        region.steps.push(RegionStep { op: primitive.step()?, args });
        steps.insert(op.result(), i as u32);
    }
    region.inputs = operands.len() as u32;
    let mut writes = Vec::new();
    for (i, &member) in members.iter().enumerate() {
        let result = draft.slots[member as usize].as_ref()?.result();
        let outside = reads[result.at()] > inside.get(&result).copied().unwrap_or(0);
        let last = i + 1 == members.len();
        if outside || draft.graph.tensor(result).observed || last {
            region.outputs.push(i as u32);
            writes.push(member);
        }
    }
    Some(Fusion {
        class: Class::Region(region),
        parts: members.to_vec(),
        reads: from,
        writes,
        told_by: Default::default(),
    })
}
