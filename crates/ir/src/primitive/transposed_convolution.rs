use oneir_tensor::{DType, HostTensor, Shape};

use super::case::{for_dtypes, of, t};
use super::convolution::operands;
use super::convolution_rules::{Windows, any_products, batched, conjugate, every};
use super::fields::TransposedConvolution;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::sliding::{Sliding, Windowed, addressable, per_dimension, reversed, span, steps};
use super::transforms::{Applied, Over};
use super::{Case, Primitive, one};
use crate::invalid::{exactly, shape_is};
use crate::{Invalid, Place, Spec, Specs, Value};

impl TransposedConvolution<'_> {
    /// The windows of x, spread out, that each place of the result sums.
    fn dims(&self, x: &Spec, weight: &Spec) -> Result<Vec<Sliding>, Invalid> {
        let rank = operands(x, weight)?;
        steps("strides", self.strides, rank)?;
        steps("dilations", self.dilations, rank)?;
        per_dimension("low", self.low, rank)?;
        per_dimension("high", self.high, rank)?;
        per_dimension("output_padding", self.output_padding, rank)?;
        if *self.groups == 0 || !x.shape[1].is_multiple_of(*self.groups) {
            return Err(Invalid::Parameter {
                parameter: "groups",
                found: self.groups.to_string(),
                expected: "a divisor of the input's channels",
            });
        }
        shape_is("the weight", weight, &weight.shape.with(0, x.shape[1]))?;
        (0..rank).map(|d| self.dim(d, x.shape[d + 2], weight.shape[d + 2])).collect()
    }

    fn dim(&self, d: usize, size: usize, window: usize) -> Result<Sliding, Invalid> {
        let spread = if size > 1 { self.strides[d] } else { 1 };
        let dilation = if window > 1 { self.dilations[d] } else { 1 };
        let reach = span("dilations", window, dilation)?;
        // Each of x's items reaches over a kernel's span.
        let full = match size.min(window) {
            0 => 0,
            _ => {
                let inner = span("strides", size, spread)?;
                addressable("strides", spread, inner.checked_add(reach - 1))?
            }
        };
        let extra = self.output_padding[d];
        let all = addressable("output_padding", extra, full.checked_add(extra))?;
        let cut = self.low[d].checked_add(self.high[d]);
        let count = match cut.and_then(|cut| all.checked_sub(cut)) {
            Some(count) => count,
            None if full == 0 => 0,
            None => {
                return Err(Invalid::Parameter {
                    parameter: "low, high",
                    found: format!("{:?}, {:?}", self.low, self.high),
                    expected: "no more than the result has places to cut off",
                });
            }
        };
        let cut = addressable("low", self.low[d], Some(self.low[d]))?;
        let low = reach.saturating_sub(1) as isize - cut as isize;
        Ok(Sliding { size, spread, low, window, dilation, stride: 1, count })
    }
}

impl TransposedConvolution<'_> {
    /// What one operand gets of the result's cotangent.
    fn transposed(&self, at: &Applied<'_>, cotangent: &Value, k: usize) -> Result<Value, Invalid> {
        let (x, weight) = (&at.inputs[0], &at.inputs[1]);
        if !any_products(&[x, weight, cotangent]) {
            return at.inputs[k].filled_like(0.0);
        }
        let ones = vec![1; self.strides.len()];
        if k == 1 {
            let windows = Windows {
                strides: self.strides,
                low: self.low,
                high: self.high,
                dilations: self.dilations,
                input_dilations: &ones,
                groups: *self.groups,
            };
            return windows.by_weight(cotangent, &conjugate(x)?, &weight.spec().shape[2..]);
        }
        let gathered = Primitive::Convolution {
            strides: self.strides.to_vec(),
            low: self.low.to_vec(),
            high: self.high.to_vec(),
            dilations: self.dilations.to_vec(),
            input_dilations: ones.clone(),
            groups: *self.groups,
            flip: false,
        };
        let gathered = Value::record(gathered, &[cotangent, &conjugate(weight)?], Place::Internal)?;
        every(&gathered, &ones, &x.spec().shape[2..])
    }
}

impl Rules for TransposedConvolution<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x, weight] = exactly(inputs)?;
        let dims = self.dims(x, weight)?;
        let channels = weight.shape[1].checked_mul(*self.groups).ok_or(Invalid::Parameter {
            parameter: "groups",
            found: self.groups.to_string(),
            expected: "channels that can be counted",
        })?;
        let sizes = [x.shape[0], channels].into_iter().chain(dims.iter().map(|d| d.count));
        one(x.with_shape(sizes.collect::<Shape>()))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [x, weight] = inputs else {
            return Err(Invalid::Arity { expected: "2", found: inputs.len() }.into());
        };
        let (xs, ws) = (Spec::of(x), Spec::of(weight));
        let spec = self.infer(&[&xs, &ws])?.remove(0);
        spec.shape.checked_count(spec.dtype)?;
        let (channels, outputs) = (ws.shape[0] / self.groups, ws.shape[1]);
        let windowed = Windowed {
            dims: &self.dims(&xs, &ws)?,
            batch: xs.shape[0],
            groups: *self.groups,
            channels,
            outputs,
        };
        // As convolution's weight: a group's outputs, then its channels.
        let mut split = vec![*self.groups, channels];
        split.extend_from_slice(&ws.shape[1..]);
        let mut order: Vec<usize> = (0..split.len()).collect();
        order.swap(1, 2);
        let kernels = reversed(&weight.reshape(&split)?.transpose(&order)?, 3)?;
        let sums = windowed.evaluate(x, &kernels)?;
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &sums)?])
    }

    fn nature(&self) -> Nature {
        Nature::Contraction
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::Multilinear {
            over: Over::All,
            transpose: Box::new(|at, cotangent, k| self.transposed(at, cotangent, k)),
        }
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Custom(Box::new(|inputs, size| {
            batched(inputs, size, *self.groups, true, |x, weight, groups| {
                let spread = Primitive::TransposedConvolution {
                    strides: self.strides.to_vec(),
                    low: self.low.to_vec(),
                    high: self.high.to_vec(),
                    dilations: self.dilations.to_vec(),
                    output_padding: self.output_padding.to_vec(),
                    groups,
                };
                Value::record(spread, &[x, weight], Place::Internal)
            })
        }))
    }

    fn cases() -> Vec<Case> {
        use DType::{BF16, Complex64, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let line = |stride, low, high, output_padding, groups| Primitive::TransposedConvolution {
            strides: vec![stride],
            low: vec![low],
            high: vec![high],
            dilations: vec![1],
            output_padding: vec![output_padding],
            groups,
        };
        let square = || Primitive::TransposedConvolution {
            strides: vec![2, 1],
            low: vec![0, 1],
            high: vec![1, 0],
            dilations: vec![1, 2],
            output_padding: vec![1, 0],
            groups: 1,
        };
        // 0, 1, 2, 3, 0, 1, …
        let counted = |shape: &[usize]| {
            let numbers: Vec<f64> = (0..shape.iter().product()).map(|i: usize| (i % 4) as f64).collect();
            of(F32, shape, &numbers)
        };
        let known = vec![
            Case::new(
                line(2, 0, 0, 0, 1),
                vec![counted(&[1, 1, 3]), of(F32, &[1, 1, 3], &[1.0, 2.0, 3.0])],
                vec![of(F32, &[1, 1, 7], &[0.0, 0.0, 1.0, 2.0, 5.0, 4.0, 6.0])],
            ),
            Case::new(
                square(),
                vec![counted(&[1, 2, 2, 2]), counted(&[2, 1, 2, 2])],
                vec![of(
                    F32,
                    &[1, 1, 4, 3],
                    &[0.0, 0.0, 2.0, 4.0, 0.0, 6.0, 0.0, 4.0, 6.0, 12.0, 12.0, 18.0],
                )],
            ),
            Case::new(
                line(3, 0, 0, 0, 2),
                vec![of(F32, &[1, 2, 2], &[1.0, 2.0, 3.0, 4.0]), counted(&[2, 2, 2])],
                vec![of(
                    F32,
                    &[1, 4, 5],
                    &[
                        0.0, 1.0, 0.0, 0.0, 2.0, 2.0, 3.0, 0.0, 4.0, 6.0, 0.0, 3.0, 0.0, 0.0, 4.0, 6.0, 9.0,
                        0.0, 8.0, 12.0,
                    ],
                )],
            ),
            // More is cut off than the kernel reaches, and more added than a stride.
            Case::new(
                line(2, 3, 0, 2, 1),
                vec![of(F32, &[1, 1, 2], &[1.0, 2.0]), of(F32, &[1, 1, 2], &[1.0, 2.0])],
                vec![of(F32, &[1, 1, 3], &[4.0, 0.0, 0.0])],
            ),
            Case::new(
                line(2, 0, 0, 0, 1),
                vec![counted(&[1, 0, 2]), counted(&[0, 1, 2])],
                vec![of(F32, &[1, 1, 4], &[0.0; 4])],
            ),
            Case::new(
                line(2, 0, 0, 0, 1),
                vec![counted(&[0, 1, 2]), counted(&[1, 1, 2])],
                vec![counted(&[0, 1, 4])],
            ),
            Case::new(
                line(2, 1, 0, 0, 1),
                vec![counted(&[1, 1, 0]), counted(&[1, 1, 2])],
                vec![counted(&[1, 1, 0])],
            ),
        ];
        let mut cases =
            for_dtypes(F32, &[BF16, Complex64, F16, F64, I8, I16, I32, I64, U8, U16, U32, U64], known);
        cases.extend([
            Case::refused(
                line(1, 1, 2, 0, 1),
                vec![counted(&[1, 1, 1]), counted(&[1, 1, 2])],
                "low, high = [1], [2] is not valid",
            ),
            Case::refused(line(1, 0, 0, 0, 2), vec![counted(&[1, 1, 1]), counted(&[1, 1, 2])], "a divisor"),
            Case::refused(
                line(1, 0, 0, 0, 1),
                vec![counted(&[1, 2, 1]), counted(&[1, 1, 2])],
                "the weight must have shape [2, 1, 2], found [1, 1, 2]",
            ),
            Case::refused(line(0, 0, 0, 0, 1), vec![counted(&[1, 1, 1]), counted(&[1, 1, 1])], "at least 1"),
            Case::refused(square(), vec![counted(&[1, 1, 1]), counted(&[1, 1, 1])], "one value for each"),
            Case::refused(
                line(1, 0, 0, usize::MAX, 1),
                vec![counted(&[1, 1, 1]), counted(&[1, 1, 1])],
                "output_padding = 18446744073709551615",
            ),
            Case::refused(
                line(1, 0, 0, 0, 1),
                vec![t(&[1, 1, 1], &[true]), t(&[1, 1, 1], &[true])],
                "integer, float or complex",
            ),
        ]);
        let ramp = |shape: &[usize]| {
            let numbers = (0..shape.iter().product()).map(|i: usize| ((i * 7) % 13) as f64 / 8.0 - 0.75);
            of(F32, shape, &numbers.collect::<Vec<_>>())
        };
        let upsampled = Primitive::TransposedConvolution {
            strides: vec![2, 2],
            low: vec![1, 1],
            high: vec![1, 1],
            dilations: vec![1, 1],
            output_padding: vec![1, 0],
            groups: 3,
        };
        let shapes = vec![
            Case::parity(line(2, 1, 0, 5, 2), vec![ramp(&[2, 4, 3]), ramp(&[4, 3, 2])]),
            Case::parity(upsampled, vec![ramp(&[2, 6, 5, 7]), ramp(&[6, 4, 3, 3])]),
            Case::parity(line(4, 2, 2, 0, 1), vec![ramp(&[1, 5, 30]), ramp(&[5, 2, 8])]),
        ];
        cases.extend(for_dtypes(F32, &[F16, BF16], shapes));
        cases
    }
}
