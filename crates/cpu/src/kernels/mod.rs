//! The kernels, by family. A family's file holds its kernels and their rows.

mod convolution;
mod dynamic;
mod fft;
mod fold;
mod gather;
#[cfg(feature = "faer")]
mod linalg;
mod lines;
mod matmul;
mod movement;
mod norms;
mod pad;
mod reduce;
mod reference;
mod region;
mod scan;
mod softmax;
mod sort;
mod starts;
mod transpose;
mod windows;

use oneir_runtime::{KernelRow, KernelTable};

use crate::Kernels;
use crate::simd::Level;

/// The kernel table of a back end: fast rows first, the reference last.
pub(crate) fn table(kernels: Kernels, level: Level) -> KernelTable {
    let mut rows: Vec<Box<dyn KernelRow>> = Vec::new();
    if kernels == Kernels::All {
        rows.extend(movement::rows());
        rows.extend(region::rows(level));
        rows.extend(matmul::rows(level));
        rows.extend(reduce::rows(level));
        rows.extend(softmax::rows(level));
        rows.extend(norms::rows(level));
        rows.extend(convolution::rows(level));
        rows.extend(dynamic::rows());
        rows.extend(gather::rows());
        rows.extend(pad::rows());
        rows.extend(windows::rows());
        rows.extend(fft::rows());
        rows.extend(scan::rows());
        rows.extend(sort::rows());
        #[cfg(feature = "faer")]
        rows.extend(linalg::rows());
    }
    rows.push(Box::new(reference::Reference));
    KernelTable::new(rows)
}

#[cfg(test)]
mod level_tests;
