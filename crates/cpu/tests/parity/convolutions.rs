//! Convolutions over many geometries and layouts.

use oneir_ir::Primitive;
use oneir_runtime::Numerics;
use oneir_tensor::DType;

use super::{Numbers, Stored, assert_close, device, run};

/// A convolution over planes.
fn convolution(
    strides: [usize; 2],
    low: [usize; 2],
    high: [usize; 2],
    dilations: [usize; 2],
    groups: usize,
) -> Primitive {
    Primitive::Convolution {
        strides: strides.to_vec(),
        low: low.to_vec(),
        high: high.to_vec(),
        dilations: dilations.to_vec(),
        input_dilations: vec![1, 1],
        groups,
        flip: false,
    }
}

#[test]
fn convolutions_of_many_geometries() {
    let mut numbers = Numbers::new(29);
    let devices =
        [device(1, Numerics::Fast, true), device(2, Numerics::Fast, true), device(2, Numerics::Exact, true)];
    let mut fast = std::collections::BTreeMap::<&str, usize>::new();
    for round in 0..120 {
        let spatial = 1 + numbers.below(3);
        let groups = 1 + numbers.below(2);
        let (channels, rows) = (1 + numbers.below(4), 1 + numbers.below(9));
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
                for kernel in kernels {
                    *fast.entry(kernel).or_default() += 1;
                }
            }
        }
    }
    assert!(fast["convolution_columns"] > 200 && fast["convolution_direct"] > 300, "{fast:?}");
}

#[test]
fn more_columns_than_a_chunk_holds() {
    let mut numbers = Numbers::new(31);
    let (x, w) =
        (numbers.tensor(DType::F32, &[1, 40, 30, 31], 1.0), numbers.tensor(DType::F32, &[70, 40, 5, 5], 1.0));
    let primitive = convolution([1, 1], [2, 2], [2, 2], [1, 1], 1);
    let inputs = [x, w];
    let expected = primitive.evaluate(&inputs).unwrap();
    let device = device(2, Numerics::Fast, true);
    let given: Vec<_> = inputs.iter().map(|x| Stored::Plain.put(&device, x)).collect();
    let (found, kernels) = run(&device, &primitive, &given);
    assert!(kernels.contains(&"convolution_columns"));
    assert_close(&expected, &found, 64.0, "a large convolution");
}

/// Windows that are copied one by one: strided, dilated, padded, in groups.
#[test]
fn convolutions_with_few_windows() {
    let mut numbers = Numbers::new(41);
    for (batch, groups, rows, channels, kernel, out, stride, dilation, low) in [
        (1, 1, 258, 1, [1, 256], [1, 4], 128, 1, 0),
        (1, 1, 70, 129, [1, 3], [1, 3], 2, 1, 1),
        (2, 2, 13, 33, [2, 3], [2, 2], 1, 2, 1),
        (1, 3, 17, 20, [3, 2], [2, 3], 3, 1, 2),
        (8, 1, 21, 40, [1, 1], [1, 1], 1, 1, 0),
        (1, 1, 600, 500, [1, 2], [1, 8], 1, 3, 2),
    ] {
        let size = |d: usize| ((out[d] - 1) * stride + (kernel[d] - 1) * dilation + 1 - low).max(1);
        let (low, high): ([usize; 2], [usize; 2]) =
            if kernel[0] == 1 { ([0, low], [0, 0]) } else { ([low, low], [0, 0]) };
        let tall = if kernel[0] == 1 { 1 } else { size(0) };
        let x = numbers.tensor(DType::F32, &[batch, groups * channels, tall, size(1)], 1.0);
        let w = numbers.tensor(DType::F32, &[groups * rows, channels, kernel[0], kernel[1]], 1.0);
        let primitive = convolution([stride; 2], low, high, [dilation; 2], groups);
        let inputs = [x, w];
        let expected = primitive.evaluate(&inputs).unwrap();
        for threads in [1, 2] {
            let device = device(threads, Numerics::Fast, true);
            for stored in Stored::ALL {
                let given: Vec<_> = inputs.iter().map(|x| stored.put(&device, x)).collect();
                let (found, kernels) = run(&device, &primitive, &given);
                assert!(kernels.contains(&"convolution_few"), "{kernel:?}: {kernels:?}");
                assert_close(&expected, &found, 64.0, &format!("{kernel:?}, {stored:?}"));
            }
        }
    }
}

/// Products that read their columns where the input lies, and lines of windows.
#[test]
fn convolutions_that_copy_nothing() {
    let mut numbers = Numbers::new(37);
    for (x, w, stride) in [
        ([2, 6, 5, 7], [16, 6, 1, 1], 1),
        ([1, 1, 1, 300], [12, 1, 1, 64], 3),
        ([9, 1, 1, 64], [13, 1, 1, 64], 1),
        ([2, 8, 1, 33], [12, 8, 1, 1], 1),
        ([2, 4, 40, 1], [66, 4, 5, 1], 1),
    ] {
        let inputs = [numbers.tensor(DType::F32, &x, 1.0), numbers.tensor(DType::F32, &w, 1.0)];
        let primitive = convolution([1, stride], [0, 0], [0, 0], [1, 1], 1);
        let expected = primitive.evaluate(&inputs).unwrap();
        for threads in [1, 2] {
            let device = device(threads, Numerics::Fast, true);
            for stored in Stored::ALL {
                let given: Vec<_> = inputs.iter().map(|x| stored.put(&device, x)).collect();
                let (found, kernels) = run(&device, &primitive, &given);
                assert!(kernels.contains(&"convolution_columns"));
                assert_close(&expected, &found, 16.0, &format!("{x:?} by {w:?}, {stored:?}"));
            }
        }
    }
}

#[test]
fn transposed_convolutions_of_many_geometries() {
    let mut numbers = Numbers::new(41);
    let devices = [device(1, Numerics::Fast, true), device(2, Numerics::Fast, true)];
    let mut fast = 0;
    for round in 0..80 {
        let spatial = 1 + numbers.below(3);
        let groups = 1 + numbers.below(2);
        let (channels, rows) = (1 + numbers.below(4), 1 + numbers.below(9));
        let mut pick = |low: usize, more: usize| -> Vec<usize> {
            (0..spatial).map(|_| low + numbers.below(more)).collect()
        };
        let (kernel, sizes) = (pick(1, 4), pick(1, 6));
        let (strides, dilations) = (pick(1, 3), pick(1, 2));
        let (low, high) = (pick(0, 2), pick(0, 2));
        let output_padding: Vec<usize> = strides.iter().zip(pick(0, 2)).map(|(s, p)| p.min(s - 1)).collect();
        let batch = 1 + numbers.below(2);
        let x_shape: Vec<usize> = [batch, groups * channels].into_iter().chain(sizes).collect();
        let w_shape: Vec<usize> = [groups * channels, rows].into_iter().chain(kernel).collect();
        let inputs = [numbers.tensor(DType::F32, &x_shape, 1.0), numbers.tensor(DType::F32, &w_shape, 1.0)];
        let primitive =
            Primitive::TransposedConvolution { strides, low, high, dilations, output_padding, groups };
        // Some geometries cut off more than there is.
        let Ok(expected) = primitive.evaluate(&inputs) else { continue };
        for stored in Stored::ALL {
            for device in &devices {
                let given: Vec<_> = inputs.iter().map(|x| stored.put(device, x)).collect();
                let (found, kernels) = run(device, &primitive, &given);
                assert_close(&expected, &found, 8.0, &format!("round {round}, {primitive:?}, {stored:?}"));
                fast += usize::from(kernels.contains(&"transposed_convolution_columns"));
            }
        }
    }
    assert!(fast > 300, "only {fast} took the fast kernel");
}

/// Planning asks for no more scratch than a bound, whatever the sizes.
#[test]
fn scratch_is_bounded() {
    use oneir_ir::{Cut, Place, Spec, Value};
    use oneir_runtime::{Given, Runtime};
    let device = Runtime::global().device("cpu").unwrap();
    let planned = |primitive: Primitive, x: [usize; 4], w: [usize; 4]| {
        let [x, w] = [x, w].map(|shape| Value::placeholder(Spec::new(DType::F32, shape)));
        let y = Value::record(primitive, &[&x, &w], Place::Internal).unwrap();
        let graph = Cut::new(&[x, w], &[y]).lift().unwrap().graph;
        let given = graph.inputs.iter().map(|&id| Given::rows(&graph.tensor(id).shape)).collect();
        let executable = device.executable(&graph, given).unwrap();
        let launch = &executable.plan().launches[0].prepared;
        assert!(launch.scratch <= 256 << 20, "{} asks for {}", launch.kernel, launch.scratch);
        launch.kernel
    };
    let transposed = Primitive::TransposedConvolution {
        strides: vec![1, 1],
        low: vec![0, 0],
        high: vec![0, 0],
        dilations: vec![1, 1],
        output_padding: vec![0, 0],
        groups: 1,
    };
    assert_eq!(planned(transposed.clone(), [1, 4, 30, 30], [4, 4, 3, 3]), "transposed_convolution_columns");
    assert_eq!(planned(transposed, [1, 1, 2000, 2000], [1, 1, 20, 20]), "reference");
    let plain = convolution([1, 1], [0, 0], [0, 0], [1, 1], 1);
    assert_eq!(planned(plain.clone(), [1, 4, 30, 30], [4, 4, 3, 3]), "convolution_direct");
    // One row of so many channels is more than a copy may take.
    assert_eq!(planned(plain, [1, 4000, 40, 4000], [8, 4000, 10, 3]), "convolution_columns");
}
