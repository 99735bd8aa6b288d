use oneir_tensor::{DType, HostTensor};

use super::{FastOp, FusedClass, LayerNorm, Probe, in_f32};
use crate::invalid::{dtype_is, exactly, same_dtype, shape_is};
use crate::primitive::of;
use crate::{BinaryOp, Invalid, Primitive, Real, ReduceOp, Spec, Specs, UnaryOp, Value};

/// The checks that every norm over the last axis makes.
pub(super) fn check_norm(x: &Spec, weights: &[(&'static str, &Spec)]) -> Result<Specs, Invalid> {
    dtype_is("the input", x, "float", |d| d.computes() && d.is_float())?;
    if x.rank() == 0 {
        return Err(Invalid::Rank { operand: "the input", expected: "at least 1", found: vec![] });
    }
    for (name, weight) in weights {
        same_dtype(x, weight)?;
        shape_is(name, weight, &[x.shape.cols()])?;
    }
    Ok([x.clone()].into())
}

/// The mean along the last axis, presented as the input's shape.
pub(super) fn mean(x: &Value) -> Result<Value, Invalid> {
    let shape = x.spec().shape.clone();
    let sum = x.reduce(ReduceOp::Sum, &[shape.rank() - 1])?;
    sum.divide(&sum.filled_like(shape.cols() as f64)?)
}

/// How a centred or squared value is brought to scale 1.
#[derive(Clone, Copy)]
pub(super) enum Scaling {
    /// Times the reciprocal square root.
    Rsqrt,
    /// Times one over the square root.
    Reciprocal,
    /// Over the square root.
    Divide,
}

impl Scaling {
    /// `x` scaled by the root of `square + eps`.
    pub(super) fn apply(self, x: &Value, square: &Value, eps: f64) -> Result<Value, Invalid> {
        let shape = x.spec().shape.clone();
        let moved = square.add(&square.filled_like(eps)?)?;
        match self {
            Scaling::Rsqrt => x.multiply(&moved.unary(UnaryOp::Rsqrt)?.broadcast(&shape)?),
            Scaling::Reciprocal => {
                let root = moved.unary(UnaryOp::Sqrt)?.unary(UnaryOp::Reciprocal)?;
                x.multiply(&root.broadcast(&shape)?)
            }
            Scaling::Divide => x.divide(&moved.unary(UnaryOp::Sqrt)?.broadcast(&shape)?),
        }
    }
}

impl LayerNorm {
    fn written(&self, inputs: &[Value], scaling: Scaling) -> Result<Value, Invalid> {
        let [x, weight, bias] = inputs else {
            return Err(Invalid::Arity { expected: "3", found: inputs.len() });
        };
        let shape = x.spec().shape.clone();
        let centred = x.subtract(&mean(x)?.broadcast(&shape)?)?;
        let variance = mean(&centred.unary(UnaryOp::Square)?)?;
        let scaled = scaling.apply(&centred, &variance, self.eps.get())?;
        scaled.multiply(&weight.broadcast(&shape)?)?.add(&bias.broadcast(&shape)?)
    }
}

impl FusedClass for LayerNorm {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x, weight, bias] = exactly(inputs)?;
        check_norm(x, &[("the weight", weight), ("the bias", bias)])
    }

    fn definition(&self, inputs: &[Value]) -> Result<Vec<Value>, Invalid> {
        in_f32(inputs, |inputs| self.written(inputs, Scaling::Rsqrt))
    }

    fn spellings(&self, inputs: &[Value]) -> Result<Vec<Value>, Invalid> {
        [Scaling::Rsqrt, Scaling::Reciprocal, Scaling::Divide]
            .map(|s| self.written(inputs, s))
            .into_iter()
            .collect()
    }

    fn candidates(probe: &dyn Probe) -> Vec<(FastOp, Vec<Spec>)> {
        let sum = |p: &Primitive| matches!(p, Primitive::Reduce { op: ReduceOp::Sum, .. });
        let x = probe.result();
        match (probe.root(), probe.nearest(9, &sum)) {
            (Primitive::Binary(BinaryOp::Add), Some((Primitive::Reduce { axes, .. }, _)))
                if axes[..] == [x.rank().wrapping_sub(1)] && x.dtype.is_float() =>
            {
                let row = x.with_shape([x.shape.cols()]);
                vec![(LayerNorm { eps: Real::new(f64::NAN) }.into(), vec![x, row.clone(), row])]
            }
            _ => Vec::new(),
        }
    }

    fn with_number(&self, number: f64) -> Option<FastOp> {
        Some(LayerNorm { eps: Real::new(number) }.into())
    }

    fn cases() -> Vec<(FastOp, Vec<HostTensor>, Option<Vec<HostTensor>>)> {
        let norm = || FastOp::from(LayerNorm { eps: Real::new(1e-5) });
        let ramp: Vec<f64> = (0..24).map(|i| f64::from((i * 7) % 13) / 4.0).collect();
        let mut cases = vec![(
            FastOp::from(LayerNorm { eps: Real::new(0.0) }),
            vec![
                of(DType::F32, &[1, 2], &[1.0, 3.0]),
                of(DType::F32, &[2], &[2.0, 2.0]),
                of(DType::F32, &[2], &[0.5, 0.5]),
            ],
            Some(vec![of(DType::F32, &[1, 2], &[-1.5, 2.5])]),
        )];
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            cases.push((
                norm(),
                vec![
                    of(dtype, &[2, 3, 4], &ramp),
                    of(dtype, &[4], &[1.0, 2.0, 0.5, -1.0]),
                    of(dtype, &[4], &[0.0, 1.0, -1.0, 0.25]),
                ],
                None,
            ));
        }
        cases.push((
            norm(),
            vec![
                of(DType::F32, &[0, 4], &[]),
                of(DType::F32, &[4], &[1.0; 4]),
                of(DType::F32, &[4], &[0.0; 4]),
            ],
            None,
        ));
        cases
    }
}
