//! Calling models made by hand: local functions, breaks, versions, refusals.

use std::sync::Arc;

use oneir_array::Array;
use oneir_cpu as _;
use oneir_onnx::proto::attribute_proto::AttributeType;
use oneir_onnx::proto::{
    AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, OperatorSetIdProto, TypeProto,
    ValueInfoProto, type_proto,
};
use oneir_onnx::{Model, OnnxError, OnnxFile, Term};
use oneir_runtime::{Profile, Runtime, Steps};
use oneir_tensor::HostTensor;
use oneir_testkit as _;
use prost::Message;

fn node(op: &str, inputs: &[&str], outputs: &[&str]) -> NodeProto {
    let names = |list: &[&str]| list.iter().map(|n| n.to_string()).collect();
    NodeProto {
        op_type: Some(op.into()),
        input: names(inputs),
        output: names(outputs),
        ..NodeProto::default()
    }
}

fn ints(mut node: NodeProto, name: &str, values: &[i64]) -> NodeProto {
    node.attribute.push(AttributeProto {
        name: Some(name.into()),
        r#type: Some(AttributeType::Ints as i32),
        ints: values.to_vec(),
        ..AttributeProto::default()
    });
    node
}

/// A value of a dtype and any shape.
fn value(name: &str, elem: i32) -> ValueInfoProto {
    let tensor = type_proto::Tensor { elem_type: Some(elem), shape: None };
    ValueInfoProto {
        name: Some(name.into()),
        r#type: Some(TypeProto {
            value: Some(type_proto::Value::TensorType(tensor)),
            ..TypeProto::default()
        }),
        ..ValueInfoProto::default()
    }
}

fn model(version: i64, nodes: Vec<NodeProto>, inputs: &[(&str, i32)], outputs: &[&str]) -> ModelProto {
    ModelProto {
        ir_version: Some(8),
        opset_import: vec![
            OperatorSetIdProto { domain: Some(String::new()), version: Some(version) },
            OperatorSetIdProto { domain: Some("own".into()), version: Some(1) },
        ],
        graph: Some(GraphProto {
            name: Some("made".into()),
            node: nodes,
            input: inputs.iter().map(|(name, elem)| value(name, *elem)).collect(),
            output: outputs.iter().map(|name| value(name, 0)).collect(),
            ..GraphProto::default()
        }),
        ..ModelProto::default()
    }
}

fn open(model: &ModelProto) -> Result<Model, OnnxError> {
    Model::new(OnnxFile::from_bytes(model.encode_to_vec(), None)?)
}

const FLOAT: i32 = 1;
const INT64: i32 = 7;

fn floats(term: &Term) -> Vec<f32> {
    match term {
        Term::Array(array) => array.to_vec().unwrap(),
        Term::Host(value) => value.to_vec().unwrap(),
        other => panic!("{other:?}"),
    }
}

/// `twice(x) = x + x` and `shifted(x, y) = (x, twice(x) + y)`, the first in the
/// body of the second.
fn with_functions() -> ModelProto {
    let function = |name: &str, inputs: &[&str], outputs: &[&str], nodes: Vec<NodeProto>| FunctionProto {
        name: Some(name.into()),
        domain: Some("own".into()),
        input: inputs.iter().map(|n| n.to_string()).collect(),
        output: outputs.iter().map(|n| n.to_string()).collect(),
        node: nodes,
        opset_import: vec![
            OperatorSetIdProto { domain: Some(String::new()), version: Some(17) },
            OperatorSetIdProto { domain: Some("own".into()), version: Some(1) },
        ],
        ..FunctionProto::default()
    };
    let own = |mut node: NodeProto| {
        node.domain = Some("own".into());
        node
    };
    let mut made = model(
        17,
        vec![
            own(node("shifted", &["a", "b"], &["same", "sum"])),
            own(node("shifted", &["sum", "a"], &["", "out"])),
        ],
        &[("a", FLOAT), ("b", FLOAT)],
        &["same", "out"],
    );
    made.functions = vec![
        function("twice", &["x"], &["y"], vec![node("Add", &["x", "x"], &["y"])]),
        function(
            "shifted",
            &["x", "y"],
            &["x", "z"],
            vec![own(node("twice", &["x"], &["t"])), node("Add", &["t", "y"], &["z"])],
        ),
    ];
    made
}

#[test]
fn local_functions_run() {
    let model = open(&with_functions()).unwrap();
    let array = |x: f32| Array::from_slice(&[x], &[1]);
    for device in ["cpu", "mock"] {
        let device = Runtime::global().device(device).unwrap();
        let outputs = model.call_on(&device, &[("a", array(3.0)), ("b", array(1.0))]).unwrap();
        assert_eq!(floats(&outputs[0].1), [3.0]);
        // sum = 2·3 + 1; out = 2·sum + 3
        assert_eq!(floats(&outputs[1].1), [17.0]);
    }
}

#[test]
fn a_value_of_the_run_breaks_the_graph() {
    let nodes = vec![
        node("Add", &["n", "n"], &["shape"]),
        node("Mul", &["x", "x"], &["square"]),
        node("Reshape", &["square", "shape"], &["y"]),
        node("Relu", &["y"], &["z"]),
    ];
    let made = model(17, nodes, &[("x", FLOAT), ("n", INT64)], &["z"]);
    let model = open(&made).unwrap();
    let x = Array::from_slice(&[1f32, 2.0, 3.0, 4.0], &[4]);
    let ints = |v: &[i64]| Array::from_slice(v, &[v.len()]);
    for device in ["cpu", "mock"] {
        let device = Runtime::global().device(device).unwrap();
        for (n, shape) in [(vec![1, 1], vec![2, 2]), (vec![2], vec![4]), (vec![1, 1], vec![2, 2])] {
            let outputs = model.call_on(&device, &[("x", x.clone()), ("n", ints(&n))]).unwrap();
            assert_eq!(outputs[0].1.shape(), Some(shape));
            assert_eq!(floats(&outputs[0].1), [1.0, 4.0, 9.0, 16.0]);
        }
        // A shape that does not fit is an error of that call alone.
        let error = model.call_on(&device, &[("x", x.clone()), ("n", ints(&[3]))]).unwrap_err().to_string();
        assert!(error.contains("Reshape") && error.contains("4 elements do not fill shape [6]"), "{error}");
    }
    let specs = [
        ("x", oneir_ir::Spec::new(oneir_tensor::DType::F32, [4])),
        ("n", oneir_ir::Spec::new(oneir_tensor::DType::I64, [2])),
    ];
    let part = model.trace(&specs).unwrap();
    let why = part.break_reason().unwrap().to_string();
    assert!(why.contains("`shape`") && why.contains("an input of the model makes it dynamic"), "{why}");
}

#[test]
fn operators_keep_the_meaning_of_their_version() {
    // Before version 13, Softmax flattens at its axis: each row of [2, 2·2].
    let call = |version| {
        let soft = node("Softmax", &["x"], &["y"]);
        let mut soft = soft;
        soft.attribute.push(AttributeProto {
            name: Some("axis".into()),
            r#type: Some(AttributeType::Int as i32),
            i: Some(1),
            ..AttributeProto::default()
        });
        let model = open(&model(version, vec![soft], &[("x", FLOAT)], &["y"])).unwrap();
        let zeros = Array::from_slice(&[0f32; 8], &[2, 2, 2]);
        floats(&model.call(&[("x", zeros)]).unwrap()[0].1)
    };
    assert_eq!(call(11), [0.25; 8]);
    assert_eq!(call(13), [0.5; 8]);
    // Squeeze has its axes in an attribute before 13, in an input from 13 on.
    let old = ints(node("Squeeze", &["x"], &["y"]), "axes", &[0]);
    let model = open(&model(11, vec![old], &[("x", FLOAT)], &["y"])).unwrap();
    let outputs = model.call(&[("x", Array::from_slice(&[5f32], &[1, 1]))]).unwrap();
    assert_eq!(outputs[0].1.shape(), Some(vec![1]));
}

#[test]
fn all_missing_operators_are_named_before_anything_runs() {
    let nodes = vec![
        node("Frobnicate", &["x"], &["y"]),
        node("Add", &["y", "y"], &["z"]),
        node("Quux", &["z"], &["w"]),
    ];
    let error = open(&model(17, nodes, &[("x", FLOAT)], &["w"])).unwrap_err();
    let OnnxError::MissingOperators { operators } = &error else { panic!("{error}") };
    assert_eq!(operators[..], ["Frobnicate (version 17)", "Quux (version 17)"]);
    // An operator of a later version is missing too.
    let late = model(12, vec![node("HardSwish", &["x"], &["y"])], &[("x", FLOAT)], &["y"]);
    assert!(matches!(open(&late), Err(OnnxError::MissingOperators { .. })));
}

#[test]
fn inputs_are_checked_by_name_type_and_shape() {
    let model = open(&model(17, vec![node("Relu", &["x"], &["y"])], &[("x", FLOAT)], &["y"])).unwrap();
    let told = |inputs: &[(&str, Array)]| model.call(inputs).unwrap_err().to_string();
    let x = Array::from_slice(&[1f32], &[1]);
    assert!(told(&[]).contains("`x` is missing"));
    assert!(told(&[("x", x.clone()), ("w", x.clone())]).contains("`w` is none of them"));
    assert!(told(&[("x", x.clone()), ("x", x.clone())]).contains("`x` is given twice"));
    assert!(told(&[("x", Array::from_slice(&[1i32], &[1]))]).contains("found i32[1]"));
    let failed = x.reshape(&[7]);
    assert!(told(&[("x", failed)]).contains("reshape"));
    let empty = Array::from_host(HostTensor::from_slice::<f32>(&[0, 3], &[]).unwrap());
    assert_eq!(model.call(&[("x", empty)]).unwrap()[0].1.shape(), Some(vec![0, 3]));
}

/// A number that a file gives.
fn given(name: &str, values: &[i64]) -> NodeProto {
    ints(node("Constant", &[], &[name]), "value_ints", values)
}

#[test]
fn sizes_of_terabytes_are_refused() {
    let huge = 1i64 << 40;
    let scalar = |name: &str, value: i64| {
        let mut made = node("Constant", &[], &[name]);
        made.attribute.push(AttributeProto {
            name: Some("value_int".into()),
            r#type: Some(AttributeType::Int as i32),
            i: Some(value),
            ..AttributeProto::default()
        });
        made
    };
    let block = |value: i64| {
        let mut made = node("DepthToSpace", &["x"], &["y"]);
        made.attribute.push(AttributeProto {
            name: Some("blocksize".into()),
            r#type: Some(AttributeType::Int as i32),
            i: Some(value),
            ..AttributeProto::default()
        });
        made
    };
    let programs = [
        vec![scalar("n", huge), node("HannWindow", &["n"], &["y"])],
        vec![given("sizes", &[1, 1, 1 << 31, 1 << 31]), node("Resize", &["x", "", "", "sizes"], &["y"])],
        vec![block(huge)],
        vec![block(3)],
    ];
    for nodes in programs {
        let name = nodes.last().unwrap().op_type.clone().unwrap_or_default();
        let model = open(&model(21, nodes, &[("x", FLOAT)], &["y"])).unwrap();
        let error = model.call(&[("x", Array::from_slice(&[0f32; 16], &[1, 4, 2, 2]))]).unwrap_err();
        assert!(error.to_string().contains(&name), "{error}");
    }
}

#[test]
fn launches_are_counted_without_their_times() {
    let nodes = vec![node("MatMul", &["x", "x"], &["h"]), node("Softmax", &["h"], &["y"])];
    let model = open(&model(17, nodes, &[("x", 1)], &["y"])).unwrap();
    let x = Array::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2]);
    for device in ["cpu", "mock"] {
        let device = Runtime::global().device(device).unwrap();
        let steps = Arc::new(Steps::default());
        let mut profile = Profile::counting(steps.clone());
        let outputs = model.call_with(&device, &[("x", x.clone())], Some(&mut profile)).unwrap();
        oneir_array::eval_on(&device, &[outputs[0].1.array().unwrap()]).unwrap();
        let (done, all) = steps.so_far().unwrap();
        assert!(done == all && all >= 2, "{done} of {all}");
        assert!(profile.launches.is_empty());
    }
}
