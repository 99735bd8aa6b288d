//! Sequences and optionals: lists of terms that live on the host.

use oneir_array::{Array, HostTensor};

use super::creation::sizes;
use super::{Row, row};
use crate::OnnxError;
use crate::call::{Call, Results};
use crate::term::Term;

pub(super) const ROWS: &[Row] = &[
    row!(SequenceEmpty [11] => |_| Ok(vec![Term::Sequence(Vec::new())])),
    row!(SequenceConstruct [11] => |call| {
        let items = (0..call.inputs.len()).map(|i| call.term(i).cloned());
        Ok(vec![Term::Sequence(items.collect::<Result<_, _>>()?)])
    }),
    row!(SequenceAt [11] => |call| {
        let items = items(call, 0)?;
        let at = call.place_of(1, one_int(call, 1)?, items.len(), items.len())?;
        Ok(vec![items[at].clone()])
    }),
    row!(SequenceInsert [11] => |call| {
        let mut items = items(call, 0)?.to_vec();
        let at = match call.has(2) {
            true => call.place_of(2, one_int(call, 2)?, items.len(), items.len() + 1)?,
            false => items.len(),
        };
        items.insert(at, call.term(1)?.clone());
        Ok(vec![Term::Sequence(items)])
    }),
    row!(SequenceErase [11] => |call| {
        let mut items = items(call, 0)?.to_vec();
        let at = if call.has(1) { one_int(call, 1)? } else { -1 };
        items.remove(call.place_of(1, at, items.len(), items.len())?);
        Ok(vec![Term::Sequence(items)])
    }),
    row!(SequenceLength [11] => |call| Ok(vec![Term::Host(HostTensor::scalar(items(call, 0)?.len() as i64))])),
    row!(SplitToSequence [11, 24] => split_to_sequence),
    row!(ConcatFromSequence [11] => concat_from_sequence),
    row!(Optional [15, 28] => |call| {
        let item = if call.has(0) { Some(Box::new(call.term(0)?.clone())) } else { None };
        Ok(vec![Term::Optional(item)])
    }),
    row!(OptionalHasElement [15, 18, 28] => |call| {
        let has = call.has(0) && !matches!(call.term(0)?, Term::Optional(None));
        Ok(vec![Term::Host(HostTensor::scalar(has))])
    }),
    row!(OptionalGetElement [15, 18, 28] => |call| match call.term(0)? {
        Term::Optional(Some(item)) => Ok(vec![(**item).clone()]),
        Term::Optional(None) => Err(call.fails("the optional has no value")),
        other => Ok(vec![other.clone()]),
    }),
];

fn items<'a>(call: &'a Call<'_>, i: usize) -> Result<&'a [Term], OnnxError> {
    match call.term(i)? {
        Term::Sequence(items) => Ok(items),
        other => Err(call.fails(format!("input {i} must be a sequence, found {}", other.describe()))),
    }
}

fn one_int(call: &Call<'_>, i: usize) -> Result<i64, OnnxError> {
    match call.ints(i)?[..] {
        [one] => Ok(one),
        ref more => Err(call.fails(format!("input {i} must be one integer, found {} of them", more.len()))),
    }
}

/// Refuses sequences of more items than any model needs.
fn few(call: &Call<'_>, count: usize) -> Result<usize, crate::OnnxError> {
    const MOST: usize = 1 << 16;
    if count > MOST {
        return Err(call.fails(format!("a sequence would have {count} items, more than {MOST}")));
    }
    Ok(count)
}

fn split_to_sequence(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let axis = call.axis(call.attributes().int_or("axis", 0)?, x.ndim())?;
    let size = x.shape()[axis];
    let keep = call.has(1) || call.attributes().int_or("keepdims", 1)? != 0;
    let parts = if !call.has(1) {
        vec![1; few(call, size)?]
    } else if call.shape(1)?.is_empty() {
        let each = sizes(call, &call.ints(1)?)?[0];
        if each == 0 {
            return Err(call.fails("the parts must not be empty"));
        }
        (0..few(call, size.div_ceil(each))?).map(|i| each.min(size - i * each)).collect()
    } else {
        sizes(call, &call.ints(1)?)?
    };
    if parts.iter().try_fold(0usize, |all, &n| all.checked_add(n)) != Some(size) {
        return Err(call.fails(format!("parts {parts:?} do not add up to {size}")));
    }
    let mut at = 0;
    let mut items = Vec::with_capacity(parts.len());
    for part in parts {
        let piece = x.narrow(axis as isize, at, part);
        let piece = if keep { piece } else { piece.squeeze([axis as isize]) };
        call.checked(&piece)?;
        items.push(piece.into());
        at += part;
    }
    Ok(vec![Term::Sequence(items)])
}

fn concat_from_sequence(call: &Call<'_>) -> Results {
    let arrays: Option<Vec<Array>> = items(call, 0)?.iter().map(Term::array).collect();
    let arrays = arrays.ok_or_else(|| call.fails("the items must be tensors of numbers"))?;
    let axis = call.attributes().int("axis")? as isize;
    call.one(if call.attributes().int_or("new_axis", 0)? != 0 {
        Array::stack(&arrays, axis)
    } else {
        Array::concatenate(&arrays, axis)
    })
}
