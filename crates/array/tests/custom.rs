//! Functions with rules of their own, and checkpoints.

use oneir_array::{
    Array, ArrayError, DType, Traced, array, checkpoint, custom_function, grad, jvp, random, vjp, vmap,
    vmap_over,
};
use oneir_cpu as _;
use oneir_ir::Spec;
use oneir_runtime::{Given, Runtime};

type Test = Result<(), ArrayError>;

fn floats(x: &Array) -> Vec<f32> {
    x.to_vec().unwrap_or_else(|e| panic!("{e}"))
}

fn total(x: &Array) -> Array {
    x.sum(.., false)
}

/// x·w, whose rules give multiples of the true derivatives, to tell them apart.
fn product() -> oneir_array::CustomFunction<(Array, Array), Array> {
    custom_function(|(x, w): &(Array, Array)| x * w)
        .with_vjp(|(x, w), _, cotangent| (cotangent * w * 10, cotangent * x * 100))
        .with_jvp(|(x, w), _, (dx, dw)| dx * w * 1000 + dw * x * 10000)
}

#[test]
fn derivatives_are_those_of_the_rules() -> Test {
    let f = product();
    let at = (array![2.0, 3.0], array![5.0, 7.0]);
    assert_eq!(floats(&f.call(&at)), [10.0, 21.0]);
    let (y, (dx, dw)) = vjp(|at: &(Array, Array)| f.call(at), &at, &array![1.0, 2.0]);
    assert_eq!(
        (floats(&y), floats(&dx), floats(&dw)),
        (vec![10.0, 21.0], vec![50.0, 140.0], vec![200.0, 600.0])
    );
    let (_, dy) = jvp(|at: &(Array, Array)| f.call(at), &at, &(array![1.0, 0.0], array![0.0, 1.0]));
    assert_eq!(floats(&dy), [5000.0, 30000.0]);
    Ok(())
}

#[test]
fn rules_hold_in_batches_and_batches_in_rules() -> Test {
    let f = product();
    let (x, w) = (array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], array![7.0, 8.0]);
    let one = grad(|at: &(Array, Array)| total(&f.call(at)));
    // A batch of gradients.
    let (dx, dw) = vmap_over(&one, &[Some(0), None], &[Some(0)])(&(x.clone(), w.clone()));
    // The gradient of a batch: what all do to w adds up.
    let rows = |at: &(Array, Array)| {
        total(&vmap_over(|at: &(Array, Array)| f.call(at), &[Some(0), None], &[Some(0)])(at))
    };
    let (batch_dx, batch_dw) = grad(rows)(&(x.clone(), w.clone()));
    let columns = |at: &(Array, Array)| {
        total(&vmap_over(|at: &(Array, Array)| f.call(at), &[Some(1), None], &[Some(1)])(at))
    };
    let (turned_dx, turned_dw) = grad(columns)(&(x.t(), w.clone()));
    for row in 0..3 {
        let (want_dx, want_dw) = one(&(x.index(row), w.clone()));
        assert_eq!(floats(&dx.index(row)), floats(&want_dx));
        assert_eq!(floats(&dw.index(row)), floats(&want_dw));
    }
    assert_eq!(floats(&batch_dx), floats(&dx));
    assert_eq!(floats(&batch_dw), floats(&dw.sum(0, false)));
    assert_eq!(floats(&turned_dx.t().contiguous()), floats(&dx));
    assert_eq!(floats(&turned_dw), floats(&dw.sum(0, false)));
    let tangents = (x.ones_like(None), w.zeros_like(None));
    let (_, dy) = jvp(
        |at: &(Array, Array)| vmap_over(|at: &(Array, Array)| f.call(at), &[Some(0), None], &[Some(0)])(at),
        &(x, w),
        &tangents,
    );
    assert_eq!(floats(&dy.index(2)), [7000.0, 8000.0]);
    Ok(())
}

#[test]
fn batches_are_those_of_the_rule() -> Test {
    let f = custom_function(|x: &Array| x * 2)
        .with_vmap(|x: &Array, axes, size| (x * size as f32, axes.to_vec()));
    assert_eq!(floats(&vmap(|x: &Array| f.call(x))(&array![1.0, 2.0, 3.0])), [3.0, 6.0, 9.0]);
    let off = custom_function(|x: &Array| x * 2).with_vmap(|x: &Array, _, _| (x.clone(), vec![Some(1)]));
    let refused = vmap(|x: &Array| off.call(x))(&array![1.0, 2.0]).check().unwrap_err().to_string();
    assert!(refused.contains("a result has no axis of 2 where the rule says"), "{refused}");
    Ok(())
}

#[test]
fn a_rule_stands_where_the_function_has_no_derivative() -> Test {
    // Rounding, with the derivative of doing nothing.
    let through = custom_function(|x: &Array| x.astype(DType::I32).astype(DType::F32))
        .with_vjp(|_, _, cotangent| cotangent.clone())
        .with_jvp(|_, _, tangent| tangent.clone());
    let slope = grad(|x: &Array| total(&(through.call(x) * x)));
    assert_eq!(floats(&slope(&array![1.5, 2.25])), [2.5, 4.25]);
    let second = grad(|x: &Array| total(&slope(x)));
    assert_eq!(floats(&second(&array![1.5])), [2.0]);
    Ok(())
}

#[test]
fn rules_that_do_not_fit_are_told() {
    let f = custom_function(|x: &Array| x * 2).with_vjp(|_, _, _| array![1.0, 2.0, 3.0]);
    let refused = grad(|x: &Array| total(&f.call(x)))(&array![1.0]).check().unwrap_err().to_string();
    assert!(
        refused.contains("the rule of `custom_function` failed: it gives f32[3] for f32[1]"),
        "{refused}"
    );
    let f = custom_function(|x: &Array| x * 2).with_vjp(|_, _, c| c.matmul(&array![[1.0], [2.0]]));
    let refused = grad(|x: &Array| total(&f.call(x)))(&array![1.0]).check().unwrap_err().to_string();
    assert!(
        refused.contains("the rule of `custom_function` failed: `matmul` at crates/array/tests/custom.rs"),
        "{refused}"
    );
    let f = custom_function(|x: &Vec<Array>| x[0].clone() * 2).with_vjp(|_, _, _| vec![]);
    let refused =
        grad(|x: &Vec<Array>| total(&f.call(x)))(&vec![array![1.0]])[0].check().unwrap_err().to_string();
    assert!(refused.contains("it gives 0 arrays for 1"), "{refused}");
}

#[test]
fn an_array_read_beside_the_input_is_told() {
    let outer = |w: &Array| {
        let w = w.clone();
        let f = custom_function(move |x: &Array| x * &w).with_vjp(|_, _, c| c.clone());
        total(&f.call(&array![1.0, 2.0]))
    };
    let refused = grad(outer)(&array![3.0, 4.0]).check().unwrap_err().to_string();
    assert!(refused.contains("reads 1 arrays of a transform around it"), "{refused}");
    // One that no transform looks at is a constant.
    let w = array![3.0, 4.0];
    let f = custom_function(move |x: &Array| x * &w).with_vjp(|_, _, c| c.clone());
    assert_eq!(floats(&grad(|x: &Array| total(&f.call(x)))(&array![1.0, 2.0])), [1.0, 1.0]);
}

#[test]
fn a_checkpoint_changes_no_result() -> Test {
    let (x, w) = (array![[0.5, -1.0], [2.0, 0.25]], array![[1.0, 2.0], [-0.5, 0.75]]);
    let block = |(x, w): &(Array, Array)| x.matmul(w).sin() * x;
    let kept = |at: &(Array, Array)| total(&block(at).exp());
    let again = |at: &(Array, Array)| total(&checkpoint(block)(at).exp());
    let at = (x.clone(), w.clone());
    let close =
        |a: &Array, b: &Array| assert!(a.allclose(b, 1e-5, 1e-6, false).item::<bool>().unwrap(), "{a} {b}");
    let same = |a: (Array, Array), b: (Array, Array)| {
        close(&a.0, &b.0);
        close(&a.1, &b.1);
    };
    same(grad(kept)(&at), grad(again)(&at));
    // What the function reads beside its input has its derivatives too.
    let beside = |w: &Array| total(&checkpoint(|x: &Array| x.matmul(w).sin() * x)(&x).exp());
    assert_eq!(floats(&grad(beside)(&w)), floats(&grad(kept)(&at).1));
    let own = |w: &Array| total(&checkpoint(|x: &Array| x.matmul(&w.exp()).sin() * x)(&x));
    let plain = |w: &Array| total(&(x.matmul(&w.exp()).sin() * &x));
    assert_eq!(floats(&grad(own)(&w)), floats(&grad(plain)(&w)));
    // In batches, both ways around, and twice.
    let rows = |f: &dyn Fn(&(Array, Array)) -> Array| -> (Array, Array) {
        let x = x.reshape(&[2, 1, 2]);
        let of_batch = |at: &(Array, Array)| total(&vmap_over(f, &[Some(0), None], &[Some(0)])(at));
        let first = grad(of_batch)(&(x.clone(), w.clone()));
        let batch = vmap_over(grad(f), &[Some(0), None], &[Some(0)])(&(x, w.clone()));
        assert_eq!(floats(&first.0), floats(&batch.0));
        first
    };
    same(rows(&kept), rows(&again));
    let twice = |f: &dyn Fn(&(Array, Array)) -> Array| {
        grad(|at: &(Array, Array)| {
            let (dx, dw) = grad(f)(at);
            total(&(&dx * &dx)) + total(&dw)
        })(&at)
    };
    same(twice(&kept), twice(&again));
    let (y, dy) = jvp(again, &at, &at);
    let (kept_y, kept_dy) = jvp(kept, &at, &at);
    assert_eq!((floats(&y), floats(&dy)), (floats(&kept_y), floats(&kept_dy)));
    Ok(())
}

#[test]
fn a_checkpoint_draws_the_same_numbers_again() -> Test {
    let noisy = |x: &Array| x * random::normal(&[4], DType::F32, 0, 1, None);
    let x = array![1.0, 2.0, 3.0, 4.0];
    let again = vjp(checkpoint(noisy), &x, &x.ones_like(None));
    // The derivative is the noise.
    assert_eq!(floats(&again.0), floats(&(&again.1 * &x)));
    Ok(())
}

#[test]
fn a_checkpoint_keeps_less() -> Test {
    // Each segment makes sixteen arrays of 64 KiB.
    let segment = |x: &Array| (0..8).fold(x.clone(), |x, _| x.matmul(&x).sin());
    let working = |f: &dyn Fn(&Array) -> Array| -> Result<(usize, Vec<f32>), ArrayError> {
        let x = Traced::argument(Spec::new(DType::F32, [128, 128]));
        let traced =
            Traced::new(std::slice::from_ref(&x), &[grad(|x: &Array| total(&f(&f(&f(&f(x))))))(&x)])?;
        let device = Runtime::global().device("cpu")?;
        let given = vec![Given::rows(&[128, 128])];
        let arena = device.executable(traced.graph(), given)?.plan().arena;
        let x = Array::ones(&[128, 128], DType::F32) / 128;
        Ok((arena, traced.call(&device, &[x])?[0].to_vec()?))
    };
    let (kept, a) = working(&segment)?;
    let (again, b) = working(&checkpoint(segment))?;
    assert_eq!(a, b);
    assert!(again * 2 < kept, "{again} bytes with checkpoints, {kept} without");
    Ok(())
}
