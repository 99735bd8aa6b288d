//! Named choices and records that primitives take as parameters.

use crate::attr::choices;

choices! {
    /// Which extreme an index is taken of.
    ArgReduceOp, "an extreme" {
        /// Of the largest; the first NaN wins.
        Max "max",
        /// Of the smallest; the first NaN wins.
        Min "min",
    }
}

choices! {
    /// How a scan combines.
    ScanOp, "a scan" {
        /// Running sum; integers wrap, halves accumulate in f32.
        Sum "sum",
        /// Running product.
        Prod "prod",
        /// Largest so far; NaN wins.
        Max "max",
        /// Smallest so far; NaN wins.
        Min "min",
        /// Logarithm of the running sum of exponentials.
        LogAddExp "logaddexp",
    }
}

choices! {
    /// How a reduction combines.
    ReduceOp, "a reduction" {
        /// Sum; integers wrap, halves accumulate in f32.
        Sum "sum",
        /// Product.
        Prod "prod",
        /// Largest; NaN wins.
        Max "max",
        /// Smallest; NaN wins.
        Min "min",
        /// Whether all are true (not zero).
        All "all",
        /// Whether any is true (not zero).
        Any "any",
    }
}
