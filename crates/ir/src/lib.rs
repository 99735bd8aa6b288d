//! The one graph IR: primitives, recorded nodes, and the tensor graph.
//!
//! A front end records [`Primitive`]s as [`Node`]s through [`Value`]s, which
//! are checked as they are recorded. [`Cut::lift`] turns recorded nodes into a
//! [`graph::TensorGraph`], the only form that passes, planners and back ends see.
//! [`mod@reference`] computes either, slowly and carefully.
//!
//! ```
//! use oneir_ir::{Cut, Spec, Value, reference};
//! use oneir_tensor::{DType, HostTensor};
//!
//! let x = Value::placeholder(Spec::new(DType::F32, [3]));
//! let y = x.multiply(&x)?.add(&x)?;
//! let lifted = Cut::new(&[x], &[y]).lift()?;
//! let input = HostTensor::from_slice(&[3], &[1f32, 2.0, 3.0])?;
//! let results = reference::run(&lifted.graph, &[input])?;
//! assert_eq!(results[0].to_vec::<f32>()?, [2.0, 6.0, 12.0]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attr;
mod build;
mod complex;
pub mod fast;
mod gamma;
pub mod graph;
mod invalid;
mod lift;
mod node;
pub mod primitive;
pub mod reference;
mod scalar;
mod spec;
pub mod text;
pub mod transform;
pub mod verify;

pub use attr::Real;
pub use build::undone;
pub use invalid::Invalid;
pub use lift::{Cut, Leaves, Lifted};
pub use node::{Node, Payload, Place, Source, State, Trace, Value};
pub use primitive::{EvalError, Nature, Primitive, ReduceOp};
pub use scalar::{BinaryOp, UnaryOp};
pub use spec::{Spec, Specs};
