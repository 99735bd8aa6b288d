use std::fmt::Write;

use oneir_tensor::{HostTensor, Values};

use super::{Printer, write_string};
use crate::attr::Attr;
use crate::graph::{
    Access, Class, Dst, Elem, Fill, Op, Operand, RowSel, Span, Storage, Sym, Tensor, TensorGraph, TensorId,
};

/// The most values that print as numbers.
const FEW: usize = 64;

/// Prints a graph; a graph inside another is indented by its place in it only.
pub(crate) fn write_graph(out: &mut Printer, graph: &TensorGraph) {
    out.push_str("graph ");
    write_string(out, &graph.name);
    out.push_str(" {\n");
    for (i, tensor) in graph.tensors.iter().enumerate() {
        _ = write!(out, "  %{i} = ");
        write_tensor(out, tensor);
        out.push('\n');
    }
    _ = writeln!(out, "  inputs ({})", ids(&graph.inputs));
    _ = writeln!(out, "  outputs ({})", ids(&graph.outputs));
    let numbers =
        |ops: &[crate::graph::OpId]| ops.iter().map(|op| op.0.to_string()).collect::<Vec<_>>().join(", ");
    _ = writeln!(
        out,
        "  lifted {} dead [{}] folded [{}]",
        graph.lifted,
        numbers(&graph.dead),
        numbers(&graph.folded)
    );
    if let Some(step) = &graph.step {
        _ = write!(
            out,
            "  step {{token %{}, position %{}, logits %{}, next %{}}}",
            step.token.0, step.position.0, step.logits.0, step.next.0
        );
        for seq in &step.more {
            _ = write!(
                out,
                " {{position %{}, logits %{}, next %{}}}",
                seq.position.0, seq.logits.0, seq.next.0
            );
        }
        out.push('\n');
    }
    for op in &graph.ops {
        write_op(out, op, 1);
    }
    out.push('}');
}

fn ids(ids: &[TensorId]) -> String {
    ids.iter().map(|id| format!("%{}", id.0)).collect::<Vec<_>>().join(", ")
}

fn write_tensor(out: &mut Printer, tensor: &Tensor) {
    _ = write!(out, "{} {}{}", tensor.role.name(), tensor.dtype, tensor.shape);
    if tensor.elem != Elem::of(tensor.dtype) {
        out.push_str(if tensor.elem == Elem::Real { " real" } else { " int" });
    }
    if let Some(name) = &tensor.name {
        out.push(' ');
        write_string(out, name);
    }
    if let Fill::Number(number) = tensor.fill {
        out.push_str(" fill ");
        number.write(out);
    }
    match &tensor.storage {
        Storage::Computed => {}
        Storage::Values(value) => {
            out.push_str(" values ");
            write_values(out, value);
        }
        Storage::Rows { tensor, first, format } => {
            out.push_str(" rows {");
            write_string(out, tensor);
            _ = write!(out, ", first {first}, format ");
            write_string(out, format);
            out.push('}');
        }
    }
    if tensor.observed {
        out.push_str(" observed");
    }
}

/// Few numbers print as numbers; many, or some that have no exact decimal
/// form, as their bytes, or by their place among values that stand apart.
fn write_values(out: &mut Printer, value: &HostTensor) {
    if value.count() > FEW
        && let Some(place) = out.apart(value)
    {
        _ = write!(out, "apart {place}");
        return;
    }
    let plain = match value.values() {
        Ok(Values::Float(v)) if v.len() <= FEW && v.iter().all(|x| !x.is_nan()) => {
            Some(v.iter().map(|x| format!("{x:?}")).collect::<Vec<_>>())
        }
        Ok(Values::Signed(v)) if v.len() <= FEW => Some(v.iter().map(i64::to_string).collect()),
        Ok(Values::Unsigned(v)) if v.len() <= FEW => Some(v.iter().map(u64::to_string).collect()),
        Ok(Values::Bool(v)) if v.len() <= FEW => Some(v.iter().map(bool::to_string).collect()),
        _ => None,
    };
    match plain {
        Some(numbers) => {
            _ = write!(out, "[{}]", numbers.join(", "));
        }
        None => {
            out.push_str("bytes \"");
            for byte in value.bytes().iter() {
                _ = write!(out, "{byte:02x}");
            }
            out.push('"');
        }
    }
}

fn write_op(out: &mut Printer, op: &Op, depth: usize) {
    let indent = "  ".repeat(depth);
    out.push_str(&indent);
    for (i, result) in op.results.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        _ = write!(out, "%{}", result.tensor.0);
        if let Dst::Rows { pitch, row, span } = result.dst {
            _ = write!(out, " rows {{pitch {pitch}, row ");
            match row {
                RowSel::Param(id) => _ = write!(out, "%{}", id.0),
                RowSel::Fixed(row) => _ = write!(out, "{row}"),
            }
            if let Span::Unit { part, width } = span {
                _ = write!(out, ", part {{pitch {}, offset {}, width {width}}}", part.pitch, part.offset);
            }
            out.push('}');
        }
    }
    out.push_str(" = ");
    match &op.sym {
        Sym::Prim(primitive) => primitive.print(out),
        Sym::View => out.push_str("view_of"),
        Sym::Fused(fused) => {
            out.push_str("fused ");
            match &fused.class {
                Class::Fast(fast) => fast.write(out),
                Class::Region(region) => {
                    out.push_str("region");
                    region.write(out);
                }
            }
        }
    }
    out.push_str(" (");
    for (i, operand) in op.operands.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write_operand(out, operand);
    }
    out.push(')');
    if !op.covers.is_empty() {
        let covers: Vec<String> = op.covers.iter().map(|c| c.0.to_string()).collect();
        _ = write!(out, " covers [{}]", covers.join(", "));
    }
    if let Sym::Fused(fused) = &op.sym {
        out.push_str(" {\n");
        for part in &fused.definition {
            write_op(out, part, depth + 1);
        }
        _ = write!(out, "{indent}}}");
    }
    out.push('\n');
}

fn write_operand(out: &mut Printer, operand: &Operand) {
    _ = write!(out, "%{}", operand.tensor.0);
    match &operand.access {
        Access::Whole => {}
        Access::Strided(part) => {
            _ = write!(out, " part {{pitch {}, offset {}, width {}}}", part.pitch, part.offset, part.width);
        }
        Access::View(layout) => {
            _ = write!(
                out,
                " view {{offset {}, shape {:?}, strides {:?}}}",
                layout.offset, layout.shape, layout.strides
            );
        }
    }
}
