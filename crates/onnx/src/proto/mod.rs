//! The messages of an ONNX file, generated from `proto/onnx.proto`.
//!
//! `cargo test -p oneir-onnx --test proto` compares `onnx.rs` with what the
//! generator makes of that file; with `ONEIR_WRITE_PROTO=1` it writes it.

#[rustfmt::skip]
#[allow(missing_docs, unreachable_pub, clippy::all, clippy::pedantic)]
mod onnx;

pub use onnx::*;
