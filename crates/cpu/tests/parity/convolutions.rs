//! Convolutions over many geometries and layouts.

use oneir_ir::Primitive;
use oneir_runtime::Numerics;
use oneir_tensor::DType;

use super::{Numbers, Stored, assert_close, device, run};

#[test]
fn convolutions_of_many_geometries() {
    let mut numbers = Numbers::new(29);
    let devices = [device(1, Numerics::Fast, true), device(2, Numerics::Fast, true)];
    let mut fast = 0;
    for round in 0..120 {
        let spatial = 1 + numbers.below(3);
        let groups = 1 + numbers.below(2);
        let (channels, rows) = (1 + numbers.below(4), 3 + numbers.below(5));
        let mut pick = |low: usize, more: usize| -> Vec<usize> {
            (0..spatial).map(|_| low + numbers.below(more)).collect()
        };
        let kernel = pick(1, 4);
        let (strides, dilations) = (pick(1, 3), pick(1, 2));
        let (low, high) = (pick(0, 3), pick(0, 3));
        let sizes: Vec<usize> = (0..spatial)
            .map(|d| (kernel[d] - 1) * dilations[d] + 1)
            .zip(pick(0, 6))
            .map(|(a, b)| a + b)
            .collect();
        let batch = 1 + numbers.below(2);
        let x_shape: Vec<usize> = [batch, groups * channels].into_iter().chain(sizes).collect();
        let w_shape: Vec<usize> = [groups * rows, channels].into_iter().chain(kernel).collect();
        let x = numbers.tensor(DType::F32, &x_shape, 1.0);
        let w = numbers.tensor(DType::F32, &w_shape, 1.0);
        let primitive = Primitive::Convolution {
            strides,
            low,
            high,
            dilations,
            input_dilations: vec![1; spatial],
            groups,
            flip: false,
        };
        let inputs = [x, w];
        let expected = primitive.evaluate(&inputs).unwrap();
        for stored in Stored::ALL {
            for device in &devices {
                let given: Vec<_> = inputs.iter().map(|x| stored.put(device, x)).collect();
                let (found, kernels) = run(device, &primitive, &given);
                assert_close(&expected, &found, 8.0, &format!("round {round}, {primitive:?}, {stored:?}"));
                fast += usize::from(kernels.contains(&"convolution_columns"));
            }
        }
    }
    assert!(fast > 500, "only {fast} took the fast kernel");
}

#[test]
fn more_columns_than_a_chunk_holds() {
    let mut numbers = Numbers::new(31);
    let (x, w) =
        (numbers.tensor(DType::F32, &[1, 40, 30, 31], 1.0), numbers.tensor(DType::F32, &[8, 40, 5, 5], 1.0));
    let primitive = Primitive::Convolution {
        strides: vec![1, 1],
        low: vec![2, 2],
        high: vec![2, 2],
        dilations: vec![1, 1],
        input_dilations: vec![1, 1],
        groups: 1,
        flip: false,
    };
    let inputs = [x, w];
    let expected = primitive.evaluate(&inputs).unwrap();
    let device = device(2, Numerics::Fast, true);
    let given: Vec<_> = inputs.iter().map(|x| Stored::Plain.put(&device, x)).collect();
    let (found, kernels) = run(&device, &primitive, &given);
    assert!(kernels.contains(&"convolution_columns"));
    assert_close(&expected, &found, 64.0, "a large convolution");
}
