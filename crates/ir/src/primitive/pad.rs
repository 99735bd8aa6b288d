use oneir_tensor::{DType, HostTensor, Shape, Values};

use super::case::{for_dtypes, of, t};
use super::fields::Pad;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules, zeros};
use super::{Case, PadMode, Primitive, one};
use crate::invalid::{exactly, same_dtype, shape_is};
use crate::{Invalid, Spec, Specs};

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

    fn derivative(&self) -> Option<Derivative<'_>> {
        None
    }

    fn batching(&self) -> Option<Batching<'_>> {
        None
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
