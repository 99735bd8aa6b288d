//! Quantized matrices, bit for bit as MLX has them on a CPU.
//!
//! | mode | group sizes | bits | scales |
//! |---|---|---|---|
//! | `Affine` | 32, 64 (default), 128 | 1, 2, 3, 4 (default), 5, 6, 8 | the array's dtype, with biases |
//! | `Mxfp4` | 32 | 4 | E8M0 bytes |
//! | `Mxfp8` | 32 | 8 | E8M0 bytes |
//! | `Nvfp4` | 16 | 4 | E4M3 bytes |

use oneir_ir::primitive::{Quant, QuantMode};
use oneir_ir::{Primitive, Value};
use oneir_tensor::{DType, broadcast_shapes};

use crate::create::{converted, presented};
use crate::gathered::{both, picked};
use crate::{Array, Reason};

/// How a quantized array is written: the mode, how many elements share a scale
/// and the bits of each.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, DType, QuantMode, Quantization, random};
/// let w = random::normal(&[8, 64], DType::F32, 0, 1, None);
/// let form = Quantization::new(QuantMode::Affine);
/// let (words, scales, biases) = w.quantize(&form);
/// assert_eq!((words.shape().to_vec(), scales.shape().to_vec()), (vec![8, 8], vec![8, 1]));
/// let back = words.dequantize(&scales, biases.as_ref(), &form, None);
/// assert!((back - &w).abs().max(.., false).item::<f32>()? < 0.5);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantization {
    /// What codes mean.
    pub mode: QuantMode,
    /// How many elements share a scale.
    pub group_size: usize,
    /// Bits of an element.
    pub bits: usize,
}

impl Quantization {
    /// A mode with its usual group size and bits.
    pub fn new(mode: QuantMode) -> Quantization {
        let (group_size, bits) = match mode {
            QuantMode::Mxfp4 => (32, 4),
            QuantMode::Mxfp8 => (32, 8),
            QuantMode::Nvfp4 => (16, 4),
            _ => (64, 4),
        };
        Quantization { mode, group_size, bits }
    }

    fn quant(&self) -> Quant {
        Quant { mode: self.mode, group_size: self.group_size, bits: self.bits }
    }
}

/// The operands that a mode has, or why there are others.
fn packed<'a>(
    form: &Quantization,
    words: &'a Array,
    scales: &'a Array,
    biases: Option<&'a Array>,
) -> Result<Vec<&'a Array>, Reason> {
    match (form.quant().has_biases(), biases) {
        (true, Some(biases)) => Ok(vec![words, scales, biases]),
        (false, None) => Ok(vec![words, scales]),
        (true, None) => Err(Reason::Parameters("the affine mode needs biases".into())),
        (false, Some(_)) => Err(Reason::Parameters(format!("mode {:?} has no biases", form.mode))),
    }
}

/// The last two axes exchanged.
#[track_caller]
fn turned(x: &Array) -> Array {
    let rank = x.ndim();
    if rank < 2 {
        return x.clone();
    }
    let mut axes: Vec<isize> = (0..rank as isize).collect();
    axes.swap(rank - 2, rank - 1);
    x.transpose(axes)
}

/// Which matrices of a batch are multiplied: flat places among the left and the
/// right ones, in row order.
#[derive(Debug, Clone, Copy, Default)]
pub struct Picks<'a> {
    /// Among the left matrices; without them, each in its place.
    pub lhs: Option<&'a Array>,
    /// Among the right ones.
    pub rhs: Option<&'a Array>,
    /// Whether the indices rise in row order, where one side has them: a promise,
    /// which changes no result.
    pub sorted: bool,
}

impl Array {
    /// `(words, scales, biases)` of a float array `[…, n]`: words are u32
    /// `[…, n · bits / 32]`, scales and, in the affine mode, biases
    /// `[…, n / group_size]`.
    ///
    /// # Errors
    /// Failed arrays where the mode has no such groups or bits, the last size is
    /// no multiple of the group size, or the dtype is none of f16, bf16 and f32.
    #[track_caller]
    #[must_use]
    pub fn quantize(&self, form: &Quantization) -> (Array, Array, Option<Array>) {
        let quantize = |place, x: &Value| {
            let primitive = Primitive::Quantize { quant: form.quant() };
            Ok(Value::record_all(primitive, &[x], place)?.into_iter().collect())
        };
        if form.quant().has_biases() {
            let [words, scales, biases] =
                Array::build_all("quantize", [self], |[x], place| quantize(place, x));
            return (words, scales, Some(biases));
        }
        let [words, scales] = Array::build_all("quantize", [self], |[x], place| quantize(place, x));
        (words, scales, None)
    }

    /// The floats that [`Array::quantize`] gave these words for, in `dtype` or,
    /// without one, that of the scales where they are floats, else bf16.
    ///
    /// # Errors
    /// A failed array where words, scales and biases do not fit the form.
    #[track_caller]
    #[must_use]
    pub fn dequantize(
        &self,
        scales: &Array,
        biases: Option<&Array>,
        form: &Quantization,
        dtype: Option<DType>,
    ) -> Array {
        const OP: &str = "dequantize";
        let given = [Some(self), Some(scales), biases];
        if let Some(failed) = given.into_iter().flatten().find(|x| x.check().is_err()) {
            return failed.clone();
        }
        let operands = match packed(form, self, scales, biases) {
            Ok(operands) => operands,
            Err(reason) => return Array::failed(OP, reason),
        };
        let own = if form.quant().has_biases() { scales.dtype() } else { dtype.unwrap_or(DType::BF16) };
        let restored = Array::build(OP, [], |[], place| {
            let values = operands.iter().filter_map(|x| x.value().ok()).collect::<Vec<_>>();
            let primitive = Primitive::Dequantize { quant: form.quant(), dtype: own };
            Ok(Value::record(primitive, &values, place)?)
        });
        dtype.map_or(restored.clone(), |dtype| restored.astype(dtype)).named(OP)
    }

    /// This array times a quantized matrix, by default transposed: of `[…, K]`
    /// and a matrix of N rows of K elements, `[…, N]`. Leading dimensions of the
    /// matrix broadcast with this array's.
    ///
    /// # Errors
    /// A failed array where sizes or dtypes do not fit the form.
    #[track_caller]
    #[must_use]
    pub fn quantized_matmul(
        &self,
        w: &Array,
        scales: &Array,
        biases: Option<&Array>,
        transpose: bool,
        form: &Quantization,
    ) -> Array {
        const OP: &str = "quantized_matmul";
        let given = [Some(self), Some(w), Some(scales), biases];
        if let Some(failed) = given.into_iter().flatten().find(|x| x.check().is_err()) {
            return failed.clone();
        }
        let operands = match packed(form, w, scales, biases) {
            Ok(operands) => operands,
            Err(reason) => return Array::failed(OP, reason),
        };
        let affine = form.quant().has_biases();
        Array::build(OP, [self], |[x], place| {
            let mut parts = Vec::with_capacity(4);
            for operand in operands {
                if let Ok(value) = operand.value() {
                    parts.push(value.clone());
                }
            }
            let dtype = if affine { parts[1].spec().dtype } else { x.spec().dtype };
            let mut x = converted(x, dtype, &place)?;
            let rank = parts[0].spec().rank();
            if rank > 2 && x.spec().rank() >= 2 {
                let lead = |v: &Value| v.spec().shape[..v.spec().rank() - 2].to_vec();
                let batch = broadcast_shapes(&lead(&x), &lead(&parts[0]))?;
                for value in std::iter::once(&mut x).chain(&mut parts) {
                    let sides = value.spec().shape[value.spec().rank() - 2..].to_vec();
                    *value = presented(value, &batch.iter().copied().chain(sides).collect(), &place)?;
                }
            }
            let inputs: Vec<&Value> = std::iter::once(&x).chain(&parts).collect();
            let primitive = Primitive::QuantizedMatmul { quant: form.quant(), transpose };
            Ok(Value::record(primitive, &inputs, place)?)
        })
    }

    /// [`Array::gather_mm`] with quantized matrices on the right, by default
    /// transposed.
    ///
    /// # Errors
    /// As [`Array::gather_mm`] and [`Array::dequantize`].
    #[track_caller]
    #[must_use]
    pub fn gather_qmm(
        &self,
        w: &Array,
        scales: &Array,
        biases: Option<&Array>,
        picks: Picks<'_>,
        transpose: bool,
        form: &Quantization,
    ) -> Array {
        const OP: &str = "gather_qmm";
        let given = [Some(self), Some(w), Some(scales), biases, picks.lhs, picks.rhs];
        if let Some(failed) = given.into_iter().flatten().find(|x| x.check().is_err()) {
            return failed.clone();
        }
        let (x, shape) = (self.shape(), w.shape());
        if x.rank() < 2 || shape.rank() < 2 || scales.ndim() != shape.rank() {
            let reason = format!("matrices are needed on both sides, found shapes {x:?} and {shape:?}");
            return Array::failed(OP, Reason::Parameters(reason));
        }
        let batches = [&x[..x.rank() - 2], &shape[..shape.rank() - 2]];
        let [left, right] = match both(batches, picks.lhs, picks.rhs, picks.sorted) {
            Ok(found) => found,
            Err(reason) => return Array::failed(OP, reason),
        };
        let biases = biases.map(|biases| picked(biases, &right));
        picked(self, &left)
            .quantized_matmul(&picked(w, &right), &picked(scales, &right), biases.as_ref(), transpose, form)
            .named(OP)
    }

    /// The product with the transpose of `w`, both quantized: this array on the
    /// way, `w` too where it comes without scales. Modes nvfp4 and mxfp8.
    ///
    /// # Errors
    /// A failed array for the other modes, and as [`Array::quantized_matmul`].
    #[track_caller]
    #[must_use]
    pub fn qqmm(&self, w: &Array, scales: Option<&Array>, form: &Quantization) -> Array {
        const OP: &str = "qqmm";
        match quantized_sides(OP, self, w, scales, form) {
            Ok([x, w]) => x.matmul(&turned(&w)).named(OP),
            Err(failed) => failed,
        }
    }

    /// [`Array::qqmm`] of the matrices that indices pick, as
    /// [`Array::gather_mm`] picks them.
    ///
    /// # Errors
    /// As [`Array::qqmm`] and [`Array::gather_mm`].
    #[track_caller]
    #[must_use]
    pub fn gather_qqmm(
        &self,
        w: &Array,
        scales: Option<&Array>,
        picks: Picks<'_>,
        form: &Quantization,
    ) -> Array {
        const OP: &str = "gather_qqmm";
        match quantized_sides(OP, self, w, scales, form) {
            Ok([x, w]) => x.gather_mm(&turned(&w), picks.lhs, picks.rhs, picks.sorted).named(OP),
            Err(failed) => failed,
        }
    }
}

/// Both sides of a product as what their codes stand for, or the failure.
#[track_caller]
fn quantized_sides(
    op: &'static str,
    x: &Array,
    w: &Array,
    scales: Option<&Array>,
    form: &Quantization,
) -> Result<[Array; 2], Array> {
    if let Some(failed) = [Some(x), Some(w), scales].into_iter().flatten().find(|x| x.check().is_err()) {
        return Err(failed.clone());
    }
    if !matches!(form.mode, QuantMode::Nvfp4 | QuantMode::Mxfp8) {
        let reason = format!("mode {:?}: nvfp4 or mxfp8 is needed", form.mode);
        return Err(Array::failed(op, Reason::Parameters(reason)));
    }
    let dtype = x.dtype();
    let (codes, own, _) = x.quantize(form);
    let x = codes.dequantize(&own, None, form, Some(dtype)).named(op);
    let w = match scales {
        Some(scales) => w.dequantize(scales, None, form, Some(dtype)).named(op),
        None => {
            let (codes, own, _) = w.quantize(form);
            codes.dequantize(&own, None, form, Some(dtype)).named(op)
        }
    };
    let failed = [&x, &w].into_iter().find(|x| x.check().is_err()).cloned();
    failed.map_or(Ok([x, w]), Err)
}
