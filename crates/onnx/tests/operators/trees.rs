use oneir_onnx::Term;
use oneir_onnx::proto::{AttributeProto, NodeProto, TensorProto};

use super::{ML, build, f32s, floats, i64s, ints, names, near, node, refusal, run, text, texts, x};
use crate::build::int;

/// One tree: a branch on feature 0 at 0.5, the node 1 where it holds, else 2.
fn stump(mode: &str, missing: Option<i64>) -> Vec<AttributeProto> {
    let mut all = vec![
        ints("nodes_treeids", &[0, 0, 0]),
        ints("nodes_nodeids", &[0, 1, 2]),
        ints("nodes_featureids", &[0, 0, 0]),
        texts("nodes_modes", &[mode, "LEAF", "LEAF"]),
        floats("nodes_values", &[0.5, 0.0, 0.0]),
        ints("nodes_truenodeids", &[1, 0, 0]),
        ints("nodes_falsenodeids", &[2, 0, 0]),
    ];
    all.extend(missing.map(|v| ints("nodes_missing_value_tracks_true", &[v, 0, 0])));
    all
}

fn votes(kind: &str, nodes: &[i64], ids: &[i64], weights: &[f32]) -> Vec<AttributeProto> {
    let name = |what: &str| format!("{kind}_{what}");
    vec![
        ints(&name("treeids"), &vec![0; nodes.len()]),
        ints(&name("nodeids"), nodes),
        ints(&name("ids"), ids),
        floats(&name("weights"), weights),
    ]
}

fn regressor(mut tree: Vec<AttributeProto>, more: Vec<AttributeProto>) -> NodeProto {
    tree.extend(more);
    node(ML, "TreeEnsembleRegressor", &["x0"], 1, tree)
}

#[test]
fn every_comparison_and_missing_values() {
    let rows = [x(&[0.0, 0.5, 1.0, f32::NAN], &[4, 1])];
    for (mode, right) in [
        ("BRANCH_LEQ", [1.0, 1.0, 2.0]),
        ("BRANCH_LT", [1.0, 2.0, 2.0]),
        ("BRANCH_GTE", [2.0, 1.0, 1.0]),
        ("BRANCH_GT", [2.0, 2.0, 1.0]),
        ("BRANCH_EQ", [2.0, 1.0, 2.0]),
        ("BRANCH_NEQ", [1.0, 2.0, 1.0]),
    ] {
        for (missing, at) in [(None, 2.0), (Some(0), 2.0), (Some(1), 1.0)] {
            let tree = regressor(stump(mode, missing), votes("target", &[1, 2], &[0, 0], &[1.0, 2.0]));
            let found = f32s(&run((17, 3), tree, &rows).unwrap()[0]);
            assert_eq!(found, [right[0], right[1], right[2], at], "{mode} {missing:?}");
        }
    }
}

#[test]
fn votes_become_one_number_for_each_target() {
    // Leaf 1 votes for both targets, leaf 2 for none of the first.
    for (how, right) in [
        ("SUM", [1.0, 2.5, 0.5, 3.5]),
        ("AVERAGE", [1.0, 2.5, 0.5, 3.5]),
        ("MIN", [1.0, 2.5, 0.5, 3.5]),
        ("MAX", [1.0, 2.5, 0.5, 3.5]),
    ] {
        let mut more = votes("target", &[1, 1, 2], &[0, 1, 1], &[0.5, 2.0, 3.0]);
        more.extend([int("n_targets", 2), text("aggregate_function", how), floats("base_values", &[0.5])]);
        let found =
            run((17, 3), regressor(stump("BRANCH_LEQ", None), more), &[x(&[0.0, 1.0], &[2, 1])]).unwrap();
        assert_eq!(f32s(&found[0]), right, "{how}");
    }
}

#[test]
fn no_trees_give_the_base_values() {
    let more = vec![int("n_targets", 2), floats("base_values", &[0.5, 1.5])];
    let found = run((17, 3), regressor(vec![], more), &[x(&[0.0; 6], &[2, 3])]).unwrap();
    assert_eq!(f32s(&found[0]), [0.5, 1.5, 0.5, 1.5]);
}

#[test]
fn no_rows_give_no_rows() {
    let tree = regressor(stump("BRANCH_LEQ", None), votes("target", &[1, 2], &[0, 0], &[1.0, 2.0]));
    assert_eq!(run((17, 3), tree, &[x(&[], &[0, 1])]).unwrap()[0].shape().unwrap(), [0, 1]);
}

#[test]
fn trees_that_are_not_right_are_refused() {
    let good = || stump("BRANCH_LEQ", None);
    let with = |change: AttributeProto, more: Vec<AttributeProto>| {
        let mut tree = good();
        tree.retain(|a| a.name != change.name);
        tree.push(change);
        refusal((17, 3), regressor(tree, more), &[x(&[0.0], &[1, 1])])
    };
    for (change, says) in [
        (ints("nodes_truenodeids", &[0, 0, 0]), "tree 0 has no root"),
        (ints("nodes_truenodeids", &[7, 0, 0]), "tree 0 has no node 7"),
        (ints("nodes_truenodeids", &[1, 0]), "nodes_truenodeids has 2 items where 3 are expected"),
        (ints("nodes_nodeids", &[0, 1, 1]), "tree 0 has two nodes 1"),
        (ints("nodes_featureids", &[1, 0, 0]), "there is no feature 1: rows have 1"),
        (texts("nodes_modes", &["BRANCH_OR", "LEAF", "LEAF"]), "the mode BRANCH_OR of a node is not known"),
    ] {
        let found = with(change, vec![]);
        assert!(found.contains(says), "{found}");
    }
    let found =
        refusal((17, 3), regressor(good(), votes("target", &[1], &[3], &[1.0])), &[x(&[0.0], &[1, 1])]);
    assert!(found.contains("there is no target 3: there are 1"), "{found}");
    let found = refusal((17, 3), regressor(good(), vec![]), &[x(&[0.0; 2], &[1, 1, 2])]);
    assert!(found.contains("rows of features"), "{found}");
}

/// Runs a classifier of two classes whose votes are for one or both of them.
fn two(ids: &[i64], weights: &[f32], transform: &str, more: Vec<AttributeProto>) -> (Vec<i64>, Vec<f32>) {
    let mut tree = stump("BRANCH_LEQ", None);
    let nodes: &[i64] = if ids.len() == 2 { &[1, 2] } else { &[1, 1, 2, 2] };
    tree.extend(votes("class", nodes, ids, weights));
    tree.extend([ints("classlabels_int64s", &[5, 7]), text("post_transform", transform)]);
    tree.extend(more);
    let node = node(ML, "TreeEnsembleClassifier", &["x0"], 2, tree);
    let found = run((17, 3), node, &[x(&[0.0, 1.0], &[2, 1])]).unwrap();
    (i64s(&found[0]), f32s(&found[1]))
}

#[test]
fn of_two_classes_one_may_have_all_votes() {
    let check = |found: (Vec<i64>, Vec<f32>), labels: [i64; 2], scores: &[f32]| {
        assert_eq!(found.0, labels);
        near(&found.1, scores);
    };
    check(two(&[0, 0], &[0.3, 0.7], "NONE", vec![]), [5, 7], &[0.7, 0.3, 0.3, 0.7]);
    check(two(&[0, 0], &[-0.3, 0.7], "NONE", vec![]), [5, 7], &[0.3, -0.3, -0.7, 0.7]);
    check(two(&[1, 1], &[0.3, 0.7], "NONE", vec![]), [5, 7], &[0.0, 0.3, 0.0, 0.7]);
    let base = vec![floats("base_values", &[0.25])];
    let sides = [0.5124974, 0.4875026, 0.2788848, 0.7211152];
    check(two(&[0, 0], &[-0.3, 0.7], "LOGISTIC", base), [5, 7], &sides);
    check(two(&[0, 1, 0, 1], &[0.4, 0.35, 0.3, 0.7], "NONE", vec![]), [5, 7], &[0.4, 0.35, 0.3, 0.7]);
}

#[test]
fn labels_may_be_strings() {
    let mut tree = stump("BRANCH_LEQ", None);
    tree.extend(votes("class", &[1, 2], &[2, 0], &[1.0, 2.0]));
    tree.push(texts("classlabels_strings", &["a", "b", "c"]));
    let node = node(ML, "TreeEnsembleClassifier", &["x0"], 2, tree);
    let found = run((17, 1), node, &[x(&[0.0, 1.0], &[2, 1])]).unwrap();
    assert_eq!(names(&found[0]), ["c", "a"]);
    assert_eq!(f32s(&found[1]), [0.0, 0.0, 1.0, 2.0, 0.0, 0.0]);
}

fn tensor(name: &str, values: &[f32]) -> AttributeProto {
    build::tensor_attribute(name, build::floats("", &[values.len() as i64], values))
}

fn bytes(name: &str, values: &[u8]) -> AttributeProto {
    let of = TensorProto {
        dims: vec![values.len() as i64],
        data_type: Some(2),
        raw_data: Some(values.to_vec().into()),
        ..TensorProto::default()
    };
    build::tensor_attribute(name, of)
}

/// One branch of `TreeEnsemble` that asks whether feature 0 is in a set.
fn member(set: &[f32], missing: i64, below: i64) -> NodeProto {
    let attributes = vec![
        ints("nodes_featureids", &[0]),
        bytes("nodes_modes", &[6]),
        tensor("nodes_splits", &[0.0]),
        tensor("membership_values", set),
        ints("nodes_missing_value_tracks_true", &[missing]),
        ints("nodes_truenodeids", &[0]),
        ints("nodes_trueleafs", &[1]),
        ints("nodes_falsenodeids", &[below]),
        ints("nodes_falseleafs", &[i64::from(below == 1)]),
        ints("leaf_targetids", &[0, 0]),
        tensor("leaf_weights", &[1.0, 2.0]),
        ints("tree_roots", &[0]),
        int("n_targets", 1),
    ];
    node(ML, "TreeEnsemble", &["x0"], 1, attributes)
}

#[test]
fn members_of_sets() {
    let rows = [x(&[1.0, 2.0, 3.0, 4.0, 9.0, f32::NAN], &[6, 1])];
    let of = |set: &[f32], missing| f32s(&run((17, 5), member(set, missing, 1), &rows).unwrap()[0]);
    let end = f32::NAN;
    assert_eq!(of(&[9.0, 1.0, 3.0, 3.0, end], 0), [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]);
    assert_eq!(of(&[9.0, 1.0, 3.0, end], 1), [1.0, 2.0, 1.0, 2.0, 1.0, 1.0]);
    assert_eq!(of(&[2.0, end], 0), [2.0, 1.0, 2.0, 2.0, 2.0, 2.0]);
    assert_eq!(of(&[end], 0), [2.0; 6]);
}

#[test]
fn a_node_is_not_below_itself() {
    let rows = [x(&[1.0], &[1, 1])];
    let found = refusal((17, 5), member(&[1.0, f32::NAN], 0, 0), &rows);
    assert!(found.contains("below itself"), "{found}");
}

#[test]
fn deep_trees_are_refused() {
    let count = 5000i64;
    let next: Vec<i64> = (1..=count).collect();
    let leaf = |last: &mut Vec<i64>| *last.last_mut().unwrap() = 0;
    let (mut yes, mut ends) = (next, vec![0; count as usize]);
    leaf(&mut yes);
    *ends.last_mut().unwrap() = 1;
    let all = |v: i64| vec![v; count as usize];
    let attributes = vec![
        ints("nodes_featureids", &all(0)),
        bytes("nodes_modes", &vec![0; count as usize]),
        tensor("nodes_splits", &vec![0.0; count as usize]),
        ints("nodes_truenodeids", &yes),
        ints("nodes_trueleafs", &ends),
        ints("nodes_falsenodeids", &all(0)),
        ints("nodes_falseleafs", &all(1)),
        ints("leaf_targetids", &[0]),
        tensor("leaf_weights", &[1.0]),
        ints("tree_roots", &[0]),
    ];
    let found = refusal((17, 5), node(ML, "TreeEnsemble", &["x0"], 1, attributes), &[x(&[1.0], &[1, 1])]);
    assert!(found.contains("a tree has 5000 levels"), "{found}");
}

#[test]
fn input_may_be_of_other_types() {
    let tree = || regressor(stump("BRANCH_LEQ", None), votes("target", &[1, 2], &[0, 0], &[1.0, 2.0]));
    let whole = oneir_array::Array::from_slice(&[0i32, 1], &[2, 1]);
    assert_eq!(f32s(&run((17, 3), tree(), &[Term::Array(whole)]).unwrap()[0]), [1.0, 2.0]);
    let double = oneir_array::Array::from_slice(&[0.5f64, 0.5000000001], &[2, 1]);
    assert_eq!(f32s(&run((17, 3), tree(), &[Term::Array(double)]).unwrap()[0]), [1.0, 2.0]);
}
