use oneir_ir::graph::{Op, Role, Storage, Sym, TensorId};
use oneir_ir::{BinaryOp, Nature, Primitive, ReduceOp, UnaryOp};
use oneir_tensor::{HostTensor, Values};

use crate::draft::Draft;
use crate::{Decision, Evidence, Question};

/// Results of at most this many elements are computed from constants while
/// the graph is made; larger ones when weights are bound.
const FOLD_LIMIT: usize = 1024;

/// Takes away what changes nothing, and computes what is known.
pub(crate) fn decide(draft: &mut Draft, slot: usize) -> Option<Decision> {
    // Questions are noted in the draft, so the op stands aside meanwhile.
    let op = draft.slots[slot].take()?;
    let decision = decide_op(draft, &op);
    draft.slots[slot] = Some(op);
    decision
}

fn decide_op(draft: &mut Draft, op: &Op) -> Option<Decision> {
    let Sym::Prim(primitive) = &op.sym else { return None };
    if let Some(k) = same_as_operand(draft, primitive, op) {
        return Some(Decision::Same(k, evidence(draft, primitive, op)));
    }
    let pure = primitive.nature().is_pure() && primitive.nature() != Nature::DataSized;
    let known = !op.operands.is_empty()
        && op.operands.iter().all(|o| matches!(draft.graph.tensor(o.tensor).storage, Storage::Values(_)));
    if pure
        && known
        && primitive.nature() != Nature::View
        && op.results.iter().all(|r| draft.ask(Question::AtMost(r.tensor, FOLD_LIMIT)))
    {
        return Some(Decision::Fold);
    }
    cheaper(draft, primitive, op)
}

/// The number that a tensor is everywhere, if the graph holds it.
fn number(draft: &Draft, tensor: TensorId) -> Option<f64> {
    uniform(draft.graph.value(tensor)?)
}

/// The number that all elements are; judged on one-element tensors only.
pub(crate) fn uniform(value: &HostTensor) -> Option<f64> {
    if value.count() != 1 {
        return None;
    }
    match value.values().ok()? {
        Values::Complex(_) => None,
        values => values.to_floats().first().copied(),
    }
}

fn same_as_operand(draft: &mut Draft, primitive: &Primitive, op: &Op) -> Option<u8> {
    let first = op.operands.first()?.tensor;
    // A state that is written later is not what it was when read.
    if op.operands.iter().any(|o| draft.graph.tensor(o.tensor).role == Role::State) {
        return None;
    }
    let result = op.result();
    match primitive {
        Primitive::AsType(dtype) if draft.graph.tensor(first).dtype == *dtype => Some(0),
        Primitive::Reshape(_) | Primitive::Broadcast(_) => {
            draft.ask(Question::SameShape(first, result)).then_some(0)
        }
        Primitive::Squeeze(axes) | Primitive::ExpandDims(axes) if axes.is_empty() => Some(0),
        Primitive::Transpose(axes) if axes.iter().enumerate().all(|(i, &a)| i == a) => Some(0),
        Primitive::Slice { step, .. } if step.iter().all(|&s| s == 1) => {
            draft.ask(Question::SameShape(first, result)).then_some(0)
        }
        Primitive::Concatenate { .. } if op.operands.len() == 1 => Some(0),
        Primitive::Reduce { op: reduce, axes }
            if axes.is_empty()
                && reduce.result(draft.graph.tensor(first).dtype).ok()?
                    == draft.graph.tensor(result).dtype =>
        {
            let kept = draft.graph.tensor(first).dtype == draft.graph.tensor(result).dtype;
            (kept && !matches!(reduce, ReduceOp::All | ReduceOp::Any)).then_some(0)
        }
        Primitive::Binary(op_) => {
            let second = op.operands.get(1)?.tensor;
            let dtype = draft.graph.tensor(first).dtype;
            if dtype.is_complex() || dtype.class() == oneir_tensor::Class::Bool {
                return None;
            }
            let (a, b) = (number_behind(draft, first), number_behind(draft, second));
            let exact = !dtype.is_float();
            match (op_, a, b) {
                // x + 0.0 is no x when x is -0.0; x + -0.0 always is.
                (BinaryOp::Add, _, Some(z)) if z == 0.0 && (exact || z.is_sign_negative()) => Some(0),
                (BinaryOp::Add, Some(z), _) if z == 0.0 && (exact || z.is_sign_negative()) => Some(1),
                (BinaryOp::Subtract, _, Some(z)) if z == 0.0 && (exact || z.is_sign_positive()) => Some(0),
                (BinaryOp::Multiply | BinaryOp::Divide | BinaryOp::Power, _, Some(1.0)) => Some(0),
                (BinaryOp::Multiply, Some(1.0), _) => Some(1),
                (BinaryOp::Maximum, _, Some(f64::NEG_INFINITY)) if !exact => Some(0),
                (BinaryOp::Maximum, Some(f64::NEG_INFINITY), _) if !exact => Some(1),
                (BinaryOp::Minimum, _, Some(f64::INFINITY)) if !exact => Some(0),
                (BinaryOp::Minimum, Some(f64::INFINITY), _) if !exact => Some(1),
                _ => None,
            }
        }
        Primitive::Select => {
            let choice = number_behind(draft, first)?;
            Some(if choice != 0.0 { 1 } else { 2 })
        }
        _ => None,
    }
}

/// The numbers among an op's operands, on which decisions about it rest.
fn evidence(draft: &Draft, primitive: &Primitive, op: &Op) -> Evidence {
    if !matches!(primitive, Primitive::Binary(_) | Primitive::Select) {
        return Evidence::new();
    }
    let all = op.operands.iter().filter_map(|o| told_number(draft, o.tensor));
    all.map(|(tensor, number)| (tensor, number.to_bits())).collect()
}

/// As [`number`], through broadcasts of one value.
fn number_behind(draft: &Draft, tensor: TensorId) -> Option<f64> {
    told_number(draft, tensor).map(|(_, number)| number)
}

/// The number behind a tensor, and the tensor that holds it.
fn told_number(draft: &Draft, tensor: TensorId) -> Option<(TensorId, f64)> {
    if let Some(found) = number(draft, tensor) {
        return Some((tensor, found));
    }
    let slot = *draft.touches.writes(tensor).first()?;
    let op = draft.slots[slot as usize].as_ref()?;
    match &op.sym {
        Sym::Prim(Primitive::Broadcast(_) | Primitive::Reshape(_) | Primitive::ExpandDims(_)) => {
            let held = op.operands.first()?.tensor;
            Some((held, number(draft, held)?))
        }
        _ => None,
    }
}

/// The same result by a primitive that costs less.
fn cheaper(draft: &Draft, primitive: &Primitive, op: &Op) -> Option<Decision> {
    let Primitive::Binary(binary) = primitive else { return None };
    let [a, b] = &op.operands[..] else { return None };
    let dtype = draft.graph.tensor(a.tensor).dtype;
    if !dtype.is_float() {
        return None;
    }
    let unary = match binary {
        BinaryOp::Multiply if a == b => UnaryOp::Square,
        BinaryOp::Power => match number_behind(draft, b.tensor)? {
            2.0 => UnaryOp::Square,
            -1.0 => UnaryOp::Reciprocal,
            _ => return None,
        },
        _ => return None,
    };
    Some(Decision::Replace(
        Primitive::Unary(unary),
        [0].into_iter().collect(),
        evidence(draft, primitive, op),
    ))
}
