//! Operators whose results have a size that only their inputs' values tell.

use std::cmp::Ordering;

use oneir_array::{Array, HostTensor};
use oneir_tensor::Values;

use super::{Row, row};
use crate::OnnxError;
use crate::call::{Call, Results};
use crate::term::{Strings, Term};

pub(super) const ROWS: &[Row] =
    &[row!(Unique [11, 28] => unique), row!(NonMaxSuppression [10, 11] => non_max_suppression)];

/// The order of two elements; NaN comes last.
fn order(values: &Values, a: usize, b: usize) -> Ordering {
    match values {
        Values::Bool(v) => v[a].cmp(&v[b]),
        Values::Unsigned(v) => v[a].cmp(&v[b]),
        Values::Signed(v) => v[a].cmp(&v[b]),
        Values::Float(v) => v[a].partial_cmp(&v[b]).unwrap_or_else(|| v[a].is_nan().cmp(&v[b].is_nan())),
        Values::Complex(v) => v[a].re.total_cmp(&v[b].re).then(v[a].im.total_cmp(&v[b].im)),
    }
}

/// Which of two elements comes first.
type Compare = Box<dyn Fn(usize, usize) -> Ordering>;

fn unique(call: &Call<'_>) -> Results {
    let (shape, compare): (Vec<usize>, Compare) = match call.term(0)? {
        Term::Strings(strings) => {
            let values = strings.values.clone();
            (strings.shape.clone(), Box::new(move |a, b| values[a].cmp(&values[b])))
        }
        _ => {
            let host = call.host(0)?;
            let values = host.values().map_err(|e| call.fails(e.to_string()))?;
            (host.shape().to_vec(), Box::new(move |a, b| order(&values, a, b)))
        }
    };
    let count: usize = shape.iter().product();
    let axis = call.attributes().find_int("axis")?.map(|axis| call.axis(axis, shape.len())).transpose()?;
    // The elements of each item: one, or a slice across the axis.
    let (items, inner) = match axis {
        Some(axis) => (shape[axis], shape[axis + 1..].iter().product::<usize>()),
        None => (count, 1),
    };
    let places = |item: usize| -> Vec<usize> {
        if axis.is_none() {
            return vec![item];
        }
        let outer = count.checked_div(items * inner).unwrap_or(0);
        (0..outer).flat_map(|o| (0..inner).map(move |i| (o * items + item) * inner + i)).collect()
    };
    let members: Vec<Vec<usize>> = (0..items).map(places).collect();
    let order_of = |a: usize, b: usize| {
        let pairs = members[a].iter().zip(&members[b]);
        pairs.map(|(&a, &b)| compare(a, b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
    };
    let mut sorted: Vec<usize> = (0..items).collect();
    sorted.sort_by(|&a, &b| order_of(a, b));
    // Groups of equal items, each led by its first.
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for item in sorted {
        match groups.last_mut() {
            Some(group) if order_of(group[0], item).is_eq() => group.push(item),
            _ => groups.push(vec![item]),
        }
    }
    if call.attributes().int_or("sorted", 1)? == 0 {
        groups.sort_by_key(|group| group[0]);
    }
    let mut inverse = vec![0i64; items];
    for (at, group) in groups.iter().enumerate() {
        group.iter().for_each(|&item| inverse[item] = at as i64);
    }
    let first: Vec<i64> = groups.iter().map(|g| g[0] as i64).collect();
    let counts: Vec<i64> = groups.iter().map(|g| g.len() as i64).collect();
    let host = |v: Vec<i64>| -> Result<Term, OnnxError> {
        Ok(Term::Host(HostTensor::from_slice(&[v.len()], &v).map_err(|e| call.fails(e.to_string()))?))
    };
    let values = match (call.term(0)?, axis) {
        (Term::Strings(strings), None) => {
            let values = first.iter().map(|&at| strings.values[at as usize].clone()).collect();
            Term::Strings(Strings { shape: vec![first.len()], values })
        }
        (Term::Strings(_), Some(_)) => return Err(call.fails("strings have no slices to compare")),
        (_, axis) => {
            let x = call.array(0)?;
            let x = if axis.is_none() { x.reshape(&[-1]) } else { x };
            let taken = x.take(Array::from_slice(&first, &[first.len()]), axis.unwrap_or(0) as isize);
            call.checked(&taken)?;
            taken.into()
        }
    };
    Ok(vec![values, host(first)?, host(inverse)?, host(counts)?])
}

/// A box as its two corners.
fn corners(given: &[f64], centred: bool) -> [f64; 4] {
    let [a, b, c, d] = [given[0], given[1], given[2], given[3]];
    if centred {
        return [a - c / 2.0, b - d / 2.0, a + c / 2.0, b + d / 2.0];
    }
    [a.min(c), b.min(d), a.max(c), b.max(d)]
}

/// The area that two boxes share over the area that they cover.
fn overlap(a: [f64; 4], b: [f64; 4]) -> f64 {
    let side = |k: usize| (a[k + 2].min(b[k + 2]) - a[k].max(b[k])).max(0.0);
    let area = |r: [f64; 4]| (r[2] - r[0]) * (r[3] - r[1]);
    let shared = side(0) * side(1);
    let covered = area(a) + area(b) - shared;
    if covered > 0.0 { shared / covered } else { 0.0 }
}

fn non_max_suppression(call: &Call<'_>) -> Results {
    let read = |i: usize| -> Result<Vec<f64>, OnnxError> {
        Ok(call.host(i)?.values().map_err(|e| call.fails(e.to_string()))?.to_floats())
    };
    let (boxes, scores) = (read(0)?, read(1)?);
    let ([batches, count, 4], [_, classes, _]) = (&call.shape(0)?[..], &call.shape(1)?[..]) else {
        return Err(call.fails("boxes must be [batch, boxes, 4], and scores [batch, classes, boxes]"));
    };
    let (batches, count, classes) = (*batches, *count, *classes);
    if scores.len() != batches * classes * count {
        return Err(call.fails("there must be a score for every class of every box"));
    }
    let number = |i: usize, or: f64| if call.has(i) { call.number(i) } else { Ok(or) };
    let most = number(2, 0.0)?.max(0.0) as usize;
    let most_overlap = number(3, 0.0)?;
    let least = number(4, f64::NEG_INFINITY)?;
    let centred = call.attributes().int_or("center_point_box", 0)? != 0;
    let mut found: Vec<i64> = Vec::new();
    for batch in 0..batches {
        let at = |i: usize| corners(&boxes[(batch * count + i) * 4..][..4], centred);
        for class in 0..classes {
            let scores = &scores[(batch * classes + class) * count..][..count];
            let mut order: Vec<usize> = (0..count).filter(|&i| !call.has(4) || scores[i] > least).collect();
            order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
            let mut kept: Vec<usize> = Vec::new();
            for i in order {
                if kept.len() >= most {
                    break;
                }
                if kept.iter().all(|&k| overlap(at(k), at(i)) <= most_overlap) {
                    kept.push(i);
                }
            }
            for i in kept {
                found.extend([batch as i64, class as i64, i as i64]);
            }
        }
    }
    let made = HostTensor::from_slice(&[found.len() / 3, 3], &found);
    Ok(vec![Term::Host(made.map_err(|e| call.fails(e.to_string()))?)])
}
