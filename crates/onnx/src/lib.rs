//! The ONNX front end.
//!
//! [`OnnxFile`] reads a model's file into a checked representation: every name
//! resolves, nodes stand in an order in which they can run, and the type and
//! shape of each stored tensor are known before its data is touched.

mod error;
mod file;
pub mod proto;

pub use error::{ExternalFault, OnnxError, Place, SparseFault, TensorFault, TypeFault, WireFault};
pub use file::{
    AttributeKind, AttributeValue, Attributes, Dim, ElemType, Function, Graph, NodeDef, OnnxFile, Opsets,
    Producer, TensorData, TensorType, ValueInfo, ValueType,
};
