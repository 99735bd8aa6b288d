//! Trees of the standard library's types, and of numbers.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};
use std::marker::PhantomData;

use super::{Rebuild, Tree, Visitor};
use crate::{Complex32, DType, bf16, f16};

/// Types without arrays, with their bytes.
macro_rules! values {
    ($($t:ty: $kind:expr, $value:ident => $bytes:expr;)*) => {
        $(impl Tree for $t {
            fn visit(&self, visitor: &mut Visitor<'_>) {
                let $value = self;
                visitor.value($kind, $bytes);
            }

            fn rebuild(&self, _from: &mut Rebuild<'_>) -> Self {
                Self::clone(self)
            }
        })*
    };
}

values! {
    bool: "bool", x => &[u8::from(*x)];
    char: "char", x => &u32::from(*x).to_le_bytes();
    String: "str", x => x.as_bytes();
    &str: "str", x => x.as_bytes();
    Cow<'_, str>: "str", x => x.as_bytes();
    DType: "dtype", x => x.name().as_bytes();
    Complex32: "complex64", x => &[x.re.to_le_bytes(), x.im.to_le_bytes()].concat();
}

macro_rules! numbers {
    ($($t:ident)*) => {
        values! { $($t: stringify!($t), x => &x.to_le_bytes();)* }
    };
}

numbers!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f16 bf16 f32 f64);

impl<T: ?Sized> Tree for PhantomData<T> {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        visitor.node("phantom", 0);
    }

    fn rebuild(&self, _from: &mut Rebuild<'_>) -> Self {
        *self
    }
}

/// A box is what is in it.
impl<T: Tree> Tree for Box<T> {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        (**self).visit(visitor);
    }

    fn rebuild(&self, from: &mut Rebuild<'_>) -> Self {
        Box::new((**self).rebuild(from))
    }
}

impl<T: Tree> Tree for Vec<T> {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        visitor.node("vec", self.len());
        self.iter().for_each(|part| part.visit(visitor));
    }

    fn rebuild(&self, from: &mut Rebuild<'_>) -> Self {
        self.iter().map(|part| part.rebuild(from)).collect()
    }
}

impl<T: Tree, const N: usize> Tree for [T; N] {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        visitor.node("array", N);
        self.iter().for_each(|part| part.visit(visitor));
    }

    fn rebuild(&self, from: &mut Rebuild<'_>) -> Self {
        self.each_ref().map(|part| part.rebuild(from))
    }
}

impl<T: Tree> Tree for Option<T> {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        visitor.node("option", usize::from(self.is_some()));
        self.iter().for_each(|part| part.visit(visitor));
    }

    fn rebuild(&self, from: &mut Rebuild<'_>) -> Self {
        self.as_ref().map(|part| part.rebuild(from))
    }
}

impl<K: Tree + Ord, T: Tree> Tree for BTreeMap<K, T> {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        entries(self.len(), self.iter(), visitor);
    }

    fn rebuild(&self, from: &mut Rebuild<'_>) -> Self {
        self.iter().map(|(key, part)| (key.rebuild(from), part.rebuild(from))).collect()
    }
}

/// In the order of the keys, whatever the map's own.
impl<K: Tree + Ord + Hash, T: Tree, S: BuildHasher + Clone> Tree for HashMap<K, T, S> {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        entries(self.len(), ordered(self).into_iter(), visitor);
    }

    fn rebuild(&self, from: &mut Rebuild<'_>) -> Self {
        let mut map = HashMap::with_capacity_and_hasher(self.len(), self.hasher().clone());
        let parts = ordered(self).into_iter();
        map.extend(parts.map(|(key, part)| (key.rebuild(from), part.rebuild(from))));
        map
    }
}

fn ordered<K: Ord, T, S>(map: &HashMap<K, T, S>) -> Vec<(&K, &T)> {
    let mut all: Vec<(&K, &T)> = map.iter().collect();
    all.sort_unstable_by_key(|&(key, _)| key);
    all
}

fn entries<'a, K: Tree + 'a, T: Tree + 'a>(
    count: usize,
    entries: impl Iterator<Item = (&'a K, &'a T)>,
    visitor: &mut Visitor<'_>,
) {
    visitor.node("map", count);
    for (key, part) in entries {
        key.visit(visitor);
        part.visit(visitor);
    }
}

/// Tuples of as many parts as there are names, and of fewer.
macro_rules! tuples {
    ($($name:ident)*) => {
        #[allow(non_snake_case, unused_variables, reason = "one name for the type and its value")]
        impl<$($name: Tree),*> Tree for ($($name,)*) {
            fn visit(&self, visitor: &mut Visitor<'_>) {
                let ($($name,)*) = self;
                visitor.node("tuple", <[&str]>::len(&[$(stringify!($name)),*]));
                $($name.visit(visitor);)*
            }

            #[allow(clippy::unused_unit, reason = "the tuple of nothing")]
            fn rebuild(&self, from: &mut Rebuild<'_>) -> Self {
                let ($($name,)*) = self;
                ($($name.rebuild(from),)*)
            }
        }

        tuples! { @fewer $($name)* }
    };
    (@fewer) => {};
    (@fewer $first:ident $($name:ident)*) => { tuples! { $($name)* } };
}

tuples! { A B C D E F G H I J K L }
