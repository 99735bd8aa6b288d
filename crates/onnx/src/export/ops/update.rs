//! Parts replaced, at places that are known.

use oneir_ir::Primitive;

use super::super::attribute;
use super::super::draft::Draft;
use super::super::graph::{Site, Written};
use super::super::term::{Shown, Term};
use super::{Row, along, parameters, row};

pub(super) const ROWS: &[Row] = &[row!("slice_update" => slice_update, |site, primitive| match primitive {
    Primitive::SliceUpdate { start, step, len } => along::all_have(site, |axis| {
        start[axis] == 0 && step[axis] == 1 && len[axis] == site.operands[0].shape()[axis]
    }),
    _ => None,
})];

fn slice_update(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::SliceUpdate { start, step, len });
    let (base, update) = (site.term(0), site.term(1));
    if update.count() == 0 {
        return Ok(vec![Shown::plain(base)]);
    }
    let region: Vec<(usize, isize, usize)> =
        (0..len.len()).map(|axis| (start[axis], step[axis], len[axis])).collect();
    Ok(vec![Shown::plain(replaced(site.draft, &base, &update, &region, 0))])
}

/// Along each axis in turn: what lies before the region, the region with its own
/// parts replaced, and what lies after it.
fn replaced(
    d: &mut Draft,
    base: &Term,
    update: &Term,
    region: &[(usize, isize, usize)],
    axis: usize,
) -> Term {
    let Some(&(start, step, len)) = region.get(axis) else { return update.clone() };
    let size = base.shape[axis];
    if (start, step, len) == (0, 1, size) {
        return replaced(d, base, update, region, axis + 1);
    }
    let part = d.slice(base, &[(axis, start, step, len)]);
    let inner = replaced(d, &part, update, region, axis + 1);
    if step == 1 {
        let end = start + len;
        let mut all = Vec::new();
        if start > 0 {
            all.push(d.slice(base, &[(axis, 0, 1, start)]));
        }
        all.push(inner);
        if end < size {
            all.push(d.slice(base, &[(axis, end, 1, size - end)]));
        }
        return d.concat(&all.iter().collect::<Vec<_>>(), axis);
    }
    // Places that are apart: put one by one.
    let places = d.ints((0..len as i64).map(|i| start as i64 + i * step as i64));
    let mut line = vec![1; base.rank()];
    line[axis] = len;
    let places = d.reshape(&places, &line, None);
    let places = d.expand(&places, &inner.shape);
    let along = vec![attribute::int("axis", axis as i64)];
    d.node("ScatterElements", &[base, &places, &inner], along, (base.dtype, &base.shape))
}
