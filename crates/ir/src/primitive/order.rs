//! The order in which sorting and extremes see elements.

use std::cmp::Ordering;

use oneir_tensor::Values;

/// Whether element `i` is NaN: of a complex number, either part.
pub(super) fn is_nan(values: &Values, i: usize) -> bool {
    match values {
        Values::Float(v) => v[i].is_nan(),
        Values::Complex(v) => v[i].is_nan(),
        _ => false,
    }
}

/// How element `a` compares with element `b`: complex numbers by their real,
/// then their imaginary part; NaN after all else. All NaNs are equal, and so
/// are zeros of either sign.
pub(super) fn compare(values: &Values, a: usize, b: usize) -> Ordering {
    match (is_nan(values, a), is_nan(values, b)) {
        (false, false) => {}
        (a, b) => return a.cmp(&b),
    }
    match values {
        Values::Bool(v) => v[a].cmp(&v[b]),
        Values::Unsigned(v) => v[a].cmp(&v[b]),
        Values::Signed(v) => v[a].cmp(&v[b]),
        Values::Float(v) => v[a].partial_cmp(&v[b]).unwrap_or(Ordering::Equal),
        Values::Complex(v) => (v[a].re, v[a].im).partial_cmp(&(v[b].re, v[b].im)).unwrap_or(Ordering::Equal),
    }
}
