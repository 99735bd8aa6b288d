//! The operations by name: one line each. Arguments come in MLX's order.

use oneir_array::{Array, ArrayError};

use crate::call::Call;

mod elementwise;
mod indices;
mod movement;
mod numerics;
mod reductions;

/// What an operation gives: arrays, or why there are none.
pub(crate) type Results = Result<Vec<Array>, ArrayError>;

/// The results of an operation; nothing when it is not there.
pub(crate) fn call(op: &str, c: &Call<'_>) -> Option<Results> {
    let families = [elementwise::call, reductions::call, movement::call, indices::call, numerics::call];
    families.iter().find_map(|family| family(op, c))
}

/// One result.
fn one(array: Array) -> Option<Results> {
    Some(Ok(vec![array]))
}

/// Two results.
fn two((a, b): (Array, Array)) -> Option<Results> {
    Some(Ok(vec![a, b]))
}

/// One result of an operation that looks at its data.
fn looked(result: Result<Array, ArrayError>) -> Option<Results> {
    Some(result.map(|array| vec![array]))
}

/// A call with an operand that is an array or a number.
macro_rules! with {
    ($side:expr, $name:ident => $call:expr) => {
        match $side {
            crate::call::Side::Array($name) => $call,
            crate::call::Side::Number($name) => $call,
        }
    };
}

use with;
