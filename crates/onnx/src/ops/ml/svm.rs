//! Support vector machines.

use oneir_array::{Array, DType};

use super::scores::{Labels, PostTransform, chosen, counted, features};
use crate::OnnxError;
use crate::call::{Call, Results};

/// How alike a row and a vector are.
enum Kernel {
    Linear,
    Poly { gamma: f64, offset: f64, degree: f64 },
    Rbf { gamma: f64 },
    Sigmoid { gamma: f64, offset: f64 },
}

impl Kernel {
    fn of(call: &Call<'_>) -> Result<Kernel, OnnxError> {
        let kind = call.attributes().string_or("kernel_type", "LINEAR")?;
        let given = call.attributes().floats_or("kernel_params", &[])?;
        let [gamma, offset, degree] = match given[..] {
            [] => [0.0; 3],
            [gamma, offset, degree] => [gamma, offset, degree].map(f64::from),
            _ => return Err(call.fails(format!("kernel_params must be 3 numbers, found {}", given.len()))),
        };
        Ok(match kind {
            "LINEAR" => Kernel::Linear,
            "POLY" => Kernel::Poly { gamma, offset, degree },
            "RBF" => Kernel::Rbf { gamma },
            "SIGMOID" => Kernel::Sigmoid { gamma, offset },
            other => return Err(call.fails(format!("kernel_type {other} is not known"))),
        })
    }

    /// Of each row of `x` and each of `vectors`, both f64: squared distances are
    /// differences of large numbers.
    fn between(&self, x: &Array, vectors: &Array) -> Array {
        let product = x.matmul(&vectors.transpose([1, 0]));
        match *self {
            Kernel::Linear => product,
            Kernel::Poly { gamma, offset, degree } => {
                let base: Array = product * gamma + offset;
                base.power(Array::full(&[], degree, DType::F64))
            }
            Kernel::Rbf { gamma } => {
                let square = |rows: &Array| rows.square().sum([-1], true);
                let both = square(x) + square(vectors).transpose([1, 0]);
                let apart: Array = both - product * 2.0;
                (apart * -gamma).exp()
            }
            Kernel::Sigmoid { gamma, offset } => {
                let line: Array = product * gamma + offset;
                line.tanh()
            }
        }
    }
}

/// Numbers of an attribute as rows of `width`.
fn rows(call: &Call<'_>, name: &str, width: usize) -> Result<Array, OnnxError> {
    let list = call.attributes().floats_or(name, &[])?;
    if width == 0 || !list.len().is_multiple_of(width) {
        return Err(call.fails(format!("{name}: {} numbers are no rows of {width}", list.len())));
    }
    Ok(Array::from_slice(list, &[list.len() / width, width]).astype(DType::F64))
}

fn first_rho(call: &Call<'_>) -> Result<f64, OnnxError> {
    let rho = call.attributes().floats_or("rho", &[])?;
    rho.first().map(|&rho| f64::from(rho)).ok_or_else(|| call.fails("no rho is given"))
}

pub(super) fn regressor(call: &Call<'_>) -> Results {
    let (kernel, transform) = (Kernel::of(call)?, PostTransform::of(call)?);
    let x = counted(&features(call)?).astype(DType::F64);
    let width = x.shape()[1];
    let count = call.attributes().int_or("n_supports", 0)?;
    let score = if count > 0 {
        let vectors = rows(call, "support_vectors", width)?;
        let weights = rows(call, "coefficients", 1)?;
        if [vectors.shape()[0], weights.shape()[0]].iter().any(|&n| n as i64 != count) {
            return Err(call.fails(format!(
                "{} support vectors and {} coefficients are given where n_supports is {count}",
                vectors.shape()[0],
                weights.shape()[0]
            )));
        }
        kernel.between(&x, &vectors).matmul(&weights)
    } else {
        let weights = rows(call, "coefficients", width)?;
        if weights.shape()[0] != 1 {
            return Err(call.fails("there must be a coefficient for each feature"));
        }
        kernel.between(&x, &weights)
    };
    let score: Array = score + first_rho(call)?;
    let number = |v: f64| Array::full(&[], v, DType::F64);
    let score = if call.attributes().int_or("one_class", 0)? != 0 {
        score.greater(number(0.0)).where_(number(1.0), number(-1.0))
    } else {
        score
    };
    call.one(transform.apply(&score).astype(DType::F32))
}

/// A row of weights for each class, or machines that each choose between two
/// classes and vote.
pub(super) fn classifier(call: &Call<'_>) -> Results {
    let (kernel, transform) = (Kernel::of(call)?, PostTransform::of(call)?);
    let labels = Labels::of(call, "classlabels_ints")?;
    let x = counted(&features(call)?).astype(DType::F64);
    let width = x.shape()[1];
    let per_class = call.attributes().ints_or("vectors_per_class", &[])?;
    let classes = labels.len();
    if per_class.is_empty() {
        let weights = rows(call, "coefficients", width)?;
        if weights.shape()[0] != classes {
            return Err(call.fails(format!("{} rows of weights for {classes} labels", weights.shape()[0])));
        }
        let scores: Array = kernel.between(&x, &weights) + first_rho(call)?;
        return labels.with_scores(call, &chosen(&scores), transform.apply(&scores));
    }
    if per_class.len() != classes || classes < 2 {
        let found = per_class.len();
        return Err(call.fails(format!("vectors of {found} classes are given for {classes} labels")));
    }
    let vectors = rows(call, "support_vectors", width)?;
    let decisions = decisions(call, per_class, vectors.shape()[0])?;
    let rho = call.attributes().floats_or("rho", &[])?;
    let pairs: Vec<(usize, usize)> =
        (0..classes).flat_map(|i| (i + 1..classes).map(move |j| (i, j))).collect();
    if rho.len() != pairs.len() {
        return Err(call.fails(format!("{} rho are given for {} pairs of classes", rho.len(), pairs.len())));
    }
    let rho = Array::from_slice(rho, &[pairs.len()]).astype(DType::F64);
    let scores = kernel.between(&x, &vectors).matmul(&decisions) + rho;
    // The votes for each class: of pairs where it is the first, those above 0,
    // and where it is the second, the others.
    let mut sides = vec![0f64; call.bounded("the votes", pairs.len().checked_mul(classes))?];
    let mut given = vec![0f64; classes];
    for (k, &(i, j)) in pairs.iter().enumerate() {
        (sides[k * classes + i], sides[k * classes + j]) = (1.0, -1.0);
        given[j] += 1.0;
    }
    let firsts = scores.greater(Array::full(&[], 0.0, DType::F64)).astype(DType::F64);
    let votes = firsts.matmul(&Array::from_slice(&sides, &[pairs.len(), classes]))
        + Array::from_slice(&given, &[classes]);
    let class = chosen(&votes);
    let a = call.attributes().floats_or("prob_a", &[])?;
    if !a.is_empty() {
        let (class, shares) = probabilities(call, &scores, a, &pairs, &class, classes)?;
        return labels.with_scores(call, &class, transform.apply(&shares));
    }
    if classes == 2 {
        let shares = matches!(transform, PostTransform::Softmax | PostTransform::SoftmaxZero);
        return labels.with_scores(call, &class, transform.two_sided(&scores, shares));
    }
    labels.with_scores(call, &class, transform.apply(&scores))
}

/// The weight of each vector in each pair's decision: `[vectors, pairs]`. Vectors
/// of a class have a row of coefficients for every other class.
fn decisions(call: &Call<'_>, per_class: &[i64], count: usize) -> Result<Array, OnnxError> {
    let classes = per_class.len();
    let mut starts = vec![0usize];
    for &size in per_class {
        let next = usize::try_from(size).ok().and_then(|size| starts[starts.len() - 1].checked_add(size));
        starts.push(next.ok_or_else(|| call.fails(format!("a class cannot have {size} vectors")))?);
    }
    let coefficients = call.attributes().floats_or("coefficients", &[])?;
    if starts[classes] != count || Some(coefficients.len()) != count.checked_mul(classes - 1) {
        return Err(call.fails(format!(
            "vectors_per_class adds up to {}, where {count} support vectors and {} coefficients are given",
            starts[classes],
            coefficients.len()
        )));
    }
    let pairs = classes * (classes - 1) / 2;
    let size = call.bounded("the decisions", count.checked_mul(pairs))?;
    let mut table = vec![0f32; size];
    let mut pair = 0;
    for i in 0..classes {
        for j in i + 1..classes {
            for (class, row) in [(i, j - 1), (j, i)] {
                for v in starts[class]..starts[class + 1] {
                    table[v * pairs + pair] = coefficients[row * count + v];
                }
            }
            pair += 1;
        }
    }
    Ok(Array::from_slice(&table, &[count, pairs]).astype(DType::F64))
}

/// The probability of each class from those of pairs (Wu, Lin and Weng, 2004,
/// "Probability estimates for multi-class classification by pairwise coupling",
/// the second method). How often it repeats depends on each row's values.
fn probabilities(
    call: &Call<'_>,
    scores: &Array,
    a: &[f32],
    pairs: &[(usize, usize)],
    class: &Array,
    classes: usize,
) -> Result<(Array, Array), OnnxError> {
    let b = call.attributes().floats_or("prob_b", &[])?;
    if a.len() != pairs.len() || b.len() != pairs.len() {
        return Err(call.fails(format!(
            "{} prob_a and {} prob_b are given for {} pairs of classes",
            a.len(),
            b.len(),
            pairs.len()
        )));
    }
    let line = |list: &[f32]| Array::from_slice(list, &[list.len()]).astype(DType::F64);
    let likely = (scores * line(a) + line(b)).negative().sigmoid();
    // One read tells the class too.
    let both = Array::concatenate(&[likely, class.astype(DType::F64).expand_dims([1])], 1);
    let (host, _) = call.read_made(|| Ok((both, vec![])))?;
    let both = host.to_vec::<f64>().map_err(|e| call.fails(e.to_string()))?;
    let (mut found, mut out) = (Vec::new(), Vec::new());
    let mut table = vec![0f64; call.bounded("the probabilities", classes.checked_mul(classes))?];
    for row in both.chunks_exact(pairs.len() + 1) {
        for (&(i, j), &p) in pairs.iter().zip(row) {
            let p = p.clamp(1e-7, 1.0 - 1e-7);
            (table[i * classes + j], table[j * classes + i]) = (p, 1.0 - p);
        }
        out.extend(coupled(&table, classes));
        found.push(row[pairs.len()] as i64);
    }
    Ok((Array::from_slice(&found, &[found.len()]), Array::from_slice(&out, &[found.len(), classes])))
}

/// `r[i, j]` is the probability of class i where it is i or j.
fn coupled(r: &[f64], classes: usize) -> Vec<f64> {
    let q = |t: usize, j: usize| match t == j {
        true => (0..classes).filter(|&k| k != t).map(|k| r[k * classes + t].powi(2)).sum::<f64>(),
        false => -r[j * classes + t] * r[t * classes + j],
    };
    let q: Vec<f64> = (0..classes * classes).map(|k| q(k / classes, k % classes)).collect();
    let mut p = vec![1.0 / classes as f64; classes];
    for _ in 0..classes.max(100) {
        let mut qp: Vec<f64> =
            q.chunks_exact(classes).map(|row| row.iter().zip(&p).map(|(q, p)| q * p).sum()).collect();
        let mut pqp: f64 = p.iter().zip(&qp).map(|(p, qp)| p * qp).sum();
        if qp.iter().all(|v| (v - pqp).abs() < 0.005 / classes as f64) {
            break;
        }
        for t in 0..classes {
            let own = q[t * classes + t];
            let step = (pqp - qp[t]) / own;
            let scale = 1.0 + step;
            p[t] += step;
            pqp = (pqp + step * (step * own + 2.0 * qp[t])) / (scale * scale);
            for j in 0..classes {
                qp[j] = (qp[j] + step * q[t * classes + j]) / scale;
                p[j] /= scale;
            }
        }
    }
    p
}
