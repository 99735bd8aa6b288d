//! A graph as a function of values: what transforms make of it is what they
//! make of the values that it was lifted from, and its states go in and come
//! out as they do in a step.

use oneir_cpu as _;
use oneir_ir::graph::{GraphError, Role, TensorGraph, TensorId};
use oneir_ir::primitive::{Batched, Expected};
use oneir_ir::transform::{vjp, vmap};
use oneir_ir::{Cut, Place, Primitive, Spec, Trace, Value, reference, verify};
use oneir_passes::{Options, optimise_until};
use oneir_runtime::Step;
use oneir_tensor::HostTensor;
use oneir_testkit::devices;

fn placeholders(inputs: &[HostTensor]) -> Vec<Value> {
    inputs.iter().map(|x| Value::placeholder(Spec::of(x))).collect()
}

/// What recorded values are when their placeholders are these inputs; data may
/// have no result.
fn tried(
    arguments: &[Value],
    outputs: &[Value],
    inputs: &[HostTensor],
) -> Result<Vec<HostTensor>, GraphError> {
    let graph = Cut::new(arguments, outputs).lift().unwrap().graph;
    reference::run(&graph, inputs)
}

fn run(arguments: &[Value], outputs: &[Value], inputs: &[HostTensor]) -> Vec<HostTensor> {
    tried(arguments, outputs, inputs).unwrap()
}

fn same(found: &[HostTensor], expected: &[HostTensor], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (f, e) in found.iter().zip(expected) {
        assert_eq!(verify::Tolerance::of(e.dtype()).first_difference(e, f), None, "{what}: {e:?}\n{f:?}");
    }
}

/// One application of each primitive on floats that has a result.
fn cases() -> Vec<(Primitive, Vec<HostTensor>)> {
    Primitive::cases()
        .into_iter()
        .filter(|case| matches!(case.expected, Expected::Results(_) | Expected::AsReference))
        .filter(|case| case.inputs.iter().any(|x| x.dtype().is_float()))
        .filter(|case| case.inputs.iter().all(|x| x.dtype().size().is_some()))
        .map(|case| (case.primitive, case.inputs))
        .collect()
}

#[test]
fn derivatives_of_a_graph_are_those_of_what_it_was_lifted_from() {
    let mut compared = std::collections::BTreeSet::new();
    for (primitive, inputs) in cases() {
        let arguments = placeholders(&inputs);
        let refs: Vec<&Value> = arguments.iter().collect();
        let outputs = Value::record_all(primitive.clone(), &refs, Place::Internal).unwrap();
        let graph = Cut::new(&arguments, &outputs).lift().unwrap().graph;
        let gradients = |call: &dyn Fn(&[Value]) -> Vec<Value>| {
            let trace = Trace::new();
            let marked: Vec<Value> = arguments.iter().map(|v| v.traced(&trace).unwrap()).collect();
            let outputs = call(&marked);
            let ones = |v: &Value| v.spec().dtype.is_float().then(|| v.filled_like(1.0).unwrap());
            vjp(&outputs, &marked, &outputs.iter().map(ones).collect::<Vec<_>>())
        };
        let recorded = gradients(&|x| {
            let refs: Vec<&Value> = x.iter().collect();
            Value::record_all(primitive.clone(), &refs, Place::Internal).unwrap().into_vec()
        });
        let replayed = gradients(&|x| graph.as_function().call(x).unwrap());
        let (Ok(expected), Ok(found)) = (&recorded, &replayed) else {
            assert_eq!(recorded.is_err(), replayed.is_err(), "{primitive:?}");
            continue;
        };
        let known = |slots: &[Option<Value>]| slots.iter().map(Option::is_some).collect::<Vec<_>>();
        assert_eq!(known(expected), known(found), "{primitive:?}");
        let all = |slots: &[Option<Value>]| slots.iter().flatten().cloned().collect::<Vec<_>>();
        // Data-sized gradients have no graph before their sizes are known.
        if matches!(primitive, Primitive::Narrow { .. }) {
            continue;
        }
        let found = tried(&arguments, &all(found), &inputs);
        let Ok(expected) = tried(&arguments, &all(expected), &inputs) else {
            assert!(found.is_err(), "{primitive:?}");
            continue;
        };
        same(&found.unwrap(), &expected, &format!("{primitive:?}"));
        compared.insert(primitive.name());
    }
    assert!(compared.len() > 35, "{compared:?}");
}

#[test]
fn batches_of_a_graph_are_those_of_what_it_was_lifted_from() {
    const SIZE: usize = 2;
    let mut compared = std::collections::BTreeSet::new();
    for (primitive, inputs) in cases() {
        let arguments = placeholders(&inputs);
        let refs: Vec<&Value> = arguments.iter().collect();
        let outputs = Value::record_all(primitive.clone(), &refs, Place::Internal).unwrap().into_vec();
        let graph = Cut::new(&arguments, &outputs).lift().unwrap().graph;
        let replayed = graph.as_function().call(&arguments).unwrap();
        let wide: Vec<HostTensor> = inputs
            .iter()
            .map(|x| {
                let bytes = [x.bytes(), x.bytes()].concat();
                let shape: Vec<usize> = [SIZE].iter().chain(x.shape().iter()).copied().collect();
                HostTensor::from_bytes(x.dtype(), &shape, &bytes).unwrap()
            })
            .collect();
        let further = placeholders(&wide);
        let batched: Vec<Batched> =
            further.iter().map(|v| Batched { value: v.clone(), axis: Some(0) }).collect();
        let values = |all: Vec<Batched>| all.into_iter().map(|b| b.value).collect::<Vec<_>>();
        let recorded = vmap(&outputs, &arguments, &batched, SIZE);
        let replayed = vmap(&replayed, &arguments, &batched, SIZE);
        let (Ok(expected), Ok(found)) = (recorded, replayed) else { continue };
        let axes = |all: &[Batched]| all.iter().map(|b| b.axis).collect::<Vec<_>>();
        assert_eq!(axes(&expected), axes(&found), "{primitive:?}");
        if matches!(primitive, Primitive::Narrow { .. }) {
            continue;
        }
        let expected = run(&further, &values(expected), &wide);
        same(&run(&further, &values(found), &wide), &expected, &format!("{primitive:?}"));
        compared.insert(primitive.name());
    }
    assert!(compared.len() > 35, "{compared:?}");
}

fn read(text: &str) -> TensorGraph {
    let graph: TensorGraph = text.parse().unwrap();
    verify::graph(&graph).unwrap();
    graph
}

/// The steps that hold states, with f64 where `wide`.
fn steps(wide: bool) -> Vec<TensorGraph> {
    [
        include_str!("graphs/attention_step.txt"),
        include_str!("graphs/delta_step.txt"),
        include_str!("graphs/growing_cache.txt"),
    ]
    .iter()
    .map(|text| read(&if wide { text.replace("f32[", "f64[") } else { (*text).to_owned() }))
    .collect()
}

fn samples(graph: &TensorGraph, position: i32) -> Vec<HostTensor> {
    let sample = |id: TensorId| match graph.tensor(id).role {
        Role::Parameter => HostTensor::scalar(position),
        _ => verify::sample(graph.tensor(id), u64::from(id.0) + 1).unwrap(),
    };
    graph.inputs.iter().map(|&id| sample(id)).collect()
}

fn states(graph: &TensorGraph) -> Vec<TensorId> {
    graph.inputs.iter().copied().filter(|&id| graph.tensor(id).role == Role::State).collect()
}

/// The graph as recorded values: its arguments, and its results and states.
fn replayed(graph: &TensorGraph) -> (Vec<Value>, Vec<Value>) {
    let arguments: Vec<Value> = graph.inputs.iter().map(|&id| Value::placeholder(graph.spec(id))).collect();
    let results = graph.as_function().call(&arguments).unwrap();
    (arguments, results)
}

#[test]
fn states_go_in_and_come_out_as_in_a_step() {
    for graph in steps(false) {
        let (after, _) = optimise_until(graph.clone(), &Options::default(), "dead").unwrap();
        for device in devices().unwrap() {
            for graph in [&graph, &after] {
                let (arguments, results) = replayed(graph);
                let mut inputs = samples(graph, 1);
                let mut step = Step::new(&device, graph.clone(), &inputs).unwrap();
                for position in 1..=3 {
                    for (&id, input) in graph.inputs.iter().zip(&mut inputs) {
                        match graph.tensor(id).role {
                            Role::Parameter => {
                                *input = HostTensor::scalar(position);
                                step.set(id, input).unwrap();
                            }
                            Role::Input => {
                                let seed = 100 * u64::from(id.0) + position as u64;
                                *input = verify::sample(graph.tensor(id), seed).unwrap();
                                step.set(id, input).unwrap();
                            }
                            _ => {}
                        }
                    }
                    step.run().unwrap();
                    let found = run(&arguments, &results, &inputs);
                    let outputs = graph.outputs.len();
                    let expected: Vec<HostTensor> = (0..outputs)
                        .map(|i| step.output(i).unwrap())
                        .chain(states(graph).into_iter().map(|id| step.input(id).unwrap()))
                        .collect();
                    same(&found, &expected, &format!("{} on {} at {position}", graph.name, device.name()));
                    for (id, state) in states(graph).into_iter().zip(&found[outputs..]) {
                        let at = graph.inputs.iter().position(|&i| i == id).unwrap();
                        inputs[at] = state.clone();
                    }
                }
            }
        }
    }
}

#[test]
fn steps_differentiate() {
    for graph in steps(true) {
        let (arguments, _) = replayed(&graph);
        let trace = Trace::new();
        let marked: Vec<Value> = arguments.iter().map(|v| v.traced(&trace).unwrap()).collect();
        let results = graph.as_function().call(&marked).unwrap();
        let ones: Vec<Option<Value>> = results.iter().map(|v| Some(v.filled_like(1.0).unwrap())).collect();
        let slots = vjp(&results, &marked, &ones).unwrap();
        let inputs = samples(&graph, 2);
        let sum = |inputs: &[HostTensor]| -> f64 {
            let (outputs, states) = reference::run_step(&graph, inputs).unwrap();
            outputs.iter().chain(&states).flat_map(|x| x.to_vec::<f64>().unwrap()).sum()
        };
        for (k, slot) in slots.iter().enumerate() {
            let Some(slot) = slot else { continue };
            let found = run(&arguments, std::slice::from_ref(slot), &inputs)[0].to_vec::<f64>().unwrap();
            let numbers = inputs[k].to_vec::<f64>().unwrap();
            for (i, slope) in found.iter().enumerate() {
                let moved = |by: f64| {
                    let (mut all, mut numbers) = (inputs.clone(), numbers.clone());
                    numbers[i] += by;
                    all[k] = HostTensor::from_slice(inputs[k].shape(), &numbers).unwrap();
                    sum(&all)
                };
                let expected = (moved(1e-5) - moved(-1e-5)) / 2e-5;
                assert!(
                    (slope - expected).abs() < 1e-6 * (1.0 + expected.abs()),
                    "{}: input {k}, item {i}: {slope}, differences give {expected}",
                    graph.name
                );
            }
        }
    }
}

#[test]
fn steps_batch() {
    for graph in steps(false) {
        let (arguments, results) = replayed(&graph);
        let all: Vec<Vec<HostTensor>> = (0..3)
            .map(|n| {
                let sample = |id: TensorId| match graph.tensor(id).role {
                    Role::Parameter => HostTensor::scalar(n + 1),
                    _ => verify::sample(graph.tensor(id), 10 * u64::from(id.0) + n as u64).unwrap(),
                };
                graph.inputs.iter().map(|&id| sample(id)).collect()
            })
            .collect();
        let wide: Vec<HostTensor> = (0..graph.inputs.len())
            .map(|k| {
                let bytes: Vec<u8> = all.iter().flat_map(|one| one[k].bytes().to_vec()).collect();
                let shape: Vec<usize> = [3].iter().chain(all[0][k].shape().iter()).copied().collect();
                HostTensor::from_bytes(all[0][k].dtype(), &shape, &bytes).unwrap()
            })
            .collect();
        let further = placeholders(&wide);
        let batched: Vec<Batched> =
            further.iter().map(|v| Batched { value: v.clone(), axis: Some(0) }).collect();
        let found = vmap(&results, &arguments, &batched, 3).unwrap();
        assert!(found.iter().all(|b| b.axis == Some(0)), "{}", graph.name);
        let values: Vec<Value> = found.into_iter().map(|b| b.value).collect();
        let found = run(&further, &values, &wide);
        for (n, one) in all.iter().enumerate() {
            let (mut expected, states) = reference::run_step(&graph, one).unwrap();
            expected.extend(states);
            let rows: Vec<HostTensor> = found
                .iter()
                .zip(&expected)
                .map(|(x, e)| {
                    let (bytes, size) = (x.bytes(), e.bytes().len());
                    HostTensor::from_bytes(e.dtype(), e.shape(), &bytes[n * size..(n + 1) * size]).unwrap()
                })
                .collect();
            same(&rows, &expected, &format!("{}, item {n}", graph.name));
        }
    }
}
