use oneir_tensor::{DType, HostTensor};

use super::case::t;
use super::fields::While;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, Primitive};
use crate::graph::Body;
use crate::scalar::BinaryOp;
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

    fn derivative(&self) -> Option<Derivative<'_>> {
        None
    }

    fn batching(&self) -> Option<Batching<'_>> {
        None
    }

    fn cases() -> Vec<Case> {
        let specs = [Spec::new(DType::I32, []), Spec::new(DType::I32, [])];
        let count = Primitive::While {
            condition: Body::build(&specs, |x| Ok(vec![x[0].binary(BinaryOp::Less, &x[1])?])),
            body: Body::build(&specs, |x| Ok(vec![x[0].add(&x[0])?])),
            carried: 1,
        };
        vec![
            Case::new(count.clone(), vec![t(&[], &[3i32]), t(&[], &[40i32])], vec![t(&[], &[48i32])]),
            Case::new(count.clone(), vec![t(&[], &[50i32]), t(&[], &[40i32])], vec![t(&[], &[50i32])]),
            Case::refused(count, vec![t(&[], &[3f32]), t(&[], &[40i32])], "the condition graph expects"),
        ]
    }
}
