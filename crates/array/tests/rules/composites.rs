//! Operations that are composed of primitives, one by one.

use oneir_array::linalg::{self, Triangle};
use oneir_array::{Array, ConvGeneral, DType, Mask, Overlap, PadMode, Picks, QuantMode};
use oneir_array::{QuantileMethod, Quantization, ScatterReduce, fast, fft, ops};
use oneir_cpu as _;

use crate::harness::{Devices, Random, Subject, every_way};

/// A name, the inputs' shapes, and the function.
type Composite = (&'static str, &'static [&'static [usize]], fn(&[Array]) -> Vec<Array>);

/// Compares everything of each, on inputs of `dtype`.
fn check(composites: &[Composite], dtype: DType) {
    let devices = Devices::new();
    let mut faults = Vec::new();
    for (k, (name, shapes, f)) in composites.iter().enumerate() {
        let mut random = Random::new(k as u64);
        let inputs: Vec<Array> = shapes.iter().map(|shape| random.array(shape, dtype)).collect();
        let ways = every_way(&inputs);
        let mut compared = 0;
        for _ in 0..3 {
            let inputs: Vec<Array> = shapes.iter().map(|shape| random.array(shape, dtype)).collect();
            match (Subject { f, inputs }).check(&devices, &mut random, &ways) {
                Ok(found) => compared += found.first.min(found.second),
                Err(fault) => {
                    faults.push(format!("{name}: {fault}"));
                    break;
                }
            }
            if compared > 0 || dtype != DType::F64 {
                break;
            }
        }
        if compared == 0 && dtype == DType::F64 {
            faults.push(format!("{name}: never compared with differences"));
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// A matrix that is symmetric and positive definite.
fn definite(a: &Array) -> Array {
    a.matmul(&a.matrix_transpose()) + Array::eye(a.shape()[a.ndim() - 1], None, 0, a.dtype()) * 0.5
}

/// A matrix that is far from singular.
fn regular(a: &Array) -> Array {
    a + Array::eye(a.shape()[a.ndim() - 1], None, 0, a.dtype()) * 2
}

/// A matrix of which singular values and eigenvalues lie apart.
fn spread(a: &Array) -> Array {
    let (rows, columns) = (a.shape()[a.ndim() - 2], a.shape()[a.ndim() - 1]);
    let diagonal = Array::eye(rows, columns, 0, a.dtype()) * Array::arange(columns, a.dtype()) * 2;
    a * 0.5 + diagonal + Array::eye(rows, columns, 0, a.dtype())
}

fn ints(numbers: &[i32], shape: &[usize]) -> Array {
    Array::from_slice(numbers, shape)
}

#[test]
fn linear_algebra() {
    const M: &[usize] = &[3, 3];
    check(
        &[
            ("inv", &[M], |x| vec![linalg::inv(&regular(&x[0]))]),
            ("inv of several", &[&[2, 3, 3]], |x| vec![linalg::inv(&regular(&x[0]))]),
            ("tri_inv", &[M], |x| vec![linalg::tri_inv(&regular(&x[0]), false)]),
            ("tri_inv upper", &[M], |x| vec![linalg::tri_inv(&regular(&x[0]), true)]),
            ("solve", &[M, &[3, 2]], |x| vec![linalg::solve(&regular(&x[0]), &x[1])]),
            ("solve a vector", &[M, &[3]], |x| vec![linalg::solve(&regular(&x[0]), &x[1])]),
            ("solve_triangular", &[M, &[3, 2]], |x| {
                vec![linalg::solve_triangular(&regular(&x[0]), &x[1], false)]
            }),
            ("solve_triangular upper", &[M, &[3, 1]], |x| {
                vec![linalg::solve_triangular(&regular(&x[0]), &x[1], true)]
            }),
            ("cholesky", &[M], |x| vec![linalg::cholesky(&definite(&x[0]), false)]),
            ("cholesky upper", &[M], |x| vec![linalg::cholesky(&definite(&x[0]), true)]),
            ("cholesky_inv", &[M], |x| {
                vec![linalg::cholesky_inv(&linalg::cholesky(&definite(&x[0]), false), false)]
            }),
            ("qr", &[M], |x| {
                let (q, r) = linalg::qr(&regular(&x[0]));
                vec![q, r]
            }),
            ("qr of a tall matrix", &[&[4, 2]], |x| {
                let (q, r) = linalg::qr(&spread(&x[0]));
                vec![q, r]
            }),
            ("qr of a wide matrix", &[&[2, 4]], |x| {
                let (q, r) = linalg::qr(&spread(&x[0]));
                vec![q, r]
            }),
            ("lu", &[M], |x| {
                let (_, l, u) = linalg::lu(&regular(&x[0]));
                vec![l, u]
            }),
            ("lu_factor", &[M], |x| vec![linalg::lu_factor(&regular(&x[0])).0]),
            ("svd", &[M], |x| {
                let (u, s, vt) = linalg::svd(&spread(&x[0]));
                vec![u, s, vt]
            }),
            ("svdvals", &[&[2, 4]], |x| vec![linalg::svdvals(&spread(&x[0]))]),
            ("pinv", &[&[3, 2]], |x| vec![linalg::pinv(&spread(&x[0]))]),
            ("eigh", &[M], |x| {
                let (w, v) = linalg::eigh(&spread(&x[0]), Triangle::Lower);
                vec![w, v]
            }),
            ("eigh of the upper triangle", &[M], |x| {
                let (w, v) = linalg::eigh(&spread(&x[0]), Triangle::Upper);
                vec![w, v]
            }),
            ("eigvalsh", &[M], |x| vec![linalg::eigvalsh(&spread(&x[0]), Triangle::Lower)]),
            ("det", &[M], |x| vec![linalg::det(&x[0])]),
            ("det of several", &[&[2, 2, 2]], |x| vec![linalg::det(&x[0])]),
            ("slogdet", &[M], |x| vec![linalg::slogdet(&regular(&x[0])).1]),
            ("norm", &[M], |x| vec![linalg::norm(&x[0], linalg::Order::Frobenius, .., false)]),
            ("nuclear norm", &[M], |x| vec![linalg::norm(&spread(&x[0]), linalg::Order::Nuclear, .., false)]),
            ("norm 3 of rows", &[M], |x| vec![linalg::norm(&x[0], 3, 1, true)]),
            ("cross", &[&[2, 3], &[3]], |x| vec![linalg::cross(&x[0], &x[1], -1)]),
        ],
        DType::F64,
    );
}

/// Vectors that complete a basis are not determined: what needs none of them has a
/// gradient, what does is told.
#[test]
fn full_decompositions() {
    let a = spread(&Random::new(1).array(&[4, 2], DType::F64));
    let values = oneir_array::grad(|a: &Array| linalg::svd(a).1.sum(.., false));
    let same = oneir_array::grad(|a: &Array| linalg::svdvals(a).sum(.., false));
    assert!(values(&a).allclose(same(&a), 1e-9, 1e-9, false).item::<bool>().unwrap());
    let vectors = oneir_array::grad(|a: &Array| linalg::svd(a).0.sum(.., false))(&a);
    let told = vectors.check().unwrap_err().to_string();
    assert!(told.contains("the vectors that complete u or vt are not determined"), "{told}");
}

#[test]
fn products() {
    check(
        &[
            ("addmm", &[&[2, 2], &[2, 3], &[3, 2]], |x| vec![x[0].addmm(&x[1], &x[2], 0.5, 2.0)]),
            ("matmul of several", &[&[2, 1, 2, 3], &[3, 3, 2]], |x| vec![x[0].matmul(&x[1])]),
            ("matmul with a vector", &[&[2, 3], &[3]], |x| vec![x[0].matmul(&x[1])]),
            ("inner", &[&[2, 3], &[4, 3]], |x| vec![x[0].inner(&x[1])]),
            ("outer", &[&[2], &[3]], |x| vec![x[0].outer(&x[1])]),
            ("tensordot", &[&[2, 3, 2], &[3, 2, 2]], |x| vec![x[0].tensordot(&x[1], 2)]),
            ("kron", &[&[2, 2], &[1, 3]], |x| vec![x[0].kron(&x[1])]),
            ("vecdot", &[&[2, 3], &[3]], |x| vec![x[0].vecdot(&x[1], -1)]),
            ("einsum", &[&[2, 3], &[3, 2], &[2]], |x| {
                vec![Array::einsum("ij,jk,k->i", &[&x[0], &x[1], &x[2]])]
            }),
            ("einsum of a diagonal", &[&[3, 3]], |x| vec![Array::einsum("ii->i", &[&x[0]])]),
            ("convolve", &[&[5], &[3]], |x| vec![x[0].convolve(&x[1], Overlap::Full)]),
            ("gather_mm", &[&[3, 2, 2], &[2, 2, 3]], |x| {
                vec![x[0].gather_mm(
                    &x[1],
                    Some(&ints(&[2, 0, 0], &[3])),
                    Some(&ints(&[1, 1, 0], &[3])),
                    false,
                )]
            }),
            ("segmented_mm", &[&[2, 5], &[5, 3]], |x| {
                vec![x[0].segmented_mm(&x[1], &ints(&[0, 2, 2, 5, 1, 1], &[3, 2]))]
            }),
            ("block_masked_mm", &[&[4, 4], &[4, 2], &[2, 2]], |x| {
                let out = Array::from_slice(&[true, false], &[2, 1]);
                vec![x[0].block_masked_mm(&x[1], 2, Some(&out), Some(&x[2]), None)]
            }),
            ("hadamard_transform", &[&[2, 4]], |x| vec![x[0].hadamard_transform(None)]),
        ],
        DType::F64,
    );
}

#[test]
fn convolutions_and_windows() {
    check(
        &[
            ("conv1d", &[&[2, 5, 2], &[4, 2, 1]], |x| vec![x[0].conv1d(&x[1], 2, 1, 1, 2)]),
            ("conv2d", &[&[1, 4, 3, 2], &[2, 2, 2, 2]], |x| vec![x[0].conv2d(&x[1], [2, 1], 1, [1, 2], 1)]),
            ("conv_transpose2d", &[&[1, 2, 2, 2], &[3, 2, 2, 2]], |x| {
                vec![x[0].conv_transpose2d(&x[1], 2, [0, 1], 1, [1, 0], 1)]
            }),
            ("conv_general", &[&[1, 4, 1], &[2, 2, 1]], |x| {
                let geometry = ConvGeneral {
                    padding: (vec![1], vec![2]),
                    input_dilation: vec![2],
                    flip: true,
                    ..ConvGeneral::new(1)
                };
                vec![x[0].conv_general(&x[1], &geometry)]
            }),
            ("rfft and irfft", &[&[2, 6]], |x| {
                let spectrum = fft::rfft(&x[0], None, -1, fft::Norm::Backward);
                let less = spectrum * Array::arange(4, DType::F32);
                vec![fft::irfft(&less, None, -1, fft::Norm::Backward).astype(x[0].dtype())]
            }),
        ],
        DType::F32,
    );
}

#[test]
fn parts_and_places() {
    check(
        &[
            ("as_strided, overlapping", &[&[2, 4]], |x| vec![x[0].as_strided(&[3, 3], &[2, 1], 1)]),
            ("as_strided, backwards", &[&[6]], |x| vec![x[0].as_strided(&[2, 3], &[-1, -1], 5).square()]),
            ("strided_slice", &[&[4, 5]], |x| vec![x[0].strided_slice(&[3, 0], &[-2, 2], &[2, 3]).square()]),
            ("strided_slice_update", &[&[4, 3], &[2, 2]], |x| {
                vec![x[0].square().strided_slice_update(&x[1].sin(), &[1, 0], &[2, 2])]
            }),
            ("diagonal", &[&[3, 4]], |x| vec![x[0].diagonal(1, 0, 1)]),
            ("trace", &[&[3, 3]], |x| vec![x[0].square().trace(0, 0, 1, None)]),
            ("tril", &[&[3, 4]], |x| vec![x[0].tril(1).square()]),
            ("take", &[&[4, 2]], |x| vec![x[0].square().take(ints(&[3, 0, 3, -1], &[2, 2]), 0)]),
            ("take_along_axis", &[&[3, 2]], |x| {
                vec![x[0].sin().take_along_axis(&ints(&[2, 0, 0, 1], &[2, 2]), 0)]
            }),
            ("put_along_axis", &[&[3, 2], &[1, 2]], |x| {
                vec![x[0].sin().put_along_axis(&ints(&[2, 0], &[1, 2]), &x[1], 0)]
            }),
            ("gather", &[&[3, 4]], |x| vec![x[0].square().gather(&[ints(&[2, 0, 2], &[3])], &[0], &[1, 2])]),
            ("scatter_prod", &[&[3, 2], &[4, 1, 2]], |x| {
                vec![x[0].scatter(&[ints(&[2, 0, 2, 2], &[4])], &x[1], &[0], ScatterReduce::Prod)]
            }),
            ("scatter of the last", &[&[3, 2], &[4, 1, 2]], |x| {
                vec![x[0].scatter(&[ints(&[2, 0, 2, 2], &[4])], &x[1].sin(), &[0], ScatterReduce::None)]
            }),
            ("scatter of the largest", &[&[3, 2], &[4, 1, 2]], |x| {
                vec![x[0].scatter(&[ints(&[2, 0, 2, 2], &[4])], &x[1].sin(), &[0], ScatterReduce::Max)]
            }),
            ("at add", &[&[4], &[3]], |x| vec![x[0].square().at(ints(&[1, 1, 3], &[3])).add(x[1].square())]),
            ("at multiply", &[&[4], &[3]], |x| vec![x[0].at(ints(&[1, 1, 3], &[3])).multiply(&x[1])]),
            ("pad, reflected", &[&[2, 4]], |x| {
                vec![x[0].square().pad([(0, 1), (2, 1)], PadMode::Reflect, 0)]
            }),
            ("pad with a number", &[&[2, 2], &[]], |x| {
                vec![x[0].pad([(1, 0), (0, 2)], PadMode::Constant, &x[1])]
            }),
            ("roll and flip", &[&[3, 4]], |x| vec![x[0].square().roll(2, 1).flip(0)]),
            ("tile and repeat", &[&[2, 2]], |x| vec![x[0].square().tile(&[2, 1]).repeat(2, 1)]),
        ],
        DType::F64,
    );
}

#[test]
fn statistics_and_order() {
    check(
        &[
            ("var", &[&[2, 4]], |x| vec![x[0].var(1, false, 1)]),
            ("std", &[&[2, 4]], |x| vec![x[0].std(.., true, 0)]),
            ("logsumexp", &[&[2, 4]], |x| vec![x[0].logsumexp(1, false)]),
            ("prod", &[&[2, 3]], |x| vec![x[0].prod([0, 1], false)]),
            ("median", &[&[2, 5]], |x| vec![x[0].median(1, false)]),
            ("quantile", &[&[2, 5]], |x| {
                let q = Array::from_slice(&[0.3f64, 0.8], &[2]);
                vec![x[0].quantile(q, 1, false, QuantileMethod::Linear)]
            }),
            ("minmax", &[&[2, 4]], |x| {
                let (low, high) = x[0].minmax(1, false);
                vec![low, high]
            }),
            ("sort", &[&[2, 4]], |x| vec![x[0].square().sort(1)]),
            ("partition", &[&[2, 4]], |x| vec![x[0].partition(2, 1)]),
            ("topk", &[&[2, 4]], |x| vec![x[0].topk(2, 1)]),
            ("cumsum", &[&[2, 4]], |x| vec![x[0].square().cumsum(1, true, false)]),
            ("cumprod", &[&[2, 4]], |x| vec![x[0].cumprod(1, false, true)]),
            ("cumprod before each", &[&[2, 4]], |x| vec![x[0].cumprod(1, true, false)]),
            ("cummax", &[&[2, 4]], |x| vec![x[0].cummax(1, false, true)]),
            ("cummin", &[&[2, 4]], |x| vec![x[0].cummin(0, true, true)]),
            ("logcumsumexp", &[&[2, 4]], |x| vec![x[0].logcumsumexp(1, false, true)]),
            ("diff", &[&[5]], |x| vec![x[0].square().diff(2, 0)]),
            ("interp", &[&[4], &[3]], |x| {
                let xp = Array::from_slice(&[-1.0f64, 0.1, 1.0], &[3]);
                vec![x[0].interp(&xp, &x[1], None, None)]
            }),
            ("clip", &[&[5], &[5]], |x| vec![(&x[0] * 2).clip(-0.5, &x[1])]),
            ("nan_to_num", &[&[4]], |x| vec![x[0].square().nan_to_num(0.0, None, None)]),
            ("lgamma", &[&[4]], |x| vec![(&x[0] + 1.5).lgamma()]),
            ("erfinv", &[&[4]], |x| vec![(&x[0] * 0.9).erfinv()]),
        ],
        DType::F64,
    );
}

#[test]
fn operations_of_models() {
    check(
        &[
            ("softmax over several", &[&[2, 2, 3]], |x| vec![x[0].softmax([0, 2])]),
            ("rms_norm", &[&[2, 4], &[4]], |x| vec![fast::rms_norm(&x[0], Some(&x[1]), 1e-5)]),
            ("layer_norm", &[&[2, 4], &[4], &[4]], |x| {
                vec![fast::layer_norm(&x[0], Some(&x[1]), Some(&x[2]), 1e-5)]
            }),
            ("rope", &[&[1, 2, 3, 4]], |x| vec![fast::rope(&x[0], 4, false, Some(100.0), 1.0, 2, None)]),
            ("attention", &[&[1, 2, 3, 4], &[1, 1, 3, 4], &[1, 1, 3, 2]], |x| {
                vec![x[0].attention(&x[1], &x[2], 0.5, Mask::Causal)]
            }),
            ("cross_entropy", &[&[3, 4]], |x| vec![fast::cross_entropy(&x[0], &ints(&[1, 3, 0], &[3]))]),
            ("sigmoid of a power", &[&[3], &[3]], |x| {
                vec![ops::sigmoid(&(x[0].square() + 0.5).power(&x[1]))]
            }),
        ],
        DType::F64,
    );
}

#[test]
fn quantized_matrices() {
    fn form(mode: QuantMode) -> Quantization {
        Quantization { group_size: 32, ..Quantization::new(mode) }
    }
    fn weights() -> Array {
        Array::arange(128, DType::F32).sin().reshape(&[4, 32])
    }
    check(
        &[
            ("quantized_matmul", &[&[2, 32]], |x| {
                let form = form(QuantMode::Affine);
                let (w, scales, biases) = weights().quantize(&form);
                vec![x[0].quantized_matmul(&w, &scales, biases.as_ref(), true, &form)]
            }),
            ("quantized_matmul by scales", &[&[2, 4], &[4, 1], &[4, 1]], |x| {
                let form = form(QuantMode::Affine);
                let (w, _, _) = weights().quantize(&form);
                vec![x[0].quantized_matmul(&w, &x[1], Some(&x[2]), false, &form)]
            }),
            ("quantized_matmul of floats", &[&[2, 32]], |x| {
                let form = form(QuantMode::Mxfp8);
                let (w, scales, biases) = weights().quantize(&form);
                vec![x[0].quantized_matmul(&w, &scales, biases.as_ref(), true, &form)]
            }),
            ("dequantize", &[&[4, 1], &[4, 1]], |x| {
                let form = form(QuantMode::Affine);
                let (w, _, _) = weights().quantize(&form);
                vec![w.dequantize(&x[0], Some(&x[1]), &form, None)]
            }),
            ("gather_qmm", &[&[3, 1, 32]], |x| {
                let form = form(QuantMode::Affine);
                let (w, scales, biases) = weights().reshape(&[2, 2, 32]).quantize(&form);
                let picks = ints(&[1, 0, 1], &[3]);
                let picks = Picks { rhs: Some(&picks), ..Picks::default() };
                vec![x[0].gather_qmm(&w, &scales, biases.as_ref(), picks, true, &form)]
            }),
            ("scales of quantize", &[&[2, 32]], |x| {
                let (_, scales, biases) = x[0].quantize(&form(QuantMode::Affine));
                vec![scales, biases.unwrap()]
            }),
        ],
        DType::F32,
    );
}
