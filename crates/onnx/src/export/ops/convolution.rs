//! Convolutions.

use oneir_ir::Primitive;

use super::super::attribute;
use super::super::draft::Draft;
use super::super::graph::{Site, Written};
use super::super::term::{Shown, Term};
use super::{Row, along, parameters, row};

pub(super) const ROWS: &[Row] = &[
    row!("convolution" => convolution, |site, _| along::first_alone(site, |axis| axis == 0)),
    row!("transposed_convolution" => transposed, |site, _| along::first_alone(site, |axis| axis == 0)),
];

/// Refuses what the operators do not convolve.
fn checked(site: &Site<'_>, op: &str) -> Result<(), String> {
    let x = &site.operands[0];
    match x.dtype() {
        dtype if !dtype.is_float() => Err(format!("{op} is of floats, found {dtype}")),
        _ if x.rank() < 3 => Err(format!("{op} needs a spatial dimension")),
        _ => Ok(()),
    }
}

/// `x` with zeros between the items of its spatial dimensions.
fn apart(d: &mut Draft, x: &Term, steps: &[usize]) -> Term {
    let mut x = x.clone();
    for (i, &step) in steps.iter().enumerate().filter(|&(_, &step)| step > 1) {
        let axis = i + 2;
        let size = x.shape[axis];
        if size < 2 {
            continue;
        }
        let batch = x.batch;
        let mut shape = x.shape.clone();
        shape.insert(axis + 1, 1);
        x = d.reshape(&x, &shape, batch);
        shape[axis + 1] = step;
        let mut pads = vec![0; 2 * shape.len()];
        pads[shape.len() + axis + 1] = step as i64 - 1;
        let pads = d.ints(pads);
        x = d.node("Pad", &[&x, &pads], vec![], (x.dtype, &shape));
        shape.remove(axis + 1);
        shape[axis] = size * step;
        x = d.reshape(&x, &shape, batch);
        x = d.slice(&x, &[(axis, 0, 1, (size - 1) * step + 1)]);
    }
    x
}

fn convolution(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(
        primitive,
        Primitive::Convolution { strides, low, high, dilations, input_dilations, groups, flip }
    );
    checked(site, "Conv")?;
    let (x, weight) = (site.term(0), site.term(1));
    let x = apart(site.draft, &x, input_dilations);
    let weight = if *flip { site.draft.reversed(&weight, 2..weight.rank()) } else { weight };
    let attributes = vec![
        attribute::ints("kernel_shape", weight.shape[2..].iter().copied()),
        attribute::ints("strides", strides.iter().copied()),
        attribute::ints("pads", low.iter().chain(high).copied()),
        attribute::ints("dilations", dilations.iter().copied()),
        attribute::int("group", *groups as i64),
    ];
    Ok(vec![Shown::plain(site.node("Conv", &[&x, &weight], attributes))])
}

fn transposed(site: &mut Site<'_>, primitive: &Primitive) -> Written {
    parameters!(
        primitive,
        Primitive::TransposedConvolution { strides, low, high, dilations, output_padding, groups }
    );
    checked(site, "ConvTranspose")?;
    let (x, weight) = (site.term(0), site.term(1));
    // What is added after the result is first not cut off; beyond that it is zeros.
    let rank = strides.len();
    let cut: Vec<usize> = (0..rank).map(|i| high[i].saturating_sub(output_padding[i])).collect();
    let more: Vec<usize> = (0..rank).map(|i| output_padding[i].saturating_sub(high[i])).collect();
    let mut shape = site.shape();
    for (i, more) in more.iter().enumerate() {
        shape[i + 2] -= more;
    }
    let attributes = vec![
        attribute::ints("kernel_shape", weight.shape[2..].iter().copied()),
        attribute::ints("strides", strides.iter().copied()),
        attribute::ints("pads", low.iter().chain(&cut).copied()),
        attribute::ints("dilations", dilations.iter().copied()),
        attribute::int("group", *groups as i64),
    ];
    let d = &mut *site.draft;
    let made = d.node("ConvTranspose", &[&x, &weight], attributes, (x.dtype, &shape));
    if more.iter().all(|&n| n == 0) {
        return Ok(vec![Shown::plain(made)]);
    }
    let pads = [0; 2].into_iter().chain(vec![0; rank]).chain([0; 2]).chain(more.iter().map(|&n| n as i64));
    let pads = d.ints(pads);
    Ok(vec![Shown::plain(site.node("Pad", &[&made, &pads], vec![]))])
}
