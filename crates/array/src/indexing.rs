use oneir_ir::primitive::ArgReduceOp;
pub use oneir_ir::primitive::ScatterReduce;
use oneir_ir::{Place, Primitive, Value};
use oneir_tensor::{DType, broadcast_shapes};

use crate::axes::{Axes, axis_of, one_or_all};
use crate::create::{converted, presented};
use crate::index::constant_places_inside;
use crate::operand::Operand;
use crate::{Array, Reason};

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
    /// the dimensions of `indices`. With `..` the elements in row order. Negative
    /// indices count from the end; constant ones must lie inside, others are moved
    /// inside.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::array;
    /// let x = array![[1, 2, 3], [4, 5, 6]];
    /// assert_eq!(x.take(array![2, 0], 1).to_vec::<i32>()?, [3, 1, 6, 4]);
    /// assert_eq!(x.take(-1, ..).item::<i32>()?, 6);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn take(&self, indices: impl Operand, axis: impl Axes) -> Array {
        let indices = indices.side().array("take");
        Array::build("take", [self, &indices], |[x, indices], place| {
            let record = |p: Primitive, x: &Value| Value::record(p, &[x], place.clone());
            let (x, axis) = match one_or_all(axis, x.spec().rank())? {
                Some(axis) => (x.clone(), axis),
                None => (record(Primitive::Reshape(vec![x.spec().count()]), x)?, 0),
            };
            let rank = x.spec().rank();
            let indices = if indices.spec().dtype == DType::Bool {
                converted(indices, DType::U32, &place)?
            } else {
                indices.clone()
            };
            constant_places_inside(&indices, axis, x.spec().shape[axis])?;
            let slice_sizes = x.spec().shape.with(axis, 1).to_vec();
            let gather = Primitive::Gather { axes: vec![axis], slice_sizes };
            let gathered = Value::record(gather, &[&x, &indices], place.clone())?;
            // The dimensions of the indices come first; the axis is left as 1.
            let lead = indices.spec().rank();
            let squeezed = record(Primitive::Squeeze(vec![lead + axis]), &gathered)?;
            if axis == 0 {
                return Ok(squeezed);
            }
            let axes = (lead..lead + axis).chain(0..lead).chain(lead + axis..lead + rank - 1).collect();
            Ok(record(Primitive::Transpose(axes), &squeezed)?)
        })
    }

    /// The elements at `indices` along an axis, for each place of the other
    /// axes, which broadcast; with `..` of the elements in row order. Negative
    /// indices count from the end; constant ones must lie inside, others are moved
    /// inside.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::array;
    /// let x = array![[3, 1, 2], [5, 6, 4]];
    /// assert_eq!(x.take_along_axis(&x.argsort(1), 1).to_vec::<i32>()?, [1, 2, 3, 4, 5, 6]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn take_along_axis(&self, indices: &Array, axis: impl Axes) -> Array {
        Array::build("take_along_axis", [self, indices], |[x, indices], place| {
            let (x, axis) = along(x, one_or_all(axis, x.spec().rank())?, &place)?;
            let (x, indices) = beside(&x, indices, axis, &place)?;
            Ok(Value::record(Primitive::GatherAxis { axis }, &[&x, &indices], place)?)
        })
    }

    /// A copy with `values` where [`Array::take_along_axis`] would take elements;
    /// of several for one place, the last in row order stays. Values convert to
    /// this array's dtype and broadcast to the shape of `indices`.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::array;
    /// let x = array![[1, 2, 3], [4, 5, 6]];
    /// let y = x.put_along_axis(&array![[0], [2]], 9, 1);
    /// assert_eq!(y.to_vec::<i32>()?, [9, 2, 3, 4, 5, 9]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn put_along_axis(&self, indices: &Array, values: impl Operand, axis: impl Axes) -> Array {
        let values = values.side().of("put_along_axis", self.dtype());
        Array::build("put_along_axis", [self, indices, &values], |[x, indices, values], place| {
            let shape = &x.spec().shape;
            let (line, axis) = along(x, one_or_all(axis, shape.rank())?, &place)?;
            let (line, indices) = beside(&line, indices, axis, &place)?;
            let values = presented(values, &indices.spec().shape, &place)?;
            let scatter = Primitive::ScatterAxis { axis, reduce: ScatterReduce::None };
            let put = Value::record(scatter, &[&line, &indices, &values], place.clone())?;
            if put.spec().shape == *shape {
                return Ok(put);
            }
            Ok(Value::record(Primitive::Reshape(shape.to_vec()), &[&put], place)?)
        })
    }
}

/// A value and the axis to go along: of all elements in row order where none is
/// named.
fn along(x: &Value, axis: Option<usize>, place: &Place) -> Result<(Value, usize), Reason> {
    match axis {
        Some(axis) => Ok((x.clone(), axis)),
        None => {
            let line = Primitive::Reshape(vec![x.spec().count()]);
            Ok((Value::record(line, &[x], place.clone())?, 0))
        }
    }
}

/// A value and indices along one of its axes, at one size of all others.
fn beside(x: &Value, indices: &Value, axis: usize, place: &Place) -> Result<(Value, Value), Reason> {
    let (shape, places) = (&x.spec().shape, &indices.spec().shape);
    if shape.rank() != places.rank() {
        return Err(Reason::Parameters(format!(
            "indices need as many dimensions as the array: {shape:?} and {places:?}"
        )));
    }
    constant_places_inside(indices, axis, shape[axis])?;
    let others = broadcast_shapes(&shape.with(axis, 1), &places.with(axis, 1))?;
    let x = presented(x, &others.with(axis, shape[axis]), place)?;
    Ok((x, presented(indices, &others.with(axis, places[axis]), place)?))
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
