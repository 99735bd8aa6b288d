//! Passes over the tensor graph.
//!
//! A pass sweeps over the ops in order and takes one [`Decision`] for each. The
//! decisions make a [`Recipe`]: the same program with other sizes replays it
//! without asking again, as long as the questions about sizes that were asked
//! have the same answers.
//!
//! ```
//! use oneir_ir::{Cut, Spec, Value};
//! use oneir_passes::{Options, optimise};
//! use oneir_tensor::DType;
//!
//! let x = Value::placeholder(Spec::new(DType::F32, [4]));
//! let y = x.multiply(&x.filled_like(1.0)?)?.add(&x)?.multiply(&x)?;
//! let lifted = Cut::new(&[x], &[y]).lift()?;
//! let (graph, _) = optimise(lifted.graph, &Options::default())?;
//! assert_eq!(graph.ops.len(), 1, "the factor 1 goes away, the rest is one region");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod classes;
mod cse;
mod draft;
mod pattern;
mod pipeline;
mod question;
mod regions;
mod simplify;
mod views;

pub use draft::{Decision, Evidence, Fusion, Read, Take};
pub use pipeline::{Options, PASSES, Recipe, optimise, optimise_until, replay};
pub use question::Question;
