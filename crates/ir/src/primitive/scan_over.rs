use oneir_tensor::{DType, HostTensor, Shape};

use super::case::{of, t};
use super::fields::ScanOver;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, Primitive};
use crate::graph::Body;
use crate::transform::control::Scanning;
use crate::{Invalid, Spec, Specs};

impl ScanOver<'_> {
    fn scanning(&self) -> Scanning<'_> {
        Scanning { body: self.body, carried: *self.carried, scanned: *self.scanned, reverse: *self.reverse }
    }

    /// How many items the scanned inputs have.
    fn items(&self, inputs: &[&Spec]) -> Result<usize, Invalid> {
        let scanned = inputs.get(*self.carried..*self.carried + *self.scanned).unwrap_or_default();
        let [first, rest @ ..] = scanned else {
            return Err(Invalid::Arity {
                expected: "at least `carried + scanned`, one of them scanned",
                found: inputs.len(),
            });
        };
        for x in scanned {
            if x.rank() == 0 {
                return Err(Invalid::Rank {
                    operand: "a scanned input",
                    expected: "at least 1",
                    found: vec![],
                });
            }
        }
        match rest.iter().find(|x| x.shape[0] != first.shape[0]) {
            Some(x) => Err(Invalid::Shape {
                operand: "each scanned input",
                expected: x.shape.with(0, first.shape[0]).to_vec(),
                found: x.shape.to_vec(),
            }),
            None => Ok(first.shape[0]),
        }
    }
}

impl Rules for ScanOver<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let items = self.items(inputs)?;
        let mut given: Vec<Spec> = inputs.iter().map(|s| (*s).clone()).collect();
        for x in &mut given[*self.carried..*self.carried + *self.scanned] {
            x.shape.remove(0);
        }
        let mut results = self.body.check("body", &given.iter().collect::<Vec<_>>())?;
        if results.len() < *self.carried || results[..*self.carried] != given[..*self.carried] {
            return Err(Invalid::Body {
                body: "body",
                expected: format!("results that begin {}", Body::list(&given[..*self.carried])),
                found: Body::list(&results),
            });
        }
        for stacked in &mut results[*self.carried..] {
            stacked.shape.insert(0, items);
        }
        Ok(results)
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let specs: Vec<Spec> = inputs.iter().map(|x| Spec::new(x.dtype(), x.shape().clone())).collect();
        let refs: Vec<&Spec> = specs.iter().collect();
        let (items, results) = (self.items(&refs)?, self.infer(&refs)?);
        let mut values = inputs.to_vec();
        let mut stacks: Vec<Vec<Vec<u8>>> = vec![Vec::new(); results.len() - *self.carried];
        for i in 0..items {
            let item = if *self.reverse { items - 1 - i } else { i };
            for k in *self.carried..*self.carried + *self.scanned {
                let x = &inputs[k];
                let mut start = vec![0; x.rank()];
                start[0] = item;
                let one = x.slice(&start, &vec![1; x.rank()], &x.shape().with(0, 1))?;
                let rest: Shape = x.shape()[1..].into();
                values[k] = one.reshape(&rest)?;
            }
            let mut next = self.body.evaluate(&values)?;
            for (stack, item) in stacks.iter_mut().zip(next.drain(*self.carried..)) {
                stack.push(item.bytes().into_owned());
            }
            values.splice(..*self.carried, next);
        }
        values.truncate(*self.carried);
        for (spec, mut stack) in results[*self.carried..].iter().zip(stacks) {
            if *self.reverse {
                stack.reverse();
            }
            values.push(HostTensor::from_bytes(spec.dtype, &spec.shape, &stack.concat())?);
        }
        Ok(values)
    }

    fn nature(&self) -> Nature {
        Nature::Control
    }

    fn derivative(&self) -> Derivative<'_> {
        let scanning = self.scanning();
        Derivative::Bodies {
            jvp: Box::new(move |at, tangents| scanning.jvp(at, tangents)),
            vjp: Box::new(move |at, cotangents| scanning.vjp(at, cotangents)),
        }
    }

    fn batching(&self) -> Batching<'_> {
        let scanning = self.scanning();
        Batching::Bodies(Box::new(move |inputs, size| scanning.batched(inputs, size)))
    }

    fn fixes_shape(&self) -> bool {
        // Bodies are graphs of these shapes.
        true
    }

    fn cases() -> Vec<Case> {
        let specs = [Spec::new(DType::F32, []), Spec::new(DType::F32, [])];
        let running = |reverse| Primitive::ScanOver {
            body: Body::build(&specs, |x| {
                let sum = x[0].add(&x[1])?;
                Ok(vec![sum.clone(), sum])
            }),
            carried: 1,
            scanned: 1,
            reverse,
        };
        let x = || vec![t(&[], &[1f32]), t(&[3], &[1f32, 2.0, 3.0])];
        // A carried vector and a count, two scanned inputs, and captures.
        let specs = |float| {
            [
                Spec::new(float, [2]),
                Spec::new(DType::I32, []),
                Spec::new(float, [2]),
                Spec::new(DType::I32, [2]),
                Spec::new(float, [2]),
                Spec::new(float, [2]),
            ]
        };
        let several = |float, reverse| Primitive::ScanOver {
            body: Body::build(&specs(float), |x| {
                let next = x[0].multiply(&x[4])?.add(&x[2].multiply(&x[5])?)?;
                let count = x[1].add(&x[1].filled_like(1.0)?)?;
                let seen = next.multiply(&x[3].as_type(float)?)?.multiply(&x[0])?;
                Ok(vec![next, count.clone(), seen, count])
            }),
            carried: 2,
            scanned: 2,
            reverse,
        };
        let many = |float| {
            vec![
                of(float, &[2], &[0.5, -1.0]),
                t(&[], &[3i32]),
                of(float, &[3, 2], &[1.0, -0.5, 0.25, 2.0, 1.5, -1.0]),
                t(&[3, 2], &[1i32, 2, 3, 4, 5, 6]),
                of(float, &[2], &[0.75, 1.25]),
                of(float, &[2], &[2.0, -0.5]),
            ]
        };
        vec![
            Case::parity(several(DType::F32, false), many(DType::F32)),
            Case::parity(several(DType::F32, true), many(DType::F32)),
            Case::parity(several(DType::F64, false), many(DType::F64)),
            Case::parity(several(DType::F64, true), many(DType::F64)),
            Case::new(running(false), x(), vec![t(&[], &[7f32]), t(&[3], &[2f32, 4.0, 7.0])]),
            Case::new(running(true), x(), vec![t(&[], &[7f32]), t(&[3], &[7f32, 6.0, 4.0])]),
            Case::new(
                running(false),
                vec![t(&[], &[1f32]), t::<f32>(&[0], &[])],
                vec![t(&[], &[1f32]), t::<f32>(&[0], &[])],
            ),
            Case::refused(running(false), vec![t(&[], &[1f32])], "carried + scanned"),
        ]
    }
}
