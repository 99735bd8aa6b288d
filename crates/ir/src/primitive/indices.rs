//! How integers in data name places along an axis.

use oneir_tensor::Values;

use crate::invalid::dtype_is;
use crate::{Invalid, Spec};

/// Refuses indices that are not integers.
pub(super) fn integers(indices: &Spec) -> Result<(), Invalid> {
    dtype_is("the indices", indices, "integers", |d| d.is_integer() && d.computes())
}

/// Where slices of `span` begin on an axis of `size`: negative indices count
/// from the end, and all are then moved until the slice fits.
pub(super) fn from_either_end(indices: &Values, size: usize, span: usize) -> Vec<usize> {
    let place = |i: i128| if i < 0 { i + size as i128 } else { i };
    wide(indices).map(|i| fit(place(i), size, span)).collect()
}

/// Where slices of `span` begin on an axis of `size`: indices are moved until
/// the slice fits.
pub(super) fn clamped(indices: &Values, size: usize, span: usize) -> Vec<usize> {
    wide(indices).map(|i| fit(i, size, span)).collect()
}

fn fit(place: i128, size: usize, span: usize) -> usize {
    place.clamp(0, size.saturating_sub(span) as i128) as usize
}

/// The indices in a type that holds every i64 and u64.
fn wide(indices: &Values) -> impl Iterator<Item = i128> {
    let numbers: Vec<i128> = match indices {
        Values::Unsigned(v) => v.iter().map(|&i| i.into()).collect(),
        other => other.to_ints().unwrap_or_default().into_iter().map(Into::into).collect(),
    };
    numbers.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_integer_names_a_place() {
        let signed = Values::Signed(vec![i64::MIN, -4, -3, -1, 0, 2, 3, i64::MAX]);
        assert_eq!(from_either_end(&signed, 3, 1), [0, 0, 0, 2, 0, 2, 2, 2]);
        assert_eq!(from_either_end(&signed, 3, 2), [0, 0, 0, 1, 0, 1, 1, 1]);
        assert_eq!(clamped(&signed, 3, 1), [0, 0, 0, 0, 0, 2, 2, 2]);
        assert_eq!(from_either_end(&Values::Unsigned(vec![u64::MAX]), 3, 1), [2]);
        assert_eq!(clamped(&Values::Unsigned(vec![u64::MAX]), 3, 3), [0]);
    }
}
