//! Elements at places that are data.

use oneir_ir::Primitive;
use oneir_ir::primitive::ScatterReduce;
use oneir_tensor::{DType, HostTensor};

use super::super::attribute;
use super::super::draft::Draft;
use super::super::graph::{Site, Written};
use super::super::term::{Shown, Term};
use super::{Row, along, parameters, row};

pub(super) const ROWS: &[Row] = &[
    row!("gather" => gather, |site, _| {
        let (src, indices) = site.operands.split_first()?;
        let axis = indices.first()?.batch()?;
        let all = indices.iter().all(|x| x.batch() == Some(axis));
        (src.batch().is_none() && all).then_some(axis)
    }),
    row!("scatter" => scatter),
    row!("gather_axis" => gather_axis, |site, primitive| match primitive {
        Primitive::GatherAxis { axis } => along::all_have(site, |batch| batch != *axis),
        _ => None,
    }),
    row!("scatter_axis" => scatter_axis, |site, primitive| match primitive {
        Primitive::ScatterAxis { axis, .. } => along::all_have(site, |batch| batch != *axis),
        _ => None,
    }),
    row!("dynamic_slice" => dynamic_slice),
    row!("dynamic_slice_update" => dynamic_slice_update),
];

/// Where slices of `span` begin on an axis of `size`, as i64: moved until they fit;
/// with `from_end`, negative ones count from the end first.
fn places(d: &mut Draft, indices: &Term, size: usize, span: usize, from_end: bool) -> Result<Term, String> {
    let last = size.saturating_sub(span) as i64;
    if let Some(value) = &indices.value {
        let numbers = value.values().map_err(|e| e.to_string())?;
        let unsigned = !value.dtype().is_signed();
        let place = |i: i64| match i {
            // What passes i64 is past the end.
            i if i < 0 && unsigned => last,
            i if i < 0 && from_end => (i.saturating_add(size as i64)).clamp(0, last),
            i => i.clamp(0, last),
        };
        let all: Vec<i64> = numbers.to_ints().unwrap_or_default().into_iter().map(place).collect();
        return Ok(d.constant(HostTensor::from_slice(value.shape(), &all).map_err(|e| e.to_string())?));
    }
    if d.below.get(&indices.name).is_some_and(|&end| end as i64 <= last + 1) {
        return Ok(d.cast(indices, DType::I64));
    }
    let mut at = indices.clone();
    if at.dtype == DType::U64 {
        let end = d.number(DType::U64, size as f64);
        at = d.binary("Min", &at, &end);
    }
    let signed = at.dtype.is_signed();
    at = d.cast(&at, DType::I64);
    let (zero, last) = (d.number(DType::I64, 0.0), d.number(DType::I64, last as f64));
    if from_end && signed {
        let size = d.number(DType::I64, size as f64);
        let (behind, moved) = (d.test("Less", &at, &zero), d.binary("Add", &at, &size));
        at = d.choose(&behind, &moved, &at);
    }
    let at = d.binary("Min", &at, &last);
    Ok(d.binary("Max", &at, &zero))
}

/// One index array for each indexed axis, grown by the slice's own places, as the last
/// axis of one tensor: `[places…, slice…, axes]`.
fn grid(d: &mut Draft, starts: &[Term], spans: &[usize]) -> Term {
    let lead = starts.iter().map(Term::rank).max().unwrap_or(0);
    let rank = lead + spans.len();
    let mut all = Vec::with_capacity(starts.len());
    for (k, (start, &span)) in starts.iter().zip(spans).enumerate() {
        let ones: Vec<usize> = (start.rank()..start.rank() + spans.len()).collect();
        let mut at = d.unsqueeze(start, &ones);
        if span != 1 {
            let steps = d.ints(0..span as i64);
            let mut shape = vec![1; spans.len()];
            shape[k] = span;
            let steps = d.reshape(&steps, &shape, None);
            at = d.binary("Add", &at, &steps);
        }
        all.push(at);
    }
    let mut shape: Vec<usize> =
        starts.iter().find(|s| s.rank() == lead).map(|s| s.shape.clone()).unwrap_or_default();
    shape.extend_from_slice(spans);
    let columns: Vec<Term> = all
        .iter()
        .map(|at| {
            let at = d.expand(at, &shape);
            d.unsqueeze(&at, &[rank])
        })
        .collect();
    d.concat(&columns.iter().collect::<Vec<_>>(), rank)
}

fn gather(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Gather { axes, slice_sizes });
    let src = site.term(0);
    let indices: Vec<Term> = (1..site.operands.len()).map(|i| site.term(i)).collect();
    let (d, rank) = (&mut *site.draft, src.rank());
    let kept: Vec<_> = (0..rank).filter(|a| !axes.contains(a)).map(|a| (a, 0, 1, slice_sizes[a])).collect();
    let part = d.slice(&src, &kept);
    let starts: Vec<Term> = axes
        .iter()
        .zip(&indices)
        .map(|(&axis, index)| places(d, index, src.shape[axis], slice_sizes[axis], true))
        .collect::<Result<_, _>>()?;
    let Some(first) = starts.first() else { return Ok(vec![Shown::plain(part)]) };
    let lead = first.rank();
    if let ([axis], true) = (&axes[..], slice_sizes[axes[0]] == 1) {
        let mut shape = part.shape.clone();
        shape.splice(*axis..=*axis, first.shape.iter().copied());
        let along = vec![attribute::int("axis", *axis as i64)];
        let mut taken = d.node("Gather", &[&part, first], along, (part.dtype, &shape));
        taken.batch = first.batch.map(|b| b + axis);
        // The indexed axis stays, with size 1, and the places come first.
        let taken = d.unsqueeze(&taken, &[axis + lead]);
        let order = (*axis..axis + lead).chain(0..*axis).chain(axis + lead..rank + lead);
        return Ok(vec![Shown::ordered(taken, order.collect())]);
    }
    let others: Vec<usize> = (0..rank).filter(|a| !axes.contains(a)).collect();
    let order: Vec<usize> = axes.iter().chain(&others).copied().collect();
    let turned = d.transpose(&part, &order);
    let spans: Vec<usize> = axes.iter().map(|&a| slice_sizes[a]).collect();
    let at = grid(d, &starts, &spans);
    let mut shape = at.shape[..at.rank() - 1].to_vec();
    shape.extend(others.iter().map(|&a| part.shape[a]));
    let mut taken = d.node("GatherND", &[&turned, &at], vec![], (part.dtype, &shape));
    taken.batch = at.batch;
    let back = (0..lead).chain(oneir_ir::undone(&order).into_iter().map(|axis| axis + lead));
    Ok(vec![Shown::ordered(taken, back.collect())])
}

/// The operator's word for how updates meet what is there.
fn reduction(reduce: ScatterReduce) -> Result<&'static str, String> {
    Ok(match reduce {
        ScatterReduce::None => "none",
        ScatterReduce::Sum => "add",
        ScatterReduce::Prod => "mul",
        ScatterReduce::Max => "max",
        ScatterReduce::Min => "min",
        other => return Err(format!("scatters that combine by `{}` have no operator", other.name())),
    })
}

/// `dst` with slices of it replaced or combined with updates, `[places…, slice…]`.
fn put(
    d: &mut Draft,
    dst: &Term,
    starts: Vec<(usize, Term)>,
    updates: &Term,
    reduce: ScatterReduce,
) -> Result<Term, String> {
    let rank = dst.rank();
    let lead = updates.rank() - rank;
    let slice = &updates.shape[lead..];
    // An axis of which a slice holds a part begins at 0.
    let mut all = starts;
    for (axis, &part) in slice.iter().enumerate() {
        if part != dst.shape[axis] && !all.iter().any(|(a, _)| *a == axis) {
            let zero = d.number(DType::I64, 0.0);
            let start = d.expand(&zero, &updates.shape[..lead]);
            all.push((axis, start));
        }
    }
    if all.is_empty() {
        let zero = d.number(DType::I64, 0.0);
        if rank == 0 {
            // One number: the operator needs an axis.
            let one = d.reshape(dst, &[1], None);
            let mut shape = updates.shape.clone();
            shape.push(1);
            let updates = d.reshape(updates, &shape, None);
            let start = d.expand(&zero, &updates.shape[..lead]);
            let made = put(d, &one, vec![(0, start)], &updates, reduce)?;
            return Ok(d.reshape(&made, &[], None));
        }
        let start = d.expand(&zero, &updates.shape[..lead]);
        all.push((0, start));
    }
    let indexed: Vec<usize> = all.iter().map(|(axis, _)| *axis).collect();
    let others: Vec<usize> = (0..rank).filter(|a| !indexed.contains(a)).collect();
    let order: Vec<usize> = indexed.iter().chain(&others).copied().collect();
    let spans: Vec<usize> = indexed.iter().map(|&a| slice[a]).collect();
    let starts: Vec<Term> = all.into_iter().map(|(_, start)| start).collect();
    let at = grid(d, &starts, &spans);
    let turned = d.transpose(dst, &order);
    let places: Vec<usize> = (0..lead).chain(order.iter().map(|axis| axis + lead)).collect();
    let updates = d.transpose(updates, &places);
    let mode = reduction(reduce)?;
    let attributes = if mode == "none" { vec![] } else { vec![attribute::string("reduction", mode)] };
    let made = number_wise(d, mode, &turned, &updates, |d, turned, updates| {
        d.node("ScatterND", &[turned, &at, updates], attributes, (turned.dtype, &turned.shape))
    });
    Ok(d.transpose(&made, &oneir_ir::undone(&order)))
}

/// What `f` makes, on numbers where truth values are to be combined.
fn number_wise(
    d: &mut Draft,
    mode: &str,
    dst: &Term,
    updates: &Term,
    f: impl FnOnce(&mut Draft, &Term, &Term) -> Term,
) -> Term {
    if mode == "none" || dst.dtype != DType::Bool {
        return f(d, dst, updates);
    }
    let (a, b) = (d.cast(dst, DType::I32), d.cast(updates, DType::I32));
    let made = f(d, &a, &b);
    d.cast(&made, DType::Bool)
}

fn scatter(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Scatter { axes, reduce });
    let last = site.operands.len() - 1;
    let (dst, updates) = (site.term(0), site.term(last));
    let mut starts = Vec::with_capacity(axes.len());
    for (i, &axis) in axes.iter().enumerate() {
        let index = site.term(i + 1);
        let span = updates.shape[updates.rank() - dst.rank() + axis];
        starts.push((axis, places(site.draft, &index, dst.shape[axis], span, true)?));
    }
    Ok(vec![Shown::plain(put(site.draft, &dst, starts, &updates, *reduce)?)])
}

fn gather_axis(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::GatherAxis { axis });
    let (src, index) = (site.term(0), site.term(1));
    let at = places(site.draft, &index, src.shape[*axis], 1, true)?;
    let along = vec![attribute::int("axis", *axis as i64)];
    Ok(vec![Shown::plain(site.node("GatherElements", &[&src, &at], along))])
}

fn scatter_axis(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::ScatterAxis { axis, reduce });
    let (dst, index, updates) = (site.term(0), site.term(1), site.term(2));
    let at = places(site.draft, &index, dst.shape[*axis], 1, true)?;
    let mode = reduction(*reduce)?;
    let mut attributes = vec![attribute::int("axis", *axis as i64)];
    if mode != "none" {
        attributes.push(attribute::string("reduction", mode));
    }
    let term = number_wise(site.draft, mode, &dst, &updates, |d, dst, updates| {
        d.node("ScatterElements", &[dst, &at, updates], attributes, (dst.dtype, &dst.shape))
    });
    Ok(vec![Shown::plain(term)])
}

/// The starts of a slice along its axes, one by one.
fn each_start(
    d: &mut Draft,
    starts: &Term,
    axes: &[usize],
    shape: &[usize],
    slice: &[usize],
) -> Result<Vec<(usize, Term)>, String> {
    let mut all = Vec::with_capacity(axes.len());
    for (i, &axis) in axes.iter().enumerate() {
        let one = match &starts.value {
            Some(value) => {
                let part = value.slice(&[i], &[1], &[1]).and_then(|v| v.reshape(&[]));
                d.constant(part.map_err(|e| e.to_string())?)
            }
            None => {
                let part = d.slice(starts, &[(0, i, 1, 1)]);
                d.reshape(&part, &[], None)
            }
        };
        all.push((axis, places(d, &one, shape[axis], slice[axis], false)?));
    }
    Ok(all)
}

fn dynamic_slice(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::DynamicSlice { axes, len });
    let (x, starts) = (site.term(0), site.term(1));
    let d = &mut *site.draft;
    let whole: Vec<_> = (0..x.rank()).filter(|a| !axes.contains(a)).map(|a| (a, 0, 1, len[a])).collect();
    let x = d.slice(&x, &whole);
    if axes.is_empty() {
        return Ok(vec![Shown::plain(x)]);
    }
    let each = each_start(d, &starts, axes, &x.shape, len)?;
    let columns: Vec<Term> = each.iter().map(|(_, start)| d.reshape(start, &[1], None)).collect();
    let from = d.concat(&columns.iter().collect::<Vec<_>>(), 0);
    let sizes = d.ints(axes.iter().map(|&a| len[a] as i64));
    let to = d.binary("Add", &from, &sizes);
    let axes = d.ints(axes.iter().map(|&a| a as i64));
    Ok(vec![Shown::plain(site.node("Slice", &[&x, &from, &to, &axes], vec![]))])
}

fn dynamic_slice_update(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::DynamicSliceUpdate { axes });
    let (x, update, starts) = (site.term(0), site.term(1), site.term(2));
    if update.count() == 0 {
        return Ok(vec![Shown::plain(x)]);
    }
    if update.shape == x.shape {
        return Ok(vec![Shown::plain(update)]);
    }
    let each = each_start(site.draft, &starts, axes, &x.shape, &update.shape)?;
    Ok(vec![Shown::plain(put(site.draft, &x, each, &update, ScatterReduce::None)?)])
}
