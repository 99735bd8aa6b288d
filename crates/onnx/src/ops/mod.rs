//! The operators: each is one function of array calls and one row that names
//! it, with the versions at which its meaning changed.

mod attention;
mod convert;
mod creation;
mod einsum;
mod elementwise;
mod image_decoder;
mod indexing;
mod linear_attention;
mod loss;
mod ml;
mod nn;
mod normalization;
mod product;
mod quantize;
mod random;
mod recurrent;
mod reduction;
mod regex;
mod regions;
mod resize;
mod sampling;
mod selection;
mod sequence;
mod shape;
mod signal;
mod strings;
mod training;

use crate::call::{Call, Results};
use crate::control::Control;

/// One operator.
pub(crate) struct Row {
    /// The domain; empty for the standard one.
    pub(crate) domain: &'static str,
    /// The operator's name.
    pub(crate) name: &'static str,
    /// The versions at which it was defined anew; the first is where it began.
    pub(crate) since: &'static [i64],
    /// Whether it only moves or compares elements, so that strings may stand
    /// where numbers do.
    pub(crate) moves: bool,
    /// Computes it.
    pub(crate) run: Run,
}

/// How an operator is computed.
#[derive(Clone, Copy)]
pub(crate) enum Run {
    /// As array calls.
    Node(fn(&Call<'_>) -> Results),
    /// By running graphs in its attributes.
    Control(Control),
}

/// The families' rows.
const FAMILIES: &[&[Row]] = &[
    crate::control::ROWS,
    attention::ROWS,
    convert::ROWS,
    creation::ROWS,
    einsum::ROWS,
    elementwise::ROWS,
    image_decoder::ROWS,
    indexing::ROWS,
    linear_attention::ROWS,
    loss::ROWS,
    ml::ROWS,
    nn::ROWS,
    normalization::ROWS,
    product::ROWS,
    quantize::ROWS,
    random::ROWS,
    recurrent::ROWS,
    reduction::ROWS,
    regex::ROWS,
    regions::ROWS,
    resize::ROWS,
    sampling::ROWS,
    selection::ROWS,
    sequence::ROWS,
    shape::ROWS,
    signal::ROWS,
    strings::ROWS,
    training::ROWS,
];

/// The operator of a name, where the imported version has it.
pub(crate) fn find(domain: &str, name: &str, version: i64) -> Option<&'static Row> {
    FAMILIES.iter().flat_map(|rows| rows.iter()).find(|row| {
        row.name == name && row.domain == domain && row.since.first().is_some_and(|&v| v <= version)
    })
}

/// Every operator: domain, name and the versions at which it changed.
pub fn operators() -> impl Iterator<Item = (&'static str, &'static str, &'static [i64])> {
    FAMILIES.iter().flat_map(|rows| rows.iter()).map(|row| (row.domain, row.name, row.since))
}

/// A row, of the standard domain where none is named.
macro_rules! row {
    (control $name:ident $since:expr) => {
        row!(control "" $name $since)
    };
    (control $domain:literal $name:ident $since:expr) => {
        $crate::ops::Row {
            domain: $domain,
            name: stringify!($name),
            since: &$since,
            moves: false,
            run: $crate::ops::Run::Control($crate::control::Control::$name),
        }
    };
    (moves $name:ident $since:expr => $run:expr) => {
        $crate::ops::Row { domain: "", name: stringify!($name), since: &$since, moves: true, run: $crate::ops::Run::Node($run) }
    };
    ($name:ident $since:expr => $run:expr) => {
        row!("" $name $since => $run)
    };
    ($domain:literal $name:ident $since:expr => $run:expr) => {
        $crate::ops::Row { domain: $domain, name: stringify!($name), since: &$since, moves: false, run: $crate::ops::Run::Node($run) }
    };
}
pub(crate) use row;
