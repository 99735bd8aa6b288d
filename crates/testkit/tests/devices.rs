//! The same programs on every device: the CPU, without fast kernels, without
//! fusion, and the mock device; in both numerics modes.

use oneir_cpu as _;
use oneir_ir::primitive::{Case, EvalError, Expected, Primitive};
use oneir_ir::verify::{Tolerance, sample};
use oneir_ir::{Cut, Place, Spec, Value, reference};
use oneir_runtime::{Device, Evaluated};
use oneir_tensor::HostTensor;
use oneir_testkit::{devices, numerics_modes, program};

fn close(device: &Device, expected: &HostTensor, found: &HostTensor, what: &str) {
    assert_eq!(
        (found.dtype(), found.shape()),
        (expected.dtype(), expected.shape()),
        "{}: {what}",
        device.name()
    );
    let t = Tolerance::of(expected.dtype());
    let wide = Tolerance { absolute: 4.0 * t.absolute, relative: 4.0 * t.relative };
    if let Some(at) = wide.first_difference(expected, found) {
        panic!("{}: {what}: element {at} of\n{found:?}\nexpected\n{expected:?}", device.name());
    }
}

/// Records a primitive on a device's values, evaluates, and compares.
fn check(device: &Device, case: &Case) {
    let mut name = String::new();
    case.primitive.write(&mut name);
    let what = format!("{name} on {:?}", case.inputs);
    let inputs: Vec<Value> = case.inputs.iter().map(|x| device.put(x).unwrap().into_value()).collect();
    let outputs =
        Value::record_all(case.primitive.clone(), &inputs.iter().collect::<Vec<_>>(), Place::Internal)
            .unwrap();
    let expected = case.primitive.evaluate(&case.inputs);
    let result = device.evaluate(&outputs).map_err(|e| e.to_string()).and_then(|()| {
        outputs
            .iter()
            .map(|v| Evaluated::of(v).unwrap().to_host().map_err(|e| e.to_string()))
            .collect::<Result<Vec<_>, _>>()
    });
    match (expected, result) {
        (Ok(expected), Ok(found)) => {
            for (e, f) in expected.iter().zip(&found) {
                close(device, e, f, &what);
            }
        }
        // A kernel without a source is refused before it runs.
        (Err(EvalError::NoSource { .. }), Err(f)) => {
            assert!(f.contains("no kernel for `kernel double`"), "{f}")
        }
        (Err(e), Err(f)) => assert!(f.contains(&e.to_string()), "{}: {what}: {f} but {e}", device.name()),
        (e, f) => panic!("{}: {what}: {f:?} but {e:?}", device.name()),
    }
}

#[test]
fn every_case_on_every_device() {
    for device in devices().unwrap() {
        for case in Primitive::cases() {
            if !matches!(case.expected, Expected::Refused(_)) {
                check(&device, &case);
            }
        }
    }
}

#[test]
fn random_programs_on_every_device() {
    for device in devices().unwrap().iter().flat_map(numerics_modes) {
        for seed in 0..60 {
            let (inputs, outputs) = program(seed, 24).unwrap();
            let lifted = Cut::new(&inputs, &outputs).lift().unwrap().graph;
            let values: Vec<HostTensor> = lifted
                .inputs
                .iter()
                .map(|&id| sample(lifted.tensor(id), seed + u64::from(id.0)).unwrap())
                .collect();
            let expected = reference::run(&lifted, &values).unwrap();
            let given: Vec<Evaluated> = values.iter().map(|v| device.put(v).unwrap()).collect();
            let found = device.run(&lifted, &given).unwrap_or_else(|e| panic!("seed {seed}: {e}\n{lifted}"));
            for (e, f) in expected.iter().zip(&found) {
                close(&device, e, &f.to_host().unwrap(), &format!("seed {seed}\n{lifted}"));
            }
            // The same again: a plan that is there already.
            let again = device.run(&lifted, &given).unwrap();
            for (a, b) in found.iter().zip(&again) {
                assert_eq!(a.to_host().unwrap(), b.to_host().unwrap());
            }
            assert!(device.cache_counts().plan_hits > seed);
        }
    }
}

#[test]
fn strided_arguments_are_read_in_place() {
    for device in devices().unwrap() {
        let base = HostTensor::from_slice(&[3, 4], &(0..12).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
        let x = device.put(&base).unwrap().into_value();
        let turned = x.transpose(&[1, 0]).unwrap();
        device.evaluate(std::slice::from_ref(&turned)).unwrap();
        let (whole, view) = (Evaluated::of(&x).unwrap(), Evaluated::of(&turned).unwrap());
        assert!(
            std::sync::Arc::ptr_eq(&whole.memory, &view.memory),
            "{}: a view moves no bytes",
            device.name()
        );
        let sum = turned.add(&turned).unwrap();
        device.evaluate(std::slice::from_ref(&sum)).unwrap();
        let found = Evaluated::of(&sum).unwrap().to_host().unwrap();
        let expected = base.transpose(&[1, 0]).unwrap().values().unwrap().to_floats();
        let doubled: Vec<f64> = expected.iter().map(|x| 2.0 * x).collect();
        assert_eq!(found.values().unwrap().to_floats(), doubled, "{}", device.name());
    }
}

#[test]
fn values_that_others_hold_are_kept() {
    let device = devices().unwrap().remove(0);
    let x = device.put(&HostTensor::from_slice(&[2], &[1f32, 2.0]).unwrap()).unwrap().into_value();
    let middle = x.add(&x).unwrap();
    let (first, dropped) = (middle.multiply(&x).unwrap(), middle.subtract(&x).unwrap());
    drop(dropped);
    device.evaluate(std::slice::from_ref(&first)).unwrap();
    assert!(Evaluated::of(&middle).is_some(), "the middle is still held, so it is kept");
    let spec = Spec::new(oneir_tensor::DType::F32, [2]);
    assert_eq!(Evaluated::of(&first).unwrap().spec(), spec);
}
