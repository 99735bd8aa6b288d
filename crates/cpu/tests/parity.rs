//! Every kernel against the reference evaluation, with operands that lie in
//! many ways, and which kernel took what.

use std::sync::Arc;

use oneir_cpu::{CpuBackend, Kernels};
use oneir_ir::primitive::{Case, Expected};
use oneir_ir::verify::Tolerance;
use oneir_ir::{Cut, Nature, Place, Primitive, Spec, Value};
use oneir_runtime::{Device, DeviceOptions, Evaluated, Given, Numerics};
use oneir_tensor::{DType, HostTensor, Layout};

#[path = "parity/contractions.rs"]
mod contractions;
#[path = "parity/convolutions.rs"]
mod convolutions;
#[path = "parity/fourier.rs"]
mod fourier;
#[path = "parity/gathers.rs"]
mod gathers;
#[cfg(feature = "faer")]
#[path = "parity/matrices.rs"]
mod matrices;
#[path = "parity/order.rs"]
mod order;
#[path = "parity/regions.rs"]
mod regions;
#[path = "parity/rows.rs"]
mod rows;
#[path = "parity/windows.rs"]
mod windows;

pub(crate) fn device(threads: usize, numerics: Numerics, paranoid: bool) -> Device {
    let options = DeviceOptions { paranoid, numerics, ..DeviceOptions::default() };
    Device::new("cpu", Arc::new(CpuBackend::with_threads(Kernels::All, threads)), options)
}

pub(crate) fn devices() -> Vec<Device> {
    vec![
        device(1, Numerics::Fast, false),
        device(2, Numerics::Fast, true),
        device(2, Numerics::Exact, false),
        device(1, Numerics::Exact, true),
    ]
}

/// How an input is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    Plain,
    Reversed,
    Transposed,
    Spread,
}

impl Stored {
    pub(crate) const ALL: [Stored; 4] = [Stored::Plain, Stored::Reversed, Stored::Transposed, Stored::Spread];

    /// The value in a device's memory, stored so.
    pub(crate) fn put(self, device: &Device, x: &HostTensor) -> Evaluated {
        if x.dtype().size().is_none() || self == Stored::Plain {
            return device.put(&x.contiguous().unwrap()).unwrap();
        }
        let axes: Vec<usize> = (0..x.rank()).rev().collect();
        let start: Vec<usize> = x.shape().iter().map(|&n| n.saturating_sub(1)).collect();
        let back = vec![-1isize; x.rank()];
        let (stored, layout) = match self {
            Stored::Plain => unreachable!(),
            Stored::Reversed => {
                let stored = x.slice(&start, &back, x.shape()).unwrap();
                let layout = Layout::contiguous(x.shape()).slice(&start, &back, x.shape()).unwrap();
                (stored, layout)
            }
            Stored::Transposed => {
                let stored = x.transpose(&axes).unwrap();
                let layout = Layout::contiguous(stored.shape()).transpose(&axes).unwrap();
                (stored, layout)
            }
            Stored::Spread => {
                // Every second element of twice as long rows, from the second on.
                let mut wide = x.shape().clone();
                if let Some(last) = wide.last_mut() {
                    *last *= 2;
                }
                let mut between = x.shape().clone();
                between.push(2);
                let mut one = x.shape().clone();
                one.push(1);
                let pair = x.reshape(&one).unwrap().broadcast(&between).unwrap();
                if x.rank() == 0 {
                    return Stored::Plain.put(device, x);
                }
                let mut first = vec![0; x.rank()];
                let mut step = vec![1; x.rank()];
                step[x.rank() - 1] = 2;
                if x.count() > 0 {
                    first[x.rank() - 1] = 1;
                }
                let layout = Layout::contiguous(&wide).slice(&first, &step, x.shape()).unwrap();
                (pair.contiguous().unwrap().reshape(&wide).unwrap(), layout)
            }
        };
        let stored = HostTensor::from_bytes(x.dtype(), stored.shape(), &stored.bytes()).unwrap();
        Evaluated { layout, ..device.put(&stored).unwrap() }
    }
}

/// A value read through the layout of the host tensor itself.
pub(crate) fn put_as_it_lies(device: &Device, x: &HostTensor) -> Evaluated {
    let all = x.buffer().len() / x.dtype().size().unwrap();
    let whole = HostTensor::from_bytes(x.dtype(), &[all], x.buffer().bytes()).unwrap();
    Evaluated { layout: x.layout().clone(), ..device.put(&whole).unwrap() }
}

/// The results of a primitive on a device, and the kernels that made them.
pub(crate) fn run(
    device: &Device,
    primitive: &Primitive,
    inputs: &[Evaluated],
) -> (Vec<HostTensor>, Vec<&'static str>) {
    let arguments: Vec<Value> = inputs.iter().map(|x| Value::placeholder(x.spec())).collect();
    let outputs =
        Value::record_all(primitive.clone(), &arguments.iter().collect::<Vec<_>>(), Place::Internal).unwrap();
    run_values(device, &arguments, &outputs, inputs)
}

pub(crate) fn run_values(
    device: &Device,
    arguments: &[Value],
    outputs: &[Value],
    inputs: &[Evaluated],
) -> (Vec<HostTensor>, Vec<&'static str>) {
    let lifted = Cut::new(arguments, outputs).lift().unwrap();
    let executable = device.executable(&lifted.graph, inputs.iter().map(Given::of).collect()).unwrap();
    let plan = executable.plan();
    let kernels = plan.launches.iter().chain(&plan.prologue).map(|l| l.prepared.kernel).collect();
    let results = executable.run(device, inputs, None).unwrap();
    (results.iter().map(|r| r.to_host().unwrap()).collect(), kernels)
}

/// As the reference's tolerance, a little wider for long sums.
pub(crate) fn assert_close(expected: &[HostTensor], found: &[HostTensor], scale: f64, what: &str) {
    assert_eq!(expected.len(), found.len(), "{what}");
    for (e, f) in expected.iter().zip(found) {
        assert_eq!((e.dtype(), e.shape()), (f.dtype(), f.shape()), "{what}");
        let tolerance = Tolerance::of(e.dtype());
        let tolerance =
            Tolerance { absolute: tolerance.absolute * scale, relative: tolerance.relative * scale };
        if let Some(at) = tolerance.first_difference(e, f) {
            let show = |t: &HostTensor| format!("{:?}", t.values().map(|v| v.select(&[at])));
            panic!("{what}: element {at} is {}, expected {}", show(f), show(e));
        }
    }
}

/// Numbers from a fixed seed.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Numbers {
        Numbers(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 >> 16
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// Within ±`scale`.
    pub(crate) fn float(&mut self, scale: f64) -> f64 {
        (self.next() % (1 << 24)) as f64 / f64::from(1 << 23) * scale - scale
    }

    pub(crate) fn tensor(&mut self, dtype: DType, shape: &[usize], scale: f64) -> HostTensor {
        let count = shape.iter().product();
        let numbers: Vec<f64> = (0..count).map(|_| self.float(scale)).collect();
        let values = oneir_tensor::Values::Float(numbers);
        let values = if dtype == DType::Bool {
            oneir_tensor::Values::Bool((0..count).map(|_| self.below(2) == 1).collect())
        } else {
            values.convert(dtype)
        };
        HostTensor::from_values(dtype, shape, &values).unwrap()
    }
}

/// What the fast kernels compute.
const FAST: &[&str] = &[
    "unary",
    "binary",
    "select",
    "compiled",
    "matmul",
    "add_mm",
    "linear",
    "reduce",
    "softmax",
    "layer_norm",
    "rms_norm",
    "sort",
    "arg_sort",
    "scan",
];

/// Whether a fast kernel must take the case.
fn is_fast(primitive: &Primitive, inputs: &[HostTensor]) -> bool {
    let takes = |d: DType| d.computes() && !d.is_complex();
    let all = inputs.iter().all(|x| takes(x.dtype()));
    match primitive {
        Primitive::AsType(to) => all && takes(*to),
        Primitive::Fast(fast) => all && FAST.contains(&fast.name()),
        _ => all && FAST.contains(&primitive.name()),
    }
}

#[test]
fn every_case_gives_what_the_reference_gives() {
    let devices = devices();
    for Case { primitive, inputs, expected } in Primitive::cases() {
        if matches!(expected, Expected::Refused(_) | Expected::Fails(_)) {
            continue;
        }
        let mut text = String::new();
        primitive.write(&mut text);
        let expected = primitive.evaluate(&inputs).unwrap();
        let waits = matches!(primitive.nature(), Nature::Control | Nature::DataSized);
        for stored in Stored::ALL {
            for (at, device) in devices.iter().enumerate() {
                let what = format!("{text} on {inputs:?}, {stored:?}, device {at}");
                let given: Vec<Evaluated> = inputs.iter().map(|x| stored.put(device, x)).collect();
                let (found, kernels) = run(device, &primitive, &given);
                assert_close(&expected, &found, 2.0, &what);
                if !waits && is_fast(&primitive, &inputs) {
                    assert!(!kernels.contains(&"reference"), "{what}: {kernels:?}");
                }
            }
        }
    }
}

#[test]
fn evaluation_of_recorded_values_uses_the_same_kernels() {
    let device = device(2, Numerics::Fast, true);
    let x = HostTensor::from_slice(&[2, 3], &[1f32, -2.0, 3.0, -4.0, 5.0, -6.0]).unwrap();
    let leaf = device.put(&x).unwrap().into_value();
    let y = leaf.multiply(&leaf).unwrap().add(&leaf.filled_like(0.5).unwrap()).unwrap();
    device.evaluate(std::slice::from_ref(&y)).unwrap();
    let found = Evaluated::of(&y).unwrap().to_host().unwrap();
    assert_eq!(found.to_vec::<f32>().unwrap(), [1.5, 4.5, 9.5, 16.5, 25.5, 36.5]);
    _ = Spec::new(DType::F32, [2]);
}
