use oneir_tensor::{DType, HostTensor};

use super::layer_norm::{Scaling, check_norm, mean};
use super::{FastOp, FusedClass, Probe, RmsNorm, in_f32};
use crate::invalid::exactly;
use crate::primitive::of;
use crate::{BinaryOp, Invalid, Primitive, Real, ReduceOp, Spec, Specs, UnaryOp, Value};

impl RmsNorm {
    fn written(&self, inputs: &[Value], scaling: Scaling) -> Result<Value, Invalid> {
        let [x, weight] = inputs else {
            return Err(Invalid::Arity { expected: "2", found: inputs.len() });
        };
        let square = mean(&x.unary(UnaryOp::Square)?)?;
        scaling.apply(x, &square, self.eps.get())?.multiply(&weight.broadcast(&x.spec().shape)?)
    }
}

impl FusedClass for RmsNorm {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x, weight] = exactly(inputs)?;
        check_norm(x, &[("the weight", weight)])
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
        match (probe.root(), probe.nearest(8, &sum)) {
            (Primitive::Binary(BinaryOp::Multiply), Some((Primitive::Reduce { axes, .. }, _)))
                if axes[..] == [x.rank().wrapping_sub(1)] && x.dtype.is_float() =>
            {
                let row = x.with_shape([x.shape.cols()]);
                vec![(RmsNorm { eps: Real::new(f64::NAN) }.into(), vec![x, row])]
            }
            _ => Vec::new(),
        }
    }

    fn with_number(&self, number: f64) -> Option<FastOp> {
        Some(RmsNorm { eps: Real::new(number) }.into())
    }

    fn cases() -> Vec<(FastOp, Vec<HostTensor>, Option<Vec<HostTensor>>)> {
        let ramp: Vec<f64> = (0..24).map(|i| f64::from((i * 7) % 13) / 4.0).collect();
        let mut cases = vec![(
            FastOp::from(RmsNorm { eps: Real::new(0.0) }),
            vec![of(DType::F32, &[1, 2], &[1.0, 7.0]), of(DType::F32, &[2], &[5.0, 5.0])],
            Some(vec![of(DType::F32, &[1, 2], &[1.0, 7.0])]),
        )];
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            cases.push((
                FastOp::from(RmsNorm { eps: Real::new(1e-6) }),
                vec![of(dtype, &[2, 3, 4], &ramp), of(dtype, &[4], &[1.0, 2.0, 0.5, -1.0])],
                None,
            ));
        }
        cases
    }
}
