use std::any::Any;

use oneir_ir::graph::{Dst, Sym};
use oneir_ir::{Spec, Specs};
use oneir_tensor::{DType, Layout};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::Numerics;

/// What a kernel would read.
#[derive(Debug, Clone, PartialEq)]
pub struct OperandSpec {
    /// Element type.
    pub dtype: DType,
    /// Where the elements lie from the start of the buffer.
    pub layout: Layout,
    /// A power of two that the start of the buffer is a multiple of.
    pub alignment: usize,
    /// Whether it is the same at every run, so that packing it once pays.
    pub constant: bool,
}

/// What a kernel would write.
#[derive(Debug, Clone, PartialEq)]
pub struct ResultSpec {
    /// Element type and shape.
    pub spec: Spec,
    /// Where it lands. Rows of a table: the table's buffer is the result, and
    /// the row's parameter a further operand after all others.
    pub dst: Dst,
    /// Elements of the buffer that is written: the result's own, or the
    /// table's.
    pub capacity: usize,
}

impl ResultSpec {
    /// A result in a buffer of its own.
    pub fn own(spec: Spec) -> Self {
        ResultSpec { capacity: spec.count(), spec, dst: Dst::Own }
    }
}

/// An op that a plan asks the kernel table to compute.
#[derive(Debug, Clone)]
pub struct Request<'a> {
    /// What it computes.
    pub sym: &'a Sym,
    /// What it reads.
    pub operands: &'a [OperandSpec],
    /// What it writes.
    pub results: &'a [ResultSpec],
    /// How exact sums must be.
    pub numerics: Numerics,
    /// How many threads there are.
    pub threads: usize,
}

impl Request<'_> {
    /// Shape and dtype of each operand as the op sees it.
    pub fn operand_specs(&self) -> Specs {
        self.operands.iter().map(|o| Spec { shape: o.layout.shape.clone(), dtype: o.dtype }).collect()
    }

    /// Whether every result has a buffer of its own.
    pub fn results_own(&self) -> bool {
        self.results.iter().all(|r| r.dst == Dst::Own)
    }
}

/// How a row answers "can you?".
pub enum Answer {
    /// Not this op.
    No,
    /// Once these operands are row-contiguous.
    Repack(SmallVec<[u8; 4]>),
    /// Yes, so.
    Yes(Prepared),
}

/// A launch with everything decided.
pub struct Prepared {
    /// The kernel's name.
    pub kernel: &'static str,
    /// Bytes that it needs while it runs.
    pub scratch: usize,
    /// Pairs of a result and an operand in whose buffer it may be written.
    pub in_place: SmallVec<[(u8, u8); 2]>,
    /// Whether data may have no result: operands must outlive such a launch.
    pub fallible: bool,
    /// The back end's own form of the launch.
    pub launch: Box<dyn Any + Send + Sync>,
}

/// One row of a kernel table: answers "can you?", says what it needs, and
/// makes the launch.
pub trait KernelRow: Send + Sync {
    /// The kernel's name.
    fn name(&self) -> &'static str;

    /// The names of the primitives and classes that it may compute; empty for
    /// any.
    fn symbols(&self) -> &'static [&'static str];

    /// Whether it computes this op, and how.
    fn can(&self, request: &Request<'_>) -> Answer;
}

/// A back end's kernels, asked in order.
#[derive(Default)]
pub struct KernelTable {
    rows: Vec<Box<dyn KernelRow>>,
    by_symbol: FxHashMap<&'static str, Vec<usize>>,
    any: Vec<usize>,
}

impl KernelTable {
    /// A table of these rows; earlier rows are asked first, rows for any
    /// symbol last.
    pub fn new(rows: Vec<Box<dyn KernelRow>>) -> Self {
        let mut table = KernelTable::default();
        for (i, row) in rows.iter().enumerate() {
            for &symbol in row.symbols() {
                table.by_symbol.entry(symbol).or_default().push(i);
            }
            if row.symbols().is_empty() {
                table.any.push(i);
            }
        }
        table.rows = rows;
        table
    }

    /// The rows, in order.
    pub fn rows(&self) -> impl Iterator<Item = &dyn KernelRow> {
        self.rows.iter().map(AsRef::as_ref)
    }

    /// The first row's answer that is not "no"; a row that asks for repacking
    /// counts only where no row takes the op as it is.
    pub fn ask(&self, request: &Request<'_>) -> Answer {
        let mut repack = Answer::No;
        let named = self.by_symbol.get(request.sym.name()).map_or(&[][..], Vec::as_slice);
        for &row in named.iter().chain(&self.any) {
            match self.rows[row].can(request) {
                Answer::Yes(prepared) => {
                    // A fast kernel on packed operands beats one that takes
                    // any layout, when the first row asked for it.
                    return match repack {
                        Answer::Repack(operands) => Answer::Repack(operands),
                        _ => Answer::Yes(prepared),
                    };
                }
                Answer::Repack(operands) if matches!(repack, Answer::No) => repack = Answer::Repack(operands),
                _ => {}
            }
        }
        repack
    }
}
