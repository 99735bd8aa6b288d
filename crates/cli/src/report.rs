//! What `oneir inspect` found, as text and as JSON.

use std::fmt::Write;

use oneir::onnx::TensorData;
use serde_json::{Map, Value, json};

use crate::error::assumption;

/// Names with their counts.
pub(crate) type Counts = Vec<(String, usize)>;

/// All that is known of a model.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) model: String,
    pub(crate) file: FileFacts,
    pub(crate) traced: Traced,
}

/// What the file says.
#[derive(Debug)]
pub(crate) struct FileFacts {
    pub(crate) ir_version: i64,
    pub(crate) opsets: Vec<(String, i64)>,
    /// Name and version.
    pub(crate) producer: [String; 2],
    pub(crate) graph: String,
    pub(crate) inputs: Vec<ValueFacts>,
    pub(crate) outputs: Vec<ValueFacts>,
    pub(crate) parameters: Parameters,
    pub(crate) functions: usize,
    pub(crate) operators: Counts,
    pub(crate) missing: Vec<String>,
}

/// An input or output.
#[derive(Debug)]
pub(crate) struct ValueFacts {
    pub(crate) name: String,
    pub(crate) ty: String,
}

/// The stored tensors.
#[derive(Debug, Default)]
pub(crate) struct Parameters {
    pub(crate) tensors: usize,
    pub(crate) elements: usize,
    pub(crate) bytes: usize,
}

impl Parameters {
    /// Counts a stored tensor.
    pub(crate) fn add(&mut self, data: &TensorData) {
        self.tensors += 1;
        self.elements = self.elements.saturating_add(data.count());
        self.bytes = self.bytes.saturating_add(data.count().saturating_mul(data.elem().bits()).div_ceil(8));
    }
}

/// Whether a graph could be made.
#[derive(Debug)]
pub(crate) enum Traced {
    Yes(Box<TraceFacts>),
    /// No, for this reason; inputs of which a size was taken to be 1.
    No(String, Vec<String>),
}

/// The graph and the plan.
#[derive(Debug)]
pub(crate) struct TraceFacts {
    pub(crate) inputs: Vec<(String, String)>,
    pub(crate) assumed: Vec<String>,
    pub(crate) lifted: GraphFacts,
    pub(crate) optimised: Result<GraphFacts, String>,
    pub(crate) device: String,
    pub(crate) plan: Result<PlanFacts, String>,
    pub(crate) breaks: Breaks,
}

/// The ops of a graph.
#[derive(Debug)]
pub(crate) struct GraphFacts {
    pub(crate) ops: usize,
    pub(crate) by_name: Counts,
    pub(crate) fused: Counts,
}

/// A plan, in numbers; memory in bytes.
#[derive(Debug)]
pub(crate) struct PlanFacts {
    pub(crate) launches: usize,
    pub(crate) kernels: Counts,
    pub(crate) once: usize,
    pub(crate) kernels_once: Counts,
    pub(crate) arena: usize,
    pub(crate) scratch: usize,
    pub(crate) kept: usize,
    pub(crate) constants: usize,
    pub(crate) constant_bytes: usize,
    /// The op that looks at values on the host, where the plan stops at one.
    pub(crate) ends_at: Option<String>,
}

/// Where running a model stops to look at values.
#[derive(Debug)]
pub(crate) struct Breaks {
    /// Why tracing stops until a value is known.
    pub(crate) on_values: Vec<String>,
    /// Ops that look at values on the host.
    pub(crate) host_ops: Counts,
}

impl Report {
    pub(crate) fn text(&self) -> String {
        let mut lines = Lines { out: format!("{}\n", self.model) };
        let file = &self.file;
        let opsets: Vec<String> =
            file.opsets.iter().map(|(name, version)| format!("{name} {version}")).collect();
        lines.row("opset", &opsets.join(", "));
        lines.row("format", &format!("IR version {}", file.ir_version));
        lines.row("producer", &or_none(file.producer.join(" ").trim(), "not named"));
        lines.row("graph", &or_none(&file.graph, "not named"));
        let values = |values: &[ValueFacts]| -> Vec<String> {
            values.iter().map(|value| format!("{}: {}", value.name, value.ty)).collect()
        };
        lines.rows("inputs", &values(&file.inputs));
        lines.rows("outputs", &values(&file.outputs));
        let Parameters { tensors, elements, bytes } = file.parameters;
        lines.row("parameters", &format!("{tensors} tensors, {elements} numbers, {}", size(bytes)));
        if file.functions > 0 {
            lines.row("functions", &file.functions.to_string());
        }
        lines.row("operators", &with_sum(&file.operators));
        lines.row("missing", &or_none(&file.missing.join(", "), "none"));
        match &self.traced {
            Traced::Yes(facts) => facts.write(&mut lines),
            Traced::No(..) if !file.missing.is_empty() => {
                lines.row("trace", "none, as operators are missing");
            }
            Traced::No(reason, assumed) => {
                lines.row("trace", &format!("none: {reason}"));
                lines.assumed(assumed);
            }
        }
        lines.out
    }

    pub(crate) fn json(&self) -> String {
        let file = &self.file;
        let values = |values: &[ValueFacts]| -> Value {
            values.iter().map(|value| json!({ "name": value.name, "type": value.ty })).collect()
        };
        let opsets: Map<String, Value> =
            file.opsets.iter().map(|(name, version)| (name.clone(), json!(version))).collect();
        let trace = match &self.traced {
            Traced::Yes(facts) => facts.json(),
            Traced::No(reason, assumed) => json!({ "error": reason, "open_sizes_taken_as_1": assumed }),
        };
        let report = json!({
            "model": self.model,
            "ir_version": file.ir_version,
            "opsets": opsets,
            "producer": { "name": file.producer[0], "version": file.producer[1] },
            "graph": file.graph,
            "inputs": values(&file.inputs),
            "outputs": values(&file.outputs),
            "parameters": {
                "tensors": file.parameters.tensors,
                "elements": file.parameters.elements,
                "bytes": file.parameters.bytes,
            },
            "functions": file.functions,
            "operators": counts(&file.operators),
            "missing_operators": file.missing,
            "trace": trace,
        });
        format!("{report:#}\n")
    }
}

impl TraceFacts {
    fn write(&self, lines: &mut Lines) {
        let inputs: Vec<String> = self.inputs.iter().map(|(name, spec)| format!("{name}: {spec}")).collect();
        lines.out.push('\n');
        lines.rows("traced with", &inputs);
        lines.assumed(&self.assumed);
        lines.row("before passes", &self.lifted.text());
        match &self.optimised {
            Ok(facts) => {
                lines.row("after passes", &facts.text());
                lines.row("fused", &or_none(&listed(&facts.fused), "none"));
            }
            Err(reason) => lines.row("after passes", reason),
        }
        lines.out.push('\n');
        lines.row("plan for", &self.device);
        match &self.plan {
            Ok(plan) => plan.write(lines),
            Err(reason) => lines.row("", &format!("cannot be made: {reason}")),
        }
        let mut breaks = self.breaks.on_values.clone();
        if !self.breaks.host_ops.is_empty() {
            breaks.push(format!("ops that look at values on the host: {}", listed(&self.breaks.host_ops)));
        }
        if breaks.is_empty() {
            breaks.push("none".into());
        }
        lines.rows("breaks", &breaks);
    }

    fn json(&self) -> Value {
        let inputs: Map<String, Value> =
            self.inputs.iter().map(|(name, spec)| (name.clone(), json!(spec))).collect();
        let optimised = match &self.optimised {
            Ok(facts) => facts.json(),
            Err(reason) => json!({ "error": reason }),
        };
        let plan = match &self.plan {
            Ok(plan) => plan.json(),
            Err(reason) => json!({ "error": reason }),
        };
        json!({
            "inputs": inputs,
            "open_sizes_taken_as_1": self.assumed,
            "before_passes": self.lifted.json(),
            "after_passes": optimised,
            "device": self.device,
            "plan": plan,
            "breaks": { "on_values": self.breaks.on_values, "host_ops": counts(&self.breaks.host_ops) },
        })
    }
}

impl GraphFacts {
    fn text(&self) -> String {
        match self.ops {
            0 => "no ops".into(),
            1 => format!("1 op: {}", listed(&self.by_name)),
            ops => format!("{ops} ops: {}", listed(&self.by_name)),
        }
    }

    fn json(&self) -> Value {
        json!({ "ops": self.ops, "by_name": counts(&self.by_name), "fused": counts(&self.fused) })
    }
}

impl PlanFacts {
    fn write(&self, lines: &mut Lines) {
        lines.row("launches", &or_none(&with_sum(&self.kernels), "none"));
        if self.once > 0 {
            lines.row("once", &with_sum(&self.kernels_once));
        }
        lines.row(
            "memory",
            &format!(
                "arena {}, scratch {}, constants {} in {}, computed once {}",
                size(self.arena),
                size(self.scratch),
                size(self.constant_bytes),
                self.constants,
                size(self.kept)
            ),
        );
        if let Some(op) = &self.ends_at {
            lines.row("", &format!("up to `{op}`; what follows is planned when it has run"));
        }
    }

    fn json(&self) -> Value {
        json!({
            "launches": self.launches,
            "kernels": counts(&self.kernels),
            "launches_once": self.once,
            "kernels_once": counts(&self.kernels_once),
            "arena_bytes": self.arena,
            "scratch_bytes": self.scratch,
            "computed_once_bytes": self.kept,
            "constants": self.constants,
            "constant_bytes": self.constant_bytes,
            "ends_at": self.ends_at,
        })
    }
}

/// Rows of a name and what is known under it.
struct Lines {
    out: String,
}

impl Lines {
    fn assumed(&mut self, names: &[String]) {
        if !names.is_empty() {
            self.row("", &assumption(names));
        }
    }

    fn row(&mut self, name: &str, text: &str) {
        // Writing to a string cannot fail.
        _ = writeln!(self.out, "  {name:<13} {text}");
    }

    fn rows(&mut self, name: &str, texts: &[String]) {
        if texts.is_empty() {
            self.row(name, "none");
        }
        for (i, text) in texts.iter().enumerate() {
            self.row(if i == 0 { name } else { "" }, text);
        }
    }
}

fn or_none(text: &str, none: &str) -> String {
    if text.is_empty() { none.into() } else { text.into() }
}

fn listed(counts: &Counts) -> String {
    counts.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
}

fn with_sum(counts: &Counts) -> String {
    match counts.iter().map(|(_, count)| count).sum::<usize>() {
        0 => String::new(),
        sum => format!("{sum}: {}", listed(counts)),
    }
}

fn counts(counts: &Counts) -> Map<String, Value> {
    counts.iter().map(|(name, count)| (name.clone(), json!(count))).collect()
}

/// Bytes in the largest unit of which there is one.
pub(crate) fn size(bytes: usize) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut amount = bytes as f64 / 1024.0;
    let mut unit = 0;
    while amount >= 1024.0 && unit + 1 < UNITS.len() {
        amount /= 1024.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(size(1023), "1023 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(3 << 30), "3.0 GiB");
    }
}
