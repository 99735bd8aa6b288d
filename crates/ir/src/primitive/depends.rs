use oneir_tensor::HostTensor;

use super::case::t;
use super::fields::Depends;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::transforms::{Batched, Over};
use super::{Case, Primitive, one};
use crate::{Invalid, Place, Spec, Specs, Value};

impl Rules for Depends<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        match inputs {
            [x, deps @ ..] if deps.len() == *self.n_deps => one((*x).clone()),
            _ => Err(Invalid::Arity { expected: "1 + n_deps", found: inputs.len() }),
        }
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let x = inputs.first().ok_or(Invalid::Arity { expected: "1 + n_deps", found: 0 })?;
        Ok(vec![x.clone()])
    }

    fn nature(&self) -> Nature {
        Nature::Effect
    }

    fn presents(&self) -> Option<usize> {
        Some(0)
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::linear(Over::Only(vec![0]), |at, cotangent| {
            let mut slots = vec![None; at.inputs.len()];
            slots[0] = Some(cotangent.clone());
            Ok(slots)
        })
    }

    fn batching(&self) -> Batching<'_> {
        // What it waits for is read by nothing: it may be a batch or not.
        Batching::Custom(Box::new(|inputs, _| {
            let values: Vec<&Value> = inputs.iter().map(|input| &input.value).collect();
            let depends = Primitive::Depends { n_deps: *self.n_deps };
            let value = Value::record(depends, &values, Place::Internal)?;
            Ok(vec![Batched { value, axis: inputs[0].axis }])
        }))
    }

    fn cases() -> Vec<Case> {
        vec![
            Case::new(
                Primitive::Depends { n_deps: 1 },
                vec![t(&[1], &[3f32]), t(&[2], &[1u8, 2])],
                vec![t(&[1], &[3f32])],
            ),
            Case::refused(
                Primitive::Depends { n_deps: 2 },
                vec![t(&[1], &[3f32])],
                "1 + n_deps inputs, found 1",
            ),
        ]
    }
}
