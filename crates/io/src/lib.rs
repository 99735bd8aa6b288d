//! Tensor files ([`npy`], [`npz`], [`safetensors`] and [`gguf`]), and files that become
//! tensors: `picture` (with the feature `pictures`) and [`sound`]. [`dlpack`] is for
//! tensors of other libraries in the same process.
//!
//! [`open_tensors`], [`open_stored`] and [`save_tensors`] pick the format; the modules give
//! what only one format has. Files are read as if by an enemy: a bad one is
//! refused with an [`IoError`] that says what, where and why, and memory is
//! taken only for bytes that a file of that size can stand for. Writers
//! replace a file whole or leave it as it was.
//!
//! ```
//! use oneir_io::{open_tensors, save_tensors};
//! use oneir_tensor::HostTensor;
//!
//! let path = std::env::temp_dir().join(format!("oneir-io-crate-{}.safetensors", std::process::id()));
//! let tensors = [
//!     ("weight".to_owned(), HostTensor::from_slice(&[2, 2], &[1f32, 2.0, 3.0, 4.0])?),
//!     ("steps".to_owned(), HostTensor::scalar(7i64)),
//! ];
//! save_tensors(&path, &tensors)?;
//! let back: std::collections::HashMap<_, _> = open_tensors(&path)?.into_iter().collect();
//! assert_eq!(back["weight"], tensors[0].1);
//! assert_eq!(back["steps"], tensors[1].1);
//! # std::fs::remove_file(&path)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod dlpack;
mod error;
mod fill;
mod format;
pub mod gguf;
mod map;
pub mod npy;
pub mod npz;
mod open;
#[cfg(feature = "pictures")]
pub mod picture;
mod replace;
pub mod safetensors;
pub mod sound;
mod stored;

pub use error::IoError;
pub use format::{Format, open_stored, open_tensors, save_tensors};
pub use replace::replace;
pub use stored::{Stored, StringTensor};
