//! Work in parallel.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// The threads that kernels use.
pub(crate) struct Threads {
    pool: Option<rayon::ThreadPool>,
    count: usize,
}

impl Threads {
    /// `count` threads; one runs everything where it is called.
    pub(crate) fn new(count: usize) -> Threads {
        let pool =
            (count > 1).then(|| rayon::ThreadPoolBuilder::new().num_threads(count).build().ok()).flatten();
        let count = if pool.is_some() { count } else { 1 };
        Threads { pool, count }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Runs `f` on the pool, so that what it shares out starts at once. Handing
    /// it over costs some microseconds.
    pub(crate) fn install<R: Send>(&self, f: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(f),
            None => f(),
        }
    }
}

/// The threads that one launch may share its work with.
pub(crate) struct Crew<'a> {
    threads: &'a Threads,
    /// Set once the launch has shared work.
    shares: &'a AtomicBool,
}

impl Crew<'_> {
    /// For a launch that remembers in `shares` whether it shares work.
    pub(crate) fn new<'a>(threads: &'a Threads, shares: &'a AtomicBool) -> Crew<'a> {
        Crew { threads, shares }
    }

    /// How many threads there are.
    pub(crate) fn count(&self) -> usize {
        self.threads.count
    }

    /// Calls `f` with ranges that cover `0..total`, none smaller than `grain`
    /// but the last.
    pub(crate) fn for_chunks(&self, total: usize, grain: usize, f: impl Fn(Range<usize>) + Sync) {
        let parts = self.count().min(total.div_ceil(grain.max(1))).max(1);
        if parts == 1 {
            if total > 0 {
                f(0..total);
            }
            return;
        }
        self.shares.store(true, Ordering::Relaxed);
        let size = total.div_ceil(parts).next_multiple_of(grain.max(1)).min(total);
        self.threads.install(|| {
            rayon::scope(|scope| {
                let mut start = size;
                while start < total {
                    let end = (start + size).min(total);
                    let f = &f;
                    scope.spawn(move |_| f(start..end));
                    start = end;
                }
                f(0..size.min(total));
            });
        });
    }
}
