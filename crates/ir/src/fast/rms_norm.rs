use oneir_tensor::{DType, HostTensor};

use super::layer_norm::{check_norm, mean};
use super::{FastOp, FusedClass, RmsNorm, in_f32};
use crate::invalid::exactly;
use crate::primitive::of;
use crate::{Invalid, Real, Spec, Specs, UnaryOp, Value};

impl FusedClass for RmsNorm {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x, weight] = exactly(inputs)?;
        check_norm(x, &[("the weight", weight)])
    }

    fn definition(&self, inputs: &[Value]) -> Result<Vec<Value>, Invalid> {
        in_f32(inputs, |inputs| {
            let [x, weight] = inputs else {
                return Err(Invalid::Arity { expected: "2", found: inputs.len() });
            };
            let shape = x.spec().shape.clone();
            let square = mean(&x.unary(UnaryOp::Square)?)?;
            let scale = square.add(&square.filled_like(self.eps.get())?)?.unary(UnaryOp::Rsqrt)?;
            x.multiply(&scale.broadcast(&shape)?)?.multiply(&weight.broadcast(&shape)?)
        })
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
