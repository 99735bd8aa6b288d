//! Functions that are traced once, planned, and run again and again.

use std::sync::{Arc, Mutex, PoisonError};

use oneir_ir::transform::captures;
use oneir_ir::{Spec, Trace, Value};
use oneir_runtime::Runtime;

use super::{Call, Structure, parts, values};
use crate::{Array, ArrayError, DType, Reason, Traced, Tree, random};

/// How many traces of a function are kept.
const MAX_TRACES: usize = 32;

/// The function that computes as `f` does, and calls it only for inputs that it has
/// not met yet: those of another structure, or with arrays of other shapes or dtypes.
/// What `f` records is then simplified, fused and planned; further calls run the plan.
///
/// Everything that `f` does beside recording, such as printing, is done once per
/// trace. Arrays that it reads beside its input are constants, as they were then;
/// random numbers are drawn anew in every call, as they would be by `f` itself.
/// A call computes at once, on the default device; within another transform `f` itself
/// is called. The latest 32 traces are kept.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, array, compile, grad};
/// let loss = |(w, x): &(Array, Array)| (x.matmul(w).tanh() - 1).square().mean(.., false);
/// let step = compile(|at: &(Array, Array)| &at.0 - grad(loss)(at).0 * 0.1);
/// let (w, x) = (array![[0.5], [-0.5]], array![[1.0, 2.0], [3.0, 4.0]]);
/// let next = step(&(step(&(w, x.clone())), x));
/// assert_eq!(next.shape(), [2, 1]);
/// # next.eval()?;
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
pub fn compile<T: Tree, U: Tree>(f: impl Fn(&T) -> U) -> impl Fn(&T) -> U {
    pure(Traces::new(Call::here("compile"), false), f)
}

/// As [`compile`], but traced only once for all shapes of the same number of
/// dimensions: a call with others runs the same operations on them.
///
/// What was recorded must not hold sizes. An operation that does (a reshape, a slice,
/// a range of numbers) makes the call fail by its name; broadcasts follow the
/// operands they are for, and means divide by the size that there is. A size that `f`
/// itself reads and computes with stays as it was in the trace.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, array, compile_shapeless};
/// let centred = compile_shapeless(|x: &Array| x - x.mean(0, true));
/// assert_eq!(centred(&array![1.0, 3.0]).to_vec::<f32>()?, [-1.0, 1.0]);
/// assert_eq!(centred(&array![1.0, 2.0, 6.0]).to_vec::<f32>()?, [-2.0, -1.0, 3.0]);
///
/// let first = compile_shapeless(|x: &Array| x.narrow(0, 0, 1));
/// let refused = first(&array![1.0, 2.0]).check().unwrap_err().to_string();
/// assert!(refused.contains("`slice`"), "{refused}");
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
pub fn compile_shapeless<T: Tree, U: Tree>(f: impl Fn(&T) -> U) -> impl Fn(&T) -> U {
    pure(Traces::new(Call::here("compile_shapeless"), true), f)
}

/// As [`compile`], of a function that changes a state. The memory of the state's
/// arrays becomes the memory of the next state's where nothing else holds them, so
/// that a step of training needs no more memory than the parameters and its working.
///
/// When a call fails, the state stays as it was.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, array, compile_mut};
/// let step = compile_mut(|total: &mut Array, x: &Array| {
///     *total = &*total + x;
///     total.sum(.., false)
/// });
/// let mut total = array![0.0, 0.0];
/// step(&mut total, &array![1.0, 2.0]);
/// assert_eq!(step(&mut total, &array![10.0, 20.0]).item::<f32>()?, 33.0);
/// assert_eq!(total.to_vec::<f32>()?, [11.0, 22.0]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
pub fn compile_mut<S: Tree, T: Tree, U: Tree>(f: impl Fn(&mut S, &T) -> U) -> impl Fn(&mut S, &T) -> U {
    let traces = Traces::new(Call::here("compile_mut"), false);
    move |state, input| {
        let ((of_state, mut arrays), (of_input, more)) = (parts(state), parts(input));
        let held = arrays.len();
        arrays.extend(more);
        // The tree and the list here are all that may hold an array that is taken.
        let sole: Vec<bool> =
            arrays.iter().enumerate().map(|(k, a)| k < held && holders(a) == Some(2)).collect();
        let trace = |given: &[Array]| {
            let mut given = given.iter().cloned();
            let mut next = state.with_arrays(&mut given);
            let made = f(&mut next, &input.with_arrays(&mut given));
            (next, made)
        };
        match traces.call(vec![of_state, of_input], &arrays, &sole, trace) {
            Outcome::Made((next, made)) => {
                *state = next;
                made
            }
            Outcome::Failed(failed, (_, made)) => whole(&made, &failed),
            Outcome::Apart => {
                let mut next = state.clone();
                let made = f(&mut next, input);
                if parts(&next).1.iter().all(|array| array.check().is_ok()) {
                    *state = next;
                }
                made
            }
        }
    }
}

fn pure<T: Tree, U: Tree>(traces: Traces<U>, f: impl Fn(&T) -> U) -> impl Fn(&T) -> U {
    move |input| {
        let (structure, arrays) = parts(input);
        let trace = |given: &[Array]| f(&input.with_arrays(&mut given.iter().cloned()));
        match traces.call(vec![structure], &arrays, &[], trace) {
            Outcome::Made(made) => made,
            Outcome::Failed(failed, made) => whole(&made, &failed),
            Outcome::Apart => f(input),
        }
    }
}

/// A tree of one array, frozen ones included.
pub(super) fn whole<T: Tree>(like: &T, array: &Array) -> T {
    like.with_arrays(&mut std::iter::repeat(array.clone()))
}

/// How many handles there are on what made an array; none of one that failed.
fn holders(array: &Array) -> Option<usize> {
    array.value().ok().map(|value| Arc::strong_count(value.node()))
}

/// What a call comes to.
enum Outcome<R> {
    Made(R),
    /// What failed, and what the result looks like.
    Failed(Array, R),
    /// The function must be called itself: it fails, or reads or is given what a
    /// transform around it looks at.
    Apart,
}

/// The traces of one function, whose results are `R`.
struct Traces<R> {
    at: Call,
    /// Whether one trace serves all shapes.
    shapeless: bool,
    kept: Mutex<Vec<(Key, Arc<Kept<R>>)>>,
}

/// What calls of one trace have in common.
#[derive(PartialEq)]
struct Key {
    structures: Vec<Structure>,
    specs: Vec<Spec>,
}

/// A trace.
struct Kept<R> {
    function: Result<Function, Array>,
    /// The results, with other arrays.
    like: R,
    /// Whether random numbers are drawn: their state is a further input and output.
    draws: bool,
}

enum Function {
    Fixed(Traced),
    Shapeless(super::shapeless::Shapeless),
}

impl<R: Tree> Traces<R> {
    fn new(at: Call, shapeless: bool) -> Traces<R> {
        Traces { at, shapeless, kept: Mutex::default() }
    }

    fn call(
        &self,
        structures: Vec<Structure>,
        arguments: &[Array],
        sole: &[bool],
        trace: impl FnOnce(&[Array]) -> R,
    ) -> Outcome<R> {
        let Ok(given) = values(arguments) else { return Outcome::Apart };
        if given.iter().any(oneir_ir::transform::is_open) {
            return Outcome::Apart;
        }
        let specs: Vec<Spec> = given.iter().map(|v| self.form(v.spec())).collect();
        let key = Key { structures, specs };
        let kept = match self.found(&key) {
            Some(kept) => kept,
            None => match self.trace(&given, trace) {
                Some(kept) => self.keep(key, kept),
                None => return Outcome::Apart,
            },
        };
        let function = match &kept.function {
            Ok(function) => function,
            Err(failed) => return Outcome::Failed(failed.clone(), kept.like.clone()),
        };
        let mut arguments = arguments.to_vec();
        if kept.draws {
            let state = random::state();
            if state.value().is_ok_and(oneir_ir::transform::is_open) {
                return Outcome::Apart;
            }
            arguments.push(state);
        }
        match self.run(function, &arguments, sole, kept.draws) {
            Ok(made) => Outcome::Made(kept.like.with_arrays(&mut made.into_iter())),
            Err(error) => {
                let failed = match error {
                    Stopped::Failed(array) => array,
                    Stopped::Error(error) => self.at.failed(Reason::Run(error.to_string())),
                };
                Outcome::Failed(failed, kept.like.clone())
            }
        }
    }

    /// What a trace serves of shape and dtype.
    fn form(&self, spec: &Spec) -> Spec {
        match self.shapeless {
            true => Spec::new(spec.dtype, vec![0; spec.rank()].as_slice()),
            false => spec.clone(),
        }
    }

    fn found(&self, key: &Key) -> Option<Arc<Kept<R>>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(k, _)| k == key)?;
        // The latest stand at the end.
        let latest = kept.len() - 1;
        kept[at..=latest].rotate_left(1);
        Some(kept[latest].1.clone())
    }

    fn keep(&self, key: Key, new: Kept<R>) -> Arc<Kept<R>> {
        let new = Arc::new(new);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_TRACES {
            kept.remove(0);
        }
        kept.push((key, new.clone()));
        new
    }

    /// Calls the function on values that are not known; none where its results failed
    /// or depend on more than these.
    fn trace(&self, given: &[Value], trace: impl FnOnce(&[Array]) -> R) -> Option<Kept<R>> {
        let varying = Trace::of_any_size();
        let argument = |spec: &Spec| {
            let argument = Traced::argument(spec.clone());
            match (self.shapeless, argument.value()) {
                (true, Ok(value)) => value.traced(&varying).map_or(argument.clone(), Array::from_value),
                _ => argument,
            }
        };
        let mut inputs: Vec<Array> = given.iter().map(|v| argument(v.spec())).collect();
        let key = Traced::argument(Spec::new(DType::U32, [2]));
        let replaced = Replaced::by(&key)?;
        let like = trace(&inputs);
        let (_, mut outputs) = parts(&like);
        let state = random::state();
        drop(replaced);
        let draws = state.value().ok()?.key() != key.value().ok()?.key();
        if draws {
            inputs.push(key);
            outputs.push(state);
        }
        let (inputs, outputs) = (values(&inputs).ok()?, values(&outputs).ok()?);
        let beside = captures(&outputs, &inputs);
        varying.end();
        if !beside.is_empty() {
            return None;
        }
        let nothing = Array::from(false);
        let like = whole(&like, &nothing);
        Some(Kept { function: self.function(&inputs, &outputs), like, draws })
    }

    fn function(&self, inputs: &[Value], outputs: &[Value]) -> Result<Function, Array> {
        if self.shapeless {
            let made = super::shapeless::Shapeless::new(inputs, outputs);
            return made.map(Function::Shapeless).map_err(|reason| self.at.failed(reason));
        }
        let arrays = |values: &[Value]| values.iter().cloned().map(Array::from_value).collect::<Vec<_>>();
        let traced = Traced::new(&arrays(inputs), &arrays(outputs));
        traced.map(Function::Fixed).map_err(|e| self.at.failed(Reason::Run(e.to_string())))
    }

    fn run(
        &self,
        function: &Function,
        arguments: &[Array],
        sole: &[bool],
        draws: bool,
    ) -> Result<Vec<Array>, Stopped> {
        let device = Runtime::global().default_device().map_err(ArrayError::from)?;
        let mut made = match function {
            Function::Fixed(traced) => traced.call_taking(&device, arguments, sole)?,
            Function::Shapeless(shapeless) => {
                let traced =
                    shapeless.on(arguments).map_err(|reason| Stopped::Failed(self.at.failed(reason)))?;
                traced.call_taking(&device, arguments, sole)?
            }
        };
        if draws && let Some(state) = made.pop() {
            random::set_state(&state)?;
        }
        Ok(made)
    }
}

/// Why a call gave nothing.
enum Stopped {
    Failed(Array),
    Error(ArrayError),
}

impl From<ArrayError> for Stopped {
    fn from(error: ArrayError) -> Stopped {
        Stopped::Error(error)
    }
}

/// The thread's random state while another is in its place.
struct Replaced(Array);

impl Replaced {
    fn by(state: &Array) -> Option<Replaced> {
        let before = random::state();
        random::set_state(state).ok()?;
        Some(Replaced(before))
    }
}

impl Drop for Replaced {
    fn drop(&mut self) {
        _ = random::set_state(&self.0);
    }
}
