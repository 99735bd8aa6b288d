//! Batches, of calls and of their reverse derivatives, against loops.

use oneir_ir::primitive::{Batched, Case};
use oneir_ir::transform::{TransformError, vmap};
use oneir_ir::verify::Tolerance;
use oneir_ir::{Primitive, Spec, Value};
use oneir_tensor::HostTensor;

use crate::calls::{
    Random, computed, has_floats, is_single, is_smooth, leaves, moved, parts, points, record, reversed, runs,
    spec_of, subject,
};
use crate::found::{Checked, Verdict};

/// How many there are in a batch.
const SIZE: usize = 3;

/// Where each input has the further axis.
type Axes = Vec<Option<usize>>;

/// Every input alone with the further axis at each of its places, and all together.
fn ways(ranks: &[usize], may: impl Fn(usize) -> bool) -> Vec<Axes> {
    let mut all = Vec::new();
    for (k, &rank) in ranks.iter().enumerate().filter(|(k, _)| may(*k)) {
        for axis in 0..=rank {
            all.push((0..ranks.len()).map(|other| (other == k).then_some(axis)).collect());
        }
    }
    for at in 0..=ranks.iter().copied().max().unwrap_or(0) {
        let one = |(k, &rank): (usize, &usize)| may(k).then_some(at.min(rank));
        let together: Axes = ranks.iter().enumerate().map(one).collect();
        if ranks.len() > 1 && together.iter().any(Option::is_some) {
            all.push(together);
        }
    }
    all
}

/// Tensors joined along a further axis.
fn joined(items: &[&HostTensor], axis: usize) -> Value {
    let bytes: Vec<u8> = items.iter().flat_map(|x| x.bytes().to_vec()).collect();
    let rank = items[0].rank();
    let shape: Vec<usize> = std::iter::once(items.len()).chain(items[0].shape().iter().copied()).collect();
    let whole = HostTensor::from_bytes(items[0].dtype(), &shape, &bytes).unwrap();
    let order: Vec<usize> = (1..=axis).chain([0]).chain(axis + 1..=rank).collect();
    record(&Primitive::Transpose(order), &[Value::constant(whole)]).remove(0)
}

/// One of the batch.
fn item(whole: &HostTensor, axis: Option<usize>, i: usize) -> HostTensor {
    let Some(axis) = axis else { return whole.clone() };
    let mut start = vec![0; whole.rank()];
    start[axis] = i;
    let part = whole.slice(&start, &vec![1; whole.rank()], &whole.shape().with(axis, 1)).unwrap();
    let mut shape = whole.shape().clone();
    shape.remove(axis);
    part.contiguous().unwrap().reshape(&shape).unwrap()
}

/// What `items[i]` gives for each `i`, against `outputs` run over all at once.
fn compared(
    outputs: &[Value],
    given: &[Value],
    items: &[Vec<HostTensor>],
    axes: &Axes,
    tolerance: impl Fn(&HostTensor) -> Tolerance,
    runs: bool,
) -> Checked {
    let batched: Vec<Batched> = axes
        .iter()
        .enumerate()
        .map(|(k, axis)| match axis {
            None => Batched { value: Value::constant(items[0][k].clone()), axis: None },
            Some(at) => {
                let all: Vec<&HostTensor> = items.iter().map(|tensors| &tensors[k]).collect();
                Batched { value: joined(&all, *at), axis: *axis }
            }
        })
        .collect();
    let found = vmap(outputs, given, &batched, items.len())?;
    if !runs {
        return Ok(Verdict::Recorded);
    }
    let whole: Vec<Value> = found.iter().map(|b| b.value.clone()).collect();
    let whole = computed(&whole, &[], &[]);
    for i in 0..items.len() {
        let tensors: Vec<HostTensor> = axes
            .iter()
            .enumerate()
            .map(|(k, axis)| items[if axis.is_some() { i } else { 0 }][k].clone())
            .collect();
        let Ok(expected) = computed(outputs, given, &tensors) else { return Ok(Verdict::Incomparable) };
        let whole = match &whole {
            Ok(whole) => whole,
            Err(error) => {
                return Ok(Verdict::Differs(format!("a loop runs, the batch {axes:?} not: {error}")));
            }
        };
        for (k, expected) in expected.iter().enumerate() {
            let one = item(&whole[k], found[k].axis, i);
            if one.shape() != expected.shape() {
                let fault = format!("{axes:?}, item {i} of result {k}: {one:?}, a loop gives {expected:?}");
                return Ok(Verdict::Differs(fault));
            }
            if let Some(at) = tolerance(expected).first_difference(expected, &one) {
                return Ok(Verdict::Differs(format!(
                    "{axes:?}, item {i} of result {k}, element {at}: {one:?}, a loop gives {expected:?}"
                )));
            }
        }
    }
    Ok(Verdict::Agrees)
}

/// Inputs like the case's: their elements in another order, or where data of these
/// has no result, other multiples of its numbers.
fn others(case: &Case) -> Vec<Vec<HostTensor>> {
    let turned = |by: usize| -> Vec<HostTensor> {
        let one = |x: &HostTensor| {
            let count = x.count().max(1);
            let places: Vec<usize> = (0..x.count()).map(|i| (i + by) % count).collect();
            HostTensor::from_values(x.dtype(), x.shape(), &x.values().unwrap().select(&places)).unwrap()
        };
        case.inputs.iter().map(one).collect()
    };
    let scaled = |by: usize| -> Vec<HostTensor> {
        let one = |x: &HostTensor| match x.dtype().is_inexact() {
            true => moved(x, parts(x).into_iter().map(|a| a * by as f64 / 8.0)),
            false => x.clone(),
        };
        case.inputs.iter().map(one).collect()
    };
    let all: Vec<Vec<HostTensor>> = (0..SIZE).map(turned).collect();
    // Any of the one beside any of the other.
    match all.iter().all(|inputs| case.primitive.evaluate(inputs).is_ok()) {
        true => all,
        false => (0..SIZE).map(scaled).collect(),
    }
}

/// A call over a further axis.
pub(crate) fn vmap_of_call(case: &Case, _: &mut Random) -> Vec<Checked> {
    let given = leaves(&case.inputs);
    let outputs = record(&case.primitive, &given);
    let items = others(case);
    let ranks: Vec<usize> = case.inputs.iter().map(HostTensor::rank).collect();
    if ranks.is_empty() {
        // Nothing to have a further axis.
        return vec![Ok(Verdict::NoFloats)];
    }
    let close = |x: &HostTensor| Tolerance::of(x.dtype());
    ways(&ranks, |_| true)
        .iter()
        .map(|axes| compared(&outputs, &given, &items, axes, close, runs(case)))
        .collect()
}

/// The cotangents of a case's inputs over a further axis of inputs and cotangents.
pub(crate) fn vmap_of_vjp(case: &Case, random: &mut Random) -> Vec<Checked> {
    let graph = match reversed(case) {
        Ok(graph) => graph,
        Err(error) => return vec![Err(error)],
    };
    let specs: Vec<&Spec> = graph.given.iter().map(Value::spec).collect();
    if !has_floats(case) {
        return vec![Ok(Verdict::NoFloats)];
    }
    if graph.found.is_empty() {
        return vec![Ok(Verdict::Zero)];
    }
    let items: Vec<Vec<HostTensor>> = (0..2).map(|_| points(case, &graph.given, random)).collect();
    let ranks: Vec<usize> = specs.iter().map(|s| s.rank()).collect();
    let close = if is_single(&specs) { 2e-3 } else { 1e-9 };
    ways(&ranks, |k| is_smooth(specs[k]))
        .iter()
        .map(|axes| {
            let tolerance = |_: &HostTensor| Tolerance { absolute: close, relative: close };
            compared(&graph.found, &graph.given, &items, axes, tolerance, runs(case))
        })
        .collect()
}

#[test]
fn an_empty_batch_is_empty() {
    for case in Primitive::cases().iter().filter_map(subject) {
        let inputs = leaves(&case.inputs);
        let outputs = record(&case.primitive, &inputs);
        let longer =
            |spec: &Spec| -> Vec<usize> { std::iter::once(0).chain(spec.shape.iter().copied()).collect() };
        let none = |x: &HostTensor| {
            let spec = spec_of(x);
            Batched { value: Value::placeholder(Spec::new(spec.dtype, longer(&spec))), axis: Some(0) }
        };
        let batched: Vec<Batched> = case.inputs.iter().map(none).collect();
        match vmap(&outputs, &inputs, &batched, 0) {
            Ok(found) if !batched.is_empty() => {
                for (found, one) in found.iter().zip(&outputs) {
                    assert_eq!(found.value.spec().shape.to_vec(), longer(one.spec()), "{:?}", case.primitive);
                }
            }
            Ok(_) | Err(TransformError::Undefined { .. }) => {}
            Err(error) => panic!("{:?}: {error}", case.primitive),
        }
    }
}
