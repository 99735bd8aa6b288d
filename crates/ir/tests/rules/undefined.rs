//! What has no rule, for a reason.

use oneir_ir::primitive::{Batched, Case, Slots};
use oneir_ir::transform::{jvp, vjp, vmap};
use oneir_ir::{Primitive, Spec, Value};

use crate::calls::{leaves, record};

/// Rules that cannot exist say so: the primitive's name and the reason.
#[test]
fn what_is_undefined_is_refused_by_name() {
    let refusals = |case: &Case| -> Vec<String> {
        let inputs = leaves(&case.inputs);
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
        "`linalg` at an internal definition has no derivative: the vectors that complete u or vt",
        "`while_loop` at an internal definition has no derivative: in reverse, it needs the values of every",
        "`collective` at an internal definition has no derivative: what one member gets back",
        "`view` at an internal definition has no derivative: bytes read as another element type",
        "`narrow` at an internal definition has no batching rule: each item of the batch could have",
        "`kernel` at an internal definition has no derivative: its source does not tell it",
        "`kernel` at an internal definition has no batching rule: its source is written for",
    ] {
        assert!(found.iter().any(|text| text.starts_with(expected)), "{expected}: {found:#?}");
    }
}
