/// Gives places in one memory to buffers that live at different times.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    /// Free ranges, by where they begin.
    free: std::collections::BTreeMap<usize, usize>,
    /// Free ranges by size, then place: the best fit is the first that is
    /// large enough.
    sizes: std::collections::BTreeSet<(usize, usize)>,
    end: usize,
    peak: usize,
}

/// Every buffer begins at a multiple of this.
pub(crate) const ALIGNMENT: usize = 64;

pub(crate) fn aligned(bytes: usize) -> usize {
    bytes.div_ceil(ALIGNMENT) * ALIGNMENT
}

impl Arena {
    /// A place for `bytes`.
    pub(crate) fn take(&mut self, bytes: usize) -> usize {
        let bytes = aligned(bytes.max(1));
        if let Some(&(size, at)) = self.sizes.range((bytes, 0)..).next() {
            self.remove(at, size);
            if size > bytes {
                self.insert(at + bytes, size - bytes);
            }
            return at;
        }
        // Grow, from the last free range where it touches the end.
        let at = match self.free.last_key_value() {
            Some((&at, &size)) if at + size == self.end => {
                self.remove(at, size);
                at
            }
            _ => self.end,
        };
        self.end = at + bytes;
        self.peak = self.peak.max(self.end);
        at
    }

    /// Takes back what [`Arena::take`] gave for `bytes`.
    pub(crate) fn give(&mut self, at: usize, bytes: usize) {
        let (mut at, mut size) = (at, aligned(bytes.max(1)));
        if let Some((&before, &len)) = self.free.range(..at).next_back()
            && before + len == at
        {
            self.remove(before, len);
            at = before;
            size += len;
        }
        if let Some(&len) = self.free.get(&(at + size)) {
            self.remove(at + size, len);
            size += len;
        }
        self.insert(at, size);
    }

    /// The most bytes that were taken at once, holes included.
    pub(crate) fn peak(&self) -> usize {
        self.peak
    }

    fn insert(&mut self, at: usize, size: usize) {
        self.free.insert(at, size);
        self.sizes.insert((size, at));
    }

    fn remove(&mut self, at: usize, size: usize) {
        self.free.remove(&at);
        self.sizes.remove(&(size, at));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_ranges_join_and_are_used_again() {
        let mut arena = Arena::default();
        let (a, b, c) = (arena.take(64), arena.take(100), arena.take(64));
        assert_eq!((a, b, c), (0, 64, 192));
        arena.give(a, 64);
        arena.give(b, 100);
        assert_eq!(arena.take(150), 0);
        arena.give(c, 64);
        assert_eq!(arena.take(128), 192, "the tail grows in place");
        assert_eq!(arena.peak(), 320);
    }
}
