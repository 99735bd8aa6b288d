//! Element types, shapes, layouts and host tensors.
//!
//! Everything that Oneir computes is an n-dimensional tensor of one [`DType`].
//! This crate holds what all other crates agree on: the element types and how
//! their bits are read ([`Values`]), shapes with checked sizes ([`Shape`]),
//! strided views over a buffer ([`Layout`]), tensors in host memory
//! ([`HostTensor`]), and the block formats of checkpoints ([`blocks`]).
//!
//! ```
//! use oneir_tensor::{DType, HostTensor};
//!
//! let t = HostTensor::from_slice(&[2, 3], &[1i32, 2, 3, 4, 5, 6])?;
//! assert_eq!(t.dtype(), DType::I32);
//! assert_eq!(t.transpose(&[1, 0])?.to_vec::<i32>()?, [1, 4, 2, 5, 3, 6]);
//! # Ok::<(), oneir_tensor::TensorError>(())
//! ```

pub mod blocks;
mod buffer;
mod dtype;
mod error;
mod halves;
mod host;
mod layout;
mod minifloat;
mod shape;
mod values;

pub use blocks::BlockFormat;
pub use buffer::{ALIGNMENT, Buffer};
pub use dtype::{Class, DType, DTypeKind, Element, FloatInfo, promote};
pub use error::TensorError;
pub use half::{bf16, f16};
pub use halves::{bf16_of, f16_of, odd_bits, odd_f32};
pub use host::HostTensor;
pub use layout::{Layout, Offsets};
pub use minifloat::{decode_e4m3, encode_e4m3_saturating};
pub use num_complex::Complex32;
pub use shape::{Shape, broadcast_shapes};
pub use values::Values;
