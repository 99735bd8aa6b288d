//! Bytes to the contents of a GGUF file.
#![no_main]

#[path = "../src/gguf.rs"]
mod target;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| target::gguf(bytes));
