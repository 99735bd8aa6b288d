//! How each primitive is written: a row names it, the function that writes it as
//! operators, and where a batch's axis lies in its results.

mod along;
mod contraction;
mod control;
mod convolution;
mod elementwise;
mod fused;
mod indexing;
mod integers;
mod joined;
mod movement;
mod order;
mod packed;
mod plain;
mod quantize;
mod reduction;
mod special;
mod update;
mod windows;

use oneir_ir::Primitive;

use super::graph::{Site, Written};

pub(super) use fused::fused;
pub(super) use joined::Sum;
pub(super) use plain::counted;

/// One primitive.
pub(super) struct Row {
    /// Its name.
    pub(super) name: &'static str,
    /// Writes it.
    pub(super) write: fn(&mut Site<'_>, &Primitive) -> Written,
    /// The axis of the results along which the batch's items lie; none where the op does
    /// not treat each item on its own.
    pub(super) along: fn(&Site<'_>, &Primitive) -> Option<usize>,
}

/// The families' rows.
const FAMILIES: &[&[Row]] = &[
    contraction::ROWS,
    control::ROWS,
    convolution::ROWS,
    elementwise::ROWS,
    indexing::ROWS,
    movement::ROWS,
    order::ROWS,
    packed::ROWS,
    plain::ROWS,
    quantize::ROWS,
    reduction::ROWS,
    update::ROWS,
    windows::ROWS,
];

/// The row of a primitive.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    FAMILIES.iter().flat_map(|rows| rows.iter()).find(|row| row.name == name)
}

/// A row; where nothing is said of batches, their sizes must be fixed.
macro_rules! row {
    ($name:literal => $write:expr) => {
        row!($name => $write, |_, _| None)
    };
    ($name:literal => $write:expr, $along:expr) => {
        $crate::export::ops::Row { name: $name, write: $write, along: $along }
    };
}
use row;

/// The parameters of the row's own primitive.
macro_rules! parameters {
    ($primitive:expr, $pattern:pat) => {
        let $pattern = $primitive else { return Err("it is another primitive".into()) };
    };
}
use parameters;
