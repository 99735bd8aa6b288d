use oneir_tensor::{DType, HostTensor, Values};

use super::case::{for_dtypes, of, t};
use super::fields::ScatterAxis;
use super::gather_axis::indices_along;
use super::indices::from_either_end;
use super::lanes::Lanes;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::scattering::{self, Scattering};
use super::{Case, Primitive, ScatterReduce, one};
use crate::invalid::{exactly, same_dtype, shape_is};
use crate::scalar::BinaryOp;
use crate::{Invalid, Spec, Specs};

impl ScatterReduce {
    /// The function that combines what is there with an update; `None` where
    /// the update replaces it.
    pub fn combine(self) -> Option<BinaryOp> {
        match self {
            ScatterReduce::None => None,
            ScatterReduce::Sum => Some(BinaryOp::Add),
            ScatterReduce::Prod => Some(BinaryOp::Multiply),
            ScatterReduce::Max => Some(BinaryOp::Maximum),
            ScatterReduce::Min => Some(BinaryOp::Minimum),
        }
    }

    /// Refuses what the combination is not defined for.
    pub(super) fn check(self, dst: &Spec, updates: &Spec) -> Result<(), Invalid> {
        same_dtype(dst, updates)?;
        match self.combine() {
            Some(op) => op.result(dst.dtype).map(|_| ()),
            None => Ok(()),
        }
    }

    /// Puts element `from` of `updates` at place `at`.
    pub(super) fn put(self, out: &mut Values, at: usize, updates: &Values, from: usize) {
        let combined = self.combine().and_then(|op| op.eval(&out.select(&[at]), &updates.select(&[from])));
        match combined {
            Some(value) => out.set(at, &value, 0),
            None => out.set(at, updates, from),
        }
    }

    /// What kind of operation a scatter with this combination is.
    pub(super) fn nature(self) -> Nature {
        if self == ScatterReduce::None { Nature::Movement } else { Nature::Opaque }
    }
}

impl Rules for ScatterAxis<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [dst, indices, updates] = exactly(inputs)?;
        indices_along(indices, dst, *self.axis)?;
        shape_is("the updates", updates, &indices.shape)?;
        self.reduce.check(dst, updates)?;
        one(dst.clone())
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let spec = self.results(inputs)?.remove(0);
        let (dst, indices, updates) = (&inputs[0], &inputs[1], &inputs[2]);
        let chosen = from_either_end(&indices.values()?, spec.shape[*self.axis], 1);
        let (mut out, new) = (dst.values()?, updates.values()?);
        let (from, to) = (Lanes::new(updates.shape(), *self.axis), Lanes::new(&spec.shape, *self.axis));
        for (from, to) in from.iter().zip(to.iter()) {
            for at in from.places() {
                self.reduce.put(&mut out, to.at(chosen[at]), &new, at);
            }
        }
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &out)?])
    }

    fn nature(&self) -> Nature {
        self.reduce.nature()
    }

    fn derivative(&self) -> Derivative<'_> {
        scattering::derivative(*self.reduce, 2, move |at| Scattering {
            gather: Primitive::GatherAxis { axis: *self.axis },
            scatter: Box::new(move |reduce| Primitive::ScatterAxis { axis: *self.axis, reduce }),
            axis: *self.axis,
            indices: vec![at.inputs[1].clone()],
        })
    }

    fn batching(&self) -> Batching<'_> {
        Batching::with(|_, _| Ok(Primitive::ScatterAxis { axis: self.axis + 1, reduce: *self.reduce }))
    }

    fn cases() -> Vec<Case> {
        use DType::{BF16, Bool, Complex64, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        use ScatterReduce::{Max, Min, Prod, Sum};
        let scatter = |axis, reduce| Primitive::ScatterAxis { axis, reduce };
        let assign = |axis| scatter(axis, ScatterReduce::None);
        let dst = || of(F32, &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let indices = || t(&[2, 2], &[0i32, -1, 1, 1]);
        let updates = || of(F32, &[2, 2], &[7.0, 2.0, 6.0, 3.0]);
        let given = |reduce, out: &[f64]| {
            Case::new(scatter(1, reduce), vec![dst(), indices(), updates()], vec![of(F32, &[2, 3], out)])
        };
        let known = vec![
            given(ScatterReduce::None, &[7.0, 2.0, 2.0, 4.0, 3.0, 6.0]),
            given(Sum, &[8.0, 2.0, 5.0, 4.0, 14.0, 6.0]),
            given(Prod, &[7.0, 2.0, 6.0, 4.0, 90.0, 6.0]),
            given(Max, &[7.0, 2.0, 3.0, 4.0, 6.0, 6.0]),
            given(Min, &[1.0, 2.0, 2.0, 4.0, 3.0, 6.0]),
        ];
        let mut cases =
            for_dtypes(F32, &[F16, BF16, F64, Complex64, I8, I16, I32, I64, U8, U16, U32, U64], known);
        let moved = vec![
            Case::new(
                assign(0),
                vec![
                    of(F32, &[2, 2], &[0.0, 1.0, 1.0, 0.0]),
                    t(&[1, 2], &[1u8, 9]),
                    of(F32, &[1, 2], &[0.0, 1.0]),
                ],
                vec![of(F32, &[2, 2], &[0.0, 1.0, 0.0, 1.0])],
            ),
            Case::new(
                assign(0),
                vec![of(F32, &[2], &[0.0, 1.0]), t::<i64>(&[0], &[]), of(F32, &[0], &[])],
                vec![of(F32, &[2], &[0.0, 1.0])],
            ),
            Case::new(
                assign(0),
                vec![of(F32, &[0, 2], &[]), t::<i64>(&[0, 2], &[]), of(F32, &[0, 2], &[])],
                vec![of(F32, &[0, 2], &[])],
            ),
        ];
        cases.extend(for_dtypes(F32, DType::ALL, moved));
        for reduce in [ScatterReduce::None, Sum, Prod, Max, Min] {
            // Repeats along the middle axis, with zeros among them.
            let indices = t(&[2, 5, 2], &[0i32, 2, 1, 2, -3, 0, 0, 1, 9, 2, 1, 1, 1, -1, 1, 0, 0, 0, 2, 0]);
            let numbers: Vec<f64> = (0..20).map(|i| f64::from((i * 3) % 7) - 2.0).collect();
            let dst = of(F64, &[2, 3, 2], &numbers[..12]);
            cases.push(Case::parity(scatter(1, reduce), vec![dst, indices, of(F64, &[2, 5, 2], &numbers)]));
        }
        let bools = |reduce, out: [bool; 2]| {
            Case::new(
                scatter(0, reduce),
                vec![t(&[2], &[true, false]), t(&[2], &[0i32, 1]), of(Bool, &[2], &[0.0, 1.0])],
                vec![t(&[2], &out)],
            )
        };
        cases.extend([
            bools(Sum, [true, true]),
            bools(Prod, [false, false]),
            bools(Max, [true, true]),
            bools(Min, [false, false]),
            Case::new(
                scatter(0, Sum),
                vec![t(&[1], &[200u8]), t(&[2], &[0i32, 0]), t(&[2], &[100u8, 1])],
                vec![t(&[1], &[45u8])],
            ),
            Case::new(
                scatter(0, Max),
                vec![t(&[2], &[1f32, f32::NAN]), t(&[2], &[0i32, 1]), t(&[2], &[f32::NAN, 1.0])],
                vec![t(&[2], &[f32::NAN, f32::NAN])],
            ),
            // A sum kept in f16 would stop at 2048.
            Case::new(
                scatter(0, Sum),
                vec![of(F16, &[1], &[2048.0]), t(&[64], &[0i32; 64]), of(F16, &[64], &[1.0; 64])],
                vec![of(F16, &[1], &[2112.0])],
            ),
            Case::refused(
                assign(1),
                vec![dst(), indices(), of(F32, &[2, 1], &[0.0; 2])],
                "the updates must have shape [2, 2], found [2, 1]",
            ),
            Case::refused(
                assign(0),
                vec![dst(), indices(), updates()],
                "the indices must have shape [2, 3], found [2, 2]",
            ),
            Case::refused(assign(1), vec![dst(), indices(), of(F64, &[2, 2], &[0.0; 4])], "f32 and f64"),
            Case::refused(
                scatter(0, Sum),
                vec![of(DType::U4, &[1], &[1.0]), t(&[1], &[0i32]), of(DType::U4, &[1], &[1.0])],
                "add is not defined for u4",
            ),
            Case::refused(
                assign(0),
                vec![of(F32, &[0], &[]), t(&[1], &[0i32]), of(F32, &[1], &[0.0])],
                "does not fit in shape [0]",
            ),
        ]);
        cases
    }
}
