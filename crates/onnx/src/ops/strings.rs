//! Operators on strings, which are known while tracing.

use oneir_array::{Array, DType, HostTensor};

use super::{Row, row};
use crate::OnnxError;
use crate::call::{Call, Results};
use crate::term::{Strings, Term};

pub(super) const ROWS: &[Row] = &[
    row!(StringConcat [20] => string_concat),
    row!(StringNormalizer [10] => string_normalizer),
    row!(StringSplit [20] => string_split),
    row!(TfIdfVectorizer [9] => tf_idf_vectorizer),
];

/// Input `i` as strings.
pub(super) fn strings<'a>(call: &'a Call<'_>, i: usize) -> Result<&'a Strings, OnnxError> {
    match call.term(i)? {
        Term::Strings(strings) => Ok(strings),
        other => {
            Err(call.fails(format!("input {i} must be a tensor of strings, found {}", other.describe())))
        }
    }
}

fn string_concat(call: &Call<'_>) -> Results {
    let (a, b) = (strings(call, 0)?, strings(call, 1)?);
    let shape = oneir_tensor::broadcast_shapes(&a.shape, &b.shape).map_err(|e| call.fails(e.to_string()))?;
    Strings::check_count(call, shape.iter().product())?;
    let places = |s: &Strings| -> Result<Vec<i64>, OnnxError> {
        let numbers: Vec<i64> = (0..s.values.len() as i64).collect();
        let seen = HostTensor::from_slice(&s.shape, &numbers).and_then(|t| t.broadcast(&shape));
        seen.and_then(|t| t.to_vec::<i64>()).map_err(|e| call.fails(e.to_string()))
    };
    let pairs: Vec<(i64, i64)> = places(a)?.into_iter().zip(places(b)?).collect();
    let both = |&(i, j): &(i64, i64)| [&a.values[i as usize][..], &b.values[j as usize][..]];
    Strings::check_bytes(call, pairs.iter().map(|pair| both(pair).iter().map(|s| s.len()).sum()))?;
    let values = pairs.iter().map(|pair| both(pair).concat()).collect();
    Ok(vec![Term::Strings(Strings { shape: shape.to_vec(), values })])
}

fn string_normalizer(call: &Call<'_>) -> Results {
    let x = strings(call, 0)?;
    let attributes = call.attributes();
    let exact = attributes.int_or("is_case_sensitive", 0)? != 0;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let folded = |s: String| if exact { s } else { s.to_lowercase() };
    let stop: Vec<String> =
        attributes.strings_or("stopwords", Vec::new())?.into_iter().map(|s| folded(s.to_string())).collect();
    let kept = x.values.iter().map(|v| text(v)).filter(|s| !stop.contains(&folded(s.clone())));
    let mut values: Vec<Vec<u8>> = match attributes.string_or("case_change_action", "NONE")? {
        "NONE" => kept.map(String::into_bytes).collect(),
        "LOWER" => kept.map(|s| s.to_lowercase().into_bytes()).collect(),
        "UPPER" => kept.map(|s| s.to_uppercase().into_bytes()).collect(),
        other => return Err(call.fails(format!("case_change_action {other} is not known"))),
    };
    if values.is_empty() {
        values.push(Vec::new());
    }
    let shape = match x.shape[..] {
        [_] => vec![values.len()],
        [1, _] => vec![1, values.len()],
        _ => return Err(call.fails("the strings must be a vector, or one row")),
    };
    Ok(vec![Term::Strings(Strings { shape, values })])
}

fn string_split(call: &Call<'_>) -> Results {
    let x = strings(call, 0)?;
    let delimiter = call.attributes().string_or("delimiter", "")?;
    let most = call
        .attributes()
        .find_int("maxsplit")?
        .map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let split = |text: &str| -> Vec<String> {
        if !delimiter.is_empty() {
            return text.splitn(most.saturating_add(1), delimiter).map(String::from).collect();
        }
        let mut parts = Vec::new();
        let mut rest = text.trim();
        while !rest.is_empty() {
            match rest.split_once(char::is_whitespace) {
                Some((part, after)) if parts.len() < most => {
                    parts.push(part.to_string());
                    rest = after.trim_start();
                }
                _ => {
                    parts.push(rest.to_string());
                    break;
                }
            }
        }
        parts
    };
    let parts: Vec<Vec<String>> = x.values.iter().map(|v| split(&String::from_utf8_lossy(v))).collect();
    let counts: Vec<i64> = parts.iter().map(|p| p.len() as i64).collect();
    let wide = parts.iter().map(Vec::len).max().unwrap_or(0);
    let padded = |p: Vec<String>| {
        let more = wide - p.len();
        p.into_iter().map(String::into_bytes).chain(std::iter::repeat_n(Vec::new(), more))
    };
    let values = parts.into_iter().flat_map(padded).collect();
    let shape = x.shape.iter().copied().chain([wide]).collect();
    let counts = HostTensor::from_slice(&x.shape, &counts).map_err(|e| call.fails(e.to_string()))?;
    Ok(vec![Term::Strings(Strings { shape, values }), Term::Host(counts)])
}

/// How often each n-gram of a pool comes in each row, weighted.
fn tf_idf_vectorizer(call: &Call<'_>) -> Results {
    let attributes = call.attributes();
    let bad = |what: &str| call.fails(format!("{what} make no sense"));
    let size = |name: &str| -> Result<usize, OnnxError> {
        usize::try_from(attributes.int(name)?).map_err(|_| bad(name))
    };
    let (shortest, longest, skips) =
        (size("min_gram_length")?, size("max_gram_length")?, size("max_skip_count")?);
    let (starts, columns) = (attributes.ints("ngram_counts")?, attributes.ints("ngram_indexes")?);
    // Tokens are compared as bytes, whatever they are.
    let (rows, pool): (Vec<Vec<u8>>, Vec<Vec<u8>>) = match call.term(0)? {
        Term::Strings(x) => (x.values.clone(), attributes.byte_strings("pool_strings")?.to_vec()),
        _ => {
            let bytes = |v: &[i64]| v.iter().map(|n| n.to_le_bytes().to_vec()).collect();
            (bytes(&call.ints(0)?), bytes(attributes.ints("pool_int64s")?))
        }
    };
    let shape = call.shape(0)?;
    let (count, per_row) = match shape[..] {
        [n] => (1, n),
        [rows, n] => (rows, n),
        _ => return Err(call.fails("the input must have 1 or 2 dimensions")),
    };
    // The pool lists n-grams of growing length; `starts` says where each length
    // begins.
    let mut grams: Vec<&[Vec<u8>]> = Vec::new();
    for (k, &start) in starts.iter().enumerate() {
        let start = usize::try_from(start).map_err(|_| bad("ngram_counts"))?;
        let end = starts
            .get(k + 1)
            .map_or(Ok(pool.len()), |&e| usize::try_from(e))
            .map_err(|_| bad("ngram_counts"))?;
        let part = pool.get(start..end).ok_or_else(|| bad("ngram_counts"))?;
        grams.extend(part.chunks_exact(k + 1));
    }
    let width = columns.iter().max().map_or(0, |&m| m.max(-1).saturating_add(1)) as usize;
    if grams.len() > columns.len() || columns.iter().any(|&c| c < 0) {
        return Err(bad("ngram_indexes"));
    }
    call.bounded("the counts", count.max(1).checked_mul(width))?;
    let mut counts = vec![0f32; count * width];
    for row in 0..count {
        let tokens = &rows[row * per_row..(row + 1) * per_row];
        for (gram, &column) in grams.iter().zip(columns) {
            let n = gram.len();
            if n < shortest || n > longest {
                continue;
            }
            // One token has nothing between its parts to skip.
            let strides = if n == 1 { 1 } else { skips.min(per_row) + 1 };
            for stride in 1..=strides {
                let reach = (n - 1) * stride;
                let hits = (0..per_row.saturating_sub(reach))
                    .filter(|&at| (0..n).all(|k| tokens[at + k * stride] == gram[k]))
                    .count();
                counts[row * width + column as usize] += hits as f32;
            }
        }
    }
    let mut weights = vec![1f32; width];
    if let Some(given) = attributes.find_floats("weights")? {
        for (&column, &weight) in columns.iter().zip(given) {
            weights[column as usize] = weight;
        }
    }
    let counts = Array::from_slice(&counts, &[count, width]);
    let weights = Array::from_slice(&weights, &[width]);
    let out = match attributes.string("mode")? {
        "TF" => counts,
        "IDF" => counts.minimum(Array::full(&[], 1.0, DType::F32)).multiply(&weights),
        "TFIDF" => counts.multiply(&weights),
        other => return Err(call.fails(format!("mode must be TF, IDF or TFIDF, found {other}"))),
    };
    call.one(if shape.len() == 1 { out.reshape(&[-1]) } else { out })
}
