//! Element-wise functions. Operands that only repeat stay small: the operators
//! broadcast.

use oneir_ir::{BinaryOp, Primitive, UnaryOp};
use oneir_tensor::DType;

use super::super::draft::Draft;
use super::super::graph::{Site, Written};
use super::super::term::{Shown, Term, met};
use super::{Row, along, integers, parameters, row, special};

pub(super) const ROWS: &[Row] = &[
    row!("unary" => unary, |site, _| along::same_place(site)),
    row!("binary" => binary, |site, _| along::same_place(site)),
    row!("select" => select, |site, _| along::same_place(site)),
    row!("as_type" => as_type, |site, _| along::same_place(site)),
];

/// The operands as they meet: terms whose shapes broadcast, and the order in which the
/// result's axes lie.
pub(super) fn meeting(site: &mut Site<'_>) -> (Vec<Term>, Option<Vec<usize>>) {
    let order = site.operands.iter().find_map(|x| x.order.clone());
    let Some(order) = order else {
        return (site.operands.iter().map(|x| x.base.clone()).collect(), None);
    };
    // All in the order of the first that has one, where that costs nothing.
    let fits = |x: &Shown| match &x.order {
        Some(other) => *other == order && x.full.is_none(),
        None => x.base.count() == 1 || x.base.value.is_some(),
    };
    if site.operands.iter().all(fits) {
        let back = oneir_ir::undone(&order);
        let mut terms = Vec::with_capacity(site.operands.len());
        for x in &site.operands {
            let base = x.base.clone();
            let turned = x.order.is_some() || base.count() == 1;
            terms.push(if turned {
                let flat = x.order.is_none() && base.rank() > order.len();
                if flat { site.draft.reshape(&base, &[], None) } else { base }
            } else {
                let mut shape = vec![1; order.len() - base.rank()];
                shape.extend_from_slice(&base.shape);
                let base = site.draft.reshape(&base, &shape, None);
                site.draft.transpose(&base, &back)
            });
        }
        let shapes: Vec<&[usize]> = terms.iter().map(|t| &t.shape[..]).collect();
        let whole: Vec<usize> = back.iter().map(|&axis| site.results[0].shape[axis]).collect();
        if met(&shapes).as_ref() == Some(&whole) {
            return (terms, Some(order));
        }
    }
    let settled = |x: &Shown, draft: &mut Draft| match x.order {
        Some(_) => draft.settle(x),
        None => x.base.clone(),
    };
    (site.operands.iter().map(|x| settled(x, site.draft)).collect(), None)
}

/// The result, of a term whose axes lie in `order`.
fn result(site: &Site<'_>, term: Term, order: Option<Vec<usize>>) -> Vec<Shown> {
    vec![match order {
        Some(order) => Shown::ordered(term, order),
        None => Shown::plain(term).spread(&site.results[0].shape),
    }]
}

fn unary(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Unary(op));
    let shown = site.operands[0].clone();
    let base = unary_of(site.draft, *op, &shown.base)
        .ok_or_else(|| format!("the standard has no operator for `{}`", op.name()))?;
    Ok(vec![Shown { base, ..shown }])
}

/// What a function is defined with, where the standard has no operator for it.
fn unary_of(d: &mut Draft, op: UnaryOp, x: &Term) -> Option<Term> {
    let dtype = x.dtype;
    let plain = match op {
        UnaryOp::Abs => "Abs",
        UnaryOp::Neg => "Neg",
        UnaryOp::Sign => "Sign",
        UnaryOp::Sqrt => "Sqrt",
        UnaryOp::Reciprocal => "Reciprocal",
        UnaryOp::Exp => "Exp",
        UnaryOp::Log => "Log",
        UnaryOp::Sin => "Sin",
        UnaryOp::Cos => "Cos",
        UnaryOp::Tan => "Tan",
        UnaryOp::ArcSin => "Asin",
        UnaryOp::ArcCos => "Acos",
        UnaryOp::ArcTan => "Atan",
        UnaryOp::Sinh => "Sinh",
        UnaryOp::Cosh => "Cosh",
        UnaryOp::Tanh => "Tanh",
        UnaryOp::ArcSinh => "Asinh",
        UnaryOp::ArcCosh => "Acosh",
        UnaryOp::ArcTanh => "Atanh",
        UnaryOp::Sigmoid => "Sigmoid",
        UnaryOp::Erf => "Erf",
        UnaryOp::Floor => "Floor",
        UnaryOp::Ceil => "Ceil",
        UnaryOp::Round => "Round",
        _ => "",
    };
    let float = dtype.is_float();
    Some(match op {
        _ if dtype.is_complex() => {
            d.refuse(format!("opset {} computes with no {dtype}", super::super::OPSET));
            x.clone()
        }
        UnaryOp::Abs | UnaryOp::Sign | UnaryOp::Square if dtype == DType::Bool => x.clone(),
        UnaryOp::Floor | UnaryOp::Ceil | UnaryOp::Round | UnaryOp::Trunc if !float => x.clone(),
        UnaryOp::Abs if dtype.is_integer() && !dtype.is_signed() => x.clone(),
        UnaryOp::Conjugate | UnaryOp::Real => x.clone(),
        UnaryOp::Neg if dtype.is_integer() && !dtype.is_signed() => {
            let zero = d.number(dtype, 0.0);
            d.binary("Sub", &zero, x)
        }
        _ if !plain.is_empty() => d.unary(plain, x),
        UnaryOp::Square => d.binary("Mul", x, x),
        UnaryOp::Rsqrt => {
            let root = d.unary("Sqrt", x);
            d.unary("Reciprocal", &root)
        }
        UnaryOp::Log2 | UnaryOp::Log10 => {
            let base = if op == UnaryOp::Log2 { std::f64::consts::LN_2 } else { std::f64::consts::LN_10 };
            let (log, base) = (d.unary("Log", x), d.number(dtype, base));
            d.binary("Div", &log, &base)
        }
        UnaryOp::Expm1 | UnaryOp::Log1p => return Some(d.in_f32(x, |d, x| near_zero(d, op, x))),
        UnaryOp::ErfInv => return Some(d.in_f32(x, special::erf_inverse)),
        UnaryOp::Trunc => {
            let zero = d.number(dtype, 0.0);
            let (below, low, high) = (d.test("Less", x, &zero), d.unary("Ceil", x), d.unary("Floor", x));
            d.choose(&below, &low, &high)
        }
        UnaryOp::IsNan | UnaryOp::IsInf if float => {
            let op = if op == UnaryOp::IsNan { "IsNaN" } else { "IsInf" };
            let mut term = d.unary(op, x);
            term.dtype = DType::Bool;
            term
        }
        UnaryOp::IsNan | UnaryOp::IsInf => {
            let same = d.test("Equal", x, x);
            d.unary("Not", &same)
        }
        UnaryOp::LogicalNot | UnaryOp::BitwiseNot if dtype == DType::Bool => d.unary("Not", x),
        UnaryOp::LogicalNot => {
            let zero = d.number(dtype, 0.0);
            d.test("Equal", x, &zero)
        }
        UnaryOp::BitwiseNot => d.unary("BitwiseNot", x),
        UnaryOp::Imag => {
            let zero = d.number(dtype, 0.0);
            let never = d.test("Equal", x, x);
            d.choose(&never, &zero, &zero)
        }
        _ => return None,
    })
}

/// e^x - 1 and log(1 + x), exact to the last digits also where x is small.
fn near_zero(d: &mut Draft, op: UnaryOp, x: &Term) -> Term {
    let (zero, one, half) = (d.number(x.dtype, 0.0), d.number(x.dtype, 1.0), d.number(x.dtype, 0.5));
    let size = d.unary("Abs", x);
    let small = d.test("Less", &size, &half);
    if op == UnaryOp::Expm1 {
        // 2 tanh(x / 2) / (1 - tanh(x / 2))
        let part = d.binary("Mul", x, &half);
        let t = d.unary("Tanh", &part);
        let (twice, rest) = (d.binary("Add", &t, &t), d.binary("Sub", &one, &t));
        let (near, e) = (d.binary("Div", &twice, &rest), d.unary("Exp", x));
        let far = d.binary("Sub", &e, &one);
        return d.choose(&small, &near, &far);
    }
    // log(u) x / (u - 1) with u = 1 + x: what rounding takes from u is in both.
    let u = d.binary("Add", &one, x);
    let (far, step) = (d.unary("Log", &u), d.binary("Sub", &u, &one));
    let still = d.test("Equal", &step, &zero);
    let step = d.choose(&still, &one, &step);
    let slope = d.binary("Div", &far, &step);
    let near = d.binary("Mul", &slope, x);
    let near = d.choose(&still, x, &near);
    d.choose(&small, &near, &far)
}

fn binary(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Binary(op));
    if let Some(folded) = super::joined::joined(site, *op) {
        return Ok(folded);
    }
    let (terms, order) = meeting(site);
    let term = binary_of(site.draft, *op, &terms[0], &terms[1]);
    Ok(result(site, term, order))
}

pub(super) fn binary_of(d: &mut Draft, op: BinaryOp, a: &Term, b: &Term) -> Term {
    let (dtype, truth) = (a.dtype, a.dtype == DType::Bool);
    if dtype.is_complex() {
        d.refuse(format!("opset {} computes with no {dtype}", super::super::OPSET));
        return a.clone();
    }
    let zero = |t: &Term| t.number() == Some(0.0);
    match op {
        BinaryOp::Add | BinaryOp::Maximum | BinaryOp::BitwiseOr if truth => d.binary("Or", a, b),
        BinaryOp::Multiply | BinaryOp::Minimum | BinaryOp::BitwiseAnd | BinaryOp::FloorDivide if truth => {
            d.binary("And", a, b)
        }
        BinaryOp::Subtract | BinaryOp::BitwiseXor if truth => d.binary("Xor", a, b),
        BinaryOp::Power if truth => {
            let not = d.unary("Not", b);
            d.binary("Or", a, &not)
        }
        BinaryOp::Remainder if truth => {
            let same = d.binary("Xor", a, a);
            d.binary("And", &same, b)
        }
        BinaryOp::Less | BinaryOp::LessEqual | BinaryOp::Greater | BinaryOp::GreaterEqual if truth => {
            let [a, b] = [a, b].map(|t| d.cast(t, DType::U8));
            binary_of(d, op, &a, &b)
        }
        BinaryOp::Add => d.binary("Add", a, b),
        BinaryOp::Subtract => d.binary("Sub", a, b),
        BinaryOp::Multiply => d.binary("Mul", a, b),
        BinaryOp::Divide if dtype.is_float() => d.binary("Div", a, b),
        BinaryOp::FloorDivide if dtype.is_float() => {
            let quotient = d.binary("Div", a, b);
            d.unary("Floor", &quotient)
        }
        BinaryOp::Remainder if dtype.is_float() => {
            let rest = d.modulo(a, b, true);
            let zero = d.number(dtype, 0.0);
            let (low, negative) = (d.test("Less", &rest, &zero), d.test("Less", b, &zero));
            let (apart, none) = (d.test("Xor", &low, &negative), d.test("Equal", &rest, &zero));
            let some = d.unary("Not", &none);
            let (wrong, other) = (d.test("And", &apart, &some), d.binary("Add", &rest, b));
            d.choose(&wrong, &other, &rest)
        }
        BinaryOp::Fmod if dtype.is_float() => d.modulo(a, b, true),
        BinaryOp::Divide | BinaryOp::FloorDivide | BinaryOp::Remainder | BinaryOp::Fmod => {
            integers::divided(d, op, a, b)
        }
        BinaryOp::Power if dtype.is_integer() => integers::power(d, a, b),
        BinaryOp::Power => d.binary("Pow", a, b),
        BinaryOp::Maximum if zero(b) && (dtype.is_float() || dtype.is_signed()) => d.relu(a, b),
        BinaryOp::Maximum if zero(a) && (dtype.is_float() || dtype.is_signed()) => d.relu(b, a),
        BinaryOp::Maximum => d.binary("Max", a, b),
        BinaryOp::Minimum => d.binary("Min", a, b),
        BinaryOp::LogAddExp if zero(b) => d.unary("Softplus", a),
        BinaryOp::LogAddExp if zero(a) => d.unary("Softplus", b),
        BinaryOp::LogAddExp => {
            let (top, between) = (d.binary("Max", a, b), d.binary("Sub", a, b));
            let apart = d.unary("Abs", &between);
            let less = d.unary("Neg", &apart);
            let more = d.unary("Softplus", &less);
            let (sum, mut infinite) = (d.binary("Add", &top, &more), d.unary("IsInf", &top));
            infinite.dtype = DType::Bool;
            d.choose(&infinite, &top, &sum)
        }
        BinaryOp::ArcTan2 => angle(d, a, b),
        BinaryOp::Equal => d.test("Equal", a, b),
        BinaryOp::NotEqual => {
            let same = d.test("Equal", a, b);
            d.unary("Not", &same)
        }
        BinaryOp::Less => d.test("Less", a, b),
        BinaryOp::LessEqual => d.test("LessOrEqual", a, b),
        BinaryOp::Greater => d.test("Greater", a, b),
        BinaryOp::GreaterEqual => d.test("GreaterOrEqual", a, b),
        BinaryOp::LogicalAnd | BinaryOp::LogicalOr => {
            let [a, b] = [a, b].map(|t| d.cast(t, DType::Bool));
            d.test(if op == BinaryOp::LogicalAnd { "And" } else { "Or" }, &a, &b)
        }
        BinaryOp::BitwiseAnd => d.binary("BitwiseAnd", a, b),
        BinaryOp::BitwiseOr => d.binary("BitwiseOr", a, b),
        BinaryOp::BitwiseXor => d.binary("BitwiseXor", a, b),
        BinaryOp::ShiftLeft | BinaryOp::ShiftRight => integers::shifted(d, op, a, b),
        other => {
            d.refuse(format!("the standard has no operator for `{}`", other.name()));
            a.clone()
        }
    }
}

/// The angle of the point (x, y): of y / x, moved by half a turn left of 0.
fn angle(d: &mut Draft, y: &Term, x: &Term) -> Term {
    let dtype = y.dtype;
    let (zero, one) = (d.number(dtype, 0.0), d.number(dtype, 1.0));
    let (pi, quarter) = (d.number(dtype, std::f64::consts::PI), d.number(dtype, std::f64::consts::FRAC_PI_4));
    // The sign of y, of zeros too: that of 1 / y.
    let over = d.binary("Div", &one, y);
    let (under, below) = (d.test("Less", &over, &zero), d.test("Less", y, &zero));
    let negative = d.test("Or", &under, &below);
    let less = d.unary("Neg", &pi);
    let half = d.choose(&negative, &less, &pi);
    let over = d.binary("Div", &one, x);
    let (under, below) = (d.test("Less", &over, &zero), d.test("Less", x, &zero));
    let left = d.test("Or", &under, &below);
    // Zero by zero is no angle, and infinity by infinity is a diagonal.
    let nothing = d.test("Equal", y, &zero);
    let (size_y, size_x) = (d.unary("Abs", y), d.unary("Abs", x));
    let same = d.test("Equal", &size_y, &size_x);
    let ratio = d.binary("Div", y, x);
    let plain = d.unary("Atan", &ratio);
    let diagonal = d.test("Xor", &negative, &left);
    let less = d.unary("Neg", &quarter);
    let diagonal = d.choose(&diagonal, &less, &quarter);
    let acute = d.choose(&same, &diagonal, &plain);
    // At y = 0, the sign of the result's zero is y's.
    let turned = d.binary("Add", &acute, &half);
    let apart = d.choose(&left, &turned, &acute);
    let straight = d.choose(&left, &half, y);
    d.choose(&nothing, &straight, &apart)
}

fn select(site: &mut Site<'_>, _: &Primitive) -> Written {
    let (terms, order) = meeting(site);
    let term = site.draft.choose(&terms[0], &terms[1], &terms[2]);
    Ok(result(site, term, order))
}

fn as_type(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::AsType(dtype));
    let shown = site.operands[0].clone();
    if shown.dtype().is_complex() {
        return Err(format!("opset {} casts no {}", super::super::OPSET, shown.dtype()).into());
    }
    let base = site.draft.cast(&shown.base, *dtype);
    Ok(vec![Shown { base, ..shown }])
}

impl Draft {
    fn relu(&mut self, x: &Term, zero: &Term) -> Term {
        // One number may have more dimensions than x.
        if zero.rank() > x.rank() { self.binary("Max", x, zero) } else { self.unary("Relu", x) }
    }

    /// What division leaves, with the sign of a (`truncated`) or of b.
    pub(super) fn modulo(&mut self, a: &Term, b: &Term, truncated: bool) -> Term {
        let mut term = self.binary("Mod", a, b);
        if truncated && let Some(node) = self.maker(&term.name) {
            node.attribute = vec![super::super::attribute::int("fmod", 1)];
        }
        term.dtype = a.dtype;
        term
    }

    /// What `f` makes of x in f32 where x is of a half type, and in its own type if not.
    pub(super) fn in_f32(&mut self, x: &Term, f: impl FnOnce(&mut Draft, &Term) -> Term) -> Term {
        if !x.dtype.is_half() {
            return f(self, x);
        }
        let wide = self.cast(x, DType::F32);
        let made = f(self, &wide);
        self.cast(&made, x.dtype)
    }
}
