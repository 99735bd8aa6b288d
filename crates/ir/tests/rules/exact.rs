//! Products of numbers some of which are zero: their derivatives are exact.

use oneir_ir::primitive::{Case, ScanOp, ScatterReduce};
use oneir_ir::{Primitive, ReduceOp};
use oneir_tensor::{DType, HostTensor};

use crate::calls::{Random, computed, of_parts, parts, reversed};
use crate::found::Verdict;
use crate::twice::at_point;

fn floats(shape: &[usize], numbers: &[f64]) -> HostTensor {
    of_parts(DType::F64, shape, numbers)
}

#[test]
fn products_with_zeros_have_exact_derivatives() {
    let x = floats(&[8], &[2.0, 0.0, 3.0, -1.0, 0.0, 2.0, 0.5, 0.0]);
    let zero = floats(&[3], &[0.0, 2.0, 1.0]);
    let i = HostTensor::from_slice(&[8], &[0i32, 0, 1, 1, 1, 2, 2, 2]).unwrap();
    let scan = |reverse, inclusive| Primitive::Scan { op: ScanOp::Prod, axis: 0, reverse, inclusive };
    let window = Primitive::WindowReduce {
        op: ReduceOp::Prod,
        window: vec![3],
        strides: vec![2],
        low: vec![1],
        high: vec![0],
        dilations: vec![1],
    };
    let spread = || vec![zero.clone(), i.clone(), floats(&[8, 1], &parts(&x))];
    let cases = [
        (scan(false, true), vec![x.clone()]),
        (scan(true, false), vec![x.clone()]),
        (Primitive::Reduce { op: ReduceOp::Prod, axes: vec![0] }, vec![x.clone()]),
        (window, vec![x.clone()]),
        (
            Primitive::ScatterAxis { axis: 0, reduce: ScatterReduce::Prod },
            vec![zero.clone(), i.clone(), x.clone()],
        ),
        (Primitive::Scatter { axes: vec![0], reduce: ScatterReduce::Prod }, spread()),
    ];
    for (primitive, inputs) in cases {
        let case = Case::parity(primitive, inputs);
        let mut random = Random::new(9);
        let graph = reversed(&case).unwrap();
        // First derivatives: those of differences of the product itself.
        let mut tensors = case.inputs.clone();
        for leaf in &graph.given[case.inputs.len()..] {
            tensors.push(random.like(leaf.spec()));
        }
        let gradients = computed(&graph.found, &graph.given, &tensors).unwrap();
        let weights = parts(tensors.last().unwrap());
        let along = |inputs: &[HostTensor]| -> f64 {
            let found = case.primitive.evaluate(inputs).unwrap();
            parts(&found[0]).iter().zip(&weights).map(|(a, b)| a * b).sum()
        };
        let inexact = (0..case.inputs.len()).filter(|&k| case.inputs[k].dtype() == DType::F64);
        for (k, gradient) in inexact.zip(&gradients) {
            for (i, found) in parts(gradient).into_iter().enumerate() {
                let at = |step: f64| {
                    let mut inputs = case.inputs.clone();
                    let mut all = parts(&inputs[k]);
                    all[i] += step;
                    inputs[k] = floats(inputs[k].shape(), &all);
                    along(&inputs)
                };
                // Linear in each element: the difference is exact.
                let expected = (at(1.0) - at(-1.0)) / 2.0;
                assert!((found - expected).abs() < 1e-12, "{:?}: {found}, {expected}", case.primitive);
            }
        }
        let second = at_point(&graph, &tensors, &mut random).unwrap();
        assert!(matches!(second, Verdict::Agrees), "{:?}: {}", case.primitive, told(&second));
    }
}

fn told(verdict: &Verdict) -> &str {
    match verdict {
        Verdict::Differs(fault) => fault,
        _ => "nothing to compare with",
    }
}
