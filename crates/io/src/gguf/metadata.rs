//! The metadata of a file: values by key, in order.

use crate::IoError;

use super::values::{Array, Texts, Value};

/// What a file says about its model: values by key, in the file's order.
///
/// Files of different writers have numbers of different widths: [`Metadata::u64`] takes
/// any integer that is not negative, [`Metadata::f64`] any number.
///
/// ```
/// use oneir_io::gguf::Metadata;
///
/// let mut metadata = Metadata::new();
/// metadata.set("llama.attention.head_count", 32u32);
/// metadata.set("llama.rope.freq_base", 10000f32);
/// assert_eq!(metadata.u64("llama.attention.head_count")?, 32);
/// assert_eq!(metadata.f64("llama.rope.freq_base")?, 10000.0);
/// let missing = metadata.u64("llama.block_count").unwrap_err();
/// assert_eq!(missing.to_string(), "metadata: expected a value of `llama.block_count`, found none");
/// let wrong = metadata.text("llama.rope.freq_base").unwrap_err();
/// assert_eq!(
///     wrong.to_string(),
///     "metadata: expected a text for `llama.rope.freq_base`, found the f32 10000"
/// );
/// # Ok::<(), oneir_io::IoError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metadata {
    entries: Vec<(String, Value)>,
}

impl Metadata {
    /// Nothing said.
    pub fn new() -> Metadata {
        Metadata::default()
    }

    /// Entries that have each key once.
    pub(super) fn of_entries(entries: Vec<(String, Value)>) -> Metadata {
        Metadata { entries }
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Each key with its value.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entries.iter().find(|(other, _)| other == key).map(|(_, value)| value)
    }

    /// Gives a key a value, in the place of the one that it had.
    pub fn set(&mut self, key: impl Into<String>, value: impl Into<Value>) {
        let (key, value) = (key.into(), value.into());
        match self.entries.iter_mut().find(|(other, _)| *other == key) {
            Some((_, old)) => *old = value,
            None => self.entries.push((key, value)),
        }
    }

    /// Takes a key out, and gives its value.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.entries.iter().position(|(other, _)| other == key)?;
        Some(self.entries.remove(at).1)
    }

    fn want<'a, T>(
        &'a self,
        key: &str,
        expected: &'static str,
        take: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<T, IoError> {
        let value = self.get(key).ok_or_else(|| IoError::MissingKey { key: key.to_owned() })?;
        take(value).ok_or_else(|| IoError::WrongValue {
            key: key.to_owned(),
            expected,
            found: value.to_string(),
        })
    }

    /// An integer that is not negative, of any width.
    ///
    /// # Errors
    /// When the key is missing or has another value; so for the other getters.
    pub fn u64(&self, key: &str) -> Result<u64, IoError> {
        self.want(key, "an integer from 0", Value::as_u64)
    }

    /// An integer of any width.
    ///
    /// # Errors
    /// As [`Metadata::u64`].
    pub fn i64(&self, key: &str) -> Result<i64, IoError> {
        self.want(key, "an integer", Value::as_i64)
    }

    /// A number.
    ///
    /// # Errors
    /// As [`Metadata::u64`].
    pub fn f64(&self, key: &str) -> Result<f64, IoError> {
        self.want(key, "a number", Value::as_f64)
    }

    /// A truth value.
    ///
    /// # Errors
    /// As [`Metadata::u64`].
    pub fn bool(&self, key: &str) -> Result<bool, IoError> {
        self.want(key, "true or false", |value| match value {
            Value::Bool(truth) => Some(*truth),
            _ => None,
        })
    }

    /// A text.
    ///
    /// # Errors
    /// As [`Metadata::u64`]; also when the text is not UTF-8.
    pub fn text(&self, key: &str) -> Result<&str, IoError> {
        let expected = match self.get(key) {
            Some(Value::Text(_)) => "UTF-8",
            _ => "a text",
        };
        self.want(key, expected, Value::as_text)
    }

    /// An array of any kind.
    ///
    /// # Errors
    /// As [`Metadata::u64`].
    pub fn array(&self, key: &str) -> Result<&Array, IoError> {
        self.want(key, "an array", |value| match value {
            Value::Array(array) => Some(array),
            _ => None,
        })
    }

    /// An array of texts.
    ///
    /// # Errors
    /// As [`Metadata::u64`].
    pub fn texts(&self, key: &str) -> Result<&Texts, IoError> {
        self.want(key, "an array of texts", |value| match value {
            Value::Array(Array::Text(texts)) => Some(texts),
            _ => None,
        })
    }

    /// An array of integers that are not negative, of any width.
    ///
    /// # Errors
    /// As [`Metadata::u64`].
    pub fn u64s(&self, key: &str) -> Result<Vec<u64>, IoError> {
        self.want(key, "an array of integers from 0", |value| all(value, Value::as_u64))
    }

    /// An array of integers of any width.
    ///
    /// # Errors
    /// As [`Metadata::u64`].
    pub fn i64s(&self, key: &str) -> Result<Vec<i64>, IoError> {
        self.want(key, "an array of integers", |value| all(value, Value::as_i64))
    }

    /// An array of numbers.
    ///
    /// # Errors
    /// As [`Metadata::u64`].
    pub fn f64s(&self, key: &str) -> Result<Vec<f64>, IoError> {
        self.want(key, "an array of numbers", |value| all(value, Value::as_f64))
    }
}

/// Every number of an array.
fn all<T>(value: &Value, take: impl Fn(&Value) -> Option<T>) -> Option<Vec<T>> {
    match value {
        Value::Array(array @ (Array::Text(_) | Array::Array(_))) if !array.is_empty() => None,
        Value::Array(array) => (0..array.len()).map(|i| take(&array.get(i)?)).collect(),
        _ => None,
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Metadata {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Metadata {
        let mut metadata = Metadata::new();
        entries.into_iter().for_each(|(key, value)| metadata.set(key, value));
        metadata
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_of_numbers_of_any_width() {
        let metadata: Metadata = [
            ("heads", Value::from(vec![4i32, 8])),
            ("scores", vec![-0.5f32].into()),
            ("none", Texts::new().into()),
        ]
        .into_iter()
        .collect();
        assert_eq!(metadata.u64s("heads").unwrap(), [4, 8]);
        assert_eq!(metadata.f64s("scores").unwrap(), [-0.5]);
        assert!(metadata.u64s("scores").is_err());
        // An empty array has the kind of whatever its writer made of none.
        assert!(metadata.u64s("none").unwrap().is_empty());
        assert!(
            metadata.texts("heads").unwrap_err().to_string().contains("an array of 2 numbers of type i32")
        );
    }

    #[test]
    fn a_key_is_there_once() {
        let mut metadata = Metadata::new();
        metadata.set("a", 1u8);
        metadata.set("b", true);
        metadata.set("a", "x");
        assert_eq!(metadata.iter().map(|(key, _)| key).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(metadata.text("a").unwrap(), "x");
        assert_eq!(metadata.remove("a"), Some("x".into()));
        assert!(metadata.text("a").is_err() && metadata.len() == 1);
        metadata.set("c", Value::Text(vec![0xFF]));
        assert!(metadata.text("c").unwrap_err().to_string().contains("expected UTF-8"));
    }
}
