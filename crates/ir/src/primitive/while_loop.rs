use oneir_tensor::{DType, HostTensor};

use super::case::t;
use super::fields::While;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Asked, Case, Primitive, ReduceOp};
use crate::graph::Body;
use crate::scalar::BinaryOp;
use crate::transform::control;
use crate::{Invalid, Spec, Specs};

impl Rules for While<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        if inputs.len() < *self.carried {
            return Err(Invalid::Arity { expected: "at least `carried`", found: inputs.len() });
        }
        let condition = self.condition.check("condition", inputs)?;
        if condition[..] != [Spec::new(DType::Bool, [])] {
            return Err(Invalid::Body {
                body: "condition",
                expected: "one result bool[]".into(),
                found: Body::list(&condition),
            });
        }
        let results = self.body.check("body", inputs)?;
        let carried: Specs = inputs[..*self.carried].iter().map(|s| (*s).clone()).collect();
        if results != carried {
            return Err(Invalid::Body {
                body: "body",
                expected: format!("results {}", Body::list(&carried)),
                found: Body::list(&results),
            });
        }
        Ok(carried)
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let mut values = inputs.to_vec();
        while self.condition.evaluate(&values)?[0].to_vec::<bool>()?[0] {
            let next = self.body.evaluate(&values)?;
            values.splice(..*self.carried, next);
        }
        values.truncate(*self.carried);
        Ok(values)
    }

    fn nature(&self) -> Nature {
        Nature::Control
    }

    fn derivative(&self) -> Derivative<'_> {
        let parts = (self.condition, self.body, *self.carried);
        Derivative::Chosen(Box::new(move |_, asked| match asked {
            Asked::Tangents => Derivative::Bodies {
                jvp: Box::new(move |at, tangents| control::while_jvp(parts, at, tangents)),
                vjp: Box::new(|at, _| Ok(vec![None; at.inputs.len()])),
            },
            Asked::Cotangents(_) => Derivative::Undefined(
                "in reverse, it needs the values of every step, and how many there are only a run knows; \
                `scan` counts its steps",
            ),
        }))
    }

    fn batching(&self) -> Batching<'_> {
        let parts = (self.condition, self.body, *self.carried);
        Batching::Bodies(Box::new(move |inputs, size| control::while_batched(parts, inputs, size)))
    }

    fn fixes_shape(&self) -> bool {
        // Bodies are graphs of these shapes.
        true
    }

    fn cases() -> Vec<Case> {
        let specs = [Spec::new(DType::I32, []), Spec::new(DType::I32, [])];
        let count = Primitive::While {
            condition: Body::build(&specs, |x| Ok(vec![x[0].binary(BinaryOp::Less, &x[1])?])),
            body: Body::build(&specs, |x| Ok(vec![x[0].add(&x[0])?])),
            carried: 1,
        };
        // A vector carried beside a count, and a factor captured.
        let specs = [
            Spec::new(DType::I32, []),
            Spec::new(DType::F32, [2]),
            Spec::new(DType::I32, []),
            Spec::new(DType::F32, [2]),
        ];
        let grow = Primitive::While {
            condition: Body::build(&specs, |x| Ok(vec![x[0].binary(BinaryOp::Less, &x[2])?])),
            body: Body::build(&specs, |x| {
                let count = x[0].add(&x[0].filled_like(1.0)?)?;
                Ok(vec![count, x[1].multiply(&x[3])?.add(&x[1])?])
            }),
            carried: 2,
        };
        // It ends when a sum of squares is large enough.
        let specs = [Spec::new(DType::F32, [2]), Spec::new(DType::F32, [])];
        let double = Primitive::While {
            condition: Body::build(&specs, |x| {
                let sum = x[0].multiply(&x[0])?.reduce(ReduceOp::Sum, &[0])?.reshape(&[])?;
                Ok(vec![sum.binary(BinaryOp::Less, &x[1])?])
            }),
            body: Body::build(&specs, |x| Ok(vec![x[0].add(&x[0])?])),
            carried: 1,
        };
        let specs = [Spec::new(DType::F64, [2]), Spec::new(DType::F64, [])];
        let halve = Primitive::While {
            condition: Body::build(&specs, |x| {
                let sum = x[0].reduce(ReduceOp::Sum, &[0])?.reshape(&[])?;
                Ok(vec![x[1].binary(BinaryOp::Less, &sum)?])
            }),
            body: Body::build(&specs, |x| {
                let less = x[0].multiply(&x[0].filled_like(0.25)?)?;
                Ok(vec![less.multiply(&x[1].broadcast(&[2])?)?])
            }),
            carried: 1,
        };
        let counted = |from: i32| {
            vec![t(&[], &[from]), t(&[2], &[0.5f32, 3.0]), t(&[], &[4i32]), t(&[2], &[0.5f32, -0.25])]
        };
        vec![
            Case::parity(grow.clone(), counted(0)),
            Case::parity(grow, counted(4)),
            Case::parity(halve, vec![t(&[2], &[5f64, 3.0]), t(&[], &[1f64])]),
            Case::parity(double.clone(), vec![t(&[2], &[0.5f32, 1.0]), t(&[], &[30f32])]),
            Case::parity(double, vec![t(&[2], &[5f32, 1.0]), t(&[], &[10f32])]),
            Case::new(count.clone(), vec![t(&[], &[3i32]), t(&[], &[40i32])], vec![t(&[], &[48i32])]),
            Case::new(count.clone(), vec![t(&[], &[50i32]), t(&[], &[40i32])], vec![t(&[], &[50i32])]),
            Case::refused(count, vec![t(&[], &[3f32]), t(&[], &[40i32])], "the condition graph expects"),
        ]
    }
}
