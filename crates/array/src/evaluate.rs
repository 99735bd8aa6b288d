//! When values are computed, and the memory that they take.

use std::thread::JoinHandle;

use oneir_runtime::{Device, MemoryFigures, MemoryLimits, Runtime, RuntimeError};

use crate::{Array, ArrayError, eval_on};

/// Arrays that are being computed beside the caller; see [`async_eval`].
#[derive(Debug)]
#[must_use = "wait for it, or the arrays are computed twice"]
pub struct Pending(JoinHandle<Result<(), ArrayError>>);

impl Pending {
    /// Whether they are computed, or failed.
    pub fn is_done(&self) -> bool {
        self.0.is_finished()
    }

    /// Waits until they are.
    ///
    /// # Errors
    /// As [`eval`](crate::eval).
    pub fn wait(self) -> Result<(), ArrayError> {
        self.0.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Computes arrays on the default device while the caller goes on.
///
/// # Errors
/// When a call failed, there is no device, or no thread can be started.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, DType, async_eval};
/// let x = Array::ones(&[64, 64], DType::F32);
/// let y = x.matmul(&x);
/// let pending = async_eval(std::slice::from_ref(&y))?;
/// // … other work …
/// pending.wait()?;
/// assert!(y.is_available());
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
pub fn async_eval(arrays: &[Array]) -> Result<Pending, ArrayError> {
    arrays.iter().try_for_each(Array::check)?;
    let (device, arrays) = (Runtime::global().default_device()?, arrays.to_vec());
    let work = move || eval_on(&device, &arrays);
    let thread = std::thread::Builder::new().name("oneir-eval".into()).spawn(work);
    thread.map(Pending).map_err(|e| ArrayError::Runtime(RuntimeError::NoThread { why: e.to_string() }))
}

/// What a device's memory is used for.
pub fn memory(device: &Device) -> MemoryFigures {
    device.backend().memory_figures()
}

/// Sets how much memory a device may take, and gives the limits before. What
/// does not fit is an error that leaves the process usable.
///
/// ```
/// # use oneir_cpu as _;
/// use oneir_array::{Array, DType, MemoryLimits, eval_on, set_memory_limits};
/// use oneir_runtime::Runtime;
/// let device = Runtime::global().device("cpu")?;
/// let before = set_memory_limits(&device, MemoryLimits { total: Some(1 << 20), cached: None });
/// let large = Array::zeros(&[1 << 20], DType::F32) + 1;
/// let refused = eval_on(&device, &[large.clone()]).unwrap_err().to_string();
/// assert!(refused.contains("out of memory"));
/// set_memory_limits(&device, before);
/// eval_on(&device, &[large])?;
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
pub fn set_memory_limits(device: &Device, limits: MemoryLimits) -> MemoryLimits {
    let before = memory(device).limits;
    device.backend().limit_memory(limits);
    before
}

/// Gives back memory that a device keeps to use again.
pub fn clear_cache(device: &Device) {
    device.backend().clear_cache();
}

/// Lets a device's peak of memory begin anew.
pub fn reset_peak_memory(device: &Device) {
    device.backend().reset_peak_memory();
}
