//! Which element types the operators take in the operator set that is written.

use oneir_tensor::{Class, DType};

use super::term::Term;
use crate::file::ElemType;

/// The element type in a file; none where the operator set does not have it.
pub(super) fn elem(dtype: DType) -> Option<ElemType> {
    let later = matches!(dtype, DType::F8E8M0 | DType::I2 | DType::U2);
    (!later && !dtype.is_complex()).then(|| ElemType::of(dtype))
}

/// The input whose element type the operator is asked for.
pub(super) fn asked<'t>(op: &str, inputs: &[&'t Term]) -> Option<&'t Term> {
    inputs.get(usize::from(op == "Where")).copied()
}

/// Whether an operator takes elements of a type.
pub(super) fn takes(op: &str, dtype: DType) -> bool {
    use DType::{BF16, Bool, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, U64};
    let float = matches!(dtype, F16 | BF16 | F32 | F64);
    let numeric = float || matches!(dtype, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64);
    let word = matches!(dtype, I32 | I64 | U32 | U64);
    match op {
        "Identity" | "Reshape" | "Transpose" | "Squeeze" | "Unsqueeze" | "Cast" | "If" | "Loop" | "Scan" => {
            elem(dtype).is_some()
        }
        "Concat" | "Slice" | "Expand" | "Gather" | "GatherElements" | "GatherND" | "Pad" | "Where"
        | "ScatterElements" | "ScatterND" | "Equal" => numeric || dtype == Bool,
        "And" | "Or" | "Xor" | "Not" => dtype == Bool,
        "Neg" => float || matches!(dtype, I8 | I16 | I32 | I64),
        "Relu" => float || matches!(dtype, I8 | I16 | I32 | I64),
        "Pow" => float || matches!(dtype, I32 | I64),
        "BitwiseAnd" | "BitwiseOr" | "BitwiseXor" | "BitwiseNot" => numeric && !float,
        "BitShift" => matches!(dtype, U8 | U16 | U32 | U64),
        "MatMul" | "Gemm" | "ReduceSum" | "ReduceProd" | "ReduceMean" | "CumSum" => float || word,
        "ReduceMax" | "ReduceMin" => float || word || matches!(dtype, I8 | U8 | Bool),
        "MaxPool" => float || matches!(dtype, I8 | U8),
        "TopK" => numeric && dtype != BF16,
        "Range" => matches!(dtype, F32 | F64 | I16 | I32 | I64),
        "Add" | "Sub" | "Mul" | "Div" | "Mod" | "Max" | "Min" | "Less" | "LessOrEqual" | "Greater"
        | "GreaterOrEqual" | "Abs" | "Sign" | "ArgMax" | "ArgMin" => numeric,
        _ => float,
    }
}

/// The type in which an operator computes elements of `dtype`, exactly: their own
/// where it takes it.
pub(super) fn wide(op: &str, dtype: DType) -> DType {
    if takes(op, dtype) {
        return dtype;
    }
    let candidates: &[DType] = match dtype.class() {
        Class::Bool | Class::Unsigned => {
            &[DType::U8, DType::I32, DType::U32, DType::I64, DType::U64, DType::F32, DType::F64]
        }
        Class::Signed => &[DType::I32, DType::I64, DType::F32, DType::F64],
        Class::Float => &[DType::F32, DType::F64],
        Class::Complex => &[],
    };
    let holds = |wide: DType| wide.bits() > dtype.bits() || dtype == DType::Bool;
    candidates.iter().copied().find(|&wide| takes(op, wide) && holds(wide)).unwrap_or(dtype)
}
