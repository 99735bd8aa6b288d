//! Rules of every primitive, on the cases that it brings: derivatives against
//! finite differences in f64, batching against a loop.

use std::collections::BTreeMap;

use oneir_ir::primitive::{Batched, Case, Expected, Slots};
use oneir_ir::transform::{TransformError, jvp, vjp, vmap};
use oneir_ir::{BinaryOp, Cut, Place, Primitive, Spec, Trace, Value, reference};
use oneir_tensor::{DType, HostTensor, Values};

/// How far derivatives may be from finite differences, of their size.
const CLOSE: f64 = 2e-4;

/// Numbers that look random: the same seed gives the same.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        ((self.0 >> 33) as usize) % n
    }
}

fn record(primitive: &Primitive, inputs: &[Value]) -> Vec<Value> {
    let inputs: Vec<&Value> = inputs.iter().collect();
    Value::record_all(primitive.clone(), &inputs, Place::Internal).unwrap().into_vec()
}

fn read(value: &Value) -> HostTensor {
    if let Some(constant) = value.as_constant() {
        return constant.clone();
    }
    let lifted = Cut::new(&[], std::slice::from_ref(value)).lift().unwrap();
    let leaves: Vec<HostTensor> = lifted.leaves.iter().map(|v| v.as_constant().unwrap().clone()).collect();
    reference::run(&lifted.graph, &leaves).unwrap().remove(0)
}

/// Complex numbers as pairs, reals as they are.
fn parts(x: &HostTensor) -> Vec<f64> {
    match x.values().unwrap() {
        Values::Complex(all) => all.iter().flat_map(|z| [z.re, z.im]).collect(),
        other => other.to_floats(),
    }
}

fn of_parts(like: &HostTensor, parts: &[f64]) -> HostTensor {
    let values = match like.dtype().is_complex() {
        true => {
            let bytes: Vec<u8> = parts.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect();
            return HostTensor::from_bytes(like.dtype(), like.shape(), &bytes).unwrap();
        }
        false => Values::Float(parts.to_vec()),
    };
    HostTensor::from_values(like.dtype(), like.shape(), &values).unwrap()
}

/// The case in f64, where it has real floats and the primitive takes f64.
fn in_f64(case: &Case) -> Option<Case> {
    if matches!(case.expected, Expected::Refused(_) | Expected::Fails(_)) {
        return None;
    }
    let wide = |x: &HostTensor| if x.dtype().is_float() { x.cast(DType::F64).ok() } else { Some(x.clone()) };
    let inputs: Vec<HostTensor> = case.inputs.iter().map(wide).collect::<Option<_>>()?;
    let specs: Vec<Spec> = inputs.iter().map(|x| Spec::new(x.dtype(), x.shape().clone())).collect();
    case.primitive.infer(&specs.iter().collect::<Vec<_>>()).ok()?;
    Some(Case { inputs, ..case.clone() })
}

fn noise(random: &mut Random, count: usize) -> Vec<f64> {
    (0..count).map(|_| random.below(2000) as f64 / 1000.0 - 1.0).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// How fast a number changes; one that stays infinite does not.
fn slope(high: &f64, low: &f64, by: f64) -> f64 {
    if high == low { 0.0 } else { (high - low) / by }
}

/// What is wrong with a primitive's derivative, if anything.
fn derivative_fault(case: &Case, random: &mut Random) -> Result<Option<String>, TransformError> {
    let floats: Vec<bool> = case.inputs.iter().map(|x| x.dtype().is_inexact()).collect();
    // Away from kinks and ties, where differences and derivatives differ.
    let inputs: Vec<HostTensor> = case
        .inputs
        .iter()
        .map(|x| match x.dtype().is_inexact() {
            true => {
                let all = parts(x);
                let moved: Vec<f64> =
                    all.iter().zip(noise(random, all.len())).map(|(a, n)| a + 0.01 * n).collect();
                of_parts(x, &moved)
            }
            false => x.clone(),
        })
        .collect();
    let trace = Trace::new();
    let values: Vec<Value> = inputs.iter().cloned().map(Value::constant).collect();
    let marked: Vec<Value> = values.iter().map(|v| v.traced(&trace).unwrap()).collect();
    let outputs = record(&case.primitive, &marked);
    let dtypes = || inputs.iter().map(HostTensor::dtype).chain(outputs.iter().map(|v| v.spec().dtype));
    // What rounds to few digits has no differences to speak of.
    if dtypes().any(|d| d.is_half() || !d.computes()) {
        return Ok(None);
    }
    let single = dtypes().any(|d| d.is_inexact() && d != DType::F64);
    let step = if single { 1e-2 } else { 1e-6 };
    // What is infinite stays where it is.
    let held = |(n, x): (f64, f64)| if x.is_finite() { n } else { 0.0 };
    // At infinities, a derivative need not be a number.
    let finite = inputs.iter().all(|x| parts(x).iter().all(|p| p.is_finite()));
    let directions: Vec<Vec<f64>> = inputs
        .iter()
        .map(|x| noise(random, parts(x).len()).into_iter().zip(parts(x)).map(held).collect())
        .collect();
    let slot = |k: usize| floats[k].then(|| Value::constant(of_parts(&inputs[k], &directions[k])));
    let tangents: Slots = (0..inputs.len()).map(slot).collect();
    let found = jvp(&outputs, &marked, &tangents)?;
    // Finite differences along the same direction.
    let at = |t: f64| -> Option<Vec<Vec<f64>>> {
        let moved: Vec<HostTensor> = (0..inputs.len())
            .map(|k| {
                let all = parts(&inputs[k]);
                let moved: Vec<f64> = all.iter().zip(&directions[k]).map(|(a, d)| a + t * d).collect();
                if floats[k] { of_parts(&inputs[k], &moved) } else { inputs[k].clone() }
            })
            .collect();
        Some(case.primitive.evaluate(&moved).ok()?.iter().map(parts).collect())
    };
    let (Some(low), Some(high)) = (at(-step), at(step)) else { return Ok(None) };
    let (Some(lower), Some(higher)) = (at(-0.5 * step), at(0.5 * step)) else { return Ok(None) };
    let mut along = 0.0;
    let mut cotangents: Slots = Vec::new();
    for (k, output) in outputs.iter().enumerate() {
        let inexact = output.spec().dtype.is_inexact();
        let differences: Vec<f64> =
            high[k].iter().zip(&low[k]).map(|(h, l)| slope(h, l, 2.0 * step)).collect();
        let nearer = higher[k].iter().zip(&lower[k]).map(|(h, l)| slope(h, l, step));
        // Where the step matters there is a kink or a cut.
        let smooth = |(d, n): (&f64, f64)| d.is_finite() && (d - n).abs() < 0.05 * (1.0 + d.abs());
        if inexact && !differences.iter().zip(nearer).all(smooth) {
            return Ok(None);
        }
        let tangent = match &found[k] {
            Some(value) => parts(&read(value)),
            None => vec![0.0; differences.len()],
        };
        let close = if single { 200.0 * CLOSE } else { CLOSE };
        for (i, (t, d)) in tangent.iter().zip(&differences).enumerate().filter(|_| inexact) {
            if (finite && t.is_nan()) || (t - d).abs() > close * (1.0 + d.abs()) {
                return Ok(Some(format!("jvp of result {k}, part {i}: {t}, differences give {d}")));
            }
        }
        // Of what only a run knows the size, a cotangent cannot be given here.
        if matches!(case.primitive, Primitive::Narrow { .. }) {
            return Ok(None);
        }
        let weights = noise(random, tangent.len());
        if inexact {
            along += dot(&weights, &tangent);
        }
        let like = HostTensor::zeros(output.spec().dtype, &output.spec().shape).unwrap();
        cotangents.push(inexact.then(|| Value::constant(of_parts(&like, &weights))));
    }
    // The same number in reverse.
    let found = vjp(&outputs, &marked, &cotangents)?;
    let mut back = 0.0;
    for (k, cotangent) in found.iter().enumerate() {
        if let Some(value) = cotangent {
            back += dot(&parts(&read(value)), &directions[k]);
        }
    }
    let close = if single { 1e-4 } else { 1e-9 };
    if (finite && back.is_nan()) || (along - back).abs() > close * (1.0 + along.abs()) {
        return Ok(Some(format!("vjp gives {back} along a direction, jvp {along}")));
    }
    Ok(None)
}

/// What is wrong with a primitive's batching, if anything.
fn batching_fault(case: &Case, random: &mut Random) -> Result<Option<String>, TransformError> {
    const SIZE: usize = 3;
    let which: Vec<bool> = case.inputs.iter().map(|_| random.below(3) > 0).collect();
    // Others like the input: its elements in another order.
    let others: Vec<Vec<HostTensor>> = case
        .inputs
        .iter()
        .map(|x| {
            let (all, count) = (x.values().unwrap(), x.count());
            let turned = |by: usize| {
                let places: Vec<usize> = (0..count).map(|i| (i + by) % count.max(1)).collect();
                HostTensor::from_values(x.dtype(), x.shape(), &all.select(&places)).unwrap()
            };
            (0..SIZE).map(turned).collect()
        })
        .collect();
    let one: Vec<Value> =
        case.inputs.iter().map(|x| Value::placeholder(Spec::new(x.dtype(), x.shape().clone()))).collect();
    let outputs = record(&case.primitive, &one);
    if outputs.iter().any(|v| v.spec().dtype.bits() < 8) {
        return Ok(None);
    }
    let mut batched = Vec::new();
    for (k, all) in others.iter().enumerate() {
        if !which[k] {
            batched.push(Batched { value: Value::constant(all[0].clone()), axis: None });
            continue;
        }
        let axis = random.below(all[0].rank() + 1);
        let wide: Vec<Value> = all
            .iter()
            .map(|x| {
                Value::record(
                    Primitive::ExpandDims(vec![axis]),
                    &[&Value::constant(x.clone())],
                    Place::Internal,
                )
                .unwrap()
            })
            .collect();
        let joined =
            Value::record(Primitive::Concatenate { axis }, &wide.iter().collect::<Vec<_>>(), Place::Internal)
                .unwrap();
        batched.push(Batched { value: joined, axis: Some(axis) });
    }
    let found = vmap(&outputs, &one, &batched, SIZE)?;
    let expected: Result<Vec<Vec<HostTensor>>, _> = (0..SIZE)
        .map(|i| {
            let inputs: Vec<HostTensor> =
                others.iter().zip(&which).map(|(all, &b)| all[if b { i } else { 0 }].clone()).collect();
            case.primitive.evaluate(&inputs)
        })
        .collect();
    let Ok(expected) = expected else { return Ok(None) };
    for (k, batched) in found.iter().enumerate() {
        let whole = read(&batched.value);
        for (i, results) in expected.iter().enumerate() {
            let item = match batched.axis {
                None => whole.clone(),
                Some(axis) => {
                    let mut start = vec![0; whole.rank()];
                    start[axis] = i;
                    let part =
                        whole.slice(&start, &vec![1; whole.rank()], &whole.shape().with(axis, 1)).unwrap();
                    part.contiguous().unwrap().reshape(results[k].shape()).unwrap()
                }
            };
            let tolerance = oneir_ir::verify::Tolerance::of(item.dtype());
            if let Some(at) = tolerance.first_difference(&results[k], &item) {
                return Ok(Some(format!(
                    "item {i} of result {k}, element {at}: {item:?}, a loop gives {:?}",
                    results[k]
                )));
            }
        }
    }
    Ok(None)
}

/// How often a rule was tried, by primitive, and what went wrong.
#[derive(Default)]
struct Found {
    tried: BTreeMap<&'static str, usize>,
    to_come: BTreeMap<&'static str, String>,
    faults: Vec<String>,
}

impl Found {
    fn add(&mut self, case: &Case, result: Result<Option<String>, TransformError>) {
        let name = case.primitive.name();
        match result {
            Ok(fault) => {
                *self.tried.entry(name).or_default() += 1;
                if let Some(fault) = fault {
                    let mut text = String::new();
                    case.primitive.write(&mut text);
                    let inputs: Vec<String> =
                        case.inputs.iter().map(|x| format!("{}{:?}", x.dtype(), x.shape())).collect();
                    self.faults.push(format!("{text} of {inputs:?}: {fault}"));
                }
            }
            Err(error @ (TransformError::ToCome { .. } | TransformError::Undefined { .. })) => {
                self.to_come.insert(name, error.to_string());
            }
            Err(error) => self.faults.push(format!("{name}: {error}")),
        }
    }

    fn check(self, what: &str, to_come: &[&str]) {
        let shown = self.faults.len().min(15);
        assert!(
            self.faults.is_empty(),
            "{} {what} faults:\n{}",
            self.faults.len(),
            self.faults[..shown].join("\n")
        );
        let missing: Vec<&str> = self.to_come.keys().copied().collect();
        assert_eq!(missing, to_come, "{what} to come; tried {:?}", self.tried);
    }
}

/// Primitives whose derivative is to come, or undefined.
const NO_DERIVATIVE: &[&str] = &["collective", "linalg", "quantize", "unary", "view", "while_loop"];

/// Primitives whose batching is to come, or undefined.
const NO_BATCHING: &[&str] = &["narrow"];

#[test]
fn derivatives_are_those_of_finite_differences() {
    let (mut random, mut found) = (Random(5), Found::default());
    for case in Primitive::cases() {
        let complex = case.inputs.iter().any(|x| x.dtype().is_complex());
        let fine = !matches!(case.expected, Expected::Refused(_) | Expected::Fails(_));
        let wide = if complex { None } else { in_f64(&case) };
        let Some(case) = wide.or_else(|| fine.then(|| case.clone())) else { continue };
        // Its derivative is other than its differences: that is what it is for.
        let stops = matches!(case.primitive, Primitive::StopGradient);
        // Extremes of complex numbers jump from one operand to the other.
        let extreme = matches!(case.primitive, Primitive::Binary(BinaryOp::Maximum | BinaryOp::Minimum));
        let stops = stops || (complex && extreme);
        let inexact = case.inputs.iter().any(|x| x.dtype().is_inexact());
        if inexact && !stops && case.inputs.iter().map(HostTensor::count).sum::<usize>() < 5000 {
            found.add(&case, derivative_fault(&case, &mut random));
        }
    }
    found.check("derivative", NO_DERIVATIVE);
}

#[test]
fn batches_give_what_loops_give() {
    let (mut random, mut found) = (Random(6), Found::default());
    for case in Primitive::cases() {
        let fine = !matches!(case.expected, Expected::Refused(_) | Expected::Fails(_));
        let whole = case.inputs.iter().all(|x| x.dtype().bits() >= 8);
        if fine && whole && case.inputs.iter().map(HostTensor::count).sum::<usize>() < 5000 {
            for _ in 0..2 {
                found.add(&case, batching_fault(&case, &mut random));
            }
        }
    }
    found.check("batching", NO_BATCHING);
}

/// Rules that cannot exist say so: the primitive's name and the reason.
#[test]
fn what_is_undefined_is_refused_by_name() {
    let refusals = |case: &Case| -> Vec<String> {
        let inputs: Vec<Value> =
            case.inputs.iter().map(|x| Value::placeholder(Spec::new(x.dtype(), x.shape().clone()))).collect();
        let specs: Vec<&Spec> = inputs.iter().map(Value::spec).collect();
        if case.primitive.infer(&specs).is_err() {
            return vec![];
        }
        let outputs = record(&case.primitive, &inputs);
        let ones = |values: &[Value]| -> Slots {
            let inexact = |v: &Value| v.spec().dtype.is_inexact();
            values.iter().map(|v| inexact(v).then(|| v.filled_like(1.0).unwrap())).collect()
        };
        let batched: Vec<Batched> = inputs
            .iter()
            .map(|v| {
                let shape: Vec<usize> = std::iter::once(2).chain(v.spec().shape.iter().copied()).collect();
                Batched { value: v.broadcast(&shape).unwrap(), axis: Some(0) }
            })
            .collect();
        let found = [
            jvp(&outputs, &inputs, &ones(&inputs)).err(),
            vjp(&outputs, &inputs, &ones(&outputs)).err(),
            vmap(&outputs, &inputs, &batched, 2).err(),
        ];
        found.into_iter().flatten().map(|e| e.to_string()).collect()
    };
    let found: Vec<String> = Primitive::cases().iter().flat_map(refusals).collect();
    for expected in [
        "`linalg` at an internal definition has no derivative: the vectors that complete u and vt",
        "`while_loop` at an internal definition has no derivative: in reverse, it needs the values of every",
        "`collective` at an internal definition has no derivative: what one member gets back",
        "`quantize` at an internal definition has no derivative: codes are integers",
        "`kernel` at an internal definition has no derivative: its source does not tell it",
        "`kernel` at an internal definition has no batching rule: its source is written for",
    ] {
        assert!(found.iter().any(|text| text.starts_with(expected)), "{expected}: {found:#?}");
    }
}
