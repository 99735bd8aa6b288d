use oneir_ir::{Place, Primitive, Value};
use oneir_tensor::{DType, Element, HostTensor, Shape};

use crate::operand::{Number, Operand, Side};
use crate::record::Record as _;
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

    /// `value` everywhere, converted to `dtype` as [`Array::astype`] does; with
    /// `None` in its own: i32 (i64 where it needs it) of an integer, f32 of a float.
    /// An array is presented with the shape.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, DType};
    /// assert_eq!(Array::full(&[2], u64::MAX, DType::U64).to_vec::<u64>()?, [u64::MAX; 2]);
    /// let row = Array::from_slice(&[1f32, 2.5], &[2]);
    /// assert_eq!(Array::full(&[2, 2], &row, DType::I32).to_vec::<i32>()?, [1, 2, 1, 2]);
    /// assert_eq!(Array::full(&[2], true, None).dtype(), DType::Bool);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn full(shape: &[usize], value: impl Operand, dtype: impl Into<Option<DType>>) -> Array {
        filled("full", shape, value.side(), dtype.into())
    }

    /// `value` in this array's shape, in `dtype`, or with `None` in this array's.
    #[track_caller]
    #[must_use]
    pub fn full_like(&self, value: impl Operand, dtype: impl Into<Option<DType>>) -> Array {
        self.alike("full_like", value.side(), dtype.into())
    }

    #[track_caller]
    fn alike(&self, op: &'static str, value: Side<'_>, dtype: Option<DType>) -> Array {
        match self.check() {
            Ok(()) => filled(op, &self.shape(), value, Some(dtype.unwrap_or(self.dtype()))),
            Err(_) => self.clone(),
        }
    }

    /// Zeros.
    #[track_caller]
    #[must_use]
    pub fn zeros(shape: &[usize], dtype: DType) -> Array {
        filled("zeros", shape, Side::Number(Number::Int(0)), Some(dtype))
    }

    /// Zeros in this array's shape, in `dtype`, or with `None` in this array's.
    #[track_caller]
    #[must_use]
    pub fn zeros_like(&self, dtype: impl Into<Option<DType>>) -> Array {
        self.alike("zeros_like", Side::Number(Number::Int(0)), dtype.into())
    }

    /// Ones.
    #[track_caller]
    #[must_use]
    pub fn ones(shape: &[usize], dtype: DType) -> Array {
        filled("ones", shape, Side::Number(Number::Int(1)), Some(dtype))
    }

    /// Ones in this array's shape, in `dtype`, or with `None` in this array's.
    #[track_caller]
    #[must_use]
    pub fn ones_like(&self, dtype: impl Into<Option<DType>>) -> Array {
        self.alike("ones_like", Side::Number(Number::Int(1)), dtype.into())
    }

    /// An array whose elements are to be replaced: until then, zeros.
    #[track_caller]
    #[must_use]
    pub fn empty(shape: &[usize], dtype: DType) -> Array {
        filled("empty", shape, Side::Number(Number::Int(0)), Some(dtype))
    }

    /// [`Array::empty`] in this array's shape, in `dtype`, or with `None` in this
    /// array's.
    #[track_caller]
    #[must_use]
    pub fn empty_like(&self, dtype: impl Into<Option<DType>>) -> Array {
        self.alike("empty_like", Side::Number(Number::Int(0)), dtype.into())
    }

    /// The numbers 0, 1, … along one axis, the same along all others.
    #[track_caller]
    #[must_use]
    pub fn iota(shape: &[usize], axis: usize, dtype: DType) -> Array {
        Array::primitive("iota", Primitive::Iota { dtype, shape: shape.to_vec(), axis }, [])
    }
}

/// A value everywhere.
#[track_caller]
fn filled(op: &'static str, shape: &[usize], value: Side<'_>, dtype: Option<DType>) -> Array {
    match value {
        Side::Array(array) => Array::build(op, [array], |[x], at| {
            at.broadcast(&at.cast(x, dtype.unwrap_or(x.spec().dtype))?, shape)
        }),
        Side::Number(number) => Array::build(op, [], |[], at| {
            let one = match (number, dtype) {
                // An integer must fit; a fraction loses what the dtype has not.
                (Number::Int(_), Some(dtype)) if dtype.is_integer() => number.constant(dtype)?,
                _ => Value::constant(number.held(dtype)?),
            };
            at.broadcast(&one, shape)
        }),
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
