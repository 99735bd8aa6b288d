//! What depends on an order: sorts and scans.

use oneir_array::{Array, DType};
use oneir_ir::BinaryOp;
use oneir_ir::Primitive;
use oneir_ir::primitive::ScanOp;
use oneir_tensor::{HostTensor, Values};

use super::super::attribute;
use super::super::graph::{Site, Written};
use super::super::term::{Shown, Term};
use super::{Row, along, elementwise, parameters, row};

pub(super) const ROWS: &[Row] = &[
    row!("sort" => |site, primitive| {
        parameters!(primitive, Primitive::Sort { axis });
        Ok(vec![Shown::plain(sorted(site, *axis).0)])
    }, |site, primitive| match primitive {
        Primitive::Sort { axis } => along::first_alone(site, |batch| batch != *axis),
        _ => None,
    }),
    row!("arg_sort" => |site, primitive| {
        parameters!(primitive, Primitive::ArgSort { axis });
        Ok(vec![Shown::plain(sorted(site, *axis).1)])
    }, |site, primitive| match primitive {
        Primitive::ArgSort { axis } => along::first_alone(site, |batch| batch != *axis),
        _ => None,
    }),
    row!("scan" => scan, |site, primitive| match primitive {
        Primitive::Scan { axis, op: ScanOp::Sum, .. } => along::first_alone(site, |batch| batch != *axis),
        _ => None,
    }),
    row!("sorted_offsets" => sorted_offsets),
];

/// The elements in ascending order, and their places as u32.
fn sorted(site: &mut Site<'_>, axis: usize) -> (Term, Term) {
    let x = site.term(0);
    let d = &mut *site.draft;
    let (size, dtype, batch) = (x.shape[axis], x.dtype, x.batch);
    let given = d.cast(&x, super::super::types::wide("TopK", dtype));
    let count = d.ints([size as i64]);
    let attributes =
        vec![attribute::int("axis", axis as i64), attribute::int("largest", 0), attribute::int("sorted", 1)];
    let results = [(given.dtype, x.shape.clone()), (DType::I64, x.shape.clone())];
    let mut all = d.nodes("TopK", &[&given, &count], attributes, &results);
    for term in &mut all {
        term.batch = batch;
    }
    let values = d.cast(&all[0], dtype);
    let places = d.cast(&all[1], DType::U32);
    d.below.insert(places.name.clone(), size);
    (values, places)
}

fn scan(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Scan { op, axis, reverse, inclusive });
    let x = site.term(0);
    let to = site.results[0].dtype;
    let x = site.draft.cast(&x, to);
    if to.is_complex() {
        return Err(format!("opset {} scans no {to}", super::super::OPSET).into());
    }
    if *op == ScanOp::Sum && to != DType::Bool {
        let d = &mut *site.draft;
        let along = d.number(DType::I64, *axis as f64);
        let flag = |name, set: bool| attribute::int(name, i64::from(set));
        let term = d.within("CumSum", &x, |d, x| {
            let attributes = vec![flag("exclusive", !inclusive), flag("reverse", *reverse)];
            d.node("CumSum", &[x, &along], attributes, (x.dtype, &x.shape))
        });
        return Ok(vec![Shown::plain(term)]);
    }
    let (combine, start) = match op {
        ScanOp::Sum => (BinaryOp::Add, 0.0),
        ScanOp::Prod => (BinaryOp::Multiply, 1.0),
        ScanOp::Max => (BinaryOp::Maximum, f64::NEG_INFINITY),
        ScanOp::Min => (BinaryOp::Minimum, f64::INFINITY),
        ScanOp::LogAddExp => (BinaryOp::LogAddExp, f64::NEG_INFINITY),
        other => return Err(format!("scans of `{}` have no operator", other.name()).into()),
    };
    let start = match to {
        DType::Bool => Values::Bool(vec![start > 0.0]),
        _ => Values::Float(vec![start]).convert(to),
    };
    let start = HostTensor::from_values(to, &[], &start).map_err(|e| e.to_string())?;
    let mut item = x.shape.clone();
    item.remove(*axis);
    let d = &mut *site.draft;
    let start = d.constant(start);
    let start = d.expand(&start, &item);
    let given = |d: &mut super::super::draft::Draft, stem: &str| Term {
        name: d.fresh(stem),
        shape: item.clone(),
        dtype: to,
        ..Term::absent()
    };
    let (so_far, one) = (given(d, "so_far"), given(d, "item"));
    d.enter();
    let next = elementwise::binary_of(d, combine, &so_far, &one);
    let next = d.node("Identity", &[&next], vec![], (to, &item));
    let out = d.node("Identity", &[if *inclusive { &next } else { &so_far }], vec![], (to, &item));
    let nodes = d.leave();
    let body = super::super::model::body("scan", nodes, &[so_far, one], &[next, out]);
    let direction = i64::from(*reverse) as usize;
    let attributes = vec![
        attribute::graph("body", body),
        attribute::int("num_scan_inputs", 1),
        attribute::ints("scan_input_axes", [*axis]),
        attribute::ints("scan_output_axes", [*axis]),
        attribute::ints("scan_input_directions", [direction]),
        attribute::ints("scan_output_directions", [direction]),
    ];
    let all = d.nodes("Scan", &[&start, &x], attributes, &[(to, item), (to, x.shape.clone())]);
    Ok(all.into_iter().skip(1).map(Shown::plain).collect())
}

fn sorted_offsets(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::SortedOffsets { groups });
    site.arrays(|x| {
        let groups = Array::arange(*groups, DType::U32).expand_dims([-1]);
        let below = x[0].expand_dims([-2]).less(&groups);
        vec![below.astype(DType::I32).sum([-1], false)]
    })
}
