//! What is told apart, found and counted by its value.
//!
//! A function whose result's size depends on data computes its operands when it
//! is called, and returns a `Result`. All others record.

use oneir_ir::primitive::ScatterReduce;
use oneir_ir::{BinaryOp, Place, Primitive, ReduceOp, UnaryOp, Value};
use oneir_tensor::{DType, promote};

use crate::operand::{Operand, Side};
use crate::record::{Record, Recorded, inexact, line_of};
use crate::sorting::{SearchSide, a_line, search};
use crate::{Array, ArrayError, Reason};

/// The distinct elements of an array in ascending order, and how they make it up.
#[derive(Debug, Clone)]
pub struct Unique {
    /// The distinct elements.
    pub values: Array,
    /// Where each first occurs among all elements in row order (u32).
    pub index: Array,
    /// For each element of the array, which of `values` it is (u32).
    pub inverse: Array,
    /// How often each occurs (i32).
    pub counts: Array,
}

/// Everything about the distinct elements of a line but their number.
struct Distinct {
    line: Value,
    /// The line's places in ascending order of their elements (u32).
    order: Value,
    /// For each of these, the number of distinct elements before it (u32).
    rank: Value,
}

impl Distinct {
    /// Of a line that is not empty.
    fn new(at: &Place, x: &Value) -> Result<Distinct, Reason> {
        let line = at.line(x)?;
        let n = line.spec().count();
        let order = at.op(Primitive::ArgSort { axis: 0 }, &[&line])?;
        let sorted = at.rows(&line, &order)?;
        let (first, rest) = (at.items(&sorted, 0, 0, 1, n - 1)?, at.items(&sorted, 0, 1, 1, n - 1)?);
        let mut differs = at.binary(BinaryOp::NotEqual, &first, &rest)?;
        if line.spec().dtype.is_inexact() {
            // All NaNs are one.
            let number = at.unary(UnaryOp::LogicalNot, &at.unary(UnaryOp::IsNan, &first)?)?;
            differs = at.binary(BinaryOp::LogicalAnd, &differs, &number)?;
        }
        let begins = at.concat(&[&at.filled(false, DType::Bool, &[1])?, &differs], 0)?;
        let op = oneir_ir::primitive::ScanOp::Sum;
        let scan = Primitive::Scan { op, axis: 0, reverse: false, inclusive: true };
        let rank = at.op(scan, &[&at.cast(&begins, DType::U32)?])?;
        Ok(Distinct { line, order, rank })
    }

    /// How many there are (u32).
    fn count(&self, at: &Place) -> Recorded {
        let last = at.items(&self.rank, 0, self.rank.spec().count() - 1, 1, 1)?;
        at.with(BinaryOp::Add, &at.squeeze(&last, &[0])?, 1)
    }

    /// One number for each of the first `size`, made of `updates` in order by
    /// `reduce`, from `start` on.
    fn each(
        &self,
        at: &Place,
        size: usize,
        start: &Value,
        updates: &Value,
        reduce: ScatterReduce,
    ) -> Recorded {
        let too_many = || Reason::Parameters(format!("{size} distinct elements are too many"));
        let room = u32::try_from(size).ok().and_then(|n| n.checked_add(1)).ok_or_else(too_many)?;
        // What is too much goes to one place more.
        let places = at.with(BinaryOp::Minimum, &self.rank, size)?;
        let all = at.put(&at.broadcast(start, &[room as usize])?, &places, updates, reduce)?;
        at.items(&all, 0, 0, 1, size)
    }

    fn index(&self, at: &Place, size: usize) -> Recorded {
        let none = at.number(u32::MAX, DType::U32)?;
        let first = self.each(at, size, &none, &self.order, ScatterReduce::Min)?;
        let there = at.with(BinaryOp::NotEqual, &first, u32::MAX)?;
        at.select(&there, &first, &at.items(&self.order, 0, 0, 1, 1)?)
    }

    fn values(&self, at: &Place, size: usize, fill: Option<&Value>) -> Recorded {
        let values = at.rows(&self.line, &self.index(at, size)?)?;
        let Some(fill) = fill else { return Ok(values) };
        let slots = at.iota(&[size], 0, DType::U32)?;
        at.select(&at.binary(BinaryOp::Less, &slots, &self.count(at)?)?, &values, fill)
    }

    fn inverse(&self, at: &Place, size: usize, shape: &[usize]) -> Recorded {
        let rank = at.with(BinaryOp::Minimum, &self.rank, size.saturating_sub(1).min(u32::MAX as usize))?;
        let zeros = at.filled(0, DType::U32, &rank.spec().shape)?;
        at.reshape(&at.put(&zeros, &self.order, &rank, ScatterReduce::None)?, shape)
    }

    fn counts(&self, at: &Place, size: usize) -> Recorded {
        let ones = at.filled(1, DType::I32, &self.rank.spec().shape)?;
        self.each(at, size, &at.number(0, DType::I32)?, &ones, ScatterReduce::Sum)
    }
}

/// What of the distinct elements is asked for.
#[derive(Clone, Copy)]
enum Part {
    Values,
    Index,
    Inverse,
    Counts,
}

/// The elements of a value in host memory, computed if need be.
#[track_caller]
fn known<T: oneir_tensor::Element>(x: &Array, dtype: DType) -> Result<Vec<T>, ArrayError> {
    x.astype(dtype).to_vec()
}

impl Array {
    /// The distinct elements of all in row order, as many as `size`: more are left
    /// out from the end, and places that are left hold `fill`, or with `None` the
    /// first of them. Nothing is computed; [`Array::unique_all`] finds the size.
    ///
    /// Of places that are left, `index` is that of the first and `counts` is 0.
    /// Where elements are left out, `inverse` is the last place for them. NaNs
    /// count as one. Without elements, a `fill` is needed.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[2i32, 1, 2, 3, 1], &[5]);
    /// let found = x.unique(4, 0);
    /// assert_eq!(found.values.to_vec::<i32>()?, [1, 2, 3, 0]);
    /// assert_eq!(found.index.to_vec::<u32>()?, [1, 0, 3, 1]);
    /// assert_eq!(found.inverse.to_vec::<u32>()?, [1, 0, 1, 2, 0]);
    /// assert_eq!(found.counts.to_vec::<i32>()?, [2, 2, 1, 0]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn unique(&self, size: usize, fill: impl crate::Limit) -> Unique {
        let fill = fill.bound().map(|side| match side {
            Side::Array(array) => array.astype(self.dtype()),
            Side::Number(_) => side.of("unique", self.dtype()),
        });
        Unique {
            values: self.unique_part(Part::Values, size, fill.as_ref()),
            index: self.unique_part(Part::Index, size, fill.as_ref()),
            inverse: self.unique_part(Part::Inverse, size, fill.as_ref()),
            counts: self.unique_part(Part::Counts, size, fill.as_ref()),
        }
    }

    #[track_caller]
    fn unique_part(&self, part: Part, size: usize, fill: Option<&Array>) -> Array {
        let given = fill.unwrap_or(self);
        Array::build("unique", [self, given], |[x, fill_value], at| {
            if x.spec().count() == 0 {
                if size > 0 && fill.is_none() {
                    let reason = "nothing has distinct elements: a fill is needed for a size above 0";
                    return Err(Reason::Parameters(reason.into()));
                }
                return match part {
                    Part::Values if size == 0 => at.line(x),
                    Part::Values => at.broadcast(fill_value, &[size]),
                    Part::Index => at.filled(0, DType::U32, &[size]),
                    Part::Inverse => at.filled(0, DType::U32, &x.spec().shape),
                    Part::Counts => at.filled(0, DType::I32, &[size]),
                };
            }
            let distinct = Distinct::new(&at, x)?;
            match part {
                Part::Values => distinct.values(&at, size, fill.map(|_| fill_value)),
                Part::Index => distinct.index(&at, size),
                Part::Inverse => distinct.inverse(&at, size, &x.spec().shape),
                Part::Counts => distinct.counts(&at, size),
            }
        })
    }

    /// [`Array::unique`] of as many as there are, which is computed at once.
    ///
    /// # Errors
    /// When a call on the way failed, or the value cannot be computed.
    #[track_caller]
    pub fn unique_all(&self) -> Result<Unique, ArrayError> {
        self.check()?;
        let count = match self.size() {
            0 => 0,
            _ => {
                let count = Array::build("unique_all", [self], |[x], at| Distinct::new(&at, x)?.count(&at));
                count.item::<u32>()? as usize
            }
        };
        Ok(self.unique(count, ..))
    }

    /// Where elements are not zero, in row order: for each dimension, their places
    /// along it (i64). Computed at once.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[0i32, 5, 7, 0], &[2, 2]);
    /// let places = x.nonzero()?;
    /// assert_eq!(places[0].to_vec::<i64>()?, [0, 1]);
    /// assert_eq!(places[1].to_vec::<i64>()?, [1, 0]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    /// When a call on the way failed, or the value cannot be computed; without
    /// dimensions.
    #[track_caller]
    pub fn nonzero(&self) -> Result<Vec<Array>, ArrayError> {
        self.check()?;
        if self.ndim() == 0 {
            let reason = "an array without dimensions has no places".to_owned();
            Array::failed("nonzero", Reason::Parameters(reason)).check()?;
        }
        let flags = known::<bool>(self, DType::Bool)?;
        let shape = self.shape();
        let mut places = vec![Vec::new(); shape.rank()];
        for (at, _) in flags.iter().enumerate().filter(|(_, flag)| **flag) {
            let mut left = at;
            for (axis, places) in places.iter_mut().enumerate().rev() {
                places.push((left % shape[axis]) as i64);
                left /= shape[axis];
            }
        }
        Ok(places.iter().map(|places| Array::from_slice(places, &[places.len()])).collect())
    }

    /// The items along an axis, or with `..` of all elements in row order, for
    /// which `condition` holds. The condition has one dimension, at most as long as
    /// the axis; it is computed at once.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[1i32, 2, 3, 4, 5, 6], &[3, 2]);
    /// let odd = Array::from_slice(&[true, false, true], &[3]);
    /// assert_eq!(x.compress(&odd, 0)?.to_vec::<i32>()?, [1, 2, 5, 6]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    /// When a call on the way failed, the condition does not fit or cannot be
    /// computed.
    #[track_caller]
    pub fn compress(&self, condition: &Array, axis: impl crate::Axes) -> Result<Array, ArrayError> {
        let fits = Array::build("compress", [self, condition], |[x, condition], at| {
            a_line("the condition", condition)?;
            let x = match crate::axes::one_or_all(&axis, x.spec().rank())? {
                Some(axis) if axis > 0 => at.transpose(x, &moved(x.spec().rank(), axis, 0))?,
                Some(_) => x.clone(),
                None => at.line(x)?,
            };
            let (n, given) = (x.spec().shape[0], condition.spec().count());
            if given > n {
                let reason = format!("a condition of {given} does not fit {n} items");
                return Err(Reason::Parameters(reason));
            }
            Ok(x)
        });
        fits.check()?;
        let flags = known::<bool>(condition, DType::Bool)?;
        let places: Vec<i64> =
            flags.iter().enumerate().filter(|(_, flag)| **flag).map(|(at, _)| at as i64).collect();
        let out = Array::build("compress", [&fits], |[x], at| {
            let out = match places.is_empty() {
                true => at.items(x, 0, 0, 1, 0)?,
                false => at.rows(x, &line_of(&places)?)?,
            };
            match crate::axes::one_or_all(&axis, self.ndim())? {
                Some(axis) if axis > 0 => at.transpose(&out, &moved(out.spec().rank(), 0, axis)),
                _ => Ok(out),
            }
        });
        out.check()?;
        Ok(out)
    }

    /// Whether each element is one of the elements of `test`, at the dtype that
    /// both promote to. NaN is none.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[1i32, 2, 3, 4], &[2, 2]);
    /// let test = Array::from_slice(&[4i32, 2, 9], &[3]);
    /// assert_eq!(x.isin(&test).to_vec::<bool>()?, [false, true, false, true]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn isin(&self, test: impl Operand) -> Array {
        let test = test.side().beside("isin", self.dtype());
        Array::build("isin", [self, &test], |[x, test], at| {
            let n = test.spec().count();
            if n == 0 {
                return at.filled(false, DType::Bool, &x.spec().shape);
            }
            let dtype = promote(x.spec().dtype, test.spec().dtype);
            let (x, test) = (at.cast(x, dtype)?, at.cast(&at.line(test)?, dtype)?);
            let sorted = at.op(Primitive::Sort { axis: 0 }, &[&test])?;
            let place = search(&at, &sorted, &x, SearchSide::Left)?;
            let nearest = at.rows(&sorted, &at.with(BinaryOp::Minimum, &place, n - 1)?)?;
            at.binary(BinaryOp::Equal, &nearest, &x)
        })
    }

    /// How often each number from 0 on occurs in a line of integers (i64): up to
    /// the largest, and at least `min_length` of them. The size is computed at once.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[1i32, 3, 1], &[3]);
    /// assert_eq!(x.bincount(0)?.to_vec::<i64>()?, [0, 2, 0, 1]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    /// When a call on the way failed, there is no line of integers from 0 on, or
    /// they cannot be computed.
    #[track_caller]
    pub fn bincount(&self, min_length: usize) -> Result<Array, ArrayError> {
        self.counted_bins(None, min_length)
    }

    /// [`Array::bincount`], where each element counts for its weight (of the same
    /// shape) and not for 1; integer weights convert to f32.
    ///
    /// # Errors
    /// As of [`Array::bincount`].
    #[track_caller]
    pub fn bincount_weighted(&self, weights: &Array, min_length: usize) -> Result<Array, ArrayError> {
        self.counted_bins(Some(weights), min_length)
    }

    #[track_caller]
    fn counted_bins(&self, weights: Option<&Array>, min_length: usize) -> Result<Array, ArrayError> {
        let weights = match weights {
            Some(weights) => weights.astype(inexact(weights.dtype())),
            None => Array::build("bincount", [self], |[x], at| at.filled(1, DType::I64, &x.spec().shape)),
        };
        let mut ends = Vec::with_capacity(2);
        for op in [ReduceOp::Min, ReduceOp::Max] {
            let end = Array::build("bincount", [self, &weights], |[x, weights], at| {
                a_line("the array", x)?;
                let dtype = x.spec().dtype;
                if dtype.is_inexact() || weights.spec().shape != x.spec().shape {
                    let reason = format!(
                        "integers and as many weights are needed, found {} and {}",
                        x.spec(),
                        weights.spec()
                    );
                    return Err(Reason::Parameters(reason));
                }
                let x = if dtype == DType::Bool { at.cast(x, DType::U8)? } else { x.clone() };
                match x.spec().count() {
                    0 => at.number(0, DType::I64),
                    _ => at.cast(&at.reduce(op, &x, &[0], false)?, DType::I64),
                }
            });
            ends.push(end);
        }
        crate::eval(&ends)?;
        let (low, high) = (ends[0].item::<i64>()?, ends[1].item::<i64>()?);
        let out = Array::build("bincount", [self, &weights], |[x, weights], at| {
            if low < 0 || high < 0 {
                let wrong = if low < 0 { low } else { high };
                return Err(Reason::Parameters(format!("numbers from 0 to 2^63 are needed, found {wrong}")));
            }
            let bins = if x.spec().count() == 0 { 0 } else { high as usize + 1 };
            let bins = bins.max(min_length);
            let zeros = at.filled(0, weights.spec().dtype, &[bins])?;
            match x.spec().count() {
                0 => Ok(zeros),
                _ => at.put(&zeros, &at.cast(x, DType::I64)?, weights, ScatterReduce::Sum),
            }
        });
        out.check()?;
        Ok(out)
    }

    /// At each element, the line through the points (`xp`, `fp`), where `xp` is
    /// ascending; outside them `left` and `right`, or with `None` the first and
    /// last of `fp`. Computes in f64 where an operand has it, else in f32.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let (xp, fp) = (Array::from_slice(&[0f32, 2.0], &[2]), Array::from_slice(&[10f32, 20.0], &[2]));
    /// let x = Array::from_slice(&[-1f32, 0.5, 9.0], &[3]);
    /// assert_eq!(x.interp(&xp, &fp, None, 0.0).to_vec::<f32>()?, [10.0, 12.5, 0.0]);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    #[track_caller]
    #[must_use]
    pub fn interp(
        &self,
        xp: &Array,
        fp: &Array,
        left: impl Into<Option<f64>>,
        right: impl Into<Option<f64>>,
    ) -> Array {
        Array::build("interp", [self, xp, fp], |[x, xp, fp], at| {
            a_line("xp", xp)?;
            a_line("fp", fp)?;
            let n = xp.spec().count();
            if n == 0 || fp.spec().count() != n {
                let reason = format!(
                    "as many points in fp as in xp, at least one, are needed, found {} and {n}",
                    fp.spec().count()
                );
                return Err(Reason::Parameters(reason));
            }
            let result = inexact([x, xp, fp].map(|v| v.spec().dtype).into_iter().fold(DType::Bool, promote));
            if result.is_complex() {
                return Err(Reason::Parameters("complex numbers have no order to interpolate in".into()));
            }
            let dtype = result.accumulator();
            let (x, xp, fp) = (at.cast(x, dtype)?, at.cast(xp, dtype)?, at.cast(fp, dtype)?);
            let edge = |k: usize| at.squeeze(&at.items(&fp, 0, k, 1, 1)?, &[0]);
            let end = |given: Option<f64>, k: usize| match given {
                Some(number) => at.number(number, dtype),
                None => edge(k),
            };
            let (left, right) = (end(left.into(), 0)?, end(right.into(), n - 1)?);
            // The last point at or before x, but never the last of all.
            let after = search(&at, &xp, &x, SearchSide::Right)?;
            let after =
                at.with(BinaryOp::Maximum, &at.with(BinaryOp::Minimum, &after, n - 1)?, 1.min(n - 1))?;
            let from = at.with(BinaryOp::Subtract, &after, 1.min(n - 1))?;
            let point = |points: &Value, k: &Value| at.rows(points, k);
            let (x0, y0) = (point(&xp, &from)?, point(&fp, &from)?);
            let run = at.binary(BinaryOp::Subtract, &point(&xp, &after)?, &x0)?;
            let rise = at.binary(BinaryOp::Subtract, &point(&fp, &after)?, &y0)?;
            let slope = at.binary(BinaryOp::Divide, &rise, &run)?;
            let way = at.binary(BinaryOp::Multiply, &slope, &at.binary(BinaryOp::Subtract, &x, &x0)?)?;
            let mut out = at.binary(BinaryOp::Add, &way, &y0)?;
            let last = at.squeeze(&at.items(&xp, 0, n - 1, 1, 1)?, &[0])?;
            let first = at.squeeze(&at.items(&xp, 0, 0, 1, 1)?, &[0])?;
            out = at.select(&at.binary(BinaryOp::Equal, &x, &last)?, &edge(n - 1)?, &out)?;
            out = at.select(&at.binary(BinaryOp::Less, &x, &first)?, &left, &out)?;
            out = at.select(&at.binary(BinaryOp::Greater, &x, &last)?, &right, &out)?;
            at.cast(&out, result)
        })
    }
}

/// The axes of a transpose that takes one axis to another place.
pub(crate) fn moved(rank: usize, from: usize, to: usize) -> Vec<usize> {
    let mut axes: Vec<usize> = (0..rank).filter(|&axis| axis != from).collect();
    axes.insert(to, from);
    axes
}
