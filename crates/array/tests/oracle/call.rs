//! The arguments of a recorded call: JSON, in which `"@0"` stands for the first
//! operand.

use oneir_array::{Array, DType, Number};
use serde_json::Value;

/// What an operation is given.
pub(crate) struct Call<'a> {
    pub(crate) args: &'a [Value],
    pub(crate) given: &'a [Array],
}

/// An argument that is an array or a number.
pub(crate) enum Side<'a> {
    Array(&'a Array),
    Number(Number),
}

impl<'a> Call<'a> {
    fn arg(&self, k: usize) -> &'a Value {
        self.args.get(k).unwrap_or_else(|| panic!("there is no argument {k}"))
    }

    pub(crate) fn array_at(&self, value: &Value) -> Option<&'a Array> {
        let number: usize = value.as_str()?.strip_prefix('@')?.parse().ok()?;
        self.given.get(number)
    }

    /// An argument that is an array.
    pub(crate) fn x(&self, k: usize) -> &'a Array {
        self.array(k).unwrap_or_else(|| panic!("argument {k} is no array"))
    }

    /// An argument that may be an array.
    pub(crate) fn array(&self, k: usize) -> Option<&'a Array> {
        self.array_at(self.arg(k))
    }

    /// A list of arrays.
    pub(crate) fn arrays(&self, k: usize) -> Vec<Array> {
        let list = self.arg(k).as_array().unwrap_or_else(|| panic!("argument {k} is no list"));
        list.iter().map(|v| self.array_at(v).unwrap().clone()).collect()
    }

    /// An array or a number.
    pub(crate) fn side(&self, k: usize) -> Side<'a> {
        match self.array(k) {
            Some(array) => Side::Array(array),
            None => Side::Number(self.number(k).unwrap_or_else(|| panic!("argument {k} is no operand"))),
        }
    }

    /// A number that may be left out.
    pub(crate) fn number(&self, k: usize) -> Option<Number> {
        match self.arg(k) {
            Value::Null => None,
            Value::Bool(b) => Some(Number::Bool(*b)),
            Value::Number(n) => Some(match n.as_i64().map(i128::from).or(n.as_u64().map(i128::from)) {
                Some(n) => Number::Int(n),
                None => Number::Float(n.as_f64().unwrap()),
            }),
            Value::String(s) => s.parse().ok().map(Number::Float),
            _ => None,
        }
    }

    /// A float, or an integer in its place.
    pub(crate) fn float(&self, k: usize) -> f64 {
        match self.number(k) {
            Some(Number::Float(x)) => x,
            Some(Number::Int(n)) => n as f64,
            _ => panic!("argument {k} is no number"),
        }
    }

    pub(crate) fn maybe_float(&self, k: usize) -> Option<f64> {
        (!self.arg(k).is_null()).then(|| self.float(k))
    }

    pub(crate) fn flag(&self, k: usize) -> bool {
        self.arg(k).as_bool().unwrap_or_else(|| panic!("argument {k} is no truth value"))
    }

    pub(crate) fn int(&self, k: usize) -> isize {
        self.maybe_int(k).unwrap_or_else(|| panic!("argument {k} is no integer"))
    }

    pub(crate) fn maybe_int(&self, k: usize) -> Option<isize> {
        self.arg(k).as_i64().map(|n| n as isize)
    }

    pub(crate) fn text(&self, k: usize) -> &'a str {
        self.arg(k).as_str().unwrap_or_else(|| panic!("argument {k} is no text"))
    }

    pub(crate) fn is_text(&self, k: usize) -> bool {
        self.arg(k).is_string() && self.array(k).is_none()
    }

    /// One integer or several.
    pub(crate) fn ints(&self, k: usize) -> Vec<isize> {
        match self.arg(k) {
            Value::Array(list) => list.iter().map(|v| v.as_i64().unwrap() as isize).collect(),
            _ => vec![self.int(k)],
        }
    }

    pub(crate) fn is_list(&self, k: usize) -> bool {
        self.arg(k).is_array()
    }

    /// A list of pairs, or nothing where it holds something else.
    pub(crate) fn pairs(&self, k: usize) -> Option<Vec<(usize, usize)>> {
        let list = self.arg(k).as_array()?;
        list.iter().map(|pair| Some((pair[0].as_u64()? as usize, pair[1].as_u64()? as usize))).collect()
    }

    /// A list of shapes.
    pub(crate) fn lists(&self, k: usize) -> Vec<Vec<usize>> {
        let sizes = |v: &Value| v.as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
        self.arg(k).as_array().unwrap().iter().map(sizes).collect()
    }

    pub(crate) fn sizes(&self, k: usize) -> Vec<usize> {
        self.ints(k).into_iter().map(|n| n as usize).collect()
    }

    /// Axes: none for all.
    pub(crate) fn axes(&self, k: usize) -> Option<Vec<isize>> {
        (!self.arg(k).is_null()).then(|| self.ints(k))
    }

    pub(crate) fn dtype(&self, k: usize) -> DType {
        self.maybe_dtype(k).unwrap_or_else(|| panic!("argument {k} is no dtype"))
    }

    pub(crate) fn maybe_dtype(&self, k: usize) -> Option<DType> {
        self.arg(k).as_str().map(|name| name.parse().unwrap())
    }
}
