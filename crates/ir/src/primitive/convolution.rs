use oneir_tensor::{DType, HostTensor, Shape};

use super::case::{for_dtypes, of, t};
use super::convolution_rules::{Windows, any_products, backwards, batched, conjugate, every};
use super::fields::Convolution;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::sliding::{Sliding, Windowed, per_dimension, reversed, steps};
use super::transforms::{Applied, Over};
use super::{Case, Primitive, one};
use crate::invalid::{dtype_is, exactly, same_dtype, shape_is};
use crate::{Invalid, Place, Spec, Specs, Value};

/// Refuses what no convolution takes, and gives the number of spatial dimensions.
pub(super) fn operands(x: &Spec, weight: &Spec) -> Result<usize, Invalid> {
    same_dtype(x, weight)?;
    dtype_is("the operands", x, "integer, float or complex", |d| d.computes() && d != DType::Bool)?;
    if x.rank() < 3 {
        return Err(Invalid::Rank { operand: "the input", expected: "at least 3", found: x.shape.to_vec() });
    }
    if weight.rank() != x.rank() {
        let found = weight.shape.to_vec();
        return Err(Invalid::Rank { operand: "the weight", expected: "as many as the input", found });
    }
    Ok(x.rank() - 2)
}

impl Convolution<'_> {
    fn dims(&self, x: &Spec, weight: &Spec) -> Result<Vec<Sliding>, Invalid> {
        let rank = operands(x, weight)?;
        let (groups, both) = (*self.groups, [x.shape[1], weight.shape[0]]);
        if groups == 0 || both.iter().any(|n| !n.is_multiple_of(groups)) {
            return Err(Invalid::Parameter {
                parameter: "groups",
                found: groups.to_string(),
                expected: "a divisor of the input's and the result's channels",
            });
        }
        steps("strides", self.strides, rank)?;
        steps("dilations", self.dilations, rank)?;
        steps("input_dilations", self.input_dilations, rank)?;
        per_dimension("low", self.low, rank)?;
        per_dimension("high", self.high, rank)?;
        shape_is("the weight", weight, &weight.shape.with(1, x.shape[1] / groups))?;
        (0..rank)
            .map(|d| {
                Sliding::new(
                    d + 2,
                    (x.shape[d + 2], self.input_dilations[d]),
                    (self.low[d], self.high[d]),
                    (weight.shape[d + 2], self.dilations[d]),
                    self.strides[d],
                )
            })
            .collect()
    }
}

impl Convolution<'_> {
    fn windows(&self) -> Windows<'_> {
        Windows {
            strides: self.strides,
            low: self.low,
            high: self.high,
            dilations: self.dilations,
            input_dilations: self.input_dilations,
            groups: *self.groups,
        }
    }

    /// What one operand gets of the result's cotangent.
    fn transposed(&self, at: &Applied<'_>, cotangent: &Value, k: usize) -> Result<Value, Invalid> {
        let (x, weight) = (&at.inputs[0], &at.inputs[1]);
        if !any_products(&[x, weight, cotangent]) {
            return at.inputs[k].filled_like(0.0);
        }
        let window = &weight.spec().shape[2..];
        if k == 1 {
            let sums = self.windows().by_weight(&conjugate(x)?, cotangent, window)?;
            return if *self.flip { backwards(&sums) } else { Ok(sums) };
        }
        let weight = if *self.flip { backwards(weight)? } else { weight.clone() };
        // The places after those that windows reach, and x's items among them.
        let dims = self.dims(x.spec(), weight.spec())?;
        let rest = dims.iter().enumerate().map(|(d, dim)| {
            let places = self.low[d] + (dim.size - 1) * dim.spread + 1 + self.high[d];
            places - (dim.count - 1) * dim.stride - (window[d] - 1) * self.dilations[d] - 1
        });
        let spread = Primitive::TransposedConvolution {
            strides: self.strides.to_vec(),
            low: self.low.to_vec(),
            high: self.high.to_vec(),
            dilations: self.dilations.to_vec(),
            output_padding: rest.collect(),
            groups: *self.groups,
        };
        let spread = Value::record(spread, &[cotangent, &conjugate(&weight)?], Place::Internal)?;
        every(&spread, self.input_dilations, &x.spec().shape[2..])
    }
}

impl Rules for Convolution<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x, weight] = exactly(inputs)?;
        let dims = self.dims(x, weight)?;
        let sizes = [x.shape[0], weight.shape[0]].into_iter().chain(dims.iter().map(|d| d.count));
        one(x.with_shape(sizes.collect::<Shape>()))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [x, weight] = inputs else {
            return Err(Invalid::Arity { expected: "2", found: inputs.len() }.into());
        };
        let (xs, ws) = (Spec::of(x), Spec::of(weight));
        let spec = self.infer(&[&xs, &ws])?.remove(0);
        spec.shape.checked_count(spec.dtype)?;
        let windowed = Windowed {
            dims: &self.dims(&xs, &ws)?,
            batch: xs.shape[0],
            groups: *self.groups,
            channels: ws.shape[1],
            outputs: ws.shape[0] / self.groups,
        };
        let sums = match self.flip {
            true => windowed.evaluate(x, &reversed(weight, 2)?)?,
            false => windowed.evaluate(x, weight)?,
        };
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
            batched(inputs, size, *self.groups, false, |x, weight, groups| {
                let convolution = Primitive::Convolution {
                    strides: self.strides.to_vec(),
                    low: self.low.to_vec(),
                    high: self.high.to_vec(),
                    dilations: self.dilations.to_vec(),
                    input_dilations: self.input_dilations.to_vec(),
                    groups,
                    flip: *self.flip,
                };
                Value::record(convolution, &[x, weight], Place::Internal)
            })
        }))
    }

    fn cases() -> Vec<Case> {
        use DType::{BF16, Complex64, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let plain = |rank: usize, padding: usize, groups| Primitive::Convolution {
            strides: vec![1; rank],
            low: vec![padding; rank],
            high: vec![padding; rank],
            dilations: vec![1; rank],
            input_dilations: vec![1; rank],
            groups,
            flip: false,
        };
        let square = |strides: [usize; 2], low: [usize; 2], high: [usize; 2], dilations: [usize; 2]| {
            Primitive::Convolution {
                strides: strides.to_vec(),
                low: low.to_vec(),
                high: high.to_vec(),
                dilations: dilations.to_vec(),
                input_dilations: vec![1; 2],
                groups: 1,
                flip: false,
            }
        };
        let line = |strides, low, high, dilations, input_dilations, flip| Primitive::Convolution {
            strides: vec![strides],
            low: vec![low],
            high: vec![high],
            dilations: vec![dilations],
            input_dilations: vec![input_dilations],
            groups: 1,
            flip,
        };
        // 0, 1, 2, 3, 0, 1, …
        let counted = |shape: &[usize]| {
            let numbers: Vec<f64> = (0..shape.iter().product()).map(|i: usize| (i % 4) as f64).collect();
            of(F32, shape, &numbers)
        };
        let known = vec![
            Case::new(
                plain(1, 1, 1),
                vec![counted(&[1, 1, 5]), of(F32, &[1, 1, 3], &[2.0, 1.0, 0.0])],
                vec![of(F32, &[1, 1, 5], &[0.0, 1.0, 4.0, 7.0, 6.0])],
            ),
            Case::new(
                square([1, 2], [0, 1], [0, 1], [1, 1]),
                vec![counted(&[2, 2, 3, 3]), counted(&[1, 2, 2, 2])],
                vec![of(F32, &[2, 1, 2, 2], &[10.0, 16.0, 18.0, 12.0, 14.0, 20.0, 6.0, 24.0])],
            ),
            Case::new(
                plain(1, 0, 2),
                vec![counted(&[1, 2, 3]), counted(&[4, 1, 2])],
                vec![of(F32, &[1, 4, 2], &[1.0, 2.0, 3.0, 8.0, 0.0, 1.0, 6.0, 3.0])],
            ),
            Case::new(
                line(1, 0, 1, 2, 1, false),
                vec![counted(&[1, 1, 4]), of(F32, &[1, 1, 2], &[2.0, 3.0])],
                vec![of(F32, &[1, 1, 3], &[6.0, 11.0, 4.0])],
            ),
            Case::new(
                line(2, 1, 2, 1, 3, true),
                vec![counted(&[1, 1, 3]), of(F32, &[1, 1, 2], &[1.0, 2.0])],
                vec![of(F32, &[1, 1, 5], &[0.0, 0.0, 2.0, 2.0, 0.0])],
            ),
            Case::new(
                plain(3, 0, 1),
                vec![counted(&[1, 1, 2, 2, 2]), counted(&[1, 1, 2, 1, 2])],
                vec![of(F32, &[1, 1, 1, 2, 1], &[4.0, 16.0])],
            ),
            // No items, no channels, no kernels, and a dimension without places.
            Case::new(
                plain(1, 0, 1),
                vec![counted(&[0, 1, 2]), counted(&[1, 1, 2])],
                vec![counted(&[0, 1, 1])],
            ),
            Case::new(
                plain(1, 0, 1),
                vec![counted(&[1, 0, 2]), counted(&[1, 0, 2])],
                vec![of(F32, &[1, 1, 1], &[0.0])],
            ),
            Case::new(
                plain(1, 0, 1),
                vec![counted(&[1, 1, 2]), counted(&[0, 1, 2])],
                vec![counted(&[1, 0, 1])],
            ),
            Case::new(
                plain(1, 0, 1),
                vec![counted(&[1, 1, 0]), counted(&[1, 1, 2])],
                vec![counted(&[1, 1, 0])],
            ),
        ];
        let mut cases =
            for_dtypes(F32, &[BF16, Complex64, F16, F64, I8, I16, I32, I64, U8, U16, U32, U64], known);
        cases.extend([
            // Products wrap as all integers do.
            Case::new(
                plain(1, 0, 1),
                vec![t(&[1, 1, 1], &[200u8]), t(&[1, 1, 1], &[2u8])],
                vec![t(&[1, 1, 1], &[144u8])],
            ),
            // A half-precision running sum would stop at 2048.
            Case::new(
                plain(1, 0, 1),
                vec![of(F16, &[1, 4096, 1], &[1.0; 4096]), of(F16, &[1, 4096, 1], &[1.0; 4096])],
                vec![of(F16, &[1, 1, 1], &[4096.0])],
            ),
            Case::refused(
                plain(1, 0, 1),
                vec![counted(&[1, 1, 2]), counted(&[1, 1, 3])],
                "spans 3 does not fit axis 2, which spans 2",
            ),
            Case::refused(
                plain(1, 0, 2),
                vec![counted(&[1, 3, 2]), counted(&[2, 1, 1])],
                "groups = 2 is not valid: a divisor",
            ),
            Case::refused(
                plain(1, 0, 1),
                vec![counted(&[1, 3, 2]), counted(&[2, 1, 1])],
                "the weight must have shape [2, 3, 1], found [2, 1, 1]",
            ),
            Case::refused(
                line(0, 0, 0, 1, 1, false),
                vec![counted(&[1, 1, 2]), counted(&[1, 1, 1])],
                "at least 1",
            ),
            Case::refused(
                plain(2, 0, 1),
                vec![counted(&[1, 1, 2]), counted(&[1, 1, 1])],
                "one value for each",
            ),
            Case::refused(plain(0, 0, 1), vec![counted(&[1, 1]), counted(&[1, 1])], "at least 3 dimensions"),
            Case::refused(
                line(1, usize::MAX, 0, 1, 1, false),
                vec![counted(&[1, 1, 2]), counted(&[1, 1, 1])],
                "low = 18446744073709551615",
            ),
            Case::refused(
                plain(1, 0, 1),
                vec![t(&[1, 1, 1], &[true]), t(&[1, 1, 1], &[true])],
                "integer, float or complex",
            ),
        ]);
        // Depthwise, pointwise, strided with uneven padding, dilated, and more
        // kernel items than are worked on at a time.
        let ramp = |shape: &[usize]| {
            let numbers = (0..shape.iter().product()).map(|i: usize| ((i * 7) % 13) as f64 / 8.0 - 0.75);
            of(F32, shape, &numbers.collect::<Vec<_>>())
        };
        let mut grouped = plain(1, 0, 2);
        if let Primitive::Convolution { strides, low, high, input_dilations, .. } = &mut grouped {
            (*strides, *low, *high, *input_dilations) = (vec![4], vec![1], vec![2], vec![2]);
        }
        let shapes: [(Primitive, &[usize], &[usize]); 7] = [
            (grouped, &[2, 6, 7], &[4, 3, 2]),
            (plain(2, 1, 8), &[2, 8, 9, 11], &[8, 1, 3, 3]),
            (plain(2, 0, 1), &[1, 33, 5, 5], &[17, 33, 1, 1]),
            (square([2, 3], [1, 0], [2, 4], [1, 1]), &[1, 3, 12, 13], &[5, 3, 3, 2]),
            (square([1, 1], [2, 2], [2, 2], [2, 3]), &[1, 2, 9, 9], &[3, 2, 3, 3]),
            (plain(1, 50, 1), &[1, 2, 150], &[2, 2, 101]),
            (line(3, 2, 4, 2, 2, true), &[1, 1, 20], &[1, 1, 4]),
        ];
        let shapes = shapes.into_iter().map(|(p, x, w)| Case::parity(p, vec![ramp(x), ramp(w)]));
        cases.extend(for_dtypes(F32, &[F16, BF16], shapes.collect()));
        cases
    }
}
