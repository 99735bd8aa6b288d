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
mod convert;
mod convolution;
mod create;
mod diagonals;
mod display;
mod einsum;
mod elementwise;
mod error;
mod evaluate;
pub mod fast;
pub mod fft;
pub mod files;
mod function;
mod gathered;
mod hadamard;
mod index;
mod indexing;
#[cfg(feature = "ndarray")]
mod interop;
mod joining;
mod kernel;
pub mod linalg;
mod movement;
mod operand;
pub mod ops;
mod padding;
mod products;
mod quantile;
mod quantized;
pub mod random;
mod ranges;
mod record;
mod reduction;
mod saved;
mod scans;
mod selection;
mod sorting;
mod spectral;
pub mod transforms;
mod windows;

pub use array::{Array, eval, eval_on};
pub use axes::Axes;
pub use convert::Items;
pub use convolution::{ConvGeneral, Spatial};
pub use elementwise::Limit;
pub use error::{ArrayError, Failure, Reason};
pub use evaluate::{Pending, async_eval, clear_cache, memory, reset_peak_memory, set_memory_limits};
pub use fast::{Activation, Mask};
pub use function::Traced;
pub use index::{At, Ellipsis, Index, IndexItem, NewAxis};
pub use indexing::ScatterReduce;
pub use joining::{Indexing, Sections};
pub use kernel::{Kernel, Launch};
pub use oneir_derive::Tree;
pub use oneir_ir::Place;
pub use oneir_ir::primitive::{PadMode, QuantMode};
pub use oneir_runtime::{Device, MemoryFigures, MemoryLimits, RuntimeError};
pub use oneir_tensor::{Complex32, DType, DTypeKind, Element, FloatInfo, HostTensor, Shape, bf16, f16};
pub use operand::{Number, Operand};
pub use padding::Padding;
pub use products::{Contracted, Overlap};
pub use quantile::QuantileMethod;
pub use quantized::{Picks, Quantization};
pub use ranges::Counting;
pub use scans::ScanOp;
pub use selection::Unique;
pub use sorting::SearchSide;
pub use spectral::{FftOp, LinalgOp};
pub use transforms::{
    CustomFunction, Frozen, MapAxes, Plain, Tree, checkpoint, compile, compile_mut, compile_shapeless, cond,
    custom_function, fori, grad, jvp, scan, value_and_grad, value_and_grad_with, vjp, vmap, vmap_over,
    while_loop,
};
pub use windows::{Convolution, WindowOp, Windows};
