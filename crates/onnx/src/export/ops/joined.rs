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
        BinaryOp::Add => biased(site, 0, 1).or_else(|| biased(site, 1, 0)),
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
        Term { name, ..term.clone() }
    }
}
