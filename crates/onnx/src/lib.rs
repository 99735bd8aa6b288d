//! The ONNX front end.
//!
//! [`OnnxFile`] reads a model's file into a checked representation: every name
//! resolves, nodes stand in an order in which they can run, and the type and
//! shape of each stored tensor are known before its data is touched.
//!
//! ```
//! use oneir_onnx::OnnxFile;
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mlp_digits.onnx");
//! let file = OnnxFile::open(path)?;
//! assert_eq!(file.opsets.version("ai.onnx"), Some(17));
//! assert_eq!(file.graph.inputs[0].ty.to_string(), "FLOAT[?, 64]");
//! # Ok::<(), oneir_onnx::OnnxError>(())
//! ```

mod call;
pub mod conformance;
mod control;
mod error;
mod export;
mod file;
mod flex_attention;
mod model;
mod ops;
mod parts;
mod program;
pub mod proto;
mod term;
mod trace;

pub use error::{ExternalFault, OnnxError, Place, SparseFault, TensorFault, TypeFault, WireFault};
pub use export::{ExportError, ExportOptions, Exported, export};
pub use file::{
    AttributeKind, AttributeValue, Attributes, Dim, ElemType, Function, Graph, NodeDef, OnnxFile, Opsets,
    Producer, TensorData, TensorType, ValueInfo, ValueType,
};
pub use model::Model;
pub use oneir_runtime::Steps;
pub use ops::operators;
pub use parts::Part;
pub use term::{Keys, Map, Strings, Term};
