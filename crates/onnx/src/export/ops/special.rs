//! The inverse error function, after Giles, "Approximating the erfinv function" (2012).

use oneir_tensor::DType;

use super::super::draft::Draft;
use super::super::term::Term;

/// Coefficients in w - 2.5, where w = -log(1 - x²) is below 5.
const MIDDLE: [f64; 9] = [
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
];

/// Coefficients in √w - 3, where w is not.
const TAIL: [f64; 9] = [
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
];

fn polynomial(d: &mut Draft, coefficients: &[f64], x: &Term) -> Term {
    let (first, rest) = coefficients.split_at(1);
    let mut sum = d.number(x.dtype, first[0]);
    for &c in rest {
        let (product, c) = (d.binary("Mul", &sum, x), d.number(x.dtype, c));
        sum = d.binary("Add", &product, &c);
    }
    sum
}

/// What the error function takes to `x`: to single precision, and to double by two of
/// Newton's steps.
pub(super) fn erf_inverse(d: &mut Draft, x: &Term) -> Term {
    let dtype = x.dtype;
    let number = |d: &mut Draft, n: f64| d.number(dtype, n);
    let one = number(d, 1.0);
    let (below, above) = (d.binary("Sub", &one, x), d.binary("Add", &one, x));
    let rest = d.binary("Mul", &below, &above);
    let log = d.unary("Log", &rest);
    let w = d.unary("Neg", &log);
    let (five, centre, three) = (number(d, 5.0), number(d, 2.5), number(d, 3.0));
    let near = d.test("Less", &w, &five);
    let middle = d.binary("Sub", &w, &centre);
    let root = d.unary("Sqrt", &w);
    let tail = d.binary("Sub", &root, &three);
    let (middle, tail) = (polynomial(d, &MIDDLE, &middle), polynomial(d, &TAIL, &tail));
    let slope = d.choose(&near, &middle, &tail);
    let mut y = d.binary("Mul", &slope, x);
    if dtype == DType::F64 {
        let peak = number(d, std::f64::consts::FRAC_2_SQRT_PI);
        for _ in 0..2 {
            let erf = d.unary("Erf", &y);
            let error = d.binary("Sub", &erf, x);
            let square = d.binary("Mul", &y, &y);
            let less = d.unary("Neg", &square);
            let fall = d.unary("Exp", &less);
            let steep = d.binary("Mul", &peak, &fall);
            let step = d.binary("Div", &error, &steep);
            y = d.binary("Sub", &y, &step);
        }
    }
    // At the ends the slope is infinite.
    let size = d.unary("Abs", x);
    let end = d.test("Equal", &size, &one);
    let infinity = number(d, f64::INFINITY);
    let far = d.binary("Mul", x, &infinity);
    d.choose(&end, &far, &y)
}
