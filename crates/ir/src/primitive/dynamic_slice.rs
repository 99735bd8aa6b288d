use oneir_tensor::{DType, HostTensor, Layout};

use super::case::{for_dtypes, of, t};
use super::fields::DynamicSlice;
use super::indices::{clamped, integers};
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::scattering::gathered;
use super::transforms::{Batched, Over, further, in_front};
use super::{Case, Primitive, one};
use crate::invalid::{axes_within, exactly, shape_is, slice_fits};
use crate::{BinaryOp, Invalid, Place, Spec, Specs, Value};

/// Refuses starts and a slice that do not fit `x`.
pub(super) fn starts_and_slice_fit(
    axes: &[usize],
    starts: &Spec,
    x: &Spec,
    slice: &[usize],
) -> Result<(), Invalid> {
    axes_within(axes, x.rank())?;
    integers(starts)?;
    shape_is("the starts", starts, &[axes.len()])?;
    slice_fits(slice, &x.shape)
}

/// The places in a tensor of `shape` that the slice covers.
pub(super) fn slice_at(
    axes: &[usize],
    starts: &HostTensor,
    shape: &[usize],
    slice: &[usize],
) -> Result<Vec<usize>, EvalError> {
    let starts = starts.values()?;
    let mut start = vec![0; shape.len()];
    for (i, &axis) in axes.iter().enumerate() {
        start[axis] = clamped(&starts.select(&[i]), shape[axis], slice[axis])[0];
    }
    let region = Layout::contiguous(shape).slice(&start, &vec![1; shape.len()], slice)?;
    Ok(region.offsets().map(|at| at as usize).collect())
}

/// The starts of a batch, `[size, axes]`, as one index array per axis, in which
/// none counts from the end.
pub(super) fn each_start(starts: &Batched) -> Result<Vec<Batched>, Invalid> {
    let starts = starts.value.binary(BinaryOp::Maximum, &starts.value.filled_like(0.0)?)?;
    let size = starts.size(0);
    let one = |axis| {
        let value = starts.part(1, axis, 1)?.reshape(&[size])?;
        Ok(Batched { value, axis: Some(0) })
    };
    (0..starts.size(1)).map(one).collect()
}

impl Rules for DynamicSlice<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x, starts] = exactly(inputs)?;
        starts_and_slice_fit(self.axes, starts, x, self.len)?;
        one(x.with_shape(self.len.as_slice()))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let spec = self.results(inputs)?.remove(0);
        let places = slice_at(self.axes, &inputs[1], inputs[0].shape(), self.len)?;
        let out = inputs[0].values()?.select(&places);
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &out)?])
    }

    fn nature(&self) -> Nature {
        Nature::Movement
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::linear(Over::Only(vec![0]), |at, cotangent| {
            let update = Primitive::DynamicSliceUpdate { axes: self.axes.clone() };
            let zeros = at.inputs[0].filled_like(0.0)?;
            let back = Value::record(update, &[&zeros, cotangent, &at.inputs[1]], Place::Internal)?;
            Ok(vec![Some(back), None])
        })
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Custom(Box::new(|inputs, size| {
            let (x, starts) = (&inputs[0], &inputs[1]);
            if starts.axis.is_none() {
                let slice =
                    Primitive::DynamicSlice { axes: further(self.axes), len: in_front(size, self.len) };
                let found = Value::record(slice, &[&x.whole(size)?, &starts.value], Place::Internal)?;
                return Ok(vec![Batched { value: found, axis: Some(0) }]);
            }
            Ok(vec![gathered(self.axes, self.len, x, &each_start(starts)?, size)?])
        }))
    }

    fn fixes_shape(&self) -> bool {
        true
    }

    fn cases() -> Vec<Case> {
        use DType::{F32, I8, I16, I32, I64, U8, U16, U32, U64};
        let slice = |axes: &[usize], len: &[usize]| Primitive::DynamicSlice {
            axes: axes.to_vec(),
            len: len.to_vec(),
        };
        let moved = vec![
            Case::new(
                slice(&[1], &[2, 2]),
                vec![of(F32, &[2, 3], &[0.0, 1.0, 0.0, 1.0, 1.0, 0.0]), t(&[1], &[1i32])],
                vec![of(F32, &[2, 2], &[1.0, 0.0, 1.0, 0.0])],
            ),
            Case::new(
                slice(&[], &[]),
                vec![of(F32, &[], &[1.0]), t::<i32>(&[0], &[])],
                vec![of(F32, &[], &[1.0])],
            ),
            Case::new(
                slice(&[0], &[0]),
                vec![of(F32, &[2], &[1.0, 0.0]), t(&[1], &[9i32])],
                vec![of(F32, &[0], &[])],
            ),
        ];
        let mut cases = for_dtypes(F32, DType::ALL, moved);
        let x = || t(&[3, 3], &[0i32, 1, 2, 10, 11, 12, 20, 21, 22]);
        for dtype in [I8, I16, I32, I64, U8, U16, U32, U64] {
            cases.push(Case::new(
                slice(&[0, 1], &[2, 1]),
                vec![x(), of(dtype, &[2], &[100.0, 1.0])],
                vec![t(&[2, 1], &[11i32, 21])],
            ));
        }
        let floats = of(DType::F64, &[3, 2, 4], &(0..24).map(f64::from).collect::<Vec<_>>());
        cases.push(Case::parity(slice(&[0, 2], &[2, 2, 3]), vec![floats, t(&[2], &[1i32, -4])]));
        cases.extend([
            // Negative starts do not count from the end.
            Case::new(slice(&[0], &[1, 3]), vec![x(), t(&[1], &[-1i64])], vec![t(&[1, 3], &[0i32, 1, 2])]),
            Case::new(slice(&[0], &[1, 3]), vec![x(), t(&[1], &[i64::MIN])], vec![t(&[1, 3], &[0i32, 1, 2])]),
            Case::new(
                slice(&[0], &[1, 3]),
                vec![x(), t(&[1], &[u64::MAX])],
                vec![t(&[1, 3], &[20i32, 21, 22])],
            ),
            Case::new(slice(&[1], &[1, 1]), vec![x(), t(&[1], &[2i32])], vec![t(&[1, 1], &[2i32])]),
            Case::refused(
                slice(&[0], &[4, 3]),
                vec![x(), t(&[1], &[0i32])],
                "[4, 3] does not fit in shape [3, 3]",
            ),
            Case::refused(slice(&[0], &[3]), vec![x(), t(&[1], &[0i32])], "[3] does not fit in shape [3, 3]"),
            Case::refused(slice(&[0], &[1, 1]), vec![x(), t(&[], &[0i32])], "the starts must have shape [1]"),
            Case::refused(slice(&[0], &[1, 1]), vec![x(), t(&[1], &[0f32])], "must be integers"),
            Case::refused(slice(&[0, 0], &[1, 1]), vec![x(), t(&[2], &[0i32, 0])], "repeated"),
            Case::refused(slice(&[0], &[1, 1]), vec![x()], "expected 2 inputs"),
        ]);
        cases
    }
}
