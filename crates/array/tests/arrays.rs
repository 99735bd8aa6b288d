//! Lazy arrays: promotion, broadcasting, failures, and values known from NumPy.

use oneir_array::{Array, ArrayError, DType, HostTensor, eval};
use oneir_cpu as _;

fn f(elements: &[f32], shape: &[usize]) -> Array {
    Array::from_slice(elements, shape)
}

fn floats(array: &Array) -> Vec<f32> {
    array.to_vec::<f32>().unwrap()
}

#[test]
fn operators_promote_and_broadcast() {
    let column = f(&[1.0, 2.0], &[2, 1]);
    let row = Array::from_slice(&[10i32, 20, 30], &[3]);
    let sum = &column + &row;
    assert_eq!((sum.dtype(), sum.shape().to_vec()), (DType::F32, vec![2, 3]));
    assert_eq!(floats(&sum), [11.0, 21.0, 31.0, 12.0, 22.0, 32.0]);
    let halves = Array::from_slice(&[1i32, 2], &[2]).astype(DType::F16);
    assert_eq!((&halves * 2.5f32).dtype(), DType::F16, "a literal takes the array's dtype");
    assert_eq!((Array::from_slice(&[1i64], &[1]) + 1).dtype(), DType::I64);
    assert_eq!((Array::from_slice(&[1i64], &[1]) / 2).dtype(), DType::F32);
    assert_eq!(floats(&(1.0 - f(&[0.25], &[1]))), [0.75]);
    let mixed = Array::from_slice(&[1u64], &[1]).add(Array::from_slice(&[1i8], &[1]));
    assert_eq!(mixed.dtype(), DType::F32);
}

#[test]
fn reductions_and_shapes() {
    let x = f(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
    assert_eq!(floats(&x.sum([-1], false)), [6.0, 15.0]);
    assert_eq!(x.mean([0, 1], true).shape().to_vec(), [1, 1]);
    assert_eq!(x.mean([0, 1], false).item::<f32>().unwrap(), 3.5);
    assert_eq!(floats(&x.transpose([1, 0])), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    assert_eq!(x.reshape(&[3, -1]).shape().to_vec(), [3, 2]);
    assert_eq!(x.argmax(-1, false).to_vec::<u32>().unwrap(), [2, 2]);
    let picked = x.take(Array::from_slice(&[2i64, -3], &[2]), 1);
    assert_eq!(floats(&picked), [3.0, 1.0, 6.0, 4.0]);
    let joined = Array::concatenate(&[x.clone(), x.narrow(1, 0, 0), x.narrow(1, 1, 1)], 1);
    assert_eq!(floats(&joined), [1.0, 2.0, 3.0, 2.0, 4.0, 5.0, 6.0, 5.0]);
    assert_eq!(Array::from_slice::<f32>(&[], &[0, 3]).sum([0], false).to_vec::<f32>().unwrap(), [0.0; 3]);
    let soft = f(&[0.0, 0.0], &[1, 2]).softmax(-1);
    assert_eq!(floats(&soft), [0.5, 0.5]);
}

#[test]
fn products_follow_numpy() {
    let a = f(&(0..12).map(|i| i as f32).collect::<Vec<_>>(), &[2, 2, 3]);
    let b = f(&[1.0, 0.0, 0.0, 1.0, 1.0, 1.0], &[3, 2]);
    let out = a.matmul(&b);
    assert_eq!(out.shape().to_vec(), [2, 2, 2]);
    assert_eq!(floats(&out), [2.0, 3.0, 8.0, 9.0, 14.0, 15.0, 20.0, 21.0]);
    let v = f(&[1.0, 2.0, 3.0], &[3]);
    assert_eq!(v.matmul(&v).item::<f32>().unwrap(), 14.0);
    assert_eq!(floats(&a.matmul(&v)), [8.0, 26.0, 44.0, 62.0]);
}

#[test]
fn a_failed_call_remembers_itself() {
    let x = f(&[1.0, 2.0, 3.0], &[3]);
    let line = line!() + 1;
    let wrong = x.reshape(&[2, 2]);
    let later = (&wrong + 1.0f32).exp().matmul(&x);
    let error = later.check().unwrap_err();
    let ArrayError::Failed(failure) = &error else { panic!("{error}") };
    assert_eq!((failure.op, failure.place.line()), ("reshape", line));
    assert!(failure.place.file().ends_with("arrays.rs"));
    let text = error.to_string();
    assert!(
        text.starts_with("`reshape` at ") && text.contains("3 elements do not fill shape [2, 2]"),
        "{text}"
    );
    assert!(later.eval().is_err() && later.item::<f32>().is_err());
    // A failed array does not spoil others.
    assert_eq!(floats(&(&x * 2.0f32)), [2.0, 4.0, 6.0]);
}

#[test]
fn bad_calls_are_refused_by_name() {
    let x = f(&[1.0, 2.0], &[2]);
    let told = |a: Array| a.check().unwrap_err().to_string();
    assert!(told(x.sum([1], false)).contains("axis 1 is out of range for 1 dimensions"));
    assert!(told(f(&[1.0; 4], &[2, 2]).sum([0, -2], false)).contains("axis 0 is named twice"));
    assert!(told(x.add(f(&[0.0; 3], &[3]))).contains("shapes [2] and [3] do not broadcast together"));
    assert!(
        told(Array::from_slice(&[1i32], &[1]).erf().bitwise_and(&x))
            .contains("bitwise_and is not defined for f32")
    );
    assert!(told(Array::from_slice(&[1u8], &[1]) + 300).contains("300 does not fit u8"));
    assert!(told(Array::from_slice(&[1u8], &[2])).contains("needs 2 bytes, found 1"));
    assert!(told(Array::zeros(&[usize::MAX, 2], DType::F64)).contains("more bytes than an address can name"));
    assert!(x.item::<f32>().unwrap_err().to_string().contains("item needs one element, found shape [2]"));
    assert!(x.to_vec::<i32>().is_err());
}

#[test]
fn arrays_cross_threads() {
    fn is_send_and_sync<T: Send + Sync>() {}
    is_send_and_sync::<Array>();
    let x = f(&[1.0; 64], &[64]);
    let shared = (&x + 1.0f32).exp();
    let threads: Vec<_> = (0..4)
        .map(|i| {
            let shared = shared.clone();
            std::thread::spawn(move || floats(&(shared * i as f32)))
        })
        .collect();
    for (i, thread) in threads.into_iter().enumerate() {
        let found = thread.join().unwrap();
        assert!(found.iter().all(|y| (y - i as f32 * 2f32.exp()).abs() < 1e-4));
    }
}

#[test]
fn evaluation_is_lazy_and_shared() {
    let x = f(&[1.0, 2.0], &[2]);
    let y = &x + 1.0f32;
    let z = &y * 2.0f32;
    assert!(!y.is_available() && !z.is_available());
    eval(std::slice::from_ref(&z)).unwrap();
    assert!(z.is_available() && y.is_available(), "y is held, so its value is kept");
    let view = z.reshape(&[2, 1]);
    assert_eq!(view.to_host().unwrap(), HostTensor::from_slice(&[2, 1], &[4f32, 6.0]).unwrap());
}
