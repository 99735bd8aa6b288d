//! Copies in which a part is changed.

use oneir_ir::primitive::ScatterReduce;
use oneir_ir::{BinaryOp, Place, Primitive, Value};
use oneir_tensor::DType;

use super::items::{self, IndexItem};
use super::plan::Selection;
use crate::operand::Side;
use crate::{Array, Operand, Reason};

/// A part of an array, as [`Array::at`] names it.
#[derive(Debug, Clone)]
pub struct At<'a> {
    array: &'a Array,
    items: Vec<IndexItem>,
}

/// What happens to each element of the part.
#[derive(Debug, Clone, Copy)]
enum Change {
    Set,
    With(BinaryOp, ScatterReduce),
}

macro_rules! changes {
    ($($(#[$doc:meta])* $name:ident: $change:expr;)*) => {
        $(
            $(#[$doc])*
            ///
            /// The value converts to the array's dtype and broadcasts to the part.
            #[track_caller]
            #[must_use]
            pub fn $name(&self, value: impl Operand) -> Array {
                self.changed(stringify!($name), value.side(), $change)
            }
        )*
    };
}

impl<'a> At<'a> {
    pub(super) fn new(array: &'a Array, items: Vec<IndexItem>) -> At<'a> {
        At { array, items }
    }

    changes! {
        /// A copy with the part replaced; of several values for one place, the
        /// last in row order stays.
        set: Change::Set;
        /// A copy with a value added to each element, for every occurrence of its
        /// place.
        add: Change::With(BinaryOp::Add, ScatterReduce::Sum);
        /// A copy with each element times a value, for every occurrence of its
        /// place.
        multiply: Change::With(BinaryOp::Multiply, ScatterReduce::Prod);
        /// A copy with the smaller of each element and its values.
        minimum: Change::With(BinaryOp::Minimum, ScatterReduce::Min);
        /// A copy with the larger of each element and its values.
        maximum: Change::With(BinaryOp::Maximum, ScatterReduce::Max);
    }

    /// A copy with a value taken from each element, for every occurrence of its
    /// place.
    ///
    /// The value converts to the array's dtype and broadcasts to the part.
    #[track_caller]
    #[must_use]
    pub fn subtract(&self, value: impl Operand) -> Array {
        let value = value.side().of("subtract", self.array.dtype());
        self.add(value.negative())
    }

    /// A copy with each element divided by a value, for every occurrence of its
    /// place; integers divide toward zero.
    ///
    /// The value converts to the array's dtype and broadcasts to the part.
    #[track_caller]
    #[must_use]
    pub fn divide(&self, value: impl Operand) -> Array {
        let divisors = crate::ops::ones(&self.array.shape(), self.array.dtype());
        let divisors = At { array: &divisors, items: self.items.clone() }.multiply(value);
        self.array.trunc_divide(divisors)
    }

    #[track_caller]
    fn changed(&self, op: &'static str, value: Side<'_>, change: Change) -> Array {
        if let Some(failed) = items::failed(&self.items) {
            return failed;
        }
        let dtype = self.array.dtype();
        let value = value.of(op, dtype);
        if let (Some(mask), true) = (self.mask(), value.size() == 1 && value.ndim() == 0) {
            return self.where_it_holds(mask, &value, change);
        }
        Array::build(op, [self.array, &value], |[x, value], place| {
            let selection = Selection::new(&self.items, &x.spec().shape, &place)?;
            let part = selection.sliced(x, &place)?;
            let value = selection.led(value, &place)?;
            let part = match change {
                _ if selection.has_places() => {
                    let reduce = match change {
                        Change::Set => ScatterReduce::None,
                        Change::With(_, reduce) => reduce,
                    };
                    selection.scattered(&part, &value, reduce, &place)?
                }
                Change::Set => selection.spread(&value, &place)?,
                Change::With(f, _) => combined(f, &part, &selection.spread(&value, &place)?, &place)?,
            };
            selection.replaced(x, &part, &place)
        })
    }

    /// The one boolean array that covers the whole array, if the index is that.
    fn mask(&self) -> Option<&Array> {
        match &self.items[..] {
            [IndexItem::Array(mask)] if mask.dtype() == DType::Bool => {
                (mask.shape() == self.array.shape()).then_some(mask)
            }
            _ => None,
        }
    }

    /// One value wherever a mask holds: nothing need be computed now.
    #[track_caller]
    fn where_it_holds(&self, mask: &Array, value: &Array, change: Change) -> Array {
        Array::build("at", [self.array, mask, value], |[x, mask, value], place| {
            let value = crate::create::presented(value, &x.spec().shape, &place)?;
            let changed = match change {
                Change::Set => value,
                Change::With(f, _) => combined(f, x, &value, &place)?,
            };
            Ok(Value::record(Primitive::Select, &[mask, &changed, x], place)?)
        })
    }
}

fn combined(f: BinaryOp, a: &Value, b: &Value, place: &Place) -> Result<Value, Reason> {
    Ok(Value::record(Primitive::Binary(f), &[a, b], place.clone())?)
}
