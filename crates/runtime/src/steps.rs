use std::sync::atomic::{AtomicUsize, Ordering};

/// How far something is that takes many steps, for another thread to look at.
///
/// ```
/// use oneir_runtime::Steps;
///
/// let steps = Steps::default();
/// assert_eq!(steps.so_far(), None);
/// steps.set(1, 3);
/// steps.step();
/// assert_eq!(steps.so_far(), Some((2, 3)));
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
        (all > 0).then_some((self.done().min(all), all))
    }

    /// Steps done.
    pub fn done(&self) -> usize {
        self.done.load(Ordering::Relaxed)
    }

    /// So many are done, of so many.
    pub fn set(&self, done: usize, all: usize) {
        self.done.store(done, Ordering::Relaxed);
        self.all.store(all, Ordering::Relaxed);
    }

    /// One more is done.
    pub fn step(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}
