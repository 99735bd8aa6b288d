//! `FlexAttention`: attention with graphs for what is done to scores and to
//! probabilities.

use std::collections::HashMap;
use std::sync::Arc;

use oneir_array::{Array, DType};

use crate::call::Call;
use crate::control::Site;
use crate::error::OnnxError;
use crate::program::{NodeStep, Step};
use crate::term::Term;

/// Scores, and the values by query heads, both in the precision of the softmax.
struct Parts {
    scores: Array,
    values: Array,
}

fn parts(call: &Call<'_>) -> Result<Parts, OnnxError> {
    let (q, k, v) = (call.array(0)?, call.array(1)?, call.array(2)?);
    let precision = match call.attributes().find_int("softmax_precision")? {
        Some(code) => call.dtype_of(code)?,
        None if q.dtype() == DType::F64 => DType::F64,
        None => DType::F32,
    };
    if !precision.is_float() {
        return Err(call.fails(format!("softmax_precision must be a float type, found {precision}")));
    }
    let shapes = (&q.shape()[..], &k.shape()[..], &v.shape()[..]);
    let (&[batch, heads, queries, size], &[_, groups, keys, _], &[_, _, _, width]) = shapes else {
        return Err(call.fails("query, key and value must have 4 dimensions"));
    };
    if groups == 0 || !heads.is_multiple_of(groups) {
        return Err(call.fails(format!("{heads} query heads do not share {groups} key heads")));
    }
    let scale = match call.attributes().find_float("scale")? {
        Some(scale) => f64::from(scale),
        None => 1.0 / (size as f64).sqrt(),
    };
    // Each key head is for several query heads beside each other.
    let each = heads / groups;
    let shared = |x: &Array, last: usize| {
        let whole = x.astype(precision).expand_dims([2]).broadcast_to(&[batch, groups, each, keys, last]);
        whole.reshape(&[batch, heads, keys, last].map(|n| n as isize))
    };
    let rows = [batch, groups, each * queries, size].map(|n| n as isize);
    let product = q.astype(precision).reshape(&rows).matmul(&k.astype(precision).transpose([0, 1, 3, 2]));
    let scores: Array = product.reshape(&[batch, heads, queries, keys].map(|n| n as isize)) * scale;
    let values = shared(&v, width);
    call.checked(&scores)?;
    call.checked(&values)?;
    Ok(Parts { scores, values })
}

impl Site<'_> {
    /// The scores are made here; what is left are the graph for them, a softmax,
    /// the graph for probabilities, a product and a cast.
    pub(crate) fn flex_attention(&mut self, step: &Arc<NodeStep>) -> Result<(), OnnxError> {
        let parts = parts(&self.call(step))?;
        self.pending.done();
        let prefix = self.pending.prefix(step);
        let name = |what: &str| format!("{prefix}#{what}");
        for (what, array) in [("scores", parts.scores), ("values", parts.values)] {
            self.environment.insert(name(what), Term::Array(array));
        }
        let node = |operator: &str, inputs: Vec<String>, output: &str| {
            let mut node = step.node.clone();
            (node.domain, node.op_type) = (String::new(), operator.into());
            (node.inputs, node.outputs) = (inputs, vec![output.into()]);
            let (opsets, scope) = (step.opsets.clone(), step.scope.clone());
            Step::Node(Arc::new(NodeStep { node, version: 23, opsets, scope }))
        };
        let mut steps = Vec::new();
        let scores = self.modified(step, "score_mod", name("scores"), &prefix, &mut steps)?;
        steps.push(node("Softmax", vec![scores], &name("shares")));
        let shares = self.modified(step, "prob_mod", name("shares"), &prefix, &mut steps)?;
        steps.push(node("MatMul", vec![shares, name("values")], &name("sum")));
        let query = step.node.inputs[0].clone();
        steps.push(node("CastLike", vec![name("sum"), query], step.node.outputs.first().map_or("", |o| o)));
        self.pending.first(steps);
        Ok(())
    }

    /// Appends the steps of the graph in an attribute, and gives its result's
    /// name: what it is given, where there is no graph.
    fn modified(
        &mut self,
        step: &NodeStep,
        attribute: &str,
        given: String,
        prefix: &str,
        steps: &mut Vec<Step>,
    ) -> Result<String, OnnxError> {
        let Some(graph) = step.node.attributes.find_graph(attribute)?.cloned() else { return Ok(given) };
        let ([input], [_]) = (&graph.inputs[..], &graph.outputs[..]) else {
            let (inputs, outputs) = (graph.inputs.len(), graph.outputs.len());
            return Err(self.call(step).fails(format!(
                "{attribute} must have one input and one output, found {inputs} and {outputs}"
            )));
        };
        let names = HashMap::from([(input.name.as_str(), given)]);
        let mut results = self.enter(step, &graph, &names, &format!("{prefix}{attribute}/"), steps)?;
        Ok(results.remove(0))
    }
}
