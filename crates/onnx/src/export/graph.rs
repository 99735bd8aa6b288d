//! Writing a lifted graph, op by op.

use std::sync::Arc;

use oneir_array::Array;
use oneir_ir::graph::{Access, Body, Class, Dst, Op, Storage, Sym, TensorGraph, TensorId};
use oneir_ir::{Cut, Nature, Place, Primitive, Spec, Value};
use oneir_tensor::HostTensor;

use super::draft::Draft;
use super::error::{ExportError, Refusal};
use super::ops;
use super::term::{Shown, Term, met};

/// Results of at most this many elements are computed while exporting, where their
/// operands are constants.
const FOLDED: usize = 4096;

/// As [`FOLDED`], of ops that take no longer than to read their operands.
const MOVED: usize = 1 << 28;

/// What an op stopped at.
pub(super) enum Stop {
    Error(ExportError),
    /// Sizes must be fixed.
    Batch,
}

/// A graph being written.
pub(super) struct Exporter<'a> {
    pub(super) draft: &'a mut Draft,
    graph: &'a TensorGraph,
    places: &'a [Place],
    shown: Vec<Option<Shown>>,
    /// How often each tensor is read.
    reads: Vec<usize>,
}

/// One op being written: what its row sees.
pub(super) struct Site<'s> {
    pub(super) draft: &'s mut Draft,
    pub(super) operands: Vec<Shown>,
    /// Of each operand, whether only this op reads it.
    pub(super) sole: Vec<bool>,
    pub(super) results: Vec<Spec>,
    /// Whether only callers read the results.
    pub(super) last: bool,
    places: &'s [Place],
}

/// What a row gives: the op's results.
pub(super) type Written = Result<Vec<Shown>, Refusal>;

impl<'a> Exporter<'a> {
    /// A graph whose inputs are these.
    pub(super) fn new(
        draft: &'a mut Draft,
        graph: &'a TensorGraph,
        places: &'a [Place],
        inputs: Vec<Shown>,
    ) -> Self {
        let mut reads = vec![0; graph.tensors.len()];
        fn count(ops: &[Op], reads: &mut [usize]) {
            for op in ops {
                op.operands.iter().for_each(|o| reads[o.tensor.at()] += 1);
                if let Sym::Fused(fused) = &op.sym {
                    count(&fused.definition, reads);
                }
            }
        }
        count(&graph.ops, &mut reads);
        // An output is read by whoever calls; what becomes of inputs is not known here.
        graph.inputs.iter().for_each(|id| reads[id.at()] += 2);
        graph.outputs.iter().for_each(|id| reads[id.at()] += 1);
        let mut shown = vec![None; graph.tensors.len()];
        for (&id, input) in graph.inputs.iter().zip(inputs) {
            shown[id.at()] = Some(input);
        }
        Exporter { draft, graph, places, shown, reads }
    }

    /// Writes all ops, and gives the outputs.
    pub(super) fn run(mut self) -> Result<Vec<Shown>, Stop> {
        for op in &self.graph.ops {
            self.op(op)?;
        }
        self.graph.outputs.iter().map(|&id| self.get(id)).collect()
    }

    fn get(&mut self, id: TensorId) -> Result<Shown, Stop> {
        if let Some(shown) = &self.shown[id.at()] {
            return Ok(shown.clone());
        }
        match &self.graph.tensor(id).storage {
            Storage::Values(value) => {
                let label = self.draft.label(value);
                let shown = Shown::plain(self.draft.weight(value.clone(), label));
                self.shown[id.at()] = Some(shown.clone());
                Ok(shown)
            }
            _ => Err(self.error("a graph", None, "it reads values that it does not hold".into())),
        }
    }

    fn error(&self, primitive: &str, op: Option<&Op>, why: String) -> Stop {
        let place = op.and_then(|op| self.places.get(op.covers.first()?.at()));
        Stop::Error(ExportError::Unsupported {
            primitive: primitive.into(),
            place: place.map_or_else(|| Place::Internal.to_string(), ToString::to_string),
            why,
        })
    }

    fn op(&mut self, op: &Op) -> Result<(), Stop> {
        let name = op.sym.name();
        let lifted = op.operands.iter().all(|o| o.access == Access::Whole)
            && op.results.iter().all(|r| r.dst == Dst::Own);
        if !lifted {
            return Err(self.error(name, Some(op), "it reads or writes parts in place".into()));
        }
        let operands = op.operands.iter().map(|o| self.get(o.tensor)).collect::<Result<Vec<_>, _>>()?;
        let results: Vec<Spec> = op.results.iter().map(|r| self.graph.spec(r.tensor)).collect();
        let last = op.results.iter().all(|r| {
            let outputs = self.graph.outputs.iter().filter(|&&id| id == r.tensor).count();
            self.reads[r.tensor.at()] == outputs
        });
        let sole = op.operands.iter().map(|o| self.reads[o.tensor.at()] == 1).collect();
        let mut site = Site { draft: self.draft, operands, sole, results, last, places: self.places };
        let written = match &op.sym {
            Sym::Prim(primitive) => site.primitive(primitive).map(Some),
            Sym::Fused(fused) => match &fused.class {
                Class::Fast(fast) => ops::fused(&mut site, fast),
                Class::Region(_) => Ok(None),
            },
            Sym::View => Ok(Some(site.operands.clone())),
        };
        let written = written.and_then(|all| self.draft.checked().map(|()| all));
        match (written, &op.sym) {
            (Ok(Some(all)), _) => {
                for (result, shown) in op.results.iter().zip(all) {
                    debug_assert_eq!(shown.shape()[..], self.graph.tensor(result.tensor).shape[..], "{name}");
                    self.shown[result.tensor.at()] = Some(shown);
                }
                Ok(())
            }
            (Ok(None), Sym::Fused(fused)) => fused.definition.iter().try_for_each(|part| self.op(part)),
            (Ok(None), _) => Err(self.error(name, Some(op), "no operators stand for it".into())),
            (Err(Refusal::Batch), _) => Err(Stop::Batch),
            (Err(Refusal::Unsupported(why)), _) => Err(self.error(name, Some(op), why)),
        }
    }
}

impl Site<'_> {
    /// Writes a primitive by its row.
    pub(super) fn primitive(&mut self, primitive: &Primitive) -> Written {
        if let Some(folded) = self.fold(primitive) {
            return Ok(folded);
        }
        if let Some(nothing) = self.nothing(primitive) {
            return Ok(nothing);
        }
        if let Some(counted) = ops::counted(self, primitive) {
            return Ok(vec![counted]);
        }
        let Some(row) = ops::find(primitive.name()) else {
            return Err("no operators stand for it".into());
        };
        let batched = self.operands.iter().any(|x| x.batch().is_some());
        if !batched {
            return (row.write)(self, primitive);
        }
        let axes = (row.along)(self, primitive).ok_or(Refusal::Batch)?;
        let mut written = (row.write)(self, primitive)?;
        for shown in &mut written {
            if shown.repeats(axes) {
                return Err(Refusal::Batch);
            }
            shown.set_batch(Some(axes));
        }
        Ok(written)
    }

    /// Results without elements, which engines need not compute.
    fn nothing(&mut self, primitive: &Primitive) -> Option<Vec<Shown>> {
        let plain = !matches!(primitive.nature(), Nature::Effect | Nature::DataSized | Nature::Control);
        let batched = self.operands.iter().any(|x| x.batch().is_some());
        if !plain || batched || self.results.iter().any(|spec| spec.count() > 0) {
            return None;
        }
        let empty = |spec: &Spec| HostTensor::zeros(spec.dtype, &spec.shape).ok();
        let all: Option<Vec<HostTensor>> = self.results.iter().map(empty).collect();
        Some(all?.into_iter().map(|value| Shown::plain(self.draft.constant(value))).collect())
    }

    /// What the op gives, where its operands are constants and that is soon known.
    fn fold(&mut self, primitive: &Primitive) -> Option<Vec<Shown>> {
        let nature = primitive.nature();
        let moves = matches!(nature, Nature::View | Nature::Movement | Nature::ElementWise);
        let effect = matches!(nature, Nature::Effect | Nature::Control | Nature::DataSized);
        let lazy = matches!(primitive, Primitive::Broadcast(_));
        if self.operands.is_empty() || lazy || effect || self.operands.iter().any(|x| x.value().is_none()) {
            return None;
        }
        let values: Vec<&HostTensor> = self.operands.iter().filter_map(Shown::value).collect();
        // Numbers that only repeat are computed once.
        let shapes: Vec<&[usize]> = values.iter().map(|v| &v.shape()[..]).collect();
        let spread = nature == Nature::ElementWise;
        let shape = |x: &Shown| if spread { met(&shapes) } else { Some(x.shape()) };
        let count: usize = match spread {
            true => met(&shapes)?.iter().product(),
            false => self.results.iter().map(Spec::count).sum(),
        };
        if count > if moves { MOVED } else { FOLDED } {
            return None;
        }
        let whole: Option<Vec<HostTensor>> = self
            .operands
            .iter()
            .zip(&values)
            .map(|(x, value)| value.broadcast(&shape(x)?).and_then(|v| v.contiguous()).ok())
            .collect();
        let results = primitive.evaluate(&whole?).ok()?;
        let label = match &self.operands[..] {
            [one] => one.base.label.clone(),
            _ => None,
        };
        let full: Vec<Vec<usize>> = self.results.iter().map(|spec| spec.shape.to_vec()).collect();
        let shown = |(value, full): (HostTensor, Vec<usize>)| {
            Shown::plain(self.draft.weight(value, label.clone())).spread(&full)
        };
        Some(results.into_iter().zip(full).map(shown).collect())
    }

    /// An operand with nothing left to be written.
    pub(super) fn term(&mut self, i: usize) -> Term {
        let term = self.draft.settle(&self.operands[i]);
        self.operands[i] = Shown::plain(term.clone());
        term
    }

    /// An operand in another order of its axes: axis i is its axis `order[i]`.
    pub(super) fn reordered(&mut self, i: usize, order: &[usize]) -> Term {
        let shown = &self.operands[i];
        if shown.full.is_some() {
            self.term(i);
        }
        let shown = &self.operands[i];
        match &shown.order {
            Some(pending) => {
                let order: Vec<usize> = order.iter().map(|&axis| pending[axis]).collect();
                self.draft.transpose(&shown.base, &order)
            }
            None => self.draft.transpose(&shown.base, order),
        }
    }

    /// The one result, of the spec that was inferred.
    pub(super) fn shape(&self) -> Vec<usize> {
        self.results[0].shape.to_vec()
    }

    /// A node with the one result.
    pub(super) fn node(
        &mut self,
        op: &str,
        inputs: &[&Term],
        attributes: Vec<crate::proto::AttributeProto>,
    ) -> Term {
        let spec = &self.results[0];
        self.draft.node(op, inputs, attributes, (spec.dtype, &spec.shape))
    }

    /// Writes what `f` makes of arrays that stand for the operands.
    pub(super) fn arrays(&mut self, f: impl FnOnce(&[Array]) -> Vec<Array>) -> Written {
        let arguments: Vec<Value> =
            self.operands.iter().map(|x| Value::placeholder(Spec::new(x.dtype(), x.shape()))).collect();
        let arrays: Vec<Array> = arguments.iter().cloned().map(Array::from_value).collect();
        let made = f(&arrays);
        let outputs = made.iter().map(|a| a.value().cloned()).collect::<Result<Vec<_>, _>>();
        let outputs = outputs.map_err(|e| e.to_string())?;
        let lifted = Cut::new(&arguments, &outputs).lift().map_err(|e| e.to_string())?;
        self.inline(&lifted.graph, self.operands.clone())
    }

    /// Writes a graph in place of the op.
    pub(super) fn inline(&mut self, graph: &TensorGraph, inputs: Vec<Shown>) -> Written {
        let exporter = Exporter::new(self.draft, graph, self.places, inputs);
        exporter.run().map_err(|stop| match stop {
            Stop::Batch => Refusal::Batch,
            Stop::Error(ExportError::Unsupported { primitive, why, .. }) => {
                Refusal::Unsupported(format!("its `{primitive}`: {why}"))
            }
            Stop::Error(other) => Refusal::Unsupported(other.to_string()),
        })
    }

    /// A body as the graph of an attribute. Its first inputs are `given`, by names and
    /// as the attribute's graph has them; the others are read from outside. `finish`
    /// makes of its results what the graph gives.
    pub(super) fn subgraph(
        &mut self,
        stem: &str,
        body: &Body,
        given: &[Term],
        captured: &[Shown],
        finish: impl FnOnce(&mut Self, Vec<Shown>) -> Result<Vec<Term>, Refusal>,
    ) -> Result<(crate::proto::GraphProto, Vec<Term>), Refusal> {
        self.draft.enter();
        let inputs = given.iter().cloned().map(Shown::plain).chain(captured.iter().cloned()).collect();
        let made = self.inline(body.graph(), inputs).and_then(|all| finish(self, all));
        // What the graph gives has a name of its own.
        let outputs = made.map(|all| {
            all.iter()
                .map(|term| self.draft.node("Identity", &[term], vec![], (term.dtype, &term.shape)))
                .collect::<Vec<_>>()
        });
        let nodes = self.draft.leave();
        let outputs = outputs?;
        let graph = super::model::graph(stem, nodes, &[], &outputs);
        Ok((graph, outputs))
    }
}

/// A label for what callers name.
pub(super) fn label(name: &str) -> Option<Arc<str>> {
    (!name.is_empty()).then(|| name.into())
}
