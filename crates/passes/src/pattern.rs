//! Matching a class's definition against a graph.

use oneir_ir::fast::{FastOp, Probe};
use oneir_ir::graph::{Class, Dst, Op, Operand, Role, Sym, TensorGraph, TensorId};
use oneir_ir::{Cut, Place, Primitive, Spec, Value};
use oneir_tensor::Layout;
use rustc_hash::FxHashMap;

use crate::draft::{Draft, Uses, last_axis};
use crate::simplify::uniform;
use crate::{Evidence, Fusion, Question, Read, Take};

/// Patterns made so far: classes over the same shapes come again and again.
#[derive(Default)]
pub(crate) struct Patterns(FxHashMap<(FastOp, Vec<Spec>), Vec<Pattern>>);

/// One spelling of a class, as a graph without view ops.
struct Pattern {
    graph: TensorGraph,
    producer: Vec<Option<usize>>,
    root: usize,
}

impl Patterns {
    /// The spellings of a class over inputs of these specs. A class that does
    /// not record on them has none.
    fn of(&mut self, class: &FastOp, specs: &[Spec]) -> &[Pattern] {
        self.0.entry((class.clone(), specs.to_vec())).or_insert_with(|| {
            let inputs: Vec<Value> = specs.iter().cloned().map(Value::placeholder).collect();
            // A candidate is a guess: its definition may only be asked for specs that fit.
            let whole = Primitive::Fast(class.clone());
            if Value::record(whole, &inputs.iter().collect::<Vec<_>>(), Place::Internal).is_err() {
                return Vec::new();
            }
            let Ok(spellings) = class.spellings(&inputs) else { return Vec::new() };
            spellings.iter().filter_map(|output| Pattern::new(&inputs, output)).collect()
        })
    }

    /// The largest class that ends in the op of `slot`.
    pub(crate) fn find(
        &mut self,
        draft: &Draft,
        uses: &Uses,
        slot: usize,
    ) -> Option<(Fusion, Vec<Question>)> {
        let probe = SlotProbe { draft, uses, slot };
        let root = draft.slots[slot].as_ref()?;
        if !matches!(&root.sym, Sym::Prim(_)) {
            return None;
        }
        for (class, specs) in FastOp::candidates(&probe) {
            for pattern in self.of(&class, &specs) {
                let mut found = Match::new(draft, uses, pattern, specs.len());
                if !found.op(pattern.root, slot) {
                    continue;
                }
                let single = std::mem::take(&mut found.single);
                if let Some(fusion) = found.fusion(&class, slot) {
                    return Some((fusion, single));
                }
            }
        }
        None
    }
}

impl Pattern {
    fn new(inputs: &[Value], output: &Value) -> Option<Pattern> {
        let lifted = Cut::new(inputs, std::slice::from_ref(output)).lift().ok()?;
        let (graph, _) = crate::pipeline::normalise(lifted.graph).ok()?;
        let mut producer = vec![None; graph.tensors.len()];
        for (at, op) in graph.ops.iter().enumerate() {
            producer[op.result().at()] = Some(at);
        }
        let root = producer[graph.outputs[0].at()]?;
        matches!(graph.ops[root].sym, Sym::Prim(_)).then_some(Pattern { graph, producer, root })
    }
}

/// A layout in which the strides of size-1 dimensions do not count.
fn canonical(mut layout: Layout) -> Layout {
    for (stride, &size) in layout.strides.iter_mut().zip(layout.shape.iter()) {
        if size <= 1 {
            *stride = 0;
        }
    }
    layout
}

struct Match<'a> {
    draft: &'a Draft,
    uses: &'a Uses,
    pattern: &'a Pattern,
    inputs: Vec<Option<(Read, Operand)>>,
    parts: Vec<u32>,
    /// Which pattern op each part stands for.
    stands: Vec<(usize, u32)>,
    number: Option<f64>,
    /// Where numbers of the graph were compared.
    told_by: Evidence,
    /// Sizes of 1 or 0, over which any stride is as good as another: on other
    /// sizes the match may not hold.
    single: Vec<Question>,
}

impl<'a> Match<'a> {
    fn new(draft: &'a Draft, uses: &'a Uses, pattern: &'a Pattern, inputs: usize) -> Self {
        Match {
            draft,
            uses,
            pattern,
            inputs: vec![None; inputs],
            parts: Vec::new(),
            stands: Vec::new(),
            number: None,
            told_by: Evidence::new(),
            single: Vec::new(),
        }
    }

    /// Matches a pattern op with the op of a slot; on failure the state is as
    /// before.
    fn op(&mut self, at: usize, slot: usize) -> bool {
        if let Some(&(_, stood)) = self.stands.iter().find(|(p, _)| *p == at) {
            return stood as usize == slot;
        }
        let (pattern, draft) = (self.pattern, self.draft);
        let Some(op) = draft.slots[slot].as_ref() else { return false };
        let wanted = &pattern.graph.ops[at];
        let own = op.results.len() == 1 && op.results[0].dst == Dst::Own;
        if op.sym != wanted.sym || op.operands.len() != wanted.operands.len() || !own {
            return false;
        }
        let swaps = matches!(&op.sym, Sym::Prim(Primitive::Binary(b)) if b.commutes() || is_extreme(*b));
        let orders: &[[usize; 2]] = if swaps { &[[0, 1], [1, 0]] } else { &[[0, 1]] };
        for order in orders {
            let before = (self.inputs.clone(), self.parts.len(), self.stands.len(), self.number);
            self.stands.push((at, slot as u32));
            let matched = (0..wanted.operands.len()).all(|k| {
                let other = if swaps { order[k] } else { k };
                self.operand(&wanted.operands[k], slot, op, other)
            });
            if matched {
                self.parts.push(slot as u32);
                return true;
            }
            self.inputs = before.0;
            self.parts.truncate(before.1);
            self.stands.truncate(before.2);
            self.number = before.3;
        }
        false
    }

    fn operand(&mut self, wanted: &Operand, slot: usize, op: &Op, k: usize) -> bool {
        let operand = &op.operands[k];
        let (pattern, draft) = (self.pattern, self.draft);
        let wanted_layout = canonical(pattern.graph.layout(wanted));
        let layout = canonical(draft.graph.layout(operand));
        if wanted_layout.shape != layout.shape {
            return false;
        }
        for (axis, &size) in layout.shape.iter().enumerate() {
            if size <= 1 {
                self.single.push(Question::Single { op: slot as u32, operand: k as u8, axis: axis as u8 });
            }
        }
        if let Some(i) = pattern.graph.inputs.iter().position(|&id| id == wanted.tensor) {
            let take = if wanted_layout.is_row_contiguous() { Take::AsIs } else { Take::LastAxis };
            let seen = match take {
                Take::AsIs => Some(operand.clone()),
                Take::LastAxis => last_axis(&draft.graph, operand),
            };
            let Some(seen) = seen else { return false };
            let read = Read { part: slot as u32, operand: k as u8, take };
            return match &self.inputs[i] {
                Some((_, bound)) => *bound == seen,
                None => {
                    self.inputs[i] = Some((read, seen));
                    true
                }
            };
        }
        if let Some(value) = pattern.graph.value(wanted.tensor) {
            let (Some(wanted), Some(found)) =
                (uniform(value), draft.graph.value(operand.tensor).and_then(uniform))
            else {
                return false;
            };
            self.told_by.push((operand.tensor, found.to_bits()));
            if wanted.is_nan() {
                return self.number.replace(found).is_none_or(|before| before == found);
            }
            return wanted == found;
        }
        match (pattern.producer[wanted.tensor.at()], self.uses.producer[operand.tensor.at()]) {
            (Some(inner), Some(found))
                if wanted_layout.strides == layout.strides && wanted_layout.offset == layout.offset =>
            {
                self.op(inner, found as usize)
            }
            _ => false,
        }
    }

    /// The match as a fusion, when nothing outside needs its inner results.
    fn fusion(mut self, class: &FastOp, root: usize) -> Option<Fusion> {
        self.parts.sort_unstable();
        let class = match self.number {
            Some(number) => class.with_number(number)?,
            None => class.clone(),
        };
        for &part in &self.parts {
            let op = self.draft.slots[part as usize].as_ref()?;
            if part as usize != root && !self.hidden(op.result()) {
                return None;
            }
            if !movable(self.draft, op, part as usize, root) {
                return None;
            }
        }
        // An input that a part makes is none.
        let made = |t: TensorId| {
            self.parts
                .iter()
                .filter_map(|&p| self.draft.slots[p as usize].as_ref())
                .any(|op| op.result() == t)
        };
        if self.inputs.iter().flatten().any(|(_, operand)| made(operand.tensor)) {
            return None;
        }
        let reads: Option<Vec<Read>> =
            self.inputs.iter().map(|i| i.as_ref().map(|(read, _)| *read)).collect();
        Some(Fusion {
            class: Class::Fast(class),
            parts: self.parts,
            reads: reads?,
            writes: vec![root as u32],
            told_by: self.told_by,
        })
    }

    /// Whether only parts read a tensor.
    fn hidden(&self, tensor: TensorId) -> bool {
        let inside: usize = self
            .parts
            .iter()
            .filter_map(|&p| self.draft.slots[p as usize].as_ref())
            .map(|op| op.operands.iter().filter(|o| o.tensor == tensor).count())
            .sum();
        inside == self.uses.reads[tensor.at()] as usize && !self.draft.graph.tensor(tensor).observed
    }
}

fn is_extreme(op: oneir_ir::BinaryOp) -> bool {
    matches!(op, oneir_ir::BinaryOp::Maximum | oneir_ir::BinaryOp::Minimum)
}

/// Whether an op may run at `to` instead of at `from`: no state that it reads
/// is written in between.
pub(crate) fn movable(draft: &Draft, op: &Op, from: usize, to: usize) -> bool {
    op.operands.iter().all(|o| {
        draft.graph.tensor(o.tensor).role != Role::State
            || !draft.touches.writes(o.tensor).iter().any(|&w| (from..=to).contains(&(w as usize)))
    })
}

struct SlotProbe<'a> {
    draft: &'a Draft,
    uses: &'a Uses,
    slot: usize,
}

impl Probe for SlotProbe<'_> {
    fn root(&self) -> &Primitive {
        match self.draft.slots[self.slot].as_ref().map(|op| &op.sym) {
            Some(Sym::Prim(primitive)) => primitive,
            _ => &Primitive::Copy,
        }
    }

    fn result(&self) -> Spec {
        match self.draft.slots[self.slot].as_ref() {
            Some(op) => self.draft.graph.spec(op.result()),
            None => Spec::new(oneir_tensor::DType::Bool, []),
        }
    }

    fn nearest(&self, depth: usize, accept: &dyn Fn(&Primitive) -> bool) -> Option<(Primitive, Vec<Spec>)> {
        let mut level = vec![self.slot];
        for _ in 0..depth {
            let mut above = Vec::new();
            for slot in level {
                let Some(op) = self.draft.slots[slot].as_ref() else { continue };
                for operand in &op.operands {
                    let Some(producer) = self.uses.producer[operand.tensor.at()] else { continue };
                    let Some(found) = self.draft.slots[producer as usize].as_ref() else { continue };
                    if let Sym::Prim(primitive) = &found.sym
                        && accept(primitive)
                    {
                        let specs = found.operands.iter().map(|o| self.draft.graph.operand_spec(o)).collect();
                        return Some((primitive.clone(), specs));
                    }
                    if !above.contains(&(producer as usize)) {
                        above.push(producer as usize);
                    }
                }
            }
            level = above;
        }
        None
    }
}
