//! Whole functions: readable graphs of the operators that people would have written.

use oneir_array::{Array, Traced, fast, random};
use oneir_ir::Spec;
use oneir_onnx::{ExportOptions, Exported, export};
use oneir_tensor::{DType, HostTensor};

use crate::record::Recorder;
use crate::{imported, noise};

/// A weight that was computed, as trained ones are.
fn weight(shape: &[usize], seed: u64) -> Array {
    let computed = Array::from_host(noise(shape, seed)) * 0.5;
    computed.eval().unwrap();
    computed
}

fn argument(shape: &[usize], dtype: DType) -> Array {
    Traced::argument(Spec::new(dtype, shape))
}

/// Exports a function, and compares what comes back with what it gives.
fn compared(
    recorder: &mut Recorder,
    arguments: &[Array],
    outputs: &[Array],
    options: &ExportOptions,
    inputs: &[HostTensor],
) -> Exported {
    let function = Traced::new(arguments, outputs).unwrap();
    let exported = export(&function, options).unwrap();
    let device = oneir_runtime::Runtime::global().device("cpu").unwrap();
    let given: Vec<Array> = inputs.iter().cloned().map(Array::from_host).collect();
    let expected = function.call(&device, &given).unwrap();
    let expected: Vec<HostTensor> = expected.iter().map(|x| x.to_host().unwrap()).collect();
    recorder.add(&exported, inputs, &expected);
    let found = imported(&exported, inputs).unwrap();
    assert_eq!(found.len(), expected.len());
    for (f, e) in found.iter().zip(&expected) {
        let tolerance = oneir_ir::verify::Tolerance::of(e.dtype());
        assert_eq!(f.shape(), e.shape());
        assert_eq!(tolerance.first_difference(e, f), None, "{:?}\n{f:?}\n{e:?}", exported.operators());
    }
    exported
}

/// A classifier's head: the class and the probabilities.
fn head(scores: &Array) -> [Array; 2] {
    [scores.argmax([-1], false), scores.softmax([-1])]
}

fn relu(x: &Array) -> Array {
    x.maximum(Array::full(&[], 0.0, x.dtype()))
}

fn max_pool(x: &Array) -> Array {
    let windows = oneir_array::Windows {
        size: vec![1, 2, 2, 1],
        strides: vec![1, 2, 2, 1],
        padding: vec![(0, 0); 4],
        dilations: vec![1; 4],
    };
    x.reduce_windows(oneir_array::WindowOp::Max, &windows)
}

fn mean_pool(x: &Array) -> Array {
    let windows = oneir_array::Windows {
        size: vec![1, 2, 2, 1],
        strides: vec![1, 2, 2, 1],
        padding: vec![(0, 0); 4],
        dilations: vec![1; 4],
    };
    x.reduce_windows(oneir_array::WindowOp::Sum, &windows) / 4.0
}

#[test]
fn models_are_operators_that_people_know() {
    let mut recorder = Recorder::new("models");
    perceptron(&mut recorder);
    convolutions(&mut recorder);
    pools(&mut recorder);
    transformer(&mut recorder);
    control_flow_and_random_numbers(&mut recorder);
    recorder.finish();
}

fn perceptron(recorder: &mut Recorder) {
    let (w, b) = ([weight(&[64, 32], 1), weight(&[10, 32], 2)], [weight(&[32], 3), weight(&[10], 4)]);
    let x = argument(&[5, 64], DType::F32);
    let hidden = relu(&(x.matmul(&w[0]) + &b[0]));
    let scores = hidden.matmul(&w[1].t()) + &b[1];
    let options =
        ExportOptions::new().batch("N").weight(&w[0], "hidden.weight").weight(&w[1], "scores.weight");
    let exported = compared(recorder, &[x], &head(&scores), &options, &[noise(&[5, 64], 9)]);
    assert_eq!(exported.operators(), ["Gemm", "Relu", "Gemm", "ArgMax", "Cast", "Softmax"]);
    assert_eq!(exported.batch(), Some("N"));
    let shapes: Vec<(String, Vec<usize>)> = exported
        .weights()
        .filter(|(_, value)| value.count() > 10)
        .map(|(name, value)| (name.to_owned(), value.shape().to_vec()))
        .collect();
    assert!(shapes.contains(&("hidden.weight".to_owned(), vec![64, 32])), "{shapes:?}");
    assert!(shapes.contains(&("scores.weight".to_owned(), vec![32, 10])), "{shapes:?}");
    // Any number of items.
    for items in [1, 3] {
        let given = noise(&[items, 64], 5);
        let found = imported(&exported, std::slice::from_ref(&given)).unwrap();
        assert_eq!(found[0].shape()[..], [items]);
        assert_eq!(found[1].shape()[..], [items, 10]);
    }
}

/// Channels last, as arrays have it: the transpositions to the operators' order and
/// back cancel.
fn convolutions(recorder: &mut Recorder) {
    let kernels = [weight(&[8, 3, 3, 1], 1), weight(&[16, 3, 3, 8], 2)];
    let biases = [weight(&[8], 3), weight(&[16], 4)];
    let (w, b) = (weight(&[64, 10], 5), weight(&[10], 6));
    let x = argument(&[2, 64], DType::F32);
    let mut y = x.reshape(&[-1, 8, 8, 1]);
    for (kernel, bias) in kernels.iter().zip(&biases) {
        y = max_pool(&relu(&(y.conv2d(kernel, 1, 1, 1, 1) + bias)));
    }
    let scores = y.flatten(1, -1).matmul(&w) + &b;
    let options = ExportOptions::new().batch("N");
    let exported = compared(recorder, &[x], &head(&scores), &options, &[noise(&[2, 64], 9)]);
    let operators = exported.operators();
    let wanted = [
        "Reshape",
        "Conv",
        "Relu",
        "MaxPool",
        "Conv",
        "Relu",
        "MaxPool",
        "Transpose",
        "Reshape",
        "Gemm",
        "ArgMax",
    ];
    assert_eq!(operators[..wanted.len()], wanted);
    assert_eq!(exported.batch(), Some("N"));
    for items in [1, 7] {
        let found = imported(&exported, &[noise(&[items, 64], 5)]).unwrap();
        assert_eq!(found[1].shape()[..], [items, 10]);
    }
}

fn pools(recorder: &mut Recorder) {
    let kernel = weight(&[4, 3, 3, 3], 1);
    let x = argument(&[2, 8, 8, 3], DType::F32);
    let y = mean_pool(&x.conv2d(&kernel, 1, 1, 1, 1).sigmoid()).mean([1, 2], false);
    let exported =
        compared(recorder, &[x], &[y], &ExportOptions::new().batch("N"), &[noise(&[2, 8, 8, 3], 3)]);
    assert_eq!(exported.operators(), ["Transpose", "Conv", "Sigmoid", "AveragePool", "ReduceMean"]);
    assert_eq!(exported.batch(), Some("N"));
}

fn transformer(recorder: &mut Recorder) {
    let (heads, width) = (2, 8);
    let table = weight(&[11, width], 1);
    let projections: Vec<Array> = (0..4).map(|i| weight(&[width, width], 2 + i)).collect();
    let (scale, shift) = (weight(&[width], 7), weight(&[width], 8));
    let tokens = argument(&[2, 5], DType::I32);
    let x = table.take(&tokens, [0]);
    let normal = fast::layer_norm(&x, Some(&scale), Some(&shift), 1e-5);
    let split = |w: &Array| {
        let parts = [-1, 5, heads as isize, (width / heads) as isize];
        normal.matmul(w).reshape(&parts).transpose([0, 2, 1, 3])
    };
    let (q, k, v) = (split(&projections[0]), split(&projections[1]), split(&projections[2]));
    let seen = fast::scaled_dot_product_attention(&q, &k, &v, 0.5, fast::Attended::Causal, None);
    let joined = seen.transpose([0, 2, 1, 3]).reshape(&[-1, 5, width as isize]).matmul(&projections[3]);
    let y = fast::rms_norm(&(&x + &joined), Some(&scale), 1e-6);
    let ids = HostTensor::from_slice(&[2, 5], &[1i32, 4, 10, 0, -1, 3, 3, 2, 5, 9]).unwrap();
    let exported = compared(recorder, &[tokens], &[y], &ExportOptions::new().batch("N"), &[ids]);
    let operators = exported.operators();
    for operator in ["Gather", "LayerNormalization", "Attention", "RMSNormalization"] {
        assert!(operators.contains(&operator), "{operators:?}");
    }
    assert_eq!(exported.batch(), Some("N"));
}

fn control_flow_and_random_numbers(recorder: &mut Recorder) {
    let key = argument(&[2], DType::U32);
    let x = argument(&[4], DType::F32);
    let noisy = &x + random::normal(&[4], DType::F32, 0, 1, Some(&key));
    let kept = random::bernoulli(0.5, Some(&[4]), Some(&key)).where_(&noisy, Array::zeros(&[4], DType::F32));
    let inputs = [HostTensor::from_slice(&[2], &[7u32, 9]).unwrap(), noise(&[4], 1)];
    compared(recorder, &[key, x], &[kept, noisy], &ExportOptions::new(), &inputs);
}
