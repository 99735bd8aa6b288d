use std::fmt;

use oneir_tensor::{DType, HostTensor, Shape};
use smallvec::SmallVec;

/// What is known of a tensor before it is computed: its shape and dtype.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Spec {
    /// Size of each dimension.
    pub shape: Shape,
    /// Element type.
    pub dtype: DType,
}

/// The specs of an op's results; nearly always one.
pub type Specs = SmallVec<[Spec; 1]>;

impl Spec {
    /// A tensor of `dtype` and `shape`.
    pub fn new(dtype: DType, shape: impl Into<Shape>) -> Self {
        Spec { shape: shape.into(), dtype }
    }

    /// What `tensor` is.
    pub fn of(tensor: &HostTensor) -> Self {
        Spec { shape: tensor.shape().clone(), dtype: tensor.dtype() }
    }

    /// Number of dimensions.
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// Number of elements.
    pub fn count(&self) -> usize {
        self.shape.count()
    }

    /// The same shape with another element type.
    pub fn with_dtype(&self, dtype: DType) -> Spec {
        Spec { shape: self.shape.clone(), dtype }
    }

    /// The same element type with another shape.
    pub fn with_shape(&self, shape: impl Into<Shape>) -> Spec {
        Spec { shape: shape.into(), dtype: self.dtype }
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.dtype, self.shape)
    }
}
