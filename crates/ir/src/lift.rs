use oneir_tensor::HostTensor;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::graph::{
    Access, Class, Fused, GraphError, Op, OpId, Operand, Region, Role, StepArg, Sym, Tensor, TensorGraph,
    TensorId, WriteResult,
};
use crate::{Invalid, Nature, Place, Primitive, Source, Spec, State, Value};

/// What becomes of values that were already computed when they are met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// Inputs of the graph: eager evaluation.
    Inputs,
    /// Constants that the caller binds once: a traced function's captures.
    Constants,
}

/// Recorded values as a graph, beside what they were recorded from.
#[derive(Debug)]
pub struct Lifted {
    /// The graph.
    pub graph: TensorGraph,
    /// The computed values that the graph reads, in the order of its further
    /// inputs.
    pub leaves: Vec<Value>,
    /// Where each lifted op was written.
    pub places: Vec<Place>,
    /// In eager evaluation: values on the way that someone else still holds.
    /// They follow the graph's outputs, so that nothing is computed twice.
    pub held: Vec<Value>,
    /// Of each leaf, whether the graph is its only owner.
    pub sole: Vec<bool>,
}

/// What is cut out of a program: the work between some of its values.
#[derive(Debug, Clone, Copy)]
pub struct Cut<'a> {
    /// The placeholders that become the graph's first inputs.
    pub inputs: &'a [Value],
    /// The values that the graph computes.
    pub outputs: &'a [Value],
    /// What becomes of computed values on the way: they are further inputs.
    pub leaves: Leaves,
}

impl<'a> Cut<'a> {
    /// A function of `inputs`, whose captured values are constants.
    pub fn new(inputs: &'a [Value], outputs: &'a [Value]) -> Cut<'a> {
        Cut { inputs, outputs, leaves: Leaves::Constants }
    }

    /// The graph of what the outputs need.
    ///
    /// # Errors
    /// When a definition does not record, or a placeholder is not among the
    /// inputs.
    pub fn lift(self) -> Result<Lifted, GraphError> {
        let Cut { inputs, outputs, leaves } = self;
        let mut lifter = Lifter {
            graph: TensorGraph::default(),
            ids: FxHashMap::default(),
            scattered: FxHashMap::default(),
            numbers: FxHashMap::default(),
            places: Vec::new(),
            leaves: Vec::new(),
            policy: leaves,
            met: Vec::new(),
            met_at: FxHashMap::default(),
        };
        for input in inputs {
            let spec = input.spec();
            let id = lifter.graph.push_tensor(Tensor::input(spec.dtype, spec.shape.clone()));
            lifter.graph.inputs.push(id);
            lifter.ids.insert(input.node_key(), id);
        }
        lifter.walk(outputs)?;
        for output in outputs {
            let id = lifter.id(output);
            lifter.graph.outputs.push(id);
            lifter.graph.tensors[id.at()].observed = true;
        }
        let (held, sole) = lifter.owners(outputs);
        for value in &held {
            let id = lifter.id(value);
            lifter.graph.outputs.push(id);
            lifter.graph.tensors[id.at()].observed = true;
        }
        lifter.graph.lifted = lifter.places.len() as u32;
        Ok(Lifted { graph: lifter.graph, leaves: lifter.leaves, places: lifter.places, held, sole })
    }
}

/// Constants of at most this many elements are part of a program even in eager
/// evaluation; larger ones are its inputs.
const SMALL: usize = 32;

/// Marks a node whose outputs are not numbered in a row.
const SCATTERED: TensorId = TensorId(u32::MAX);

struct Lifter {
    graph: TensorGraph,
    /// The tensor of each node's first output; the others follow it.
    ids: FxHashMap<usize, TensorId>,
    /// The tensors of fused nodes, by output.
    scattered: FxHashMap<(usize, usize), TensorId>,
    /// Constants of one element, by value.
    numbers: FxHashMap<HostTensor, TensorId>,
    places: Vec<Place>,
    leaves: Vec<Value>,
    policy: Leaves,
    /// In eager evaluation, every node met with the handles that the graph's
    /// own nodes have on it.
    met: Vec<(Value, u32)>,
    met_at: FxHashMap<usize, u32>,
}

impl Value {
    fn node_key(&self) -> usize {
        self.key().0
    }
}

impl Lifter {
    fn id(&self, value: &Value) -> TensorId {
        match self.ids[&value.node_key()] {
            SCATTERED => self.scattered[&(value.node_key(), value.index())],
            first => TensorId(first.0 + value.index() as u32),
        }
    }

    /// Visits nodes in an order in which inputs come first, without recursion.
    fn walk(&mut self, outputs: &[Value]) -> Result<(), GraphError> {
        enum Visit {
            Enter(Value),
            Leave(Value, SmallVec<[Value; 2]>),
        }
        let mut stack: Vec<Visit> = outputs.iter().rev().cloned().map(Visit::Enter).collect();
        while let Some(visit) = stack.pop() {
            match visit {
                Visit::Enter(value) => {
                    if self.ids.contains_key(&value.node_key()) {
                        continue;
                    }
                    match (value.node().source(), value.node().state()) {
                        (Source::Constant(tensor), _) => self.constant(&value, tensor.clone()),
                        (Source::Placeholder, State::Pending(_)) => {
                            return Err(GraphError::Interface {
                                what: "a placeholder".into(),
                                expected: "one of the function's arguments".into(),
                                found: value.spec().to_string(),
                            });
                        }
                        (_, State::Ready) => self.leaf(&value),
                        (_, State::Pending(inputs)) => {
                            let below: SmallVec<[Value; 2]> = inputs
                                .iter()
                                .rev()
                                .filter(|i| !self.ids.contains_key(&i.node_key()))
                                .cloned()
                                .collect();
                            stack.push(Visit::Leave(value, inputs));
                            stack.extend(below.into_iter().map(Visit::Enter));
                        }
                    }
                }
                Visit::Leave(value, inputs) => {
                    if !self.ids.contains_key(&value.node_key()) {
                        self.op(&value, &inputs)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Remembers a node, to ask later who else holds it.
    fn meet(&mut self, value: &Value) {
        if self.policy == Leaves::Inputs {
            self.met_at.insert(value.node_key(), self.met.len() as u32);
            self.met.push((value.clone(), 0));
        }
    }

    /// The values on the way that others hold, and of each leaf whether no one
    /// else holds it.
    fn owners(&mut self, outputs: &[Value]) -> (Vec<Value>, Vec<bool>) {
        let wanted: FxHashSet<usize> = outputs.iter().map(Value::node_key).collect();
        let mut held = Vec::new();
        let mut alone = FxHashSet::default();
        for (value, edges) in &self.met {
            // One handle is the one met here; leaves are listed once more.
            let own = 1 + *edges as usize;
            let count = std::sync::Arc::strong_count(value.node());
            if value.node().ready().is_some() {
                if count == own + value.node().outputs().len() {
                    alone.insert(value.node_key());
                }
            } else if count > own && !wanted.contains(&value.node_key()) {
                held.extend((0..value.node().outputs().len()).filter_map(|i| value.sibling(i)));
            }
        }
        let sole = self.leaves.iter().map(|leaf| alone.contains(&leaf.node_key())).collect();
        self.met = Vec::new();
        (held, sole)
    }

    fn constant(&mut self, value: &Value, tensor: HostTensor) {
        // Data that passes by once must not be held by a plan.
        if self.policy == Leaves::Inputs && tensor.count() > SMALL {
            return self.leaf(value);
        }
        // Definitions repeat small numbers: one tensor each is enough.
        let single = (tensor.count() == 1).then(|| tensor.clone());
        let id = match single {
            Some(number) => match self.numbers.get(&number) {
                Some(&id) => id,
                None => {
                    let id = self.graph.push_tensor(Tensor::constant(tensor));
                    self.numbers.insert(number, id);
                    id
                }
            },
            None => self.graph.push_tensor(Tensor::constant(tensor)),
        };
        self.ids.insert(value.node_key(), id);
    }

    /// A node that has its results: each output is a value to bind.
    fn leaf(&mut self, value: &Value) {
        self.meet(value);
        let role = match self.policy {
            Leaves::Inputs => Role::Input,
            Leaves::Constants => Role::Constant,
        };
        let first = TensorId(self.graph.tensors.len() as u32);
        for (index, spec) in value.node().outputs().iter().enumerate() {
            let tensor = Tensor { role, ..Tensor::input(spec.dtype, spec.shape.clone()) };
            let id = self.graph.push_tensor(tensor);
            self.graph.inputs.push(id);
            self.leaves.extend(value.sibling(index));
        }
        self.ids.insert(value.node_key(), first);
    }

    fn op(&mut self, value: &Value, inputs: &[Value]) -> Result<(), GraphError> {
        let Source::Op(primitive) = value.node().source() else { return Ok(()) };
        self.meet(value);
        if self.policy == Leaves::Inputs {
            for input in inputs {
                if let Some(&at) = self.met_at.get(&input.node_key()) {
                    self.met[at as usize].1 += 1;
                }
            }
        }
        let operands: SmallVec<[TensorId; 2]> = inputs.iter().map(|v| self.id(v)).collect();
        let place = value.node().place();
        if primitive.nature() == Nature::Fused {
            let results = self.fused(primitive, &operands, &place)?;
            let key = value.node_key();
            self.ids.insert(key, SCATTERED);
            self.scattered.extend(results.into_iter().enumerate().map(|(i, id)| ((key, i), id)));
            return Ok(());
        }
        let first = self.outputs_of(value);
        let results = (0..value.node().outputs().len() as u32)
            .map(|i| WriteResult::own(TensorId(first.0 + i)))
            .collect();
        let covers = [self.next_op(&place)].into_iter().collect();
        self.graph.ops.push(Op {
            sym: Sym::Prim(primitive.clone()),
            operands: operands.into_iter().map(Operand::whole).collect(),
            results,
            covers,
        });
        Ok(())
    }

    fn outputs_of(&mut self, value: &Value) -> TensorId {
        let first = TensorId(self.graph.tensors.len() as u32);
        for spec in value.node().outputs() {
            self.graph.push_tensor(Tensor::activation(spec.dtype, spec.shape.clone()));
        }
        self.ids.insert(value.node_key(), first);
        first
    }

    fn next_op(&mut self, place: &Place) -> OpId {
        let id = OpId(self.places.len() as u32);
        self.places.push(place.clone());
        id
    }

    /// A fused primitive as one op with its definition, whose ops are lifted
    /// ops of their own.
    fn fused(
        &mut self,
        primitive: &Primitive,
        operands: &[TensorId],
        place: &Place,
    ) -> Result<Vec<TensorId>, GraphError> {
        let class = match primitive {
            Primitive::Fast(fast) => Class::Fast(fast.clone()),
            Primitive::Compiled(region) => Class::Region(region.clone()),
            other => {
                return Err(GraphError::BareFused { op: self.graph.ops.len(), name: other.name() });
            }
        };
        let operands: SmallVec<[Operand; 2]> = operands.iter().copied().map(Operand::whole).collect();
        let (mut definition, results) = define(&mut self.graph, &class, &operands, None)?;
        for part in &mut definition {
            part.covers = [self.next_op(place)].into_iter().collect();
        }
        let covers = definition.iter().flat_map(|op| op.covers.iter().copied()).collect();
        self.graph.ops.push(Op {
            sym: Sym::Fused(Box::new(Fused { class, definition })),
            operands,
            results: results.iter().copied().map(WriteResult::own).collect(),
            covers,
        });
        Ok(results)
    }
}

/// The ops that a class stands for on these operands, without covers, and the
/// tensors that they end in: those given, or new ones.
pub(crate) fn define(
    graph: &mut TensorGraph,
    class: &Class,
    operands: &[Operand],
    results: Option<&[TensorId]>,
) -> Result<(Vec<Op>, Vec<TensorId>), GraphError> {
    let inference = |why: Invalid| GraphError::Inference { op: class.name().into(), why };
    let fast = match class {
        Class::Fast(fast) => fast,
        Class::Region(region) => return steps(graph, region, operands, results),
    };
    let arguments: Vec<Value> = operands.iter().map(|o| Value::placeholder(graph.operand_spec(o))).collect();
    let outputs = fast.definition(&arguments).map_err(inference)?;
    let inner = Cut::new(&arguments, &outputs).lift()?;
    // The definition's tensors join this graph under new numbers.
    let mut map: Vec<Option<TensorId>> = vec![None; inner.graph.tensors.len()];
    for (&output, &result) in inner.graph.outputs.iter().zip(results.unwrap_or_default()) {
        map[output.at()] = Some(result);
    }
    for (i, mut tensor) in inner.graph.tensors.into_iter().enumerate().skip(operands.len()) {
        tensor.observed = false;
        map[i].get_or_insert_with(|| graph.push_tensor(tensor));
    }
    let renamed = |id: TensorId| map[id.at()].unwrap_or(id);
    let mut definition = Vec::with_capacity(inner.graph.ops.len());
    for mut op in inner.graph.ops {
        for operand in &mut op.operands {
            // An argument is read as the fused op reads its operand.
            match operands.get(operand.tensor.at()) {
                Some(given) if operand.access == Access::Whole => *operand = given.clone(),
                Some(_) => return Err(inference(Invalid::Arity { expected: "whole arguments", found: 0 })),
                None => operand.tensor = renamed(operand.tensor),
            }
        }
        for result in &mut op.results {
            result.tensor = renamed(result.tensor);
        }
        op.covers.clear();
        definition.push(op);
    }
    Ok((definition, inner.graph.outputs.into_iter().map(renamed).collect()))
}

/// A region's steps as ops, one for each, in order.
fn steps(
    graph: &mut TensorGraph,
    region: &Region,
    operands: &[Operand],
    results: Option<&[TensorId]>,
) -> Result<(Vec<Op>, Vec<TensorId>), GraphError> {
    let inputs: Vec<Spec> = operands.iter().map(|o| graph.operand_spec(o)).collect();
    let specs = region
        .step_specs(&inputs.iter().collect::<Vec<_>>())
        .map_err(|why| GraphError::Inference { op: "region".into(), why })?;
    let mut made: Vec<TensorId> = Vec::with_capacity(specs.len());
    for (at, spec) in specs.into_iter().enumerate() {
        let output = region.outputs.iter().position(|&o| o as usize == at);
        made.push(match results.zip(output).and_then(|(all, i)| all.get(i)) {
            Some(&result) => result,
            None => graph.push_tensor(Tensor::activation(spec.dtype, spec.shape)),
        });
    }
    let read = |arg: &StepArg| match arg {
        StepArg::Input(i) => operands[*i as usize].clone(),
        StepArg::Step(i) => Operand::whole(made[*i as usize]),
    };
    let ops = region.steps.iter().zip(&made).map(|(step, &result)| Op {
        sym: Sym::Prim(step.primitive()),
        operands: step.args.iter().map(read).collect(),
        results: [WriteResult::own(result)].into(),
        covers: SmallVec::new(),
    });
    Ok((ops.collect(), region.outputs.iter().map(|&o| made[o as usize]).collect()))
}
