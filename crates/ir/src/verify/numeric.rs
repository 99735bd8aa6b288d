use oneir_tensor::{Class, DType, HostTensor, Values};

use crate::graph::{GraphError, Role, Tensor, TensorGraph};
use crate::reference;

/// How far two numbers may be apart: absolute, and relative to the expected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// Absolute part.
    pub absolute: f64,
    /// Relative part.
    pub relative: f64,
}

impl Tolerance {
    /// A few units in the last place of a dtype; exact for others than floats.
    pub fn of(dtype: DType) -> Tolerance {
        let relative = match dtype {
            DType::F64 => 1e-12,
            DType::F16 => 4e-3,
            DType::BF16 => 3e-2,
            d if d.is_inexact() => 2e-5,
            _ => 0.0,
        };
        Tolerance { absolute: relative, relative }
    }

    /// The first element in which `found` is not close to `expected`. NaN is
    /// close to NaN, and an infinity to itself.
    pub fn first_difference(&self, expected: &HostTensor, found: &HostTensor) -> Option<usize> {
        let (Ok(a), Ok(b)) = (expected.values(), found.values()) else { return Some(0) };
        if !expected.dtype().is_inexact() {
            return (0..a.len()).find(|&i| a.select(&[i]) != b.select(&[i]));
        }
        let close = |x: f64, y: f64| {
            x == y || (x.is_nan() && y.is_nan()) || (x - y).abs() <= self.absolute + self.relative * x.abs()
        };
        a.to_complex().iter().zip(b.to_complex()).position(|(x, y)| !close(x.re, y.re) || !close(x.im, y.im))
    }
}

/// A value that fits a tensor: floats within ±1, small counts, ones for
/// parameters. The same seed gives the same value.
pub fn sample(tensor: &Tensor, seed: u64) -> Result<HostTensor, GraphError> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 11
    };
    let numbers: Vec<f64> = (0..tensor.shape.count())
        .map(|_| match (tensor.role, tensor.dtype.class()) {
            (Role::Parameter, _) => 1.0,
            (_, Class::Float | Class::Complex) => next() as f64 / (1u64 << 52) as f64 - 1.0,
            (_, Class::Bool) => (next() % 2) as f64,
            _ => (next() % 5) as f64,
        })
        .collect();
    HostTensor::from_values(tensor.dtype, &tensor.shape, &Values::Float(numbers).convert(tensor.dtype))
        .map_err(|e| GraphError::Interface {
            what: "a sample".into(),
            expected: "a value".into(),
            found: e.to_string(),
        })
}

/// Two graphs with one interface give close results, and leave close states,
/// on the same sampled inputs.
///
/// # Errors
/// The first element that differs, or why a graph does not run.
pub fn numeric(before: &TensorGraph, after: &TensorGraph, seed: u64) -> Result<(), GraphError> {
    let inputs = before
        .inputs
        .iter()
        .enumerate()
        .map(|(i, &id)| sample(before.tensor(id), seed.wrapping_add(i as u64 + 1)))
        .collect::<Result<Vec<_>, _>>()?;
    numeric_on(before, after, &inputs)
}

/// As [`numeric`], on given inputs.
///
/// # Errors
/// As [`numeric`].
pub fn numeric_on(
    before: &TensorGraph,
    after: &TensorGraph,
    inputs: &[HostTensor],
) -> Result<(), GraphError> {
    let (expected, expected_states) = reference::run_step(before, inputs)?;
    let (found, found_states) = reference::run_step(after, inputs)?;
    let pairs = expected.iter().chain(&expected_states).zip(found.iter().chain(&found_states));
    for (output, (e, f)) in pairs.enumerate() {
        if e.dtype() != f.dtype() || e.shape() != f.shape() {
            return Err(GraphError::Interface {
                what: format!("output {output}"),
                expected: format!("{}{}", e.dtype(), e.shape()),
                found: format!("{}{}", f.dtype(), f.shape()),
            });
        }
        if let Some(element) = Tolerance::of(e.dtype()).first_difference(e, f) {
            let show = |t: &HostTensor| {
                t.values().map_or_else(|e| e.to_string(), |v| format!("{:?}", v.select(&[element])))
            };
            return Err(GraphError::Differs { output, element, expected: show(e), found: show(f) });
        }
    }
    Ok(())
}
