//! One step of an optimizer (domain `ai.onnx.preview.training`).

use oneir_array::{Array, DType};

use super::{Row, row};
use crate::OnnxError;
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[
    row!("ai.onnx.preview.training" Momentum [1] => momentum),
    row!("ai.onnx.preview.training" Adagrad [1] => adagrad),
    row!("ai.onnx.preview.training" Adam [1] => adam),
];

/// What an optimizer works on: for each tensor its value, gradient, and what
/// was gathered before.
struct Step {
    rate: Array,
    count: Array,
    tensors: Vec<Vec<Array>>,
}

impl Step {
    /// Inputs come by kind: all values, all gradients, and so on.
    fn of(call: &Call<'_>, kinds: usize) -> Result<Step, OnnxError> {
        let given = call.inputs.len().saturating_sub(2);
        if given == 0 || !given.is_multiple_of(kinds) {
            return Err(call.fails(format!("{given} tensors are no {kinds} for each")));
        }
        let each = given / kinds;
        let of = |i: usize| (0..kinds).map(|k| call.array(2 + k * each + i)).collect();
        let tensors = (0..each).map(of).collect::<Result<_, _>>()?;
        Ok(Step { rate: call.array(0)?.reshape(&[]), count: call.array(1)?.reshape(&[]), tensors })
    }

    /// The results by kind.
    fn results(
        &self,
        call: &Call<'_>,
        update: impl Fn(&[Array]) -> Result<Vec<Array>, OnnxError>,
    ) -> Results {
        let each = self.tensors.iter().map(|t| update(t)).collect::<Result<Vec<_>, _>>()?;
        let mut results = Vec::new();
        for kind in 0..each.first().map_or(0, Vec::len) {
            for (made, given) in each.iter().zip(&self.tensors) {
                let made = made[kind].astype(given[0].dtype());
                call.checked(&made)?;
                results.push(made.into());
            }
        }
        Ok(results)
    }

    fn began(&self) -> Array {
        self.count.greater(Array::full(&[], 0.0, DType::I64))
    }
}

/// The gradient with that of the squared length's penalty.
fn regularised(call: &Call<'_>, x: &Array, gradient: &Array) -> Result<Array, OnnxError> {
    let penalty = f64::from(call.attributes().float_or("norm_coefficient", 0.0)?);
    Ok(x * penalty + gradient)
}

fn momentum(call: &Call<'_>) -> Results {
    let step = Step::of(call, 3)?;
    let alpha = f64::from(call.attributes().float("alpha")?);
    let beta = f64::from(call.attributes().float("beta")?);
    let nesterov = match call.attributes().string("mode")? {
        "standard" => false,
        "nesterov" => true,
        other => return Err(call.fails(format!("mode must be standard or nesterov, found {other}"))),
    };
    step.results(call, |given| {
        let [x, gradient, before] = given else { return Err(call.fails("a tensor is missing")) };
        let gradient = regularised(call, x, gradient)?;
        let number = |v: f64| Array::full(&[], v, x.dtype());
        let share = step.began().where_(number(beta), number(1.0));
        let gathered: Array = before * alpha + gradient.multiply(&share);
        let along = if nesterov { gradient + &gathered * alpha } else { gathered.clone() };
        Ok(vec![x.subtract(step.rate.multiply(&along)), gathered])
    })
}

fn adagrad(call: &Call<'_>) -> Results {
    let step = Step::of(call, 3)?;
    let decay = f64::from(call.attributes().float_or("decay_factor", 0.0)?);
    let eps = f64::from(call.attributes().float_or("epsilon", 1e-6)?);
    step.results(call, |given| {
        let [x, gradient, before] = given else { return Err(call.fails("a tensor is missing")) };
        let count = step.count.astype(x.dtype());
        let rate = step.rate.divide(&(count * decay + 1.0));
        let gradient = regularised(call, x, gradient)?;
        let gathered = before.add(gradient.square());
        let moved = rate.multiply(&gradient).divide(&(gathered.sqrt() + eps));
        Ok(vec![x.subtract(&moved), gathered])
    })
}

fn adam(call: &Call<'_>) -> Results {
    let step = Step::of(call, 4)?;
    let number = |name, default| call.attributes().float_or(name, default).map(f64::from);
    let (alpha, beta) = (number("alpha", 0.9)?, number("beta", 0.999)?);
    let (eps, after) = (number("epsilon", 1e-6)?, number("norm_coefficient_post", 0.0)?);
    step.results(call, |given| {
        let [x, gradient, first, second] = given else { return Err(call.fails("a tensor is missing")) };
        let gradient = regularised(call, x, gradient)?;
        let first: Array = first * alpha + &gradient * (1.0 - alpha);
        let second: Array = second * beta + gradient.square() * (1.0 - beta);
        let count = step.count.astype(x.dtype());
        // What the averages lack at first, as they began at zero.
        let lacking = |base: f64| {
            let power = Array::full(&[], base, x.dtype()).power(&count);
            Array::full(&[], 1.0, x.dtype()).subtract(&power)
        };
        let adjusted = step.rate.multiply(lacking(beta).sqrt()).divide(lacking(alpha));
        let rate = step.began().where_(&adjusted, &step.rate);
        let moved = rate.multiply(&first).divide(&(second.sqrt() + eps));
        Ok(vec![x.subtract(&moved) * (1.0 - after), first, second])
    })
}
