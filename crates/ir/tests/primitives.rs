//! Every primitive's cases: right answers, refusals, text form.

use oneir_ir::primitive::{Case, Expected, Primitive};
use oneir_ir::text::Cursor;
use oneir_ir::{Cut, Place, Spec, Value, reference};
use oneir_tensor::{HostTensor, Values};

fn close(found: &HostTensor, expected: &HostTensor, what: &str) {
    assert_eq!(found.dtype(), expected.dtype(), "{what}");
    assert_eq!(found.shape(), expected.shape(), "{what}");
    let (a, b) = (found.values().unwrap(), expected.values().unwrap());
    match (&a, &b) {
        (Values::Float(_) | Values::Complex(_), _) => {
            for (i, (x, y)) in a.to_complex().iter().zip(b.to_complex()).enumerate() {
                let same = |x: f64, y: f64| {
                    (x.is_nan() && y.is_nan()) || x == y || (x - y).abs() <= 1e-6 * (1.0 + y.abs())
                };
                assert!(same(x.re, y.re) && same(x.im, y.im), "{what}: element {i} is {x}, expected {y}");
            }
        }
        _ => assert_eq!(a, b, "{what}"),
    }
}

fn spec(x: &HostTensor) -> Spec {
    Spec::new(x.dtype(), x.shape().clone())
}

fn text(primitive: &Primitive) -> String {
    let mut out = String::new();
    primitive.write(&mut out);
    out
}

#[test]
fn reference_gives_the_right_answers() {
    for Case { primitive, inputs, expected } in Primitive::cases() {
        let what = format!("{} on {inputs:?}", text(&primitive));
        let specs: Vec<Spec> = inputs.iter().map(spec).collect();
        let inferred = primitive.infer(&specs.iter().collect::<Vec<_>>());
        if let Expected::Refused(message) = expected {
            let error = inferred.expect_err(&what).to_string();
            assert!(error.contains(message), "{what}: {error}");
            continue;
        }
        let inferred = inferred.unwrap_or_else(|e| panic!("{what}: {e}"));
        if let Expected::Fails(message) = expected {
            let error = primitive.evaluate(&inputs).expect_err(&what).to_string();
            assert!(error.contains(message), "{what}: {error}");
            continue;
        }
        let found = primitive.evaluate(&inputs).unwrap_or_else(|e| panic!("{what}: {e}"));
        // A data-sized result is at most as large as inferred.
        if primitive.nature() != oneir_ir::Nature::DataSized {
            assert_eq!(inferred.to_vec(), found.iter().map(spec).collect::<Vec<_>>(), "{what}");
        }
        if let Expected::Results(expected) = expected {
            assert_eq!(found.len(), expected.len(), "{what}");
            for (f, e) in found.iter().zip(&expected) {
                close(f, e, &what);
            }
        }
    }
}

#[test]
fn every_primitive_brings_cases() {
    let seen: std::collections::HashSet<&str> =
        Primitive::cases().iter().map(|c| c.primitive.name()).collect();
    for name in Primitive::NAMES {
        assert!(seen.contains(name), "{name} has no cases");
    }
}

#[test]
fn lifted_graphs_give_what_primitives_give() {
    for Case { primitive, inputs, expected } in Primitive::cases() {
        if matches!(expected, Expected::Refused(_) | Expected::Fails(_)) {
            continue;
        }
        let what = format!("{} on {inputs:?}", text(&primitive));
        let arguments: Vec<Value> = inputs.iter().map(|x| Value::placeholder(spec(x))).collect();
        let refs: Vec<&Value> = arguments.iter().collect();
        let outputs = Value::record_all(primitive.clone(), &refs, Place::Internal).unwrap();
        let lifted = Cut::new(&arguments, &outputs).lift().unwrap();
        let found = reference::run(&lifted.graph, &inputs).unwrap_or_else(|e| panic!("{what}: {e}"));
        for (f, e) in found.iter().zip(&primitive.evaluate(&inputs).unwrap()) {
            close(f, e, &what);
        }
        let printed = lifted.graph.to_string();
        let parsed = printed.parse::<oneir_ir::graph::TensorGraph>();
        assert_eq!(parsed.as_ref(), Ok(&lifted.graph), "{printed}");
    }
}

#[test]
fn primitives_print_and_parse_back() {
    for case in Primitive::cases() {
        let printed = text(&case.primitive);
        let parsed = Primitive::read(&mut Cursor::new(&printed));
        assert_eq!(parsed.as_ref(), Ok(&case.primitive), "{printed}");
    }
}

#[test]
fn strided_inputs_give_the_same() {
    for Case { primitive, inputs, expected } in Primitive::cases() {
        if matches!(expected, Expected::Refused(_) | Expected::Fails(_))
            || inputs.iter().any(|x| x.dtype().size().is_none())
        {
            continue;
        }
        // The same values, every axis stored backwards.
        let reversed: Vec<HostTensor> = inputs
            .iter()
            .map(|x| {
                let start: Vec<usize> = x.shape().iter().map(|&n| n.saturating_sub(1)).collect();
                let back = vec![-1isize; x.rank()];
                let stored = x.slice(&start, &back, x.shape()).unwrap();
                let stored = HostTensor::from_bytes(x.dtype(), x.shape(), &stored.bytes()).unwrap();
                stored.slice(&start, &back, x.shape()).unwrap()
            })
            .collect();
        assert_eq!(reversed, inputs);
        let (a, b) = (primitive.evaluate(&inputs).unwrap(), primitive.evaluate(&reversed).unwrap());
        for (f, e) in b.iter().zip(&a) {
            close(f, e, &text(&primitive));
        }
    }
}
