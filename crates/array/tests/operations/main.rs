//! The public operations by family, against values worked out by hand or given by
//! MLX 0.32 and NumPy 2.4, with edge shapes and errors.

use oneir_array::{Array, ArrayError, DType, Element};
use oneir_cpu as _;

mod convolutions;
mod creation;
mod elementwise;
mod fourier;
mod laws;
mod linalg;
mod lines;
mod products;
mod quantized;
mod reductions;
mod selections;
mod shapes;

fn ints(elements: &[i32]) -> Array {
    Array::from_slice(elements, &[elements.len()])
}

fn floats(elements: &[f32]) -> Array {
    Array::from_slice(elements, &[elements.len()])
}

/// The numbers 0, 1, … in a shape.
fn grid(shape: &[usize]) -> Array {
    let shape: Vec<isize> = shape.iter().map(|&n| n as isize).collect();
    Array::arange(shape.iter().product::<isize>(), DType::I32).reshape(&shape)
}

fn values<T: Element>(array: &Array) -> Vec<T> {
    array.to_vec().unwrap_or_else(|e| panic!("{e}"))
}

/// The elements as f64.
fn numbers(array: &Array) -> Vec<f64> {
    values(&array.astype(DType::F64))
}

/// Whether all are within a tolerance, where NaN and infinities are themselves.
#[track_caller]
fn assert_close(array: &Array, expected: &[f64], tolerance: f64) {
    let found = numbers(array);
    let same = |(a, b): (&f64, &f64)| a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance;
    let all = found.len() == expected.len() && found.iter().zip(expected).all(same);
    assert!(all, "found {found:?}, expected {expected:?}");
}

/// Whether two arrays have one shape and dtype, and elements within a tolerance.
#[track_caller]
fn assert_alike(a: &Array, b: &Array, tolerance: f64) {
    for x in [a, b] {
        x.check().unwrap_or_else(|e| panic!("{e}"));
    }
    assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()));
    if a.dtype().is_complex() {
        assert_close(&a.real(), &numbers(&b.real()), tolerance);
        return assert_close(&a.imag(), &numbers(&b.imag()), tolerance);
    }
    assert_close(a, &numbers(b), tolerance);
}

/// Whether an array failed in `op` on the line of the call, for a reason with
/// `what` in it.
#[track_caller]
fn assert_fails(array: &Array, op: &str, what: &str) {
    told(array.check(), op, what);
}

#[track_caller]
fn told<T>(result: Result<T, ArrayError>, op: &str, what: &str) {
    let Err(error) = result else { panic!("{op} went well") };
    let text = error.to_string();
    assert!(text.starts_with(&format!("`{op}` at ")) && text.contains(what), "{text}");
    assert!(text.contains("tests/operations/"), "not the caller's line: {text}");
}
