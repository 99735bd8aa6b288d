//! Five graphs written by hand prove that the IR can say what is needed: each
//! is verified, prints and parses back, and runs on every device.

use oneir_cpu as _;
use oneir_ir::graph::{Role, TensorGraph, TensorId};
use oneir_ir::{Cut, Value, reference, verify};
use oneir_passes::{Options, PASSES, optimise_until};
use oneir_runtime::{Device, Evaluated, Given, RuntimeError, Step};
use oneir_tensor::HostTensor;
use oneir_testkit::devices;

/// The graph replayed as recorded primitives gives the same results and leaves
/// the same states.
fn replays(graph: &TensorGraph, inputs: &[HostTensor]) {
    let arguments: Vec<Value> = graph.inputs.iter().map(|&id| Value::placeholder(graph.spec(id))).collect();
    let outputs = graph.as_function().call(&arguments).unwrap();
    let lifted = Cut::new(&arguments, &outputs).lift().unwrap().graph;
    let (mut expected, states) = reference::run_step(graph, inputs).unwrap();
    expected.extend(states);
    let found = reference::run(&lifted, inputs).unwrap();
    assert_eq!(expected.len(), found.len());
    for (e, f) in expected.iter().zip(&found) {
        assert_eq!(verify::Tolerance::of(e.dtype()).first_difference(e, f), None, "{e:?}\n{f:?}");
    }
}

#[test]
fn every_graph_is_a_function() {
    for text in [
        include_str!("graphs/strided_product.txt"),
        include_str!("graphs/attention_step.txt"),
        include_str!("graphs/delta_step.txt"),
        include_str!("graphs/growing_cache.txt"),
    ] {
        let graph = read(text);
        let inputs: Vec<HostTensor> = graph
            .inputs
            .iter()
            .map(|&id| match graph.tensor(id).role {
                Role::Parameter => HostTensor::scalar(3i32),
                _ => verify::sample(graph.tensor(id), u64::from(id.0) + 1).unwrap(),
            })
            .collect();
        replays(&graph, &inputs);
        let (after, _) = optimise_until(graph.clone(), &Options::default(), "dead").unwrap();
        replays(&after, &inputs);
    }
}

fn read(text: &str) -> TensorGraph {
    let graph: TensorGraph = text.parse().unwrap_or_else(|e| panic!("{e}"));
    verify::graph(&graph).unwrap();
    assert_eq!(graph.to_string().parse::<TensorGraph>().as_ref(), Ok(&graph));
    for pass in PASSES {
        let (after, _) = optimise_until(graph.clone(), &Options::default(), pass).unwrap();
        verify::graph(&after).unwrap_or_else(|e| panic!("after {pass}: {e}\n{after}"));
    }
    graph
}

fn f32s(shape: &[usize], values: &[f32]) -> HostTensor {
    HostTensor::from_slice(shape, values).unwrap()
}

fn near(found: &HostTensor, expected: &[f32], what: &str) {
    let found = found.to_vec::<f32>().unwrap();
    assert_eq!(found.len(), expected.len(), "{what}");
    for (a, b) in found.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-5 * (1.0 + b.abs()), "{what}: {found:?}, expected {expected:?}");
    }
}

fn ramp(n: usize) -> Vec<f32> {
    (0..n).map(|i| ((i * 7) % 11) as f32 / 4.0 - 1.0).collect()
}

#[test]
fn product_with_a_transposed_strided_view() {
    let graph = read(include_str!("graphs/strided_product.txt"));
    let (a, table) = (ramp(6), ramp(24));
    let mut expected = vec![0.0; 8];
    for i in 0..2 {
        for j in 0..4 {
            expected[i * 4 + j] = (0..3).map(|k| a[i * 3 + k] * table[j * 6 + 1 + 2 * k]).sum();
        }
    }
    for device in devices().unwrap() {
        let inputs = [f32s(&[2, 3], &a), f32s(&[4, 6], &table)].map(|x| device.put(&x).unwrap());
        let found = device.run(&graph, &inputs).unwrap()[0].to_host().unwrap();
        near(&found, &expected, device.name());
        let launches =
            device.executable(&graph, inputs.iter().map(Given::of).collect()).unwrap().plan().launches.len();
        assert_eq!(launches, 1, "{}: the view is read in place", device.name());
    }
}

#[test]
fn attention_over_packed_rows_with_a_cache() {
    let graph = read(include_str!("graphs/attention_step.txt"));
    let rows: Vec<Vec<f32>> = (0..5).map(|i| ramp(16 * (i + 1))[16 * i..].to_vec()).collect();
    for device in devices().unwrap() {
        let zeros = f32s(&[8, 4], &[0.0; 32]);
        let first = [f32s(&[1, 16], &rows[0]), HostTensor::scalar(1i32), zeros.clone(), zeros];
        let mut step = Step::new(&device, graph.clone(), &first).unwrap();
        for (at, row) in rows.iter().enumerate() {
            step.set(TensorId(0), &f32s(&[1, 16], row)).unwrap();
            step.run_at(TensorId(1), at + 1).unwrap();
            let mut expected = Vec::new();
            for head in 0..2 {
                let q = &row[head * 4..head * 4 + 4];
                let scores: Vec<f32> = rows[..=at]
                    .iter()
                    .map(|r| 0.5 * q.iter().zip(&r[8..12]).map(|(a, b)| a * b).sum::<f32>())
                    .collect();
                let top = scores.iter().copied().fold(f32::MIN, f32::max);
                let weights: Vec<f32> = scores.iter().map(|s| (s - top).exp()).collect();
                let total: f32 = weights.iter().sum();
                expected.extend((0..4).map(|d| {
                    weights.iter().zip(&rows[..=at]).map(|(w, r)| w / total * r[12 + d]).sum::<f32>()
                }));
            }
            near(&step.output(0).unwrap(), &expected, &format!("{} step {at}", device.name()));
        }
    }
}

#[test]
fn gated_delta_step() {
    let graph = read(include_str!("graphs/delta_step.txt"));
    let (q, k, v) = ([0.5f32, -1.0, 0.25], [1.0f32, 0.5, -0.5], [2.0f32, -1.0]);
    let (g, beta) = (-0.5f32, 0.75f32);
    let start = [0.1f32, 0.2, 0.3, 0.4, 0.5, 0.6];
    for device in devices().unwrap() {
        let values = [
            f32s(&[1, 3], &q),
            f32s(&[1, 3], &k),
            f32s(&[1, 2], &v),
            f32s(&[1, 1], &[g]),
            f32s(&[1, 1], &[beta]),
            f32s(&[3, 2], &start),
        ];
        let mut step = Step::new(&device, graph.clone(), &values).unwrap();
        let mut memory = start;
        for turn in 0..3 {
            step.run().unwrap();
            memory.iter_mut().for_each(|x| *x *= g.exp());
            let mut o = [0.0f32; 2];
            for d in 0..2 {
                let predicted: f32 = (0..3).map(|i| k[i] * memory[i * 2 + d]).sum();
                for i in 0..3 {
                    memory[i * 2 + d] += k[i] * beta * (v[d] - predicted);
                }
                o[d] = (0..3).map(|i| q[i] * memory[i * 2 + d]).sum();
            }
            near(&step.output(0).unwrap(), &o, &format!("{} turn {turn}", device.name()));
            near(&step.input(TensorId(5)).unwrap(), &memory, device.name());
        }
    }
}

#[test]
fn a_cache_grows_without_planning_again() {
    let graph = read(include_str!("graphs/growing_cache.txt"));
    for device in devices().unwrap() {
        let values = [f32s(&[1, 2], &[0.0; 2]), HostTensor::scalar(1i32), f32s(&[4, 2], &[9.0; 8])];
        let mut step = Step::new(&device, graph.clone(), &values).unwrap();
        let planned = device.cache_counts();
        let mut sum = [0.0f32; 2];
        for at in 1..=4 {
            let row = [at as f32, -2.0 * at as f32];
            step.set(TensorId(0), &f32s(&[1, 2], &row)).unwrap();
            step.run_at(TensorId(1), at).unwrap();
            sum = [sum[0] + row[0], sum[1] + row[1]];
            near(&step.output(0).unwrap(), &sum, device.name());
        }
        assert_eq!(device.cache_counts(), planned, "{}: no step looks a plan up", device.name());
        let error = step.run_at(TensorId(1), 5).unwrap_err();
        assert!(matches!(error, RuntimeError::PastContext { position: 4, context: 4, .. }), "{error}");
        near(&step.output(0).unwrap(), &sum, "a refused step changes nothing");

        // The next capacity class: bound again without running a pass.
        let larger = read(&include_str!("graphs/growing_cache.txt").replace("[4, 2]", "[8, 2]"));
        step.grow(larger.clone()).unwrap();
        assert_eq!(step.rebinds(), 1);
        let after = device.cache_counts();
        assert_eq!((after.misses, after.skeleton_hits), (planned.misses, planned.skeleton_hits + 1));
        for at in 5..=8 {
            step.set(TensorId(0), &f32s(&[1, 2], &[1.0, 1.0])).unwrap();
            step.run_at(TensorId(1), at).unwrap();
            sum = [sum[0] + 1.0, sum[1] + 1.0];
            near(&step.output(0).unwrap(), &sum, device.name());
        }
        assert!(step.run_at(TensorId(1), 9).is_err());
        assert!(step.grow(graph.clone()).is_err(), "states do not shrink");
    }
}

fn run(device: &Device, graph: &TensorGraph, inputs: &[HostTensor]) -> Vec<HostTensor> {
    let given: Vec<Evaluated> = inputs.iter().map(|x| device.put(x).unwrap()).collect();
    device.run(graph, &given).unwrap().iter().map(|x| x.to_host().unwrap()).collect()
}

#[test]
fn a_loop_that_needs_a_host_value() {
    let graph = read(include_str!("graphs/host_loop.txt"));
    let x = [1.0f32, 10.0, 100.0, 1000.0, 10000.0];
    let inputs = [HostTensor::scalar(0i32), HostTensor::scalar(0.5f32), f32s(&[5], &x)];
    let expected = 0.5 + (1..=5).map(|n| x[..n].iter().sum::<f32>()).sum::<f32>();
    let known = reference::run(&graph, &inputs).unwrap();
    near(&known[1], &[expected], "reference");
    for device in devices().unwrap() {
        let found = run(&device, &graph, &inputs);
        assert_eq!(found[0].to_vec::<i32>().unwrap(), [5]);
        near(&found[1], &[expected], device.name());
        let before = device.cache_counts();
        run(&device, &graph, &inputs);
        let after = device.cache_counts();
        assert_eq!(before.misses, after.misses, "{}: every part was planned before", device.name());
    }
}
