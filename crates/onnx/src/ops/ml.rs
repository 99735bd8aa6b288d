//! Operators of classical machine learning (domain `ai.onnx.ml`).

use oneir_array::{Array, DType};

use super::{Row, row};
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[row!("ai.onnx.ml" Scaler [1] => scaler)];

/// (x - offset) · scale, in f32; one number or one per feature.
fn scaler(call: &Call<'_>) -> Results {
    let x = call.array(0)?;
    let x = x.astype(DType::F32);
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
