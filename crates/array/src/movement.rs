//! Shapes: views and joins.

use oneir_ir::{BinaryOp, Place, Primitive, Value};
use oneir_tensor::DType;

use crate::axes::{Axes, axes_of, axis_of, listed, named};
use crate::create::{converted, presented};
use crate::record::Record;
use crate::{Array, Reason};

/// A shape of `count` elements, where one size may be -1.
fn sizes_of(count: usize, shape: &[isize]) -> Result<Vec<usize>, Reason> {
    let wrong = || Reason::Reshape { count, shape: shape.to_vec() };
    let known = shape
        .iter()
        .filter(|&&n| n != -1)
        .try_fold(1usize, |p, &n| p.checked_mul(usize::try_from(n).ok()?))
        .ok_or_else(wrong)?;
    let free = shape.iter().filter(|&&n| n == -1).count();
    let rest = match (free, count.checked_div(known)) {
        (0, _) if known == count => 0,
        (1, Some(rest)) if rest * known == count => rest,
        _ => return Err(wrong()),
    };
    Ok(shape.iter().map(|&n| if n == -1 { rest } else { n as usize }).collect())
}

/// The axes of starts in ascending order, and the starts as a line in that order.
fn starts_of(
    at: &Place,
    starts: &Value,
    axes: impl Axes,
    rank: usize,
) -> Result<(Vec<usize>, Value), Reason> {
    let (order, sorted) = (listed(&axes, rank)?, axes_of(&axes, rank)?);
    if starts.spec().count() != order.len() || starts.spec().rank() > 1 {
        let reason = format!("one start for each of {} axes is needed, found {}", order.len(), starts.spec());
        return Err(Reason::Parameters(reason));
    }
    let line = at.line(starts)?;
    if order == sorted {
        return Ok((sorted, line));
    }
    let part = |axis: &usize| {
        let k = order.iter().position(|named| named == axis).unwrap_or_default();
        at.items(&line, 0, k, 1, 1)
    };
    let parts = sorted.iter().map(part).collect::<Result<Vec<_>, _>>()?;
    let line = at.concat(&parts.iter().collect::<Vec<_>>(), 0)?;
    Ok((sorted, line))
}

impl Array {
    /// The same elements in row order as another shape; one size may be -1 and
    /// follows from the others.
    #[track_caller]
    #[must_use]
    pub fn reshape(&self, shape: &[isize]) -> Array {
        Array::build("reshape", [self], |[x], place| {
            let full = sizes_of(x.spec().count(), shape)?;
            if x.spec().shape[..] == full[..] {
                return Ok(x.clone());
            }
            Ok(Value::record(Primitive::Reshape(full), &[x], place)?)
        })
    }

    /// Presented as a larger shape, repeating dimensions of size 1.
    #[track_caller]
    #[must_use]
    pub fn broadcast_to(&self, shape: &[usize]) -> Array {
        Array::build("broadcast_to", [self], |[x], place| presented(x, &shape.into(), &place))
    }

    /// Axes reordered: result axis i is this array's axis `axes[i]`; with `..`
    /// their order is reversed.
    #[track_caller]
    #[must_use]
    pub fn transpose(&self, axes: impl Axes) -> Array {
        Array::build("transpose", [self], |[x], place| {
            let rank = x.spec().rank();
            let axes = match named(axes) {
                Some(axes) => listed(axes, rank)?,
                None => (0..rank).rev().collect(),
            };
            Ok(Value::record(Primitive::Transpose(axes), &[x], place)?)
        })
    }

    /// Without the size-1 dimensions at `axes`; with `..` without any.
    #[track_caller]
    #[must_use]
    pub fn squeeze(&self, axes: impl Axes) -> Array {
        Array::build("squeeze", [self], |[x], place| {
            let shape = &x.spec().shape;
            let axes = match named(axes) {
                Some(axes) => axes_of(axes, shape.rank())?,
                None => (0..shape.rank()).filter(|&axis| shape[axis] == 1).collect(),
            };
            Ok(Value::record(Primitive::Squeeze(axes), &[x], place)?)
        })
    }

    /// With size-1 dimensions at the result's `axes`.
    #[track_caller]
    #[must_use]
    pub fn expand_dims(&self, axes: impl Axes) -> Array {
        Array::build("expand_dims", [self], |[x], place| {
            let axes = named(axes)
                .ok_or_else(|| Reason::Parameters("expand_dims needs the axes by number".into()))?;
            let rank = x.spec().rank() + axes.len();
            let axes = axes_of(axes, rank)?;
            Ok(Value::record(Primitive::ExpandDims(axes), &[x], place)?)
        })
    }

    /// `len` items of each dimension from `start` by `step` (not 0, maybe
    /// negative).
    #[track_caller]
    #[must_use]
    pub fn strided_slice(&self, start: &[usize], step: &[isize], len: &[usize]) -> Array {
        let primitive = Primitive::Slice { start: start.to_vec(), step: step.to_vec(), len: len.to_vec() };
        Array::primitive("strided_slice", primitive, [self])
    }

    /// The items `start..start + len` of one axis.
    #[track_caller]
    #[must_use]
    pub fn narrow(&self, axis: isize, start: usize, len: usize) -> Array {
        Array::build("narrow", [self], |[x], place| {
            let shape = &x.spec().shape;
            let axis = axis_of(axis, shape.rank())?;
            let mut from = vec![0; shape.rank()];
            from[axis] = start;
            let primitive = Primitive::Slice {
                start: from,
                step: vec![1; shape.rank()],
                len: shape.with(axis, len).to_vec(),
            };
            Ok(Value::record(primitive, &[x], place)?)
        })
    }

    /// A copy in which the region that [`Array::strided_slice`] would take is
    /// replaced.
    #[track_caller]
    #[must_use]
    pub fn strided_slice_update(&self, update: &Array, start: &[usize], step: &[isize]) -> Array {
        Array::build("strided_slice_update", [self, update], |[x, update], place| {
            let update = converted(update, x.spec().dtype, &place)?;
            let primitive = Primitive::SliceUpdate {
                start: start.to_vec(),
                step: step.to_vec(),
                len: update.spec().shape.to_vec(),
            };
            Ok(Value::record(primitive, &[x, &update], place)?)
        })
    }

    /// A slice of `size` (one number per dimension) that begins at `starts`, one
    /// integer for each of `axes`, and at 0 along the others. The starts need not be
    /// known before the slice is computed; it is moved inside where it would leave
    /// the array.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[1i32, 2, 3, 4, 5, 6], &[2, 3]);
    /// let found = x.slice(&Array::scalar(1i32), 1, &[2, 1]);
    /// assert_eq!(found.to_vec::<i32>()?, [2, 5]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn slice(&self, starts: &Array, axes: impl Axes, size: &[usize]) -> Array {
        Array::build("slice", [self, starts], |[x, starts], at| {
            let (axes, starts) = starts_of(&at, starts, axes, x.spec().rank())?;
            at.op(Primitive::DynamicSlice { axes, len: size.to_vec() }, &[x, &starts])
        })
    }

    /// A copy in which the slice that [`Array::slice`] would take is replaced by
    /// `update`, converted to this dtype.
    #[track_caller]
    #[must_use]
    pub fn slice_update(&self, update: &Array, starts: &Array, axes: impl Axes) -> Array {
        Array::build("slice_update", [self, update, starts], |[x, update, starts], at| {
            let (axes, starts) = starts_of(&at, starts, axes, x.spec().rank())?;
            let update = at.cast(update, x.spec().dtype)?;
            at.op(Primitive::DynamicSliceUpdate { axes }, &[x, &update, &starts])
        })
    }

    /// The bytes read as another dtype; where element sizes differ, the last
    /// dimension scales.
    #[track_caller]
    #[must_use]
    pub fn view(&self, dtype: DType) -> Array {
        Array::primitive("view", Primitive::View(dtype), [self])
    }

    /// The items of each of `axes` in reverse order.
    #[track_caller]
    #[must_use]
    pub fn flip(&self, axes: impl Axes) -> Array {
        Array::build("flip", [self], |[x], place| {
            let shape = &x.spec().shape;
            let (mut start, mut step) = (vec![0; shape.rank()], vec![1; shape.rank()]);
            for axis in axes_of(axes, shape.rank())? {
                (start[axis], step[axis]) = (shape[axis].saturating_sub(1), -1);
            }
            let flip = Primitive::Slice { start, step, len: shape.to_vec() };
            Ok(Value::record(flip, &[x], place)?)
        })
    }

    /// The dimensions from `start` to `end`, both counted in, as one; a scalar
    /// gets one dimension.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, DType};
    /// let x = Array::zeros(&[2, 3, 4], DType::F32);
    /// assert_eq!(x.flatten(0, -1).shape(), [24]);
    /// assert_eq!(x.flatten(1, 2).shape(), [2, 12]);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn flatten(&self, start: isize, end: isize) -> Array {
        Array::build("flatten", [self], |[x], at| {
            let shape = &x.spec().shape;
            let Some(last) = shape.rank().checked_sub(1) else { return at.line(x) };
            let place = |axis: isize| {
                let axis = if axis < 0 { axis.saturating_add_unsigned(shape.rank()) } else { axis };
                axis.clamp(0, isize::MAX) as usize
            };
            let (start, end) = (place(start), place(end).min(last));
            if start > end {
                let reason = format!("dimensions {start} to {end} of shape {shape} are none");
                return Err(Reason::Parameters(reason));
            }
            let one = shape[start..=end].iter().product();
            let full: Vec<usize> =
                shape[..start].iter().copied().chain([one]).chain(shape[end + 1..].iter().copied()).collect();
            at.reshape(x, &full)
        })
    }

    /// One axis as several, of which one size may be -1 and follows from the others.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, DType};
    /// assert_eq!(Array::zeros(&[6, 5], DType::F32).unflatten(0, &[2, -1]).shape(), [2, 3, 5]);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn unflatten(&self, axis: isize, shape: &[isize]) -> Array {
        Array::build("unflatten", [self], |[x], at| {
            let old = &x.spec().shape;
            let axis = axis_of(axis, old.rank())?;
            if shape.is_empty() {
                return Err(Reason::Parameters("an axis needs a shape of at least one dimension".into()));
            }
            let sizes = sizes_of(old[axis], shape)?;
            let full: Vec<usize> =
                old[..axis].iter().copied().chain(sizes).chain(old[axis + 1..].iter().copied()).collect();
            at.reshape(x, &full)
        })
    }

    /// [`Array::transpose`] with the order of all axes reversed.
    #[track_caller]
    #[must_use]
    pub fn t(&self) -> Array {
        self.transpose(..)
    }

    /// The last two dimensions swapped.
    #[track_caller]
    #[must_use]
    pub fn matrix_transpose(&self) -> Array {
        Array::build("matrix_transpose", [self], |[x], at| {
            let rank = x.spec().rank();
            if rank < 2 {
                let reason = format!("at least two dimensions are needed, found shape {}", x.spec().shape);
                return Err(Reason::Parameters(reason));
            }
            let axes: Vec<usize> = (0..rank - 2).chain([rank - 1, rank - 2]).collect();
            at.transpose(x, &axes)
        })
    }

    /// Two axes swapped.
    #[track_caller]
    #[must_use]
    pub fn swapaxes(&self, a: isize, b: isize) -> Array {
        Array::build("swapaxes", [self], |[x], at| {
            let rank = x.spec().rank();
            let mut axes: Vec<usize> = (0..rank).collect();
            axes.swap(axis_of(a, rank)?, axis_of(b, rank)?);
            at.transpose(x, &axes)
        })
    }

    /// The axes `source`, in this order, at the places `destination` of the result;
    /// the others keep their order.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, DType};
    /// let x = Array::zeros(&[2, 3, 4], DType::F32);
    /// assert_eq!(x.moveaxis(0, -1).shape(), [3, 4, 2]);
    /// assert_eq!(x.moveaxis([0, 1], [-1, -2]).shape(), [4, 3, 2]);
    /// ```
    #[track_caller]
    #[must_use]
    pub fn moveaxis(&self, source: impl Axes, destination: impl Axes) -> Array {
        Array::build("moveaxis", [self], |[x], at| {
            let rank = x.spec().rank();
            let (from, to) = (listed(&source, rank)?, listed(&destination, rank)?);
            axes_of(&source, rank)?;
            axes_of(&destination, rank)?;
            if from.len() != to.len() {
                let reason = format!("{} axes do not move to {} places", from.len(), to.len());
                return Err(Reason::Parameters(reason));
            }
            let mut others = (0..rank).filter(|axis| !from.contains(axis));
            let place = |i| to.iter().position(|&place| place == i).map(|k| from[k]);
            let axes: Vec<usize> = (0..rank).filter_map(|i| place(i).or_else(|| others.next())).collect();
            at.transpose(x, &axes)
        })
    }

    /// The elements moved on along axes, by one distance for all of them or one for
    /// each: what leaves an axis at its end enters at the other. With `..` as axis
    /// the elements move on in row order, by the sum of the distances.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[1i32, 2, 3, 4], &[2, 2]);
    /// assert_eq!(x.roll(1, ..).to_vec::<i32>()?, [4, 1, 2, 3]);
    /// assert_eq!(x.roll(1, 0).to_vec::<i32>()?, [3, 4, 1, 2]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn roll(&self, shift: impl Axes, axis: impl Axes) -> Array {
        Array::build("roll", [self], |[x], at| {
            let shape = &x.spec().shape;
            let shifts =
                named(shift).ok_or_else(|| Reason::Parameters("roll needs distances in numbers".into()))?;
            let turn = |x: &Value, axis: usize, by: i128| {
                let n = x.spec().shape[axis];
                let by = by.checked_rem_euclid(n as i128).unwrap_or(0) as usize;
                if by == 0 {
                    return Ok(x.clone());
                }
                let parts = (at.items(x, axis, n - by, 1, by)?, at.items(x, axis, 0, 1, n - by)?);
                at.concat(&[&parts.0, &parts.1], axis)
            };
            let Some(axes) = named(&axis).map(|_| listed(&axis, shape.rank())).transpose()? else {
                let by = shifts.iter().map(|&by| by as i128).sum();
                return at.reshape(&turn(&at.line(x)?, 0, by)?, shape);
            };
            let pairs: Vec<(usize, isize)> = match (&shifts[..], &axes[..]) {
                (&[by], axes) => axes.iter().map(|&axis| (axis, by)).collect(),
                (shifts, &[axis]) => shifts.iter().map(|&by| (axis, by)).collect(),
                (shifts, axes) if shifts.len() == axes.len() => {
                    axes.iter().copied().zip(shifts.iter().copied()).collect()
                }
                _ => {
                    let reason = format!("{} distances do not fit {} axes", shifts.len(), axes.len());
                    return Err(Reason::Parameters(reason));
                }
            };
            pairs.into_iter().try_fold(x.clone(), |x, (axis, by)| turn(&x, axis, by as i128))
        })
    }

    /// A view as if the elements lay in row order from 0: element `[i, j, …]` of the
    /// result is the one at `offset + i · strides[0] + j · strides[1] + …`.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, DType};
    /// let x = Array::arange(6, DType::I32);
    /// assert_eq!(x.as_strided(&[2, 2], &[1, 2], 1).to_vec::<i32>()?, [1, 3, 2, 4]);
    /// assert!(x.as_strided(&[4], &[2], 0).check().is_err());
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn as_strided(&self, shape: &[usize], strides: &[isize], offset: usize) -> Array {
        Array::build("as_strided", [self], |[x], at| {
            let count = x.spec().count();
            let line = at.line(x)?;
            if shape.len() != strides.len() {
                let reason = format!("{} strides do not fit shape {shape:?}", strides.len());
                return Err(Reason::Parameters(reason));
            }
            if shape.contains(&0) {
                let nothing = at.items(&line, 0, 0, 1, 0)?;
                return at.reshape(&nothing, shape);
            }
            // The places of the farthest elements on either side.
            let far = |low: bool| {
                let reach = shape.iter().zip(strides).map(|(&n, &step)| (n as i128 - 1) * step as i128);
                reach.filter(|&reach| (reach < 0) == low).fold(offset as i128, i128::saturating_add)
            };
            if far(true) < 0 || far(false) >= count as i128 {
                let reason = format!(
                    "shape {shape:?} by strides {strides:?} from {offset} reaches from {} to {}, beyond {count} elements",
                    far(true),
                    far(false)
                );
                return Err(Reason::Parameters(reason));
            }
            let mut places = at.filled(offset, DType::I64, shape)?;
            for (axis, &step) in strides.iter().enumerate() {
                let along = at.iota(shape, axis, DType::I64)?;
                let steps = at.with(BinaryOp::Multiply, &along, step)?;
                places = at.binary(BinaryOp::Add, &places, &steps)?;
            }
            at.rows(&line, &places)
        })
    }

    /// A copy in row order in memory of its own, which is never left out.
    #[track_caller]
    #[must_use]
    pub fn contiguous(&self) -> Array {
        Array::primitive("contiguous", Primitive::Copy, [self])
    }

    /// With at least one dimension.
    #[track_caller]
    #[must_use]
    pub fn atleast_1d(&self) -> Array {
        self.with_dimensions("atleast_1d", [&[0], &[], &[]], 1)
    }

    /// With at least two dimensions: a line becomes one row.
    #[track_caller]
    #[must_use]
    pub fn atleast_2d(&self) -> Array {
        self.with_dimensions("atleast_2d", [&[0, 1], &[0], &[]], 2)
    }

    /// With at least three dimensions: `[n]` becomes `[1, n, 1]`, and `[m, n]`
    /// `[m, n, 1]`.
    #[track_caller]
    #[must_use]
    pub fn atleast_3d(&self) -> Array {
        self.with_dimensions("atleast_3d", [&[0, 1, 2], &[0, 2], &[2]], 3)
    }

    #[track_caller]
    fn with_dimensions(&self, op: &'static str, new: [&[usize]; 3], least: usize) -> Array {
        Array::build(op, [self], |[x], at| {
            let rank = x.spec().rank();
            if rank >= least { Ok(x.clone()) } else { at.expand(x, new[rank]) }
        })
    }

    /// The array itself, computed only after `others`.
    #[track_caller]
    #[must_use]
    pub fn depends(&self, others: &[Array]) -> Array {
        let mut values = Vec::with_capacity(others.len() + 1);
        for array in std::iter::once(self).chain(others) {
            match array.value() {
                Ok(value) => values.push(value),
                Err(_) => return array.clone(),
            }
        }
        Array::build("depends", [], |[], at| at.op(Primitive::Depends { n_deps: others.len() }, &values))
    }

    /// The input unchanged, through which no gradient flows.
    #[track_caller]
    #[must_use]
    pub fn stop_gradient(&self) -> Array {
        Array::primitive("stop_gradient", Primitive::StopGradient, [self])
    }
}
