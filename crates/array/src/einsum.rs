//! Sums of products named by letters, and the order in which they are formed.

use crate::products::whole;
use crate::{Array, ArrayError, DType, Reason};

/// Up to this many operands, every order is looked at.
const EXHAUSTIVE: usize = 6;

/// Labels of dimensions that an ellipsis stands for begin here.
const HIDDEN: char = '\u{E000}';

/// The label of the dimension that is `from_end` from the last of an ellipsis.
fn hidden(from_end: usize) -> char {
    char::from_u32(HIDDEN as u32 + from_end as u32).unwrap_or(HIDDEN)
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
    all.iter().all(|c| c.is_alphabetic() || *c >= HIDDEN).then_some(all)
}

/// The labels of each operand and of the result.
struct Equation {
    terms: Vec<Vec<char>>,
    output: Vec<char>,
}

impl Equation {
    /// Reads an equation for operands of these shapes.
    fn read(subscripts: &str, shapes: &[Vec<usize>]) -> Result<Equation, Reason> {
        let wrong = |why: String| Reason::Parameters(format!("equation `{subscripts}`: {why}"));
        let equation: String = subscripts.chars().filter(|c| !c.is_whitespace()).collect();
        let (left, output) = match equation.split_once("->") {
            Some((left, output)) => (left, Some(output)),
            None => (equation.as_str(), None),
        };
        let parts: Vec<&str> = left.split(',').collect();
        if parts.len() != shapes.len() {
            return Err(wrong(format!("{} terms for {} operands", parts.len(), shapes.len())));
        }
        let mut terms = Vec::with_capacity(parts.len());
        for (term, shape) in parts.into_iter().zip(shapes) {
            let found = labels(term, shape.len())
                .ok_or_else(|| wrong(format!("`{term}` does not fit shape {shape:?}")))?;
            terms.push(found);
        }
        let all: Vec<char> = terms.concat();
        let ellipsis = all
            .iter()
            .filter(|&&l| l >= HIDDEN)
            .map(|&l| l as usize - HIDDEN as usize + 1)
            .max()
            .unwrap_or(0);
        let output = match output {
            Some(output) => {
                let named = output.replace("...", "").chars().count();
                let rank = named + if output.contains("...") { ellipsis } else { 0 };
                labels(output, rank).ok_or_else(|| wrong(format!("`{output}` names no result")))?
            }
            // Without an arrow: what stands once, in alphabetical order.
            None => {
                let mut once: Vec<char> = all
                    .iter()
                    .copied()
                    .filter(|l| *l < HIDDEN && all.iter().filter(|m| *m == l).count() == 1)
                    .collect();
                once.sort_unstable();
                (0..ellipsis).rev().map(hidden).chain(once).collect()
            }
        };
        if let Some(label) = output.iter().find(|l| !all.contains(l)) {
            return Err(wrong(format!("no operand has the result's `{label}`")));
        }
        if let Some(i) = (0..output.len()).find(|&i| output[..i].contains(&output[i])) {
            return Err(wrong(format!("the result has `{}` twice", output[i])));
        }
        let mut sizes: Vec<(char, usize)> = Vec::new();
        for (&label, &size) in terms.iter().zip(shapes).flat_map(|(term, shape)| term.iter().zip(shape)) {
            match sizes.iter_mut().find(|(known, _)| *known == label) {
                Some((_, known)) if *known == 1 => *known = size,
                Some((_, known)) if *known != size && size != 1 => {
                    return Err(wrong(format!("`{label}` is {known} and {size}")));
                }
                Some(_) => {}
                None => sizes.push((label, size)),
            }
        }
        Ok(Equation { terms, output })
    }
}

/// The labels of operands that are still to be multiplied, and their sizes.
struct Plan<'a> {
    output: &'a [char],
    sizes: Vec<(char, f64)>,
}

impl Plan<'_> {
    /// How many multiplications and additions labels ask for.
    fn count(&self, labels: &[char], summed: bool) -> f64 {
        let each = self.sizes.iter().filter(|(l, _)| labels.contains(l)).map(|(_, n)| n).product::<f64>();
        if summed { 2.0 * each } else { each }
    }

    /// The labels that the product of two operands keeps, and what it costs.
    fn pair(&self, terms: &[Vec<char>], i: usize, j: usize) -> (Vec<char>, f64) {
        let mut all = terms[i].clone();
        all.extend(terms[j].iter().filter(|l| !terms[i].contains(l)));
        let later = |l: &char| {
            self.output.contains(l)
                || terms.iter().enumerate().any(|(k, term)| k != i && k != j && term.contains(l))
        };
        let kept: Vec<char> = all.iter().copied().filter(later).collect();
        let cost = self.count(&all, kept.len() < all.len());
        (kept, cost)
    }

    /// The operands without two, and with their product last.
    fn after(terms: &[Vec<char>], i: usize, j: usize, kept: Vec<char>) -> Vec<Vec<char>> {
        let rest = terms.iter().enumerate().filter(|(k, _)| *k != i && *k != j).map(|(_, term)| term.clone());
        rest.chain([kept]).collect()
    }

    /// Of all orders the cheapest that costs less than `limit`.
    fn best(&self, terms: &[Vec<char>], limit: f64) -> Option<(Vec<[usize; 2]>, f64)> {
        if terms.len() < 2 {
            return (limit > 0.0).then(|| (Vec::new(), 0.0));
        }
        let mut found: Option<(Vec<[usize; 2]>, f64)> = None;
        for i in 0..terms.len() {
            for j in i + 1..terms.len() {
                let (kept, cost) = self.pair(terms, i, j);
                let limit = found.as_ref().map_or(limit, |(_, cost)| *cost);
                if cost >= limit {
                    continue;
                }
                if let Some((mut rest, more)) = self.best(&Plan::after(terms, i, j, kept), limit - cost) {
                    rest.insert(0, [i, j]);
                    found = Some((rest, cost + more));
                }
            }
        }
        found
    }

    /// The cheapest pair at each step, of equals the one with the smaller
    /// product.
    fn greedy(&self, mut terms: Vec<Vec<char>>) -> (Vec<[usize; 2]>, f64) {
        let (mut path, mut total) = (Vec::new(), 0.0);
        while terms.len() > 1 {
            let mut choice: Option<(f64, f64, [usize; 2], Vec<char>)> = None;
            for i in 0..terms.len() {
                for j in i + 1..terms.len() {
                    let (kept, cost) = self.pair(&terms, i, j);
                    let size = self.count(&kept, false);
                    if choice.as_ref().is_none_or(|(c, s, ..)| (cost, size) < (*c, *s)) {
                        choice = Some((cost, size, [i, j], kept));
                    }
                }
            }
            let Some((cost, _, [i, j], kept)) = choice else { break };
            total += cost;
            path.push([i, j]);
            terms = Plan::after(&terms, i, j, kept);
        }
        (path, total)
    }

    /// The order in which operands are multiplied, and what it costs.
    fn path(&self, terms: &[Vec<char>]) -> (Vec<[usize; 2]>, f64) {
        let greedy = self.greedy(terms.to_vec());
        if terms.len() > EXHAUSTIVE {
            return greedy;
        }
        self.best(terms, greedy.1).unwrap_or(greedy)
    }
}

/// The order of the products of an equation, and what it costs.
struct Order {
    path: Vec<[usize; 2]>,
    cost: f64,
    naive: f64,
}

fn order(equation: &Equation, shapes: &[Vec<usize>]) -> Order {
    let mut sizes: Vec<(char, f64)> = Vec::new();
    for (&label, &size) in equation.terms.iter().zip(shapes).flat_map(|(term, shape)| term.iter().zip(shape))
    {
        match sizes.iter_mut().find(|(known, _)| *known == label) {
            Some((_, known)) => *known = if *known == 1.0 { size as f64 } else { *known },
            None => sizes.push((label, size as f64)),
        }
    }
    let all: Vec<char> = sizes.iter().map(|(label, _)| *label).collect();
    let plan = Plan { output: &equation.output, sizes };
    let each =
        (equation.terms.len() as f64 - 1.0).max(0.0) + f64::from(u8::from(all.len() > equation.output.len()));
    let naive = plan.count(&all, false) * each.max(1.0);
    let once: Vec<Vec<char>> = equation
        .terms
        .iter()
        .map(|term| (0..term.len()).filter(|&i| !term[..i].contains(&term[i])).map(|i| term[i]).collect())
        .collect();
    let (path, cost) = plan.path(&once);
    Order { cost: if path.is_empty() { naive } else { cost }, path, naive }
}

/// A factor, and the label of each of its axes.
struct Factor {
    array: Array,
    labels: Vec<char>,
}

impl Factor {
    /// With each label once: of a repeated one, the diagonal.
    #[track_caller]
    fn once(mut self) -> Factor {
        while let Some((i, j)) = repeated(&self.labels) {
            let shape = self.array.shape();
            let mut slice = shape.to_vec();
            // One of both may be 1, and then stands for the other's places.
            let size = if shape[i] == 1 { shape[j] } else { shape[i] };
            (slice[i], slice[j]) = (1, 1);
            let along = |axis: usize| {
                let index = Array::arange(size, DType::I64);
                if shape[axis] == 1 { index.zeros_like(None) } else { index }
            };
            let diagonal = self.array.gather(&[along(i), along(j)], &[i, j], &slice);
            let rest: Vec<char> =
                (0..self.labels.len()).filter(|&k| k != i && k != j).map(|k| self.labels[k]).collect();
            self.array = diagonal.squeeze([i as isize + 1, j as isize + 1]);
            self.labels = std::iter::once(self.labels[i]).chain(rest).collect();
        }
        self
    }

    /// Without the labels that nothing else reads: they are summed over.
    #[track_caller]
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
    #[track_caller]
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
    #[track_caller]
    fn times(self, other: Factor, keep: &dyn Fn(char) -> bool) -> Factor {
        let a = self.summed_unless(&other, keep);
        let b = other.summed_unless(&a, keep);
        let shared = |l: char| a.labels.contains(&l) && b.labels.contains(&l);
        // Labels of size 1 on one side broadcast, and so are no inner ones.
        let inner: Vec<char> =
            a.labels.iter().copied().filter(|&l| shared(l) && !keep(l) && a.size(l) == b.size(l)).collect();
        let batch: Vec<char> =
            a.labels.iter().copied().filter(|&l| shared(l) && !inner.contains(&l)).collect();
        let left: Vec<char> = a.labels.iter().copied().filter(|&l| !shared(l)).collect();
        let right: Vec<char> = b.labels.iter().copied().filter(|&l| !shared(l)).collect();
        let count = |f: &Factor, labels: &[char]| {
            labels.iter().fold(1usize, |count, &l| count.saturating_mul(f.size(l)))
        };
        let joined = |parts: [&[char]; 3]| parts.concat();
        let shape = |f: &Factor, last: [usize; 2]| -> Vec<isize> {
            batch.iter().map(|&l| f.size(l)).chain(last).map(|n| n as isize).collect()
        };
        let rows = count(&a, &left);
        let cols = count(&b, &right);
        let depth = count(&a, &inner);
        let x = a.ordered(&joined([&batch, &left, &inner])).reshape(&shape(&a, [rows, depth]));
        let y = b.ordered(&joined([&batch, &inner, &right])).reshape(&shape(&b, [depth, cols]));
        let product = whole(&x, &y);
        let labels = joined([&batch, &left, &right]);
        let size = |l: char| match (a.size(l), b.size(l)) {
            (1, n) | (n, _) => n as isize,
        };
        let sizes: Vec<isize> = labels.iter().map(|&l| size(l)).collect();
        let made = Factor { array: product.reshape(&sizes), labels };
        made.summed(keep)
    }

    /// Without the labels that neither `other` nor anything else reads.
    #[track_caller]
    fn summed_unless(self, other: &Factor, keep: &dyn Fn(char) -> bool) -> Factor {
        self.summed(&|label| keep(label) || other.labels.contains(&label))
    }
}

/// Two places of one label.
fn repeated(labels: &[char]) -> Option<(usize, usize)> {
    (0..labels.len()).find_map(|i| (i + 1..labels.len()).find(|&j| labels[i] == labels[j]).map(|j| (i, j)))
}

impl Array {
    /// Sums of products as Einstein's convention names them: axes with one letter
    /// are multiplied, and those that the result does not name are summed over.
    /// `...` stands for any further axes, which broadcast. Without `->`, the
    /// result has the letters that stand once, in alphabetical order.
    ///
    /// Operands are multiplied in the order that [`einsum_path`] gives. Products
    /// of integers are exact up to 2^53.
    ///
    /// ```
    /// # use oneir_cpu as _;
    /// use oneir_array::Array;
    /// let a = Array::from_slice(&[1f32, 2.0, 3.0, 4.0], &[2, 2]);
    /// assert_eq!(Array::einsum("ij,kj->ik", &[&a, &a]).to_vec::<f32>()?, [5.0, 11.0, 11.0, 25.0]);
    /// assert_eq!(Array::einsum("ii", &[&a]).item::<f32>()?, 5.0);
    /// # Ok::<(), oneir_array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    /// A failed array where the equation does not fit the operands' shapes.
    #[track_caller]
    #[must_use]
    pub fn einsum(subscripts: &str, operands: &[&Array]) -> Array {
        const OP: &str = "einsum";
        if let Some(failed) = operands.iter().find(|x| x.check().is_err()) {
            return (*failed).clone();
        }
        let shapes: Vec<Vec<usize>> = operands.iter().map(|x| x.shape().to_vec()).collect();
        let equation = match Equation::read(subscripts, &shapes) {
            Ok(equation) => equation,
            Err(reason) => return Array::failed(OP, reason),
        };
        let order = order(&equation, &shapes);
        let mut factors = Vec::with_capacity(operands.len());
        for (operand, labels) in operands.iter().zip(&equation.terms) {
            factors.push(Factor { array: (*operand).clone(), labels: labels.clone() }.once());
        }
        let output = &equation.output;
        for [i, j] in order.path {
            let (second, first) = (factors.remove(j), factors.remove(i));
            let later: Vec<char> = factors.iter().flat_map(|f| f.labels.clone()).collect();
            factors.push(first.times(second, &|label| output.contains(&label) || later.contains(&label)));
        }
        match factors.pop() {
            Some(product) => product.summed(&|label| output.contains(&label)).ordered(output).named(OP),
            None => Array::failed(OP, Reason::Parameters("there are no operands".into())),
        }
    }
}

/// The order in which [`Array::einsum`] multiplies its operands, and a text about
/// it: each step names the places of operands that are taken out of the list,
/// and their product is added at its end. Up to six operands the order is the
/// cheapest one, beyond that the cheapest pair is taken at each step.
///
/// ```
/// use oneir_array::{Array, DType, ops};
/// let [a, b, c] = [[2, 9], [9, 4], [4, 2]].map(|shape| Array::ones(&shape, DType::F32));
/// let (path, text) = ops::einsum_path("ij,jk,kl->il", &[&a, &b, &c])?;
/// assert_eq!(path, [vec![0, 1], vec![0, 1]]);
/// assert!(text.contains("ij,jk,kl->il"));
/// # Ok::<(), oneir_array::ArrayError>(())
/// ```
///
/// # Errors
/// When an operand failed or the equation does not fit the operands' shapes.
#[track_caller]
pub fn einsum_path(subscripts: &str, operands: &[&Array]) -> Result<(Vec<Vec<usize>>, String), ArrayError> {
    for operand in operands {
        operand.check()?;
    }
    let shapes: Vec<Vec<usize>> = operands.iter().map(|x| x.shape().to_vec()).collect();
    let equation = match Equation::read(subscripts, &shapes) {
        Ok(equation) => equation,
        Err(reason) => {
            let failed = Array::failed("einsum_path", reason);
            return Err(failed.value().map_or_else(|e| e, |_| ArrayError::NotOneElement { shape: vec![] }));
        }
    };
    let order = order(&equation, &shapes);
    let path: Vec<Vec<usize>> = match order.path.is_empty() {
        true => vec![(0..operands.len()).collect()],
        false => order.path.iter().map(|pair| pair.to_vec()).collect(),
    };
    let text = format!(
        "{subscripts}\noperations all at once: {:.4e}\noperations in this order: {:.4e}\norder: {path:?}\n",
        order.naive, order.cost
    );
    Ok((path, text))
}
