use oneir_ir::graph::{
    Access, Class, Dst, Fused, GraphError, Op, OpId, Operand, Region, Role, RowSel, StepArg, Storage, Sym,
    Tensor, TensorGraph, TensorId, Touches, WriteResult,
};
use oneir_ir::{Nature, Primitive};
use oneir_tensor::Layout;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::Question;
use crate::simplify::uniform;

/// What a pass does with one op.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// The result is the operand with this number: the op goes.
    Same(u8, Evidence),
    /// The result is that of an equal op before it: the op goes.
    Merge(u32),
    /// The result is a view of the operand: readers read the operand so.
    View,
    /// The result is known: it becomes a constant.
    Fold,
    /// Another primitive on some of the operands gives the same.
    Replace(Primitive, SmallVec<[u8; 3]>, Evidence),
    /// The op and others before it become one.
    Fuse(Box<Fusion>),
    /// Nothing reads the results.
    Drop,
}

/// Ops that become one fused op, in the place of the last of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fusion {
    /// What they become.
    pub class: Class,
    /// The ops, in order.
    pub parts: Vec<u32>,
    /// Where each operand of the fused op comes from.
    pub reads: Vec<Read>,
    /// The ops whose first results are the fused op's results.
    pub writes: Vec<u32>,
    /// Numbers that the class was told by.
    pub told_by: Evidence,
}

/// Tensors of one number that a decision rests on, with the bits of the number:
/// folded ones may differ on other sizes.
pub type Evidence = SmallVec<[(TensorId, u64); 1]>;

/// An operand of a fused op: an operand of one of its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Read {
    /// The part.
    pub part: u32,
    /// Which of its operands.
    pub operand: u8,
    /// How much of it.
    pub take: Take,
}

/// How a fused op reads what its part read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Take {
    /// In the same way.
    AsIs,
    /// The last axis alone: along all others it repeats.
    LastAxis,
}

/// A graph while passes work on it: each op in a slot of its own, so that
/// numbers stay.
pub(crate) struct Draft {
    pub(crate) graph: TensorGraph,
    pub(crate) slots: Vec<Option<Op>>,
    /// What a tensor has turned out to be.
    alias: Vec<Option<Box<Operand>>>,
    /// Lifted ops absorbed into a tensor that its first reader will cover.
    absorbed: FxHashMap<TensorId, SmallVec<[OpId; 2]>>,
    /// Outputs that are views, by the tensor that they view.
    viewing: FxHashMap<TensorId, SmallVec<[TensorId; 1]>>,
    is_output: Vec<bool>,
    /// Tensors whose size is known only once a data-sized op has run; empty
    /// where there is no such op.
    unsettled: Vec<bool>,
    pub(crate) touches: Touches,
    pub(crate) questions: Vec<(Question, bool)>,
}

impl Draft {
    pub(crate) fn new(mut graph: TensorGraph) -> Draft {
        let touches = graph.touches();
        let slots: Vec<Option<Op>> = std::mem::take(&mut graph.ops).into_iter().map(Some).collect();
        let alias = vec![None; graph.tensors.len()];
        let mut is_output = vec![false; graph.tensors.len()];
        for &output in &graph.outputs {
            is_output[output.at()] = true;
        }
        let unsettled = unsettled(&graph, &slots);
        Draft {
            graph,
            slots,
            alias,
            absorbed: FxHashMap::default(),
            viewing: FxHashMap::default(),
            is_output,
            unsettled,
            touches,
            questions: Vec::new(),
        }
    }

    /// Whether a tensor's size is known only once a data-sized op has run: an
    /// access of it must not hold sizes.
    pub(crate) fn is_unsettled(&self, tensor: TensorId) -> bool {
        self.unsettled.get(tensor.at()) == Some(&true)
    }

    /// Asks about sizes and remembers the answer.
    pub(crate) fn ask(&mut self, question: Question) -> bool {
        let answer = question.answer(&self.graph);
        self.questions.push((question, answer));
        answer
    }

    /// Whether something writes this tensor in place after op `slot` read it.
    pub(crate) fn written_after(&self, tensor: TensorId, slot: usize) -> bool {
        self.graph.tensor(tensor).role == Role::State
            && self.touches.writes(tensor).iter().any(|&w| w as usize >= slot)
    }

    /// The operand that an access of a tensor has turned out to be; `None`
    /// when strides cannot say it.
    fn resolved(&self, operand: &Operand) -> Option<Option<Operand>> {
        let Some(alias) = &self.alias[operand.tensor.at()] else { return Some(None) };
        let base = self.graph.layout(alias);
        let layout = match &operand.access {
            Access::Whole => base,
            _ => self.graph.layout(operand).over(&base)?,
        };
        let whole = layout == Layout::contiguous(&self.graph.tensor(alias.tensor).shape);
        let access = if whole { Access::Whole } else { Access::View(Box::new(layout)) };
        Some(Some(Operand { tensor: alias.tensor, access }))
    }

    /// Rewrites the operands of an op to what they have turned out to be.
    pub(crate) fn resolve(&mut self, slot: usize) {
        let stale = |op: &Op| op.operands.iter().any(|o| self.alias[o.tensor.at()].is_some());
        match &self.slots[slot] {
            Some(op) if stale(op) || matches!(op.sym, Sym::Fused(_)) => {}
            _ => return,
        }
        if let Some(mut op) = self.slots[slot].take() {
            self.resolve_op(&mut op);
            self.slots[slot] = Some(op);
        }
    }

    fn resolve_op(&mut self, op: &mut Op) {
        let Op { sym, operands, covers, .. } = op;
        if let Sym::Fused(fused) = sym {
            // The definition's first reader of a view covers it.
            for part in &mut fused.definition {
                self.resolve_op(part);
            }
            *covers = fused.definition.iter().flat_map(|part| part.covers.iter().copied()).collect();
        }
        for operand in operands {
            if let Some(Some(new)) = self.resolved(operand) {
                covers.extend(self.absorbed.remove(&operand.tensor).unwrap_or_default());
                *operand = new;
            }
        }
    }

    /// Carries out a decision. `None` when it does not hold on these sizes.
    pub(crate) fn apply(&mut self, slot: usize, decision: &Decision) -> Result<Option<()>, GraphError> {
        match decision {
            Decision::Same(k, told_by) => {
                if !self.still(told_by) {
                    return Ok(None);
                }
                let Some(op) = self.slots[slot].take() else { return Ok(None) };
                let Some(operand) = op.operands.get(usize::from(*k)).cloned() else { return Ok(None) };
                self.graph.folded.extend(op.covers.iter().copied());
                self.set_alias(op.result(), operand, SmallVec::new());
            }
            Decision::Merge(into) => {
                let Some(op) = self.slots[slot].take() else { return Ok(None) };
                let Some(kept) = self.slots[*into as usize].as_mut() else { return Ok(None) };
                // On other sizes, two ops that were equal may not be.
                if kept.sym != op.sym || kept.operands != op.operands {
                    return Ok(None);
                }
                kept.covers.extend(op.covers.iter().copied());
                let pairs: SmallVec<[(TensorId, TensorId); 1]> =
                    op.results.iter().zip(&kept.results).map(|(a, b)| (a.tensor, b.tensor)).collect();
                for (gone, kept) in pairs {
                    self.set_alias(gone, Operand::whole(kept), SmallVec::new());
                }
            }
            Decision::View => {
                let Some(op) = self.slots[slot].take() else { return Ok(None) };
                let Some(operand) = self.viewed(&op) else {
                    self.slots[slot] = Some(op);
                    return Ok(None);
                };
                self.set_alias(op.result(), operand, op.covers.iter().copied().collect());
            }
            Decision::Fold => {
                let Some(op) = self.slots[slot].take() else { return Ok(None) };
                // What has no value here stays: it is told when it runs.
                let Some(values) = self.value_of(&op) else {
                    self.slots[slot] = Some(op);
                    return Ok(None);
                };
                self.graph.folded.extend(op.covers.iter().copied());
                for (result, value) in op.results.iter().zip(values) {
                    let old = self.graph.tensor(result.tensor);
                    let new =
                        Tensor { name: old.name.clone(), observed: old.observed, ..Tensor::constant(value) };
                    self.graph.tensors[result.tensor.at()] = new;
                }
            }
            Decision::Replace(primitive, operands, told_by) => {
                if !self.still(told_by) {
                    return Ok(None);
                }
                let Some(op) = self.slots[slot].as_mut() else { return Ok(None) };
                op.operands = operands.iter().map(|&k| op.operands[usize::from(k)].clone()).collect();
                op.sym = Sym::Prim(primitive.clone());
            }
            Decision::Fuse(fusion) => return self.fuse(slot, fusion),
            Decision::Drop => {
                if let Some(op) = self.slots[slot].take() {
                    self.graph.dead.extend(op.covers.iter().copied());
                }
            }
        }
        Ok(Some(()))
    }

    fn set_alias(&mut self, tensor: TensorId, operand: Operand, covers: SmallVec<[OpId; 2]>) {
        let mut all = covers;
        if let Some(more) = self.absorbed.remove(&operand.tensor) {
            all.extend(more);
        }
        if !all.is_empty() {
            self.absorbed.entry(tensor).or_default().extend(all);
        }
        let mut viewing = self.viewing.remove(&tensor).unwrap_or_default();
        if self.is_output[tensor.at()] {
            viewing.push(tensor);
        }
        if !viewing.is_empty() {
            self.viewing.entry(operand.tensor).or_default().extend(viewing);
        }
        self.alias[tensor.at()] = Some(Box::new(operand));
    }

    /// How the outputs that are views of a tensor see it.
    pub(crate) fn viewed_by_outputs(&self, tensor: TensorId) -> impl Iterator<Item = Operand> {
        let outputs = self.viewing.get(&tensor).map(SmallVec::as_slice).unwrap_or_default();
        outputs.iter().filter_map(|&output| self.output_alias(output)).map(|(operand, _)| operand)
    }

    /// The operand that a view op's result is.
    pub(crate) fn viewed(&self, op: &Op) -> Option<Operand> {
        let [operand] = &op.operands[..] else { return None };
        let from = self.graph.layout(operand);
        let layout = match &op.sym {
            Sym::View => from,
            Sym::Prim(primitive) => primitive.view(&from)?,
            Sym::Fused(_) => return None,
        };
        let whole = layout == Layout::contiguous(&self.graph.tensor(operand.tensor).shape);
        let access = if whole { Access::Whole } else { Access::View(Box::new(layout)) };
        Some(Operand { tensor: operand.tensor, access })
    }

    /// The results of an op whose operands the graph holds, where its data has
    /// some.
    fn value_of(&self, op: &Op) -> Option<Vec<oneir_tensor::HostTensor>> {
        let Sym::Prim(primitive) = &op.sym else { return None };
        let mut inputs = Vec::with_capacity(op.operands.len());
        for operand in &op.operands {
            let Storage::Values(value) = &self.graph.tensor(operand.tensor).storage else { return None };
            let row = value.contiguous().ok()?;
            let mut layout = self.graph.layout(operand);
            layout.offset += row.layout().offset;
            inputs.push(row.with_layout(layout).ok()?);
        }
        primitive.evaluate(&inputs).ok()
    }

    /// Whether the numbers that a decision rests on are what they were.
    fn still(&self, told_by: &Evidence) -> bool {
        told_by.iter().all(|&(tensor, bits)| {
            self.graph.value(tensor).and_then(uniform).is_some_and(|number| number.to_bits() == bits)
        })
    }

    /// Whether a region's steps still read what they were made from: on other
    /// sizes, a whole read may have become a view, or the other way.
    fn steps_hold(&self, region: &Region, parts: &[u32], operands: &[Operand]) -> bool {
        let op = |part: u32| self.slots[part as usize].as_ref();
        let reads = |arg: &StepArg, operand: &Operand| match *arg {
            StepArg::Input(i) => operands.get(i as usize) == Some(operand),
            StepArg::Step(k) => {
                let made = parts.get(k as usize).and_then(|&p| op(p)).map(Op::result);
                operand.access == Access::Whole && made == Some(operand.tensor)
            }
        };
        region.steps.iter().zip(parts).all(|(step, &part)| {
            op(part).is_some_and(|op| step.args.iter().zip(&op.operands).all(|(arg, o)| reads(arg, o)))
        })
    }

    fn fuse(&mut self, slot: usize, fusion: &Fusion) -> Result<Option<()>, GraphError> {
        if !self.still(&fusion.told_by) {
            return Ok(None);
        }
        let mut operands: SmallVec<[Operand; 2]> = SmallVec::new();
        for read in &fusion.reads {
            let Some(part) = &self.slots[read.part as usize] else { return Ok(None) };
            let Some(operand) = part.operands.get(usize::from(read.operand)) else { return Ok(None) };
            match read.take {
                Take::AsIs => operands.push(operand.clone()),
                Take::LastAxis => match last_axis(&self.graph, operand) {
                    Some(row) => operands.push(row),
                    None => return Ok(None),
                },
            }
        }
        if let Class::Region(region) = &fusion.class
            && !self.steps_hold(region, &fusion.parts, &operands)
        {
            return Ok(None);
        }
        let mut definition = Vec::with_capacity(fusion.parts.len());
        let mut covers = SmallVec::new();
        let mut results: SmallVec<[WriteResult; 1]> = SmallVec::new();
        for &part in &fusion.parts {
            let Some(op) = self.slots[part as usize].take() else { return Ok(None) };
            covers.extend(op.covers.iter().copied());
            if fusion.writes.contains(&part) {
                results.extend(op.results.iter().cloned());
            }
            definition.push(op);
        }
        let fused = Fused { class: fusion.class.clone(), definition };
        self.slots[slot] = Some(Op { sym: Sym::Fused(Box::new(fused)), operands, results, covers });
        Ok(Some(()))
    }

    /// The finished graph. Outputs that are views of something become views
    /// again.
    pub(crate) fn finish(mut self) -> TensorGraph {
        let mut ops: Vec<Op> = std::mem::take(&mut self.slots).into_iter().flatten().collect();
        let mut done = rustc_hash::FxHashSet::default();
        for output in self.graph.outputs.clone() {
            let again = !done.insert(output);
            if let (false, Some(alias)) = (again, self.output_alias(output)) {
                let mut covers = self.absorbed.remove(&output).unwrap_or_default();
                for tensor in alias.1 {
                    covers.extend(self.absorbed.remove(&tensor).unwrap_or_default());
                }
                ops.push(Op {
                    sym: Sym::View,
                    operands: [alias.0].into_iter().collect(),
                    results: [WriteResult::own(output)].into(),
                    covers,
                });
            }
        }
        self.graph.dead.extend(self.absorbed.into_values().flatten());
        self.graph.dead.sort_unstable();
        self.graph.folded.sort_unstable();
        self.graph.ops = ops;
        self.graph
    }

    /// What an output has turned out to be, if not itself, and the tensors on
    /// the way there.
    pub(crate) fn output_alias(&self, output: TensorId) -> Option<(Operand, Vec<TensorId>)> {
        let mut operand = self.alias[output.at()].as_deref()?.clone();
        let mut passed = Vec::new();
        while let Some(Some(next)) = self.resolved(&operand) {
            passed.push(operand.tensor);
            operand = next;
        }
        Some((operand, passed))
    }

    /// What outputs that are not tensors of their own are views of.
    pub(crate) fn aliases(&self) -> impl Iterator<Item = Operand> {
        self.graph.outputs.iter().filter_map(|&o| self.output_alias(o)).map(|(operand, _)| operand)
    }

    /// How often each tensor is read, the caller's reads included, and which
    /// slot computes it.
    pub(crate) fn uses(&self) -> Uses {
        let mut uses =
            Uses { reads: vec![0; self.graph.tensors.len()], producer: vec![None; self.graph.tensors.len()] };
        for (slot, op) in self.slots.iter().enumerate() {
            let Some(op) = op else { continue };
            for operand in &op.operands {
                uses.reads[operand.tensor.at()] += 1;
            }
            for result in &op.results {
                match result.dst {
                    Dst::Own => uses.producer[result.tensor.at()] = Some(slot as u32),
                    Dst::Rows { row: RowSel::Param(row), .. } => uses.reads[row.at()] += 1,
                    Dst::Rows { .. } => {}
                }
            }
        }
        for tensor in self.graph.outputs.iter().copied().chain(self.aliases().map(|o| o.tensor)) {
            uses.reads[tensor.at()] += 1;
        }
        if let Some(step) = &self.graph.step {
            for tensor in [step.logits, step.next] {
                uses.reads[tensor.at()] += 1;
            }
            for seq in &step.more {
                uses.reads[seq.logits.at()] += 1;
                uses.reads[seq.next.at()] += 1;
            }
        }
        uses
    }

    /// The uses after the ops of a fusion moved into `slot`.
    pub(crate) fn uses_after(&self, slot: usize, mut uses: Uses) -> Uses {
        let Some(Op { sym: Sym::Fused(fused), operands, results, .. }) = &self.slots[slot] else {
            return uses;
        };
        for part in &fused.definition {
            for operand in &part.operands {
                uses.reads[operand.tensor.at()] -= 1;
            }
            uses.producer[part.result().at()] = None;
        }
        for operand in operands {
            uses.reads[operand.tensor.at()] += 1;
        }
        for result in results {
            uses.producer[result.tensor.at()] = Some(slot as u32);
        }
        uses
    }

    /// Whether an op may go when nothing reads its results: it writes no
    /// state, is not observed, and reaches nothing outside.
    pub(crate) fn removable(&self, op: &Op) -> bool {
        let effect = matches!(&op.sym, Sym::Prim(p) if p.nature() == Nature::Effect);
        !effect && op.results.iter().all(|r| r.dst == Dst::Own && !self.graph.tensor(r.tensor).observed)
    }
}

/// How often each tensor is read, and which slot computes it.
pub(crate) struct Uses {
    pub(crate) reads: Vec<u32>,
    pub(crate) producer: Vec<Option<u32>>,
}

/// The last axis of an operand that repeats along all others.
pub(crate) fn last_axis(graph: &TensorGraph, operand: &Operand) -> Option<Operand> {
    let layout = graph.layout(operand);
    let last = layout.rank().checked_sub(1)?;
    let repeats = (0..last).all(|k| layout.shape[k] == 1 || layout.strides[k] == 0);
    if !repeats {
        return None;
    }
    let row = Layout {
        offset: layout.offset,
        shape: [layout.shape[last]].into(),
        strides: [layout.strides[last]].into_iter().collect(),
    };
    Some(Operand { tensor: operand.tensor, access: Access::View(Box::new(row)) })
}

/// The tensors that follow from a data-sized op.
fn unsettled(graph: &TensorGraph, slots: &[Option<Op>]) -> Vec<bool> {
    let sized = |op: &Op| matches!(&op.sym, Sym::Prim(p) if p.nature() == Nature::DataSized);
    if !slots.iter().flatten().any(sized) {
        return Vec::new();
    }
    let mut unsettled = vec![false; graph.tensors.len()];
    for op in slots.iter().flatten() {
        if sized(op) || op.operands.iter().any(|o| unsettled[o.tensor.at()]) {
            for result in &op.results {
                unsettled[result.tensor.at()] = true;
            }
        }
    }
    unsettled
}
