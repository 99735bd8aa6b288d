//! Keys of the two-level plan cache: what a graph is without its sizes, and
//! the sizes beside it.

use std::hash::{Hash, Hasher};

use oneir_ir::graph::{Access, Dst, Op, RowSel, Span, Storage, Sym, TensorGraph};
use oneir_tensor::Layout;

/// Constants of at most this many elements count by value, larger ones by
/// their memory.
const BY_VALUE: usize = 32;

/// A hasher that keeps what it is given: keys compare in full, so two graphs
/// never share a plan by accident.
#[derive(Default)]
struct Recorder(Vec<u8>);

impl Hasher for Recorder {
    fn finish(&self) -> u64 {
        0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }
}

/// A graph's form and its sizes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct GraphKey {
    pub(crate) form: Vec<u8>,
    pub(crate) sizes: Vec<u64>,
}

impl GraphKey {
    pub(crate) fn of(graph: &TensorGraph) -> GraphKey {
        let mut out = Recorder(Vec::with_capacity(64 * (graph.ops.len() + graph.tensors.len())));
        let mut sizes = Vec::with_capacity(4 * graph.tensors.len());
        for tensor in &graph.tensors {
            (tensor.role, tensor.dtype, tensor.elem, tensor.fill, tensor.observed).hash(&mut out);
            tensor.shape.rank().hash(&mut out);
            sizes.extend(tensor.shape.iter().map(|&n| n as u64));
            match &tensor.storage {
                Storage::Values(value) if value.count() <= BY_VALUE => {
                    0u8.hash(&mut out);
                    value.hash(&mut out);
                }
                Storage::Values(value) => {
                    1u8.hash(&mut out);
                    // Whose memory it is tells plans apart, not skeletons: what a
                    // recipe knows of values it checks again.
                    sizes.push(value.buffer().bytes().as_ptr() as u64);
                    layout(value.layout(), &mut out, &mut sizes);
                }
                Storage::Computed => 2u8.hash(&mut out),
                Storage::Rows { tensor, first, format } => (3u8, tensor, first, format).hash(&mut out),
            }
        }
        graph.ops.len().hash(&mut out);
        for op in &graph.ops {
            hash_op(op, &mut out, &mut sizes);
        }
        (&graph.inputs, &graph.outputs, &graph.step).hash(&mut out);
        GraphKey { form: out.0, sizes }
    }
}

fn layout(layout: &Layout, out: &mut Recorder, sizes: &mut Vec<u64>) {
    layout.rank().hash(out);
    sizes.push(layout.offset as u64);
    sizes.extend(layout.shape.iter().map(|&n| n as u64));
    sizes.extend(layout.strides.iter().map(|&n| n as u64));
}

fn hash_op(op: &Op, out: &mut Recorder, sizes: &mut Vec<u64>) {
    match &op.sym {
        Sym::Prim(primitive) => {
            0u8.hash(out);
            primitive.hash_form(out, sizes);
        }
        Sym::View => 1u8.hash(out),
        Sym::Fused(fused) => {
            2u8.hash(out);
            fused.class.hash(out);
            fused.definition.len().hash(out);
            for part in &fused.definition {
                hash_op(part, out, sizes);
            }
        }
    }
    op.operands.len().hash(out);
    for operand in &op.operands {
        operand.tensor.hash(out);
        match &operand.access {
            Access::Whole => 0u8.hash(out),
            Access::Strided(part) => {
                1u8.hash(out);
                sizes.extend([part.pitch as u64, part.offset as u64, part.width as u64]);
            }
            Access::View(view) => {
                2u8.hash(out);
                layout(view, out, sizes);
            }
        }
    }
    op.results.len().hash(out);
    for result in &op.results {
        result.tensor.hash(out);
        match result.dst {
            Dst::Own => 0u8.hash(out),
            Dst::Rows { pitch, row, span } => {
                1u8.hash(out);
                sizes.push(pitch as u64);
                match row {
                    RowSel::Param(id) => (0u8, id).hash(out),
                    RowSel::Fixed(row) => {
                        1u8.hash(out);
                        sizes.push(row as u64);
                    }
                }
                match span {
                    Span::Whole => 0u8.hash(out),
                    Span::Unit { part, width } => {
                        1u8.hash(out);
                        sizes.extend([part.pitch as u64, part.offset as u64, width as u64]);
                    }
                }
            }
        }
    }
}
