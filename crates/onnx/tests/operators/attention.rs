use oneir_array::DType;
use oneir_onnx::proto::{GraphProto, NodeProto};

use super::{build, f32s, float, longs, near, node, refusal, run, run_graph, x};
use crate::build::int;

fn attention(inputs: usize, attributes: &[(&str, i64)]) -> NodeProto {
    let names = ["x0", "x1", "x2", "x3", "x4", "x5", "x6"];
    let attributes = attributes.iter().map(|(name, value)| int(name, *value)).collect();
    node("", "Attention", &names[..inputs], 1, attributes)
}

#[test]
fn windows_are_of_version_25_and_have_sizes() {
    let one = || x(&[1.0], &[1, 1, 1, 1]);
    let inputs = [one(), one(), one()];
    let of = |version, size| refusal((version, 1), attention(3, &[("left_window_size", size)]), &inputs);
    assert!(of(24, 1).contains("left_window_size is of version 25"), "{}", of(24, 1));
    assert!(of(25, -2).contains("found -2"), "{}", of(25, -2));
}

#[test]
fn a_window_of_the_largest_size_sees_all() {
    let values = x(&[1.0, 2.0, 6.0], &[1, 1, 3, 1]);
    let zeros = || x(&[0.0; 3], &[1, 1, 3, 1]);
    let wide = attention(3, &[("left_window_size", i64::MAX), ("right_window_size", i64::MAX)]);
    near(&f32s(&run((25, 1), wide, &[zeros(), zeros(), values.clone()]).unwrap()[0]), &[3.0; 3]);
    // A causal mask is the closer bound.
    let causal = attention(3, &[("right_window_size", 2), ("is_causal", 1)]);
    near(&f32s(&run((25, 1), causal, &[zeros(), zeros(), values]).unwrap()[0]), &[1.0, 1.5, 3.0]);
}

#[test]
fn a_float_mask_that_hides_all_keys_gives_zeros() {
    let inputs = [
        x(&[0.5, 0.5], &[1, 1, 2, 1]),
        x(&[1.0, 2.0], &[1, 1, 2, 1]),
        x(&[3.0, 5.0], &[1, 1, 2, 1]),
        x(&[f32::NEG_INFINITY, f32::NEG_INFINITY, 0.0, f32::NEG_INFINITY], &[2, 2]),
    ];
    near(&f32s(&run((23, 1), attention(4, &[]), &inputs).unwrap()[0]), &[0.0, 3.0]);
}

#[test]
fn lengths_are_for_keys_without_past_ones() {
    let one = || x(&[1.0], &[1, 1, 1, 1]);
    let mask = x(&[0.0, 0.0], &[1, 2]);
    let inputs = [one(), one(), one(), mask, one(), one(), longs(&[1], &[1])];
    assert!(refusal((24, 1), attention(7, &[]), &inputs).contains("without past ones"));
}

/// A graph that adds an outer value to what it is given.
fn adds(outer: &str, outputs: &[&str]) -> GraphProto {
    let nodes = vec![build::node("Add", "", &["in", outer], &["out"])];
    build::graph(&["in"], nodes, outputs)
}

fn flex(modifier: GraphProto) -> NodeProto {
    let graph = build::graph_attribute("score_mod", modifier);
    node("ai.onnx.preview", "FlexAttention", &["q", "k", "v"], 1, vec![graph, float("scale", 1.0)])
}

#[test]
fn graphs_of_flex_attention_read_outer_values() {
    let nodes = vec![build::node("Neg", "", &["hidden"], &["mask"]), flex(adds("mask", &["out"]))];
    let graph = build::graph(&["q", "k", "v", "hidden"], nodes, &["y0"]);
    let given = [
        ("q", x(&[0.0, 0.0], &[1, 2, 1, 1])),
        ("k", x(&[1.0, 2.0], &[1, 1, 2, 1])),
        ("v", x(&[3.0, 5.0], &[1, 1, 2, 1])),
        ("hidden", x(&[0.0, f32::INFINITY], &[2])),
    ];
    let found = run_graph(graph, (25, 1), &given).unwrap();
    near(&f32s(&found[0]), &[3.0, 3.0]);
    assert_eq!(found[0].dtype(), Some(DType::F32));
}

#[test]
fn graphs_of_flex_attention_have_one_output() {
    let one = || x(&[1.0], &[1, 1, 1, 1]);
    let graph = build::graph(&["q", "k", "v", "b"], vec![flex(adds("b", &["out", "out"]))], &["y0"]);
    let given = [("q", one()), ("k", one()), ("v", one()), ("b", one())];
    let error = run_graph(graph, (25, 1), &given).unwrap_err().to_string();
    assert!(error.contains("score_mod must have one input and one output, found 1 and 2"), "{error}");
}
