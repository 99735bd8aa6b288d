//! Ways to break what caches, fuses and takes memory over, each of which once
//! did: other sizes, other constants, other threads, near misses.

use oneir_cpu as _;
use oneir_ir::fast::{FastOp, Softmax};
use oneir_ir::graph::TensorGraph;
use oneir_ir::{BinaryOp, Cut, Place, Primitive, ReduceOp, Spec, UnaryOp, Value, reference, verify};
use oneir_runtime::{Device, Evaluated, Runtime};
use oneir_tensor::{DType, HostTensor};
use oneir_testkit::{Random, devices};

fn record(primitive: Primitive, inputs: &[&Value]) -> Value {
    Value::record(primitive, inputs, Place::Internal).unwrap()
}
type Change = Box<dyn Fn(&Value) -> Value>;

fn dev() -> Device {
    let d = Runtime::global().device("cpu").unwrap();
    d.with_options("b", d.options())
}
fn run_both(device: &Device, g: &TensorGraph, seed: u64) -> Result<(), String> {
    let inputs: Vec<HostTensor> = g
        .inputs
        .iter()
        .enumerate()
        .map(|(i, &id)| verify::sample(g.tensor(id), seed + i as u64 + 1).unwrap())
        .collect();
    let expected = reference::run(g, &inputs).map_err(|e| e.to_string());
    let given: Vec<Evaluated> = inputs.iter().map(|x| device.put(x).unwrap()).collect();
    let found = device.run(g, &given).map_err(|e| e.to_string());
    match (expected, found) {
        (Ok(e), Ok(f)) => {
            for (k, (e, f)) in e.iter().zip(&f).enumerate() {
                let f = f.to_host().map_err(|e| e.to_string())?;
                if e.shape() != f.shape() || e.dtype() != f.dtype() {
                    return Err(format!("out {k}: {e:?} vs {f:?}"));
                }
                let t = verify::Tolerance::of(e.dtype());
                let t = verify::Tolerance { absolute: 4.0 * t.absolute, relative: 4.0 * t.relative };
                if let Some(at) = t.first_difference(e, &f) {
                    return Err(format!("out {k} at {at}: expected {e:?} found {f:?}"));
                }
            }
            Ok(())
        }
        (Err(_), Err(_)) => Ok(()),
        (e, f) => Err(format!("ref {:?} dev {:?}", e.map(|_| "ok"), f.map(|_| "ok"))),
    }
}

#[test]
fn a_whole_read_may_become_a_view_on_other_sizes() {
    let device = dev();
    let g = |n: usize| {
        let x = Value::placeholder(Spec::new(DType::F32, [n, n]));
        let y = x.unary(UnaryOp::Tanh).unwrap();
        let z = y.add(&y.transpose(&[1, 0]).unwrap()).unwrap();
        Cut::new(&[x], &[z]).lift().unwrap().graph
    };
    for n in [1, 3, 2, 0] {
        if let Err(e) = run_both(&device, &g(n), 5) {
            panic!("n={n}: {e}");
        }
    }
}

#[test]
fn a_softmax_over_the_wrong_axis_is_none() {
    let device = dev();
    let g = |n: usize| {
        let x = Value::placeholder(Spec::new(DType::F32, [n, n]));
        let turn = |v: Value| v.transpose(&[1, 0]).unwrap().broadcast(&[n, n]).unwrap();
        let m = x.reduce(ReduceOp::Max, &[1]).unwrap();
        let e = x.subtract(&turn(m)).unwrap().unary(UnaryOp::Exp).unwrap();
        let s = e.reduce(ReduceOp::Sum, &[1]).unwrap();
        let z = e.divide(&turn(s)).unwrap();
        Cut::new(&[x], &[z]).lift().unwrap().graph
    };
    for n in [1, 3, 2, 0] {
        if let Err(e) = run_both(&device, &g(n), 5) {
            panic!("n={n}: {e}");
        }
    }
}

#[test]
fn constants_in_one_memory_keep_their_own_numbers() {
    let device = dev();
    let mut data = vec![0f32; 128];
    data[100] = 5.0;
    let all = HostTensor::from_slice(&[128], &data).unwrap();
    let g = |n: usize| {
        let c = Value::constant(all.slice(&[0], &[1], &[n]).unwrap());
        let x = Value::placeholder(Spec::new(DType::F32, [1]));
        let z = x.add(&c.reduce(ReduceOp::Sum, &[0]).unwrap()).unwrap();
        Cut::new(&[x], &[z]).lift().unwrap().graph
    };
    for n in [64, 128] {
        if let Err(e) = run_both(&device, &g(n), 5) {
            panic!("n={n}: {e}");
        }
    }
}

#[test]
fn memory_is_taken_over_by_one_evaluation_only() {
    let device = dev();
    let n = 1 << 20;
    for round in 0..200 {
        let x =
            device.put_writable(&HostTensor::from_slice(&[n], &vec![1f32; n]).unwrap()).unwrap().into_value();
        let y = x.add(&x).unwrap().add(&x).unwrap(); // 3
        let w1 = y.unary(UnaryOp::Neg).unwrap();
        let w2 = y.unary(UnaryOp::Square).unwrap();
        drop(x);
        let barrier = std::sync::Barrier::new(2);
        std::thread::scope(|s| {
            s.spawn(|| {
                barrier.wait();
                device.evaluate(std::slice::from_ref(&w1)).unwrap();
            });
            s.spawn(|| {
                barrier.wait();
                device.evaluate(std::slice::from_ref(&w2)).unwrap();
            });
        });
        let v1 = Evaluated::of(&w1).unwrap().to_host().unwrap().to_vec::<f32>().unwrap();
        let v2 = Evaluated::of(&w2).unwrap().to_host().unwrap().to_vec::<f32>().unwrap();
        if let Some(i) = v1.iter().position(|&v| v != -3.0) {
            panic!("round {round}: w1[{i}] = {}", v1[i]);
        }
        if let Some(i) = v2.iter().position(|&v| v != 9.0) {
            panic!("round {round}: w2[{i}] = {}", v2[i]);
        }
    }
}

#[test]
fn views_follow_a_size_that_is_data() {
    let device = dev();
    let f: Vec<(&str, Change)> = vec![
        ("transpose", Box::new(|v: &Value| v.transpose(&[1, 0]).unwrap())),
        (
            "transpose+1",
            Box::new(|v: &Value| {
                let t = v.transpose(&[1, 0]).unwrap();
                t.add(&t.filled_like(1.0).unwrap()).unwrap()
            }),
        ),
        ("square", Box::new(|v: &Value| v.add(v).unwrap())),
        ("tmm", Box::new(|v: &Value| v.transpose(&[1, 0]).unwrap().matmul(v).unwrap())),
        ("sum", Box::new(|v: &Value| v.reduce(ReduceOp::Sum, &[0]).unwrap())),
        ("softmax", Box::new(|v: &Value| record(Primitive::Fast(FastOp::from(Softmax { axis: 1 })), &[v]))),
        (
            "expand",
            Box::new(|v: &Value| {
                let t = record(Primitive::ExpandDims(vec![0]), &[v]);
                t.unary(UnaryOp::Exp).unwrap()
            }),
        ),
        ("concat", Box::new(|v: &Value| record(Primitive::Concatenate { axis: 0 }, &[v, v]))),
        (
            "slice",
            Box::new(|v: &Value| {
                record(Primitive::Slice { start: vec![0, 0], step: vec![1, 1], len: vec![1, 2] }, &[v])
                    .unary(UnaryOp::Neg)
                    .unwrap()
            }),
        ),
        (
            "sumbro",
            Box::new(|v: &Value| {
                v.reduce(ReduceOp::Sum, &[0])
                    .unwrap()
                    .broadcast(&[8, 3])
                    .unwrap()
                    .unary(UnaryOp::Neg)
                    .unwrap()
            }),
        ),
        ("id", Box::new(|v: &Value| v.clone())),
        (
            "slicecols",
            Box::new(|v: &Value| {
                record(Primitive::Slice { start: vec![0, 1], step: vec![1, 1], len: vec![8, 2] }, &[v])
                    .unary(UnaryOp::Neg)
                    .unwrap()
            }),
        ),
        (
            "mul0",
            Box::new(|v: &Value| {
                v.multiply(&v.filled_like(1.0).unwrap()).unwrap().add(&v.filled_like(0.0).unwrap()).unwrap()
            }),
        ),
        ("reshape", Box::new(|v: &Value| v.reshape(&[24]).unwrap().unary(UnaryOp::Neg).unwrap())),
    ];
    let mut bad = vec![];
    for (name, f) in &f {
        for count in [0i32, 1, 2, 7, 8, 9, -1] {
            let x = Value::placeholder(Spec::new(DType::F32, [8, 3]));
            let c = Value::placeholder(Spec::new(DType::I32, [0usize; 0]));
            let nrw = record(Primitive::Narrow { axis: 0 }, &[&x, &c]);
            let z = f(&nrw);
            let g = Cut::new(&[x, c], &[z]).lift().unwrap().graph;
            let xs = verify::sample(g.tensor(g.inputs[0]), 4).unwrap();
            let cs = HostTensor::scalar(count);
            let e = reference::run(&g, &[xs.clone(), cs.clone()]);
            let given = [device.put(&xs).unwrap(), device.put(&cs).unwrap()];
            let r = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                device.run(&g, &given).and_then(|v| v[0].to_host())
            }));
            let r = match r {
                Ok(r) => r,
                Err(_) => {
                    bad.push(format!("{name} {count}: PANIC"));
                    continue;
                }
            };
            match (e, r) {
                (Ok(e), Ok(r)) => {
                    let t = verify::Tolerance::of(DType::F32);
                    if e[0].shape() != r.shape() || t.first_difference(&e[0], &r).is_some() {
                        bad.push(format!("{name} {count}: {:?} vs {r:?}", e[0]));
                    }
                }
                (Err(_), Err(_)) => {}
                (e, r) => bad.push(format!(
                    "{name} {count}: ref {:?} dev {:?}",
                    e.map(|_| ()).map_err(|e| e.to_string()),
                    r.map(|_| ()).map_err(|e| e.to_string())
                )),
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn a_new_constant_at_an_old_address_is_a_new_one() {
    let device = dev();
    let x =
        |n: usize| device.put(&HostTensor::from_slice(&[n], &vec![10f32; n]).unwrap()).unwrap().into_value();
    let mut seen = std::collections::HashMap::new();
    for round in 0..3000usize {
        // Each array's sum is 1 in the first rounds, later 2.
        let want = if round < 600 { 1.0f32 } else { 2.0 };
        let mut data = vec![0f32; 64];
        data[0] = want;
        let c = HostTensor::from_slice(&[64], &data).unwrap();
        *seen.entry(c.buffer().bytes().as_ptr() as usize).or_insert(0) += 1;
        for k in 0..3 {
            let n = 10_000 + 3 * round + k;
            let x = x(n);
            let y = x.add(&x).unwrap();
            device.evaluate(std::slice::from_ref(&y)).unwrap();
        }
        let n = 2 + round;
        let s = Value::constant(c).reduce(ReduceOp::Sum, &[0]).unwrap().broadcast(&[n]).unwrap();
        let z = x(n).multiply(&s).unwrap();
        device.evaluate(std::slice::from_ref(&z)).unwrap();
        let v = Evaluated::of(&z).unwrap().to_host().unwrap().to_vec::<f32>().unwrap();
        assert_eq!(v[0], 10.0 * want, "round {round} {:?}", device.cache_counts());
    }
    eprintln!("addresses {} {:?}", seen.len(), device.cache_counts());
}

#[test]
fn negative_zero_stays() {
    let device = dev();
    let x = Value::placeholder(Spec::new(DType::F32, [2]));
    let z = x.add(&x.filled_like(0.0).unwrap()).unwrap().unary(UnaryOp::Reciprocal).unwrap();
    let g = Cut::new(&[x], &[z]).lift().unwrap().graph;
    let xs = HostTensor::from_slice(&[2], &[-0.0f32, 0.0]).unwrap();
    let e = reference::run(&g, std::slice::from_ref(&xs)).unwrap()[0].to_vec::<f32>().unwrap();
    let f =
        device.run(&g, &[device.put(&xs).unwrap()]).unwrap()[0].to_host().unwrap().to_vec::<f32>().unwrap();
    assert_eq!(e, f);
}

/// Random programs built over sizes; all on one cached device, in size order that provokes replay.
fn sized_program(seed: u64, a: usize, b: usize) -> Option<TensorGraph> {
    let mut r = Random::new(seed + 1);
    let dts = [DType::F32];
    let dt = dts[0];
    let shapes: [Vec<usize>; 5] = [vec![a, b], vec![b, a], vec![a, a], vec![b], vec![a, 1, b]];
    let inputs: Vec<Value> = shapes.iter().map(|s| Value::placeholder(Spec::new(dt, s.clone()))).collect();
    let sym: Vec<Vec<u8>> = vec![vec![0, 1], vec![1, 0], vec![0, 0], vec![1], vec![0, 2, 1]];
    // symbolic dims: 0 = a, 1 = b, 2 = one
    let mut vals: Vec<(Value, Vec<u8>)> = inputs.iter().cloned().zip(sym).collect();
    let size = |d: u8| match d {
        0 => a,
        1 => b,
        _ => 1,
    };
    for _ in 0..14 {
        let (x, d) = r.of(&vals).clone();
        let k = r.below(11);
        let rank = d.len();
        let pick = r.bits() as usize;
        let next: Option<(Value, Vec<u8>)> = match k {
            0 | 1 => x
                .unary(
                    [UnaryOp::Tanh, UnaryOp::Neg, UnaryOp::Sigmoid, UnaryOp::Exp, UnaryOp::Square][pick % 5],
                )
                .ok()
                .map(|v| (v, d.clone())),
            2..=4 => {
                let same: Vec<_> = vals.iter().filter(|v| v.1 == d).collect();
                let o = same[pick % same.len()].0.clone();
                x.binary(
                    [BinaryOp::Add, BinaryOp::Subtract, BinaryOp::Multiply, BinaryOp::Maximum]
                        [(pick / 64) % 4],
                    &o,
                )
                .ok()
                .map(|v| (v, d.clone()))
            }
            5 if rank > 1 => {
                let mut axes: Vec<usize> = (0..rank).collect();
                axes.swap(pick % rank, (pick / 8) % rank);
                let nd = axes.iter().map(|&i| d[i]).collect();
                Some((x.transpose(&axes).ok()?, nd))
            }
            6 if rank > 0 => {
                let ax = pick % rank;
                if size(d[ax]) == 0 {
                    return None;
                }
                let red = x.reduce([ReduceOp::Sum, ReduceOp::Max][(pick / 8) % 2], &[ax]).ok()?;
                let mut nd = d.clone();
                nd[ax] = 2;
                Some((red, nd))
            }
            7 => {
                // broadcast ones
                let mut nd = d.clone();
                for e in &mut nd {
                    if *e == 2 {
                        *e = (pick % 2) as u8;
                        break;
                    }
                }
                let shape: Vec<usize> = nd.iter().map(|&e| size(e)).collect();
                Some((x.broadcast(&shape).ok()?, nd))
            }
            8 if rank > 0 => {
                let ax = pick % rank;
                let n = size(d[ax]);
                if n == 0 {
                    return None;
                }
                let mut start = vec![0; rank];
                let mut step = vec![1isize; rank];
                start[ax] = n - 1;
                step[ax] = -1;
                let len = x.spec().shape.to_vec();
                Some((record(Primitive::Slice { start, step, len }, &[&x]), d.clone()))
            }
            9 if rank > 0 => {
                Some((record(Primitive::Fast(FastOp::from(Softmax { axis: pick % rank })), &[&x]), d.clone()))
            }
            10 if rank == 2 => {
                let fits: Vec<_> = vals.iter().filter(|v| v.1.len() == 2 && v.1[0] == d[1]).collect();
                if fits.is_empty() {
                    None
                } else {
                    let o = fits[pick % fits.len()].clone();
                    Some((x.matmul(&o.0).ok()?, vec![d[0], o.1[1]]))
                }
            }
            _ => None,
        };
        if let Some(n) = next {
            vals.push(n);
        }
    }
    let made = vals.len() - inputs.len();
    if made == 0 {
        return None;
    }
    let mut outs = vec![vals.last().unwrap().0.clone()];
    for _ in 0..r.below(3) {
        outs.push(vals[inputs.len() + r.below(made)].0.clone());
    }
    Cut::new(&inputs, &outs).lift().ok().map(|l| l.graph)
}

#[test]
fn random_programs_replay_on_other_sizes() {
    let mut bad = 0;
    for seed in 0..if cfg!(debug_assertions) { 150 } else { 1500 } {
        let device = dev();
        let mut sizes = vec![(2, 3), (3, 3), (1, 1), (1, 3), (3, 1), (4, 5), (0, 3), (3, 0), (0, 0), (2, 2)];
        let mut r = Random::new(seed + 77);
        for i in (1..sizes.len()).rev() {
            let j = r.below(i + 1);
            sizes.swap(i, j);
        }
        for (k, &(a, b)) in sizes.iter().enumerate() {
            let Some(g) = sized_program(seed, a, b) else { continue };
            let res = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run_both(&device, &g, seed)));
            let res = match res {
                Ok(r) => r,
                Err(_) => Err("PANIC".into()),
            };
            if let Err(e) = res {
                let fresh = run_both(&dev(), &g, seed);
                bad += 1;
                if bad <= 6 {
                    eprintln!(
                        "seed {seed} sizes {:?} (fresh plan: {:?}): {}\n{g}",
                        &sizes[..=k],
                        fresh.map_err(|e| e.chars().take(200).collect::<String>()),
                        e.chars().take(300).collect::<String>()
                    );
                }
                break;
            }
        }
    }
    assert_eq!(bad, 0);
}

#[test]
fn a_product_is_no_bias_of_itself() {
    let mut bad = vec![];
    for (m, k, n) in [(3, 1, 3), (3, 2, 3), (1, 3, 1), (2, 3, 1), (1, 3, 3), (3, 3, 3), (1, 1, 1)] {
        let f32 = |s: [usize; 2]| Value::placeholder(Spec::new(DType::F32, s));
        for act in 0..3 {
            let (a, b) = (f32([m, k]), f32([k, n]));
            let y = a.matmul(&b).unwrap();
            let z = y.add(&y).unwrap();
            let z = match act {
                0 => z,
                1 => z.unary(UnaryOp::Tanh).unwrap(),
                _ => z.multiply(&z.unary(UnaryOp::Sigmoid).unwrap()).unwrap(),
            };
            let g = Cut::new(&[a, b], &[z]).lift().unwrap().graph;
            if let Err(e) = run_both(&dev(), &g, 3) {
                bad.push(format!("{m} {k} {n} act {act}: {e}"));
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn views_of_states_see_what_was_there() {
    let mut bad = vec![];
    let cases = [
        // A view op of a state, read after the state is written.
        (
            "view_of",
            r#"graph "g" {
  %0 = state f32[2, 1]
  %1 = input f32[1]
  %2 = activation f32[2, 1]
  %3 = activation f32[2, 1]
  inputs (%0, %1)
  outputs (%3)
  %2 = view_of (%0)
  %0 rows {pitch 1, row 1} = unary(op = neg) (%1)
  %3 = unary(op = abs) (%2)
}"#,
        ),
        (
            "prim view",
            r#"graph "g" {
  %0 = state f32[2, 1]
  %1 = input f32[1]
  %2 = activation f32[1, 2]
  %3 = activation f32[1, 2]
  inputs (%0, %1)
  outputs (%3, %0)
  %2 = transpose(axes = [1, 0]) (%0)
  %0 rows {pitch 1, row 1} = unary(op = neg) (%1)
  %3 = unary(op = abs) (%2)
}"#,
        ),
    ];
    for (name, text) in cases {
        let g: TensorGraph = match text.parse() {
            Ok(g) => g,
            Err(e) => {
                bad.push(format!("{name} parse: {e}"));
                continue;
            }
        };
        if let Err(e) = verify::graph(&g) {
            bad.push(format!("{name} verify: {e}"));
        }
        for d in devices().unwrap() {
            let inputs: Vec<HostTensor> = g
                .inputs
                .iter()
                .enumerate()
                .map(|(i, &id)| verify::sample(g.tensor(id), 9 + i as u64).unwrap())
                .collect();
            let e = reference::run(&g, &inputs).map_err(|e| e.to_string());
            let given: Vec<Evaluated> = inputs.iter().map(|x| d.put_writable(x).unwrap()).collect();
            let f = d.run(&g, &given).and_then(|v| v[0].to_host()).map_err(|e| e.to_string());
            match (e, f) {
                (Ok(e), Ok(f)) => {
                    if verify::Tolerance::of(DType::F32).first_difference(&e[0], &f).is_some() {
                        bad.push(format!("{name} {}: {:?} vs {f:?}", d.name(), e[0]));
                    }
                }
                (e, f) => bad.push(format!("{name} {}: {e:?} {f:?}", d.name())),
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn control_flow_nests() {
    use oneir_ir::graph::Body;
    let f32 = |s: &[usize]| Spec::new(DType::F32, s);
    let body = |specs: &[Spec], f: &dyn Fn(&[Value]) -> Vec<Value>| {
        let i: Vec<Value> = specs.iter().cloned().map(Value::placeholder).collect();
        Body::new(Cut::new(&i, &f(&i)).lift().unwrap().graph)
    };
    let mut bad = vec![];
    for n in [0usize, 1, 3] {
        for limit in [0.0, 2.5, -1.0] {
            for reverse in [false, true] {
                // scan whose body holds a while.
                let cond = body(&[f32(&[2])], &|v| {
                    let s = v[0].reduce(ReduceOp::Sum, &[0]).unwrap().reshape(&[]).unwrap();
                    vec![s.binary(BinaryOp::Less, &s.filled_like(limit).unwrap()).unwrap()]
                });
                let wb = body(&[f32(&[2])], &|v| vec![v[0].add(&v[0].filled_like(0.7).unwrap()).unwrap()]);
                let sb = body(&[f32(&[2]), f32(&[2]), f32(&[2])], &|v| {
                    let a = v[0].add(&v[1]).unwrap().multiply(&v[2]).unwrap();
                    let w = record(
                        Primitive::While { condition: cond.clone(), body: wb.clone(), carried: 1 },
                        &[&a],
                    );
                    vec![w.clone(), w.unary(UnaryOp::Neg).unwrap(), v[2].clone(), v[0].clone()]
                });
                let x = Value::placeholder(f32(&[n, 2]));
                let c = Value::placeholder(f32(&[2]));
                let all = Value::record_all(
                    Primitive::ScanOver { body: sb, carried: 1, scanned: 1, reverse },
                    &[&c, &x, &c],
                    Place::Internal,
                )
                .unwrap();
                let mut outs: Vec<Value> = all.to_vec();
                outs.push(all[1].transpose(&[1, 0]).unwrap());
                outs.push(all[0].add(&c).unwrap());
                outs.push(c.clone());
                let g = Cut::new(&[x, c], &outs).lift().unwrap().graph;
                for d in devices().unwrap() {
                    if let Err(e) = run_both(&d, &g, 2) {
                        bad.push(format!("{} n={n} limit={limit} rev={reverse}: {e}", d.name()));
                    }
                }
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// All unary and binary functions in pairs (regions), special values, all dtypes.
#[test]
fn what_is_a_softmax_for_one_row_is_none_for_three() {
    let device = dev();
    let g = |n: usize| {
        let x = Value::placeholder(Spec::new(DType::F32, [n, 4]));
        let m = x.reduce(ReduceOp::Max, &[1]).unwrap().broadcast(&[n, 4]).unwrap();
        let e = x.subtract(&m).unwrap().unary(UnaryOp::Exp).unwrap();
        let s = e.reduce(ReduceOp::Sum, &[1]).unwrap();
        let s = record(Primitive::Slice { start: vec![n - 1, 0], step: vec![-1, 1], len: vec![n, 1] }, &[&s]);
        let z = e.divide(&s.broadcast(&[n, 4]).unwrap()).unwrap();
        Cut::new(&[x], &[z]).lift().unwrap().graph
    };
    for n in [1, 3] {
        if let Err(e) = run_both(&device, &g(n), 5) {
            panic!("n={n}: {e}");
        }
    }
}

#[test]
fn rows_out_of_range_are_refused() {
    use oneir_runtime::Step;
    let text = r#"graph "g" {
  %0 = input f32[1, 2]
  %1 = parameter i32[]
  %2 = state f32[4, 2]
  %3 = activation f32[4, 2]
  inputs (%0, %1, %2)
  outputs (%3)
  %2 rows {pitch 2, row %1} = copy (%0)
  %3 = unary(op = neg) (%2)
}"#;
    let g: TensorGraph = text.parse().unwrap();
    let mut bad = vec![];
    for d in devices().unwrap().into_iter().chain([dev()]) {
        for pos in [1i32, 4, 5, 0, -1, i32::MIN, i32::MAX] {
            let mut step = Step::new(
                &d,
                g.clone(),
                &[
                    HostTensor::from_slice(&[1, 2], &[1f32, 2.0]).unwrap(),
                    HostTensor::scalar(1i32),
                    HostTensor::from_slice(&[4, 2], &[0f32; 8]).unwrap(),
                ],
            )
            .unwrap();
            let id = g.inputs[1];
            step.set(id, &HostTensor::scalar(pos)).unwrap();
            let r = step.run().and_then(|()| step.output(0));
            if r.is_ok() != (1..=4).contains(&pos) {
                bad.push(format!("{} pos {pos}: {r:?}", d.name()));
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

/// Eager programs: values are computed in chunks, handles dropped or held, memory donated.

#[test]
fn data_that_passes_by_is_not_held_by_plans() {
    let device = dev();
    for i in 0..20 {
        let data = HostTensor::from_slice(&[1 << 10], &vec![i as f32; 1 << 10]).unwrap();
        let data = Value::constant(data);
        let sum = data.add(&data).unwrap().reduce(ReduceOp::Sum, &[0]).unwrap();
        device.evaluate(std::slice::from_ref(&sum)).unwrap();
    }
    let counts = device.cache_counts();
    assert_eq!((counts.plans, counts.plan_hits), (1, 19), "{counts:?}");
}

#[test]
fn an_output_that_is_a_state_stays_as_it_was_read() {
    let text = "graph \"\" { %0 = state f32[2, 1] %1 = input f32[1] inputs (%0, %1) outputs (%0) \
                %0 rows {pitch 1, row 1} = copy (%1) }";
    let graph: TensorGraph = text.parse().unwrap();
    for device in devices().unwrap() {
        let state = device.put_writable(&HostTensor::from_slice(&[2, 1], &[0f32, 0.0]).unwrap()).unwrap();
        let read = |x: f32| {
            let x = device.put(&HostTensor::from_slice(&[1], &[x]).unwrap()).unwrap();
            device.run(&graph, &[state.clone(), x]).unwrap()[0].to_host().unwrap()
        };
        let (first, second) = (read(1.0), read(2.0));
        assert_eq!(first.to_vec::<f32>().unwrap(), [1.0, 0.0], "{}", device.name());
        assert_eq!(second.to_vec::<f32>().unwrap(), [2.0, 0.0], "{}", device.name());
    }
}
