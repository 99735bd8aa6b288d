use oneir_onnx::proto::{AttributeProto, NodeProto};

use super::{ML, f32s, floats, i64s, ints, names, near, node, refusal, run, text, texts, x};
use crate::build::int;

fn linear(labels: AttributeProto, coefficients: &[f32], intercepts: &[f32], transform: &str) -> NodeProto {
    let attributes = vec![
        labels,
        floats("coefficients", coefficients),
        floats("intercepts", intercepts),
        text("post_transform", transform),
    ];
    node(ML, "LinearClassifier", &["x0"], 2, attributes)
}

#[test]
fn one_row_of_coefficients_is_the_second_class() {
    let rows = [x(&[1.0, 2.0, -1.0, 0.5, 0.0, 0.0], &[3, 2])];
    let labels = || texts("classlabels_strings", &["no", "yes"]);
    let found = run((17, 1), linear(labels(), &[0.3, -0.2], &[0.4], "LOGISTIC"), &rows).unwrap();
    assert_eq!(names(&found[0]), ["yes", "no", "yes"]);
    near(&f32s(&found[1]), &[0.4255575, 0.5744425, 0.5, 0.5, 0.4013123, 0.5986877]);
    let found = run((17, 1), linear(labels(), &[0.3, -0.2], &[0.4], "NONE"), &rows).unwrap();
    near(&f32s(&found[1]), &[0.7, 0.3, 1.0, 0.0, 0.6, 0.4]);
}

#[test]
fn a_softmax_that_leaves_zeros() {
    let labels = ints("classlabels_ints", &[1, 2, 3]);
    let identity = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0];
    let rows = [x(&[0.0, 1.0, 1.0, 0.0, 0.0, 0.0], &[2, 3])];
    let found = run((17, 1), linear(labels, &identity, &[0.0; 3], "SOFTMAX_ZERO"), &rows).unwrap();
    assert_eq!(i64s(&found[0]), [2, 1]);
    near(&f32s(&found[1]), &[0.0, 0.5, 0.5, 0.0, 0.0, 0.0]);
}

#[test]
fn transforms_of_regressors() {
    let rows = [x(&[1.0], &[1])];
    let of = |transform: &str| {
        let attributes =
            vec![floats("coefficients", &[0.75]), text("post_transform", transform), int("targets", 1)];
        f32s(&run((17, 1), node(ML, "LinearRegressor", &["x0"], 1, attributes), &rows).unwrap()[0])
    };
    near(&of("LOGISTIC"), &[0.679_178_7]);
    near(&of("PROBIT"), &[0.674_489_8]);
    near(&of("SOFTMAX"), &[1.0]);
}

#[test]
fn counts_that_do_not_agree_are_refused() {
    let rows = [x(&[1.0, 2.0], &[1, 2])];
    let labels = || ints("classlabels_ints", &[1, 2, 3]);
    let found = refusal((17, 1), linear(labels(), &[1.0; 4], &[0.0; 2], "NONE"), &rows);
    assert!(found.contains("2 rows of coefficients are given for 3 labels"), "{found}");
    let found = refusal((17, 1), linear(labels(), &[1.0; 5], &[], "NONE"), &rows);
    assert!(found.contains("5 coefficients are given"), "{found}");
    let found = refusal((17, 1), linear(labels(), &[1.0; 6], &[0.0; 3], "TANH"), &rows);
    assert!(found.contains("post_transform TANH is not known"), "{found}");
}

fn machines(per_class: &[i64], coefficients: &[f32], rho: &[f32], more: Vec<AttributeProto>) -> NodeProto {
    let vectors: Vec<f32> = (0..per_class.iter().sum::<i64>()).map(|v| v as f32).collect();
    let labels: Vec<i64> = (0..per_class.len() as i64).map(|k| k * 10).collect();
    let mut attributes = vec![
        ints("vectors_per_class", per_class),
        floats("support_vectors", &vectors),
        floats("coefficients", coefficients),
        floats("rho", rho),
        ints("classlabels_ints", &labels),
    ];
    attributes.extend(more);
    node(ML, "SVMClassifier", &["x0"], 2, attributes)
}

#[test]
fn machines_vote() {
    // Vectors 0, 1 and 2, one of each class, and a linear kernel.
    let votes = machines(&[1, 1, 1], &[0.0, 1.0, 2.0, 0.0, 3.0, 4.0], &[-0.5, -10.0, 1.0], vec![]);
    let found = run((17, 1), votes, &[x(&[1.0, 0.0], &[2, 1])]).unwrap();
    // Pairs: x·1 - 0.5, 2 · 2x - 10, 3x + 4 · 2x + 1.
    near(&f32s(&found[1]), &[0.5, -6.0, 12.0, -0.5, -10.0, 1.0]);
    assert_eq!(i64s(&found[0]), [0, 10]);
}

#[test]
fn probabilities_of_two_classes() {
    let sure = vec![floats("prob_a", &[-2.0]), floats("prob_b", &[0.5])];
    let two = machines(&[1, 1], &[0.0, 1.0], &[0.25], sure);
    let found = run((17, 1), two, &[x(&[1.0], &[1, 1])]).unwrap();
    // 1 / (1 + exp(-2 · 1.25 + 0.5)), up to where the method stops.
    let shares = f32s(&found[1]);
    assert!((shares[0] - 0.880797).abs() < 5e-3 && (shares[0] + shares[1] - 1.0).abs() < 1e-6, "{shares:?}");
    assert_eq!(i64s(&found[0]), [0]);
}

#[test]
fn probabilities_beside_names() {
    let sure = vec![floats("prob_a", &[-2.0, -1.0, -1.0]), floats("prob_b", &[0.5, 0.0, 0.0])];
    let mut three = machines(&[1, 1, 1], &[0.0, 1.0, 2.0, 0.0, 3.0, 4.0], &[-0.5, -10.0, 1.0], sure);
    three.attribute.retain(|a| a.name() != "classlabels_ints");
    three.attribute.push(texts("classlabels_strings", &["a", "b", "c"]));
    let found = run((17, 1), three, &[x(&[1.0, 0.0], &[2, 1])]).unwrap();
    assert_eq!(names(&found[0]), ["a", "b"]);
    let shares = f32s(&found[1]);
    for row in shares.chunks(3) {
        assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{shares:?}");
    }
}

#[test]
fn machines_that_are_not_right_are_refused() {
    let row = [x(&[1.0], &[1, 1])];
    for (found, says) in [
        (machines(&[1, 1], &[1.0; 3], &[0.0], vec![]), "3 coefficients are given"),
        (machines(&[1, 1], &[1.0; 2], &[0.0; 2], vec![]), "2 rho are given for 1 pairs"),
        (machines(&[1, 1], &[1.0; 2], &[0.0], vec![floats("prob_a", &[1.0])]), "1 prob_a and 0 prob_b"),
        (machines(&[1, 1], &[1.0; 2], &[0.0], vec![floats("kernel_params", &[1.0])]), "must be 3 numbers"),
        (machines(&[1, 1], &[1.0; 2], &[0.0], vec![text("kernel_type", "COSINE")]), "COSINE is not known"),
        (machines(&[3, -1], &[1.0; 2], &[0.0], vec![]), "a class cannot have -1 vectors"),
    ] {
        let found = refusal((17, 1), found, &row);
        assert!(found.contains(says), "{found}");
    }
}

#[test]
fn one_class_is_in_or_out() {
    let attributes = vec![
        floats("coefficients", &[1.0, -1.0]),
        floats("support_vectors", &[0.0, 2.0]),
        int("n_supports", 2),
        floats("rho", &[0.0]),
        text("kernel_type", "RBF"),
        floats("kernel_params", &[0.5, 0.0, 0.0]),
        int("one_class", 1),
    ];
    let node = node(ML, "SVMRegressor", &["x0"], 1, attributes);
    assert_eq!(f32s(&run((17, 1), node, &[x(&[0.5, 1.5], &[2, 1])]).unwrap()[0]), [1.0, -1.0]);
}
