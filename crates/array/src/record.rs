//! The builder that operations made of several primitives are written with.

use oneir_ir::primitive::ScatterReduce;
use oneir_ir::{BinaryOp, Place, Primitive, ReduceOp, UnaryOp, Value};
use oneir_tensor::{DType, HostTensor, broadcast_shapes, promote};

use crate::Reason;
use crate::create::{converted, presented};
use crate::operand::Number;

pub(crate) type Recorded = Result<Value, Reason>;

/// Records primitives at the caller's line, and settles what operands leave
/// open: promotion, broadcasting, numbers without a dtype.
pub(crate) trait Record {
    fn op(&self, primitive: Primitive, inputs: &[&Value]) -> Recorded;

    fn cast(&self, x: &Value, dtype: DType) -> Recorded;

    fn broadcast(&self, x: &Value, shape: &[usize]) -> Recorded;

    fn unary(&self, op: UnaryOp, x: &Value) -> Recorded {
        self.op(Primitive::Unary(op), &[x])
    }

    /// Of two values, at what both promote to and the shape that both broadcast
    /// to.
    fn binary(&self, op: BinaryOp, a: &Value, b: &Value) -> Recorded {
        let dtype = promote(a.spec().dtype, b.spec().dtype);
        let shape = broadcast_shapes(&a.spec().shape, &b.spec().shape)?;
        let one = |v: &Value| self.broadcast(&self.cast(v, dtype)?, &shape);
        self.op(Primitive::Binary(op), &[&one(a)?, &one(b)?])
    }

    /// Of a value and a number, which takes the value's dtype.
    fn with(&self, op: BinaryOp, x: &Value, number: impl Into<Number>) -> Recorded {
        let number = number.into();
        let dtype = number.dtype_beside(x.spec().dtype);
        self.binary(op, &self.cast(x, dtype)?, &number.constant(dtype)?)
    }

    /// `a` where the condition holds, else `b`, which have one dtype; all
    /// broadcast.
    fn select(&self, condition: &Value, a: &Value, b: &Value) -> Recorded {
        let shape = broadcast_shapes(&a.spec().shape, &b.spec().shape)?;
        let shape = broadcast_shapes(&condition.spec().shape, &shape)?;
        let one = |v: &Value| self.broadcast(v, &shape);
        self.op(Primitive::Select, &[&one(condition)?, &one(a)?, &one(b)?])
    }

    /// A number of `dtype`, without dimensions.
    fn number(&self, number: impl Into<Number>, dtype: DType) -> Recorded {
        number.into().constant(dtype)
    }

    /// How many elements of x fall into one along `axes`, less some but at least 0, as
    /// a number of its dtype.
    fn count(&self, x: &Value, axes: &[usize], less: isize) -> Recorded {
        let dtype = x.spec().dtype;
        if x.is_of_any_size() {
            let count = self.op(Primitive::AxisCount { axes: axes.to_vec(), dtype }, &[x])?;
            return match less {
                0 => Ok(count),
                _ => {
                    let rest = self.with(BinaryOp::Subtract, &count, less as f64)?;
                    self.with(BinaryOp::Maximum, &rest, 0.0)
                }
            };
        }
        let count: usize = axes.iter().map(|&axis| x.spec().shape[axis]).product();
        self.number((count as f64 - less as f64).max(0.0), dtype)
    }

    /// `f` of the value; of halves in f32, rounded once.
    fn wide(&self, x: &Value, f: impl FnOnce(&Value) -> Recorded) -> Recorded {
        let dtype = x.spec().dtype;
        self.cast(&f(&self.cast(x, dtype.accumulator())?)?, dtype)
    }

    /// Integers and truth values as f32; floats as they are.
    fn inexact(&self, x: &Value) -> Recorded {
        self.cast(x, inexact(x.spec().dtype))
    }

    fn reshape(&self, x: &Value, shape: &[usize]) -> Recorded {
        if x.spec().shape[..] == *shape {
            return Ok(x.clone());
        }
        self.op(Primitive::Reshape(shape.to_vec()), &[x])
    }

    /// The elements in row order, in one dimension.
    fn line(&self, x: &Value) -> Recorded {
        self.reshape(x, &[x.spec().count()])
    }

    fn transpose(&self, x: &Value, axes: &[usize]) -> Recorded {
        if axes.iter().enumerate().all(|(i, &axis)| i == axis) {
            return Ok(x.clone());
        }
        self.op(Primitive::Transpose(axes.to_vec()), &[x])
    }

    /// Reduced over sorted axes, which stay with size 1 where `keep`.
    fn reduce(&self, op: ReduceOp, x: &Value, axes: &[usize], keep: bool) -> Recorded {
        let out = self.op(Primitive::Reduce { op, axes: axes.to_vec() }, &[x])?;
        if keep { Ok(out) } else { self.squeeze(&out, axes) }
    }

    fn squeeze(&self, x: &Value, axes: &[usize]) -> Recorded {
        if axes.is_empty() {
            return Ok(x.clone());
        }
        self.op(Primitive::Squeeze(axes.to_vec()), &[x])
    }

    fn expand(&self, x: &Value, axes: &[usize]) -> Recorded {
        self.op(Primitive::ExpandDims(axes.to_vec()), &[x])
    }

    /// `len` items of an axis from `start` by `step`.
    fn items(&self, x: &Value, axis: usize, start: usize, step: isize, len: usize) -> Recorded {
        let shape = &x.spec().shape;
        let (mut starts, mut steps) = (vec![0; shape.rank()], vec![1; shape.rank()]);
        (starts[axis], steps[axis]) = (start, step);
        let len = shape.with(axis, len).to_vec();
        self.op(Primitive::Slice { start: starts, step: steps, len }, &[x])
    }

    fn concat(&self, parts: &[&Value], axis: usize) -> Recorded {
        self.op(Primitive::Concatenate { axis }, parts)
    }

    fn iota(&self, shape: &[usize], axis: usize, dtype: DType) -> Recorded {
        self.op(Primitive::Iota { dtype, shape: shape.to_vec(), axis }, &[])
    }

    /// The items of the first axis at `indices`, whose dimensions replace it.
    fn rows(&self, x: &Value, indices: &Value) -> Recorded {
        let slice_sizes = x.spec().shape.with(0, 1).to_vec();
        let found = self.op(Primitive::Gather { axes: vec![0], slice_sizes }, &[x, indices])?;
        self.squeeze(&found, &[indices.spec().rank()])
    }

    /// A line with `updates` put at `indices`, which are lines too.
    fn put(&self, line: &Value, indices: &Value, updates: &Value, reduce: ScatterReduce) -> Recorded {
        self.op(Primitive::ScatterAxis { axis: 0, reduce }, &[line, indices, updates])
    }

    /// `number` of `dtype` everywhere.
    fn filled(&self, number: impl Into<Number>, dtype: DType, shape: &[usize]) -> Recorded {
        self.broadcast(&self.number(number, dtype)?, shape)
    }
}

impl Record for Place {
    fn op(&self, primitive: Primitive, inputs: &[&Value]) -> Recorded {
        Ok(Value::record(primitive, inputs, self.clone())?)
    }

    fn cast(&self, x: &Value, dtype: DType) -> Recorded {
        converted(x, dtype, self)
    }

    fn broadcast(&self, x: &Value, shape: &[usize]) -> Recorded {
        presented(x, &shape.into(), self)
    }
}

/// The dtype that a function which only floats have computes in.
pub(crate) fn inexact(dtype: DType) -> DType {
    if dtype.is_inexact() { dtype } else { DType::F32 }
}

/// A host value of a line of numbers.
pub(crate) fn line_of<T: oneir_tensor::Element>(numbers: &[T]) -> Recorded {
    Ok(Value::constant(HostTensor::from_slice(&[numbers.len()], numbers)?))
}
