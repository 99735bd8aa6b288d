//! Linear algebra on matrices that are large enough for the kernel.

use oneir_ir::Primitive;
use oneir_ir::primitive::LinalgOp;
use oneir_runtime::Numerics;
use oneir_tensor::{DType, HostTensor, Values};

use super::{Numbers, Stored, assert_close, device, run};

/// Matrices that are well conditioned: random ones, heavier on the diagonal.
fn heavy(dtype: DType, shape: [usize; 3], numbers: &mut Numbers) -> HostTensor {
    let [_, m, n] = shape;
    let values = numbers.tensor(dtype, &shape, 1.0).values().unwrap().to_floats();
    let on_diagonal = |i: usize| i % (m * n) / n == i % n;
    let moved =
        values.iter().enumerate().map(|(i, x)| if on_diagonal(i) { x + 9.0 + (i % 7) as f64 } else { *x });
    HostTensor::from_values(dtype, &shape, &Values::Float(moved.collect())).unwrap()
}

#[test]
fn large_matrices_give_what_the_reference_gives() {
    let mut numbers = Numbers::new(71);
    let devices = [device(1, Numerics::Fast, true), device(2, Numerics::Exact, true)];
    for op in [
        LinalgOp::Cholesky,
        LinalgOp::Inverse,
        LinalgOp::Solve,
        LinalgOp::Lu,
        LinalgOp::LuFactor,
        LinalgOp::Svd,
        LinalgOp::SvdFull,
        LinalgOp::Eigh,
        LinalgOp::Eig,
        LinalgOp::Det,
    ] {
        let square = !matches!(op, LinalgOp::Lu | LinalgOp::LuFactor | LinalgOp::Svd);
        for dtype in [DType::F32, DType::F64] {
            for shape in [[2, 50, 50], [1, 70, 50], [1, 50, 70]] {
                if square && shape[1] != shape[2] {
                    continue;
                }
                let mut inputs = vec![heavy(dtype, shape, &mut numbers)];
                if op == LinalgOp::Det {
                    // Not so large that f32 overflows.
                    let small: Vec<f64> =
                        inputs[0].values().unwrap().to_floats().iter().map(|x| x / 12.0).collect();
                    inputs[0] = HostTensor::from_values(dtype, &shape, &Values::Float(small)).unwrap();
                }
                if op == LinalgOp::Solve {
                    inputs.push(numbers.tensor(dtype, &[shape[0], shape[1], 3], 1.0));
                }
                let primitive = Primitive::Linalg(op);
                let expected = primitive.evaluate(&inputs).unwrap();
                for stored in Stored::ALL {
                    for device in &devices {
                        let given: Vec<_> = inputs.iter().map(|x| stored.put(device, x)).collect();
                        let (found, kernels) = run(device, &primitive, &given);
                        let what = format!("{op:?}, {dtype}{shape:?}, {stored:?}");
                        assert!(kernels.contains(&"faer"), "{what}: {kernels:?}");
                        assert_close(&expected, &found, 20.0, &what);
                    }
                }
            }
        }
    }
}
