//! The tensor graph: a cut of a program as the ops it runs and the tensors
//! they touch.

mod accesses;
mod body;
mod error;
mod facts;
mod function;
mod op;
mod region;
mod step_io;
mod touches;

use oneir_tensor::{HostTensor, Layout, Shape};

pub use body::Body;
pub use error::GraphError;
pub use facts::{Elem, Fill, Role, Storage, Tensor};
pub use function::Function;
pub use op::{Access, Class, Dst, Fused, Op, Operand, Part, RowSel, Span, Strided, Sym, WriteResult};
pub use region::{Region, RegionStep, StepArg};
pub use step_io::{QuantFormat, SeqIo, StepIo};
pub use touches::Touches;

use crate::{Primitive, Spec, Specs};

/// Names a tensor of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(pub u32);

/// Names an op of a lifted graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OpId(pub u32);

impl TensorId {
    /// The place in a graph's tensors.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

impl OpId {
    /// The place in a lifted graph's ops.
    pub fn at(self) -> usize {
        self.0 as usize
    }
}

/// A cut of a program: the ops it runs, in order, and the tensors they touch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct TensorGraph {
    /// What the graph computes, for people.
    pub name: String,
    /// Every tensor, with the facts that back ends read.
    pub tensors: Vec<Tensor>,
    /// The ops, in an order in which they may run.
    pub ops: Vec<Op>,
    /// What the caller gives at each run, in order: inputs, parameters,
    /// states, and constants whose values the graph does not hold.
    pub inputs: Vec<TensorId>,
    /// What the caller reads, in order.
    pub outputs: Vec<TensorId>,
    /// How many ops the lifted graph had.
    pub lifted: u32,
    /// Lifted ops that nothing reads, observes or keeps.
    pub dead: Vec<OpId>,
    /// Lifted ops whose results became known.
    pub folded: Vec<OpId>,
    /// The names that a step reads and writes across steps.
    pub step: Option<StepIo>,
}

impl TensorGraph {
    /// The facts of a tensor.
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.at()]
    }

    /// Shape and dtype of a tensor.
    pub fn spec(&self, id: TensorId) -> Spec {
        let t = self.tensor(id);
        Spec { shape: t.shape.clone(), dtype: t.dtype }
    }

    /// Adds a tensor.
    pub fn push_tensor(&mut self, tensor: Tensor) -> TensorId {
        let id = TensorId(self.tensors.len() as u32);
        self.tensors.push(tensor);
        id
    }

    /// Where an operand's elements lie in its tensor's buffer, taken to be
    /// row-contiguous.
    pub fn layout(&self, operand: &Operand) -> Layout {
        let shape = &self.tensor(operand.tensor).shape;
        match &operand.access {
            Access::Whole => Layout::contiguous(shape),
            Access::View(layout) => (**layout).clone(),
            Access::Strided(part) => part.layout(shape.count()),
        }
    }

    /// The shape that an op sees of an operand.
    pub fn seen(&self, operand: &Operand) -> Shape {
        match &operand.access {
            Access::Whole => self.tensor(operand.tensor).shape.clone(),
            Access::View(layout) => layout.shape.clone(),
            Access::Strided(part) => part.layout(self.tensor(operand.tensor).shape.count()).shape,
        }
    }

    /// Shape and dtype that an op sees of an operand.
    pub fn operand_spec(&self, operand: &Operand) -> Spec {
        Spec { shape: self.seen(operand), dtype: self.tensor(operand.tensor).dtype }
    }

    /// Shape and dtype of each result that an op computes, wherever it lands.
    ///
    /// # Errors
    /// When the op does not take its operands.
    pub fn results(&self, op: &Op) -> Result<Specs, GraphError> {
        let specs: Vec<Spec> = op.operands.iter().map(|o| self.operand_spec(o)).collect();
        let refs: Vec<&Spec> = specs.iter().collect();
        match &op.sym {
            Sym::Prim(primitive) => primitive
                .infer(&refs)
                .map_err(|why| GraphError::Inference { op: primitive.name().into(), why }),
            Sym::View => Ok(specs.into()),
            Sym::Fused(fused) => match &fused.class {
                Class::Fast(fast) => {
                    fast.infer(&refs).map_err(|why| GraphError::Inference { op: fast.name().into(), why })
                }
                Class::Region(region) => {
                    region.infer(&refs).map_err(|why| GraphError::Inference { op: "region".into(), why })
                }
            },
        }
    }

    /// Takes the graph as it is for the lifted one: numbers its ops anew.
    pub fn number_lifted(&mut self) {
        fn number(op: &mut Op, next: &mut u32) {
            op.covers.clear();
            match &mut op.sym {
                Sym::Fused(fused) => {
                    for part in &mut fused.definition {
                        number(part, next);
                        op.covers.extend(part.covers.iter().copied());
                    }
                }
                Sym::Prim(_) | Sym::View => {
                    op.covers.push(OpId(*next));
                    *next += 1;
                }
            }
        }
        let mut next = 0;
        for op in &mut self.ops {
            number(op, &mut next);
        }
        self.lifted = next;
        self.dead.clear();
        self.folded.clear();
    }

    /// The primitives of all ops, and of the definitions of fused ones; not those
    /// of bodies.
    pub fn primitives(&self) -> Vec<&Primitive> {
        fn of<'a>(ops: &'a [Op], found: &mut Vec<&'a Primitive>) {
            for op in ops {
                match &op.sym {
                    Sym::Prim(primitive) => found.push(primitive),
                    Sym::Fused(fused) => of(&fused.definition, found),
                    Sym::View => {}
                }
            }
        }
        let mut found = Vec::new();
        of(&self.ops, &mut found);
        found
    }

    /// Which ops read and write each tensor.
    pub fn touches(&self) -> Touches {
        Touches::of(self)
    }

    /// The constant value of a tensor that the graph holds.
    pub fn value(&self, id: TensorId) -> Option<&HostTensor> {
        match &self.tensor(id).storage {
            Storage::Values(value) => Some(value),
            _ => None,
        }
    }
}

/// The element count of an op's first result.
///
/// # Errors
/// When the op does not take its operands.
pub fn out_len(graph: &TensorGraph, op: &Op) -> Result<usize, GraphError> {
    Ok(graph.results(op)?.first().map_or(0, Spec::count))
}
