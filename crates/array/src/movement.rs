//! Shapes: views and joins.

use oneir_ir::{Primitive, Value};
use oneir_tensor::{DType, promote};

use crate::axes::{Axes, axes_of, axis_of, listed, named};
use crate::create::{converted, presented};
use crate::{Array, Reason};

impl Array {
    /// The same elements in row order as another shape; one size may be -1 and
    /// follows from the others.
    #[track_caller]
    #[must_use]
    pub fn reshape(&self, shape: &[isize]) -> Array {
        Array::build("reshape", [self], |[x], place| {
            let count = x.spec().count();
            let wrong = || Reason::Reshape { count, shape: shape.to_vec() };
            let known = shape
                .iter()
                .filter(|&&n| n != -1)
                .try_fold(1usize, |p, &n| p.checked_mul(usize::try_from(n).ok()?))
                .ok_or_else(wrong)?;
            let free = shape.iter().filter(|&&n| n == -1).count();
            let rest = match (free, count.checked_div(known)) {
                (0, _) => 0,
                (1, Some(rest)) if rest * known == count => rest,
                _ => return Err(wrong()),
            };
            let full: Vec<usize> = shape.iter().map(|&n| if n == -1 { rest } else { n as usize }).collect();
            if full.iter().product::<usize>() != count {
                return Err(wrong());
            }
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
    pub fn slice(&self, start: &[usize], step: &[isize], len: &[usize]) -> Array {
        let primitive = Primitive::Slice { start: start.to_vec(), step: step.to_vec(), len: len.to_vec() };
        Array::primitive("slice", primitive, [self])
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

    /// A copy in which the region that `slice` would take is replaced.
    #[track_caller]
    #[must_use]
    pub fn slice_update(&self, update: &Array, start: &[usize], step: &[isize]) -> Array {
        Array::build("slice_update", [self, update], |[x, update], place| {
            let update = converted(update, x.spec().dtype, &place)?;
            let primitive = Primitive::SliceUpdate {
                start: start.to_vec(),
                step: step.to_vec(),
                len: update.spec().shape.to_vec(),
            };
            Ok(Value::record(primitive, &[x, &update], place)?)
        })
    }

    /// Arrays joined along an axis, at the dtype that all promote to.
    #[track_caller]
    #[must_use]
    pub fn concatenate(arrays: &[Array], axis: isize) -> Array {
        let mut values = Vec::with_capacity(arrays.len());
        for array in arrays {
            match array.value() {
                Ok(value) => values.push(value.clone()),
                Err(_) => return array.clone(),
            }
        }
        Array::build("concatenate", [], |[], place| {
            let first =
                values.first().ok_or_else(|| Reason::Parameters("there is nothing to join".into()))?;
            let axis = axis_of(axis, first.spec().rank())?;
            let dtype: DType = values.iter().map(|v| v.spec().dtype).reduce(promote).unwrap_or(DType::F32);
            let same = values.iter().map(|v| converted(v, dtype, &place)).collect::<Result<Vec<_>, _>>()?;
            let refs: Vec<&Value> = same.iter().collect();
            Ok(Value::record(Primitive::Concatenate { axis }, &refs, place)?)
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

    /// Arrays of one shape joined along a new axis.
    #[track_caller]
    #[must_use]
    pub fn stack(arrays: &[Array], axis: isize) -> Array {
        let wide: Vec<Array> = arrays.iter().map(|a| a.expand_dims([axis])).collect();
        Array::concatenate(&wide, axis)
    }

    /// The input unchanged, through which no gradient flows.
    #[track_caller]
    #[must_use]
    pub fn stop_gradient(&self) -> Array {
        Array::primitive("stop_gradient", Primitive::StopGradient, [self])
    }
}
