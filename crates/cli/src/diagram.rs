//! A graph as boxes and arrows, for the forms that draw it.

use oneir::ir::Place;
use oneir::ir::Primitive;
use oneir::ir::fast::FastOp;
use oneir::ir::graph::{Class, Role, Sym, TensorGraph, TensorId};

use crate::inspect::place_text;

/// The most ops that are drawn.
pub(crate) const MAX_OPS: usize = 250;

/// Steps of a region that are named.
const MAX_STEPS: usize = 6;

/// What a box stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Input,
    Op,
    Fused,
    Output,
}

/// A box.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    /// The lines in it; the first is its title.
    pub(crate) lines: Vec<String>,
    /// Where it was written.
    pub(crate) places: Vec<String>,
}

/// An arrow between boxes, by their places.
#[derive(Debug, Clone)]
pub(crate) struct Edge {
    pub(crate) from: usize,
    pub(crate) to: usize,
    /// The type and shape that flow along it.
    pub(crate) label: String,
}

/// Boxes, each after all that point to it, and arrows.
#[derive(Debug, Clone)]
pub(crate) struct Diagram {
    pub(crate) name: String,
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
    /// What is not drawn.
    pub(crate) note: Option<String>,
}

impl Diagram {
    /// The diagram of a graph. Constants are lines in the boxes that read
    /// them.
    pub(crate) fn of(
        graph: &TensorGraph,
        places: &[Place],
        inputs: &[String],
        outputs: &[String],
    ) -> Diagram {
        let mut diagram = Diagram {
            name: graph.name.clone(),
            nodes: Vec::new(),
            edges: Vec::new(),
            note: (graph.ops.len() > MAX_OPS)
                .then(|| format!("the first {MAX_OPS} of {} ops are drawn", graph.ops.len())),
        };
        let mut makers: Vec<Option<usize>> = vec![None; graph.tensors.len()];
        for (i, &id) in graph.inputs.iter().enumerate() {
            if graph.tensor(id).role == Role::Constant {
                continue;
            }
            let name = inputs.get(i).cloned().unwrap_or_else(|| format!("input {i}"));
            let lines = vec![name, graph.spec(id).to_string()];
            makers[id.at()] = Some(diagram.push(Kind::Input, lines, Vec::new()));
        }
        for op in graph.ops.iter().take(MAX_OPS) {
            let mut lines = vec![op_name(&op.sym)];
            lines.extend(steps(&op.sym));
            let mut constants: Vec<String> = Vec::new();
            let mut reads: Vec<TensorId> = Vec::new();
            for operand in &op.operands {
                let id = operand.tensor;
                if makers[id.at()].is_some() {
                    if !reads.contains(&id) {
                        reads.push(id);
                    }
                } else {
                    constants.push(graph.spec(id).to_string());
                }
            }
            if !constants.is_empty() {
                lines.push(format!("with {}", constants.join(", ")));
            }
            let results: Vec<String> = op.results.iter().map(|r| graph.spec(r.tensor).to_string()).collect();
            lines.push(format!("→ {}", results.join(", ")));
            let kind = if matches!(op.sym, Sym::Fused(_)) { Kind::Fused } else { Kind::Op };
            let mut written: Vec<String> =
                op.covers.iter().filter_map(|id| places.get(id.at())).filter_map(place_text).collect();
            written.dedup();
            let at = diagram.push(kind, lines, written);
            for id in reads {
                diagram.connect(graph, &makers, id, at);
            }
            for result in &op.results {
                makers[result.tensor.at()] = Some(at);
            }
        }
        for (i, &id) in graph.outputs.iter().enumerate() {
            let drawn = makers[id.at()].is_some() || graph.tensor(id).role == Role::Constant;
            if !drawn {
                continue;
            }
            let name = outputs.get(i).cloned().unwrap_or_else(|| format!("output {i}"));
            let at = diagram.push(Kind::Output, vec![name, graph.spec(id).to_string()], Vec::new());
            diagram.connect(graph, &makers, id, at);
        }
        diagram
    }

    fn push(&mut self, kind: Kind, lines: Vec<String>, places: Vec<String>) -> usize {
        self.nodes.push(Node { kind, lines, places });
        self.nodes.len() - 1
    }

    fn connect(&mut self, graph: &TensorGraph, makers: &[Option<usize>], id: TensorId, to: usize) {
        // A table that an op writes in place is made by the op itself.
        if let Some(from) = makers[id.at()].filter(|&from| from != to) {
            self.edges.push(Edge { from, to, label: graph.spec(id).to_string() });
        }
    }
}

/// What an op is called in diagrams and counts: of scalar functions the
/// function.
pub(crate) fn op_name(sym: &Sym) -> String {
    match sym {
        Sym::Prim(Primitive::Unary(op)) => op.name().into(),
        Sym::Prim(Primitive::Binary(op)) => op.name().into(),
        Sym::Fused(fused) => match &fused.class {
            Class::Fast(FastOp::Linear(linear)) => match linear.activation.name() {
                "none" => "linear".into(),
                activation => format!("linear + {activation}"),
            },
            class => class.name().into(),
        },
        other => other.name().into(),
    }
}

/// The steps of a region, in a line.
fn steps(sym: &Sym) -> Option<String> {
    let Sym::Fused(fused) = sym else { return None };
    let Class::Region(region) = &fused.class else { return None };
    let named = region.steps.iter().take(MAX_STEPS).map(|step| op_name(&Sym::Prim(step.primitive())));
    let mut names: Vec<String> = named.collect();
    if region.steps.len() > MAX_STEPS {
        names.push("…".into());
    }
    Some(names.join(" · "))
}
