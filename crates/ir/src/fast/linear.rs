use oneir_tensor::{DType, HostTensor};

use super::{Activation, FastOp, FusedClass, Linear, Probe};
use crate::invalid::{dtype_is, exactly, same_dtype};
use crate::primitive::of;
use crate::{BinaryOp, Invalid, Primitive, Spec, Specs, UnaryOp, Value};

impl FusedClass for Linear {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [a, b, bias] = exactly(inputs)?;
        dtype_is("the operands", a, "float", |d| d.computes() && d.is_float())?;
        let out = Primitive::Matmul.infer(&[a, b])?;
        same_dtype(a, bias)?;
        Primitive::Broadcast(out[0].shape.to_vec()).infer(&[bias])?;
        Ok(out)
    }

    fn definition(&self, inputs: &[Value]) -> Result<Vec<Value>, Invalid> {
        let [a, b, bias] = inputs else {
            return Err(Invalid::Arity { expected: "3", found: inputs.len() });
        };
        let product = a.matmul(b)?;
        let sum = product.add(&bias.broadcast(&product.spec().shape)?)?;
        Ok(vec![self.activation.apply(&sum)?])
    }

    fn candidates(probe: &dyn Probe) -> Vec<(FastOp, Vec<Spec>)> {
        let activation = match probe.root() {
            Primitive::Binary(BinaryOp::Maximum) => Activation::Relu,
            Primitive::Unary(UnaryOp::Tanh) => Activation::Tanh,
            Primitive::Unary(UnaryOp::Sigmoid) => Activation::Sigmoid,
            Primitive::Binary(BinaryOp::Add) => Activation::None,
            _ => return Vec::new(),
        };
        let depth = if activation == Activation::None { 1 } else { 2 };
        match probe.nearest(depth, &|p| matches!(p, Primitive::Matmul)) {
            Some((_, mut specs)) if specs[0].dtype.is_float() => {
                // The bias stands as the sum sees it.
                specs.push(probe.result());
                vec![(Linear { activation }.into(), specs)]
            }
            _ => Vec::new(),
        }
    }

    fn cases() -> Vec<(FastOp, Vec<HostTensor>, Option<Vec<HostTensor>>)> {
        let ramp = |n: usize| (0..n).map(|i| ((i * 7) % 11) as f64 / 8.0 - 0.5).collect::<Vec<_>>();
        let mut cases = vec![(
            FastOp::from(Linear { activation: Activation::Relu }),
            vec![
                of(DType::F32, &[1, 2], &[1.0, 2.0]),
                of(DType::F32, &[2, 2], &[1.0, -1.0, 1.0, -1.0]),
                of(DType::F32, &[2], &[0.5, 1.0]),
            ],
            Some(vec![of(DType::F32, &[1, 2], &[3.5, 0.0])]),
        )];
        for &activation in Activation::ALL {
            for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
                cases.push((
                    FastOp::from(Linear { activation }),
                    vec![
                        of(dtype, &[3, 5], &ramp(15)),
                        of(dtype, &[5, 4], &ramp(20)),
                        of(dtype, &[1, 4], &ramp(4)),
                    ],
                    None,
                ));
            }
        }
        cases
    }
}
