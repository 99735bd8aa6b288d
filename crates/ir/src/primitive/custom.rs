use oneir_tensor::HostTensor;

use super::case::t;
use super::fields::Custom;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, CustomCall, CustomRules, Primitive};
use crate::{Invalid, Spec, Specs};

impl Custom<'_> {
    /// The function's results among the inputs.
    fn results<'i, T>(&self, inputs: &'i [T]) -> Result<&'i [T], Invalid> {
        match inputs.get(self.call.primals..) {
            Some(results) if !results.is_empty() => Ok(results),
            _ => Err(Invalid::Arity { expected: "more than the function's own", found: inputs.len() }),
        }
    }
}

impl Rules for Custom<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        Ok(self.results(inputs)?.iter().map(|&result| result.clone()).collect())
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        Ok(self.results(inputs)?.to_vec())
    }

    fn nature(&self) -> Nature {
        Nature::Effect
    }

    fn presents(&self) -> Option<usize> {
        Some(self.call.primals)
    }

    fn derivative(&self) -> Derivative<'_> {
        let call = self.call;
        Derivative::Bodies {
            jvp: Box::new(move |at, tangents| call.jvp(at, tangents)),
            vjp: Box::new(move |at, cotangents| call.vjp(at, cotangents)),
        }
    }

    fn batching(&self) -> Batching<'_> {
        let call = self.call;
        Batching::Bodies(Box::new(move |inputs, size| call.batched(inputs, size)))
    }

    fn cases() -> Vec<Case> {
        let custom = |primals| {
            let rules = CustomRules::None;
            Primitive::Custom(CustomCall { name: "clipped \"exp\"".into(), primals, rules })
        };
        let (x, y, z) = (t(&[2], &[1f32, 2.0]), t(&[1], &[3i32]), t::<f32>(&[0, 2], &[]));
        vec![
            Case::new(custom(1), vec![x.clone(), y.clone(), z.clone()], vec![y.clone(), z]),
            Case::new(custom(0), vec![y.clone()], vec![y.clone()]),
            Case::refused(custom(2), vec![x, y], "more than the function's own inputs, found 2"),
            Case::refused(custom(usize::MAX), vec![], "more than the function's own inputs, found 0"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_move_no_bytes() {
        let (x, y) = (t(&[1], &[1f32]), t(&[2], &[3f32, 4.0]));
        let call = Primitive::Custom(CustomCall { name: "f".into(), primals: 1, rules: CustomRules::None });
        let found = call.evaluate(&[x, y.clone()]).unwrap();
        assert!(found[0].buffer().same_memory(y.buffer()));
    }
}
