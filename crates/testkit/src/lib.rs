//! What tests of Oneir share: a mock device that is honest about separate
//! memory and asynchrony, and random programs.
//!
//! Linking this crate registers the device `mock`.

mod mock;
mod programs;

use std::sync::Arc;

pub use mock::MockBackend;
use oneir_runtime::{BackendEntry, Device, DeviceOptions, Numerics, Runtime, RuntimeError, inventory};
pub use programs::{Random, program};

inventory::submit! {
    BackendEntry {
        name: "mock",
        rank: 0,
        make: || Ok((Arc::new(MockBackend::new()), DeviceOptions::default())),
    }
}

/// The devices on which the whole suite runs: the CPU, the CPU with all fast
/// kernels off, the CPU with fusion off, and the mock device. Each verifies its
/// plans and overwrites dead memory.
///
/// # Errors
/// When a device is not linked.
pub fn devices() -> Result<Vec<Device>, RuntimeError> {
    ["cpu", "cpu-reference", "cpu-unfused", "mock"]
        .iter()
        .map(|name| {
            let backend = Runtime::global().device(name)?;
            let options = DeviceOptions { paranoid: true, ..backend.options() };
            Ok(backend.with_options(format!("{name} (paranoid)"), options))
        })
        .collect()
}

/// Both numerics modes of a device.
pub fn numerics_modes(device: &Device) -> [Device; 2] {
    [Numerics::Exact, Numerics::Fast].map(|numerics| {
        device.with_options(
            format!("{} {numerics:?}", device.name()),
            DeviceOptions { numerics, ..device.options() },
        )
    })
}
