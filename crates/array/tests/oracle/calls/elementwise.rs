use oneir_array::{Number, ops};

use super::{Results, one, two, with};
use crate::call::{Call, Side};

/// A function of two operands, either of which may be a number.
macro_rules! pair {
    ($c:ident, $name:ident) => {
        one(with!($c.side(0), a => with!($c.side(1), b => ops::$name(a, b))))
    };
}

/// A method of the first operand beside another array or number.
macro_rules! beside {
    ($c:ident, $name:ident $(, $more:expr)*) => {
        with!($c.side(1), other => $c.x(0).$name(other $(, $more)*))
    };
}

/// Operations that are a method of one array without arguments, by their names.
macro_rules! plain {
    ($op:ident, $c:ident, $($name:ident)*) => {
        match $op {
            $(stringify!($name) => return one(ops::$name($c.x(0))),)*
            _ => {}
        }
    };
}

/// Operations of two operands, by their names.
macro_rules! pairs {
    ($op:ident, $c:ident, $($name:ident)*) => {
        match $op {
            $(stringify!($name) => return pair!($c, $name),)*
            _ => {}
        }
    };
}

pub(super) fn call(op: &str, c: &Call<'_>) -> Option<Results> {
    plain!(op, c, abs negative sign sqrt rsqrt square reciprocal exp expm1 log log2 log10 log1p sin cos tan
        arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh sigmoid erf erfinv floor ceil trunc isnan
        isinf isfinite isposinf isneginf logical_not bitwise_invert conjugate real imag positive degrees
        radians stop_gradient acos acosh asin asinh atan atanh conj);
    pairs!(op, c, add subtract multiply divide floor_divide remainder power pow maximum minimum logaddexp
        arctan2 atan2 equal not_equal less less_equal greater greater_equal logical_and logical_or
        logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift bitwise_left_shift
        bitwise_right_shift);
    let x = || c.x(0);
    match op {
        "astype" => one(x().astype(c.dtype(1))),
        "round" => one(x().round(c.int(1) as i32)),
        "divmod" => two(beside!(c, divmod)),
        "isclose" => one(beside!(c, isclose, c.float(2), c.float(3), c.flag(4))),
        "allclose" => one(beside!(c, allclose, c.float(2), c.float(3), c.flag(4))),
        "array_equal" => one(beside!(c, array_equal, c.flag(2))),
        "nan_to_num" => one(x().nan_to_num(c.float(1), c.maybe_float(2), c.maybe_float(3))),
        "clip" => one(match (c.maybe_side(1), c.maybe_side(2)) {
            (None, None) => x().clip(.., ..),
            (Some(low), None) => with!(low, low => x().clip(low, ..)),
            (None, Some(high)) => with!(high, high => x().clip(.., high)),
            (Some(low), Some(high)) => with!(low, low => with!(high, high => x().clip(low, high))),
        }),
        "where" => one(with!(c.side(1), a => with!(c.side(2), b => ops::where_(x(), a, b)))),
        "unique" => {
            let fill = c.number(5);
            let fill = fill.map(|n| if x().dtype().is_inexact() { Number::Float(float(n)) } else { n });
            let found = x().unique(c.int(1) as usize, fill);
            let mut all = vec![found.values];
            all.extend(c.flag(2).then_some(found.index));
            all.extend(c.flag(3).then_some(found.inverse));
            all.extend(c.flag(4).then_some(found.counts));
            Some(Ok(all))
        }
        _ => None,
    }
}

fn float(n: Number) -> f64 {
    match n {
        Number::Int(n) => n as f64,
        Number::Float(x) => x,
        _ => f64::NAN,
    }
}

/// An operand that may be left out.
impl<'a> Call<'a> {
    fn maybe_side(&self, k: usize) -> Option<Side<'a>> {
        self.array(k).map(Side::Array).or_else(|| self.number(k).map(Side::Number))
    }
}
