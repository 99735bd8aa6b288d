use oneir_tensor::{DType, HostTensor, Layout, Values};

use super::case::t;
use super::fields::Iota;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, Primitive, one};
use crate::invalid::{axis_within, exactly};
use crate::{Invalid, Spec, Specs};

impl Rules for Iota<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [] = exactly(inputs)?;
        axis_within(*self.axis, self.shape.len())?;
        one(Spec::new(*self.dtype, self.shape.as_slice()))
    }

    fn evaluate(&self, _inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let mut along = Layout::contiguous(self.shape);
        for (axis, stride) in along.strides.iter_mut().enumerate() {
            *stride = isize::from(axis == *self.axis);
        }
        let numbers = Values::Signed(along.offsets().map(|i| i as i64).collect());
        Ok(vec![HostTensor::from_values(*self.dtype, self.shape, &numbers.convert(*self.dtype))?])
    }

    fn nature(&self) -> Nature {
        Nature::Source
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::Zero
    }

    fn batching(&self) -> Batching<'_> {
        // Without inputs there is nothing to depend on a further axis.
        Batching::Same
    }

    fn fixes_shape(&self) -> bool {
        true
    }

    fn cases() -> Vec<Case> {
        let iota = |dtype, shape: &[usize], axis| Primitive::Iota { dtype, shape: shape.to_vec(), axis };
        let mut cases = vec![
            Case::new(iota(DType::I32, &[2, 2], 1), vec![], vec![t(&[2, 2], &[0i32, 1, 0, 1])]),
            Case::new(iota(DType::F32, &[2, 2], 0), vec![], vec![t(&[2, 2], &[0f32, 0.0, 1.0, 1.0])]),
            Case::refused(iota(DType::I32, &[], 0), vec![], "axis 0"),
        ];
        cases.extend(DType::COMPUTE.map(|dtype| Case::parity(iota(dtype, &[5], 0), vec![])));
        cases
    }
}
