use oneir_tensor::Layout;
use smallvec::SmallVec;

use super::{OpId, Region, TensorId};
use crate::Primitive;
use crate::fast::FastOp;

/// A part of every unit of a wider tensor: unit `u`'s values start at
/// `u · pitch + offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Part {
    /// Values from one unit to the next.
    pub pitch: usize,
    /// Where the part begins within a unit.
    pub offset: usize,
}

/// A part of every whole unit of a wider tensor, read in place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Strided {
    /// Values from one unit to the next.
    pub pitch: usize,
    /// Where the part begins within a unit.
    pub offset: usize,
    /// How many values of each unit are read.
    pub width: usize,
}

impl Strided {
    /// The part over a tensor of `count` elements, as units × width. A
    /// trailing partial unit is not read.
    pub fn layout(&self, count: usize) -> Layout {
        let units = count.checked_div(self.pitch).unwrap_or(0);
        let mut layout = Layout::contiguous(&[units, self.width]);
        layout.offset = self.offset as isize;
        layout.strides[0] = self.pitch as isize;
        layout
    }
}

/// How an op reads an operand.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Access {
    /// All of it, as its tensor's shape says.
    Whole,
    /// A part of every whole unit.
    Strided(Strided),
    /// Any strided view of it.
    View(Box<Layout>),
}

/// A tensor that an op reads, and how.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Operand {
    /// The tensor.
    pub tensor: TensorId,
    /// How it is read.
    pub access: Access,
}

impl Operand {
    /// All of a tensor.
    pub fn whole(tensor: TensorId) -> Self {
        Operand { tensor, access: Access::Whole }
    }
}

/// Which row of a table a write starts at; rows count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowSel {
    /// The row that a parameter names.
    Param(TensorId),
    /// This row.
    Fixed(usize),
}

/// How much of the rows a write fills.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Span {
    /// All of them, one value after another.
    Whole,
    /// A part of every unit.
    Unit {
        /// Where each unit's part lies.
        part: Part,
        /// How many of the result's values each unit takes.
        width: usize,
    },
}

/// Where a result lands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dst {
    /// A buffer of its own.
    Own,
    /// Rows of a table: the result's tensor is the table.
    Rows {
        /// Values in a row.
        pitch: usize,
        /// The first row written.
        row: RowSel,
        /// How much of the rows is written.
        span: Span,
    },
}

/// One result of an op: the tensor that it is, or the table that it lands in.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WriteResult {
    /// The tensor written.
    pub tensor: TensorId,
    /// Where in it.
    pub dst: Dst,
}

impl WriteResult {
    /// A result in a buffer of its own.
    pub fn own(tensor: TensorId) -> Self {
        WriteResult { tensor, dst: Dst::Own }
    }
}

/// What a fused op is: the name that back ends match kernels to.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Class {
    /// A class with its own file.
    Fast(FastOp),
    /// A run of element-wise steps.
    Region(Region),
}

impl Class {
    /// The class's name.
    pub fn name(&self) -> &'static str {
        match self {
            Class::Fast(fast) => fast.name(),
            Class::Region(_) => "region",
        }
    }
}

/// A fused symbol: its class and the ops that it stands for, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fused {
    /// What back ends match kernels to.
    pub class: Class,
    /// The ops it stands for; a back end without a kernel runs these.
    pub definition: Vec<Op>,
}

/// What an op computes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Sym {
    /// A primitive.
    Prim(Primitive),
    /// A fused class with its definition.
    Fused(Box<Fused>),
    /// The operand itself, seen as its access says.
    View,
}

impl Sym {
    /// The primitive's or class's name.
    pub fn name(&self) -> &'static str {
        match self {
            Sym::Prim(primitive) => primitive.name(),
            Sym::Fused(fused) => fused.class.name(),
            Sym::View => "view_of",
        }
    }
}

/// One op of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Op {
    /// What it computes.
    pub sym: Sym,
    /// What it reads.
    pub operands: SmallVec<[Operand; 2]>,
    /// What it writes, the main result first.
    pub results: SmallVec<[WriteResult; 1]>,
    /// The lifted ops that it computes.
    pub covers: SmallVec<[OpId; 2]>,
}

impl Op {
    /// The main result's tensor.
    pub fn result(&self) -> TensorId {
        self.results[0].tensor
    }
}
