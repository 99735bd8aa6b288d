//! Every kernel compiled for every instruction set that the processor has.

use std::sync::Arc;

use oneir_ir::primitive::{Case, Expected};
use oneir_ir::verify::Tolerance;
use oneir_ir::{Cut, Nature, Place, Spec, Value};
use oneir_runtime::{Device, DeviceOptions, Numerics};
use oneir_tensor::HostTensor;

use crate::simd::Level;
use crate::{CpuBackend, Kernels};

fn check(device: &Device, case: &Case, what: &str) {
    let spec = |x: &HostTensor| Spec::new(x.dtype(), x.shape().clone());
    let arguments: Vec<Value> = case.inputs.iter().map(|x| Value::placeholder(spec(x))).collect();
    let refs: Vec<&Value> = arguments.iter().collect();
    let outputs = Value::record_all(case.primitive.clone(), &refs, Place::Internal).unwrap();
    let lifted = Cut::new(&arguments, &outputs).lift().unwrap();
    let given: Vec<_> = case.inputs.iter().map(|x| device.put(x).unwrap()).collect();
    let found = device.run(&lifted.graph, &given).unwrap();
    for (f, e) in found.iter().zip(&case.primitive.evaluate(&case.inputs).unwrap()) {
        let tolerance = Tolerance::of(e.dtype());
        let tolerance = Tolerance { absolute: 4.0 * tolerance.absolute, relative: 4.0 * tolerance.relative };
        assert_eq!(tolerance.first_difference(e, &f.to_host().unwrap()), None, "{what}");
    }
}

#[test]
fn every_level_gives_what_the_reference_gives() {
    // Cases are small: tile them, so that whole vectors and tails both occur.
    let cases: Vec<Case> = oneir_ir::Primitive::cases()
        .into_iter()
        .filter(|c| !matches!(c.expected, Expected::Refused(_) | Expected::Fails(_)))
        .filter(|c| !matches!(c.primitive.nature(), Nature::Control | Nature::DataSized))
        .collect();
    for level in Level::available() {
        for numerics in [Numerics::Fast, Numerics::Exact] {
            let backend = CpuBackend::at_level(Kernels::All, 2, level);
            let options = DeviceOptions { numerics, ..DeviceOptions::default() };
            let device = Device::new("cpu", Arc::new(backend), options);
            for case in &cases {
                let what = format!("{:?} on {:?} at {level:?}, {numerics:?}", case.primitive, case.inputs);
                check(&device, case, &what);
                if case.primitive.step().is_some() {
                    check(&device, &repeated(case, 37), &what);
                }
            }
        }
    }
}

/// An element-wise case, its inputs `times` over.
fn repeated(case: &Case, times: usize) -> Case {
    let repeat = |x: &HostTensor| {
        let shape: Vec<usize> = [&[times][..], &x.shape()[..]].concat();
        let bytes = x.bytes().repeat(times);
        HostTensor::from_bytes(x.dtype(), &shape, &bytes)
    };
    match case.inputs.iter().map(repeat).collect::<Result<Vec<_>, _>>() {
        Ok(inputs) => Case { inputs, ..case.clone() },
        // Elements below a byte do not repeat by bytes.
        Err(_) => case.clone(),
    }
}
