//! Named choices and records that primitives take as parameters.

use crate::attr::choices;

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
