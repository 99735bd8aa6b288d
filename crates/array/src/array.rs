use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use oneir_ir::{Place, Primitive, Spec, Value};
use oneir_runtime::{Device, Evaluated, Runtime};
use oneir_tensor::{DType, Element, HostTensor, Shape};

use crate::{ArrayError, Failure, Reason};

/// A lazy n-dimensional value: a recorded computation, or why it failed. Cheap
/// to clone, and may be sent between threads.
#[derive(Clone)]
pub struct Array(Inner);

#[derive(Clone)]
enum Inner {
    Recorded(Value),
    Failed(Arc<Failure>),
}

impl Array {
    /// A recorded value as an array.
    pub fn from_value(value: Value) -> Array {
        Array(Inner::Recorded(value))
    }

    /// A failed array.
    #[track_caller]
    pub(crate) fn failed(op: &'static str, reason: impl Into<Reason>) -> Array {
        Array::failed_at(op, Location::caller(), reason)
    }

    /// A failed array of a call elsewhere.
    pub(crate) fn failed_at(
        op: &'static str,
        place: &'static Location<'static>,
        reason: impl Into<Reason>,
    ) -> Array {
        Array(Inner::Failed(Arc::new(Failure { op, place, reason: reason.into() })))
    }

    /// The recorded value, or the first failure on the way to it.
    ///
    /// # Errors
    /// [`ArrayError::Failed`].
    pub fn value(&self) -> Result<&Value, ArrayError> {
        match &self.0 {
            Inner::Recorded(value) => Ok(value),
            Inner::Failed(failure) => Err(ArrayError::Failed(failure.clone())),
        }
    }

    /// The recorded value, for a call that has refused failed operands.
    pub(crate) fn value_or_reason(&self) -> Result<Value, Reason> {
        match &self.0 {
            Inner::Recorded(value) => Ok(value.clone()),
            Inner::Failed(failure) => Err(failure.reason.clone()),
        }
    }

    /// Whether every call on the way here made sense.
    ///
    /// # Errors
    /// The first that did not: its operation, the caller's line, the reason.
    pub fn check(&self) -> Result<(), ArrayError> {
        self.value().map(|_| ())
    }

    /// Records `f` on the values of the operands, unless one of them failed.
    #[track_caller]
    pub(crate) fn build<const N: usize>(
        op: &'static str,
        operands: [&Array; N],
        f: impl FnOnce([&Value; N], Place) -> Result<Value, Reason>,
    ) -> Array {
        let mut values: [Option<&Value>; N] = [None; N];
        for (slot, operand) in values.iter_mut().zip(operands) {
            match &operand.0 {
                Inner::Recorded(value) => *slot = Some(value),
                Inner::Failed(failure) => return Array(Inner::Failed(failure.clone())),
            }
        }
        let values = values.map(|v| match v {
            Some(value) => value,
            None => unreachable!("every operand was recorded"),
        });
        match f(values, Place::Rust(Location::caller())) {
            Ok(value) => Array::from_value(value),
            Err(reason) => Array::failed(op, reason),
        }
    }

    /// As [`Array::build`], for an operation with several results, of which the
    /// first `M` are given.
    #[track_caller]
    pub(crate) fn build_all<const N: usize, const M: usize>(
        op: &'static str,
        operands: [&Array; N],
        f: impl FnOnce([&Value; N], Place) -> Result<Vec<Value>, Reason>,
    ) -> [Array; M] {
        let mut values = Vec::new();
        let first = Array::build(op, operands, |operands, place| {
            values = f(operands, place)?;
            values.first().cloned().ok_or_else(|| Reason::Parameters("there are no results".into()))
        });
        std::array::from_fn(|i| values.get(i).map_or_else(|| first.clone(), |v| Array::from_value(v.clone())))
    }

    /// Records a primitive on operands that need no conversion.
    #[track_caller]
    pub(crate) fn primitive<const N: usize>(
        op: &'static str,
        primitive: Primitive,
        operands: [&Array; N],
    ) -> Array {
        Array::build(op, operands, |values, place| Ok(Value::record(primitive, &values, place)?))
    }

    /// This array; where it failed on the caller's own line, as the failure of
    /// `op`, which is made of smaller operations.
    #[track_caller]
    pub(crate) fn named(self, op: &'static str) -> Array {
        match self.0 {
            Inner::Failed(failure) if failure.place == Location::caller() && failure.op != op => {
                Array::failed(op, failure.reason.clone())
            }
            inner => Array(inner),
        }
    }

    /// Shape and dtype; of a failed array, an empty scalar's.
    fn spec(&self) -> Option<&Spec> {
        match &self.0 {
            Inner::Recorded(value) => Some(value.spec()),
            Inner::Failed(_) => None,
        }
    }

    /// Size of each dimension; none for a failed array.
    pub fn shape(&self) -> Shape {
        self.spec().map(|s| s.shape.clone()).unwrap_or_default()
    }

    /// Number of dimensions.
    pub fn ndim(&self) -> usize {
        self.spec().map_or(0, Spec::rank)
    }

    /// Number of elements.
    pub fn size(&self) -> usize {
        self.spec().map_or(0, Spec::count)
    }

    /// Element type; f32 for a failed array.
    pub fn dtype(&self) -> DType {
        self.spec().map_or(DType::F32, |s| s.dtype)
    }

    /// Whether the value is there already, so that looking costs nothing.
    pub fn is_available(&self) -> bool {
        match &self.0 {
            Inner::Recorded(value) => value.payload().is_some() || value.as_constant().is_some(),
            Inner::Failed(_) => false,
        }
    }

    /// Computes the value on the default device, if it is not there already.
    ///
    /// # Errors
    /// When a call failed, or the value cannot be computed.
    pub fn eval(&self) -> Result<(), ArrayError> {
        eval(std::slice::from_ref(self))
    }

    /// The value in host memory, computed if need be.
    ///
    /// # Errors
    /// As [`Array::eval`].
    pub fn to_host(&self) -> Result<HostTensor, ArrayError> {
        let value = self.value()?;
        if let Some(constant) = value.as_constant() {
            return Ok(constant.clone());
        }
        self.eval()?;
        match Evaluated::of(value) {
            Some(found) => Ok(found.to_host()?),
            None => Err(ArrayError::Runtime(oneir_runtime::RuntimeError::NeverComputed)),
        }
    }

    /// The elements in row order.
    ///
    /// # Errors
    /// As [`Array::eval`], and when `T` is not the element type.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, ArrayError> {
        Ok(self.to_host()?.to_vec()?)
    }

    /// The one element.
    ///
    /// # Errors
    /// As [`Array::to_vec`], and when there is not exactly one element.
    pub fn item<T: Element>(&self) -> Result<T, ArrayError> {
        self.check()?;
        if self.size() != 1 {
            return Err(ArrayError::NotOneElement { shape: self.shape().to_vec() });
        }
        let all = self.to_vec::<T>()?;
        all.first().copied().ok_or(ArrayError::NotOneElement { shape: vec![0] })
    }
}

/// Computes arrays together on the default device.
///
/// # Errors
/// When a call failed, or a value cannot be computed.
pub fn eval(arrays: &[Array]) -> Result<(), ArrayError> {
    // What is there already needs no device.
    if arrays.iter().all(Array::is_available) {
        return Ok(());
    }
    eval_on(&Runtime::global().default_device()?, arrays)
}

/// Computes arrays together on a device.
///
/// # Errors
/// As [`eval`].
pub fn eval_on(device: &Device, arrays: &[Array]) -> Result<(), ArrayError> {
    let values = arrays.iter().map(|a| a.value().cloned()).collect::<Result<Vec<_>, _>>()?;
    let pending: Vec<Value> = values.into_iter().filter(|v| v.as_constant().is_none()).collect();
    Ok(device.evaluate(&pending)?)
}

impl fmt::Debug for Array {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Recorded(value) => {
                let state = if self.is_available() { "available" } else { "pending" };
                write!(f, "Array({}, {state})", value.spec())
            }
            Inner::Failed(failure) => write!(f, "Array(failed: {failure})"),
        }
    }
}
