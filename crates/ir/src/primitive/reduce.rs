use oneir_tensor::{Class, DType, HostTensor, Values};

use super::case::{for_dtypes, of, t};
use super::fields::Reduce;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules};
use super::transforms::{Applied, further};
use super::{Case, Primitive, ReduceOp, ScanOp, one};
use crate::invalid::{axes_within, exactly};
use crate::scalar::{BinaryOp, UnaryOp};
use crate::{Invalid, Place, Spec, Specs, Value, undone};

impl ReduceOp {
    /// The function that combines two elements.
    pub fn combine(self) -> BinaryOp {
        match self {
            ReduceOp::Sum => BinaryOp::Add,
            ReduceOp::Prod => BinaryOp::Multiply,
            ReduceOp::Max => BinaryOp::Maximum,
            ReduceOp::Min => BinaryOp::Minimum,
            ReduceOp::All => BinaryOp::LogicalAnd,
            ReduceOp::Any => BinaryOp::LogicalOr,
        }
    }

    /// The result of no elements, where there is one.
    pub fn identity(self) -> Option<f64> {
        match self {
            ReduceOp::Sum | ReduceOp::Any => Some(0.0),
            ReduceOp::Prod | ReduceOp::All => Some(1.0),
            ReduceOp::Max | ReduceOp::Min => None,
        }
    }

    /// The result's element type.
    pub fn result(self, dtype: DType) -> Result<DType, Invalid> {
        match (self, dtype.class()) {
            _ if !dtype.computes() => Err(Invalid::Undefined { op: self.name(), dtype }),
            (ReduceOp::All | ReduceOp::Any, _) => Ok(DType::Bool),
            (ReduceOp::Sum | ReduceOp::Prod, Class::Bool) => Ok(DType::I32),
            _ => Ok(dtype),
        }
    }
}

/// For every element of `shape` in row order, the place that it reduces into.
fn targets(shape: &[usize], axes: &[usize]) -> impl Iterator<Item = usize> {
    let mut strides = vec![0isize; shape.len()];
    let mut step = 1;
    for axis in (0..shape.len()).rev() {
        if !axes.contains(&axis) {
            strides[axis] = step;
            step *= shape[axis] as isize;
        }
    }
    let layout = oneir_tensor::Layout { offset: 0, shape: shape.into(), strides: strides.into() };
    layout.offsets().map(|at| at as usize).collect::<Vec<_>>().into_iter()
}

impl<'a> Reduce<'a> {
    /// A derivative of which each element of the input has its own factor.
    fn by_elements(
        &self,
        factors: impl Fn(&Applied<'_>) -> Result<Value, Invalid> + Copy + 'a,
    ) -> Derivative<'a> {
        let axes = self.axes;
        Derivative::Custom {
            jvp: Box::new(move |at, tangents| {
                let Some(tangent) = &tangents[0] else { return Ok(vec![None]) };
                Ok(vec![Some(tangent.multiply(&factors(at)?)?.reduce(ReduceOp::Sum, axes)?)])
            }),
            vjp: Box::new(move |at, cotangents| {
                let Some(cotangent) = &cotangents[0] else { return Ok(vec![None]) };
                let factors = factors(at)?;
                let factors = match factors.spec().dtype.is_complex() {
                    true => factors.unary(UnaryOp::Conjugate)?,
                    false => factors,
                };
                Ok(vec![Some(cotangent.broadcast(&factors.spec().shape)?.multiply(&factors)?)])
            }),
        }
    }
}

/// For each element the product of the others that reduce with it, which zeros
/// leave exact.
fn others(x: &Value, axes: &[usize]) -> Result<Value, Invalid> {
    let shape = &x.spec().shape;
    let kept: Vec<usize> = (0..shape.rank()).filter(|d| !axes.contains(d)).collect();
    let order: Vec<usize> = kept.iter().chain(axes).copied().collect();
    let turned = x.transpose(&order)?;
    let rows: usize = kept.iter().map(|&d| shape[d]).product();
    let line = turned.reshape(&[rows, axes.iter().map(|&d| shape[d]).product()])?;
    let products = |reverse| {
        let scan = Primitive::Scan { op: ScanOp::Prod, axis: 1, reverse, inclusive: false };
        Value::record(scan, &[&line], Place::Internal)
    };
    let both = products(false)?.multiply(&products(true)?)?.reshape(&turned.spec().shape)?;
    both.transpose(&undone(&order))
}

impl Rules for Reduce<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        axes_within(self.axes, x.rank())?;
        let mut shape = x.shape.clone();
        for &axis in self.axes {
            shape[axis] = 1;
        }
        let dtype = self.op.result(x.dtype)?;
        if self.op.identity().is_none()
            && shape.count() > 0
            && let Some(&axis) = self.axes.iter().find(|&&a| x.shape[a] == 0)
        {
            return Err(Invalid::EmptyExtreme { axis, shape: x.shape.to_vec() });
        }
        one(Spec::new(dtype, shape))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [x] = inputs else { return Err(Invalid::Arity { expected: "1", found: inputs.len() }.into()) };
        let spec = self.infer(&[&Spec::new(x.dtype(), x.shape().clone())])?.remove(0);
        let values = match self.op {
            ReduceOp::All | ReduceOp::Any => x.values()?.convert(DType::Bool),
            _ => x.values()?.convert(if x.dtype() == DType::Bool { spec.dtype } else { x.dtype() }),
        };
        let start = Values::Float(vec![self.op.identity().unwrap_or(0.0); spec.count()]);
        let mut out = start.convert(match values.class() {
            Class::Bool => DType::Bool,
            Class::Unsigned => DType::U64,
            Class::Signed => DType::I64,
            Class::Float => DType::F64,
            Class::Complex => DType::Complex64,
        });
        let mut empty = vec![self.op.identity().is_none(); spec.count()];
        macro_rules! fold {
            ($out:expr, $v:expr, $f:expr) => {
                for (to, &x) in targets(x.shape(), self.axes).zip($v) {
                    $out[to] = if std::mem::take(&mut empty[to]) { x } else { $f($out[to], x) };
                }
            };
        }
        match (&mut out, &values) {
            (Values::Float(out), Values::Float(v)) => match self.op {
                ReduceOp::Sum => fold!(out, v, |a: f64, b: f64| a + b),
                ReduceOp::Prod => fold!(out, v, |a: f64, b: f64| a * b),
                ReduceOp::Max => fold!(out, v, |a: f64, b: f64| if a.is_nan() || a > b { a } else { b }),
                _ => fold!(out, v, |a: f64, b: f64| if a.is_nan() || a < b { a } else { b }),
            },
            _ => {
                for (i, to) in targets(x.shape(), self.axes).enumerate() {
                    let item = values.select(&[i]);
                    let next = if std::mem::take(&mut empty[to]) {
                        Some(item)
                    } else {
                        self.op.combine().eval(&out.select(&[to]), &item)
                    };
                    out.set(to, &next.ok_or(Invalid::Undefined { op: self.op.name(), dtype: x.dtype() })?, 0);
                }
            }
        }
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &out.convert(spec.dtype))?])
    }

    fn nature(&self) -> Nature {
        Nature::Reduction
    }

    fn derivative(&self) -> Derivative<'_> {
        match self.op {
            ReduceOp::All | ReduceOp::Any => Derivative::Zero,
            ReduceOp::Sum => Derivative::linear_unary(|x, cotangent| cotangent.broadcast(&x.spec().shape)),
            ReduceOp::Prod => self.by_elements(|at| others(&at.inputs[0], self.axes)),
            ReduceOp::Max | ReduceOp::Min => self.by_elements(|at| {
                // Elements that tie share the change evenly.
                let (x, best) = (&at.inputs[0], at.outputs[0].broadcast(&at.inputs[0].spec().shape)?);
                let ties = x.binary(BinaryOp::Equal, &best)?.as_type(x.spec().dtype)?;
                ties.divide(&ties.reduce(ReduceOp::Sum, self.axes)?.broadcast(&x.spec().shape)?)
            }),
        }
    }

    fn batching(&self) -> Batching<'_> {
        Batching::with(|_, _| Ok(Primitive::Reduce { op: *self.op, axes: further(self.axes) }))
    }

    fn cases() -> Vec<Case> {
        use DType::{BF16, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let reduce = |op, axes: &[usize]| Primitive::Reduce { op, axes: axes.to_vec() };
        let x = || of(F32, &[2, 3], &[1.0, 5.0, 2.0, 4.0, 3.0, 0.0]);
        let known = vec![
            Case::new(reduce(ReduceOp::Sum, &[1]), vec![x()], vec![of(F32, &[2, 1], &[8.0, 7.0])]),
            Case::new(reduce(ReduceOp::Max, &[0]), vec![x()], vec![of(F32, &[1, 3], &[4.0, 5.0, 2.0])]),
            Case::new(reduce(ReduceOp::Min, &[0, 1]), vec![x()], vec![of(F32, &[1, 1], &[0.0])]),
            Case::new(reduce(ReduceOp::Prod, &[1]), vec![x()], vec![of(F32, &[2, 1], &[10.0, 0.0])]),
            Case::new(reduce(ReduceOp::Sum, &[]), vec![x()], vec![x()]),
        ];
        let mut cases = for_dtypes(F32, &[F16, BF16, F64, I8, I16, I32, I64, U8, U16, U32, U64], known);
        cases.extend([
            Case::new(
                reduce(ReduceOp::Sum, &[0]),
                vec![t(&[3], &[true, true, false])],
                vec![t(&[1], &[2i32])],
            ),
            Case::new(reduce(ReduceOp::Any, &[0]), vec![t(&[2], &[0f32, 0.5])], vec![t(&[1], &[true])]),
            Case::new(reduce(ReduceOp::All, &[0]), vec![t::<i32>(&[0], &[])], vec![t(&[1], &[true])]),
            Case::new(reduce(ReduceOp::Sum, &[0]), vec![t(&[2], &[200u8, 100])], vec![t(&[1], &[44u8])]),
            Case::new(
                reduce(ReduceOp::Sum, &[1]),
                vec![t::<f32>(&[2, 0], &[])],
                vec![t(&[2, 1], &[0f32, 0.0])],
            ),
            Case::new(
                reduce(ReduceOp::Max, &[1]),
                vec![t::<f32>(&[0, 0], &[])],
                vec![t::<f32>(&[0, 1], &[])],
            ),
            Case::new(
                reduce(ReduceOp::Max, &[0]),
                vec![t(&[2], &[1.0, f32::NAN])],
                vec![t(&[1], &[f32::NAN])],
            ),
            // A half-precision running sum would stop at 2048.
            Case::new(
                reduce(ReduceOp::Sum, &[0]),
                vec![of(F16, &[4096], &[1.0; 4096])],
                vec![of(F16, &[1], &[4096.0])],
            ),
            Case::refused(reduce(ReduceOp::Max, &[0]), vec![t::<f32>(&[0], &[])], "empty axis 0"),
            Case::refused(reduce(ReduceOp::Sum, &[1, 0]), vec![x()], "out of order"),
            Case::refused(reduce(ReduceOp::Sum, &[2]), vec![x()], "axis 2"),
        ]);
        cases.push(Case::parity(
            reduce(ReduceOp::Sum, &[0, 2]),
            vec![of(DType::Complex64, &[2, 2, 2], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])],
        ));
        cases
    }
}
