use oneir_tensor::{DType, HostTensor};

use super::case::{for_dtypes, of, t};
use super::fields::Scatter;
use super::gather::{index_shape, slice_places};
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::scattering::{self, Scattering, scattered};
use super::{Case, Primitive, ScatterReduce, one};
use crate::invalid::slice_fits;
use crate::{Invalid, Place, Spec, Specs, Value};

impl Scatter<'_> {
    /// What takes the slices that updates go to.
    fn gather(&self, dst: &Value, updates: &Value) -> Primitive {
        let lead = updates.spec().rank() - dst.spec().rank();
        let slice_sizes = updates.spec().shape[lead..].to_vec();
        Primitive::Gather { axes: self.axes.clone(), slice_sizes }
    }

    /// The same as a scatter of single elements in one line.
    fn along_one_axis(&self, inputs: &[Value]) -> Result<Vec<Value>, Invalid> {
        let last = inputs.len() - 1;
        let (dst, updates) = (&inputs[0], &inputs[last]);
        let (shape, count) = (&dst.spec().shape, updates.spec().count());
        let numbers = Value::numbered(DType::I64, shape)?;
        let from: Vec<&Value> = std::iter::once(&numbers).chain(&inputs[1..last]).collect();
        let places = Value::record(self.gather(dst, updates), &from, Place::Internal)?.reshape(&[count])?;
        let scatter = Primitive::ScatterAxis { axis: 0, reduce: *self.reduce };
        let (line, updates) = (dst.reshape(&[dst.spec().count()])?, updates.reshape(&[count])?);
        let found = Value::record(scatter, &[&line, &places, &updates], Place::Internal)?;
        Ok(vec![found.reshape(shape)?])
    }
}

impl Rules for Scatter<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [dst, indices @ .., updates] = inputs else {
            return Err(Invalid::Arity {
                expected: "dst, one per axis, and updates as",
                found: inputs.len(),
            });
        };
        if indices.len() != self.axes.len() {
            return Err(Invalid::Arity {
                expected: "dst, one per axis, and updates as",
                found: inputs.len(),
            });
        }
        let places = index_shape(self.axes, indices, dst.rank())?;
        let Some(slice) = updates.shape.strip_prefix(&places[..]) else {
            return Err(Invalid::Shape {
                operand: "the updates, before the slice",
                expected: places.to_vec(),
                found: updates.shape.to_vec(),
            });
        };
        slice_fits(slice, &dst.shape)?;
        self.reduce.check(dst, updates)?;
        one((*dst).clone())
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let spec = self.results(inputs)?.remove(0);
        let (indices, updates) = (&inputs[1..inputs.len() - 1], &inputs[inputs.len() - 1]);
        let slice = &updates.shape()[updates.rank() - spec.rank()..];
        let (mut out, new) = (inputs[0].values()?, updates.values()?);
        let places = slice_places(self.axes, indices, &spec.shape, slice)?;
        for (from, &at) in places.iter().enumerate() {
            self.reduce.put(&mut out, at, &new, from);
        }
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &out)?])
    }

    fn nature(&self) -> Nature {
        self.reduce.nature()
    }

    fn derivative(&self) -> Derivative<'_> {
        if *self.reduce == ScatterReduce::Prod {
            return Derivative::Via(Box::new(|inputs| self.along_one_axis(inputs)));
        }
        scattering::derivative(*self.reduce, self.axes.len() + 1, move |at| {
            let (indices, updates) = (&at.inputs[1..at.inputs.len() - 1], &at.inputs[at.inputs.len() - 1]);
            Scattering {
                gather: self.gather(&at.inputs[0], updates),
                scatter: Box::new(move |reduce| Primitive::Scatter { axes: self.axes.clone(), reduce }),
                axis: 0,
                indices: indices.to_vec(),
            }
        })
    }

    fn batching(&self) -> Batching<'_> {
        Batching::Custom(Box::new(|inputs, size| {
            let last = inputs.len() - 1;
            let (dst, indices, updates) = (&inputs[0], &inputs[1..last], &inputs[last]);
            Ok(vec![scattered(self.axes, *self.reduce, dst, indices, updates, size)?])
        }))
    }

    fn cases() -> Vec<Case> {
        use DType::{BF16, Complex64, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        use ScatterReduce::{Max, Min, Prod, Sum};
        let scatter = |axes: &[usize], reduce| Primitive::Scatter { axes: axes.to_vec(), reduce };
        let assign = |axes: &[usize]| scatter(axes, ScatterReduce::None);
        let dst = || of(F32, &[3, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let rows = |reduce, out: &[f64]| {
            let updates = of(F32, &[3, 1, 2], &[7.0, 0.0, 2.0, 5.0, 3.0, 1.0]);
            Case::new(
                scatter(&[0], reduce),
                vec![dst(), t(&[3], &[1i32, -1, -2]), updates],
                vec![of(F32, &[3, 2], out)],
            )
        };
        let known = vec![
            rows(ScatterReduce::None, &[1.0, 2.0, 3.0, 1.0, 2.0, 5.0]),
            rows(Sum, &[1.0, 2.0, 13.0, 5.0, 7.0, 11.0]),
            rows(Prod, &[1.0, 2.0, 63.0, 0.0, 10.0, 30.0]),
            rows(Max, &[1.0, 2.0, 7.0, 4.0, 5.0, 6.0]),
            rows(Min, &[1.0, 2.0, 3.0, 0.0, 2.0, 5.0]),
            // Two indices a place, with a slice of one element.
            Case::new(
                scatter(&[0, 1], Sum),
                vec![dst(), t(&[2], &[0i64, 0]), t(&[2], &[1i64, -1]), of(F32, &[2, 1, 1], &[4.0, 1.0])],
                vec![of(F32, &[3, 2], &[1.0, 7.0, 3.0, 4.0, 5.0, 6.0])],
            ),
            // Overlapping slices; the last start is moved inside.
            Case::new(
                scatter(&[0], Sum),
                vec![dst(), t(&[2], &[0u8, 9]), of(F32, &[2, 2, 1], &[1.0, 2.0, 3.0, 4.0])],
                vec![of(F32, &[3, 2], &[2.0, 2.0, 8.0, 4.0, 9.0, 6.0])],
            ),
            Case::new(
                scatter(&[0], Sum),
                vec![dst(), t::<i32>(&[0], &[]), of(F32, &[0, 1, 2], &[])],
                vec![dst()],
            ),
            Case::new(
                scatter(&[], Sum),
                vec![dst(), of(F32, &[1, 2], &[1.0, 1.0])],
                vec![of(F32, &[3, 2], &[2.0, 3.0, 3.0, 4.0, 5.0, 6.0])],
            ),
        ];
        let mut cases =
            for_dtypes(F32, &[F16, BF16, F64, Complex64, I8, I16, I32, I64, U8, U16, U32, U64], known);
        for reduce in [ScatterReduce::None, Sum, Prod, Max, Min] {
            // Slices that overlap, at places named by two index arrays.
            let (i, j) = (t(&[2, 2], &[0i32, 1, 1, -9]), t(&[2, 2], &[2i32, 1, -1, 2]));
            let numbers: Vec<f64> = (0..24).map(|i| f64::from((i * 3) % 7) - 2.0).collect();
            let (dst, updates) = (of(F64, &[3, 2, 4], &numbers), of(F64, &[2, 2, 2, 1, 2], &numbers[..16]));
            cases.push(Case::parity(scatter(&[0, 2], reduce), vec![dst, i, j, updates]));
        }
        let moved = vec![
            Case::new(
                assign(&[0]),
                vec![of(F32, &[2], &[0.0, 1.0]), t(&[], &[1i32]), of(F32, &[1], &[0.0])],
                vec![of(F32, &[2], &[0.0, 0.0])],
            ),
            Case::new(
                assign(&[]),
                vec![of(F32, &[], &[0.0]), of(F32, &[], &[1.0])],
                vec![of(F32, &[], &[1.0])],
            ),
        ];
        cases.extend(for_dtypes(F32, DType::ALL, moved));
        cases.extend([
            // A sum kept in bf16 would stop at 256.
            Case::new(
                scatter(&[0], Sum),
                vec![of(BF16, &[1], &[256.0]), t(&[64], &[0i32; 64]), of(BF16, &[64, 1], &[1.0; 64])],
                vec![of(BF16, &[1], &[320.0])],
            ),
            Case::refused(
                assign(&[0]),
                vec![dst(), t(&[2], &[0i32, 0]), of(F32, &[1, 1, 2], &[0.0; 2])],
                "before the slice must have shape [2], found [1, 1, 2]",
            ),
            Case::refused(
                assign(&[0]),
                vec![dst(), t(&[1], &[0i32]), of(F32, &[1, 2], &[0.0; 2])],
                "[2] does not fit in shape [3, 2]",
            ),
            Case::refused(
                assign(&[0]),
                vec![dst(), t(&[1], &[0i32]), of(F32, &[1, 1, 3], &[0.0; 3])],
                "[1, 3] does not fit in shape [3, 2]",
            ),
            Case::refused(
                assign(&[0]),
                vec![dst(), t(&[1], &[0i32]), of(F64, &[1, 1, 2], &[0.0; 2])],
                "f32 and f64",
            ),
            Case::refused(assign(&[0]), vec![dst(), of(F32, &[1, 2], &[0.0; 2])], "one per axis"),
            Case::refused(assign(&[]), vec![dst()], "one per axis"),
            Case::refused(
                scatter(&[0], Max),
                vec![of(DType::I4, &[1], &[1.0]), t(&[1], &[0i32]), of(DType::I4, &[1, 1], &[1.0])],
                "max is not defined for i4",
            ),
        ]);
        cases
    }
}
