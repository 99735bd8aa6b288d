//! Functions with rules of their own, and those that compute again instead of
//! keeping what they computed.

use std::sync::Arc;

use oneir_ir::primitive::{Applied, Batched, CustomCall, CustomRules, GivenRules, Slots};
use oneir_ir::transform::{TransformError, captures};
use oneir_ir::{Place, Primitive, Value};

use super::{Call, everywhere, filled, leaves, map, values};
use crate::{Array, Reason, Tree};

const NAME: &str = "custom_function";

type Function<T, U> = Arc<dyn Fn(&T) -> U + Send + Sync>;
type Jvp<T, U> = Arc<dyn Fn(&T, &U, &T) -> U + Send + Sync>;
type Vjp<T, U> = Arc<dyn Fn(&T, &U, &U) -> T + Send + Sync>;
type Vmap<T, U> = Arc<dyn Fn(&T, &[Option<usize>], usize) -> (U, Vec<Option<usize>>) + Send + Sync>;

/// A function that transforms meet by rules given beside it; see
/// [`custom_function`].
pub struct CustomFunction<T, U> {
    call: Function<T, U>,
    jvp: Option<Jvp<T, U>>,
    vjp: Option<Vjp<T, U>>,
    vmap: Option<Vmap<T, U>>,
}

/// A function whose derivatives and batches may be told; those that are not go
/// through the function itself.
///
/// All arrays that it reads must be in its input: an array of a transform around it
/// that it reads beside is an error, since no rule could tell of it.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, array, custom_function, grad};
/// // The logarithm of 1 + e^x, with a derivative that does not overflow.
/// let softplus = custom_function(|x: &Array| x.exp().log1p())
///     .with_vjp(|x, _y, cotangent| cotangent * x.sigmoid());
/// let slope = grad(|x: &Array| softplus.call(x).sum(.., false));
/// assert_eq!(slope(&array![0.0, 1000.0]).to_vec::<f32>()?, [0.5, 1.0]);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
pub fn custom_function<T: Tree, U: Tree>(
    f: impl Fn(&T) -> U + Send + Sync + 'static,
) -> CustomFunction<T, U> {
    CustomFunction { call: Arc::new(f), jvp: None, vjp: None, vmap: None }
}

impl<T: Tree + Send + Sync + 'static, U: Tree + Send + Sync + 'static> CustomFunction<T, U> {
    /// With the rule of forward mode: from inputs, results and tangents of the inputs
    /// to tangents of the results.
    #[must_use]
    pub fn with_jvp(mut self, rule: impl Fn(&T, &U, &T) -> U + Send + Sync + 'static) -> Self {
        self.jvp = Some(Arc::new(rule));
        self
    }

    /// With the rule of reverse mode: from inputs, results and cotangents of the
    /// results to cotangents of the inputs.
    #[must_use]
    pub fn with_vjp(mut self, rule: impl Fn(&T, &U, &U) -> T + Send + Sync + 'static) -> Self {
        self.vjp = Some(Arc::new(rule));
        self
    }

    /// With the rule of batches: from inputs, where the further axis of each of their
    /// arrays is (none where it is the same for all), and its size, to the results and
    /// where the further axis of each of theirs is.
    #[must_use]
    pub fn with_vmap(
        mut self,
        rule: impl Fn(&T, &[Option<usize>], usize) -> (U, Vec<Option<usize>>) + Send + Sync + 'static,
    ) -> Self {
        self.vmap = Some(Arc::new(rule));
        self
    }

    /// The function's results.
    #[track_caller]
    pub fn call(&self, input: &T) -> U {
        let inputs = apart(input);
        let outputs = (self.call)(&inputs);
        if self.jvp.is_none() && self.vjp.is_none() && self.vmap.is_none() {
            return outputs;
        }
        let (given, made) = (leaves(&inputs), leaves(&outputs));
        let beside = |inputs: &[Value], outputs: &[Value]| match captures(outputs, inputs).len() {
            0 => Ok(vec![]),
            count => Err(Reason::Parameters(format!(
                "the function reads {count} arrays of a transform around it that are not in its input"
            ))),
        };
        let rules = || CustomRules::Given(self.rules(bare(input), bare(&outputs)));
        marked_call(Call::here(NAME), &outputs, &given, &made, beside, rules)
    }

    /// The rules on values, of trees like these.
    fn rules(&self, like: T, made: U) -> GivenRules {
        let (like, made) = (Arc::new(like), Arc::new(made));
        let jvp = self.jvp.clone().map(|rule| {
            let (like, made) = (like.clone(), made.clone());
            change(move |at, given| {
                let (inputs, outputs) = (joined(&*like, at.inputs), joined(&*made, at.outputs));
                let found = rule(&inputs, &outputs, &completed(&*like, at.inputs, given));
                checked(&leaves(&found), at.outputs)
            })
        });
        let vjp = self.vjp.clone().map(|rule| {
            let (like, made) = (like.clone(), made.clone());
            change(move |at, given| {
                let (inputs, outputs) = (joined(&*like, at.inputs), joined(&*made, at.outputs));
                let found = rule(&inputs, &outputs, &completed(&*made, at.outputs, given));
                checked(&leaves(&found), at.inputs)
            })
        });
        let vmap = self.vmap.clone().map(|rule| {
            let rule = move |inputs: &[Batched], size: usize| {
                let all: Vec<Value> = inputs.iter().map(|x| x.value.clone()).collect();
                let axes: Vec<Option<usize>> = inputs.iter().map(|x| x.axis).collect();
                let (outputs, axes) = rule(&joined(&*like, &all), &axes, size);
                let outputs = values(&leaves(&outputs)).map_err(failure)?;
                if outputs.len() != axes.len() {
                    return Err(user(format!("{} results have {} axes", outputs.len(), axes.len())));
                }
                let fits = |(value, &axis): (&Value, &Option<usize>)| {
                    axis.is_none_or(|axis| value.spec().shape.get(axis) == Some(&size))
                };
                if !outputs.iter().zip(&axes).all(fits) {
                    return Err(user(format!("a result has no axis of {size} where the rule says")));
                }
                Ok(outputs.into_iter().zip(axes).map(|(value, axis)| Batched { value, axis }).collect())
            };
            Arc::new(rule) as Arc<oneir_ir::primitive::BatchRule>
        });
        GivenRules { jvp, vjp, vmap }
    }
}

/// A closure as a rule.
fn change(
    rule: impl Fn(&Applied<'_>, &[Option<Value>]) -> Result<Slots, TransformError> + Send + Sync + 'static,
) -> Arc<oneir_ir::primitive::ChangeRule> {
    Arc::new(rule)
}

/// The function that computes as `f` does, but keeps nothing of it for reverse mode:
/// there it computes again, from its inputs, which saves memory for time.
///
/// Random numbers are the same both times. Arrays that `f` reads beside its input
/// have their derivatives as ever.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, array, checkpoint, grad};
/// let block = checkpoint(|x: &Array| x.sin().exp().tanh());
/// let x = array![0.3, -1.2];
/// let kept = grad(|x: &Array| x.sin().exp().tanh().sum(.., false))(&x);
/// let again = grad(|x: &Array| block(x).sum(.., false))(&x);
/// assert!(kept.allclose(&again, 1e-6, 0.0, false).item::<bool>()?);
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
#[track_caller]
pub fn checkpoint<T: Tree, U: Tree>(f: impl Fn(&T) -> U) -> impl Fn(&T) -> U {
    let at = Call::here("checkpoint");
    move |input| {
        let inputs = apart(input);
        let outputs = f(&inputs);
        let beside = |inputs: &[Value], outputs: &[Value]| Ok(captures(outputs, inputs));
        let rules = || CustomRules::Recompute;
        marked_call(at, &outputs, &leaves(&inputs), &leaves(&outputs), beside, rules)
    }
}

/// Records the call of a function beside what it made, with what `beside` finds that
/// it reads apart from its inputs.
fn marked_call<U: Tree>(
    at: Call,
    like: &U,
    inputs: &[Array],
    outputs: &[Array],
    beside: impl FnOnce(&[Value], &[Value]) -> Result<Vec<Value>, Reason>,
    rules: impl FnOnce() -> CustomRules,
) -> U {
    if outputs.is_empty() {
        return like.clone();
    }
    let (inputs, outputs) = match (values(inputs), values(outputs)) {
        (Ok(inputs), Ok(outputs)) => (inputs, outputs),
        // What failed tells so itself.
        _ => return like.clone(),
    };
    let record = || -> Result<Vec<Value>, Reason> {
        let more = beside(&inputs, &outputs)?;
        let call =
            CustomCall { name: at.transform.into(), primals: inputs.len() + more.len(), rules: rules() };
        let all: Vec<&Value> = inputs.iter().chain(&more).chain(&outputs).collect();
        let place = Place::Rust(at.place);
        Ok(Value::record_all(Primitive::Custom(call), &all, place)?.into_vec())
    };
    match record() {
        Ok(made) => like.with_leaves(&mut made.into_iter().map(Array::from_value)),
        Err(reason) => everywhere(like, &at.failed(reason)),
    }
}

/// The same arrays, apart from all else that is recorded from them.
#[track_caller]
fn apart<T: Tree>(tree: &T) -> T {
    map(tree, |leaf| {
        let same = leaf.shape().to_vec();
        Array::primitive(NAME, Primitive::Reshape(same), [leaf])
    })
}

/// A tree without its arrays: others are to be put in.
fn bare<T: Tree>(tree: &T) -> T {
    let nothing = Array::from(false);
    map(tree, |_| nothing.clone())
}

fn joined<T: Tree>(like: &T, values: &[Value]) -> T {
    like.with_leaves(&mut values.iter().cloned().map(Array::from_value))
}

/// Changes of values, with zeros where there is none.
fn completed<T: Tree>(like: &T, of: &[Value], changes: &[Option<Value>]) -> T {
    let of: Vec<Array> = of.iter().cloned().map(Array::from_value).collect();
    like.with_leaves(&mut filled(&of, changes.to_vec()).into_iter())
}

/// What a rule gave, which looks like `of`; nothing for what does not change smoothly.
fn checked(found: &[Array], of: &[Value]) -> Result<Slots, TransformError> {
    if found.len() != of.len() {
        return Err(user(format!("it gives {} arrays for {}", found.len(), of.len())));
    }
    let one = |(found, of): (&Array, &Value)| {
        if !of.spec().dtype.is_inexact() {
            return Ok(None);
        }
        let value = found.value().map_err(|e| user(e.to_string()))?;
        if value.spec() != of.spec() {
            return Err(user(format!("it gives {} for {}", value.spec(), of.spec())));
        }
        Ok(Some(value.clone()))
    };
    found.iter().zip(of).map(one).collect()
}

fn failure(failed: Array) -> TransformError {
    user(failed.check().err().map_or_else(String::new, |e| e.to_string()))
}

fn user(why: String) -> TransformError {
    TransformError::User { function: NAME.into(), why }
}
