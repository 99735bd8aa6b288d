//! Bytes to a model that is traced and run.
#![no_main]

#[path = "../src/mutate.rs"]
mod mutate;
#[allow(dead_code)]
#[path = "../src/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::onnx_model(bytes));

libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    if seed % CHANCE != 0
        && let Some(bytes) = mutate::model(&data[..size], seed)
        && bytes.len() <= max_size
    {
        data[..bytes.len()].copy_from_slice(&bytes);
        return bytes.len();
    }
    libfuzzer_sys::fuzzer_mutate(data, size, max_size)
});

/// One in so many mutations is libFuzzer's own.
const CHANCE: u32 = 5;
