use oneir_tensor::{DType, HostTensor};

use super::{FastOp, FusedClass, Probe, Softmax, in_f32};
use crate::invalid::{axis_within, dtype_is, exactly};
use crate::primitive::{of, t};
use crate::{BinaryOp, Invalid, Primitive, ReduceOp, Spec, Specs, UnaryOp, Value};

impl FusedClass for Softmax {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        dtype_is("the input", x, "float", |d| d.computes() && d.is_float())?;
        axis_within(self.axis, x.rank())?;
        if x.shape[self.axis] == 0 && x.count() > 0 {
            return Err(Invalid::EmptyExtreme { axis: self.axis, shape: x.shape.to_vec() });
        }
        Ok([x.clone()].into())
    }

    fn definition(&self, inputs: &[Value]) -> Result<Vec<Value>, Invalid> {
        in_f32(inputs, |inputs| {
            let x = &inputs[0];
            let shape = x.spec().shape.clone();
            if shape[self.axis] == 0 {
                return x.unary(UnaryOp::Exp);
            }
            let top = x.reduce(ReduceOp::Max, &[self.axis])?;
            let e = x.subtract(&top.broadcast(&shape)?)?.unary(UnaryOp::Exp)?;
            e.divide(&e.reduce(ReduceOp::Sum, &[self.axis])?.broadcast(&shape)?)
        })
    }

    fn candidates(probe: &dyn Probe) -> Vec<(FastOp, Vec<Spec>)> {
        let reduce = |p: &Primitive| matches!(p, Primitive::Reduce { op: ReduceOp::Sum, .. });
        match (probe.root(), probe.nearest(1, &reduce)) {
            (Primitive::Binary(BinaryOp::Divide), Some((Primitive::Reduce { axes, .. }, _)))
                if axes.len() == 1 =>
            {
                vec![(Softmax { axis: axes[0] }.into(), vec![probe.result()])]
            }
            _ => Vec::new(),
        }
    }

    fn cases() -> Vec<(FastOp, Vec<HostTensor>, Option<Vec<HostTensor>>)> {
        let softmax = |axis| FastOp::from(Softmax { axis });
        let ramp: Vec<f64> = (0..60).map(|i| f64::from((i * 37) % 23) / 4.0 - 2.0).collect();
        let mut cases = vec![
            (softmax(0), vec![t(&[2], &[1000f32, 1000.0])], Some(vec![t(&[2], &[0.5f32, 0.5])])),
            (softmax(1), vec![t::<f32>(&[0, 3], &[])], Some(vec![t::<f32>(&[0, 3], &[])])),
            (softmax(1), vec![t::<f32>(&[3, 0], &[])], Some(vec![t::<f32>(&[3, 0], &[])])),
        ];
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            for axis in 0..3 {
                cases.push((softmax(axis), vec![of(dtype, &[3, 4, 5], &ramp)], None));
            }
        }
        cases
    }
}
