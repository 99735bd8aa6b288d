use oneir_tensor::{DType, HostTensor};

use super::softmax_of;
use super::{Attention, FastOp, FusedClass, Mask, Probe, in_f32};
use crate::invalid::{dtype_is, same_dtype, shape_is};
use crate::primitive::{of, t};
use crate::{BinaryOp, Invalid, Place, Primitive, Real, Spec, Specs, Value};

impl Attention {
    /// q `[B, H, S, D]`, k `[B, G, T, D]`, v `[B, G, T, Dv]`, and the length.
    fn split<'a, T>(&self, inputs: &'a [T]) -> Result<(&'a [T; 3], Option<&'a T>), Invalid> {
        match (inputs, self.mask) {
            ([q, k, v, length], Mask::UpTo) => {
                _ = (q, k, v);
                let first: &[T; 3] =
                    inputs[..3].try_into().map_err(|_| Invalid::Arity { expected: "4", found: 3 })?;
                Ok((first, Some(length)))
            }
            ([_, _, _], Mask::None | Mask::Causal) => Ok((
                inputs.try_into().map_err(|_| Invalid::Arity { expected: "3", found: inputs.len() })?,
                None,
            )),
            (_, Mask::UpTo) => Err(Invalid::Arity { expected: "4", found: inputs.len() }),
            _ => Err(Invalid::Arity { expected: "3", found: inputs.len() }),
        }
    }
}

impl FusedClass for Attention {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let ([q, k, v], length) = self.split(inputs)?;
        dtype_is("the query", q, "float", |d| d.computes() && d.is_float())?;
        for (name, x) in [("the query", q), ("the key", k), ("the value", v)] {
            same_dtype(q, x)?;
            if x.rank() != 4 {
                return Err(Invalid::Rank { operand: name, expected: "4", found: x.shape.to_vec() });
            }
        }
        shape_is("the key", k, &[q.shape[0], k.shape[1], k.shape[2], q.shape[3]])?;
        shape_is("the value", v, &[q.shape[0], k.shape[1], k.shape[2], v.shape[3]])?;
        if k.shape[1] == 0 || !q.shape[1].is_multiple_of(k.shape[1]) {
            return Err(Invalid::Parameter {
                parameter: "heads",
                found: format!("{} query over {} key heads", q.shape[1], k.shape[1]),
                expected: "a multiple",
            });
        }
        if let Some(length) = length {
            dtype_is("the length", length, "i32", |d| d == DType::I32)?;
            shape_is("the length", length, &[])?;
        }
        Ok([q.with_shape(q.shape.with(3, v.shape[3]))].into())
    }

    fn definition(&self, inputs: &[Value]) -> Result<Vec<Value>, Invalid> {
        in_f32(inputs, |inputs| {
            let ([q, k, v], length) = self.split(inputs)?;
            let [batch, heads, s, d] = q.spec().shape[..] else {
                return Err(Invalid::Rank {
                    operand: "the query",
                    expected: "4",
                    found: q.spec().shape.to_vec(),
                });
            };
            let (groups, t) = (k.spec().shape[1], k.spec().shape[2]);
            // Query heads that share a key head become further rows of it.
            let rows = q.reshape(&[batch, groups, heads / groups * s, d])?;
            let scores = rows.matmul(&k.transpose(&[0, 1, 3, 2])?)?;
            let scores = scores.multiply(&scores.filled_like(self.scale.get())?)?;
            let scores = scores.reshape(&[batch, heads, s, t])?;
            let seen = match self.mask {
                Mask::None => None,
                Mask::Causal | Mask::UpTo => {
                    let iota = |axis| {
                        let shape = vec![s, t];
                        Value::record(
                            Primitive::Iota { dtype: DType::I32, shape, axis },
                            &[],
                            Place::Internal,
                        )
                    };
                    let (query, key) = (iota(0)?, iota(1)?);
                    // A query's own place: its row, counted back from the last key.
                    let end = match length {
                        Some(length) => length.broadcast(&[s, t])?,
                        None => query.filled_like(t as f64)?,
                    };
                    let own = query.add(&end)?.subtract(&query.filled_like(s as f64)?)?;
                    Some(key.binary(BinaryOp::LessEqual, &own)?)
                }
            };
            let weights = softmax_of(&scores, seen.as_ref())?;
            let weights = weights.reshape(&[batch, groups, heads / groups * s, t])?;
            weights.matmul(v)?.reshape(&[batch, heads, s, v.spec().shape[3]])
        })
    }

    fn candidates(_probe: &dyn Probe) -> Vec<(FastOp, Vec<Spec>)> {
        Vec::new()
    }

    fn cases() -> Vec<(FastOp, Vec<HostTensor>, Option<Vec<HostTensor>>)> {
        let ramp = |n: usize| (0..n).map(|i| ((i * 7) % 11) as f64 / 8.0 - 0.5).collect::<Vec<_>>();
        let op = |mask| FastOp::from(Attention { scale: Real::new(0.5), mask });
        let mut cases = Vec::new();
        for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
            let qkv = || {
                vec![
                    of(dtype, &[1, 4, 3, 2], &ramp(24)),
                    of(dtype, &[1, 2, 5, 2], &ramp(20)),
                    of(dtype, &[1, 2, 5, 3], &ramp(30)),
                ]
            };
            cases.push((op(Mask::None), qkv(), None));
            cases.push((op(Mask::Causal), qkv(), None));
            for length in [0i32, 2, 5] {
                let mut inputs = qkv();
                inputs.push(t(&[], &[length]));
                cases.push((op(Mask::UpTo), inputs, None));
            }
        }
        // One visible key: its value comes back.
        cases.push((
            op(Mask::UpTo),
            vec![
                of(DType::F32, &[1, 1, 1, 1], &[3.0]),
                of(DType::F32, &[1, 1, 2, 1], &[1.0, 9.0]),
                of(DType::F32, &[1, 1, 2, 1], &[7.0, 8.0]),
                t(&[], &[1i32]),
            ],
            Some(vec![of(DType::F32, &[1, 1, 1, 1], &[7.0])]),
        ));
        cases
    }
}
