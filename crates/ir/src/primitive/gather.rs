use oneir_tensor::{DType, HostTensor, Layout, Shape};

use super::case::{for_dtypes, of, t};
use super::fields::Gather;
use super::indices::{from_either_end, integers};
use super::rules::{Batching, Derivative, EvalError, Nature, Rules, zeros};
use super::scattering::gathered;
use super::transforms::Over;
use super::{Case, Primitive, ScatterReduce, one};
use crate::invalid::{axes_within, same_dtype, shape_is, slice_fits};
use crate::{Invalid, Place, Spec, Specs, Value};

const NO_INPUT: Invalid = Invalid::Arity { expected: "src and one per axis as", found: 0 };

/// The shape that the index arrays share; `axes` and they must fit `rank`.
pub(super) fn index_shape(axes: &[usize], indices: &[&Spec], rank: usize) -> Result<Shape, Invalid> {
    axes_within(axes, rank)?;
    let Some((first, rest)) = indices.split_first() else { return Ok(Shape::scalar()) };
    integers(first)?;
    for other in rest {
        same_dtype(first, other)?;
        shape_is("each index array", other, &first.shape)?;
    }
    Ok(first.shape.clone())
}

/// The places in a tensor of `shape` that slices of `slice` cover: for each
/// place of the index arrays, those of its slice in row order.
pub(super) fn slice_places(
    axes: &[usize],
    indices: &[HostTensor],
    shape: &[usize],
    slice: &[usize],
) -> Result<Vec<usize>, EvalError> {
    let whole = Layout::contiguous(shape);
    let mut starts = vec![0; indices.first().map_or(1, HostTensor::count)];
    for (&axis, indices) in axes.iter().zip(indices) {
        let along = from_either_end(&indices.values()?, shape[axis], slice[axis]);
        for (start, i) in starts.iter_mut().zip(along) {
            *start += i * whole.strides[axis] as usize;
        }
    }
    let within = Layout { offset: 0, shape: Shape::new(slice), strides: whole.strides };
    let within: Vec<usize> = within.offsets().map(|at| at as usize).collect();
    let mut places = zeros(starts.len() * within.len())?;
    for (places, start) in places.chunks_mut(within.len().max(1)).zip(&starts) {
        for (place, at) in places.iter_mut().zip(&within) {
            *place = start + at;
        }
    }
    Ok(places)
}

impl Rules for Gather<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let Some((src, indices)) = inputs.split_first().filter(|(_, i)| i.len() == self.axes.len()) else {
            return Err(Invalid::Arity { expected: "src and one per axis as", found: inputs.len() });
        };
        let mut shape = index_shape(self.axes, indices, src.rank())?;
        slice_fits(self.slice_sizes, &src.shape)?;
        for &size in self.slice_sizes {
            shape.push(size);
        }
        one(src.with_shape(shape))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let spec = self.results(inputs)?.remove(0);
        let places = slice_places(self.axes, &inputs[1..], inputs[0].shape(), self.slice_sizes)?;
        let out = inputs[0].values()?.select(&places);
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &out)?])
    }

    fn nature(&self) -> Nature {
        Nature::Movement
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::linear(Over::Only(vec![0]), |at, cotangent| {
            let sum = Primitive::Scatter { axes: self.axes.clone(), reduce: ScatterReduce::Sum };
            let zeros = at.inputs[0].filled_like(0.0)?;
            let inputs: Vec<&Value> =
                std::iter::once(&zeros).chain(&at.inputs[1..]).chain([cotangent]).collect();
            let mut back = vec![None; at.inputs.len()];
            back[0] = Some(Value::record(sum, &inputs, Place::Internal)?);
            Ok(back)
        })
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Custom(Box::new(|inputs, size| {
            let (src, indices) = inputs.split_first().ok_or(NO_INPUT)?;
            Ok(vec![gathered(self.axes, self.slice_sizes, src, indices, size)?])
        }))
    }

    fn fixes_shape(&self) -> bool {
        true
    }

    fn cases() -> Vec<Case> {
        use DType::{F32, I8, I16, I32, I64, U8, U16, U32, U64};
        let gather = |axes: &[usize], slice_sizes: &[usize]| Primitive::Gather {
            axes: axes.to_vec(),
            slice_sizes: slice_sizes.to_vec(),
        };
        let bits = || of(F32, &[2, 3], &[0.0, 1.0, 0.0, 1.0, 1.0, 0.0]);
        let moved = vec![
            Case::new(
                gather(&[0], &[1, 3]),
                vec![bits(), t(&[2], &[1i32, -2])],
                vec![of(F32, &[2, 1, 3], &[1.0, 1.0, 0.0, 0.0, 1.0, 0.0])],
            ),
            Case::new(
                gather(&[0], &[1, 3]),
                vec![bits(), t::<i32>(&[0], &[])],
                vec![of(F32, &[0, 1, 3], &[])],
            ),
        ];
        let mut cases = for_dtypes(F32, DType::ALL, moved);
        let src = || t(&[3, 4], &[0i32, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23]);
        for dtype in [I8, I16, I32, I64, U8, U16, U32, U64] {
            // 100 is past the end: the last slice that fits.
            cases.push(Case::new(
                gather(&[1], &[1, 2]),
                vec![src(), of(dtype, &[3], &[1.0, 3.0, 100.0])],
                vec![t(&[3, 1, 2], &[1i32, 2, 2, 3, 2, 3])],
            ));
        }
        cases.extend([
            // One element for each pair of indices.
            Case::new(
                gather(&[0, 1], &[1, 1]),
                vec![src(), t(&[2, 2], &[0i32, 1, 2, -1]), t(&[2, 2], &[3i32, 0, -4, -1])],
                vec![t(&[2, 2, 1, 1], &[3i32, 10, 20, 23])],
            ),
            Case::parity(
                gather(&[0, 2], &[2, 2, 1]),
                vec![
                    of(DType::F64, &[3, 2, 4], &(0..24).map(f64::from).collect::<Vec<_>>()),
                    t(&[2, 3], &[0i32, 1, 2, -3, 0, 1]),
                    t(&[2, 3], &[3i32, 3, -1, 0, 2, 2]),
                ],
            ),
            // Slices longer than one along an indexed axis.
            Case::new(
                gather(&[0, 1], &[2, 2]),
                vec![src(), t(&[2], &[0i64, 2]), t(&[2], &[1i64, -9])],
                vec![t(&[2, 2, 2], &[1i32, 2, 11, 12, 10, 11, 20, 21])],
            ),
            Case::new(gather(&[1], &[3, 1]), vec![src(), t(&[], &[-1i8])], vec![t(&[3, 1], &[3i32, 13, 23])]),
            Case::new(gather(&[], &[1, 2]), vec![src()], vec![t(&[1, 2], &[0i32, 1])]),
            Case::new(gather(&[], &[]), vec![t(&[], &[5u8])], vec![t(&[], &[5u8])]),
            Case::new(
                gather(&[0], &[0, 4]),
                vec![src(), t(&[2], &[0i32, 7])],
                vec![t::<i32>(&[2, 0, 4], &[])],
            ),
            Case::new(
                gather(&[0], &[0]),
                vec![t::<f32>(&[0], &[]), t(&[1], &[0i32])],
                vec![t::<f32>(&[1, 0], &[])],
            ),
            Case::new(
                gather(&[0], &[1, 1]),
                vec![src(), t(&[2], &[u64::MAX, 1 << 63])],
                vec![t(&[2, 1, 1], &[20i32, 20])],
            ),
            Case::refused(
                gather(&[0], &[1, 5]),
                vec![src(), t(&[1], &[0i32])],
                "[1, 5] does not fit in shape [3, 4]",
            ),
            Case::refused(
                gather(&[0], &[1]),
                vec![src(), t(&[1], &[0i32])],
                "[1] does not fit in shape [3, 4]",
            ),
            Case::refused(
                gather(&[0], &[1]),
                vec![of(F32, &[0], &[]), t(&[1], &[0i32])],
                "does not fit in shape [0]",
            ),
            Case::refused(gather(&[0, 1], &[1, 1]), vec![src(), t(&[1], &[0i32])], "one per axis"),
            Case::refused(gather(&[2], &[1, 1]), vec![src(), t(&[1], &[0i32])], "axis 2"),
            Case::refused(
                gather(&[1, 0], &[1, 1]),
                vec![src(), t(&[1], &[0i32]), t(&[1], &[0i32])],
                "out of order",
            ),
            Case::refused(
                gather(&[0, 1], &[1, 1]),
                vec![src(), t(&[1], &[0i32]), t(&[2], &[0i32, 0])],
                "each index array must have shape [1], found [2]",
            ),
            Case::refused(
                gather(&[0, 1], &[1, 1]),
                vec![src(), t(&[1], &[0i32]), t(&[1], &[0u32])],
                "i32 and u32",
            ),
            Case::refused(
                gather(&[0], &[1, 1]),
                vec![src(), t(&[1], &[0f32])],
                "the indices must be integers",
            ),
            Case::refused(gather(&[], &[]), vec![], "one per axis"),
        ]);
        cases
    }
}
