//! A model's nodes in the order in which they run, calls of its own functions
//! replaced by their bodies.

use std::collections::HashMap;

use crate::file::{NodeDef, OnnxFile, Opsets};

/// One node with the version of the operator set that it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) node: NodeDef,
    pub(crate) version: i64,
}

/// The nodes of a model's main graph.
pub(crate) fn steps(file: &OnnxFile) -> Vec<Step> {
    let mut out = Vec::with_capacity(file.graph.nodes.len());
    expand(file, &file.graph.nodes, &file.opsets, &|name| name.to_string(), &mut out);
    out
}

/// Appends nodes with their values renamed. Functions do not recurse: the file
/// was checked.
fn expand(
    file: &OnnxFile,
    nodes: &[NodeDef],
    opsets: &Opsets,
    rename: &dyn Fn(&str) -> String,
    out: &mut Vec<Step>,
) {
    for node in nodes {
        let mut node = node.clone();
        for name in node.inputs.iter_mut().chain(&mut node.outputs).chain(&mut node.captures) {
            if !name.is_empty() {
                *name = rename(name);
            }
        }
        let Some(function) = file.function(&node) else {
            let version = opsets.version(&node.domain).unwrap_or(1);
            out.push(Step { node, version });
            continue;
        };
        let body = function.bind(&node);
        let mut names: HashMap<&str, String> = HashMap::new();
        for (i, parameter) in body.inputs.iter().enumerate() {
            names.insert(&parameter.name, node.inputs.get(i).cloned().unwrap_or_default());
        }
        let mut given = Vec::new();
        for (result, output) in body.outputs.iter().zip(&node.outputs) {
            if output.is_empty() {
                continue;
            }
            // A parameter that is a result, or one result twice.
            match names.get(result.name.as_str()) {
                Some(same) => given.push((same.clone(), output.clone())),
                None => {
                    names.insert(&result.name, output.clone());
                }
            }
        }
        // The call's place among all nodes keeps inner names apart.
        let prefix = format!("{}#{}/", node.name, out.len());
        let inner = |name: &str| names.get(name).cloned().unwrap_or_else(|| format!("{prefix}{name}"));
        expand(file, &body.nodes, &function.opsets, &inner, out);
        for (from, to) in given {
            let pass = NodeDef {
                op_type: "Identity".into(),
                domain: String::new(),
                inputs: vec![from],
                outputs: vec![to],
                ..node.clone()
            };
            out.push(Step { node: pass, version: opsets.version("").unwrap_or(1) });
        }
    }
}
