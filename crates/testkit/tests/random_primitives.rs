//! Primitives with random parameters on random inputs: what is refused is
//! refused with a message, what is recorded is computed, and nothing panics.

use std::panic::{AssertUnwindSafe, catch_unwind};

use oneir_cpu as _;
use oneir_ir::primitive::Case;
use oneir_ir::text::Cursor;
use oneir_ir::verify::Tolerance;
use oneir_ir::{Nature, Place, Primitive, Value};
use oneir_runtime::{Device, Evaluated};
use oneir_tensor::{DType, HostTensor};
use oneir_testkit::Random;

/// How many are tried.
const TRIES: usize = 20_000;
/// More elements than this are recorded but not computed.
const MOST: usize = 1 << 16;

/// The text of a primitive with some of its numbers changed.
fn changed(text: &str, random: &mut Random) -> String {
    let numbers =
        ["0", "1", "2", "3", "5", "7", "16", "-1", "-2", "65536", "4294967296", "9223372036854775807"];
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let name = rest[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '.');
        let len = rest[at..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - at);
        let number = &rest[at..at + len];
        out.push_str(&rest[..at]);
        let keep = name || random.below(4) > 0;
        let other = numbers[random.below(numbers.len())];
        out.push_str(if keep { number } else { other });
        rest = &rest[at + len..];
    }
    out + rest
}

/// An input like another, with another dtype, size or order, or the same.
fn input(like: &HostTensor, random: &mut Random) -> Option<HostTensor> {
    let mut shape = like.shape().to_vec();
    let mut dtype = like.dtype();
    match random.below(8) {
        0 => dtype = *random.of(&DType::ALL[..14]),
        1 if !shape.is_empty() => {
            let axis = random.below(shape.len());
            shape[axis] = random.below(6);
        }
        2 => shape.insert(random.below(shape.len() + 1), random.below(4)),
        3 => _ = shape.pop(),
        _ => return Some(like.clone()),
    }
    let count = shape.iter().try_fold(1usize, |n, &size| n.checked_mul(size)).filter(|&n| n <= MOST);
    let Some(count) = count else { return Some(like.clone()) };
    let all = like.values().ok()?;
    let places: Vec<usize> = (0..count).map(|i| i % all.len().max(1)).collect();
    if all.is_empty() && count > 0 {
        return HostTensor::zeros(dtype, &shape).ok();
    }
    HostTensor::from_values(dtype, &shape, &all.select(&places)).ok()
}

/// Records and computes; nothing where the inputs are refused or the results are
/// too many.
fn run(
    device: &Device,
    primitive: &Primitive,
    inputs: &[HostTensor],
) -> Option<Result<Vec<HostTensor>, String>> {
    let put = |x: &HostTensor| device.put(x).expect("small inputs can be put").into_value();
    let arguments: Vec<Value> = inputs.iter().map(put).collect();
    let references: Vec<&Value> = arguments.iter().collect();
    let results = Value::record_all(primitive.clone(), &references, Place::Internal).ok()?;
    if results.iter().map(|r| r.spec().count()).sum::<usize>() > MOST {
        return None;
    }
    // An error of the data may come when a value is read.
    let read = |value: &Value| Evaluated::of(value).expect("it was computed").to_host();
    let found =
        device.evaluate(&results).and_then(|()| results.iter().map(read).collect::<Result<Vec<_>, _>>());
    if let (Ok(found), false) = (&found, primitive.nature() == Nature::DataSized) {
        for (found, result) in found.iter().zip(&results) {
            assert_eq!((found.shape(), found.dtype()), (&result.spec().shape, result.spec().dtype));
        }
    }
    Some(found.map_err(|e| e.to_string()))
}

/// Why a device's results are not the reference's, if they are not.
fn difference(
    primitive: &Primitive,
    inputs: &[HostTensor],
    found: &Option<Result<Vec<HostTensor>, String>>,
) -> Option<String> {
    match (found.as_ref()?, primitive.evaluate(inputs)) {
        (Ok(found), Ok(expected)) => expected.iter().zip(found).find_map(|(e, f)| {
            let t = Tolerance::of(e.dtype());
            let wide = Tolerance { absolute: 16.0 * t.absolute, relative: 16.0 * t.relative };
            let at = wide.first_difference(e, f)?;
            Some(format!("element {at} of {f:?}, expected {e:?}"))
        }),
        (Err(_), Err(_)) => None,
        (Ok(_), Err(e)) => Some(format!("a result where the reference has none: {e}")),
        (Err(e), Ok(_)) => Some(format!("no result where the reference has one: {e}")),
    }
}

#[test]
fn nothing_panics_and_all_devices_agree() {
    let cases: Vec<Case> = Primitive::cases();
    let devices = oneir_testkit::devices().unwrap();
    let mut random = Random::new(4);
    let (mut tried, mut computed) = (0, 0);
    std::panic::set_hook(Box::new(|_| ()));
    let mut faults = Vec::new();
    while tried < TRIES {
        let case = random.of(&cases);
        let mut text = String::new();
        case.primitive.write(&mut text);
        // Graphs in parameters have a verifier of their own.
        let text = if text.contains("graph") { text } else { changed(&text, &mut random) };
        let Ok(primitive) = Primitive::read(&mut Cursor::new(&text)) else { continue };
        let mut inputs: Vec<HostTensor> = case.inputs.iter().filter_map(|x| input(x, &mut random)).collect();
        if random.below(20) == 0 {
            inputs.pop();
        }
        tried += 1;
        let specs: Vec<String> = inputs.iter().map(|x| format!("{}{:?}", x.dtype(), x.shape())).collect();
        for device in &devices {
            let found = catch_unwind(AssertUnwindSafe(|| {
                let found = run(device, &primitive, &inputs);
                computed += usize::from(matches!(found, Some(Ok(_))));
                difference(&primitive, &inputs, &found)
            }));
            let why = match found {
                Ok(None) => continue,
                Ok(Some(why)) => why,
                Err(panic) => {
                    let text = panic.downcast_ref::<String>().cloned();
                    let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
                    format!("a panic: {}", text.unwrap_or_default())
                }
            };
            faults.push(format!("{}: {text} of {specs:?}: {why}", device.name()));
        }
    }
    _ = std::panic::take_hook();
    assert!(faults.is_empty(), "{} of {tried}:\n{}", faults.len(), faults[..faults.len().min(12)].join("\n"));
    assert!(computed > TRIES / 10, "{computed} of {tried} were computed");
}
