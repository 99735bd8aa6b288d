//! Strided accesses of a flat tensor as recorded view primitives.

use oneir_tensor::{DType, HostTensor, Layout, Values};

use super::GraphError;
use crate::{Invalid, Place, Primitive, Value};

/// A strided region of a flat tensor, as a slice of the tensor seen with more
/// dimensions: one for each step of the layout.
struct Grid {
    /// The dimensions that the flat tensor is seen with.
    dims: Vec<usize>,
    /// Of each dimension, where the region begins, its step (1 or -1) and its size.
    start: Vec<usize>,
    step: Vec<isize>,
    len: Vec<usize>,
    /// The layout's axis that each dimension is; none for one of a single place.
    axis: Vec<Option<usize>>,
}

impl Grid {
    /// `None` where the region is no such slice: its axes overlap, or steps do
    /// not nest.
    fn of(layout: &Layout, count: usize) -> Option<Grid> {
        let mut axes: Vec<usize> =
            (0..layout.rank()).filter(|&i| layout.shape[i] > 1 && layout.strides[i] != 0).collect();
        axes.sort_by_key(|&i| std::cmp::Reverse(layout.strides[i].unsigned_abs()));
        let mut axis: Vec<Option<usize>> = axes.iter().copied().map(Some).collect();
        let mut strides: Vec<usize> = axes.iter().map(|&i| layout.strides[i].unsigned_abs()).collect();
        if strides.last() != Some(&1) {
            strides.push(1);
            axis.push(None);
        }
        let mut rest = usize::try_from(layout.span()?.0).ok()?;
        let mut grid = Grid { dims: vec![], start: vec![], step: vec![], len: vec![], axis };
        for (k, &stride) in strides.iter().enumerate() {
            let size = match k.checked_sub(1) {
                None => count / stride,
                Some(above) if strides[above].is_multiple_of(stride) => strides[above] / stride,
                Some(_) => return None,
            };
            let len = grid.axis[k].map_or(1, |i| layout.shape[i]);
            let first = rest / stride;
            rest %= stride;
            if first + len > size {
                return None;
            }
            let back = grid.axis[k].is_some_and(|i| layout.strides[i] < 0);
            grid.dims.push(size);
            grid.start.push(if back { first + len - 1 } else { first });
            grid.step.push(if back { -1 } else { 1 });
            grid.len.push(len);
        }
        Some(grid)
    }

    /// Elements of the flat tensor that the dimensions hold.
    fn count(&self) -> usize {
        self.dims.iter().product()
    }
}

fn record(primitive: Primitive, inputs: &[&Value]) -> Result<Value, Invalid> {
    Value::record(primitive, inputs, Place::Internal)
}

/// A part of a vector.
fn part(flat: &Value, from: usize, len: usize) -> Result<Value, Invalid> {
    if from == 0 && len == flat.spec().count() {
        return Ok(flat.clone());
    }
    record(Primitive::Slice { start: vec![from], step: vec![1], len: vec![len] }, &[flat])
}

/// The elements of `whole` that `layout` shows, as views where they can be had
/// so, else gathered.
pub(super) fn viewed(whole: &Value, layout: &Layout) -> Result<Value, GraphError> {
    let inference = |why| GraphError::Inference { op: "an access".into(), why };
    let count = whole.spec().count();
    let flat = whole.reshape(&[count]).map_err(inference)?;
    if layout.count() == 0 {
        return part(&flat, 0, 0).and_then(|none| none.reshape(&layout.shape)).map_err(inference);
    }
    let Some(grid) = Grid::of(layout, count) else {
        let gather = Primitive::Gather { axes: vec![0], slice_sizes: vec![1] };
        let taken = record(gather, &[&flat, &places(layout)?]).map_err(inference)?;
        return taken.reshape(&layout.shape).map_err(inference);
    };
    let shown = || -> Result<Value, Invalid> {
        let seen = part(&flat, 0, grid.count())?.reshape(&grid.dims)?;
        let all = grid.len == grid.dims && grid.step.iter().all(|&s| s == 1);
        let Grid { start, step, len, .. } = &grid;
        let slice = Primitive::Slice { start: start.clone(), step: step.clone(), len: len.clone() };
        let taken = if all { seen } else { record(slice, &[&seen])? };
        // In the layout's own order, with size 1 where it repeats.
        let mut order: Vec<usize> = (0..grid.axis.len()).filter(|&k| grid.axis[k].is_some()).collect();
        order.sort_by_key(|&k| grid.axis[k]);
        order.extend((0..grid.axis.len()).filter(|&k| grid.axis[k].is_none()));
        let taken = if order.is_sorted() { taken } else { taken.transpose(&order)? };
        let repeats = |i: usize| layout.strides[i] == 0;
        let ones: Vec<usize> =
            (0..layout.rank()).map(|i| if repeats(i) { 1 } else { layout.shape[i] }).collect();
        taken.reshape(&ones)?.broadcast(&layout.shape)
    };
    shown().map_err(inference)
}

/// `table` with the elements that `layout` shows replaced by `value`'s, in row
/// order.
pub(super) fn replaced(table: &Value, layout: &Layout, value: &Value) -> Result<Value, GraphError> {
    let inference = |why| GraphError::Inference { op: "rows".into(), why };
    let count = table.spec().count();
    if layout.count() == 0 {
        return Ok(table.clone());
    }
    let flat = table.reshape(&[count]).map_err(inference)?;
    // A slice's elements are written in row order.
    let Some(grid) = Grid::of(layout, count).filter(|grid| grid.axis.iter().flatten().is_sorted()) else {
        let updates = value.reshape(&[value.spec().count()]).map_err(inference)?;
        let reduce = crate::primitive::ScatterReduce::None;
        let scatter = Primitive::ScatterAxis { axis: 0, reduce };
        let all = record(scatter, &[&flat, &places(layout)?, &updates]).map_err(inference)?;
        return all.reshape(&table.spec().shape).map_err(inference);
    };
    let updated = || -> Result<Value, Invalid> {
        let seen = part(&flat, 0, grid.count())?.reshape(&grid.dims)?;
        let Grid { start, step, len, .. } = &grid;
        let update = Primitive::SliceUpdate { start: start.clone(), step: step.clone(), len: len.clone() };
        let new = record(update, &[&seen, &value.reshape(len)?])?;
        whole(&new, &flat)?.reshape(&table.spec().shape)
    };
    updated().map_err(inference)
}

/// `table` with rows of `pitch` values, of which `number` (counted from 1) is
/// the first, replaced where `layout` shows them if `number` is 1. Rows that
/// would leave the table are moved inside, as dynamic slices are.
pub(super) fn replaced_at(
    table: &Value,
    number: &Value,
    pitch: usize,
    layout: &Layout,
    value: &Value,
) -> Result<Value, GraphError> {
    let inference = |why| GraphError::Inference { op: "rows".into(), why };
    let count = table.spec().count();
    if layout.count() == 0 {
        return Ok(table.clone());
    }
    let flat = table.reshape(&[count]).map_err(inference)?;
    let updated = || -> Result<Value, Invalid> {
        let number = number.as_type(DType::I64)?.reshape(&[1])?;
        let before = number.subtract(&number.filled_like(1.0)?)?;
        let before = before.binary(crate::BinaryOp::Maximum, &before.filled_like(0.0)?)?;
        let scaled = |by: usize| before.multiply(&before.filled_like(by as f64)?);
        let unit = layout.strides.first().map_or(1, |s| s.unsigned_abs());
        if layout.rank() == 1 && layout.strides[0] == 1 && layout.offset == 0 {
            let put = Primitive::DynamicSliceUpdate { axes: vec![0] };
            let new = record(put, &[&flat, &value.reshape(&[layout.count()])?, &scaled(pitch)?])?;
            return new.reshape(&table.spec().shape);
        }
        if layout.rank() == 2 && pitch.is_multiple_of(unit) {
            // Parts of units, of which a row holds a whole number.
            let units = count / unit;
            let seen = part(&flat, 0, units * unit)?.reshape(&[units, unit])?;
            let offset = before.filled_like(layout.offset as f64)?;
            let starts = record(Primitive::Concatenate { axis: 0 }, &[&scaled(pitch / unit)?, &offset])?;
            let put = Primitive::DynamicSliceUpdate { axes: vec![0, 1] };
            let new = record(put, &[&seen, &value.reshape(&layout.shape)?, &starts])?;
            return whole(&new, &flat)?.reshape(&table.spec().shape);
        }
        let first = places(layout).map_err(|_| Invalid::Parameter {
            parameter: "rows",
            found: format!("{layout:?}"),
            expected: "places that indices can name",
        })?;
        let at = first.add(&scaled(pitch)?.broadcast(&first.spec().shape)?)?;
        let reduce = crate::primitive::ScatterReduce::None;
        let updates = value.reshape(&[layout.count()])?;
        let new = record(Primitive::ScatterAxis { axis: 0, reduce }, &[&flat, &at, &updates])?;
        new.reshape(&table.spec().shape)
    };
    updated().map_err(inference)
}

/// A changed first part of a flat tensor together with the rest of it.
fn whole(changed: &Value, flat: &Value) -> Result<Value, Invalid> {
    let (head, count) = (changed.spec().count(), flat.spec().count());
    let changed = changed.reshape(&[head])?;
    if head == count {
        return Ok(changed);
    }
    let rest = part(flat, head, count - head)?;
    record(Primitive::Concatenate { axis: 0 }, &[&changed, &rest])
}

/// The places of a layout's elements, as a vector of indices.
fn places(layout: &Layout) -> Result<Value, GraphError> {
    let all: Vec<i64> = layout.offsets().map(|at| at as i64).collect();
    HostTensor::from_values(DType::I64, &[all.len()], &Values::Signed(all)).map(Value::constant).map_err(
        |e| GraphError::Interface {
            what: "an access".into(),
            expected: "indices".into(),
            found: e.to_string(),
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cut, Spec, reference};

    fn layout(offset: isize, shape: &[usize], strides: &[isize]) -> Layout {
        Layout { offset, shape: shape.into(), strides: strides.into() }
    }

    fn layouts() -> Vec<(Layout, bool)> {
        vec![
            (layout(0, &[24], &[1]), true),
            (layout(23, &[24], &[-1]), true),
            (layout(7, &[2, 3], &[6, 1]), true),
            (layout(7, &[3, 2], &[1, 6]), true),
            (layout(11, &[3, 2], &[-1, 6]), true),
            (layout(1, &[4, 3], &[6, 2]), true),
            (layout(5, &[2, 4, 1], &[0, 6, 0]), true),
            (layout(5, &[], &[]), true),
            (layout(0, &[0, 4], &[4, 1]), true),
            (layout(0, &[4, 5], &[5, 1]), true),
            // A last unit that is not whole, windows, steps that do not nest.
            (layout(3, &[2, 3], &[13, 1]), false),
            (layout(0, &[5, 3], &[1, 1]), false),
            (layout(0, &[3, 3], &[3, 2]), false),
        ]
    }

    fn run(inputs: &[HostTensor], f: impl Fn(&[Value]) -> Value) -> (Vec<i32>, Vec<&'static str>) {
        let arguments: Vec<Value> = inputs.iter().map(|x| Value::placeholder(Spec::of(x))).collect();
        let graph = Cut::new(&arguments, &[f(&arguments)]).lift().unwrap().graph;
        let names = graph.ops.iter().map(|op| op.sym.name()).collect();
        (reference::run(&graph, inputs).unwrap()[0].to_vec().unwrap(), names)
    }

    #[test]
    fn accesses_are_views_where_they_can_be() {
        let numbers: Vec<i32> = (0..24).collect();
        let x = HostTensor::from_slice(&[4, 6], &numbers).unwrap();
        for (layout, views) in layouts() {
            let (found, names) = run(std::slice::from_ref(&x), |x| viewed(&x[0], &layout).unwrap());
            let expected: Vec<i32> = layout.offsets().map(|at| at as i32).collect();
            assert_eq!(found, expected, "{layout:?}");
            assert_eq!(!names.contains(&"gather"), views, "{layout:?}: {names:?}");
        }
    }

    #[test]
    fn writes_replace_what_the_layout_shows() {
        let numbers: Vec<i32> = (0..24).collect();
        let x = HostTensor::from_slice(&[4, 6], &numbers).unwrap();
        for (layout, views) in layouts() {
            if layout.strides.contains(&0) || layout.strides == [1, 1].into() {
                continue;
            }
            let new: Vec<i32> = (0..layout.count() as i32).map(|i| -1 - i).collect();
            let mut expected = numbers.clone();
            for (at, n) in layout.offsets().zip(&new) {
                expected[at as usize] = *n;
            }
            let inputs = [x.clone(), HostTensor::from_slice(&layout.shape, &new).unwrap()];
            let (found, names) = run(&inputs, |x| replaced(&x[0], &layout, &x[1]).unwrap());
            assert_eq!(found, expected, "{layout:?}");
            let rows = layout.strides.iter().map(|s| s.unsigned_abs()).rev().is_sorted();
            assert_eq!(!names.contains(&"scatter_axis"), views && rows, "{layout:?}: {names:?}");
        }
    }

    #[test]
    fn rows_are_written_where_a_number_says() {
        let numbers: Vec<i32> = (0..26).collect();
        let x = HostTensor::from_slice(&[26], &numbers).unwrap();
        for (first, pitch) in [
            (layout(0, &[4], &[1]), 4),
            (layout(0, &[4], &[1]), 3),
            (layout(1, &[2, 2], &[4, 1]), 4),
            (layout(1, &[2, 2], &[4, 1]), 8),
            (layout(1, &[2, 2], &[4, 1]), 6),
        ] {
            for row in 1..=3i32 {
                let shifted = Layout { offset: first.offset + (row as isize - 1) * pitch, ..first.clone() };
                let new: Vec<i32> = (0..first.count() as i32).map(|i| -1 - i).collect();
                let mut expected = numbers.clone();
                for (at, n) in shifted.offsets().zip(&new) {
                    expected[at as usize] = *n;
                }
                let inputs =
                    [x.clone(), HostTensor::scalar(row), HostTensor::from_slice(&first.shape, &new).unwrap()];
                let (found, _) =
                    run(&inputs, |x| replaced_at(&x[0], &x[1], pitch as usize, &first, &x[2]).unwrap());
                assert_eq!(found, expected, "{first:?} row {row} of {pitch}");
            }
        }
    }
}
