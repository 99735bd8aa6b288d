//! Control flow: bodies become graphs of attributes, which read what they capture
//! from outside.

use oneir_ir::Primitive;
use oneir_tensor::{DType, HostTensor};

use super::super::attribute;
use super::super::error::Refusal;
use super::super::graph::{Site, Written};
use super::super::term::{Shown, Term};
use super::{Row, parameters, row};

pub(super) const ROWS: &[Row] = &[
    row!("if_else" => if_else),
    row!("while_loop" => while_loop),
    row!("scan_over" => scan_over),
    row!("narrow" => narrow),
];

/// All operands from `from` on, with nothing left to be written: inside a body, that
/// would be written each time.
fn settled(site: &mut Site<'_>, from: usize) -> Vec<Shown> {
    (from..site.operands.len()).map(|i| Shown::plain(site.term(i))).collect()
}

fn plain(site: &mut Site<'_>, all: Vec<Shown>) -> Result<Vec<Term>, Refusal> {
    Ok(all.iter().map(|shown| site.draft.settle(shown)).collect())
}

fn results(site: &Site<'_>) -> Vec<(DType, Vec<usize>)> {
    site.results.iter().map(|spec| (spec.dtype, spec.shape.to_vec())).collect()
}

fn if_else(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::If { then, otherwise });
    let condition = site.term(0);
    let captured = settled(site, 1);
    let (yes, _) = site.subgraph("then", then, &[], &captured, plain)?;
    let (no, _) = site.subgraph("otherwise", otherwise, &[], &captured, plain)?;
    let attributes = vec![attribute::graph("then_branch", yes), attribute::graph("else_branch", no)];
    let all = site.draft.nodes("If", &[&condition], attributes, &results(site));
    Ok(all.into_iter().map(Shown::plain).collect())
}

/// Names inside a body for values of these shapes.
fn given(site: &mut Site<'_>, like: &[Term]) -> Vec<Term> {
    like.iter().map(|term| Term { name: site.draft.fresh("carried"), ..term.clone() }).map(bare).collect()
}

fn bare(term: Term) -> Term {
    Term { batch: None, value: None, label: None, ..term }
}

fn while_loop(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::While { condition, body, carried });
    let all = settled(site, 0);
    let (start, captured) = all.split_at(*carried);
    let first: Vec<Term> = start.iter().map(|shown| shown.base.clone()).collect();
    // Whether to begin at all is asked outside.
    let begin = site.inline(condition.graph(), all.clone())?;
    let begin = site.draft.settle(&begin[0]);
    let inside = given(site, &first);
    let ask = |site: &mut Site<'_>, next: Vec<Shown>| {
        let next = plain(site, next)?;
        let inputs = next.iter().cloned().map(Shown::plain).chain(captured.iter().cloned()).collect();
        let again = site.inline(condition.graph(), inputs)?;
        let again = site.draft.settle(&again[0]);
        Ok([vec![again], next].concat())
    };
    let (mut graph, _) = site.subgraph("body", body, &inside, captured, ask)?;
    let counter = Term { name: site.draft.fresh("turn"), dtype: DType::I64, ..Term::absent() };
    let going = Term { name: site.draft.fresh("going"), dtype: DType::Bool, ..Term::absent() };
    graph.input = super::super::model::infos([&counter, &going].into_iter().chain(&inside));
    let inputs: Vec<Term> = [Term::absent(), begin].into_iter().chain(first).collect();
    let refs: Vec<&Term> = inputs.iter().collect();
    let made = site.draft.nodes("Loop", &refs, vec![attribute::graph("body", graph)], &results(site));
    Ok(made.into_iter().map(Shown::plain).collect())
}

fn scan_over(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::ScanOver { body, carried, scanned, reverse });
    let all = settled(site, 0);
    let (given_values, captured) = all.split_at(carried + scanned);
    let outer: Vec<Term> = given_values.iter().map(|shown| shown.base.clone()).collect();
    if *scanned == 0 {
        return Err("a scan over nothing has no operator".into());
    }
    if outer[*carried].shape.first() == Some(&0) {
        // No step is taken: what is carried stays, and nothing is stacked.
        let mut all = given_values[..*carried].to_vec();
        for spec in &site.results[*carried..] {
            let empty = HostTensor::zeros(spec.dtype, &spec.shape).map_err(|e| e.to_string())?;
            all.push(Shown::plain(site.draft.constant(empty)));
        }
        return Ok(all);
    }
    let mut inside = given(site, &outer);
    for term in &mut inside[*carried..] {
        term.shape.remove(0);
    }
    let (mut graph, made) = site.subgraph("body", body, &inside, captured, plain)?;
    graph.input = super::super::model::infos(inside.iter());
    let direction = usize::from(*reverse);
    let attributes = vec![
        attribute::graph("body", graph),
        attribute::int("num_scan_inputs", *scanned as i64),
        attribute::ints("scan_input_directions", vec![direction; *scanned]),
        attribute::ints("scan_output_directions", vec![direction; made.len() - carried]),
    ];
    let refs: Vec<&Term> = outer.iter().collect();
    let made = site.draft.nodes("Scan", &refs, attributes, &results(site));
    Ok(made.into_iter().map(Shown::plain).collect())
}

/// A part whose size is data: where nothing but the caller reads it.
fn narrow(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Narrow { axis });
    if !site.last {
        return Err("its size is data, and what reads it needs sizes".into());
    }
    let (x, count) = (site.term(0), site.term(1));
    let d = &mut *site.draft;
    let count = d.cast(&count, DType::I64);
    let end = d.reshape(&count, &[1], None);
    let (start, along) = (d.ints([0]), d.ints([*axis as i64]));
    let term = site.node("Slice", &[&x, &start, &end, &along], vec![]);
    site.draft.sizes.insert((term.name.clone(), *axis), format!("{}_size", term.name));
    Ok(vec![Shown::plain(term)])
}
