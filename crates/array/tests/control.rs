//! Branches and loops over data: values, transforms, devices, faults.

use std::ops::Range;

use oneir_array::{
    Array, ArrayError, DType, array, checkpoint, compile, cond, eval_on, fori, grad, jvp, random, scan, vjp,
    vmap, vmap_over, while_loop,
};
use oneir_cpu as _;
use oneir_runtime::Runtime;

type Test = Result<(), ArrayError>;

fn floats(x: &Array) -> Vec<f32> {
    x.to_vec().unwrap_or_else(|e| panic!("{e}"))
}

fn total(x: &Array) -> Array {
    x.sum(.., false)
}

fn close(a: &Array, b: &Array) {
    assert_eq!((a.shape(), a.dtype()), (b.shape(), b.dtype()));
    assert!(a.allclose(b, 1e-5, 1e-6, false).item::<bool>().unwrap(), "{a}\n{b}");
}

#[test]
fn a_branch_is_chosen_by_data() -> Test {
    let f = |x: &Array| cond(&total(x).less(0), |x: &Array| x.abs(), |x: &Array| x.sqrt(), x);
    assert_eq!(floats(&f(&array![-4.0, 1.0])), [4.0, 1.0]);
    assert_eq!(floats(&f(&array![4.0, 9.0])), [2.0, 3.0]);
    // In a batch, each for itself, whatever the other branch makes of it.
    assert_eq!(floats(&vmap(f)(&array![[-4.0, 1.0], [4.0, 9.0]])), [4.0, 1.0, 2.0, 3.0]);
    let slopes = vmap(grad(|x: &Array| total(&f(x))))(&array![[-4.0, 1.0], [4.0, 9.0]]);
    close(&slopes, &array![[-1.0, 1.0], [0.25, 1.0 / 6.0]]);
    let compiled = compile(f);
    assert_eq!(floats(&compiled(&array![-4.0, 1.0])), [4.0, 1.0]);
    assert_eq!(floats(&compiled(&array![4.0, 9.0])), [2.0, 3.0]);
    Ok(())
}

#[test]
fn bodies_read_what_is_around_them() -> Test {
    let (x, w) = (array![1.0, 2.0], array![3.0, 5.0]);
    let branch = |w: &Array| total(&cond(&Array::from(true), |x: &Array| x * w.exp(), |x: &Array| x * x, &x));
    close(&grad(branch)(&w), &(&x * w.exp()));
    let turns = |w: &Array| total(&fori(0..3, |_, y: &Array| y * w, &x));
    close(&grad(turns)(&w), &(&x * w.square() * 3));
    let along = |w: &Array| {
        let (_, all) =
            scan(|c: &Array, x: &Array| (c + x, c * x * w), &array![0.0, 1.0], &x.reshape(&[2, 1]), false);
        total(&all)
    };
    let unrolled = |w: &Array| {
        let first = array![0.0, 1.0];
        total(&(&first * x.index(0) * w)) + total(&((&first + x.index(0)) * x.index(1) * w))
    };
    close(&grad(along)(&w), &grad(unrolled)(&w));
    let rows = vmap(|w: &Array| fori(0..2, |_, y: &Array| y + w, &x))(&array![[1.0, 1.0], [10.0, 20.0]]);
    assert_eq!(floats(&rows), [3.0, 4.0, 21.0, 42.0]);
    // One output of several of a recorded call.
    let parts = w.split(2, 0)?;
    let halves = fori(0..2, |_, y: &Array| y + &parts[1] - &parts[0], &array![0.0]);
    assert_eq!(floats(&halves), [4.0]);
    Ok(())
}

#[test]
fn loops_run_as_long_as_data_says() -> Test {
    let collatz = |n: &Array| {
        let turn = |(n, steps): &(Array, Array)| {
            let even = n.remainder(2).equal(0);
            (even.where_(n.floor_divide(2), n * 3 + 1), steps + 1)
        };
        let start = (n.clone(), n.zeros_like(None));
        while_loop(|(n, _): &(Array, Array)| n.greater(1), turn, &start).1
    };
    let counts = [0, 1, 7, 2, 5, 8, 16, 3, 19];
    for (n, want) in (1..10).zip(counts) {
        assert_eq!(collatz(&Array::from(n)).item::<i32>()?, want, "{n}");
    }
    let all = vmap(collatz)(&(Array::arange(9, DType::I32) + 1));
    assert_eq!(all.to_vec::<i32>()?, counts);
    // Forward mode carries tangents along.
    let double = |x: &Array| while_loop(|x: &Array| total(x).less(100), |x: &Array| x * 2, x);
    let (y, dy) = jvp(double, &array![3.0, 4.0], &array![1.0, 10.0]);
    assert_eq!((floats(&y), floats(&dy)), (vec![48.0, 64.0], vec![16.0, 160.0]));
    let refused = grad(|x: &Array| total(&double(x)))(&array![1.0]).check().unwrap_err().to_string();
    assert!(refused.contains("`while_loop` at crates/array/tests/control.rs"), "{refused}");
    // None at all.
    assert_eq!(floats(&double(&array![1000.0])), [1000.0]);
    Ok(())
}

#[test]
fn scans_equal_their_loops() -> Test {
    let w = array![[0.5, -0.25], [0.75, 0.1]];
    let turn = |(h, c): &(Array, Array), x: &Array| {
        let next = (h.matmul(&w) + x).tanh();
        let c = c * 0.5 + &next;
        ((next.clone(), c.clone()), (next * 2, c))
    };
    let start = (array![[0.1, 0.2]], array![[0.0, 1.0]]);
    let x = random::normal(&[5, 1, 2], DType::F32, 0, 1, Some(&random::key(3)));
    for reverse in [false, true] {
        let looped = |x: &Array| {
            let (mut carried, mut all) = (start.clone(), vec![None; 5]);
            for k in 0..5 {
                let k = if reverse { 4 - k } else { k };
                let (next, made) = turn(&carried, &x.index(k));
                (carried, all[k as usize]) = (next, Some(made));
            }
            let all: Vec<(Array, Array)> = all.into_iter().flatten().collect();
            let stack = |f: &dyn Fn(&(Array, Array)) -> Array| {
                oneir_array::ops::stack(&all.iter().map(f).collect::<Vec<_>>(), 0)
            };
            (carried, (stack(&|m| m.0.clone()), stack(&|m| m.1.clone())))
        };
        let scanned = |x: &Array| scan(turn, &start, x, reverse);
        let (a, b) = (scanned(&x), looped(&x));
        close(&a.0.0, &b.0.0);
        close(&a.0.1, &b.0.1);
        close(&a.1.0, &b.1.0);
        close(&a.1.1, &b.1.1);
        let sum = |((h, c), (y, z)): ((Array, Array), (Array, Array))| {
            total(&h) + total(&c) * 2 + total(&y.square()) + total(&z)
        };
        let slope = grad(|x: &Array| sum(scanned(x)))(&x);
        close(&slope, &grad(|x: &Array| sum(looped(x)))(&x));
        close(&grad(checkpoint(|x: &Array| sum(scanned(x))))(&x), &slope);
        let curve = |f: &dyn Fn(&Array) -> Array| vjp(|x: &Array| grad(f)(x), &x, &x).1;
        close(&curve(&|x: &Array| sum(scanned(x))), &curve(&|x: &Array| sum(looped(x))));
        let batch = vmap_over(|x: &Array| scanned(x).1.0, &[Some(2)], &[Some(0)])(
            &x.reshape(&[5, 1, 1, 2]).broadcast_to(&[5, 1, 3, 2]),
        );
        close(&batch.index(1), &a.1.0);
    }
    Ok(())
}

#[test]
fn every_device_runs_them() -> Test {
    let make = || {
        let (last, all) =
            scan(|c: &Array, x: &Array| (c + x, c * x), &array![1.0], &array![[1.0], [2.0], [3.0]], true);
        let looped = while_loop(|x: &Array| total(x).less(50), |x: &Array| x * x + 1, &last);
        let chosen = cond(&total(&all).greater(3), |x: &Array| -x, |x: &Array| x * 1, &looped);
        vec![last, all, looped, chosen]
    };
    let mut seen = Vec::new();
    for name in ["cpu", "cpu-unfused", "cpu-reference"] {
        let device = Runtime::global().device(name)?;
        let all = make();
        eval_on(&device, &all)?;
        seen.push(all.iter().map(floats).collect::<Vec<_>>());
    }
    assert_eq!(seen[0], vec![vec![7.0], vec![6.0, 8.0, 3.0], vec![50.0], vec![-50.0]]);
    assert!(seen.iter().all(|s| *s == seen[0]));
    Ok(())
}

#[test]
fn turns_of_nothing() -> Test {
    let (last, all) =
        scan(|c: &Array, x: &Array| (c + x, c * x), &array![1.0], &Array::zeros(&[0, 1], DType::F32), false);
    assert_eq!((floats(&last), all.shape().to_vec()), (vec![1.0], vec![0, 1]));
    assert_eq!(floats(&fori(3..3, |_, x: &Array| x * 2, &array![1.0])), [1.0]);
    assert_eq!(floats(&fori(Range { start: 3, end: -3 }, |_, x: &Array| x * 2, &array![1.0])), [1.0]);
    assert_eq!(fori(0..4, |i, (): &()| assert_eq!(i.dtype(), DType::I32), &()), ());
    Ok(())
}

#[test]
fn what_does_not_fit_is_told_with_the_line() {
    let x = array![1.0, 2.0];
    let told = |array: Array, words: &[&str]| {
        let why = array.check().unwrap_err().to_string();
        assert!(words.iter().all(|word| why.contains(word)), "{why}");
        assert!(why.contains("crates/array/tests/control.rs"), "{why}");
    };
    told(cond(&x, |x: &Array| x * 1, |x: &Array| x * 2, &x), &["cond", "the condition"]);
    told(cond(&Array::from(true), |x: &Array| x * 1, |x: &Array| total(x), &x), &["cond", "f32[2]", "f32[]"]);
    let uneven =
        cond(&Array::from(true), |x: &Array| vec![x.clone()], |x: &Array| vec![x.clone(), x.clone()], &x);
    told(uneven[0].clone(), &["cond", "differ in more than their arrays"]);
    told(while_loop(|x: &Array| x.less(1), |x: &Array| x * 1, &x), &["while_loop", "bool[]"]);
    told(
        while_loop(|x: &Array| total(x).less(1), |x: &Array| x.astype(DType::F64), &x),
        &["while_loop", "f64[2]"],
    );
    told(scan(|c: &Array, x: &Array| (c + x, ()), &x, &Array::from(1f32), false).0, &["scan", "first axis"]);
    told(scan(|c: &Array, _: &()| (c.clone(), ()), &x, &(), false).0, &["scan", "at least one array"]);
    let items = (array![1.0, 2.0], array![1.0, 2.0, 3.0]);
    told(
        scan(|c: &Array, (a, b): &(Array, Array)| (c + a + b, ()), &Array::from(0f32), &items, false).0,
        &["scan", "[2]", "[3]"],
    );
    told(fori(0..2, |_, x: &Array| x.matmul(&array![1.0, 2.0, 3.0]), &x), &["matmul"]);
    // A failure comes through from before.
    let failed = x.reshape(&[7]);
    told(cond(&Array::from(true), |x: &Array| x * 1, |x: &Array| x * 2, &failed), &["reshape"]);
    told(while_loop(|x: &Array| total(x).less(1), |x: &Array| x * 2, &failed), &["reshape"]);
    told(scan(|c: &Array, x: &Array| (c + x, ()), &x, &failed, false).0, &["reshape"]);
    // A value inside is not known.
    let looked = fori(0..2, |i, x: &Array| if i.item::<i32>().is_ok() { x * 1 } else { x * 2 }, &x);
    assert_eq!(floats(&looked), [4.0, 8.0]);
}
