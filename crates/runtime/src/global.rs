use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use oneir_ir::Value;
use oneir_tensor::HostTensor;

use crate::{Backend, Device, DeviceOptions, RuntimeError};

/// A back end as an entry makes it, or why it cannot be had here.
pub type Made = Result<(Arc<dyn Backend>, DeviceOptions), RuntimeError>;

/// A back end that a program brings by linking it.
pub struct BackendEntry {
    /// The device's name.
    pub name: &'static str,
    /// Which comes first when nothing is asked for: the highest.
    pub rank: u32,
    /// Makes the device, or says that it cannot be had here.
    pub make: fn() -> Made,
}

inventory::collect!(BackendEntry);

/// The devices of the process, made when first asked for, and the keys that
/// random arrays take when they are given none. The one global.
pub struct Runtime {
    devices: Mutex<BTreeMap<String, Device>>,
    /// The seed of the next thread that draws without having seeded.
    seeds: AtomicU64,
}

/// How far the seeds of two threads are apart.
const SEED_STEP: u64 = 0x9e37_79b9_7f4a_7c15;

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

thread_local! {
    /// The thread's random key.
    static RANDOM: RefCell<Option<Value>> = const { RefCell::new(None) };
}

/// The key (u32, two words) that a seed stands for.
fn key_of(seed: u64) -> Value {
    match HostTensor::from_slice(&[2], &[(seed >> 32) as u32, seed as u32]) {
        Ok(words) => Value::constant(words),
        Err(_) => unreachable!("two words fill two places"),
    }
}

impl Runtime {
    /// The process's runtime.
    pub fn global() -> &'static Runtime {
        RUNTIME.get_or_init(|| {
            let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
            Runtime { devices: Mutex::default(), seeds: AtomicU64::new(clock) }
        })
    }

    /// The random key (`u32[2]`) of the calling thread. Until it is set, it is made
    /// of the clock, and another one in each thread.
    pub fn random_key(&self) -> Value {
        let first = || key_of(self.seeds.fetch_add(SEED_STEP, Ordering::Relaxed));
        RANDOM.with_borrow_mut(|key| key.get_or_insert_with(first).clone())
    }

    /// Sets the random key of the calling thread.
    pub fn set_random_key(&self, key: Value) {
        // The key before is dropped after the place is free again.
        drop(RANDOM.replace(Some(key)));
    }

    /// The names of all devices that could be made or were added.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = inventory::iter::<BackendEntry>().map(|e| e.name.to_string()).collect();
        names.extend(self.devices.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned());
        names.sort();
        names.dedup();
        names
    }

    /// A device by name.
    ///
    /// # Errors
    /// When no linked back end has the name, or it cannot be had here.
    pub fn device(&self, name: &str) -> Result<Device, RuntimeError> {
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = devices.get(name) {
            return Ok(device.clone());
        }
        let Some(entry) = inventory::iter::<BackendEntry>().find(|e| e.name == name) else {
            drop(devices);
            return Err(RuntimeError::UnknownDevice { name: name.into(), known: self.names().join(", ") });
        };
        let (backend, options) = (entry.make)()?;
        let device = Device::new(name, backend, options);
        devices.insert(name.to_string(), device.clone());
        Ok(device)
    }

    /// Adds a device under its name; one of that name before is replaced.
    pub fn add(&self, device: Device) {
        let mut devices = self.devices.lock().unwrap_or_else(PoisonError::into_inner);
        devices.insert(device.name().to_string(), device);
    }

    /// The device that is used when none is named: of the linked back ends
    /// the one that ranks highest.
    ///
    /// # Errors
    /// When no back end is linked.
    pub fn default_device(&self) -> Result<Device, RuntimeError> {
        match inventory::iter::<BackendEntry>().max_by_key(|e| e.rank) {
            Some(entry) => self.device(entry.name),
            None => {
                Err(RuntimeError::UnknownDevice { name: "default".into(), known: self.names().join(", ") })
            }
        }
    }
}
