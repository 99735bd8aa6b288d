//! Compiled functions: when they are traced, and that they compute what the function
//! does.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use oneir_array::{
    Array, ArrayError, DType, Frozen, array, compile, compile_mut, compile_shapeless, grad, jvp, linalg,
    random, value_and_grad, vmap,
};
use oneir_cpu as _;

type Test = Result<(), ArrayError>;

fn floats(x: &Array) -> Vec<f32> {
    x.to_vec().unwrap_or_else(|e| panic!("{e}"))
}

fn total(x: &Array) -> Array {
    x.sum(.., false)
}

#[test]
fn a_function_is_called_once_for_each_kind_of_input() -> Test {
    let calls = Cell::new(0);
    let f = compile(|x: &Array| {
        calls.set(calls.get() + 1);
        (x * x).sin() + 1
    });
    let x = array![1.0, 2.0];
    for k in 0..3 {
        let x = &x + k;
        assert_eq!(floats(&f(&x)), floats(&((&x * &x).sin() + 1)));
    }
    assert_eq!(calls.get(), 1);
    f(&array![1.0, 2.0, 3.0]);
    assert_eq!(calls.get(), 2, "another shape");
    f(&array![1.0, 2.0].astype(DType::F64));
    assert_eq!(calls.get(), 3, "another dtype");
    f(&x);
    assert_eq!(calls.get(), 3, "the first is still there");
    assert_eq!(floats(&f(&x.reshape(&[2, 1]).broadcast_to(&[2, 3]).t())).len(), 6, "a view");
    Ok(())
}

#[test]
fn structures_that_differ_have_traces_of_their_own() -> Test {
    let (a, b) = (array![1.0], array![2.0]);
    let calls = Cell::new(0);
    let count = |x: &Array| {
        calls.set(calls.get() + 1);
        x * 1
    };
    let nested = compile(|t: &Vec<Vec<Array>>| count(&t[0].iter().fold(array![0.0], |s, x| s * 10 + x)));
    assert_eq!(floats(&nested(&vec![vec![a.clone()], vec![b.clone()]])), [1.0]);
    assert_eq!(floats(&nested(&vec![vec![a.clone(), b.clone()]])), [12.0]);
    assert_eq!(calls.take(), 2);
    let flag = compile(|(x, double): &(Array, bool)| count(&if *double { x * 2 } else { x.clone() }));
    assert_eq!(floats(&flag(&(a.clone(), true))), [2.0]);
    assert_eq!(floats(&flag(&(a.clone(), false))), [1.0]);
    assert_eq!(floats(&flag(&(a.clone(), true))), [2.0]);
    assert_eq!(calls.take(), 2);
    let keyed =
        compile(|t: &BTreeMap<String, Array>| count(&t.values().fold(array![0.0], |s, x| s * 10 + x)));
    let map = |keys: [&str; 2]| BTreeMap::from([(keys[0].into(), a.clone()), (keys[1].into(), b.clone())]);
    assert_eq!(floats(&keyed(&map(["a", "b"]))), [12.0]);
    assert_eq!(floats(&keyed(&map(["b", "a"]))), [21.0]);
    assert_eq!(calls.take(), 1, "the same keys");
    keyed(&map(["a", "bb"]));
    assert_eq!(calls.take(), 1, "another key");
    let frozen = compile(|(x, w): &(Array, Frozen<Array>)| count(&(x + &w.0)));
    assert_eq!(floats(&frozen(&(a.clone(), Frozen(b.clone())))), [3.0]);
    assert_eq!(floats(&frozen(&(a.clone(), Frozen(a.clone())))), [2.0], "what is frozen is an input");
    assert_eq!(calls.take(), 1);
    Ok(())
}

#[test]
fn traces_are_bounded() {
    let calls = Cell::new(0);
    let f = compile(|x: &Array| {
        calls.set(calls.get() + 1);
        total(x)
    });
    let of = |n: usize| f(&Array::ones(&[n], DType::F32)).item::<f32>().unwrap();
    for n in 0..100 {
        assert_eq!(of(n), n as f32);
    }
    assert_eq!(calls.get(), 100);
    assert_eq!((of(99), of(68)), (99.0, 68.0));
    assert_eq!(calls.get(), 100, "the latest are there");
    of(0);
    assert_eq!(calls.get(), 101, "the first are not");
}

#[test]
fn transforms_compose_with_compiled_functions() -> Test {
    let f = |x: &Array| (x.sin() * x).exp();
    let (g, x) = (compile(f), array![0.3, -0.7, 1.1]);
    let close = |a: &Array, b: &Array| {
        assert!(a.allclose(b, 1e-5, 1e-6, false).item::<bool>().unwrap(), "{a}\n{b}");
    };
    close(&grad(|x: &Array| total(&g(x)))(&x), &grad(|x: &Array| total(&f(x)))(&x));
    close(&compile(grad(|x: &Array| total(&f(x))))(&x), &grad(|x: &Array| total(&f(x)))(&x));
    close(&compile(grad(|x: &Array| total(&g(x))))(&x), &grad(|x: &Array| total(&f(x)))(&x));
    close(&vmap(&g)(&x), &vmap(f)(&x));
    close(&compile(vmap(f))(&x), &f(&x));
    close(&compile(|x: &Array| g(&(x + 1)))(&x), &f(&(&x + 1)));
    let tangent = x.ones_like(None);
    close(&jvp(&g, &x, &tangent).1, &jvp(f, &x, &tangent).1);
    close(
        &compile(|(x, t): &(Array, Array)| jvp(f, x, t))(&(x.clone(), tangent.clone())).1,
        &jvp(f, &x, &tangent).1,
    );
    Ok(())
}

#[test]
fn what_a_function_reads_beside_its_input() -> Test {
    let (x, w) = (array![1.0, 2.0], array![3.0, 4.0]);
    // A constant.
    let scaled = compile(|x: &Array| x * &w);
    assert_eq!(floats(&scaled(&x)), [3.0, 8.0]);
    // What a transform around it looks at is none.
    let slope = grad(|w: &Array| total(&compile(|x: &Array| x * w)(&x)))(&w);
    assert_eq!(floats(&slope), [1.0, 2.0]);
    let rows = vmap(|w: &Array| compile(|x: &Array| x * w)(&x))(&array![[1.0, 1.0], [10.0, 100.0]]);
    assert_eq!(floats(&rows), [1.0, 2.0, 10.0, 200.0]);
    let outer = compile(|w: &Array| compile(|x: &Array| x * w)(&x));
    assert_eq!(floats(&outer(&w)), [3.0, 8.0]);
    assert_eq!(floats(&outer(&(&w * 10))), [30.0, 80.0]);
    Ok(())
}

#[test]
fn random_numbers_are_drawn_anew_and_are_those_of_the_function() -> Test {
    let noisy = |x: &Array| {
        x + random::normal(&[3], DType::F32, 0, 1, None) * random::uniform(0, 1, &[3], DType::F32, None)
    };
    let (f, x) = (compile(noisy), array![1.0, 2.0, 3.0]);
    random::seed(11);
    let plain: Vec<Vec<f32>> = (0..3).map(|_| floats(&noisy(&x))).collect();
    let after = random::uniform(0, 1, &[], DType::F32, None).item::<f32>()?;
    random::seed(11);
    let compiled: Vec<Vec<f32>> = (0..3).map(|_| floats(&f(&x))).collect();
    assert_eq!(compiled, plain);
    assert_eq!(random::uniform(0, 1, &[], DType::F32, None).item::<f32>()?, after);
    assert_ne!(compiled[0], compiled[1]);
    // A function that draws nothing leaves the state alone.
    random::seed(5);
    let before = random::state().to_vec::<u32>()?;
    compile(|x: &Array| x + 1)(&x).eval()?;
    assert_eq!(random::state().to_vec::<u32>()?, before);
    Ok(())
}

#[test]
fn a_trace_that_fails_is_not_kept_and_spoils_nothing_else() -> Test {
    let fits = Cell::new(false);
    let f = compile(|x: &Array| {
        let other = if fits.get() { array![1.0, 1.0] } else { array![1.0, 1.0, 1.0] };
        (x + other, x * 2)
    });
    let (bad, good) = f(&array![1.0, 2.0]);
    let why = bad.check().unwrap_err().to_string();
    assert!(why.contains("`add` at crates/array/tests/compile.rs"), "{why}");
    assert_eq!(floats(&good), [2.0, 4.0]);
    fits.set(true);
    assert_eq!(floats(&f(&array![1.0, 2.0]).0), [2.0, 3.0]);
    Ok(())
}

#[test]
fn a_value_that_is_looked_at_is_not_known() {
    let f = compile(|x: &Array| match total(x).item::<f32>() {
        Ok(_) => unreachable!("it is not known"),
        Err(error) => {
            assert!(error.to_string().contains("argument"), "{error}");
            x.clone()
        }
    });
    assert_eq!(floats(&f(&array![1.0])), [1.0]);
}

#[test]
fn failures_of_a_run_are_carried() {
    let f = compile(|x: &Array| linalg::cholesky(x, false));
    let good = f(&array![[4.0, 0.0], [0.0, 9.0]]);
    assert_eq!(floats(&good), [2.0, 0.0, 0.0, 3.0]);
    let why = f(&array![[-1.0, 0.0], [0.0, 1.0]]).to_vec::<f32>().unwrap_err().to_string();
    assert!(why.contains("positive definite"), "{why}");
}

#[test]
fn a_state_goes_in_and_out() -> Test {
    let calls = Cell::new(0);
    let step = compile_mut(|state: &mut (Array, Vec<Array>), x: &Array| {
        calls.set(calls.get() + 1);
        state.0 = &state.0 + x;
        state.1[0] = &state.0 * &state.1[0];
        total(&state.0)
    });
    let mut state = (array![0.0, 1.0], vec![array![1.0, 1.0]]);
    let kept = state.clone();
    for (k, want) in [(1.0, 3.0), (2.0, 7.0), (3.0, 13.0)] {
        assert_eq!(step(&mut state, &(array![1.0, 1.0] * k)).item::<f32>()?, want);
    }
    assert_eq!(calls.get(), 1);
    assert_eq!((floats(&state.0), floats(&state.1[0])), (vec![6.0, 7.0], vec![18.0, 56.0]));
    assert_eq!((floats(&kept.0), floats(&kept.1[0])), (vec![0.0, 1.0], vec![1.0, 1.0]), "held by another");
    // A state that grows.
    let push = compile_mut(|all: &mut Vec<Array>, x: &Array| {
        let sum = all.iter().fold(x.clone(), |s, x| s + x);
        all.push(sum.clone());
        sum
    });
    let mut all = vec![];
    let sums: Vec<f32> = (0..4).map(|_| push(&mut all, &array![1.0]).item().unwrap()).collect();
    assert_eq!((sums, all.len()), (vec![1.0, 2.0, 4.0, 8.0], 4));
    Ok(())
}

#[test]
fn a_step_that_fails_leaves_the_state() -> Test {
    let step = compile_mut(|state: &mut Array, x: &Array| {
        *state = linalg::cholesky(&(&*state + x), false);
        total(state)
    });
    let mut state = array![[1.0, 0.0], [0.0, 1.0]];
    assert_eq!(step(&mut state, &array![[3.0, 0.0], [0.0, 3.0]]).item::<f32>()?, 4.0);
    let before = floats(&state);
    let why = step(&mut state, &array![[-9.0, 0.0], [0.0, 0.0]]).eval().unwrap_err().to_string();
    assert!(why.contains("positive definite"), "{why}");
    assert_eq!(floats(&state), before);
    let why = step(&mut state, &array![1.0, 2.0, 3.0]).check().unwrap_err().to_string();
    assert!(why.contains("add"), "{why}");
    assert_eq!(floats(&state), before);
    assert_eq!(step(&mut state, &array![[2.0, 0.0], [0.0, 2.0]]).item::<f32>()?, 4.0);
    Ok(())
}

#[test]
fn one_trace_serves_all_shapes() -> Test {
    let calls = Cell::new(0);
    let network = |(x, w, b): &(Array, Array, Array)| {
        let y = (x.matmul(w) + b).maximum(0);
        let y = (&y - y.mean(-1, true)) / (y.var(-1, true, 0) + 1e-5).sqrt();
        (y.softmax(-1), y.std(.., false, 1))
    };
    let f = compile_shapeless(|at: &(Array, Array, Array)| {
        calls.set(calls.get() + 1);
        network(at)
    });
    for (rows, inner, columns) in [(2, 3, 4), (5, 3, 4), (1, 1, 2), (7, 2, 9)] {
        let draw = |shape: &[usize], seed| random::normal(shape, DType::F32, 0, 1, Some(&random::key(seed)));
        let at = (draw(&[rows, inner], 1), draw(&[inner, columns], 2), draw(&[columns], 3));
        let (found, expected) = (f(&at), network(&at));
        for (found, expected) in [(found.0, expected.0), (found.1, expected.1)] {
            assert_eq!(found.shape(), expected.shape());
            assert!(found.allclose(&expected, 1e-5, 1e-6, false).item::<bool>()?, "{found}\n{expected}");
        }
    }
    assert_eq!(calls.get(), 1);
    Ok(())
}

#[test]
fn sizes_in_a_trace_are_refused_by_name() {
    let x = Array::ones(&[2, 3], DType::F32);
    let refused = |name: &str, f: &dyn Fn(&Array) -> Array| {
        let compiled = compile_shapeless(f);
        let why = compiled(&x).check().unwrap_err().to_string();
        assert!(why.contains(&format!("`{name}` at crates/array/tests/compile.rs")), "{name}: {why}");
    };
    refused("reshape", &|x| x.reshape(&[6]));
    refused("slice", &|x| x.narrow(0, 0, 1));
    refused("broadcast", &|x| total(x).broadcast_to(&[2, 3]));
    refused("broadcast", &|x| x.zeros_like(None) + 1);
    refused("iota", &|x| x + Array::arange(3, DType::F32));
    refused("random_bits", &|x| x + random::normal(&[2, 3], DType::F32, 0, 1, Some(&random::key(1))));
    // The same functions are compiled for fixed shapes.
    assert_eq!(compile(|x: &Array| x.reshape(&[6]))(&x).shape(), [6]);
    // Other numbers of dimensions have traces of their own.
    let sum = compile_shapeless(|x: &Array| total(&(x * 2)));
    assert_eq!(sum(&x).item::<f32>().unwrap(), 12.0);
    assert_eq!(sum(&Array::ones(&[3], DType::F32)).item::<f32>().unwrap(), 6.0);
}

#[test]
fn threads_share_a_compiled_function() {
    let calls = AtomicUsize::new(0);
    let f = compile(|x: &Array| {
        calls.fetch_add(1, Ordering::Relaxed);
        total(&(x * x))
    });
    std::thread::scope(|scope| {
        for k in 0..4 {
            let f = &f;
            scope.spawn(move || {
                for n in 1..20 {
                    let x = Array::full(&[n], k as f32, DType::F32);
                    assert_eq!(f(&x).item::<f32>().unwrap(), (n * k * k) as f32);
                }
            });
        }
    });
    assert!(calls.load(Ordering::Relaxed) <= 19 * 4);
    assert!(calls.load(Ordering::Relaxed) >= 19);
}

#[test]
fn a_panic_in_a_trace_leaves_the_random_state() -> Test {
    random::seed(9);
    let before = random::state().to_vec::<u32>()?;
    let panics =
        || compile(|x: &Array| if x.ndim() == 1 { panic!("on purpose") } else { x.clone() })(&array![1.0]);
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(random::state().to_vec::<u32>()?, before);
    Ok(())
}

#[test]
fn training_steps_are_the_same_compiled() -> Test {
    let loss = |(w, x, y): &(Array, Array, Array)| (x.matmul(w).tanh() - y).square().mean(.., false);
    let step = |w: &mut Array, (x, y): &(Array, Array)| {
        let of = |w: &Array| loss(&(w.clone(), x.clone(), y.clone()));
        let (value, slope) = value_and_grad(of)(w);
        *w = &*w - slope * 0.5;
        value
    };
    let draw = |shape: &[usize], seed| random::normal(shape, DType::F32, 0, 1, Some(&random::key(seed)));
    let data = (draw(&[8, 3], 1), draw(&[8, 1], 2).tanh());
    let (mut plain, mut compiled) = (draw(&[3, 1], 3), draw(&[3, 1], 3));
    let fast = compile_mut(step);
    for _ in 0..10 {
        let (a, b) = (step(&mut plain, &data).item::<f32>()?, fast(&mut compiled, &data).item::<f32>()?);
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
    assert!(plain.allclose(&compiled, 1e-5, 1e-6, false).item::<bool>()?);
    Ok(())
}
