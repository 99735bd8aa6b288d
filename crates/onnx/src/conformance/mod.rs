//! Cases in the layout of the standard's own tests: a folder per case with
//! `model.onnx`, and in each `test_data_set_N` the inputs `input_K.pb` and the
//! right outputs `output_K.pb`. A case without a data set is refused, unless its
//! model takes and gives nothing, and so is a data set with a file for which the
//! model has no value.
//!
//! A result passes when shape and element type are the right ones and each
//! element is within 1e-7 + 1e-3 × the right one (2⁻⁶ × for bfloat16); integers
//! and strings must be equal, and NaN equals NaN. Where a model has a Fourier
//! transform, whose right results hold rounding errors of single precision,
//! 2⁻²⁴ × the largest element is added. Of results of random operators shape,
//! element type and range are compared.

mod case;
mod compare;
mod randomness;
mod value;
mod verdict;

pub use case::{Case, Way};
pub use compare::Difference;
pub use verdict::{ConformanceError, DataFault, Refusal, Verdict};
