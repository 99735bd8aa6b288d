//! Named choices and records that primitives take as parameters.

use crate::attr::{choices, record};

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
    /// How an update meets what is already at its place.
    ScatterReduce, "a scatter's combination" {
        /// Replaces it; of several updates for one place, the last in row order stays.
        None "none",
        /// Adds to it; integers wrap, halves accumulate in f32.
        Sum "sum",
        /// Multiplies it.
        Prod "prod",
        /// The larger stays; NaN wins.
        Max "max",
        /// The smaller stays; NaN wins.
        Min "min",
    }
}

choices! {
    /// What padding holds.
    PadMode, "a way of padding" {
        /// A given value.
        Constant "constant",
        /// The nearest element of the axis.
        Edge "edge",
        /// The elements mirrored at the first and last, which are not repeated.
        Reflect "reflect",
        /// The elements over again, as if the axis were a ring.
        Wrap "wrap",
    }
}

choices! {
    /// How the codes of a quantized tensor stand for numbers.
    QuantMode, "a quantization mode" {
        /// Unsigned integers times a scale plus a bias, both in the tensor's dtype.
        Affine "affine",
        /// E2M1 codes and a power of two as scale (E8M0) per 32.
        Mxfp4 "mxfp4",
        /// E4M3 codes and a power of two as scale (E8M0) per 32.
        Mxfp8 "mxfp8",
        /// E2M1 codes and an E4M3 scale per 16.
        Nvfp4 "nvfp4",
    }
}

record! {
    /// A format of quantized tensors: groups along the last axis share a scale.
    Quant {
        /// What the codes mean.
        mode: QuantMode,
        /// How many elements share a scale.
        group_size: usize,
        /// Bits per code.
        bits: usize,
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
