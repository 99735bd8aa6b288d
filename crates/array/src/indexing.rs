use oneir_ir::primitive::ArgReduceOp;
pub use oneir_ir::primitive::ScatterReduce;
use oneir_ir::{Primitive, Value};
use oneir_tensor::DType;

use crate::Array;
use crate::axes::{Axes, axis_of, one_or_all};
use crate::create::converted;

impl Array {
    /// Index of the largest element along an axis, or with `..` among all in row
    /// order (u32): the first of equal ones; the first NaN wins.
    #[track_caller]
    #[must_use]
    pub fn argmax(&self, axis: impl Axes, keepdims: bool) -> Array {
        self.arg_extreme("argmax", ArgReduceOp::Max, axis, keepdims)
    }

    /// Index of the smallest element along an axis, or with `..` among all in row
    /// order (u32): the first of equal ones; the first NaN wins.
    #[track_caller]
    #[must_use]
    pub fn argmin(&self, axis: impl Axes, keepdims: bool) -> Array {
        self.arg_extreme("argmin", ArgReduceOp::Min, axis, keepdims)
    }

    #[track_caller]
    fn arg_extreme(&self, name: &'static str, op: ArgReduceOp, axis: impl Axes, keepdims: bool) -> Array {
        Array::build(name, [self], |[x], place| {
            let rank = x.spec().rank();
            let record = |p: Primitive, x: &Value| Value::record(p, &[x], place.clone());
            let Some(axis) = one_or_all(axis, rank)? else {
                let line = record(Primitive::Reshape(vec![x.spec().count()]), x)?;
                let found = record(Primitive::ArgReduce { op, axis: 0 }, &line)?;
                return Ok(record(
                    Primitive::Reshape(if keepdims { vec![1; rank] } else { vec![] }),
                    &found,
                )?);
            };
            let found = record(Primitive::ArgReduce { op, axis }, x)?;
            if keepdims { Ok(found) } else { Ok(record(Primitive::Squeeze(vec![axis]), &found)?) }
        })
    }

    /// The slices along an axis that `indices` name: the axis is replaced by
    /// the dimensions of `indices`. Negative indices count from the end.
    #[track_caller]
    #[must_use]
    pub fn take(&self, indices: &Array, axis: isize) -> Array {
        Array::build("take", [self, indices], |[x, indices], place| {
            let rank = x.spec().rank();
            let axis = axis_of(axis, rank)?;
            let indices = if indices.spec().dtype == DType::Bool {
                converted(indices, DType::U32, &place)?
            } else {
                indices.clone()
            };
            let slice_sizes = x.spec().shape.with(axis, 1).to_vec();
            let gather = Primitive::Gather { axes: vec![axis], slice_sizes };
            let gathered = Value::record(gather, &[x, &indices], place.clone())?;
            // The dimensions of the indices come first; the axis is left as 1.
            let lead = indices.spec().rank();
            let squeezed = Value::record(Primitive::Squeeze(vec![lead + axis]), &[&gathered], place.clone())?;
            if axis == 0 {
                return Ok(squeezed);
            }
            let axes = (lead..lead + axis).chain(0..lead).chain(lead + axis..lead + rank - 1).collect();
            Ok(Value::record(Primitive::Transpose(axes), &[&squeezed], place)?)
        })
    }

    /// The elements at `indices` along an axis, for each place of the other
    /// axes. Negative indices count from the end.
    #[track_caller]
    #[must_use]
    pub fn take_along_axis(&self, indices: &Array, axis: isize) -> Array {
        Array::build("take_along_axis", [self, indices], |[x, indices], place| {
            let axis = axis_of(axis, x.spec().rank())?;
            Ok(Value::record(Primitive::GatherAxis { axis }, &[x, indices], place)?)
        })
    }
}

impl Array {
    /// For each place of the index arrays, which share a shape and stand for
    /// `axes` (sorted), the slice of `slice_sizes` that begins there. The
    /// result's shape is the index arrays' followed by `slice_sizes`. Negative
    /// indices count from the end.
    #[track_caller]
    #[must_use]
    pub fn gather(&self, indices: &[Array], axes: &[usize], slice_sizes: &[usize]) -> Array {
        let gather = Primitive::Gather { axes: axes.to_vec(), slice_sizes: slice_sizes.to_vec() };
        Array::recorded("gather", gather, std::iter::once(self).chain(indices))
    }

    /// A copy with `updates` where [`Array::gather`] would take slices.
    #[track_caller]
    #[must_use]
    pub fn scatter(
        &self,
        indices: &[Array],
        updates: &Array,
        axes: &[usize],
        reduce: ScatterReduce,
    ) -> Array {
        let updates = updates.astype(self.dtype());
        let scatter = Primitive::Scatter { axes: axes.to_vec(), reduce };
        Array::recorded("scatter", scatter, std::iter::once(self).chain(indices).chain([&updates]))
    }

    /// A copy with `updates`, of the shape of `indices`, where
    /// [`Array::take_along_axis`] would take elements.
    #[track_caller]
    #[must_use]
    pub fn scatter_along_axis(
        &self,
        indices: &Array,
        updates: &Array,
        axis: isize,
        reduce: ScatterReduce,
    ) -> Array {
        Array::build("scatter_along_axis", [self, indices, updates], |[x, indices, updates], place| {
            let axis = axis_of(axis, x.spec().rank())?;
            let updates = converted(updates, x.spec().dtype, &place)?;
            Ok(Value::record(Primitive::ScatterAxis { axis, reduce }, &[x, indices, &updates], place)?)
        })
    }

    /// Records a primitive on any number of operands.
    #[track_caller]
    fn recorded<'a>(
        op: &'static str,
        primitive: Primitive,
        operands: impl Iterator<Item = &'a Array>,
    ) -> Array {
        let mut values = Vec::new();
        for operand in operands {
            match operand.value() {
                Ok(value) => values.push(value),
                Err(_) => return operand.clone(),
            }
        }
        Array::build(op, [], |[], place| Ok(Value::record(primitive, &values, place)?))
    }
}
