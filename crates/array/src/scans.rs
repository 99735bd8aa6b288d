//! Running combinations along an axis.

pub use oneir_ir::primitive::ScanOp;
use oneir_ir::{BinaryOp, Primitive};
use oneir_tensor::DType;

use crate::axes::{Axes, axis_of, one_or_all};
use crate::record::{Record, inexact};
use crate::{Array, Reason};

macro_rules! scans {
    ($($(#[$doc:meta])* $name:ident: $op:ident;)*) => {
        impl Array {
            $($(#[$doc])*
            ///
            /// Along one axis, or with `..` over all elements in row order, which
            /// gives one dimension. With `reverse` it runs from the end; without
            /// `inclusive` a place does not count its own element. Of another dtype
            /// it is taken where the array is converted first.
            #[track_caller]
            #[must_use]
            pub fn $name(&self, axis: impl Axes, reverse: bool, inclusive: bool) -> Array {
                self.scanned(stringify!($name), ScanOp::$op, axis, reverse, inclusive)
            })*
        }
    };
}

scans! {
    /// Running sums: bool counts in i32, halves accumulate in f32, other integers
    /// wrap.
    cumsum: Sum;
    /// Running products.
    cumprod: Prod;
    /// The largest so far; NaN wins.
    cummax: Max;
    /// The smallest so far; NaN wins.
    cummin: Min;
    /// The logarithm of the running sum of e^x; integers convert to f32.
    logcumsumexp: LogAddExp;
}

impl Array {
    #[track_caller]
    fn scanned(
        &self,
        name: &'static str,
        op: ScanOp,
        axis: impl Axes,
        reverse: bool,
        inclusive: bool,
    ) -> Array {
        Array::build(name, [self], |[x], at| {
            let domain = if op == ScanOp::LogAddExp { inexact(x.spec().dtype) } else { x.spec().dtype };
            let x = at.cast(x, domain)?;
            let (x, axis) = match one_or_all(axis, x.spec().rank())? {
                Some(axis) => (x, axis),
                None => (at.line(&x)?, 0),
            };
            at.op(Primitive::Scan { op, axis, reverse, inclusive }, &[&x])
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
        self.scanned("scan", op, axis, reverse, inclusive)
    }

    /// The differences of neighbours along an axis, `n` times over: each time the
    /// axis becomes shorter by one. Integers wrap; of truth values, whether they
    /// differ.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[1i32, 4, 9, 16], &[4]);
    /// assert_eq!(x.diff(1, -1).to_vec::<i32>()?, [3, 5, 7]);
    /// assert_eq!(x.diff(2, -1).to_vec::<i32>()?, [2, 2]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn diff(&self, n: usize, axis: isize) -> Array {
        Array::build("diff", [self], |[x], at| {
            let axis = axis_of(axis, x.spec().rank())?;
            if n >= x.spec().shape[axis] {
                return if n == 0 { Ok(x.clone()) } else { at.items(x, axis, 0, 1, 0) };
            }
            if n > MOST_DIFFERENCES {
                let reason = format!("at most {MOST_DIFFERENCES} differences can be taken, found {n}");
                return Err(Reason::Parameters(reason));
            }
            let op = if x.spec().dtype == DType::Bool { BinaryOp::NotEqual } else { BinaryOp::Subtract };
            let mut out = x.clone();
            for _ in 0..n {
                let less = out.spec().shape[axis] - 1;
                out =
                    at.binary(op, &at.items(&out, axis, 1, 1, less)?, &at.items(&out, axis, 0, 1, less)?)?;
            }
            Ok(out)
        })
    }
}

/// Each difference is an operation of its own.
const MOST_DIFFERENCES: usize = 1 << 16;
