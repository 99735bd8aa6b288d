//! Derived trees: what they hold, and how they go through transforms.

#![allow(dead_code, reason = "some types are there for their implementation")]

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::time::Duration;

use oneir::transforms::{Frozen, Structure, leaves, parts};
use oneir::{Array, DType, Tree, array, grad, jvp, value_and_grad, vjp, vmap};

fn floats(x: &Array) -> Vec<f32> {
    x.to_vec().unwrap()
}

/// Numbers 1, 2, … as arrays, in the order in which a tree takes them.
fn numbered<T: Tree>(tree: &T) -> (T, usize) {
    let mut count = 0;
    let mut next = std::iter::from_fn(|| {
        count += 1;
        Some(Array::from(count as f32))
    });
    let tree = tree.with_arrays(&mut next);
    (tree, count)
}

/// A tree shows as many arrays as it takes, in the same order, and has the same
/// structure with others in.
fn consistent<T: Tree>(tree: &T) -> Vec<f32> {
    let (numbered, count) = numbered(tree);
    let (structure, arrays) = parts(&numbered);
    assert_eq!(structure, parts(tree).0);
    let shown: Vec<f32> = arrays.iter().map(|a| a.item().unwrap()).collect();
    assert_eq!(shown, (1..=count).map(|k| k as f32).collect::<Vec<_>>());
    let mut leaves = Vec::new();
    numbered.leaves(&mut leaves);
    let moved = numbered.with_leaves(&mut leaves.iter().map(|a| -a));
    assert_eq!(parts(&moved).0, structure);
    // Which of the arrays are leaves: those that changed.
    let (_, after) = parts(&moved);
    after.iter().map(|a| a.item().unwrap()).collect()
}

fn structure(tree: &impl Tree) -> Structure {
    parts(tree).0
}

fn zero() -> Array {
    Array::zeros(&[], DType::F32)
}

#[derive(Clone, Tree)]
struct Linear {
    weight: Array,
    bias: Option<Array>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Tree)]
enum Activation {
    Tanh,
    Relu,
}

#[derive(Clone, Tree)]
struct Mlp {
    layers: Vec<Linear>,
    activation: Activation,
    #[tree(frozen)]
    name: String,
    #[tree(frozen)]
    scale: Array,
}

impl Mlp {
    fn new() -> Mlp {
        let first = Linear { weight: array![[0.5, -1.0], [0.25, 2.0]], bias: Some(array![0.1, -0.1]) };
        let second = Linear { weight: array![[1.5], [0.5]], bias: None };
        let name = "small".to_string();
        Mlp { layers: vec![first, second], activation: Activation::Tanh, name, scale: array![2.0] }
    }

    fn call(&self, x: &Array) -> Array {
        self.layers.iter().fold(x * &self.scale, |x, layer| {
            let y = x.matmul(&layer.weight);
            let y = layer.bias.as_ref().map_or(y.clone(), |bias| y + bias);
            match self.activation {
                Activation::Tanh => y.tanh(),
                Activation::Relu => y.maximum(0),
            }
        })
    }

    /// The same, written for its arrays one by one.
    fn written_out(w: &Array, b: &Array, v: &Array, x: &Array) -> Array {
        ((x * 2).matmul(w) + b).tanh().matmul(v).tanh()
    }
}

fn inputs() -> Array {
    array![[1.0, -0.5], [0.25, 0.75], [-1.0, 0.0]]
}

fn close(found: &Array, expected: &Array) {
    assert_eq!(found.shape(), expected.shape());
    assert!(found.allclose(expected, 1e-6, 1e-6, false).item::<bool>().unwrap(), "{found}\n{expected}");
}

fn same(found: &Mlp, (w, b, v): &(Array, Array, Array)) {
    close(&found.layers[0].weight, w);
    close(found.layers[0].bias.as_ref().unwrap(), b);
    close(&found.layers[1].weight, v);
    assert!(found.layers[1].bias.is_none());
    assert_eq!((found.name.as_str(), found.activation), ("small", Activation::Tanh));
}

fn three(model: &Mlp) -> (Array, Array, Array) {
    let [first, second] = &model.layers[..] else { panic!("two layers") };
    (first.weight.clone(), first.bias.clone().unwrap(), second.weight.clone())
}

#[test]
fn models_go_through_derivatives() {
    let (model, x) = (Mlp::new(), inputs());
    let by_hand = |(w, b, v): &(Array, Array, Array)| Mlp::written_out(w, b, v, &x).square().sum(.., false);
    let (expected_value, expected) = value_and_grad(by_hand)(&three(&model));
    let (value, gradient) = value_and_grad(|m: &Mlp| m.call(&x).square().sum(.., false))(&model);
    close(&value, &expected_value);
    same(&gradient, &expected);
    assert_eq!(floats(&gradient.scale), [2.0]);

    let cotangent = array![[1.0], [-2.0], [0.5]];
    let (y, pulled) = vjp(|m: &Mlp| m.call(&x), &model, &cotangent);
    let all = three(&model);
    let (expected_y, expected) = vjp(|(w, b, v)| Mlp::written_out(w, b, v, &x), &all, &cotangent);
    close(&y, &expected_y);
    same(&pulled, &expected);

    let (_, along) = jvp(|m: &Mlp| m.call(&x), &model, &gradient);
    let (_, expected) = jvp(|(w, b, v)| Mlp::written_out(w, b, v, &x), &all, &three(&gradient));
    close(&along, &expected);
}

#[test]
fn models_go_through_vmap() {
    // Many models at once; what is frozen is the same for all.
    let model = Mlp::new();
    let mut all = Vec::new();
    model.leaves(&mut all);
    let many = model.with_leaves(&mut all.iter().map(|a| Array::stack(&[a.clone(), a * 2, a * -1], 0)));
    let x = inputs();
    let found = vmap(|m: &Mlp| m.call(&x))(&many);
    for (k, factor) in [1, 2, -1].into_iter().enumerate() {
        let one = model.with_leaves(&mut all.iter().map(|a| a * factor));
        close(&found.index(k), &one.call(&x));
    }
    // Derived trees as results, of a gradient of each.
    let gradients = vmap(grad(|m: &Mlp| m.call(&x).sum(.., false)))(&many);
    assert_eq!(gradients.layers[0].weight.shape(), [3, 2, 2]);
    assert_eq!(gradients.scale.shape(), [1]);
    let first = grad(|m: &Mlp| m.call(&x).sum(.., false))(&model);
    close(&gradients.layers[0].weight.index(0), &first.layers[0].weight);
}

#[test]
fn integers_have_zeros_and_frozen_arrays_stay() {
    #[derive(Clone, Tree)]
    struct Counted {
        weight: Array,
        count: Array,
        #[tree(frozen)]
        table: Array,
    }
    let counted = Counted { weight: array![2.0], count: array![3, 4], table: array![5.0] };
    let f = |c: &Counted| (&c.weight * &c.count * &c.table).sum(.., false);
    let gradient = grad(f)(&counted);
    assert_eq!(floats(&gradient.weight), [35.0]);
    assert_eq!(gradient.count.to_vec::<i32>().unwrap(), [0, 0]);
    assert_eq!(floats(&gradient.table), [5.0]);
    assert_eq!(leaves(&counted).len(), 2);
    assert_eq!(consistent(&counted), [-1.0, -2.0, 3.0]);
}

#[derive(Clone, Tree)]
struct Tuple(Array, #[tree(frozen)] (Array, u8), [Array; 2]);

#[derive(Clone, Tree)]
struct Unit;

#[derive(Clone, Tree)]
enum Empty {}

#[derive(Clone, Tree)]
enum Shapes<'a, T, const N: usize> {
    Unit,
    Tuple(T, #[tree(frozen)] T, [T; N]),
    Named { r#type: T, text: &'a str },
    Deep(Box<Shapes<'a, T, N>>),
}

/// A tree without an end to its type.
#[derive(Clone, Tree)]
struct Node<T> {
    value: T,
    children: Vec<Node<T>>,
    parent: Option<Box<Node<T>>>,
}

trait Layer {
    type Weights: Clone;
    type Config;
}

#[derive(Clone)]
struct Dense;

impl Layer for Dense {
    type Weights = (Array, Array);
    type Config = Duration;
}

/// A marker that is neither a tree nor can be cloned.
struct Marker;

#[derive(Tree)]
struct Associated<L: Layer, M>
where
    L::Config: Debug,
{
    weights: L::Weights,
    again: Vec<<L as Layer>::Weights>,
    #[tree(plain)]
    config: L::Config,
    kind: PhantomData<M>,
    #[tree(plain)]
    activation: fn(&Array) -> Array,
}

impl<L: Layer<Config: Clone + Debug>, M> Clone for Associated<L, M> {
    fn clone(&self) -> Self {
        Associated {
            weights: self.weights.clone(),
            again: self.again.clone(),
            config: self.config.clone(),
            kind: PhantomData,
            activation: self.activation,
        }
    }
}

/// Names that an implementation could be mistaken about.
mod shadows {
    #[derive(::std::clone::Clone, oneir_array::Tree)]
    #[tree(crate = "oneir_array")]
    pub(super) struct Option<Clone> {
        pub(super) visitor: Clone,
        pub(super) from: ::std::vec::Vec<Clone>,
        pub(super) __from: Clone,
    }
}

#[test]
fn every_shape_of_a_type_is_a_tree() {
    let z = zero;
    assert_eq!(consistent(&Tuple(z(), (z(), 3), [z(), z()])), [-1.0, 2.0, -3.0, -4.0]);
    assert!(consistent(&Unit).is_empty());
    assert!(consistent(&Vec::<Empty>::new()).is_empty());
    type Three<'a> = Shapes<'a, Array, 2>;
    assert!(consistent(&Three::Unit).is_empty());
    assert_eq!(consistent(&Three::Tuple(z(), z(), [z(), z()])), [-1.0, 2.0, -3.0, -4.0]);
    assert_eq!(consistent(&Three::Named { r#type: z(), text: "a" }), [-1.0]);
    assert_eq!(
        consistent(&Three::Deep(Box::new(Three::Tuple(z(), z(), [z(), z()])))),
        [-1.0, 2.0, -3.0, -4.0]
    );
    let leaf = || Node { value: z(), children: vec![], parent: None };
    let node = Node { value: z(), children: vec![leaf(), leaf()], parent: Some(Box::new(leaf())) };
    assert_eq!(consistent(&node), [-1.0, -2.0, -3.0, -4.0]);
    let associated = Associated::<Dense, Marker> {
        weights: (z(), z()),
        again: vec![(z(), z())],
        config: Duration::ZERO,
        kind: PhantomData,
        activation: Array::tanh,
    };
    assert_eq!(consistent(&associated), [-1.0, -2.0, -3.0, -4.0]);
    let shadows = shadows::Option { visitor: z(), from: vec![z()], __from: z() };
    assert_eq!(consistent(&shadows), [-1.0, -2.0, -3.0]);
    let maps =
        (BTreeMap::from([("b", z()), ("a", z())]), HashMap::from([(3u8, Frozen(z())), (1, Frozen(z()))]));
    assert_eq!(consistent(&maps), [-1.0, -2.0, 3.0, 4.0]);
    // What is frozen within what is frozen, and leaves beside.
    assert_eq!(consistent(&(Frozen((z(), Frozen(z()), z())), z())), [1.0, 2.0, 3.0, -4.0]);
}

#[test]
fn structures_tell_types_and_variants_and_plain_values_apart() {
    #[derive(Clone, Tree)]
    enum Choice {
        A(Array),
        B(Array),
        C { value: Array },
        D(#[tree(frozen)] Array),
        E(u8),
        F(#[tree(plain)] u8),
    }
    #[derive(Clone, Tree)]
    struct A(Array);
    #[derive(Clone, Tree)]
    struct B(Array);
    #[derive(Clone, Tree)]
    struct Rate(f32, #[tree(plain)] Duration, #[tree(plain)] fn(&Array) -> Array);

    let z = zero;
    let rate = |a: f32, seconds, f| structure(&Rate(a, Duration::from_secs(seconds), f));
    let all = [
        structure(&Choice::A(z())),
        structure(&Choice::B(z())),
        structure(&Choice::C { value: z() }),
        structure(&Choice::D(z())),
        structure(&Choice::E(0)),
        structure(&Choice::E(1)),
        structure(&Choice::F(0)),
        structure(&Choice::F(1)),
        structure(&A(z())),
        structure(&B(z())),
        structure(&(z(),)),
        rate(0.0, 1, Array::tanh),
        rate(-0.0, 1, Array::tanh),
        rate(0.0, 2, Array::tanh),
        rate(0.0, 1, Array::exp),
        rate(f32::NAN, 1, Array::exp),
    ];
    for (i, a) in all.iter().enumerate() {
        for (k, b) in all.iter().enumerate() {
            assert_eq!(a == b, i == k, "{a:?} {b:?}");
        }
    }
    assert_eq!(rate(f32::NAN, 1, Array::exp), all[15]);
    assert_eq!(structure(&Choice::F(1)), all[7]);
}
