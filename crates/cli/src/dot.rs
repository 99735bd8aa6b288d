//! A diagram for Graphviz.

use std::fmt::Write;

use crate::diagram::{Diagram, Kind};

pub(crate) fn text(diagram: &Diagram) -> String {
    let mut out = String::new();
    let name = if diagram.name.is_empty() { "graph" } else { &diagram.name };
    // Writing to a string cannot fail, here and below.
    _ = writeln!(out, "digraph {} {{", quoted(&[name.to_owned()]));
    out.push_str("  rankdir=TB;\n  node [shape=box, style=\"rounded,filled\", fontname=\"monospace\"];\n");
    out.push_str("  edge [fontname=\"monospace\", fontsize=10];\n");
    if let Some(note) = &diagram.note {
        _ = writeln!(out, "  label={};", quoted(std::slice::from_ref(note)));
    }
    for (i, node) in diagram.nodes.iter().enumerate() {
        let colour = match node.kind {
            Kind::Input => "#dbeafe",
            Kind::Op => "#f3f4f6",
            Kind::Fused => "#dcfce7",
            Kind::Output => "#fde68a",
        };
        let tooltip = if node.places.is_empty() { &node.lines[..1] } else { &node.places[..] };
        _ = writeln!(
            out,
            "  n{i} [label={}, fillcolor=\"{colour}\", tooltip={}];",
            quoted(&node.lines),
            quoted(tooltip)
        );
    }
    for edge in &diagram.edges {
        _ = writeln!(
            out,
            "  n{} -> n{} [label={}];",
            edge.from,
            edge.to,
            quoted(std::slice::from_ref(&edge.label))
        );
    }
    out.push_str("}\n");
    out
}

/// Lines as one string of the language.
fn quoted(lines: &[String]) -> String {
    let escape = |line: &String| {
        let clean: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        clean.replace('\\', "\\\\").replace('"', "\\\"")
    };
    format!("\"{}\"", lines.iter().map(escape).collect::<Vec<_>>().join("\\n"))
}
