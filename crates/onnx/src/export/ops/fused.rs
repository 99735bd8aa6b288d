//! Fused classes, where one operator stands for them. The others, and operands that
//! the operator does not take, are written by their definitions.

use oneir_ir::fast::{Activation, Attention, FastOp, LayerNorm, Linear, Mask, RmsNorm, Softmax};
use oneir_tensor::{DType, HostTensor};

use super::super::attribute;
use super::super::error::Refusal;
use super::super::graph::Site;
use super::super::term::Shown;
use super::{along, contraction};

/// The results; none where the definition is to be written.
type Fused = Result<Option<Vec<Shown>>, Refusal>;

/// Writes a fused class.
pub(in crate::export) fn fused(site: &mut Site<'_>, op: &FastOp) -> Fused {
    let batched = site.operands.iter().any(|x| x.batch().is_some());
    let axis = match op {
        _ if !batched => None,
        FastOp::Softmax(Softmax { axis }) => along::first_alone(site, |batch| batch != *axis),
        FastOp::LayerNorm(_) | FastOp::RmsNorm(_) => {
            along::first_alone(site, |batch| batch + 1 < site.operands[0].rank())
        }
        FastOp::Linear(_) => contraction::multiplied(site).filter(|&axis| {
            let bias = &site.operands[2];
            bias.batch().is_none() && bias.repeats(axis)
        }),
        FastOp::Attention(Attention { mask, .. }) if *mask != Mask::UpTo => {
            along::all_have(site, |batch| batch == 0)
        }
        _ => None,
    };
    if batched && axis.is_none() {
        // The definition may still show that items do not meet.
        return Ok(None);
    }
    let written = match op {
        FastOp::Softmax(op) => softmax(site, op),
        FastOp::LayerNorm(op) => layer_norm(site, op),
        FastOp::RmsNorm(op) => rms_norm(site, op),
        FastOp::Linear(op) => linear(site, op),
        FastOp::Attention(op) => attention(site, op),
        _ => None,
    };
    Ok(written.map(|mut shown| {
        if batched {
            shown.set_batch(axis);
        }
        vec![shown]
    }))
}

fn softmax(site: &mut Site<'_>, op: &Softmax) -> Option<Shown> {
    if site.operands[0].full.is_some() {
        site.term(0);
    }
    let x = site.operands[0].clone();
    let axis = x.order.as_ref().map_or(op.axis, |order| order[op.axis]);
    let attributes = vec![attribute::int("axis", axis as i64)];
    let base = site.draft.node("Softmax", &[&x.base], attributes, (x.dtype(), &x.base.shape));
    Some(Shown { base, ..x })
}

fn layer_norm(site: &mut Site<'_>, op: &LayerNorm) -> Option<Shown> {
    // The operator takes its statistics in f32.
    if site.operands[0].dtype() == DType::F64 {
        return None;
    }
    let (x, weight, bias) = (site.term(0), site.term(1), site.term(2));
    let attributes = vec![attribute::int("axis", -1), attribute::float("epsilon", op.eps.get() as f32)];
    Some(Shown::plain(site.node("LayerNormalization", &[&x, &weight, &bias], attributes)))
}

fn rms_norm(site: &mut Site<'_>, op: &RmsNorm) -> Option<Shown> {
    if site.operands[0].dtype() == DType::F64 {
        return None;
    }
    let (x, weight) = (site.term(0), site.term(1));
    let attributes = vec![attribute::int("axis", -1), attribute::float("epsilon", op.eps.get() as f32)];
    Some(Shown::plain(site.node("RMSNormalization", &[&x, &weight], attributes)))
}

fn linear(site: &mut Site<'_>, op: &Linear) -> Option<Shown> {
    let (a, b, shape) = (site.term(0), site.term(1), site.shape());
    let bias = &site.operands[2];
    let c = if bias.order.is_none() { bias.base.clone() } else { site.term(2) };
    let d = &mut *site.draft;
    let sum = if shape.len() == 2 {
        let mut term = d.node("Gemm", &[&a, &b, &c], vec![], (a.dtype, &shape));
        term.batch = a.batch.or(b.batch);
        term
    } else {
        let made = contraction::product(d, &a, &b, &shape);
        d.binary("Add", &made, &c)
    };
    let made = match op.activation {
        Activation::None => sum,
        Activation::Relu => d.unary("Relu", &sum),
        Activation::Tanh => d.unary("Tanh", &sum),
        Activation::Sigmoid => d.unary("Sigmoid", &sum),
        _ => return None,
    };
    Some(Shown::plain(made))
}

/// Attention where every query sees a key: of rows that see none, the operator gives
/// no zeros.
fn attention(site: &mut Site<'_>, op: &Attention) -> Option<Shown> {
    let (q, k) = (site.operands[0].shape(), site.operands[1].shape());
    let (queries, keys) = (q[2], k[2]);
    let full = q.iter().chain(&k).chain(&site.operands[2].shape()).all(|&n| n > 0);
    // The operator takes its weights in f32.
    if !full
        || site.operands[0].dtype() == DType::F64
        || op.mask == Mask::UpTo
        || (op.mask == Mask::Causal && queries > keys)
    {
        return None;
    }
    let mut inputs = vec![site.term(0), site.term(1), site.term(2)];
    let mut attributes = vec![attribute::float("scale", op.scale.get() as f32)];
    if op.mask == Mask::Causal && queries == keys {
        attributes.push(attribute::int("is_causal", 1));
    } else if op.mask == Mask::Causal {
        let seen: Vec<bool> =
            (0..queries).flat_map(|i| (0..keys).map(move |j| j <= i + keys - queries)).collect();
        inputs.push(site.draft.constant(HostTensor::from_slice(&[queries, keys], &seen).ok()?));
    }
    if inputs[0].dtype.is_half() {
        attributes.push(attribute::int("softmax_precision", 1));
    }
    Some(Shown::plain(site.node("Attention", &inputs.iter().collect::<Vec<_>>(), attributes)))
}
