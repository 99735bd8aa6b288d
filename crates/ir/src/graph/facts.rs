use std::sync::Arc;

use oneir_tensor::{DType, HostTensor, Shape};

use crate::Real;
use crate::attr::Attr;
use crate::text::{Cursor, Printer, TextError};

/// How a step treats a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Given by the caller: an array or an ONNX input.
    Input,
    /// Given at each step and read as a position or row index.
    Parameter,
    /// Kept across steps and written in place.
    State,
    /// The same at every run.
    Constant,
    /// Computed by an op.
    Activation,
}

impl Role {
    /// Every role.
    pub const ALL: [Role; 5] = [Role::Input, Role::Parameter, Role::State, Role::Constant, Role::Activation];

    /// The name used in texts.
    pub const fn name(self) -> &'static str {
        match self {
            Role::Input => "input",
            Role::Parameter => "parameter",
            Role::State => "state",
            Role::Constant => "constant",
            Role::Activation => "activation",
        }
    }
}

/// What kind of number a program declares a tensor to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Elem {
    /// Real (or complex) numbers.
    Real,
    /// Integers and truth values.
    Int,
}

impl Elem {
    /// The kind of a dtype.
    pub fn of(dtype: DType) -> Elem {
        if dtype.is_inexact() { Elem::Real } else { Elem::Int }
    }
}

/// The values that a program gives a declared tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fill {
    /// None: whatever is bound or computed.
    Unfilled,
    /// One number everywhere.
    Number(Real),
}

impl Attr for Fill {
    fn write(&self, out: &mut Printer) {
        match self {
            Fill::Unfilled => out.push_str("unfilled"),
            Fill::Number(number) => number.write(out),
        }
    }

    fn read(text: &mut Cursor<'_>) -> Result<Self, TextError> {
        if text.take("unfilled") { Ok(Fill::Unfilled) } else { Real::read(text).map(Fill::Number) }
    }
}

/// Where a tensor's values live.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Storage {
    /// Computed by an op, or given by the caller when the graph is bound.
    Computed,
    /// In the graph itself.
    Values(HostTensor),
    /// Rows of a checkpoint tensor in a block format.
    Rows {
        /// The checkpoint tensor's name.
        tensor: Arc<str>,
        /// The first row, counted from 1.
        first: usize,
        /// The block format's name.
        format: Arc<str>,
    },
}

/// One tensor of a graph: its shape and its facts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Tensor {
    /// What the source calls it, if anything.
    pub name: Option<Arc<str>>,
    /// Size of each dimension; as rows × cols, the last dimension is a row.
    pub shape: Shape,
    /// Element type in this cut.
    pub dtype: DType,
    /// How a step treats it.
    pub role: Role,
    /// What the program declares it to hold.
    pub elem: Elem,
    /// The values that the program gives it.
    pub fill: Fill,
    /// Where its values live.
    pub storage: Storage,
    /// Whether something that is not an op looks at it.
    pub observed: bool,
}

impl Tensor {
    /// A computed tensor.
    pub fn activation(dtype: DType, shape: impl Into<Shape>) -> Tensor {
        Tensor {
            name: None,
            shape: shape.into(),
            dtype,
            role: Role::Activation,
            elem: Elem::of(dtype),
            fill: Fill::Unfilled,
            storage: Storage::Computed,
            observed: false,
        }
    }

    /// A tensor that the caller gives.
    pub fn input(dtype: DType, shape: impl Into<Shape>) -> Tensor {
        Tensor { role: Role::Input, ..Tensor::activation(dtype, shape) }
    }

    /// A constant held by the graph.
    pub fn constant(value: HostTensor) -> Tensor {
        Tensor {
            role: Role::Constant,
            storage: Storage::Values(value.clone()),
            ..Tensor::activation(value.dtype(), value.shape().clone())
        }
    }

    /// Rows of the tensor: the product of all dimensions but the last.
    pub fn rows(&self) -> usize {
        self.shape.rows()
    }

    /// Values in a row.
    pub fn cols(&self) -> usize {
        self.shape.cols()
    }
}
