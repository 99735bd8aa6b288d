//! First derivatives, against finite differences of the reference evaluation.

use oneir_ir::primitive::{Case, Slots};
use oneir_ir::transform::{TransformError, jvp, vjp};
use oneir_ir::{BinaryOp, Primitive, Spec, Value};
use oneir_tensor::HostTensor;

use crate::calls::{
    Random, computed, filled, has_floats, is_single, is_smooth, leaves, moved, of_parts, parts, record,
    results, runs, sized, spec_of,
};
use crate::found::{Checked, Verdict};

/// How far derivatives may be from finite differences, of their size.
const CLOSE: f64 = 2e-4;

/// As [`CLOSE`], where some of the numbers have single precision.
const CLOSE_SINGLE: f64 = 4e-2;

/// A case at a point from which it changes smoothly along a direction.
struct Along {
    inputs: Vec<HostTensor>,
    /// One number for each part of each input.
    directions: Vec<Vec<f64>>,
    /// How fast each part of each result changes.
    differences: Vec<Vec<f64>>,
    close: f64,
    /// Whether all numbers that go in are finite: at infinities a derivative need
    /// not be a number.
    finite: bool,
}

/// How fast a number changes; one that stays infinite does not.
fn slope(high: f64, low: f64, by: f64) -> f64 {
    if high == low { 0.0 } else { (high - low) / by }
}

/// A point near the case's own, away from kinks and ties, where differences and
/// derivatives differ. None where it has no such point.
fn along(case: &Case, random: &mut Random) -> Option<Along> {
    // Extremes of complex numbers jump from one operand to the other.
    let extreme = matches!(case.primitive, Primitive::Binary(BinaryOp::Maximum | BinaryOp::Minimum));
    if extreme && case.inputs.iter().any(|x| x.dtype().is_complex()) {
        return None;
    }
    (0..4).find_map(|_| try_along(case, random))
}

fn try_along(case: &Case, random: &mut Random) -> Option<Along> {
    let specs: Vec<Spec> = case.inputs.iter().map(spec_of).collect();
    let results = results(&case.primitive, &case.inputs)?;
    let single = is_single(&specs.iter().chain(&results).collect::<Vec<_>>());
    let (step, close) = if single { (2e-3, CLOSE_SINGLE) } else { (1e-6, CLOSE) };
    let mut noise = |x: &HostTensor, by: f64| -> Vec<f64> {
        let numbers = random.numbers(parts(x).len());
        // What is infinite stays where it is.
        let held = |(n, x): (f64, f64)| if x.is_finite() { by * n } else { 0.0 };
        numbers.into_iter().zip(parts(x)).map(held).collect()
    };
    let inputs: Vec<HostTensor> = case
        .inputs
        .iter()
        .map(|x| if x.dtype().is_inexact() { moved(x, noise(x, 0.01).into_iter()) } else { x.clone() })
        .collect();
    let directions: Vec<Vec<f64>> = inputs.iter().map(|x| noise(x, 1.0)).collect();
    let at = |t: f64| -> Option<Vec<Vec<f64>>> {
        let one = |(x, d): (&HostTensor, &Vec<f64>)| match x.dtype().is_inexact() {
            true => moved(x, d.iter().map(|d| t * d)),
            false => x.clone(),
        };
        let inputs: Vec<HostTensor> = inputs.iter().zip(&directions).map(one).collect();
        Some(case.primitive.evaluate(&inputs).ok()?.iter().map(parts).collect())
    };
    let (low, lower, middle) = (at(-step)?, at(-0.5 * step)?, at(0.0)?);
    let (high, higher) = (at(step)?, at(0.5 * step)?);
    let mut differences = Vec::new();
    for (k, spec) in results.iter().enumerate() {
        let wide = high[k].iter().zip(&low[k]).map(|(&h, &l)| slope(h, l, 2.0 * step));
        let near = higher[k].iter().zip(&lower[k]).map(|(&h, &l)| slope(h, l, step));
        let after = high[k].iter().zip(&middle[k]).map(|(&h, &m)| slope(h, m, step));
        // Where the step or the side matters there is a kink or a cut.
        let smooth = |((d, n), a): ((f64, f64), f64)| {
            let far = 0.25 * close * (1.0 + d.abs());
            d.is_finite() && (d - n).abs() < far && (d - a).abs() < far
        };
        if is_smooth(spec) && !wide.clone().zip(near).zip(after).all(smooth) {
            return None;
        }
        differences.push(if is_smooth(spec) { wide.collect() } else { Vec::new() });
    }
    let finite = inputs.iter().all(|x| parts(x).iter().all(|p| p.is_finite()));
    Some(Along { inputs, directions, differences, close, finite })
}

/// Its derivative is other than its differences: that is what it is for.
fn stops(case: &Case) -> bool {
    matches!(case.primitive, Primitive::StopGradient)
}

/// Tangents of a case's results.
pub(crate) fn forward(case: &Case, random: &mut Random) -> Vec<Checked> {
    vec![try_forward(case, random)]
}

fn try_forward(case: &Case, random: &mut Random) -> Checked {
    if !has_floats(case) {
        return Ok(Verdict::NoFloats);
    }
    let given = leaves(&case.inputs);
    let outputs = record(&case.primitive, &given);
    let tangents: Slots =
        given.iter().map(|v| is_smooth(v.spec()).then(|| Value::placeholder(v.spec().clone()))).collect();
    let found = jvp(&outputs, &given, &tangents)?;
    if stops(case) {
        assert!(found.iter().all(Option::is_none));
        return Ok(Verdict::Zero);
    }
    if !runs(case) {
        return Ok(Verdict::Recorded);
    }
    let Some(at) = along(case, random) else { return Ok(Verdict::Incomparable) };
    let mut tensors = at.inputs.clone();
    let pairs = at.inputs.iter().zip(&at.directions);
    tensors.extend(
        pairs.filter(|(x, _)| x.dtype().is_inexact()).map(|(x, d)| of_parts(x.dtype(), x.shape(), d)),
    );
    let all: Vec<Value> = given.iter().cloned().chain(tangents.into_iter().flatten()).collect();
    let Some(found) = filled(&found, &all, &tensors) else { return Ok(Verdict::Incomparable) };
    for (k, (found, differences)) in found.iter().zip(&at.differences).enumerate() {
        let tangent = found.as_ref().map_or_else(|| vec![0.0; differences.len()], parts);
        for (i, (t, d)) in tangent.iter().zip(differences).enumerate() {
            if (at.finite && t.is_nan()) || (t - d).abs() > at.close * (1.0 + d.abs()) {
                return Ok(Verdict::Differs(format!("result {k}, part {i}: {t}, differences give {d}")));
            }
        }
    }
    Ok(if found.iter().all(Option::is_none) { Verdict::Zero } else { Verdict::Agrees })
}

/// Cotangents of a case's inputs.
pub(crate) fn reverse(case: &Case, random: &mut Random) -> Vec<Checked> {
    let count = if has_floats(case) { smooth_results(case) } else { 0 };
    // All results have a cotangent, and where there are several, each by itself.
    let each = if count > 1 { count } else { 0 };
    let mut found = vec![try_reverse(case, random, None)];
    found.extend((0..each).map(|only| try_reverse(case, random, Some(only))));
    found
}

fn smooth_results(case: &Case) -> usize {
    results(&case.primitive, &case.inputs).unwrap().iter().filter(|s| is_smooth(s)).count()
}

fn try_reverse(case: &Case, random: &mut Random, only: Option<usize>) -> Checked {
    if !has_floats(case) {
        return Ok(Verdict::NoFloats);
    }
    let given = leaves(&case.inputs);
    let outputs = record(&case.primitive, &given);
    let mut place = 0;
    let mut cotangents: Slots = Vec::new();
    for output in &outputs {
        let smooth = is_smooth(output.spec());
        let wanted = smooth && only.is_none_or(|only| only == place);
        place += usize::from(smooth);
        cotangents.push(wanted.then(|| {
            let weights = Value::constant(random.like(output.spec()));
            sized(case, &given, &weights)
        }));
    }
    let found = vjp(&outputs, &given, &cotangents)?;
    if stops(case) {
        assert!(found.iter().all(Option::is_none));
        return Ok(Verdict::Zero);
    }
    if !runs(case) {
        return Ok(Verdict::Recorded);
    }
    let Some(at) = along(case, random) else { return Ok(Verdict::Incomparable) };
    let weights = filled(&cotangents, &given, &at.inputs).unwrap();
    // What the results' changes along the direction come to.
    let (mut expected, mut size) = (0.0, 0.0);
    for (weights, differences) in weights.iter().zip(&at.differences) {
        let Some(weights) = weights else { continue };
        for (w, d) in parts(weights).iter().zip(differences) {
            expected += w * d;
            size += (w * d).abs();
        }
    }
    let Some(found) = filled(&found, &given, &at.inputs) else { return Ok(Verdict::Incomparable) };
    let mut back = 0.0;
    for (cotangent, directions) in found.iter().zip(&at.directions) {
        let Some(cotangent) = cotangent else { continue };
        back += parts(cotangent).iter().zip(directions).map(|(c, d)| c * d).sum::<f64>();
    }
    if (at.finite && back.is_nan()) || (expected - back).abs() > at.close * (1.0 + size) {
        return Ok(Verdict::Differs(format!("{back} along a direction, differences give {expected}")));
    }
    Ok(if found.iter().all(Option::is_none) { Verdict::Zero } else { Verdict::Agrees })
}

/// Ties and zeros included, which the cases hold as they stand.
#[test]
fn forward_and_reverse_agree_where_elements_tie() {
    let mut random = Random::new(10);
    let (mut faults, mut tried) = (Vec::new(), 0);
    for case in Primitive::cases().iter().filter_map(crate::calls::smooth_subject).filter(has_floats) {
        match tie_fault(&case, &mut random) {
            Ok(fault) => {
                tried += 1;
                faults.extend(fault.map(|fault| format!("{:?}: {fault}", case.primitive)));
            }
            Err(TransformError::Undefined { .. }) => {}
            Err(error) => faults.push(format!("{:?}: {error}", case.primitive)),
        }
    }
    assert!(faults.is_empty() && tried > 1000, "{tried} tried:\n{}", faults.join("\n"));
}

fn tie_fault(case: &Case, random: &mut Random) -> Result<Option<String>, TransformError> {
    let inputs = leaves(&case.inputs);
    let outputs = record(&case.primitive, &inputs);
    let mut some = |of: &[Value]| -> Slots {
        of.iter().map(|v| is_smooth(v.spec()).then(|| Value::constant(random.like(v.spec())))).collect()
    };
    let (tangents, cotangents) = (some(&inputs), some(&outputs));
    let cotangents: Slots = cotangents.into_iter().map(|c| c.map(|c| sized(case, &inputs, &c))).collect();
    let forward = jvp(&outputs, &inputs, &tangents)?;
    let reverse = vjp(&outputs, &inputs, &cotangents)?;
    let product = |found: Slots, with: &Slots| -> Option<f64> {
        let pairs = found.into_iter().zip(with).filter_map(|(found, with)| Some((found?, with.clone()?)));
        pairs
            .map(|(found, with)| {
                let both = computed(&[found, with], &inputs, &case.inputs).ok()?;
                Some(parts(&both[0]).iter().zip(parts(&both[1])).map(|(a, b)| a * b).sum::<f64>())
            })
            .sum()
    };
    // A singular matrix has a determinant, say, and no inverse for its derivative.
    let (along, back) = match (product(forward, &cotangents), product(reverse, &tangents)) {
        (Some(along), Some(back)) => (along, back),
        (None, None) => return Ok(None),
        (along, back) => return Ok(Some(format!("forward {along:?}, in reverse {back:?}"))),
    };
    let specs: Vec<&Spec> = inputs.iter().chain(&outputs).map(Value::spec).collect();
    let close = if is_single(&specs) { 1e-3 } else { 1e-9 };
    let differ = along.is_nan() != back.is_nan() || (along - back).abs() > close * (1.0 + along.abs());
    let far = differ && !along.is_infinite();
    Ok(far.then(|| format!("forward {along}, in reverse {back}")))
}
