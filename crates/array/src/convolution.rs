//! Convolutions of channels-last arrays, by MLX's names.
//!
//! Inputs are `[N, …, C]` and weights `[O, …, C / groups]`, where `…` are one,
//! two or three spatial dimensions (any number for [`Array::conv_general`]).
//! Integers convert to f32; halves are summed in f32 or wider.

use oneir_ir::{Invalid, Primitive, Value};
use oneir_tensor::{DType, promote};

use crate::{Array, Reason};

mod sealed {
    pub trait Listed {
        /// A number for each of `rank` spatial dimensions, or how many there are.
        fn listed(&self, rank: usize) -> Result<Vec<usize>, usize>;
    }
}

use sealed::Listed;

/// A number for all spatial dimensions, or one for each.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, DType};
/// let (x, w) = (Array::ones(&[1, 8, 9, 2], DType::F32), Array::ones(&[4, 3, 3, 2], DType::F32));
/// assert_eq!(x.conv2d(&w, 1, 1, 1, 1).shape(), [1, 8, 9, 4]);
/// assert_eq!(x.conv2d(&w, [2, 1], [1, 0], 1, 1).shape(), [1, 4, 7, 4]);
/// ```
pub trait Spatial: Listed {}

impl<T: Listed> Spatial for T {}

impl Listed for usize {
    fn listed(&self, rank: usize) -> Result<Vec<usize>, usize> {
        Ok(vec![*self; rank])
    }
}

impl Listed for &[usize] {
    fn listed(&self, rank: usize) -> Result<Vec<usize>, usize> {
        if self.len() == rank { Ok(self.to_vec()) } else { Err(self.len()) }
    }
}

impl<const N: usize> Listed for [usize; N] {
    fn listed(&self, rank: usize) -> Result<Vec<usize>, usize> {
        (&self[..]).listed(rank)
    }
}

impl Listed for Vec<usize> {
    fn listed(&self, rank: usize) -> Result<Vec<usize>, usize> {
        (&self[..]).listed(rank)
    }
}

/// The geometry of [`Array::conv_general`], with an entry for each spatial
/// dimension. `ConvGeneral::new(rank)` changes nothing: steps are 1, and there
/// is no padding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvGeneral {
    /// Places from one window to the next.
    pub stride: Vec<usize>,
    /// Places of zeros before the first and after the last item.
    pub padding: (Vec<usize>, Vec<usize>),
    /// Places from one item of the kernel to the next.
    pub kernel_dilation: Vec<usize>,
    /// Places from one item of the input to the next.
    pub input_dilation: Vec<usize>,
    /// How many groups channels are split into.
    pub groups: usize,
    /// Whether kernels run backwards.
    pub flip: bool,
}

impl ConvGeneral {
    /// Windows one place apart, without padding, dilation or groups.
    pub fn new(rank: usize) -> ConvGeneral {
        let ones = vec![1; rank];
        ConvGeneral {
            stride: ones.clone(),
            padding: (vec![0; rank], vec![0; rank]),
            kernel_dilation: ones.clone(),
            input_dilation: ones,
            groups: 1,
            flip: false,
        }
    }
}

/// Numbers for each spatial dimension, by the parameter's name.
fn each(parameter: &str, given: &impl Spatial, rank: usize) -> Result<Vec<usize>, Reason> {
    given.listed(rank).map_err(|found| {
        Reason::Parameters(format!("{parameter} has {found} numbers for {rank} spatial dimensions"))
    })
}

/// Refuses operands without as many spatial dimensions as the call names, or whose
/// channels do not fit.
fn operands(input: &Array, weight: &Array, rank: usize, groups: usize) -> Result<(), Reason> {
    let (x, w) = (input.shape(), weight.shape());
    if x.rank() != rank + 2 || w.rank() != rank + 2 {
        return Err(Reason::Parameters(format!(
            "input and weight need {} dimensions, found shapes {x:?} and {w:?}",
            rank + 2
        )));
    }
    let (channels, made, part) = (x[rank + 1], w[0], w[rank + 1]);
    for (count, what) in [(channels, "input"), (made, "output")] {
        if groups == 0 || !count.is_multiple_of(groups) {
            let reason = format!("{count} {what} channels do not split into {groups} groups");
            return Err(Reason::Parameters(reason));
        }
    }
    if channels / groups != part {
        return Err(Reason::Parameters(format!(
            "an input of {channels} channels in {groups} groups needs weights of {}, found shape {w:?}",
            channels / groups
        )));
    }
    Ok(())
}

/// A failure in terms of axes as callers have them: channels last.
fn told_last(reason: Invalid) -> Reason {
    match reason {
        Invalid::Window { axis, span, available } => {
            Invalid::Window { axis: axis.saturating_sub(1), span, available }.into()
        }
        other => other.into(),
    }
}

/// A convolution of operands with channels first, as one with channels last.
#[track_caller]
fn recorded(op: &'static str, primitive: Primitive, operands: [&Array; 2]) -> Array {
    let record = |values: [&Value; 2], place| Value::record(primitive, &values, place).map_err(told_last);
    channels_last(&Array::build(op, operands, record)).named(op)
}

/// An array with its last axis moved to place 1.
#[track_caller]
fn channels_first(x: &Array) -> Array {
    let rank = x.ndim() as isize;
    x.transpose([0, rank - 1].into_iter().chain(1..rank - 1).collect::<Vec<isize>>())
}

/// An array with axis 1 moved to the end.
#[track_caller]
fn channels_last(x: &Array) -> Array {
    if x.check().is_err() {
        return x.clone();
    }
    let rank = x.ndim() as isize;
    x.transpose([0].into_iter().chain(2..rank).chain([1]).collect::<Vec<isize>>())
}

/// Both operands in the dtype that they are convolved in.
#[track_caller]
fn matched(input: &Array, weight: &Array) -> [Array; 2] {
    let dtype = promote(input.dtype(), weight.dtype());
    let dtype = if dtype.is_inexact() { dtype } else { DType::F32 };
    [input.astype(dtype), weight.astype(dtype)]
}

#[track_caller]
fn convolved(
    op: &'static str,
    input: &Array,
    weight: &Array,
    geometry: Result<ConvGeneral, Reason>,
) -> Array {
    if let Some(failed) = [input, weight].into_iter().find(|x| x.check().is_err()) {
        return failed.clone();
    }
    let geometry = match geometry {
        Ok(geometry) => geometry,
        Err(reason) => return Array::failed(op, reason),
    };
    if let Err(reason) = operands(input, weight, geometry.stride.len(), geometry.groups) {
        return Array::failed(op, reason);
    }
    let [input, weight] = matched(input, weight);
    let (x, w) = (channels_first(&input), channels_first(&weight));
    let primitive = Primitive::Convolution {
        strides: geometry.stride,
        low: geometry.padding.0,
        high: geometry.padding.1,
        dilations: geometry.kernel_dilation,
        input_dilations: geometry.input_dilation,
        groups: geometry.groups,
        flip: geometry.flip,
    };
    recorded(op, primitive, [&x, &w])
}

/// The geometry of a convolution with equal padding on both sides.
fn even(
    rank: usize,
    stride: &impl Spatial,
    padding: &impl Spatial,
    dilation: &impl Spatial,
    groups: usize,
) -> Result<ConvGeneral, Reason> {
    let padding = each("padding", padding, rank)?;
    Ok(ConvGeneral {
        stride: each("stride", stride, rank)?,
        padding: (padding.clone(), padding),
        kernel_dilation: each("dilation", dilation, rank)?,
        input_dilation: vec![1; rank],
        groups,
        flip: false,
    })
}

/// What cuts and spreads a transposed convolution.
struct Transposed {
    stride: Vec<usize>,
    padding: Vec<usize>,
    dilation: Vec<usize>,
    output_padding: Vec<usize>,
    groups: usize,
}

/// The adjoint of a convolution as an ordinary one: the input's items `stride`
/// apart meet flipped kernels.
#[track_caller]
fn transposed(op: &'static str, input: &Array, weight: &Array, by: Result<Transposed, Reason>) -> Array {
    if let Some(failed) = [input, weight].into_iter().find(|x| x.check().is_err()) {
        return failed.clone();
    }
    let by = match by {
        Ok(by) => by,
        Err(reason) => return Array::failed(op, reason),
    };
    let rank = by.stride.len();
    if let Err(reason) = operands(input, weight, rank, by.groups) {
        return Array::failed(op, reason);
    }
    let [input, weight] = matched(input, weight);
    let groups = by.groups;
    let shape = weight.shape();
    // [O, …, C / groups] to [C, O / groups, …]: by group, channels come first.
    let per = shape[0] / groups;
    let mut split: Vec<isize> = vec![groups as isize, per as isize];
    split.extend(shape[1..].iter().map(|&n| n as isize));
    let last = split.len() as isize - 1;
    let order: Vec<isize> = [0, last, 1].into_iter().chain(2..last).collect();
    let mut joined: Vec<isize> = vec![groups.saturating_mul(shape[rank + 1]) as isize, per as isize];
    joined.extend(shape[1..=rank].iter().map(|&n| n as isize));
    let kernels = weight.reshape(&split).transpose(order).reshape(&joined);
    let primitive = Primitive::TransposedConvolution {
        strides: by.stride,
        low: by.padding.clone(),
        high: by.padding,
        dilations: by.dilation,
        output_padding: by.output_padding,
        groups,
    };
    let x = channels_first(&input);
    recorded(op, primitive, [&x, &kernels])
}

macro_rules! convolutions {
    ($($rank:literal: $forward:ident $back:ident, $places:literal;)*) => {
        impl Array {
            $(
                #[doc = concat!("Convolution over ", $places, ": windows of `[N, …, C]` with kernels `[O, …, C / groups]`, which are not flipped.")]
                /// Each parameter is one number for all spatial dimensions or a list of
                /// them; padding is put on both sides.
                ///
                /// # Errors
                /// A failed array where shapes, channels and groups do not fit, a step
                /// is 0, or a kernel is larger than the padded input.
                #[track_caller]
                #[must_use]
                pub fn $forward(
                    &self,
                    weight: &Array,
                    stride: impl Spatial,
                    padding: impl Spatial,
                    dilation: impl Spatial,
                    groups: usize,
                ) -> Array {
                    let geometry = even($rank, &stride, &padding, &dilation, groups);
                    convolved(stringify!($forward), self, weight, geometry)
                }

                #[doc = concat!("The transposed convolution over ", $places, ": `[N, …, C]` spread by kernels `[O, …, C / groups]`.")]
                /// Each item adds its multiple of the kernel, `stride` apart; `padding` is
                /// cut off from both sides and `output_padding` added to the end.
                ///
                /// # Errors
                #[doc = concat!("As [`Array::", stringify!($forward), "`].")]
                #[track_caller]
                #[must_use]
                pub fn $back(
                    &self,
                    weight: &Array,
                    stride: impl Spatial,
                    padding: impl Spatial,
                    dilation: impl Spatial,
                    output_padding: impl Spatial,
                    groups: usize,
                ) -> Array {
                    let by = spread($rank, (&stride, &padding), (&dilation, &output_padding), groups);
                    transposed(stringify!($back), self, weight, by)
                }
            )*
        }
    };
}

fn spread(
    rank: usize,
    (stride, padding): (&impl Spatial, &impl Spatial),
    (dilation, output_padding): (&impl Spatial, &impl Spatial),
    groups: usize,
) -> Result<Transposed, Reason> {
    Ok(Transposed {
        stride: each("stride", stride, rank)?,
        padding: each("padding", padding, rank)?,
        dilation: each("dilation", dilation, rank)?,
        output_padding: each("output_padding", output_padding, rank)?,
        groups,
    })
}

convolutions! {
    1: conv1d conv_transpose1d, "one spatial dimension";
    2: conv2d conv_transpose2d, "two spatial dimensions";
    3: conv3d conv_transpose3d, "three spatial dimensions";
}

impl Array {
    /// Convolution over any number of spatial dimensions, with padding that may
    /// differ on both sides, dilated inputs and flipped kernels.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, ConvGeneral};
    /// let x = Array::from_slice(&[1f32, 2.0, 3.0], &[1, 3, 1]);
    /// let w = Array::from_slice(&[1f32, 10.0], &[1, 2, 1]);
    /// let geometry = ConvGeneral { padding: (vec![1], vec![0]), flip: true, ..ConvGeneral::new(1) };
    /// assert_eq!(x.conv_general(&w, &geometry).to_vec::<f32>()?, [1.0, 12.0, 23.0]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Array::conv2d`].
    #[track_caller]
    #[must_use]
    pub fn conv_general(&self, weight: &Array, geometry: &ConvGeneral) -> Array {
        convolved("conv_general", self, weight, Ok(geometry.clone()))
    }
}
