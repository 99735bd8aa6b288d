use oneir_onnx::proto::{GraphProto, ModelProto};
use oneir_onnx::{OnnxError, OnnxFile};

use crate::build::*;

fn order(file: &OnnxFile) -> Vec<&str> {
    file.graph.nodes.iter().map(|n| n.name.as_str()).collect()
}

#[test]
fn sorted_nodes_stay_and_unsorted_nodes_are_sorted() {
    let a = node("Relu", "a", &["x"], &["p"]);
    let b = node("Relu", "b", &["p"], &["q"]);
    let c = node("Add", "c", &["p", "q"], &["y"]);
    let d = node("Relu", "d", &["x"], &["z"]);
    let sorted =
        open_graph(graph(&["x"], vec![d.clone(), a.clone(), b.clone(), c.clone()], &["y", "z"])).unwrap();
    assert_eq!(order(&sorted), ["d", "a", "b", "c"]);
    let file = open_graph(graph(&["x"], vec![c, b, d, a], &["y", "z"])).unwrap();
    assert_eq!(order(&file), ["d", "a", "b", "c"]);
    assert_eq!(file.graph.nodes.iter().map(|n| n.index).collect::<Vec<_>>(), [2, 3, 1, 0]);
}

#[test]
fn names_of_nodes_may_be_absent_or_shared() {
    let mut custom = node("Gelu", "", &["p"], &["y"]);
    custom.domain = Some("com.microsoft".into());
    let file = open_graph(graph(
        &["x"],
        vec![node("Relu", "p", &["x"], &["p"]), custom, node("Relu", "p", &["x"], &[""])],
        &["y"],
    ))
    .unwrap();
    assert_eq!(order(&file), ["p", "Gelu#1", "p"]);
    assert_eq!(file.graph.nodes[1].operator(), "com.microsoft.Gelu");
    assert_eq!(file.graph.nodes[1].place().to_string(), "node `Gelu#1` (com.microsoft.Gelu)");
}

#[test]
fn the_standard_domain_has_one_spelling() {
    let mut relu = node("Relu", "r", &["x"], &["y"]);
    relu.domain = Some("ai.onnx".into());
    let mut model = model(graph(&["x"], vec![relu], &["y"]));
    model.opset_import = vec![opset("ai.onnx", 13), opset("", 12), opset("ai.onnx.ml", 3)];
    let file = open(&model).unwrap();
    assert_eq!(file.graph.nodes[0].domain, "");
    assert_eq!(file.opsets.version(""), Some(13));
    assert_eq!(file.opsets.version("ai.onnx"), Some(13));
    assert_eq!(file.opsets.iter().collect::<Vec<_>>(), [("", 13), ("ai.onnx.ml", 3)]);
    assert_eq!(file.opsets.version("com.microsoft"), None);

    model.opset_import = vec![];
    assert_eq!(open(&model).unwrap().opsets.version(""), Some(1));
    model.opset_import = vec![opset("", 0)];
    assert!(matches!(open(&model), Err(OnnxError::BadOpset { version: 0, .. })));
}

#[test]
fn outputs_may_be_inputs_or_initializers_and_initializers_defaults() {
    let mut g = graph(&["x", "w"], vec![], &["x", "w", "c"]);
    g.initializer = vec![floats("w", &[], &[1.0]), floats("c", &[1], &[2.0])];
    let file = open_graph(g).unwrap();
    assert_eq!(file.graph.required_inputs().map(|i| i.name.as_str()).collect::<Vec<_>>(), ["x"]);
    assert_eq!(file.graph.initializer("c").unwrap().shape(), [1]);
    assert!(file.graph.initializer("x").is_none());
}

#[test]
fn cycles_are_refused_with_their_nodes() {
    let message = refusal(graph(
        &["x"],
        vec![
            node("Add", "a", &["x", "r"], &["p"]),
            node("Relu", "b", &["p"], &["q"]),
            node("Relu", "c", &["q"], &["r"]),
            node("Relu", "after", &["r"], &["y"]),
        ],
        &["y"],
    ));
    assert!(message.starts_with("a cycle of 3 nodes: "), "{message}");
    for name in ["`a` (Add)", "`b` (Relu)", "`c` (Relu)"] {
        assert!(message.contains(name), "{message}");
    }
    assert!(!message.contains("after"), "{message}");

    let body = graph(&[], vec![node("Relu", "inner", &["y"], &["b"])], &["b"]);
    let own = with(node("If", "self", &["x"], &["y"]), graph_attribute("then_branch", body));
    assert_eq!(refusal(graph(&["x"], vec![own], &["y"])), "a cycle of 1 nodes: node `self` (If)");
}

#[test]
fn values_made_twice_are_refused() {
    let relu = |name: &str, out: &str| node("Relu", name, &["x"], &[out]);
    let twice = graph(&["x"], vec![relu("a", "y"), relu("b", "y")], &["y"]);
    assert_eq!(refusal(twice), "value `y` is made twice: by node `a` (Relu) and by node `b` (Relu)");
    let input = graph(&["x"], vec![relu("a", "x")], &["x"]);
    assert_eq!(refusal(input), "value `x` is made twice: by graph input `x` and by node `a` (Relu)");
    assert!(refusal(graph(&["x", "x"], vec![], &["x"])).contains("made twice"));

    let mut stored = graph(&["x", "w"], vec![], &["x"]);
    stored.initializer = vec![floats("w", &[], &[1.0])];
    open_graph(stored.clone()).unwrap();
    stored.initializer.push(floats("w", &[], &[2.0]));
    assert!(refusal(stored).contains("made twice: by graph input `w` and by initializer `w`"));

    let one_node = graph(&["x"], vec![node("Split", "s", &["x"], &["y", "", "", "y"])], &["y"]);
    assert!(refusal(one_node).contains("made twice"));
}

#[test]
fn values_that_nothing_makes_are_refused() {
    let node_input = graph(&["x"], vec![node("Add", "sum", &["x", "", "ghost"], &["y"])], &["y"]);
    assert_eq!(
        refusal(node_input),
        "node `sum` (Add) reads `ghost`, which is no input, initializer, node output or value of an outer graph"
    );
    assert!(refusal(graph(&["x"], vec![], &["ghost"])).starts_with("graph output `ghost` reads `ghost`"));

    let inner = graph(&[], vec![node("Relu", "deep", &["ghost"], &["b"])], &["b"]);
    let outer = with(node("If", "choice", &["x"], &["y"]), graph_attribute("then_branch", inner));
    assert!(refusal(graph(&["x"], vec![outer], &["y"])).starts_with("node `deep` (Relu) reads `ghost`"));
}

#[test]
fn nameless_things_are_refused() {
    assert_eq!(refusal(graph(&["x", ""], vec![], &["x"])), "input 1 of graph `g` has no name");
    assert_eq!(refusal(graph(&["x"], vec![], &["x", ""])), "output 1 of graph `g` has no name");
    assert_eq!(
        refusal(graph(&["x"], vec![node("", "n", &["x"], &[])], &["x"])),
        "node `n` () names no operator"
    );
    let no_graph = ModelProto { ir_version: Some(8), ..Default::default() };
    assert!(matches!(open(&no_graph), Err(OnnxError::NoGraph)));
}

fn branches(then_branch: GraphProto, else_branch: GraphProto) -> oneir_onnx::proto::NodeProto {
    let node = node("If", "choice", &["cond"], &["y"]);
    let node = with(node, graph_attribute("then_branch", then_branch));
    with(node, graph_attribute("else_branch", else_branch))
}

#[test]
fn nested_graphs_capture_outer_values() {
    let innermost = graph(&[], vec![node("Add", "", &["late", "local"], &["s"])], &["s"]);
    let then_branch = graph(
        &[],
        vec![
            node("Relu", "", &["w"], &["local"]),
            with(node("If", "", &["cond"], &["t"]), graph_attribute("then_branch", innermost)),
        ],
        &["t"],
    );
    let else_branch = graph(&[], vec![], &["x"]);
    let mut g = graph(
        &["cond", "x"],
        vec![branches(then_branch, else_branch), node("Relu", "late", &["x"], &["late"])],
        &["y"],
    );
    g.initializer = vec![floats("w", &[], &[1.0])];
    let file = open_graph(g).unwrap();
    assert_eq!(order(&file), ["late", "choice"]);
    let choice = &file.graph.nodes[1];
    assert_eq!(choice.captures, ["w", "cond", "late", "x"]);
    let then_branch = choice.attributes.graph("then_branch").unwrap();
    assert_eq!(then_branch.captures, ["w", "cond", "late"]);
    assert_eq!(then_branch.nodes[1].captures, ["late", "local"]);
    assert!(file.graph.captures.is_empty());
}

#[test]
fn an_inner_name_hides_an_outer_one() {
    let body = graph(&["x"], vec![node("Relu", "r", &["x"], &["p"])], &["p"]);
    let scan = with(node("Scan", "scan", &["x"], &["y"]), graph_attribute("body", body));
    let g = graph(&["x"], vec![node("Relu", "p", &["x"], &["p"]), scan], &["y", "p"]);
    let file = open_graph(g).unwrap();
    assert!(file.graph.nodes[1].captures.is_empty());
}

#[test]
fn graphs_nest_to_a_limit() {
    let nested = |levels: usize| {
        let mut g = graph(&[], vec![], &["x"]);
        for _ in 1..levels {
            g = graph(&[], vec![with(node("If", "", &["x"], &["y"]), graph_attribute("b", g))], &["y"]);
        }
        g.input = values(&["x"]);
        g.value_info = values(&["v"]);
        open_graph(g)
    };
    nested(32).unwrap();
    for levels in [33, 100, 1000] {
        assert!(matches!(nested(levels), Err(OnnxError::TooDeep { limit: 32 })), "{levels}");
    }
}

#[test]
fn long_chains_need_no_stack() {
    let n = 50_000;
    let mut nodes: Vec<_> = (0..n)
        .map(|i| node("Relu", "", &[format!("v{i}").as_str()], &[format!("v{}", i + 1).as_str()]))
        .collect();
    nodes.reverse();
    let file = open_graph(graph(&["v0"], nodes, &[format!("v{n}").as_str()])).unwrap();
    assert!(file.graph.nodes.windows(2).all(|w| w[0].outputs[0] == w[1].inputs[0]));
}

#[test]
fn the_model_describes_itself() {
    let mut m = model(graph(&["x"], vec![], &["x"]));
    m.producer_name = Some("maker".into());
    m.producer_version = Some("1.2".into());
    m.domain = Some("org.example".into());
    m.model_version = Some(3);
    m.doc_string = Some("words".into());
    m.metadata_props = vec![entry("k", "v")];
    let file = open(&m).unwrap();
    assert_eq!((file.producer.name.as_str(), file.producer.version.as_str()), ("maker", "1.2"));
    assert_eq!((file.domain.as_str(), file.model_version, file.doc.as_str()), ("org.example", 3, "words"));
    assert_eq!(file.metadata["k"], "v");
    assert_eq!(file.ir_version, 14);
}
