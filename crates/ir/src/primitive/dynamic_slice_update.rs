use oneir_tensor::{DType, HostTensor};

use super::case::{for_dtypes, of, t};
use super::dynamic_slice::{each_start, slice_at, starts_and_slice_fit};
use super::fields::DynamicSliceUpdate;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::scattering::scattered;
use super::transforms::{Batched, Over, further};
use super::{Case, Primitive, ScatterReduce, one};
use crate::invalid::{exactly, same_dtype};
use crate::{Invalid, Place, Spec, Specs, Value};

impl Rules for DynamicSliceUpdate<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x, update, starts] = exactly(inputs)?;
        same_dtype(x, update)?;
        starts_and_slice_fit(self.axes, starts, x, &update.shape)?;
        one(x.clone())
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let spec = self.results(inputs)?.remove(0);
        let (mut out, new) = (inputs[0].values()?, inputs[1].values()?);
        let places = slice_at(self.axes, &inputs[2], &spec.shape, inputs[1].shape())?;
        for (from, &at) in places.iter().enumerate() {
            out.set(at, &new, from);
        }
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &out)?])
    }

    fn nature(&self) -> Nature {
        Nature::Movement
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::linear(Over::Only(vec![0, 1]), |at, cotangent| {
            let (update, starts) = (&at.inputs[1], &at.inputs[2]);
            let put = Primitive::DynamicSliceUpdate { axes: self.axes.clone() };
            let take = Primitive::DynamicSlice { axes: self.axes.clone(), len: update.spec().shape.to_vec() };
            let zeros = update.filled_like(0.0)?;
            let base = Value::record(put, &[cotangent, &zeros, starts], Place::Internal)?;
            let slice = Value::record(take, &[cotangent, starts], Place::Internal)?;
            Ok(vec![Some(base), Some(slice), None])
        })
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Custom(Box::new(|inputs, size| {
            let (x, update, starts) = (&inputs[0], &inputs[1], &inputs[2]);
            if starts.axis.is_none() {
                let put = Primitive::DynamicSliceUpdate { axes: further(self.axes) };
                let (x, update) = (x.whole(size)?, update.whole(size)?);
                let found = Value::record(put, &[&x, &update, &starts.value], Place::Internal)?;
                return Ok(vec![Batched { value: found, axis: Some(0) }]);
            }
            let starts = each_start(starts)?;
            Ok(vec![scattered(self.axes, ScatterReduce::None, x, &starts, update, size)?])
        }))
    }

    fn cases() -> Vec<Case> {
        use DType::{F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let update = |axes: &[usize]| Primitive::DynamicSliceUpdate { axes: axes.to_vec() };
        let moved = vec![
            Case::new(
                update(&[1]),
                vec![of(F32, &[2, 2], &[0.0; 4]), of(F32, &[2, 1], &[1.0, 1.0]), t(&[1], &[1i32])],
                vec![of(F32, &[2, 2], &[0.0, 1.0, 0.0, 1.0])],
            ),
            Case::new(
                update(&[]),
                vec![of(F32, &[], &[1.0]), of(F32, &[], &[0.0]), t::<i32>(&[0], &[])],
                vec![of(F32, &[], &[0.0])],
            ),
            Case::new(
                update(&[0]),
                vec![of(F32, &[2], &[1.0, 0.0]), of(F32, &[0], &[]), t(&[1], &[9i32])],
                vec![of(F32, &[2], &[1.0, 0.0])],
            ),
        ];
        let mut cases = for_dtypes(F32, DType::ALL, moved);
        let x = || t(&[2, 3], &[0i32, 1, 2, 10, 11, 12]);
        for dtype in [I8, I16, I32, I64, U8, U16, U32, U64] {
            cases.push(Case::new(
                update(&[0, 1]),
                vec![x(), t(&[1, 2], &[7i32, 8]), of(dtype, &[2], &[1.0, 100.0])],
                vec![t(&[2, 3], &[0i32, 1, 2, 10, 7, 8])],
            ));
        }
        let floats = |shape: &[usize], n: i32| of(F64, shape, &(0..n).map(f64::from).collect::<Vec<_>>());
        let (base, part) = (floats(&[3, 2, 4], 24), floats(&[2, 2, 3], 12));
        cases.push(Case::parity(update(&[0, 2]), vec![base, part, t(&[2], &[1i32, 9])]));
        cases.extend([
            Case::new(
                update(&[0]),
                vec![x(), t(&[1, 1], &[7i32]), t(&[1], &[-1i64])],
                vec![t(&[2, 3], &[7i32, 1, 2, 10, 11, 12])],
            ),
            Case::new(
                update(&[1]),
                vec![x(), t(&[1, 1], &[7i32]), t(&[1], &[u64::MAX])],
                vec![t(&[2, 3], &[0i32, 1, 7, 10, 11, 12])],
            ),
            Case::refused(
                update(&[0]),
                vec![x(), t(&[3, 1], &[0i32; 3]), t(&[1], &[0i32])],
                "[3, 1] does not fit in shape [2, 3]",
            ),
            Case::refused(
                update(&[0]),
                vec![x(), t(&[1], &[0i32]), t(&[1], &[0i32])],
                "[1] does not fit in shape [2, 3]",
            ),
            Case::refused(update(&[0]), vec![x(), of(F64, &[1, 1], &[0.0]), t(&[1], &[0i32])], "i32 and f64"),
            Case::refused(
                update(&[0]),
                vec![x(), t(&[1, 1], &[0i32]), t(&[2], &[0i32; 2])],
                "the starts must have shape [1], found [2]",
            ),
            Case::refused(update(&[2]), vec![x(), t(&[1, 1], &[0i32]), t(&[1], &[0i32])], "axis 2"),
        ]);
        cases
    }
}
