use oneir_onnx::proto::attribute_proto::AttributeType;
use oneir_onnx::proto::{FunctionProto, GraphProto, ModelProto, NodeProto};
use oneir_onnx::{AttributeKind, AttributeValue, OnnxError};

use crate::build::*;

fn function(name: &str, nodes: Vec<NodeProto>) -> FunctionProto {
    FunctionProto {
        name: Some(name.into()),
        domain: Some("own".into()),
        input: vec!["a".into()],
        output: vec!["b".into()],
        node: nodes,
        ..Default::default()
    }
}

fn call(name: &str, input: &str, output: &str) -> NodeProto {
    NodeProto { domain: Some("own".into()), ..node(name, "", &[input], &[output]) }
}

fn with_functions(graph: GraphProto, functions: Vec<FunctionProto>) -> ModelProto {
    ModelProto { functions, ..model(graph) }
}

#[test]
fn a_node_finds_its_function_by_domain_name_and_overload() {
    let plain = function("F", vec![node("Relu", "", &["a"], &["b"])]);
    let mut other = function("F", vec![node("Abs", "", &["a"], &["b"])]);
    other.overload = Some("abs".into());
    other.opset_import = vec![opset("", 13)];
    let mut overloaded = call("F", "p", "y");
    overloaded.overload = Some("abs".into());
    let g = graph(&["x"], vec![call("F", "x", "p"), overloaded, node("F", "", &["x"], &["z"])], &["y"]);
    let file = open(&with_functions(g, vec![plain.clone(), other])).unwrap();
    let ops = |i: usize| file.function(&file.graph.nodes[i]).map(|f| f.body.nodes[0].op_type.as_str());
    assert_eq!([ops(0), ops(1), ops(2)], [Some("Relu"), Some("Abs"), None]);
    assert_eq!(file.functions[0].opsets.version(""), Some(28));
    assert_eq!(file.functions[1].opsets.version(""), Some(13));

    let twice = with_functions(graph(&["x"], vec![], &["x"]), vec![plain.clone(), plain]);
    assert_eq!(open(&twice).unwrap_err().to_string(), "function `own.F` is defined twice");
}

#[test]
fn a_call_binds_parameters_at_every_depth() {
    let inner = graph(
        &[],
        vec![with(node("Elu", "", &["a"], &["e"]), reference("alpha", "slope", AttributeType::Float))],
        &["e"],
    );
    let choice = with(node("If", "", &["a"], &["b"]), graph_attribute("then_branch", inner));
    let mut f = function("F", vec![with(choice, reference("axis", "axis", AttributeType::Int))]);
    f.attribute = vec!["axis".into()];
    f.attribute_proto =
        vec![oneir_onnx::proto::AttributeProto { f: Some(0.5), ..attribute("slope", AttributeType::Float) }];
    let g = graph(&["x"], vec![with(call("F", "x", "p"), int("axis", 2)), call("F", "p", "y")], &["y"]);
    let file = open(&with_functions(g, vec![f])).unwrap();
    let f = &file.functions[0];
    assert_eq!(f.parameters, ["axis"]);
    assert_eq!(f.defaults.float("slope").unwrap(), 0.5);
    let unbound = f.body.nodes[0].attributes.int("axis").unwrap_err();
    assert!(
        matches!(unbound, OnnxError::WrongAttribute { found: AttributeKind::Reference, .. }),
        "{unbound}"
    );

    let first = f.bind(&file.graph.nodes[0]);
    assert_eq!(first.nodes[0].attributes.int("axis").unwrap(), 2);
    let inner = first.nodes[0].attributes.graph("then_branch").unwrap();
    assert!(matches!(inner.nodes[0].attributes.get("alpha"), Some(AttributeValue::Float(x)) if *x == 0.5));
    let second = f.bind(&file.graph.nodes[1]);
    assert!(!second.nodes[0].attributes.has("axis"));
}

#[test]
fn references_outside_functions_are_refused() {
    let stray = with(node("Elu", "e", &["x"], &["y"]), reference("alpha", "slope", AttributeType::Float));
    assert_eq!(
        refusal(graph(&["x"], vec![stray], &["y"])),
        "attribute `alpha` of node `e` (Elu) refers to `slope` outside any function"
    );
}

#[test]
fn functions_see_only_their_own_values() {
    let f = function("F", vec![node("Add", "", &["a", "x"], &["b"])]);
    let g = graph(&["x"], vec![call("F", "x", "y")], &["y"]);
    let message = open(&with_functions(g, vec![f])).unwrap_err().to_string();
    assert!(message.starts_with("node `Add#0` (Add) reads `x`"), "{message}");
}

#[test]
fn recursion_is_refused_with_the_functions() {
    let nested = with(
        node("If", "", &["a"], &["b"]),
        graph_attribute("then_branch", graph(&[], vec![call("H", "a", "t")], &["t"])),
    );
    let functions = vec![
        function("F", vec![call("G", "a", "b")]),
        function("G", vec![nested]),
        function("H", vec![call("F", "a", "b")]),
        function("Caller", vec![call("F", "a", "b")]),
    ];
    let g = graph(&["x"], vec![], &["x"]);
    let message = open(&with_functions(g, functions)).unwrap_err().to_string();
    assert!(message.starts_with("recursive functions: "), "{message}");
    let order: Vec<usize> = ["own.F", "own.G", "own.H"].iter().map(|f| message.find(f).unwrap()).collect();
    assert!(!message.contains("Caller"));
    let turned = (0..3).find(|&k| (0..2).all(|i| order[(k + i) % 3] < order[(k + i + 1) % 3]));
    assert!(turned.is_some(), "callers come before what they call: {message}");
}

#[test]
fn calls_that_multiply_or_nest_without_end_are_refused() {
    let chain = |n: usize, calls: usize| {
        let mut functions = vec![function("F0", vec![node("Relu", "", &["a"], &["b"])])];
        for i in 1..n {
            let name = format!("F{}", i - 1);
            let mut nodes = vec![call(&name, "a", "b")];
            nodes.extend((1..calls).map(|k| call(&name, "a", &format!("unused{k}"))));
            functions.push(function(&format!("F{i}"), nodes));
        }
        let g = graph(&["x"], vec![call(&format!("F{}", n - 1), "x", "y")], &["y"]);
        open(&with_functions(g, functions))
    };
    chain(63, 1).unwrap();
    assert!(matches!(chain(64, 1), Err(OnnxError::TooDeep { limit: 64 })));
    chain(10, 3).unwrap();
    assert!(matches!(chain(40, 3), Err(OnnxError::TooManyNodes { .. })));
    assert!(chain(20_000, 1).is_err());
}
