//! Planning: skeletons, donation, memory, bad input.

use oneir_cpu as _;
use oneir_ir::fast::{FastOp, Softmax};
use oneir_ir::graph::TensorGraph;
use oneir_ir::{BinaryOp, Cut, Place, Primitive, ReduceOp, Spec, Value, reference, verify};
use oneir_passes::{Options, optimise, replay};
use oneir_runtime::{Device, DeviceOptions, Evaluated, Given, Runtime, RuntimeError};
use oneir_tensor::{DType, HostTensor};
use oneir_testkit::{Random, devices, program};

fn record(primitive: Primitive, inputs: &[&Value]) -> Value {
    Value::record(primitive, inputs, Place::Internal).unwrap()
}

/// Keys joined with a past of `past` rows, and attention over them.
fn with_past(past: usize) -> TensorGraph {
    let f32 = |shape: &[usize]| Value::placeholder(Spec::new(DType::F32, shape));
    let (past_keys, keys, query) = (f32(&[past, 8]), f32(&[1, 8]), f32(&[1, 8]));
    let all = record(Primitive::Concatenate { axis: 0 }, &[&past_keys, &keys]);
    let scores = query.matmul(&all.transpose(&[1, 0]).unwrap()).unwrap();
    let scaled = scores.multiply(&scores.filled_like(0.35).unwrap()).unwrap();
    let weights = record(Primitive::Fast(FastOp::from(Softmax { axis: 1 })), &[&scaled]);
    let out = weights.matmul(&all).unwrap().add(&query).unwrap();
    Cut::new(&[past_keys, keys, query], &[out, all]).lift().unwrap().graph
}

#[test]
fn a_growing_past_makes_few_skeletons() {
    let device = Runtime::global().device("cpu").unwrap();
    let device = device.with_options("growing", device.options());
    for past in 0..=512 {
        let graph = with_past(past);
        let inputs: Vec<HostTensor> = graph
            .inputs
            .iter()
            .map(|&id| verify::sample(graph.tensor(id), u64::from(id.0) + 1).unwrap())
            .collect();
        let given: Vec<Evaluated> = inputs.iter().map(|x| device.put(x).unwrap()).collect();
        let found = device.run(&graph, &given).unwrap();
        if past % 37 < 3 {
            let expected = reference::run(&graph, &inputs).unwrap();
            let tolerance = verify::Tolerance { absolute: 1e-5, relative: 1e-4 };
            for (e, f) in expected.iter().zip(&found) {
                assert_eq!(tolerance.first_difference(e, &f.to_host().unwrap()), None, "past {past}");
            }
        }
    }
    let counts = device.cache_counts();
    assert!(counts.skeletons <= 4, "{counts:?}");
    assert_eq!(counts.misses + counts.skeleton_hits, 513, "{counts:?}");
}

#[test]
fn recipes_replay_on_other_sizes_or_refuse() {
    // The same random program over other sizes: a replay gives a right graph,
    // or says that it does not hold.
    let sized = |n: usize| {
        let x = Value::placeholder(Spec::new(DType::F32, [n, 3]));
        let flat = x.reshape(&[n * 3]).unwrap();
        let y = x.reduce(ReduceOp::Sum, &[1]).unwrap().broadcast(&[n, 3]).unwrap();
        let z = x.binary(BinaryOp::Add, &y).unwrap().reshape(&[3 * n]).unwrap();
        let w = z.add(&flat).unwrap().broadcast(&[1, 3 * n]).unwrap();
        Cut::new(&[x], &[w]).lift().unwrap().graph
    };
    let (_, recipe) = optimise(sized(4), &Options::default()).unwrap();
    let mut replayed = 0;
    for n in [0, 1, 2, 3, 5, 64] {
        let lifted = sized(n);
        let graph = match replay(&lifted, &recipe).unwrap() {
            Some(graph) => {
                replayed += 1;
                graph
            }
            None => optimise(lifted.clone(), &Options::default()).unwrap().0,
        };
        verify::graph(&graph).unwrap();
        verify::numeric(&lifted, &graph, n as u64).unwrap();
    }
    assert!(replayed >= 4, "only {replayed} sizes replayed");
}

#[test]
fn memory_that_no_one_else_sees_is_taken_over() {
    let device = Runtime::global().device("cpu").unwrap();
    let device = device.with_options("donating", DeviceOptions { paranoid: true, ..device.options() });
    let host = HostTensor::from_slice(&[4, 2], &[1f32; 8]).unwrap();
    let row = device.put(&HostTensor::from_slice(&[1, 2], &[5f32, 6.0]).unwrap()).unwrap().into_value();
    let update = Primitive::SliceUpdate { start: vec![2, 0], step: vec![1, 1], len: vec![1, 2] };

    // The cache is held by the update alone.
    let cache = device.put_writable(&host).unwrap();
    let memory = std::sync::Arc::downgrade(&cache.memory);
    let next = record(update.clone(), &[&cache.into_value(), &row]);
    device.evaluate(std::slice::from_ref(&next)).unwrap();
    let found = Evaluated::of(&next).unwrap();
    assert!(std::ptr::addr_eq(std::sync::Arc::as_ptr(&found.memory), memory.as_ptr()), "no byte was copied");
    let expected = [1f32, 1.0, 1.0, 1.0, 5.0, 6.0, 1.0, 1.0];
    assert_eq!(found.to_host().unwrap().to_vec::<f32>().unwrap(), expected);

    // A cache that someone else holds stays as it is.
    let kept = device.put_writable(&host).unwrap().into_value();
    let next = record(update, &[&kept, &row]);
    device.evaluate(std::slice::from_ref(&next)).unwrap();
    assert_eq!(Evaluated::of(&next).unwrap().to_host().unwrap().to_vec::<f32>().unwrap(), expected);
    assert_eq!(Evaluated::of(&kept).unwrap().to_host().unwrap().to_vec::<f32>().unwrap(), [1f32; 8]);
}

#[test]
fn dead_buffers_are_used_again() {
    let device = Runtime::global().device("cpu-unfused").unwrap();
    let x = Value::placeholder(Spec::new(DType::F32, [1024]));
    let mut y = x.clone();
    for _ in 0..50 {
        y = y.add(&x).unwrap().multiply(&y).unwrap();
    }
    let graph = Cut::new(&[x], &[y]).lift().unwrap().graph;
    let executable = device.executable(&graph, vec![Given::rows(&[1024])]).unwrap();
    assert!(executable.plan().arena <= 4 * 4096, "{} bytes", executable.plan().arena);
}

#[test]
fn constants_are_computed_once() {
    let device = Runtime::global().device("cpu").unwrap();
    let table = Value::constant(HostTensor::from_slice(&[64, 64], &[0.5f32; 4096]).unwrap());
    let prepared = table.add(&table).unwrap().multiply(&table).unwrap();
    let x = Value::placeholder(Spec::new(DType::F32, [1, 64]));
    let y = x.matmul(&prepared).unwrap();
    let graph = Cut::new(&[x], &[y]).lift().unwrap().graph;
    let executable = device.executable(&graph, vec![Given::rows(&[1, 64])]).unwrap();
    let plan = executable.plan();
    assert_eq!((plan.prologue.len(), plan.launches.len()), (1, 1), "the table is prepared once");
}

/// A function of one argument that captured a computed value.
fn capturing(device: &Device, captured: &HostTensor, f: impl Fn(&Value, &Value) -> Value) -> Vec<f32> {
    let held = device.put(captured).unwrap().into_value();
    let x = Value::placeholder(Spec::new(DType::F32, [2]));
    let lifted = Cut::new(std::slice::from_ref(&x), &[f(&x, &held)]).lift().unwrap();
    let mut inputs = vec![device.put(&HostTensor::from_slice(&[2], &[0f32, 0.0]).unwrap()).unwrap()];
    inputs.extend(lifted.leaves.iter().map(|leaf| Evaluated::of(leaf).unwrap().clone()));
    device.run(&lifted.graph, &inputs).unwrap()[0].to_host().unwrap().to_vec().unwrap()
}

#[test]
fn functions_of_one_form_keep_their_own_constants() {
    for device in devices().unwrap() {
        let sum = |x: &Value, w: &Value| {
            let total = w.unary(oneir_ir::UnaryOp::Exp).unwrap().reduce(ReduceOp::Sum, &[0]).unwrap();
            x.add(&total.broadcast(&[2]).unwrap()).unwrap()
        };
        for (captured, expected) in
            [([0f32, 0.0], 2.0), ([1.0, 1.0], 2.0 * std::f32::consts::E), ([0.0, 0.0], 2.0)]
        {
            let found = capturing(&device, &HostTensor::from_slice(&[2], &captured).unwrap(), sum);
            assert!(found.iter().all(|x| (x - expected).abs() < 1e-5), "{}: {found:?}", device.name());
        }
    }
}

#[test]
fn copies_of_bound_constants_are_made_once() {
    for device in devices().unwrap() {
        let table = HostTensor::from_slice(&[2, 2], &[0f32, 1.0, 2.0, 3.0]).unwrap();
        let found = capturing(&device, &table, |x, w| {
            let turned = w.transpose(&[1, 0]).unwrap();
            let soft = record(Primitive::Fast(FastOp::from(Softmax { axis: 1 })), &[&turned]);
            x.add(&soft.reduce(ReduceOp::Max, &[1]).unwrap().reshape(&[2]).unwrap()).unwrap()
        });
        let top = 1.0 / (1.0 + (-2f32).exp());
        assert!(found.iter().all(|x| (x - top).abs() < 1e-6), "{}: {found:?}", device.name());
    }
}

#[test]
fn a_kernel_without_a_source_here_is_refused_when_planned() {
    use oneir_ir::graph::Fill;
    use oneir_ir::primitive::{HostFunction, KernelCall};
    let call = KernelCall {
        name: "elsewhere".into(),
        inputs: vec!["x".into()],
        outputs: vec!["y".into()],
        shapes: vec![vec![2]],
        dtypes: vec![DType::F32],
        template: vec![],
        grid: vec![1, 1, 1],
        threadgroup: vec![1, 1, 1],
        init: Fill::Unfilled,
        cuda: "__global__ void elsewhere() {}".into(),
        cpu: HostFunction::none(),
    };
    let x = Value::constant(HostTensor::from_slice(&[2], &[1f32, 2.0]).unwrap());
    let kernel = Primitive::Kernel(Box::new(call));
    let place = Place::Named("node `elsewhere`".into());
    let y = Value::record(kernel, &[&x], place).unwrap();
    for device in devices().unwrap() {
        let error = device.evaluate(std::slice::from_ref(&y)).unwrap_err();
        assert!(matches!(error, RuntimeError::Unsupported { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("`kernel elsewhere` on (f32[2]), written at node `elsewhere`"), "{text}");
    }
}

#[test]
fn wrong_inputs_are_refused_by_name() {
    for device in devices().unwrap() {
        let x = Value::placeholder(Spec::new(DType::F32, [2]));
        let y = x.add(&x).unwrap();
        let graph = Cut::new(&[x], &[y]).lift().unwrap().graph;
        let wrong = device.put(&HostTensor::from_slice(&[3], &[1f32; 3]).unwrap()).unwrap();
        let error = device.run(&graph, &[wrong]).unwrap_err().to_string();
        assert_eq!(error, "input 0 must be f32[2], found f32[3]", "{}", device.name());
        let error = device.run(&graph, &[]).unwrap_err().to_string();
        assert_eq!(error, "the inputs must be 1 values, found 0", "{}", device.name());
    }
    let error = Runtime::global().device("abacus").unwrap_err();
    assert!(matches!(error, RuntimeError::UnknownDevice { .. }));
    assert!(error.to_string().contains("cpu-reference"), "{error}");
}

/// Texts that are not graphs are refused; none makes the parser panic, hang or
/// take memory that the text does not justify.
#[test]
fn hostile_texts_are_refused() {
    let text = lift_text();
    for end in (0..text.len()).filter(|&i| text.is_char_boundary(i)) {
        _ = text[..end].parse::<TensorGraph>();
    }
    let mut random = Random::new(1);
    let letters: Vec<char> = "0123456789 %[](){}=,.-\"abcdefghijklmnopqrstuvwxyz\n".chars().collect();
    for _ in 0..3000 {
        let mut broken: Vec<char> = text.chars().collect();
        for _ in 0..1 + random.below(3) {
            let at = random.below(broken.len());
            broken[at] = *random.of(&letters);
        }
        let broken: String = broken.into_iter().collect();
        if let Ok(graph) = broken.parse::<TensorGraph>() {
            _ = verify::graph(&graph);
        }
    }
    let deep = "fused region".repeat(5000);
    assert!(deep.parse::<TensorGraph>().is_err());
    let bodies =
        "graph \"\" { %0 = input f32[] inputs (%0) outputs (%0) %0 = while_loop(condition = ".repeat(500);
    assert!(bodies.parse::<TensorGraph>().is_err());
    let huge = "graph \"\" { %0 = activation f32[18446744073709551615, 2] inputs () outputs () }";
    assert!(huge.parse::<TensorGraph>().is_err());
}

fn lift_text() -> String {
    let (inputs, outputs) = program(3, 16).unwrap();
    let lifted = Cut::new(&inputs, &outputs).lift().unwrap().graph;
    optimise(lifted.clone(), &Options::default()).unwrap().0.to_string()
}

#[test]
fn a_million_nodes_need_no_recursion() {
    let ops = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };
    let device: Device = Runtime::global().device("cpu").unwrap();
    let x = device.put(&HostTensor::from_slice(&[2], &[0f32, 1.0]).unwrap()).unwrap().into_value();
    let one = device.put(&HostTensor::from_slice(&[2], &[1f32, 0.5]).unwrap()).unwrap().into_value();
    let mut y = x.clone();
    for i in 0..ops {
        y = if i % 2 == 0 { y.add(&one).unwrap() } else { y.binary(BinaryOp::Minimum, &one).unwrap() };
    }
    let unevaluated = y.add(&one).unwrap();
    std::thread::Builder::new()
        .stack_size(256 << 10)
        .spawn(move || {
            device.evaluate(std::slice::from_ref(&y)).unwrap();
            assert_eq!(Evaluated::of(&y).unwrap().to_host().unwrap().to_vec::<f32>().unwrap(), [1.0, 0.5]);
            drop((y, unevaluated));
        })
        .unwrap()
        .join()
        .unwrap();
    // Dropped without ever being evaluated.
    let mut y = x;
    for _ in 0..ops {
        y = y.add(&one).unwrap();
    }
    std::thread::Builder::new().stack_size(256 << 10).spawn(move || drop(y)).unwrap().join().unwrap();
}
