use std::fmt;
use std::sync::Arc;

use crate::RuntimeError;

/// A queue of a device. Work of one stream runs in the order in which it was
/// asked for; work of different streams runs beside each other, and waits only
/// for the [`Event`]s that it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Stream(pub u32);

impl Stream {
    /// The stream that every device has.
    pub const DEFAULT: Stream = Stream(0);
}

/// What a back end knows of a point in one of its streams.
pub trait Signal: Send + Sync {
    /// Whether all work before the point is done.
    fn is_done(&self) -> bool;

    /// Waits until all work before the point is done.
    ///
    /// # Errors
    /// When that work failed: an op whose data has no result, by name.
    fn wait(&self) -> Result<(), RuntimeError>;

    /// For the back end that made it.
    fn as_any(&self) -> &dyn std::any::Any;
}

/// A point in a stream, after which a value can be read.
#[derive(Clone, Default)]
pub struct Event(Option<Arc<dyn Signal>>);

impl Event {
    /// A point that has passed: the event of a back end that works at once.
    pub const fn passed() -> Event {
        Event(None)
    }

    /// A point that a back end watches.
    pub fn of(signal: Arc<dyn Signal>) -> Event {
        Event(Some(signal))
    }

    /// Whether all work before the point is done.
    pub fn is_done(&self) -> bool {
        self.0.as_ref().is_none_or(|signal| signal.is_done())
    }

    /// Waits until all work before the point is done.
    ///
    /// # Errors
    /// When that work failed: an op whose data has no result, by name.
    pub fn wait(&self) -> Result<(), RuntimeError> {
        self.0.as_ref().map_or(Ok(()), |signal| signal.wait())
    }

    /// What the back end knows of the point; `None` when it has passed.
    pub fn signal(&self) -> Option<&Arc<dyn Signal>> {
        self.0.as_ref()
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_done() { "Event(done)" } else { "Event(pending)" })
    }
}
