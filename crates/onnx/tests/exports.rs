//! Exported models give what the functions give that they were exported from.

use std::collections::{BTreeMap, BTreeSet};

use oneir_array::{Array, Traced};
use oneir_cpu as _;
use oneir_ir::primitive::{Case, Expected};
use oneir_ir::{Place, Primitive, Spec, Value, verify};
use oneir_onnx::{ExportOptions, Exported, Model, OnnxFile, Term, export};
use oneir_tensor::{DType, HostTensor};

#[path = "exports/models.rs"]
mod models;
#[path = "exports/options.rs"]
mod options;
#[path = "exports/record.rs"]
mod record;

use record::Recorder;

fn traced(primitive: &Primitive, inputs: &[HostTensor]) -> Traced {
    let arguments: Vec<Value> = inputs.iter().map(|x| Value::placeholder(Spec::of(x))).collect();
    let refs: Vec<&Value> = arguments.iter().collect();
    let outputs = Value::record_all(primitive.clone(), &refs, Place::Internal).unwrap();
    let arrays = |values: &[Value]| values.iter().cloned().map(Array::from_value).collect::<Vec<_>>();
    Traced::new(&arrays(&arguments), &arrays(&outputs)).unwrap()
}

/// What our importer makes of an exported model.
fn imported(exported: &Exported, inputs: &[HostTensor]) -> Result<Vec<HostTensor>, String> {
    let file = OnnxFile::from_bytes(exported.to_bytes().unwrap(), None).map_err(|e| e.to_string())?;
    let model = Model::new(file).map_err(|e| e.to_string())?;
    let device = oneir_runtime::Runtime::global().device("cpu").unwrap();
    let names: Vec<String> = (0..inputs.len()).map(|i| format!("input_{i}")).collect();
    let given: Vec<(&str, Array)> =
        names.iter().map(String::as_str).zip(inputs.iter().cloned().map(Array::from_host)).collect();
    let outputs = model.call_on(&device, &given).map_err(|e| e.to_string())?;
    outputs
        .into_iter()
        .map(|(_, term)| match term {
            Term::Array(array) => array.to_host().map_err(|e| e.to_string()),
            Term::Host(host) => Ok(host),
            other => Err(format!("{other:?}")),
        })
        .collect()
}

/// Primitives of which no case with elements is exported, and what is said of them.
const REFUSED: &[(&str, &str)] =
    &[("fft", "no operators stand for it"), ("kernel", "no operators stand for it")];

/// What is said of single cases of other primitives.
const PARTLY: &[(&str, &str)] = &[
    ("convolution", "Conv is of floats"),
    ("transposed_convolution", "ConvTranspose is of floats"),
    ("linalg", "the standard has no operator for `"),
    ("unary", "the standard has no operator for `digamma`"),
    ("unary", "the standard has no operator for `lgamma`"),
    ("unary", "the standard has no operator for `trigamma`"),
    ("view", "opset 23 reads no bytes of f32 as "),
    ("window_reduce", "windows of 1099511627776 items"),
];

/// What is said of elements that the operators do not have.
fn is_about_elements(text: &str) -> bool {
    let lacks = ["complex64", "f8e8m0", "i2", "u2"];
    let stored = ["f4e2m1", "f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz", "i4", "u4"];
    lacks.iter().any(|d| text.ends_with(&format!("opset 23 has no {d} tensors that compute")))
        || (text.contains("opset 23 has no ") && stored.iter().any(|d| text.ends_with(&format!(" of {d}"))))
}

/// Whether the standard leaves open what comes out: of numbers that an integer type
/// cannot hold, and of NaN among what is compared.
fn is_left_open(primitive: &Primitive, inputs: &[HostTensor]) -> bool {
    let floats =
        || inputs.iter().filter(|x| x.dtype().is_float()).flat_map(|x| x.values().unwrap().to_floats());
    match primitive {
        Primitive::AsType(to) if to.is_integer() => {
            let (low, high) = to.iinfo().unwrap();
            floats().any(|x| x.is_nan() || x < low as f64 || x > high as f64)
        }
        _ => {
            let compares =
                ["reduce", "arg_reduce", "window_reduce", "scatter", "scatter_axis", "sort", "arg_sort"];
            compares.contains(&primitive.name()) && floats().any(f64::is_nan)
        }
    }
}

#[test]
fn every_primitive_is_exported_or_refused_by_name() {
    let mut recorder = Recorder::new("primitives");
    let mut written: BTreeMap<&str, usize> = BTreeMap::new();
    let mut refused: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for Case { primitive, inputs, expected } in Primitive::cases() {
        if !matches!(expected, Expected::Results(_) | Expected::AsReference) {
            continue;
        }
        let name = primitive.name();
        let function = traced(&primitive, &inputs);
        let exported = match export(&function, &ExportOptions::new()) {
            Ok(exported) => exported,
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains('`'), "{text}");
                refused.entry(name).or_default().insert(text);
                continue;
            }
        };
        let results = primitive.evaluate(&inputs).unwrap();
        if !is_left_open(&primitive, &inputs) {
            recorder.add(&exported, &inputs, &results);
        }
        if results.iter().any(|x| x.count() > 0) {
            *written.entry(name).or_default() += 1;
        }
        let mut text = String::new();
        primitive.write(&mut text);
        let specs: Vec<String> = inputs.iter().map(|x| Spec::of(x).to_string()).collect();
        let mut operators = exported.operators();
        operators.truncate(8);
        let what = format!("{text} of ({}) as {operators:?}", specs.join(", "));
        match imported(&exported, &inputs) {
            Ok(found) => {
                for (f, e) in found.iter().zip(&results) {
                    if Spec::of(f) != Spec::of(e) {
                        wrong.push(format!("{what}: {} is not {}", Spec::of(f), Spec::of(e)));
                    } else if let Some(at) = verify::Tolerance::of(e.dtype()).first_difference(e, f) {
                        let (e, f) = (e.values().unwrap(), f.values().unwrap());
                        let one = |v: &oneir_tensor::Values| format!("{:?}", v.select(&[at]));
                        wrong.push(format!("{what}: item {at} is {}, not {}", one(&f), one(&e)));
                    }
                }
            }
            Err(error) => wrong.push(format!("{what}: {error}")),
        }
    }
    recorder.finish();
    for (name, count) in &written {
        println!("{name}: {count}");
    }
    for (name, why) in &refused {
        for why in why {
            println!("refused {name}: {}", why.split(" to ONNX: ").last().unwrap());
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    let never: BTreeSet<&str> =
        Primitive::NAMES.iter().copied().filter(|name| !written.contains_key(name)).collect();
    assert_eq!(never, REFUSED.iter().map(|(name, _)| *name).collect());
    for (name, reasons) in refused {
        for text in reasons {
            let known = REFUSED.iter().chain(PARTLY).any(|(n, why)| *n == name && text.contains(why));
            assert!(known || is_about_elements(&text), "{text}");
        }
    }
}

/// A tensor of numbers between -1 and 1.
fn noise(shape: &[usize], seed: u64) -> HostTensor {
    let tensor = oneir_ir::graph::Tensor::input(DType::F32, shape);
    verify::sample(&tensor, seed).unwrap()
}
