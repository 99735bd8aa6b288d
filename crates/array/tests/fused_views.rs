//! Fused operations whose operands are views of something else.

use oneir_array::{Array, DType, Traced};
use oneir_cpu as _;
use oneir_ir::Spec;

#[test]
fn a_definition_reads_through_the_view_that_its_operand_is() {
    let x = Array::arange(12, DType::F32).reshape(&[3, 4]);
    let weight = Array::from_slice(&[2f32; 12], &[3, 4]);
    // Both operands are reshapes, which no op computes once views are accesses.
    let out = (&x + 1f32).reshape(&[12]).rms_norm(&weight.reshape(&[12]), 0.0).reshape(&[3, 4]);
    let mean = (1..=12).map(|i| f64::from(i * i)).sum::<f64>() / 12.0;
    for (i, found) in out.to_vec::<f32>().unwrap().into_iter().enumerate() {
        let right = 2.0 * (i + 1) as f64 / mean.sqrt();
        assert!((f64::from(found) - right).abs() < 1e-5, "[{i}] is {found}, expected {right}");
    }
}

#[test]
fn a_definition_reads_a_slice_of_a_transpose() {
    let x = Array::arange(24, DType::F32).reshape(&[4, 6]);
    let seen = x.transpose([1, 0]).narrow(0, 1, 2);
    let out = seen.softmax(-1).to_vec::<f32>().unwrap();
    let sums: Vec<f32> = out.chunks(4).map(|row| row.iter().sum()).collect();
    assert!(sums.iter().all(|s| (s - 1.0).abs() < 1e-6), "{sums:?}");
    assert!(out[3] > 0.99 && out[7] > 0.99, "{out:?}");
}

#[test]
fn a_quotient_of_sums_without_dimensions_is_no_softmax() {
    let count = |n| Array::add(&Array::arange(n, DType::F32), Array::scalar(1f32));
    let (x, y) = (count(4).sum([0], false), count(3).sum([0], false));
    assert_eq!(x.divide(&y).item::<f32>().unwrap(), 10.0 / 6.0);
}

#[test]
fn packed_results_of_constants_stand_alone() {
    let x = Array::from_slice(&[1i32, -2, 3], &[3]);
    let (a, b) = (x.astype(DType::I4), x.negative().astype(DType::I4));
    oneir_array::eval(&[a.clone(), b.clone()]).unwrap();
    let ints = |a: &Array| a.to_host().unwrap().values().unwrap().to_ints().unwrap();
    assert_eq!((ints(&a), ints(&b)), (vec![1, -2, 3], vec![-1, 2, -3]));
    assert_eq!(b.astype(DType::I32).to_vec::<i32>().unwrap(), [-1, 2, -3]);
}

#[test]
fn an_output_that_is_nothing_but_a_view_of_a_view_is_computed() {
    let x = Array::arange(6, DType::F32).reshape(&[2, 3]);
    let device = oneir_runtime::Runtime::global().default_device().unwrap();
    let argument = Traced::argument(Spec::new(DType::F32, [2, 3]));
    let turned = argument.square().transpose([1, 0]).expand_dims([0isize; 0]);
    let traced = Traced::new(&[argument], &[turned]).unwrap();
    let out = traced.call(&device, &[x]).unwrap().remove(0);
    assert_eq!(out.to_vec::<f32>().unwrap(), [0.0, 9.0, 1.0, 16.0, 4.0, 25.0]);
}
