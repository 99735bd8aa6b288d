//! Norms of vectors and matrices.

use super::{computed_in, svdvals};
use crate::axes::{Axes, axes_of, named};
use crate::{Array, Reason};

/// Which norm. Numbers stand for themselves: `linalg::norm(&x, 1, .., false)`.
///
/// | order | of a vector | of a matrix |
/// |---|---|---|
/// | `Natural` | root of the sum of squares | the same |
/// | `Frobenius` | – | root of the sum of squares |
/// | `Nuclear` | – | sum of singular values |
/// | ∞ | largest magnitude | largest sum of magnitudes of a row |
/// | -∞ | smallest magnitude | smallest sum of magnitudes of a row |
/// | 0 | how many are not zero | – |
/// | 1, -1 | as below | largest, smallest sum of magnitudes of a column |
/// | 2, -2 | as below | largest, smallest singular value |
/// | other p | (sum of the magnitudes to the p)^(1/p) | – |
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Order {
    /// The Euclidean norm of vectors, the Frobenius norm of matrices.
    #[default]
    Natural,
    /// A p-norm.
    P(f64),
    /// The Frobenius norm.
    Frobenius,
    /// The nuclear norm.
    Nuclear,
}

impl From<f64> for Order {
    fn from(p: f64) -> Order {
        Order::P(p)
    }
}

impl From<i32> for Order {
    fn from(p: i32) -> Order {
        Order::P(p.into())
    }
}

/// The norm of vectors along one axis or of matrices along two, `[row, column]`.
///
/// With `..`, a vector or matrix as a whole; the natural order then takes the
/// elements of an array of any rank as one vector. Integers convert to f32; the
/// norm of complex numbers is real.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, linalg::{self, Order}};
/// let x = Array::from_slice(&[3f32, -4.0, 0.0, 12.0], &[2, 2]);
/// assert_eq!(linalg::norm(&x, Order::Natural, .., false).item::<f32>()?, 13.0);
/// assert_eq!(linalg::norm(&x, 1, 1, false).to_vec::<f32>()?, [7.0, 12.0]);
/// assert_eq!(linalg::norm(&x, f64::INFINITY, [0, 1], false).item::<f32>()?, 12.0);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
///
/// # Errors
/// A failed array where the axes are out of range or more than two, and for an
/// order that vectors or matrices do not have; an error of the value where a
/// matrix with singular values to find is not finite.
#[track_caller]
#[must_use]
pub fn norm(a: &Array, ord: impl Into<Order>, axes: impl Axes, keepdims: bool) -> Array {
    let ord = ord.into();
    if a.check().is_err() {
        return a.clone();
    }
    let dtype = a.dtype();
    let half = dtype.is_half().then_some(dtype);
    let a = a.astype(if dtype.is_float() && half.is_none() { dtype } else { computed_in(dtype) });
    let rank = a.ndim();
    let axes: Vec<isize> = match (named(axes), ord) {
        (Some(axes), _) => axes,
        (None, _) if rank == 1 || rank == 2 => (0..rank as isize).collect(),
        (None, Order::Natural) => (0..rank as isize).collect(),
        (None, _) => {
            let reason = format!("this order needs axes for an array of {rank} dimensions");
            return Array::failed("norm", Reason::Parameters(reason));
        }
    };
    let result = match (&axes[..], ord) {
        (axes, Order::Natural) if axes.len() <= 2 || axes.len() == rank => {
            (a.abs().square().sum(axes, keepdims)).sqrt()
        }
        (&[axis], Order::P(p)) => of_vectors(&a, p, axis, keepdims),
        (&[row, column], ord) => match of_matrices(&a, ord, row, column, keepdims) {
            Ok(result) => result,
            Err(reason) => return Array::failed("norm", reason),
        },
        (axes, ord) => {
            let reason = format!("{ord:?} is no norm over {} axes", axes.len());
            return Array::failed("norm", Reason::Parameters(reason));
        }
    };
    half.map_or(result.clone(), |half| result.astype(half)).named("norm")
}

#[track_caller]
fn of_vectors(a: &Array, p: f64, axis: isize, keepdims: bool) -> Array {
    let sizes = a.abs();
    if p == f64::INFINITY {
        return sizes.max(axis, keepdims);
    }
    if p == f64::NEG_INFINITY {
        return sizes.min(axis, keepdims);
    }
    if p == 0.0 {
        return a.not_equal(0).astype(sizes.dtype()).sum(axis, keepdims);
    }
    if p == 1.0 {
        return sizes.sum(axis, keepdims);
    }
    if p == 2.0 {
        return sizes.square().sum(axis, keepdims).sqrt();
    }
    sizes.power(p).sum(axis, keepdims).power(1.0 / p)
}

#[track_caller]
fn of_matrices(a: &Array, ord: Order, row: isize, column: isize, keepdims: bool) -> Result<Array, Reason> {
    let rank = a.ndim();
    let pair = axes_of([row, column], rank)?;
    let [row, column] = [row, column].map(|axis| if axis < 0 { axis + rank as isize } else { axis });
    // What is left of one axis after the other, kept with size 1.
    let over = |inner: isize, outer: isize, largest: bool| (inner, outer, largest);
    let (inner, outer, largest) = match ord {
        Order::P(1.0) => over(row, column, true),
        Order::P(-1.0) => over(row, column, false),
        Order::P(f64::INFINITY) => over(column, row, true),
        Order::P(f64::NEG_INFINITY) => over(column, row, false),
        Order::Natural | Order::Frobenius => {
            return Ok(a.abs().square().sum([row, column], keepdims).sqrt());
        }
        Order::P(2.0 | -2.0) | Order::Nuclear => {
            let others = (0..rank as isize).filter(|axis| ![row, column].contains(axis));
            let order: Vec<isize> = others.chain([row, column]).collect();
            let values = svdvals(&a.transpose(&order));
            let found = match ord {
                Order::P(2.0) => values.max(-1, false),
                Order::Nuclear => values.sum(-1, false),
                _ => values.min(-1, false),
            };
            let kept: Vec<isize> = pair.iter().map(|&axis| axis as isize).collect();
            return Ok(if keepdims { found.expand_dims(&kept) } else { found });
        }
        Order::P(p) => return Err(Reason::Parameters(format!("matrices have no norm of order {p}"))),
    };
    let sums = a.abs().sum(inner, true);
    let found = if largest { sums.max(outer, true) } else { sums.min(outer, true) };
    let kept: Vec<isize> = pair.iter().map(|&axis| axis as isize).collect();
    Ok(if keepdims { found } else { found.squeeze(&kept) })
}
