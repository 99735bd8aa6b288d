//! Control flow: what is known while tracing, what only a run knows, and both
//! inside of each other.

use oneir_onnx::proto::{TensorShapeProto, TypeProto, ValueInfoProto, type_proto};

use super::build::{floats, graph, graph_attribute, longs, node, tensor_attribute, with};
use super::*;

const VERSIONS: (i64, i64) = (21, 3);

fn number(name: &str, value: i64) -> NodeProto {
    with(node("Constant", name, &[], &[name]), tensor_attribute("value", longs(&[], &[value])))
}

/// A declared i64 without dimensions.
fn number_of(name: &str) -> ValueInfoProto {
    let shape = Some(TensorShapeProto::default());
    let tensor = type_proto::Tensor { elem_type: Some(7), shape };
    let ty = TypeProto { value: Some(type_proto::Value::TensorType(tensor)), ..TypeProto::default() };
    ValueInfoProto { r#type: Some(ty), ..build::value(name) }
}

fn control(op: &str, inputs: &[&str], outputs: &[&str], bodies: Vec<(&str, GraphProto)>) -> NodeProto {
    bodies.into_iter().fold(node(op, op, inputs, outputs), |n, (name, g)| with(n, graph_attribute(name, g)))
}

fn flag(value: bool) -> Term {
    Term::Array(Array::from_slice(&[value], &[]))
}

/// n → n/2 or 3n + 1, by an `If` inside of a `Loop`, until 1 is reached.
fn collatz() -> GraphProto {
    let half = graph(&[], vec![node("Div", "", &["n", "two"], &["halved"])], &["halved"]);
    let more = graph(
        &[],
        vec![
            node("Mul", "", &["n", "three"], &["tripled"]),
            node("Add", "", &["tripled", "one"], &["grown"]),
        ],
        &["grown"],
    );
    let body = graph(
        &["i", "on", "n"],
        vec![
            node("Mod", "", &["n", "two"], &["odd"]),
            node("Equal", "", &["odd", "zero"], &["even"]),
            control("If", &["even"], &["next"], vec![("then_branch", half), ("else_branch", more)]),
            node("Equal", "", &["next", "one"], &["done"]),
            node("Not", "", &["done"], &["again"]),
        ],
        &["again", "next", "next"],
    );
    let mut body = body;
    body.output[2] = number_of("next");
    let constants = [("zero", 0), ("one", 1), ("two", 2), ("three", 3)].map(|(n, v)| number(n, v));
    let mut nodes = constants.to_vec();
    nodes.push(control("Loop", &["most", "", "start"], &["last", "all"], vec![("body", body)]));
    graph(&["most", "start"], nodes, &["last", "all"])
}

#[test]
fn a_loop_runs_until_its_data_says_so() {
    let steps = |start: i64, most: i64| {
        let given = [("most", longs_term(most)), ("start", longs_term(start))];
        let found = run_graph(collatz(), VERSIONS, &given).unwrap();
        (i64s(&found[0]), i64s(&found[1]))
    };
    // 27 is famous for its 111 steps, the largest of them to 9232.
    let (last, all) = steps(27, 1000);
    assert_eq!((last, all.len(), all.iter().max()), (vec![1], 111, Some(&9232)));
    assert_eq!(steps(6, 1000).1, [3, 10, 5, 16, 8, 4, 2, 1]);
    assert_eq!(steps(6, 3), (vec![5], vec![3, 10, 5]));
    assert_eq!(steps(6, 0), (vec![6], vec![]));
    assert_eq!(steps(6, -4), (vec![6], vec![]));
    // Of what type nothing is, is declared or not known.
    let mut untyped = collatz();
    let body = untyped.node[4].attribute[0].g.as_mut().unwrap();
    body.output[2] = build::value("next");
    let given = [("most", longs_term(0)), ("start", longs_term(6))];
    let why = run_graph(untyped, VERSIONS, &given).unwrap_err().to_string();
    assert!(why.contains("no iteration ran"), "{why}");
}

fn longs_term(value: i64) -> Term {
    Term::Array(Array::from_slice(&[value], &[]))
}

/// One program is traced once and called with other values of the same shapes.
#[test]
fn other_values_take_other_branches() {
    let twice = graph(&[], vec![node("Add", "", &["x", "x"], &["a"])], &["a"]);
    // The branch looks at a value that only a run knows.
    let shaped = graph(&[], vec![node("Reshape", "", &["x", "shape"], &["b"])], &["b"]);
    let nodes = vec![
        control("If", &["which"], &["y"], vec![("then_branch", twice), ("else_branch", shaped)]),
        node("Neg", "", &["y"], &["z"]),
    ];
    let model = build::open_graph(graph(&["which", "x", "shape"], nodes, &["z"])).unwrap();
    let model = Model::new(model).unwrap();
    let device = Runtime::global().device("cpu").unwrap();
    for round in 0..2 {
        for (which, shape, right) in [
            (true, [2, 3], vec![2usize, 3]),
            (false, [3, 2], vec![3, 2]),
            (false, [1, 6], vec![1, 6]),
            (true, [6, 1], vec![2, 3]),
        ] {
            let data = x(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3]);
            let given = [("which", flag(which)), ("x", data), ("shape", super::longs(&shape, &[2]))];
            let found = model.call_on(&device, &given).unwrap();
            let array = found[0].1.array().unwrap();
            let scale = if which { -2.0 } else { -1.0 };
            assert_eq!(array.shape().to_vec(), right, "round {round}");
            assert_eq!(f32s(&found[0].1), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(|v| v * scale));
        }
    }
}

/// Loops that are too long to be traced as often as they run.
#[test]
fn long_loops_run_on_the_host() {
    let body = graph(
        &["i", "on", "sum"],
        vec![node("Add", "", &["sum", "i"], &["more"]), node("Mul", "", &["i", "i"], &["square"])],
        &["on", "more", "square"],
    );
    let nodes = vec![
        number("most", 2500),
        control("Loop", &["most", "", "start"], &["sum", "all"], vec![("body", body)]),
    ];
    let found =
        run_graph(graph(&["start"], nodes, &["sum", "all"]), VERSIONS, &[("start", longs_term(7))]).unwrap();
    assert_eq!(i64s(&found[0]), [7 + 2499 * 2500 / 2]);
    assert_eq!(i64s(&found[1]), (0..2500).map(|i| i * i).collect::<Vec<i64>>());

    // An output that no one wants, before one that is wanted.
    let body = graph(&["i", "on", "a"], vec![node("Add", "", &["a", "i"], &["b"])], &["on", "b", "b"]);
    let nodes = vec![
        number("most", 2500),
        control("Loop", &["most", "", "start"], &["", "all"], vec![("body", body)]),
        // An input that is left out stays so.
        node("Clip", "", &["all", "", "most"], &["cut"]),
    ];
    let found = run_graph(graph(&["start"], nodes, &["cut"]), VERSIONS, &[("start", longs_term(7))]).unwrap();
    assert_eq!(i64s(&found[0])[..4], [7, 8, 10, 13]);

    let body = graph(
        &["state", "item"],
        vec![node("Add", "", &["state", "item"], &["sum"]), node("Mul", "", &["item", "scale"], &["scaled"])],
        &["sum", "scaled"],
    );
    let scan = with(
        control("Scan", &["start", "x"], &["sum", "all"], vec![("body", body)]),
        build::int("num_scan_inputs", 1),
    );
    let scan = with(scan, ints("scan_input_directions", &[1]));
    let items: Vec<f32> = (0..2000).map(|i| i as f32).collect();
    let mut whole = graph(&["start", "x"], vec![scan], &["sum", "all"]);
    whole.initializer = vec![floats("scale", &[], &[2.0])];
    let found =
        run_graph(whole, VERSIONS, &[("start", x(&[0.5], &[1])), ("x", x(&items, &[2000, 1]))]).unwrap();
    near(&f32s(&found[0]), &[0.5 + 1999.0 * 1000.0]);
    assert_eq!(f32s(&found[1])[..3], [3998.0, 3996.0, 3994.0]);
}

/// What a loop carries may change its shape at each turn, also when it runs on
/// the host; values of outer graphs hide behind inner ones of the same name.
#[test]
fn carried_values_grow_and_names_hide() {
    let inner = graph(&[], vec![node("Mul", "", &["x", "x"], &["y"])], &["y"]);
    let other = graph(&[], vec![node("Identity", "", &["x"], &["y"])], &["y"]);
    let body = graph(
        &["i", "on", "list"],
        vec![
            // `x` and `y` are this body's own, whatever they are outside.
            node("Unsqueeze", "", &["i", "axes"], &["x"]),
            control("If", &["flag"], &["y"], vec![("then_branch", inner), ("else_branch", other)]),
            node("Concat", "", &["list", "y"], &["longer"]),
        ],
        &["on", "longer"],
    );
    let mut body = body;
    body.node[2] = with(body.node[2].clone(), build::int("axis", 0));
    let nodes = vec![
        with(node("Constant", "", &[], &["axes"]), tensor_attribute("value", longs(&[1], &[0]))),
        control("Loop", &["most", "", "x"], &["list"], vec![("body", body)]),
        node("Add", "", &["list", "y"], &["z"]),
    ];
    let whole = graph(&["most", "x", "y", "flag"], nodes, &["z"]);
    for (set, right) in [(true, [19, 10, 11, 14, 19]), (false, [19, 10, 11, 12, 13])] {
        let given = [
            ("most", longs_term(4)),
            ("x", super::longs(&[9], &[1])),
            ("y", super::longs(&[10], &[1])),
            ("flag", flag(set)),
        ];
        assert_eq!(i64s(&run_graph(whole.clone(), VERSIONS, &given).unwrap()[0]), right);
    }
}

#[test]
fn wrong_bodies_are_refused_by_name() {
    let body = graph(&["i", "on"], vec![], &["on"]);
    let lacks = graph(
        &["x"],
        vec![number("most", 3), control("Loop", &["most", "", "x"], &["y"], vec![("body", body)])],
        &["y"],
    );
    let why = run_graph(lacks, VERSIONS, &[("x", longs_term(1))]).unwrap_err().to_string();
    assert!(why.contains("the body has 2 inputs where 3 are expected") && why.contains("Loop"), "{why}");

    let branch = || graph(&[], vec![number("a", 1)], &["a"]);
    let wide = graph(
        &["which"],
        vec![control("If", &["which"], &["y"], vec![("then_branch", branch()), ("else_branch", branch())])],
        &["y"],
    );
    let two = Term::Array(Array::from_slice(&[true, false], &[2]));
    let why = run_graph(wide, VERSIONS, &[("which", two)]).unwrap_err().to_string();
    assert!(why.contains("one truth value, found 2"), "{why}");

    // A sequence cannot be joined into a tensor.
    let body = graph(&["i", "on"], vec![node("SequenceConstruct", "", &["i"], &["list"])], &["on", "list"]);
    let joins = graph(
        &[],
        vec![number("most", 2), control("Loop", &["most", ""], &["y"], vec![("body", body)])],
        &["y"],
    );
    let why = run_graph(joins, VERSIONS, &[]).unwrap_err().to_string();
    assert!(why.contains("`list` must be a tensor of numbers to be joined"), "{why}");
}

#[test]
fn scanned_inputs_are_counted() {
    let scan = |count: i64| {
        let body = graph(&["s", "a", "b"], vec![node("Identity", "", &["s"], &["next"])], &["next"]);
        let scan = control("Scan", &["s0", "xs", "ys"], &["last"], vec![("body", body)]);
        graph(&["s0", "xs", "ys"], vec![with(scan, build::int("num_scan_inputs", count))], &["last"])
    };
    let given = [("s0", x(&[0.0], &[])), ("xs", x(&[0.0; 2], &[2])), ("ys", x(&[0.0; 3], &[3]))];
    for (count, says) in [
        (4, "num_scan_inputs must be from 1 to 3, the number of the node's inputs, found 4"),
        (0, "num_scan_inputs must be from 1 to 3, the number of the node's inputs, found 0"),
        (-1, "found -1"),
        (2, "all scanned inputs must have as many items as the first, 2, found 3 in input 2"),
    ] {
        let why = run_graph(scan(count), VERSIONS, &given).unwrap_err().to_string();
        assert!(why.contains(says) && why.contains("Scan"), "{why}");
    }
}

#[test]
fn what_a_trace_has_done_can_be_looked_at() {
    let mut model = build::model(collatz());
    model.opset_import = vec![build::opset("", VERSIONS.0)];
    let model = Model::new(build::open(&model).unwrap()).unwrap();
    assert_eq!(model.steps().so_far(), None);
    let device = Runtime::global().device("cpu").unwrap();
    model.call_on(&device, &[("most", longs_term(50)), ("start", longs_term(6))]).unwrap();
    let (done, all) = model.steps().so_far().unwrap();
    // Four constants and the loop, whose body is a program of its own.
    assert_eq!((done, all), (5, 5));
}
