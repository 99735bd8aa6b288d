use oneir_ir::graph::{Class, Dst, RowSel, Sym};
use oneir_ir::primitive::EvalError;
use oneir_ir::{Nature, Primitive, reference};
use oneir_runtime::{Answer, KernelRow, OperandSpec, Request, ResultSpec};
use oneir_tensor::{DType, HostTensor, Layout};

use crate::launch::{Args, prepared};

/// The reference evaluation of any primitive or region: the last resort.
pub(crate) struct Reference;

impl KernelRow for Reference {
    fn name(&self) -> &'static str {
        "reference"
    }

    fn symbols(&self) -> &'static [&'static str] {
        &[]
    }

    fn can(&self, request: &Request<'_>) -> Answer {
        let computes = match request.sym {
            Sym::Prim(primitive) => {
                if matches!(primitive.nature(), Nature::Control | Nature::DataSized | Nature::Fused) {
                    return Answer::No;
                }
                primitive.clone()
            }
            Sym::Fused(fused) => match &fused.class {
                Class::Region(region) => Primitive::Compiled(region.clone()),
                // A class without a kernel runs its definition.
                Class::Fast(_) => return Answer::No,
            },
            Sym::View => return Answer::No,
        };
        let sub_byte = |dtype: DType, layout: &Layout| {
            dtype.size().is_none() && !(layout.is_row_contiguous() && layout.offset == 0)
        };
        if request.operands.iter().any(|o| sub_byte(o.dtype, &o.layout)) {
            return Answer::No;
        }
        let operands = request.operands.to_vec();
        let results = request.results.to_vec();
        let mut answer = prepared("reference", move |args| run(args, &computes, &operands, &results));
        answer.fallible = true;
        Answer::Yes(answer)
    }
}

/// The elements of an operand, row after row.
fn gather(args: &Args<'_>, k: usize, operand: &OperandSpec) -> Result<HostTensor, EvalError> {
    let (dtype, layout) = (operand.dtype, &operand.layout);
    let count = layout.count();
    let start = args.reads[k];
    let bytes = match dtype.size() {
        None => {
            let len = dtype.bytes_for(count).unwrap_or(0);
            // SAFETY: the plan binds at least the bytes of the operand's shape.
            unsafe { std::slice::from_raw_parts(start, len) }.to_vec()
        }
        Some(size) => {
            let mut bytes = Vec::with_capacity(count * size);
            for at in layout.offsets() {
                // SAFETY: the plan's layouts stay inside their buffers.
                bytes.extend_from_slice(unsafe {
                    std::slice::from_raw_parts(start.offset(at * size as isize), size)
                });
            }
            bytes
        }
    };
    Ok(HostTensor::from_bytes(dtype, &layout.shape, &bytes)?)
}

fn run(
    args: &Args<'_>,
    computes: &Primitive,
    operands: &[OperandSpec],
    results: &[ResultSpec],
) -> Result<(), EvalError> {
    let mut inputs =
        operands.iter().enumerate().map(|(k, o)| gather(args, k, o)).collect::<Result<Vec<_>, _>>()?;
    // Rows that parameters name follow the operands.
    let named = results.iter().filter(|r| matches!(r.dst, Dst::Rows { row: RowSel::Param(_), .. })).count();
    let mut rows = inputs.split_off(inputs.len() - named).into_iter();
    let made = computes.evaluate(&inputs)?;
    for (k, (value, result)) in made.iter().zip(results).enumerate() {
        let bytes = value.bytes();
        match result.dst {
            Dst::Own => {
                // SAFETY: the plan gives each result a buffer of its bytes.
                unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), args.writes[k], bytes.len()) }
            }
            Dst::Rows { pitch, row, span } => {
                let row = match row {
                    RowSel::Fixed(row) => row as i64,
                    RowSel::Param(_) => first_int(rows.next())?,
                };
                let size = value.dtype().size().unwrap_or(1);
                let place =
                    reference::rows_layout(computes.name(), result.capacity, value.count(), pitch, row, span)
                        .map_err(Box::new)?;
                for (i, at) in place.offsets().enumerate() {
                    // SAFETY: `rows_layout` checked the place against the table.
                    unsafe {
                        std::ptr::copy_nonoverlapping(
                            bytes.as_ptr().add(i * size),
                            args.writes[k].offset(at * size as isize),
                            size,
                        );
                    }
                }
            }
        }
    }
    Ok(())
}

fn first_int(row: Option<HostTensor>) -> Result<i64, EvalError> {
    let values = match row {
        Some(row) => row.values()?.to_ints(),
        None => None,
    };
    Ok(values.and_then(|v| v.first().copied()).unwrap_or(0))
}
