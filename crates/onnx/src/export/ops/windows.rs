//! Reductions of sliding windows: pooling, where only spatial dimensions slide.

use oneir_ir::{Primitive, ReduceOp};
use oneir_tensor::{DType, HostTensor, Values};

use super::super::attribute;
use super::super::draft::Draft;
use super::super::graph::{Site, Written};
use super::super::term::{Shown, Term};
use super::joined::Sum;
use super::{Row, along, parameters, row};

pub(super) const ROWS: &[Row] = &[row!("window_reduce" => window_reduce, |site, primitive| match primitive {
    Primitive::WindowReduce { window, strides, low, high, .. } => along::first_alone(site, |axis| {
        window[axis] == 1 && strides[axis] == 1 && low[axis] == 0 && high[axis] == 0
    }),
    _ => None,
})];

/// Windows of more items than this are not written item by item.
const ITEMS: usize = 256;

/// Windows longer than this are no pooling that engines know.
const LONGEST: usize = 1 << 24;

/// How windows slide along one dimension.
#[derive(Clone, Copy)]
struct Slide {
    window: usize,
    stride: usize,
    low: usize,
    high: usize,
    dilation: usize,
}

fn window_reduce(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::WindowReduce { op, window, strides, low, high, dilations });
    let slides: Vec<Slide> = (0..window.len())
        .map(|i| Slide {
            window: window[i],
            stride: strides[i],
            low: low[i],
            high: high[i],
            dilation: dilations[i],
        })
        .collect();
    if site.operands[0].dtype().is_complex() {
        return Err("windows of complex numbers have no operator".into());
    }
    // Sums of truth values are numbers.
    let to = site.results[0].dtype;
    if site.operands[0].dtype() != to {
        let x = site.term(0);
        site.operands[0] = Shown::plain(site.draft.cast(&x, to));
    }
    match pooled(site, *op, &slides) {
        Some(shown) => Ok(vec![shown]),
        None => item_by_item(site, *op, &slides),
    }
}

/// The pooling operator, where one stands for it: of maxima, minima and sums over one
/// to three dimensions.
fn pooled(site: &mut Site<'_>, op: ReduceOp, slides: &[Slide]) -> Option<Shown> {
    let dtype = site.operands[0].dtype();
    let name = match op {
        ReduceOp::Max | ReduceOp::Min => "MaxPool",
        ReduceOp::Sum if dtype.is_float() => "AveragePool",
        _ => return None,
    };
    let wide = super::super::types::wide(name, dtype);
    // What is negated must have a negative.
    let wide = if op == ReduceOp::Min && !wide.is_float() { DType::F32 } else { wide };
    let exact = dtype.is_float() || (wide.is_float() && wide.bits() > dtype.bits()) || dtype == wide;
    if !exact
        || !super::super::types::takes(name, wide)
        || dtype == DType::Bool
        || site.operands[0].shape().contains(&0)
    {
        return None;
    }
    let still = |s: &Slide| s.window == 1 && s.stride == 1 && s.low == 0 && s.high == 0;
    let mut sliding: Vec<usize> = (0..slides.len()).filter(|&i| !still(&slides[i])).collect();
    let mut others: Vec<usize> = (0..slides.len()).filter(|&i| still(&slides[i])).collect();
    let long = |&i: &usize| slides[i].window == 0 || slides[i].window > LONGEST;
    if sliding.len() > 3 || sliding.iter().any(long) {
        return None;
    }
    // Padding must be less than a window, and hold nothing greater than the elements.
    let padded = |&i: &usize| {
        let reach = (slides[i].window - 1) * slides[i].dilation + 1;
        slides[i].low.max(slides[i].high) >= reach.min(slides[i].window)
    };
    if sliding.iter().any(padded)
        || (!dtype.is_float() && sliding.iter().any(|&i| slides[i].low + slides[i].high > 0))
    {
        return None;
    }
    if sliding.is_empty() {
        sliding.extend(others.pop());
        sliding.first()?;
    }
    // As `[N, C, …]`: what does not slide, in its order, and then what does.
    let order: Vec<usize> = others.iter().chain(&sliding).copied().collect();
    let x = site.reordered(0, &order);
    let d = &mut *site.draft;
    let lead = others.len();
    let mut given = d.cast(&x, wide);
    let flat = lead != 2;
    if flat {
        let mut shape = vec![given.shape[..lead].iter().product(), 1];
        if lead == 1 {
            shape = vec![given.shape[0], 1];
        }
        shape.extend_from_slice(&given.shape[lead..]);
        let batch = given.batch.filter(|&axis| axis == 0 && lead == 1);
        if given.batch.is_some() && batch.is_none() {
            return None;
        }
        given = d.reshape(&given, &shape, batch);
    }
    if op == ReduceOp::Min {
        given = d.unary("Neg", &given);
    }
    let each = |f: fn(&Slide) -> usize| sliding.iter().map(move |&i| f(&slides[i])).collect::<Vec<_>>();
    let mut attributes = vec![
        attribute::ints("kernel_shape", each(|s| s.window)),
        attribute::ints("strides", each(|s| s.stride)),
        attribute::ints("pads", [each(|s| s.low), each(|s| s.high)].concat()),
        attribute::ints("dilations", each(|s| s.dilation)),
    ];
    if name == "AveragePool" {
        attributes.push(attribute::int("count_include_pad", 1));
    }
    let result = &site.results[0].shape;
    let mut shape = given.shape[..2].to_vec();
    shape.extend(sliding.iter().map(|&i| result[i]));
    let mut term = d.node(name, &[&given], attributes, (wide, &shape));
    if op == ReduceOp::Min {
        term = d.unary("Neg", &term);
    }
    let back = |d: &mut Draft, term: &Term| {
        let whole: Vec<usize> = order.iter().map(|&axis| result[axis]).collect();
        let batch = term.batch.filter(|_| flat);
        let term = if flat { d.reshape(term, &whole, batch) } else { term.clone() };
        d.cast(&term, dtype)
    };
    if op == ReduceOp::Sum {
        let count: usize = sliding.iter().map(|&i| slides[i].window).product();
        let mean = back(d, &term);
        let number = d.number(dtype, count as f64);
        let sum = d.binary("Mul", &mean, &number);
        d.sums.insert(sum.name.clone(), Sum { count, mean: Some(mean) });
        return Some(Shown::ordered(sum, oneir_ir::undone(&order)));
    }
    let term = back(d, &term);
    Some(Shown::ordered(term, oneir_ir::undone(&order)))
}

/// The windows' first items, second items and so on, combined.
fn item_by_item(site: &mut Site<'_>, op: ReduceOp, slides: &[Slide]) -> Written {
    let items: usize = slides.iter().map(|s| s.window).product();
    let dtype = site.operands[0].dtype();
    if items > ITEMS {
        return Err(format!("windows of {items} items are no pooling, and too many to be written").into());
    }
    let (x, shape) = (site.term(0), site.shape());
    let d = &mut *site.draft;
    let combine: fn(&mut Draft, &Term, &Term) -> Term = match (op, dtype == DType::Bool) {
        (ReduceOp::Sum, false) => |d, a, b| d.binary("Add", a, b),
        (ReduceOp::Prod, false) => |d, a, b| d.binary("Mul", a, b),
        (ReduceOp::Max, false) => |d, a, b| d.binary("Max", a, b),
        (ReduceOp::Min, false) => |d, a, b| d.binary("Min", a, b),
        (ReduceOp::Max | ReduceOp::Sum | ReduceOp::Any, true) => |d, a, b| d.binary("Or", a, b),
        (ReduceOp::Min | ReduceOp::Prod | ReduceOp::All, true) => |d, a, b| d.binary("And", a, b),
        _ => return Err(format!("windows combined by `{}` have no operator", op.name()).into()),
    };
    let start = match op {
        ReduceOp::Sum | ReduceOp::Any => 0.0,
        ReduceOp::Prod | ReduceOp::All => 1.0,
        ReduceOp::Max => f64::NEG_INFINITY,
        _ => f64::INFINITY,
    };
    let start = match dtype {
        DType::Bool => Values::Bool(vec![start > 0.0]),
        _ => Values::Float(vec![start]).convert(dtype),
    };
    let start = HostTensor::from_values(dtype, &[], &start).map_err(|e| e.to_string())?;
    let start = d.constant(start);
    if items == 0 {
        return Ok(vec![Shown::plain(start).spread(&shape)]);
    }
    let pads = d.ints(slides.iter().map(|s| s.low as i64).chain(slides.iter().map(|s| s.high as i64)));
    let whole: Vec<usize> = x.shape.iter().zip(slides).map(|(n, s)| n + s.low + s.high).collect();
    let x = match whole == x.shape {
        true => x,
        false => d.node("Pad", &[&x, &pads, &start], vec![], (dtype, &whole)),
    };
    let mut all: Option<Term> = None;
    for item in 0..items {
        let mut rest = item;
        let mut parts = Vec::with_capacity(slides.len());
        for (axis, slide) in slides.iter().enumerate().rev() {
            let at = rest % slide.window;
            rest /= slide.window;
            parts.push((axis, at * slide.dilation, slide.stride as isize, shape[axis]));
        }
        let taken = d.slice(&x, &parts);
        all = Some(match all {
            Some(all) => combine(d, &all, &taken),
            None => taken,
        });
    }
    all.map(|term| vec![Shown::plain(term)]).ok_or_else(|| "windows of nothing".into())
}
