//! How a primitive's parameters print, parse, and split into form and sizes.

use std::fmt::Write;
use std::sync::Arc;

use oneir_tensor::DType;

use crate::text::{Cursor, Printer, TextError, write_string};

/// A parameter of a primitive.
pub(crate) trait Attr: Sized {
    /// Prints the value as [`Attr::read`] reads it.
    fn write(&self, out: &mut Printer);
    /// Parses a printed value.
    fn read(text: &mut Cursor<'_>) -> Result<Self, TextError>;
}

/// A parameter that holds sizes taken from shapes: in a plan's skeleton only
/// its form counts, and the sizes stand beside it.
pub(crate) trait SizeAttr: Attr {
    /// How many sizes there are: part of the form.
    fn size_count(&self) -> usize;
    /// Appends the sizes.
    fn sizes(&self, out: &mut Vec<u64>);
}

macro_rules! number_attr {
    ($($t:ty => $what:literal),*) => {
        $(impl Attr for $t {
            fn write(&self, out: &mut Printer) {
                _ = write!(out, "{self}");
            }
            fn read(text: &mut Cursor<'_>) -> Result<Self, TextError> {
                text.number($what)
            }
        })*
    };
}

number_attr!(usize => "a size", isize => "an integer", u8 => "a small number", u32 => "a number", bool => "true or false");

impl SizeAttr for usize {
    fn size_count(&self) -> usize {
        1
    }

    fn sizes(&self, out: &mut Vec<u64>) {
        out.push(*self as u64);
    }
}

impl<T: Attr> Attr for Vec<T> {
    fn write(&self, out: &mut Printer) {
        out.push('[');
        for (i, item) in self.iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            item.write(out);
        }
        out.push(']');
    }

    fn read(text: &mut Cursor<'_>) -> Result<Self, TextError> {
        text.list("[", "]", T::read)
    }
}

impl<T: Attr> Attr for Box<T> {
    fn write(&self, out: &mut Printer) {
        T::write(self, out);
    }

    fn read(text: &mut Cursor<'_>) -> Result<Self, TextError> {
        T::read(text).map(Box::new)
    }
}

impl SizeAttr for Vec<usize> {
    fn size_count(&self) -> usize {
        self.len()
    }

    fn sizes(&self, out: &mut Vec<u64>) {
        out.extend(self.iter().map(|&n| n as u64));
    }
}

impl Attr for DType {
    fn write(&self, out: &mut Printer) {
        out.push_str(self.name());
    }

    fn read(text: &mut Cursor<'_>) -> Result<Self, TextError> {
        let mut ahead = text.clone();
        match ahead.word("a dtype")?.parse() {
            Ok(dtype) => {
                *text = ahead;
                Ok(dtype)
            }
            Err(_) => Err(text.error("a dtype")),
        }
    }
}

impl Attr for Arc<str> {
    fn write(&self, out: &mut Printer) {
        write_string(out, self);
    }

    fn read(text: &mut Cursor<'_>) -> Result<Self, TextError> {
        Ok(text.string()?.into())
    }
}

/// A real parameter, stored by its bits so that primitives stay `Eq + Hash`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Real(u64);

impl Real {
    /// The number's bits.
    pub fn new(x: f64) -> Self {
        Real(x.to_bits())
    }

    /// The number.
    pub fn get(self) -> f64 {
        f64::from_bits(self.0)
    }
}

impl std::fmt::Debug for Real {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.get().fmt(f)
    }
}

impl Attr for Real {
    fn write(&self, out: &mut Printer) {
        _ = write!(out, "{:?}", self.get());
    }

    fn read(text: &mut Cursor<'_>) -> Result<Self, TextError> {
        text.number("a number").map(Real::new)
    }
}

/// Gives an enum with `ALL` and `name()` its text form: the bare name.
macro_rules! name_attr {
    ($t:ty, $what:literal) => {
        impl $crate::attr::Attr for $t {
            fn write(&self, out: &mut $crate::text::Printer) {
                out.push_str(self.name());
            }

            fn read(text: &mut $crate::text::Cursor<'_>) -> Result<Self, $crate::text::TextError> {
                let mut ahead = text.clone();
                let word = ahead.word($what)?;
                match Self::ALL.iter().find(|op| op.name() == word) {
                    Some(op) => {
                        *text = ahead;
                        Ok(*op)
                    }
                    None => Err(text.error($what)),
                }
            }
        }
    };
}
pub(crate) use name_attr;

/// Makes an enum of named choices with its text form.
macro_rules! choices {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$vdoc:meta])* $variant:ident $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name { $($(#[$vdoc])* $variant),* }

        impl $name {
            /// Every choice.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The name used in texts and errors.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }
        }

        $crate::attr::name_attr!($name, $what);
    };
}
pub(crate) use choices;

/// Makes a struct of parameters with its text form `{field = value, …}`.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident { $($(#[$fdoc:meta])* $field:ident: $t:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub struct $name { $($(#[$fdoc])* pub $field: $t),* }

        impl $crate::attr::Attr for $name {
            fn write(&self, out: &mut $crate::text::Printer) {
                out.push('{');
                let mut first = true;
                $(
                    if !std::mem::take(&mut first) { out.push_str(", "); }
                    out.push_str(concat!(stringify!($field), " = "));
                    $crate::attr::Attr::write(&self.$field, out);
                )*
                out.push('}');
            }

            fn read(text: &mut $crate::text::Cursor<'_>) -> Result<Self, $crate::text::TextError> {
                text.expect("{")?;
                let mut first = true;
                $(
                    if !std::mem::take(&mut first) { text.expect(",")?; }
                    text.expect(stringify!($field))?;
                    text.expect("=")?;
                    let $field = $crate::attr::Attr::read(text)?;
                )*
                text.expect("}")?;
                Ok($name { $($field),* })
            }
        }
    };
}
pub(crate) use record;
