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

choices! {
    /// What is computed of the matrices in the last two dimensions.
    LinalgOp, "a matrix operation" {
        /// The lower triangle l of `a = l lᴴ`; only a's lower triangle is read.
        Cholesky "cholesky",
        /// The inverse.
        Inverse "inverse",
        /// `(a, b)`: x of `a x = b`.
        Solve "solve",
        /// `(a, b)`: x of `a x = b`, reading a's lower triangle.
        SolveLower "solve_lower",
        /// `(a, b)`: x of `a x = b`, reading a's upper triangle.
        SolveUpper "solve_upper",
        /// `a = q r`: q with orthonormal columns, as many as the smaller side.
        Qr "qr",
        /// `(p, l, u)` with row i of a in row `p[i]` of `l u`; l has a unit diagonal.
        Lu "lu",
        /// `(lu, pivots)`: l below the diagonal of u, and for each row in turn
        /// the later one that it was swapped with.
        LuFactor "lu_factor",
        /// `(u, s, vt)` with `a = u diag(s) vt`, s falling, and as many vectors
        /// as the smaller side.
        Svd "svd",
        /// As `Svd`, with u and vt completed to square matrices.
        SvdFull "svd_full",
        /// `(values, vectors)` of a Hermitian a, rising; only its lower triangle
        /// is read, and vectors are columns.
        Eigh "eigh",
        /// The determinant.
        Det "det",
    }
}
