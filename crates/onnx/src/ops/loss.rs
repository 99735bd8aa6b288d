//! Losses.

use oneir_array::{Array, DType};

use super::nn::log_softmax;
use super::{Row, row};
use crate::OnnxError;
use crate::call::Call;

pub(super) const ROWS: &[Row] = &[
    row!(NegativeLogLikelihoodLoss [12, 13, 22] => |call| {
        call.one(negative_log_likelihood(call, &call.array(0)?)?)
    }),
    row!(SoftmaxCrossEntropyLoss [12, 13] => |call| {
        let scores = call.array(0)?;
        if scores.ndim() < 2 {
            return Err(call.fails("the scores must have a batch and a class dimension"));
        }
        let logarithms = log_softmax(&scores, 1);
        let loss = negative_log_likelihood(call, &logarithms)?;
        call.checked(&loss)?;
        Ok(vec![loss.into(), logarithms.into()])
    }),
];

/// Of logarithms of probabilities `[N, C, …]`, what the right classes
/// `[N, …]` lack of 0, weighted by class.
fn negative_log_likelihood(call: &Call<'_>, x: &Array) -> Result<Array, OnnxError> {
    let target = call.array(1)?.astype(DType::I64);
    let weight = call.optional(2)?;
    if x.ndim() < 2 || target.ndim() + 1 != x.ndim() {
        return Err(call.fails("the targets must have the input's dimensions without the class's"));
    }
    let dtype = x.dtype();
    let wide = x.astype(dtype.accumulator());
    let zero = Array::full(&[], 0.0, wide.dtype());
    let ignored = call.attributes().find_int("ignore_index")?;
    let ignored = ignored.map(|class| target.equal(Array::scalar(class)));
    // What is ignored may be no class at all.
    let class = match &ignored {
        Some(ignored) => ignored.where_(Array::scalar(0i64), &target),
        None => target,
    };
    let picked = wide.take_along_axis(&class.expand_dims([1]), 1).squeeze([1]);
    let weights = match (&weight, &ignored) {
        (Some(weight), _) => Some(weight.astype(wide.dtype()).take(&class, 0)),
        (None, Some(_)) => Some(Array::ones(&class.shape(), wide.dtype())),
        (None, None) => None,
    };
    let weights = match (weights, &ignored) {
        (Some(weights), Some(ignored)) => Some(ignored.where_(&zero, &weights)),
        (weights, _) => weights,
    };
    let loss = picked.negative();
    let loss = match &weights {
        Some(weights) => loss.multiply(weights),
        None => loss,
    };
    let axes: Vec<isize> = (0..loss.ndim() as isize).collect();
    let out = match (call.attributes().string_or("reduction", "mean")?, &weights) {
        ("none", _) => loss,
        ("sum", _) => loss.sum(&axes, false),
        ("mean", None) => loss.mean(&axes, false),
        ("mean", Some(weights)) => loss.sum(&axes, false).divide(weights.sum(&axes, false)),
        (other, _) => return Err(call.fails(format!("reduction must be none, mean or sum, found {other}"))),
    };
    Ok(out.astype(dtype))
}
