//! `oneir inspect`: what a model's file says, and what becomes of it.

use std::collections::BTreeMap;

use oneir::DType;
use oneir::Device;
use oneir::ir::graph::{Class, Sym, TensorGraph};
use oneir::ir::{Nature, Place, Spec};
use oneir::onnx::{AttributeValue, Graph, Model, OnnxError, OnnxFile, Part, ValueInfo};
use oneir::passes::{Options, PASSES, optimise_until};
use oneir::runtime::{Given, Home, Launch};

use crate::args::{GraphForm, InspectArgs, LIFTED};
use crate::diagram::{Diagram, op_name};
use crate::error::CliError;
use crate::inputs::{Open, declared_dtype, declared_shape, takes};
use crate::nearest::nearest;
use crate::report::{
    Breaks, FileFacts, GraphFacts, Parameters, PlanFacts, Report, TraceFacts, Traced, ValueFacts,
};
use crate::{device, dot, kinds, print, svg};

pub(crate) fn inspect(args: &InspectArgs) -> Result<(), CliError> {
    let device = device(args.device.as_deref())?;
    let name = args.model.display().to_string();
    let file =
        OnnxFile::open(&args.model).map_err(|source| kinds::refusal(Some(&args.model), &name, source))?;
    let shapes = given_shapes(&file, &args.shape)?;
    let facts = file_facts(&file);
    let assumed = assumed(&file, &shapes);
    let traced = trace(file, &shapes);

    let passes = match (&args.graph, &args.dump) {
        (None, None) => {
            let traced = match traced {
                Ok(traced) => Traced::Yes(Box::new(trace_facts(&traced, &device))),
                Err(reason) => Traced::No(reason.to_string(), assumed.clone()),
            };
            let report = Report { model: name, file: facts, traced };
            return print(&if args.json { report.json() } else { report.text() });
        }
        (_, Some(pass)) => pass.as_str(),
        (Some(_), None) => PASSES[PASSES.len() - 1],
    };
    let no_graph =
        |reason: String| CliError::NoGraph { model: name.clone(), reason, assumed: assumed.clone() };
    let traced = traced.map_err(|reason| no_graph(reason.to_string()))?;
    let lifted = traced.part.traced().graph();
    let graph = match passes {
        LIFTED => lifted.clone(),
        last => optimised(lifted, &device, last).map_err(no_graph)?,
    };
    let form = args.graph.unwrap_or(GraphForm::Text);
    let diagram = || Diagram::of(&graph, traced.part.traced().places(), &traced.names, &traced.outputs);
    print(&match form {
        GraphForm::Text => format!("{graph}\n"),
        GraphForm::Dot => dot::text(&diagram()),
        GraphForm::Svg => svg::text(&diagram()),
    })
}

/// A model traced for inputs of some shapes.
struct TracedModel {
    part: std::sync::Arc<Part>,
    /// The inputs, in order.
    names: Vec<String>,
    /// The outputs that the traced part has, in order; none where it breaks.
    outputs: Vec<String>,
    specs: Vec<Spec>,
    /// Inputs of which a size was open and taken to be 1.
    assumed: Vec<String>,
}

/// Shapes by input name, as `--shape` gives them.
fn given_shapes<'a>(
    file: &OnnxFile,
    given: &'a [(String, Vec<usize>)],
) -> Result<BTreeMap<&'a str, &'a [usize]>, CliError> {
    let expected: Vec<&ValueInfo> = file.graph.required_inputs().collect();
    let mut shapes = BTreeMap::new();
    for (name, shape) in given {
        if !expected.iter().any(|info| info.name == *name) {
            let meant = nearest(name, expected.iter().map(|info| info.name.as_str()));
            return Err(CliError::UnknownShape {
                name: name.clone(),
                meant: meant.map(str::to_owned),
                takes: takes(&expected),
            });
        }
        if shapes.insert(name.as_str(), shape.as_slice()).is_some() {
            return Err(CliError::GivenTwice { name: name.clone() });
        }
    }
    Ok(shapes)
}

/// Inputs of which a size is open and not given.
fn assumed(file: &OnnxFile, shapes: &BTreeMap<&str, &[usize]>) -> Vec<String> {
    let inputs = file.graph.required_inputs();
    let open = inputs.filter(|info| declared_shape(info).contains(&Open::Any));
    open.map(|info| info.name.clone()).filter(|name| !shapes.contains_key(name.as_str())).collect()
}

/// Why a model cannot be traced.
#[derive(Debug, thiserror::Error)]
enum NotTraced {
    #[error("{0}")]
    Model(#[from] OnnxError),
    #[error("{0}")]
    Input(#[from] CliError),
}

fn trace(file: OnnxFile, shapes: &BTreeMap<&str, &[usize]>) -> Result<TracedModel, NotTraced> {
    let mut names = Vec::new();
    let mut specs = Vec::new();
    let assumed = assumed(&file, shapes);
    for info in file.graph.required_inputs() {
        let shape = match shapes.get(info.name.as_str()) {
            Some(shape) => shape.to_vec(),
            None => declared_shape(info).into_iter().map(Open::or_one).collect(),
        };
        specs.push(Spec::new(declared_dtype(info)?.unwrap_or(DType::F32), shape));
        names.push(info.name.clone());
    }
    let model = Model::new(file)?;
    let inputs: Vec<(&str, Spec)> = names.iter().map(String::as_str).zip(specs.iter().cloned()).collect();
    let part = model.trace(&inputs)?;
    let outputs = match part.break_reason() {
        None => model.outputs().iter().map(|info| info.name.clone()).collect(),
        Some(_) => Vec::new(),
    };
    Ok(TracedModel { part, names, outputs, specs, assumed })
}

fn optimised(lifted: &TensorGraph, device: &Device, last: &str) -> Result<TensorGraph, String> {
    let options = Options { fusion: device.options().fusion };
    optimise_until(lifted.clone(), &options, last).map(|(graph, _)| graph).map_err(|e| e.to_string())
}

fn file_facts(file: &OnnxFile) -> FileFacts {
    let value = |info: &ValueInfo| ValueFacts { name: info.name.clone(), ty: info.ty.to_string() };
    let mut operators = BTreeMap::new();
    let mut parameters = Parameters::default();
    let bodies = file.functions.iter().map(|function| function.body.as_ref());
    for graph in std::iter::once(&file.graph).chain(bodies) {
        count_graph(graph, &mut operators, &mut parameters);
    }
    let missing = match Model::new(file.clone()) {
        Err(OnnxError::MissingOperators { operators }) => operators,
        _ => Vec::new(),
    };
    let domain = |domain: &str| if domain.is_empty() { "ai.onnx".to_owned() } else { domain.to_owned() };
    FileFacts {
        ir_version: file.ir_version,
        opsets: file.opsets.iter().map(|(name, version)| (domain(name), version)).collect(),
        producer: [&file.producer.name, &file.producer.version].map(String::clone),
        graph: file.graph.name.clone(),
        inputs: file.graph.required_inputs().map(value).collect(),
        outputs: file.graph.outputs.iter().map(value).collect(),
        parameters,
        functions: file.functions.len(),
        operators: by_count(operators),
        missing,
    }
}

/// Counts nodes and stored tensors of a graph and of those in its attributes.
fn count_graph(graph: &Graph, operators: &mut BTreeMap<String, usize>, parameters: &mut Parameters) {
    let mut stack = vec![graph];
    while let Some(graph) = stack.pop() {
        graph.initializers.iter().for_each(|(_, data)| parameters.add(data));
        for node in &graph.nodes {
            *operators.entry(node.operator()).or_default() += 1;
            // Some exporters write every parameter as a node of its own.
            if let ("Constant", Some(AttributeValue::Tensor(data))) =
                (node.operator().as_str(), node.attributes.get("value"))
            {
                parameters.add(data);
            }
            stack.extend(node.attributes.all_graphs().map(AsRef::as_ref));
        }
    }
}

/// Names with their counts, the most frequent first.
fn by_count(counts: BTreeMap<String, usize>) -> Vec<(String, usize)> {
    let mut list: Vec<(String, usize)> = counts.into_iter().collect();
    list.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    list
}

fn counted(names: impl Iterator<Item = String>) -> Vec<(String, usize)> {
    let mut counts = BTreeMap::new();
    for name in names {
        *counts.entry(name).or_default() += 1;
    }
    by_count(counts)
}

fn trace_facts(traced: &TracedModel, device: &Device) -> TraceFacts {
    let function = traced.part.traced();
    let lifted = function.graph();
    let optimised = optimised(lifted, device, PASSES[PASSES.len() - 1]);
    let mut breaks = Breaks { on_values: Vec::new(), host_ops: Vec::new() };
    if let Some(reason) = traced.part.break_reason() {
        breaks.on_values.push(reason.to_string());
    }
    if let Ok(graph) = &optimised {
        let host = graph.ops.iter().filter(
            |op| matches!(&op.sym, Sym::Prim(p) if matches!(p.nature(), Nature::Control | Nature::DataSized)),
        );
        breaks.host_ops = counted(host.map(|op| op.sym.name().to_owned()));
    }
    let graph_facts = |graph: &TensorGraph| GraphFacts {
        ops: graph.ops.len(),
        by_name: counted(graph.ops.iter().map(|op| op_name(&op.sym))),
        fused: counted(graph.ops.iter().filter_map(|op| match &op.sym {
            Sym::Fused(fused) => Some(match &fused.class {
                Class::Fast(fast) => fast.name().to_owned(),
                Class::Region(_) => fused.class.name().to_owned(),
            }),
            _ => None,
        })),
    };
    TraceFacts {
        inputs: traced.names.iter().zip(&traced.specs).map(|(n, s)| (n.clone(), s.to_string())).collect(),
        assumed: traced.assumed.clone(),
        lifted: graph_facts(lifted),
        optimised: optimised.as_ref().map(graph_facts).map_err(String::clone),
        device: device.name().to_owned(),
        plan: plan_facts(lifted, device),
        breaks,
    }
}

fn plan_facts(lifted: &TensorGraph, device: &Device) -> Result<PlanFacts, String> {
    let given = lifted.inputs.iter().map(|&id| Given::rows(&lifted.tensor(id).shape)).collect();
    let executable = device.executable(lifted, given).map_err(|e| e.to_string())?;
    let plan = executable.plan();
    let kernels =
        |launches: &[Launch]| counted(launches.iter().map(|launch| launch.prepared.kernel.to_owned()));
    let constants: Vec<usize> = plan
        .buffers
        .iter()
        .filter(|buffer| matches!(buffer.home, Home::Constant(_)))
        .map(|buffer| buffer.bytes)
        .collect();
    Ok(PlanFacts {
        launches: plan.launches.len(),
        kernels: kernels(&plan.launches),
        once: plan.prologue.len(),
        kernels_once: kernels(&plan.prologue),
        arena: plan.arena,
        scratch: plan.scratch,
        kept: plan.kept,
        constants: constants.len(),
        constant_bytes: constants.iter().sum(),
        ends_at: executable.break_at().map(str::to_owned),
    })
}

/// Where an op was written, as dumps name it.
pub(crate) fn place_text(place: &Place) -> Option<String> {
    match place {
        Place::Named(name) => Some(name.to_string()),
        Place::Rust(_) | Place::Internal => None,
    }
}
