//! The closed vocabulary of operations: one list makes the enum and its
//! dispatch, and each primitive is one file with all its rules.

use std::fmt::Write;
use std::hash::{Hash, Hasher};

use oneir_tensor::{DType, HostTensor, Layout, TensorError};
use smallvec::smallvec;

use crate::attr::{Attr, SizeAttr};
use crate::fast::FastOp;
use crate::graph::{Body, Region};
use crate::scalar::{BinaryOp, UnaryOp};
use crate::text::{Cursor, Printer, TextError};
use crate::{Invalid, Spec, Specs};

mod case;
mod convolution_rules;
mod custom_rules;
mod indices;
mod lanes;
mod lines;
mod order;
mod params;
mod partials;
mod quant;
mod rules;
mod scattering;
mod sliding;
mod transforms;

pub use case::{Case, Expected};
pub(crate) use case::{of, t};
pub(crate) use custom_rules::Way;
pub use custom_rules::{BatchRule, ChangeRule, CustomRules, GivenRules};
#[allow(unused_imports, reason = "the params' types are named by the list below")]
pub use params::*;
pub(crate) use rules::Rules;
pub use rules::{EvalError, Nature, StepOp};
pub(crate) use transforms::scaled;
pub use transforms::{Applied, Asked, Batched, Batching, Derivative, Over, Partial, Slots};

macro_rules! form {
    (attr $field:ident $hasher:ident $sizes:ident) => {
        $field.hash($hasher);
    };
    (size $field:ident $hasher:ident $sizes:ident) => {
        $field.size_count().hash($hasher);
        SizeAttr::sizes($field, $sizes);
    };
}

macro_rules! primitives {
    ($(
        $(#[$doc:meta])*
        $module:ident: $variant:ident
        $(( $tf:ident: $tk:ident $tt:ty ))?
        $({ $($(#[$sdoc:meta])* $sf:ident: $sk:ident $st:ty),* $(,)? })?;
    )*) => {
        $(mod $module;)*

        /// An operation recorded in the graph, with its parameters.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Primitive {
            $($(#[$doc])* $variant $(($tt))? $({ $($(#[$sdoc])* $sf: $st),* })?),*
        }

        /// The parameters of each primitive by reference: what its rules see.
        pub(crate) mod fields {
            use super::*;
            $(
                pub(crate) struct $variant<'a> {
                    $(pub(crate) $tf: &'a $tt,)?
                    $($(pub(crate) $sf: &'a $st,)*)?
                    pub(crate) lifetime: std::marker::PhantomData<&'a ()>,
                }
            )*
        }

        impl Primitive {
            /// The name of every primitive, in the order of the list.
            pub const NAMES: &[&'static str] = &[$(stringify!($module)),*];

            /// The operation's name, as texts and error messages use it.
            pub fn name(&self) -> &'static str {
                match self { $(Primitive::$variant { .. } => stringify!($module)),* }
            }

            #[inline]
            fn rules<R>(&self, f: impl FnOnce(&dyn Rules) -> R) -> R {
                match self {
                    $(Primitive::$variant $(($tf))? $({ $($sf),* })? => f(&fields::$variant {
                        $($tf,)? $($($sf,)*)? lifetime: std::marker::PhantomData,
                    })),*
                }
            }

            /// Every primitive's test cases.
            pub fn cases() -> Vec<Case> {
                let mut all = Vec::new();
                $(all.extend(<fields::$variant<'_> as Rules>::cases());)*
                all
            }

            /// Hashes everything but sizes taken from shapes, which it appends
            /// to `sizes`: two primitives of one form differ in sizes only.
            pub fn hash_form<H: Hasher>(&self, hasher: &mut H, sizes: &mut Vec<u64>) {
                std::mem::discriminant(self).hash(hasher);
                match self {
                    $(Primitive::$variant $(($tf))? $({ $($sf),* })? => {
                        $(form!($tk $tf hasher sizes);)?
                        $($(form!($sk $sf hasher sizes);)*)?
                        _ = &sizes;
                    })*
                }
            }

            /// Prints the primitive as [`Primitive::read`] reads it.
            pub fn write(&self, out: &mut String) {
                let mut printer = Printer::default();
                self.print(&mut printer);
                out.push_str(&printer);
            }

            pub(crate) fn print(&self, out: &mut Printer) {
                out.push_str(self.name());
                match self {
                    $(Primitive::$variant $(($tf))? $({ $($sf),* })? => {
                        #[allow(unused_mut, reason = "a primitive may have no parameters")]
                        let mut parameters: Vec<Printed<'_>> = Vec::new();
                        $(let $tf = |out: &mut Printer| Attr::write($tf, out);
                          parameters.push((stringify!($tf), &$tf));)?
                        $($(let $sf = |out: &mut Printer| Attr::write($sf, out);)*
                          $(parameters.push((stringify!($sf), &$sf));)*)?
                        write_parameters(out, &parameters);
                    })*
                }
            }

            /// Parses a primitive as [`Primitive::write`] prints it.
            ///
            /// # Errors
            /// When the name or a parameter is not known.
            pub fn read(text: &mut Cursor<'_>) -> Result<Primitive, TextError> {
                let mut ahead = text.clone();
                let name = ahead.word("a primitive")?;
                // Each in a function of its own: bodies nest, and one frame with
                // the parameters of all primitives would be large.
                $(if name == stringify!($module) {
                    #[inline(never)]
                    fn parameters(text: &mut Cursor<'_>) -> Result<Primitive, TextError> {
                    _ = &text;
                    $(text.expect("(")?;
                      text.expect(stringify!($tf))?;
                      text.expect("=")?;
                      let $tf = <$tt as Attr>::read(text)?;
                      text.expect(")")?;)?
                    $(text.expect("(")?;
                      let mut first = true;
                      $(if !std::mem::take(&mut first) { text.expect(",")?; }
                        text.expect(stringify!($sf))?;
                        text.expect("=")?;
                        let $sf = <$st as Attr>::read(text)?;)*
                      text.expect(")")?;)?
                    Ok(Primitive::$variant $(($tf))? $({ $($sf),* })?)
                    }
                    *text = ahead;
                    return parameters(text);
                })*
                Err(text.error("a primitive"))
            }
        }
    };
}

primitives! {
    /// Element-wise function of one operand.
    unary: Unary(op: attr UnaryOp);
    /// Element-wise function of two operands of equal shape and dtype.
    binary: Binary(op: attr BinaryOp);
    /// `(condition, a, b)`: a where the boolean condition holds, else b.
    select: Select;
    /// Conversion to another element type.
    as_type: AsType(dtype: attr DType);
    /// The same elements in another shape: a view where strides can say it.
    reshape: Reshape(shape: size Vec<usize>);
    /// Without the size-1 dimensions at `axes` (sorted, unique). A view.
    squeeze: Squeeze(axes: attr Vec<usize>);
    /// With size-1 dimensions at the result's `axes` (sorted, unique). A view.
    expand_dims: ExpandDims(axes: attr Vec<usize>);
    /// Result axis i is input axis `axes[i]`. A view.
    transpose: Transpose(axes: attr Vec<usize>);
    /// A normalised slice per dimension. A view.
    slice: Slice {
        /// First index per dimension.
        start: size Vec<usize>,
        /// Step per dimension, not 0.
        step: attr Vec<isize>,
        /// Number of indices per dimension: the result's shape.
        len: size Vec<usize>,
    };
    /// Presented as a larger shape, aligned at the end, repeating size-1 dimensions. A view.
    broadcast: Broadcast(shape: size Vec<usize>);
    /// The input unchanged; no gradient flows through it. A view.
    stop_gradient: StopGradient;
    /// The input's bytes read as another dtype; where element sizes differ, the last dimension scales.
    view: View(dtype: attr DType);
    /// `(base, update)`: base with the region that `Slice` would select replaced by update.
    slice_update: SliceUpdate {
        /// First index per dimension.
        start: size Vec<usize>,
        /// Step per dimension, not 0.
        step: attr Vec<isize>,
        /// Number of indices per dimension: the update's shape.
        len: size Vec<usize>,
    };
    /// Reduction over sorted, unique axes, which become size 1.
    reduce: Reduce {
        /// The combination.
        op: attr ReduceOp,
        /// The reduced axes.
        axes: attr Vec<usize>,
    };
    /// The inputs joined along an axis.
    concatenate: Concatenate {
        /// The joined axis.
        axis: attr usize,
    };
    /// Batched product of `[B…, M, K]` and `[B…, K, N]`.
    matmul: Matmul;
    /// `(a, b, c)`: alpha · (a @ b) + beta · c, with c of the result's shape.
    add_mm: AddMM {
        /// `f32::to_bits` of the product's factor.
        alpha: attr u32,
        /// `f32::to_bits` of c's factor.
        beta: attr u32,
    };
    /// `(x, weight)`: sums of products of windows of x, `[N, C, …]`, with kernels,
    /// `[O, C / groups, …]`, over one or more spatial dimensions. Other places than
    /// x's own hold zeros. Floats sum in f64, integers wrap.
    convolution: Convolution {
        /// Places from one window to the next, per spatial dimension.
        strides: attr Vec<usize>,
        /// Places before x's first item.
        low: attr Vec<usize>,
        /// Places after x's last item.
        high: attr Vec<usize>,
        /// Places from one item of the kernel to the next.
        dilations: attr Vec<usize>,
        /// Places from one item of x to the next.
        input_dilations: attr Vec<usize>,
        /// How many times channels are split: each group of x's makes one of the result's.
        groups: attr usize,
        /// Whether the kernel runs backwards, as convolution has it in mathematics.
        flip: attr bool,
    };
    /// `(x, weight)`: x, `[N, C, …]`, spread over a result whose convolution, with the
    /// same strides, padding and weight, `[C, O / groups, …]`, has x's shape: each item
    /// of x adds its multiple of the kernel. Floats sum in f64, integers wrap.
    transposed_convolution: TransposedConvolution {
        /// Places of the result from one item of x to the next, per spatial dimension.
        strides: attr Vec<usize>,
        /// Places cut off before the result.
        low: attr Vec<usize>,
        /// Places cut off after the result.
        high: attr Vec<usize>,
        /// Places of the result from one item of the kernel to the next.
        dilations: attr Vec<usize>,
        /// Places added after the result, which no stride would reach.
        output_padding: attr Vec<usize>,
        /// How many times channels are split: each group of x's makes one of the result's.
        groups: attr usize,
    };
    /// The reduction of each window that slides over all dimensions. Padding holds the
    /// result of no elements: for an extreme, the farthest value of the dtype.
    window_reduce: WindowReduce {
        /// The combination.
        op: attr ReduceOp,
        /// Items of the window, per dimension.
        window: attr Vec<usize>,
        /// Places from one window to the next.
        strides: attr Vec<usize>,
        /// Places before the first item.
        low: attr Vec<usize>,
        /// Places after the last item.
        high: attr Vec<usize>,
        /// Places from one item of the window to the next.
        dilations: attr Vec<usize>,
    };
    /// The discrete Fourier transform over axes, which need no order but for the last:
    /// that is the one that a real transform halves.
    fft: Fft {
        /// Which transform.
        op: attr FftOp,
        /// The transformed axes, each once.
        axes: attr Vec<usize>,
        /// How many samples each axis has where it is not halved.
        sizes: size Vec<usize>,
    };
    /// Linear algebra on the matrices in the last two dimensions, one by one over the
    /// others. The sign (of complex ones, the phase) of a singular or eigenvector is
    /// such that its first element of about the greatest magnitude is positive.
    linalg: Linalg(op: attr LinalgOp);
    /// `(primals…, results…)`: the results of a function unchanged, beside what it was
    /// called with. Transforms use the function's own rules instead of what made the
    /// results; nothing may simplify the call away before they have.
    custom: Custom(call: attr CustomCall);
    /// A kernel that a user wrote, from inputs to outputs of given shapes.
    kernel: Kernel(call: attr Box<KernelCall>);
    /// What the members of a group do together with one tensor of each.
    collective: Collective {
        /// The operation.
        op: attr CollectiveOp,
        /// The group's id; 0 is the group of one.
        group: attr usize,
    };
    /// A fused class, defined by ordinary primitives.
    fast: Fast(op: attr FastOp);
    /// Element-wise operations fused into one. Inputs share the result's shape.
    compiled: Compiled(region: attr Region);
    /// A row-contiguous copy in a buffer of its own, never simplified away.
    copy: Copy;
    /// `(x, deps…)`: x unchanged, evaluated only after the others.
    depends: Depends {
        /// How many inputs follow x.
        n_deps: attr usize,
    };
    /// Numbers 0, 1, 2, … along an axis, the same along all others.
    iota: Iota {
        /// Element type.
        dtype: attr DType,
        /// The result's shape.
        shape: size Vec<usize>,
        /// The axis along which the numbers grow.
        axis: attr usize,
    };
    /// How many elements the axes of x have together, whatever they are: a number that
    /// follows the shape where a function runs on others than it was traced with.
    axis_count: AxisCount {
        /// The counted axes (sorted, unique).
        axes: attr Vec<usize>,
        /// Element type of the number.
        dtype: attr DType,
    };
    /// `(condition, captures…)`: the results of one of two bodies.
    if_else: If {
        /// Runs when the condition holds.
        then: attr Body,
        /// Runs when it does not.
        otherwise: attr Body,
    };
    /// `(carried…, captures…)`: body while condition holds; results are what is carried.
    while_loop: While {
        /// From the carried values and captures to one boolean.
        condition: attr Body,
        /// From the carried values and captures to the next carried values.
        body: attr Body,
        /// How many inputs are carried.
        carried: attr usize,
    };
    /// `(carried…, scanned…, captures…)`: body once per item of the scanned inputs' first axis.
    scan_over: ScanOver {
        /// From carried, one item of each scanned input, and captures, to carried and one item of each stacked result.
        body: attr Body,
        /// How many inputs are carried.
        carried: attr usize,
        /// How many inputs are scanned.
        scanned: attr usize,
        /// Whether items are taken from the end.
        reverse: attr bool,
    };
    /// `(x, count)`: the first `count` items of an axis. The size is known only
    /// once `count` is: the graph breaks there. Until then the shape is x's.
    narrow: Narrow {
        /// The shortened axis.
        axis: attr usize,
    };
    /// Floats as E4M3 bytes (u8): to the nearest, ties to even, past ±448 to ±448; NaN is 0x7F.
    to_fp8: ToFp8;
    /// E4M3 bytes (u8) as floats; 0x7F and 0xFF are NaN.
    from_fp8: FromFp8(dtype: attr DType);
    /// Sorted u32 numbers `[…, M]` to i32 `[…, groups]`: how many of a row lie below each group's number.
    sorted_offsets: SortedOffsets {
        /// How many groups there are.
        groups: size usize,
    };
    /// Where along an axis an extreme first occurs, as u32; the axis becomes size 1.
    arg_reduce: ArgReduce {
        /// Which extreme.
        op: attr ArgReduceOp,
        /// The reduced axis.
        axis: attr usize,
    };
    /// `(src, indices)`: of each line along the axis, the elements at the indices of the same line.
    /// Negative indices count from the end; past either end they are clamped.
    gather_axis: GatherAxis {
        /// The indexed axis.
        axis: attr usize,
    };
    /// `(dst, indices, updates)`: dst with each update at its index in the same line along the axis,
    /// in row order. Indices as in `GatherAxis`.
    scatter_axis: ScatterAxis {
        /// The indexed axis.
        axis: attr usize,
        /// How an update meets what is there.
        reduce: attr ScatterReduce,
    };
    /// Each line along the axis in ascending order, NaN last, equals in their order.
    sort: Sort {
        /// The sorted axis.
        axis: attr usize,
    };
    /// The u32 places from which `Sort` takes its elements.
    arg_sort: ArgSort {
        /// The sorted axis.
        axis: attr usize,
    };
    /// The combination of the elements up to each place along the axis.
    scan: Scan {
        /// The combination.
        op: attr ScanOp,
        /// The scanned axis.
        axis: attr usize,
        /// Whether it runs from the end.
        reverse: attr bool,
        /// Whether a place counts its own element; if not, the first is the combination's identity.
        inclusive: attr bool,
    };
    /// A float tensor as u32 words of codes, scales and, where the mode has them, biases.
    quantize: Quantize {
        /// The format.
        quant: attr Quant,
    };
    /// `(words, scales[, biases])`: the numbers that the codes stand for.
    dequantize: Dequantize {
        /// The format.
        quant: attr Quant,
        /// Element type of the result; of the scales too, where they are floats.
        dtype: attr DType,
    };
    /// `(x, words, scales[, biases])`: x times the dequantized matrix, or its transpose. The matrix
    /// has two dimensions, or x's batch dimensions before them.
    quantized_matmul: QuantizedMatmul {
        /// The format.
        quant: attr Quant,
        /// Whether the matrix is taken transposed: its rows are then the result's columns.
        transpose: attr bool,
    };
    /// Keys `[…, 2]` (u32) to random bits `[…, shape…]`: threefry2x32 with 20 rounds.
    random_bits: RandomBits {
        /// What is drawn per key.
        shape: size Vec<usize>,
        /// Bytes per element: 1, 2 or 4 (u8, u16, u32).
        width: attr u8,
    };
    /// `(x, value)`, or `(x)` where the mode needs no value: x with more at both ends of its axes.
    pad: Pad {
        /// How much before each axis.
        low: size Vec<usize>,
        /// How much after each axis.
        high: size Vec<usize>,
        /// What the padding holds.
        mode: attr PadMode,
    };
    /// `(src, indices…)`: for each place of the index arrays, a slice of src that begins at these
    /// indices along `axes`, and at 0 along the others. The result's shape is the index arrays'
    /// followed by `slice_sizes`. Negative indices count from the end; then the slice is moved inside.
    gather: Gather {
        /// The axis that each index array is for (sorted, unique).
        axes: attr Vec<usize>,
        /// How much of each axis of src a slice holds.
        slice_sizes: size Vec<usize>,
    };
    /// `(dst, indices…, updates)`: dst with updates where `Gather` would take slices, in row order.
    scatter: Scatter {
        /// The axis that each index array is for (sorted, unique).
        axes: attr Vec<usize>,
        /// How an update meets what is there.
        reduce: attr ScatterReduce,
    };
    /// `(x, starts)`: a slice of x that begins at starts along `axes`, and at 0 along the others;
    /// moved inside where it would leave x.
    dynamic_slice: DynamicSlice {
        /// The axis that each start is for (sorted, unique).
        axes: attr Vec<usize>,
        /// Number of indices per dimension: the result's shape.
        len: size Vec<usize>,
    };
    /// `(x, update, starts)`: x with the slice that `DynamicSlice` would take replaced by update.
    dynamic_slice_update: DynamicSliceUpdate {
        /// The axis that each start is for (sorted, unique).
        axes: attr Vec<usize>,
    };
}

/// A parameter's name, and what prints its value.
type Printed<'a> = (&'a str, &'a dyn Fn(&mut Printer));

fn write_parameters(out: &mut Printer, parameters: &[Printed<'_>]) {
    if parameters.is_empty() {
        return;
    }
    out.push('(');
    for (i, (name, write)) in parameters.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        _ = write!(out, "{name} = ");
        write(out);
    }
    out.push(')');
}

impl Primitive {
    /// Shape and dtype of each result, or why the inputs do not fit.
    ///
    /// # Errors
    /// Names what was expected and what was found.
    pub fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let specs = self.rules(|rules| rules.infer(inputs))?;
        for spec in &specs {
            spec.shape.checked_count(spec.dtype)?;
        }
        Ok(specs)
    }

    /// The results, computed slowly and carefully from row-ordered inputs.
    ///
    /// # Errors
    /// When the inputs do not fit, or their data has no result.
    pub fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        self.rules(|rules| rules.evaluate(inputs))
    }

    /// What kind of operation this is: the question passes ask.
    pub fn nature(&self) -> Nature {
        self.rules(|rules| rules.nature())
    }

    /// Where the result's elements lie when the input's lie as `input` says:
    /// of a view, and where strides can say it.
    pub fn view(&self, input: &Layout) -> Option<Layout> {
        self.rules(|rules| rules.view(input))
    }

    /// The graphs that control flow runs.
    pub fn bodies(&self) -> Vec<&Body> {
        match self {
            Primitive::If { then, otherwise } => vec![then, otherwise],
            Primitive::While { condition, body, .. } => vec![condition, body],
            Primitive::ScanOver { body, .. } => vec![body],
            _ => Vec::new(),
        }
    }

    /// The element-wise step that this is, if it is one.
    pub fn step(&self) -> Option<StepOp> {
        self.rules(|rules| rules.step())
    }

    /// Looks at the derivative rule.
    pub(crate) fn with_derivative<R>(&self, look: impl FnOnce(Derivative<'_>) -> R) -> R {
        self.rules(|rules| look(rules.derivative()))
    }

    /// Looks at the batching rule.
    pub(crate) fn with_batching<R>(&self, look: impl FnOnce(Batching<'_>) -> R) -> R {
        self.rules(|rules| look(rules.batching()))
    }

    /// The first of the operands that the results are, unchanged: one after the other.
    pub fn presents(&self) -> Option<usize> {
        self.rules(|rules| rules.presents())
    }

    /// Whether the parameters hold sizes taken from traced shapes, so that a
    /// replay on other shapes would be wrong.
    pub fn fixes_shape(&self) -> bool {
        self.rules(|rules| rules.fixes_shape())
    }
}

/// The layout that a view primitive gives to a host tensor, copied where
/// strides cannot say it.
fn evaluate_view(rules: &dyn Rules, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
    let [x] = inputs else {
        return Err(Invalid::Arity { expected: "1", found: inputs.len() }.into());
    };
    let spec = Spec::new(x.dtype(), x.shape().clone());
    let out = rules.infer(&[&spec])?.remove(0);
    match rules.view(x.layout()) {
        Some(layout) if x.dtype().size().is_some() => Ok(vec![x.with_layout(layout)?]),
        _ => {
            let row = HostTensor::from_bytes(x.dtype(), x.shape(), &x.bytes())?;
            match rules.view(row.layout()) {
                Some(layout) if x.dtype().size().is_some() => Ok(vec![row.with_layout(layout)?]),
                _ if out.count() == row.count() => Ok(vec![row.reshape(&out.shape)?]),
                _ => Err(TensorError::PackedView { dtype: x.dtype() }.into()),
            }
        }
    }
}

fn one(spec: Spec) -> Result<Specs, Invalid> {
    Ok(smallvec![spec])
}
