//! The messages of ONNX files, generated from the schemas in `proto/`:
//! `onnx.proto` for models, `onnx-data.proto` for lone values.
//!
//! `cargo test -p oneir-onnx --test proto` compares `onnx.rs` with what the
//! generator makes of them; with `ONEIR_WRITE_PROTO=1` it writes it.

#[rustfmt::skip]
#[allow(missing_docs, unreachable_pub, clippy::all)]
mod onnx;

pub use onnx::*;
