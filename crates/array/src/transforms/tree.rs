//! What functions take and give: any nest of arrays.

use std::collections::BTreeMap;

use crate::Array;

/// A value with arrays inside: an array, a number or text (without any), tuples,
/// vectors, options, maps of such values.
pub trait Tree: Clone {
    /// Adds the arrays, in a fixed order.
    fn leaves(&self, into: &mut Vec<Array>);

    /// The same value with other arrays, of which it takes as many as it has.
    #[must_use]
    fn with_leaves(&self, from: &mut dyn Iterator<Item = Array>) -> Self;
}

/// The arrays of a tree.
pub fn leaves(tree: &impl Tree) -> Vec<Array> {
    let mut all = Vec::new();
    tree.leaves(&mut all);
    all
}

/// A tree with each array replaced.
pub fn map<T: Tree>(tree: &T, f: impl FnMut(&Array) -> Array) -> T {
    let mapped: Vec<Array> = leaves(tree).iter().map(f).collect();
    tree.with_leaves(&mut mapped.into_iter())
}

impl Tree for Array {
    fn leaves(&self, into: &mut Vec<Array>) {
        into.push(self.clone());
    }

    fn with_leaves(&self, from: &mut dyn Iterator<Item = Array>) -> Self {
        from.next().unwrap_or_else(|| self.clone())
    }
}

/// A part of a tree that transforms leave alone: it has no leaves for them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frozen<T>(pub T);

impl<T: Clone> Tree for Frozen<T> {
    fn leaves(&self, _into: &mut Vec<Array>) {}

    fn with_leaves(&self, _from: &mut dyn Iterator<Item = Array>) -> Self {
        self.clone()
    }
}

macro_rules! plain {
    ($($t:ty)*) => {
        $(impl Tree for $t {
            fn leaves(&self, _into: &mut Vec<Array>) {}

            fn with_leaves(&self, _from: &mut dyn Iterator<Item = Array>) -> Self {
                self.clone()
            }
        })*
    };
}

plain!(bool i8 i16 i32 i64 isize u8 u16 u32 u64 usize f32 f64 String);

impl<T: Tree> Tree for Vec<T> {
    fn leaves(&self, into: &mut Vec<Array>) {
        self.iter().for_each(|part| part.leaves(into));
    }

    fn with_leaves(&self, from: &mut dyn Iterator<Item = Array>) -> Self {
        self.iter().map(|part| part.with_leaves(from)).collect()
    }
}

impl<T: Tree, const N: usize> Tree for [T; N] {
    fn leaves(&self, into: &mut Vec<Array>) {
        self.iter().for_each(|part| part.leaves(into));
    }

    fn with_leaves(&self, from: &mut dyn Iterator<Item = Array>) -> Self {
        self.each_ref().map(|part| part.with_leaves(from))
    }
}

impl<T: Tree> Tree for Option<T> {
    fn leaves(&self, into: &mut Vec<Array>) {
        self.iter().for_each(|part| part.leaves(into));
    }

    fn with_leaves(&self, from: &mut dyn Iterator<Item = Array>) -> Self {
        self.as_ref().map(|part| part.with_leaves(from))
    }
}

impl<K: Clone + Ord, T: Tree> Tree for BTreeMap<K, T> {
    fn leaves(&self, into: &mut Vec<Array>) {
        self.values().for_each(|part| part.leaves(into));
    }

    fn with_leaves(&self, from: &mut dyn Iterator<Item = Array>) -> Self {
        self.iter().map(|(key, part)| (key.clone(), part.with_leaves(from))).collect()
    }
}

macro_rules! tuples {
    ($($($name:ident)*;)*) => {
        $(
            #[allow(non_snake_case, unused_variables, reason = "one name for the type and its value")]
            impl<$($name: Tree),*> Tree for ($($name,)*) {
                fn leaves(&self, into: &mut Vec<Array>) {
                    let ($($name,)*) = self;
                    $($name.leaves(into);)*
                }

                #[allow(clippy::unused_unit, reason = "the tuple of nothing")]
                fn with_leaves(&self, from: &mut dyn Iterator<Item = Array>) -> Self {
                    let ($($name,)*) = self;
                    ($($name.with_leaves(from),)*)
                }
            }
        )*
    };
}

tuples! {
    ;
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}
