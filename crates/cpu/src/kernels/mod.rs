//! The kernels, by family. A family's file holds its kernels and their rows.

mod movement;
mod reference;

use oneir_runtime::{KernelRow, KernelTable};

use crate::Kernels;

/// The kernel table of a back end: fast rows first, the reference last.
pub(crate) fn table(kernels: Kernels) -> KernelTable {
    let mut rows: Vec<Box<dyn KernelRow>> = Vec::new();
    if kernels == Kernels::All {
        rows.extend(movement::rows());
    }
    rows.push(Box::new(reference::Reference));
    KernelTable::new(rows)
}
