//! Every pass keeps every invariant and every number, on all primitives' cases
//! and on random programs; and a pass that is broken on purpose is caught.

use oneir_ir::graph::{Class, GraphError, Role, Storage, Sym, TensorGraph};
use oneir_ir::primitive::{Case, Expected, Primitive, StepOp};
use oneir_ir::{BinaryOp, Cut, Nature, Place, Spec, UnaryOp, Value, verify};
use oneir_passes::{Options, PASSES, optimise, optimise_until, replay};
use oneir_tensor::HostTensor;
use oneir_testkit::{Random, program};

fn sampled(graph: &TensorGraph, seed: u64) -> Vec<HostTensor> {
    let ids = graph.inputs.iter().enumerate();
    ids.map(|(i, &id)| verify::sample(graph.tensor(id), seed + i as u64 + 1).unwrap()).collect()
}

fn verified(lifted: &TensorGraph, inputs: &[HostTensor]) {
    verify::graph(lifted).unwrap_or_else(|e| panic!("lifted: {e}\n{lifted}"));
    for fusion in [true, false] {
        for pass in PASSES {
            let (graph, recipe) = optimise_until(lifted.clone(), &Options { fusion }, pass).unwrap();
            let what = || format!("after {pass}, fusion {fusion}\n{lifted}\n{graph}");
            verify::graph(&graph).unwrap_or_else(|e| panic!("{e} {}", what()));
            verify::numeric_on(lifted, &graph, inputs).unwrap_or_else(|e| panic!("{e} {}", what()));
            let parsed: TensorGraph = graph.to_string().parse().unwrap();
            assert_eq!(parsed, graph, "{}", what());
            if pass == PASSES[PASSES.len() - 1] {
                let again = replay(lifted, &recipe).unwrap();
                assert_eq!(again.as_ref(), Some(&graph), "a recipe replays on its own graph: {}", what());
            }
        }
    }
}

#[test]
fn passes_keep_every_primitive() {
    for Case { primitive, inputs, expected } in Primitive::cases() {
        if matches!(expected, Expected::Refused(_) | Expected::Fails(_))
            || primitive.nature() == Nature::Effect
        {
            continue;
        }
        let arguments: Vec<Value> =
            inputs.iter().map(|x| Value::placeholder(Spec::new(x.dtype(), x.shape().clone()))).collect();
        let outputs =
            Value::record_all(primitive, &arguments.iter().collect::<Vec<_>>(), Place::Internal).unwrap();
        let lifted = Cut::new(&arguments, &outputs).lift().unwrap();
        verified(&lifted.graph, &inputs);
    }
}

/// After the front end, facts are refined only: a computed tensor may become
/// known, nothing else changes.
#[test]
fn facts_are_refined_only() {
    let mut known = 0;
    let x = Value::placeholder(Spec::new(oneir_tensor::DType::F32, [3]));
    let two = Value::constant(HostTensor::from_slice(&[3], &[1f32, 2.0, 3.0]).unwrap());
    let folds = two.multiply(&two).and_then(|four| x.add(&four)).unwrap();
    let programs =
        std::iter::once((vec![x], vec![folds])).chain((0..200).map(|seed| program(seed, 24).unwrap()));
    for (seed, (inputs, outputs)) in programs.enumerate() {
        let before = Cut::new(&inputs, &outputs).lift().unwrap().graph;
        let (after, _) = optimise(before.clone(), &Options::default()).unwrap();
        assert_eq!(
            (&before.inputs, &before.outputs, &before.step),
            (&after.inputs, &after.outputs, &after.step)
        );
        for (old, new) in before.tensors.iter().zip(&after.tensors) {
            let mut refined = old.clone();
            if old.storage == Storage::Computed && new.role == Role::Constant && old.role == Role::Activation
            {
                known += 1;
                (refined.role, refined.storage) = (Role::Constant, new.storage.clone());
                assert!(matches!(new.storage, Storage::Values(_)));
            }
            assert_eq!(&refined, new, "seed {seed}");
        }
    }
    assert!(known > 0, "no tensor became known");
}

#[test]
fn passes_keep_random_programs() {
    for seed in 0..300 {
        let (inputs, outputs) = program(seed, 24).unwrap();
        let lifted = Cut::new(&inputs, &outputs).lift().unwrap();
        verified(&lifted.graph, &sampled(&lifted.graph, seed));
    }
}

/// One way to break a graph as a faulty pass would, where the graph has room
/// for it.
fn broken(graph: &TensorGraph, random: &mut Random) -> Option<TensorGraph> {
    let mut out = graph.clone();
    let at = random.below(out.ops.len());
    match random.below(5) {
        // An op is lost.
        0 => {
            out.ops.remove(at);
        }
        // Two ops change places although one needs the other.
        1 => {
            let next = out.ops.get(at + 1)?;
            if !next.operands.iter().any(|o| o.tensor == out.ops[at].result()) {
                return None;
            }
            out.ops.swap(at, at + 1);
        }
        // An op is counted twice.
        2 => {
            let covered = *out.ops[at].covers.first()?;
            out.dead.push(covered);
        }
        // An op computes something else.
        3 => match &mut out.ops[at].sym {
            Sym::Prim(primitive @ Primitive::Unary(_)) => *primitive = Primitive::Unary(UnaryOp::Exp),
            Sym::Prim(primitive @ Primitive::Binary(_)) => *primitive = Primitive::Binary(BinaryOp::ArcTan2),
            Sym::Fused(fused) => {
                let Class::Region(region) = &mut fused.class else { return None };
                let step = region.steps.iter().position(|s| matches!(s.op, StepOp::Binary(_)))?;
                region.steps[step].op = StepOp::Binary(BinaryOp::ArcTan2);
                fused.definition[step].sym = Sym::Prim(Primitive::Binary(BinaryOp::ArcTan2));
            }
            _ => return None,
        },
        // A fused op forgets a step.
        _ => {
            let Sym::Fused(fused) = &mut out.ops[at].sym else { return None };
            fused.definition.pop();
        }
    }
    Some(out)
}

#[test]
fn a_broken_pass_is_caught() {
    let mut caught = [0usize; 2];
    for seed in 0..200 {
        let (inputs, outputs) = program(seed, 24).unwrap();
        let lifted = Cut::new(&inputs, &outputs).lift().unwrap().graph;
        let (good, _) = optimise_until(lifted.clone(), &Options::default(), "dead").unwrap();
        if good.ops.is_empty() {
            continue;
        }
        let mut random = Random::new(seed);
        let Some(bad) = broken(&good, &mut random) else { continue };
        let structural: Result<(), GraphError> = verify::graph(&bad);
        match structural {
            Err(_) => caught[0] += 1,
            Ok(()) => {
                let error = verify::numeric(&lifted, &bad, seed);
                assert!(error.is_err(), "seed {seed}: nothing noticed\n{good}\n{bad}");
                caught[1] += 1;
            }
        }
    }
    assert!(caught[0] > 30 && caught[1] > 8, "{caught:?}");
}

#[test]
fn classes_are_recognised_by_definition() {
    use oneir_ir::fast::{Activation, FastOp, LayerNorm, Linear, RmsNorm, Softmax};
    use oneir_ir::{Real, graph::Class};
    use oneir_tensor::DType;
    let spec = |shape: &[usize]| Spec::new(DType::F32, shape);
    let classes: Vec<(FastOp, Vec<Spec>)> = vec![
        (Softmax { axis: 1 }.into(), vec![spec(&[2, 3, 4])]),
        (LayerNorm { eps: Real::new(1e-5) }.into(), vec![spec(&[2, 4]), spec(&[4]), spec(&[4])]),
        (RmsNorm { eps: Real::new(1e-6) }.into(), vec![spec(&[2, 4]), spec(&[4])]),
        (Linear { activation: Activation::Relu }.into(), vec![spec(&[2, 3]), spec(&[3, 4]), spec(&[4])]),
        (Linear { activation: Activation::Tanh }.into(), vec![spec(&[2, 3]), spec(&[3, 4]), spec(&[4])]),
        (Linear { activation: Activation::None }.into(), vec![spec(&[2, 3]), spec(&[3, 4]), spec(&[4])]),
    ];
    for (class, specs) in classes {
        let inputs: Vec<Value> = specs.iter().cloned().map(Value::placeholder).collect();
        for spelling in class.spellings(&inputs).unwrap() {
            let lifted = Cut::new(&inputs, std::slice::from_ref(&spelling)).lift().unwrap();
            let (graph, _) = optimise_until(lifted.graph.clone(), &Options::default(), "dead").unwrap();
            let [op] = &graph.ops[..] else { panic!("{class:?} is not one op:\n{graph}") };
            let Sym::Fused(fused) = &op.sym else { panic!("{class:?} was not found:\n{graph}") };
            let Class::Fast(found) = &fused.class else { panic!("{class:?} became a region:\n{graph}") };
            match (&class, found) {
                // The number in the graph went through f32.
                (FastOp::LayerNorm(a), FastOp::LayerNorm(b)) => {
                    assert!((a.eps.get() - b.eps.get()).abs() < 1e-9)
                }
                (FastOp::RmsNorm(a), FastOp::RmsNorm(b)) => assert!((a.eps.get() - b.eps.get()).abs() < 1e-9),
                (a, b) => assert_eq!(a, b),
            }
            verified(&lifted.graph, &sampled(&lifted.graph, 7));
        }
    }
}
