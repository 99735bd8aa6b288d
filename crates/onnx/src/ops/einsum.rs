//! Sums of products named by letters.

use oneir_array::{Array, DType};

use super::product::whole;
use super::{Row, row};
use crate::OnnxError;
use crate::call::{Call, Results};

pub(super) const ROWS: &[Row] = &[row!(Einsum [12, 28] => einsum)];

/// A factor, and the label of each of its axes.
struct Factor {
    array: Array,
    labels: Vec<char>,
}

/// Labels of the dimensions that an ellipsis stands for, from the last one.
fn hidden(from_end: usize) -> char {
    char::from_u32('\u{E000}' as u32 + from_end as u32).unwrap_or('\u{E000}')
}

/// A term's labels for `rank` dimensions; `None` when they do not fit.
fn labels(term: &str, rank: usize) -> Option<Vec<char>> {
    let (before, after) = match term.split_once("...") {
        Some((before, after)) => (before, Some(after)),
        None => (term, None),
    };
    let named = before.chars().count() + after.map_or(0, |a| a.chars().count());
    let rest = rank.checked_sub(named)?;
    if after.is_none() && rest != 0 {
        return None;
    }
    let all: Vec<char> =
        before.chars().chain((0..rest).rev().map(hidden)).chain(after.unwrap_or("").chars()).collect();
    all.iter().all(|c| c.is_alphabetic() || *c >= '\u{E000}').then_some(all)
}

impl Factor {
    /// With each label once: of a repeated one, the diagonal.
    fn once(mut self) -> Factor {
        while let Some((i, j)) = (0..self.labels.len()).find_map(|i| {
            (i + 1..self.labels.len()).find(|&j| self.labels[i] == self.labels[j]).map(|j| (i, j))
        }) {
            let size = self.array.shape()[i];
            let mut slice = self.array.shape().to_vec();
            (slice[i], slice[j]) = (1, 1);
            let index = Array::arange(size, DType::I64);
            let diagonal = self.array.gather(&[index.clone(), index], &[i, j], &slice);
            let rest: Vec<char> =
                (0..self.labels.len()).filter(|&k| k != i && k != j).map(|k| self.labels[k]).collect();
            self.array = diagonal.squeeze([i as isize + 1, j as isize + 1]);
            self.labels = std::iter::once(self.labels[i]).chain(rest).collect();
        }
        self
    }

    /// Without the labels that nothing else reads: they are summed over.
    fn summed(mut self, keep: &dyn Fn(char) -> bool) -> Factor {
        let axes: Vec<isize> =
            (0..self.labels.len()).filter(|&k| !keep(self.labels[k])).map(|k| k as isize).collect();
        if !axes.is_empty() {
            self.array = self.array.sum(&axes, false);
            self.labels.retain(|&label| keep(label));
        }
        self
    }

    /// Axes in the order of `labels`, size 1 where there is none.
    fn ordered(&self, labels: &[char]) -> Array {
        let present: Vec<isize> = labels
            .iter()
            .filter_map(|l| self.labels.iter().position(|m| m == l))
            .map(|at| at as isize)
            .collect();
        let missing: Vec<isize> =
            (0..labels.len()).filter(|&k| !self.labels.contains(&labels[k])).map(|k| k as isize).collect();
        self.array.transpose(&present).expand_dims(&missing)
    }

    fn size(&self, label: char) -> usize {
        self.labels.iter().position(|&l| l == label).map_or(1, |at| self.array.shape()[at])
    }

    /// The product with another, as a batch of matrix products, summed over
    /// the labels that nothing else reads.
    fn times(self, other: Factor, keep: &dyn Fn(char) -> bool) -> Factor {
        let (a, b) = (
            self.summed_unless(&other, keep),
            // Labels of size 1 broadcast, and so stay on their side.
            other,
        );
        let b = b.summed_unless(&a, keep);
        let shared = |l: char| a.labels.contains(&l) && b.labels.contains(&l);
        let inner: Vec<char> =
            a.labels.iter().copied().filter(|&l| shared(l) && !keep(l) && a.size(l) == b.size(l)).collect();
        let batch: Vec<char> =
            a.labels.iter().copied().filter(|&l| shared(l) && !inner.contains(&l)).collect();
        let left: Vec<char> = a.labels.iter().copied().filter(|&l| !shared(l)).collect();
        let right: Vec<char> = b.labels.iter().copied().filter(|&l| !shared(l)).collect();
        let count = |f: &Factor, labels: &[char]| labels.iter().map(|&l| f.size(l)).product::<usize>();
        let joined = |parts: [&[char]; 3]| parts.concat();
        let shape = |f: &Factor, last: [usize; 2]| -> Vec<isize> {
            batch.iter().map(|&l| f.size(l)).chain(last).map(|n| n as isize).collect()
        };
        let rows = count(&a, &left);
        let cols = count(&b, &right);
        let depth = count(&a, &inner);
        let x = a.ordered(&joined([&batch, &left, &inner])).reshape(&shape(&a, [rows, depth]));
        let y = b.ordered(&joined([&batch, &inner, &right])).reshape(&shape(&b, [depth, cols]));
        let product = whole(&x, &y, Array::matmul);
        let labels = joined([&batch, &left, &right]);
        let sizes: Vec<isize> = labels.iter().map(|&l| a.size(l).max(b.size(l)) as isize).collect();
        let made = Factor { array: product.reshape(&sizes), labels };
        made.summed(keep)
    }

    /// Without the labels that neither `other` nor anything else reads.
    fn summed_unless(self, other: &Factor, keep: &dyn Fn(char) -> bool) -> Factor {
        self.summed(&|label| keep(label) || other.labels.contains(&label))
    }
}

fn einsum(call: &Call<'_>) -> Results {
    let equation: String =
        call.attributes().string("equation")?.chars().filter(|c| !c.is_whitespace()).collect();
    let wrong = || -> OnnxError { call.fails(format!("equation {equation} does not fit the inputs")) };
    let (terms, output) = match equation.split_once("->") {
        Some((terms, output)) => (terms, Some(output)),
        None => (equation.as_str(), None),
    };
    let terms: Vec<&str> = terms.split(',').collect();
    if terms.len() != call.inputs.len() {
        return Err(wrong());
    }
    let mut factors = Vec::new();
    for (i, term) in terms.iter().enumerate() {
        let array = call.array(i)?;
        let labels = labels(term, array.ndim()).ok_or_else(wrong)?;
        factors.push(Factor { array, labels });
    }
    let all: Vec<char> = factors.iter().flat_map(|f| f.labels.clone()).collect();
    let ellipsis =
        all.iter().filter(|&&l| l >= '\u{E000}').map(|&l| l as usize - 0xE000 + 1).max().unwrap_or(0);
    let output = match output {
        Some(output) => {
            let named = output.replace("...", "").chars().count();
            let rank = named + if output.contains("...") { ellipsis } else { 0 };
            labels(output, rank).ok_or_else(wrong)?
        }
        // Without an arrow: what stands once, in alphabetical order.
        None => {
            let mut once: Vec<char> = all
                .iter()
                .copied()
                .filter(|l| *l < '\u{E000}' && all.iter().filter(|m| *m == l).count() == 1)
                .collect();
            once.sort_unstable();
            (0..ellipsis).rev().map(hidden).chain(once).collect()
        }
    };
    if output.iter().any(|l| !all.contains(l)) {
        return Err(wrong());
    }
    let mut rest = factors.into_iter().map(Factor::once).collect::<Vec<_>>().into_iter();
    let Some(mut product) = rest.next() else { return Err(wrong()) };
    while let Some(next) = rest.next() {
        let later: Vec<char> = rest.as_slice().iter().flat_map(|f| f.labels.clone()).collect();
        product = product.times(next, &|label| output.contains(&label) || later.contains(&label));
    }
    let product = product.summed(&|label| output.contains(&label));
    call.one(product.ordered(&output))
}
