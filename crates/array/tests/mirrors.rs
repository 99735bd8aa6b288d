//! Every operation is a method and a function of one name.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Methods that are no operations: what an array is, and its value.
const PLAIN: &[&str] = &[
    "is_done",
    "iter",
    "check",
    "dtype",
    "eval",
    "is_available",
    "item",
    "ndim",
    "shape",
    "size",
    "to_host",
    "to_ndarray",
    "to_vec",
    "value",
];

/// Methods below the operations' names, which other crates record with.
const LOWER: &[&str] = &[
    "attention",
    "convolution",
    "det",
    "fourier",
    "gather",
    "layer_norm",
    "narrow",
    "pad_from_itself",
    "pad_with",
    "reduce_windows",
    "rms_norm",
    "scan",
    "scatter",
    "scatter_along_axis",
    "transposed_convolution",
];

/// Files whose methods are of something else than arrays.
const APART: &[&str] = &["function.rs", "kernel.rs", "saved.rs"];

/// Methods that are written like an index.
const SYNTAX: &[&str] = &["at", "index"];

/// Names of what stands after a keyword at the beginning of a line, up to a
/// bracket.
fn names<'a>(text: &'a str, keyword: &str) -> Vec<(&'a str, &'a str)> {
    let found = |line: &'a str| line.trim_start().strip_prefix(keyword)?.split_once('(');
    text.lines()
        .filter_map(found)
        .map(|(name, rest)| (name.split('<').next().unwrap_or(name), rest))
        .collect()
}

#[test]
fn methods_and_functions_mirror_each_other() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut methods = BTreeSet::new();
    let mut functions = BTreeSet::new();
    for entry in fs::read_dir(&source).unwrap() {
        let path = entry.unwrap().path();
        if APART.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        let Ok(text) = fs::read_to_string(&path) else { continue };
        if path.ends_with("ops.rs") {
            // Rows of the tables: `name(arguments);`.
            for line in text.lines().filter(|line| line.ends_with(");") || line.ends_with(';')) {
                let Some((name, _)) = line.trim_start().split_once('(') else { continue };
                if line.starts_with("    ") && name.chars().all(|c| c.is_alphanumeric() || c == '_') {
                    functions.insert(name.to_owned());
                }
            }
            functions.extend(names(&text, "pub fn ").iter().map(|(name, _)| (*name).to_owned()));
            continue;
        }
        for (name, rest) in names(&text, "pub fn ") {
            // A method's receiver may stand on the next line.
            let wrapped = rest.is_empty() && text.contains(&format!("pub fn {name}(\n        &self"));
            if (rest.starts_with("&self") || wrapped) && !name.starts_with('$') {
                methods.insert(name.to_owned());
            }
        }
        // Rows of the tables of functions: `name: Variant;`.
        for line in text.lines().map(str::trim).filter(|line| line.ends_with(';')) {
            let Some((name, variant)) = line.split_once(": ") else { continue };
            let row = variant.chars().next().is_some_and(char::is_uppercase);
            if row && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_') {
                methods.insert(name.to_owned());
            }
        }
    }
    let binary = fs::read_to_string(source.join("arithmetic.rs")).unwrap();
    let table = binary.rsplit("binary! {").next().unwrap().split("\n}").next().unwrap();
    functions.extend(table.lines().filter_map(|l| Some(l.trim().split_once(": ")?.0.to_owned())));
    for name in PLAIN.iter().chain(LOWER).chain(SYNTAX) {
        methods.remove(*name);
    }
    let missing: Vec<_> = methods.difference(&functions).collect();
    assert!(missing.is_empty(), "methods without a function in ops.rs: {missing:?}");
}
