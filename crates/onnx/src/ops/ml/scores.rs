//! What classifiers and regressors share: rows of features, labels, and what is
//! done to scores; and the linear ones.

use oneir_array::{Array, DType};

use crate::OnnxError;
use crate::call::{Call, Results};
use crate::term::{Strings, Term};

/// What is done to scores at last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PostTransform {
    None,
    Softmax,
    Logistic,
    /// A softmax over the scores that are not 0, which stay 0.
    SoftmaxZero,
    /// The number below which a share of a normal distribution lies.
    Probit,
}

impl PostTransform {
    pub(super) fn of(call: &Call<'_>) -> Result<PostTransform, OnnxError> {
        Ok(match call.attributes().string_or("post_transform", "NONE")? {
            "NONE" => PostTransform::None,
            "SOFTMAX" => PostTransform::Softmax,
            "LOGISTIC" => PostTransform::Logistic,
            "SOFTMAX_ZERO" => PostTransform::SoftmaxZero,
            "PROBIT" => PostTransform::Probit,
            other => return Err(call.fails(format!("post_transform {other} is not known"))),
        })
    }

    pub(super) fn numbered(call: &Call<'_>, number: i64) -> Result<PostTransform, OnnxError> {
        Ok(match number {
            0 => PostTransform::None,
            1 => PostTransform::Softmax,
            2 => PostTransform::Logistic,
            3 => PostTransform::SoftmaxZero,
            4 => PostTransform::Probit,
            other => return Err(call.fails(format!("post_transform {other} is not known"))),
        })
    }

    /// Applied to scores `[rows, scores]`.
    pub(super) fn apply(self, scores: &Array) -> Array {
        let number = |v: f64| Array::full(&[], v, scores.dtype());
        match self {
            PostTransform::None => scores.clone(),
            PostTransform::Softmax => scores.softmax(-1),
            PostTransform::Logistic => scores.sigmoid(),
            PostTransform::SoftmaxZero => {
                let counts = scores.abs().greater(number(1e-7));
                let hidden = counts.where_(scores, number(f64::NEG_INFINITY));
                counts.where_(hidden.softmax(-1), number(0.0))
            }
            PostTransform::Probit => {
                let centred: Array = scores * 2.0 - 1.0;
                centred.erfinv() * std::f64::consts::SQRT_2
            }
        }
    }

    /// Two scores from the one of the second of two classes, `[rows, 1]`: the
    /// other is what is left of 1, or the opposite.
    pub(super) fn two_sided(self, score: &Array, shares: bool) -> Array {
        let other = if shares { score.negative() + 1.0 } else { score.negative() };
        let pair = |first: Array, second: Array| Array::concatenate(&[first, second], -1);
        match self {
            PostTransform::Logistic => pair(score.negative().sigmoid(), score.sigmoid()),
            PostTransform::Probit => pair(self.apply(score).negative(), self.apply(score)),
            // A softmax is of more scores than one.
            _ => pair(other, score.clone()),
        }
    }
}

/// The names of classes.
pub(super) enum Labels {
    Ints(Vec<i64>),
    Strings(Vec<Vec<u8>>),
}

impl Labels {
    /// The labels in `classlabels_strings` or the attribute `ints`; where there
    /// are none, the numbers from 0 on name two classes.
    pub(super) fn of(call: &Call<'_>, ints: &str) -> Result<Labels, OnnxError> {
        let attributes = call.attributes();
        if let Some(strings) = attributes.find_byte_strings("classlabels_strings")?.filter(|s| !s.is_empty())
        {
            return Ok(Labels::Strings(strings.to_vec()));
        }
        Ok(Labels::Ints(attributes.ints_or(ints, &[0, 1])?.to_vec()))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Labels::Ints(labels) => labels.len(),
            Labels::Strings(labels) => labels.len(),
        }
    }

    /// The results of a classifier from the numbers of classes and the scores.
    /// Strings are made on the host.
    pub(super) fn with_scores(&self, call: &Call<'_>, class: &Array, scores: Array) -> Results {
        let scores = scores.astype(DType::F32);
        call.checked(&scores)?;
        match self {
            Labels::Ints(labels) => {
                let label = Array::from_slice(labels, &[labels.len()]).take(class, 0);
                call.checked(&label)?;
                Ok(vec![label.into(), scores.into()])
            }
            Labels::Strings(labels) => {
                let (host, kept) = call.read_made(|| Ok((class.clone(), vec![scores])))?;
                let classes = host.to_vec::<i64>().map_err(|e| call.fails(e.to_string()))?;
                let named = |class: &i64| labels.get(*class as usize).cloned().unwrap_or_default();
                let values = classes.iter().map(named).collect();
                let label = Term::Strings(Strings { shape: host.shape().to_vec(), values });
                Ok(std::iter::once(label).chain(kept.into_iter().map(Term::from)).collect())
            }
        }
    }
}

/// The number of the largest score of each row, the first where several are.
pub(super) fn chosen(scores: &Array) -> Array {
    scores.argmax(-1, false).astype(DType::I64)
}

/// Input 0 as rows of features; a vector is one row.
pub(super) fn features(call: &Call<'_>) -> Result<Array, OnnxError> {
    let x = call.array(0)?;
    match x.ndim() {
        1 => Ok(x.expand_dims([0])),
        2 => Ok(x),
        _ => Err(call.fails("the input must be rows of features")),
    }
}

/// Integers count in f64, other types as they are.
pub(super) fn counted(x: &Array) -> Array {
    x.astype(if x.dtype().is_float() { x.dtype() } else { DType::F64 })
}

/// x · coefficientsᵀ + intercepts, for `outputs` rows of coefficients.
fn line(call: &Call<'_>, outputs: usize) -> Result<Array, OnnxError> {
    let x = counted(&features(call)?);
    let attributes = call.attributes();
    let coefficients = attributes.floats_or("coefficients", &[])?;
    let width = x.shape()[1];
    if outputs.checked_mul(width) != Some(coefficients.len()) {
        return Err(call.fails(format!(
            "{} coefficients are given where {outputs} outputs of {width} features need {outputs} · {width}",
            coefficients.len()
        )));
    }
    let weights = Array::from_slice(coefficients, &[outputs, width]).astype(x.dtype());
    let product = x.matmul(&weights.transpose([1, 0]));
    let intercepts = attributes.floats_or("intercepts", &[])?;
    match intercepts.len() {
        0 => Ok(product),
        n if n == outputs => Ok(product + Array::from_slice(intercepts, &[n]).astype(x.dtype())),
        n => Err(call.fails(format!("{n} intercepts are given for {outputs} outputs"))),
    }
}

pub(super) fn linear_regressor(call: &Call<'_>) -> Results {
    let transform = PostTransform::of(call)?;
    let targets = call.attributes().int_or("targets", 1)?;
    let targets = usize::try_from(targets).ok().filter(|&n| n > 0);
    let targets = targets.ok_or_else(|| call.fails("the number of targets must be positive"))?;
    call.one(transform.apply(&line(call, targets)?).astype(DType::F32))
}

/// Of two classes one row of coefficients may be given, which is the second's.
pub(super) fn linear_classifier(call: &Call<'_>) -> Results {
    let transform = PostTransform::of(call)?;
    let labels = Labels::of(call, "classlabels_ints")?;
    let width = features(call)?.shape()[1].max(1);
    let outputs = call.attributes().floats("coefficients")?.len() / width;
    let scores = line(call, outputs)?;
    if outputs == 1 && labels.len() == 2 {
        let zero = Array::full(&[], 0.0, scores.dtype());
        let class = scores.greater(&zero).squeeze([1]).astype(DType::I64);
        return labels.with_scores(call, &class, transform.two_sided(&scores, true));
    }
    if outputs != labels.len() {
        return Err(
            call.fails(format!("{outputs} rows of coefficients are given for {} labels", labels.len()))
        );
    }
    labels.with_scores(call, &chosen(&scores), transform.apply(&scores))
}
