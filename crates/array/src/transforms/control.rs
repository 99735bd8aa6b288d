//! Branches and loops whose course is data: recorded once, run as often as the data
//! says, on any device, within any transform.
//!
//! A body is a function of arrays that is called once, on values that are not known.
//! What it reads beside its input is given to it as it is; random numbers that it
//! draws without a key are the same in every turn.

use std::ops::Range;

use oneir_ir::graph::Body;
use oneir_ir::transform::{beside, body};
use oneir_ir::{Place, Primitive, Spec, Value};

use super::compile::whole;
use super::{Call, parts, values};
use crate::{Array, DType, Reason, Tree};

/// A function called once, on values that are not known.
struct Turn<U> {
    inputs: Vec<Value>,
    outputs: Result<Vec<Value>, Array>,
    made: U,
}

impl<U: Tree> Turn<U> {
    /// Calls a function on placeholders like these.
    fn of(specs: &[Spec], f: impl FnOnce(&mut dyn Iterator<Item = Array>) -> U) -> Turn<U> {
        let inputs: Vec<Value> = specs.iter().cloned().map(Value::placeholder).collect();
        let made = f(&mut inputs.iter().cloned().map(Array::from_value));
        let outputs = values(&parts(&made).1);
        Turn { inputs, outputs, made }
    }

    fn outputs(&self) -> Result<&[Value], Array> {
        self.outputs.as_deref().map_err(Array::clone)
    }

    /// What it reads beside its inputs.
    fn beside(&self) -> Result<Vec<Value>, Array> {
        Ok(beside(self.outputs()?, &self.inputs))
    }

    /// As a body that is given these beside the inputs.
    fn body(&self, at: Call, more: &[Value]) -> Result<Body, Array> {
        body(self.outputs()?, &[&self.inputs, more].concat()).map_err(|e| at.failed(e))
    }

    /// The results, or all of them what failed.
    fn results(&self, made: Result<Vec<Array>, Array>) -> U {
        filled(&self.made, made)
    }
}

/// A tree with these arrays, or all of them what failed.
fn filled<T: Tree>(like: &T, made: Result<Vec<Array>, Array>) -> T {
    match made {
        Ok(made) => like.with_arrays(&mut made.into_iter()),
        Err(failed) => whole(like, &failed),
    }
}

/// Values of both lists, each once.
fn union(mut all: Vec<Value>, more: Vec<Value>) -> Vec<Value> {
    for value in more {
        if all.iter().all(|v| v.key() != value.key()) {
            all.push(value);
        }
    }
    all
}

fn specs(values: &[Value]) -> Vec<Spec> {
    values.iter().map(|v| v.spec().clone()).collect()
}

fn record(at: Call, primitive: Primitive, inputs: &[Value]) -> Result<Vec<Array>, Array> {
    let inputs: Vec<&Value> = inputs.iter().collect();
    let made = Value::record_all(primitive, &inputs, Place::Rust(at.place)).map_err(|e| at.failed(e))?;
    Ok(made.into_iter().map(Array::from_value).collect())
}

/// Refuses two trees that are not made alike.
fn alike<T: Tree>(at: Call, what: &str, a: &T, b: &T) -> Result<(), Array> {
    if parts(a).0 == parts(b).0 {
        return Ok(());
    }
    Err(at.failed(Reason::Parameters(format!("{what} differ in more than their arrays"))))
}

/// The results of `then` where `predicate`, one truth value, holds, else of
/// `otherwise`. Both are recorded, one is run; their results have the same shapes and
/// dtypes.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, cond, grad};
/// let f = |x: &Array| cond(&x.less(0), |x: &Array| -x, |x: &Array| x * x, x);
/// assert_eq!(f(&Array::from(-3f32)).item::<f32>()?, 3.0);
/// assert_eq!(grad(f)(&Array::from(5f32)).item::<f32>()?, 10.0);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
pub fn cond<T: Tree, U: Tree>(
    predicate: &Array,
    then: impl FnOnce(&T) -> U,
    otherwise: impl FnOnce(&T) -> U,
    input: &T,
) -> U {
    let at = Call::here("cond");
    let given = match values(&parts(input).1) {
        Ok(given) => given,
        // The branch tells what its results look like.
        Err(failed) => {
            let like = then(&filled(input, Err(failed.clone())));
            return filled(&like, Err(failed));
        }
    };
    let wanted = specs(&given);
    let then = Turn::of(&wanted, |given| then(&input.with_arrays(given)));
    let otherwise = Turn::of(&wanted, |given| otherwise(&input.with_arrays(given)));
    let made = || {
        let more = union(then.beside()?, otherwise.beside()?);
        alike(at, "the results of the branches", &then.made, &otherwise.made)?;
        let predicate = predicate.value().map_err(|_| predicate.clone())?.clone();
        let bodies = (then.body(at, &more)?, otherwise.body(at, &more)?);
        let primitive = Primitive::If { then: bodies.0, otherwise: bodies.1 };
        record(at, primitive, &[vec![predicate], given, more].concat())
    };
    then.results(made())
}

/// What `body` makes of `first`, again and again while `condition`, one truth value,
/// holds. Shapes and dtypes stay as they are. Its derivative is known in forward mode;
/// in reverse it would need every turn's values, whose number is not known.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, while_loop};
/// // Newton's way to the root of 2.
/// let root = while_loop(
///     |x: &Array| (x * x - 2).abs().greater(1e-4),
///     |x: &Array| (x + 2.0 / x) / 2,
///     &Array::from(1f32),
/// );
/// assert!((root.item::<f32>()? - 2f32.sqrt()).abs() < 1e-4);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
pub fn while_loop<T: Tree>(condition: impl FnOnce(&T) -> Array, body: impl FnOnce(&T) -> T, first: &T) -> T {
    let at = Call::here("while_loop");
    let made = || {
        let given = values(&parts(first).1)?;
        let wanted = specs(&given);
        let condition = Turn::of(&wanted, |given| condition(&first.with_arrays(given)));
        let body = Turn::of(&wanted, |given| body(&first.with_arrays(given)));
        let more = union(condition.beside()?, body.beside()?);
        alike(at, "what the body is given and what it gives", first, &body.made)?;
        let (condition, body) = (condition.body(at, &more)?, body.body(at, &more)?);
        let primitive = Primitive::While { condition, body, carried: given.len() };
        record(at, primitive, &[given, more].concat())
    };
    filled(first, made())
}

/// What `body` makes of what is carried, from `first` on, and of one item of the first
/// axis of each array of `items` after the other, from the end where `reverse`. Beside
/// what is carried at last, it gives the further results of all turns, joined along a
/// new first axis in the order of the items.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, array, grad, scan};
/// let sums = |x: &Array| {
///     let turn = |sum: &Array, x: &Array| (sum + x, (sum + x) * x);
///     scan(turn, &Array::from(0f32), x, false)
/// };
/// let (sum, products) = sums(&array![1.0, 2.0, 3.0]);
/// assert_eq!(sum.item::<f32>()?, 6.0);
/// assert_eq!(products.to_vec::<f32>()?, [1.0, 6.0, 18.0]);
/// let slope = grad(|x: &Array| sums(x).1.sum(.., false));
/// assert_eq!(slope(&array![1.0, 2.0, 3.0]).to_vec::<f32>()?, [7.0, 8.0, 9.0]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
pub fn scan<C: Tree, X: Tree, Y: Tree>(
    body: impl FnOnce(&C, &X) -> (C, Y),
    first: &C,
    items: &X,
    reverse: bool,
) -> (C, Y) {
    scanned(Call::here("scan"), body, first, items, reverse)
}

fn scanned<C: Tree, X: Tree, Y: Tree>(
    at: Call,
    body: impl FnOnce(&C, &X) -> (C, Y),
    first: &C,
    items: &X,
    reverse: bool,
) -> (C, Y) {
    let given = values(&parts(first).1).and_then(|carried| {
        let scanned = values(&parts(items).1)?;
        let whole = scanned.iter().all(|x| x.spec().rank() > 0);
        if whole && !scanned.is_empty() {
            return Ok((carried, scanned));
        }
        let reason = "items need at least one array, each with a first axis to take items of";
        Err(at.failed(Reason::Parameters(reason.into())))
    });
    let (carried, scanned) = match given {
        Ok(given) => given,
        // The body tells what its results look like.
        Err(failed) => {
            let like = body(&filled(first, Err(failed.clone())), &filled(items, Err(failed.clone())));
            return filled(&like, Err(failed));
        }
    };
    let one = |x: &Value| x.spec().with_shape(&x.spec().shape[1..]);
    let wanted: Vec<Spec> = specs(&carried).into_iter().chain(scanned.iter().map(one)).collect();
    let turn = Turn::of(&wanted, |given| {
        let carried = first.with_arrays(given);
        body(&carried, &items.with_arrays(given))
    });
    let made = || {
        let more = turn.beside()?;
        alike(at, "what is carried in and out", first, &turn.made.0)?;
        let (carries, scans) = (carried.len(), scanned.len());
        let body = turn.body(at, &more)?;
        let primitive = Primitive::ScanOver { body, carried: carries, scanned: scans, reverse };
        record(at, primitive, &[carried, scanned, more].concat())
    };
    turn.results(made())
}

/// What `body` makes of `first` for each number of a range in turn, which it is given
/// as an i32 without dimensions. Shapes and dtypes stay as they are.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, fori, grad};
/// let power = |x: &Array| fori(0..3, |_, y: &Array| y * x, &Array::from(1f32));
/// assert_eq!(power(&Array::from(2f32)).item::<f32>()?, 8.0);
/// assert_eq!(grad(power)(&Array::from(2f32)).item::<f32>()?, 12.0);
/// let sum = fori(3..6, |i, sum: &Array| sum + i, &Array::from(0i32));
/// assert_eq!(sum.item::<i32>()?, 12);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
pub fn fori<T: Tree>(range: Range<i32>, body: impl FnOnce(&Array, &T) -> T, first: &T) -> T {
    let at = Call::here("fori");
    let count = (i64::from(range.end) - i64::from(range.start)).max(0) as usize;
    let numbers = Array::arange(count, DType::I32) + range.start;
    let (last, ()) = scanned(at, |carried: &T, i: &Array| (body(i, carried), ()), first, &numbers, false);
    last
}
