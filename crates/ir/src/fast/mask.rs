use crate::attr::choices;

choices! {
    /// Which keys a query of attention sees.
    Mask, "a mask" {
        /// All of them.
        None "none",
        /// Those up to its own place, aligned at the last key.
        Causal "causal",
        /// The first `length` keys, and of those the ones up to its own place,
        /// aligned at the last of them: `length` is a further operand, `i32[]`.
        UpTo "up_to",
    }
}
