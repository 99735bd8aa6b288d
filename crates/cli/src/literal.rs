//! Values written on the command line: numbers and nested lists of them.

use oneir::tensor::{Class, Values};
use oneir::{DType, HostTensor};

use crate::exact;

/// The deepest nesting of lists that is read.
const MAX_DEPTH: usize = 32;

/// A number as it was written.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Number {
    Int(i128),
    Real(f64),
    Truth(bool),
}

/// Numbers in row order, and the shape that their lists have.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Literal {
    pub(crate) shape: Vec<usize>,
    pub(crate) numbers: Vec<Number>,
}

/// Why a text is no value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LiteralFault {
    #[error("at character {at}: expected {expected}, found {found}")]
    Syntax { at: usize, expected: &'static str, found: String },
    #[error("at character {at}: lists nest deeper than {MAX_DEPTH}")]
    TooDeep { at: usize },
    #[error("at character {at}: a list of {found} items where those before it have {expected}")]
    Ragged { at: usize, expected: usize, found: usize },
    #[error("at character {at}: {number} is past the largest number there is; write inf for infinity")]
    PastAll { at: usize, number: String },
    #[error("{number} does not fit {dtype}")]
    DoesNotFit { number: String, dtype: DType },
}

/// Whether a text is meant as a value: a list or a single number.
pub(crate) fn is_literal(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('[') || number(text).is_some()
}

/// Reads a number or a nested list.
pub(crate) fn parse(text: &str) -> Result<Literal, LiteralFault> {
    let mut parser = Parser { text, at: 0, shape: Vec::new(), rank: None, numbers: Vec::new() };
    parser.value(0)?;
    parser.blank();
    if parser.at < text.len() {
        return Err(parser.expected("the end"));
    }
    let shape = parser.shape.into_iter().map(Option::unwrap_or_default).collect();
    Ok(Literal { shape, numbers: parser.numbers })
}

fn number(word: &str) -> Option<Number> {
    match word {
        "true" => return Some(Number::Truth(true)),
        "false" => return Some(Number::Truth(false)),
        _ => {}
    }
    if let Ok(int) = word.parse() {
        return Some(Number::Int(int));
    }
    word.parse().ok().map(Number::Real)
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    /// Items of a list at each depth, once one has ended.
    shape: Vec<Option<usize>>,
    /// The depth at which numbers stand.
    rank: Option<usize>,
    numbers: Vec<Number>,
}

impl Parser<'_> {
    fn blank(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, symbol: char) -> bool {
        self.blank();
        let found = self.text[self.at..].starts_with(symbol);
        if found {
            self.at += symbol.len_utf8();
        }
        found
    }

    /// Characters before `at`, counted from 1.
    fn column(&self, at: usize) -> usize {
        self.text[..at].chars().count() + 1
    }

    fn expected(&self, expected: &'static str) -> LiteralFault {
        let rest = &self.text[self.at..];
        let word = rest.split([',', '[', ']']).next().unwrap_or_default().trim();
        let found = match (word.is_empty(), rest.chars().next()) {
            (_, None) => "the end".to_owned(),
            (true, Some(symbol)) => format!("`{symbol}`"),
            (false, Some(_)) => format!("`{word}`"),
        };
        LiteralFault::Syntax { at: self.column(self.at), expected, found }
    }

    fn value(&mut self, depth: usize) -> Result<(), LiteralFault> {
        self.blank();
        let start = self.at;
        if !self.take('[') {
            return self.number(depth);
        }
        if depth == MAX_DEPTH {
            return Err(LiteralFault::TooDeep { at: self.column(start) });
        }
        if self.rank.is_some_and(|rank| rank <= depth) {
            self.at = start;
            return Err(self.expected("a number, as before"));
        }
        if self.shape.len() <= depth {
            self.shape.push(None);
        }
        let mut items = 0;
        if !self.take(']') {
            loop {
                self.value(depth + 1)?;
                items += 1;
                if self.take(']') {
                    break;
                }
                if !self.take(',') {
                    return Err(self.expected("`,` or `]`"));
                }
            }
        }
        match self.shape[depth] {
            Some(expected) if expected != items => {
                Err(LiteralFault::Ragged { at: self.column(start), expected, found: items })
            }
            _ => {
                self.shape[depth] = Some(items);
                Ok(())
            }
        }
    }

    fn number(&mut self, depth: usize) -> Result<(), LiteralFault> {
        let rest = &self.text[self.at..];
        let word = rest.split([',', '[', ']']).next().unwrap_or_default().trim_end();
        let Some(number) = number(word) else { return Err(self.expected("a number or a list")) };
        if self.rank.is_some_and(|rank| rank != depth) || self.shape.len() > depth {
            return Err(self.expected("a list, as before"));
        }
        let infinite = matches!(number, Number::Real(real) if real.is_infinite());
        if infinite && word.contains(|c: char| c.is_ascii_digit()) {
            return Err(LiteralFault::PastAll { at: self.column(self.at), number: word.to_owned() });
        }
        self.rank = Some(depth);
        self.at += word.len();
        self.numbers.push(number);
        Ok(())
    }
}

impl Literal {
    /// The type that the numbers have of themselves.
    pub(crate) fn natural_dtype(&self) -> DType {
        if self.numbers.iter().all(|n| matches!(n, Number::Truth(_))) && !self.numbers.is_empty() {
            DType::Bool
        } else if self.numbers.iter().any(|n| matches!(n, Number::Real(_))) || self.numbers.is_empty() {
            DType::F32
        } else {
            DType::I64
        }
    }

    /// The numbers as a tensor. Decimal numbers round to the nearest that a
    /// floating-point type has; all else must fit exactly.
    pub(crate) fn tensor(&self, dtype: DType) -> Result<HostTensor, LiteralFault> {
        let misfit = |number: &Number| LiteralFault::DoesNotFit { number: number.to_string(), dtype };
        let values = match dtype.class() {
            Class::Bool | Class::Unsigned | Class::Signed => {
                let (low, high) = exact::range(dtype);
                let mut ints = Vec::with_capacity(self.numbers.len());
                for number in &self.numbers {
                    let int = number.as_int().filter(|int| (low..=high).contains(int));
                    ints.push(int.ok_or_else(|| misfit(number))?);
                }
                match dtype.class() {
                    Class::Bool => Values::Bool(ints.iter().map(|&i| i == 1).collect()),
                    Class::Unsigned => Values::Unsigned(ints.iter().map(|&i| i as u64).collect()),
                    _ => Values::Signed(ints.iter().map(|&i| i as i64).collect()),
                }
            }
            Class::Float | Class::Complex => {
                let written = Values::Float(self.numbers.iter().map(Number::as_real).collect());
                let held = written.convert(dtype);
                let (before, after) = (written.to_floats(), held.to_floats());
                let lost = before.iter().zip(&after).position(|(a, b)| {
                    a.is_nan() != b.is_nan() || (a.is_finite() && (!b.is_finite() || saturated(*a, *b)))
                });
                if let Some(at) = lost {
                    return Err(misfit(&self.numbers[at]));
                }
                held
            }
        };
        HostTensor::from_values(dtype, &self.shape, &values)
            .map_err(|_| LiteralFault::DoesNotFit { number: "the list".into(), dtype })
    }
}

/// Whether a small float type gave its largest number for a far larger one.
fn saturated(written: f64, held: f64) -> bool {
    written.abs() > 2.0 * held.abs() && held != 0.0
}

impl Number {
    fn as_int(&self) -> Option<i128> {
        match *self {
            Number::Int(int) => Some(int),
            Number::Truth(truth) => Some(i128::from(truth)),
            Number::Real(real) => exact::int_of(real),
        }
    }

    fn as_real(&self) -> f64 {
        match *self {
            Number::Int(int) => int as f64,
            Number::Truth(truth) => f64::from(u8::from(truth)),
            Number::Real(real) => real,
        }
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Int(int) => int.fmt(f),
            Number::Real(real) => real.fmt(f),
            Number::Truth(truth) => truth.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: oneir::Element>(text: &str) -> (Vec<usize>, Vec<T>) {
        let tensor = parse(text).unwrap().tensor(T::DTYPE).unwrap();
        (tensor.shape().to_vec(), tensor.to_vec().unwrap())
    }

    #[test]
    fn numbers_and_lists_are_read() {
        assert_eq!(read::<i32>(" [[1, 2],\n[3,4]] "), (vec![2, 2], vec![1, 2, 3, 4]));
        assert_eq!(read::<f32>("-1.5e2"), (vec![], vec![-150.0]));
        assert_eq!(read::<bool>("[true,0,1]"), (vec![3], vec![true, false, true]));
        assert_eq!(read::<u64>("18446744073709551615"), (vec![], vec![u64::MAX]));
        assert_eq!(read::<i8>("[1e2, -128]"), (vec![2], vec![100, -128]));
        assert_eq!(read::<f32>("[[],[]]"), (vec![2, 0], vec![]));
        assert_eq!(read::<f32>("[]"), (vec![0], vec![]));
        assert!(read::<f32>("[nan, -inf]").1[0].is_nan());
        assert!(is_literal("3") && is_literal("[x") && !is_literal("x.npy") && !is_literal(""));
    }

    #[test]
    fn what_is_no_value_is_refused_with_its_place() {
        let message = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(message("[1,x]"), "at character 4: expected a number or a list, found `x`");
        assert_eq!(message("[1"), "at character 3: expected `,` or `]`, found the end");
        assert_eq!(message("[1]]"), "at character 4: expected the end, found `]`");
        assert_eq!(message("[[1,2],[3]]"), "at character 8: a list of 1 items where those before it have 2");
        assert_eq!(message("[1,[2]]"), "at character 4: expected a number, as before, found `[`");
        assert_eq!(message("[[1],2]"), "at character 6: expected a list, as before, found `2`");
        assert_eq!(message("[[],2]"), "at character 5: expected a list, as before, found `2`");
        assert!(message("[1,-1e400]").starts_with("at character 4: -1e400 is past the largest"));
        assert_eq!(read::<f32>("-inf").1, [f32::NEG_INFINITY]);
        assert!(matches!(parse(&"[".repeat(100_000)), Err(LiteralFault::TooDeep { .. })));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for (text, dtype) in [
            ("300", DType::U8),
            ("-1", DType::U64),
            ("1.5", DType::I32),
            ("nan", DType::I32),
            ("2", DType::Bool),
            ("1e40", DType::F32),
            ("7e4", DType::F16),
        ] {
            let refused = parse(text).unwrap().tensor(dtype);
            assert!(matches!(refused, Err(LiteralFault::DoesNotFit { .. })), "{text} as {dtype}");
        }
    }
}
