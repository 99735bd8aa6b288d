//! Arrays as text, laid out as NumPy lays them out.

mod number;

use std::fmt;

use oneir_tensor::{DType, HostTensor, Values};

use crate::Array;
use number::Floats;

/// Characters of a line.
const LINE: usize = 75;
/// Arrays of more elements show only those at the edges,
const SUMMARISED: usize = 1000;
/// so many of each dimension.
const EDGE: usize = 3;

impl fmt::Display for Array {
    /// The elements as NumPy prints them; computes the value if need be. Of a
    /// failed array, or a value that cannot be computed, the reason.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let x = Array::from_slice(&[1f32, 0.5, 2.25, -1.0], &[2, 2]);
    /// assert_eq!(x.to_string(), "[[ 1.    0.5 ]\n [ 2.25 -1.  ]]");
    /// ```
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_host() {
            Ok(value) => f.write_str(&text(&value).unwrap_or_else(|| format!("<{value:?}>"))),
            Err(error) => write!(f, "<{error}>"),
        }
    }
}

/// The text of a value; none where its elements cannot be read.
fn text(value: &HostTensor) -> Option<String> {
    let shape = value.shape();
    if shape.rank() == 0 {
        return Some(alone(&value.values().ok()?, value.dtype()));
    }
    if value.count() == 0 {
        return Some("[]".into());
    }
    let summary = value.count() > SUMMARISED;
    // Which places of each dimension are shown.
    let shown: Vec<Vec<usize>> =
        shape
            .iter()
            .map(|&n| {
                if summary && n > 2 * EDGE {
                    (0..EDGE).chain(n - EDGE..n).collect()
                } else {
                    (0..n).collect()
                }
            })
            .collect();
    let mut part = value.clone();
    for (axis, places) in shown.iter().enumerate() {
        if places.len() < shape[axis] {
            part = edges(&part, axis)?;
        }
    }
    let words = words(&part.values().ok()?, value.dtype());
    let cut: Vec<bool> = shown.iter().zip(shape.iter()).map(|(s, &n)| s.len() < n).collect();
    let sizes: Vec<usize> = shown.iter().map(Vec::len).collect();
    Some(rows(&mut words.into_iter(), &sizes, &cut, " ", LINE))
}

/// The first and the last places of an axis.
fn edges(value: &HostTensor, axis: usize) -> Option<HostTensor> {
    let shape = value.shape();
    let (n, rank) = (shape[axis], shape.rank());
    let side = |from: usize| {
        let mut start = vec![0; rank];
        start[axis] = from;
        value.slice(&start, &vec![1; rank], &shape.with(axis, EDGE)).ok()?.values().ok()
    };
    let (low, high) = (side(0)?, side(n - EDGE)?);
    // Joined line by line along the axis.
    let inner: usize = shape[axis + 1..].iter().product::<usize>() * EDGE;
    let outer: usize = shape[..axis].iter().product();
    let mut joined = Values::zeros(low.class(), 2 * inner * outer);
    for line in 0..outer {
        for i in 0..inner {
            joined.set(2 * line * inner + i, &low, line * inner + i);
            joined.set((2 * line + 1) * inner + i, &high, line * inner + i);
        }
    }
    HostTensor::from_values(value.dtype(), &shape.with(axis, 2 * EDGE), &joined).ok()
}

/// One element without dimensions.
fn alone(values: &Values, dtype: DType) -> String {
    match values {
        Values::Bool(all) => truth(all[0]).into(),
        Values::Unsigned(all) => all[0].to_string(),
        Values::Signed(all) => all[0].to_string(),
        Values::Float(all) => number::alone(all[0], dtype),
        Values::Complex(all) => {
            let part = |x: f64| {
                let text = number::alone(x, DType::F32);
                text.strip_suffix(".0").map(str::to_string).unwrap_or(text)
            };
            let (re, im) = (all[0].re, all[0].im);
            if re == 0.0 && re.is_sign_positive() {
                return format!("{}j", part(im));
            }
            let plus = if im.is_sign_negative() && !im.is_nan() { "" } else { "+" };
            format!("({}{plus}{}j)", part(re), part(im))
        }
    }
}

fn truth(holds: bool) -> &'static str {
    if holds { "True" } else { "False" }
}

/// The elements, all of one width.
fn words(values: &Values, dtype: DType) -> Vec<String> {
    match values {
        Values::Float(all) => {
            let floats = Floats::new(all, dtype, false);
            all.iter().map(|&x| floats.write(x)).collect()
        }
        Values::Complex(all) => {
            let real: Vec<f64> = all.iter().map(|z| z.re).collect();
            let imaginary: Vec<f64> = all.iter().map(|z| z.im).collect();
            let (re, im) = (Floats::new(&real, dtype, false), Floats::new(&imaginary, dtype, true));
            let word = |(&x, &y): (&f64, &f64)| {
                let y = im.write(y);
                let digits = y.trim_end_matches(' ');
                format!("{}{digits}j{}", re.write(x), " ".repeat(y.len() - digits.len()))
            };
            real.iter().zip(&imaginary).map(word).collect()
        }
        Values::Bool(all) => all.iter().map(|&b| format!("{:>5}", truth(b))).collect(),
        Values::Unsigned(all) => padded(all.iter().map(u64::to_string).collect()),
        Values::Signed(all) => padded(all.iter().map(i64::to_string).collect()),
    }
}

fn padded(words: Vec<String>) -> Vec<String> {
    let width = words.iter().map(String::len).max().unwrap_or(0);
    words.into_iter().map(|word| format!("{word:>width$}")).collect()
}

/// Words in brackets, a row a line; `cut` says where dimensions have a gap in
/// the middle. Lines after the first begin with `indent`.
fn rows(
    words: &mut dyn Iterator<Item = String>,
    sizes: &[usize],
    cut: &[bool],
    indent: &str,
    width: usize,
) -> String {
    let (n, gap) = (sizes[0], cut[0]);
    let mut out = String::from("[");
    if sizes.len() > 1 {
        let between = "\n".repeat(sizes.len() - 1);
        for i in 0..n {
            if i > 0 {
                out.push_str(&between);
                out.push_str(indent);
            }
            if gap && i == n / 2 {
                out.push_str("...");
                out.push_str(&between);
                out.push_str(indent);
            }
            let deeper = format!("{indent} ");
            out.push_str(&rows(words, &sizes[1..], &cut[1..], &deeper, width - 1));
        }
        out.push(']');
        return out;
    }
    let mut line = indent.len();
    let mut put = |word: &str, last: bool| {
        if line + word.len() > width - 1 && line > indent.len() {
            out.truncate(out.trim_end_matches(' ').len());
            out.push('\n');
            out.push_str(indent);
            line = indent.len();
        }
        out.push_str(word);
        line += word.len();
        if !last {
            out.push(' ');
            line += 1;
        }
    };
    for i in 0..n {
        if gap && i == n / 2 {
            put("...", false);
        }
        if let Some(word) = words.next() {
            put(&word, i + 1 == n);
        }
    }
    out.push(']');
    out
}
