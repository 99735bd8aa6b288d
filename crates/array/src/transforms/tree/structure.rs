//! What a tree is beside its arrays.

use std::any::Any;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// All of a tree that is not an array: how it nests, which variants and keys it has,
/// which options are there, its plain values with their types (floats by their bits),
/// and which arrays are frozen. Two trees have equal structures exactly when they
/// differ in arrays only.
///
/// ```
/// use oneir_array::transforms::parts;
/// use oneir_array::array;
/// let structure = |k: f32| parts(&(vec![array![1.0], array![k]], k)).0;
/// assert_eq!(structure(2.0), structure(2.0));
/// assert_ne!(structure(2.0), structure(3.0));
/// assert_ne!(parts(&true).0, parts(&1i32).0);
/// ```
///
/// It is told by a tag per part, with the lengths of what follows before it, so no
/// structure is the beginning of another and one after the other says where the
/// first ends.
#[derive(Clone, Default)]
pub struct Structure {
    bytes: Vec<u8>,
    /// The values that have no bytes.
    plain: Vec<Arc<dyn Comparable>>,
}

const ARRAY: u8 = 0;
const FROZEN: u8 = 1;
const NODE: u8 = 2;
const VALUE: u8 = 3;
const PLAIN: u8 = 4;

impl Structure {
    pub(super) fn array(&mut self) {
        self.bytes.push(ARRAY);
    }

    /// What comes next is frozen.
    pub(super) fn frozen(&mut self) {
        self.bytes.push(FROZEN);
    }

    pub(super) fn node(&mut self, name: &str, parts: usize) {
        self.bytes.push(NODE);
        self.run(name.as_bytes());
        self.length(parts);
    }

    pub(super) fn value(&mut self, kind: &str, bytes: &[u8]) {
        self.bytes.push(VALUE);
        self.run(kind.as_bytes());
        self.run(bytes);
    }

    pub(super) fn plain<T: Clone + Eq + Hash + Send + Sync + 'static>(&mut self, value: &T) {
        self.bytes.push(PLAIN);
        self.plain.push(Arc::new(Only(value.clone())));
    }

    fn run(&mut self, bytes: &[u8]) {
        self.length(bytes.len());
        self.bytes.extend_from_slice(bytes);
    }

    /// A number in as few bytes as it needs, seven bits in each; the highest bit says
    /// that there are more.
    fn length(&mut self, mut n: usize) {
        while n >= 0x80 {
            self.bytes.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.bytes.push(n as u8);
    }
}

impl PartialEq for Structure {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
            && self.plain.len() == other.plain.len()
            && self.plain.iter().zip(&other.plain).all(|(a, b)| a.same(&**b))
    }
}

impl Eq for Structure {}

impl Hash for Structure {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes.hash(state);
        self.plain.iter().for_each(|value| value.feed(state));
    }
}

impl fmt::Debug for Structure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Structure(\"{}\", {} plain)", self.bytes.escape_ascii(), self.plain.len())
    }
}

/// A value of any type that can be compared with others of it.
trait Comparable: Any + Send + Sync {
    fn same(&self, other: &dyn Comparable) -> bool;

    fn feed(&self, state: &mut dyn Hasher);
}

struct Only<T>(T);

impl<T: Eq + Hash + Send + Sync + 'static> Comparable for Only<T> {
    fn same(&self, other: &dyn Comparable) -> bool {
        (other as &dyn Any).downcast_ref::<Self>().is_some_and(|other| self.0 == other.0)
    }

    fn feed(&self, mut state: &mut dyn Hasher) {
        self.0.hash(&mut state);
    }
}
