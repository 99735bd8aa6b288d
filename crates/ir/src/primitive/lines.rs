//! Parts of lines along an axis, as graphs: what rules of movements are written
//! with.

use oneir_tensor::{DType, HostTensor, Values};

use super::{BinaryOp, Primitive};
use crate::{Invalid, Place, Value};

impl Value {
    fn moved(primitive: Primitive, inputs: &[&Value]) -> Result<Value, Invalid> {
        Value::record(primitive, inputs, Place::Internal)
    }

    /// How many items an axis has.
    pub(super) fn size(&self, axis: usize) -> usize {
        self.spec().shape[axis]
    }

    /// Of an axis, `len` items from `start` on, `step` apart.
    pub(super) fn steps(&self, axis: usize, start: usize, step: isize, len: usize) -> Result<Value, Invalid> {
        let rank = self.spec().rank();
        let (mut starts, mut by) = (vec![0; rank], vec![1; rank]);
        (starts[axis], by[axis]) = (start, step);
        let len = self.spec().shape.with(axis, len).to_vec();
        Value::moved(Primitive::Slice { start: starts, step: by, len }, &[self])
    }

    /// Of an axis, `len` items from `start` on.
    pub(super) fn part(&self, axis: usize, start: usize, len: usize) -> Result<Value, Invalid> {
        if (start, len) == (0, self.size(axis)) {
            return Ok(self.clone());
        }
        self.steps(axis, start, 1, len)
    }

    /// With `items` in place of those at `start`, `start + step`, … of an axis.
    pub(super) fn with_steps(
        &self,
        axis: usize,
        start: usize,
        step: isize,
        items: &Value,
    ) -> Result<Value, Invalid> {
        let rank = self.spec().rank();
        let (mut starts, mut by) = (vec![0; rank], vec![1; rank]);
        (starts[axis], by[axis]) = (start, step);
        let len = items.spec().shape.to_vec();
        Value::moved(Primitive::SliceUpdate { start: starts, step: by, len }, &[self, items])
    }

    /// An axis backwards.
    pub(super) fn flipped(&self, axis: usize) -> Result<Value, Invalid> {
        let len = self.size(axis);
        if len < 2 { Ok(self.clone()) } else { self.steps(axis, len - 1, -1, len) }
    }

    /// Parts joined along an axis.
    pub(super) fn joined(parts: &[&Value], axis: usize) -> Result<Value, Invalid> {
        match parts {
            [part] => Ok((*part).clone()),
            _ => Value::moved(Primitive::Concatenate { axis }, parts),
        }
    }

    /// With `low` and `high` more places at the ends of an axis, which hold `value`.
    pub(super) fn padded(
        &self,
        axis: usize,
        low: usize,
        high: usize,
        value: &Value,
    ) -> Result<Value, Invalid> {
        if (low, high) == (0, 0) {
            return Ok(self.clone());
        }
        let none = vec![0; self.spec().rank()];
        let at = |n: usize| {
            let mut all = none.clone();
            all[axis] = n;
            all
        };
        let pad = Primitive::Pad { low: at(low), high: at(high), mode: super::PadMode::Constant };
        Value::moved(pad, &[self, value])
    }

    /// 0, 1, 2, … along an axis.
    pub(super) fn counted(dtype: DType, shape: &[usize], axis: usize) -> Result<Value, Invalid> {
        Value::moved(Primitive::Iota { dtype, shape: shape.to_vec(), axis }, &[])
    }

    /// The number of each element in row order.
    pub(super) fn numbered(dtype: DType, shape: &[usize]) -> Result<Value, Invalid> {
        let count: usize = shape.iter().product();
        Value::counted(dtype, &[count], 0)?.reshape(shape)
    }

    /// One value of `dtype`.
    pub(super) fn scalar_of(dtype: DType, value: &Values) -> Result<Value, Invalid> {
        Ok(Value::constant(HostTensor::from_values(dtype, &[], value)?))
    }

    /// The elements of each line that `indices` name.
    pub(super) fn taken(&self, axis: usize, indices: &Value) -> Result<Value, Invalid> {
        Value::moved(Primitive::GatherAxis { axis }, &[self, indices])
    }

    /// This without derivative.
    pub(super) fn held(&self) -> Result<Value, Invalid> {
        Value::moved(Primitive::StopGradient, &[self])
    }

    /// The places at which each line is in order.
    pub(super) fn order(&self, axis: usize) -> Result<Value, Invalid> {
        Value::moved(Primitive::ArgSort { axis }, &[self])
    }

    /// Whole numbers presented along one axis of a shape.
    pub(super) fn along_axis(numbers: &[i64], axis: usize, shape: &[usize]) -> Result<Value, Invalid> {
        let mut line = vec![1; shape.len()];
        line[axis] = numbers.len();
        let mut whole = shape.to_vec();
        whole[axis] = numbers.len();
        Value::constant(HostTensor::from_slice(&line, numbers)?).broadcast(&whole)
    }

    /// Each item of an axis combined with all before it, with as many
    /// combinations as there are items: pairs first, then what lies between.
    /// No step divides, so zeros do no harm to any derivative.
    pub(super) fn combined_so_far(&self, axis: usize, op: BinaryOp) -> Result<Value, Invalid> {
        let n = self.size(axis);
        if n < 2 {
            return Ok(self.clone());
        }
        let (half, rest) = (n / 2, n.div_ceil(2) - 1);
        let pairs = self.steps(axis, 0, 2, half)?.binary(op, &self.steps(axis, 1, 2, half)?)?;
        let odd = pairs.combined_so_far(axis, op)?;
        let first = self.part(axis, 0, 1)?;
        let even = match rest {
            0 => first,
            _ => {
                let between = odd.part(axis, 0, rest)?.binary(op, &self.steps(axis, 2, 2, rest)?)?;
                Value::joined(&[&first, &between], axis)?
            }
        };
        self.filled_like(0.0)?.with_steps(axis, 0, 2, &even)?.with_steps(axis, 1, 2, &odd)
    }

    /// For each item of an axis the product of the others that share its key.
    pub(super) fn product_of_others(&self, axis: usize, keys: &Value) -> Result<Value, Invalid> {
        let order = keys.order(axis)?;
        let (items, keys) = (self.taken(axis, &order)?, keys.taken(axis, &order)?);
        let before = items.product_before(axis, &keys)?;
        let turned = items.flipped(axis)?.product_before(axis, &keys.flipped(axis)?)?;
        before.multiply(&turned.flipped(axis)?)?.taken(axis, &order.order(axis)?)
    }

    /// For each item of an axis the product of those before it that share its
    /// key, where equal keys stand together.
    fn product_before(&self, axis: usize, keys: &Value) -> Result<Value, Invalid> {
        let n = self.size(axis);
        let one = self.filled_like(1.0)?;
        if n < 2 {
            return Ok(one);
        }
        // `from` of the item `by` places before, where that has the same key.
        let earlier = |from: &Value, by: usize| {
            let alike = keys.part(axis, by, n - by)?.binary(BinaryOp::Equal, &keys.part(axis, 0, n - by)?)?;
            alike.select(&from.part(axis, 0, n - by)?, &one.part(axis, 0, n - by)?)
        };
        // Of the nearest item, then of the nearest 2, 4, 8, …
        let mut product = Value::joined(&[&one.part(axis, 0, 1)?, &earlier(self, 1)?], axis)?;
        let mut reach = 1;
        while reach < n - 1 {
            let more = product.part(axis, reach, n - reach)?.multiply(&earlier(&product, reach)?)?;
            product = Value::joined(&[&product.part(axis, 0, reach)?, &more], axis)?;
            reach *= 2;
        }
        Ok(product)
    }
}
