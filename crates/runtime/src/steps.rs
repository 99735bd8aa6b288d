use std::sync::atomic::{AtomicUsize, Ordering};

/// How far something is that takes many steps, for another thread to look at.
///
/// ```
/// let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mlp_digits.onnx");
/// let steps = oneir_onnx::Steps::default();
/// assert_eq!(steps.so_far(), None);
/// oneir_onnx::OnnxFile::open_counted(path, &steps)?;
/// let (done, all) = steps.so_far().unwrap();
/// assert!(done == all && all > 0);
/// # Ok::<(), oneir_onnx::OnnxError>(())
/// ```
#[derive(Debug, Default)]
pub struct Steps {
    done: AtomicUsize,
    all: AtomicUsize,
}

impl Steps {
    /// Steps done, and all that are known of; `None` before anything is known.
    ///
    /// All may grow: what a loop holds is known once it is entered.
    pub fn so_far(&self) -> Option<(usize, usize)> {
        let all = self.all.load(Ordering::Relaxed);
        let done = self.done.load(Ordering::Relaxed).min(all);
        (all > 0).then_some((done, all))
    }

    pub(crate) fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    pub(crate) fn set(&self, done: usize, all: usize) {
        self.done.store(done, Ordering::Relaxed);
        self.all.store(all, Ordering::Relaxed);
    }

    /// One more is done.
    pub(crate) fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}
