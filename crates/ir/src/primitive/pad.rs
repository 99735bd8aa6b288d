use oneir_tensor::{DType, HostTensor, Shape, Values};

use super::case::{for_dtypes, of, t};
use super::fields::Pad;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules, zeros};
use super::transforms::{Batched, Over, in_front};
use super::{Case, PadMode, Primitive, ReduceOp, ScatterReduce, one};
use crate::invalid::{exactly, same_dtype, shape_is};
use crate::{Invalid, Place, Spec, Specs, Value};

impl PadMode {
    /// The element of an axis of `size` that stands at place `at`, counted
    /// from the axis's first; `None` where the given value does.
    fn source(self, at: i128, size: usize) -> Option<usize> {
        let n = size as i128;
        let source = match self {
            PadMode::Constant => return (0..n).contains(&at).then_some(at as usize),
            PadMode::Edge => at.clamp(0, n - 1),
            PadMode::Wrap => at.rem_euclid(n),
            PadMode::Symmetric => {
                let at = at.rem_euclid(2 * n);
                if at < n { at } else { 2 * n - 1 - at }
            }
            PadMode::Reflect => {
                let period = (2 * (n - 1)).max(1);
                let at = at.rem_euclid(period);
                if at < n { at } else { period - at }
            }
        };
        Some(source as usize)
    }
}

impl Pad<'_> {
    /// The element of x, of shape `from`, that place `to` of the result, of
    /// `shape`, holds; `None` where the given value stands.
    fn source(&self, to: usize, shape: &[usize], from: &[usize]) -> Option<usize> {
        let (mut left, mut step, mut source) = (to, 1, 0);
        for axis in (0..shape.len()).rev() {
            let at = (left % shape[axis]) as i128 - self.low[axis] as i128;
            source += self.mode.source(at, from[axis])? * step;
            left /= shape[axis];
            step *= from[axis];
        }
        Some(source)
    }
}

impl Pad<'_> {
    /// What an axis of `size` gets of what its padded form got: the padding adds
    /// to the items that it repeats.
    fn folded(&self, axis: usize, size: usize, padded: &Value) -> Result<Value, Invalid> {
        let (low, high) = (self.low[axis], self.high[axis]);
        let inside = padded.part(axis, low, size)?;
        if low + high == 0 {
            return Ok(inside);
        }
        let (before, after) = (padded.part(axis, 0, low)?, padded.part(axis, low + size, high)?);
        let repeats = Value::joined(&[&before, &after], axis)?;
        let places = (0..low).chain(low + size..low + size + high);
        let source = |at: usize| self.mode.source(at as i128 - low as i128, size).unwrap_or(0) as i64;
        let sources: Vec<i64> = places.map(source).collect();
        let indices = Value::along_axis(&sources, axis, &inside.spec().shape)?;
        let add = Primitive::ScatterAxis { axis, reduce: ScatterReduce::Sum };
        Value::record(add, &[&inside, &indices, &repeats], Place::Internal)
    }
}

impl Rules for Pad<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let x = match self.mode {
            PadMode::Constant => {
                let [x, value] = exactly(inputs)?;
                same_dtype(x, value)?;
                shape_is("the value", value, &[])?;
                x
            }
            _ => {
                let [x] = exactly(inputs)?;
                x
            }
        };
        let mut shape = Shape::scalar();
        for (parameter, sizes) in [("low", self.low), ("high", self.high)] {
            if sizes.len() != x.rank() {
                return Err(Invalid::Parameter {
                    parameter,
                    found: format!("{sizes:?}"),
                    expected: "one size per axis",
                });
            }
        }
        for (&size, (&low, &high)) in x.shape.iter().zip(self.low.iter().zip(self.high)) {
            if size == 0 && *self.mode != PadMode::Constant && (low > 0 || high > 0) {
                return Err(Invalid::Parameter {
                    parameter: "mode",
                    found: self.mode.name().into(),
                    expected: "constant, where an empty axis is padded",
                });
            }
            shape.push(low.checked_add(size).and_then(|n| n.checked_add(high)).ok_or(
                Invalid::Parameter {
                    parameter: "high",
                    found: high.to_string(),
                    expected: "a padded size below 2^64",
                },
            )?);
        }
        one(x.with_shape(shape))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let spec = self.results(inputs)?.remove(0);
        let x = &inputs[0];
        let mut sources = zeros::<Option<usize>>(spec.count())?;
        for (to, source) in sources.iter_mut().enumerate() {
            *source = self.source(to, &spec.shape, x.shape());
        }
        let values = x.values()?;
        let value = inputs.get(1).map(HostTensor::values).transpose()?;
        let mut out = Values::zeros(values.class(), spec.count());
        for (to, source) in sources.into_iter().enumerate() {
            match (source, &value) {
                (Some(from), _) => out.set(to, &values, from),
                (None, Some(value)) => out.set(to, value, 0),
                (None, None) => {}
            }
        }
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &out)?])
    }

    fn nature(&self) -> Nature {
        Nature::Movement
    }

    fn derivative(&self) -> Derivative<'_> {
        if *self.mode != PadMode::Constant {
            return Derivative::linear_unary(|x, cotangent| {
                let mut back = cotangent.clone();
                for axis in 0..x.spec().rank() {
                    back = self.folded(axis, x.size(axis), &back)?;
                }
                Ok(back)
            });
        }
        Derivative::linear(Over::All, |at, cotangent| {
            let len = at.inputs[0].spec().shape.to_vec();
            let (start, step) = (self.low.clone(), vec![1; len.len()]);
            let slice = Primitive::Slice { start: start.clone(), step: step.clone(), len: len.clone() };
            let inside = Value::record(slice, &[cotangent], Place::Internal)?;
            let update = Primitive::SliceUpdate { start, step, len };
            let outside = Value::record(update, &[cotangent, &inside.filled_like(0.0)?], Place::Internal)?;
            let axes: Vec<usize> = (0..self.low.len()).collect();
            let value = outside.reduce(ReduceOp::Sum, &axes)?.reshape(&[])?;
            Ok(vec![Some(inside), Some(value)])
        })
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Custom(Box::new(|inputs, size| {
            let x = inputs[0].whole(size)?;
            let (low, high) = (in_front(0, self.low), in_front(0, self.high));
            let found = match inputs.get(1) {
                // A value for each: x laid over them.
                Some(value) if value.axis.is_some() => {
                    let spread = self.low.iter().zip(self.high).zip(&x.spec().shape[1..]);
                    let padded: Vec<usize> =
                        std::iter::once(size).chain(spread.map(|((l, h), n)| l + h + n)).collect();
                    let ones: Vec<usize> = std::iter::once(size).chain(self.low.iter().map(|_| 1)).collect();
                    let base = value.value.reshape(&ones)?.broadcast(&padded)?;
                    let len = x.spec().shape.to_vec();
                    let update = Primitive::SliceUpdate { start: low, step: vec![1; len.len()], len };
                    Value::record(update, &[&base, &x], Place::Internal)?
                }
                value => {
                    let pad = Primitive::Pad { low, high, mode: *self.mode };
                    let operands: Vec<&Value> = std::iter::once(&x).chain(value.map(|v| &v.value)).collect();
                    Value::record(pad, &operands, Place::Internal)?
                }
            };
            Ok(vec![Batched { value: found, axis: Some(0) }])
        }))
    }

    fn fixes_shape(&self) -> bool {
        true
    }

    fn cases() -> Vec<Case> {
        use DType::{F32, F64};
        use PadMode::{Constant, Edge, Reflect, Symmetric, Wrap};
        let pad = |low: &[usize], high: &[usize], mode| Primitive::Pad {
            low: low.to_vec(),
            high: high.to_vec(),
            mode,
        };
        let zero = || of(F32, &[], &[0.0]);
        let moved = vec![
            Case::new(
                pad(&[1, 0], &[0, 2], Constant),
                vec![of(F32, &[1, 2], &[1.0, 0.0]), of(F32, &[], &[1.0])],
                vec![of(F32, &[2, 4], &[1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0])],
            ),
            Case::new(
                pad(&[1], &[2], Constant),
                vec![of(F32, &[0], &[]), of(F32, &[], &[1.0])],
                vec![of(F32, &[3], &[1.0; 3])],
            ),
            Case::new(
                pad(&[], &[], Constant),
                vec![of(F32, &[], &[1.0]), zero()],
                vec![of(F32, &[], &[1.0])],
            ),
            Case::new(pad(&[], &[], Wrap), vec![of(F32, &[], &[1.0])], vec![of(F32, &[], &[1.0])]),
            Case::new(
                pad(&[2], &[1], Edge),
                vec![of(F32, &[2], &[1.0, 0.0])],
                vec![of(F32, &[5], &[1.0, 1.0, 1.0, 0.0, 0.0])],
            ),
        ];
        let mut cases = for_dtypes(F32, DType::ALL, moved);
        let row = |mode, low, high, x: &[i32], out: &[i32]| {
            Case::new(pad(&[low], &[high], mode), vec![t(&[x.len()], x)], vec![t(&[out.len()], out)])
        };
        for mode in [Edge, Reflect, Symmetric, Wrap] {
            let x = of(F64, &[2, 3], &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
            cases.push(Case::parity(pad(&[3, 1], &[0, 7], mode), vec![x]));
        }
        cases.extend([
            row(Reflect, 2, 1, &[1, 2, 3], &[3, 2, 1, 2, 3, 2]),
            row(Reflect, 5, 6, &[1, 2, 3], &[2, 1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2, 1]),
            row(Reflect, 2, 1, &[7], &[7, 7, 7, 7]),
            row(Reflect, 3, 3, &[1, 2], &[2, 1, 2, 1, 2, 1, 2, 1]),
            row(Wrap, 2, 1, &[1, 2, 3], &[2, 3, 1, 2, 3, 1]),
            row(Wrap, 5, 4, &[1, 2], &[2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2]),
            row(Edge, 1, 3, &[1, 2], &[1, 1, 2, 2, 2, 2]),
            row(Symmetric, 2, 1, &[1, 2, 3], &[2, 1, 1, 2, 3, 3]),
            row(Symmetric, 5, 4, &[1, 2], &[1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2]),
            Case::new(
                pad(&[1, 1], &[0, 1], Reflect),
                vec![t(&[2, 3], &[1i32, 2, 3, 4, 5, 6])],
                vec![t(&[3, 5], &[5i32, 4, 5, 6, 5, 2, 1, 2, 3, 2, 5, 4, 5, 6, 5])],
            ),
            Case::new(
                pad(&[1, 0], &[0, 1], Wrap),
                vec![t(&[2, 2], &[1i32, 2, 3, 4])],
                vec![t(&[3, 3], &[3i32, 4, 3, 1, 2, 1, 3, 4, 3])],
            ),
            Case::new(
                pad(&[0, 2], &[0, 0], Edge),
                vec![t::<i32>(&[0, 1], &[])],
                vec![t::<i32>(&[0, 3], &[])],
            ),
            Case::new(pad(&[0], &[0], Wrap), vec![t::<i32>(&[0], &[])], vec![t::<i32>(&[0], &[])]),
            Case::refused(
                pad(&[1], &[0], Reflect),
                vec![of(F32, &[0], &[])],
                "constant, where an empty axis",
            ),
            Case::refused(pad(&[1], &[0], Constant), vec![of(F32, &[2], &[0.0; 2])], "expected 2 inputs"),
            Case::refused(pad(&[1], &[0], Edge), vec![of(F32, &[2], &[0.0; 2]), zero()], "expected 1 inputs"),
            Case::refused(pad(&[1, 1], &[0], Edge), vec![of(F32, &[2], &[0.0; 2])], "low = [1, 1]"),
            Case::refused(pad(&[1], &[], Edge), vec![of(F32, &[2], &[0.0; 2])], "one size per axis"),
            Case::refused(
                pad(&[1], &[0], Constant),
                vec![of(F32, &[2], &[0.0; 2]), of(F32, &[1], &[0.0])],
                "the value must have shape []",
            ),
            Case::refused(
                pad(&[1], &[0], Constant),
                vec![of(F32, &[2], &[0.0; 2]), of(F64, &[], &[0.0])],
                "f32 and f64",
            ),
            Case::refused(pad(&[1], &[usize::MAX], Edge), vec![of(F32, &[2], &[0.0; 2])], "below 2^64"),
            Case::refused(pad(&[1], &[1 << 62], Edge), vec![of(F32, &[2], &[0.0; 2])], "more bytes"),
        ]);
        cases
    }
}
