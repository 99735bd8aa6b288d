//! Control flow: the same control over transformed bodies.
//!
//! A body is recorded again on values that stand for its inputs, transformed like
//! any other recorded values, and lifted as the body of a new primitive.

use super::{TransformError, jvp, vjp, vmap};
use crate::graph::Body;
use crate::primitive::{Applied, Batched, Slots};
use crate::{Cut, Invalid, Place, Primitive, ReduceOp, Spec, Value};

type Made<T> = Result<T, TransformError>;

/// The body's results, recorded on these values.
fn replay(body: &Body, inputs: &[Value]) -> Made<Vec<Value>> {
    let mut results = body.graph().as_function().call(inputs).map_err(Box::new)?;
    results.truncate(body.graph().outputs.len());
    Ok(results)
}

fn lifted(inputs: &[Value], outputs: &[Value]) -> Made<Body> {
    Ok(Body::new(Cut::new(inputs, outputs).lift().map_err(Box::new)?.graph))
}

fn record(primitive: Primitive, inputs: &[Value]) -> Made<Vec<Value>> {
    Ok(Value::record_all(primitive, &inputs.iter().collect::<Vec<_>>(), Place::Internal)?.into_vec())
}

/// Something to record a body on in the place of each value.
fn stand_ins(values: &[Value]) -> Vec<Value> {
    values.iter().map(|v| Value::placeholder(v.spec().clone())).collect()
}

/// As [`stand_ins`], for one item of each.
fn item_stand_ins(values: &[Value]) -> Vec<Value> {
    let item = |spec: &Spec| spec.with_shape(&spec.shape[1..]);
    values.iter().map(|v| Value::placeholder(item(v.spec()))).collect()
}

fn changes(value: &Value) -> bool {
    value.spec().dtype.is_inexact()
}

/// Those that change smoothly.
fn smooth(values: &[Value]) -> Vec<Value> {
    values.iter().filter(|v| changes(v)).cloned().collect()
}

/// A tangent or cotangent for each of the values that changes smoothly.
fn filled(values: &[Value], slots: &[Option<Value>]) -> Made<Vec<Value>> {
    let some = |(value, slot): (&Value, &Option<Value>)| match slot {
        Some(slot) => Ok(slot.clone()),
        None => value.filled_like(0.0),
    };
    Ok(values.iter().zip(slots).filter(|(v, _)| changes(v)).map(some).collect::<Result<_, Invalid>>()?)
}

/// What [`filled`] gave, at its places.
fn spread(values: &[Value], all: &[Value]) -> Slots {
    let mut rest = all.iter();
    values.iter().map(|v| if changes(v) { rest.next().cloned() } else { None }).collect()
}

/// Several lists after each other.
fn joined(lists: &[&[Value]]) -> Vec<Value> {
    lists.concat()
}

/// A body's results and the tangents of those that change smoothly.
fn forward(body: &Body, inputs: &[Value], tangents: &[Option<Value>]) -> Made<(Vec<Value>, Vec<Value>)> {
    let results = replay(body, inputs)?;
    let found = jvp(&results, inputs, tangents)?;
    let found = filled(&results, &found)?;
    Ok((results, found))
}

/// The cotangents of the inputs that change smoothly.
fn backward(body: &Body, inputs: &[Value], cotangents: &[Value]) -> Made<Vec<Value>> {
    let results = replay(body, inputs)?;
    let found = vjp(&results, inputs, &spread(&results, cotangents))?;
    filled(inputs, &found)
}

/// Tangents of the results of `If`.
pub(crate) fn if_jvp(bodies: [&Body; 2], at: &Applied<'_>, tangents: &[Option<Value>]) -> Made<Slots> {
    let captures = &at.inputs[1..];
    if !at.outputs.iter().any(changes) {
        return Ok(vec![None; at.outputs.len()]);
    }
    let given = filled(captures, &tangents[1..])?;
    let (x, t) = (stand_ins(captures), stand_ins(&given));
    let change = |body| lifted(&joined(&[&x, &t]), &forward(body, &x, &spread(&x, &t))?.1);
    let primitive = Primitive::If { then: change(bodies[0])?, otherwise: change(bodies[1])? };
    Ok(spread(at.outputs, &record(primitive, &joined(&[at.inputs, &given]))?))
}

/// Cotangents of the inputs of `If`.
pub(crate) fn if_vjp(bodies: [&Body; 2], at: &Applied<'_>, cotangents: &[Option<Value>]) -> Made<Slots> {
    let captures = &at.inputs[1..];
    if !captures.iter().any(changes) {
        return Ok(vec![None; at.inputs.len()]);
    }
    let given = filled(at.outputs, cotangents)?;
    let (x, c) = (stand_ins(captures), stand_ins(&given));
    let change = |body| lifted(&joined(&[&x, &c]), &backward(body, &x, &c)?);
    let primitive = Primitive::If { then: change(bodies[0])?, otherwise: change(bodies[1])? };
    Ok(spread(at.inputs, &record(primitive, &joined(&[at.inputs, &given]))?))
}

/// Tangents of the results of `While`: they are carried beside the values.
pub(crate) fn while_jvp(
    (condition, body, carried): (&Body, &Body, usize),
    at: &Applied<'_>,
    tangents: &[Option<Value>],
) -> Made<Slots> {
    let (first, captures) = at.inputs.split_at(carried);
    let first_given = filled(first, &tangents[..carried])?;
    let captures_given = filled(captures, &tangents[carried..])?;
    let (x, t) = (stand_ins(first), stand_ins(&first_given));
    let (k, kt) = (stand_ins(captures), stand_ins(&captures_given));
    let (inputs, own) = (joined(&[&x, &t, &k, &kt]), joined(&[&x, &k]));
    let slots = [spread(&x, &t), spread(&k, &kt)].concat();
    let (results, changes) = forward(body, &own, &slots)?;
    let primitive = Primitive::While {
        condition: lifted(&inputs, &replay(condition, &own)?)?,
        body: lifted(&inputs, &joined(&[&results, &changes]))?,
        carried: x.len() + t.len(),
    };
    let found = record(primitive, &joined(&[first, &first_given, captures, &captures_given]))?;
    Ok(spread(at.outputs, &found[carried..]))
}

/// What a `ScanOver` is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scanning<'a> {
    pub(crate) body: &'a Body,
    pub(crate) carried: usize,
    pub(crate) scanned: usize,
    pub(crate) reverse: bool,
}

impl Scanning<'_> {
    /// Carried, scanned and captured inputs.
    fn parts<'v, T>(&self, inputs: &'v [T]) -> (&'v [T], &'v [T], &'v [T]) {
        let (carried, rest) = inputs.split_at(self.carried);
        let (scanned, captures) = rest.split_at(self.scanned);
        (carried, scanned, captures)
    }

    /// Tangents of the results: those of what is carried are carried beside it.
    pub(crate) fn jvp(&self, at: &Applied<'_>, tangents: &[Option<Value>]) -> Made<Slots> {
        let ((c, s, k), (tc, ts, tk)) = (self.parts(at.inputs), self.parts(tangents));
        let (tc, ts, tk) = (filled(c, tc)?, filled(s, ts)?, filled(k, tk)?);
        let (xc, xs, xk) = (stand_ins(c), item_stand_ins(s), stand_ins(k));
        let (xtc, xts, xtk) = (stand_ins(&tc), item_stand_ins(&ts), stand_ins(&tk));
        let slots = [spread(&xc, &xtc), spread(&xs, &xts), spread(&xk, &xtk)].concat();
        let (results, found) = forward(self.body, &joined(&[&xc, &xs, &xk]), &slots)?;
        let (first, stacked) = results.split_at(self.carried);
        let (first_found, stacked_found) = found.split_at(tc.len());
        let primitive = Primitive::ScanOver {
            body: lifted(
                &joined(&[&xc, &xtc, &xs, &xts, &xk, &xtk]),
                &joined(&[first, first_found, stacked, stacked_found]),
            )?,
            carried: c.len() + tc.len(),
            scanned: s.len() + ts.len(),
            reverse: self.reverse,
        };
        let all = record(primitive, &joined(&[c, &tc, s, &ts, k, &tk]))?;
        let of_first = &all[c.len()..][..tc.len()];
        let of_stacked = &all[c.len() + tc.len() + stacked.len()..];
        Ok(spread(at.outputs, &joined(&[of_first, of_stacked])))
    }

    /// Cotangents of the inputs: a first scan keeps what was carried into each
    /// step, and a second goes through the steps backwards.
    pub(crate) fn vjp(&self, at: &Applied<'_>, cotangents: &[Option<Value>]) -> Made<Slots> {
        let (c, s, k) = self.parts(at.inputs);
        let (xc, xs, xk) = (stand_ins(c), item_stand_ins(s), stand_ins(k));
        let own = joined(&[&xc, &xs, &xk]);
        let next = replay(self.body, &own)?;
        let before = xc.iter().map(Value::again).collect::<Result<Vec<_>, _>>()?;
        let keeping = Primitive::ScanOver {
            body: lifted(&own, &joined(&[&next[..self.carried], &before]))?,
            carried: self.carried,
            scanned: self.scanned,
            reverse: self.reverse,
        };
        let before = record(keeping, at.inputs)?.split_off(self.carried);
        // Backwards: the cotangents of what was carried, and the sums of those of
        // the captures, are carried.
        let (of_first, of_stacked) = at.outputs.split_at(self.carried);
        let (for_first, for_stacked) = cotangents.split_at(self.carried);
        let (first, stacked) = (filled(of_first, for_first)?, filled(of_stacked, for_stacked)?);
        let sums = smooth(k).iter().map(|v| v.filled_like(0.0)).collect::<Result<Vec<_>, _>>()?;
        let (x_first, x_stacked, x_sums) = (stand_ins(&first), item_stand_ins(&stacked), stand_ins(&sums));
        let found = backward(self.body, &own, &joined(&[&x_first, &x_stacked]))?;
        let (by_first, rest) = found.split_at(first.len());
        let (by_items, by_captures) = rest.split_at(rest.len() - sums.len());
        let more = x_sums.iter().zip(by_captures).map(|(a, b)| a.add(b)).collect::<Result<Vec<_>, _>>()?;
        let primitive = Primitive::ScanOver {
            body: lifted(
                &joined(&[&x_first, &x_sums, &xc, &xs, &x_stacked, &xk]),
                &joined(&[by_first, &more, by_items]),
            )?,
            carried: first.len() + sums.len(),
            scanned: c.len() + s.len() + stacked.len(),
            reverse: !self.reverse,
        };
        let all = record(primitive, &joined(&[&first, &sums, &before, s, &stacked, k]))?;
        let (by_first, rest) = all.split_at(first.len());
        let (by_captures, by_items) = rest.split_at(sums.len());
        Ok(spread(at.inputs, &joined(&[by_first, by_items, by_captures])))
    }

    /// The scan of a batch.
    pub(crate) fn batched(&self, inputs: &[Batched], size: usize) -> Made<Vec<Batched>> {
        let (c, s, k) = self.parts(inputs);
        let carried = whole(c, size)?;
        // Items stay along the first axis; those of a batch have its axis next.
        let turn = |x: &Batched| match x.axis {
            None => Ok(x.value.clone()),
            Some(_) => x.value.transpose(&swapped(x.value.spec().rank())),
        };
        let scanned = s.iter().map(turn).collect::<Result<Vec<_>, _>>()?;
        let captures: Vec<Value> = k.iter().map(|x| x.value.clone()).collect();
        let flags: Vec<bool> = c.iter().map(|_| true).chain(rest_of(s)).chain(rest_of(k)).collect();
        let (xc, xs, xk) = (stand_ins(&carried), item_stand_ins(&scanned), stand_ins(&captures));
        let arguments = joined(&[&xc, &xs, &xk]);
        let found = whole(&mapped(self.body, &arguments, &flags, size)?, size)?;
        let primitive = Primitive::ScanOver {
            body: lifted(&arguments, &found)?,
            carried: self.carried,
            scanned: self.scanned,
            reverse: self.reverse,
        };
        let all = record(primitive, &joined(&[&carried, &scanned, &captures]))?;
        let axis = |i| Some(usize::from(i >= self.carried));
        Ok(all.into_iter().enumerate().map(|(i, value)| Batched { value, axis: axis(i) }).collect())
    }
}

fn swapped(rank: usize) -> Vec<usize> {
    [1, 0].into_iter().chain(2..rank).collect()
}

fn rest_of(inputs: &[Batched]) -> impl Iterator<Item = bool> {
    inputs.iter().map(|x| x.axis.is_some())
}

fn whole(values: &[Batched], size: usize) -> Made<Vec<Value>> {
    Ok(values.iter().map(|x| x.whole(size)).collect::<Result<_, _>>()?)
}

/// A body's results on arguments of which some have the further axis in front.
fn mapped(body: &Body, arguments: &[Value], flags: &[bool], size: usize) -> Made<Vec<Batched>> {
    let batched: Vec<Batched> = arguments
        .iter()
        .zip(flags)
        .map(|(value, &flag)| Batched { value: value.clone(), axis: flag.then_some(0) })
        .collect();
    let one: Vec<Value> = batched.iter().map(|x| Value::placeholder(x.spec())).collect();
    vmap(&replay(body, &one)?, &one, &batched, size)
}

/// `a` for those of the batch for which the condition holds, else `b`.
fn chosen(condition: &Value, a: &[Value], b: &[Value]) -> Made<Vec<Value>> {
    let choose = |(a, b): (&Value, &Value)| {
        let shape = &a.spec().shape;
        let ones: Vec<usize> = (0..shape.rank()).map(|d| if d == 0 { shape[0] } else { 1 }).collect();
        condition.reshape(&ones)?.broadcast(shape)?.select(a, b)
    };
    Ok(a.iter().zip(b).map(choose).collect::<Result<_, Invalid>>()?)
}

/// `If` of a batch. Where the condition differs within it, both bodies run.
pub(crate) fn if_batched(bodies: [&Body; 2], inputs: &[Batched], size: usize) -> Made<Vec<Batched>> {
    let (condition, captures) = (&inputs[0], &inputs[1..]);
    let flags: Vec<bool> = rest_of(captures).collect();
    let values: Vec<Value> = captures.iter().map(|x| x.value.clone()).collect();
    let results = |body, arguments: &[Value]| whole(&mapped(body, arguments, &flags, size)?, size);
    let all = if condition.axis.is_some() {
        let (then, otherwise) = (results(bodies[0], &values)?, results(bodies[1], &values)?);
        chosen(&condition.whole(size)?, &then, &otherwise)?
    } else {
        let x = stand_ins(&values);
        let body = |body| lifted(&x, &results(body, &x)?);
        let primitive = Primitive::If { then: body(bodies[0])?, otherwise: body(bodies[1])? };
        record(primitive, &joined(&[std::slice::from_ref(&condition.value), &values]))?
    };
    Ok(all.into_iter().map(|value| Batched { value, axis: Some(0) }).collect())
}

/// `While` of a batch. Where the condition differs within it, the loop runs while
/// it holds for any, and those for which it does not keep what they have.
pub(crate) fn while_batched(
    (condition, body, carried): (&Body, &Body, usize),
    inputs: &[Batched],
    size: usize,
) -> Made<Vec<Batched>> {
    let mut flags: Vec<bool> = rest_of(inputs).collect();
    loop {
        let mut values = Vec::new();
        for (x, &flag) in inputs.iter().zip(&flags) {
            values.push(if flag { x.whole(size)? } else { x.value.clone() });
        }
        let x = stand_ins(&values);
        let goes_on = mapped(condition, &x, &flags, size)?.remove(0);
        let next = mapped(body, &x, &flags, size)?;
        // What depends on the batch after a step has to have its axis before.
        let differs = goes_on.axis.is_some();
        let known = flags.clone();
        for (flag, next) in flags.iter_mut().zip(&next) {
            *flag |= differs || next.axis.is_some();
        }
        if flags != known {
            continue;
        }
        let mut results = Vec::new();
        for (next, &flag) in next.iter().zip(&flags) {
            results.push(if flag { next.whole(size)? } else { next.value.clone() });
        }
        let mut any = goes_on.value.clone();
        if differs {
            results = chosen(&goes_on.whole(size)?, &results, &x[..carried])?;
            any = any.reduce(ReduceOp::Any, &[0])?.reshape(&[])?;
        }
        let primitive =
            Primitive::While { condition: lifted(&x, &[any])?, body: lifted(&x, &results)?, carried };
        let all = record(primitive, &values)?;
        let axes = flags.iter().map(|flag| flag.then_some(0));
        return Ok(all.into_iter().zip(axes).map(|(value, axis)| Batched { value, axis }).collect());
    }
}
