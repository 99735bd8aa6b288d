//! The CPU back end: host memory, a thread pool, and kernels chosen by what
//! the processor can do.
//!
//! Linking this crate registers the devices `cpu` (the default),
//! `cpu-reference` (no fast kernels), `cpu-unfused` (no fusion) and `cpu-exact`
//! (results that do not depend on batch size).

mod backend;
mod elementary;
mod kernels;
mod launch;
mod memory;
mod par;
mod simd;

use std::sync::Arc;

pub use backend::{CpuBackend, Kernels};
use oneir_runtime::{BackendEntry, DeviceOptions, Numerics, inventory};

inventory::submit! {
    BackendEntry {
        name: "cpu",
        rank: 10,
        make: || Ok((Arc::new(CpuBackend::new(Kernels::All)), DeviceOptions::default())),
    }
}

inventory::submit! {
    BackendEntry {
        name: "cpu-reference",
        rank: 0,
        make: || Ok((Arc::new(CpuBackend::new(Kernels::Reference)), DeviceOptions::default())),
    }
}

inventory::submit! {
    BackendEntry {
        name: "cpu-unfused",
        rank: 0,
        make: || {
            let options = DeviceOptions { fusion: false, ..DeviceOptions::default() };
            Ok((Arc::new(CpuBackend::new(Kernels::All)), options))
        },
    }
}

inventory::submit! {
    BackendEntry {
        name: "cpu-exact",
        rank: 0,
        make: || {
            let options = DeviceOptions { numerics: Numerics::Exact, ..DeviceOptions::default() };
            Ok((Arc::new(CpuBackend::new(Kernels::All)), options))
        },
    }
}
