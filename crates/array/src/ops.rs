//! Every operation as a function: `ops::sum(&x, 0, false)` is `x.sum(0, false)`.
//!
//! Element-wise functions of two operands take a number on either side; products are of
//! arrays only, as in MLX.
//!
//! ```
//! # use oneir_cpu as _;
//! use oneir_array::{Array, ops};
//! let x = Array::from_slice(&[-1f32, 4.0], &[2]);
//! assert_eq!(ops::maximum(0, &x).to_vec::<f32>()?, [0.0, 4.0]);
//! # Ok::<(), oneir_array::ArrayError>(())
//! ```

use crate::{
    Array, ArrayError, Axes, Contracted, ConvGeneral, Counting, DType, Indexing, Limit, Operand, Overlap,
    PadMode, Padding, Picks, QuantileMethod, Quantization, SearchSide, Sections, Spatial, Unique,
};

pub use crate::arithmetic::functions::*;
pub use crate::einsum::einsum_path;
pub use crate::joining::broadcast_shapes;

/// Functions that call the method of their name.
macro_rules! mirrors {
    ($($name:ident($($argument:ident: $kind:ty),*) $(-> $result:ty)?;)*) => {
        $(
            #[doc = concat!("[`Array::", stringify!($name), "`] as a function.")]
            #[track_caller]
            #[must_use]
            pub fn $name(x: &Array, $($argument: $kind),*) -> mirrors!(@result $($result)?) {
                x.$name($($argument),*)
            }
        )*
    };
    (@result) => { Array };
    (@result $result:ty) => { $result };
}

/// Functions of two operands, of which either may be a number, that call the method
/// of their name.
macro_rules! sided {
    ($($name:ident(other: impl Operand $(, $argument:ident: $kind:ty)*) $(-> $result:ty)?;)*) => {
        $(
            #[doc = concat!("[`Array::", stringify!($name), "`], where either side may be a number.")]
            #[track_caller]
            #[must_use]
            pub fn $name(a: impl Operand, b: impl Operand, $($argument: $kind),*) -> mirrors!(@result $($result)?) {
                a.side().facing(stringify!($name), b.side()).$name(b, $($argument),*)
            }
        )*
    };
}

/// Functions that call the associated function of their name.
macro_rules! makers {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {
        $(
            #[doc = concat!("[`Array::", stringify!($name), "`] as a function.")]
            #[track_caller]
            #[must_use]
            pub fn $name($($argument: $kind),*) -> Array {
                Array::$name($($argument),*)
            }
        )*
    };
}

/// Functions that call the method of their name, and tell at once whether the call
/// made sense.
macro_rules! fallible {
    ($($name:ident($($argument:ident: $kind:ty),*) -> $result:ty;)*) => {
        $(
            #[doc = concat!("[`Array::", stringify!($name), "`] as a function.")]
            ///
            /// # Errors
            /// As of the method.
            #[track_caller]
            pub fn $name(x: &Array, $($argument: $kind),*) -> Result<$result, ArrayError> {
                x.$name($($argument),*)
            }
        )*
    };
}

// Other names of functions: NumPy's and the array standard's.
pub use self::{
    arccos as acos, arccosh as acosh, arcsin as asin, arcsinh as asinh, arctan as atan, arctan2 as atan2,
    arctanh as atanh, concatenate as concat, conjugate as conj, cumprod as cumulative_prod,
    cumsum as cumulative_sum, left_shift as bitwise_left_shift, power as pow,
    right_shift as bitwise_right_shift, transpose as permute_dims,
};

// Element-wise, in the order of `arithmetic.rs`.
mirrors! {
    abs();
    negative();
    sign();
    sqrt();
    rsqrt();
    square();
    reciprocal();
    exp();
    expm1();
    log();
    log2();
    log10();
    log1p();
    sin();
    cos();
    tan();
    arcsin();
    arccos();
    arctan();
    sinh();
    cosh();
    tanh();
    arcsinh();
    arccosh();
    arctanh();
    sigmoid();
    erf();
    erfinv();
    lgamma();
    floor();
    ceil();
    trunc();
    isnan();
    isinf();
    logical_not();
    bitwise_invert();
    conjugate();
    real();
    imag();
    astype(dtype: DType);
}

/// [`Array::where_`], where the condition may be a number too.
#[track_caller]
#[must_use]
pub fn where_(condition: impl Operand, a: impl Operand, b: impl Operand) -> Array {
    condition.side().array("where").where_(a, b)
}

mirrors! {
    sum(axes: impl Axes, keepdims: bool);
    prod(axes: impl Axes, keepdims: bool);
    max(axes: impl Axes, keepdims: bool);
    min(axes: impl Axes, keepdims: bool);
    all(axes: impl Axes, keepdims: bool);
    any(axes: impl Axes, keepdims: bool);
    mean(axes: impl Axes, keepdims: bool);
}

mirrors! {
    argmax(axis: impl Axes, keepdims: bool);
    argmin(axis: impl Axes, keepdims: bool);
    take(indices: impl Operand, axis: impl Axes);
    take_along_axis(indices: &Array, axis: impl Axes);
    put_along_axis(indices: &Array, values: impl Operand, axis: impl Axes);
    softmax(axes: impl Axes);
    matmul(other: &Array);
}

mirrors! {
    strided_slice(start: &[usize], step: &[isize], len: &[usize]);
    strided_slice_update(update: &Array, start: &[usize], step: &[isize]);
    reshape(shape: &[isize]);
    broadcast_to(shape: &[usize]);
    transpose(axes: impl Axes);
    squeeze(axes: impl Axes);
    expand_dims(axes: impl Axes);
    view(dtype: DType);
    flip(axes: impl Axes);
    stop_gradient();
}

makers! {
    zeros(shape: &[usize], dtype: DType);
    ones(shape: &[usize], dtype: DType);
    empty(shape: &[usize], dtype: DType);
    full(shape: &[usize], value: impl Operand, dtype: impl Into<Option<DType>>);
    iota(shape: &[usize], axis: usize, dtype: DType);
    arange(range: impl Counting, dtype: impl Into<Option<DType>>);
    linspace(start: impl Into<f64>, stop: impl Into<f64>, num: usize, endpoint: bool, dtype: DType);
    eye(n: usize, m: impl Into<Option<usize>>, k: isize, dtype: DType);
    identity(n: usize, dtype: DType);
    tri(n: usize, m: impl Into<Option<usize>>, k: isize, dtype: DType);
    bartlett(m: usize);
    blackman(m: usize);
    hamming(m: usize);
    hanning(m: usize);
    concatenate(arrays: &[Array], axis: isize);
    stack(arrays: &[Array], axis: isize);
}

/// [`Array::broadcast_arrays`] as a function.
///
/// # Errors
/// As of the method.
#[track_caller]
pub fn broadcast_arrays(arrays: &[Array]) -> Result<Vec<Array>, ArrayError> {
    Array::broadcast_arrays(arrays)
}

/// [`Array::meshgrid`] as a function.
///
/// # Errors
/// As of the method.
#[track_caller]
pub fn meshgrid(arrays: &[Array], sparse: bool, indexing: Indexing) -> Result<Vec<Array>, ArrayError> {
    Array::meshgrid(arrays, sparse, indexing)
}

// Element-wise operations of several functions.
mirrors! {
    positive();
    degrees();
    radians();
    isfinite();
    isposinf();
    isneginf();
    nan_to_num(nan: f64, posinf: impl Into<Option<f64>>, neginf: impl Into<Option<f64>>);
    round(decimals: i32);
    clip(min: impl Limit, max: impl Limit);
}

sided! {
    divmod(other: impl Operand) -> (Array, Array);
    isclose(other: impl Operand, rtol: f64, atol: f64, equal_nan: bool);
    allclose(other: impl Operand, rtol: f64, atol: f64, equal_nan: bool);
    array_equal(other: impl Operand, equal_nan: bool);
}

// Statistics.
mirrors! {
    var(axes: impl Axes, keepdims: bool, ddof: isize);
    std(axes: impl Axes, keepdims: bool, ddof: isize);
    logsumexp(axes: impl Axes, keepdims: bool);
    count_nonzero(axes: impl Axes, keepdims: bool);
    minmax(axes: impl Axes, keepdims: bool) -> (Array, Array);
    median(axes: impl Axes, keepdims: bool);
    quantile(q: impl Operand, axes: impl Axes, keepdims: bool, method: QuantileMethod);
}

// Running combinations.
mirrors! {
    cumsum(axis: impl Axes, reverse: bool, inclusive: bool);
    cumprod(axis: impl Axes, reverse: bool, inclusive: bool);
    cummax(axis: impl Axes, reverse: bool, inclusive: bool);
    cummin(axis: impl Axes, reverse: bool, inclusive: bool);
    logcumsumexp(axis: impl Axes, reverse: bool, inclusive: bool);
    diff(n: usize, axis: isize);
}

// Orders and selections.
mirrors! {
    sort(axis: impl Axes);
    argsort(axis: impl Axes);
    partition(kth: isize, axis: impl Axes);
    argpartition(kth: isize, axis: impl Axes);
    topk(k: usize, axis: impl Axes);
    searchsorted(values: &Array, side: SearchSide);
    unique(size: usize, fill: impl Limit) -> Unique;
    isin(test: impl Operand);
    interp(xp: &Array, fp: &Array, left: impl Into<Option<f64>>, right: impl Into<Option<f64>>);
}

// Selections whose sizes depend on data.
fallible! {
    unique_all() -> Unique;
    nonzero() -> Vec<Array>;
    compress(condition: &Array, axis: impl Axes) -> Array;
    bincount(min_length: usize) -> Array;
    bincount_weighted(weights: &Array, min_length: usize) -> Array;
}

// Shapes, joins and parts.
mirrors! {
    slice(starts: &Array, axes: impl Axes, size: &[usize]);
    slice_update(update: &Array, starts: &Array, axes: impl Axes);
    flatten(start: isize, end: isize);
    unflatten(axis: isize, shape: &[isize]);
    t();
    matrix_transpose();
    swapaxes(a: isize, b: isize);
    moveaxis(source: impl Axes, destination: impl Axes);
    roll(shift: impl Axes, axis: impl Axes);
    as_strided(shape: &[usize], strides: &[isize], offset: usize);
    contiguous();
    atleast_1d();
    atleast_2d();
    atleast_3d();
    depends(others: &[Array]);
    repeat(repeats: usize, axis: impl Axes);
    tile(repeats: &[usize]);
    pad(width: impl Into<Padding>, mode: PadMode, value: impl Operand);
    tril(k: isize);
    triu(k: isize);
    diag(k: isize);
    diagonal(offset: isize, axis1: isize, axis2: isize);
    trace(offset: isize, axis1: isize, axis2: isize, dtype: impl Into<Option<DType>>);
    full_like(value: impl Operand, dtype: impl Into<Option<DType>>);
    zeros_like(dtype: impl Into<Option<DType>>);
    ones_like(dtype: impl Into<Option<DType>>);
    empty_like(dtype: impl Into<Option<DType>>);
}

fallible! {
    split(sections: impl Into<Sections>, axis: isize) -> Vec<Array>;
    unstack(axis: isize) -> Vec<Array>;
}

// Products: `products.rs`, `gathered.rs`, `hadamard.rs`, `einsum.rs`.
mirrors! {
    addmm(a: &Array, b: &Array, alpha: f64, beta: f64);
    inner(other: &Array);
    outer(other: &Array);
    tensordot(other: &Array, axes: impl Into<Contracted>);
    kron(other: &Array);
    vecdot(other: &Array, axis: isize);
    convolve(other: &Array, mode: Overlap);
    gather_mm(other: &Array, lhs_indices: Option<&Array>, rhs_indices: Option<&Array>, sorted_indices: bool);
    segmented_mm(other: &Array, segments: &Array);
    block_masked_mm(other: &Array, block: usize, out: Option<&Array>, lhs: Option<&Array>, rhs: Option<&Array>);
    hadamard_transform(scale: Option<f64>);
    to_fp8();
    from_fp8(dtype: DType);
}

makers! {
    einsum(subscripts: &str, operands: &[&Array]);
}

// Convolutions of channels-last arrays: `convolution.rs`.
mirrors! {
    conv1d(weight: &Array, stride: impl Spatial, padding: impl Spatial, dilation: impl Spatial, groups: usize);
    conv2d(weight: &Array, stride: impl Spatial, padding: impl Spatial, dilation: impl Spatial, groups: usize);
    conv3d(weight: &Array, stride: impl Spatial, padding: impl Spatial, dilation: impl Spatial, groups: usize);
    conv_transpose1d(weight: &Array, stride: impl Spatial, padding: impl Spatial, dilation: impl Spatial, output_padding: impl Spatial, groups: usize);
    conv_transpose2d(weight: &Array, stride: impl Spatial, padding: impl Spatial, dilation: impl Spatial, output_padding: impl Spatial, groups: usize);
    conv_transpose3d(weight: &Array, stride: impl Spatial, padding: impl Spatial, dilation: impl Spatial, output_padding: impl Spatial, groups: usize);
    conv_general(weight: &Array, geometry: &ConvGeneral);
}

// Quantized matrices: `quantized.rs`.
mirrors! {
    quantize(form: &Quantization) -> (Array, Array, Option<Array>);
    dequantize(scales: &Array, biases: Option<&Array>, form: &Quantization, dtype: Option<DType>);
    quantized_matmul(w: &Array, scales: &Array, biases: Option<&Array>, transpose: bool, form: &Quantization);
    gather_qmm(w: &Array, scales: &Array, biases: Option<&Array>, picks: Picks<'_>, transpose: bool, form: &Quantization);
    qqmm(w: &Array, scales: Option<&Array>, form: &Quantization);
    gather_qqmm(w: &Array, scales: Option<&Array>, picks: Picks<'_>, form: &Quantization);
}
