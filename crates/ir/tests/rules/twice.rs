//! Forward derivatives of reverse ones, against finite differences.

use oneir_ir::Value;
use oneir_ir::primitive::{Case, Slots};
use oneir_ir::transform::jvp;
use oneir_tensor::HostTensor;

use crate::calls::{
    Random, Reversed, computed, filled, has_floats, is_single, is_smooth, moved, parts, points, reversed,
    runs,
};
use crate::found::{Checked, Verdict};

/// Tangents of a case's cotangents.
pub(crate) fn jvp_of_vjp(case: &Case, random: &mut Random) -> Vec<Checked> {
    vec![near(case, random)]
}

fn near(case: &Case, random: &mut Random) -> Checked {
    let graph = reversed(case)?;
    if !has_floats(case) {
        return Ok(Verdict::NoFloats);
    }
    if !runs(case) {
        return Ok(Verdict::Recorded);
    }
    for _ in 0..4 {
        let tensors = points(case, &graph.given, random);
        match at_point(&graph, &tensors, random)? {
            Verdict::Incomparable => {}
            found => return Ok(found),
        }
    }
    Ok(Verdict::Incomparable)
}

/// What becomes of the second derivative at a point.
pub(crate) fn at_point(graph: &Reversed, tensors: &[HostTensor], random: &mut Random) -> Checked {
    let Reversed { given, found: gradients } = graph;
    let single = is_single(&given.iter().chain(gradients).map(Value::spec).collect::<Vec<_>>());
    let (step, close) = if single { (2e-3, 4e-2) } else { (1e-6, 1e-4) };
    let directions: Slots = given
        .iter()
        .map(|leaf| is_smooth(leaf.spec()).then(|| Value::constant(random.like(leaf.spec()))))
        .collect();
    let found = jvp(gradients, given, &directions)?;
    let at = |t: f64| -> Option<Vec<Vec<f64>>> {
        let one = |(x, d): (&HostTensor, &Option<Value>)| match d.as_ref().and_then(Value::as_constant) {
            Some(d) => moved(x, parts(d).into_iter().map(|d| t * d)),
            None => x.clone(),
        };
        let tensors: Vec<HostTensor> = tensors.iter().zip(&directions).map(one).collect();
        Some(computed(gradients, given, &tensors).ok()?.iter().map(parts).collect())
    };
    let values = || Some((at(-step)?, at(-0.5 * step)?, at(0.5 * step)?, at(step)?));
    let Some((low, lower, higher, high)) = values() else { return Ok(Verdict::Incomparable) };
    let Some(middle) = at(0.0) else { return Ok(Verdict::Incomparable) };
    let Some(tangents) = filled(&found, given, tensors) else { return Ok(Verdict::Incomparable) };
    for (k, tangent) in tangents.iter().enumerate() {
        let tangent = tangent.as_ref().map_or_else(|| vec![0.0; low[k].len()], parts);
        for (i, tangent) in tangent.into_iter().enumerate() {
            let wide = (high[k][i] - low[k][i]) / (2.0 * step);
            let nearer = (higher[k][i] - lower[k][i]) / step;
            let after = (high[k][i] - middle[k][i]) / step;
            let jumps = |other: f64| (wide - other).abs() > close * (1.0 + wide.abs());
            if !wide.is_finite() || jumps(nearer) || jumps(after) {
                return Ok(Verdict::Incomparable);
            }
            if tangent.is_nan() || (tangent - nearer).abs() > close * (1.0 + nearer.abs()) {
                let fault = format!("cotangent {k}, part {i}: {tangent}, differences give {nearer}");
                return Ok(Verdict::Differs(fault));
            }
        }
    }
    Ok(if found.iter().all(Option::is_none) { Verdict::Zero } else { Verdict::Agrees })
}
