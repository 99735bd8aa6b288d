//! Conversions that change no value but by rounding real numbers.

use oneir::tensor::{Class, TensorError, Values};
use oneir::{DType, HostTensor};

/// The first value that another type cannot hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Misfit {
    /// The element's place in row order.
    pub(crate) at: usize,
    /// The value, in decimal.
    pub(crate) value: String,
}

/// The integers that a type of bools or integers holds.
pub(crate) fn range(dtype: DType) -> (i128, i128) {
    match dtype.class() {
        Class::Bool => (0, 1),
        Class::Unsigned => (0, (1 << dtype.bits()) - 1),
        _ => (-(1 << (dtype.bits() - 1)), (1 << (dtype.bits() - 1)) - 1),
    }
}

/// The integer that a real number is.
pub(crate) fn int_of(real: f64) -> Option<i128> {
    (real.fract() == 0.0 && real.abs() < 2f64.powi(100)).then_some(real as i128)
}

/// The tensor with elements of `dtype`.
///
/// # Errors
/// The first element whose value `dtype` cannot hold.
pub(crate) fn converted(
    tensor: &HostTensor,
    dtype: DType,
) -> Result<Result<HostTensor, Misfit>, TensorError> {
    if tensor.dtype() == dtype {
        return Ok(Ok(tensor.clone()));
    }
    let before = tensor.values()?;
    let after = before.convert(dtype);
    match (0..before.len()).find(|&i| !same(&before, &after, i)) {
        Some(at) => Ok(Err(Misfit { at, value: shown(&before, at) })),
        None => Ok(Ok(HostTensor::from_values(dtype, tensor.shape(), &after)?)),
    }
}

fn same(a: &Values, b: &Values, at: usize) -> bool {
    let imaginary = |v: &Values| if let Values::Complex(v) = v { v[at].im } else { 0.0 };
    if imaginary(a) != imaginary(b) {
        return false;
    }
    match (int(a, at), int(b, at)) {
        (Some(a), Some(b)) => a == b,
        (Some(int), None) => int_of(real(b, at)) == Some(int),
        (None, Some(int)) => int_of(real(a, at)) == Some(int),
        (None, None) => {
            let (a, b) = (real(a, at), real(b, at));
            // A real number is rounded, as long as the type reaches it.
            a == b || (a.is_nan() && b.is_nan()) || (a.is_finite() && b.is_finite())
        }
    }
}

fn int(values: &Values, at: usize) -> Option<i128> {
    match values {
        Values::Bool(v) => Some(i128::from(v[at])),
        Values::Unsigned(v) => Some(i128::from(v[at])),
        Values::Signed(v) => Some(i128::from(v[at])),
        Values::Float(_) | Values::Complex(_) => None,
    }
}

fn real(values: &Values, at: usize) -> f64 {
    match values {
        Values::Float(v) => v[at],
        Values::Complex(v) => v[at].re,
        _ => f64::NAN,
    }
}

fn shown(values: &Values, at: usize) -> String {
    match values {
        Values::Bool(v) => v[at].to_string(),
        Values::Unsigned(v) => v[at].to_string(),
        Values::Signed(v) => v[at].to_string(),
        Values::Float(v) => v[at].to_string(),
        Values::Complex(v) => v[at].to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_fits_converts() {
        let ints = HostTensor::from_slice(&[3], &[1i64, -5, 1 << 31]).unwrap();
        assert_eq!(converted(&ints, DType::F64).unwrap().unwrap().to_vec::<f64>().unwrap()[2], 2147483648.0);
        let misfit = converted(&ints, DType::I32).unwrap().unwrap_err();
        assert_eq!(misfit, Misfit { at: 2, value: "2147483648".into() });
        assert_eq!(converted(&ints, DType::U64).unwrap().unwrap_err().at, 1);

        let high = HostTensor::from_slice(&[1], &[u64::MAX]).unwrap();
        assert!(converted(&high, DType::I64).unwrap().is_err());
        assert!(converted(&high, DType::F64).unwrap().is_err());

        let reals = HostTensor::from_slice(&[3], &[0.5f64, f64::NAN, f64::INFINITY]).unwrap();
        assert!(converted(&reals, DType::F16).unwrap().is_ok());
        assert_eq!(converted(&reals, DType::I8).unwrap().unwrap_err().at, 0);
        let tenth = HostTensor::from_slice(&[1], &[0.1f64]).unwrap();
        assert_eq!(converted(&tenth, DType::F32).unwrap().unwrap().to_vec::<f32>().unwrap(), [0.1]);
        let huge = HostTensor::from_slice(&[1], &[1e39f64]).unwrap();
        assert!(converted(&huge, DType::F32).unwrap().is_err());
        let truth = HostTensor::from_slice(&[2], &[0u8, 2]).unwrap();
        assert_eq!(converted(&truth, DType::Bool).unwrap().unwrap_err().at, 1);
    }

    #[test]
    fn ranges_are_those_of_the_types() {
        assert_eq!(range(DType::I4), (-8, 7));
        assert_eq!(range(DType::U64), (0, i128::from(u64::MAX)));
        assert_eq!(range(DType::I64), (i128::from(i64::MIN), i128::from(i64::MAX)));
    }
}
