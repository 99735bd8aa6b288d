//! Fourier transforms over many axes, sizes and layouts.

use oneir_ir::Primitive;
use oneir_ir::primitive::FftOp;
use oneir_runtime::Numerics;
use oneir_tensor::{DType, HostTensor};

use super::{Numbers, Stored, assert_close, device, run};

/// A transform with input for it.
fn transform(op: FftOp, axes: &[usize], shape: &[usize], numbers: &mut Numbers) -> (Primitive, HostTensor) {
    let sizes: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
    let mut given = shape.to_vec();
    if op == FftOp::Irfft {
        let last = axes[axes.len() - 1];
        given[last] = shape[last] / 2 + 1;
    }
    let dtype = if op == FftOp::Rfft { DType::F32 } else { DType::Complex64 };
    (Primitive::Fft { op, axes: axes.to_vec(), sizes }, numbers.tensor(dtype, &given, 1.0))
}

#[test]
fn transforms_of_many_geometries() {
    let mut numbers = Numbers::new(61);
    let devices = [device(1, Numerics::Fast, true), device(2, Numerics::Exact, true)];
    let mut fast = 0;
    for round in 0..120 {
        let op = [FftOp::Fft, FftOp::Ifft, FftOp::Rfft, FftOp::Irfft][round % 4];
        let rank = 1 + numbers.below(4);
        let shape: Vec<usize> = (0..rank).map(|_| 1 + numbers.below(12)).collect();
        let mut axes: Vec<usize> = (0..rank).collect();
        for i in 0..rank {
            axes.swap(i, numbers.below(rank));
        }
        axes.truncate(1 + numbers.below(rank));
        let (primitive, x) = transform(op, &axes, &shape, &mut numbers);
        let expected = primitive.evaluate(std::slice::from_ref(&x)).unwrap();
        for stored in Stored::ALL {
            for device in &devices {
                let (found, kernels) = run(device, &primitive, &[stored.put(device, &x)]);
                assert_close(&expected, &found, 2.0, &format!("round {round}, {primitive:?}, {stored:?}"));
                fast += usize::from(kernels.contains(&"fft"));
            }
        }
    }
    assert!(fast > 900, "only {fast} took the fast kernel");
}

#[test]
fn long_lines_do_not_depend_on_threads() {
    let mut numbers = Numbers::new(67);
    let (one, two) = (device(1, Numerics::Fast, false), device(2, Numerics::Fast, false));
    // A power of two, a product of small primes, a prime, and twice a prime.
    for n in [4096, 2700, 4099, 2 * 2003] {
        for op in [FftOp::Fft, FftOp::Ifft, FftOp::Rfft, FftOp::Irfft] {
            for (shape, axis) in [([9, n, 5], 1), ([40, n, 1], 1), ([3, 7, n], 2)] {
                let (primitive, x) = transform(op, &[axis], &shape, &mut numbers);
                let (first, _) = run(&one, &primitive, &[Stored::Plain.put(&one, &x)]);
                let (second, kernels) = run(&two, &primitive, &[Stored::Plain.put(&two, &x)]);
                assert!(kernels.contains(&"fft"));
                assert!(first[0].bytes() == second[0].bytes(), "{op:?} of {shape:?}");
                if shape[0] == 3 {
                    let expected = primitive.evaluate(std::slice::from_ref(&x)).unwrap();
                    assert_close(&expected, &first, 4.0, &format!("{op:?} of {n}"));
                }
            }
        }
    }
}
