//! What computes nothing, and numbers made from parameters alone.

use oneir_ir::Primitive;
use oneir_ir::primitive::CollectiveKind;
use oneir_tensor::{DType, HostTensor, Values};

use super::super::graph::{Site, Written};
use super::super::term::Shown;
use super::{Row, along, parameters, row};

pub(super) const ROWS: &[Row] = &[
    row!("stop_gradient" => first, |site, _| along::first_alone(site, |_| true)),
    row!("copy" => first, |site, _| along::first_alone(site, |_| true)),
    row!("depends" => first),
    row!("custom" => custom),
    row!("collective" => collective, |site, _| along::first_alone(site, |_| true)),
    row!("iota" => iota),
];

/// How many elements lie along axes: a number, where a batch's is not among them.
pub(in crate::export) fn counted(site: &mut Site<'_>, primitive: &Primitive) -> Option<Shown> {
    let Primitive::AxisCount { axes, dtype } = primitive else { return None };
    let x = &site.operands[0];
    if x.batch().is_some_and(|axis| axes.contains(&axis)) {
        return None;
    }
    let shape = x.shape();
    let count: usize = axes.iter().map(|&axis| shape[axis]).product();
    Some(Shown::plain(site.draft.number(*dtype, count as f64)))
}

fn first(site: &mut Site<'_>, _: &Primitive) -> Written {
    Ok(vec![site.operands[0].clone()])
}

fn custom(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Custom(call));
    Ok(site.operands[call.primals..].to_vec())
}

fn collective(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Collective { op, .. });
    let alone = op.members == 1 && !matches!(op.kind, CollectiveKind::Send | CollectiveKind::Recv);
    if alone { first(site, primitive) } else { Err("the standard has no groups of processes".into()) }
}

/// Ranges up to this length are constants.
const LISTED: usize = 1 << 16;

fn iota(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(primitive, Primitive::Iota { dtype, shape, axis });
    let len = shape[*axis];
    let mut line = vec![1; shape.len()];
    line[*axis] = len;
    let d = &mut *site.draft;
    let range = if len <= LISTED {
        let numbers = Values::Float((0..len).map(|i| i as f64).collect()).convert(*dtype);
        d.constant(HostTensor::from_values(*dtype, &[len], &numbers).map_err(|e| e.to_string())?)
    } else {
        let ends = [0.0, len as f64, 1.0].map(|n| d.number(DType::I64, n));
        let all = d.node("Range", &[&ends[0], &ends[1], &ends[2]], vec![], (DType::I64, &[len]));
        d.cast(&all, *dtype)
    };
    let range = d.reshape(&range, &line, None);
    Ok(vec![Shown::plain(range).spread(shape)])
}
