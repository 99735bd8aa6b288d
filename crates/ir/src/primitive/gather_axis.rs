use oneir_tensor::{DType, HostTensor};

use super::case::{for_dtypes, of, t};
use super::fields::GatherAxis;
use super::indices::{from_either_end, integers};
use super::lanes::Lanes;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::transforms::{Batched, Over};
use super::{Case, Primitive, ScatterReduce, one};
use crate::invalid::{axis_within, exactly, shape_is};
use crate::{Invalid, Place, Spec, Specs, Value};

/// Refuses indices whose shape is not `x`'s but along `axis`, and indices into
/// nothing.
pub(super) fn indices_along(indices: &Spec, x: &Spec, axis: usize) -> Result<(), Invalid> {
    axis_within(axis, x.rank())?;
    integers(indices)?;
    let size = indices.shape.get(axis).copied().unwrap_or(x.shape[axis]);
    shape_is("the indices", indices, &x.shape.with(axis, size))?;
    if x.shape[axis] == 0 && indices.count() > 0 {
        return Err(Invalid::NoFit { slice: vec![1], shape: vec![0] });
    }
    Ok(())
}

impl Rules for GatherAxis<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [src, indices] = exactly(inputs)?;
        indices_along(indices, src, *self.axis)?;
        one(src.with_shape(indices.shape.clone()))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let spec = self.results(inputs)?.remove(0);
        let (src, indices) = (&inputs[0], &inputs[1]);
        let chosen = from_either_end(&indices.values()?, src.shape()[*self.axis], 1);
        let mut places = vec![0; spec.count()];
        let (from, to) = (Lanes::new(src.shape(), *self.axis), Lanes::new(&spec.shape, *self.axis));
        for (from, to) in from.iter().zip(to.iter()) {
            for at in to.places() {
                places[at] = from.at(chosen[at]);
            }
        }
        let out = src.values()?.select(&places);
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &out)?])
    }

    fn nature(&self) -> Nature {
        Nature::Movement
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::linear(Over::Only(vec![0]), |at, cotangent| {
            let sum = Primitive::ScatterAxis { axis: *self.axis, reduce: ScatterReduce::Sum };
            let zeros = at.inputs[0].filled_like(0.0)?;
            let back = Value::record(sum, &[&zeros, &at.inputs[1], cotangent], Place::Internal)?;
            Ok(vec![Some(back), None])
        })
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Custom(Box::new(|inputs, size| {
            let (src, indices, axis) = (&inputs[0], &inputs[1], *self.axis);
            if src.axis.is_some() || size == 0 {
                let found = src.whole(size)?.taken(axis + 1, &indices.whole(size)?)?;
                return Ok(vec![Batched { value: found, axis: Some(0) }]);
            }
            // One source: its lines are indexed once, with the indices of all.
            let all = indices.whole(size)?;
            let rank = all.spec().rank();
            let beside: Vec<usize> = (1..=axis).chain([0]).chain(axis + 1..rank).collect();
            let apart = all.transpose(&beside)?;
            let mut joined = apart.spec().shape.to_vec();
            joined[axis] *= joined.remove(axis + 1);
            let found = src.value.taken(axis, &apart.reshape(&joined)?)?.reshape(&apart.spec().shape)?;
            Ok(vec![Batched { value: found, axis: Some(axis) }])
        }))
    }

    fn cases() -> Vec<Case> {
        use DType::{F32, I8, I16, I32, I64, U8, U16, U32, U64};
        let gather = |axis| Primitive::GatherAxis { axis };
        let src = || of(F32, &[2, 3], &[0.0, 1.0, 0.0, 1.0, 1.0, 0.0]);
        let known = vec![
            Case::new(
                gather(1),
                vec![src(), t(&[2, 2], &[1i32, 0, 2, -3])],
                vec![of(F32, &[2, 2], &[1.0, 0.0, 0.0, 1.0])],
            ),
            Case::new(
                gather(0),
                vec![src(), t(&[1, 3], &[0i32, 1, -1])],
                vec![of(F32, &[1, 3], &[0.0, 1.0, 0.0])],
            ),
            Case::new(gather(1), vec![src(), t::<i32>(&[2, 0], &[])], vec![of(F32, &[2, 0], &[])]),
            Case::new(
                gather(1),
                vec![of(F32, &[0, 3], &[]), t::<i32>(&[0, 5], &[])],
                vec![of(F32, &[0, 5], &[])],
            ),
        ];
        let mut cases = for_dtypes(F32, &DType::COMPUTE, known);
        for dtype in [I8, I16, I32, I64, U8, U16, U32, U64] {
            // 100 is past the end.
            cases.push(Case::new(
                gather(0),
                vec![t(&[3], &[7i32, 8, 9]), of(dtype, &[4], &[2.0, 0.0, 1.0, 100.0])],
                vec![t(&[4], &[9i32, 7, 8, 9])],
            ));
        }
        cases.extend([
            Case::new(
                gather(0),
                vec![t(&[3], &[7u8, 8, 9]), t(&[4], &[-1i64, -3, -4, i64::MIN])],
                vec![t(&[4], &[9u8, 7, 7, 7])],
            ),
            Case::new(
                gather(0),
                vec![t(&[3], &[7u8, 8, 9]), t(&[2], &[u64::MAX, 1 << 63])],
                vec![t(&[2], &[9u8, 9])],
            ),
            Case::new(
                gather(1),
                vec![t(&[1, 2, 2], &[1i32, 2, 3, 4]), t(&[1, 3, 2], &[0i32, 1, 1, 0, 1, 1])],
                vec![t(&[1, 3, 2], &[1i32, 4, 3, 2, 3, 4])],
            ),
            Case::parity(
                gather(1),
                vec![
                    of(DType::F64, &[2, 3, 2], &(0..12).map(f64::from).collect::<Vec<_>>()),
                    t(&[2, 4, 2], &[0i32, 1, 2, -1, 2, 2, 1, 0, 0, 0, 0, 1, 9, 1, 2, 2]),
                ],
            ),
            Case::new(
                gather(0),
                vec![of(DType::U4, &[3], &[5.0, 6.0, 7.0]), t(&[2], &[2i32, 0])],
                vec![of(DType::U4, &[2], &[7.0, 5.0])],
            ),
            Case::refused(
                gather(1),
                vec![src(), t(&[1, 2], &[0i32, 0])],
                "must have shape [2, 2], found [1, 2]",
            ),
            Case::refused(gather(0), vec![src(), t(&[2], &[0i32, 0])], "the indices must have shape [2, 3]"),
            Case::refused(gather(1), vec![src(), t(&[2], &[0i32, 0])], "the indices must have shape [2, 3]"),
            Case::refused(gather(2), vec![src(), t(&[2, 3], &[0i32; 6])], "axis 2"),
            Case::refused(gather(0), vec![src(), t(&[1, 3], &[0f32; 3])], "the indices must be integers"),
            Case::refused(gather(0), vec![src(), t(&[1, 3], &[true; 3])], "the indices must be integers"),
            Case::refused(gather(0), vec![of(F32, &[0], &[]), t(&[1], &[0i32])], "does not fit in shape [0]"),
        ]);
        cases
    }
}
