//! What fuzzing began with and what it found: every file of `fuzz/corpus` for ONNX goes
//! through what the fuzz targets do, without a panic, in a short time and in
//! little memory.

#[path = "../../../fuzz/src/targets.rs"]
mod targets;

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

/// What one file may take, in builds without optimisation too.
const LONGEST: Duration = Duration::from_secs(20);
/// What the process may take, in bytes.
const MOST: usize = 1 << 30;

#[test]
fn the_corpus_is_read_and_run_in_bounds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let files = files(&root);
    assert!(files.len() > 100, "{} holds {} files", root.display(), files.len());
    let (done, waiting) = mpsc::channel();
    let given = files.clone();
    let worker = std::thread::spawn(move || {
        for path in given {
            let bytes = std::fs::read(path).unwrap();
            targets::onnx_file(&bytes);
            targets::onnx_model(&bytes);
            done.send(()).unwrap();
        }
    });
    for path in &files {
        match waiting.recv_timeout(LONGEST) {
            Ok(()) => {}
            Err(mpsc::RecvTimeoutError::Timeout) => {
                panic!("{} takes more than {} s", path.display(), LONGEST.as_secs())
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("{} panics", path.display()),
        }
    }
    worker.join().unwrap();
    if let Some(most) = peak() {
        assert!(most < MOST, "the corpus took {} MiB", most >> 20);
    }
}

fn files(root: &Path) -> Vec<PathBuf> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let folders = entries(root).into_iter().filter(|folder| !folder.ends_with("gguf"));
    let mut all: Vec<PathBuf> = folders.flat_map(|folder| entries(&folder)).collect();
    all.sort();
    all
}

/// The most memory that the process had, where the system says.
fn peak() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<usize>().ok()? << 10)
}
