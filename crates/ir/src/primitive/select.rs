use oneir_tensor::{DType, HostTensor};

use super::case::{for_dtypes, of, t};
use super::fields::Select;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules, StepOp};
use super::transforms::Over;
use super::{Case, Primitive, one};
use crate::invalid::{dtype_is, exactly, same_dtype, shape_is};
use crate::{Invalid, Spec, Specs};

impl Rules for Select<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [condition, a, b] = exactly(inputs)?;
        dtype_is("the condition", condition, "bool", |d| d == DType::Bool)?;
        same_dtype(a, b)?;
        shape_is("the condition", condition, &a.shape)?;
        shape_is("the second choice", b, &a.shape)?;
        one(a.clone())
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [condition, a, b] = inputs else {
            return Err(Invalid::Arity { expected: "3", found: inputs.len() }.into());
        };
        let choose = condition.to_vec::<bool>()?;
        let (mut out, other) = (a.values()?, b.values()?);
        for (i, _) in choose.iter().enumerate().filter(|(_, c)| !**c) {
            out.set(i, &other, i);
        }
        Ok(vec![HostTensor::from_values(a.dtype(), a.shape(), &out)?])
    }

    fn nature(&self) -> Nature {
        Nature::ElementWise
    }

    fn step(&self) -> Option<StepOp> {
        Some(StepOp::Select)
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::linear(Over::Only(vec![1, 2]), |at, cotangent| {
            let zero = cotangent.filled_like(0.0)?;
            let condition = &at.inputs[0];
            let (a, b) = (condition.select(cotangent, &zero)?, condition.select(&zero, cotangent)?);
            Ok(vec![None, Some(a), Some(b)])
        })
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Same
    }

    fn cases() -> Vec<Case> {
        let known = vec![Case::new(
            Primitive::Select,
            vec![
                t(&[3], &[true, false, true]),
                of(DType::F32, &[3], &[1.0, 0.0, 1.0]),
                of(DType::F32, &[3], &[0.0, 1.0, 0.0]),
            ],
            vec![of(DType::F32, &[3], &[1.0, 1.0, 1.0])],
        )];
        let mut cases: Vec<Case> = for_dtypes(DType::F32, &DType::COMPUTE[1..], known);
        cases.push(Case::new(
            Primitive::Select,
            vec![t(&[2], &[true, false]), t(&[2], &[true, true]), t(&[2], &[false, false])],
            vec![t(&[2], &[true, false])],
        ));
        cases.push(Case::refused(
            Primitive::Select,
            vec![t(&[1], &[1u8]), t(&[1], &[1f32]), t(&[1], &[1f32])],
            "the condition must be bool, found u8",
        ));
        cases
    }
}
