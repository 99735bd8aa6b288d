//! Transforms of what is composed of primitives: each composite operation by itself,
//! and random programs of many. Derivatives are compared with finite differences,
//! batches with loops, and what is computed on the CPU with reference evaluation.

mod composites;
mod harness;
mod programs;
mod steps;
