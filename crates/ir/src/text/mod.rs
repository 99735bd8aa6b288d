//! The text form of a graph: prints, and parses back to the same graph.
//!
//! ```text
//! graph "name" {
//!   %0 = input f32[2, 3] "x"
//!   %1 = constant f32[3] values [1.0, 2.0, 3.0]
//!   %2 = state f32[16, 8] fill 0.0 observed
//!   inputs (%0, %2)
//!   outputs (%4)
//!   lifted 3 dead [1] folded []
//!   %4 = binary(op = add) (%0, %1 view {offset 0, shape [2, 3], strides [0, 1]}) covers [0, 2]
//!   %2 rows {pitch 8, row %3} = copy (%0 part {pitch 24, offset 0, width 8})
//! }
//! ```

mod cursor;
mod printer;
mod read;
mod write;

use std::fmt;
use std::str::FromStr;

pub(crate) use cursor::write_string;
pub use cursor::{Cursor, TextError};
pub(crate) use printer::Printer;
pub(crate) use read::read_graph;
pub(crate) use write::write_graph;

use oneir_tensor::HostTensor;

use crate::graph::TensorGraph;

impl fmt::Display for TensorGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = Printer::default();
        write_graph(&mut out, self);
        f.write_str(&out)
    }
}

impl FromStr for TensorGraph {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        TensorGraph::from_text_and_values(text, &[])
    }
}

impl TensorGraph {
    /// The text with its large values apart, those of bodies too: it names them
    /// by their places, as `values apart 0`.
    pub fn to_text_and_values(&self) -> (String, Vec<HostTensor>) {
        let mut out = Printer::with_values_apart();
        write_graph(&mut out, self);
        out.finish()
    }

    /// Parses what [`TensorGraph::to_text_and_values`] gives. Elements below a byte
    /// may be given as their bytes, in u8.
    ///
    /// # Errors
    /// When the text is not a graph, or names a value that is not there or has
    /// another dtype or shape.
    ///
    /// ```
    /// use oneir_ir::graph::{Tensor, TensorGraph};
    /// use oneir_tensor::{DType, HostTensor};
    ///
    /// let mut graph = TensorGraph::default();
    /// let id = graph.push_tensor(Tensor::constant(HostTensor::zeros(DType::F32, &[1000])?));
    /// graph.outputs.push(id);
    /// let (text, values) = graph.to_text_and_values();
    /// assert!(text.contains("values apart 0"));
    /// assert_eq!(TensorGraph::from_text_and_values(&text, &values)?, graph);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_text_and_values(text: &str, values: &[HostTensor]) -> Result<TensorGraph, TextError> {
        let mut cursor = Cursor::with_values(text, values);
        let graph = read_graph(&mut cursor)?;
        if cursor.at_end() { Ok(graph) } else { Err(cursor.error("the end")) }
    }
}
