//! The operations by name: one line each. Arguments come in MLX's order.

use oneir_array::{Array, ops};

use crate::call::{Call, Side};

/// A function of two operands, either of which may be a number.
macro_rules! pair {
    ($c:ident, $name:ident) => {
        match ($c.side(0), $c.side(1)) {
            (Side::Array(a), Side::Array(b)) => ops::$name(a, b),
            (Side::Array(a), Side::Number(b)) => ops::$name(a, b),
            (Side::Number(a), Side::Array(b)) => ops::$name(a, b),
            (Side::Number(a), Side::Number(b)) => ops::$name(a, b),
        }
    };
}

/// The results of an operation; nothing when it is not there.
pub(crate) fn call(op: &str, c: &Call<'_>) -> Option<Vec<Array>> {
    elementwise(op, c).or_else(|| reduction(op, c)).or_else(|| movement(op, c))
}

fn elementwise(op: &str, c: &Call<'_>) -> Option<Vec<Array>> {
    let x = || c.x(0);
    let one = |array: Array| Some(vec![array]);
    match op {
        "abs" => one(x().abs()),
        "negative" => one(x().negative()),
        "sign" => one(x().sign()),
        "sqrt" => one(x().sqrt()),
        "rsqrt" => one(x().rsqrt()),
        "square" => one(x().square()),
        "reciprocal" => one(x().reciprocal()),
        "exp" => one(x().exp()),
        "expm1" => one(x().expm1()),
        "log" => one(x().log()),
        "log2" => one(x().log2()),
        "log10" => one(x().log10()),
        "log1p" => one(x().log1p()),
        "sin" => one(x().sin()),
        "cos" => one(x().cos()),
        "tan" => one(x().tan()),
        "arcsin" => one(x().arcsin()),
        "arccos" => one(x().arccos()),
        "arctan" => one(x().arctan()),
        "sinh" => one(x().sinh()),
        "cosh" => one(x().cosh()),
        "tanh" => one(x().tanh()),
        "arcsinh" => one(x().arcsinh()),
        "arccosh" => one(x().arccosh()),
        "arctanh" => one(x().arctanh()),
        "sigmoid" => one(x().sigmoid()),
        "erf" => one(x().erf()),
        "erfinv" => one(x().erfinv()),
        "floor" => one(x().floor()),
        "ceil" => one(x().ceil()),
        "trunc" => one(x().trunc()),
        "isnan" => one(x().isnan()),
        "isinf" => one(x().isinf()),
        "logical_not" => one(x().logical_not()),
        "bitwise_invert" => one(x().bitwise_invert()),
        "conjugate" => one(x().conjugate()),
        "real" => one(x().real()),
        "imag" => one(x().imag()),
        "stop_gradient" => one(x().stop_gradient()),
        "astype" => one(x().astype(c.dtype(1))),
        "add" => one(pair!(c, add)),
        "subtract" => one(pair!(c, subtract)),
        "multiply" => one(pair!(c, multiply)),
        "divide" => one(pair!(c, divide)),
        "floor_divide" => one(pair!(c, floor_divide)),
        "remainder" => one(pair!(c, remainder)),
        "power" => one(pair!(c, power)),
        "maximum" => one(pair!(c, maximum)),
        "minimum" => one(pair!(c, minimum)),
        "logaddexp" => one(pair!(c, logaddexp)),
        "arctan2" => one(pair!(c, arctan2)),
        "equal" => one(pair!(c, equal)),
        "not_equal" => one(pair!(c, not_equal)),
        "less" => one(pair!(c, less)),
        "less_equal" => one(pair!(c, less_equal)),
        "greater" => one(pair!(c, greater)),
        "greater_equal" => one(pair!(c, greater_equal)),
        "logical_and" => one(pair!(c, logical_and)),
        "logical_or" => one(pair!(c, logical_or)),
        "bitwise_and" => one(pair!(c, bitwise_and)),
        "bitwise_or" => one(pair!(c, bitwise_or)),
        "bitwise_xor" => one(pair!(c, bitwise_xor)),
        "left_shift" => one(pair!(c, left_shift)),
        "right_shift" => one(pair!(c, right_shift)),
        "where" => one(match (c.side(1), c.side(2)) {
            (Side::Array(a), Side::Array(b)) => ops::where_(x(), a, b),
            (Side::Array(a), Side::Number(b)) => ops::where_(x(), a, b),
            (Side::Number(a), Side::Array(b)) => ops::where_(x(), a, b),
            (Side::Number(a), Side::Number(b)) => ops::where_(x(), a, b),
        }),
        _ => None,
    }
}

fn reduction(op: &str, c: &Call<'_>) -> Option<Vec<Array>> {
    let x = || c.x(0);
    let one = |array: Array| Some(vec![array]);
    match op {
        "sum" => one(x().sum(c.axes(1), c.flag(2))),
        "prod" => one(x().prod(c.axes(1), c.flag(2))),
        "max" => one(x().max(c.axes(1), c.flag(2))),
        "min" => one(x().min(c.axes(1), c.flag(2))),
        "all" => one(x().all(c.axes(1), c.flag(2))),
        "any" => one(x().any(c.axes(1), c.flag(2))),
        "mean" => one(x().mean(c.axes(1), c.flag(2))),
        "argmax" => one(x().argmax(c.axes(1), c.flag(2))),
        "argmin" => one(x().argmin(c.axes(1), c.flag(2))),
        _ => None,
    }
}

fn movement(op: &str, c: &Call<'_>) -> Option<Vec<Array>> {
    let x = || c.x(0);
    let one = |array: Array| Some(vec![array]);
    match op {
        "reshape" => one(x().reshape(&c.ints(1))),
        "broadcast_to" => one(x().broadcast_to(&c.sizes(1))),
        "transpose" => one(x().transpose(c.axes(1))),
        "squeeze" => one(x().squeeze(c.axes(1))),
        "expand_dims" => one(x().expand_dims(c.axes(1))),
        "view" => one(x().view(c.dtype(1))),
        "flip" => one(x().flip(c.axes(1))),
        "concatenate" => one(Array::concatenate(&c.arrays(0), c.int(1))),
        "stack" => one(Array::stack(&c.arrays(0), c.int(1))),
        "take" => one(x().take(c.x(1), c.int(2))),
        "take_along_axis" => one(x().take_along_axis(c.x(1), c.int(2))),
        "matmul" => one(x().matmul(c.x(1))),
        "softmax" => one(x().softmax(c.int(1))),
        _ => None,
    }
}
