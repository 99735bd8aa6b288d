//! Reading model files.

mod attributes;
mod build;
mod external;
mod functions;
mod graphs;
mod hostile;
mod models;
mod tensors;
mod values;
