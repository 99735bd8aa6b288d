//! Sorting and scans over many dtypes, sizes and layouts: the reference's bits.

use num_complex::Complex64;
use oneir_ir::Primitive;
use oneir_ir::primitive::ScanOp;
use oneir_runtime::{Device, Numerics};
use oneir_tensor::{DType, HostTensor, Values};

use super::{Numbers, Stored, device, run};

/// Few numbers, so that many are equal, some of them zeros of either sign, and no
/// number here and there; or, of integers, numbers of all magnitudes.
fn mixed(dtype: DType, shape: &[usize], numbers: &mut Numbers) -> HostTensor {
    let count = shape.iter().product();
    if dtype.is_complex() {
        let mut part = || match numbers.below(9) {
            0 => f64::NAN,
            1 => -0.0,
            k => (k % 4) as f64,
        };
        let pairs = Values::Complex((0..count).map(|_| Complex64::new(part(), part())).collect());
        return HostTensor::from_values(dtype, shape, &pairs).unwrap();
    }
    if dtype.is_float() {
        let mut one = || match numbers.below(12) {
            0 => f64::NAN,
            1 => -0.0,
            2 => 0.0,
            3 => f64::INFINITY,
            4 => f64::NEG_INFINITY,
            5 => numbers.float(1e-6),
            _ => numbers.float(100.0),
        };
        let floats = Values::Float((0..count).map(|_| one()).collect());
        return HostTensor::from_values(dtype, shape, &floats.convert(dtype)).unwrap();
    }
    let size = dtype.size().unwrap();
    let mask = if dtype == DType::Bool { 1 } else { u64::MAX };
    let bytes: Vec<u8> = (0..count)
        .flat_map(|_| ((numbers.next() << numbers.below(40)) & mask).to_le_bytes()[..size].to_vec())
        .collect();
    HostTensor::from_bytes(dtype, shape, &bytes).unwrap()
}

/// Runs on every device and layout, and compares bits.
fn check(devices: &[Device], kernel: &str, primitive: &Primitive, x: &HostTensor, what: &str) {
    let expected = primitive.evaluate(std::slice::from_ref(x)).unwrap();
    for stored in Stored::ALL {
        for (at, device) in devices.iter().enumerate() {
            let (found, kernels) = run(device, primitive, &[stored.put(device, x)]);
            let what =
                format!("{what}: {primitive:?} of {}{}, {stored:?}, device {at}", x.dtype(), x.shape());
            assert!(kernels.contains(&kernel), "{what}: {kernels:?}");
            assert_eq!((found[0].dtype(), found[0].shape()), (expected[0].dtype(), expected[0].shape()));
            let (found, expected) = (&found[0], &expected[0]);
            if kernel == "sort" {
                assert!(found.bytes() == expected.bytes(), "{what}: other bytes");
            } else if let Some(at) = bits(found).iter().zip(&bits(expected)).position(|(a, b)| a != b) {
                panic!("{what}: number {at} differs");
            }
        }
    }
}

/// The bits of each number. All that is no number counts as one: which kind of it
/// arithmetic gives is left to the compiler.
fn bits(x: &HostTensor) -> Vec<u64> {
    let one = |x: f64| if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() };
    match x.values().unwrap() {
        Values::Float(floats) => floats.into_iter().map(one).collect(),
        Values::Complex(pairs) => pairs.into_iter().flat_map(|z| [one(z.re), one(z.im)]).collect(),
        values => values.to_ints().unwrap().iter().map(|&x| x as u64).collect(),
    }
}

fn both() -> [Device; 2] {
    [device(1, Numerics::Fast, true), device(3, Numerics::Exact, true)]
}

/// Shapes with an axis: lines of many lengths, side by side and not; nothing.
const SHAPES: [(&[usize], usize); 10] = [
    (&[7], 0),
    (&[1], 0),
    (&[0], 0),
    (&[3, 0, 2], 1),
    (&[0, 3], 1),
    (&[5, 9], 1),
    (&[9, 21], 0),
    (&[4, 30, 3], 1),
    (&[2, 11, 70], 1),
    (&[13, 300], 1),
];

#[test]
fn every_dtype_is_sorted_as_the_reference_does() {
    let mut numbers = Numbers::new(83);
    let devices = both();
    for dtype in DType::COMPUTE {
        for (shape, axis) in SHAPES {
            let x = mixed(dtype, shape, &mut numbers);
            check(&devices, "sort", &Primitive::Sort { axis }, &x, "sorted");
            check(&devices, "sort", &Primitive::ArgSort { axis }, &x, "places");
        }
    }
}

#[test]
fn long_lines_are_sorted_digit_by_digit_and_shared() {
    let mut numbers = Numbers::new(89);
    let devices = both();
    for dtype in DType::COMPUTE {
        for (shape, axis) in [(&[40_000usize][..], 0), (&[2, 5_000], 1), (&[5_000, 3], 0)] {
            let x = mixed(dtype, shape, &mut numbers);
            check(&devices, "sort", &Primitive::Sort { axis }, &x, "sorted");
            check(&devices, "sort", &Primitive::ArgSort { axis }, &x, "places");
        }
    }
}

#[test]
fn scans_have_the_bits_of_the_reference() {
    let mut numbers = Numbers::new(97);
    let devices = both();
    for dtype in DType::COMPUTE {
        for op in [ScanOp::Sum, ScanOp::Prod, ScanOp::Max, ScanOp::Min, ScanOp::LogAddExp] {
            if op.result(dtype).is_err() {
                continue;
            }
            for (round, (shape, axis)) in SHAPES.into_iter().enumerate() {
                // What is not finite soon hides all else: only in some.
                let x = if round % 3 == 0 {
                    mixed(dtype, shape, &mut numbers)
                } else {
                    numbers.tensor(dtype, shape, 1.5)
                };
                for (reverse, inclusive) in [(false, true), (false, false), (true, true), (true, false)] {
                    check(&devices, "scan", &Primitive::Scan { op, axis, reverse, inclusive }, &x, "scan");
                }
            }
        }
    }
}

#[test]
fn long_sums_have_the_bits_of_the_reference() {
    let mut numbers = Numbers::new(101);
    let devices = both();
    for dtype in [DType::F16, DType::F32, DType::I32, DType::Complex64] {
        for (shape, axis) in [(&[70_000usize][..], 0), (&[9, 9_000], 1), (&[900, 130], 0)] {
            let x = numbers.tensor(dtype, shape, 0.1);
            let primitive = Primitive::Scan { op: ScanOp::Sum, axis, reverse: false, inclusive: true };
            check(&devices, "scan", &primitive, &x, "long");
        }
    }
}
