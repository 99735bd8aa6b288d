use num_complex::Complex64;
use oneir_tensor::{Class, DType, HostTensor, Values};

use super::case::{for_dtypes, of, t};
use super::fields::Scan;
use super::lanes::Lanes;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::{Case, Primitive, ScanOp, one};
use crate::invalid::{axis_within, exactly};
use crate::scalar::BinaryOp;
use crate::{Invalid, Place, Spec, Specs, Value};

impl ScanOp {
    /// The function that combines two elements.
    pub fn combine(self) -> BinaryOp {
        match self {
            ScanOp::Sum => BinaryOp::Add,
            ScanOp::Prod => BinaryOp::Multiply,
            ScanOp::Max => BinaryOp::Maximum,
            ScanOp::Min => BinaryOp::Minimum,
            ScanOp::LogAddExp => BinaryOp::LogAddExp,
        }
    }

    /// The result's element type: truth values are counted in i32.
    ///
    /// # Errors
    /// When the scan is not defined for `dtype`.
    pub fn result(self, dtype: DType) -> Result<DType, Invalid> {
        self.combine().result(dtype)?;
        Ok(if (self, dtype) == (ScanOp::Sum, DType::Bool) { DType::I32 } else { dtype })
    }

    /// The combination of no elements of `dtype`: one value, in the widest
    /// type of its class.
    pub fn identity(self, dtype: DType) -> Values {
        let number = match self {
            ScanOp::Sum => 0.0,
            ScanOp::Prod => 1.0,
            ScanOp::Max | ScanOp::LogAddExp => f64::NEG_INFINITY,
            ScanOp::Min => f64::INFINITY,
        };
        match dtype.class() {
            Class::Bool => Values::Bool(vec![number > 0.0]),
            Class::Complex if number.is_infinite() => Values::Complex(vec![Complex64::new(number, number)]),
            _ => Values::Float(vec![number]).convert(dtype),
        }
    }
}

impl Scan<'_> {
    /// The scan from the first item on, as a graph that has derivatives.
    fn forward(&self, x: &Value) -> Result<Value, Invalid> {
        let (axis, dtype) = (*self.axis, x.spec().dtype);
        let whole = match self.op {
            ScanOp::Max | ScanOp::Min => x.taken(axis, &self.winners(x)?)?,
            // Halves combine in f32, as the scan itself does.
            _ if dtype.is_half() => {
                x.as_type(DType::F32)?.combined_so_far(axis, self.op.combine())?.as_type(dtype)?
            }
            _ => x.combined_so_far(axis, self.op.combine())?,
        };
        if *self.inclusive {
            return Ok(whole);
        }
        let start = Value::scalar_of(dtype, &self.op.identity(dtype).convert(dtype))?;
        whole.part(axis, 0, x.size(axis) - 1)?.padded(axis, 1, 0, &start)
    }

    /// Where the extreme so far stands: of equal ones, the first.
    fn winners(&self, x: &Value) -> Result<Value, Invalid> {
        let (op, axis) = (*self.op, *self.axis);
        let scan = |op, x: &Value, inclusive| {
            Value::record(Primitive::Scan { op, axis, reverse: false, inclusive }, &[x], Place::Internal)
        };
        let x = x.held()?;
        let better = if op == ScanOp::Max { BinaryOp::Greater } else { BinaryOp::Less };
        let new = x.binary(better, &scan(op, &x, false)?)?;
        let place = Value::counted(DType::I64, &x.spec().shape, axis)?;
        scan(ScanOp::Max, &new.select(&place, &place.filled_like(0.0)?)?, true)
    }
}

impl Rules for Scan<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        axis_within(*self.axis, x.rank())?;
        one(x.with_dtype(self.op.result(x.dtype)?))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let spec = self.results(inputs)?.remove(0);
        let mut values = inputs[0].values()?;
        if inputs[0].dtype() != spec.dtype {
            values = values.convert(spec.dtype);
        }
        let combine = |so_far: &Values, at: usize| {
            let undefined = Invalid::Undefined { op: self.op.name(), dtype: spec.dtype };
            self.op.combine().eval(so_far, &values.select(&[at])).ok_or(undefined)
        };
        let mut out = Values::zeros(values.class(), values.len());
        for lane in Lanes::new(&spec.shape, *self.axis).iter() {
            let places: Vec<usize> =
                if *self.reverse { lane.places().rev().collect() } else { lane.places().collect() };
            let mut so_far = self.op.identity(spec.dtype);
            for (k, &at) in places.iter().enumerate() {
                // The first element alone keeps the sign of its zero.
                let next = if k == 0 { values.select(&[at]) } else { combine(&so_far, at)? };
                out.set(at, if *self.inclusive { &next } else { &so_far }, 0);
                so_far = next;
            }
        }
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &out.convert(spec.dtype))?])
    }

    fn nature(&self) -> Nature {
        Nature::Opaque
    }

    fn derivative(&self) -> Derivative<'_> {
        let axis = *self.axis;
        if *self.op == ScanOp::Sum {
            return Derivative::linear_unary(|_, cotangent| {
                let back = Primitive::Scan {
                    op: ScanOp::Sum,
                    axis: *self.axis,
                    reverse: !self.reverse,
                    inclusive: *self.inclusive,
                };
                Value::record(back, &[cotangent], Place::Internal)
            });
        }
        Derivative::Via(Box::new(move |inputs| {
            let x = &inputs[0];
            if x.spec().count() == 0 {
                return Ok(vec![x.clone()]);
            }
            let turned = if *self.reverse { x.flipped(axis)? } else { x.clone() };
            let found = self.forward(&turned)?;
            Ok(vec![if *self.reverse { found.flipped(axis)? } else { found }])
        }))
    }

    fn batching(&self) -> Batching<'_> {
        Batching::with(|_, _| {
            let (op, reverse, inclusive) = (*self.op, *self.reverse, *self.inclusive);
            Ok(Primitive::Scan { op, axis: self.axis + 1, reverse, inclusive })
        })
    }

    fn cases() -> Vec<Case> {
        use DType::{BF16, Bool, Complex64, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        use ScanOp::{LogAddExp, Max, Min, Prod, Sum};
        let scan = |op, axis, reverse, inclusive| Primitive::Scan { op, axis, reverse, inclusive };
        let case = |op, reverse, inclusive, out: &[f64]| {
            Case::new(
                scan(op, 0, reverse, inclusive),
                vec![of(F32, &[4], &[1.0, 0.0, 3.0, 2.0])],
                vec![of(F32, &[4], out)],
            )
        };
        let known = vec![
            case(Sum, false, true, &[1.0, 1.0, 4.0, 6.0]),
            case(Sum, false, false, &[0.0, 1.0, 1.0, 4.0]),
            case(Sum, true, true, &[6.0, 5.0, 5.0, 2.0]),
            case(Sum, true, false, &[5.0, 5.0, 2.0, 0.0]),
            case(Prod, false, true, &[1.0, 0.0, 0.0, 0.0]),
            case(Prod, false, false, &[1.0, 1.0, 0.0, 0.0]),
            case(Prod, true, true, &[0.0, 0.0, 6.0, 2.0]),
            case(Prod, true, false, &[0.0, 6.0, 2.0, 1.0]),
            case(Max, false, true, &[1.0, 1.0, 3.0, 3.0]),
            case(Max, true, true, &[3.0, 3.0, 3.0, 2.0]),
            case(Min, false, true, &[1.0, 0.0, 0.0, 0.0]),
            case(Min, true, true, &[0.0, 0.0, 2.0, 2.0]),
            Case::new(
                scan(Sum, 0, false, true),
                vec![of(F32, &[2, 2], &[1.0, 2.0, 3.0, 4.0])],
                vec![of(F32, &[2, 2], &[1.0, 2.0, 4.0, 6.0])],
            ),
            Case::new(
                scan(Sum, 1, true, true),
                vec![of(F32, &[2, 2], &[1.0, 2.0, 3.0, 4.0])],
                vec![of(F32, &[2, 2], &[3.0, 2.0, 7.0, 4.0])],
            ),
            Case::new(scan(Max, 1, false, true), vec![of(F32, &[2, 0], &[])], vec![of(F32, &[2, 0], &[])]),
            Case::new(scan(Prod, 1, true, false), vec![of(F32, &[0, 2], &[])], vec![of(F32, &[0, 2], &[])]),
        ];
        let mut cases =
            for_dtypes(F32, &[F16, BF16, F64, Complex64, I8, I16, I32, I64, U8, U16, U32, U64], known);
        let (nan, inf) = (f64::NAN, f64::INFINITY);
        for dtype in [F16, BF16, F32, F64] {
            let one = |op, inclusive, x: &[f64], out: &[f64]| {
                let n = x.len();
                Case::new(scan(op, 0, false, inclusive), vec![of(dtype, &[n], x)], vec![of(dtype, &[n], out)])
            };
            cases.extend([
                one(Max, false, &[1.0, 0.0, 3.0], &[-inf, 1.0, 1.0]),
                one(Min, false, &[1.0, 0.0, 3.0], &[inf, 1.0, 0.0]),
                one(LogAddExp, false, &[1.0, nan, 3.0], &[-inf, 1.0, nan]),
                one(LogAddExp, true, &[-inf, -inf, 2.0, inf, 1.0], &[-inf, -inf, 2.0, inf, inf]),
                one(Max, true, &[1.0, nan, 3.0], &[1.0, nan, nan]),
                one(Min, true, &[1.0, nan, 3.0], &[1.0, nan, nan]),
                one(Sum, true, &[1.0, inf, -inf], &[1.0, inf, nan]),
            ]);
        }
        for dtype in [I8, I16, I32, I64, U8, U16, U32, U64] {
            let extreme = |number: f64| Values::Float(vec![number]).convert(dtype);
            for (op, start) in [(Max, -inf), (Min, inf)] {
                let start = HostTensor::from_values(dtype, &[1], &extreme(start));
                let start = start.unwrap_or_else(|e| panic!("a case's tensor: {e}"));
                cases.push(Case::new(scan(op, 0, true, false), vec![of(dtype, &[1], &[3.0])], vec![start]));
            }
        }
        let numbers: Vec<f64> = (0..28).map(|i| f64::from((i * 5) % 9) / 4.0 - 1.0).collect();
        for op in [Sum, Prod, Max, Min, LogAddExp] {
            for (reverse, inclusive) in [(false, true), (false, false), (true, true), (true, false)] {
                cases
                    .push(Case::parity(scan(op, 1, reverse, inclusive), vec![of(F64, &[2, 7, 2], &numbers)]));
            }
        }
        let bools = |op, inclusive, out| {
            Case::new(scan(op, 0, false, inclusive), vec![of(Bool, &[3], &[1.0, 0.0, 1.0])], vec![out])
        };
        let c = oneir_tensor::Complex32::new;
        let low = f32::NEG_INFINITY;
        cases.extend([
            bools(Sum, true, t(&[3], &[1i32, 1, 2])),
            bools(Sum, false, t(&[3], &[0i32, 1, 1])),
            bools(Prod, true, t(&[3], &[true, false, false])),
            bools(Prod, false, t(&[3], &[true, true, false])),
            bools(Max, false, t(&[3], &[false, true, true])),
            bools(Min, false, t(&[3], &[true, true, false])),
            Case::new(
                scan(LogAddExp, 0, false, true),
                vec![t(&[4], &[1f32, 0.0, 3.0, 2.0])],
                vec![t(&[4], &[1f32, 1.313_261_7, 3.169_846, 3.440_189_8])],
            ),
            Case::new(
                scan(Sum, 0, false, true),
                vec![t(&[3], &[200u8, 100, 7])],
                vec![t(&[3], &[200u8, 44, 51])],
            ),
            Case::new(
                scan(Prod, 0, false, true),
                vec![t(&[3], &[100i8, 100, -7])],
                vec![t(&[3], &[100i8, 16, -112])],
            ),
            Case::new(
                scan(Sum, 0, false, true),
                vec![t(&[2], &[i64::MAX, 2])],
                vec![t(&[2], &[i64::MAX, i64::MIN + 1])],
            ),
            Case::new(
                scan(Prod, 0, false, true),
                vec![t(&[2], &[c(1.0, 1.0), c(0.0, 1.0)])],
                vec![t(&[2], &[c(1.0, 1.0), c(-1.0, 1.0)])],
            ),
            Case::new(
                scan(Max, 0, false, false),
                vec![t(&[3], &[c(1.0, 1.0), c(1.0, 2.0), c(0.0, 9.0)])],
                vec![t(&[3], &[c(low, low), c(1.0, 1.0), c(1.0, 2.0)])],
            ),
            // A sum kept in f16 would stop at 2048.
            Case::new(
                scan(Sum, 0, true, true),
                vec![of(F16, &[4096], &[1.0; 4096])],
                vec![of(F16, &[4096], &(0..4096).map(|i| f64::from(4096 - i)).collect::<Vec<_>>())],
            ),
            Case::refused(scan(Sum, 1, false, true), vec![t(&[2], &[1i32, 2])], "axis 1"),
            Case::refused(
                scan(LogAddExp, 0, false, true),
                vec![t(&[1], &[1i32])],
                "logaddexp is not defined for i32",
            ),
            Case::new(
                scan(LogAddExp, 0, false, true),
                vec![t(&[2], &[c(1.0, 2.0), c(f32::NEG_INFINITY, 0.0)])],
                vec![t(&[2], &[c(1.0, 2.0), c(1.0, 2.0)])],
            ),
            Case::refused(scan(Sum, 0, false, true), vec![of(DType::U2, &[1], &[1.0])], "not defined for u2"),
        ]);
        cases
    }
}
