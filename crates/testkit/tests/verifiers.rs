//! Each way in which a graph can be wrong has a name, and a graph that provokes
//! it; and what passes must leave alone stays.

use oneir_cpu as _;
use oneir_ir::fast::{FastOp, Softmax};
use oneir_ir::graph::{Dst, GraphError, Op, Operand, Part, Span, Sym, Tensor, TensorGraph, WriteResult};
use oneir_ir::{Cut, Invalid, Place, Primitive, Spec, Value, reference, verify};
use oneir_passes::{Options, optimise};
use oneir_runtime::Step;
use oneir_tensor::{DType, HostTensor};
use oneir_testkit::devices;

/// A graph of the tensors and ops given as text.
fn graph(text: &str) -> TensorGraph {
    format!("graph \"\" {{ {text} }}").parse().unwrap_or_else(|e| panic!("{e}"))
}

const TWO: &str = "%0 = input f32[2] %1 = activation f32[2] %2 = activation f32[2] inputs (%0)";

fn wrong(text: &str) -> GraphError {
    verify::graph(&graph(text)).expect_err(text)
}

#[test]
fn structure() {
    let e = wrong(&format!("{TWO} outputs (%1) %1 = binary(op = add) (%0)"));
    assert!(matches!(e, GraphError::Inference { .. }), "{e}");
    let e =
        wrong("%0 = input f32[2] %1 = activation f32[3] inputs (%0) outputs (%1) %1 = unary(op = exp) (%0)");
    assert!(matches!(&e, GraphError::WrongResult { expected, .. } if expected == "f32[3]"), "{e}");
    let e = wrong(&format!("{TWO} outputs (%1) %1 = copy (%0 view {{offset 1, shape [2], strides [1]}})"));
    assert!(matches!(e, GraphError::ViewOutOfTensor { op: 0, .. }), "{e}");
    let e = wrong(
        "%0 = input f32[6] %1 = activation f32[2, 2] inputs (%0) outputs (%1) %1 = copy (%0 part {pitch 3, offset 2, width 2})",
    );
    assert!(matches!(e, GraphError::PartOutOfUnit { width: 2, offset: 2, pitch: 3 }), "{e}");
    let e = wrong(
        "%0 = input f32[2] %1 = input f32[4, 2] inputs (%0, %1) outputs (%1) %1 rows {pitch 2, row 1} = copy (%0)",
    );
    assert!(matches!(e, GraphError::NotState { .. }), "{e}");
    let e = wrong(
        "%0 = input f32[2] %1 = state f32[4, 2] inputs (%0, %1) outputs (%1) %1 rows {pitch 2, row 5} = copy (%0)",
    );
    assert!(matches!(e, GraphError::RowOutOfRange { row: 5, rows: 4, .. }), "{e}");
    // What text cannot say: tensors and ops that are not there, a bare class.
    let mut made = graph(&format!("{TWO} outputs (%1) %1 = unary(op = exp) (%0)"));
    made.ops[0].operands[0].tensor.0 = 77;
    assert!(matches!(verify::graph(&made), Err(GraphError::Unknown { what: "tensor", id: 77, .. })));
    let mut made = graph(&format!("{TWO} outputs (%1) %1 = unary(op = exp) (%0)"));
    made.ops[0].sym = Sym::Prim(Primitive::Fast(FastOp::from(Softmax { axis: 0 })));
    assert!(matches!(verify::graph(&made), Err(GraphError::BareFused { name: "fast", .. })));
}

#[test]
fn order() {
    let e = wrong(&format!("{TWO} outputs (%1) %1 = unary(op = exp) (%2) %2 = unary(op = exp) (%0)"));
    assert!(matches!(e, GraphError::ReadBeforeWrite { op: 0, .. }), "{e}");
    let e = wrong(&format!("{TWO} outputs (%1) %1 = unary(op = exp) (%0) %1 = unary(op = abs) (%0)"));
    assert!(matches!(e, GraphError::WrittenTwice { op: 1, .. }), "{e}");
    let e = wrong(&format!("{TWO} outputs (%2) %1 = unary(op = exp) (%0)"));
    assert!(matches!(e, GraphError::ReadBeforeWrite { name: "the caller", .. }), "{e}");
}

#[test]
fn covers() {
    let exp = "%1 = unary(op = exp) (%0) covers [0]";
    let e = wrong(&format!("{TWO} outputs (%1) lifted 2 dead [] folded [] {exp}"));
    assert!(matches!(e, GraphError::CoveredNever(1)), "{e}");
    let e = wrong(&format!("{TWO} outputs (%1) lifted 1 dead [0] folded [] {exp}"));
    assert!(matches!(e, GraphError::CoveredTwice(0)), "{e}");
    let e = wrong(&format!("{TWO} outputs (%1) lifted 1 dead [] folded [3] {exp}"));
    assert!(matches!(e, GraphError::Unknown { what: "lifted op", id: 3, .. }), "{e}");
    verify::graph(&graph(&format!("{TWO} outputs (%1) lifted 3 dead [2] folded [1] {exp}"))).unwrap();
}

#[test]
fn definitions() {
    let region = "fused region{inputs 1; exp(x0); abs(s0); outputs (s1)} (%0)";
    let good =
        format!("{TWO} outputs (%2) %2 = {region} {{ %1 = unary(op = exp) (%0) %2 = unary(op = abs) (%1) }}");
    verify::graph(&graph(&good)).unwrap();
    let e = wrong(&good.replace("%2 = unary(op = abs) (%1)", "%2 = unary(op = neg) (%1)"));
    assert!(matches!(e, GraphError::Definition { class: "region", .. }), "{e}");
    let e = wrong(&good.replace("outputs (%2)", "outputs (%2, %1)"));
    assert!(matches!(e, GraphError::ReadBeforeWrite { .. } | GraphError::ObservedInside { .. }), "{e}");
    let e = wrong(&good.replace("%1 = activation f32[2]", "%1 = activation f32[2] observed"));
    assert!(matches!(e, GraphError::ObservedInside { why: "observed", .. }), "{e}");
    let e = wrong(
        &good
            .replace("(%1) }", "(%0) }")
            .replace("abs(s0)", "abs(x0)")
            .replace("%2 = unary(op = abs)", "%1 = unary(op = abs)"),
    );
    assert!(matches!(e, GraphError::WrittenTwice { .. } | GraphError::Definition { .. }), "{e}");
}

#[test]
fn interfaces_and_numbers() {
    let add = graph(&format!("{TWO} outputs (%1) %1 = binary(op = add) (%0, %0)"));
    let mul = graph(&format!("{TWO} outputs (%1) %1 = binary(op = mul) (%0, %0)"));
    assert!(matches!(verify::numeric(&add, &mul, 1), Err(GraphError::Differs { output: 0, .. })));
    assert!(matches!(reference::run(&add, &[]), Err(GraphError::Interface { .. })));
    let cholesky = graph(
        "%0 = input f32[1, 1] %1 = activation f32[1, 1] inputs (%0) outputs (%1) %1 = linalg(op = cholesky) (%0)",
    );
    let negative = HostTensor::from_slice(&[1, 1], &[-1f32]).unwrap();
    assert!(matches!(reference::run(&cholesky, &[negative]), Err(GraphError::Evaluation { .. })));
    let rows = graph(
        "%0 = constant f32[2, 32] rows {\"blk.0.w\", first 1, format \"q8_0\"} %1 = activation f32[2, 32] inputs () outputs (%1) %1 = copy (%0)",
    );
    let error = devices().unwrap()[0].run(&rows, &[]).unwrap_err().to_string();
    assert!(error.contains("stored as q8_0"), "{error}");
}

#[test]
fn parts_of_rows_are_written_in_place() {
    // Two values a unit of 4, at 1, from row 2 of a table of rows of 8.
    let span = Span::Unit { part: Part { pitch: 4, offset: 1 }, width: 2 };
    let mut made = TensorGraph::default();
    let x = made.push_tensor(Tensor::input(DType::F32, [4]));
    let table =
        made.push_tensor(Tensor { role: oneir_ir::graph::Role::State, ..Tensor::input(DType::F32, [3, 8]) });
    made.inputs = vec![x, table];
    made.outputs = vec![table];
    made.ops.push(Op {
        sym: Sym::Prim(Primitive::Copy),
        operands: [Operand::whole(x)].into_iter().collect(),
        results: [WriteResult {
            tensor: table,
            dst: Dst::Rows { pitch: 8, row: oneir_ir::graph::RowSel::Fixed(2), span },
        }]
        .into(),
        covers: Default::default(),
    });
    made.number_lifted();
    verify::graph(&made).unwrap();
    assert_eq!(made.to_string().parse::<TensorGraph>().as_ref(), Ok(&made));
    let mut expected = [0f32; 24];
    (expected[9], expected[10], expected[13], expected[14]) = (1.0, 2.0, 3.0, 4.0);
    let values = [
        HostTensor::from_slice(&[4], &[1f32, 2.0, 3.0, 4.0]).unwrap(),
        HostTensor::zeros(DType::F32, &[3, 8]).unwrap(),
    ];
    assert_eq!(reference::run(&made, &values).unwrap()[0].to_vec::<f32>().unwrap(), expected);
    for device in devices().unwrap() {
        let mut step = Step::new(&device, made.clone(), &values).unwrap();
        step.run().unwrap();
        assert_eq!(step.input(table).unwrap().to_vec::<f32>().unwrap(), expected, "{}", device.name());
    }
}

fn record(primitive: Primitive, inputs: &[&Value]) -> Value {
    Value::record(primitive, inputs, Place::Internal).unwrap()
}

#[test]
fn copies_and_dependencies_stay() {
    let x = Value::placeholder(Spec::new(DType::F32, [2]));
    let copy = record(Primitive::Copy, &[&x]);
    let twin = record(Primitive::Copy, &[&x]);
    let after = record(Primitive::Depends { n_deps: 1 }, &[&copy, &twin]);
    let lifted = Cut::new(&[x], &[after]).lift().unwrap().graph;
    let (made, _) = optimise(lifted, &Options::default()).unwrap();
    let names: Vec<&str> = made.ops.iter().map(|op| op.sym.name()).collect();
    assert_eq!(names, ["copy", "copy", "depends"], "{made}");
}

#[test]
fn primitives_that_hold_traced_sizes_say_so() {
    let slice = Primitive::Slice { start: vec![0], step: vec![1], len: vec![2] };
    let fixed = [Primitive::Reshape(vec![2]), Primitive::Broadcast(vec![2]), slice];
    assert!(fixed.iter().all(Primitive::fixes_shape));
    let free =
        [Primitive::Squeeze(vec![0]), Primitive::Matmul, Primitive::Transpose(vec![0]), Primitive::Copy];
    assert!(!free.iter().any(Primitive::fixes_shape));
}

#[test]
fn shapes_past_an_address_are_refused_when_recorded() {
    let x = Value::placeholder(Spec::new(DType::F32, [1]));
    let huge = Value::record(Primitive::Broadcast(vec![1 << 40, 1 << 40]), &[&x], Place::Internal);
    assert!(matches!(huge, Err(Invalid::Tensor(_))), "{huge:?}");
}
