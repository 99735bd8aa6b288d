use std::collections::HashMap;
use std::sync::Arc;

use super::graph::Reader;
use super::opsets::{domain, qualified};
use super::order;
use super::{Attributes, Graph, NodeDef, Opsets, ValueInfo, ValueType};
use crate::error::{OnnxError, Place};
use crate::proto::FunctionProto;

/// Graphs in graphs and functions in functions, together.
const MAX_NESTING: usize = 64;

/// Nodes of a model after every function call is replaced by the function.
const MAX_NODES: u64 = 1 << 22;

/// An operator that the model defines itself.
#[derive(Debug, Clone)]
pub struct Function {
    /// The operator that it defines.
    pub name: String,
    /// The operator's domain; `""` is the standard one.
    pub domain: String,
    /// Which of several functions of the same name and domain.
    pub overload: String,
    /// Attributes that a call may give and that have no default.
    pub parameters: Vec<String>,
    /// Attributes that a call may give, with their defaults.
    pub defaults: Attributes,
    /// The operator sets of the body; the model's for domains that the
    /// function does not import.
    pub opsets: Opsets,
    /// The nodes. Attributes may be references to parameters.
    pub body: Arc<Graph>,
}

impl Function {
    /// The body as `call` runs it: with the call's attributes, or their
    /// defaults, in place of the references to them. A reference to a
    /// parameter that has neither is left out.
    pub fn bind(&self, call: &NodeDef) -> Arc<Graph> {
        Graph::bind(&self.body, &call.attributes, &self.defaults)
    }

    pub(super) fn read(
        proto: FunctionProto,
        model: &Opsets,
        reader: &mut Reader<'_>,
    ) -> Result<Self, OnnxError> {
        let name = proto.name.unwrap_or_default();
        let domain = domain(proto.domain);
        let place = Arc::new(Place::Function { name: qualified(&domain, &name) });
        let defaults = Attributes::read(proto.attribute_proto, &place, reader)?;

        let mut value_info = Vec::with_capacity(proto.value_info.len());
        for info in proto.value_info {
            value_info.push(ValueInfo::read(info, |name| Place::Value { name })?);
        }
        let types: HashMap<&str, &ValueType> = value_info.iter().map(|i| (i.name.as_str(), &i.ty)).collect();
        let describe = |name: String| {
            let ty = types.get(name.as_str()).map_or(ValueType::Unknown, |ty| ValueType::clone(ty));
            ValueInfo { name, ty }
        };
        let inputs = proto.input.into_iter().map(describe).collect();
        let outputs = proto.output.into_iter().map(describe).collect();
        let body = Graph {
            name: qualified(&domain, &name),
            nodes: reader.nodes(proto.node)?,
            inputs,
            outputs,
            initializers: Vec::new(),
            value_info,
            captures: Vec::new(),
        };
        Ok(Function {
            name,
            domain,
            overload: proto.overload.unwrap_or_default(),
            parameters: proto.attribute,
            defaults,
            opsets: Opsets::read(proto.opset_import)?.or(model, &mut reader.allowance)?,
            body: Arc::new(body.connected(reader)?.closed()?),
        })
    }

    fn place(&self) -> &Arc<Place> {
        self.defaults.place()
    }
}

/// Finds a model's functions by the operators that they define.
#[derive(Debug, Clone, Default)]
pub(super) struct FunctionIndex(HashMap<(String, String, String), usize>);

impl FunctionIndex {
    pub(super) fn new(functions: &[Function]) -> Result<Self, OnnxError> {
        let mut index = HashMap::with_capacity(functions.len());
        for (i, f) in functions.iter().enumerate() {
            let key = (f.domain.clone(), f.name.clone(), f.overload.clone());
            if index.insert(key, i).is_some() {
                return Err(OnnxError::DuplicateFunction { place: f.place().clone() });
            }
        }
        Ok(FunctionIndex(index))
    }

    pub(super) fn find(&self, node: &NodeDef) -> Option<usize> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&(node.domain.clone(), node.op_type.clone(), node.overload.clone())).copied()
    }

    /// Refuses recursion, and calls that nest or multiply past the limits.
    pub(super) fn check_calls(&self, functions: &[Function], graph: &Graph) -> Result<(), OnnxError> {
        let uses: Vec<Uses> = functions.iter().map(|f| self.uses(&f.body)).collect();
        let depends: Vec<Vec<usize>> =
            uses.iter().map(|u| u.calls.iter().map(|&(callee, _)| callee).collect()).collect();
        let order = order::sort(&depends).map_err(|mut cycle| {
            cycle.reverse();
            let functions = cycle.into_iter().map(|i| functions[i].place().clone()).collect();
            OnnxError::RecursiveFunctions { functions }
        })?;
        let mut expanded = vec![Expanded::default(); functions.len()];
        for i in order {
            expanded[i] = uses[i].expand(&expanded)?;
        }
        self.uses(graph).expand(&expanded)?;
        Ok(())
    }

    fn uses(&self, graph: &Graph) -> Uses {
        let mut uses = Uses::default();
        self.collect(graph, 1, &mut uses);
        uses
    }

    fn collect(&self, graph: &Graph, depth: usize, uses: &mut Uses) {
        uses.depth = uses.depth.max(depth);
        uses.nodes += graph.nodes.len() as u64;
        for node in &graph.nodes {
            uses.calls.extend(self.find(node).map(|callee| (callee, depth)));
            for inner in node.attributes.all_graphs() {
                self.collect(inner, depth + 1, uses);
            }
        }
    }
}

/// What a graph holds at whatever depth.
#[derive(Default)]
struct Uses {
    nodes: u64,
    depth: usize,
    /// Functions called, each with the depth of the graph that calls.
    calls: Vec<(usize, usize)>,
}

/// What a graph holds once its calls are replaced.
#[derive(Clone, Default)]
struct Expanded {
    nodes: u64,
    depth: usize,
}

impl Uses {
    fn expand(&self, callees: &[Expanded]) -> Result<Expanded, OnnxError> {
        let mut all = Expanded { nodes: self.nodes, depth: self.depth };
        for &(callee, depth) in &self.calls {
            all.nodes = all.nodes.saturating_add(callees[callee].nodes);
            all.depth = all.depth.max(depth + callees[callee].depth);
        }
        if all.depth > MAX_NESTING {
            return Err(OnnxError::TooDeep { limit: MAX_NESTING });
        }
        if all.nodes > MAX_NODES {
            return Err(OnnxError::TooManyNodes { nodes: all.nodes, limit: MAX_NODES });
        }
        Ok(all)
    }
}
