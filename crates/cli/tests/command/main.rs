//! The built command, as a user runs it.

mod bench;
mod conformance;
mod dynamic;
mod files;
mod inspect;
mod model;
mod ranking;
mod refusals;
mod run;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use oneir::HostTensor;
use oneir::io::open_tensors;

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../models/mlp_digits.onnx");
const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../onnx/tests/data/mlp_digits.safetensors");

/// A folder of a test's own, gone when the test is done.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("oneir-cli-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Saves tensors and gives the file's name.
    fn tensors(&self, name: &str, tensors: &[(&str, HostTensor)]) -> String {
        let path = self.file(name);
        let named: Vec<(String, HostTensor)> =
            tensors.iter().map(|(name, tensor)| (name.to_string(), tensor.clone())).collect();
        oneir::io::save_tensors(&path, &named).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

fn oneir(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oneir"));
    command.args(args).env_remove("COLUMNS").env_remove("NO_COLOR").output().unwrap()
}

/// What a run that must succeed prints.
#[track_caller]
fn printed(args: &[&str]) -> String {
    let output = oneir(args);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The message of a run that must fail with an exit code.
#[track_caller]
fn refused(args: &[&str], code: i32) -> String {
    let output = oneir(args);
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{args:?}: {message}");
    assert!(message.starts_with("error: ") && !message.contains("panicked"), "{args:?}: {message}");
    message
}

/// The tensors of the fixture whose names start so, without that.
fn fixture(prefix: &str) -> Vec<(String, HostTensor)> {
    let all = open_tensors(Path::new(FIXTURE)).unwrap();
    all.into_iter()
        .filter_map(|(name, tensor)| Some((name.strip_prefix(prefix)?.to_owned(), tensor)))
        .collect()
}
