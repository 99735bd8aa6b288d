use oneir_array::{Array, DType, HostTensor};
use oneir_ir::{Spec, Value};

use crate::OnnxError;
use crate::call::Call;

/// A value of a model while it is traced: an array, or something that lives on
/// the host beside arrays.
#[derive(Debug, Clone)]
pub enum Term {
    /// A recorded or computed array.
    Array(Array),
    /// A tensor whose value is known while tracing.
    Host(HostTensor),
    /// A tensor of strings.
    Strings(Strings),
    /// A list of values.
    Sequence(Vec<Term>),
    /// A value, or none.
    Optional(Option<Box<Term>>),
    /// A map from integers or strings.
    Map(Map),
}

/// A map: a value for each key.
#[derive(Debug, Clone)]
pub struct Map {
    /// The keys, all different.
    pub keys: Keys,
    /// A tensor of one dimension: the keys' values in their order.
    pub values: Box<Term>,
}

/// The keys of a map.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Keys {
    /// Integers.
    Ints(Vec<i64>),
    /// Strings.
    Strings(Vec<Vec<u8>>),
}

impl Keys {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Keys::Ints(keys) => keys.len(),
            Keys::Strings(keys) => keys.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A tensor of strings: bytes, as a model may hold any.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Strings {
    /// Size of each dimension.
    pub shape: Vec<usize>,
    /// The strings in row order.
    pub values: Vec<Vec<u8>>,
}

impl Strings {
    /// Refuses more strings than any model makes: repeated, a short file could
    /// make as many as it likes.
    pub(crate) fn check_count(call: &Call<'_>, count: usize) -> Result<(), OnnxError> {
        const MOST: usize = 1 << 20;
        if count > MOST {
            return Err(call.fails(format!("there would be {count} strings, more than {MOST}")));
        }
        Ok(())
    }

    /// Refuses strings of more bytes in all than any model makes.
    pub(crate) fn check_bytes(
        call: &Call<'_>,
        mut lengths: impl Iterator<Item = usize>,
    ) -> Result<(), OnnxError> {
        const MOST: usize = 1 << 26;
        match lengths.try_fold(0usize, |all, n| all.checked_add(n)) {
            Some(all) if all <= MOST => Ok(()),
            _ => Err(call.fails(format!("the strings would take more than {MOST} bytes"))),
        }
    }
}

impl Term {
    /// Shape and dtype, of a tensor that is not of strings.
    pub fn spec(&self) -> Option<Spec> {
        match self {
            Term::Array(array) => Some(Spec::new(array.dtype(), array.shape())),
            Term::Host(value) => Some(Spec::new(value.dtype(), value.shape().clone())),
            _ => None,
        }
    }

    /// Shape, of any tensor.
    pub fn shape(&self) -> Option<Vec<usize>> {
        match self {
            Term::Strings(strings) => Some(strings.shape.clone()),
            other => other.spec().map(|s| s.shape.to_vec()),
        }
    }

    /// Element type, of a tensor that is not of strings.
    pub fn dtype(&self) -> Option<DType> {
        self.spec().map(|s| s.dtype)
    }

    /// The tensor as an array.
    pub fn array(&self) -> Option<Array> {
        match self {
            Term::Array(array) => Some(array.clone()),
            Term::Host(value) => Some(Array::from_host(value.clone())),
            _ => None,
        }
    }

    /// Whether the value is known before the graph runs.
    pub fn is_static(&self) -> bool {
        match self {
            Term::Array(_) => false,
            Term::Host(_) | Term::Strings(_) => true,
            Term::Sequence(items) => items.iter().all(Term::is_static),
            Term::Optional(item) => item.as_deref().is_none_or(Term::is_static),
            Term::Map(map) => map.values.is_static(),
        }
    }

    /// Calls `f` with every array in the term, which it may replace.
    pub(crate) fn arrays_mut(&mut self, f: &mut dyn FnMut(&mut Array)) {
        match self {
            Term::Array(array) => f(array),
            Term::Host(_) | Term::Strings(_) => {}
            Term::Sequence(items) => items.iter_mut().for_each(|item| item.arrays_mut(f)),
            Term::Optional(item) => {
                if let Some(item) = item {
                    item.arrays_mut(f);
                }
            }
            Term::Map(map) => map.values.arrays_mut(f),
        }
    }

    /// What errors say of it.
    pub(crate) fn describe(&self) -> String {
        match self {
            Term::Strings(strings) => format!("string{:?}", strings.shape),
            Term::Sequence(items) => format!("a sequence of {}", items.len()),
            Term::Optional(None) => "no value".into(),
            Term::Optional(Some(item)) => format!("an optional of {}", item.describe()),
            Term::Map(map) => {
                let kind = if let Keys::Ints(_) = map.keys { "integers" } else { "strings" };
                format!("a map of {} {kind} to {}", map.keys.len(), map.values.describe())
            }
            other => other.spec().map_or_else(String::new, |s| s.to_string()),
        }
    }
}

impl From<Array> for Term {
    fn from(array: Array) -> Self {
        Term::Array(array)
    }
}

impl From<HostTensor> for Term {
    fn from(value: HostTensor) -> Self {
        Term::Host(value)
    }
}

impl From<Value> for Term {
    fn from(value: Value) -> Self {
        Term::Array(Array::from_value(value))
    }
}
