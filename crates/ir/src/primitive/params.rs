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

choices! {
    /// Which discrete Fourier transform.
    FftOp, "a Fourier transform" {
        /// Complex to complex: sums of x · e^(-2πi jk/n).
        Fft "fft",
        /// Its inverse, divided by n.
        Ifft "ifft",
        /// Real to the n / 2 + 1 complex results that are not mirrored.
        Rfft "rfft",
        /// Its inverse: the rest of the spectrum is taken to mirror what is given.
        Irfft "irfft",
    }
}
