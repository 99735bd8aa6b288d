use oneir_tensor::{DType, HostTensor};

use super::case::t;
use super::fields::If;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, Primitive};
use crate::graph::Body;
use crate::invalid::{dtype_is, shape_is};
use crate::transform::control;
use crate::{Invalid, Spec, Specs};

impl Rules for If<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [condition, captures @ ..] = inputs else {
            return Err(Invalid::Arity { expected: "at least 1", found: 0 });
        };
        dtype_is("the condition", condition, "bool", |d| d == DType::Bool)?;
        shape_is("the condition", condition, &[])?;
        let results = self.then.check("then", captures)?;
        let others = self.otherwise.check("else", captures)?;
        if results != others {
            return Err(Invalid::Body {
                body: "else",
                expected: format!("results {}", Body::list(&results)),
                found: Body::list(&others),
            });
        }
        Ok(results)
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [condition, captures @ ..] = inputs else {
            return Err(Invalid::Arity { expected: "at least 1", found: 0 }.into());
        };
        let body = if condition.to_vec::<bool>()?[0] { self.then } else { self.otherwise };
        body.evaluate(captures)
    }

    fn nature(&self) -> Nature {
        Nature::Control
    }

    fn derivative(&self) -> Derivative<'_> {
        let bodies = [self.then, self.otherwise];
        Derivative::Bodies {
            jvp: Box::new(move |at, tangents| control::if_jvp(bodies, at, tangents)),
            vjp: Box::new(move |at, cotangents| control::if_vjp(bodies, at, cotangents)),
        }
    }

    fn batching(&self) -> Batching<'_> {
        let bodies = [self.then, self.otherwise];
        Batching::Bodies(Box::new(move |inputs, size| control::if_batched(bodies, inputs, size)))
    }

    fn fixes_shape(&self) -> bool {
        // Bodies are graphs of these shapes.
        true
    }

    fn cases() -> Vec<Case> {
        let spec = Spec::new(DType::F32, [2]);
        let choose = Primitive::If {
            then: Body::build(std::slice::from_ref(&spec), |x| Ok(vec![x[0].add(&x[0])?])),
            otherwise: Body::build(std::slice::from_ref(&spec), |x| Ok(vec![x[0].multiply(&x[0])?])),
        };
        let x = || t(&[2], &[3f32, 4.0]);
        // Results and captures of which some are integers.
        let specs = [Spec::new(DType::F64, [2]), Spec::new(DType::I32, [2]), Spec::new(DType::F64, [])];
        let mixed = Primitive::If {
            then: Body::build(&specs, |x| {
                let all = x[0].multiply(&x[1].as_type(DType::F64)?)?;
                Ok(vec![x[1].clone(), all.multiply(&x[2].broadcast(&[2])?)?])
            }),
            otherwise: Body::build(&specs, |x| {
                let one = x[1].filled_like(1.0)?;
                Ok(vec![x[1].add(&one)?, x[0].multiply(&x[0])?])
            }),
        };
        let many =
            |holds| vec![t(&[], &[holds]), t(&[2], &[0.5f64, -2.0]), t(&[2], &[3i32, 4]), t(&[], &[1.5f64])];
        vec![
            Case::parity(mixed.clone(), many(true)),
            Case::parity(mixed, many(false)),
            Case::new(choose.clone(), vec![t(&[], &[true]), x()], vec![t(&[2], &[6f32, 8.0])]),
            Case::new(choose.clone(), vec![t(&[], &[false]), x()], vec![t(&[2], &[9f32, 16.0])]),
            Case::refused(choose.clone(), vec![t(&[], &[1u8]), x()], "the condition must be bool"),
            Case::refused(choose, vec![t(&[], &[true])], "the then graph expects"),
        ]
    }
}
