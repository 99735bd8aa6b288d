//! The rules of the repository that a compiler does not know.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Every tracked kind of text file, with its path from the root.
fn files(extensions: &[&str]) -> Vec<(String, String)> {
    let root = root();
    let mut folders: Vec<PathBuf> =
        ["crates", "docs", "scripts", ".ci"].iter().map(|f| root.join(f)).filter(|f| f.exists()).collect();
    let mut paths: Vec<PathBuf> = fs::read_dir(&root)
        .unwrap()
        .map(|e| e.unwrap().path())
        .filter(|p| p.is_file() && !p.ends_with(".git"))
        .collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { paths.push(path) }
        }
    }
    let mut found: Vec<(String, String)> = paths
        .into_iter()
        .filter(|p| {
            let extension = p.extension().and_then(|e| e.to_str()).unwrap_or("");
            extensions.contains(&extension)
        })
        .filter_map(|p| {
            let name = p.strip_prefix(&root).ok()?.to_str()?.to_string();
            Some((name, fs::read_to_string(&p).ok()?))
        })
        .collect();
    found.sort();
    found
}

/// Which crates of ours a crate may depend on.
const ARROWS: &[(&str, &[&str])] = &[
    ("tensor", &[]),
    ("ir", &["tensor"]),
    ("passes", &["tensor", "ir"]),
    ("runtime", &["tensor", "ir", "passes"]),
    ("cpu", &["tensor", "ir", "runtime"]),
    ("derive", &[]),
    ("array", &["derive", "tensor", "io", "ir", "runtime"]),
    ("io", &["tensor"]),
    ("onnx", &["tensor", "ir", "runtime", "array", "io"]),
    ("testkit", &["tensor", "ir", "runtime"]),
    ("oneir", &["tensor", "ir", "passes", "runtime", "cpu", "array", "io", "onnx"]),
    ("cli", &["oneir", "testkit"]),
];

#[test]
fn crate_arrows() {
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap().path();
        let name = folder.file_name().unwrap().to_str().unwrap().to_string();
        let text = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
        let allowed =
            allowed.get(name.as_str()).unwrap_or_else(|| panic!("crate {name} has no row in ARROWS"));
        let dependencies = text.split("\n[").find_map(|s| s.strip_prefix("dependencies]")).unwrap_or("");
        for line in dependencies.lines() {
            let Some(word) = line.split(['.', ' ', '=']).next().filter(|w| w.starts_with("oneir")) else {
                continue;
            };
            let target = word.strip_prefix("oneir-").unwrap_or("oneir");
            assert!(allowed.contains(&target), "{name} must not depend on {target}");
        }
    }
}

/// Generated files, and why they may be long.
const LONG: &[(&str, &str)] = &[("crates/onnx/src/proto/onnx.rs", "generated from the standard's schema")];

#[test]
fn files_are_short() {
    for (name, text) in files(&["rs", "py", "cu"]) {
        let lines = text.lines().count();
        let excused = LONG.iter().any(|(long, _)| *long == name);
        assert!(lines <= 700 || excused, "{name} has {lines} lines: split it along its concerns");
    }
}

#[test]
fn names_say_what_is_inside() {
    for (name, _) in files(&["rs", "py"]) {
        let stem = Path::new(&name).file_stem().unwrap().to_str().unwrap().to_string();
        let vague = ["util", "utils", "common", "misc", "helpers", "helper"];
        assert!(!vague.contains(&stem.as_str()), "{name}: the name says nothing");
    }
}

/// Code without comments and strings, roughly: enough to look for words in.
fn code(text: &str) -> String {
    let without_strings = |line: &str| line.split('"').step_by(2).collect::<Vec<_>>().join(" ");
    text.lines().map(|l| without_strings(l.split("//").next().unwrap_or(""))).collect::<Vec<_>>().join("\n")
}

/// Where `unsafe` may be written: kernels, memory maps, and tensors of other
/// libraries.
const UNSAFE: &[&str] = &[
    "crates/cpu/src/",
    "crates/io/src/dlpack.rs",
    "crates/io/src/map.rs",
    "crates/onnx/src/file/external.rs",
];

#[test]
fn unsafe_is_where_it_may_be() {
    for (name, text) in files(&["rs"]) {
        let found = code(&text).split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == "unsafe");
        let allowed =
            UNSAFE.iter().any(|place| name.starts_with(place)) || name == "crates/testkit/tests/tidy.rs";
        assert!(!found || allowed, "{name} uses unsafe");
    }
}

#[test]
fn there_is_one_global() {
    for (name, text) in files(&["rs"]) {
        if !name.contains("/src/") {
            continue;
        }
        for line in code(&text).lines() {
            let line = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
            let global = line.starts_with("static ") || line.starts_with("thread_local!");
            let allowed = name == "crates/runtime/src/global.rs";
            assert!(!global || allowed, "{name} has a global: {line}");
        }
    }
}

/// Passes and planning ask what kind of operation a primitive is. Names stand
/// only where an identity of one primitive is meant, and where the host runs
/// control flow; matching and lowering make copies and calls of their own.
#[test]
fn passes_ask_natures() {
    let named = ["simplify.rs", "pattern.rs", "cse.rs", "execute.rs", "legalize.rs"];
    for (name, text) in files(&["rs"]) {
        let asks = name.starts_with("crates/passes/src/") || name.starts_with("crates/runtime/src/");
        if !asks || named.iter().any(|n| name.ends_with(&format!("/{n}"))) {
            continue;
        }
        let code = code(&text);
        let code = code.split("#[cfg(test)]").next().unwrap_or_default();
        assert!(!code.contains("Primitive::"), "{name} names a primitive");
    }
}

#[test]
fn nothing_is_left_undone() {
    for (name, text) in files(&["rs"]) {
        if name.ends_with("tidy.rs") {
            continue;
        }
        let code = code(&text);
        for word in ["todo!", "unimplemented!", "dbg!", "#[ignore"] {
            assert!(!code.contains(word), "{name} has {word}");
        }
    }
}

#[test]
fn nothing_names_a_machine() {
    let words = ["/work/", "/tmp/w", "/root/", "/home/", "artifactory", "--index-url", "registry ="];
    for (name, text) in files(&["rs", "py", "md", "toml", "txt", "sh", ""]) {
        if name.ends_with("tidy.rs") || name == "Cargo.lock" {
            continue;
        }
        for word in words {
            assert!(!text.contains(word), "{name} names {word}");
        }
    }
}

#[test]
fn every_crate_takes_the_workspace_lints() {
    for (name, text) in files(&["toml"]) {
        if name.starts_with("crates/") && name.ends_with("Cargo.toml") {
            assert!(text.contains("[lints]\nworkspace = true"), "{name} does not take the workspace's lints");
        }
    }
}
