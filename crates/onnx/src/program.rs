//! What is left to do of a model: its nodes in the order in which they run,
//! calls of its own functions replaced by their bodies, and bodies of control
//! flow put in where they are entered.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::control::Iteration;
use crate::error::OnnxError;
use crate::file::{Graph, NodeDef, OnnxFile, Opsets};
use crate::trace::{Environment, stored};

/// One node as it runs.
#[derive(Debug)]
pub(crate) struct NodeStep {
    /// The node, its values under the names that they have in the environment.
    pub(crate) node: NodeDef,
    /// The version of the operator set that it belongs to.
    pub(crate) version: i64,
    /// The operator sets of the graph that it stands in.
    pub(crate) opsets: Arc<Opsets>,
    /// What graphs in its attributes call values of graphs around them, and
    /// their names in the environment.
    pub(crate) scope: HashMap<String, String>,
}

/// One thing to do.
#[derive(Debug)]
pub(crate) enum Step {
    /// A node.
    Node(Arc<NodeStep>),
    /// Values get further names.
    Bind { from: Vec<String>, to: Vec<String> },
    /// Lists of values become sequences.
    Collect { from: Vec<Vec<String>>, to: Vec<String> },
    /// Lists of values become tensors, joined along a new first axis.
    Stack { node: Arc<NodeStep>, from: Vec<Vec<String>>, to: Vec<String> },
    /// The next iteration of a loop, or its end.
    Next(Iteration),
}

impl Step {
    /// Names of the values that must be there.
    pub(crate) fn reads(&self) -> Box<dyn Iterator<Item = &String> + '_> {
        match self {
            Step::Node(step) => Box::new(step.node.inputs.iter().chain(&step.node.captures)),
            Step::Bind { from, .. } => Box::new(from.iter()),
            Step::Collect { from, .. } | Step::Stack { from, .. } => Box::new(from.iter().flatten()),
            Step::Next(iteration) => Box::new(iteration.reads()),
        }
    }
}

/// What is left to do, the next step last.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pending {
    todo: Vec<Arc<Step>>,
    /// How often a body was entered: names inside it begin with the number.
    entered: usize,
}

impl Pending {
    /// The nodes of a model's main graph.
    pub(crate) fn of(file: &OnnxFile) -> Pending {
        let opsets = Arc::new(file.opsets.clone());
        let mut out = Vec::with_capacity(file.graph.nodes.len());
        expand(file, &file.graph.nodes, &opsets, &str::to_string, &mut out);
        let mut pending = Pending::default();
        pending.first(out);
        pending
    }

    /// Nothing, for a body whose values have names that no value here has.
    pub(crate) fn inner(&self) -> Pending {
        Pending { todo: Vec::new(), entered: self.entered }
    }

    pub(crate) fn next(&self) -> Option<Arc<Step>> {
        self.todo.last().cloned()
    }

    /// How many steps are known to be left.
    pub(crate) fn count(&self) -> usize {
        self.todo.len()
    }

    pub(crate) fn done(&mut self) {
        self.todo.pop();
    }

    /// Puts steps before all others.
    pub(crate) fn first(&mut self, steps: Vec<Step>) {
        self.todo.extend(steps.into_iter().rev().map(Arc::new));
    }

    /// Names of the values that must be there.
    pub(crate) fn reads(&self) -> impl Iterator<Item = &String> {
        self.todo.iter().rev().flat_map(|step| step.reads())
    }

    /// A beginning of names that no value has yet.
    pub(crate) fn prefix(&mut self, step: &NodeStep) -> String {
        self.entered += 1;
        format!("{}#{}/", step.node.name, self.entered)
    }
}

/// Appends the steps of a graph in a node's attribute, and gives the names of
/// its outputs. `given` are its inputs' names in the environment; the names of
/// all else that it makes begin with `prefix`. Its stored tensors join the
/// environment.
pub(crate) fn enter(
    file: &OnnxFile,
    step: &NodeStep,
    graph: &Graph,
    given: &HashMap<&str, String>,
    prefix: &str,
    environment: &mut Environment,
    out: &mut Vec<Step>,
) -> Result<Vec<String>, OnnxError> {
    let captured: HashSet<&str> = graph.captures.iter().map(String::as_str).collect();
    let rename = |name: &str| match given.get(name) {
        Some(given) => given.clone(),
        None if captured.contains(name) => step.scope.get(name).cloned().unwrap_or_else(|| name.to_owned()),
        None => format!("{prefix}{name}"),
    };
    for (name, data) in &graph.initializers {
        // An input that has a default and is given keeps what it was given.
        if !given.contains_key(name.as_str()) {
            environment.insert(format!("{prefix}{name}"), stored(data)?);
        }
    }
    expand(file, &graph.nodes, &step.opsets, &rename, out);
    Ok(graph.outputs.iter().map(|output| rename(&output.name)).collect())
}

/// Appends nodes with their values renamed. Functions do not recurse: the file
/// was checked.
fn expand(
    file: &OnnxFile,
    nodes: &[NodeDef],
    opsets: &Arc<Opsets>,
    rename: &dyn Fn(&str) -> String,
    out: &mut Vec<Step>,
) {
    for node in nodes {
        let mut node = node.clone();
        let scope = node.captures.iter().map(|name| (name.clone(), rename(name))).collect();
        for name in node.inputs.iter_mut().chain(&mut node.outputs).chain(&mut node.captures) {
            if !name.is_empty() {
                *name = rename(name);
            }
        }
        let Some(function) = file.function(&node) else {
            let version = opsets.version(&node.domain).unwrap_or(1);
            out.push(Step::Node(Arc::new(NodeStep { node, version, opsets: opsets.clone(), scope })));
            continue;
        };
        let body = function.bind(&node);
        let mut names: HashMap<&str, String> = HashMap::new();
        for (i, parameter) in body.inputs.iter().enumerate() {
            names.insert(&parameter.name, node.inputs.get(i).cloned().unwrap_or_default());
        }
        let mut given = (Vec::new(), Vec::new());
        for (result, output) in body.outputs.iter().zip(&node.outputs) {
            if output.is_empty() {
                continue;
            }
            // A parameter that is a result, or one result twice.
            match names.get(result.name.as_str()) {
                Some(same) => {
                    given.0.push(same.clone());
                    given.1.push(output.clone());
                }
                None => {
                    names.insert(&result.name, output.clone());
                }
            }
        }
        // The call's place among all nodes keeps inner names apart; what it
        // makes begins with the name of its first result, which is its own.
        let own = node.outputs.iter().find(|name| !name.is_empty()).unwrap_or(&node.name);
        let prefix = format!("{own}#{}/", out.len());
        let inner = |name: &str| names.get(name).cloned().unwrap_or_else(|| format!("{prefix}{name}"));
        expand(file, &body.nodes, &Arc::new(function.opsets.clone()), &inner, out);
        if !given.0.is_empty() {
            out.push(Step::Bind { from: given.0, to: given.1 });
        }
    }
}
