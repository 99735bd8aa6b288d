//! Element-wise operators.

use oneir_array::{Array, DType};

use super::{Row, row};
use crate::call::{Call, Results};

/// An operator that is one function of one array.
macro_rules! unary {
    ($method:ident) => {
        |call| call.one(call.array(0)?.$method())
    };
}

/// An operator that is one function of two arrays.
macro_rules! binary {
    ($method:ident) => {
        |call| {
            let (a, b) = pair(call)?;
            call.one(a.$method(&b))
        }
    };
}

pub(super) const ROWS: &[Row] = &[
    row!(Abs [1, 6, 13] => unary!(abs)),
    row!(Neg [1, 6, 13] => unary!(negative)),
    row!(Sign [9, 13] => unary!(sign)),
    row!(Sqrt [1, 6, 13] => unary!(sqrt)),
    row!(Reciprocal [1, 6, 13] => unary!(reciprocal)),
    row!(Exp [1, 6, 13] => unary!(exp)),
    row!(Log [1, 6, 13] => unary!(log)),
    row!(Sin [7, 22] => unary!(sin)),
    row!(Cos [7, 22] => unary!(cos)),
    row!(Tan [7, 22] => unary!(tan)),
    row!(Asin [7, 22] => unary!(arcsin)),
    row!(Acos [7, 22] => unary!(arccos)),
    row!(Atan [7, 22] => unary!(arctan)),
    row!(Sinh [9, 22] => unary!(sinh)),
    row!(Cosh [9, 22] => unary!(cosh)),
    row!(Tanh [1, 6, 13] => unary!(tanh)),
    row!(Asinh [9, 22] => unary!(arcsinh)),
    row!(Acosh [9, 22] => unary!(arccosh)),
    row!(Atanh [9, 22] => unary!(arctanh)),
    row!(Sigmoid [1, 6, 13] => unary!(sigmoid)),
    row!(Erf [9, 13] => unary!(erf)),
    row!(Floor [1, 6, 13] => unary!(floor)),
    row!(Ceil [1, 6, 13] => unary!(ceil)),
    row!(Round [11, 22] => |call| call.one(call.array(0)?.round(0))),
    row!(IsNaN [9, 13, 20] => unary!(isnan)),
    row!(Not [1] => unary!(logical_not)),
    row!(BitwiseNot [18] => unary!(bitwise_invert)),
    row!(Add [1, 6, 7, 13, 14] => binary!(add)),
    row!(Sub [1, 6, 7, 13, 14] => binary!(subtract)),
    row!(Mul [1, 6, 7, 13, 14] => binary!(multiply)),
    row!(Div [1, 6, 7, 13, 14] => divide),
    row!(Pow [1, 7, 12, 13, 15] => pow),
    row!(Mod [10, 13, 28] => modulo),
    row!(And [1, 7] => binary!(logical_and)),
    row!(Or [1, 7] => binary!(logical_or)),
    row!(Xor [1, 7] => binary!(not_equal)),
    row!(moves Equal [1, 7, 11, 13, 19] => binary!(equal)),
    row!(Less [1, 7, 9, 13] => binary!(less)),
    row!(LessOrEqual [12, 16] => binary!(less_equal)),
    row!(Greater [1, 7, 9, 13] => binary!(greater)),
    row!(GreaterOrEqual [12, 16] => binary!(greater_equal)),
    row!(BitwiseAnd [18] => binary!(bitwise_and)),
    row!(BitwiseOr [18] => binary!(bitwise_or)),
    row!(BitwiseXor [18] => binary!(bitwise_xor)),
    row!(BitShift [11, 28] => bit_shift),
    row!(Max [1, 6, 8, 12, 13] => |call| fold(call, |a, b| a.maximum(b))),
    row!(Min [1, 6, 8, 12, 13] => |call| fold(call, |a, b| a.minimum(b))),
    row!(Sum [1, 6, 8, 13] => |call| fold(call, |a, b| a.add(b))),
    row!(Mean [1, 6, 8, 13] => mean),
    row!(moves Where [9, 16] => |call| call.one(call.array(0)?.where_(&call.array(1)?, &call.array(2)?))),
    row!(Clip [1, 6, 11, 12, 13] => clip),
    row!(Relu [1, 6, 13, 14] => |call| {
        let x = call.array(0)?;
        call.one(x.maximum(Array::full(&[], 0.0, x.dtype())))
    }),
    row!(LeakyRelu [1, 6, 16] => leaky_relu),
    row!(PRelu [1, 6, 7, 9, 16] => prelu),
    row!(Elu [1, 6, 22] => elu),
    row!(Celu [12, 28] => celu),
    row!(Selu [1, 6, 22] => selu),
    row!(ThresholdedRelu [1, 10, 22] => thresholded_relu),
    row!(HardSigmoid [1, 6, 22] => hard_sigmoid),
    row!(HardSwish [14, 22] => |call| {
        let x = call.array(0)?;
        call.one(&x * hard(&x, 1.0 / 6.0, 0.5))
    }),
    row!(Softplus [1, 22] => |call| {
        let x = call.array(0)?;
        call.one(x.logaddexp(Array::full(&[], 0.0, x.dtype())))
    }),
    row!(Softsign [1, 22] => |call| {
        let x = call.array(0)?;
        call.one(&x / (x.abs() + 1.0))
    }),
    row!(Mish [18, 22] => |call| {
        let x = call.array(0)?;
        let soft = x.logaddexp(Array::full(&[], 0.0, x.dtype()));
        call.one(&x * soft.tanh())
    }),
    row!(Gelu [20] => gelu),
    row!(Swish [24] => |call| call.one(swish(call, &call.array(0)?)?)),
    row!(SwiGLU [28] => swiglu),
    row!(IsInf [10, 20] => is_inf),
    row!(Shrink [9] => shrink),
];

/// Two operands. Before version 7 the second is aligned at an axis instead of
/// at the end.
fn pair(call: &Call<'_>) -> Result<(Array, Array), crate::OnnxError> {
    let (a, b) = (call.array(0)?, call.array(1)?);
    let legacy =
        call.version < 7 && call.node.domain.is_empty() && call.attributes().int_or("broadcast", 0)? != 0;
    if !legacy || a.shape() == b.shape() {
        return Ok((a, b));
    }
    let (rank_a, rank_b) = (a.ndim(), b.ndim());
    let axis = match call.attributes().find_int("axis")? {
        Some(axis) => call.axis(axis, rank_a)?,
        None => rank_a.saturating_sub(rank_b),
    };
    let tail = rank_a.saturating_sub(axis + rank_b);
    let mut shape: Vec<isize> = b.shape().iter().map(|&n| n as isize).collect();
    shape.extend(std::iter::repeat_n(1, tail));
    Ok((a, b.reshape(&shape)))
}

fn divide(call: &Call<'_>) -> Results {
    let (a, b) = pair(call)?;
    if b.dtype().is_integer() && matches!(call.term(1)?, crate::Term::Host(_)) && call.ints(1)?.contains(&0) {
        return Err(call.fails("the divisor is 0"));
    }
    call.one(a.trunc_divide(&b))
}

fn pow(call: &Call<'_>) -> Results {
    let (a, b) = pair(call)?;
    let dtype = a.dtype();
    // The result has the base's type; a fractional exponent of an integer base
    // needs floats on the way.
    if dtype.is_integer() && b.dtype().is_float() {
        return call.one(a.astype(DType::F64).power(b.astype(DType::F64)).astype(dtype));
    }
    call.one(a.power(b.astype(dtype)))
}

fn modulo(call: &Call<'_>) -> Results {
    let (a, b) = pair(call)?;
    match call.attributes().int_or("fmod", 0)? {
        0 if a.dtype().is_float() && call.version < 28 => Err(call.fails("floats need fmod = 1")),
        0 if a.dtype().is_float() => {
            // A zero has the divisor's sign.
            let number = |v: f64| Array::full(&[], v, a.dtype());
            let rest = a.remainder(&b);
            let zero = b.less(number(0.0)).where_(number(-0.0), number(0.0));
            call.one(rest.equal(number(0.0)).where_(&zero, &rest))
        }
        0 => call.one(a.remainder(&b)),
        _ => call.one(a.fmod(&b)),
    }
}

/// x · sigmoid(alpha · x).
fn swish(call: &Call<'_>, x: &Array) -> Result<Array, crate::OnnxError> {
    let alpha = call.attributes().float_or("alpha", 1.0)?;
    Ok(x * (x * alpha).sigmoid())
}

fn swiglu(call: &Call<'_>) -> Results {
    let (gate, x) = (call.array(0)?, call.array(1)?);
    if gate.shape() != x.shape() {
        return Err(call.fails("the gate and what it opens for must have the same shape"));
    }
    call.one(swish(call, &gate)? * x)
}

fn bit_shift(call: &Call<'_>) -> Results {
    let (a, b) = (call.array(0)?, call.array(1)?);
    match call.attributes().string("direction")? {
        "LEFT" => call.one(a.left_shift(&b)),
        "RIGHT" => call.one(a.right_shift(&b)),
        other => Err(call.fails(format!("direction must be LEFT or RIGHT, found {other}"))),
    }
}

fn fold(call: &Call<'_>, f: impl Fn(&Array, &Array) -> Array) -> Results {
    let mut all = (0..call.inputs.len()).map(|i| call.array(i)).collect::<Result<Vec<_>, _>>()?.into_iter();
    let first = all.next().ok_or_else(|| call.fails("there must be at least one input"))?;
    call.one(all.fold(first, |a, b| f(&a, &b)))
}

fn mean(call: &Call<'_>) -> Results {
    let sum = fold(call, |a, b| a.add(b))?;
    let count = call.inputs.len() as f64;
    match sum.first().and_then(crate::Term::array) {
        Some(sum) => call.one(sum / count),
        None => Err(call.fails("there must be at least one input")),
    }
}

fn clip(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let (low, high) = if call.version < 11 {
        let bound = |name| -> Result<Option<Array>, crate::OnnxError> {
            let found = call.attributes().find_float(name)?;
            Ok(found.map(|v| Array::full(&[], f64::from(v), x.dtype())))
        };
        (bound("min")?, bound("max")?)
    } else {
        (call.optional(1)?, call.optional(2)?)
    };
    let mut out = x;
    if let Some(low) = low {
        out = out.maximum(&low);
    }
    if let Some(high) = high {
        out = out.minimum(&high);
    }
    call.one(out)
}

/// `x` where it is at least 0, else `other`.
fn positive_or(x: &Array, other: &Array) -> Array {
    x.greater_equal(Array::full(&[], 0.0, x.dtype())).where_(x, other)
}

fn leaky_relu(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let alpha = call.attributes().float_or("alpha", 0.01)?;
    call.one(positive_or(&x, &(&x * alpha)))
}

fn prelu(call: &Call<'_>) -> Results {
    let (x, slope) = (call.array(0)?, call.array(1)?);
    // Before version 7 a slope per channel aligns at axis 1.
    let slope = if call.version < 7 && slope.ndim() == 1 && x.ndim() > 2 && slope.size() > 1 {
        let mut shape = vec![1; x.ndim() - 1];
        shape[0] = slope.size() as isize;
        slope.reshape(&shape)
    } else {
        slope
    };
    call.one(positive_or(&x, &(&x * slope)))
}

fn elu(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let alpha = call.attributes().float_or("alpha", 1.0)?;
    call.one(positive_or(&x, &(x.expm1() * alpha)))
}

fn celu(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let alpha = call.attributes().float_or("alpha", 1.0)?;
    call.one(positive_or(&x, &((&x / alpha).expm1() * alpha)))
}

fn selu(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let alpha = call.attributes().float_or("alpha", 1.673_263_2)?;
    let gamma = call.attributes().float_or("gamma", 1.050_701)?;
    call.one(positive_or(&x, &(x.expm1() * alpha)) * gamma)
}

fn thresholded_relu(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let alpha = call.attributes().float_or("alpha", 1.0)?;
    let zero = Array::full(&[], 0.0, x.dtype());
    call.one(x.greater(Array::full(&[], f64::from(alpha), x.dtype())).where_(&x, &zero))
}

/// max(0, min(1, alpha · x + beta)).
fn hard(x: &Array, alpha: f64, beta: f64) -> Array {
    let line = x * alpha + beta;
    line.maximum(Array::full(&[], 0.0, x.dtype())).minimum(Array::full(&[], 1.0, x.dtype()))
}

fn hard_sigmoid(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let alpha = call.attributes().float_or("alpha", 0.2)?;
    let beta = call.attributes().float_or("beta", 0.5)?;
    call.one(hard(&x, f64::from(alpha), f64::from(beta)))
}

fn gelu(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let inner = match call.attributes().string_or("approximate", "none")? {
        "none" => (&x * std::f64::consts::FRAC_1_SQRT_2).erf(),
        "tanh" => {
            let cubic: Array = &x + x.square() * &x * 0.044715;
            let line: Array = cubic * std::f64::consts::FRAC_2_SQRT_PI * std::f64::consts::FRAC_1_SQRT_2;
            line.tanh()
        }
        other => return Err(call.fails(format!("approximate must be none or tanh, found {other}"))),
    };
    call.one(x * 0.5 * (inner + 1.0))
}

fn is_inf(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let zero = Array::full(&[], 0.0, x.dtype());
    let sign = |name| call.attributes().int_or(name, 1).map(|v| v != 0);
    let found = x.isinf();
    call.one(match (sign("detect_negative")?, sign("detect_positive")?) {
        (true, true) => found,
        (false, true) => found.logical_and(x.greater(&zero)),
        (true, false) => found.logical_and(x.less(&zero)),
        (false, false) => Array::zeros(&x.shape(), DType::Bool),
    })
}

fn shrink(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let lambda = f64::from(call.attributes().float_or("lambd", 0.5)?);
    let bias = f64::from(call.attributes().float_or("bias", 0.0)?);
    let dtype = x.dtype();
    let at = |v: f64| Array::full(&[], v, if dtype.is_float() { dtype } else { DType::F32 });
    let low = x.less(at(-lambda)).where_(x.add(at(bias)), at(0.0));
    call.one(x.greater(at(lambda)).where_(x.subtract(at(bias)), &low).astype(dtype))
}
