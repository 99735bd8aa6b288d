//! What metadata hold: numbers, truth values, texts, and arrays of one kind of these.

use std::fmt;

/// The kinds of numbers: one row each, with the number that files give the kind.
macro_rules! numbers {
    ($then:ident $($extra:tt)*) => {
        $then! { $($extra)*
            U8 u8 0, I8 i8 1, U16 u16 2, I16 i16 3, U32 u32 4, I32 i32 5, F32 f32 6,
            U64 u64 10, I64 i64 11, F64 f64 12
        }
    };
}
pub(super) use numbers;

/// The numbers that files give the other kinds.
pub(super) const BOOL: u32 = 7;
pub(super) const TEXT: u32 = 8;
pub(super) const ARRAY: u32 = 9;

macro_rules! values {
    ($($variant:ident $type:ident $number:literal),*) => {
        /// A value of metadata.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Value {
            $(
                #[doc = concat!("A number of type ", stringify!($type), ".")]
                $variant($type),
            )*
            /// A truth value.
            Bool(bool),
            /// A text: UTF-8 as a rule, but any bytes may be there.
            Text(Vec<u8>),
            /// Values of one kind.
            Array(Array),
        }

        /// Values of one kind in a row.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Array {
            $(
                #[doc = concat!("Numbers of type ", stringify!($type), ".")]
                $variant(Vec<$type>),
            )*
            /// Truth values.
            Bool(Vec<bool>),
            /// Texts.
            Text(Texts),
            /// Arrays, each of a kind of its own.
            Array(Vec<Array>),
        }

        impl Value {
            /// The number that files give this kind of value.
            pub(super) fn number(&self) -> u32 {
                match self {
                    $(Value::$variant(_) => $number,)*
                    Value::Bool(_) => BOOL,
                    Value::Text(_) => TEXT,
                    Value::Array(_) => ARRAY,
                }
            }
        }

        impl Array {
            /// Number of values.
            pub fn len(&self) -> usize {
                match self {
                    $(Array::$variant(values) => values.len(),)*
                    Array::Bool(values) => values.len(),
                    Array::Text(values) => values.len(),
                    Array::Array(values) => values.len(),
                }
            }

            /// The number that files give the kind of the values.
            pub(super) fn number(&self) -> u32 {
                match self {
                    $(Array::$variant(_) => $number,)*
                    Array::Bool(_) => BOOL,
                    Array::Text(_) => TEXT,
                    Array::Array(_) => ARRAY,
                }
            }

            /// The value in a place.
            pub fn get(&self, i: usize) -> Option<Value> {
                match self {
                    $(Array::$variant(values) => values.get(i).map(|&x| Value::$variant(x)),)*
                    Array::Bool(values) => values.get(i).map(|&x| Value::Bool(x)),
                    Array::Text(values) => values.get(i).map(|text| Value::Text(text.to_vec())),
                    Array::Array(values) => values.get(i).map(|array| Value::Array(array.clone())),
                }
            }

            /// What the values are, for errors.
            pub(super) fn kind(&self) -> &'static str {
                match self {
                    $(Array::$variant(_) => concat!("numbers of type ", stringify!($type)),)*
                    Array::Bool(_) => "truth values",
                    Array::Text(_) => "texts",
                    Array::Array(_) => "arrays",
                }
            }
        }

        $(
            impl From<$type> for Value {
                fn from(number: $type) -> Value {
                    Value::$variant(number)
                }
            }

            impl From<Vec<$type>> for Value {
                fn from(numbers: Vec<$type>) -> Value {
                    Value::Array(Array::$variant(numbers))
                }
            }
        )*

        impl fmt::Display for Value {
            /// As errors tell it: long texts and arrays by their size.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Value::$variant(number) => write!(f, "the {} {number}", stringify!($type)),)*
                    Value::Bool(truth) => write!(f, "{truth}"),
                    Value::Text(text) if text.len() <= 64 => write!(f, "the text `{}`", text.escape_ascii()),
                    Value::Text(text) => write!(f, "a text of {} bytes", text.len()),
                    Value::Array(array) => write!(f, "an array of {} {}", array.len(), array.kind()),
                }
            }
        }
    };
}
numbers!(values);

impl Value {
    /// The number, of an integer that is not negative.
    pub fn as_u64(&self) -> Option<u64> {
        match *self {
            Value::U8(x) => Some(x.into()),
            Value::U16(x) => Some(x.into()),
            Value::U32(x) => Some(x.into()),
            Value::U64(x) => Some(x),
            Value::I8(_) | Value::I16(_) | Value::I32(_) | Value::I64(_) => self.as_i64()?.try_into().ok(),
            _ => None,
        }
    }

    /// The number, of an integer that fits.
    pub fn as_i64(&self) -> Option<i64> {
        match *self {
            Value::I8(x) => Some(x.into()),
            Value::I16(x) => Some(x.into()),
            Value::I32(x) => Some(x.into()),
            Value::I64(x) => Some(x),
            _ => self.as_u64()?.try_into().ok(),
        }
    }

    /// The number, of a float or of an integer (the nearest, where there is none).
    pub fn as_f64(&self) -> Option<f64> {
        match *self {
            Value::F32(x) => Some(x.into()),
            Value::F64(x) => Some(x),
            _ => self.as_i64().map(|x| x as f64).or_else(|| self.as_u64().map(|x| x as f64)),
        }
    }

    /// The text, where it is UTF-8.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => std::str::from_utf8(text).ok(),
            _ => None,
        }
    }
}

impl Array {
    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<bool> for Value {
    fn from(truth: bool) -> Value {
        Value::Bool(truth)
    }
}

impl From<Vec<bool>> for Value {
    fn from(truths: Vec<bool>) -> Value {
        Value::Array(Array::Bool(truths))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text.into())
    }
}

impl From<Texts> for Value {
    fn from(texts: Texts) -> Value {
        Value::Array(Array::Text(texts))
    }
}

impl From<Array> for Value {
    fn from(array: Array) -> Value {
        Value::Array(array)
    }
}

/// Texts in one piece of memory: vocabularies have hundreds of thousands.
///
/// ```
/// use oneir_io::gguf::Texts;
/// let texts: Texts = ["a", "", "b\0c"].into_iter().collect();
/// assert_eq!((texts.len(), texts.get(2)), (3, Some(&b"b\0c"[..])));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Texts {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Texts {
    /// No texts.
    pub fn new() -> Texts {
        Texts::default()
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of a text.
    pub fn get(&self, i: usize) -> Option<&[u8]> {
        let end = *self.ends.get(i)?;
        let start = i.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.bytes.get(start..end)
    }

    /// The bytes of each text.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|i| self.get(i).unwrap_or_default())
    }

    /// One text more.
    pub fn push(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
    }
}

impl<T: AsRef<[u8]>> FromIterator<T> for Texts {
    fn from_iter<I: IntoIterator<Item = T>>(texts: I) -> Texts {
        let mut all = Texts::new();
        texts.into_iter().for_each(|text| all.push(text.as_ref()));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_width() {
        assert_eq!(Value::I8(5).as_u64(), Some(5));
        assert_eq!(Value::I64(-5).as_u64(), None);
        assert_eq!(Value::I64(-5).as_f64(), Some(-5.0));
        assert_eq!(Value::U64(u64::MAX).as_i64(), None);
        assert_eq!(Value::U64(u64::MAX).as_f64(), Some(u64::MAX as f64));
        assert_eq!(Value::F32(0.5).as_f64(), Some(0.5));
        assert_eq!(Value::F32(1.0).as_u64(), None);
        assert_eq!(Value::Bool(true).as_f64(), None);
    }

    #[test]
    fn arrays_give_their_values() {
        let nested = Array::Array(vec![Array::U8(vec![1, 2]), Array::Text(["x"].into_iter().collect())]);
        assert_eq!(nested.get(0), Some(vec![1u8, 2].into()));
        assert_eq!(nested.get(2), None);
        assert_eq!(Value::from(nested).to_string(), "an array of 2 arrays");
        assert_eq!(Value::from("a\n").to_string(), "the text `a\\n`");
    }
}
