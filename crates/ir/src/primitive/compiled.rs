use oneir_tensor::{DType, HostTensor};

use super::case::{of, t};
use super::fields::Compiled;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, Primitive, StepOp};
use crate::graph::{Region, RegionStep, StepArg};
use crate::scalar::{BinaryOp, UnaryOp};
use crate::{Invalid, Spec, Specs};

impl Rules for Compiled<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        self.region.infer(inputs)
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        self.region.evaluate(inputs)
    }

    fn nature(&self) -> Nature {
        Nature::Fused
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::Via(Box::new(|inputs| self.region.record(inputs)))
    }

    fn batching(&self) -> Batching<'_> {
        // Inputs share the results' shape, whatever it is.
        Batching::Same
    }

    fn cases() -> Vec<Case> {
        let region = Region {
            inputs: 2,
            steps: vec![
                RegionStep { op: StepOp::Unary(UnaryOp::Neg), args: vec![StepArg::Input(0)] },
                RegionStep {
                    op: StepOp::Binary(BinaryOp::Multiply),
                    args: vec![StepArg::Step(0), StepArg::Input(1)],
                },
                RegionStep { op: StepOp::AsType(DType::I32), args: vec![StepArg::Step(1)] },
            ],
            outputs: vec![1, 2],
        };
        vec![
            Case::new(
                Primitive::Compiled(region.clone()),
                vec![of(DType::F32, &[2], &[1.5, 2.0]), of(DType::F32, &[2], &[2.0, 3.0])],
                vec![of(DType::F32, &[2], &[-3.0, -6.0]), t(&[2], &[-3i32, -6])],
            ),
            Case::refused(Primitive::Compiled(region), vec![t(&[1], &[1f32])], "as many as the region reads"),
        ]
    }
}
