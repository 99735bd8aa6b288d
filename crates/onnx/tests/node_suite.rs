//! The standard's own cases: every operator that is there gives what the
//! standard's files say, on every device, traced and eager.
//!
//! `ONEIR_ORACLES` names the folder that holds `onnx-1.22.0/node` and, where
//! they are there too, `simple`, `pytorch-operator` and `pytorch-converted`, as
//! the wheel of `onnx` holds them under `onnx/backend/test/data`. `ONEIR_CASES` narrows the run to the cases whose
//! names contain it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use oneir_array::{DType, Device, HostTensor};
use oneir_onnx::proto::{OptionalProto, SequenceProto, TensorProto};
use oneir_onnx::{ElemType, Model, OnnxError, Strings, TensorData, Term, ValueType};
use oneir_runtime::Runtime;
use oneir_tensor::Values;
use prost::Message;

const DEVICES: [&str; 4] = ["cpu", "cpu-reference", "cpu-unfused", "mock"];

/// Cases whose results are random: shape and dtype are compared.
const RANDOM: &[&str] = &["test_bernoulli", "test_training_dropout"];

/// Cases whose right values hold rounding errors of their own: how far from
/// them a result may be.
const ROUNDED: &[(&str, f64)] = &[("test_dft_inverse", 1e-6), ("test_dft_inverse_opset19", 1e-6)];

/// Cases that are refused, each with the reason.
const REFUSED: &[(&str, &str)] = &[];

#[test]
fn node() {
    folder("node");
}

#[test]
fn simple() {
    folder("simple");
}

#[test]
fn pytorch_operator() {
    folder("pytorch-operator");
}

#[test]
fn pytorch_converted() {
    folder("pytorch-converted");
}

/// What came of one case.
enum Found {
    Pass,
    Wrong(String),
    Refused(String),
    Skipped(String),
}

fn folder(kind: &str) {
    use oneir_cpu as _;
    use oneir_testkit as _;
    let Some(oracles) = std::env::var_os("ONEIR_ORACLES") else {
        eprintln!("skipped: ONEIR_ORACLES does not name the folder of the standard's cases");
        return;
    };
    let folder = Path::new(&oracles).join("onnx-1.22.0").join(kind);
    if !folder.is_dir() {
        assert_ne!(kind, "node", "{} does not exist", folder.display());
        eprintln!("skipped: {} does not exist", folder.display());
        return;
    }
    let only = std::env::var("ONEIR_CASES").unwrap_or_default();
    let devices = DEVICES.map(|name| (name, Runtime::global().device(name).unwrap()));
    let (mut passed, mut lacking) = (0, BTreeMap::<String, usize>::new());
    let (mut wrong, mut refused, mut known) = (Vec::new(), Vec::new(), 0);
    for case in folders(&folder) {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        if !name.contains(&only) {
            continue;
        }
        let found = catch_unwind(AssertUnwindSafe(|| run(&case, &name, &devices)));
        let reason = REFUSED.iter().find(|(n, _)| *n == name).map(|(_, why)| *why);
        match found {
            Ok(Found::Pass) => {
                if reason.is_some() {
                    wrong.push(format!("{name}: passes, but is listed as refused"));
                }
                passed += 1;
            }
            Ok(Found::Wrong(why)) => wrong.push(format!("{name}: {why}")),
            Ok(Found::Refused(_)) if reason.is_some() => known += 1,
            Ok(Found::Refused(why)) => refused.push(format!("{name}: {why}")),
            Ok(Found::Skipped(operator)) => *lacking.entry(operator).or_default() += 1,
            Err(_) => wrong.push(format!("{name}: panicked")),
        }
    }
    for line in
        wrong.iter().map(|w| format!("wrong {w}")).chain(refused.iter().map(|r| format!("refused {r}")))
    {
        println!("{line}");
    }
    for (operator, count) in &lacking {
        println!("skipped {count} for {operator}");
    }
    println!(
        "{kind}: {passed} pass, {} wrong, {} refused ({known} of them known), {} skipped",
        wrong.len(),
        refused.len() + known,
        lacking.values().sum::<usize>(),
    );
    assert!(
        wrong.is_empty() && refused.is_empty(),
        "{kind}: {} wrong, {} refused",
        wrong.len(),
        refused.len()
    );
}

/// The folders in a folder whose names begin with `test_`, sorted.
fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    let named = |p: &PathBuf| p.file_name().is_some_and(|n| n.to_string_lossy().starts_with("test_"));
    let mut all: Vec<PathBuf> = entries.filter(|p| p.is_dir() && named(p)).collect();
    all.sort();
    all
}

fn run(case: &Path, name: &str, devices: &[(&str, Device)]) -> Found {
    let model = match Model::open(case.join("model.onnx")) {
        Ok(model) => model,
        Err(OnnxError::MissingOperators { operators }) => return Found::Skipped(operators.join(", ")),
        Err(other) => return Found::Refused(other.to_string()),
    };
    for set in folders(case) {
        for (name_of, device) in devices {
            // Each set and device anew: what a trace knows must not leak.
            let read = |stem: &str, infos: Vec<(String, ValueType)>| {
                let mut terms = Vec::new();
                for (k, (name, ty)) in infos.into_iter().enumerate() {
                    let path = set.join(format!("{stem}_{k}.pb"));
                    if path.is_file() {
                        let value = value(&std::fs::read(path).unwrap(), &ty)?;
                        terms.push((name, value));
                    }
                }
                Ok::<_, OnnxError>(terms)
            };
            let inputs = model.file().graph.inputs.iter().map(|i| (i.name.clone(), i.ty.clone())).collect();
            let outputs = model.outputs().iter().map(|o| (o.name.clone(), o.ty.clone())).collect();
            let (inputs, expected) = match (read("input", inputs), read("output", outputs)) {
                (Ok(inputs), Ok(expected)) => (inputs, expected),
                (Err(why), _) | (_, Err(why)) => return Found::Refused(why.to_string()),
            };
            let arguments: Vec<(&str, Term)> = inputs.iter().map(|(n, v)| (n.as_str(), v.clone())).collect();
            let rule = Rule {
                random: RANDOM.iter().any(|r| name.starts_with(r)),
                absolute: ROUNDED.iter().find(|(n, _)| *n == name).map_or(1e-7, |(_, far)| *far),
            };
            for (way, outputs) in
                [("traced", model.call_on(device, &arguments)), ("eager", model.eager(device, &arguments))]
            {
                let outputs = match outputs {
                    Ok(outputs) => outputs,
                    Err(why) => return Found::Refused(format!("{name_of}, {way}: {why}")),
                };
                for (output, value) in &expected {
                    let Some((_, found)) = outputs.iter().find(|(n, _)| n == output) else {
                        return Found::Wrong(format!("{name_of}, {way}: `{output}` is missing"));
                    };
                    match differs(device, found, value, rule) {
                        Ok(None) => {}
                        Ok(Some(how)) => return Found::Wrong(format!("{name_of}, {way}: `{output}` {how}")),
                        Err(why) => return Found::Refused(format!("{name_of}, {way}: {why}")),
                    }
                }
            }
        }
    }
    Found::Pass
}

/// The value that a file holds, of a declared type.
fn value(bytes: &[u8], ty: &ValueType) -> Result<Term, OnnxError> {
    match ty {
        ValueType::Sequence(_) => sequence(SequenceProto::decode(bytes).unwrap()),
        ValueType::Optional(_) => optional(OptionalProto::decode(bytes).unwrap()),
        _ => tensor(TensorProto::decode(bytes).unwrap()),
    }
}

fn tensor(proto: TensorProto) -> Result<Term, OnnxError> {
    let data = TensorData::from_proto(proto, "a case's")?;
    if data.elem() == ElemType::String {
        return Ok(Term::Strings(Strings { shape: data.shape().to_vec(), values: data.strings()? }));
    }
    Ok(Term::Host(data.to_host()?))
}

fn sequence(proto: SequenceProto) -> Result<Term, OnnxError> {
    let tensors = proto.tensor_values.into_iter().map(tensor);
    let sequences = proto.sequence_values.into_iter().map(sequence);
    let optionals = proto.optional_values.into_iter().map(optional);
    Ok(Term::Sequence(tensors.chain(sequences).chain(optionals).collect::<Result<_, _>>()?))
}

fn optional(proto: OptionalProto) -> Result<Term, OnnxError> {
    let item = match (proto.tensor_value, proto.sequence_value) {
        (Some(t), _) => Some(tensor(t)?),
        (None, Some(s)) => Some(sequence(s)?),
        (None, None) => None,
    };
    Ok(Term::Optional(item.map(Box::new)))
}

/// How results are compared.
#[derive(Clone, Copy)]
struct Rule {
    random: bool,
    absolute: f64,
}

/// How a result differs from the right one.
fn differs(device: &Device, found: &Term, right: &Term, rule: Rule) -> Result<Option<String>, OnnxError> {
    match (found, right) {
        (Term::Strings(a), Term::Strings(b)) => Ok((a != b).then(|| format!("is {a:?}, expected {b:?}"))),
        (Term::Sequence(a), Term::Sequence(b)) => {
            if a.len() != b.len() {
                return Ok(Some(format!("has {} items, expected {}", a.len(), b.len())));
            }
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                if let Some(how) = differs(device, a, b, rule)? {
                    return Ok(Some(format!("item {i} {how}")));
                }
            }
            Ok(None)
        }
        (Term::Optional(a), Term::Optional(b)) => match (a, b) {
            (None, None) => Ok(None),
            (Some(a), Some(b)) => differs(device, a, b, rule),
            (a, b) => Ok(Some(format!("is {a:?}, expected {b:?}"))),
        },
        (Term::Array(array), Term::Host(right)) => {
            oneir_array::eval_on(device, std::slice::from_ref(array))?;
            Ok(apart(&array.to_host()?, right, rule))
        }
        (Term::Host(found), Term::Host(right)) => Ok(apart(found, right, rule)),
        (found, right) => Ok(Some(format!("is {found:?}, expected {right:?}"))),
    }
}

/// How two tensors differ.
fn apart(found: &HostTensor, right: &HostTensor, rule: Rule) -> Option<String> {
    let spec = |t: &HostTensor| format!("{}{}", t.dtype(), t.shape());
    if spec(found) != spec(right) {
        return Some(format!("is {}, expected {}", spec(found), spec(right)));
    }
    if rule.random {
        return None;
    }
    let relative = if right.dtype() == DType::BF16 { 2f64.powi(-6) } else { 1e-3 };
    let near = |a: f64, b: f64| {
        a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= rule.absolute + relative * b.abs()
    };
    let at = match (found.values().unwrap(), right.values().unwrap()) {
        (Values::Float(a), Values::Float(b)) => a.iter().zip(&b).position(|(&a, &b)| !near(a, b)),
        (Values::Complex(a), Values::Complex(b)) => {
            a.iter().zip(&b).position(|(a, b)| !near(a.re, b.re) || !near(a.im, b.im))
        }
        (a, b) => (0..a.len()).find(|&i| a.select(&[i]) != b.select(&[i])),
    }?;
    let one = |t: &HostTensor| format!("{:?}", t.values().unwrap().select(&[at]));
    Some(format!("{}[{at}] is {}, expected {}", spec(found), one(found), one(right)))
}
