use oneir_ir::{Place, Primitive, Value};
use oneir_tensor::{DType, Element, HostTensor, Shape, Values};

use crate::{Array, Reason};

impl Array {
    /// An array of the given elements in row order.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// let x = oneir_array::Array::from_slice(&[1i32, 2, 3, 4], &[2, 2]);
    /// assert_eq!(x.shape(), [2, 2]);
    /// ```
    #[track_caller]
    pub fn from_slice<T: Element>(elements: &[T], shape: &[usize]) -> Array {
        match HostTensor::from_slice(shape, elements) {
            Ok(value) => Array::from_host(value),
            Err(e) => Array::failed("from_slice", e),
        }
    }

    /// A host tensor as an array, without a copy.
    pub fn from_host(value: HostTensor) -> Array {
        Array::from_value(Value::constant(value))
    }

    /// One number of dtype `T`, without dimensions.
    pub fn scalar<T: Element>(value: T) -> Array {
        Array::from_host(HostTensor::scalar(value))
    }

    /// `number` everywhere.
    #[track_caller]
    pub fn full(shape: &[usize], number: f64, dtype: DType) -> Array {
        let one = Values::Float(vec![number]).convert(dtype);
        match HostTensor::from_values(dtype, &[], &one) {
            Ok(value) => Array::from_host(value).broadcast_to(shape),
            Err(e) => Array::failed("full", e),
        }
    }

    /// Zeros.
    #[track_caller]
    pub fn zeros(shape: &[usize], dtype: DType) -> Array {
        Array::full(shape, 0.0, dtype)
    }

    /// Ones.
    #[track_caller]
    pub fn ones(shape: &[usize], dtype: DType) -> Array {
        Array::full(shape, 1.0, dtype)
    }

    /// The numbers 0, 1, … below `n`.
    #[track_caller]
    pub fn arange(n: usize, dtype: DType) -> Array {
        Array::iota(&[n], 0, dtype)
    }

    /// The numbers 0, 1, … along one axis, the same along all others.
    #[track_caller]
    pub fn iota(shape: &[usize], axis: usize, dtype: DType) -> Array {
        Array::primitive("iota", Primitive::Iota { dtype, shape: shape.to_vec(), axis }, [])
    }
}

/// A value presented as `shape`; itself when it already has it.
pub(crate) fn presented(value: &Value, shape: &Shape, place: &Place) -> Result<Value, Reason> {
    if value.spec().shape == *shape {
        return Ok(value.clone());
    }
    Ok(Value::record(Primitive::Broadcast(shape.to_vec()), &[value], place.clone())?)
}

/// A value converted to `dtype`; itself when it already has it.
pub(crate) fn converted(value: &Value, dtype: DType, place: &Place) -> Result<Value, Reason> {
    if value.spec().dtype == dtype {
        return Ok(value.clone());
    }
    Ok(Value::record(Primitive::AsType(dtype), &[value], place.clone())?)
}
