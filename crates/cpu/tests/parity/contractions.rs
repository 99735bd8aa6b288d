//! Products of many shapes and layouts, and sums that do not depend on rows,
//! batches or threads.

use oneir_ir::Primitive;
use oneir_ir::fast::{Activation, FastOp, Linear};
use oneir_runtime::Numerics;
use oneir_tensor::{DType, HostTensor};

use super::{Numbers, Stored, assert_close, device, devices, put_as_it_lies, run};

const FLOATS: [DType; 4] = [DType::F32, DType::F64, DType::F16, DType::BF16];

#[test]
fn products_of_many_shapes() {
    let devices = devices();
    let mut numbers = Numbers::new(3);
    let shapes: &[(&[usize], usize, usize, usize)] = &[
        (&[], 1, 300, 5),
        (&[], 1, 64, 200),
        (&[], 3, 17, 130),
        (&[], 16, 40, 33),
        (&[], 17, 40, 33),
        (&[], 100, 70, 90),
        (&[], 200, 3, 1),
        (&[], 5, 0, 3),
        (&[], 40, 0, 3),
        (&[0], 4, 4, 4),
        (&[3], 4, 9, 10),
        (&[2, 3], 20, 9, 40),
    ];
    for dtype in FLOATS {
        for &(batch, m, k, n) in shapes {
            let shape = |r: usize, c: usize| [batch, &[r, c]].concat();
            let a = numbers.tensor(dtype, &shape(m, k), 1.0);
            let b = numbers.tensor(dtype, &shape(k, n), 1.0);
            let c = numbers.tensor(dtype, &shape(m, n), 1.0);
            let bias = numbers.tensor(dtype, &[n], 1.0);
            let add = Primitive::AddMM { alpha: 1.5f32.to_bits(), beta: (-2f32).to_bits() };
            let linear = |activation| Primitive::Fast(FastOp::from(Linear { activation }));
            let cases: Vec<(Primitive, Vec<HostTensor>)> = vec![
                (Primitive::Matmul, vec![a.clone(), b.clone()]),
                (add, vec![a.clone(), b.clone(), c.clone()]),
                (linear(Activation::Relu), vec![a.clone(), b.clone(), bias.clone()]),
                (linear(Activation::Tanh), vec![a.clone(), b.clone(), c.clone()]),
                (linear(Activation::Sigmoid), vec![a.clone(), b.clone(), bias.clone()]),
                (linear(Activation::None), vec![a.clone(), b.clone(), bias.clone()]),
            ];
            for (primitive, inputs) in cases {
                let mut what = String::new();
                primitive.write(&mut what);
                let expected = primitive.evaluate(&inputs).unwrap();
                for (i, device) in devices.iter().enumerate() {
                    for first in Stored::ALL {
                        let second = Stored::ALL[numbers.below(4)];
                        let what =
                            format!("{what} {dtype} {batch:?} {m}·{k}·{n} {first:?} {second:?} device {i}");
                        let given: Vec<_> = inputs
                            .iter()
                            .enumerate()
                            .map(|(i, x)| if i == 1 { first.put(device, x) } else { second.put(device, x) })
                            .collect();
                        let (found, kernels) = run(device, &primitive, &given);
                        assert_close(&expected, &found, 4.0, &what);
                        assert!(!kernels.contains(&"reference"), "{what}: {kernels:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn each_method_takes_its_products() {
    let mut numbers = Numbers::new(4);
    let mut kernels = |dtype, m, n, stored: Stored, numerics| {
        let device = device(2, numerics, false);
        let a = numbers.tensor(dtype, &[m, 64], 1.0);
        let b = numbers.tensor(dtype, &[64, n], 1.0);
        let given = [Stored::Plain.put(&device, &a), stored.put(&device, &b)];
        run(&device, &Primitive::Matmul, &given).1
    };
    let (fast, exact) = (Numerics::Fast, Numerics::Exact);
    assert_eq!(kernels(DType::F32, 1, 64, Stored::Plain, fast), ["matmul_stream"]);
    assert_eq!(kernels(DType::F32, 16, 64, Stored::Transposed, fast), ["matmul_dot"]);
    assert_eq!(kernels(DType::F32, 17, 64, Stored::Transposed, fast), ["matmul_blocked"]);
    assert_eq!(kernels(DType::F64, 64, 64, Stored::Plain, fast), ["matmul_blocked"]);
    assert_eq!(kernels(DType::F64, 64, 64, Stored::Plain, exact), ["matmul_packed"]);
    assert_eq!(kernels(DType::F32, 64, 64, Stored::Transposed, exact), ["matmul_dot"]);
    assert_eq!(kernels(DType::BF16, 64, 64, Stored::Transposed, fast), ["matmul_packed"]);
    assert_eq!(kernels(DType::F32, 3, 64, Stored::Spread, exact), ["matmul_packed"]);
}

#[test]
fn exact_sums_depend_on_no_other_row() {
    let mut numbers = Numbers::new(7);
    let (m, k, n) = (45, 333, 77);
    for dtype in FLOATS {
        let a = numbers.tensor(dtype, &[m, k], 1.0);
        let b = numbers.tensor(dtype, &[k, n], 1.0);
        for stored in Stored::ALL {
            let mut seen: Vec<Vec<u8>> = Vec::new();
            for threads in [1, 2] {
                let device = device(threads, Numerics::Exact, false);
                let right = stored.put(&device, &b);
                let all = [device.put(&a).unwrap(), right.clone()];
                seen.push(run(&device, &Primitive::Matmul, &all).0[0].bytes().to_vec());
                for rows in [1, 5, 16, 20] {
                    let mut parts: Vec<u8> = Vec::new();
                    for first in (0..m).step_by(rows) {
                        let rows = rows.min(m - first);
                        let part = a.slice(&[first, 0], &[1, 1], &[rows, k]).unwrap();
                        let given = [put_as_it_lies(&device, &part), right.clone()];
                        parts.extend_from_slice(&run(&device, &Primitive::Matmul, &given).0[0].bytes());
                    }
                    seen.push(parts);
                }
            }
            assert!(seen.windows(2).all(|w| w[0] == w[1]), "{dtype} {stored:?}");
        }
    }
}

#[test]
fn batches_of_one_right_factor_become_rows() {
    let mut numbers = Numbers::new(8);
    for device in devices() {
        let a = numbers.tensor(DType::F32, &[6, 5, 40], 1.0);
        let b = numbers.tensor(DType::F32, &[1, 40, 30], 1.0).broadcast(&[6, 40, 30]).unwrap();
        let expected = Primitive::Matmul.evaluate(&[a.clone(), b.clone()]).unwrap();
        let given = [device.put(&a).unwrap(), put_as_it_lies(&device, &b)];
        let (found, _) = run(&device, &Primitive::Matmul, &given);
        assert_close(&expected, &found, 4.0, "a broadcast right factor");
    }
}
