use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

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

/// The devices of the process, made when first asked for, and the key that
/// random arrays take when they are given none. The one global.
pub struct Runtime {
    devices: Mutex<BTreeMap<String, Device>>,
    random: Mutex<[u32; 2]>,
}

/// The key that a seed stands for.
fn key_of(seed: u64) -> [u32; 2] {
    [(seed >> 32) as u32, seed as u32]
}

static RUNTIME: OnceLock<Runtime> = OnceLock::new();

impl Runtime {
    /// The process's runtime.
    pub fn global() -> &'static Runtime {
        RUNTIME.get_or_init(|| {
            let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
            Runtime { devices: Mutex::default(), random: Mutex::new(key_of(clock)) }
        })
    }

    /// Begins the sequence of random keys anew. Until this is called it begins
    /// at a seed taken from the clock.
    pub fn seed(&self, seed: u64) {
        *self.random.lock().unwrap_or_else(PoisonError::into_inner) = key_of(seed);
    }

    /// The next key of the sequence: `split` makes two keys of the current one,
    /// of which the first becomes the current one and the second is given.
    pub fn next_key(&self, split: impl FnOnce([u32; 2]) -> [[u32; 2]; 2]) -> [u32; 2] {
        let mut current = self.random.lock().unwrap_or_else(PoisonError::into_inner);
        let [next, given] = split(*current);
        *current = next;
        given
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
