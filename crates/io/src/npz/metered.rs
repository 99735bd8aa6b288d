//! A bound on how much is read to find an archive's members.
//!
//! An archive is free to hold any number of false directories, each of which
//! is read until it turns out to be one.

use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom};
use std::rc::Rc;

/// What may be read beyond a few times the length of the file.
const SLACK: u64 = 1 << 16;

pub(super) struct Metered<R> {
    inner: R,
    left: Rc<Cell<u64>>,
}

pub(super) struct Meter(Rc<Cell<u64>>);

impl<R> Metered<R> {
    /// A reader that fails once far more than `len` bytes were read, until
    /// the meter stops.
    pub(super) fn new(inner: R, len: u64) -> (Self, Meter) {
        let left = Rc::new(Cell::new(len.saturating_mul(4).saturating_add(SLACK)));
        (Metered { inner, left: left.clone() }, Meter(left))
    }
}

impl Meter {
    pub(super) fn stop(&self) {
        self.0.set(u64::MAX);
    }
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = self.left.get();
        if left == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "too many false directories"));
        }
        let n = self.inner.read(into)?;
        self.left.set(left.saturating_sub(n as u64));
        Ok(n)
    }
}

impl<R: Seek> Seek for Metered<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_over_and_over_fails_until_the_meter_stops() {
        let bytes = [0; 1024];
        let mut into = [0; 1024];
        let (mut reader, meter) = Metered::new(io::Cursor::new(bytes), 1024);
        let mut reads = 0;
        let refused = loop {
            reader.rewind().unwrap();
            match reader.read_exact(&mut into) {
                Ok(()) => reads += 1,
                Err(e) => break e,
            }
        };
        assert_eq!((reads, refused.kind()), (4 + 64, io::ErrorKind::InvalidData));
        meter.stop();
        assert_eq!(reader.read(&mut into).unwrap(), 1024);
    }
}
