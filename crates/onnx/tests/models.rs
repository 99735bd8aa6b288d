//! Real models give their right answers on every device.

use std::path::{Path, PathBuf};

use oneir_array::{Array, HostTensor};
use oneir_cpu as _;
use oneir_onnx::{Model, Term};
use oneir_runtime::Runtime;
use oneir_tensor::Values;
use oneir_testkit as _;

const DEVICES: [&str; 4] = ["cpu", "cpu-reference", "cpu-unfused", "mock"];

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

type Tensors = Vec<(String, HostTensor)>;

/// The inputs and right outputs of a fixture.
fn fixture(name: &str) -> (Tensors, Tensors) {
    let all = oneir_io::open_tensors(data(name)).unwrap();
    let part = |prefix: &str| {
        all.iter()
            .filter_map(|(name, value)| Some((name.strip_prefix(prefix)?.to_string(), value.clone())))
            .collect::<Vec<_>>()
    };
    (part("in__"), part("out__"))
}

fn check(model: &Path, fixture_name: &str, device: &str) {
    let model = Model::open(model).unwrap();
    let (inputs, expected) = fixture(fixture_name);
    let arguments: Vec<(&str, Array)> =
        inputs.iter().map(|(name, value)| (name.as_str(), Array::from_host(value.clone()))).collect();
    let device = Runtime::global().device(device).unwrap();
    let traced = model.call_on(&device, &arguments).unwrap();
    let eager = model.eager(&device, &arguments).unwrap();
    for outputs in [traced, eager] {
        for (name, value) in &expected {
            let found = outputs.iter().find(|(n, _)| n == name).unwrap();
            let found = match &found.1 {
                Term::Array(array) => {
                    oneir_array::eval_on(&device, std::slice::from_ref(array)).unwrap();
                    array.to_host().unwrap()
                }
                Term::Host(value) => value.clone(),
                other => panic!("{other:?}"),
            };
            assert_eq!((found.dtype(), found.shape()), (value.dtype(), value.shape()), "{name}");
            if name == "target_label" {
                // What the sampled files are, and how sure the model was.
                let row = |i: usize| found.to_vec::<f32>().unwrap()[i * 214..(i + 1) * 214].to_vec();
                let top: Vec<f32> = (0..5).map(|i| row(i).into_iter().fold(0.0, f32::max)).collect();
                for (p, known) in top.iter().zip([1.0, 1.0, 0.826, 0.922, 1.0]) {
                    assert!((p - known).abs() < 1e-3, "{top:?}");
                }
            }
            match (found.values().unwrap(), value.values().unwrap()) {
                (Values::Float(a), Values::Float(b)) => {
                    for (i, (a, b)) in a.iter().zip(&b).enumerate() {
                        assert!((a - b).abs() <= 1e-3 * b.abs() + 1e-6, "{name}[{i}] is {a}, expected {b}");
                    }
                }
                (a, b) => assert_eq!(a, b, "{name}"),
            }
        }
    }
}

#[test]
fn mlp_digits() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/mlp_digits.onnx");
    for device in DEVICES {
        check(&model, "mlp_digits.safetensors", device);
    }
}

#[test]
fn magika() {
    let Some(folder) = std::env::var_os("ONEIR_ORACLES") else {
        eprintln!("skipped: ONEIR_ORACLES names no folder of models (scripts/test sets it)");
        return;
    };
    let model = Path::new(&folder).join("models/magika/model.onnx");
    for device in DEVICES {
        check(&model, "magika.safetensors", device);
    }
}
