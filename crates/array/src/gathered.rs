//! Products of matrices that are picked, cut or masked.

use oneir_ir::Value;
use oneir_tensor::{DType, broadcast_shapes, promote};

use crate::{Array, Reason};

/// The dtype of a product of integers is f32.
fn inexact(a: &Array, b: &Array) -> DType {
    let dtype = promote(a.dtype(), b.dtype());
    if dtype.is_inexact() { dtype } else { DType::F32 }
}

/// Refuses indices that are no integers.
pub(crate) fn indices(given: Option<&Array>) -> Result<(), Reason> {
    match given {
        Some(found)
            if found.check().is_ok() && (found.dtype().is_inexact() || found.dtype() == DType::Bool) =>
        {
            Err(Reason::Parameters(format!("indices must be integers, found {}", found.dtype())))
        }
        _ => Ok(()),
    }
}

/// Refuses indices that are said to be sorted, and are known not to be.
fn in_order(indices: &Array) -> Result<(), Reason> {
    let Some(known) = indices.value().ok().and_then(Value::as_constant) else { return Ok(()) };
    let places = known.values()?.to_ints().unwrap_or_default();
    match places.windows(2).position(|pair| pair[0] > pair[1]) {
        Some(at) => Err(Reason::Parameters(format!(
            "indices are said to be sorted, but {} comes before {}",
            places[at],
            places[at + 1]
        ))),
        None => Ok(()),
    }
}

/// The matrices that indices pick among all of a batch, counted in row order;
/// without indices, each one in its place.
#[track_caller]
pub(crate) fn picked(x: &Array, picks: &Array) -> Array {
    let shape = x.shape();
    let sides: Vec<isize> =
        [-1].into_iter().chain(shape[shape.rank() - 2..].iter().map(|&n| n as isize)).collect();
    if shape.contains(&0) {
        let whole: Vec<usize> =
            picks.shape().iter().copied().chain(shape[shape.rank() - 2..].iter().copied()).collect();
        return Array::zeros(&whole, x.dtype());
    }
    x.reshape(&sides).take(picks, 0)
}

/// The numbers of a batch's matrices in row order, in the shape of the batch.
#[track_caller]
pub(crate) fn numbered(batch: &[usize]) -> Array {
    let shape: Vec<isize> = batch.iter().map(|&n| n as isize).collect();
    Array::arange(batch.iter().fold(1usize, |n, &size| n.saturating_mul(size)), DType::U32).reshape(&shape)
}

/// The indices that each side is picked by, of one shape. Where they are `sorted`,
/// the indices of the one side that has any rise in row order.
#[track_caller]
pub(crate) fn both(
    batches: [&[usize]; 2],
    left: Option<&Array>,
    right: Option<&Array>,
    sorted: bool,
) -> Result<[Array; 2], Reason> {
    indices(left)?;
    indices(right)?;
    // With indices for both sides the promise says nothing.
    if let (true, [Some(given), None] | [None, Some(given)]) = (sorted, [left, right]) {
        in_order(given)?;
    }
    let of = |given: Option<&Array>, batch: &[usize]| given.cloned().unwrap_or_else(|| numbered(batch));
    let (left, right) = (of(left, batches[0]), of(right, batches[1]));
    let shape = broadcast_shapes(&left.shape(), &right.shape())?;
    Ok([left.broadcast_to(&shape), right.broadcast_to(&shape)])
}

impl Array {
    /// The products of matrices that indices pick: `lhs_indices` among this
    /// array's matrices `[…, M, K]` and `rhs_indices` among the other's
    /// `[…, K, N]`, both counted in row order over the leading dimensions. The
    /// indices broadcast together; where they are missing, each matrix stands in
    /// its place. The result is `[indices…, M, N]`.
    ///
    /// `sorted_indices` is a promise: where one side has indices, they rise in row
    /// order. It changes no result.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, DType};
    /// let (x, experts) = (Array::ones(&[5, 1, 8], DType::F32), Array::ones(&[3, 8, 4], DType::F32));
    /// let chosen = Array::from_slice(&[0u32, 2, 2, 1, 0], &[5]);
    /// assert_eq!(x.gather_mm(&experts, None, Some(&chosen), false).shape(), [5, 1, 4]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    /// A failed array where inner sizes differ, indices are no integers or do
    /// not broadcast, or a promise of sorted indices is known to be broken. Indices
    /// out of range are clamped.
    #[track_caller]
    #[must_use]
    pub fn gather_mm(
        &self,
        other: &Array,
        lhs_indices: Option<&Array>,
        rhs_indices: Option<&Array>,
        sorted_indices: bool,
    ) -> Array {
        const OP: &str = "gather_mm";
        let given = [Some(self), Some(other), lhs_indices, rhs_indices];
        if let Some(failed) = given.into_iter().flatten().find(|x| x.check().is_err()) {
            return failed.clone();
        }
        if self.ndim() == 0 || other.ndim() == 0 {
            let reason = "a product needs at least one dimension on each side".to_string();
            return Array::failed(OP, Reason::Parameters(reason));
        }
        let dtype = inexact(self, other);
        let (row, column) = (self.ndim() == 1, other.ndim() == 1);
        let a = if row { self.expand_dims(0) } else { self.clone() }.astype(dtype);
        let b = if column { other.expand_dims(1) } else { other.clone() }.astype(dtype);
        let (shape_a, shape_b) = (a.shape(), b.shape());
        let batches = [&shape_a[..shape_a.rank() - 2], &shape_b[..shape_b.rank() - 2]];
        let [left, right] = match both(batches, lhs_indices, rhs_indices, sorted_indices) {
            Ok(picks) => picks,
            Err(reason) => return Array::failed(OP, reason),
        };
        let product = picked(&a, &left).matmul(&picked(&b, &right)).named(OP);
        let product = if column { product.squeeze(-1) } else { product };
        match (row, column) {
            (true, true) => product.squeeze(-1),
            (true, false) => product.squeeze(-2),
            (false, _) => product,
        }
    }

    /// The products of parts of the inner dimension: of `[M, K]` and `[K, N]`,
    /// for each pair of `segments`, `[…, 2]` (integers), that of the columns and
    /// rows from the first to before the second: `[…, M, N]`.
    ///
    /// # Errors
    /// A failed array where the factors are no matrices that fit, or the
    /// segments no pairs of integers.
    #[track_caller]
    #[must_use]
    pub fn segmented_mm(&self, other: &Array, segments: &Array) -> Array {
        const OP: &str = "segmented_mm";
        if let Some(failed) = [self, other, segments].into_iter().find(|x| x.check().is_err()) {
            return failed.clone();
        }
        if let Err(reason) = indices(Some(segments)) {
            return Array::failed(OP, reason);
        }
        let (a, b, pairs) = (self.shape(), other.shape(), segments.shape());
        if a.rank() != 2 || b.rank() != 2 || a[1] != b[0] || pairs.last() != Some(&2) {
            let reason = format!(
                "matrices [M, K] and [K, N] and segments [..., 2] are needed, found {a:?}, {b:?} and {pairs:?}"
            );
            return Array::failed(OP, Reason::Parameters(reason));
        }
        let dtype = inexact(self, other);
        let bounds = segments.astype(DType::I64).expand_dims(-1);
        let (first, last) = (bounds.narrow(-2, 0, 1), bounds.narrow(-2, 1, 1));
        let places = Array::arange(a[1], DType::I64);
        let inside = places.greater_equal(&first).logical_and(places.less(&last));
        // [..., 1, K] beside [M, K].
        let parts = inside.where_(self.astype(dtype), 0);
        parts.matmul(&other.astype(dtype)).named(OP)
    }

    /// The product of matrices of which blocks of `block_size` by `block_size`
    /// are masked: bool masks keep or drop a block, others scale it. Masks have
    /// an element per block, `[…, ⌈M / size⌉, ⌈K / size⌉]` and so on, and
    /// broadcast over leading dimensions.
    ///
    /// # Errors
    /// A failed array where the factors do not fit, the block size is 0, or a
    /// mask has not one element per block.
    #[track_caller]
    #[must_use]
    pub fn block_masked_mm(
        &self,
        other: &Array,
        block_size: usize,
        mask_out: Option<&Array>,
        mask_lhs: Option<&Array>,
        mask_rhs: Option<&Array>,
    ) -> Array {
        const OP: &str = "block_masked_mm";
        let given = [Some(self), Some(other), mask_out, mask_lhs, mask_rhs];
        if let Some(failed) = given.into_iter().flatten().find(|x| x.check().is_err()) {
            return failed.clone();
        }
        if block_size == 0 || self.ndim() == 0 || other.ndim() == 0 {
            let reason = format!("blocks of {block_size} over {} and {} axes", self.ndim(), other.ndim());
            return Array::failed(OP, Reason::Parameters(reason));
        }
        let dtype = inexact(self, other);
        let (row, column) = (self.ndim() == 1, other.ndim() == 1);
        let a = if row { self.expand_dims(0) } else { self.clone() }.astype(dtype);
        let b = if column { other.expand_dims(1) } else { other.clone() }.astype(dtype);
        let a = masked(OP, a, mask_lhs, block_size);
        let b = masked(OP, b, mask_rhs, block_size);
        let product = masked(OP, a.matmul(&b), mask_out, block_size).named(OP);
        let product = if column { product.squeeze(-1) } else { product };
        match (row, column) {
            (true, true) => product.squeeze(-1),
            (true, false) => product.squeeze(-2),
            (false, _) => product,
        }
    }
}

/// Matrices times the mask of their blocks.
#[track_caller]
fn masked(op: &'static str, x: Array, mask: Option<&Array>, block: usize) -> Array {
    let (Some(mask), true) = (mask, x.check().is_ok()) else { return x };
    let (shape, blocks) = (x.shape(), mask.shape());
    let sides = &shape[shape.rank() - 2..];
    let expected = [sides[0].div_ceil(block), sides[1].div_ceil(block)];
    if blocks.rank() < 2 || blocks[blocks.rank() - 2..] != expected {
        let reason = format!("a mask of {expected:?} blocks is needed for {sides:?}, found shape {blocks:?}");
        return Array::failed(op, Reason::Parameters(reason));
    }
    // The block that each row and each column lies in.
    let of = |side: usize| {
        Array::arange(side, DType::U32).floor_divide(Array::full(
            &[],
            block.min(u32::MAX as usize) as f64,
            DType::U32,
        ))
    };
    let (rows, columns) = (of(sides[0]), of(sides[1]));
    if sides.contains(&0) {
        return x;
    }
    let wide = mask.take(&rows, -2).take(&columns, -1);
    if mask.dtype() == DType::Bool { wide.where_(x, 0) } else { x.multiply(wide.astype(x.dtype())) }
}
