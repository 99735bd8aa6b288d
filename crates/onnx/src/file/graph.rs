use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use oneir_runtime::Steps;

use super::allowance::Allowance;
use super::attributes::Attributes;
use super::external::ExternalFiles;
use super::opsets::{domain, qualified};
use super::order;
use super::sparse::Sparse;
use super::{TensorData, ValueInfo};
use crate::error::{OnnxError, Place};
use crate::proto::{GraphProto, NodeProto};

/// A graph whose names all resolve, with its nodes in an order in which they
/// can run.
#[derive(Debug, Clone)]
pub struct Graph {
    /// The graph's name; may be empty.
    pub name: String,
    /// The nodes, each after all whose outputs it reads. A file that is sorted
    /// keeps its order.
    pub nodes: Vec<NodeDef>,
    /// What a caller gives.
    pub inputs: Vec<ValueInfo>,
    /// What a caller gets: node outputs, inputs, initializers, or values of
    /// outer graphs.
    pub outputs: Vec<ValueInfo>,
    /// Stored tensors by name, the sparse ones last. One that has the name of
    /// an input is that input's default.
    pub initializers: Vec<(String, TensorData)>,
    /// What the file says of the types of other values.
    pub value_info: Vec<ValueInfo>,
    /// The values of outer graphs that this graph reads, at whatever depth, in
    /// the order of their first use.
    pub captures: Vec<String>,
}

/// One node of a graph.
#[derive(Debug, Clone)]
pub struct NodeDef {
    /// The name, or operator and index (`Conv#12`) where the file gives none.
    /// Names need not differ.
    pub name: String,
    /// The operator.
    pub op_type: String,
    /// The operator's domain; `""` is the standard one.
    pub domain: String,
    /// Which of several functions of the same name and domain.
    pub overload: String,
    /// Names of the values read; `""` where an optional one is absent.
    pub inputs: Vec<String>,
    /// Names of the values made; `""` where one is not wanted.
    pub outputs: Vec<String>,
    /// The attributes.
    pub attributes: Attributes,
    /// The values that graphs in the attributes read from the node's graph or
    /// graphs around it, in the order of their first use.
    pub captures: Vec<String>,
    /// The node's index in the file's list.
    pub index: usize,
}

impl NodeDef {
    /// What errors call this node.
    pub fn place(&self) -> &Arc<Place> {
        self.attributes.place()
    }

    /// The operator, with its domain where that is not the standard one.
    pub fn operator(&self) -> String {
        qualified(&self.domain, &self.op_type)
    }

    fn read(proto: NodeProto, index: usize, reader: &mut Reader<'_>) -> Result<Self, OnnxError> {
        let op_type = proto.op_type.unwrap_or_default();
        let domain = domain(proto.domain);
        let name = match proto.name {
            Some(name) if !name.is_empty() => name,
            _ => format!("{op_type}#{index}"),
        };
        let place = Arc::new(Place::Node { name: name.clone(), operator: qualified(&domain, &op_type) });
        if op_type.is_empty() {
            return Err(OnnxError::NoOperator { place });
        }
        let attributes = Attributes::read(proto.attribute, &place, reader)?;
        let mut captures = Vec::new();
        let mut seen = HashSet::new();
        for name in attributes.all_graphs().flat_map(|g| &g.captures) {
            if seen.insert(name) {
                reader.allowance.take_name(name)?;
                captures.push(name.clone());
            }
        }
        Ok(NodeDef {
            name,
            op_type,
            domain,
            overload: proto.overload.unwrap_or_default(),
            inputs: proto.input,
            outputs: proto.output,
            attributes,
            captures,
            index,
        })
    }

    /// Names of all values that must exist before the node runs.
    fn reads(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().chain(&self.captures).map(String::as_str).filter(|name| !name.is_empty())
    }
}

/// What reading one file carries from graph to graph.
pub(super) struct Reader<'a> {
    /// Counts the nodes and stored tensors of the main graph.
    pub(super) steps: &'a Steps,
    pub(super) files: Arc<ExternalFiles>,
    pub(super) allowance: Allowance,
    /// Whether attributes may refer to the parameters of a function.
    pub(super) in_function: bool,
}

impl Reader<'_> {
    pub(super) fn nodes(&mut self, protos: Vec<NodeProto>) -> Result<Vec<NodeDef>, OnnxError> {
        let read = |(index, proto)| {
            let node = NodeDef::read(proto, index, self);
            self.steps.step();
            node
        };
        protos.into_iter().enumerate().map(read).collect()
    }
}

/// How many nodes and stored tensors are read, those of inner graphs too.
pub(super) fn steps(nodes: &[NodeProto], stored: usize) -> usize {
    let inner = nodes
        .iter()
        .flat_map(|node| &node.attribute)
        .flat_map(|a| a.g.as_deref().into_iter().chain(&a.graphs));
    let inner = inner.map(|graph| steps(&graph.node, graph.initializer.len()));
    nodes.len() + stored + inner.sum::<usize>()
}

impl Graph {
    /// The stored tensor called `name`.
    pub fn initializer(&self, name: &str) -> Option<&TensorData> {
        self.initializers.iter().find(|(n, _)| n == name).map(|(_, data)| data)
    }

    /// The inputs that have no default.
    pub fn required_inputs(&self) -> impl Iterator<Item = &ValueInfo> {
        let stored: HashSet<&str> = self.initializers.iter().map(|(name, _)| name.as_str()).collect();
        self.inputs.iter().filter(move |input| !stored.contains(input.name.as_str()))
    }

    pub(super) fn read(proto: GraphProto, reader: &mut Reader<'_>) -> Result<Self, OnnxError> {
        let name = proto.name.unwrap_or_default();
        let mut initializers = Vec::with_capacity(proto.initializer.len() + proto.sparse_initializer.len());
        for mut tensor in proto.initializer {
            let name = tensor.name.take().unwrap_or_default();
            let place = Arc::new(Place::Initializer { name: name.clone() });
            initializers.push((name, TensorData::read(tensor, place, &reader.files)?));
            reader.steps.step();
        }
        for mut sparse in proto.sparse_initializer {
            let name = sparse.values.as_mut().and_then(|values| values.name.take()).unwrap_or_default();
            let place = Arc::new(Place::Initializer { name: name.clone() });
            initializers.push((name, Sparse::read(sparse, place, &reader.files, &mut reader.allowance)?));
        }
        let infos = |protos: Vec<_>, place: fn(String) -> Place| {
            protos.into_iter().map(|proto| ValueInfo::read(proto, place)).collect::<Result<Vec<_>, _>>()
        };
        Graph {
            name,
            nodes: reader.nodes(proto.node)?,
            inputs: infos(proto.input, |name| Place::Input { name })?,
            outputs: infos(proto.output, |name| Place::Output { name })?,
            initializers,
            value_info: infos(proto.value_info, |name| Place::Value { name })?,
            captures: Vec::new(),
        }
        .connected(reader)
    }

    /// This graph with its nodes sorted and its captures found.
    pub(super) fn connected(mut self, reader: &mut Reader<'_>) -> Result<Self, OnnxError> {
        let makers = self.makers()?;
        let mut captures = Vec::new();
        let mut seen = HashSet::new();
        let mut maker = |name| match makers.get(name) {
            Some(maker) => maker.node,
            None => {
                if seen.insert(name) {
                    captures.push(name);
                }
                None
            }
        };
        let depends: Vec<Vec<usize>> =
            self.nodes.iter().map(|node| node.reads().filter_map(&mut maker).collect()).collect();
        for output in &self.outputs {
            maker(&output.name);
        }
        captures.iter().try_for_each(|name| reader.allowance.take_name(name))?;
        let captures = captures.into_iter().map(str::to_owned).collect();
        let order = order::sort(&depends).map_err(|cycle| OnnxError::Cycle {
            nodes: cycle.into_iter().map(|i| self.nodes[i].place().clone()).collect(),
        })?;
        let mut nodes: Vec<Option<NodeDef>> = self.nodes.into_iter().map(Some).collect();
        self.nodes = order.into_iter().filter_map(|i| nodes[i].take()).collect();
        self.captures = captures;
        Ok(self)
    }

    /// What makes each value of this graph, once each.
    fn makers(&self) -> Result<HashMap<&str, Maker>, OnnxError> {
        let mut makers: HashMap<&str, Maker> = HashMap::new();
        let mut add = |value, node, place: Arc<Place>| match makers.entry(value) {
            Entry::Vacant(slot) => {
                slot.insert(Maker { node, place, has_default: false });
                Ok(())
            }
            Entry::Occupied(slot) => match (&*slot.get().place, &*place) {
                (Place::Input { .. }, Place::Initializer { .. }) if !slot.get().has_default => {
                    slot.into_mut().has_default = true;
                    Ok(())
                }
                _ => Err(OnnxError::DuplicateValue {
                    value: value.to_owned(),
                    first: slot.get().place.clone(),
                    second: place,
                }),
            },
        };
        for (index, input) in self.inputs.iter().enumerate() {
            self.named("input", index, &input.name)?;
            add(&input.name, None, Arc::new(Place::Input { name: input.name.clone() }))?;
        }
        for (index, (name, data)) in self.initializers.iter().enumerate() {
            self.named("initializer", index, name)?;
            add(name, None, data.place().clone())?;
        }
        for (index, output) in self.outputs.iter().enumerate() {
            self.named("output", index, &output.name)?;
        }
        for (index, node) in self.nodes.iter().enumerate() {
            for output in node.outputs.iter().filter(|name| !name.is_empty()) {
                add(output, Some(index), node.place().clone())?;
            }
        }
        Ok(makers)
    }

    fn named(&self, what: &'static str, index: usize, name: &str) -> Result<(), OnnxError> {
        if name.is_empty() {
            return Err(OnnxError::Unnamed { what, graph: self.name.clone(), index });
        }
        Ok(())
    }

    /// Refuses captures: of a graph that no other surrounds.
    pub(super) fn closed(self) -> Result<Self, OnnxError> {
        match self.captures.first() {
            None => Ok(self),
            Some(value) => {
                Err(OnnxError::MissingValue { value: value.clone(), reader: self.first_reader(value) })
            }
        }
    }

    /// The innermost thing that reads a captured value.
    fn first_reader(&self, value: &str) -> Arc<Place> {
        for node in &self.nodes {
            if node.inputs.iter().any(|name| name == value) {
                return node.place().clone();
            }
            let inner = node.attributes.all_graphs().find(|g| g.captures.iter().any(|name| name == value));
            if let Some(inner) = inner {
                return inner.first_reader(value);
            }
        }
        Arc::new(Place::Output { name: value.to_owned() })
    }

    /// See [`Attributes::bind`].
    pub(super) fn bind(graph: &Arc<Graph>, call: &Attributes, defaults: &Attributes) -> Arc<Graph> {
        if !graph.has_references() {
            return graph.clone();
        }
        let mut bound = Graph::clone(graph);
        for node in &mut bound.nodes {
            node.attributes = node.attributes.bind(call, defaults);
        }
        Arc::new(bound)
    }

    pub(super) fn has_references(&self) -> bool {
        self.nodes.iter().any(|node| node.attributes.has_references())
    }
}

struct Maker {
    node: Option<usize>,
    place: Arc<Place>,
    has_default: bool,
}
