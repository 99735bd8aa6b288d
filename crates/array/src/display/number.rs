//! Floats as text, the way NumPy writes them in arrays: as few digits as name the
//! number, at most eight after the point, all of one width.

use oneir_tensor::{DType, bf16_of, f16_of};

/// Digits after the point, at most.
const PRECISION: usize = 8;

/// A float as decimal digits: d.ddd · 10^exponent.
struct Digits {
    negative: bool,
    digits: String,
    exponent: i32,
}

impl Digits {
    /// From Rust's scientific notation.
    fn parse(text: &str) -> Digits {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let negative = mantissa.starts_with('-');
        let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
        let digits = digits.trim_end_matches('0');
        let digits = if digits.is_empty() { "0" } else { digits }.to_string();
        Digits { negative, digits, exponent: exponent.parse().unwrap_or(0) }
    }

    /// The fewest digits that name `x` among the numbers of `dtype`.
    fn shortest(x: f64, dtype: DType) -> Digits {
        let halved = |same: &dyn Fn(f64) -> bool| {
            let texts = (0..PRECISION).map(|n| format!("{x:.n$e}"));
            let found = texts.into_iter().find(|t| t.parse().is_ok_and(same));
            Digits::parse(&found.unwrap_or_else(|| format!("{x:e}")))
        };
        match dtype {
            DType::F64 => Digits::parse(&format!("{x:e}")),
            DType::F16 => halved(&|y| f16_of(y) == f16_of(x)),
            DType::BF16 => halved(&|y| bf16_of(y) == bf16_of(x)),
            _ => Digits::parse(&format!("{:e}", x as f32)),
        }
    }

    fn sign(&self) -> &'static str {
        if self.negative { "-" } else { "" }
    }

    /// What stands before and after the point in positional notation.
    fn positional(&self) -> (String, String) {
        let n = self.digits.len() as i32;
        let split = self.exponent + 1;
        let zeros = |count: i32| "0".repeat(count.max(0) as usize);
        let (whole, rest) = if split <= 0 {
            ("0".to_string(), zeros(-split) + &self.digits)
        } else if split >= n {
            (self.digits.clone() + &zeros(split - n), String::new())
        } else {
            let (whole, rest) = self.digits.split_at(split as usize);
            (whole.to_string(), rest.to_string())
        };
        let rest = rest.trim_end_matches('0').to_string();
        (format!("{}{whole}", self.sign()), rest)
    }
}

/// A float before and after the point, to eight digits.
fn positional(x: f64, dtype: DType) -> (String, String) {
    let (whole, rest) = Digits::shortest(x, dtype).positional();
    if rest.len() <= PRECISION {
        return (whole, rest);
    }
    let text = format!("{x:.PRECISION$}");
    let (whole, rest) = text.split_once('.').unwrap_or((&text, ""));
    (whole.to_string(), rest.trim_end_matches('0').to_string())
}

/// A float's mantissa before and after the point, to eight digits, and exponent.
fn scientific(x: f64, dtype: DType) -> (String, String, i32) {
    let mut found = Digits::shortest(x, dtype);
    if found.digits.len() > PRECISION + 1 {
        found = Digits::parse(&format!("{x:.PRECISION$e}"));
    }
    let (first, rest) = found.digits.split_at(1);
    (format!("{}{first}", found.sign()), rest.to_string(), found.exponent)
}

/// An exponent with its sign and at least `width` digits.
fn exponent(e: i32, width: usize) -> String {
    format!("{}{:0width$}", if e < 0 { '-' } else { '+' }, e.abs())
}

/// From where on numbers have an exponent: what the dtype's digits cannot tell.
fn cutoff(dtype: DType) -> f64 {
    match dtype {
        DType::F16 | DType::BF16 => 1e3,
        DType::F64 => 1e8,
        _ => 1e6,
    }
}

/// The float by itself, as NumPy writes one without dimensions.
pub(super) fn alone(x: f64, dtype: DType) -> String {
    if !x.is_finite() {
        return special(x, false);
    }
    let size = x.abs();
    let cutoff = match dtype {
        DType::F64 => 1e16,
        _ => cutoff(dtype),
    };
    if size != 0.0 && !(1e-4..cutoff).contains(&size) {
        let digits = Digits::shortest(x, dtype);
        let (first, rest) = digits.digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{}{first}{point}{rest}e{}", digits.sign(), exponent(digits.exponent, 2));
    }
    let (whole, rest) = Digits::shortest(x, dtype).positional();
    if rest.is_empty() { format!("{whole}.0") } else { format!("{whole}.{rest}") }
}

fn special(x: f64, signed: bool) -> String {
    match x {
        _ if x.is_nan() && signed => "+nan".into(),
        _ if x.is_nan() => "nan".into(),
        _ if x < 0.0 => "-inf".into(),
        _ if signed => "+inf".into(),
        _ => "inf".into(),
    }
}

/// How floats that stand together are written.
pub(super) struct Floats {
    dtype: DType,
    /// Digits of an exponent, where there are exponents.
    exponent: Option<usize>,
    /// Characters before the point, and after it.
    left: usize,
    right: usize,
    /// Whether positive numbers have a sign.
    signed: bool,
}

impl Floats {
    /// For the numbers of an array.
    pub(super) fn new(numbers: &[f64], dtype: DType, signed: bool) -> Floats {
        let finite: Vec<f64> = numbers.iter().copied().filter(|x| x.is_finite()).collect();
        let sizes = finite.iter().map(|x| x.abs()).filter(|&x| x != 0.0);
        let (least, most) = sizes.fold((f64::INFINITY, 0f64), |(low, high), x| (low.min(x), high.max(x)));
        let held = |x: f64| match dtype {
            DType::F64 => x,
            DType::F16 => f16_of(x).to_f64(),
            DType::BF16 => bf16_of(x).to_f64(),
            _ => f64::from(x as f32),
        };
        let spread =
            most > 0.0 && (most >= cutoff(dtype) || least < held(1e-4) || held(most / least) > 1000.0);
        let mut found = Floats { dtype, exponent: None, left: 0, right: 0, signed };
        let plus = |x: f64| usize::from(signed && !x.is_sign_negative());
        for &x in &finite {
            if spread {
                let (whole, rest, e) = scientific(x, dtype);
                let width = found.exponent.unwrap_or(2).max(e.abs().to_string().len());
                found.exponent = Some(width);
                found.left = found.left.max(whole.len() + plus(x));
                found.right = found.right.max(rest.len());
            } else {
                let (whole, rest) = positional(x, dtype);
                found.left = found.left.max(whole.len() + plus(x));
                found.right = found.right.max(rest.len());
            }
        }
        for &x in numbers.iter().filter(|x| !x.is_finite()) {
            let width = special(x, signed).len();
            found.left = found.left.max(width.saturating_sub(found.after() + 1));
        }
        found
    }

    /// Characters after the point.
    fn after(&self) -> usize {
        self.right + self.exponent.map_or(0, |width| width + 2)
    }

    /// One of the numbers, as wide as all.
    pub(super) fn write(&self, x: f64) -> String {
        let width = self.left + self.after() + 1;
        if !x.is_finite() {
            return format!("{:>width$}", special(x, self.signed));
        }
        let plus = if self.signed && !x.is_sign_negative() { "+" } else { "" };
        if let Some(digits) = self.exponent {
            let (left, right) = (self.left, self.right);
            let text = format!("{x:.right$e}");
            let (mantissa, e) = text.split_once('e').unwrap_or((&text, "0"));
            let (whole, rest) = mantissa.split_once('.').unwrap_or((mantissa, ""));
            let whole = format!("{plus}{whole}");
            return format!("{whole:>left$}.{rest}e{}", exponent(e.parse().unwrap_or(0), digits));
        }
        let (whole, rest) = positional(x, self.dtype);
        let whole = format!("{plus}{whole}");
        let (left, right) = (self.left, self.right);
        format!("{whole:>left$}.{rest:<right$}")
    }
}
