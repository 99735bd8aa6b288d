//! Lazy n-dimensional arrays.
//!
//! Operations record; nothing is computed before a value is looked at
//! ([`Array::item`], [`Array::to_vec`]) or [`eval`] is called. Calls chain
//! without `Result`: a call that makes no sense returns a *failed* array, which
//! remembers the operation, the caller's line and the reason, and whatever is
//! made from it fails for that first reason. [`Array::check`] tells at any time.
//!
//! ```
//! use oneir_array::Array;
//! # use oneir_cpu as _;
//!
//! let x = Array::from_slice(&[1f32, 2.0, 3.0], &[3]);
//! let y = (&x * &x).sum(&[0], false);
//! assert_eq!(y.item::<f32>()?, 14.0);
//!
//! let wrong = x.matmul(&Array::from_slice(&[1f32, 2.0], &[2]));
//! assert!(wrong.check().unwrap_err().to_string().contains("matmul"));
//! # Ok::<(), oneir_array::ArrayError>(())
//! ```

mod arithmetic;
mod array;
mod axes;
mod convolution;
mod create;
mod einsum;
mod error;
mod fast;
pub mod fft;
mod function;
mod gathered;
mod hadamard;
mod indexing;
pub mod linalg;
mod movement;
mod operand;
pub mod ops;
mod products;
mod quantized;
pub mod random;
mod reduction;
mod sorting;
mod spectral;
mod windows;

pub use array::{Array, eval, eval_on};
pub use axes::Axes;
pub use convolution::{ConvGeneral, Spatial};
pub use error::{ArrayError, Failure, Reason};
pub use fast::{Activation, Mask};
pub use function::Traced;
pub use indexing::ScatterReduce;
pub use oneir_ir::Place;
pub use oneir_ir::primitive::{PadMode, QuantMode};
pub use oneir_runtime::{Device, RuntimeError};
pub use oneir_tensor::{Complex32, DType, Element, HostTensor, Shape, bf16, f16};
pub use operand::{Number, Operand};
pub use products::{Contracted, Overlap};
pub use quantized::{Picks, Quantization};
pub use sorting::ScanOp;
pub use spectral::{FftOp, LinalgOp};
pub use windows::{Convolution, WindowOp, Windows};
