//! Rules of every primitive, on the cases that it brings: derivatives against finite
//! differences, batches against a loop, and both of each other.
//!
//! Every rule either agrees with what it is compared with in at least one case, or
//! says why there is no such rule. What was found goes to the file that
//! `ONEIR_RULES_STATUS` names, from which `scripts/rules_page.py` writes
//! `docs/rules.md`.

mod batches;
mod calls;
mod derivatives;
mod exact;
mod found;
mod members;
mod twice;
mod undefined;

use std::collections::BTreeMap;
use std::hash::DefaultHasher;
use std::sync::LazyLock;

use calls::{smooth_subject, subject};
use found::{Found, row};
use oneir_ir::Primitive;

static JVP: LazyLock<Found> = LazyLock::new(|| Found::of("jvp", smooth_subject, derivatives::forward));
static VJP: LazyLock<Found> = LazyLock::new(|| Found::of("vjp", smooth_subject, derivatives::reverse));
static VMAP: LazyLock<Found> = LazyLock::new(|| Found::of("vmap", subject, batches::vmap_of_call));
static VMAP_OF_VJP: LazyLock<Found> =
    LazyLock::new(|| Found::of("vmap of vjp", smooth_subject, batches::vmap_of_vjp));
static JVP_OF_VJP: LazyLock<Found> =
    LazyLock::new(|| Found::of("jvp of vjp", smooth_subject, twice::jvp_of_vjp));

#[test]
fn tangents_are_those_of_finite_differences() {
    JVP.check();
}

#[test]
fn cotangents_are_those_of_finite_differences() {
    VJP.check();
}

#[test]
fn batches_give_what_loops_give() {
    VMAP.check();
}

#[test]
fn a_batch_of_cotangents_is_a_loop_of_them() {
    VMAP_OF_VJP.check();
}

#[test]
fn derivatives_of_derivatives_are_those_of_differences() {
    JVP_OF_VJP.check();
}

/// What holds sizes would be wrong on other shapes.
#[test]
fn primitives_that_hold_sizes_say_so() {
    for case in Primitive::cases() {
        let mut sizes = Vec::new();
        case.primitive.hash_form(&mut DefaultHasher::new(), &mut sizes);
        assert!(sizes.is_empty() || case.primitive.fixes_shape(), "{:?} holds {sizes:?}", case.primitive);
    }
}

#[test]
fn the_status_is_written() {
    let all = [&*JVP, &*VJP, &*VMAP, &*VMAP_OF_VJP, &*JVP_OF_VJP];
    let mut rows: BTreeMap<String, bool> = BTreeMap::new();
    for case in Primitive::cases() {
        *rows.entry(row(&case.primitive)).or_default() |= case.primitive.fixes_shape();
    }
    let lines: Vec<String> = rows
        .iter()
        .map(|(row, fixed)| {
            let rules: Vec<String> =
                all.iter().map(|found| format!("{:?}: {}", found.rule, found.of_row(row))).collect();
            format!("{row:?}: {{{}, \"fixes_shape\": {fixed}}}", rules.join(", "))
        })
        .collect();
    let text = format!("{{\n{}\n}}\n", lines.join(",\n"));
    assert_eq!(text.lines().count(), rows.len() + 2);
    if let Some(path) = std::env::var_os("ONEIR_RULES_STATUS") {
        std::fs::write(path, text).unwrap();
    }
}
