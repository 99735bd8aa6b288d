//! Derivatives of scatters, and gathers and scatters over a further axis.

use oneir_tensor::DType;

use super::transforms::{Applied, Batched, Derivative, Over, Slots, further, in_front};
use super::{BinaryOp, Primitive, ScatterReduce, UnaryOp};
use crate::{Invalid, Place, Value};

/// A scatter and the gather that takes from where its updates go.
pub(super) struct Scattering<'a> {
    /// The gather: of src and the indices.
    pub(super) gather: Primitive,
    /// The scatter with a combination: of dst, the indices and updates.
    pub(super) scatter: Box<dyn Fn(ScatterReduce) -> Primitive + 'a>,
    /// The axis of a line in which updates meet.
    pub(super) axis: usize,
    /// The indices.
    pub(super) indices: Vec<Value>,
}

impl Scattering<'_> {
    /// What `from` has where each update goes.
    fn take(&self, from: &Value) -> Result<Value, Invalid> {
        let inputs: Vec<&Value> = std::iter::once(from).chain(&self.indices).collect();
        Value::record(self.gather.clone(), &inputs, Place::Internal)
    }

    /// `dst` with updates.
    fn put(&self, reduce: ScatterReduce, dst: &Value, updates: &Value) -> Result<Value, Invalid> {
        let inputs: Vec<&Value> = std::iter::once(dst).chain(&self.indices).chain([updates]).collect();
        Value::record((self.scatter)(reduce), &inputs, Place::Internal)
    }

    /// Whether each update is the last at its place, which stays.
    fn stays(&self, dst: &Value, updates: &Value) -> Result<Value, Invalid> {
        let numbers = Value::numbered(DType::I64, &updates.spec().shape)?;
        let last = Value::numbered(DType::I64, &dst.spec().shape)?;
        self.take(&self.put(ScatterReduce::None, &last, &numbers)?)?.binary(BinaryOp::Equal, &numbers)
    }

    /// By how much each place of the result changes with dst there, and with each
    /// update that goes there.
    fn factors(&self, reduce: ScatterReduce, at: &Applied<'_>) -> Result<(Value, Value), Invalid> {
        let (dst, updates) = (&at.inputs[0], &at.inputs[at.inputs.len() - 1]);
        if reduce == ScatterReduce::Prod {
            let all = self.put(reduce, &dst.filled_like(1.0)?, updates)?;
            let lines = Value::counted(DType::I64, &dst.spec().shape, self.axis)?;
            let others = updates.product_of_others(self.axis, &self.take(&lines)?)?;
            return Ok((all, self.take(dst)?.multiply(&others)?));
        }
        // Those that tie share the change evenly.
        let (dtype, best) = (dst.spec().dtype, &at.outputs[0]);
        let there = dst.binary(BinaryOp::Equal, best)?.as_type(dtype)?;
        let new = updates.binary(BinaryOp::Equal, &self.take(best)?)?.as_type(dtype)?;
        let count = self.put(ScatterReduce::Sum, &there, &new)?;
        Ok((there.divide(&count)?, new.divide(&self.take(&count)?)?))
    }
}

/// What dst, the indices and updates get.
fn slots(inputs: usize, dst: Value, updates: Value) -> Slots {
    let mut all = vec![None; inputs];
    (all[0], all[inputs - 1]) = (Some(dst), Some(updates));
    all
}

/// The derivative of a scatter of `(dst, indices…, updates)`. `places` tells of a
/// call which scatter it is, and `last` where the updates are.
pub(super) fn derivative<'a>(
    reduce: ScatterReduce,
    last: usize,
    places: impl Fn(&Applied<'_>) -> Scattering<'a> + Clone + 'a,
) -> Derivative<'a> {
    match reduce {
        ScatterReduce::None | ScatterReduce::Sum => Derivative::Linear {
            over: Over::Only(vec![0, last]),
            transpose: Box::new(move |at, cotangents| {
                let Some(cotangent) = &cotangents[0] else { return Ok(vec![None; at.inputs.len()]) };
                let (places, updates) = (places(at), &at.inputs[at.inputs.len() - 1]);
                let taken = places.take(cotangent)?;
                if reduce == ScatterReduce::Sum {
                    return Ok(slots(at.inputs.len(), cotangent.clone(), taken));
                }
                let zeros = updates.filled_like(0.0)?;
                let dst = places.put(reduce, cotangent, &zeros)?;
                let updates = places.stays(&at.inputs[0], updates)?.select(&taken, &zeros)?;
                Ok(slots(at.inputs.len(), dst, updates))
            }),
        },
        _ => {
            let of = places.clone();
            Derivative::Custom {
                jvp: Box::new(move |at, tangents| {
                    let (places, last) = (of(at), at.inputs.len() - 1);
                    let (dst, updates) = places.factors(reduce, at)?;
                    let there = tangents[0].as_ref().map(|t| t.multiply(&dst)).transpose()?;
                    let Some(new) = &tangents[last] else { return Ok(vec![there]) };
                    let there = there.map_or_else(|| dst.filled_like(0.0), Ok)?;
                    Ok(vec![Some(places.put(ScatterReduce::Sum, &there, &new.multiply(&updates)?)?)])
                }),
                vjp: Box::new(move |at, cotangents| {
                    let Some(cotangent) = &cotangents[0] else { return Ok(vec![None; at.inputs.len()]) };
                    let places = places(at);
                    let (dst, updates) = places.factors(reduce, at)?;
                    let times = |change: &Value, factor: Value| match factor.spec().dtype.is_complex() {
                        true => change.multiply(&factor.unary(UnaryOp::Conjugate)?),
                        false => change.multiply(&factor),
                    };
                    let updates = times(&places.take(cotangent)?, updates)?;
                    Ok(slots(at.inputs.len(), times(cotangent, dst)?, updates))
                }),
            }
        }
    }
}

/// For all of a batch, the slices that begin at indices of their own or the same.
pub(super) fn gathered(
    axes: &[usize],
    slice_sizes: &[usize],
    src: &Batched,
    indices: &[Batched],
    size: usize,
) -> Result<Batched, Invalid> {
    let record = |axes: Vec<usize>, slice_sizes: Vec<usize>, src: &Value, indices: &[Value]| {
        let inputs: Vec<&Value> = std::iter::once(src).chain(indices).collect();
        Value::record(Primitive::Gather { axes, slice_sizes }, &inputs, Place::Internal)
    };
    let shared = indices.iter().all(|i| i.axis.is_none());
    if shared && src.axis.is_some() {
        let indices: Vec<Value> = indices.iter().map(|i| i.value.clone()).collect();
        let value = record(further(axes), in_front(size, slice_sizes), &src.value, &indices)?;
        let axis = Some(value.spec().rank() - slice_sizes.len() - 1);
        return Ok(Batched { value, axis });
    }
    if src.axis.is_none() {
        let indices = whole(indices, if shared { None } else { Some(size) })?;
        let value = record(axes.to_vec(), slice_sizes.to_vec(), &src.value, &indices)?;
        return Ok(Batched { value, axis: (!shared).then_some(0) });
    }
    let indices = with_batch(indices, size)?;
    let found =
        record(in_front(0, &further(axes)), in_front(size.min(1), slice_sizes), &src.value, &indices)?;
    // Without the axis of size 1 that each slice has of the batch.
    let mut shape = found.spec().shape.to_vec();
    shape.remove(shape.len() - slice_sizes.len() - 1);
    Ok(Batched { value: found.reshape(&shape)?, axis: Some(0) })
}

/// For all of a batch, dst with updates at indices of their own or the same.
pub(super) fn scattered(
    axes: &[usize],
    reduce: ScatterReduce,
    dst: &Batched,
    indices: &[Batched],
    updates: &Batched,
    size: usize,
) -> Result<Batched, Invalid> {
    let record = |axes: Vec<usize>, indices: &[Value], updates: &Value| {
        let dst = dst.whole(size)?;
        let inputs: Vec<&Value> = std::iter::once(&dst).chain(indices).chain([updates]).collect();
        let value = Value::record(Primitive::Scatter { axes, reduce }, &inputs, Place::Internal)?;
        Ok(Batched { value, axis: Some(0) })
    };
    let all = updates.whole(size)?;
    let lead = all.spec().rank() - dst.spec().rank();
    if indices.iter().all(|i| i.axis.is_none()) {
        // The batch is an axis of every slice.
        let turned: Vec<usize> = (1..lead).chain([0]).chain(lead..all.spec().rank()).collect();
        return record(further(axes), &whole(indices, None)?, &all.transpose(&turned)?);
    }
    let mut shape = all.spec().shape.to_vec();
    shape.insert(lead, size.min(1));
    record(in_front(0, &further(axes)), &with_batch(indices, size)?, &all.reshape(&shape)?)
}

/// The index arrays, each with the further axis where `size` is given.
fn whole(indices: &[Batched], size: Option<usize>) -> Result<Vec<Value>, Invalid> {
    indices.iter().map(|i| size.map_or_else(|| Ok(i.value.clone()), |size| i.whole(size))).collect()
}

/// The number in the batch, and the index arrays: all in a type that holds every
/// such number.
fn with_batch(indices: &[Batched], size: usize) -> Result<Vec<Value>, Invalid> {
    let indices = whole(indices, Some(size))?;
    let Some(first) = indices.first() else { return Ok(indices) };
    let signed = first.spec().dtype.class() == oneir_tensor::Class::Signed;
    let dtype = if signed { DType::I64 } else { DType::U64 };
    let mut all = vec![Value::counted(dtype, &first.spec().shape, 0)?];
    for index in &indices {
        all.push(index.as_type(dtype)?);
    }
    Ok(all)
}
