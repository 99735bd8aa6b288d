//! Quantiles, by each of NumPy's methods.

use oneir_ir::{BinaryOp, Place, UnaryOp, Value};
use oneir_tensor::DType;

use crate::axes::{Axes, axes_of};
use crate::operand::{Operand, Side};
use crate::record::{Record, Recorded, inexact};
use crate::reduction::Sorted;
use crate::{Array, Reason};

/// Where between elements in ascending order a quantile lies. The first nine are
/// those of Hyndman and Fan, "Sample Quantiles in Statistical Packages" (1996),
/// in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum QuantileMethod {
    /// The first element that at least a share of q does not lie above.
    InvertedCdf,
    /// As `InvertedCdf`, but the mean of two elements where q lies between them.
    AveragedInvertedCdf,
    /// The element of the nearest odd order.
    ClosestObservation,
    /// Steps of `InvertedCdf`, joined by lines.
    InterpolatedInvertedCdf,
    /// As if each element stood in the middle of its share.
    Hazen,
    /// The expected shares below elements of evenly spread numbers.
    Weibull,
    /// From the first element at 0 to the last at 1.
    #[default]
    Linear,
    /// About the median for any distribution.
    MedianUnbiased,
    /// About the mean for normal distributions.
    NormalUnbiased,
    /// The element before the place of `Linear`.
    Lower,
    /// The element after the place of `Linear`.
    Higher,
    /// The mean of the elements around the place of `Linear`.
    Midpoint,
    /// The element nearest to the place of `Linear`; of two, the one of even order.
    Nearest,
}

impl QuantileMethod {
    /// The place of share `q` among `n` elements, counted from 0: between elements
    /// where it is no integer.
    fn place(self, at: &Place, q: &Value, n: usize) -> Recorded {
        let n = n as f64;
        let add = |x: &Value, number: f64| at.with(BinaryOp::Add, x, number);
        let times = |x: &Value, number: f64| at.with(BinaryOp::Multiply, x, number);
        let scaled = || times(q, n);
        let linear = || times(q, n - 1.0);
        // How far the places of lines reach past the first and last element.
        let reaching = |alpha: f64, beta: f64| {
            let share = times(q, 1.0 - alpha - beta)?;
            at.binary(BinaryOp::Add, &add(&scaled()?, alpha - 1.0)?, &share)
        };
        match self {
            Self::InvertedCdf => add(&at.unary(UnaryOp::Ceil, &scaled()?)?, -1.0),
            Self::AveragedInvertedCdf => {
                let place = add(&scaled()?, -1.0)?;
                let whole = at.unary(UnaryOp::Floor, &place)?;
                let between = at.binary(BinaryOp::Equal, &place, &whole)?;
                at.select(&between, &add(&whole, 0.5)?, &add(&whole, 1.0)?)
            }
            Self::ClosestObservation => {
                let place = add(&scaled()?, -1.5)?;
                let whole = at.unary(UnaryOp::Floor, &place)?;
                let tie = at.binary(BinaryOp::Equal, &place, &whole)?;
                let odd = at.with(BinaryOp::Equal, &at.with(BinaryOp::Remainder, &whole, 2.0)?, 1.0)?;
                let stays = at.binary(BinaryOp::LogicalAnd, &tie, &odd)?;
                at.select(&stays, &whole, &add(&whole, 1.0)?)
            }
            Self::InterpolatedInvertedCdf => reaching(0.0, 1.0),
            Self::Hazen => reaching(0.5, 0.5),
            Self::Weibull => reaching(0.0, 0.0),
            Self::Linear => linear(),
            Self::MedianUnbiased => reaching(1.0 / 3.0, 1.0 / 3.0),
            Self::NormalUnbiased => reaching(3.0 / 8.0, 3.0 / 8.0),
            Self::Lower => at.unary(UnaryOp::Floor, &linear()?),
            Self::Higher => at.unary(UnaryOp::Ceil, &linear()?),
            Self::Midpoint => {
                let place = linear()?;
                let ends = at.binary(
                    BinaryOp::Add,
                    &at.unary(UnaryOp::Floor, &place)?,
                    &at.unary(UnaryOp::Ceil, &place)?,
                )?;
                times(&ends, 0.5)
            }
            Self::Nearest => at.unary(UnaryOp::Round, &linear()?),
        }
    }
}

impl Array {
    /// The numbers below which a share `q`, 0 to 1, of the elements over axes lies.
    /// The dimensions of `q` come first in the result. NaN where there is a NaN or
    /// nothing, or a share in an array is out of range. Integers convert to f32.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::{Array, QuantileMethod};
    /// let x = Array::from_slice(&[4f32, 1.0, 2.0, 3.0], &[4]);
    /// assert_eq!(x.quantile(0.5, .., false, QuantileMethod::Linear).item::<f32>()?, 2.5);
    /// assert_eq!(x.quantile(0.5, .., false, QuantileMethod::Lower).item::<f32>()?, 2.0);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn quantile(
        &self,
        q: impl Operand,
        axes: impl Axes,
        keepdims: bool,
        method: QuantileMethod,
    ) -> Array {
        let constant = matches!(q.side(), Side::Number(_));
        let q = q.side().of("quantile", DType::F64);
        Array::build("quantile", [self, &q], |[x, q], at| {
            let dtype = inexact(x.spec().dtype);
            if dtype.is_complex() {
                return Err(Reason::Parameters("quantiles of complex numbers are not defined".into()));
            }
            let given = q.as_constant().filter(|_| constant).map(|q| q.to_vec::<f64>()).transpose()?;
            if let Some(wrong) = given.iter().flatten().find(|q| !(0.0..=1.0).contains(*q)) {
                return Err(Reason::Parameters(format!("a share from 0 to 1 is needed, found {wrong}")));
            }
            let axes = axes_of(axes, x.spec().rank())?;
            let sorted = Sorted::new(&at, x, &axes)?;
            let n = sorted.size;
            let full: Vec<usize> = q.spec().shape.iter().chain(&sorted.rest).copied().collect();
            if n == 0 {
                return sorted.shaped(&at, &at.filled(f64::NAN, dtype, &full)?, keepdims);
            }
            let top = (n - 1) as f64;
            let place = method.place(&at, q, n)?;
            let place = at.with(BinaryOp::Minimum, &at.with(BinaryOp::Maximum, &place, 0.0)?, top)?;
            let low = at.unary(UnaryOp::Floor, &place)?;
            let high = at.with(BinaryOp::Minimum, &at.with(BinaryOp::Add, &low, 1.0)?, top)?;
            let wide = dtype.accumulator();
            let element = |k: &Value| at.cast(&at.rows(&sorted.lines, &at.cast(k, DType::I64)?)?, wide);
            let (below, above) = (element(&low)?, element(&high)?);
            // The share of the element above, aligned with the dimensions of `q`.
            let share = at.cast(&at.binary(BinaryOp::Subtract, &place, &low)?, wide)?;
            let aligned = |v: &Value| {
                let ones = vec![1; sorted.rest.len()];
                at.reshape(v, &v.spec().shape.iter().copied().chain(ones).collect::<Vec<_>>())
            };
            let share = aligned(&share)?;
            let step = at.binary(BinaryOp::Subtract, &above, &below)?;
            let way = at.binary(BinaryOp::Multiply, &step, &share)?;
            let whole = at.with(BinaryOp::Equal, &share, 0.0)?;
            // An infinity beside the place must not make NaN of it.
            let out = at.select(&whole, &below, &at.binary(BinaryOp::Add, &below, &way)?)?;
            let last = at.cast(&at.squeeze(&at.items(&sorted.lines, 0, n - 1, 1, 1)?, &[0])?, wide)?;
            let out = at.select(&at.unary(UnaryOp::IsNan, &last)?, &last, &out)?;
            let inside = at.binary(
                BinaryOp::LogicalAnd,
                &at.with(BinaryOp::GreaterEqual, q, 0.0)?,
                &at.with(BinaryOp::LessEqual, q, 1.0)?,
            )?;
            let out = at.select(&aligned(&inside)?, &out, &at.number(f64::NAN, wide)?)?;
            sorted.shaped(&at, &at.cast(&out, dtype)?, keepdims)
        })
    }
}
