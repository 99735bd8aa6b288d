//! Joins, parts and repetitions.

use oneir_ir::{Place, Value};
use oneir_tensor::{DType, Shape, promote};

use crate::axes::{Axes, axis_of, one_or_all};
use crate::record::{Record, Recorded};
use crate::{Array, ArrayError, Reason};

/// How [`Array::split`] divides an axis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sections {
    /// Into so many parts of one size.
    Equal(usize),
    /// Before each of these places; negative ones count from the end.
    At(Vec<isize>),
}

impl From<usize> for Sections {
    fn from(parts: usize) -> Self {
        Sections::Equal(parts)
    }
}

impl From<i32> for Sections {
    fn from(parts: i32) -> Self {
        Sections::Equal(usize::try_from(parts).unwrap_or(0))
    }
}

macro_rules! places {
    ($($t:ty)*) => {
        $(
            impl<const N: usize> From<[$t; N]> for Sections {
                fn from(places: [$t; N]) -> Self {
                    places[..].into()
                }
            }
            impl From<&[$t]> for Sections {
                fn from(places: &[$t]) -> Self {
                    Sections::At(places.iter().map(|&place| isize::try_from(place).unwrap_or(isize::MAX)).collect())
                }
            }
            impl From<Vec<$t>> for Sections {
                fn from(places: Vec<$t>) -> Self {
                    places[..].into()
                }
            }
        )*
    };
}

places!(i32 isize usize);

/// Which dimension of [`Array::meshgrid`] the first array runs along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Indexing {
    /// The second; the second array runs along the first.
    Xy,
    /// The first: all run along the dimension of their order.
    Ij,
}

/// Parts of an axis smaller than one element: more of them are refused.
const MOST_PARTS: usize = 1 << 20;

/// The values of arrays, or the first failed array.
fn values_of(arrays: &[Array]) -> Result<Vec<&Value>, &Array> {
    arrays.iter().map(|array| array.value().map_err(|_| array)).collect()
}

/// All at the dtype that they promote to, joined along an axis.
fn joined(at: &Place, values: &[Value], axis: usize) -> Recorded {
    let dtype = values.iter().map(|v| v.spec().dtype).reduce(promote).unwrap_or(DType::F32);
    let same = values.iter().map(|v| at.cast(v, dtype)).collect::<Result<Vec<_>, _>>()?;
    at.concat(&same.iter().collect::<Vec<_>>(), axis)
}

fn some<'a>(values: &[&'a Value]) -> Result<&'a Value, Reason> {
    values.first().copied().ok_or_else(|| Reason::Parameters("there is nothing to join".into()))
}

impl Array {
    /// Arrays joined along an axis, at the dtype that all promote to. Sizes differ
    /// along that axis at most.
    #[track_caller]
    #[must_use]
    pub fn concatenate(arrays: &[Array], axis: isize) -> Array {
        let values = match values_of(arrays) {
            Ok(values) => values,
            Err(failed) => return failed.clone(),
        };
        Array::build("concatenate", [], |[], at| {
            let axis = axis_of(axis, some(&values)?.spec().rank())?;
            joined(&at, &values.into_iter().cloned().collect::<Vec<_>>(), axis)
        })
    }

    /// Arrays of one shape joined along a new axis, at the dtype that all promote
    /// to.
    #[track_caller]
    #[must_use]
    pub fn stack(arrays: &[Array], axis: isize) -> Array {
        let values = match values_of(arrays) {
            Ok(values) => values,
            Err(failed) => return failed.clone(),
        };
        Array::build("stack", [], |[], at| {
            let first = some(&values)?;
            let axis = axis_of(axis, first.spec().rank() + 1)?;
            if let Some(other) = values.iter().find(|v| v.spec().shape != first.spec().shape) {
                let (a, b) = (&first.spec().shape, &other.spec().shape);
                return Err(Reason::Parameters(format!("shapes {a} and {b} do not stack: they differ")));
            }
            let wide = values.iter().map(|v| at.expand(v, &[axis])).collect::<Result<Vec<_>, _>>()?;
            joined(&at, &wide, axis)
        })
    }

    /// The parts of an axis: so many of one size, or those that begin at places.
    /// Views of this array. It is a `Result`, because how many there are is only
    /// known where the call made sense.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, DType};
    /// let x = Array::arange(5, DType::I32);
    /// let parts = x.split([1, 3], 0)?;
    /// assert_eq!(parts[1].to_vec::<i32>()?, [1, 2]);
    /// assert!(x.split(2, 0).is_err());
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    /// Where the axis does not exist or does not divide, and when this array failed.
    #[track_caller]
    pub fn split(&self, sections: impl Into<Sections>, axis: isize) -> Result<Vec<Array>, ArrayError> {
        self.divided("split", sections.into(), axis, false)
    }

    /// The items of an axis, which they are without.
    ///
    /// # Errors
    /// Where the axis does not exist, and when this array failed.
    #[track_caller]
    pub fn unstack(&self, axis: isize) -> Result<Vec<Array>, ArrayError> {
        self.check()?;
        let items = crate::axes::axis_of(axis, self.ndim()).map_or(1, |axis| self.shape()[axis]);
        match items {
            0 => Ok(Vec::new()),
            _ => self.divided("unstack", Sections::Equal(items), axis, true),
        }
    }

    #[track_caller]
    fn divided(
        &self,
        op: &'static str,
        sections: Sections,
        axis: isize,
        items: bool,
    ) -> Result<Vec<Array>, ArrayError> {
        let mut bounds = Vec::new();
        let checked = Array::build(op, [self], |[x], _| {
            let axis = axis_of(axis, x.spec().rank())?;
            bounds = bounds_of(&sections, x.spec().shape[axis])?;
            Ok(x.clone())
        });
        checked.check()?;
        let mut parts = Vec::with_capacity(bounds.len());
        for (start, end) in bounds {
            let part = Array::build(op, [&checked], |[x], at| {
                let axis = axis_of(axis, x.spec().rank())?;
                let len = end.saturating_sub(start);
                let part = at.items(x, axis, if len == 0 { 0 } else { start }, 1, len)?;
                if items { at.squeeze(&part, &[axis]) } else { Ok(part) }
            });
            part.check()?;
            parts.push(part);
        }
        Ok(parts)
    }

    /// All presented with the shape that they broadcast to.
    ///
    /// # Errors
    /// Where their shapes do not broadcast, and when one of them failed.
    #[track_caller]
    pub fn broadcast_arrays(arrays: &[Array]) -> Result<Vec<Array>, ArrayError> {
        let mut shape = Shape::scalar();
        for array in arrays {
            array.check()?;
            match oneir_tensor::broadcast_shapes(&shape, &array.shape()) {
                Ok(both) => shape = both,
                Err(reason) => Array::failed("broadcast_arrays", reason).check()?,
            }
        }
        let mut out = Vec::with_capacity(arrays.len());
        for array in arrays {
            let array = Array::build("broadcast_arrays", [array], |[x], at| at.broadcast(x, &shape));
            array.check()?;
            out.push(array);
        }
        Ok(out)
    }

    /// The coordinates of the grid that lines span, each along one of its
    /// dimensions: presented with the grid's shape, or where `sparse` with size 1
    /// along the others. What is no line counts as one, in row order.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, Indexing};
    /// let lines = [Array::from_slice(&[1i32, 2], &[2]), Array::from_slice(&[3i32, 4, 5], &[3])];
    /// let grid = Array::meshgrid(&lines, false, Indexing::Xy)?;
    /// assert_eq!(grid[0].to_vec::<i32>()?, [1, 2, 1, 2, 1, 2]);
    /// assert_eq!(grid[1].shape(), [3, 2]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    /// When one of them failed, or the grid has more elements than can be counted.
    #[track_caller]
    pub fn meshgrid(arrays: &[Array], sparse: bool, indexing: Indexing) -> Result<Vec<Array>, ArrayError> {
        let rank = arrays.len();
        let along = |i: usize| match indexing {
            Indexing::Xy if rank > 1 && i < 2 => 1 - i,
            _ => i,
        };
        let mut full = vec![1; rank];
        for (i, array) in arrays.iter().enumerate() {
            array.check()?;
            full[along(i)] = array.size();
        }
        let mut out = Vec::with_capacity(rank);
        for (i, array) in arrays.iter().enumerate() {
            let one = Array::build("meshgrid", [array], |[x], at| {
                let mut shape = vec![1; rank];
                shape[along(i)] = x.spec().count();
                let line = at.reshape(x, &shape)?;
                if sparse { Ok(line) } else { at.broadcast(&line, &full) }
            });
            one.check()?;
            out.push(one);
        }
        Ok(out)
    }

    /// Each item of an axis so many times; with `..` each element in row order, in
    /// one dimension.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[1i32, 2], &[2]);
    /// assert_eq!(x.repeat(2, 0).to_vec::<i32>()?, [1, 1, 2, 2]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn repeat(&self, repeats: usize, axis: impl Axes) -> Array {
        Array::build("repeat", [self], |[x], at| {
            let (x, axis) = match one_or_all(axis, x.spec().rank())? {
                Some(axis) => (x.clone(), axis),
                None => (at.line(x)?, 0),
            };
            let shape = &x.spec().shape;
            let mut wide = shape.clone();
            wide.insert(axis + 1, repeats);
            let wide = at.broadcast(&at.expand(&x, &[axis + 1])?, &wide)?;
            at.reshape(&wide, &shape.with(axis, shape[axis] * repeats))
        })
    }

    /// The whole array so many times along each dimension: aligned at the end, where
    /// dimensions or numbers that are missing count as 1.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[1i32, 2], &[2]);
    /// assert_eq!(x.tile(&[2, 2]).to_vec::<i32>()?, [1, 2, 1, 2, 1, 2, 1, 2]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn tile(&self, repeats: &[usize]) -> Array {
        Array::build("tile", [self], |[x], at| {
            let shape = &x.spec().shape;
            let rank = shape.rank().max(repeats.len());
            let aligned =
                |sizes: &[usize], i: usize| (i + sizes.len()).checked_sub(rank).map_or(1, |k| sizes[k]);
            // Each dimension behind one that repeats it.
            let (mut narrow, mut wide, mut full) = (Vec::new(), Vec::new(), Vec::new());
            for i in 0..rank {
                let (n, times) = (aligned(shape, i), aligned(repeats, i));
                narrow.extend([1, n]);
                wide.extend([times, n]);
                full.push(n.checked_mul(times));
            }
            let tiled = at.broadcast(&at.reshape(x, &narrow)?, &wide)?;
            let full: Option<Vec<usize>> = full.into_iter().collect();
            let full =
                full.ok_or_else(|| Reason::Parameters(format!("shape {shape} by {repeats:?} is too large")))?;
            at.reshape(&tiled, &full)
        })
    }
}

/// Where the parts of an axis of `size` begin and end.
fn bounds_of(sections: &Sections, size: usize) -> Result<Vec<(usize, usize)>, Reason> {
    match sections {
        &Sections::Equal(parts) => {
            if parts == 0 || !size.is_multiple_of(parts) || (size == 0 && parts > MOST_PARTS) {
                return Err(Reason::Parameters(format!("a size of {size} is not {parts} equal parts")));
            }
            let each = size / parts;
            Ok((0..parts).map(|i| (i * each, (i + 1) * each)).collect())
        }
        Sections::At(places) => {
            let place = |place: isize| {
                let place = if place < 0 { place.saturating_add_unsigned(size) } else { place };
                (place.max(0) as usize).min(size)
            };
            let starts = std::iter::once(0).chain(places.iter().map(|&p| place(p)));
            let ends = places.iter().map(|&p| place(p)).chain([size]);
            Ok(starts.zip(ends).collect())
        }
    }
}

/// The shape that all of these broadcast to: aligned at the end, a size of 1 takes
/// the place of any other.
///
/// ```
/// use oneir_array::ops::broadcast_shapes;
/// assert_eq!(broadcast_shapes(&[&[6, 7][..], &[5, 6, 1], &[7]])?, [5, 6, 7]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
///
/// # Errors
/// Names two shapes that do not broadcast.
pub fn broadcast_shapes(shapes: &[impl AsRef<[usize]>]) -> Result<Shape, ArrayError> {
    shapes
        .iter()
        .try_fold(Shape::scalar(), |all, shape| Ok(oneir_tensor::broadcast_shapes(&all, shape.as_ref())?))
}
