//! Operators of classical machine learning (domain `ai.onnx.ml`).

mod maps;
mod scores;
mod svm;
mod trees;

use oneir_array::{Array, DType, HostTensor};

use super::{Row, row};
use crate::Term;
use crate::call::{Call, Results};
use crate::term::Strings;
use crate::trace::stored;

pub(super) const ROWS: &[Row] = &[
    row!("ai.onnx.ml" Scaler [1] => scaler),
    row!("ai.onnx.ml" ArrayFeatureExtractor [1] => array_feature_extractor),
    row!("ai.onnx.ml" Binarizer [1] => |call| {
        let x = call.array(0)?;
        let threshold = f64::from(call.attributes().float_or("threshold", 0.0)?);
        call.one(x.greater(Array::full(&[], threshold, x.dtype())).astype(x.dtype()))
    }),
    row!("ai.onnx.ml" Normalizer [1] => normalizer),
    row!("ai.onnx.ml" LabelEncoder [1, 2, 4] => label_encoder),
    row!("ai.onnx.ml" Imputer [1] => imputer),
    row!("ai.onnx.ml" FeatureVectorizer [1] => feature_vectorizer),
    row!("ai.onnx.ml" OneHotEncoder [1] => maps::one_hot_encoder),
    row!("ai.onnx.ml" CategoryMapper [1] => maps::category_mapper),
    row!("ai.onnx.ml" ZipMap [1] => maps::zip_map),
    row!("ai.onnx.ml" DictVectorizer [1] => maps::dict_vectorizer),
    row!("ai.onnx.ml" CastMap [1] => maps::cast_map),
    row!("ai.onnx.ml" LinearClassifier [1] => scores::linear_classifier),
    row!("ai.onnx.ml" LinearRegressor [1] => scores::linear_regressor),
    row!("ai.onnx.ml" SVMClassifier [1] => svm::classifier),
    row!("ai.onnx.ml" SVMRegressor [1] => svm::regressor),
    row!("ai.onnx.ml" TreeEnsemble [5] => trees::ensemble),
    row!("ai.onnx.ml" TreeEnsembleClassifier [1, 3, 5] => trees::classifier),
    row!("ai.onnx.ml" TreeEnsembleRegressor [1, 3, 5] => trees::regressor),
];

/// (x - offset) · scale, in f32; one number or one per feature.
fn scaler(call: &Call<'_>) -> Results {
    let x = call.array(0)?.astype(DType::F32);
    let row = |name| -> Result<Option<Array>, crate::OnnxError> {
        Ok(call.attributes().find_floats(name)?.map(|v| Array::from_slice(v, &[v.len()])))
    };
    let mut out = x;
    if let Some(offset) = row("offset")? {
        out = out.subtract(&offset);
    }
    if let Some(scale) = row("scale")? {
        out = out.multiply(&scale);
    }
    call.one(out)
}

/// The columns of the last axis that the indices name.
fn array_feature_extractor(call: &Call<'_>) -> Results {
    if let Term::Strings(strings) = call.term(0)? {
        let indices = call.ints(1)?;
        let cols = strings.shape.last().copied().unwrap_or(1);
        let rows = strings.values.len().checked_div(cols).unwrap_or(0);
        let mut values = Vec::with_capacity(rows * indices.len());
        for row in 0..rows {
            for &index in &indices {
                let at = call.axis(index, cols)?;
                values.push(strings.values[row * cols + at].clone());
            }
        }
        let lead = &strings.shape[..strings.shape.len().saturating_sub(1)];
        let lead = if lead.is_empty() { &[1][..] } else { lead };
        let shape = lead.iter().copied().chain([indices.len()]).collect();
        return Ok(vec![Term::Strings(crate::Strings { shape, values })]);
    }
    let x = call.array(0)?;
    if x.ndim() == 0 {
        return Err(call.fails("the input must have at least 1 dimension"));
    }
    let indices = call.array(1)?.reshape(&[-1]);
    let taken = x.take(&indices, -1);
    // A vector counts as one row.
    call.one(if x.ndim() == 1 { taken.expand_dims([0]) } else { taken })
}

/// Each row over its largest magnitude, sum of magnitudes, or length.
fn normalizer(call: &Call<'_>) -> Results {
    let x = call.array(0)?.astype(DType::F32);
    let size = match call.attributes().string_or("norm", "MAX")? {
        "MAX" => x.max([-1], true),
        "L1" => x.abs().sum([-1], true),
        "L2" => x.square().sum([-1], true).sqrt(),
        other => return Err(call.fails(format!("norm must be MAX, L1 or L2, found {other}"))),
    };
    // A row of zeros stays.
    let number = |v: f64| Array::full(&[], v, DType::F32);
    call.one(x / size.equal(number(0.0)).where_(number(1.0), &size))
}

/// One value replaced by another, or by one for each feature.
fn imputer(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let attributes = call.attributes();
    let (replaced, by) = if x.dtype().is_float() {
        let by = attributes.floats("imputed_value_floats")?;
        let replaced =
            Array::full(&[], f64::from(attributes.float_or("replaced_value_float", 0.0)?), x.dtype());
        (replaced, Array::from_slice(by, &[by.len()]))
    } else {
        let by = attributes.ints("imputed_value_int64s")?;
        let replaced =
            Array::from_slice(&[attributes.int_or("replaced_value_int64", 0)?], &[]).astype(x.dtype());
        (replaced, Array::from_slice(by, &[by.len()]))
    };
    if by.size() != 1 && Some(&by.size()) != x.shape().last() {
        return Err(call.fails(format!("{} imputed values for features {:?}", by.size(), x.shape())));
    }
    let by = if by.size() == 1 { by.reshape(&[]) } else { by }.astype(x.dtype());
    let mut holds = x.equal(&replaced);
    if x.dtype().is_float() {
        holds = holds.logical_or(x.isnan().logical_and(replaced.isnan()));
    }
    call.one(holds.where_(&by, &x))
}

/// The features of all inputs beside each other. An input has as many as
/// `inputdimensions` says: some of its own, or zeros after them.
fn feature_vectorizer(call: &Call<'_>) -> Results {
    let widths = call.attributes().find_ints("inputdimensions")?;
    if let Some(widths) = widths.filter(|widths| widths.len() != call.inputs.len()) {
        return Err(call.fails(format!("{} inputdimensions for {} inputs", widths.len(), call.inputs.len())));
    }
    let mut parts = Vec::with_capacity(call.inputs.len());
    for i in 0..call.inputs.len() {
        let x = call.array(i)?.astype(DType::F32);
        let x = match x.shape()[..] {
            [_] => x.expand_dims([0]),
            [rows, ..] => x.reshape(&[rows as isize, (x.size() / rows.max(1)) as isize]),
            [] => x.reshape(&[1, 1]),
        };
        let own = x.shape()[1];
        let width = match widths.map(|widths| usize::try_from(widths[i])) {
            None => own,
            Some(width) => call.bounded("the features", width.ok())?,
        };
        let zero = Array::full(&[], 0.0, DType::F32);
        parts.push(if width <= own {
            x.narrow(1, 0, width)
        } else {
            x.pad_with(&[(0, 0), (0, width - own)], &zero)
        });
    }
    call.one(Array::concatenate(&parts, 1))
}

/// A tensor that attributes list by their element type, or hold whole.
fn listed(call: &Call<'_>, stem: &str) -> Result<Option<Term>, crate::OnnxError> {
    let attributes = call.attributes();
    let name = |kind: &str| format!("{stem}_{kind}");
    let made = if let Some(v) = attributes.find_ints(&name("int64s"))? {
        HostTensor::from_slice(&[v.len()], v)
    } else if let Some(v) = attributes.find_floats(&name("floats"))? {
        HostTensor::from_slice(&[v.len()], v)
    } else if let Some(v) = attributes.find_byte_strings(&name("strings"))? {
        return Ok(Some(Term::Strings(Strings { shape: vec![v.len()], values: v.to_vec() })));
    } else if let Some(data) = attributes.find_tensor(&name("tensor"))? {
        return Ok(Some(stored(data)?));
    } else {
        return Ok(None);
    };
    Ok(Some(Term::Host(made.map_err(|e| call.fails(e.to_string()))?)))
}

/// Each element's value by its key, or a default.
fn label_encoder(call: &Call<'_>) -> Results {
    let attributes = call.attributes();
    let (keys, values) = if call.version < 2 {
        // Version 1 maps strings to their places, or places to strings.
        let classes = attributes.byte_strings("classes_strings")?.to_vec();
        let count = classes.len();
        let names = Term::Strings(Strings { shape: vec![count], values: classes });
        let places: Vec<i64> = (0..count as i64).collect();
        let places = HostTensor::from_slice(&[count], &places).map_err(|e| call.fails(e.to_string()))?;
        let from_strings = matches!(call.term(0)?, Term::Strings(_));
        if from_strings { (names, Term::Host(places)) } else { (Term::Host(places), names) }
    } else {
        let need = |stem| listed(call, stem)?.ok_or_else(|| call.fails(format!("no {stem} are given")));
        (need("keys")?, need("values")?)
    };
    let otherwise = match (attributes.find_tensor("default_tensor")?, &values) {
        (Some(data), _) => stored(data)?,
        (None, Term::Strings(_)) => Term::Strings(Strings {
            shape: vec![],
            values: vec![attributes.bytes_or("default_string", b"_Unused")?.to_vec()],
        }),
        (None, values) if values.dtype().is_some_and(DType::is_float) => {
            Term::Host(HostTensor::scalar(attributes.float_or("default_float", -0.0)?))
        }
        (None, _) => Term::Host(HostTensor::scalar(attributes.int_or("default_int64", -1)?)),
    };
    // The place of each element's key, past the last value where there is none.
    let count = keys.shape().map_or(0, |s| s.iter().product::<usize>());
    let place = match (call.term(0)?, &keys) {
        (Term::Strings(x), Term::Strings(keys)) => {
            let at = |v: &Vec<u8>| keys.values.iter().rposition(|k| k == v).unwrap_or(count) as i64;
            let places: Vec<i64> = x.values.iter().map(at).collect();
            Array::from_slice(&places, &x.shape)
        }
        (Term::Strings(_), _) | (_, Term::Strings(_)) => {
            return Err(call.fails("the keys must have the input's element type"));
        }
        (_, keys) => {
            let x = call.array(0)?.expand_dims([-1]);
            let keys = keys.array().ok_or_else(|| call.fails("the keys must be a tensor"))?;
            let mut same = x.equal(&keys);
            if keys.dtype().is_float() {
                same = same.logical_or(x.isnan().logical_and(keys.isnan()));
            }
            // Of equal keys the last one counts.
            let places = Array::arange(count, DType::I64) + Array::full(&[], 1.0, DType::I64);
            let last = same.where_(&places, Array::full(&[], 0.0, DType::I64)).max([-1], false);
            let found = last.greater(Array::full(&[], 0.0, DType::I64));
            let index = last - Array::full(&[], 1.0, DType::I64);
            found.where_(&index, Array::full(&[], count as f64, DType::I64))
        }
    };
    match (values, otherwise) {
        (Term::Strings(values), Term::Strings(otherwise)) => {
            let (host, _) = call.read_made(|| Ok((place, vec![])))?;
            let places = host.to_vec::<i64>().map_err(|e| call.fails(e.to_string()))?;
            let rest = otherwise.values.first().cloned().unwrap_or_default();
            let picked = places.iter().map(|&p| values.values.get(p as usize).unwrap_or(&rest).clone());
            Ok(vec![Term::Strings(Strings { shape: host.shape().to_vec(), values: picked.collect() })])
        }
        (values, otherwise) => {
            let (Some(values), Some(otherwise)) = (values.array(), otherwise.array()) else {
                return Err(call.fails("the default must have the values' element type"));
            };
            let all = Array::concatenate(
                &[values.reshape(&[-1]), otherwise.astype(values.dtype()).reshape(&[1])],
                0,
            );
            call.one(all.take(&place, 0))
        }
    }
}
