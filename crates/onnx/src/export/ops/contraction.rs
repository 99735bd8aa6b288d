//! Products of matrices.

use oneir_ir::Primitive;
use oneir_ir::primitive::LinalgOp;

use super::super::attribute;
use super::super::draft::Draft;
use super::super::graph::{Site, Written};
use super::super::term::{Shown, Term, met};
use super::{Row, parameters, row};

pub(super) const ROWS: &[Row] = &[
    row!("matmul" => matmul, |site, _| multiplied(site)),
    row!("add_mm" => add_mm, |site, _| {
        let axis = multiplied(site)?;
        let c = &site.operands[2];
        (c.batch() == Some(axis) || (c.batch().is_none() && c.repeats(axis))).then_some(axis)
    }),
    row!("linalg" => linalg),
];

/// The batch's axis of a product: a row or column of the result, or one of the axes
/// before them, but not what is summed over.
pub(super) fn multiplied(site: &Site<'_>) -> Option<usize> {
    let (a, b) = (&site.operands[0], &site.operands[1]);
    let rank = a.rank();
    let rows = |x: &Shown| x.batch().is_none();
    match (a.batch(), b.batch()) {
        (Some(axis), None) if axis + 2 == rank => rows(b).then_some(axis),
        (None, Some(axis)) if axis + 1 == rank => rows(a).then_some(axis),
        (Some(axis), other) if axis + 2 < rank => {
            (other == Some(axis) || other.is_none() && b.repeats(axis)).then_some(axis)
        }
        (None, Some(axis)) if axis + 2 < rank => a.repeats(axis).then_some(axis),
        _ => None,
    }
}

/// An operand whose matrices are written out, and whose other axes may repeat.
fn matrices(site: &mut Site<'_>, i: usize) -> Term {
    let x = &site.operands[i];
    if let (Some(full), None) = (&x.full, &x.order) {
        let (rank, base) = (full.len(), &x.base);
        if base.rank() >= 2 && base.shape[base.rank() - 2..] == full[rank - 2..] {
            return base.clone();
        }
    }
    site.term(i)
}

/// The product, in a type that the operator takes.
pub(super) fn product(d: &mut Draft, a: &Term, b: &Term, shape: &[usize]) -> Term {
    let dtype = a.dtype;
    let wide = super::super::types::wide("MatMul", dtype);
    let (x, y) = (d.cast(a, wide), d.cast(b, wide));
    let batch = match (a.batch, b.batch) {
        (Some(axis), _) => Some(axis + shape.len() - a.rank()),
        (None, Some(axis)) => Some(axis + shape.len() - b.rank()),
        _ => None,
    };
    let mut term = d.node("MatMul", &[&x, &y], vec![], (wide, shape));
    term.batch = batch;
    d.cast(&term, dtype)
}

/// The shape that operands give without what only repeats.
fn narrow(a: &Term, b: &Term) -> Option<Vec<usize>> {
    let mut shape = met(&[&a.shape[..a.rank() - 2], &b.shape[..b.rank() - 2]])?;
    shape.extend([a.shape[a.rank() - 2], b.shape[b.rank() - 1]]);
    Some(shape)
}

fn matmul(site: &mut Site<'_>, _: &Primitive) -> Written {
    let (mut a, mut b) = (matrices(site, 0), matrices(site, 1));
    let shape = site.shape();
    let made = match narrow(&a, &b) {
        Some(made) => made,
        None => {
            (a, b) = (site.term(0), site.term(1));
            shape.clone()
        }
    };
    Ok(vec![Shown::plain(product(site.draft, &a, &b, &made)).spread(&shape)])
}

fn linalg(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Linalg(op));
    match op {
        LinalgOp::Det => {
            let (x, shape) = (site.term(0), site.shape());
            let d = &mut *site.draft;
            let given = d.cast(&x, super::super::types::wide("Det", x.dtype));
            let term = d.node("Det", &[&given], vec![], (given.dtype, &shape));
            Ok(vec![Shown::plain(d.cast(&term, x.dtype))])
        }
        other => Err(format!("the standard has no operator for `{}`", other.name()).into()),
    }
}

fn add_mm(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::AddMM { alpha, beta });
    let (alpha, beta) = (f32::from_bits(*alpha), f32::from_bits(*beta));
    let (a, b, shape) = (site.term(0), site.term(1), site.shape());
    if shape.len() == 2 && a.dtype.is_float() {
        let x = &site.operands[2];
        let c = if x.order.is_none() { x.base.clone() } else { site.term(2) };
        let attributes = vec![attribute::float("alpha", alpha), attribute::float("beta", beta)];
        return Ok(vec![Shown::plain(site.node("Gemm", &[&a, &b, &c], attributes))]);
    }
    let c = site.term(2);
    let d = &mut *site.draft;
    let sum = product(d, &a, &b, &shape);
    let (alpha, beta) = (d.number(a.dtype, f64::from(alpha)), d.number(a.dtype, f64::from(beta)));
    let (sum, c) = (d.binary("Mul", &sum, &alpha), d.binary("Mul", &c, &beta));
    Ok(vec![Shown::plain(d.binary("Add", &sum, &c))])
}
