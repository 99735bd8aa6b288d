use oneir_tensor::{DType, Element, HostTensor, Values};

use super::Primitive;

/// One application of a primitive with its right answer, from which the
/// generic tests run: reference, parity of back ends, text round trip.
#[derive(Debug, Clone)]
pub struct Case {
    /// The primitive with its parameters.
    pub primitive: Primitive,
    /// The inputs.
    pub inputs: Vec<HostTensor>,
    /// What must come out.
    pub expected: Expected,
}

/// What a case must give.
#[derive(Debug, Clone)]
pub enum Expected {
    /// These results (floats within a few units in the last place).
    Results(Vec<HostTensor>),
    /// A refusal when recorded, whose message holds this text.
    Refused(&'static str),
    /// An error when computed, whose message holds this text: the inputs fit,
    /// but their data has no result.
    Fails(&'static str),
    /// Whatever the reference evaluation gives: a case for parity only.
    AsReference,
}

impl Case {
    /// A case with a known answer.
    pub fn new(primitive: Primitive, inputs: Vec<HostTensor>, results: Vec<HostTensor>) -> Self {
        Case { primitive, inputs, expected: Expected::Results(results) }
    }

    /// A case that must be refused with a message that holds `text`.
    pub fn refused(primitive: Primitive, inputs: Vec<HostTensor>, text: &'static str) -> Self {
        Case { primitive, inputs, expected: Expected::Refused(text) }
    }

    /// A case whose data has no result, for a reason that holds `text`.
    pub fn fails(primitive: Primitive, inputs: Vec<HostTensor>, text: &'static str) -> Self {
        Case { primitive, inputs, expected: Expected::Fails(text) }
    }

    /// A case for comparing back ends with the reference.
    pub fn parity(primitive: Primitive, inputs: Vec<HostTensor>) -> Self {
        Case { primitive, inputs, expected: Expected::AsReference }
    }

    /// This case with every tensor of dtype `from` converted to `to`; for
    /// cases whose numbers every such dtype can hold.
    pub(crate) fn converted(&self, from: DType, to: DType) -> Option<Case> {
        let convert = |t: &HostTensor| if t.dtype() == from { t.cast(to).ok() } else { Some(t.clone()) };
        Some(Case {
            primitive: self.primitive.clone(),
            inputs: self.inputs.iter().map(convert).collect::<Option<_>>()?,
            expected: match &self.expected {
                Expected::Results(r) => Expected::Results(r.iter().map(convert).collect::<Option<_>>()?),
                other => other.clone(),
            },
        })
    }
}

/// A tensor for a case.
pub(crate) fn t<T: Element>(shape: &[usize], elements: &[T]) -> HostTensor {
    HostTensor::from_slice(shape, elements).unwrap_or_else(|e| panic!("a case's tensor: {e}"))
}

/// A tensor of `dtype` for a case, from numbers that it can hold.
pub(crate) fn of(dtype: DType, shape: &[usize], numbers: &[f64]) -> HostTensor {
    HostTensor::from_values(dtype, shape, &Values::Float(numbers.to_vec()))
        .unwrap_or_else(|e| panic!("a case's tensor: {e}"))
}

/// Every case for each of `dtypes` (the cases are written in `from`).
pub(crate) fn for_dtypes(from: DType, dtypes: &[DType], cases: Vec<Case>) -> Vec<Case> {
    let mut all = cases.clone();
    for &dtype in dtypes.iter().filter(|&&d| d != from) {
        all.extend(cases.iter().filter_map(|case| case.converted(from, dtype)));
    }
    all
}
