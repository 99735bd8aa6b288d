//! Planning and running tensor graphs on back ends.
//!
//! A [`Backend`] brings memory, a queue and a [`KernelTable`]. A [`Device`] is a
//! back end with its options and caches: it optimises a graph, lowers it to a
//! [`Plan`] (legalized ops as launches over a buffer table), and runs it. A
//! [`Step`] is a plan bound to weights and states, run again and again.

mod arena;
mod backend;
mod cache;
mod device;
mod error;
mod execute;
mod global;
mod kernel;
mod key;
mod legalize;
mod plan;
mod profile;
mod step;
mod steps;
mod stream;
mod verify;

pub use backend::{Backend, Bound, Captured, Memory, MemoryFigures, MemoryLimits, Work};
pub use cache::CacheCounts;
pub use device::{Device, DeviceOptions, Evaluated, Numerics, Users};
pub use error::RuntimeError;
pub use execute::Executable;
pub use global::{BackendEntry, Made, Runtime};
pub use inventory;
pub use kernel::{Answer, KernelRow, KernelTable, OperandSpec, Prepared, Request, ResultSpec};
pub use plan::{Argument, BufferId, BufferPlan, Given, Home, Launch, Plan};
pub use profile::{LaunchTime, Profile};
pub use step::Step;
pub use steps::Steps;
pub use stream::{Event, Signal, Stream};
pub use verify::verify_plan;
