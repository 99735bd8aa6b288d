//! Named choices and records that primitives take as parameters.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use oneir_tensor::{DType, HostTensor};

use super::CustomRules;
use crate::attr::{Attr, choices, record};
use crate::graph::Fill;
use crate::text::{Cursor, Printer, TextError};

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
        /// The elements mirrored at their edges: the first and last are repeated.
        Symmetric "symmetric",
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
        /// `(values, vectors)` of any square a, complex64 whatever a is; by falling
        /// real and then imaginary part, and vectors are columns of length 1.
        Eig "eig",
        /// The determinant.
        Det "det",
    }
}

record! {
    /// A call of a function with transform rules of its own.
    CustomCall {
        /// The function's name.
        name: Arc<str>,
        /// How many of the inputs are the function's; its results follow them.
        primals: usize,
        /// How transforms see the call.
        rules: CustomRules,
    }
}

record! {
    /// A call of a kernel that a user wrote, for one target or several.
    KernelCall {
        /// The kernel's name.
        name: Arc<str>,
        /// What the source calls each input.
        inputs: Vec<Arc<str>>,
        /// What the source calls each output.
        outputs: Vec<Arc<str>>,
        /// The outputs' shapes.
        shapes: Vec<Vec<usize>>,
        /// The outputs' element types.
        dtypes: Vec<DType>,
        /// Template arguments, as the source language writes them.
        template: Vec<Arc<str>>,
        /// How many threads there are along one to three axes.
        grid: Vec<usize>,
        /// How many of them form a group along the same axes.
        threadgroup: Vec<usize>,
        /// What a device fills the outputs with before the kernel runs.
        init: Fill,
        /// CUDA C++ source of the kernel; empty for none.
        cuda: Arc<str>,
        /// The kernel on the host.
        cpu: HostFunction,
    }
}

/// What computes outputs from row-contiguous inputs, or says why it cannot.
type Host = dyn Fn(&[HostTensor]) -> Result<Vec<HostTensor>, String> + Send + Sync;

/// A Rust function as a kernel's source for the host, or none.
///
/// Two are equal when they are one function object. A text holds only whether
/// there is one; reading it back gives none.
#[derive(Clone, Default)]
pub struct HostFunction(Option<Arc<Host>>);

impl HostFunction {
    /// No source for the host.
    pub fn none() -> Self {
        HostFunction(None)
    }

    /// `function` as the source: it makes every output from the inputs, which
    /// are row-contiguous.
    pub fn new(
        function: impl Fn(&[HostTensor]) -> Result<Vec<HostTensor>, String> + Send + Sync + 'static,
    ) -> Self {
        HostFunction(Some(Arc::new(function)))
    }

    /// The function, if there is one.
    pub fn get(&self) -> Option<&Host> {
        self.0.as_deref()
    }

    fn address(&self) -> Option<*const ()> {
        self.0.as_ref().map(|f| Arc::as_ptr(f).cast())
    }
}

impl PartialEq for HostFunction {
    fn eq(&self, other: &Self) -> bool {
        self.address() == other.address()
    }
}

impl Eq for HostFunction {}

impl Hash for HostFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.address().hash(state);
    }
}

impl fmt::Debug for HostFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "host" } else { "none" })
    }
}

impl Attr for HostFunction {
    fn write(&self, out: &mut Printer) {
        out.push_str(&format!("{self:?}"));
    }

    fn read(text: &mut Cursor<'_>) -> Result<Self, TextError> {
        if text.take("none") || text.take("host") {
            Ok(HostFunction::none())
        } else {
            Err(text.error("`none` or `host`"))
        }
    }
}

choices! {
    /// What the members of a group do together.
    CollectiveKind, "a collective" {
        /// Each gets the sum of what all give.
        AllSum "all_sum",
        /// Each gets the largest of what all give.
        AllMax "all_max",
        /// Each gets the smallest of what all give.
        AllMin "all_min",
        /// Each gets what all give, joined along the first axis.
        AllGather "all_gather",
        /// Each gets its part of the sum of what all give, split along the first axis.
        ReduceScatter "reduce_scatter",
        /// Each gets its part of what each gives, split and joined along the first axis.
        AllToAll "all_to_all",
        /// Each gets what the peer gives.
        Broadcast "broadcast",
        /// The peer gets what this one gives; the result is the input.
        Send "send",
        /// This one gets what the peer gives: as much as the input, which is not read.
        Recv "recv",
        /// The input, once all have come here.
        Barrier "barrier",
    }
}

record! {
    /// A collective with its parameters.
    CollectiveOp {
        /// What is done.
        kind: CollectiveKind,
        /// How many members the group has.
        members: usize,
        /// The member that a broadcast starts from, a send goes to or a recv
        /// comes from; 0 for all others.
        peer: usize,
    }
}
