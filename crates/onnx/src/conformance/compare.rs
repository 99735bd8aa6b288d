use oneir_array::{DType, Device, HostTensor};
use oneir_tensor::Values;

use super::randomness::Range;
use crate::{Graph, OnnxError, OnnxFile, Term};

/// How a result differs from the right one.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Difference {
    /// The model gives no such output.
    #[error("is missing")]
    Missing,
    /// Another kind of value, shape or element type.
    #[error("is {found}, expected {expected}")]
    Form {
        /// What the result is.
        found: String,
        /// What it must be.
        expected: String,
    },
    /// Elements that are not near enough.
    #[error("differs in {count} of {of} elements: {form}[{at}] is {found}, expected {expected}")]
    Elements {
        /// Element type and shape.
        form: String,
        /// How many differ.
        count: usize,
        /// How many there are.
        of: usize,
        /// The first that differs, in row order.
        at: usize,
        /// What it is.
        found: String,
        /// What it must be.
        expected: String,
    },
    /// A random element that cannot be.
    #[error("{form}[{at}] is {found}, expected {range}")]
    Range {
        /// Element type and shape.
        form: String,
        /// The first that is out of range, in row order.
        at: usize,
        /// What it is.
        found: String,
        /// What random values are there.
        range: String,
    },
    /// An item of a sequence differs.
    #[error("item {index} {difference}")]
    Item {
        /// Which.
        index: usize,
        /// How.
        difference: Box<Difference>,
    },
}

/// How elements are compared.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    /// Each is near the right one.
    Near,
    /// As `Near`, where rounding errors are as large as the largest element
    /// makes them.
    Transformed,
    /// Each is one that a random operator may give.
    Random(Range),
}

impl Rule {
    /// The rule for the results of a model that are not random. A Fourier
    /// transform sums all elements into each, and so do the right results,
    /// which were computed in single precision.
    pub(super) fn of(file: &OnnxFile) -> Rule {
        let graphs = std::iter::once(&file.graph).chain(file.functions.iter().map(|f| &*f.body));
        if graphs.into_iter().any(transforms) { Rule::Transformed } else { Rule::Near }
    }
}

fn transforms(graph: &Graph) -> bool {
    graph.nodes.iter().any(|node| {
        let here = node.domain.is_empty() && matches!(node.op_type.as_str(), "DFT" | "STFT");
        here || node.attributes.all_graphs().any(|graph| transforms(graph))
    })
}

/// How a result of a run differs from the right one.
pub(super) fn differs(
    device: &Device,
    found: &Term,
    right: &Term,
    rule: Rule,
) -> Result<Option<Difference>, OnnxError> {
    let form = || Some(Difference::Form { found: found.describe(), expected: right.describe() });
    Ok(match (found, right) {
        (Term::Strings(a), Term::Strings(b)) if a.shape != b.shape => form(),
        (Term::Strings(a), Term::Strings(b)) => {
            let text = |bytes: &[u8]| format!("{:?}", String::from_utf8_lossy(bytes));
            let apart: Vec<usize> = (0..b.values.len()).filter(|&i| a.values[i] != b.values[i]).collect();
            apart.first().map(|&at| Difference::Elements {
                form: found.describe(),
                count: apart.len(),
                of: b.values.len(),
                at,
                found: text(&a.values[at]),
                expected: text(&b.values[at]),
            })
        }
        (Term::Sequence(a), Term::Sequence(b)) if a.len() != b.len() => form(),
        (Term::Sequence(a), Term::Sequence(b)) => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                if let Some(difference) = differs(device, a, b, rule)? {
                    return Ok(Some(Difference::Item { index, difference: Box::new(difference) }));
                }
            }
            None
        }
        (Term::Map(a), Term::Map(b)) if a.keys == b.keys => differs(device, &a.values, &b.values, rule)?,
        (Term::Optional(None), Term::Optional(None)) => None,
        (Term::Optional(Some(a)), Term::Optional(Some(b))) => differs(device, a, b, rule)?,
        (Term::Array(array), Term::Host(right)) => {
            oneir_array::eval_on(device, std::slice::from_ref(array))?;
            apart(&array.to_host()?, right, rule)?
        }
        (Term::Host(found), Term::Host(right)) => apart(found, right, rule)?,
        _ => form(),
    })
}

fn apart(found: &HostTensor, right: &HostTensor, rule: Rule) -> Result<Option<Difference>, OnnxError> {
    let form = |t: &HostTensor| format!("{}{}", t.dtype(), t.shape());
    if form(found) != form(right) {
        return Ok(Some(Difference::Form { found: form(found), expected: form(right) }));
    }
    let values = |t: &HostTensor| t.values().map_err(oneir_array::ArrayError::from);
    let (a, b) = (values(found)?, values(right)?);
    let one = |values: &Values, at: usize| match values {
        Values::Bool(v) => v[at].to_string(),
        Values::Signed(v) => v[at].to_string(),
        Values::Unsigned(v) => v[at].to_string(),
        Values::Float(v) => v[at].to_string(),
        Values::Complex(v) => v[at].to_string(),
    };
    if let Rule::Random(range) = rule {
        let at = match &a {
            Values::Complex(a) => a.iter().position(|v| !range.holds(v.re) || !range.holds(v.im)),
            a => a.to_floats().iter().position(|&v| !range.holds(v)),
        };
        return Ok(at.map(|at| Difference::Range {
            form: form(found),
            at,
            found: one(&a, at),
            range: range.to_string(),
        }));
    }
    let relative = if right.dtype() == DType::BF16 { 2f64.powi(-6) } else { 1e-3 };
    let mut absolute = 1e-7;
    if let Rule::Transformed = rule {
        let finite = |most: f64, v: f64| if v.is_finite() { most.max(v.abs()) } else { most };
        let largest = b.to_complex().iter().fold(0.0, |most, v| finite(finite(most, v.re), v.im));
        absolute += largest * f64::from(f32::EPSILON) / 2.0;
    }
    let near = |a: f64, b: f64| {
        let far = absolute + relative * b.abs();
        a == b || (a.is_nan() && b.is_nan()) || (b.is_finite() && (a - b).abs() <= far)
    };
    let wrong: Vec<usize> = match (&a, &b) {
        (Values::Float(a), Values::Float(b)) => (0..b.len()).filter(|&i| !near(a[i], b[i])).collect(),
        (Values::Complex(a), Values::Complex(b)) => {
            (0..b.len()).filter(|&i| !near(a[i].re, b[i].re) || !near(a[i].im, b[i].im)).collect()
        }
        (Values::Bool(a), Values::Bool(b)) => (0..b.len()).filter(|&i| a[i] != b[i]).collect(),
        (Values::Signed(a), Values::Signed(b)) => (0..b.len()).filter(|&i| a[i] != b[i]).collect(),
        (Values::Unsigned(a), Values::Unsigned(b)) => (0..b.len()).filter(|&i| a[i] != b[i]).collect(),
        // One dtype is of one class.
        (_, b) => (0..b.len()).collect(),
    };
    Ok(wrong.first().map(|&at| Difference::Elements {
        form: form(found),
        count: wrong.len(),
        of: b.len(),
        at,
        found: one(&a, at),
        expected: one(&b, at),
    }))
}
