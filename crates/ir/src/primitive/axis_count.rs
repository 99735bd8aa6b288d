use oneir_tensor::{DType, HostTensor, Values};

use super::case::t;
use super::fields::AxisCount;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::transforms::further;
use super::{Case, Primitive, one};
use crate::invalid::{axes_within, exactly};
use crate::{Invalid, Spec, Specs};

impl Rules for AxisCount<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        axes_within(self.axes, x.rank())?;
        if !self.dtype.computes() {
            return Err(Invalid::Undefined { op: "axis_count", dtype: *self.dtype });
        }
        one(Spec::new(*self.dtype, []))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        self.results(inputs)?;
        let count: usize = self.axes.iter().map(|&axis| inputs[0].shape()[axis]).product();
        let count = Values::Unsigned(vec![count as u64]).convert(*self.dtype);
        Ok(vec![HostTensor::from_values(*self.dtype, &[], &count)?])
    }

    fn nature(&self) -> Nature {
        Nature::Opaque
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::Zero
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Custom(Box::new(|inputs, _| {
            // The same for all of the batch.
            let axes = if inputs[0].axis.is_some() { further(self.axes) } else { self.axes.clone() };
            let count = Primitive::AxisCount { axes, dtype: *self.dtype };
            let value = crate::Value::record(count, &[&inputs[0].value], crate::Place::Internal)?;
            Ok(vec![super::Batched { value, axis: None }])
        }))
    }

    fn cases() -> Vec<Case> {
        let count = |axes: &[usize], dtype| Primitive::AxisCount { axes: axes.to_vec(), dtype };
        let x = || t(&[2, 3], &[0f32; 6]);
        let mut cases = vec![
            Case::new(count(&[0], DType::F32), vec![x()], vec![t(&[], &[2f32])]),
            Case::new(count(&[0, 1], DType::I32), vec![x()], vec![t(&[], &[6i32])]),
            Case::new(count(&[], DType::U8), vec![x()], vec![t(&[], &[1u8])]),
            Case::new(count(&[1], DType::F64), vec![t::<f32>(&[2, 0], &[])], vec![t(&[], &[0f64])]),
            Case::refused(count(&[2], DType::F32), vec![x()], "axis 2"),
            Case::refused(count(&[0], DType::F8E4M3FN), vec![x()], "not defined"),
        ];
        cases.extend(DType::COMPUTE.map(|dtype| Case::parity(count(&[1], dtype), vec![x()])));
        cases
    }
}
