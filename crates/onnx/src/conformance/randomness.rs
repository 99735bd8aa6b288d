//! Which of a model's outputs are random, and what may stand in them.

use std::collections::HashMap;
use std::fmt;

use crate::file::{Graph, NodeDef, OnnxFile, Opsets};
use crate::{AttributeValue, Term};

/// What the elements of a random value may be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Range {
    /// Any number.
    Finite,
    /// Numbers between two, which may be among them.
    Within(f64, f64),
}

impl Range {
    pub(super) fn holds(self, value: f64) -> bool {
        match self {
            Range::Finite => value.is_finite(),
            Range::Within(low, high) => (low..=high).contains(&value),
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Range::Finite => f.write_str("a finite number"),
            Range::Within(low, high) => write!(f, "a number from {low} to {high}"),
        }
    }
}

/// The outputs of a model that follow from random operators, with the range of
/// each. What an operator does may depend on the inputs of the run.
pub(super) fn random_outputs(file: &OnnxFile, inputs: &[(String, Term)]) -> HashMap<String, Range> {
    let model = Scope::of(&file.graph, inputs, None);
    let mut random: HashMap<&str, Range> = HashMap::new();
    for node in &file.graph.nodes {
        let mut reads = node.inputs.iter().chain(&node.captures);
        let from = reads.find_map(|name| random.get(name.as_str())).copied();
        let draws = draws(file, node, &file.opsets, &model);
        let of_form = node.domain.is_empty() && matches!(node.op_type.as_str(), "Shape" | "Size");
        if !draws && (from.is_none() || of_form) {
            continue;
        }
        for (k, name) in node.outputs.iter().enumerate() {
            random.insert(name, range(node, k, draws, from, &model));
        }
    }
    let outputs = file.graph.outputs.iter();
    outputs.filter_map(|info| Some((info.name.clone(), *random.get(info.name.as_str())?))).collect()
}

/// The values that are known of a graph before it runs.
struct Scope<'a> {
    terms: HashMap<&'a str, &'a Term>,
    numbers: HashMap<&'a str, f64>,
    outer: Option<&'a Scope<'a>>,
}

impl<'a> Scope<'a> {
    fn of(graph: &'a Graph, inputs: &'a [(String, Term)], outer: Option<&'a Scope<'a>>) -> Scope<'a> {
        let mut numbers = HashMap::new();
        for (name, data) in &graph.initializers {
            if let Some(number) = data.to_host().ok().and_then(|value| number(&Term::Host(value))) {
                numbers.insert(name.as_str(), number);
            }
        }
        for node in graph.nodes.iter().filter(|node| node.op_type == "Constant" && node.domain.is_empty()) {
            let found = node.attributes.iter().find_map(|(_, value)| match value {
                AttributeValue::Tensor(data) => number(&Term::Host(data.to_host().ok()?)),
                AttributeValue::Float(value) => Some(f64::from(*value)),
                AttributeValue::Int(value) => Some(*value as f64),
                _ => None,
            });
            if let (Some(found), Some(name)) = (found, node.outputs.first()) {
                numbers.insert(name, found);
            }
        }
        Scope { terms: inputs.iter().map(|(name, term)| (name.as_str(), term)).collect(), numbers, outer }
    }

    fn number(&self, name: &str) -> Option<f64> {
        let here = self.terms.get(name).map_or_else(|| self.numbers.get(name).copied(), |term| number(term));
        here.or_else(|| self.outer?.number(name))
    }
}

/// The number in a term of one element.
fn number(term: &Term) -> Option<f64> {
    match term {
        Term::Host(value) if value.count() == 1 => value.values().ok()?.to_floats().first().copied(),
        _ => None,
    }
}

/// Whether a node draws random numbers, itself or in a graph or function of it.
fn draws(file: &OnnxFile, node: &NodeDef, opsets: &Opsets, scope: &Scope<'_>) -> bool {
    if let Some(function) = file.function(node) {
        let body = function.bind(node);
        let mut inner = Scope::of(&body, &[], None);
        for (info, given) in body.inputs.iter().zip(&node.inputs) {
            if let Some(number) = scope.number(given) {
                inner.numbers.insert(&info.name, number);
            }
        }
        return body.nodes.iter().any(|node| draws(file, node, &function.opsets, &inner));
    }
    let inside = |graph: &Graph| {
        let inner = Scope::of(graph, &[], Some(scope));
        graph.nodes.iter().any(|node| draws(file, node, opsets, &inner))
    };
    if node.attributes.all_graphs().any(|graph| inside(graph)) {
        return true;
    }
    if !node.domain.is_empty() {
        return false;
    }
    match node.op_type.as_str() {
        "Bernoulli" | "Multinomial" | "RandomNormal" | "RandomNormalLike" | "RandomUniform"
        | "RandomUniformLike" => true,
        "Dropout" => match opsets.version("").unwrap_or(1) {
            ..7 => {
                let is_test = node.attributes.int_or("is_test", 0).unwrap_or(0) != 0;
                !is_test && node.attributes.float_or("ratio", 0.5).unwrap_or(0.5) != 0.0
            }
            7..12 => false,
            // A mode that only the run knows may be training.
            _ => {
                let given =
                    |k: usize| node.inputs.get(k).filter(|n| !n.is_empty()).map(|name| scope.number(name));
                given(2).is_some_and(|mode| mode != Some(0.0)) && given(1) != Some(Some(0.0))
            }
        },
        _ => false,
    }
}

/// The range of an output of a node that draws numbers, or is given random
/// ones.
fn range(node: &NodeDef, output: usize, draws: bool, from: Option<Range>, scope: &Scope<'_>) -> Range {
    let float = |name, default| f64::from(node.attributes.float_or(name, default).unwrap_or(default));
    let given = |k: usize| node.inputs.get(k).and_then(|name| scope.terms.get(name.as_str()));
    match (node.op_type.as_str(), from) {
        _ if !node.domain.is_empty() => Range::Finite,
        ("Bernoulli", _) => Range::Within(0.0, 1.0),
        ("RandomUniform" | "RandomUniformLike", _) => {
            let (low, high) = (float("low", 0.0), float("high", 1.0));
            // The bounds may be no numbers of the result's type.
            let rounding = low.abs().max(high.abs()) / 256.0;
            Range::Within(low - rounding, high + rounding)
        }
        ("Multinomial", _) => match given(0).and_then(|term| term.shape()?.last().copied()) {
            Some(classes) => Range::Within(0.0, classes.saturating_sub(1) as f64),
            None => Range::Finite,
        },
        ("Dropout", None) if draws && output == 1 => Range::Within(0.0, 1.0),
        ("Dropout", None) if draws => {
            let ratio = match node.inputs.get(1).filter(|name| !name.is_empty()) {
                Some(name) => scope.number(name),
                None => Some(float("ratio", 0.5)),
            };
            let largest = match given(0) {
                Some(Term::Host(x)) => x.values().ok().map(|v| v.to_floats()),
                _ => None,
            };
            match (ratio, largest) {
                (Some(ratio), Some(x)) if ratio < 1.0 => {
                    let largest = x.iter().fold(0.0f64, |most, v| most.max(v.abs()));
                    // The kept elements are scaled, and rounded.
                    let most = largest / (1.0 - ratio) * (1.0 + 1e-3);
                    Range::Within(-most, most)
                }
                _ => Range::Finite,
            }
        }
        (
            "Less" | "LessOrEqual" | "Greater" | "GreaterOrEqual" | "Equal" | "Not" | "And" | "Or" | "Xor",
            _,
        ) => Range::Within(0.0, 1.0),
        ("Identity" | "Cast" | "CastLike" | "Reshape" | "Transpose", Some(from)) => from,
        _ => Range::Finite,
    }
}
