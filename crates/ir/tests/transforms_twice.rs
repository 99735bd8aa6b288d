//! Transforms of transforms, on the cases that primitives bring: a batch of
//! derivatives is what a loop gives, and derivatives of derivatives are what
//! finite differences give. Products are exact where they hold zeros.

use std::collections::BTreeMap;

use oneir_ir::graph::GraphError;
use oneir_ir::primitive::{Batched, Case, Expected, ScanOp, ScatterReduce, Slots};
use oneir_ir::transform::{TransformError, jvp, vjp, vmap};
use oneir_ir::{Cut, Nature, Place, Primitive, ReduceOp, Spec, Value, reference};
use oneir_tensor::{DType, HostTensor, Values};

/// Numbers that look random: the same seed gives the same.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        ((self.0 >> 33) as usize) % n
    }

    fn numbers(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.below(2000) as f64 / 1000.0 - 1.0).collect()
    }

    fn like(&mut self, spec: &Spec) -> HostTensor {
        floats(&spec.shape, &self.numbers(spec.count()))
    }
}

fn floats(shape: &[usize], numbers: &[f64]) -> HostTensor {
    HostTensor::from_values(DType::F64, shape, &Values::Float(numbers.to_vec())).unwrap()
}

fn record(primitive: &Primitive, inputs: &[&Value]) -> Vec<Value> {
    Value::record_all(primitive.clone(), inputs, Place::Internal).unwrap().into_vec()
}

/// Leaves that a graph is recorded over, to be computed for tensors in their place.
fn leaves(tensors: &[HostTensor]) -> Vec<Value> {
    tensors.iter().map(|x| Value::placeholder(Spec::new(x.dtype(), x.shape().clone()))).collect()
}

/// `outputs`, computed with tensors in place of leaves.
fn computed(outputs: &[Value], leaves: &[Value], tensors: &[HostTensor]) -> Vec<HostTensor> {
    attempted(outputs, leaves, tensors).unwrap()
}

/// As [`computed`], or why the data has no result.
fn attempted(
    outputs: &[Value],
    leaves: &[Value],
    tensors: &[HostTensor],
) -> Result<Vec<HostTensor>, GraphError> {
    let lifted = Cut::new(leaves, outputs).lift().unwrap();
    let constants = lifted.leaves.iter().map(|v| v.as_constant().unwrap().clone());
    let all: Vec<HostTensor> = tensors.iter().cloned().chain(constants).collect();
    reference::run(&lifted.graph, &all)
}

fn numbers(x: &HostTensor) -> Vec<f64> {
    x.values().unwrap().to_floats()
}

fn is_float(x: &Spec) -> bool {
    x.dtype == DType::F64
}

/// The case in f64, where it has real floats and the primitive takes f64.
fn in_f64(case: &Case) -> Option<Case> {
    if matches!(case.expected, Expected::Refused(_) | Expected::Fails(_)) {
        return None;
    }
    let wide = |x: &HostTensor| if x.dtype().is_float() { x.cast(DType::F64).ok() } else { Some(x.clone()) };
    let inputs: Vec<HostTensor> = case.inputs.iter().map(wide).collect::<Option<_>>()?;
    let specs: Vec<Spec> = inputs.iter().map(|x| Spec::new(x.dtype(), x.shape().clone())).collect();
    let results = case.primitive.infer(&specs.iter().collect::<Vec<_>>()).ok()?;
    let real = specs.iter().chain(&results).all(|x| is_float(x) || !x.dtype.is_inexact());
    let sized = case.primitive.nature() != Nature::DataSized;
    let small = inputs.iter().map(HostTensor::count).sum::<usize>() < 600;
    let floats = specs.iter().any(is_float) && results.iter().any(is_float);
    (real && sized && small && floats).then(|| Case { inputs, ..case.clone() })
}

/// The cotangents of the float inputs, given some of the outputs: a graph over
/// leaves for the inputs and for the cotangents.
fn reversed(case: &Case) -> Result<(Vec<Value>, Vec<Value>), TransformError> {
    let inputs = leaves(&case.inputs);
    let outputs = record(&case.primitive, &inputs.iter().collect::<Vec<_>>());
    let cotangents: Slots =
        outputs.iter().map(|v| is_float(v.spec()).then(|| Value::placeholder(v.spec().clone()))).collect();
    let found = vjp(&outputs, &inputs, &cotangents)?;
    let given = inputs.into_iter().chain(cotangents.into_iter().flatten()).collect();
    Ok((given, found.into_iter().flatten().collect()))
}

/// Tensors for the leaves that [`reversed`] gives: the case's inputs, moved a
/// little, and cotangents.
fn points(case: &Case, given: &[Value], random: &mut Random) -> Vec<HostTensor> {
    let one = |(k, leaf): (usize, &Value)| match case.inputs.get(k) {
        Some(x) if is_float(leaf.spec()) => {
            let moves = random.numbers(x.count());
            floats(x.shape(), &numbers(x).iter().zip(moves).map(|(a, n)| a + 0.01 * n).collect::<Vec<_>>())
        }
        Some(x) => x.clone(),
        None => random.like(leaf.spec()),
    };
    given.iter().enumerate().map(one).collect()
}

/// What is wrong with a batch of reverse derivatives, if anything.
fn batch_fault(case: &Case, random: &mut Random) -> Result<Option<String>, TransformError> {
    const SIZE: usize = 2;
    let (given, gradients) = reversed(case)?;
    let all: Vec<Vec<HostTensor>> = (0..SIZE).map(|_| points(case, &given, random)).collect();
    let mut batched = Vec::new();
    for (k, leaf) in given.iter().enumerate() {
        if !is_float(leaf.spec()) {
            batched.push(Batched { value: Value::constant(all[0][k].clone()), axis: None });
            continue;
        }
        let both: Vec<f64> = all.iter().flat_map(|tensors| numbers(&tensors[k])).collect();
        let shape: Vec<usize> = std::iter::once(SIZE).chain(leaf.spec().shape.iter().copied()).collect();
        batched.push(Batched { value: Value::constant(floats(&shape, &both)), axis: Some(0) });
    }
    let found = vmap(&gradients, &given, &batched, SIZE)?;
    let whole: Vec<Value> = found.iter().map(|b| b.value.clone()).collect();
    let whole = computed(&whole, &[], &[]);
    for (i, tensors) in all.iter().enumerate() {
        let expected = computed(&gradients, &given, tensors);
        for (k, (expected, found)) in expected.iter().zip(&found).enumerate() {
            let (all, expected) = (numbers(&whole[k]), numbers(expected));
            let one = if found.axis.is_some() { &all[i * expected.len()..][..expected.len()] } else { &all };
            let far =
                |(a, b): (&f64, &f64)| a.is_nan() != b.is_nan() || (a - b).abs() > 1e-9 * (1.0 + b.abs());
            if let Some(at) = one.iter().zip(&expected).position(far) {
                let (one, expected) = (one[at], expected[at]);
                return Ok(Some(format!(
                    "cotangent {k} of item {i} at {at}: {one}, a loop gives {expected}"
                )));
            }
        }
    }
    Ok(None)
}

/// What is wrong with a forward derivative of the reverse one at a point, if
/// anything. Where differences jump there is no fault.
fn second_fault(
    (given, gradients): &(Vec<Value>, Vec<Value>),
    tensors: &[HostTensor],
    random: &mut Random,
) -> Result<Option<String>, TransformError> {
    const STEP: f64 = 1e-5;
    let directions: Vec<Option<HostTensor>> =
        given.iter().map(|leaf| is_float(leaf.spec()).then(|| random.like(leaf.spec()))).collect();
    let tangents: Slots = directions.iter().map(|d| d.clone().map(Value::constant)).collect();
    let found = jvp(gradients, given, &tangents)?;
    let at = |t: f64| {
        let moved = |(x, d): (&HostTensor, &Option<HostTensor>)| match d {
            Some(d) => {
                let all: Vec<f64> = numbers(x).iter().zip(numbers(d)).map(|(x, d)| x + t * d).collect();
                floats(x.shape(), &all)
            }
            None => x.clone(),
        };
        computed(gradients, given, &tensors.iter().zip(&directions).map(moved).collect::<Vec<_>>())
    };
    let (low, lower, higher, high) = (at(-STEP), at(-0.5 * STEP), at(0.5 * STEP), at(STEP));
    for (k, found) in found.iter().enumerate() {
        let all = |x: &[HostTensor]| numbers(&x[k]);
        let (low, lower, higher, high) = (all(&low), all(&lower), all(&higher), all(&high));
        let tangent = match found {
            Some(value) => numbers(&computed(std::slice::from_ref(value), given, tensors)[0]),
            None => vec![0.0; low.len()],
        };
        for (i, tangent) in tangent.into_iter().enumerate() {
            let (wide, near) = ((high[i] - low[i]) / (2.0 * STEP), (higher[i] - lower[i]) / STEP);
            if !wide.is_finite() || (wide - near).abs() > 1e-3 * (1.0 + wide.abs()) {
                return Ok(None);
            }
            if tangent.is_nan() || (tangent - near).abs() > 1e-4 * (1.0 + near.abs()) {
                return Ok(Some(format!("of cotangent {k} at {i}: {tangent}, differences give {near}")));
            }
        }
    }
    Ok(None)
}

/// Primitives of which some have no derivative, or no second one.
const UNDEFINED: &[&str] = &["collective", "linalg", "unary", "while_loop"];

/// Looks at every case whose rules exist, and fails with what is wrong. Which
/// rules are to come is listed beside the tests of rules themselves.
fn check(mut fault: impl FnMut(&Case) -> Result<Option<String>, TransformError>) {
    let (mut tried, mut undefined, mut faults) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for case in Primitive::cases().iter().filter_map(in_f64) {
        let name = case.primitive.name();
        match fault(&case) {
            Ok(fault) => {
                *tried.entry(name).or_insert(0) += 1;
                let mut text = String::new();
                case.primitive.write(&mut text);
                faults.extend(fault.map(|fault| format!("{text}: {fault}")));
            }
            Err(TransformError::ToCome { .. }) => {}
            Err(error @ TransformError::Undefined { .. }) => {
                undefined.insert(name, error.to_string());
            }
            Err(error) => faults.push(format!("{name}: {error}")),
        }
    }
    let shown = faults.len().min(12);
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults[..shown].join("\n"));
    let names: Vec<&str> = undefined.keys().copied().collect();
    assert_eq!(names, UNDEFINED, "undefined: {undefined:#?}; tried {tried:?}");
    assert!(tried.len() > 20, "only {tried:?}");
}

#[test]
fn a_batch_of_derivatives_is_a_loop_of_them() {
    let mut random = Random(7);
    check(|case| batch_fault(case, &mut random));
}

#[test]
fn derivatives_of_derivatives_are_those_of_differences() {
    let mut random = Random(8);
    check(|case| {
        let graph = reversed(case)?;
        let tensors = points(case, &graph.0, &mut random);
        second_fault(&graph, &tensors, &mut random)
    });
}

/// Ties and zeros included, which the cases hold as they stand.
#[test]
fn forward_and_reverse_agree_where_elements_tie() {
    let mut random = Random(10);
    check(|case| {
        let inputs = leaves(&case.inputs);
        let outputs = record(&case.primitive, &inputs.iter().collect::<Vec<_>>());
        let mut some = |of: &[Value]| -> Vec<Option<HostTensor>> {
            of.iter().map(|v| is_float(v.spec()).then(|| random.like(v.spec()))).collect()
        };
        let (tangents, cotangents) = (some(&inputs), some(&outputs));
        let slots = |of: &[Option<HostTensor>]| -> Slots {
            of.iter().map(|x| x.clone().map(Value::constant)).collect()
        };
        let forward: Slots = jvp(&outputs, &inputs, &slots(&tangents))?;
        let reverse: Slots = vjp(&outputs, &inputs, &slots(&cotangents))?;
        let product = |found: Slots, with: &[Option<HostTensor>]| -> Option<f64> {
            let both = found.into_iter().zip(with).filter_map(|(found, with)| Some((found?, with.as_ref()?)));
            both.map(|(found, with)| {
                let found = attempted(&[found], &inputs, &case.inputs).ok()?.remove(0);
                Some(numbers(&found).iter().zip(numbers(with)).map(|(a, b)| a * b).sum::<f64>())
            })
            .sum()
        };
        // A singular matrix has a determinant, say, and no inverse for its derivative.
        let (along, back) = match (product(forward, &cotangents), product(reverse, &tangents)) {
            (Some(along), Some(back)) => (along, back),
            (None, None) => return Ok(None),
            (along, back) => return Ok(Some(format!("forward {along:?}, in reverse {back:?}"))),
        };
        let differ = along.is_nan() != back.is_nan() || (along - back).abs() > 1e-9 * (1.0 + along.abs());
        let far = differ && !along.is_infinite();
        Ok(far.then(|| format!("forward {along}, in reverse {back}")))
    });
}

#[test]
fn an_empty_batch_is_empty() {
    for case in Primitive::cases().iter().filter_map(in_f64) {
        let inputs = leaves(&case.inputs);
        let outputs = record(&case.primitive, &inputs.iter().collect::<Vec<_>>());
        let none = |v: &Value| {
            let shape: Vec<usize> = std::iter::once(0).chain(v.spec().shape.iter().copied()).collect();
            let value = Value::placeholder(Spec::new(v.spec().dtype, shape));
            Batched { value, axis: Some(0) }
        };
        let batched: Vec<Batched> = inputs.iter().map(none).collect();
        match vmap(&outputs, &inputs, &batched, 0) {
            Ok(found) => {
                for (found, one) in found.iter().zip(&outputs) {
                    let expected: Vec<usize> =
                        std::iter::once(0).chain(one.spec().shape.iter().copied()).collect();
                    assert_eq!(found.value.spec().shape.to_vec(), expected, "{:?}", case.primitive);
                }
            }
            Err(TransformError::ToCome { .. } | TransformError::Undefined { .. }) => {}
            Err(error) => panic!("{:?}: {error}", case.primitive),
        }
    }
}

#[test]
fn products_with_zeros_have_exact_derivatives() {
    let x = floats(&[8], &[2.0, 0.0, 3.0, -1.0, 0.0, 2.0, 0.5, 0.0]);
    let zero = floats(&[3], &[0.0, 2.0, 1.0]);
    let i = HostTensor::from_slice(&[8], &[0i32, 0, 1, 1, 1, 2, 2, 2]).unwrap();
    let scan = |reverse, inclusive| Primitive::Scan { op: ScanOp::Prod, axis: 0, reverse, inclusive };
    let window = Primitive::WindowReduce {
        op: ReduceOp::Prod,
        window: vec![3],
        strides: vec![2],
        low: vec![1],
        high: vec![0],
        dilations: vec![1],
    };
    let spread = || vec![zero.clone(), i.clone(), floats(&[8, 1], &numbers(&x))];
    let cases = [
        (scan(false, true), vec![x.clone()]),
        (scan(true, false), vec![x.clone()]),
        (Primitive::Reduce { op: ReduceOp::Prod, axes: vec![0] }, vec![x.clone()]),
        (window, vec![x.clone()]),
        (
            Primitive::ScatterAxis { axis: 0, reduce: ScatterReduce::Prod },
            vec![zero.clone(), i.clone(), x.clone()],
        ),
        (Primitive::Scatter { axes: vec![0], reduce: ScatterReduce::Prod }, spread()),
    ];
    for (primitive, inputs) in cases {
        let case = Case::parity(primitive, inputs);
        let mut random = Random(9);
        let graph = reversed(&case).unwrap();
        // First derivatives: those of differences of the product itself.
        let mut tensors = case.inputs.clone();
        for leaf in &graph.0[case.inputs.len()..] {
            tensors.push(random.like(leaf.spec()));
        }
        let gradients = computed(&graph.1, &graph.0, &tensors);
        let weights = numbers(tensors.last().unwrap());
        let along = |inputs: &[HostTensor]| -> f64 {
            let found = case.primitive.evaluate(inputs).unwrap();
            numbers(&found[0]).iter().zip(&weights).map(|(a, b)| a * b).sum()
        };
        let inexact = (0..case.inputs.len()).filter(|&k| case.inputs[k].dtype() == DType::F64);
        for (k, gradient) in inexact.zip(&gradients) {
            for (i, found) in numbers(gradient).into_iter().enumerate() {
                let at = |step: f64| {
                    let mut inputs = case.inputs.clone();
                    let mut all = numbers(&inputs[k]);
                    all[i] += step;
                    inputs[k] = floats(inputs[k].shape(), &all);
                    along(&inputs)
                };
                // Linear in each element: the difference is exact.
                let expected = (at(1.0) - at(-1.0)) / 2.0;
                assert!((found - expected).abs() < 1e-12, "{:?}: {found}, {expected}", case.primitive);
            }
        }
        let fault = second_fault(&graph, &tensors, &mut random).unwrap();
        assert_eq!(fault, None, "{:?}", case.primitive);
    }
}
