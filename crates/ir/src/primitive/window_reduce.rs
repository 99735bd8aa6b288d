use num_complex::Complex64;
use oneir_tensor::{Class, DType, HostTensor, Shape, TensorError, Values};

use super::case::{for_dtypes, of, t};
use super::fields::WindowReduce;
use super::rules::{Batching, Derivative, EvalError, Nature, Rules, zeros};
use super::sliding::{Sliding, per_dimension, steps};
use super::transforms::in_front;
use super::{Case, Primitive, ReduceOp, one};
use crate::invalid::exactly;
use crate::{Invalid, Place, Spec, Specs, Value};

impl WindowReduce<'_> {
    fn dims(&self, x: &Spec) -> Result<Vec<Sliding>, Invalid> {
        let rank = x.rank();
        per_dimension("window", self.window, rank)?;
        steps("strides", self.strides, rank)?;
        steps("dilations", self.dilations, rank)?;
        per_dimension("low", self.low, rank)?;
        per_dimension("high", self.high, rank)?;
        (0..rank)
            .map(|d| {
                Sliding::new(
                    d,
                    (x.shape[d], 1),
                    (self.low[d], self.high[d]),
                    (self.window[d], self.dilations[d]),
                    self.strides[d],
                )
            })
            .collect()
    }

    /// Where padding and windows begin: what changes no element of `dtype`
    /// that it is combined with.
    fn start(&self, dtype: DType) -> Values {
        let number = self.op.identity().unwrap_or(match self.op {
            ReduceOp::Max => f64::NEG_INFINITY,
            _ => f64::INFINITY,
        });
        match dtype.class() {
            Class::Complex if self.op.identity().is_none() => {
                Values::Complex(vec![Complex64::new(number, number)])
            }
            Class::Bool => Values::Bool(vec![number > 0.0]),
            _ => Values::Float(vec![number]).convert(dtype),
        }
    }
}

impl WindowReduce<'_> {
    /// What x gets of what sums of its windows got: each item the sum of all
    /// windows that see it. That is a sum of windows too, over what they got, as
    /// far apart as windows begin.
    fn spread(&self, dims: &[Sliding], x: &Value, cotangent: &Value) -> Result<Value, Invalid> {
        if dims.iter().any(|d| d.size == 0 || d.count == 0 || d.window == 0) {
            return x.filled_like(0.0);
        }
        let mut apart = cotangent.clone();
        let (mut low, mut high) = (Vec::new(), Vec::new());
        for (axis, dim) in dims.iter().enumerate() {
            if dim.stride > 1 {
                let len = (dim.count - 1) * dim.stride + 1;
                let shape = apart.spec().shape.with(axis, len);
                let zero =
                    Value::scalar_of(x.spec().dtype, &Values::Float(vec![0.0]).convert(x.spec().dtype))?;
                apart = zero.broadcast(&shape)?.with_steps(axis, 0, dim.stride as isize, &apart)?;
            }
            // The first item is seen by windows that begin up to a window's reach
            // before it; what lies beyond the first or last window is cut or padded.
            let before = ((dim.window - 1) * dim.dilation) as isize - dim.low;
            let after = dim.size as isize + dim.low - apart.size(axis) as isize;
            let (skip, cut) = ((-before).max(0) as usize, (-after).max(0) as usize);
            apart = apart.part(axis, skip, apart.size(axis) - skip - cut)?;
            low.push(before.max(0) as usize);
            high.push(after.max(0) as usize);
        }
        let sum = Primitive::WindowReduce {
            op: ReduceOp::Sum,
            window: self.window.clone(),
            strides: vec![1; dims.len()],
            low,
            high,
            dilations: dims.iter().map(|d| d.dilation).collect(),
        };
        Value::record(sum, &[&apart], Place::Internal)
    }

    /// x with two axes for each of its own: the windows, and the items of each.
    fn windows(&self, x: &Value) -> Result<Value, Invalid> {
        let dtype = x.spec().dtype;
        let start = Value::scalar_of(dtype, &self.start(dtype).convert(dtype))?;
        let mut x = x.clone();
        for (d, dim) in self.dims(x.spec())?.into_iter().enumerate() {
            let (axis, low) = (2 * d, dim.low as usize);
            // Windows apart from each other are a view; those that overlap are taken.
            let stride = if dim.count == 1 { dim.window } else { dim.stride };
            let view = dim.dilation == 1 && stride >= dim.window;
            let last = dim.count.saturating_sub(1) * stride;
            let reach = dim.window.saturating_sub(1) * dim.dilation + 1;
            let needed = if view { dim.count * stride } else { last + reach };
            x = x.padded(axis, low, needed.saturating_sub(low + dim.size), &start)?;
            let mut shape = x.spec().shape.to_vec();
            shape[axis] = dim.count;
            if view {
                x = x.part(axis, 0, needed)?;
                shape.insert(axis + 1, stride);
                x = x.reshape(&shape)?.part(axis + 1, 0, dim.window)?;
            } else {
                let place = |at: usize| (0..dim.window).map(move |tap| at * stride + tap * dim.dilation);
                let places: Vec<i64> = (0..dim.count).flat_map(place).map(|at| at as i64).collect();
                let indices = Value::along_axis(&places, axis, &x.spec().shape)?;
                shape.insert(axis + 1, dim.window);
                x = x.taken(axis, &indices)?.reshape(&shape)?;
            }
        }
        Ok(x)
    }
}

/// Reduces the windows of every dimension in turn.
fn fold<T: Copy + Default>(
    dims: &[Sliding],
    mut x: Vec<T>,
    start: T,
    combine: fn(T, T) -> T,
) -> Result<Vec<T>, TensorError> {
    let sizes = dims.iter().map(|d| d.size);
    let counts = dims.iter().map(|d| d.count);
    if sizes.clone().product::<usize>() == 0 || counts.clone().product::<usize>() == 0 {
        return Ok(zeros(counts.product())?.into_iter().map(|_: T| start).collect());
    }
    // What shrinks most comes first: nothing between is larger than x or the result.
    let mut order: Vec<usize> = (0..dims.len()).collect();
    order.sort_by_key(|&d| (dims[d].count as u128 * (1 << 64)) / dims[d].size as u128);
    let mut shape: Vec<usize> = sizes.collect();
    for d in order {
        let dim = dims[d];
        if dim.window == 1 && dim.count == dim.size && dim.stride == 1 && dim.low == 0 {
            continue;
        }
        shape[d] = dim.count;
        let inner: usize = shape[d + 1..].iter().product();
        let total = shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size));
        let mut out = zeros(total.ok_or(TensorError::OutOfMemory { bytes: usize::MAX })?)?;
        out.fill(start);
        for (out, x) in out.chunks_exact_mut(dim.count * inner).zip(x.chunks_exact(dim.size * inner)) {
            for (at, out) in out.chunks_exact_mut(inner).enumerate() {
                for tap in dim.taps(at) {
                    let item = (at * dim.stride + tap * dim.dilation).wrapping_add_signed(-dim.low);
                    for (out, x) in out.iter_mut().zip(&x[item * inner..]) {
                        *out = combine(*out, *x);
                    }
                }
            }
        }
        x = out;
    }
    Ok(x)
}

impl Rules for WindowReduce<'_> {
    fn infer(&self, inputs: &[&Spec]) -> Result<Specs, Invalid> {
        let [x] = exactly(inputs)?;
        let shape: Shape = self.dims(x)?.iter().map(|d| d.count).collect();
        let dtype = self.op.result(x.dtype)?;
        if self.op.identity().is_none() && !shape.contains(&0) && self.window.contains(&0) {
            return Err(Invalid::Parameter {
                parameter: "window",
                found: format!("{:?}", self.window),
                expected: "at least 1 item for an extreme",
            });
        }
        one(Spec::new(dtype, shape))
    }

    fn evaluate(&self, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, EvalError> {
        let [x] = inputs else { return Err(Invalid::Arity { expected: "1", found: inputs.len() }.into()) };
        let xs = Spec::of(x);
        let spec = self.infer(&[&xs])?.remove(0);
        spec.shape.checked_count(spec.dtype)?;
        let dims = self.dims(&xs)?;
        // `all` and `any` ask what is true; sums count it.
        let dtype = if matches!(self.op, ReduceOp::All | ReduceOp::Any) || x.dtype() == DType::Bool {
            spec.dtype
        } else {
            x.dtype()
        };
        let op = self.op.combine();
        let undefined = || Invalid::Undefined { op: self.op.name(), dtype };
        macro_rules! folded {
            ($class:ident, $x:expr, $start:expr, $combine:expr) => {
                Values::$class(fold(&dims, $x, $start[0], $combine.ok_or_else(undefined)?)?)
            };
        }
        let values = match (x.values()?.convert(dtype), self.start(dtype)) {
            (Values::Float(x), Values::Float(start)) => folded!(Float, x, start, op.on_floats()),
            (Values::Signed(x), Values::Signed(start)) => folded!(Signed, x, start, op.on_signed()),
            (Values::Unsigned(x), Values::Unsigned(start)) => folded!(Unsigned, x, start, op.on_unsigned()),
            (Values::Bool(x), Values::Bool(start)) => folded!(Bool, x, start, op.on_bools()),
            (x, start) => folded!(Complex, x.to_complex(), start.to_complex(), op.on_complex()),
        };
        Ok(vec![HostTensor::from_values(spec.dtype, &spec.shape, &values)?])
    }

    fn nature(&self) -> Nature {
        Nature::Reduction
    }

    fn derivative(&self) -> Derivative<'_> {
        match self.op {
            ReduceOp::All | ReduceOp::Any => Derivative::Zero,
            ReduceOp::Sum => {
                Derivative::linear_unary(|x, cotangent| self.spread(&self.dims(x.spec())?, x, cotangent))
            }
            _ => Derivative::Via(Box::new(|inputs| {
                let windows = self.windows(&inputs[0])?;
                let inside: Vec<usize> = (0..self.window.len()).map(|d| 2 * d + 1).collect();
                let counts: Vec<usize> = windows.spec().shape.iter().copied().step_by(2).collect();
                Ok(vec![windows.reduce(*self.op, &inside)?.reshape(&counts)?])
            })),
        }
    }

    fn batching(&self) -> Batching<'_> {
        Batching::with(|_, _| {
            Ok(Primitive::WindowReduce {
                op: *self.op,
                window: in_front(1, self.window),
                strides: in_front(1, self.strides),
                low: in_front(0, self.low),
                high: in_front(0, self.high),
                dilations: in_front(1, self.dilations),
            })
        })
    }

    fn cases() -> Vec<Case> {
        use DType::{BF16, Complex64, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
        let plain = |op, window: &[usize], strides: &[usize]| Primitive::WindowReduce {
            op,
            window: window.to_vec(),
            strides: strides.to_vec(),
            low: vec![0; window.len()],
            high: vec![0; window.len()],
            dilations: vec![1; window.len()],
        };
        let line = |op, window, stride, low, high, dilation| Primitive::WindowReduce {
            op,
            window: vec![window],
            strides: vec![stride],
            low: vec![low],
            high: vec![high],
            dilations: vec![dilation],
        };
        let x = || of(F32, &[5], &[3.0, 1.0, 2.0, 5.0, 4.0]);
        // 1, 2, 3, 1, 2, …
        let grid = || of(F32, &[1, 4, 5], &(0..20).map(|i| f64::from(i % 3 + 1)).collect::<Vec<_>>());
        let known = vec![
            Case::new(
                plain(ReduceOp::Max, &[1, 2, 3], &[1, 2, 1]),
                vec![grid()],
                vec![of(F32, &[1, 2, 3], &[3.0; 6])],
            ),
            Case::new(
                plain(ReduceOp::Sum, &[1, 2, 3], &[1, 2, 2]),
                vec![grid()],
                vec![of(F32, &[1, 2, 2], &[12.0; 4])],
            ),
            Case::new(
                plain(ReduceOp::Prod, &[1, 3, 2], &[1, 1, 3]),
                vec![grid()],
                vec![of(F32, &[1, 2, 2], &[36.0; 4])],
            ),
            Case::new(line(ReduceOp::Max, 3, 2, 1, 1, 1), vec![x()], vec![of(F32, &[3], &[3.0, 5.0, 5.0])]),
            Case::new(
                line(ReduceOp::Min, 2, 1, 1, 2, 2),
                vec![x()],
                vec![of(F32, &[6], &[1.0, 2.0, 1.0, 2.0, 5.0, 4.0])],
            ),
            Case::new(
                line(ReduceOp::Sum, 2, 1, 1, 2, 2),
                vec![x()],
                vec![of(F32, &[6], &[1.0, 5.0, 6.0, 6.0, 5.0, 4.0])],
            ),
            // Windows of padding alone, and of nothing.
            Case::new(
                line(ReduceOp::Prod, 1, 1, 1, 0, 1),
                vec![of(F32, &[1], &[3.0])],
                vec![of(F32, &[2], &[1.0, 3.0])],
            ),
            Case::new(line(ReduceOp::Sum, 0, 2, 0, 0, 1), vec![x()], vec![of(F32, &[3], &[0.0; 3])]),
            Case::new(
                line(ReduceOp::Sum, 2, 1, 1, 1, 1),
                vec![of(F32, &[0], &[])],
                vec![of(F32, &[1], &[0.0])],
            ),
            Case::new(line(ReduceOp::Max, 2, 1, 0, 0, 1), vec![of(F32, &[0], &[])], vec![of(F32, &[0], &[])]),
            Case::new(plain(ReduceOp::Max, &[], &[]), vec![of(F32, &[], &[2.0])], vec![of(F32, &[], &[2.0])]),
        ];
        let mut cases = for_dtypes(F32, &[BF16, F16, F64, I8, I16, I32, I64, U8, U16, U32, U64], known);
        // Zeros, ties and windows that overlap, lie apart or leave gaps.
        for op in [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min] {
            let numbers: Vec<f64> = (0..36).map(|i| f64::from((i * 5) % 8) / 2.0 - 1.0).collect();
            for (strides, low, high, dilations) in [
                (vec![1, 1], vec![1, 0], vec![0, 1], vec![1, 2]),
                (vec![2, 3], vec![0, 1], vec![0, 2], vec![1, 1]),
                (vec![3, 2], vec![0, 0], vec![1, 0], vec![2, 1]),
                (vec![9, 9], vec![0, 0], vec![0, 0], vec![5, 4]),
            ] {
                let reduce =
                    Primitive::WindowReduce { op, window: vec![2, 2], strides, low, high, dilations };
                cases.push(Case::parity(reduce, vec![of(F64, &[6, 6], &numbers)]));
            }
        }
        let padded = |op| line(op, 1, 1, 1, 0, 1);
        cases.extend([
            Case::new(
                padded(ReduceOp::Max),
                vec![t(&[1], &[1f32])],
                vec![t(&[2], &[f32::NEG_INFINITY, 1.0])],
            ),
            Case::new(padded(ReduceOp::Min), vec![t(&[1], &[1f32])], vec![t(&[2], &[f32::INFINITY, 1.0])]),
            Case::new(padded(ReduceOp::Max), vec![t(&[1], &[1i8])], vec![t(&[2], &[i8::MIN, 1])]),
            Case::new(padded(ReduceOp::Min), vec![t(&[1], &[1u16])], vec![t(&[2], &[u16::MAX, 1])]),
            Case::new(
                padded(ReduceOp::Max),
                vec![t(&[1], &[i64::MAX])],
                vec![t(&[2], &[i64::MIN, i64::MAX])],
            ),
            Case::new(padded(ReduceOp::Max), vec![t(&[1], &[true])], vec![t(&[2], &[false, true])]),
            Case::new(padded(ReduceOp::Sum), vec![t(&[1], &[true])], vec![t(&[2], &[0i32, 1])]),
            Case::new(padded(ReduceOp::All), vec![t(&[1], &[0f32])], vec![t(&[2], &[true, false])]),
            Case::new(padded(ReduceOp::Any), vec![t(&[1], &[3u8])], vec![t(&[2], &[false, true])]),
            Case::new(
                line(ReduceOp::Max, 2, 1, 0, 0, 1),
                vec![t(&[3], &[f32::NAN, 1.0, 2.0])],
                vec![t(&[2], &[f32::NAN, 2.0])],
            ),
            Case::new(
                line(ReduceOp::Sum, 2, 1, 0, 0, 1),
                vec![t(&[2], &[200u8, 100])],
                vec![t(&[1], &[44u8])],
            ),
            Case::new(
                line(ReduceOp::Sum, 4096, 1, 0, 0, 1),
                vec![of(F16, &[4096], &[1.0; 4096])],
                vec![of(F16, &[1], &[4096.0])],
            ),
            // Far more padding than items costs no more than its results.
            Case::new(
                line(ReduceOp::Sum, 1 << 40, 1, (1 << 40) - 1, 0, 1),
                vec![t(&[2], &[1f32, 2.0])],
                vec![t(&[2], &[1f32, 3.0])],
            ),
            Case::parity(
                line(ReduceOp::Sum, 3, 2, 1, 1, 1),
                vec![of(Complex64, &[5], &[1.0, 2.0, 3.0, 4.0, 5.0])],
            ),
            Case::refused(line(ReduceOp::Max, 0, 1, 0, 0, 1), vec![x()], "window = [0] is not valid"),
            Case::refused(
                line(ReduceOp::Sum, 6, 1, 0, 0, 1),
                vec![x()],
                "spans 6 does not fit axis 0, which spans 5",
            ),
            Case::refused(line(ReduceOp::Sum, 1, 0, 0, 0, 1), vec![x()], "strides = [0]"),
            Case::refused(line(ReduceOp::Sum, 3, 1, 0, 0, usize::MAX), vec![x()], "small enough"),
            Case::refused(plain(ReduceOp::Sum, &[1, 1], &[1, 1]), vec![x()], "one value for each"),
        ]);
        let image: Vec<f64> = (0..2 * 3 * 11 * 10).map(|i| f64::from((i * 7) % 23) / 4.0 - 2.0).collect();
        for op in [ReduceOp::Max, ReduceOp::Sum] {
            let pooled = Primitive::WindowReduce {
                op,
                window: vec![1, 1, 3, 2],
                strides: vec![1, 1, 2, 2],
                low: vec![0, 0, 1, 0],
                high: vec![0, 0, 1, 1],
                dilations: vec![1, 1, 1, 2],
            };
            let image = of(F32, &[2, 3, 11, 10], &image);
            cases.extend(for_dtypes(F32, &[F16, BF16, I32], vec![Case::parity(pooled, vec![image])]));
        }
        cases
    }
}
