//! Orders and running combinations along an axis.

use oneir_ir::Primitive;
pub use oneir_ir::primitive::ScanOp;

use crate::Array;
use crate::axes::axis_of;

impl Array {
    /// Each line along an axis in ascending order, NaN last.
    #[track_caller]
    #[must_use]
    pub fn sort(&self, axis: isize) -> Array {
        Array::build("sort", [self], |[x], place| {
            let axis = axis_of(axis, x.spec().rank())?;
            Ok(oneir_ir::Value::record(Primitive::Sort { axis }, &[x], place)?)
        })
    }

    /// The places (u32) from which [`Array::sort`] takes its elements; equal
    /// elements keep their order.
    #[track_caller]
    #[must_use]
    pub fn argsort(&self, axis: isize) -> Array {
        Array::build("argsort", [self], |[x], place| {
            let axis = axis_of(axis, x.spec().rank())?;
            Ok(oneir_ir::Value::record(Primitive::ArgSort { axis }, &[x], place)?)
        })
    }

    /// The combination of the elements up to each place along an axis: from the
    /// end where `reverse`, with the place's own element where `inclusive`.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, ScanOp};
    /// let x = Array::from_slice(&[1i32, 2, 3], &[3]);
    /// assert_eq!(x.scan(ScanOp::Sum, 0, false, true).to_vec::<i32>()?, [1, 3, 6]);
    /// assert_eq!(x.scan(ScanOp::Sum, 0, true, false).to_vec::<i32>()?, [5, 3, 0]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn scan(&self, op: ScanOp, axis: isize, reverse: bool, inclusive: bool) -> Array {
        Array::build("scan", [self], |[x], place| {
            let axis = axis_of(axis, x.spec().rank())?;
            let scan = Primitive::Scan { op, axis, reverse, inclusive };
            Ok(oneir_ir::Value::record(scan, &[x], place)?)
        })
    }
}
