//! Rules of collectives, with all members of a group run side by side.

use oneir_ir::graph::{Storage, Sym};
use oneir_ir::primitive::{Batched, CollectiveKind, CollectiveOp};
use oneir_ir::transform::{TransformError, jvp, vjp, vmap};
use oneir_ir::{Cut, Primitive, Spec, Value};
use oneir_tensor::{DType, HostTensor};

use crate::calls::{Random, of_parts, parts, record};

const MEMBERS: usize = 2;

/// What each member gets of what all give.
fn together(op: &CollectiveOp, given: &[HostTensor]) -> Vec<HostTensor> {
    let all: Vec<Vec<f64>> = given.iter().map(parts).collect();
    let shape = given[0].shape().to_vec();
    let with_first =
        |n: usize| -> Vec<usize> { std::iter::once(n).chain(shape[1..].iter().copied()).collect() };
    let folded = |f: fn(f64, f64) -> f64| -> Vec<f64> {
        (0..all[0].len()).map(|i| all.iter().map(|x| x[i]).reduce(f).unwrap()).collect()
    };
    let same = |x: Vec<f64>, shape: &[usize]| vec![of_parts(DType::F64, shape, &x); MEMBERS];
    let part = all[0].len() / MEMBERS;
    let per_member = |of: &dyn Fn(usize) -> Vec<f64>, shape: &[usize]| -> Vec<HostTensor> {
        (0..MEMBERS).map(|m| of_parts(DType::F64, shape, &of(m))).collect()
    };
    match op.kind {
        CollectiveKind::AllSum => same(folded(|a, b| a + b), &shape),
        CollectiveKind::AllMax => same(folded(f64::max), &shape),
        CollectiveKind::AllMin => same(folded(f64::min), &shape),
        CollectiveKind::AllGather => same(all.concat(), &with_first(MEMBERS * shape[0])),
        CollectiveKind::Broadcast => same(all[op.peer].clone(), &shape),
        CollectiveKind::ReduceScatter => {
            let sum = folded(|a, b| a + b);
            per_member(&|m| sum[m * part..][..part].to_vec(), &with_first(shape[0] / MEMBERS))
        }
        CollectiveKind::AllToAll => {
            per_member(&|m| all.iter().flat_map(|x| x[m * part..][..part].to_vec()).collect(), &shape)
        }
        CollectiveKind::Barrier => given.to_vec(),
        other => panic!("{other:?} names one member"),
    }
}

/// `outputs` of each member, computed with its tensors in place of leaves.
fn run(outputs: &[Value], leaves: &[Value], tensors: &[Vec<HostTensor>]) -> Vec<Vec<HostTensor>> {
    let lifted = Cut::new(leaves, outputs).lift().unwrap();
    let graph = &lifted.graph;
    let constants = lifted.leaves.iter().map(|v| v.as_constant().unwrap().clone());
    let mut made: Vec<Vec<HostTensor>> = vec![Vec::new(); graph.tensors.len()];
    for (tensor, slot) in graph.tensors.iter().zip(&mut made) {
        if let Storage::Values(value) = &tensor.storage {
            *slot = vec![value.clone(); MEMBERS];
        }
    }
    let given = (0..leaves.len()).map(|k| tensors.iter().map(|member| member[k].clone()).collect());
    let given = given.chain(constants.map(|value| vec![value; MEMBERS]));
    for (id, value) in graph.inputs.iter().zip(given) {
        made[id.at()] = value;
    }
    for op in &graph.ops {
        let Sym::Prim(primitive) = &op.sym else { panic!("{:?} was lifted", op.sym) };
        let operands = |member: usize| -> Vec<HostTensor> {
            op.operands.iter().map(|operand| made[operand.tensor.at()][member].clone()).collect()
        };
        let found: Vec<Vec<HostTensor>> = match primitive {
            Primitive::Collective { op, .. } => {
                let given: Vec<HostTensor> = (0..MEMBERS).map(|m| operands(m).remove(0)).collect();
                together(op, &given).into_iter().map(|x| vec![x]).collect()
            }
            other => (0..MEMBERS).map(|m| other.evaluate(&operands(m)).unwrap()).collect(),
        };
        for (k, result) in op.results.iter().enumerate() {
            made[result.tensor.at()] = found.iter().map(|member| member[k].clone()).collect();
        }
    }
    (0..MEMBERS).map(|m| graph.outputs.iter().map(|id| made[id.at()][m].clone()).collect()).collect()
}

fn all_parts(members: &[Vec<HostTensor>], k: usize) -> Vec<f64> {
    members.iter().flat_map(|member| parts(&member[k])).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[test]
fn members_change_together() {
    const STEP: f64 = 1e-6;
    let mut random = Random::new(3);
    let mut without_reverse = Vec::new();
    for &kind in CollectiveKind::ALL {
        if matches!(kind, CollectiveKind::Send | CollectiveKind::Recv) {
            continue;
        }
        let peer = usize::from(kind == CollectiveKind::Broadcast);
        let collective =
            Primitive::Collective { op: CollectiveOp { kind, members: MEMBERS, peer }, group: 1 };
        let spec = Spec::new(DType::F64, [4, 2]);
        let leaf = || Value::placeholder(spec.clone());
        let (x, change) = (leaf(), leaf());
        let y = record(&collective, std::slice::from_ref(&x));
        let weight = Value::placeholder(y[0].spec().clone());
        let mut tensors: Vec<Vec<HostTensor>> =
            (0..MEMBERS).map(|_| vec![random.like(&spec), random.like(&spec)]).collect();

        // Forward: all members move at once.
        let tangent = jvp(&y, std::slice::from_ref(&x), &[Some(change.clone())]).unwrap().remove(0).unwrap();
        let along = all_parts(&run(&[tangent], &[x.clone(), change.clone()], &tensors), 0);
        let at = |t: f64| {
            let moved = |member: &Vec<HostTensor>| {
                let by = parts(&member[1]).into_iter().map(move |d| t * d);
                vec![crate::calls::moved(&member[0], by)]
            };
            all_parts(&run(&y, std::slice::from_ref(&x), &tensors.iter().map(moved).collect::<Vec<_>>()), 0)
        };
        for ((found, high), low) in along.iter().zip(at(STEP)).zip(at(-STEP)) {
            let expected = (high - low) / (2.0 * STEP);
            assert!((found - expected).abs() < 1e-6, "{kind:?}: {found}, differences give {expected}");
        }

        // In reverse: the sum over all members of changes times weights.
        match vjp(&y, std::slice::from_ref(&x), &[Some(weight.clone())]) {
            Ok(found) => {
                let back = found.into_iter().next().flatten().unwrap();
                tensors.iter_mut().for_each(|member| member.push(random.like(weight.spec())));
                let given: Vec<Vec<HostTensor>> =
                    tensors.iter().map(|member| vec![member[0].clone(), member[2].clone()]).collect();
                let back = all_parts(&run(&[back], &[x.clone(), weight.clone()], &given), 0);
                let (forward, reverse) =
                    (dot(&along, &all_parts(&tensors, 2)), dot(&back, &all_parts(&tensors, 1)));
                assert!(
                    (forward - reverse).abs() < 1e-9,
                    "{kind:?}: forward {forward}, in reverse {reverse}"
                );
            }
            Err(TransformError::Undefined { .. }) => without_reverse.push(kind),
            Err(error) => panic!("{kind:?}: {error}"),
        }

        // A batch along any axis, and a loop.
        let items: Vec<Vec<HostTensor>> =
            (0..3).map(|_| (0..MEMBERS).map(|_| random.like(&spec)).collect()).collect();
        let whole = Value::placeholder(Spec::new(DType::F64, [3, 4, 2]));
        let joined: Vec<Vec<HostTensor>> = (0..MEMBERS)
            .map(|m| {
                vec![of_parts(
                    DType::F64,
                    &[3, 4, 2],
                    &items.iter().flat_map(|item| parts(&item[m])).collect::<Vec<_>>(),
                )]
            })
            .collect();
        for order in [[0, 1, 2], [1, 0, 2], [1, 2, 0]] {
            let axis = order.iter().position(|&axis| axis == 0).unwrap();
            let turned = whole.transpose(&order).unwrap();
            let batched = [Batched { value: turned, axis: Some(axis) }];
            let found = vmap(&y, std::slice::from_ref(&x), &batched, 3).unwrap().remove(0);
            assert_eq!(found.axis, Some(0));
            let found = run(&[found.value], std::slice::from_ref(&whole), &joined);
            for (i, item) in items.iter().enumerate() {
                let one: Vec<Vec<HostTensor>> = item.iter().map(|x| vec![x.clone()]).collect();
                let expected = run(&y, std::slice::from_ref(&x), &one);
                for (found, expected) in found.iter().zip(&expected) {
                    let expected = parts(&expected[0]);
                    assert_eq!(
                        parts(&found[0])[i * expected.len()..][..expected.len()],
                        expected,
                        "{kind:?}"
                    );
                }
            }
        }
    }
    assert_eq!(without_reverse, [CollectiveKind::Broadcast]);
}
