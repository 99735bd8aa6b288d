//! Convolutions, windows and padding over channels-first arrays.

use oneir_ir::Primitive;
pub use oneir_ir::ReduceOp as WindowOp;
use oneir_ir::primitive::PadMode;

use crate::Array;

/// The geometry of a convolution: one entry per spatial dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Convolution {
    /// Places from one window to the next.
    pub strides: Vec<usize>,
    /// Places of zeros before the first item and after the last.
    pub padding: Vec<(usize, usize)>,
    /// Places from one item of the kernel to the next.
    pub dilations: Vec<usize>,
    /// How many groups channels are split into.
    pub groups: usize,
}

/// The geometry of sliding windows: one entry per dimension.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Windows {
    /// Items of a window.
    pub size: Vec<usize>,
    /// Places from one window to the next.
    pub strides: Vec<usize>,
    /// Places of padding before the first item and after the last.
    pub padding: Vec<(usize, usize)>,
    /// Places from one item of a window to the next.
    pub dilations: Vec<usize>,
}

impl Array {
    /// Convolution of `[N, C, …]` with kernels `[O, C / groups, …]`.
    #[track_caller]
    #[must_use]
    pub fn convolution(&self, kernels: &Array, geometry: &Convolution) -> Array {
        let spatial = geometry.strides.len();
        let primitive = Primitive::Convolution {
            strides: geometry.strides.clone(),
            low: geometry.padding.iter().map(|p| p.0).collect(),
            high: geometry.padding.iter().map(|p| p.1).collect(),
            dilations: geometry.dilations.clone(),
            input_dilations: vec![1; spatial],
            groups: geometry.groups,
            flip: false,
        };
        Array::primitive("convolution", primitive, [self, kernels])
    }

    /// `[N, C, …]` spread over the result that, convolved with the same kernels
    /// `[C, O / groups, …]` and geometry, has this array's shape. Padding is cut
    /// off; `more` places are added after each dimension.
    #[track_caller]
    #[must_use]
    pub fn transposed_convolution(&self, kernels: &Array, geometry: &Convolution, more: &[usize]) -> Array {
        let primitive = Primitive::TransposedConvolution {
            strides: geometry.strides.clone(),
            low: geometry.padding.iter().map(|p| p.0).collect(),
            high: geometry.padding.iter().map(|p| p.1).collect(),
            dilations: geometry.dilations.clone(),
            output_padding: more.to_vec(),
            groups: geometry.groups,
        };
        Array::primitive("transposed_convolution", primitive, [self, kernels])
    }

    /// The reduction of each window over all dimensions. Padding counts as no
    /// element: it never is an extreme and adds nothing to a sum.
    #[track_caller]
    #[must_use]
    pub fn reduce_windows(&self, op: WindowOp, windows: &Windows) -> Array {
        let primitive = Primitive::WindowReduce {
            op,
            window: windows.size.clone(),
            strides: windows.strides.clone(),
            low: windows.padding.iter().map(|p| p.0).collect(),
            high: windows.padding.iter().map(|p| p.1).collect(),
            dilations: windows.dilations.clone(),
        };
        Array::primitive("reduce_windows", primitive, [self])
    }

    /// `number` (converted to this dtype) in places before and after each
    /// dimension.
    #[track_caller]
    #[must_use]
    pub fn pad_with(&self, padding: &[(usize, usize)], number: &Array) -> Array {
        let primitive = Primitive::Pad {
            low: padding.iter().map(|p| p.0).collect(),
            high: padding.iter().map(|p| p.1).collect(),
            mode: PadMode::Constant,
        };
        let number = number.astype(self.dtype()).reshape(&[]);
        Array::primitive("pad", primitive, [self, &number])
    }

    /// Places before and after each dimension, filled from the array itself.
    #[track_caller]
    #[must_use]
    pub fn pad_from_itself(&self, padding: &[(usize, usize)], mode: PadMode) -> Array {
        let primitive = Primitive::Pad {
            low: padding.iter().map(|p| p.0).collect(),
            high: padding.iter().map(|p| p.1).collect(),
            mode,
        };
        Array::primitive("pad", primitive, [self])
    }
}
