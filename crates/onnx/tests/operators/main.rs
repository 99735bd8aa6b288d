//! What the standard's cases leave out of operators: bad inputs, edges, and what
//! other runtimes give.

mod attention;
#[allow(dead_code)]
#[path = "../file/build.rs"]
mod build;
mod control;
mod maps;
mod scores;
mod tensors;
mod trees;

use oneir_array::{Array, HostTensor};
use oneir_cpu as _;
use oneir_onnx::proto::attribute_proto::AttributeType;
use oneir_onnx::proto::{AttributeProto, GraphProto, NodeProto};
use oneir_onnx::{Model, OnnxError, Strings, Term};
use oneir_runtime::Runtime;

const ML: &str = "ai.onnx.ml";

/// A node of a domain with the outputs y0, y1 and so on.
fn node(
    domain: &str,
    op: &str,
    inputs: &[&str],
    outputs: usize,
    attributes: Vec<AttributeProto>,
) -> NodeProto {
    let outputs: Vec<String> = (0..outputs).map(|k| format!("y{k}")).collect();
    let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
    NodeProto { domain: Some(domain.into()), attribute: attributes, ..build::node(op, "n", inputs, &outputs) }
}

fn ints(name: &str, values: &[i64]) -> AttributeProto {
    AttributeProto { ints: values.to_vec(), ..build::attribute(name, AttributeType::Ints) }
}

fn floats(name: &str, values: &[f32]) -> AttributeProto {
    AttributeProto { floats: values.to_vec(), ..build::attribute(name, AttributeType::Floats) }
}

fn float(name: &str, value: f32) -> AttributeProto {
    AttributeProto { f: Some(value), ..build::attribute(name, AttributeType::Float) }
}

fn text(name: &str, value: &str) -> AttributeProto {
    AttributeProto { s: Some(value.as_bytes().to_vec()), ..build::attribute(name, AttributeType::String) }
}

fn texts(name: &str, values: &[&str]) -> AttributeProto {
    let strings = values.iter().map(|v| v.as_bytes().to_vec()).collect();
    AttributeProto { strings, ..build::attribute(name, AttributeType::Strings) }
}

/// Runs a graph with a version of every domain, traced and eager, which must
/// give the same.
fn run_graph(
    graph: GraphProto,
    versions: (i64, i64),
    inputs: &[(&str, Term)],
) -> Result<Vec<Term>, OnnxError> {
    let mut model = build::model(graph);
    model.opset_import =
        vec![build::opset("", versions.0), build::opset(ML, versions.1), build::opset("ai.onnx.preview", 1)];
    let model = Model::new(build::open(&model)?)?;
    let device = Runtime::global().device("cpu").unwrap();
    let host =
        |terms: Vec<(String, Term)>| -> Vec<Term> { terms.into_iter().map(|(_, t)| on_host(t)).collect() };
    let traced = host(model.call_on(&device, inputs)?);
    let eager = host(model.eager(&device, inputs)?);
    for (a, b) in traced.iter().zip(&eager) {
        same(a, b);
    }
    Ok(traced)
}

/// Runs one node on the inputs x0, x1 and so on.
fn run(versions: (i64, i64), node: NodeProto, inputs: &[Term]) -> Result<Vec<Term>, OnnxError> {
    let names: Vec<String> = (0..inputs.len()).map(|k| format!("x{k}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let outputs: Vec<String> = node.output.clone();
    let outputs: Vec<&str> = outputs.iter().map(String::as_str).collect();
    let given: Vec<(&str, Term)> = names.iter().copied().zip(inputs.iter().cloned()).collect();
    run_graph(build::graph(&names, vec![node], &outputs), versions, &given)
}

/// Refuses terms that differ by more than rounding.
fn same(a: &Term, b: &Term) {
    match (a, b) {
        (Term::Host(a), Term::Host(b)) => {
            assert_eq!((a.dtype(), a.shape()), (b.dtype(), b.shape()));
            let list = |t: &HostTensor| t.values().unwrap().to_floats();
            let apart = |(a, b): (&f64, &f64)| a != b && (a - b).abs() > 1e-6 * b.abs().max(1.0);
            assert!(!list(a).iter().zip(&list(b)).any(apart), "{a:?}, eager {b:?}");
        }
        (a, b) => assert_eq!(format!("{a:?}"), format!("{b:?}")),
    }
}

fn refusal(versions: (i64, i64), node: NodeProto, inputs: &[Term]) -> String {
    run(versions, node, inputs).expect_err("the node is refused").to_string()
}

fn on_host(term: Term) -> Term {
    match term {
        Term::Array(array) => Term::Host(array.to_host().unwrap()),
        Term::Sequence(items) => Term::Sequence(items.into_iter().map(on_host).collect()),
        Term::Map(mut map) => {
            map.values = Box::new(on_host(*map.values));
            Term::Map(map)
        }
        other => other,
    }
}

fn x(values: &[f32], shape: &[usize]) -> Term {
    Term::Array(Array::from_slice(values, shape))
}

fn longs(values: &[i64], shape: &[usize]) -> Term {
    Term::Array(Array::from_slice(values, shape))
}

fn words(values: &[&str]) -> Term {
    let values: Vec<Vec<u8>> = values.iter().map(|v| v.as_bytes().to_vec()).collect();
    Term::Strings(Strings { shape: vec![values.len()], values })
}

fn f32s(term: &Term) -> Vec<f32> {
    term.array().unwrap().to_vec().unwrap()
}

fn i64s(term: &Term) -> Vec<i64> {
    term.array().unwrap().to_vec().unwrap()
}

fn names(term: &Term) -> Vec<String> {
    let Term::Strings(strings) = term else { panic!("{term:?}") };
    strings.values.iter().map(|v| String::from_utf8(v.clone()).unwrap()).collect()
}

fn near(found: &[f32], right: &[f32]) {
    let apart = found.iter().zip(right).any(|(a, b)| (a - b).abs() > 1e-5 * b.abs().max(1.0));
    assert!(!apart && found.len() == right.len(), "{found:?}, expected {right:?}");
}
