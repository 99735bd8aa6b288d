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
mod read;
mod write;

use std::fmt;
use std::str::FromStr;

pub(crate) use cursor::write_string;
pub use cursor::{Cursor, TextError};
pub(crate) use read::read_graph;
pub(crate) use write::write_graph;

use crate::graph::TensorGraph;

impl fmt::Display for TensorGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        write_graph(&mut out, self);
        f.write_str(&out)
    }
}

impl FromStr for TensorGraph {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let mut cursor = Cursor::new(text);
        let graph = read_graph(&mut cursor)?;
        if cursor.at_end() { Ok(graph) } else { Err(cursor.error("the end")) }
    }
}
