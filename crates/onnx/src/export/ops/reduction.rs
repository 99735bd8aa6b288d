//! Reductions, and the places of extremes.

use oneir_ir::primitive::ArgReduceOp;
use oneir_ir::{Primitive, ReduceOp};
use oneir_tensor::DType;

use super::super::attribute;
use super::super::graph::{Site, Written};
use super::super::term::Shown;
use super::joined::Sum;
use super::{Row, along, parameters, row};

pub(super) const ROWS: &[Row] = &[
    row!("reduce" => reduce, |site, primitive| match primitive {
        Primitive::Reduce { axes, .. } => along::first_alone(site, |axis| !axes.contains(&axis)),
        _ => None,
    }),
    row!("arg_reduce" => arg_reduce, |site, primitive| match primitive {
        Primitive::ArgReduce { axis, .. } => along::first_alone(site, |batch| batch != *axis),
        _ => None,
    }),
];

fn reduce(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Reduce { op, axes });
    if site.operands[0].full.is_some() {
        site.term(0);
    }
    let x = site.operands[0].clone();
    let (dtype, to) = (x.dtype(), site.results[0].dtype);
    if dtype.is_complex() {
        return Err(format!("opset {} reduces no {dtype}", super::super::OPSET).into());
    }
    let truth = matches!(op, ReduceOp::All | ReduceOp::Any);
    let d = &mut *site.draft;
    let given = d.cast(&x.base, if truth { DType::Bool } else { to });
    if axes.is_empty() {
        return Ok(vec![Shown { base: given, ..x }]);
    }
    let inner: Vec<usize> = match &x.order {
        Some(order) => axes.iter().map(|&axis| order[axis]).collect(),
        None => axes.clone(),
    };
    let mut shape = given.shape.clone();
    let count: usize = inner.iter().map(|&axis| std::mem::replace(&mut shape[axis], 1)).product();
    let name = match op {
        ReduceOp::Sum => "ReduceSum",
        ReduceOp::Prod => "ReduceProd",
        ReduceOp::Max | ReduceOp::Any => "ReduceMax",
        ReduceOp::Min | ReduceOp::All => "ReduceMin",
        other => return Err(format!("the standard has no reduction `{}`", other.name()).into()),
    };
    if truth && count == 0 {
        // Of nothing, all is true and nothing is any.
        let number = d.number(DType::Bool, f64::from(u8::from(*op == ReduceOp::All)));
        return Ok(vec![Shown::plain(number).spread(&site.results[0].shape)]);
    }
    let axes = d.ints(inner.iter().map(|&axis| axis as i64));
    let base = d.within(name, &given, |d, given| {
        let term = d.node(name, &[given, &axes], vec![attribute::int("keepdims", 1)], (given.dtype, &shape));
        if *op == ReduceOp::Sum {
            d.sums.insert(term.name.clone(), Sum { count, mean: None });
        }
        term
    });
    d.kept.insert(base.name.clone(), inner);
    Ok(vec![Shown { base, ..x }])
}

fn arg_reduce(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::ArgReduce { op, axis });
    let (x, shape) = (site.term(0), site.shape());
    let name = match op {
        ArgReduceOp::Max => "ArgMax",
        ArgReduceOp::Min => "ArgMin",
        other => return Err(format!("the standard has no `{}` of places", other.name()).into()),
    };
    let d = &mut *site.draft;
    let wide = super::super::types::wide(name, x.dtype);
    let given = d.cast(&x, wide);
    let attributes = vec![attribute::int("axis", *axis as i64), attribute::int("keepdims", 1)];
    let mut places = d.node(name, &[&given], attributes, (given.dtype, &shape));
    places.dtype = DType::I64;
    let places = d.cast(&places, DType::U32);
    d.below.insert(places.name.clone(), x.shape[*axis]);
    d.kept.insert(places.name.clone(), vec![*axis]);
    Ok(vec![Shown::plain(places)])
}
