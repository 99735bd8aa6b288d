//! `oneir operators`: the ONNX operators that are there.

use crate::error::CliError;
use crate::print;

/// A line for each: the name, with its domain where that is not the standard
/// one, and the versions at which it changed.
pub(crate) fn operators() -> Result<(), CliError> {
    let mut all: Vec<_> = oneir::onnx::operators().collect();
    all.sort();
    let mut text = String::new();
    for (domain, name, since) in all {
        if !domain.is_empty() {
            text.push_str(domain);
            text.push('.');
        }
        text.push_str(name);
        for version in since {
            text.push_str(&format!(" {version}"));
        }
        text.push('\n');
    }
    print(&text)
}
