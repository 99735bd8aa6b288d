//! Numbers at even distances, and windows of signals.

use std::f64::consts::PI;
use std::ops::Range;

use oneir_ir::{BinaryOp, Place, UnaryOp, Value};
use oneir_tensor::DType;

use crate::operand::Number;
use crate::record::{Record, Recorded};
use crate::{Array, Reason};

mod sealed {
    pub trait Bounds {
        /// The first number, the end, and the way from each to the next.
        fn bounds(self) -> [super::Number; 3];
    }
}

/// What [`Array::arange`] counts: `stop`, `start..stop`, or `(start, stop, step)`, in
/// integers or floats.
pub trait Counting: sealed::Bounds {}

impl<T: sealed::Bounds> Counting for T {}

macro_rules! counting {
    ($($t:ty)*) => {
        $(
            impl sealed::Bounds for $t {
                fn bounds(self) -> [Number; 3] {
                    [Number::Int(0), self.into(), Number::Int(1)]
                }
            }
            impl sealed::Bounds for Range<$t> {
                fn bounds(self) -> [Number; 3] {
                    [self.start.into(), self.end.into(), Number::Int(1)]
                }
            }
            impl sealed::Bounds for ($t, $t, $t) {
                fn bounds(self) -> [Number; 3] {
                    [self.0.into(), self.1.into(), self.2.into()]
                }
            }
        )*
    };
}

counting!(i32 i64 isize u32 u64 usize f32 f64);

fn float(number: Number) -> f64 {
    match number {
        Number::Int(n) => n as f64,
        Number::Float(x) => x,
        _ => f64::NAN,
    }
}

/// How many numbers lie from a start up to an end.
fn length([start, stop, step]: [Number; 3]) -> Result<usize, Reason> {
    let wrong = |what: &str| Reason::Parameters(format!("from {start} to {stop} by {step}: {what}"));
    if float(step) == 0.0 {
        return Err(wrong("the step must not be 0"));
    }
    let steps = match (start, stop, step) {
        (Number::Int(start), Number::Int(stop), Number::Int(step)) => {
            let way = stop - start;
            let (way, step) = if step < 0 { (-way, -step) } else { (way, step) };
            (way.max(0) + step - 1) / step
        }
        _ => {
            let steps = ((float(stop) - float(start)) / float(step)).ceil();
            if !steps.is_finite() {
                return Err(wrong("the numbers cannot be counted"));
            }
            steps.max(0.0) as i128
        }
    };
    usize::try_from(steps).map_err(|_| wrong("there are too many numbers"))
}

/// `start + i · step` for i from 0 to below `n`.
fn counted(at: &Place, start: Number, step: Number, n: usize, dtype: DType) -> Recorded {
    let plain = float(start) == 0.0 && float(step) == 1.0;
    if plain && dtype != DType::Bool {
        return at.iota(&[n], 0, dtype);
    }
    if dtype.is_inexact() {
        // In f64, which is rounded once.
        let numbers = at.with(BinaryOp::Multiply, &at.iota(&[n], 0, DType::F64)?, float(step))?;
        return at.cast(&at.with(BinaryOp::Add, &numbers, float(start))?, dtype);
    }
    // As the elements of the dtype themselves are counted: 0, 0.5, … in integers stays at 0.
    let whole = |x: f64| Number::Int(x as i128);
    let (start, step) = match (start, step) {
        (Number::Int(_), Number::Int(_)) => (start, step),
        _ => {
            let (from, next) = (float(start).trunc(), (float(start) + float(step)).trunc());
            (whole(from), whole(next - from))
        }
    };
    let wide = if dtype == DType::Bool { DType::I64 } else { dtype };
    let held = |number: Number| number.held(Some(wide)).map(Value::constant);
    let steps = at.binary(BinaryOp::Multiply, &at.iota(&[n], 0, wide)?, &held(step)?)?;
    at.cast(&at.binary(BinaryOp::Add, &steps, &held(start)?)?, dtype)
}

/// The dtype of numbers that none was given for.
fn own_dtype(bounds: [Number; 3]) -> DType {
    let held = |bound: &Number| match bound {
        Number::Int(n) => i32::try_from(*n).is_ok(),
        _ => false,
    };
    match bounds {
        [Number::Int(_), Number::Int(_), Number::Int(_)] if bounds.iter().all(held) => DType::I32,
        [Number::Int(_), Number::Int(_), Number::Int(_)] => DType::I64,
        _ => DType::F32,
    }
}

impl Array {
    /// The numbers from 0 to below `stop`, from `start` to below `stop`, or by a
    /// `step`, which may be negative. With `None` as dtype: f32 of floats, else i32,
    /// or i64 where a bound needs it.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, DType};
    /// assert_eq!(Array::arange(3, None).to_vec::<i32>()?, [0, 1, 2]);
    /// assert_eq!(Array::arange(2..4, DType::F32).to_vec::<f32>()?, [2.0, 3.0]);
    /// assert_eq!(Array::arange((5, 0, -2), None).to_vec::<i32>()?, [5, 3, 1]);
    /// assert_eq!(Array::arange((0.0, 1.0, 0.25), None).to_vec::<f32>()?, [0.0, 0.25, 0.5, 0.75]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn arange(range: impl Counting, dtype: impl Into<Option<DType>>) -> Array {
        let bounds = range.bounds();
        let dtype = dtype.into().unwrap_or_else(|| own_dtype(bounds));
        Array::build("arange", [], |[], at| counted(&at, bounds[0], bounds[2], length(bounds)?, dtype))
    }

    /// `num` numbers at even distances from `start` to `stop`, which is the last where
    /// `endpoint`, else the next.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, DType};
    /// assert_eq!(Array::linspace(0, 1, 3, true, DType::F32).to_vec::<f32>()?, [0.0, 0.5, 1.0]);
    /// assert_eq!(Array::linspace(0, 1, 2, false, DType::F32).to_vec::<f32>()?, [0.0, 0.5]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn linspace(
        start: impl Into<f64>,
        stop: impl Into<f64>,
        num: usize,
        endpoint: bool,
        dtype: DType,
    ) -> Array {
        let (start, stop) = (start.into(), stop.into());
        Array::build("linspace", [], |[], at| {
            let parts = num.saturating_sub(usize::from(endpoint)).max(1) as f64;
            let places = at.iota(&[num], 0, DType::F64)?;
            // The division last: whole numbers stay whole.
            let way = at.with(BinaryOp::Multiply, &places, stop - start)?;
            let numbers = at.with(BinaryOp::Add, &at.with(BinaryOp::Divide, &way, parts)?, start)?;
            if !endpoint || num < 2 {
                return at.cast(&numbers, dtype);
            }
            let last = at.with(BinaryOp::Equal, &places, parts)?;
            at.cast(&at.select(&last, &at.number(stop, DType::F64)?, &numbers)?, dtype)
        })
    }
}

macro_rules! windows {
    ($($(#[$doc:meta])* $name:ident: |$at:ident, $turn:ident| $body:expr;)*) => {
        impl Array {
            $($(#[$doc])*
            #[track_caller]
            #[must_use]
            pub fn $name(m: usize) -> Array {
                Array::build(stringify!($name), [], |[], $at| {
                    if m < 2 {
                        return $at.filled(1, DType::F32, &[m]);
                    }
                    // From 0 at the first number to 1 at the last.
                    let places = $at.iota(&[m], 0, DType::F64)?;
                    let $turn = $at.with(BinaryOp::Divide, &places, (m - 1) as f64)?;
                    let window: Value = $body?;
                    $at.cast(&window, DType::F32)
                })
            })*
        }
    };
}

/// `a[0] + a[1] · cos(2πt) + a[2] · cos(4πt)`.
fn cosines(at: &Place, turn: &Value, a: [f64; 3]) -> Recorded {
    let wave = |turns: f64, height: f64| {
        let angle = at.with(BinaryOp::Multiply, turn, 2.0 * PI * turns)?;
        at.with(BinaryOp::Multiply, &at.unary(UnaryOp::Cos, &angle)?, height)
    };
    let first = at.with(BinaryOp::Add, &wave(1.0, a[1])?, a[0])?;
    if a[2] == 0.0 { Ok(first) } else { at.binary(BinaryOp::Add, &first, &wave(2.0, a[2])?) }
}

windows! {
    /// The window of Bartlett, `m` numbers (f32): a triangle from 0 over 1 to 0.
    bartlett: |at, turn| {
        let away = at.unary(UnaryOp::Abs, &at.with(BinaryOp::Add, &at.with(BinaryOp::Multiply, &turn, 2.0)?, -1.0)?)?;
        at.with(BinaryOp::Add, &at.unary(UnaryOp::Neg, &away)?, 1.0)
    };
    /// The window of Blackman, `m` numbers (f32):
    /// `0.42 - 0.5 cos(2πi / (m - 1)) + 0.08 cos(4πi / (m - 1))`.
    blackman: |at, turn| cosines(&at, &turn, [0.42, -0.5, 0.08]);
    /// The window of Hamming, `m` numbers (f32): `0.54 - 0.46 cos(2πi / (m - 1))`.
    hamming: |at, turn| cosines(&at, &turn, [0.54, -0.46, 0.0]);
    /// The window of von Hann, `m` numbers (f32): `0.5 - 0.5 cos(2πi / (m - 1))`.
    hanning: |at, turn| cosines(&at, &turn, [0.5, -0.5, 0.0]);
}
