//! Recording a case on leaves, computing it on tensors, and numbers to try.

use oneir_ir::graph::GraphError;
use oneir_ir::primitive::{Case, Expected, Slots};
use oneir_ir::transform::{TransformError, vjp};
use oneir_ir::{Cut, Place, Primitive, Spec, Value, reference};
use oneir_tensor::{DType, HostTensor, Values};

/// Numbers that look random: the same seed gives the same.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        ((self.0 >> 33) as usize) % n
    }

    /// Within ±1.
    pub(crate) fn numbers(&mut self, count: usize) -> Vec<f64> {
        (0..count).map(|_| self.below(2000) as f64 / 1000.0 - 1.0).collect()
    }

    /// A tensor of numbers within ±1.
    pub(crate) fn like(&mut self, spec: &Spec) -> HostTensor {
        let parts = spec.count() * if spec.dtype.is_complex() { 2 } else { 1 };
        of_parts(spec.dtype, &spec.shape, &self.numbers(parts))
    }
}

/// Numbers as they are, complex ones as pairs.
pub(crate) fn parts(x: &HostTensor) -> Vec<f64> {
    match x.values().unwrap() {
        Values::Complex(all) => all.iter().flat_map(|z| [z.re, z.im]).collect(),
        other => other.to_floats(),
    }
}

pub(crate) fn of_parts(dtype: DType, shape: &[usize], parts: &[f64]) -> HostTensor {
    if dtype.is_complex() {
        let bytes: Vec<u8> = parts.iter().flat_map(|&x| (x as f32).to_le_bytes()).collect();
        return HostTensor::from_bytes(dtype, shape, &bytes).unwrap();
    }
    HostTensor::from_values(dtype, shape, &Values::Float(parts.to_vec())).unwrap()
}

/// The tensor with each part of its numbers moved.
pub(crate) fn moved(x: &HostTensor, by: impl Iterator<Item = f64>) -> HostTensor {
    let all: Vec<f64> = parts(x).into_iter().zip(by).map(|(a, b)| a + b).collect();
    of_parts(x.dtype(), x.shape(), &all)
}

pub(crate) fn spec_of(x: &HostTensor) -> Spec {
    Spec::new(x.dtype(), x.shape().clone())
}

/// Whether values of this type change smoothly.
pub(crate) fn is_smooth(spec: &Spec) -> bool {
    spec.dtype.is_inexact()
}

/// The shapes and dtypes of the primitive's results.
pub(crate) fn results(primitive: &Primitive, inputs: &[HostTensor]) -> Option<Vec<Spec>> {
    let specs: Vec<Spec> = inputs.iter().map(spec_of).collect();
    primitive.infer(&specs.iter().collect::<Vec<_>>()).ok().map(|results| results.to_vec())
}

/// The case, where rules can be tried on it: none of what is refused, of data without
/// a result, of elements of less than a byte, and of large cases.
pub(crate) fn subject(case: &Case) -> Option<Case> {
    if matches!(case.expected, Expected::Refused(_))
        || matches!(case.expected, Expected::Fails(_)) && runs(case)
    {
        return None;
    }
    let results = results(&case.primitive, &case.inputs)?;
    let mut dtypes = case.inputs.iter().map(HostTensor::dtype).chain(results.iter().map(|s| s.dtype));
    let small = case.inputs.iter().map(HostTensor::count).sum::<usize>() < 5000;
    (dtypes.all(|d| d.bits() >= 8) && small).then(|| case.clone())
}

/// As [`subject`], in f64 where the primitive takes that, also in the place of whole
/// numbers; none with numbers of few digits, which have no differences to speak of.
pub(crate) fn smooth_subject(case: &Case) -> Option<Case> {
    let case = subject(case)?;
    let with_wide = |which: &dyn Fn(usize, &HostTensor) -> bool| -> Option<Vec<HostTensor>> {
        let one = |(k, x): (usize, &HostTensor)| match which(k, x) && !x.dtype().is_complex() {
            true => x.cast(DType::F64).ok(),
            false => Some(x.clone()),
        };
        case.inputs.iter().enumerate().map(one).collect()
    };
    let fits = |inputs: &Vec<HostTensor>| results(&case.primitive, inputs).is_some();
    let changes = |inputs: &Vec<HostTensor>| {
        results(&case.primitive, inputs).is_some_and(|results| results.iter().any(is_smooth))
    };
    // Beside large numbers a step is lost.
    let moderate = |x: &HostTensor| parts(x).iter().all(|x| x.abs() < 1000.0);
    let exact = !case.inputs.iter().any(|x| x.dtype().is_inexact()) && case.inputs.iter().all(moderate);
    let last = case.inputs.len().saturating_sub(1);
    let inputs = match exact {
        // What is moved or computed comes first and last, what says where between them.
        true => [0, 1, 2]
            .into_iter()
            .filter_map(|ends| with_wide(&|k, _| ends == 0 || k == 0 || (ends == 1 && k == last)))
            .find(changes),
        false => with_wide(&|_, x| x.dtype().is_float()).filter(fits),
    };
    let inputs = inputs.unwrap_or_else(|| case.inputs.clone());
    let results = results(&case.primitive, &inputs)?;
    let mut dtypes = inputs.iter().map(HostTensor::dtype).chain(results.iter().map(|s| s.dtype));
    (!dtypes.any(|d| d.is_half() || !d.computes())).then(|| Case { inputs, ..case.clone() })
}

/// Whether data could have a result here: what needs a group of processes, or a
/// user's source for the device, has rules that can only be recorded.
pub(crate) fn runs(case: &Case) -> bool {
    let outside = matches!(case.primitive, Primitive::Collective { .. } | Primitive::Kernel(_));
    !(outside && matches!(case.expected, Expected::Fails(_)))
}

/// Whether there is something to differentiate.
pub(crate) fn has_floats(case: &Case) -> bool {
    let changes = |s: &Spec| is_smooth(s) && s.count() > 0;
    case.inputs.iter().any(|x| changes(&spec_of(x)))
        && results(&case.primitive, &case.inputs).unwrap().iter().any(changes)
}

/// Whether some of the numbers have single precision.
pub(crate) fn is_single(specs: &[&Spec]) -> bool {
    specs.iter().any(|s| s.dtype.is_inexact() && s.dtype != DType::F64)
}

pub(crate) fn record(primitive: &Primitive, inputs: &[Value]) -> Vec<Value> {
    let inputs: Vec<&Value> = inputs.iter().collect();
    Value::record_all(primitive.clone(), &inputs, Place::Internal).unwrap().into_vec()
}

/// Leaves that a graph is recorded over, to be computed for tensors in their place.
pub(crate) fn leaves(tensors: &[HostTensor]) -> Vec<Value> {
    tensors.iter().map(|x| Value::placeholder(spec_of(x))).collect()
}

/// `outputs`, computed with tensors in place of leaves, or why the data has no
/// result.
pub(crate) fn computed(
    outputs: &[Value],
    leaves: &[Value],
    tensors: &[HostTensor],
) -> Result<Vec<HostTensor>, GraphError> {
    let lifted = Cut::new(leaves, outputs).lift().unwrap();
    let constants = lifted.leaves.iter().map(|v| v.as_constant().unwrap().clone());
    let all: Vec<HostTensor> = tensors.iter().cloned().chain(constants).collect();
    reference::run(&lifted.graph, &all)
}

/// What of slots is there, computed; none where data has no result.
pub(crate) fn filled(
    slots: &Slots,
    leaves: &[Value],
    tensors: &[HostTensor],
) -> Option<Vec<Option<HostTensor>>> {
    let there: Vec<Value> = slots.iter().flatten().cloned().collect();
    let mut found = computed(&there, leaves, tensors).ok()?.into_iter();
    Some(slots.iter().map(|slot| slot.as_ref().and_then(|_| found.next())).collect())
}

/// The reverse derivative of a case as a graph.
pub(crate) struct Reversed {
    /// Leaves for the inputs, and then for the cotangents of the results.
    pub(crate) given: Vec<Value>,
    /// Cotangents of the inputs; none for those that have zeros.
    pub(crate) found: Vec<Value>,
}

/// The cotangents of a case's inputs, given those of its results.
pub(crate) fn reversed(case: &Case) -> Result<Reversed, TransformError> {
    let inputs = leaves(&case.inputs);
    let outputs = record(&case.primitive, &inputs);
    let leaves: Slots =
        outputs.iter().map(|v| is_smooth(v.spec()).then(|| Value::placeholder(v.spec().clone()))).collect();
    let cotangents: Slots =
        leaves.iter().map(|leaf| leaf.as_ref().map(|leaf| sized(case, &inputs, leaf))).collect();
    let found = vjp(&outputs, &inputs, &cotangents)?;
    let given = inputs.into_iter().chain(leaves.into_iter().flatten()).collect();
    Ok(Reversed { given, found: found.into_iter().flatten().collect() })
}

/// A value that stands beside the case's result: of as many items, where only a run
/// knows how many there are.
pub(crate) fn sized(case: &Case, inputs: &[Value], value: &Value) -> Value {
    match case.primitive {
        Primitive::Narrow { .. } => record(&case.primitive, &[value.clone(), inputs[1].clone()]).remove(0),
        _ => value.clone(),
    }
}

/// Tensors for the leaves of [`Reversed`]: the case's inputs, moved a little, and
/// cotangents.
pub(crate) fn points(case: &Case, given: &[Value], random: &mut Random) -> Vec<HostTensor> {
    let one = |(k, leaf): (usize, &Value)| match case.inputs.get(k) {
        Some(x) if is_smooth(leaf.spec()) => {
            let noise = random.numbers(parts(x).len());
            moved(x, noise.into_iter().map(|n| 0.01 * n))
        }
        Some(x) => x.clone(),
        None => random.like(leaf.spec()),
    };
    given.iter().enumerate().map(one).collect()
}
