//! Transforms of functions of arrays, and how they nest.

use std::collections::BTreeMap;

use oneir_array::{
    Array, DType, Frozen, array, eval, grad, jvp, ops, value_and_grad, value_and_grad_with, vjp, vmap,
    vmap_over,
};
use oneir_cpu as _;

fn floats(x: &Array) -> Vec<f32> {
    x.to_vec().unwrap()
}

fn close(found: &Array, expected: &Array) {
    assert_eq!((found.shape(), found.dtype()), (expected.shape(), expected.dtype()));
    assert!(
        found.allclose(expected, 1e-5, 1e-6, true).item::<bool>().unwrap(),
        "{found}\nexpected\n{expected}"
    );
}

/// A small network's loss, of weights and examples.
fn loss((w, v): &(Array, Array), x: &Array) -> Array {
    let hidden = x.matmul(w).tanh();
    let all: Array = hidden.matmul(v).square();
    all.mean(.., false)
}

#[test]
fn hessians_agree_however_they_are_nested() {
    let x = array![0.5, -1.0, 2.0];
    let f = |x: &Array| (x.exp() * x).sum(.., false) + x.prod(.., false);
    let eye = Array::eye(3, None, 0, DType::F32);
    let reverse_forward = vmap(|v: &Array| jvp(grad(f), &x, v).1)(&eye);
    let reverse_reverse = vmap(|v: &Array| vjp(|x: &Array| grad(f)(x), &x, v).1)(&eye);
    let forward_reverse = vmap(|v: &Array| grad(|x: &Array| jvp(f, x, v).1)(&x))(&eye);
    // d²/dx² of x·e^x is (x + 2)·e^x; of the product, the other factors.
    let diagonal = (&x + 2) * x.exp();
    let expected = &eye * &diagonal + array![[0.0, 2.0, -1.0], [2.0, 0.0, 0.5], [-1.0, 0.5, 0.0]];
    close(&reverse_forward, &expected);
    close(&reverse_reverse, &expected);
    close(&forward_reverse, &expected);
}

#[test]
fn gradients_of_each_example_are_those_of_a_loop() {
    let w = (array![[0.1, -0.2], [0.3, 0.4], [-0.5, 0.6]], array![[1.0], [-2.0]]);
    let x = array![[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0], [0.0, 1.0, 1.0], [2.0, 2.0, -2.0]];
    let one = |row: &Array| grad(|w: &(Array, Array)| loss(w, &row.expand_dims(0)))(&w);
    let all = vmap(one)(&x);
    for (k, row) in x.iter().enumerate() {
        let (w, v) = one(&row);
        close(&all.0.index(k), &w);
        close(&all.1.index(k), &v);
    }
    // Their mean is the gradient of the mean.
    let whole = grad(|w: &(Array, Array)| loss(w, &x))(&w);
    close(&all.0.mean(0, false), &whole.0);
    close(&all.1.mean(0, false), &whole.1);
}

#[test]
fn a_direction_gives_the_same_forward_and_back() {
    let w = (array![[0.3, -0.7], [0.2, 0.9]], array![[1.5], [0.5]]);
    let t = (array![[1.0, 2.0], [-1.0, 0.5]], array![[0.25], [-1.0]]);
    let x = array![[1.0, -1.0], [0.5, 2.0]];
    let (value, along) = jvp(|w: &(Array, Array)| loss(w, &x), &w, &t);
    let (same, gradient) = value_and_grad(|w: &(Array, Array)| loss(w, &x))(&w);
    close(&value, &same);
    close(&along, &((gradient.0 * &t.0).sum(.., false) + (gradient.1 * &t.1).sum(.., false)));
}

#[test]
fn looking_at_a_value_inside_keeps_the_gradient() {
    let f = |x: &Array| {
        let y = x * x;
        let shown = y.item::<f32>().unwrap();
        let z = if shown > 1.0 { y.sin() } else { y.cos() };
        z.eval().unwrap();
        z
    };
    let x = Array::scalar(1.5f32);
    close(&grad(f)(&x), &((&x * &x).cos() * 2 * &x));
    // Also where an inner transform has ended while the outer has not.
    let g = |x: &Array| {
        let inner = grad(|x: &Array| x * x * x)(x);
        inner.eval().unwrap();
        inner * x
    };
    close(&grad(g)(&x), &(9 * &x * &x));
}

#[test]
fn steps_let_go_of_what_came_before() {
    let mut x = array![1.0, 2.0];
    for _ in 0..1000 {
        let gradient = grad(|x: &Array| (x * x).sum(.., false))(&x);
        x = &x - gradient * 0.001;
        eval(std::slice::from_ref(&x)).unwrap();
        assert!(x.value().unwrap().node().operands().is_empty());
    }
    assert!((floats(&x)[1] - 2.0 * 0.998f32.powi(1000)).abs() < 1e-3);
}

#[test]
fn trees_of_any_shape_go_through() {
    type Model = (BTreeMap<String, Vec<Array>>, Option<Array>, Frozen<Array>, i32);
    let layers =
        BTreeMap::from([("a".to_string(), vec![array![1.0, 2.0], array![3.0]]), ("b".to_string(), vec![])]);
    let model: Model = (layers, None, Frozen(array![10.0]), 3);
    let f = |(layers, none, frozen, power): &Model| {
        assert!(none.is_none());
        let all = &layers["a"];
        ((&all[0] * &all[1]).power(*power) * &frozen.0).sum(.., false)
    };
    let gradient = grad(f)(&model);
    // 10 · 3 · (a·b)² · b, and with a.
    assert_eq!(floats(&gradient.0["a"][0]), [30.0 * 9.0 * 3.0, 30.0 * 36.0 * 3.0]);
    assert_eq!(floats(&gradient.0["a"][1]), [30.0 * (9.0 + 36.0 * 2.0)]);
    assert_eq!(floats(&gradient.2.0), [10.0]);
    // Arrays of integers have zeros.
    let (number, count) = grad(|(x, n): &(Array, Array)| (x * n).sum(.., false))(&(array![2.0], array![3]));
    assert_eq!((floats(&number), count.to_vec::<i32>().unwrap()), (vec![3.0], vec![0]));
}

#[test]
fn what_stops_gradients_does() {
    let x = array![3.0];
    let stopped = grad(|x: &Array| (x * x.stop_gradient()).sum(.., false))(&x);
    assert_eq!(floats(&stopped), [3.0]);
    let none = grad(|_: &Array| Array::scalar(1f32))(&x);
    assert_eq!(floats(&none), [0.0]);
    let steps = grad(|x: &Array| x.floor().sum(.., false))(&x);
    assert_eq!(floats(&steps), [0.0]);
}

#[test]
fn what_stops_gradients_does_so_in_every_transform() {
    let f = |x: &Array| x * ops::stop_gradient(&(x * x));
    let x = array![1.0, 2.0, -3.0];
    // As if x² were given.
    let (y, pulled) = vjp(f, &x, &array![1.0, 10.0, 100.0]);
    assert_eq!((floats(&y), floats(&pulled)), (vec![1.0, 8.0, -27.0], vec![1.0, 40.0, 900.0]));
    let (_, pushed) = jvp(f, &x, &array![1.0, 10.0, 100.0]);
    assert_eq!(floats(&pushed), [1.0, 40.0, 900.0]);
    assert_eq!(floats(&vmap(f)(&x)), [1.0, 8.0, -27.0]);
    assert_eq!(floats(&vmap(grad(f))(&x)), [1.0, 4.0, 9.0]);
    assert_eq!(floats(&grad(|x: &Array| vmap(f)(x).sum(.., false))(&x)), [1.0, 4.0, 9.0]);
    // Twice: the first derivative, x², is a value that stands.
    assert_eq!(floats(&vmap(grad(grad(f)))(&x)), [0.0, 0.0, 0.0]);
    // Another row per batch, and all of what is stopped the same.
    let rows = array![[1.0, 2.0], [3.0, 4.0]];
    let over = vmap_over(
        |(x, w): &(Array, Array)| (x * w.stop_gradient()).sum(.., false),
        &[Some(0), None],
        &[Some(0)],
    );
    let gradient = grad(|both: &(Array, Array)| over(both).sum(.., false))(&(rows, array![5.0, 7.0]));
    assert_eq!(gradient.0.to_vec::<f32>().unwrap(), [5.0, 7.0, 5.0, 7.0]);
    assert_eq!(floats(&gradient.1), [0.0, 0.0]);
    let whole = array![1, 2].stop_gradient();
    assert_eq!((whole.dtype(), whole.to_vec::<i32>().unwrap()), (DType::I32, vec![1, 2]));
}

#[test]
fn what_is_computed_later_has_the_derivatives_of_itself() {
    let f = |(x, y): &(Array, Array)| ops::depends(&(x * x), &[y.exp(), x.sin()]);
    let (x, y) = (array![1.0, -2.0], array![3.0, 4.0]);
    let both = (x, y);
    let (value, (dx, dy)) = vjp(f, &both, &array![1.0, 10.0]);
    assert_eq!(floats(&value), [1.0, 4.0]);
    assert_eq!((floats(&dx), floats(&dy)), (vec![2.0, -40.0], vec![0.0, 0.0]));
    let (_, along) = jvp(f, &both, &(array![1.0, 10.0], array![5.0, 5.0]));
    assert_eq!(floats(&along), [2.0, -40.0]);
    assert_eq!(floats(&vmap(f)(&both)), [1.0, 4.0]);
    let (dx, dy) = vmap(grad(f))(&both);
    assert_eq!((floats(&dx), floats(&dy)), (vec![2.0, -4.0], vec![0.0, 0.0]));
    // What is the same for all stays so, whatever it waits for.
    let waits = |(x, y): &(Array, Array)| x.depends(std::slice::from_ref(y));
    assert_eq!(floats(&vmap_over(waits, &[None, Some(0)], &[None])(&both)), [1.0, -2.0]);
    let each = vmap_over(waits, &[None, Some(0)], &[Some(0)])(&both);
    assert_eq!((each.shape().to_vec(), floats(&each)), (vec![2, 2], vec![1.0, -2.0, 1.0, -2.0]));
    let rows = vmap_over(waits, &[Some(0), None], &[Some(0)])(&both);
    assert_eq!(floats(&rows), [1.0, -2.0]);
    let none = grad(|x: &Array| x.depends(&[]).sum(.., false))(&both.0);
    assert_eq!(floats(&none), [1.0, 1.0]);
}

#[test]
fn failures_are_carried() {
    let x = array![1.0, 2.0];
    let text = |a: &Array| a.check().unwrap_err().to_string();
    let vector = grad(|x: &Array| x * 2)(&x);
    assert!(text(&vector).contains("one float without dimensions, found f32[2]"), "{}", text(&vector));
    let wrong = grad(|x: &Array| x.reshape(&[3]).sum(.., false))(&x);
    assert!(text(&wrong).contains("reshape") && text(&wrong).contains("transforms.rs"), "{}", text(&wrong));
    let (value, gradient) = value_and_grad(|x: &Array| x.matmul(&array![1.0, 2.0, 3.0]))(&x);
    assert!(value.check().is_err() && gradient.check().is_err());
    let (_, cotangents) = vjp(|x: &Array| x * 2, &x, &array![1.0]);
    assert!(
        text(&cotangents).contains("f32[2]") && text(&cotangents).contains("f32[1]"),
        "{}",
        text(&cotangents)
    );
    let sizes = vmap(|(a, b): &(Array, Array)| a + b)(&(array![1, 2], array![1, 2, 3]));
    assert!(text(&sizes).contains("3 places"), "{}", text(&sizes));
    let scalar = vmap(|x: &Array| x + 1)(&Array::scalar(1f32));
    assert!(text(&scalar).contains("axis 0 is out of range"), "{}", text(&scalar));
    // A value cannot be looked at under vmap: there are many.
    let looked = vmap(|x: &Array| {
        assert!(x.item::<f32>().is_err());
        x + 1
    })(&x);
    assert_eq!(floats(&looked), [2.0, 3.0]);
}

#[test]
fn axes_are_taken_and_given_where_they_are_asked_for() {
    let x = Array::arange(24, DType::F32).reshape(&[2, 3, 4]);
    let f = |x: &Array| ops::stack(&[x.sum(0, false), x.max(0, false)], 0);
    for axis in 0..3 {
        let found = vmap_over(f, &[Some(axis)], &[Some(-1)])(&x);
        let parts: Vec<Array> =
            (0..x.shape()[axis as usize]).map(|i| f(&x.take(Array::scalar(i as i32), axis))).collect();
        close(&found, &Array::stack(&parts, -1));
    }
    // What does not depend on the batch is repeated, or left alone.
    let (y, z) = vmap_over(
        |x: &Array| (Array::ones(&[2], DType::F32), x.sum(.., false)),
        &[Some(0)],
        &[Some(0), Some(0)],
    )(&x);
    assert_eq!((y.shape().to_vec(), z.shape().to_vec()), (vec![2, 2], vec![2]));
    let nothing = vmap(|x: &Array| x * 2)(&Array::zeros(&[0, 3], DType::F32));
    assert_eq!(nothing.shape(), [0, 3]);
}

#[test]
fn frozen_results_are_those_of_the_batch_that_they_are_made_of() {
    let f = |(x, still): &(Array, Frozen<Array>)| {
        (Frozen(x.max(.., false)), x + &still.0, still.clone(), Frozen(vec![Frozen(x * 2)]))
    };
    let input = (array![[1.0, 2.0], [4.0, 3.0]], Frozen(array![10.0]));
    let (most, sums, still, twice) = vmap_over(f, &[Some(1)], &[Some(1)])(&input);
    assert_eq!(floats(&most.0), [4.0, 3.0]);
    close(&sums, &array![[11.0, 12.0], [14.0, 13.0]]);
    assert_eq!(floats(&still.0), [10.0]);
    close(&twice.0[0].0, &array![[2.0, 8.0], [4.0, 6.0]]);
    // Those of a derivative are values like any other.
    let ((_, more), _) = value_and_grad_with(|x: &Array| (x.sum(.., false), Frozen(x * 2)))(&input.1.0);
    assert_eq!(floats(&more.0), [20.0]);
    let (made, changed) = jvp(|x: &Array| (x * 3, Frozen(x * 2)), &input.1.0, &array![1.0]);
    assert_eq!(
        (floats(&made.1.0), floats(&changed.0), floats(&changed.1.0)),
        (vec![20.0], vec![3.0], vec![20.0])
    );
}

#[test]
fn more_results_come_beside_the_value() {
    let f = value_and_grad_with(|x: &Array| {
        let y = x.exp();
        (y.sum(.., false), (y.clone(), "a name".to_string()))
    });
    let ((value, (y, name)), gradient) = f(&array![0.0, 1.0]);
    close(&value, &y.sum(.., false));
    close(&gradient, &y);
    assert_eq!(name, "a name");
}
