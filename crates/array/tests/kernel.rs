//! Kernels that a user writes: values, batches and derivatives by rules, faults.

use oneir_array::{
    Array, ArrayError, DType, HostTensor, Kernel, Launch, array, compile, custom_function, grad, vmap,
};
use oneir_cpu as _;

type Test = Result<(), ArrayError>;

fn floats(x: &Array) -> Vec<f32> {
    x.to_vec().unwrap_or_else(|e| panic!("{e}"))
}

/// The sum and the difference of two arrays.
fn both() -> Kernel {
    Kernel::new("both", &["a", "b"], &["sum", "difference"]).cpu(|inputs| {
        let read = |k: usize| inputs[k].to_vec::<f32>().map_err(|e| e.to_string());
        let (a, b) = (read(0)?, read(1)?);
        let make = |f: fn(f32, f32) -> f32| {
            let all: Vec<f32> = a.iter().zip(&b).map(|(&a, &b)| f(a, b)).collect();
            HostTensor::from_slice(inputs[0].shape(), &all).map_err(|e| e.to_string())
        };
        Ok(vec![make(|a, b| a + b)?, make(|a, b| a - b)?])
    })
}

fn of(x: &Array) -> Launch {
    Launch::of(&[(x.shape(), DType::F32), (x.shape(), DType::F32)])
}

#[test]
fn a_kernel_runs_among_other_operations() -> Test {
    let kernel = both();
    let f = |x: &Array| {
        // A view: the kernel sees it in rows.
        let made = kernel.call(&[&x.t(), &(x.t() * 2)], &of(&x.t()));
        &made[0] + &made[1] * 10
    };
    let x = array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]];
    let want: Vec<f32> = [1.0, 4.0, 2.0, 5.0, 3.0, 6.0].iter().map(|x| 3.0 * x - 10.0 * x).collect();
    assert_eq!(floats(&f(&x)), want);
    let compiled = compile(f);
    assert_eq!((floats(&compiled(&x)), floats(&compiled(&x))), (want.clone(), want));
    let empty = Array::zeros(&[0, 2], DType::F32);
    assert!(both().call(&[&empty, &empty], &of(&empty))[1].to_vec::<f32>()?.is_empty());
    Ok(())
}

#[test]
fn its_derivative_and_batches_are_told_beside_it() -> Test {
    let bare = |x: &Array| both().call(&[x, x], &of(x)).remove(0);
    let refused = grad(|x: &Array| bare(x).sum(.., false))(&array![1.0]).check().unwrap_err().to_string();
    assert!(refused.contains("`kernel`") && refused.contains("a custom function around it can"), "{refused}");
    let refused = vmap(bare)(&array![[1.0]]).check().unwrap_err().to_string();
    assert!(refused.contains("`kernel`") && refused.contains("a custom function can tell how"), "{refused}");
    let told = custom_function(bare)
        .with_vjp(|_, _, cotangent| cotangent * 2)
        .with_vmap(move |x: &Array, axes, _| (bare(x), axes.to_vec()));
    assert_eq!(floats(&grad(|x: &Array| told.call(x).sum(.., false))(&array![1.0, 5.0])), [2.0, 2.0]);
    assert_eq!(floats(&vmap(|x: &Array| told.call(x))(&array![[1.0], [2.0]])), [2.0, 4.0]);
    Ok(())
}

#[test]
fn faults_are_told_by_the_kernels_name() {
    let x = array![1.0, 2.0];
    let told = |made: Vec<Array>, words: &[&str]| {
        let why = made[0].to_vec::<f32>().unwrap_err().to_string();
        assert!(words.iter().all(|word| why.contains(word)), "{why}");
    };
    told(both().call(&[&x], &of(&x)), &["as many as the kernel names", "crates/array/tests/kernel.rs"]);
    told(both().call(&[&x, &x.reshape(&[3])], &of(&x)), &["reshape"]);
    let launch = Launch { threadgroup: vec![0], ..of(&x) };
    told(both().call(&[&x, &x], &launch), &["threadgroup"]);
    let one = Launch::of(&[([2], DType::F32)]);
    told(both().call(&[&x, &x], &one), &["outputs"]);
    let wrong = Launch::of(&[([3], DType::F32), ([2], DType::F32)]);
    told(both().call(&[&x, &x], &wrong), &["`both` failed", "f32[2]", "f32[3]"]);
    let gpu = Kernel::new("gpu_only", &["x"], &["y"]).cuda("y[i] = x[i];");
    told(gpu.call(&[&x], &one), &["`kernel gpu_only`", "cpu", "crates/array/tests/kernel.rs"]);
    let fails = Kernel::new("fails", &["x"], &["y"]).cpu(|_| Err("out of luck".into()));
    told(fails.call(&[&x], &one), &["`fails` failed: out of luck"]);
    let panics = Kernel::new("panics", &["x"], &["y"]).cpu(|inputs| Ok(vec![inputs[7].clone()]));
    told(panics.call(&[&x], &one), &["`panics` failed: it panicked: index out of bounds"]);
}
