//! Maps, and the codes of categories.

use oneir_array::{Array, DType, HostTensor};

use super::scores::features;
use crate::OnnxError;
use crate::call::{Call, Results};
use crate::term::{Keys, Map, Strings, Term};

/// Keys in the attribute `strings` or `ints`, of which one must be there.
fn keys(call: &Call<'_>, strings: &str, ints: &str) -> Result<Keys, OnnxError> {
    let attributes = call.attributes();
    match (attributes.find_byte_strings(strings)?, attributes.find_ints(ints)?) {
        (Some(found), None | Some([])) => Ok(Keys::Strings(found.to_vec())),
        (None | Some([]), Some(found)) => Ok(Keys::Ints(found.to_vec())),
        _ => Err(call.fails(format!("one of {strings} and {ints} must be given"))),
    }
}

fn map<'a>(call: &'a Call<'_>) -> Result<&'a Map, OnnxError> {
    match call.term(0)? {
        Term::Map(map) => Ok(map),
        other => Err(call.fails(format!("input 0 must be a map, found {}", other.describe()))),
    }
}

/// A map from the classes to each row's numbers.
pub(super) fn zip_map(call: &Call<'_>) -> Results {
    let keys = keys(call, "classlabels_strings", "classlabels_int64s")?;
    let x = features(call)?;
    let [rows, columns] = x.shape()[..] else { return Err(call.fails("the input must be rows")) };
    if columns != keys.len() {
        return Err(call.fails(format!("{columns} columns for {} keys", keys.len())));
    }
    let row = |at: usize| {
        let values = Box::new(Term::Array(x.narrow(0, at, 1).reshape(&[-1])));
        Term::Map(Map { keys: keys.clone(), values })
    };
    Ok(vec![Term::Sequence((0..rows).map(row).collect())])
}

/// A map's values in a vocabulary's order, as one row; what it lacks is 0, or
/// an empty string.
pub(super) fn dict_vectorizer(call: &Call<'_>) -> Results {
    let vocabulary = keys(call, "string_vocabulary", "int64_vocabulary")?;
    let map = map(call)?;
    let places: Vec<usize> = match (&vocabulary, &map.keys) {
        (Keys::Ints(words), Keys::Ints(keys)) => places(words, keys),
        (Keys::Strings(words), Keys::Strings(keys)) => places(words, keys),
        _ => return Err(call.fails("the vocabulary must have the type of the map's keys")),
    };
    picked(call, map, &places)
}

/// Where each word stands among keys, past the last where it does not.
fn places<T: PartialEq>(words: &[T], keys: &[T]) -> Vec<usize> {
    words.iter().map(|word| keys.iter().position(|key| key == word).unwrap_or(keys.len())).collect()
}

/// The values at places as one row.
fn picked(call: &Call<'_>, map: &Map, places: &[usize]) -> Results {
    if let Term::Strings(strings) = &*map.values {
        let values = places.iter().map(|&at| strings.values.get(at).cloned().unwrap_or_default());
        return Ok(vec![Term::Strings(Strings { shape: vec![1, places.len()], values: values.collect() })]);
    }
    let values = map.values.array().ok_or_else(|| call.fails("the map's values must be a tensor"))?;
    let all = Array::concatenate(&[values.reshape(&[-1]), Array::zeros(&[1], values.dtype())], 0);
    let index: Vec<i64> = places.iter().map(|&at| at as i64).collect();
    call.one(all.take(Array::from_slice(&index, &[1, index.len()]), 0))
}

/// A map's values in the order of its keys, or each at the place that its key
/// names, as one row.
pub(super) fn cast_map(call: &Call<'_>) -> Results {
    let map = map(call)?;
    let Keys::Ints(keys) = &map.keys else { return Err(call.fails("the map's keys must be integers")) };
    let words = match call.attributes().string_or("map_form", "DENSE")? {
        "DENSE" => {
            let mut sorted = keys.clone();
            sorted.sort_unstable();
            sorted
        }
        "SPARSE" => {
            let size = call.attributes().int_or("max_map", 1)?;
            if let Some(key) = keys.iter().find(|&&key| key < 0 || key >= size) {
                return Err(call.fails(format!("key {key} has no place among {size}")));
            }
            (0..call.bounded("the map", usize::try_from(size).ok())? as i64).collect()
        }
        other => return Err(call.fails(format!("map_form must be DENSE or SPARSE, found {other}"))),
    };
    let mut row = picked(call, map, &places(&words, keys))?.remove(0);
    let to = match call.attributes().string_or("cast_to", "TO_FLOAT")? {
        "TO_FLOAT" => crate::ElemType::of(DType::F32),
        "TO_INT64" => crate::ElemType::of(DType::I64),
        "TO_STRING" => crate::ElemType::String,
        other => return Err(call.fails(format!("cast_to {other} is not known"))),
    };
    if let (Term::Array(array), crate::ElemType::String) = (&row, to) {
        row = Term::Host(call.read_made(|| Ok((array.clone(), vec![])))?.0);
    }
    let (node, version, looking) = (call.node, call.version, call.looking);
    let made = std::cell::RefCell::default();
    crate::ops::convert::cast(&Call { node, version, looking, inputs: vec![Some(row)], made }, to)
}

/// Strings and the integers that stand for them.
pub(super) fn category_mapper(call: &Call<'_>) -> Results {
    let attributes = call.attributes();
    let (names, codes) = (attributes.byte_strings("cats_strings")?, attributes.ints("cats_int64s")?);
    if names.len() != codes.len() {
        return Err(call.fails(format!("{} strings for {} integers", names.len(), codes.len())));
    }
    if let Term::Strings(x) = call.term(0)? {
        let other = attributes.int_or("default_int64", -1)?;
        let code = |name: &Vec<u8>| names.iter().position(|n| n == name).map_or(other, |at| codes[at]);
        let found: Vec<i64> = x.values.iter().map(code).collect();
        let made = HostTensor::from_slice(&x.shape, &found).map_err(|e| call.fails(e.to_string()))?;
        return Ok(vec![Term::Host(made)]);
    }
    let other = attributes.bytes_or("default_string", b"_Unused")?;
    let shape = call.shape(0)?;
    let name =
        |code: &i64| codes.iter().position(|c| c == code).map_or(other.to_vec(), |at| names[at].clone());
    let values = call.ints(0)?.iter().map(name).collect();
    Ok(vec![Term::Strings(Strings { shape, values })])
}

/// For each element, 1 at its category and 0 at the others.
pub(super) fn one_hot_encoder(call: &Call<'_>) -> Results {
    let lenient = call.attributes().int_or("zeros", 1)? != 0;
    let unknown = |what: &str| call.fails(format!("{what} is no category"));
    match (keys(call, "cats_strings", "cats_int64s")?, call.term(0)?) {
        (Keys::Strings(names), Term::Strings(x)) => {
            let mut set = vec![0f32; call.bounded("the codes", x.values.len().checked_mul(names.len()))?];
            for (row, value) in x.values.iter().enumerate() {
                match names.iter().position(|name| name == value) {
                    Some(at) => set[row * names.len() + at] = 1.0,
                    None if lenient => {}
                    None => return Err(unknown(&format!("{:?}", String::from_utf8_lossy(value)))),
                }
            }
            let shape: Vec<usize> = x.shape.iter().copied().chain([names.len()]).collect();
            let made = HostTensor::from_slice(&shape, &set).map_err(|e| call.fails(e.to_string()))?;
            Ok(vec![Term::Host(made)])
        }
        (Keys::Ints(codes), Term::Array(_) | Term::Host(_)) => {
            let x = call.array(0)?.astype(DType::I64);
            if !lenient {
                let (values, _) = call.read_made(|| Ok((x.clone(), vec![])))?;
                let values = values.to_vec::<i64>().map_err(|e| call.fails(e.to_string()))?;
                if let Some(value) = values.iter().find(|value| !codes.contains(value)) {
                    return Err(unknown(&value.to_string()));
                }
            }
            let codes = Array::from_slice(&codes, &[codes.len()]);
            call.one(x.expand_dims([-1]).equal(&codes).astype(DType::F32))
        }
        _ => Err(call.fails("the categories must have the type of the elements")),
    }
}
