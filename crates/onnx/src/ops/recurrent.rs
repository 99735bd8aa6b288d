//! Recurrent layers, unrolled over their steps.

use oneir_array::{Array, DType};

use super::{Row, row};
use crate::OnnxError;
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[
    row!(RNN [1, 7, 14, 22] => |call| layer(call, 1, &["Tanh"], false)),
    row!(GRU [1, 3, 7, 14, 22] => |call| layer(call, 3, &["Sigmoid", "Tanh"], false)),
    row!(LSTM [1, 7, 14, 22] => |call| layer(call, 4, &["Sigmoid", "Tanh", "Tanh"], true)),
];

/// A function of a gate, with its numbers.
struct Activation {
    name: String,
    alpha: f64,
    beta: f64,
}

impl Activation {
    fn apply(&self, x: &Array) -> Option<Array> {
        let number = |v: f64| Array::full(&[], v, x.dtype());
        let (alpha, beta) = (self.alpha, self.beta);
        let positive = x.greater_equal(number(0.0));
        Some(match self.name.as_str() {
            "relu" => x.maximum(number(0.0)),
            "tanh" => x.tanh(),
            "sigmoid" => x.sigmoid(),
            "affine" => x * alpha + beta,
            "leakyrelu" => positive.where_(x, &(x * alpha)),
            "thresholdedrelu" => x.greater_equal(number(alpha)).where_(x, number(0.0)),
            "scaledtanh" => {
                let scaled: Array = x * beta;
                scaled.tanh() * alpha
            }
            "hardsigmoid" => {
                let line: Array = x * alpha + beta;
                line.maximum(number(0.0)).minimum(number(1.0))
            }
            "elu" => positive.where_(x, &(x.expm1() * alpha)),
            "softsign" => x.divide(&(x.abs() + 1.0)),
            "softplus" => x.logaddexp(number(0.0)),
            _ => return None,
        })
    }
}

/// The functions of all directions; their numbers are listed in order, for
/// those that have any.
fn activations(call: &Call<'_>, defaults: &[&str], directions: usize) -> Result<Vec<Activation>, OnnxError> {
    let attributes = call.attributes();
    let names: Vec<String> = match attributes.find_strings("activations")? {
        Some(names) => names.iter().map(|name| name.to_lowercase()).collect(),
        None => defaults.repeat(directions).iter().map(|name| name.to_lowercase()).collect(),
    };
    if names.len() != defaults.len() * directions {
        let expected = defaults.len() * directions;
        return Err(call.fails(format!("{expected} activations are needed, found {}", names.len())));
    }
    let mut alphas = attributes.floats_or("activation_alpha", &[])?.iter();
    let mut betas = attributes.floats_or("activation_beta", &[])?.iter();
    let mut all = Vec::new();
    for name in names {
        let (alpha, beta) = match name.as_str() {
            "affine" | "scaledtanh" => (Some(1.0), Some(if name == "affine" { 0.0 } else { 1.0 })),
            "leakyrelu" => (Some(0.01), None),
            "thresholdedrelu" | "elu" => (Some(1.0), None),
            "hardsigmoid" => (Some(0.2), Some(0.5)),
            _ => (None, None),
        };
        let alpha = alpha.map_or(0.0, |or| alphas.next().map_or(or, |&v| f64::from(v)));
        let beta = beta.map_or(0.0, |or| betas.next().map_or(or, |&v| f64::from(v)));
        all.push(Activation { name, alpha, beta });
    }
    Ok(all)
}

/// What one direction works with: weights are transposed.
struct Cell<'a> {
    call: &'a Call<'a>,
    hidden: usize,
    recurrent: Array,
    /// The recurrence's bias, per gate.
    bias: Option<Array>,
    peepholes: Option<Array>,
    activations: &'a [Activation],
    clip: Option<f64>,
    reset_after: bool,
    coupled: bool,
}

impl Cell<'_> {
    fn gate(&self, of: &Array, k: usize) -> Array {
        of.narrow(-1, k * self.hidden, self.hidden)
    }

    fn activated(&self, which: usize, x: &Array) -> Result<Array, OnnxError> {
        let x = match self.clip {
            Some(clip) => {
                let bound = |v: f64| Array::full(&[], v, x.dtype());
                x.maximum(bound(-clip)).minimum(bound(clip))
            }
            None => x.clone(),
        };
        let found = &self.activations[which];
        found.apply(&x).ok_or_else(|| self.call.fails(format!("activation {} is not known", found.name)))
    }

    /// The next hidden and cell state; `x` is the input's part of every gate.
    fn step(&self, x: &Array, h: &Array, c: Option<&Array>) -> Result<(Array, Option<Array>), OnnxError> {
        if let Some(c) = c {
            return self.long_short(x, h, c).map(|(h, c)| (h, Some(c)));
        }
        if self.activations.len() == 1 {
            let sum = self.with_bias(x.add(h.matmul(&self.recurrent)), 0, 1);
            return Ok((self.activated(0, &sum)?, None));
        }
        self.gated(x, h).map(|h| (h, None))
    }

    /// `x` plus the recurrence's bias of some gates.
    fn with_bias(&self, x: Array, first: usize, gates: usize) -> Array {
        match &self.bias {
            Some(bias) => x.add(bias.narrow(0, first * self.hidden, gates * self.hidden)),
            None => x,
        }
    }

    fn gated(&self, x: &Array, h: &Array) -> Result<Array, OnnxError> {
        let hidden = self.hidden;
        let weight = |first: usize, gates: usize| self.recurrent.narrow(1, first * hidden, gates * hidden);
        let both = self.with_bias(x.narrow(-1, 0, 2 * hidden).add(h.matmul(&weight(0, 2))), 0, 2);
        let both = self.activated(0, &both)?;
        let (update, reset) = (self.gate(&both, 0), self.gate(&both, 1));
        let inner = if self.reset_after {
            let recurrent = self.with_bias(h.matmul(&weight(2, 1)), 2, 1);
            reset.multiply(&recurrent)
        } else {
            self.with_bias(reset.multiply(h).matmul(&weight(2, 1)), 2, 1)
        };
        let candidate = self.activated(1, &self.gate(x, 2).add(&inner))?;
        // (1 - z) · candidate + z · h.
        Ok(candidate.add(update.multiply(h.subtract(&candidate))))
    }

    fn long_short(&self, x: &Array, h: &Array, c: &Array) -> Result<(Array, Array), OnnxError> {
        let gates = self.with_bias(x.add(h.matmul(&self.recurrent)), 0, 4);
        let peek = |gate: Array, k: usize, c: &Array| match &self.peepholes {
            Some(p) => gate.add(p.narrow(0, k * self.hidden, self.hidden).multiply(c)),
            None => gate,
        };
        let input = self.activated(0, &peek(self.gate(&gates, 0), 0, c))?;
        let forget = if self.coupled {
            Array::full(&[], 1.0, input.dtype()).subtract(&input)
        } else {
            self.activated(0, &peek(self.gate(&gates, 2), 2, c))?
        };
        let candidate = self.activated(1, &self.gate(&gates, 3))?;
        let next = forget.multiply(c).add(input.multiply(&candidate));
        let output = self.activated(0, &peek(self.gate(&gates, 1), 1, &next))?;
        // The output's function is not clipped.
        let shown = self.activations[2].apply(&next).ok_or_else(|| {
            self.call.fails(format!("activation {} is not known", self.activations[2].name))
        })?;
        Ok((output.multiply(&shown), next))
    }
}

fn layer(call: &Call<'_>, gates: usize, defaults: &[&str], has_cell: bool) -> Results {
    let attributes = call.attributes();
    let x = call.array(0)?;
    let dtype = x.dtype();
    let wide = |v: Array| v.astype(dtype.accumulator());
    let batch_first = attributes.int_or("layout", 0)? != 0;
    let x = if batch_first { wide(x).transpose([1, 0, 2]) } else { wide(x) };
    let [steps, batch, _] = x.shape()[..] else { return Err(call.fails("the input must have 3 dimensions")) };
    let (w, r) = (wide(call.array(1)?), wide(call.array(2)?));
    let [directions, rows, hidden] = r.shape()[..] else {
        return Err(call.fails("the recurrence's weights must have 3 dimensions"));
    };
    let direction = attributes.string_or("direction", "forward")?;
    let expected = if direction == "bidirectional" { 2 } else { 1 };
    if directions != expected || rows != gates * hidden || w.ndim() != 3 {
        return Err(call.fails(format!("weights of shape {:?} do not fit direction {direction}", r.shape())));
    }
    let activations = activations(call, defaults, directions)?;
    let bias = call.optional(3)?.map(wide);
    let lengths = call.optional(4)?.map(|v| v.astype(DType::I64).reshape(&[-1, 1]));
    let initial = |i: usize| -> Result<Array, OnnxError> {
        Ok(match call.optional(i)? {
            Some(state) if batch_first => wide(state).transpose([1, 0, 2]),
            Some(state) => wide(state),
            None => Array::zeros(&[directions, batch, hidden], x.dtype()),
        })
    };
    let first_h = initial(5)?;
    let first_c = if has_cell { Some(initial(6)?) } else { None };
    let peepholes = if has_cell { call.optional(7)?.map(wide) } else { None };
    let of = |v: &Array, d: usize| v.narrow(0, d, 1).squeeze([0]);
    let (mut outputs, mut last_h, mut last_c) = (Vec::new(), Vec::new(), Vec::new());
    for d in 0..directions {
        let bias = bias.as_ref().map(|b| of(b, d));
        let per_step = x.matmul(&of(&w, d).transpose([1, 0]));
        let per_step = match &bias {
            Some(bias) => per_step.add(bias.narrow(0, 0, gates * hidden)),
            None => per_step,
        };
        let cell = Cell {
            call,
            hidden,
            recurrent: of(&r, d).transpose([1, 0]),
            bias: bias.map(|b| b.narrow(0, gates * hidden, gates * hidden)),
            peepholes: peepholes.as_ref().map(|p| of(p, d)),
            activations: &activations[d * defaults.len()..(d + 1) * defaults.len()],
            clip: attributes.find_float("clip")?.map(f64::from),
            reset_after: attributes.int_or("linear_before_reset", 0)? != 0,
            coupled: attributes.int_or("input_forget", 0)? != 0,
        };
        let mut h = of(&first_h, d);
        let mut c = first_c.as_ref().map(|c| of(c, d));
        let mut shown = vec![None; steps];
        let backward = direction == "reverse" || d == 1;
        for step in 0..steps {
            let t = if backward { steps - 1 - step } else { step };
            let (mut next, mut next_c) = cell.step(&of(&per_step, t), &h, c.as_ref())?;
            let mut output = next.clone();
            if let Some(lengths) = &lengths {
                // Past its end an item keeps its state and shows zeros.
                let runs = lengths.greater(Array::full(&[], t as f64, DType::I64));
                output = runs.where_(&next, Array::full(&[], 0.0, next.dtype()));
                next = runs.where_(&next, &h);
                next_c = next_c.zip(c.as_ref()).map(|(next, c)| runs.where_(&next, c));
            }
            shown[t] = Some(output);
            (h, c) = (next, next_c);
        }
        let shown: Vec<Array> = shown.into_iter().flatten().collect();
        outputs.push(if steps == 0 {
            Array::zeros(&[0, batch, hidden], x.dtype())
        } else {
            Array::stack(&shown, 0)
        });
        last_h.push(h);
        last_c.extend(c);
    }
    let turned = |v: Array, axes: &[isize]| {
        let v = if batch_first { v.transpose(axes) } else { v };
        v.astype(dtype)
    };
    let mut results = vec![turned(Array::stack(&outputs, 1), &[2, 0, 1, 3])];
    results.push(turned(Array::stack(&last_h, 0), &[1, 0, 2]));
    if has_cell {
        results.push(turned(Array::stack(&last_c, 0), &[1, 0, 2]));
    }
    results.iter().try_for_each(|array| call.checked(array))?;
    Ok(results.into_iter().map(Into::into).collect())
}
