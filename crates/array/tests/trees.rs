//! What is said of a tree beside its arrays: the same of equal ones, and something
//! else of all others.

use std::borrow::Cow;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

use oneir_array::transforms::{Frozen, Plain, Rebuild, Structure, Tree, Visitor, leaves, parts};
use oneir_array::{Array, Complex32, DType, array, bf16, f16};
use oneir_cpu as _;

/// Any tree, without a sign of its own: what it holds must tell it from others.
#[derive(Debug, Clone)]
enum Nest {
    Leaf,
    Frozen(Box<Nest>),
    Bool(bool),
    U8(u8),
    I32(i32),
    U64(u64),
    F32(u32),
    F64(u64),
    Text(String),
    Plain8(u8),
    Plain32(u32),
    PlainText(String),
    Maybe(Option<Box<Nest>>),
    List(Vec<Nest>),
    Two(Box<[Nest; 2]>),
    Pair(Box<(Nest, Nest)>),
    Map(Vec<(String, Nest)>),
}

impl Tree for Nest {
    fn visit(&self, visitor: &mut Visitor<'_>) {
        match self {
            Nest::Leaf => visitor.array(&Array::from(0f32)),
            Nest::Frozen(part) => visitor.frozen(&**part),
            Nest::Bool(x) => x.visit(visitor),
            Nest::U8(x) => x.visit(visitor),
            Nest::I32(x) => x.visit(visitor),
            Nest::U64(x) => x.visit(visitor),
            Nest::F32(x) => f32::from_bits(*x).visit(visitor),
            Nest::F64(x) => f64::from_bits(*x).visit(visitor),
            Nest::Text(x) => x.visit(visitor),
            Nest::Plain8(x) => visitor.plain(x),
            Nest::Plain32(x) => visitor.plain(x),
            Nest::PlainText(x) => visitor.plain(x),
            Nest::Maybe(x) => x.visit(visitor),
            Nest::List(x) => x.visit(visitor),
            Nest::Two(x) => x.visit(visitor),
            Nest::Pair(x) => x.visit(visitor),
            Nest::Map(x) => x.iter().cloned().collect::<BTreeMap<_, _>>().visit(visitor),
        }
    }

    fn rebuild(&self, _from: &mut Rebuild<'_>) -> Self {
        self.clone()
    }
}

/// Trees that have no parts; texts among them that read like what is said of others.
fn atoms() -> Vec<Nest> {
    let text = |text: &str| Nest::Text(text.into());
    vec![
        Nest::Leaf,
        Nest::Bool(false),
        Nest::Bool(true),
        Nest::U8(0),
        Nest::U8(1),
        Nest::I32(0),
        Nest::I32(1),
        Nest::U64(1),
        Nest::F32(0),
        Nest::F32((-0f32).to_bits()),
        Nest::F32(1),
        Nest::F32(f32::NAN.to_bits()),
        Nest::F64(0),
        text(""),
        text("\0"),
        text("\0\0"),
        text("\u{3}\u{2}u8\u{1}\u{1}"),
        text("\u{2}\u{3}vec\u{1}\0"),
        text("1"),
        Nest::Plain8(0),
        Nest::Plain8(1),
        Nest::Plain32(1),
        Nest::PlainText("\0".into()),
        Nest::Maybe(None),
        Nest::List(vec![]),
        Nest::Map(vec![]),
    ]
}

/// Trees of these parts.
fn nested(parts: &[Nest]) -> Vec<Nest> {
    let mut all = Vec::new();
    for a in parts {
        all.push(Nest::Frozen(Box::new(a.clone())));
        all.push(Nest::Maybe(Some(Box::new(a.clone()))));
        all.push(Nest::List(vec![a.clone()]));
        all.push(Nest::Map(vec![("k".into(), a.clone())]));
        all.push(Nest::Map(vec![("\0".into(), a.clone())]));
        for b in parts {
            all.push(Nest::List(vec![a.clone(), b.clone()]));
            all.push(Nest::Two(Box::new([a.clone(), b.clone()])));
            all.push(Nest::Pair(Box::new((a.clone(), b.clone()))));
            all.push(Nest::Map(vec![("k".into(), a.clone()), ("l".into(), b.clone())]));
        }
    }
    all
}

fn structure(tree: &impl Tree) -> Structure {
    parts(tree).0
}

/// All different.
fn distinct(trees: &[Nest]) {
    let mut seen: HashMap<Structure, &Nest> = HashMap::new();
    for tree in trees {
        if let Some(other) = seen.insert(structure(tree), tree) {
            panic!("{tree:?} and {other:?} are told alike");
        }
    }
}

#[test]
fn different_trees_have_different_structures() {
    let atoms = atoms();
    let once = nested(&atoms);
    let mut all = [atoms, once.clone()].concat();
    distinct(&all);
    // Nested again: every one alone, and pairs of some of each kind.
    let some: Vec<Nest> = all.iter().step_by(23).cloned().collect();
    all.extend(nested(&some));
    all.extend(once.into_iter().map(|tree| Nest::Maybe(Some(Box::new(tree)))));
    let mut named = HashSet::new();
    let different: Vec<Nest> = all.into_iter().filter(|tree| named.insert(format!("{tree:?}"))).collect();
    assert!(different.len() > 10_000);
    distinct(&different);
}

#[test]
fn no_structure_is_the_beginning_of_another() {
    // Where one were, something after it would make the two alike.
    let all: Vec<Nest> = atoms().into_iter().chain(nested(&atoms()).into_iter().step_by(41)).collect();
    let mut seen: HashMap<Structure, (&Nest, &Nest)> = HashMap::new();
    for a in &all {
        for b in &all {
            let mut both = Structure::default();
            a.structure(&mut both);
            b.structure(&mut both);
            if let Some(other) = seen.insert(both, (a, b)) {
                panic!("{:?} and {other:?} are told alike", (a, b));
            }
        }
    }
}

#[test]
fn equal_trees_have_equal_structures() {
    let hash = |structure: &Structure| {
        let mut hasher = DefaultHasher::new();
        structure.hash(&mut hasher);
        hasher.finish()
    };
    for tree in nested(&atoms()) {
        let (a, b) = (structure(&tree), structure(&tree.clone()));
        assert_eq!(a, b);
        assert_eq!(hash(&a), hash(&b));
    }
    // Arrays belong to none; the order in which a map was made neither.
    let a = HashMap::from([("x", array![1.0]), ("y", array![2, 3]), ("z", array![true])]);
    let b = HashMap::from([("z", array![[1.0]]), ("y", array![4]), ("x", array![5])]);
    assert_eq!(structure(&a), structure(&b));
    assert_eq!(structure(&a), structure(&a.into_iter().collect::<BTreeMap<_, _>>()));
    assert_eq!(structure(&"text"), structure(&"text".to_string()));
    assert_eq!(structure(&Box::new(3)), structure(&3));
}

#[test]
fn the_number_of_parts_is_told() {
    let counts = [0, 1, 2, 126, 127, 128, 129, 255, 256, 16_383, 16_384, 16_385, 70_000];
    let lists: Vec<Nest> = counts.iter().map(|&n| Nest::List(vec![Nest::Leaf; n])).collect();
    let texts = counts.iter().map(|&n| Nest::Text("\0".repeat(n)));
    distinct(&texts.chain(lists).collect::<Vec<_>>());
    let (a, b) = (|| array![1.0], || array![2.0]);
    let all =
        [structure(&vec![vec![a()], vec![b()]]), structure(&vec![vec![a(), b()]]), structure(&(a(), b()))];
    assert!(all[0] != all[1] && all[1] != all[2] && all[0] != all[2]);
}

/// Each type that is a tree, with a different value, and what may not be equal to it.
#[test]
fn plain_values_are_told_by_type_and_value() {
    let all = [
        structure(&false),
        structure(&true),
        structure(&'a'),
        structure(&"a"),
        structure(&Cow::Borrowed("b")),
        structure(&1i8),
        structure(&1i16),
        structure(&1i32),
        structure(&1i64),
        structure(&1i128),
        structure(&1isize),
        structure(&1u8),
        structure(&1u16),
        structure(&1u32),
        structure(&1u64),
        structure(&1u128),
        structure(&1usize),
        structure(&f16::ONE),
        structure(&bf16::ONE),
        structure(&1f32),
        structure(&1f64),
        structure(&Complex32::new(1.0, 0.0)),
        structure(&Complex32::new(0.0, 1.0)),
        structure(&DType::F32),
        structure(&DType::F64),
        structure(&()),
        structure(&PhantomData::<str>),
        structure(&Plain(DType::F32)),
        structure(&Plain(1u8)),
        structure(&Some(1u8)),
        structure(&Some(())),
        structure(&None::<u8>),
        structure(&[0u8; 0]),
        structure(&Vec::<u8>::new()),
        structure(&BTreeMap::<u8, u8>::new()),
    ];
    for (i, a) in all.iter().enumerate() {
        for (k, b) in all.iter().enumerate() {
            assert_eq!(a == b, i == k, "{a:?} {b:?}");
        }
    }
}

#[test]
fn arrays_keep_their_order_in_every_container() {
    type Twelve = (Array, u8, Array, bool, Array, (), Array, char, Array, String, Array, Array);
    let at = |k: i32| array![k];
    let numbers = |arrays: &[Array]| -> Vec<i32> { arrays.iter().map(|a| a.item().unwrap()).collect() };
    let twelve: Twelve = (at(1), 0, at(2), true, at(3), (), at(4), 'c', at(5), "s".into(), at(6), at(7));
    let map = HashMap::from([(2u8, at(10)), (0, at(8)), (1, at(9))]);
    let rest = (Box::new([at(11), at(12)]), Some(vec![at(13)]), Frozen(at(14)), Cow::Borrowed("x"));
    let tree = (twelve, map, rest, BTreeMap::from([("b".to_string(), at(16)), ("a".to_string(), at(15))]));
    let (_, arrays) = parts(&tree);
    assert_eq!(numbers(&arrays), (1..=16).collect::<Vec<_>>());
    let without: Vec<i32> = (1..=16).filter(|&k| k != 14).collect();
    assert_eq!(numbers(&leaves(&tree)), without);
    let more = tree.with_arrays(&mut arrays.iter().map(|a| a + 100));
    assert_eq!(numbers(&parts(&more).1), (101..=116).collect::<Vec<_>>());
    assert_eq!(more.1[&1].item::<i32>().unwrap(), 109);
    assert_eq!(parts(&more).0, parts(&tree).0);
    // Leaves only; those for which there is no other stay.
    let less = tree.with_leaves(&mut [at(-1), at(-2)].into_iter());
    assert_eq!(numbers(&leaves(&less))[..4], [-1, -2, 3, 4]);
    let negated = tree.with_leaves(&mut leaves(&tree).iter().map(|a| -a));
    assert_eq!(negated.2.2.0.item::<i32>().unwrap(), 14);
}
