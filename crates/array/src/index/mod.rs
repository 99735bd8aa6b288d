//! Parts of arrays: reads with NumPy's layout rules, and copies with parts
//! replaced.

mod at;
mod items;
mod plan;

pub use at::At;
pub use items::{Ellipsis, Index, IndexItem, NewAxis};

use crate::Array;
use plan::Selection;
pub(crate) use plan::constant_places_inside;

impl Array {
    /// The part that an index names, with NumPy's rules: a place leaves its
    /// dimension out, a range keeps it, [`NewAxis`] adds one, [`Ellipsis`] stands
    /// for the rest, arrays of places broadcast and their dimensions take the
    /// place of those they index (or come first where something stands between
    /// them), a boolean array takes what it holds at.
    ///
    /// Places known now must lie inside; those of arrays still to be computed
    /// are moved inside. A boolean array is computed now, for the result's size
    /// depends on it.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, DType};
    /// let x = Array::arange(12, DType::I32).reshape(&[3, 4]);
    /// assert_eq!(x.index((1, ..)).to_vec::<i32>()?, [4, 5, 6, 7]);
    /// assert_eq!(x.index((.., -2..)).shape(), [3, 2]);
    /// let rows = Array::from_slice(&[2i32, 0], &[2]);
    /// assert_eq!(x.index((&rows, 1)).to_vec::<i32>()?, [9, 1]);
    /// assert_eq!(x.index(x.greater(9)).to_vec::<i32>()?, [10, 11]);
    /// assert!(x.index(3).check().is_err());
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn index(&self, index: impl Index) -> Array {
        let items = index.items();
        if let Some(failed) = items::failed(&items) {
            return failed;
        }
        Array::build("index", [self], |[x], place| {
            let selection = Selection::new(&items, &x.spec().shape, &place)?;
            selection.read(&selection.sliced(x, &place)?, &place)
        })
    }

    /// The part that an index names, as [`Array::index`] has it, to make a copy
    /// in which it is changed.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, DType};
    /// let x = Array::zeros(&[2, 3], DType::F32);
    /// let y = x.at((0, 1..)).set(7).at((.., 0)).add(1);
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 7.0, 7.0, 1.0, 0.0, 0.0]);
    /// // Every occurrence of a place counts.
    /// let twice = Array::from_slice(&[2i32, 2], &[2]);
    /// assert_eq!(x.at((1, &twice)).add(5).index((1, 2)).item::<f32>()?, 10.0);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[must_use]
    pub fn at(&self, index: impl Index) -> At<'_> {
        At::new(self, index.items())
    }
}
