//! Reductions, softmax and norms over many shapes and layouts.

use oneir_ir::fast::{FastOp, LayerNorm, RmsNorm, Softmax};
use oneir_ir::{Primitive, Real, ReduceOp};
use oneir_runtime::Numerics;
use oneir_tensor::{DType, HostTensor};

use super::{Numbers, Stored, assert_close, device, devices, put_as_it_lies, run};

const OPS: [ReduceOp; 6] =
    [ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min, ReduceOp::All, ReduceOp::Any];

#[test]
fn reductions_of_every_dtype_and_axes() {
    let devices = devices();
    let mut numbers = Numbers::new(11);
    let shapes: &[&[usize]] =
        &[&[], &[1], &[900], &[7, 300], &[300, 7], &[3, 4, 70], &[2, 3, 4, 5], &[3, 0, 2]];
    for dtype in DType::COMPUTE.into_iter().filter(|d| !d.is_complex()) {
        for &shape in shapes {
            let x = numbers.tensor(dtype, shape, 1.0);
            for chosen in 0..1usize << shape.len() {
                let axes: Vec<usize> = (0..shape.len()).filter(|a| chosen >> a & 1 == 1).collect();
                for op in OPS {
                    let extreme = matches!(op, ReduceOp::Max | ReduceOp::Min);
                    if extreme && axes.iter().any(|&a| shape[a] == 0) {
                        continue;
                    }
                    let primitive = Primitive::Reduce { op, axes: axes.clone() };
                    let expected = primitive.evaluate(std::slice::from_ref(&x)).unwrap();
                    for (i, device) in devices[..2].iter().enumerate() {
                        for stored in Stored::ALL {
                            let what =
                                format!("{op:?} of {dtype}{shape:?} over {axes:?}, {stored:?}, device {i}");
                            let given = [stored.put(device, &x)];
                            let (found, kernels) = run(device, &primitive, &given);
                            assert_close(&expected, &found, 4.0, &what);
                            // A reduction over nothing is simplified away.
                            assert!(axes.is_empty() || kernels.contains(&"reduce"), "{what}: {kernels:?}");
                            assert!(!kernels.contains(&"reference"), "{what}: {kernels:?}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn long_sums_are_close_and_do_not_depend_on_threads() {
    let mut numbers = Numbers::new(12);
    for shape in [vec![1_300_001], vec![3, 400_000], vec![400_000, 3], vec![2000, 700]] {
        let x = numbers.tensor(DType::F32, &shape, 1.0);
        for axes in [vec![0], (0..shape.len()).collect()] {
            let primitive = Primitive::Reduce { op: ReduceOp::Sum, axes };
            let expected = primitive.evaluate(std::slice::from_ref(&x)).unwrap();
            let mut seen = Vec::new();
            for threads in [1, 2, 3] {
                let device = device(threads, Numerics::Fast, false);
                let (found, kernels) = run(&device, &primitive, &[device.put(&x).unwrap()]);
                assert_close(&expected, &found, 50.0, "a long sum");
                assert_eq!(kernels, ["reduce"]);
                seen.push(found[0].bytes().to_vec());
            }
            assert!(seen.windows(2).all(|w| w[0] == w[1]), "{shape:?}");
        }
    }
}

#[test]
fn exact_reductions_depend_on_no_other_row() {
    let mut numbers = Numbers::new(14);
    let x = numbers.tensor(DType::F32, &[70, 300_000], 1.0);
    let sum = Primitive::Reduce { op: ReduceOp::Sum, axes: vec![1] };
    let softmax = Primitive::Fast(Softmax { axis: 1 }.into());
    for primitive in [sum, softmax] {
        let device = device(2, Numerics::Exact, false);
        let all = run(&device, &primitive, &[device.put(&x).unwrap()]).0.remove(0);
        for row in [0, 33, 69] {
            let one = x.slice(&[row, 0], &[1, 1], &[1, 300_000]).unwrap();
            let alone = run(&device, &primitive, &[put_as_it_lies(&device, &one)]).0.remove(0);
            let same = all.slice(&[row, 0], &[1, 1], &[1, all.shape()[1]]).unwrap();
            assert_eq!(alone, same, "row {row}");
        }
    }
}

#[test]
fn nan_wins_wherever_it_is() {
    let device = device(2, Numerics::Fast, false);
    for n in [3, 65, 5000] {
        for at in [0, n / 2, n - 1] {
            let mut x = vec![1f32; 2 * n];
            x[n + at] = f32::NAN;
            let x = HostTensor::from_slice(&[2, n], &x).unwrap();
            for op in [ReduceOp::Max, ReduceOp::Min] {
                for stored in [Stored::Plain, Stored::Transposed] {
                    let primitive = Primitive::Reduce { op, axes: vec![1] };
                    let found =
                        run(&device, &primitive, &[stored.put(&device, &x)]).0[0].to_vec::<f32>().unwrap();
                    assert!(
                        found[0] == 1.0 && found[1].is_nan(),
                        "{op:?} of {n} with NaN at {at}: {found:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn softmax_and_norms() {
    let devices = devices();
    let mut numbers = Numbers::new(13);
    for dtype in [DType::F32, DType::F64, DType::F16, DType::BF16] {
        for shape in
            [vec![1], vec![70], vec![5, 9000], vec![3, 5, 130], vec![200, 3], vec![4, 1], vec![2, 3, 260]]
        {
            let x = numbers.tensor(dtype, &shape, 4.0);
            let n = shape[shape.len() - 1];
            let weight = numbers.tensor(dtype, &[n], 1.0);
            let bias = numbers.tensor(dtype, &[n], 1.0);
            let eps = Real::new(1e-5);
            let mut cases: Vec<(FastOp, Vec<HostTensor>, &str)> = vec![
                (LayerNorm { eps }.into(), vec![x.clone(), weight.clone(), bias.clone()], "layer_norm"),
                (RmsNorm { eps }.into(), vec![x.clone(), weight.clone()], "rms_norm"),
            ];
            cases.extend((0..shape.len()).map(|axis| (Softmax { axis }.into(), vec![x.clone()], "softmax")));
            for (op, inputs, kernel) in cases {
                let primitive = Primitive::Fast(op);
                let mut what = String::new();
                primitive.write(&mut what);
                let expected = primitive.evaluate(&inputs).unwrap();
                for (i, device) in devices.iter().enumerate() {
                    for stored in Stored::ALL {
                        let what = format!("{what} of {dtype}{shape:?}, {stored:?}, device {i}");
                        let given: Vec<_> = inputs.iter().map(|x| stored.put(device, x)).collect();
                        let (found, kernels) = run(device, &primitive, &given);
                        assert_close(&expected, &found, 4.0, &what);
                        assert!(kernels.contains(&kernel), "{what}: {kernels:?}");
                    }
                }
            }
        }
        // Weights that repeat one element, and rows of a wider tensor.
        let wide = numbers.tensor(dtype, &[6, 50], 1.0);
        let x = wide.slice(&[1, 3], &[2, 1], &[3, 40]).unwrap();
        let weight = numbers.tensor(dtype, &[1], 1.0).broadcast(&[40]).unwrap();
        let norm = Primitive::Fast(RmsNorm { eps: Real::new(1e-6) }.into());
        let expected = norm.evaluate(&[x.clone(), weight.clone()]).unwrap();
        for device in &devices {
            let given = [put_as_it_lies(device, &x), put_as_it_lies(device, &weight)];
            let (found, _) = run(device, &norm, &given);
            assert_close(&expected, &found, 4.0, "rows of a wider tensor");
        }
    }
}

#[test]
fn softmax_of_extremes() {
    let device = device(1, Numerics::Fast, false);
    let inf = f32::INFINITY;
    let x = HostTensor::from_slice(&[3, 2], &[1000f32, 1000.0, -inf, 0.0, f32::NAN, 1.0]).unwrap();
    let softmax = Primitive::Fast(Softmax { axis: 1 }.into());
    let found = run(&device, &softmax, &[device.put(&x).unwrap()]).0[0].to_vec::<f32>().unwrap();
    assert_eq!(found[..4], [0.5, 0.5, 0.0, 1.0]);
    assert!(found[4].is_nan() && found[5].is_nan());
}
