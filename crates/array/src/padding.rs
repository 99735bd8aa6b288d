//! More places around an array.

use oneir_ir::Primitive;
use oneir_ir::primitive::PadMode;

use crate::operand::{Operand, Side};
use crate::record::Record;
use crate::{Array, Reason};

/// How much [`Array::pad`] adds: one number on every side, one pair before and after
/// every axis, or a pair for each axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Padding {
    /// Before and after every axis.
    Every(usize, usize),
    /// Before and after each axis.
    Each(Vec<(usize, usize)>),
}

impl From<usize> for Padding {
    fn from(size: usize) -> Self {
        Padding::Every(size, size)
    }
}

impl From<(usize, usize)> for Padding {
    fn from((low, high): (usize, usize)) -> Self {
        Padding::Every(low, high)
    }
}

impl<const N: usize> From<[(usize, usize); N]> for Padding {
    fn from(sizes: [(usize, usize); N]) -> Self {
        Padding::Each(sizes.to_vec())
    }
}

impl From<&[(usize, usize)]> for Padding {
    fn from(sizes: &[(usize, usize)]) -> Self {
        Padding::Each(sizes.to_vec())
    }
}

impl From<Vec<(usize, usize)>> for Padding {
    fn from(sizes: Vec<(usize, usize)>) -> Self {
        Padding::Each(sizes)
    }
}

impl Array {
    /// With places before and after axes, which hold what `mode` says; with
    /// [`PadMode::Constant`] they hold `value`, converted to this dtype, which other
    /// modes do not look at. An empty axis can only be padded with a constant.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, PadMode};
    /// let x = Array::from_slice(&[1i32, 2, 3], &[3]);
    /// assert_eq!(x.pad(1, PadMode::Constant, 7).to_vec::<i32>()?, [7, 1, 2, 3, 7]);
    /// assert_eq!(x.pad((0, 2), PadMode::Edge, 0).to_vec::<i32>()?, [1, 2, 3, 3, 3]);
    /// assert_eq!(x.pad([(2, 0)], PadMode::Reflect, 0).to_vec::<i32>()?, [3, 2, 1, 2, 3]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn pad(&self, width: impl Into<Padding>, mode: PadMode, value: impl Operand) -> Array {
        let value = match value.side() {
            Side::Array(array) => array.clone(),
            number @ Side::Number(_) => number.array("pad"),
        };
        Array::build("pad", [self, &value], |[x, value], at| {
            let rank = x.spec().rank();
            let (low, high): (Vec<usize>, Vec<usize>) = match width.into() {
                Padding::Every(low, high) => (vec![low; rank], vec![high; rank]),
                Padding::Each(pairs) => pairs.into_iter().unzip(),
            };
            let pad = Primitive::Pad { low, high, mode };
            if mode != PadMode::Constant {
                return at.op(pad, &[x]);
            }
            if value.spec().count() != 1 {
                let reason = format!("one number to pad with is needed, found shape {}", value.spec().shape);
                return Err(Reason::Parameters(reason));
            }
            let value = at.reshape(&at.cast(value, x.spec().dtype)?, &[])?;
            at.op(pad, &[x, &value])
        })
    }
}
