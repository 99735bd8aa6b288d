//! Elements in other places.

use oneir_array::Array;
use oneir_ir::Primitive;
use oneir_ir::primitive::PadMode;
use oneir_tensor::DType;

use super::super::attribute;
use super::super::draft::Draft;
use super::super::graph::{Site, Written};
use super::super::term::{Shown, Term};
use super::{Row, along, parameters, row};

pub(super) const ROWS: &[Row] = &[
    row!("reshape" => reshape, |site, primitive| match primitive {
        Primitive::Reshape(shape) => kept(&site.operands[0], shape, site.draft.items),
        _ => None,
    }),
    row!("squeeze" => squeeze, |site, primitive| match primitive {
        Primitive::Squeeze(axes) => {
            let axis = site.operands[0].batch()?;
            Some(axis - axes.iter().filter(|&&a| a < axis).count())
        }
        _ => None,
    }),
    row!("expand_dims" => expand_dims, |site, primitive| match primitive {
        Primitive::ExpandDims(axes) => {
            let axis = site.operands[0].batch()?;
            Some(axes.iter().fold(axis, |at, &new| if new <= at { at + 1 } else { at }))
        }
        _ => None,
    }),
    row!("transpose" => transpose, |site, primitive| match primitive {
        Primitive::Transpose(axes) => {
            let axis = site.operands[0].batch()?;
            axes.iter().position(|&a| a == axis)
        }
        _ => None,
    }),
    row!("broadcast" => broadcast, |site, primitive| match primitive {
        Primitive::Broadcast(shape) => Some(site.operands[0].batch()? + shape.len() - site.operands[0].rank()),
        _ => None,
    }),
    row!("slice" => slice, |site, primitive| match primitive {
        Primitive::Slice { start, step, len } => along::first_alone(site, |axis| {
            start[axis] == 0 && step[axis] == 1 && len[axis] == site.operands[0].shape()[axis]
        }),
        _ => None,
    }),
    row!("concatenate" => concatenate, |site, primitive| match primitive {
        Primitive::Concatenate { axis } => along::all_have(site, |batch| batch != *axis),
        _ => None,
    }),
    row!("pad" => pad, |site, primitive| match primitive {
        Primitive::Pad { low, high, .. } => {
            along::first_alone(site, |axis| low[axis] == 0 && high[axis] == 0)
        }
        _ => None,
    }),
    row!("view" => view, |site, primitive| match primitive {
        Primitive::View(dtype) if dtype.bits() == site.operands[0].dtype().bits() => {
            along::first_alone(site, |_| true)
        }
        _ => None,
    }),
];

/// Where the batch's items lie in another shape of the same elements: as much stands
/// before them, and the axis holds whole items, first by item.
fn kept(x: &Shown, shape: &[usize], items: usize) -> Option<usize> {
    let (axis, old) = (x.batch()?, x.shape());
    let before: usize = old[..axis].iter().product();
    if shape.contains(&0) {
        return None;
    }
    let holds =
        |j: &usize| shape[*j].is_multiple_of(items) && shape[..*j].iter().product::<usize>() == before;
    (0..shape.len()).find(holds)
}

fn reshape(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Reshape(shape));
    if let Some(number) = repeated(site, shape) {
        return Ok(vec![number]);
    }
    let batch = kept(&site.operands[0], shape, site.draft.items);
    let x = site.term(0);
    Ok(vec![Shown::plain(site.draft.reshape(&x, shape, batch))])
}

/// One number that repeats, in another shape.
fn repeated(site: &mut Site<'_>, shape: &[usize]) -> Option<Shown> {
    let x = &site.operands[0];
    if x.full.is_none() || x.base.count() != 1 {
        return None;
    }
    let base = site.draft.reshape(&x.base.clone(), &[], None);
    Some(Shown::plain(base).spread(shape))
}

fn squeeze(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Squeeze(axes));
    let shape = site.shape();
    if let Some(number) = repeated(site, &shape) {
        return Ok(vec![number]);
    }
    if site.operands[0].full.is_some() {
        site.term(0);
    }
    let x = site.operands[0].clone();
    let order: Vec<usize> = x.order.unwrap_or_else(|| (0..x.base.rank()).collect());
    let mut gone: Vec<usize> = axes.iter().map(|&axis| order[axis]).collect();
    gone.sort_unstable();
    // What is left, in the order that it had.
    let left = order.iter().filter(|axis| !gone.contains(axis));
    let order = left.map(|&axis| axis - gone.iter().filter(|&&g| g < axis).count()).collect();
    let base = match super::joined::unkept(site, &gone) {
        Some(base) => base,
        None => site.draft.squeeze(&x.base, &gone),
    };
    Ok(vec![Shown::ordered(base, order)])
}

fn expand_dims(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::ExpandDims(axes));
    let shape = site.shape();
    if let Some(number) = repeated(site, &shape) {
        return Ok(vec![number]);
    }
    let x = site.term(0);
    Ok(vec![Shown::plain(site.draft.unsqueeze(&x, axes))])
}

fn transpose(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Transpose(axes));
    let x = site.operands[0].clone();
    let Some(full) = &x.full else {
        let order = match &x.order {
            Some(pending) => axes.iter().map(|&axis| pending[axis]).collect(),
            None => axes.clone(),
        };
        if x.base.value.is_some() {
            return Ok(vec![Shown::plain(site.draft.transpose(&x.base, &order))]);
        }
        return Ok(vec![Shown::ordered(x.base, order)]);
    };
    let shape = site.shape();
    if let Some(number) = repeated(site, &shape) {
        return Ok(vec![number]);
    }
    // What repeats does so in the other order too.
    let narrow = Shown { full: None, ..x.clone() };
    let base = site.draft.settle(&narrow);
    let mut ones = vec![1; full.len() - base.rank()];
    ones.extend_from_slice(&base.shape);
    let batch = base.batch.map(|axis| axis + full.len() - base.rank());
    let base = site.draft.reshape(&base, &ones, batch);
    if base.value.is_some() {
        return Ok(vec![Shown::plain(site.draft.transpose(&base, axes)).spread(&shape)]);
    }
    Ok(vec![Shown::ordered(base, axes.clone()).spread(&shape)])
}

fn broadcast(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Broadcast(shape));
    Ok(vec![site.operands[0].clone().spread(shape)])
}

fn slice(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Slice { start, step, len });
    let x = site.operands[0].clone();
    let lead = x.rank() - x.base.rank();
    let parts: Vec<(usize, usize, isize, usize)> = (0..x.rank())
        .filter(|&axis| x.full.is_none() || !x.repeats(axis))
        .map(|axis| {
            let at = x.order.as_ref().map_or(axis - lead, |order| order[axis - lead]);
            (at, start[axis], step[axis], len[axis])
        })
        .collect();
    let base = site.draft.slice(&x.base, &parts);
    let narrow = Shown { base, order: x.order, full: None };
    Ok(vec![narrow.spread(len)])
}

fn concatenate(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Concatenate { axis });
    let order = site.operands[0].order.clone();
    let alike = site.operands.iter().all(|x| x.full.is_none() && x.order == order);
    if let Some(order) = order.filter(|_| alike) {
        let bases: Vec<Term> = site.operands.iter().map(|x| x.base.clone()).collect();
        let term = site.draft.concat(&bases.iter().collect::<Vec<_>>(), order[*axis]);
        return Ok(vec![Shown::ordered(term, order)]);
    }
    let terms: Vec<Term> = (0..site.operands.len()).map(|i| site.term(i)).collect();
    Ok(vec![Shown::plain(site.draft.concat(&terms.iter().collect::<Vec<_>>(), *axis))])
}

/// The places that padding takes its elements from, along an axis of `size`.
fn mirrored(mode: PadMode, low: usize, size: usize, high: usize) -> Vec<i64> {
    let n = size as i64;
    let place = |i: i64| match mode {
        PadMode::Edge => i.clamp(0, n - 1),
        PadMode::Reflect if n == 1 => 0,
        PadMode::Reflect => {
            let at = i.rem_euclid(2 * n - 2);
            at.min(2 * n - 2 - at)
        }
        PadMode::Symmetric => {
            let at = i.rem_euclid(2 * n);
            at.min(2 * n - 1 - at)
        }
        _ => i.rem_euclid(n),
    };
    (-(low as i64)..(size + high) as i64).map(place).collect()
}

fn pad(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Pad { low, high, mode });
    let x = site.term(0);
    if low.iter().chain(high).all(|&n| n == 0) {
        return Ok(vec![Shown::plain(x)]);
    }
    let axes = (0..x.rank()).all(|axis| low[axis].max(high[axis]) < x.shape[axis].max(1));
    let name = match mode {
        PadMode::Constant => "constant",
        PadMode::Edge => "edge",
        PadMode::Reflect if axes => "reflect",
        PadMode::Wrap if axes => "wrap",
        _ => {
            // Mirrors that the operator does not have: the elements one by one.
            let mut term = x;
            for axis in 0..low.len() {
                if low[axis] + high[axis] > 0 {
                    let size = term.shape[axis];
                    let places = site.draft.ints(mirrored(*mode, low[axis], size, high[axis]));
                    let mut shape = term.shape.clone();
                    shape[axis] = low[axis] + size + high[axis];
                    let along = vec![attribute::int("axis", axis as i64)];
                    term = site.draft.node("Gather", &[&term, &places], along, (term.dtype, &shape));
                }
            }
            return Ok(vec![Shown::plain(term)]);
        }
    };
    let pads = site.draft.ints(low.iter().chain(high).map(|&n| n as i64));
    let value = if *mode == PadMode::Constant { site.term(1) } else { Term::absent() };
    Ok(vec![Shown::plain(site.node("Pad", &[&x, &pads, &value], vec![attribute::string("mode", name)]))])
}

/// Bytes read as another type: between integers.
fn view(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::View(dtype));
    let (from, to) = (site.operands[0].dtype(), *dtype);
    let whole = |d: DType| d.is_integer() || d == DType::Bool;
    if from == to {
        return Ok(vec![site.operands[0].clone()]);
    }
    if !whole(from) || !whole(to) || !from.computes() || !to.computes() {
        return Err(format!("opset {} reads no bytes of {from} as {to}", super::super::OPSET).into());
    }
    if from.bits() == to.bits() {
        let shown = site.operands[0].clone();
        let base = site.draft.cast(&shown.base, to);
        return Ok(vec![Shown { base, ..shown }]);
    }
    site.arrays(|x| vec![regrouped(&x[0], to)])
}

/// Integers of one size as integers of another: the lowest bytes come first.
fn regrouped(x: &Array, to: DType) -> Array {
    let (bits, wide) = (x.dtype().bits(), to.bits());
    let ratio = bits.max(wide) / bits.min(wide);
    let mut shape: Vec<isize> = x.shape().iter().map(|&n| n as isize).collect();
    let last = shape.len() - 1;
    let steps: Vec<u64> = (0..ratio as u64).map(|i| i * bits.min(wide) as u64).collect();
    let steps = Array::from_slice(&steps, &[ratio]);
    // Without their signs, which would fill what lies above.
    let plain = match bits {
        8 => DType::U8,
        16 => DType::U16,
        32 => DType::U32,
        _ => DType::U64,
    };
    let x = x.astype(plain).astype(DType::U64);
    if wide > bits {
        shape[last] /= ratio as isize;
        shape.push(ratio as isize);
        let parts = x.reshape(&shape).left_shift(&steps);
        return parts.sum([last as isize + 1], false).astype(to);
    }
    shape[last] *= ratio as isize;
    let parts = x.expand_dims([-1]).right_shift(&steps);
    parts.bitwise_and(Array::full(&[], ((1u64 << wide) - 1) as f64, DType::U64)).reshape(&shape).astype(to)
}

impl Draft {
    /// Reversed along axes.
    pub(super) fn reversed(&mut self, x: &Term, axes: impl Iterator<Item = usize>) -> Term {
        let parts: Vec<_> =
            axes.filter(|&a| x.shape[a] > 1).map(|a| (a, x.shape[a] - 1, -1, x.shape[a])).collect();
        self.slice(x, &parts)
    }
}
