//! Streams and events: work beside other work, reads that wait for what they
//! need only, and errors that stay with the values that they spoil.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};

use oneir_cpu as _;
use oneir_ir::graph::{Fill, TensorGraph};
use oneir_ir::primitive::{HostFunction, KernelCall, LinalgOp};
use oneir_ir::{Cut, Place, Primitive, Real, Spec, Value};
use oneir_runtime::{DeviceOptions, Evaluated, Given, Runtime, RuntimeError, Stream};
use oneir_tensor::{DType, HostTensor};
use oneir_testkit::devices;

fn pair(values: [f32; 2]) -> HostTensor {
    HostTensor::from_slice(&[2], &values).unwrap()
}

/// A kernel of two f32 that runs this function.
fn host(function: HostFunction) -> Primitive {
    Primitive::Kernel(Box::new(KernelCall {
        name: "held".into(),
        inputs: vec!["x".into()],
        outputs: vec!["y".into()],
        shapes: vec![vec![2]],
        dtypes: vec![DType::F32],
        template: Vec::new(),
        grid: vec![2],
        threadgroup: vec![1],
        init: Fill::Number(Real::new(0.0)),
        cuda: "".into(),
        cpu: function,
    }))
}

fn read(value: &Value) -> Result<Vec<f32>, RuntimeError> {
    let found = Evaluated::of(value).ok_or(RuntimeError::NeverComputed)?;
    Ok(found.to_host()?.to_vec::<f32>()?)
}

/// A read waits for its own value, not for other work of the device; work on one
/// stream waits for the values that it takes from another.
#[test]
fn a_read_waits_for_its_event_only() {
    let device = Runtime::global().device("mock").unwrap();
    let aside = device.on_new_stream().unwrap();
    assert_ne!(aside.stream(), Stream::DEFAULT);
    assert!(aside.is(&device), "one device, whatever the stream");
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let held = host(HostFunction::new(move |x: &[HostTensor]| {
        // Whoever opens the gate lets the work go on; so does a test that ended.
        _ = gate.lock().unwrap_or_else(PoisonError::into_inner).recv();
        Ok(x.to_vec())
    }));
    let x = device.put(&pair([1.0, 2.0])).unwrap().into_value();
    let slow = Value::record(held, &[&x], Place::Internal).unwrap();
    aside.evaluate(std::slice::from_ref(&slow)).unwrap();
    let after = slow.add(&x).unwrap();
    device.evaluate(std::slice::from_ref(&after)).unwrap();
    // `after` waits on the default stream for the other one: a third stream
    // neither waits for it nor for the gate.
    let free = device.on_new_stream().unwrap();
    let quick = x.add(&x).unwrap();
    free.evaluate(std::slice::from_ref(&quick)).unwrap();
    assert_eq!(read(&quick).unwrap(), [2.0, 4.0]);
    for waiting in [&slow, &after] {
        assert!(!Evaluated::of(waiting).unwrap().ready.is_done());
    }
    open.send(()).unwrap();
    assert_eq!(read(&after).unwrap(), [2.0, 4.0]);
    assert_eq!(read(&slow).unwrap(), [1.0, 2.0]);
    device.backend().synchronise().unwrap();
}

/// A kernel that gives its input, once the gate is opened.
fn gated() -> (Sender<()>, Primitive) {
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let held = host(HostFunction::new(move |x: &[HostTensor]| {
        _ = gate.lock().unwrap_or_else(PoisonError::into_inner).recv();
        Ok(x.to_vec())
    }));
    (open, held)
}

/// A plan without launches gives its inputs: they are there when each of them is.
#[test]
fn results_that_are_inputs_wait_for_them() {
    let device = Runtime::global().device("mock").unwrap();
    let device = device.with_options("late", DeviceOptions { paranoid: true, ..DeviceOptions::default() });
    let aside = device.on_new_stream().unwrap();
    let (open, held) = gated();
    let x = device.put(&pair([1.0, 2.0])).unwrap().into_value();
    let slow = Value::record(held, &[&x], Place::Internal).unwrap();
    aside.evaluate(std::slice::from_ref(&slow)).unwrap();
    let inputs = [slow, x].map(|value| Evaluated::of(&value).unwrap().clone());
    let arguments = [(); 2].map(|()| Value::placeholder(Spec::new(DType::F32, [2])));
    let view = |x: &Value| Value::record(Primitive::ExpandDims(vec![0]), &[x], Place::Internal).unwrap();
    let outputs = arguments.each_ref().map(view);
    let graph = Cut::new(&arguments, &outputs).lift().unwrap().graph;
    let given = inputs.iter().map(Given::of).collect();
    let results = device.executable(&graph, given).unwrap().run(&device, &inputs, None).unwrap();
    assert!(!results[0].ready.is_done());
    open.send(()).unwrap();
    for result in results {
        assert_eq!(result.to_host().unwrap().to_vec::<f32>().unwrap(), [1.0, 2.0]);
    }
}

/// Memory that other streams may still read is not written before they have.
#[test]
fn memory_is_taken_over_after_other_streams() {
    let device = Runtime::global().device("mock").unwrap();
    let device = device.with_options("beside", DeviceOptions::default());
    let aside = device.on_new_stream().unwrap();
    let (open, held) = gated();
    let x = device.put_writable(&pair([1.0, 2.0])).unwrap().into_value();
    let slow = Value::record(held, &[&x], Place::Internal).unwrap();
    let read_later = slow.add(&x).unwrap();
    aside.evaluate(std::slice::from_ref(&read_later)).unwrap();
    let update = Primitive::SliceUpdate { start: vec![0], step: vec![1], len: vec![1] };
    let seven = device.put(&HostTensor::from_slice(&[1], &[7f32]).unwrap()).unwrap().into_value();
    let written = Value::record(update, &[&x, &seven], Place::Internal).unwrap();
    drop((x, slow));
    device.evaluate(std::slice::from_ref(&written)).unwrap();
    open.send(()).unwrap();
    assert_eq!(read(&written).unwrap(), [7.0, 2.0]);
    assert_eq!(read(&read_later).unwrap(), [2.0, 4.0]);
}

/// What an op without a result feeds fails by that op's name; everything else
/// of the device is as it was.
#[test]
fn an_error_of_the_data_follows_the_values() {
    for device in devices().unwrap() {
        let name = device.name().to_owned();
        let singular = HostTensor::from_slice(&[2, 2], &[1f32, 1.0, 1.0, 1.0]).unwrap();
        let singular = device.put(&singular).unwrap().into_value();
        let inverse =
            Value::record(Primitive::Linalg(LinalgOp::Inverse), &[&singular], Place::Internal).unwrap();
        let first = device.evaluate(std::slice::from_ref(&inverse));
        let fed = inverse.add(&singular).unwrap();
        let told = first
            .and_then(|()| device.evaluate(std::slice::from_ref(&fed)))
            .and_then(|()| read(&fed))
            .unwrap_err()
            .to_string();
        assert!(told.contains("inverse") || told.contains("linalg"), "{name}: {told}");
        let fine = singular.add(&singular).unwrap();
        device.evaluate(std::slice::from_ref(&fine)).unwrap();
        assert_eq!(read(&fine).unwrap(), [2.0; 4], "{name}");
    }
}

fn sum_of_two() -> TensorGraph {
    let x = Value::placeholder(Spec::new(DType::F32, [2]));
    let y = x.add(&x).unwrap();
    Cut::new(&[x], &[y]).lift().unwrap().graph
}

/// A plan is made for layouts and alignment classes, and refuses memory that is
/// not as it was told.
#[test]
fn plans_are_keyed_by_alignment() {
    let device = Runtime::global().device("mock").unwrap();
    let device = device.with_options("aligned", device.options());
    let graph = sum_of_two();
    let values: Vec<Evaluated> = (0..8).map(|i| device.put(&pair([i as f32, 1.0])).unwrap()).collect();
    let of = |class| values.iter().find(|v| v.memory.alignment() == class).unwrap().clone();
    let (odd, even) = (of(1), of(64));
    for value in [&odd, &even, &odd, &even] {
        device.run(&graph, std::slice::from_ref(value)).unwrap();
    }
    let counts = device.cache_counts();
    assert_eq!((counts.plans, counts.misses, counts.skeleton_hits, counts.plan_hits), (2, 1, 1, 2));
    let strict = device.executable(&graph, vec![Given::of(&even)]).unwrap();
    let error = strict.run(&device, std::slice::from_ref(&odd), None).unwrap_err().to_string();
    assert!(error.contains("multiple of 64"), "{error}");
    let backwards = Evaluated {
        layout: oneir_tensor::Layout { offset: 1, shape: [2].into(), strides: [-1].into_iter().collect() },
        ..even.clone()
    };
    assert!(strict.run(&device, std::slice::from_ref(&backwards), None).is_err());
    assert!(strict.run(&device, std::slice::from_ref(&even), None).is_ok());
}
