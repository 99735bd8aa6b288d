//! The ONNX graph under way: nodes, constants and their names.

use std::collections::HashMap;
use std::sync::Arc;

use oneir_tensor::{DType, HostTensor, Values};

use super::attribute;
use super::error::Refusal;
use super::ops::Sum;
use super::term::{Shown, Term, met};
use super::types;
use crate::file::ElemType;
use crate::proto::{AttributeProto, NodeProto};

/// Constants of at most this many elements are written once, whoever reads them.
const SHARED: usize = 64;

/// Nodes of one graph, and the place of the node that makes each value.
#[derive(Default)]
struct Scope {
    nodes: Vec<NodeProto>,
    makers: HashMap<Arc<str>, usize>,
    /// Values in other orders and shapes that were written already.
    seen: HashMap<(Arc<str>, &'static str, Vec<usize>), Term>,
}

/// The model under way.
#[derive(Default)]
pub(super) struct Draft {
    scope: Scope,
    outer: Vec<Scope>,
    /// Every constant: its name, its value and what the caller calls it.
    pub(super) constants: Vec<Term>,
    shared: HashMap<HostTensor, usize>,
    /// Constants that the caller names.
    pub(super) labels: Vec<(HostTensor, Arc<str>)>,
    /// How many items of a batch the function was traced with.
    pub(super) items: usize,
    counts: HashMap<String, usize>,
    names: Vec<Arc<str>>,
    /// How sums were written.
    pub(super) sums: HashMap<Arc<str>, Sum>,
    /// What other shapes of the same elements were made from.
    reshaped: HashMap<Arc<str>, Term>,
    /// The axes that reductions kept with size 1.
    pub(super) kept: HashMap<Arc<str>, Vec<usize>>,
    /// Indices that are known to be below a number.
    pub(super) below: HashMap<Arc<str>, usize>,
    /// Names of sizes that only a run knows, by the value and its axis.
    pub(super) sizes: HashMap<(Arc<str>, usize), String>,
    /// The first operator that does not take what it was given.
    fault: Option<String>,
}

impl Draft {
    /// A name that no other value has. Its number keeps it apart from the names that
    /// callers give: those are put in at the end.
    pub(super) fn fresh(&mut self, stem: &str) -> Arc<str> {
        let count = self.counts.entry(stem.to_owned()).or_default();
        *count += 1;
        let name: Arc<str> = format!("{stem}_{count}").into();
        self.names.push(name.clone());
        name
    }

    /// The names that values have.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|name| &**name)
    }

    /// Begins the graph of an attribute.
    pub(super) fn enter(&mut self) {
        self.outer.push(std::mem::take(&mut self.scope));
    }

    /// Ends the graph of an attribute, and gives its nodes.
    pub(super) fn leave(&mut self) -> Vec<NodeProto> {
        let inner = std::mem::replace(&mut self.scope, self.outer.pop().unwrap_or_default());
        inner.nodes
    }

    /// The node of the graph under way that makes a value.
    pub(super) fn maker(&mut self, name: &str) -> Option<&mut NodeProto> {
        let at = *self.scope.makers.get(name)?;
        self.scope.nodes.get_mut(at)
    }

    /// Whether a value is there before another one of the graph under way is made.
    pub(super) fn before(&self, name: &str, other: &str) -> bool {
        match (self.scope.makers.get(name), self.scope.makers.get(other)) {
            (Some(own), Some(other)) => own < other,
            (own, _) => own.is_none(),
        }
    }

    /// Says that the node that made a value makes one of another name.
    pub(super) fn made_instead(&mut self, name: &str, other: Arc<str>) {
        if let Some(at) = self.scope.makers.remove(name) {
            self.scope.makers.insert(other, at);
        }
    }

    /// What no operator takes, if anything was given to one.
    pub(super) fn checked(&mut self) -> Result<(), Refusal> {
        self.fault.take().map_or(Ok(()), |fault| Err(fault.into()))
    }

    /// Says that something cannot be exported, where no operator would.
    pub(super) fn refuse(&mut self, why: String) {
        self.fault.get_or_insert(why);
    }

    /// What the caller calls a constant, which it holds too.
    pub(super) fn label(&self, value: &HostTensor) -> Option<Arc<str>> {
        let same = |held: &HostTensor| {
            held.dtype() == value.dtype()
                && held.layout() == value.layout()
                && held.buffer().same_memory(value.buffer())
        };
        self.labels.iter().find(|(held, _)| same(held)).map(|(_, label)| label.clone())
    }

    pub(super) fn constant(&mut self, value: HostTensor) -> Term {
        self.weight(value, None)
    }

    /// A constant that the caller calls `label`.
    pub(super) fn weight(&mut self, value: HostTensor, label: Option<Arc<str>>) -> Term {
        let value = if value.dtype().size().is_some() { value.contiguous().unwrap_or(value) } else { value };
        if types::elem(value.dtype()).is_none() {
            self.refuse(format!("opset {} has no {} tensors that compute", super::OPSET, value.dtype()));
        }
        let share = value.count() <= SHARED && label.is_none();
        if let Some(&at) = self.shared.get(&value).filter(|_| share) {
            return self.constants[at].clone();
        }
        let name = self.fresh("constant");
        let term = Term {
            name,
            shape: value.shape().to_vec(),
            dtype: value.dtype(),
            batch: None,
            value: Some(value.clone()),
            label,
        };
        if share {
            self.shared.insert(value, self.constants.len());
        }
        self.constants.push(term.clone());
        term
    }

    /// A number of a dtype, as a scalar.
    pub(super) fn number(&mut self, dtype: DType, number: f64) -> Term {
        match HostTensor::from_values(dtype, &[], &Values::Float(vec![number]).convert(dtype)) {
            Ok(value) => self.constant(value),
            Err(_) => self.unmade("a number"),
        }
    }

    /// A vector of i64.
    pub(super) fn ints(&mut self, numbers: impl IntoIterator<Item = i64>) -> Term {
        let numbers: Vec<i64> = numbers.into_iter().collect();
        match HostTensor::from_slice(&[numbers.len()], &numbers) {
            Ok(value) => self.constant(value),
            Err(_) => self.unmade("a list of sizes"),
        }
    }

    fn unmade(&mut self, what: &str) -> Term {
        self.refuse(format!("{what} cannot be made"));
        Term::absent()
    }

    /// A node with one result.
    pub(super) fn node(
        &mut self,
        op: &str,
        inputs: &[&Term],
        attributes: Vec<AttributeProto>,
        result: (DType, &[usize]),
    ) -> Term {
        let batch = inputs.iter().find_map(|term| term.batch);
        let mut all = self.nodes(op, inputs, attributes, &[(result.0, result.1.to_vec())]);
        let mut term = all.swap_remove(0);
        term.batch = batch.filter(|&axis| axis < term.rank());
        term
    }

    /// A node with these results.
    pub(super) fn nodes(
        &mut self,
        op: &str,
        inputs: &[&Term],
        attributes: Vec<AttributeProto>,
        results: &[(DType, Vec<usize>)],
    ) -> Vec<Term> {
        let asked = types::asked(op, inputs);
        if let Some(dtype) = asked.map(|term| term.dtype).filter(|&dtype| !types::takes(op, dtype)) {
            self.refuse(format!("opset {} has no {op} of {dtype}", super::OPSET));
        }
        let stem = op.to_lowercase();
        let terms: Vec<Term> = results
            .iter()
            .map(|(dtype, shape)| Term {
                name: self.fresh(&stem),
                shape: shape.clone(),
                dtype: *dtype,
                batch: None,
                value: None,
                label: None,
            })
            .collect();
        let mut input: Vec<String> = inputs.iter().map(|term| term.name.to_string()).collect();
        while input.last().is_some_and(String::is_empty) {
            input.pop();
        }
        let name = terms.first().map(|term| term.name.to_string());
        for term in &terms {
            self.scope.makers.insert(term.name.clone(), self.scope.nodes.len());
        }
        self.scope.nodes.push(NodeProto {
            input,
            output: terms.iter().map(|term| term.name.to_string()).collect(),
            name,
            op_type: Some(op.into()),
            attribute: attributes,
            ..NodeProto::default()
        });
        terms
    }

    /// An element-wise function of one operand.
    pub(super) fn unary(&mut self, op: &str, x: &Term) -> Term {
        self.node(op, &[x], vec![], (x.dtype, &x.shape))
    }

    fn meeting(&mut self, terms: &[&Term]) -> (Vec<usize>, Option<usize>) {
        let shapes: Vec<&[usize]> = terms.iter().map(|t| &t.shape[..]).collect();
        let Some(shape) = met(&shapes) else {
            self.refuse(format!("operands of shapes {shapes:?} do not meet"));
            return (Vec::new(), None);
        };
        let batch = terms.iter().find_map(|t| Some(t.batch? + shape.len() - t.rank()));
        (shape, batch)
    }

    /// An element-wise function of two operands, whose shapes broadcast.
    pub(super) fn binary(&mut self, op: &str, a: &Term, b: &Term) -> Term {
        let (shape, batch) = self.meeting(&[a, b]);
        let mut term = self.node(op, &[a, b], vec![], (a.dtype, &shape));
        term.batch = batch;
        term
    }

    /// A question about two operands.
    pub(super) fn test(&mut self, op: &str, a: &Term, b: &Term) -> Term {
        let mut term = self.binary(op, a, b);
        term.dtype = DType::Bool;
        term
    }

    /// `a` where the condition holds, else `b`.
    pub(super) fn choose(&mut self, condition: &Term, a: &Term, b: &Term) -> Term {
        let (shape, batch) = self.meeting(&[condition, a, b]);
        let mut term = self.node("Where", &[condition, a, b], vec![], (a.dtype, &shape));
        term.batch = batch;
        term
    }

    /// `x` as another dtype.
    pub(super) fn cast(&mut self, x: &Term, dtype: DType) -> Term {
        if x.dtype == dtype {
            return x.clone();
        }
        if let Some(value) = x.value.as_ref().filter(|v| v.count() <= SHARED)
            && let Ok(value) = value.cast(dtype)
        {
            return self.weight(value, x.label.clone());
        }
        let Some(elem) = types::elem(dtype) else {
            self.refuse(format!("opset {} has no {dtype} tensors that compute", super::OPSET));
            return x.clone();
        };
        let to = attribute::int("to", i64::from(ElemType::code(elem)));
        self.node("Cast", &[x], vec![to], (dtype, &x.shape))
    }

    /// What `f` makes of `x` in a dtype that `op` takes, back in x's own.
    pub(super) fn within(&mut self, op: &str, x: &Term, f: impl FnOnce(&mut Draft, &Term) -> Term) -> Term {
        let wide = types::wide(op, x.dtype);
        let given = self.cast(x, wide);
        let made = f(self, &given);
        if wide != x.dtype && made.dtype == wide { self.cast(&made, x.dtype) } else { made }
    }

    /// The same elements in another shape, of which `batch` is the batch's axis.
    pub(super) fn reshape(&mut self, x: &Term, shape: &[usize], batch: Option<usize>) -> Term {
        if x.shape == shape {
            return x.clone();
        }
        if let Some(value) = &x.value
            && let Ok(value) = value.reshape(shape)
        {
            return self.weight(value, x.label.clone());
        }
        let source = self.reshaped.get(&x.name).cloned().unwrap_or_else(|| x.clone());
        if source.shape == shape && source.batch == batch {
            return source;
        }
        let size = |(axis, &n): (usize, &usize)| if Some(axis) == batch { -1 } else { n as i64 };
        let target = self.ints(shape.iter().enumerate().map(size));
        // A size of 0 means itself only where it is said so; -1 then cannot stand beside.
        let zero = shape.contains(&0) && batch.is_none();
        let attributes = if zero { vec![attribute::int("allowzero", 1)] } else { vec![] };
        let mut term = self.node("Reshape", &[&source, &target], attributes, (x.dtype, shape));
        term.batch = batch;
        self.reshaped.insert(term.name.clone(), source);
        term
    }

    /// Axes reordered: result axis i is x's axis `order[i]`.
    pub(super) fn transpose(&mut self, x: &Term, order: &[usize]) -> Term {
        if order.is_sorted() {
            return x.clone();
        }
        if let Some(value) = &x.value
            && let Ok(value) = value.transpose(order)
        {
            return self.weight(value, x.label.clone());
        }
        let batch = x.batch.and_then(|axis| order.iter().position(|&a| a == axis));
        let moved = order.iter().filter(|&&axis| x.shape[axis] != 1 || x.batch == Some(axis));
        if moved.is_sorted() && !x.shape.contains(&0) {
            // Only axes of size 1 move.
            let shape: Vec<usize> = order.iter().map(|&axis| x.shape[axis]).collect();
            return self.reshape(x, &shape, batch);
        }
        let key = (x.name.clone(), "Transpose", order.to_vec());
        if let Some(term) = self.scope.seen.get(&key) {
            return term.clone();
        }
        let shape: Vec<usize> = order.iter().map(|&axis| x.shape[axis]).collect();
        let perm = attribute::ints("perm", order.iter().copied());
        let mut term = self.node("Transpose", &[x], vec![perm], (x.dtype, &shape));
        term.batch = batch;
        self.scope.seen.insert(key, term.clone());
        term
    }

    /// Of an axis, `len` items `step` apart from `start` on.
    pub(super) fn slice(&mut self, x: &Term, parts: &[(usize, usize, isize, usize)]) -> Term {
        let whole = |&&(axis, start, step, len): &&(usize, usize, isize, usize)| {
            start == 0 && step == 1 && len == x.shape[axis]
        };
        let parts: Vec<_> = parts.iter().filter(|part| !whole(part)).copied().collect();
        if parts.is_empty() {
            return x.clone();
        }
        let mut shape = x.shape.clone();
        let mut ends = Vec::with_capacity(parts.len());
        for &(axis, start, step, len) in &parts {
            shape[axis] = len;
            let end = start as i64 + step as i64 * len as i64;
            // Before the first item: no end that counts from the last one.
            ends.push(if end < 0 { i64::MIN } else { end });
        }
        let starts = self.ints(parts.iter().map(|p| p.1 as i64));
        let ends = self.ints(ends);
        let axes = self.ints(parts.iter().map(|p| p.0 as i64));
        let steps = self.ints(parts.iter().map(|p| p.2 as i64));
        self.node("Slice", &[x, &starts, &ends, &axes, &steps], vec![], (x.dtype, &shape))
    }

    /// Joined along an axis.
    pub(super) fn concat(&mut self, all: &[&Term], axis: usize) -> Term {
        let [first, ..] = all else { return self.unmade("a join of nothing") };
        if all.len() == 1 {
            return (*first).clone();
        }
        let mut shape = first.shape.clone();
        shape[axis] = all.iter().map(|x| x.shape[axis]).sum();
        self.node("Concat", all, vec![attribute::int("axis", axis as i64)], (first.dtype, &shape))
    }

    /// The term as it is without axes of size 1.
    pub(super) fn without(&self, x: &Term, axes: &[usize]) -> Term {
        let left: Vec<usize> = (0..x.rank()).filter(|axis| !axes.contains(axis)).collect();
        let batch = x.batch.and_then(|axis| left.iter().position(|&a| a == axis));
        Term { shape: left.iter().map(|&axis| x.shape[axis]).collect(), batch, ..x.clone() }
    }

    /// Without the size-1 dimensions at `axes`.
    pub(super) fn squeeze(&mut self, x: &Term, axes: &[usize]) -> Term {
        let made = self.without(x, axes);
        if axes.is_empty() || x.value.is_some() {
            return self.reshape(x, &made.shape, None);
        }
        let axes = self.ints(axes.iter().map(|&axis| axis as i64));
        let term = self.node("Squeeze", &[x, &axes], vec![], (x.dtype, &made.shape));
        Term { batch: made.batch, ..term }
    }

    /// With size-1 dimensions at the result's axes.
    pub(super) fn unsqueeze(&mut self, x: &Term, axes: &[usize]) -> Term {
        let mut shape = x.shape.clone();
        for &axis in axes {
            shape.insert(axis.min(shape.len()), 1);
        }
        if axes.is_empty() || x.value.is_some() {
            return self.reshape(x, &shape, None);
        }
        let batch =
            x.batch.map(|axis| axes.iter().fold(axis, |at, &new| if new <= at { at + 1 } else { at }));
        let axes = self.ints(axes.iter().map(|&axis| axis as i64));
        let mut term = self.node("Unsqueeze", &[x, &axes], vec![], (x.dtype, &shape));
        term.batch = batch;
        term
    }

    /// Presented with a larger shape.
    pub(super) fn expand(&mut self, x: &Term, shape: &[usize]) -> Term {
        if x.shape == shape {
            return x.clone();
        }
        let key = (x.name.clone(), "Expand", shape.to_vec());
        if let Some(term) = self.scope.seen.get(&key) {
            return term.clone();
        }
        let lead = shape.len() - x.rank();
        // Where x has the size already, 1 leaves it to x.
        let has = |axis: usize| axis.checked_sub(lead).is_some_and(|a| x.shape[a] == shape[axis]);
        let target = self.ints((0..shape.len()).map(|axis| if has(axis) { 1 } else { shape[axis] as i64 }));
        let mut term = self.node("Expand", &[x, &target], vec![], (x.dtype, shape));
        term.batch = x.batch.map(|axis| axis + lead);
        self.scope.seen.insert(key, term.clone());
        term
    }

    /// A tensor with nothing left to be written.
    pub(super) fn settle(&mut self, shown: &Shown) -> Term {
        let mut term = shown.base.clone();
        if let Some(order) = &shown.order {
            term = self.transpose(&term, order);
        }
        match &shown.full {
            Some(full) => self.expand(&term, full),
            None => term,
        }
    }
}
