use oneir_tensor::{DType, HostTensor, Values};

use super::case::{for_dtypes, of, t};
use super::dequantize::quantized;
use super::fields::QuantizedMatmul;
use super::matmul::{adjoint, multiply};
use super::quantize::{quant, uneven};
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::transforms::{Batched, Slots};
use super::{Case, Primitive, Quant, QuantMode, one};
use crate::{Invalid, Place, Spec, Specs, Value};

impl QuantizedMatmul<'_> {
    /// The specs of the dequantized matrix and of the product.
    fn specs(&self, inputs: &[&Spec]) -> Result<(Spec, Spec), Invalid> {
        let Some((x, packed)) = inputs.split_first() else {
            return Err(Invalid::Arity { expected: "x, words and scales as", found: 0 });
        };
        let w = self.quant.restored(packed, x.dtype)?;
        let Some((&inner, lead)) = x.shape.split_last() else {
            return Err(Invalid::Rank { operand: "x", expected: "at least 1", found: vec![] });
        };
        let Some((batch, &[rows, cols])) = w.shape.split_last_chunk() else {
            return Err(Invalid::Rank {
                operand: "the matrix",
                expected: "at least 2",
                found: w.shape.to_vec(),
            });
        };
        let (of_inner, of_result) = if *self.transpose { (cols, rows) } else { (rows, cols) };
        let same_batch = batch.is_empty() || lead.split_last().is_some_and(|(_, lead)| lead == batch);
        if inner != of_inner || !same_batch {
            return Err(Invalid::Inner { left: x.shape.to_vec(), right: w.shape.to_vec() });
        }
        let out = x.with_shape(x.shape.with(x.rank() - 1, of_result));
        Ok((w, out))
    }
}

impl QuantizedMatmul<'_> {
    fn record(&self, transpose: bool, inputs: &[&Value]) -> Result<Value, Invalid> {
        let product = Primitive::QuantizedMatmul { quant: self.quant.clone(), transpose };
        Value::record(product, inputs, Place::Internal)
    }

    fn tangent(&self, inputs: &[Value], tangents: &[Option<Value>]) -> Result<Option<Value>, Invalid> {
        let [x, words, scales, ..] = inputs else { return Ok(None) };
        let mut all: Vec<&Value> = inputs.iter().collect();
        let by_x = match &tangents[0] {
            Some(tangent) => {
                all[0] = tangent;
                Some(self.record(*self.transpose, &all)?)
            }
            None => None,
        };
        // Linear in scales and biases together, with the codes as they are.
        let (by_scales, by_biases) = (&tangents[2], tangents.get(3).and_then(Option::as_ref));
        if by_scales.is_none() && by_biases.is_none() {
            return Ok(by_x);
        }
        let zeros = scales.filled_like(0.0)?;
        let (by_scales, by_biases) = (by_scales.as_ref().unwrap_or(&zeros), by_biases.unwrap_or(&zeros));
        let by_matrix = self.record(*self.transpose, &[x, words, by_scales, by_biases])?;
        Ok(Some(match by_x {
            Some(by_x) => by_x.add(&by_matrix)?,
            None => by_matrix,
        }))
    }

    fn cotangents(&self, inputs: &[Value], cotangent: &Value) -> Result<Slots, Invalid> {
        let specs: Vec<&Spec> = inputs.iter().map(Value::spec).collect();
        let (matrix, out) = self.specs(&specs)?;
        let mut all: Vec<&Value> = inputs.iter().collect();
        all[0] = cotangent;
        let mut slots = vec![None; inputs.len()];
        slots[0] = Some(self.record(!self.transpose, &all)?);
        if self.quant.has_biases() {
            // What the matrix would get, if it were not quantized.
            let (mut left, mut right) = (inputs[0].clone(), cotangent.clone());
            if matrix.rank() == 2 {
                left = left.reshape(&[left.spec().shape.rows(), left.spec().shape.cols()])?;
                right = right.reshape(&[left.spec().shape[0], out.shape.cols()])?;
            }
            if *self.transpose {
                std::mem::swap(&mut left, &mut right);
            }
            let whole = adjoint(&left)?.matmul(&right)?;
            let (scales, biases) = self.quant.group_cotangents(&inputs[1], &inputs[2], &whole)?;
            (slots[2], slots[3]) = (Some(scales), Some(biases));
        }
        Ok(slots)
    }

    fn batched(&self, inputs: &[Batched], size: usize) -> Result<Vec<Batched>, Invalid> {
        let packed = &inputs[1..];
        let front = |value| vec![Batched { value, axis: Some(0) }];
        let x = inputs[0].whole(size)?;
        let plain = inputs[2].spec().rank() == 2;
        if plain && packed.iter().all(|p| p.axis.is_none()) {
            let all: Vec<&Value> = std::iter::once(&x).chain(packed.iter().map(|p| &p.value)).collect();
            return Ok(front(self.record(*self.transpose, &all)?));
        }
        let packed = packed.iter().map(|p| p.whole(size)).collect::<Result<Vec<_>, _>>()?;
        if !plain {
            let all: Vec<&Value> = std::iter::once(&x).chain(&packed).collect();
            return Ok(front(self.record(*self.transpose, &all)?));
        }
        // A matrix for each of the batch meets all rows of its x at once.
        let lead = &x.spec().shape[1..x.spec().rank() - 1];
        let rows = x.reshape(&[size, lead.iter().product(), x.spec().shape.cols()])?;
        let all: Vec<&Value> = std::iter::once(&rows).chain(&packed).collect();
        let product = self.record(*self.transpose, &all)?;
        let shape: Vec<usize> =
            std::iter::once(size).chain(lead.iter().copied()).chain([product.spec().shape.cols()]).collect();
        Ok(front(product.reshape(&shape)?))
    }
}

impl Rules for QuantizedMatmul<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        one(self.specs(inputs)?.1)
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        self.results(inputs)?;
        let specs: Vec<Spec> = inputs.iter().map(|x| Spec::new(x.dtype(), x.shape().clone())).collect();
        let (w, out) = self.specs(&specs.iter().collect::<Vec<_>>())?;
        w.shape.checked_count(w.dtype)?;
        let (x, packed) = (&inputs[0], &inputs[1..]);
        let numbers = Values::Float(self.quant.restore(packed, w.dtype)?);
        let mut matrix = HostTensor::from_values(w.dtype, &w.shape, &numbers)?;
        if *self.transpose {
            let mut axes: Vec<usize> = (0..w.rank()).collect();
            axes.swap(w.rank() - 2, w.rank() - 1);
            matrix = matrix.transpose(&axes)?;
        }
        // A matrix without batch meets all rows of x at once.
        let x = if w.rank() == 2 { x.reshape(&[x.shape().rows(), x.shape().cols()])? } else { x.clone() };
        let (_, product) = multiply(&x, &matrix)?;
        Ok(vec![HostTensor::from_values(out.dtype, &out.shape, &product)?])
    }

    fn nature(&self) -> Nature {
        Nature::Contraction
    }

    fn derivative(&self) -> Derivative<'_> {
        Derivative::Custom {
            jvp: Box::new(|at, tangents| Ok(vec![self.tangent(at.inputs, tangents)?])),
            vjp: Box::new(|at, cotangents| match &cotangents[0] {
                Some(cotangent) => self.cotangents(at.inputs, cotangent),
                None => Ok(vec![None; at.inputs.len()]),
            }),
        }
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Custom(Box::new(|inputs, size| self.batched(inputs, size)))
    }

    fn cases() -> Vec<Case> {
        use DType::{BF16, F16, F32};
        use QuantMode::{Affine, Mxfp4, Mxfp8, Nvfp4};
        let product =
            |quant: &Quant, transpose| Primitive::QuantizedMatmul { quant: quant.clone(), transpose };
        let affine = || quant(Affine, 32, 4);
        let with = |x: HostTensor, packed: Vec<HostTensor>| [vec![x], packed].concat();
        // Row 0 counts 0, 1, …, 7 over and over; row 1 is all 5. Both are halved, less 1.
        let two_rows = || {
            vec![
                t(&[2, 4], &[[0x7654_3210u32; 4], [0x5555_5555; 4]].concat()),
                of(F32, &[2, 1], &[0.5, 0.5]),
                of(F32, &[2, 1], &[-1.0, -1.0]),
            ]
        };
        let row0: Vec<f64> = (0..32).map(|i| f64::from(i % 8) * 0.5 - 1.0).collect();
        let row1 = [1.5; 32];
        let picks: Vec<f64> = (0..32).map(|i| f64::from(u8::from(i == 3 || i == 6))).collect();
        let known = vec![
            Case::new(
                product(&affine(), true),
                with(of(F32, &[1, 32], &picks), two_rows()),
                vec![of(F32, &[1, 2], &[2.5, 3.0])],
            ),
            Case::new(
                product(&affine(), true),
                with(of(F32, &[32], &[1.0; 32]), two_rows()),
                vec![of(F32, &[2], &[24.0, 48.0])],
            ),
            Case::new(
                product(&affine(), false),
                with(of(F32, &[2, 1, 2], &[1.0, 0.0, 0.0, 2.0]), two_rows()),
                vec![of(F32, &[2, 1, 32], &[row0.clone(), row1.map(|x| x * 2.0).to_vec()].concat())],
            ),
            // A matrix per batch.
            Case::new(
                product(&affine(), true),
                with(
                    of(F32, &[2, 1, 32], &[picks.clone(), picks.clone()].concat()),
                    vec![
                        t(&[2, 1, 4], &[[0x7654_3210u32; 4], [0x5555_5555; 4]].concat()),
                        of(F32, &[2, 1, 1], &[0.5, 0.5]),
                        of(F32, &[2, 1, 1], &[-1.0, 0.0]),
                    ],
                ),
                vec![of(F32, &[2, 1, 1], &[2.5, 5.0])],
            ),
            Case::new(
                product(&affine(), true),
                with(of(F32, &[0, 32], &[]), two_rows()),
                vec![of(F32, &[0, 2], &[])],
            ),
            Case::new(
                product(&affine(), true),
                with(
                    of(F32, &[2, 0], &[]),
                    vec![t::<u32>(&[1, 0], &[]), of(F32, &[1, 0], &[]), of(F32, &[1, 0], &[])],
                ),
                vec![of(F32, &[2, 1], &[0.0, 0.0])],
            ),
        ];
        let mut cases = for_dtypes(F32, &[F16, BF16], known);
        let rows = |quant: Quant, columns: &[f64]| {
            let packed = quantized(&quant, F32, &[3, 64]);
            Case::new(
                product(&quant, true),
                with(uneven(F32, &[2, 64]), packed),
                vec![of(F32, &[2, 3], columns)],
            )
        };
        cases.extend([
            rows(affine(), &[47.219555, 3.2828355, -1.908802, 3.3914902, 48.258827, 4.397683]),
            rows(quant(Mxfp4, 32, 4), &[47.95884, 3.1236413, -0.69048274, 4.1189585, 47.496754, 2.0330822]),
            rows(quant(Nvfp4, 16, 4), &[47.647724, 3.068222, -1.6336355, 3.1932998, 48.123405, 4.0925965]),
        ]);
        for quant in [quant(Affine, 64, 3), quant(Mxfp4, 32, 4), quant(Mxfp8, 32, 8), quant(Nvfp4, 16, 4)] {
            for dtype in [F32, F16, BF16] {
                cases.extend([
                    Case::parity(
                        product(&quant, true),
                        with(uneven(dtype, &[2, 5, 128]), quantized(&quant, dtype, &[7, 128])),
                    ),
                    Case::parity(
                        product(&quant, false),
                        with(uneven(dtype, &[2, 5, 7]), quantized(&quant, dtype, &[2, 7, 128])),
                    ),
                ]);
            }
        }
        let x = |shape: &[usize]| of(F32, shape, &vec![1.0; shape.iter().product()]);
        cases.extend([
            Case::refused(
                product(&affine(), true),
                with(x(&[1, 2]), two_rows()),
                "inner dimensions differ: [1, 2] by [2, 32]",
            ),
            Case::refused(
                product(&affine(), false),
                with(x(&[1, 32]), two_rows()),
                "inner dimensions differ: [1, 32] by [2, 32]",
            ),
            Case::refused(
                product(&affine(), true),
                with(x(&[3, 1, 32]), quantized(&affine(), F32, &[2, 1, 32])),
                "inner dimensions differ: [3, 1, 32] by [2, 1, 32]",
            ),
            Case::refused(
                product(&affine(), true),
                with(x(&[32]), quantized(&affine(), F32, &[1, 1, 32])),
                "inner dimensions differ: [32] by [1, 1, 32]",
            ),
            Case::refused(
                product(&affine(), true),
                with(x(&[32]), quantized(&affine(), F32, &[32])),
                "the matrix must have at least 2",
            ),
            Case::refused(product(&affine(), true), with(x(&[]), two_rows()), "x must have at least 1"),
            Case::refused(
                product(&affine(), true),
                with(of(F16, &[1, 32], &[1.0; 32]), two_rows()),
                "the scales must be of the dequantized dtype",
            ),
            Case::refused(
                product(&affine(), true),
                with(of(DType::F64, &[1, 32], &[1.0; 32]), two_rows()),
                "f16, bf16 or f32",
            ),
            Case::refused(product(&quant(Affine, 32, 9), true), with(x(&[1, 32]), two_rows()), "bits = 9"),
            Case::refused(product(&affine(), true), vec![x(&[1, 32])], "words, scales and biases"),
            Case::refused(product(&affine(), true), vec![], "words and scales"),
        ]);
        cases
    }
}
