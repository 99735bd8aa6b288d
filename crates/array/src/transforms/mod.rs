//! Functions of functions: derivatives, and batches.
//!
//! A function of arrays is called once with values that are marked; what it
//! recorded from them is then walked. Transforms nest in any order:
//!
//! ```
//! # use oneir_cpu as _;
//! use oneir_array::{Array, array, grad, vmap};
//!
//! let f = |x: &Array| (x * x * x).sum(.., false);
//! let x = array![1.0, 2.0];
//! assert_eq!(grad(f)(&x).to_vec::<f32>()?, [3.0, 12.0]);
//!
//! // The second derivative of each element: a gradient of gradients, batched.
//! let second = vmap(grad(grad(|x: &Array| x * x * x)));
//! assert_eq!(second(&x).to_vec::<f32>()?, [6.0, 12.0]);
//! # Ok::<(), oneir_array::ArrayError>(())
//! ```
//!
//! A failure of the function is carried by what a transform gives.

mod compile;
mod control;
mod custom;
mod shapeless;
mod tree;

pub use compile::{compile, compile_mut, compile_shapeless};
pub use control::{cond, fori, scan, while_loop};
pub use custom::{CustomFunction, checkpoint, custom_function};
pub use tree::{Frozen, Plain, Rebuild, Structure, Tree, Visitor, leaves, map, parts};

use std::panic::Location;

use oneir_ir::primitive::Batched;
use oneir_ir::{Trace, Value, transform};

use crate::{Array, Reason};

/// Ends a trace, however the function that it is for ends.
struct Ending(Trace);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The call of a transform: what failed arrays tell of it.
#[derive(Debug, Clone, Copy)]
struct Call {
    transform: &'static str,
    place: &'static Location<'static>,
}

impl Call {
    #[track_caller]
    fn here(transform: &'static str) -> Call {
        Call { transform, place: Location::caller() }
    }

    fn failed(self, reason: impl Into<Reason>) -> Array {
        Array::failed_at(self.transform, self.place, reason)
    }
}

/// Values of arrays; the first that failed.
fn values(arrays: &[Array]) -> Result<Vec<Value>, Array> {
    arrays.iter().map(|a| a.value().cloned().map_err(|_| a.clone())).collect()
}

/// A tree of one array.
fn everywhere<T: Tree>(like: &T, array: &Array) -> T {
    map(like, |_| array.clone())
}

/// Arrays like others, with zeros where there is none.
fn filled(like: &[Array], slots: Vec<Option<Value>>) -> Vec<Array> {
    let one = |(like, slot): (&Array, Option<Value>)| match slot {
        Some(value) => Array::from_value(value),
        None => like.zeros_like(None),
    };
    like.iter().zip(slots).map(one).collect()
}

/// A tree's leaves marked by a trace.
#[track_caller]
fn marked<T: Tree>(tree: &T, trace: &Trace) -> T {
    map(tree, |leaf| Array::build("trace", [leaf], |[x], _| Ok(x.traced(trace)?)))
}

/// The results of `f`, and what a change of each input does to the sum of the
/// results times `cotangents`, which look like the results.
///
/// Arrays of integers and truth values have zeros for a cotangent.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, array, vjp};
/// let (x, w) = (array![1.0, 2.0], array![3.0, 4.0]);
/// let (y, (dx, dw)) = vjp(|(x, w): &(Array, Array)| x * w, &(x, w), &array![1.0, 10.0]);
/// assert_eq!(y.to_vec::<f32>()?, [3.0, 8.0]);
/// assert_eq!(dx.to_vec::<f32>()?, [3.0, 40.0]);
/// assert_eq!(dw.to_vec::<f32>()?, [1.0, 20.0]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
pub fn vjp<T: Tree, U: Tree>(f: impl FnOnce(&T) -> U, primals: &T, cotangents: &U) -> (U, T) {
    let ending = Ending(Trace::new());
    let inputs = marked(primals, &ending.0);
    let outputs = f(&inputs);
    let at = Call::here("vjp");
    let found = pulled(at, &leaves(&outputs), &leaves(&inputs), &leaves(cotangents));
    match found {
        Ok(found) => (outputs, primals.with_leaves(&mut found.into_iter())),
        Err(failed) => (outputs, everywhere(primals, &failed)),
    }
}

/// The cotangents of inputs; a failed array where there are none.
fn pulled(at: Call, outputs: &[Array], inputs: &[Array], cotangents: &[Array]) -> Result<Vec<Array>, Array> {
    if outputs.len() != cotangents.len() {
        let reason = format!("{} results have {} cotangents", outputs.len(), cotangents.len());
        return Err(at.failed(Reason::Parameters(reason)));
    }
    let (outputs, given) = (values(outputs)?, values(cotangents)?);
    let slots: Vec<Option<Value>> = given.into_iter().map(Some).collect();
    let found = transform::vjp(&outputs, &values(inputs)?, &slots);
    found.map(|slots| filled(inputs, slots)).map_err(|e| at.failed(e))
}

/// The results of `f`, and how they change when the inputs change by `tangents`,
/// which look like the inputs.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, array, jvp};
/// let (y, dy) = jvp(|x: &Array| x.sin(), &array![0.0], &array![2.0]);
/// assert_eq!((y.item::<f32>()?, dy.item::<f32>()?), (0.0, 2.0));
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
pub fn jvp<T: Tree, U: Tree>(f: impl FnOnce(&T) -> U, primals: &T, tangents: &T) -> (U, U) {
    let ending = Ending(Trace::new());
    let inputs = marked(primals, &ending.0);
    let outputs = f(&inputs);
    let at = Call::here("jvp");
    let found = pushed(at, &leaves(&outputs), &leaves(&inputs), &leaves(tangents));
    match found {
        Ok(found) => {
            let tangents = outputs.with_leaves(&mut found.into_iter());
            (outputs, tangents)
        }
        Err(failed) => {
            let tangents = everywhere(&outputs, &failed);
            (outputs, tangents)
        }
    }
}

fn pushed(at: Call, outputs: &[Array], inputs: &[Array], tangents: &[Array]) -> Result<Vec<Array>, Array> {
    if inputs.len() != tangents.len() {
        let reason = format!("{} inputs have {} tangents", inputs.len(), tangents.len());
        return Err(at.failed(Reason::Parameters(reason)));
    }
    let (inputs, given) = (values(inputs)?, values(tangents)?);
    let slots: Vec<Option<Value>> =
        given.into_iter().map(|t| t.spec().dtype.is_inexact().then_some(t)).collect();
    let found = transform::jvp(&values(outputs)?, &inputs, &slots);
    found.map(|slots| filled(outputs, slots)).map_err(|e| at.failed(e))
}

/// The function that gives the value of `f`, one number, and its gradient: for
/// each element of each array of the input, how the value changes with it.
///
/// Arrays of integers and truth values have zeros for a gradient.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, array, value_and_grad};
/// let loss = |w: &Vec<Array>| (&w[0] * &w[1]).sum(.., false);
/// let (value, gradient) = value_and_grad(loss)(&vec![array![1.0, 2.0], array![3.0, 4.0]]);
/// assert_eq!(value.item::<f32>()?, 11.0);
/// assert_eq!(gradient[0].to_vec::<f32>()?, [3.0, 4.0]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
pub fn value_and_grad<T: Tree>(f: impl Fn(&T) -> Array) -> impl Fn(&T) -> (Array, T) {
    let f = value_and_grad_with(move |input: &T| (f(input), ()));
    move |input| {
        let ((value, ()), gradient) = f(input);
        (value, gradient)
    }
}

/// As [`value_and_grad`], of a function that gives more beside its value.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, array, value_and_grad_with};
/// let f = value_and_grad_with(|x: &Array| ((x * x).sum(.., false), x + 1));
/// let ((value, more), gradient) = f(&array![3.0]);
/// assert_eq!((value.item::<f32>()?, more.item::<f32>()?), (9.0, 4.0));
/// assert_eq!(gradient.item::<f32>()?, 6.0);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
pub fn value_and_grad_with<T: Tree, M>(f: impl Fn(&T) -> (Array, M)) -> impl Fn(&T) -> ((Array, M), T) {
    let at = Call::here("grad");
    move |primals| {
        let ending = Ending(Trace::new());
        let inputs = marked(primals, &ending.0);
        let (value, more) = f(&inputs);
        let one = match value.check() {
            Err(_) => value.clone(),
            Ok(()) if value.ndim() > 0 || !value.dtype().is_inexact() => {
                let reason = format!(
                    "a gradient is of one float without dimensions, found {}{:?}",
                    value.dtype(),
                    value.shape()
                );
                at.failed(Reason::Parameters(reason))
            }
            Ok(()) => value.ones_like(None),
        };
        let found = pulled(at, std::slice::from_ref(&value), &leaves(&inputs), &[one]);
        let gradient = match found {
            Ok(found) => primals.with_leaves(&mut found.into_iter()),
            Err(failed) => everywhere(primals, &failed),
        };
        ((value, more), gradient)
    }
}

/// The function that gives the gradient of `f`; see [`value_and_grad`].
#[track_caller]
pub fn grad<T: Tree>(f: impl Fn(&T) -> Array) -> impl Fn(&T) -> T {
    let f = value_and_grad(f);
    move |input| f(input).1
}

/// Where the arrays of a tree have their further axis: one entry for all of them,
/// or one for each. `None` for an array that is the same for all.
pub type MapAxes<'a> = &'a [Option<isize>];

/// The function that runs `f` over the first axis of all arrays of its input, as
/// one computation and not in a loop; see [`vmap_over`].
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, array, vmap};
/// let dot = vmap(|(a, b): &(Array, Array)| (a * b).sum(.., false));
/// let (a, b) = (array![[1, 2], [3, 4]], array![[5, 6], [7, 8]]);
/// assert_eq!(dot(&(a, b)).to_vec::<i32>()?, [17, 53]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
pub fn vmap<T: Tree, U: Tree>(f: impl Fn(&T) -> U) -> impl Fn(&T) -> U {
    vmap_over(f, &[Some(0)], &[Some(0)])
}

/// The function that runs `f` over an axis of each array of its input: as many
/// times as the axes have places, as one computation. Results have the further
/// axis where `out_axes` says; those that do not depend on it are repeated, or
/// given as they are where the entry is `None`.
///
/// A value that `f` looks at is not known: that is an error.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, array, vmap_over};
/// let columns = vmap_over(|(x, w): &(Array, Array)| x * w, &[Some(1), None], &[Some(1)]);
/// let (x, w) = (array![[1, 2, 3], [4, 5, 6]], array![10, 100]);
/// assert_eq!(columns(&(x, w)).to_vec::<i32>()?, [10, 20, 30, 400, 500, 600]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
pub fn vmap_over<T: Tree, U: Tree>(
    f: impl Fn(&T) -> U,
    in_axes: MapAxes<'_>,
    out_axes: MapAxes<'_>,
) -> impl Fn(&T) -> U {
    let (in_axes, out_axes) = (in_axes.to_vec(), out_axes.to_vec());
    let at = Call::here("vmap");
    move |input| {
        let given = leaves(input);
        let (one, size) = match items(at, &given, &in_axes) {
            Ok(found) => found,
            // The function is asked for the shape of its results only.
            Err(failed) => return everywhere(&f(&everywhere(input, &failed)), &failed),
        };
        let placeholders: Vec<Array> = one.iter().map(|(placeholder, _)| placeholder.clone()).collect();
        let outputs = f(&input.with_leaves(&mut placeholders.clone().into_iter()));
        let batched: Vec<Batched> = one.into_iter().map(|(_, batched)| batched).collect();
        match mapped(at, &tree::kinds(&outputs), &placeholders, &batched, size, &out_axes) {
            Ok(found) => outputs.with_arrays(&mut found.into_iter()),
            Err(failed) => compile::whole(&outputs, &failed),
        }
    }
}

/// The entry for leaf `k` of `count`.
fn entry(axes: &[Option<isize>], k: usize, count: usize, what: &str) -> Result<Option<isize>, Reason> {
    match axes {
        &[one] => Ok(one),
        all if all.len() == count => Ok(all[k]),
        all => Err(Reason::Parameters(format!("{count} arrays are {what}, there are {} axes", all.len()))),
    }
}

/// For each array a placeholder for one of the batch, and the whole; and how many
/// there are.
fn items(at: Call, given: &[Array], axes: &[Option<isize>]) -> Result<(Vec<(Array, Batched)>, usize), Array> {
    let fail = |reason: Reason| at.failed(reason);
    let mut size: Option<usize> = None;
    let mut found = Vec::with_capacity(given.len());
    for (k, array) in given.iter().enumerate() {
        let value = array.value().map_err(|_| array.clone())?;
        let mut spec = value.spec().clone();
        let axis = match entry(axes, k, given.len(), "mapped").map_err(fail)? {
            None => None,
            Some(axis) => {
                let axis = crate::axes::axis_of(axis, spec.rank()).map_err(fail)?;
                let n = spec.shape.remove(axis);
                if size.is_some_and(|size| size != n) {
                    let reason =
                        format!("array {k} has {n} places to map over, those before {}", size.unwrap_or(0));
                    return Err(fail(Reason::Parameters(reason)));
                }
                size = Some(n);
                Some(axis)
            }
        };
        let placeholder = Array::from_value(Value::placeholder(spec));
        found.push((placeholder, Batched { value: value.clone(), axis }));
    }
    match size {
        Some(size) => Ok((found, size)),
        None => Err(fail(Reason::Parameters("no array has an axis to map over".into()))),
    }
}

/// The results for all of a batch, of those for one, which may be frozen.
fn mapped(
    at: Call,
    outputs: &[(Array, bool)],
    inputs: &[Array],
    batched: &[Batched],
    size: usize,
    axes: &[Option<isize>],
) -> Result<Vec<Array>, Array> {
    let arrays: Vec<Array> = outputs.iter().map(|(array, _)| array.clone()).collect();
    let found = transform::vmap(&values(&arrays)?, &values(inputs)?, batched, size);
    let found = found.map_err(|e| at.failed(e))?;
    let count = outputs.iter().filter(|(_, frozen)| !frozen).count();
    let mut leaf = 0..count;
    let one = |(Batched { value, axis }, &(_, frozen)): (Batched, &(Array, bool))| {
        let array = Array::from_value(value);
        let Some(k) = (if frozen { None } else { leaf.next() }) else {
            return Ok(axis.map_or(array.clone(), |from| array.moveaxis(from as isize, 0)));
        };
        let wanted = entry(axes, k, count, "results").map_err(|r| at.failed(r))?;
        Ok(match (axis, wanted) {
            (Some(from), Some(to)) => array.moveaxis(from as isize, to),
            (None, None) => array,
            (None, Some(to)) => {
                let shape: Vec<usize> = std::iter::once(size).chain(array.shape().iter().copied()).collect();
                array.broadcast_to(&shape).moveaxis(0, to)
            }
            (Some(_), None) => {
                let reason = format!("result {k} depends on what is mapped over: it needs an axis");
                return Err(at.failed(Reason::Parameters(reason)));
            }
        })
    };
    found.into_iter().zip(outputs).map(one).collect()
}
