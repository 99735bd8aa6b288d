//! What fuzzing GGUF files began with and what it found: every file of
//! `fuzz/corpus/gguf` goes through what the fuzz target does, without a panic and in a
//! short time.

#[path = "../../../fuzz/src/gguf.rs"]
mod target;

use std::path::Path;
use std::time::{Duration, Instant};

/// What one file may take, in builds without optimisation too.
const LONGEST: Duration = Duration::from_secs(10);

#[test]
fn the_corpus_is_read_in_bounds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/gguf");
    let mut files: Vec<_> = std::fs::read_dir(root).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 20, "the corpus has {} files", files.len());
    for path in files {
        let begun = Instant::now();
        target::gguf(&std::fs::read(&path).unwrap());
        assert!(begun.elapsed() < LONGEST, "{} takes too long", path.display());
    }
}
