use std::sync::Arc;

use oneir_tensor::{DType, HostTensor, Layout, Shape, Values};

use super::{Cursor, TextError};
use crate::Primitive;
use crate::attr::{Attr, Real};
use crate::fast::FastOp;
use crate::graph::{
    Access, Class, Dst, Elem, Fill, Fused, Op, OpId, Operand, Part, Region, Role, RowSel, SeqIo, Span,
    StepIo, Storage, Strided, Sym, Tensor, TensorGraph, TensorId, WriteResult,
};

/// Graphs inside graphs, and definitions inside ops, deeper than this are
/// refused.
const MAX_DEPTH: usize = 16;

/// Parses a graph as printed.
pub(crate) fn read_graph(text: &mut Cursor<'_>) -> Result<TensorGraph, TextError> {
    text.enter(MAX_DEPTH)?;
    let mut graph = TensorGraph::default();
    text.expect("graph")?;
    graph.name = text.string()?;
    text.expect("{")?;
    while !text.sees("inputs") {
        let id = read_id(text)?;
        if id.at() != graph.tensors.len() {
            return Err(text.error(format!("tensor %{} next", graph.tensors.len())));
        }
        text.expect("=")?;
        graph.tensors.push(read_tensor(text)?);
    }
    text.expect("inputs")?;
    graph.inputs = text.list("(", ")", read_id)?;
    text.expect("outputs")?;
    graph.outputs = text.list("(", ")", read_id)?;
    let counted = text.take("lifted");
    if counted {
        graph.lifted = text.number("the number of lifted ops")?;
        text.expect("dead")?;
        graph.dead = text.list("[", "]", read_op_id)?;
        text.expect("folded")?;
        graph.folded = text.list("[", "]", read_op_id)?;
    }
    if text.take("step") {
        graph.step = Some(read_step(text)?);
    }
    while !text.take("}") {
        graph.ops.push(read_op(text)?);
    }
    text.leave();
    let known = graph.tensors.len();
    let across = graph.step.iter().flat_map(StepIo::tensors);
    let given = graph.inputs.iter().chain(&graph.outputs).copied();
    let named = given.chain(across).chain(graph.ops.iter().flat_map(tensors_of));
    if let Some(id) = named.into_iter().find(|id| id.at() >= known) {
        return Err(text.error(format!("a graph that declares tensor %{}", id.0)));
    }
    // A fused op written without its definition stands for its class's.
    for at in 0..graph.ops.len() {
        let mut op = graph.ops[at].clone();
        let Sym::Fused(fused) = &mut op.sym else { continue };
        if !fused.definition.is_empty() {
            continue;
        }
        let results: Vec<TensorId> = op.results.iter().map(|r| r.tensor).collect();
        let made = crate::lift::define(&mut graph, &fused.class, &op.operands, Some(&results));
        let made =
            made.map_err(|e| text.error(format!("an op that its class defines ({e}), before here")))?;
        fused.definition = made.0;
        graph.ops[at] = op;
    }
    // A graph written by hand is its own lifted graph.
    if !counted {
        graph.number_lifted();
    }
    Ok(graph)
}

fn tensors_of(op: &Op) -> Vec<TensorId> {
    let mut ids: Vec<TensorId> = op.operands.iter().map(|o| o.tensor).collect();
    for result in &op.results {
        ids.push(result.tensor);
        if let Dst::Rows { row: RowSel::Param(row), .. } = result.dst {
            ids.push(row);
        }
    }
    if let Sym::Fused(fused) = &op.sym {
        ids.extend(fused.definition.iter().flat_map(tensors_of));
    }
    ids
}

fn read_id(text: &mut Cursor<'_>) -> Result<TensorId, TextError> {
    text.expect("%")?;
    text.number("a tensor's number").map(TensorId)
}

fn read_op_id(text: &mut Cursor<'_>) -> Result<OpId, TextError> {
    text.number("a lifted op's number").map(OpId)
}

fn read_field(text: &mut Cursor<'_>, name: &str) -> Result<usize, TextError> {
    text.expect(name)?;
    text.number("a size")
}

fn read_step(text: &mut Cursor<'_>) -> Result<StepIo, TextError> {
    let named = |text: &mut Cursor<'_>, name: &str| {
        text.expect(name)?;
        read_id(text)
    };
    text.expect("{")?;
    let token = named(text, "token")?;
    text.expect(",")?;
    let first = read_seq(text)?;
    let mut more = Vec::new();
    while text.take("{") {
        more.push(read_seq(text)?);
    }
    Ok(StepIo { token, position: first.position, logits: first.logits, next: first.next, more })
}

fn read_seq(text: &mut Cursor<'_>) -> Result<SeqIo, TextError> {
    text.expect("position")?;
    let position = read_id(text)?;
    text.expect(",")?;
    text.expect("logits")?;
    let logits = read_id(text)?;
    text.expect(",")?;
    text.expect("next")?;
    let next = read_id(text)?;
    text.expect("}")?;
    Ok(SeqIo { position, logits, next })
}

fn read_tensor(text: &mut Cursor<'_>) -> Result<Tensor, TextError> {
    let role =
        Role::ALL.into_iter().find(|role| text.take(role.name())).ok_or_else(|| text.error("a role"))?;
    let dtype = DType::read(text)?;
    let shape = Shape::from(Vec::<usize>::read(text)?);
    if shape.checked_count(dtype).is_err() {
        return Err(text.error("a shape whose bytes an address can name, before here"));
    }
    let mut tensor = Tensor { role, ..Tensor::activation(dtype, shape) };
    if text.take("real") {
        tensor.elem = Elem::Real;
    } else if text.take("int") {
        tensor.elem = Elem::Int;
    }
    if text.sees("\"") {
        tensor.name = Some(text.string()?.into());
    }
    if text.take("fill") {
        tensor.fill = Fill::Number(Real::read(text)?);
    }
    if text.take("values") {
        tensor.storage = Storage::Values(read_values(text, dtype, &tensor.shape)?);
    } else if text.take("rows") {
        text.expect("{")?;
        let name = Arc::<str>::read(text)?;
        text.expect(",")?;
        let first = read_field(text, "first")?;
        text.expect(",")?;
        text.expect("format")?;
        let format = Arc::<str>::read(text)?;
        text.expect("}")?;
        tensor.storage = Storage::Rows { tensor: name, first, format };
    }
    tensor.observed = text.take("observed");
    Ok(tensor)
}

fn read_values(text: &mut Cursor<'_>, dtype: DType, shape: &[usize]) -> Result<HostTensor, TextError> {
    use oneir_tensor::Class;
    if text.take("apart") {
        let place: usize = text.number("the place of a value")?;
        return match text.apart(place) {
            Some(value) if value.dtype() == dtype && value.shape()[..] == *shape => Ok(value.clone()),
            // Elements below a byte may be given as their bytes.
            Some(value) if dtype.bits() < 8 && value.dtype() == DType::U8 => {
                HostTensor::from_bytes(dtype, shape, &value.bytes())
                    .map_err(|e| text.error(format!("as many bytes as value {place} has ({e}), before here")))
            }
            Some(value) => {
                let found = format!("{}{}", value.dtype(), value.shape());
                Err(text.error(format!("the type and shape of value {place}, {found}, before here")))
            }
            None => Err(text.error("the place of a value that there is, before here")),
        };
    }
    let made = if text.take("bytes") {
        let digits = text.string()?;
        let bytes: Option<Vec<u8>> = (0..digits.len())
            .step_by(2)
            .map(|i| digits.get(i..i + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()))
            .collect();
        let bytes = bytes.ok_or_else(|| text.error("pairs of hexadecimal digits before here"))?;
        HostTensor::from_bytes(dtype, shape, &bytes)
    } else {
        let values = match dtype.class() {
            Class::Bool => Values::Bool(Vec::<bool>::read(text)?),
            Class::Unsigned => Values::Unsigned(text.list("[", "]", |t| t.number("an unsigned integer"))?),
            Class::Signed => Values::Signed(text.list("[", "]", |t| t.number("an integer"))?),
            Class::Float | Class::Complex => Values::Float(text.list("[", "]", |t| t.number("a number"))?),
        };
        HostTensor::from_values(dtype, shape, &values.convert(dtype))
    };
    made.map_err(|e| text.error(format!("values that fill the shape ({e}), before here")))
}

fn read_op(text: &mut Cursor<'_>) -> Result<Op, TextError> {
    text.enter(MAX_DEPTH)?;
    let mut results = vec![read_result(text)?];
    while text.take(",") {
        results.push(read_result(text)?);
    }
    text.expect("=")?;
    let class = if text.take("fused") {
        Some(if text.take("region") {
            Class::Region(Region::read(text)?)
        } else {
            Class::Fast(FastOp::read(text)?)
        })
    } else {
        None
    };
    let plain = match class {
        Some(_) => None,
        None if text.take("view_of") => Some(Sym::View),
        None => Some(Sym::Prim(Primitive::read(text)?)),
    };
    let operands = text.list("(", ")", read_operand)?.into_iter().collect();
    let covers = if text.take("covers") {
        text.list("[", "]", read_op_id)?.into_iter().collect()
    } else {
        Default::default()
    };
    let sym = match (plain, class) {
        (Some(sym), _) => sym,
        (None, Some(class)) => {
            let mut definition = Vec::new();
            if text.take("{") {
                while !text.take("}") {
                    definition.push(read_op(text)?);
                }
            }
            Sym::Fused(Box::new(Fused { class, definition }))
        }
        (None, None) => return Err(text.error("an op")),
    };
    text.leave();
    Ok(Op { sym, operands, results: results.into_iter().collect(), covers })
}

fn read_result(text: &mut Cursor<'_>) -> Result<WriteResult, TextError> {
    let tensor = read_id(text)?;
    if !text.take("rows") {
        return Ok(WriteResult::own(tensor));
    }
    text.expect("{")?;
    let pitch = read_field(text, "pitch")?;
    text.expect(",")?;
    text.expect("row")?;
    let row =
        if text.sees("%") { RowSel::Param(read_id(text)?) } else { RowSel::Fixed(text.number("a row")?) };
    let span = if text.take(",") {
        text.expect("part")?;
        let part = read_part(text)?;
        Span::Unit { part: Part { pitch: part.pitch, offset: part.offset }, width: part.width }
    } else {
        Span::Whole
    };
    text.expect("}")?;
    Ok(WriteResult { tensor, dst: Dst::Rows { pitch, row, span } })
}

fn read_part(text: &mut Cursor<'_>) -> Result<Strided, TextError> {
    text.expect("{")?;
    let pitch = read_field(text, "pitch")?;
    text.expect(",")?;
    let offset = read_field(text, "offset")?;
    text.expect(",")?;
    let width = read_field(text, "width")?;
    text.expect("}")?;
    Ok(Strided { pitch, offset, width })
}

fn read_operand(text: &mut Cursor<'_>) -> Result<Operand, TextError> {
    let tensor = read_id(text)?;
    let access = if text.take("part") {
        Access::Strided(read_part(text)?)
    } else if text.take("view") {
        text.expect("{")?;
        text.expect("offset")?;
        let offset = text.number("an offset")?;
        text.expect(",")?;
        text.expect("shape")?;
        let shape = Shape::from(Vec::<usize>::read(text)?);
        text.expect(",")?;
        text.expect("strides")?;
        let strides = Vec::<isize>::read(text)?;
        if strides.len() != shape.rank() {
            return Err(text.error("as many strides as dimensions, before here"));
        }
        if shape.checked_count(DType::Complex64).is_err() {
            return Err(text.error("a shape whose bytes an address can name, before here"));
        }
        text.expect("}")?;
        Access::View(Box::new(Layout { offset, shape, strides: strides.into() }))
    } else {
        Access::Whole
    };
    Ok(Operand { tensor, access })
}
