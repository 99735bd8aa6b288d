use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::{Buffer, DType, Element, Layout, Shape, TensorError, Values};

/// A tensor in host memory: a strided view over a shared read-only buffer.
///
/// Views ([`HostTensor::transpose`], [`HostTensor::slice`], …) share the
/// buffer and move no bytes. Equality and hashing compare type, shape and the
/// bits of the elements, not the layout.
#[derive(Clone)]
pub struct HostTensor {
    dtype: DType,
    layout: Layout,
    buffer: Buffer,
}

impl HostTensor {
    /// A tensor over `buffer` as `layout` says.
    ///
    /// # Errors
    /// When the view leaves the buffer, or strides elements below a byte.
    pub fn new(dtype: DType, layout: Layout, buffer: Buffer) -> Result<Self, TensorError> {
        layout.shape.checked_count(dtype)?;
        match dtype.size() {
            Some(size) => layout.check_within(buffer.len() / size)?,
            None => {
                if layout.offset != 0 || !layout.is_row_contiguous() {
                    return Err(TensorError::PackedView { dtype });
                }
                let expected = dtype.bytes_for(layout.count()).unwrap_or(usize::MAX);
                if buffer.len() < expected {
                    return Err(TensorError::WrongLength {
                        shape: layout.shape.to_vec(),
                        dtype,
                        expected,
                        found: buffer.len(),
                    });
                }
            }
        }
        Ok(HostTensor { dtype, layout, buffer })
    }

    /// A row-contiguous tensor over a whole buffer.
    pub fn from_buffer(dtype: DType, shape: &[usize], buffer: Buffer) -> Result<Self, TensorError> {
        let count = Shape::new(shape).checked_count(dtype)?;
        let expected = dtype.bytes_for(count).unwrap_or(usize::MAX);
        if buffer.len() != expected {
            return Err(TensorError::WrongLength {
                shape: shape.to_vec(),
                dtype,
                expected,
                found: buffer.len(),
            });
        }
        Ok(HostTensor { dtype, layout: Layout::contiguous(shape), buffer })
    }

    /// A row-contiguous tensor of raw little-endian bytes.
    pub fn from_bytes(dtype: DType, shape: &[usize], bytes: &[u8]) -> Result<Self, TensorError> {
        if dtype == DType::Bool && bytes.iter().any(|&b| b > 1) {
            Values::decode(dtype, bytes, bytes.len())?;
        }
        Self::from_buffer(dtype, shape, Buffer::copy_of(bytes))
    }

    /// A row-contiguous tensor of the given elements.
    pub fn from_slice<T: Element>(shape: &[usize], elements: &[T]) -> Result<Self, TensorError> {
        Self::from_buffer(T::DTYPE, shape, Buffer::copy_of(bytemuck::cast_slice(elements)))
    }

    /// A tensor of rank 0.
    pub fn scalar<T: Element>(value: T) -> Self {
        HostTensor {
            dtype: T::DTYPE,
            layout: Layout::contiguous(&[]),
            buffer: Buffer::copy_of(bytemuck::bytes_of(&value)),
        }
    }

    /// A row-contiguous tensor of `values` converted to `dtype`.
    pub fn from_values(dtype: DType, shape: &[usize], values: &Values) -> Result<Self, TensorError> {
        Self::from_buffer(dtype, shape, Buffer::copy_of(&values.encode(dtype)))
    }

    /// A tensor of zeros.
    pub fn zeros(dtype: DType, shape: &[usize]) -> Result<Self, TensorError> {
        let count = Shape::new(shape).checked_count(dtype)?;
        let bytes = dtype.bytes_for(count).unwrap_or(usize::MAX);
        Self::from_buffer(dtype, shape, Buffer::zeroed(bytes)?)
    }

    /// Element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Size of each dimension.
    pub fn shape(&self) -> &Shape {
        &self.layout.shape
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        self.layout.count()
    }

    /// Where the elements lie in the buffer.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The shared memory.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// The elements' bytes in row order: borrowed when they lie so, else copied.
    pub fn bytes(&self) -> Cow<'_, [u8]> {
        let all = self.buffer.bytes();
        let Some(size) = self.dtype.size() else {
            return Cow::Borrowed(&all[..self.dtype.bytes_for(self.count()).unwrap_or(0)]);
        };
        if self.count() == 0 {
            return Cow::Borrowed(&[]);
        }
        if self.layout.is_row_contiguous() {
            let start = self.layout.offset as usize * size;
            return Cow::Borrowed(&all[start..start + self.count() * size]);
        }
        let mut out = Vec::with_capacity(self.count() * size);
        for at in self.layout.offsets() {
            let at = at as usize * size;
            out.extend_from_slice(&all[at..at + size]);
        }
        Cow::Owned(out)
    }

    /// The elements in row order.
    ///
    /// # Errors
    /// When `T` is not the tensor's element type.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>, TensorError> {
        if T::DTYPE != self.dtype {
            return Err(TensorError::WrongDType { expected: T::DTYPE, found: self.dtype });
        }
        let bytes = self.bytes();
        let mut out = vec![T::default(); self.count()];
        if self.dtype == DType::Bool {
            Values::decode(self.dtype, &bytes, self.count())?;
        }
        for (slot, raw) in out.iter_mut().zip(bytes.chunks_exact(std::mem::size_of::<T>())) {
            if let Ok(value) = bytemuck::checked::try_pod_read_unaligned(raw) {
                *slot = value;
            }
        }
        Ok(out)
    }

    /// The elements in row order, in the widest type of their class.
    pub fn values(&self) -> Result<Values, TensorError> {
        Values::decode(self.dtype, &self.bytes(), self.count())
    }

    /// This tensor converted to `dtype` (see [`Values::convert`]).
    pub fn cast(&self, dtype: DType) -> Result<HostTensor, TensorError> {
        if dtype == self.dtype {
            return Ok(self.clone());
        }
        HostTensor::from_values(dtype, self.shape(), &self.values()?.convert(dtype))
    }

    /// Row-contiguous: itself when it is already, else a copy.
    pub fn contiguous(&self) -> Result<HostTensor, TensorError> {
        if self.layout.is_row_contiguous() {
            return Ok(self.clone());
        }
        HostTensor::from_bytes(self.dtype, self.shape(), &self.bytes())
    }

    /// The same elements in another shape: a view where strides can say it.
    pub fn reshape(&self, shape: &[usize]) -> Result<HostTensor, TensorError> {
        if Shape::new(shape).checked_count(self.dtype)? != self.count() {
            return Err(TensorError::ShapeMismatch {
                expected: shape.to_vec(),
                found: self.shape().to_vec(),
            });
        }
        match self.layout.reshape(shape) {
            Some(layout) => self.with_layout(layout),
            None => HostTensor::from_bytes(self.dtype, shape, &self.bytes()),
        }
    }

    /// Axes reordered.
    pub fn transpose(&self, axes: &[usize]) -> Result<HostTensor, TensorError> {
        self.with_layout(self.layout.transpose(axes)?)
    }

    /// `len` items of each dimension from `start` by `step`.
    pub fn slice(&self, start: &[usize], step: &[isize], len: &[usize]) -> Result<HostTensor, TensorError> {
        self.with_layout(self.layout.slice(start, step, len)?)
    }

    /// Presented as a larger shape, repeating dimensions of size 1.
    pub fn broadcast(&self, to: &[usize]) -> Result<HostTensor, TensorError> {
        self.with_layout(self.layout.broadcast(to)?)
    }

    /// Another view of the same buffer.
    pub fn with_layout(&self, layout: Layout) -> Result<HostTensor, TensorError> {
        match HostTensor::new(self.dtype, layout, self.buffer.clone()) {
            Err(TensorError::PackedView { .. }) => Err(TensorError::PackedView { dtype: self.dtype }),
            other => other,
        }
    }
}

impl PartialEq for HostTensor {
    fn eq(&self, other: &Self) -> bool {
        self.dtype == other.dtype
            && self.shape() == other.shape()
            && ((self.buffer.same_memory(&other.buffer) && self.layout == other.layout)
                || self.bytes() == other.bytes())
    }
}

impl Eq for HostTensor {}

impl Hash for HostTensor {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.dtype.hash(state);
        self.shape().hash(state);
        self.bytes().hash(state);
    }
}

impl fmt::Debug for HostTensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HostTensor({} {:?}", self.dtype, self.shape())?;
        if let (true, Ok(values)) = (self.count() <= 16, self.values()) {
            write!(f, " {values:?}")?;
        }
        f.write_str(")")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_share_memory_and_read_right() {
        let t = HostTensor::from_slice(&[2, 3], &[0f32, 1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let v = t.transpose(&[1, 0]).unwrap().slice(&[2, 0], &[-2, 1], &[2, 2]).unwrap();
        assert!(v.buffer().same_memory(t.buffer()));
        assert_eq!(v.to_vec::<f32>().unwrap(), [2.0, 5.0, 0.0, 3.0]);
        assert_eq!(v, HostTensor::from_slice(&[2, 2], &[2f32, 5.0, 0.0, 3.0]).unwrap());
    }

    #[test]
    fn bad_tensors_are_refused() {
        assert!(HostTensor::from_slice(&[3], &[1i32, 2]).is_err());
        assert!(HostTensor::zeros(DType::F64, &[usize::MAX, 2]).is_err());
        assert!(HostTensor::zeros(DType::U8, &[1 << 62]).is_err());
        let t = HostTensor::from_slice(&[2], &[1i32, 2]).unwrap();
        assert!(t.to_vec::<f32>().is_err());
        assert!(t.reshape(&[3]).is_err());
        assert!(HostTensor::from_bytes(DType::Bool, &[1], &[7]).is_err());
        let packed = HostTensor::zeros(DType::U4, &[4]).unwrap();
        assert!(matches!(packed.slice(&[1], &[1], &[2]), Err(TensorError::PackedView { .. })));
    }

    #[test]
    fn empty_and_scalar() {
        let e = HostTensor::zeros(DType::I64, &[0, 4]).unwrap();
        assert_eq!(e.transpose(&[1, 0]).unwrap().to_vec::<i64>().unwrap(), []);
        assert_eq!(HostTensor::scalar(2.5f64).to_vec::<f64>().unwrap(), [2.5]);
    }
}
