use oneir_ir::graph::{GraphError, TensorGraph};

use crate::draft::Draft;
use crate::{Decision, Question, classes, cse, regions, simplify, views};

/// What the pipeline does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Options {
    /// Whether ops are fused: classes found by definition, and regions.
    pub fusion: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { fusion: true }
    }
}

/// The passes by name, in order.
pub const PASSES: [&str; 6] = ["simplify", "cse", "views", "classes", "regions", "dead"];

/// The decisions of a pipeline on one graph, to be replayed on the same
/// program with other sizes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recipe {
    decisions: Vec<Vec<(u32, Decision)>>,
    questions: Vec<(Question, bool)>,
}

impl Recipe {
    /// Number of decisions taken.
    pub fn len(&self) -> usize {
        self.decisions.iter().map(Vec::len).sum()
    }

    /// Whether nothing was done.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Runs all passes.
///
/// # Errors
/// When a constant has no value: the data of an op on constants is refused.
pub fn optimise(lifted: TensorGraph, options: &Options) -> Result<(TensorGraph, Recipe), GraphError> {
    optimise_until(lifted, options, PASSES[PASSES.len() - 1])
}

/// Runs the passes up to and with the one named (all, when none has the name).
///
/// # Errors
/// As [`optimise`].
pub fn optimise_until(
    lifted: TensorGraph,
    options: &Options,
    last: &str,
) -> Result<(TensorGraph, Recipe), GraphError> {
    let mut draft = Draft::new(lifted);
    let mut recipe = Recipe::default();
    for pass in PASSES {
        recipe.decisions.push(match pass {
            "classes" | "regions" if !options.fusion => Vec::new(),
            pass => run(&mut draft, pass)?,
        });
        if pass == last {
            break;
        }
    }
    recipe.questions = std::mem::take(&mut draft.questions);
    Ok((draft.finish(), recipe))
}

/// The graph that a pattern is matched as: simplified, and without views.
pub(crate) fn normalise(lifted: TensorGraph) -> Result<(TensorGraph, Recipe), GraphError> {
    optimise_until(lifted, &Options { fusion: false }, "dead")
}

/// Replays a recipe on the same program with other sizes; `None` when an
/// answer or a decision does not hold on them.
///
/// # Errors
/// As [`optimise`].
pub fn replay(lifted: &TensorGraph, recipe: &Recipe) -> Result<Option<TensorGraph>, GraphError> {
    if recipe.questions.iter().any(|(question, answer)| question.answer(lifted) != *answer) {
        return Ok(None);
    }
    let mut draft = Draft::new(lifted.clone());
    for (pass, decisions) in PASSES.iter().zip(&recipe.decisions) {
        let sweeps = matches!(*pass, "simplify" | "cse" | "views");
        let mut next = decisions.iter().peekable();
        for slot in 0..if sweeps { draft.slots.len() } else { 0 } {
            draft.resolve(slot);
            if let Some((_, decision)) = next.next_if(|(at, _)| *at as usize == slot)
                && draft.apply(slot, decision)?.is_none()
            {
                return Ok(None);
            }
        }
        for (slot, decision) in next {
            if draft.apply(*slot as usize, decision)?.is_none() {
                return Ok(None);
            }
        }
    }
    Ok(Some(draft.finish()))
}

fn run(draft: &mut Draft, pass: &str) -> Result<Vec<(u32, Decision)>, GraphError> {
    let mut decisions = Vec::new();
    match pass {
        "classes" => return Ok(classes::decide(draft)),
        "regions" => return Ok(regions::decide(draft)),
        "dead" => {
            let mut uses = draft.uses();
            for slot in (0..draft.slots.len()).rev() {
                let Some(op) = &draft.slots[slot] else { continue };
                let unread = op.results.iter().all(|r| uses.reads[r.tensor.at()] == 0);
                if !unread || !draft.removable(op) {
                    continue;
                }
                for operand in &op.operands {
                    uses.reads[operand.tensor.at()] -= 1;
                }
                draft.apply(slot, &Decision::Drop)?;
                decisions.push((slot as u32, Decision::Drop));
            }
        }
        sweep => {
            let mut seen = cse::Seen::default();
            for slot in 0..draft.slots.len() {
                draft.resolve(slot);
                let decision = match sweep {
                    "simplify" => simplify::decide(draft, slot),
                    "cse" => seen.decide(draft, slot),
                    _ => views::decide(draft, slot),
                };
                if let Some(decision) = decision
                    && draft.apply(slot, &decision)?.is_some()
                {
                    decisions.push((slot as u32, decision));
                }
            }
        }
    }
    Ok(decisions)
}

#[cfg(test)]
mod tests {
    use oneir_ir::graph::{Class, OpId, Region, RegionStep, StepArg, Sym};
    use oneir_ir::{BinaryOp, Cut, Place, Primitive, ReduceOp, Spec, UnaryOp, Value, verify};
    use oneir_tensor::DType;

    use super::*;
    use crate::draft::{Fusion, Read, Take};
    use oneir_ir::primitive::StepOp;

    const EXP: Primitive = Primitive::Unary(UnaryOp::Exp);
    const TANH: Primitive = Primitive::Unary(UnaryOp::Tanh);
    const SUBTRACT: Primitive = Primitive::Binary(BinaryOp::Subtract);

    /// `sum((exp(x) - y)ᵀ, 0) + sum(tanh(x), 1)`, as six slots.
    fn lifted() -> TensorGraph {
        let [x, y] = [(); 2].map(|()| Value::placeholder(Spec::new(DType::F32, [3, 3])));
        let unary = |op, x: &Value| Value::record(Primitive::Unary(op), &[x], Place::Internal).unwrap();
        let turned = unary(UnaryOp::Exp, &x)
            .binary(BinaryOp::Subtract, &y)
            .and_then(|difference| difference.transpose(&[1, 0]))
            .unwrap();
        let rows = turned.reduce(ReduceOp::Sum, &[0]).unwrap();
        let columns = unary(UnaryOp::Tanh, &x).reduce(ReduceOp::Sum, &[1]).unwrap();
        let sum = rows.add(&columns.transpose(&[1, 0]).unwrap()).unwrap();
        Cut::new(&[x, y], &[sum]).lift().unwrap().graph
    }

    /// What the verifiers say of a pass that decides so.
    fn verdict(wrong: impl FnOnce(&mut Draft, &dyn Fn(Primitive) -> usize)) -> Result<(), GraphError> {
        let before = lifted();
        let slot = |p: Primitive| before.ops.iter().position(|op| op.sym == Sym::Prim(p.clone())).unwrap();
        let mut draft = Draft::new(before.clone());
        wrong(&mut draft, &slot);
        for slot in 0..draft.slots.len() {
            draft.resolve(slot);
        }
        let after = draft.finish();
        verify::graph(&after).and_then(|()| verify::numeric(&before, &after, 7))
    }

    #[test]
    fn passes_that_decide_wrongly_are_caught() {
        assert_eq!(verdict(|_, _| ()), Ok(()), "a pass that does nothing is right");
        // A simplification that takes `a - b` for `b`.
        let wrong = verdict(|draft, slot| {
            draft.apply(slot(SUBTRACT), &Decision::Same(1, Default::default())).unwrap().unwrap();
        });
        assert!(wrong.is_err());
        // One that forgets which operand is subtracted.
        let wrong = verdict(|draft, slot| {
            let turned = Decision::Replace(SUBTRACT, [1, 0].into_iter().collect(), Default::default());
            draft.apply(slot(SUBTRACT), &turned).unwrap().unwrap();
        });
        assert!(wrong.is_err());
        // Dead code elimination of what is read.
        let wrong = verdict(|draft, slot| {
            draft.apply(slot(TANH), &Decision::Drop).unwrap().unwrap();
        });
        assert!(wrong.is_err());
        // A pass that loses what it merged from its accounts.
        let wrong = verdict(|draft, slot| {
            draft.slots[slot(EXP)].as_mut().unwrap().covers.clear();
        });
        assert!(wrong.is_err());
        // A pass that counts an op twice.
        let wrong = verdict(|draft, _| draft.graph.folded.push(OpId(0)));
        assert!(wrong.is_err());
        // A fusion into a region that says something else than its parts.
        let wrong = verdict(|draft, slot| {
            let (exp, subtract) = (slot(EXP) as u32, slot(SUBTRACT) as u32);
            let read = |part, operand| Read { part, operand, take: Take::AsIs };
            let step = |op, args: &[StepArg]| RegionStep { op, args: args.to_vec() };
            let steps = vec![
                step(StepOp::Unary(UnaryOp::Exp), &[StepArg::Input(0)]),
                step(StepOp::Binary(BinaryOp::Add), &[StepArg::Step(0), StepArg::Input(1)]),
            ];
            let fusion = Fusion {
                class: Class::Region(Region { inputs: 2, steps, outputs: vec![1] }),
                parts: vec![exp, subtract],
                reads: vec![read(exp, 0), read(subtract, 1)],
                writes: vec![subtract],
                told_by: Default::default(),
            };
            draft.apply(subtract as usize, &Decision::Fuse(Box::new(fusion))).unwrap().unwrap();
        });
        assert!(wrong.is_err());
    }
}
