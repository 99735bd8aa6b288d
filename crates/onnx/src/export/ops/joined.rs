//! Two ops that one operator stands for.

use std::sync::Arc;

use oneir_ir::BinaryOp;

use super::super::graph::Site;
use super::super::term::{Shown, Term};

/// How a sum was written, for the division that makes it a mean.
#[derive(Clone)]
pub(in crate::export) struct Sum {
    /// How many elements are summed.
    pub(in crate::export) count: usize,
    /// The mean, where the sum was made from it.
    pub(in crate::export) mean: Option<Term>,
}

/// The op written into the node that makes its operand, where one operator does both.
pub(super) fn joined(site: &mut Site<'_>, op: BinaryOp) -> Option<Vec<Shown>> {
    match op {
        BinaryOp::Add => [(0, 1), (1, 0)].into_iter().find_map(|(product, bias)| {
            biased(site, product, bias).or_else(|| biased_convolution(site, product, bias))
        }),
        BinaryOp::Divide => mean(site),
        _ => None,
    }
}

/// A sum of something and a product of matrices.
fn biased(site: &mut Site<'_>, product: usize, bias: usize) -> Option<Vec<Shown>> {
    let (x, bias) = (&site.operands[product], &site.operands[bias]);
    let name = x.base.name.clone();
    let plain = x.order.is_none() && x.full.is_none() && x.rank() == 2 && site.sole[product];
    let fits = bias.order.is_none() && bias.base.rank() <= 2;
    let spread = |axis: usize| {
        bias.base.shape.iter().rev().nth(1 - axis).is_none_or(|&n| n == 1 || n == x.base.shape[axis])
    };
    if !plain || !fits || !spread(0) || !spread(1) || !site.draft.before(&bias.base.name, &name) {
        return None;
    }
    let term = x.base.clone();
    let node = site.draft.maker(&name).filter(|node| node.op_type.as_deref() == Some("MatMul"))?;
    node.input.push(bias.base.name.to_string());
    Some(vec![Shown::plain(site.draft.become_op(&term, "Gemm"))])
}

/// A convolution and a number for each of its channels.
fn biased_convolution(site: &mut Site<'_>, product: usize, bias: usize) -> Option<Vec<Shown>> {
    let (x, bias) = (site.operands[product].clone(), site.operands[bias].clone());
    let name = site.draft.maker(&x.base.name)?.op_type.clone()?;
    let convolves =
        matches!(name.as_str(), "Conv" | "ConvTranspose") && x.full.is_none() && site.sole[product];
    let channels = *x.base.shape.get(1)?;
    // The channels' axis among those of the sum, and of the bias.
    let axis = x.order.as_ref().map_or(Some(1), |order| order.iter().position(|&a| a == 1))?;
    let at = axis.checked_sub(x.rank().checked_sub(bias.base.rank())?)?;
    let alone = bias.base.shape.get(at) == Some(&channels) && bias.base.count() == channels;
    if !convolves || !alone || bias.order.is_some() || bias.base.value.is_none() {
        return None;
    }
    let line = site.draft.reshape(&bias.base, &[channels], None);
    let node = site.draft.maker(&x.base.name).filter(|node| node.input.len() == 2)?;
    node.input.push(line.name.to_string());
    Some(vec![x])
}

/// A sum over how many it sums.
fn mean(site: &mut Site<'_>) -> Option<Vec<Shown>> {
    let (sum, count) = (&site.operands[0], site.operands[1].number()?);
    let known = site.draft.sums.get(&sum.base.name)?.clone();
    if known.count as f64 != count || !sum.dtype().is_float() || !site.sole[0] {
        return None;
    }
    let shown = sum.clone();
    let base = match known.mean {
        Some(mean) => mean,
        None => site.draft.become_op(&shown.base, "ReduceMean"),
    };
    Some(vec![Shown { base, ..shown }])
}

/// A reduction without the axes that it kept with size 1, where these are not wanted.
pub(super) fn unkept(site: &mut Site<'_>, axes: &[usize]) -> Option<Term> {
    let base = site.operands[0].base.clone();
    let mut kept = site.draft.kept.get(&base.name)?.clone();
    kept.sort_unstable();
    if kept != axes || !site.sole[0] {
        return None;
    }
    // A conversion may stand behind the reduction.
    let mut name = base.name.to_string();
    while let Some(node) = site.draft.maker(&name).filter(|node| node.op_type.as_deref() == Some("Cast")) {
        name.clone_from(node.input.first()?);
    }
    let node = site.draft.maker(&name)?;
    node.attribute.retain(|attribute| attribute.name.as_deref() != Some("keepdims"));
    node.attribute.push(super::super::attribute::int("keepdims", 0));
    Some(site.draft.without(&base, axes))
}

impl super::super::draft::Draft {
    /// The node that makes a term as another operator, and the term that it then makes.
    fn become_op(&mut self, term: &Term, op: &str) -> Term {
        let name: Arc<str> = self.fresh(&op.to_lowercase());
        if let Some(node) = self.maker(&term.name) {
            node.op_type = Some(op.into());
            node.name = Some(name.to_string());
            node.output = vec![name.to_string()];
        }
        self.made_instead(&term.name, name.clone());
        if let Some(axes) = self.kept.remove(&term.name) {
            self.kept.insert(name.clone(), axes);
        }
        Term { name, ..term.clone() }
    }
}
