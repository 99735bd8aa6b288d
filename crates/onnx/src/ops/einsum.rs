//! Sums of products named by letters.

use oneir_array::Array;

use super::{Row, row};
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[row!(Einsum [12, 28] => einsum)];

fn einsum(call: &Call<'_>) -> Results {
    let equation = call.attributes().string("equation")?;
    let operands = (0..call.inputs.len()).map(|i| call.array(i)).collect::<Result<Vec<_>, _>>()?;
    call.one(Array::einsum(equation, &operands.iter().collect::<Vec<_>>()))
}
