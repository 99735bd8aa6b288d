//! Arrays of the `ndarray` crate.

use ndarray::{ArrayBase, ArrayD, Data, Dimension};
use oneir_tensor::{Element, TensorError};

use crate::{Array, ArrayError};

/// The elements in row order, copied.
///
/// ```
/// # use oneir_cpu as _;
/// let x = oneir_array::Array::from(&ndarray::arr2(&[[1i32, 2], [3, 4]]).t());
/// assert_eq!(x.to_vec::<i32>()?, [1, 3, 2, 4]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
impl<T: Element + Clone, S: Data<Elem = T>, D: Dimension> From<&ArrayBase<S, D>> for Array {
    #[track_caller]
    fn from(array: &ArrayBase<S, D>) -> Array {
        let elements: Vec<T> = array.iter().cloned().collect();
        Array::from_slice(&elements, array.shape())
    }
}

impl Array {
    /// The elements as an array of the `ndarray` crate, computed if need be.
    ///
    /// # Errors
    /// As [`Array::to_vec`].
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// let x = oneir_array::array![[1, 2], [3, 4]].to_ndarray::<i32>()?;
    /// assert_eq!(x[[1, 0]], 3);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    pub fn to_ndarray<T: Element>(&self) -> Result<ArrayD<T>, ArrayError> {
        let elements = self.to_vec::<T>()?;
        let shape = self.shape();
        let wrong = |_| TensorError::ShapeMismatch { expected: shape.to_vec(), found: vec![self.size()] };
        Ok(ArrayD::from_shape_vec(&shape[..], elements).map_err(wrong)?)
    }
}
