//! Operators of classical machine learning (domain `ai.onnx.ml`).

use oneir_array::{Array, DType};

use super::{Row, row};
use crate::Term;
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[
    row!("ai.onnx.ml" Scaler [1] => scaler),
    row!("ai.onnx.ml" ArrayFeatureExtractor [1] => array_feature_extractor),
    row!("ai.onnx.ml" Binarizer [1] => |call| {
        let x = call.array(0)?;
        let threshold = f64::from(call.attributes().float_or("threshold", 0.0)?);
        call.one(x.greater(&Array::full(&[], threshold, x.dtype())).astype(x.dtype()))
    }),
    row!("ai.onnx.ml" Normalizer [1] => normalizer),
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
    call.one(if x.ndim() == 1 { taken.expand_dims(&[0]) } else { taken })
}

/// Each row over its largest magnitude, sum of magnitudes, or length.
fn normalizer(call: &Call<'_>) -> Results {
    let x = call.array(0)?.astype(DType::F32);
    let size = match call.attributes().string_or("norm", "MAX")? {
        "MAX" => x.max(&[-1], true),
        "L1" => x.abs().sum(&[-1], true),
        "L2" => x.square().sum(&[-1], true).sqrt(),
        other => return Err(call.fails(format!("norm must be MAX, L1 or L2, found {other}"))),
    };
    call.one(x / size)
}
