//! What the compiler says of types that cannot be derived: each file in `errors/`,
//! against the text beside it. `ONEIR_WRITE=1` writes the texts anew.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The libraries that this test was linked with.
fn libraries() -> PathBuf {
    std::env::current_exe().unwrap().parent().unwrap().to_path_buf()
}

/// The facade's library: the last one that was built, if others lie beside it.
fn facade(libraries: &Path) -> PathBuf {
    let built = |path: &PathBuf| fs::metadata(path).unwrap().modified().unwrap();
    fs::read_dir(libraries)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            name.starts_with("liboneir-") && name.ends_with(".rlib")
        })
        .max_by_key(built)
        .expect("a library of the facade lies beside the test")
}

/// The errors of compiling a file: messages, what they point at, and notes.
fn errors(file: &Path, libraries: &Path, facade: &Path) -> String {
    let stem = file.file_stem().unwrap().to_str().unwrap();
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("errors-{stem}.rmeta"));
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
        .args(["--edition", "2024", "--crate-type", "lib", "--error-format", "json", "--cap-lints", "allow"])
        .args(["--emit", "metadata", "-o"])
        .arg(&out)
        .arg("-L")
        .arg(format!("dependency={}", libraries.display()))
        .arg("--extern")
        .arg(format!("oneir={}", facade.display()))
        .arg(file)
        .output()
        .unwrap();
    let mut text = String::new();
    for line in String::from_utf8(output.stderr).unwrap().lines() {
        let said: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        if said["level"] == "error" && !said["spans"].as_array().unwrap().is_empty() {
            tell(&said, file, &mut text);
        }
    }
    assert_eq!(output.status.success(), text.is_empty(), "{stem}: {text}");
    text
}

/// A message without what changes with the compiler and the machine: its number and
/// its places in other files.
fn tell(said: &Value, file: &Path, text: &mut String) {
    writeln!(text, "{}: {}", said["level"].as_str().unwrap(), said["message"].as_str().unwrap()).unwrap();
    for span in said["spans"].as_array().unwrap() {
        if span["is_primary"] != true || Path::new(span["file_name"].as_str().unwrap()) != file {
            continue;
        }
        let line = &span["text"][0];
        let column = |name: &str| line[name].as_u64().unwrap() as usize - 1;
        let marked: String = line["text"].as_str().unwrap().chars().collect::<Vec<_>>()
            [column("highlight_start")..column("highlight_end")]
            .iter()
            .collect();
        write!(text, "  line {}, `{marked}`", span["line_start"]).unwrap();
        let label = span["label"].as_str().map(|label| format!(": {label}")).unwrap_or_default();
        writeln!(text, "{label}").unwrap();
    }
    for child in said["children"].as_array().unwrap() {
        // A list of all types that have the trait says nothing of this one.
        if child["level"] == "note" && child["spans"].as_array().unwrap().is_empty() {
            writeln!(text, "  note: {}", child["message"].as_str().unwrap()).unwrap();
        }
    }
}

#[test]
fn errors_say_what_is_wrong_and_where() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/errors");
    let libraries = libraries();
    let facade = facade(&libraries);
    let write = std::env::var_os("ONEIR_WRITE").is_some();
    let mut files: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.sort();
    assert!(files.len() >= 8);
    for file in files {
        let found = errors(&file, &libraries, &facade);
        let beside = file.with_extension("txt");
        assert_eq!(found.is_empty(), file.ends_with("good.rs"), "{}:\n{found}", file.display());
        if write && !found.is_empty() {
            fs::write(&beside, &found).unwrap();
        }
        let expected =
            if found.is_empty() { String::new() } else { fs::read_to_string(&beside).unwrap_or_default() };
        assert_eq!(found, expected, "{}", file.display());
    }
}
