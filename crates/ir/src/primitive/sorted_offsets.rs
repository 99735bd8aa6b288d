use oneir_tensor::{DType, HostTensor, Values};

use super::case::t;
use super::fields::SortedOffsets;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules, zeros};
use super::{Case, Primitive, one};
use crate::invalid::{dtype_is, exactly};
use crate::{Invalid, Spec, Specs};

impl Rules for SortedOffsets<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        dtype_is("the input", x, "u32", |d| d == DType::U32)?;
        if x.rank() == 0 {
            return Err(Invalid::Rank { operand: "the input", expected: "at least 1", found: vec![] });
        }
        if i32::try_from(x.shape.cols()).is_err() {
            return Err(Invalid::Parameter {
                parameter: "the row length",
                found: x.shape.cols().to_string(),
                expected: "below 2^31",
            });
        }
        one(Spec::new(DType::I32, x.shape.with(x.rank() - 1, *self.groups)))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let spec = self.results(inputs)?.remove(0);
        let (all, len) = (inputs[0].to_vec::<u32>()?, inputs[0].shape().cols());
        let mut out = zeros(spec.count())?;
        for (i, row_out) in out.chunks_mut((*self.groups).max(1)).enumerate() {
            let row = &all[i * len..][..len];
            for (group, offset) in row_out.iter_mut().enumerate() {
                let below = row.iter().position(|&number| number as usize >= group);
                *offset = below.unwrap_or(len) as i64;
            }
        }
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &Values::Signed(out))?])
    }

    fn nature(&self) -> Nature {
        Nature::Opaque
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::Zero
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Same
    }

    fn fixes_shape(&self) -> bool {
        true
    }

    fn cases() -> Vec<Case> {
        let offsets = |groups| Primitive::SortedOffsets { groups };
        vec![
            Case::new(offsets(4), vec![t(&[5], &[0u32, 0, 2, 2, 3])], vec![t(&[4], &[0i32, 2, 2, 4])]),
            Case::new(
                offsets(3),
                vec![t(&[2, 2], &[1u32, 1, 0, 7])],
                vec![t(&[2, 3], &[0i32, 0, 2, 0, 1, 1])],
            ),
            Case::new(offsets(2), vec![t::<u32>(&[2, 0], &[])], vec![t(&[2, 2], &[0i32; 4])]),
            Case::new(offsets(0), vec![t(&[2], &[0u32, 1])], vec![t::<i32>(&[0], &[])]),
            Case::new(offsets(2), vec![t::<u32>(&[0, 3], &[])], vec![t::<i32>(&[0, 2], &[])]),
            Case::refused(offsets(2), vec![t(&[1], &[0i32])], "must be u32"),
            Case::refused(offsets(2), vec![t(&[], &[0u32])], "at least 1 dimensions"),
        ]
    }
}
