use oneir_array::IndexItem;
use serde_json::Value;

use super::{Results, one, with};
use crate::call::Call;

pub(super) fn call(op: &str, c: &Call<'_>) -> Option<Results> {
    let x = || c.x(0);
    let at = || x().at(c.index(1));
    match op {
        "index" => one(x().index(c.index(1))),
        "at_set" => one(with!(c.side(2), value => at().set(value))),
        "at_add" => one(with!(c.side(2), value => at().add(value))),
        "at_subtract" => one(with!(c.side(2), value => at().subtract(value))),
        "at_multiply" => one(with!(c.side(2), value => at().multiply(value))),
        "at_divide" => one(with!(c.side(2), value => at().divide(value))),
        "at_minimum" => one(with!(c.side(2), value => at().minimum(value))),
        "at_maximum" => one(with!(c.side(2), value => at().maximum(value))),
        "take" => one(x().take(c.x(1), c.axes(2))),
        "take_along_axis" => one(x().take_along_axis(c.x(1), c.axes(2))),
        "put_along_axis" => one(x().put_along_axis(c.x(1), c.x(2), c.axes(3))),
        _ => None,
    }
}

impl Call<'_> {
    /// The items of an index.
    fn index(&self, k: usize) -> Vec<IndexItem> {
        self.args[k].as_array().unwrap().iter().map(|item| self.item(item)).collect()
    }

    fn item(&self, item: &Value) -> IndexItem {
        if let Some(array) = self.array_at(item) {
            return IndexItem::Array(array.clone());
        }
        let bound = |v: &Value| v.as_i64().map(|n| n as isize);
        match (item.as_i64(), item.as_str(), &item["slice"]) {
            (Some(place), ..) => IndexItem::At(place as isize),
            (_, Some("new"), _) => IndexItem::NewAxis,
            (_, Some("..."), _) => IndexItem::Ellipsis,
            (_, _, span) => IndexItem::Span {
                start: bound(&span[0]),
                stop: bound(&span[1]),
                step: bound(&span[2]).unwrap_or(1),
            },
        }
    }
}
