//! Every operation as a function: `ops::sum(&x, 0, false)` is `x.sum(0, false)`.
//!
//! Functions of two operands take a number on either side:
//!
//! ```
//! # use oneir_cpu as _;
//! use oneir_array::{Array, ops};
//! let x = Array::from_slice(&[-1f32, 4.0], &[2]);
//! assert_eq!(ops::maximum(0, &x).to_vec::<f32>()?, [0.0, 4.0]);
//! # Ok::<(), oneir_array::ArrayError>(())
//! ```

use crate::{Array, Axes, Contracted, ConvGeneral, DType, Operand, Overlap, Picks, Quantization, Spatial};

pub use crate::arithmetic::functions::*;
pub use crate::einsum::einsum_path;

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
    round();
    trunc();
    isnan();
    isinf();
    logical_not();
    bitwise_invert();
    conjugate();
    real();
    imag();
    astype(dtype: DType);
    where_(a: impl Operand, b: impl Operand);
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
    sort(axis: isize);
    argsort(axis: isize);
    take(indices: &Array, axis: isize);
    take_along_axis(indices: &Array, axis: isize);
    softmax(axis: isize);
    matmul(other: &Array);
}

mirrors! {
    slice(start: &[usize], step: &[isize], len: &[usize]);
    slice_update(update: &Array, start: &[usize], step: &[isize]);
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
    concatenate(arrays: &[Array], axis: isize);
    stack(arrays: &[Array], axis: isize);
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
    gather_mm(other: &Array, lhs_indices: Option<&Array>, rhs_indices: Option<&Array>);
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
