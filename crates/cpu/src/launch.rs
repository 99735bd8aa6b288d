use std::sync::atomic::AtomicBool;

use oneir_ir::primitive::EvalError;
use oneir_runtime::Prepared;
use smallvec::SmallVec;

use crate::par::Crew;

/// The buffers of one launch. Layouts were fixed when it was prepared.
pub(crate) struct Args<'a> {
    /// Where each operand's buffer begins.
    pub(crate) reads: &'a [*const u8],
    /// Where each result's buffer begins.
    pub(crate) writes: &'a [*mut u8],
    /// Bytes as the kernel asked for.
    pub(crate) scratch: *mut u8,
    /// Who works.
    pub(crate) threads: &'a Crew<'a>,
}

impl Args<'_> {
    /// Operand `k` as elements of `T`, from the start of its buffer.
    ///
    /// # Safety
    /// The operand's dtype is `T`'s, and who reads stays inside its layout.
    pub(crate) unsafe fn read<T>(&self, k: usize) -> *const T {
        self.reads[k].cast()
    }

    /// Result `k` as elements of `T`.
    ///
    /// # Safety
    /// The result's dtype is `T`'s, and who writes stays inside its layout.
    pub(crate) unsafe fn write<T>(&self, k: usize) -> *mut T {
        self.writes[k].cast()
    }
}

/// A kernel with all decisions taken.
pub(crate) struct CpuLaunch {
    pub(crate) run: Run,
    /// Whether it was seen to share work among threads.
    pub(crate) shares: AtomicBool,
}

type Run = Box<dyn Fn(&Args<'_>) -> Result<(), EvalError> + Send + Sync>;

/// What a kernel row answers when it takes an op.
pub(crate) fn prepared(
    kernel: &'static str,
    run: impl Fn(&Args<'_>) -> Result<(), EvalError> + Send + Sync + 'static,
) -> Prepared {
    let launch = Box::new(CpuLaunch { run: Box::new(run), shares: AtomicBool::new(false) });
    Prepared { kernel, scratch: 0, in_place: SmallVec::new(), fallible: false, launch }
}

/// A pointer that crosses threads: each part of the work touches its own range.
#[derive(Clone, Copy)]
pub(crate) struct Shared<T>(pub(crate) T);

// SAFETY: kernels split their results into ranges that no two threads share,
// and nothing writes what they read while they run.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T: Copy> Shared<T> {
    /// The pointer. A method, so that closures capture the whole wrapper.
    pub(crate) fn get(&self) -> T {
        self.0
    }
}
