//! A tensor system with one graph IR: arrays and ONNX files meet in it, and run
//! from it on every device.
//!
//! # Arrays
//!
//! An [`Array`] is lazy: calls record what is to be computed, and looking at a
//! value computes it. A call that makes no sense gives a failed array that
//! remembers the call's line, so calls chain without `Result`.
//!
//! ```
//! use oneir::Array;
//!
//! let x = Array::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2]);
//! let rows = (&x * &x).sum(&[1], false);
//! assert_eq!(rows.to_vec::<f32>()?, [5.0, 25.0]);
//!
//! let wrong = x.matmul(&Array::from_slice(&[1f32, 2.0, 3.0], &[3]));
//! assert!(wrong.eval().is_err());
//! # Ok::<(), oneir::ArrayError>(())
//! ```
//!
//! # Transforms
//!
//! [`grad`], [`vjp`], [`jvp`] and [`vmap`] make functions of functions. What these
//! take and give is any [`Tree`] of arrays, a type of one's own among them.
//!
//! ```
//! use oneir::{Array, Tree, array, value_and_grad};
//!
//! #[derive(Clone, Tree)]
//! struct Linear {
//!     weight: Array,
//!     bias: Array,
//! }
//!
//! #[derive(Clone, Tree)]
//! struct Mlp {
//!     layers: Vec<Linear>,
//!     #[tree(frozen)]
//!     name: String,
//! }
//!
//! let loss = |model: &Mlp| {
//!     let x = array![[1.0, 2.0]];
//!     let y = model.layers.iter().fold(x, |x, layer| x.matmul(&layer.weight) + &layer.bias);
//!     y.square().sum(.., false)
//! };
//! let layer = || Linear { weight: Array::from([[0.5f32, 0.0], [0.0, 0.5]]), bias: array![0.0, 1.0] };
//! let model = Mlp { layers: vec![layer(), layer()], name: "small".into() };
//! let (value, gradient) = value_and_grad(loss)(&model);
//! assert_eq!(value.item::<f32>()?, 4.0625);
//! assert_eq!(gradient.layers[1].bias.to_vec::<f32>()?, [0.5, 4.0]);
//! assert_eq!(gradient.name, "small");
//! # Ok::<(), oneir::ArrayError>(())
//! ```
//!
//! # ONNX models
//!
//! ```
//! use oneir::onnx::Model;
//! use oneir::{Array, DType};
//!
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mlp_digits.onnx");
//! let model = Model::open(path)?;
//! let blank = Array::zeros(&[1, 64], DType::F32);
//! let outputs = model.call(&[("X", blank)])?;
//! let (name, probabilities) = &outputs[1];
//! assert_eq!(name, "probabilities");
//! assert_eq!(probabilities.shape(), Some(vec![1, 10]));
//! # Ok::<(), oneir::onnx::OnnxError>(())
//! ```
//!
//! # Functions in files
//!
//! A traced function ([`array::Traced`]) is saved to a file of Oneir's own, or
//! exported as an ONNX model.
//!
//! ```
//! use oneir::array::Traced;
//! use oneir::ir::Spec;
//! use oneir::onnx::{ExportOptions, export};
//! use oneir::DType;
//!
//! let x = Traced::argument(Spec::new(DType::F32, [4, 10]));
//! let function = Traced::new(&[x.clone()], &[x.softmax(&[-1]), x.argmax(&[-1], false)])?;
//! let model = export(&function, &ExportOptions::new().inputs(&["scores"]).batch("N"))?;
//! assert_eq!(model.operators(), ["Softmax", "ArgMax", "Cast"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Devices
//!
//! Linking a back end registers its devices. The CPU's are always there;
//! [`Runtime::names`] lists all, and [`Runtime::default_device`] is the one
//! that is used where none is named.
//!
//! ```
//! use oneir::{Array, Runtime};
//!
//! let device = Runtime::global().device("cpu-reference")?;
//! let x = Array::arange(4, oneir::DType::F32).exp();
//! oneir::eval_on(&device, std::slice::from_ref(&x))?;
//! assert!(x.is_available());
//! # Ok::<(), oneir::ArrayError>(())
//! ```
//!
//! # Structure
//!
//! What nearly every program needs is at the root. The modules are the crates
//! that Oneir is made of:
//!
//! | module | what it has |
//! |---|---|
//! | [`array`](mod@array) | lazy arrays and traced functions |
//! | [`onnx`] | ONNX files as models |
//! | [`io`] | npy, npz, safetensors and GGUF files, pictures, sounds |
//! | [`tensor`] | element types, shapes, tensors in host memory |
//! | [`ir`] | primitives, recorded values, the tensor graph and its text form |
//! | [`passes`] | the passes over tensor graphs |
//! | [`runtime`] | devices, plans, steps |
//! | [`cpu`] | the CPU back end |

pub use oneir_array as array;
pub use oneir_cpu as cpu;
pub use oneir_io as io;
pub use oneir_ir as ir;
#[cfg(feature = "onnx")]
pub use oneir_onnx as onnx;
pub use oneir_passes as passes;
pub use oneir_runtime as runtime;
pub use oneir_tensor as tensor;

pub use oneir_array::{
    Array, ArrayError, Axes, CustomFunction, Ellipsis, IndexItem, Kernel, Launch, NewAxis, Operand, PadMode,
    QuantileMethod, Tree, array, async_eval, checkpoint, compile, compile_mut, compile_shapeless, cond,
    custom_function, eval, eval_on, fast, fft, files, fori, grad, ix, jvp, linalg, ops, random, scan,
    transforms, value_and_grad, value_and_grad_with, vjp, vmap, vmap_over, while_loop,
};
pub use oneir_runtime::{Device, Runtime};
pub use oneir_tensor::{Complex32, DType, Element, HostTensor, Shape, bf16, f16};

/// The examples of the README, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// The page about functions in files, run as a test.
#[cfg(all(doctest, feature = "onnx"))]
#[doc = include_str!("../../../docs/functions.md")]
struct Functions;

/// The tour, run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/tour.md")]
struct Tour;

/// The page for users of NumPy, run as a test.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/for-numpy-users.md")]
struct ForNumpyUsers;
