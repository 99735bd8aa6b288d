//! The small builder that rules and definitions are written with. Operands
//! already share shape and dtype, as primitives want them.

use oneir_tensor::{DType, HostTensor, Values};

use crate::{BinaryOp, Invalid, Place, Primitive, ReduceOp, UnaryOp, Value};

impl Value {
    fn apply(primitive: Primitive, inputs: &[&Value]) -> Result<Value, Invalid> {
        Value::record(primitive, inputs, Place::Internal)
    }

    /// A scalar function of each element.
    pub fn unary(&self, op: UnaryOp) -> Result<Value, Invalid> {
        Value::apply(Primitive::Unary(op), &[self])
    }

    /// A scalar function of each pair of elements.
    pub fn binary(&self, op: BinaryOp, other: &Value) -> Result<Value, Invalid> {
        Value::apply(Primitive::Binary(op), &[self, other])
    }

    /// Element-wise sum.
    pub fn add(&self, other: &Value) -> Result<Value, Invalid> {
        self.binary(BinaryOp::Add, other)
    }

    /// Element-wise difference.
    pub fn subtract(&self, other: &Value) -> Result<Value, Invalid> {
        self.binary(BinaryOp::Subtract, other)
    }

    /// Element-wise product.
    pub fn multiply(&self, other: &Value) -> Result<Value, Invalid> {
        self.binary(BinaryOp::Multiply, other)
    }

    /// Element-wise quotient.
    pub fn divide(&self, other: &Value) -> Result<Value, Invalid> {
        self.binary(BinaryOp::Divide, other)
    }

    /// `number` of this value's dtype, presented with its shape.
    pub fn filled_like(&self, number: f64) -> Result<Value, Invalid> {
        let dtype = self.spec().dtype;
        let scalar = HostTensor::from_values(dtype, &[], &Values::Float(vec![number]).convert(dtype))?;
        Value::constant(scalar).broadcast(&self.spec().shape)
    }

    /// Converted to `dtype`; itself when it already is.
    pub fn as_type(&self, dtype: DType) -> Result<Value, Invalid> {
        if self.spec().dtype == dtype {
            return Ok(self.clone());
        }
        Value::apply(Primitive::AsType(dtype), &[self])
    }

    /// Presented as a larger shape; itself when it already has it.
    pub fn broadcast(&self, shape: &[usize]) -> Result<Value, Invalid> {
        if self.spec().shape[..] == *shape {
            return Ok(self.clone());
        }
        Value::apply(Primitive::Broadcast(shape.to_vec()), &[self])
    }

    /// The same elements in another shape; itself when it already has it.
    pub fn reshape(&self, shape: &[usize]) -> Result<Value, Invalid> {
        if self.spec().shape[..] == *shape {
            return Ok(self.clone());
        }
        Value::apply(Primitive::Reshape(shape.to_vec()), &[self])
    }

    /// Axes reordered.
    pub fn transpose(&self, axes: &[usize]) -> Result<Value, Invalid> {
        Value::apply(Primitive::Transpose(axes.to_vec()), &[self])
    }

    /// Reduced over axes, which become size 1.
    pub fn reduce(&self, op: ReduceOp, axes: &[usize]) -> Result<Value, Invalid> {
        Value::apply(Primitive::Reduce { op, axes: axes.to_vec() }, &[self])
    }

    /// Batched matrix product.
    pub fn matmul(&self, other: &Value) -> Result<Value, Invalid> {
        Value::apply(Primitive::Matmul, &[self, other])
    }

    /// `a` where this boolean holds, else `b`.
    pub fn select(&self, a: &Value, b: &Value) -> Result<Value, Invalid> {
        Value::apply(Primitive::Select, &[self, a, b])
    }
}

/// The order of axes that undoes a transposition to `axes`.
pub fn undone(axes: &[usize]) -> Vec<usize> {
    let mut back = vec![0; axes.len()];
    for (i, &axis) in axes.iter().enumerate() {
        back[axis] = i;
    }
    back
}
