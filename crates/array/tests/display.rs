//! Text of arrays, against what NumPy prints.

use oneir_array::{Array, DType, HostTensor};
use oneir_cpu as _;

#[test]
fn text_is_numpys() {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/display.json");
    let cases: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(fixture).unwrap()).unwrap();
    let cases = cases["cases"].as_array().unwrap();
    let mut wrong = Vec::new();
    for case in cases {
        let dtype: DType = case["dtype"].as_str().unwrap().parse().unwrap();
        let shape: Vec<usize> =
            case["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
        let hex = case["bytes"].as_str().unwrap();
        let byte = |i: usize| u8::from_str_radix(&hex[i..i + 2], 16).unwrap();
        let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
        let found = Array::from_host(HostTensor::from_bytes(dtype, &shape, &bytes).unwrap()).to_string();
        let text = case["text"].as_str().unwrap();
        if found != text {
            wrong.push(format!("{dtype} {shape:?}:\n{found}\nexpected\n{text}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n\n"));
}

#[test]
fn failed_arrays_print_why() {
    let wrong = Array::ones(&[2], DType::F32).reshape(&[3]);
    let text = wrong.to_string();
    assert!(text.contains("reshape") && text.contains("display.rs"), "{text}");
}
