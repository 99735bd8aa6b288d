//! What recording, lifting, planning and dropping cost per op.
//!
//! `cargo bench -p oneir-array --bench overhead -- [OPS]` prints one JSON line.

use std::hint::black_box;
use std::time::Instant;

use oneir_cpu as _;
use oneir_ir::{BinaryOp, Cut, Place, Primitive, Spec, Value};
use oneir_runtime::{Evaluated, Given, Runtime};
use oneir_tensor::{DType, HostTensor};

/// A chain of additions and transpositions: no two ops are equal, and some are
/// views.
fn chain(x: &Value, ops: usize) -> Value {
    let mut y = x.clone();
    for i in 0..ops {
        y = match i % 4 {
            0 => Value::record(Primitive::Transpose(vec![1, 0]), &[&y], Place::Internal),
            1 => Value::record(Primitive::Binary(BinaryOp::Add), &[&y, x], Place::Internal),
            2 => Value::record(Primitive::Binary(BinaryOp::Multiply), &[&y, x], Place::Internal),
            _ => Value::record(Primitive::Binary(BinaryOp::Maximum), &[&y, x], Place::Internal),
        }
        .unwrap_or_else(|e| panic!("a chain records: {e}"));
    }
    y
}

fn main() {
    let ops: usize = std::env::args().filter_map(|a| a.parse().ok()).next().unwrap_or(1_000_000);
    let device = Runtime::global().device("cpu").unwrap_or_else(|e| panic!("the CPU is linked: {e}"));
    let host =
        HostTensor::from_slice(&[4, 4], &[0.5f32; 16]).unwrap_or_else(|e| panic!("a small tensor: {e}"));
    let mut rows: Vec<(&str, f64)> = Vec::new();
    let mut time = |name, count: usize, start: Instant| {
        let each = start.elapsed().as_secs_f64() * 1e9 / count as f64;
        rows.push((name, each));
    };

    let x = Value::placeholder(Spec::new(DType::F32, [4, 4]));
    let start = Instant::now();
    let y = chain(&x, ops);
    time("record", ops, start);
    let start = Instant::now();
    let lifted = Cut::new(std::slice::from_ref(&x), std::slice::from_ref(&y))
        .lift()
        .unwrap_or_else(|e| panic!("a chain lifts: {e}"));
    time("lift", ops, start);
    let given = vec![Given::rows(&[4, 4])];
    let start = Instant::now();
    let plan =
        device.executable(&lifted.graph, given.clone()).unwrap_or_else(|e| panic!("a chain plans: {e}"));
    time("plan", ops, start);
    let start = Instant::now();
    let again =
        device.executable(&lifted.graph, given.clone()).unwrap_or_else(|e| panic!("a chain plans: {e}"));
    time("plan_lookup", ops, start);
    black_box(again);
    // A shorter program on two sizes: no pass runs for the second (keys of
    // very long programs are not kept).
    let short = ops.min(100_000);
    for size in [4, 8] {
        let x = Value::placeholder(Spec::new(DType::F32, [size, size]));
        let y = chain(&x, short);
        let lifted =
            Cut::new(std::slice::from_ref(&x), &[y]).lift().unwrap_or_else(|e| panic!("a chain lifts: {e}"));
        let hits = device.cache_counts().skeleton_hits;
        let start = Instant::now();
        let plan = device
            .executable(&lifted.graph, vec![Given::rows(&[size, size])])
            .unwrap_or_else(|e| panic!("a chain plans: {e}"));
        if size == 8 {
            time("plan_other_size", short, start);
            assert_eq!(device.cache_counts().skeleton_hits, hits + 1, "no pass runs for another size");
        }
        black_box(plan);
    }
    let input = device.put(&host).unwrap_or_else(|e| panic!("a small tensor fits: {e}"));
    let start = Instant::now();
    black_box(
        plan.run(&device, std::slice::from_ref(&input), None).unwrap_or_else(|e| panic!("a chain runs: {e}")),
    );
    time("run", ops, start);
    drop(lifted);
    let start = Instant::now();
    drop(y);
    time("drop", ops, start);

    // The same eagerly, from recording to the value.
    let x = input.into_value();
    let start = Instant::now();
    let y = chain(&x, ops);
    device.evaluate(std::slice::from_ref(&y)).unwrap_or_else(|e| panic!("a chain evaluates: {e}"));
    black_box(Evaluated::of(&y));
    time("eager_total", ops, start);

    let fields: Vec<String> =
        rows.iter().map(|(name, ns)| format!("\"{name}_ns_per_op\": {ns:.0}")).collect();
    println!("{{\"ops\": {ops}, {}}}", fields.join(", "));
}
