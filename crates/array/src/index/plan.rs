//! An index against a shape: a slice of every dimension, then places of some.

use oneir_ir::{Place, Primitive, Value};
use oneir_tensor::{DType, Shape, broadcast_shapes};

use super::items::IndexItem;
use crate::create::{converted, presented};
use crate::{Array, Reason};

/// A slice of one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    start: usize,
    step: isize,
    len: usize,
}

/// One dimension of the result, in the index's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A dimension of the source, sliced.
    Source(usize),
    /// A new one.
    New,
    /// Where the arrays' dimensions stand.
    Places,
}

/// What an index takes of an array.
#[derive(Debug)]
pub(super) struct Selection {
    spans: Vec<Span>,
    /// Dimensions of the source that one place is taken of, by no array.
    dropped: Vec<usize>,
    /// Dimensions that arrays name places of (sorted), and the arrays at one shape.
    axes: Vec<usize>,
    places: Vec<Value>,
    /// The arrays' common shape.
    common: Shape,
    parts: Vec<Part>,
}

impl Selection {
    /// What `items` take of an array of `shape`.
    pub(super) fn new(items: &[IndexItem], shape: &Shape, place: &Place) -> Result<Self, Reason> {
        let named: usize = items.iter().map(dimensions).sum();
        let ellipses = items.iter().filter(|i| matches!(i, IndexItem::Ellipsis)).count();
        let rank = shape.rank();
        let parameters = |text: String| Err(Reason::Parameters(text));
        if ellipses > 1 {
            return parameters(format!("an index has one ellipsis at most, found {ellipses}"));
        }
        if named > rank {
            return parameters(format!(
                "{named} dimensions are indexed, there are {rank} in shape {shape:?}"
            ));
        }
        let whole = |d: usize| Span { start: 0, step: 1, len: shape[d] };
        let arrays = items.iter().any(|i| matches!(i, IndexItem::Array(_)));
        let mut found = Selection {
            spans: (0..rank).map(whole).collect(),
            dropped: Vec::new(),
            axes: Vec::new(),
            places: Vec::new(),
            common: Shape::scalar(),
            parts: Vec::new(),
        };
        let mut dimension = 0;
        // Whether the last item named places, and whether some did before a gap.
        let (mut adjacent, mut apart) = (false, false);
        for item in items {
            let advanced =
                matches!(item, IndexItem::Array(_)) || (arrays && matches!(item, IndexItem::At(_)));
            if advanced {
                apart |= !adjacent && !found.axes.is_empty();
                if found.axes.is_empty() {
                    found.parts.push(Part::Places);
                }
            }
            adjacent = advanced;
            match item {
                IndexItem::NewAxis => found.parts.push(Part::New),
                IndexItem::Ellipsis => {
                    for _ in named..rank {
                        found.parts.push(Part::Source(dimension));
                        dimension += 1;
                    }
                }
                IndexItem::Span { start, stop, step } => {
                    found.spans[dimension] = span(*start, *stop, *step, shape[dimension])?;
                    found.parts.push(Part::Source(dimension));
                    dimension += 1;
                }
                IndexItem::At(at) => {
                    let at = inside(*at as i128, dimension, shape[dimension])?;
                    if arrays {
                        found.axes.push(dimension);
                        found.places.push(Array::scalar(at as i64).value_or_reason()?);
                    } else {
                        found.spans[dimension] = Span { start: at, step: 1, len: 1 };
                        found.dropped.push(dimension);
                    }
                    dimension += 1;
                }
                IndexItem::Array(mask) if mask.dtype() == DType::Bool => {
                    let over = &shape[dimension..dimension + mask.ndim()];
                    if mask.shape()[..] != *over {
                        return parameters(format!(
                            "a boolean index of shape {:?} stands for dimensions of shape {over:?}",
                            mask.shape()
                        ));
                    }
                    for array in holding(mask)? {
                        found.common = broadcast_shapes(&found.common, &array.shape())?;
                        found.axes.push(dimension);
                        found.places.push(array.value_or_reason()?);
                        dimension += 1;
                    }
                }
                IndexItem::Array(array) => {
                    let value = array.value_or_reason()?;
                    constant_places_inside(&value, dimension, shape[dimension])?;
                    found.common = broadcast_shapes(&found.common, &value.spec().shape)?;
                    found.axes.push(dimension);
                    found.places.push(value);
                    dimension += 1;
                }
            }
        }
        found.parts.extend((dimension..rank).map(Part::Source));
        if apart {
            // Arrays with something between them: their dimensions come first.
            found.parts.retain(|&part| part != Part::Places);
            found.parts.insert(0, Part::Places);
        }
        let dtype = found.places.first().map(|value| value.spec().dtype);
        let same = found.places.iter().all(|value| Some(value.spec().dtype) == dtype);
        for value in &mut found.places {
            let wide = if same { value.clone() } else { converted(value, DType::I64, place)? };
            *value = presented(&wide, &found.common, place)?;
        }
        Ok(found)
    }

    /// Whether arrays name places.
    pub(super) fn has_places(&self) -> bool {
        !self.axes.is_empty()
    }

    fn is_whole(&self, shape: &Shape) -> bool {
        self.spans.iter().zip(shape.iter()).all(|(s, &n)| *s == Span { start: 0, step: 1, len: n })
    }

    /// The result's shape.
    pub(super) fn shape(&self) -> Shape {
        let mut sizes = Vec::new();
        for part in &self.parts {
            match part {
                Part::Source(d) => sizes.push(self.spans[*d].len),
                Part::New => sizes.push(1),
                Part::Places => sizes.extend_from_slice(&self.common),
            }
        }
        Shape::new(&sizes)
    }

    /// The slices, dimension by dimension.
    pub(super) fn sliced(&self, x: &Value, place: &Place) -> Result<Value, Reason> {
        if self.is_whole(&x.spec().shape) {
            return Ok(x.clone());
        }
        let slice = Primitive::Slice {
            start: self.spans.iter().map(|s| s.start).collect(),
            step: self.spans.iter().map(|s| s.step).collect(),
            len: self.spans.iter().map(|s| s.len).collect(),
        };
        Ok(Value::record(slice, &[x], place.clone())?)
    }

    /// `x` with what [`Selection::sliced`] takes replaced.
    pub(super) fn replaced(&self, x: &Value, part: &Value, place: &Place) -> Result<Value, Reason> {
        if self.is_whole(&x.spec().shape) {
            return Ok(part.clone());
        }
        let update = Primitive::SliceUpdate {
            start: self.spans.iter().map(|s| s.start).collect(),
            step: self.spans.iter().map(|s| s.step).collect(),
            len: self.spans.iter().map(|s| s.len).collect(),
        };
        Ok(Value::record(update, &[x, part], place.clone())?)
    }

    /// Dimensions of the source that stay in the result, in its order.
    fn kept(&self) -> Vec<usize> {
        let source = |part: &Part| match part {
            Part::Source(d) => Some(*d),
            _ => None,
        };
        self.parts.iter().filter_map(source).collect()
    }

    /// How many of the result's dimensions, new ones aside, stand before the
    /// arrays'.
    fn before(&self) -> usize {
        self.parts
            .iter()
            .take_while(|&&part| part != Part::Places)
            .filter(|part| matches!(part, Part::Source(_)))
            .count()
    }

    /// Where new dimensions stand in the result.
    fn new_axes(&self) -> Vec<usize> {
        let (mut at, mut found) = (0, Vec::new());
        for part in &self.parts {
            match part {
                Part::Source(_) => at += 1,
                Part::New => {
                    found.push(at);
                    at += 1;
                }
                Part::Places => at += self.common.rank(),
            }
        }
        found
    }

    /// The elements of `part`, which [`Selection::sliced`] took.
    pub(super) fn read(&self, part: &Value, place: &Place) -> Result<Value, Reason> {
        let record = |p: Primitive, x: &Value| Value::record(p, &[x], place.clone());
        let mut out = if self.has_places() {
            let gather = Primitive::Gather { axes: self.axes.clone(), slice_sizes: self.slice_sizes() };
            let operands: Vec<&Value> = std::iter::once(part).chain(&self.places).collect();
            let gathered = Value::record(gather, &operands, place.clone())?;
            let lead = self.common.rank();
            let ones = self.axes.iter().map(|axis| lead + axis).collect();
            let found = record(Primitive::Squeeze(ones), &gathered)?;
            let (before, rest) = (self.before(), self.kept().len());
            if before == 0 {
                found
            } else {
                let axes = (lead..lead + before).chain(0..lead).chain(lead + before..lead + rest).collect();
                record(Primitive::Transpose(axes), &found)?
            }
        } else if self.dropped.is_empty() {
            part.clone()
        } else {
            record(Primitive::Squeeze(self.dropped.clone()), part)?
        };
        let new = self.new_axes();
        if !new.is_empty() {
            out = record(Primitive::ExpandDims(new), &out)?;
        }
        Ok(out)
    }

    fn slice_sizes(&self) -> Vec<usize> {
        let one = |(d, span): (usize, &Span)| if self.axes.contains(&d) { 1 } else { span.len };
        self.spans.iter().enumerate().map(one).collect()
    }

    /// A value without the leading dimensions of size 1 that the result has not.
    pub(super) fn led(&self, value: &Value, place: &Place) -> Result<Value, Reason> {
        let shape = &value.spec().shape;
        let more = shape.rank().saturating_sub(self.shape().rank());
        if more == 0 || shape[..more].iter().any(|&n| n != 1) {
            return Ok(value.clone());
        }
        Ok(Value::record(Primitive::Squeeze((0..more).collect()), &[value], place.clone())?)
    }

    /// A value for each element that is read, laid out as [`Selection::replaced`]
    /// takes it: without arrays.
    pub(super) fn spread(&self, update: &Value, place: &Place) -> Result<Value, Reason> {
        let update = presented(update, &self.shape(), place)?;
        let sizes = self.spans.iter().map(|s| s.len).collect();
        Ok(Value::record(Primitive::Reshape(sizes), &[&update], place.clone())?)
    }

    /// `part` with updates scattered to the arrays' places.
    pub(super) fn scattered(
        &self,
        part: &Value,
        update: &Value,
        reduce: oneir_ir::primitive::ScatterReduce,
        place: &Place,
    ) -> Result<Value, Reason> {
        let record = |p: Primitive, x: &Value| Value::record(p, &[x], place.clone());
        let mut update = presented(update, &self.shape(), place)?;
        let new = self.new_axes();
        if !new.is_empty() {
            update = record(Primitive::Squeeze(new), &update)?;
        }
        let (lead, before, rest) = (self.common.rank(), self.before(), self.kept().len());
        if before > 0 {
            let axes = (before..before + lead).chain(0..before).chain(before + lead..lead + rest).collect();
            update = record(Primitive::Transpose(axes), &update)?;
        }
        let sizes = self.common.iter().copied().chain(self.slice_sizes()).collect();
        update = record(Primitive::Reshape(sizes), &update)?;
        let scatter = Primitive::Scatter { axes: self.axes.clone(), reduce };
        let operands: Vec<&Value> = std::iter::once(part).chain(&self.places).chain([&update]).collect();
        Ok(Value::record(scatter, &operands, place.clone())?)
    }
}

/// A place counted from the front.
fn inside(at: i128, axis: usize, size: usize) -> Result<usize, Reason> {
    let found = if at < 0 { at + size as i128 } else { at };
    let wrong = || Reason::Index { index: at as i64, axis, size };
    usize::try_from(found).ok().filter(|&i| i < size).ok_or_else(wrong)
}

/// The places that a span names.
fn span(start: Option<isize>, stop: Option<isize>, step: isize, size: usize) -> Result<Span, Reason> {
    if step == 0 {
        return Err(Reason::Parameters("the step of a range in an index is 0".into()));
    }
    let n = size as isize;
    let (low, high) = if step > 0 { (0, n) } else { (-1, n - 1) };
    let place = |at: isize| if at < 0 { at.saturating_add(n) } else { at }.clamp(low, high);
    let start = start.map_or(if step > 0 { low } else { high }, place);
    let stop = stop.map_or(if step > 0 { high } else { low }, place);
    let distance = if step > 0 { stop - start } else { start - stop };
    let len = if distance > 0 { (distance as usize).div_ceil(step.unsigned_abs()) } else { 0 };
    // No place is named: where it would be does not matter.
    let start = if len == 0 { 0 } else { start as usize };
    Ok(Span { start, step, len })
}

/// Refuses constant places outside of a dimension, and arrays that name none.
pub(crate) fn constant_places_inside(value: &Value, axis: usize, size: usize) -> Result<(), Reason> {
    let dtype = value.spec().dtype;
    if !dtype.is_integer() {
        return Err(Reason::Parameters(format!("an index array holds integers or bools, found {dtype}")));
    }
    let Some(constant) = value.as_constant() else { return Ok(()) };
    let held = constant.values()?;
    let outside = |at: i128| inside(at, axis, size).map(|_| ());
    match held {
        oneir_tensor::Values::Unsigned(all) => all.into_iter().try_for_each(|at| outside(at.into())),
        oneir_tensor::Values::Signed(all) => all.into_iter().try_for_each(|at| outside(at.into())),
        _ => Ok(()),
    }
}

/// How many of the source's dimensions an item stands for.
fn dimensions(item: &IndexItem) -> usize {
    match item {
        IndexItem::NewAxis | IndexItem::Ellipsis => 0,
        IndexItem::Array(mask) if mask.dtype() == DType::Bool => mask.ndim(),
        _ => 1,
    }
}

/// For each dimension of a boolean array, where it holds, in row order. It is
/// computed now, for how often it holds is a size.
pub(crate) fn holding(mask: &Array) -> Result<Vec<Array>, Reason> {
    let shape = mask.shape();
    if shape.rank() == 0 {
        return Err(Reason::Parameters("a boolean index needs at least one dimension".into()));
    }
    let held = mask.to_vec::<bool>().map_err(|e| Reason::Evaluation(e.to_string()))?;
    let flat: Vec<usize> = held.iter().enumerate().filter_map(|(i, &holds)| holds.then_some(i)).collect();
    let mut inner = 1;
    let mut all = Vec::with_capacity(shape.rank());
    for d in (0..shape.rank()).rev() {
        let places: Vec<i64> = flat.iter().map(|&i| (i / inner % shape[d]) as i64).collect();
        all.push(Array::from_slice(&places, &[places.len()]));
        inner *= shape[d].max(1);
    }
    all.reverse();
    Ok(all)
}
