//! Linear algebra: what defines each factorization, and matrices that have none.

use oneir_array::linalg::{self, Order, Triangle};
use oneir_array::{Array, Complex32, DType, random};

use crate::{assert_alike, assert_close, assert_fails, floats, grid, numbers};

/// A batch of matrices of a dtype.
fn drawn(shape: &[usize], dtype: DType, seed: u64) -> Array {
    let key = random::key(seed);
    match dtype {
        DType::F64 => random::uniform(-1, 1, shape, dtype, Some(&key)),
        _ => random::normal(shape, dtype, 0, 1, Some(&key)),
    }
}

fn adjoint(a: &Array) -> Array {
    let turned = a.matrix_transpose();
    if a.dtype().is_complex() { turned.conjugate() } else { turned }
}

fn identity(n: usize, like: &Array) -> Array {
    let batch = &like.shape()[..like.ndim() - 2];
    let whole: Vec<usize> = batch.iter().copied().chain([n, n]).collect();
    Array::identity(n, like.dtype()).broadcast_to(&whole)
}

/// Hermitian matrices with eigenvalues of at least 1.
fn definite(shape: &[usize], dtype: DType, seed: u64) -> Array {
    let a = drawn(shape, dtype, seed);
    a.matmul(&adjoint(&a)) + identity(shape[shape.len() - 1], &a)
}

const COMPUTED: [(DType, f64); 3] = [(DType::F64, 1e-12), (DType::F32, 2e-4), (DType::Complex64, 2e-4)];

#[test]
fn factors_multiply_to_the_matrix() {
    for (dtype, tolerance) in COMPUTED {
        for shape in [&[4, 4][..], &[5, 3], &[3, 5], &[2, 3, 4, 4], &[1, 1], &[0, 3, 3]] {
            let a = drawn(shape, dtype, 1);
            let (m, n) = (shape[shape.len() - 2], shape[shape.len() - 1]);
            let (q, r) = linalg::qr(&a);
            assert_alike(&q.matmul(&r), &a, tolerance);
            assert_alike(&adjoint(&q).matmul(&q), &identity(m.min(n), &a), tolerance);
            assert_alike(&r.tril(-1), &r.zeros_like(None), 0.0);
            let (u, s, vt) = linalg::svd(&a);
            let k = m.min(n);
            let scaled = u.narrow(-1, 0, k) * s.expand_dims(-2).astype(dtype);
            assert_alike(&scaled.matmul(&vt.narrow(-2, 0, k)), &a, tolerance);
            assert_alike(&adjoint(&u).matmul(&u), &identity(u.shape()[u.ndim() - 1], &a), tolerance);
            assert_alike(&vt.matmul(&adjoint(&vt)), &identity(vt.shape()[vt.ndim() - 2], &a), tolerance);
            assert!(numbers(&s).iter().all(|&s| s >= 0.0));
            assert_alike(&s, &linalg::svdvals(&a), tolerance);
        }
    }
}

#[test]
fn triangles_and_spectra() {
    for (dtype, tolerance) in COMPUTED {
        for shape in [&[4, 4][..], &[2, 3, 3], &[1, 1], &[0, 2, 2], &[0, 0]] {
            let a = definite(shape, dtype, 2);
            let (lower, upper) = (linalg::cholesky(&a, false), linalg::cholesky(&a, true));
            assert_alike(&lower.matmul(&adjoint(&lower)), &a, tolerance);
            assert_alike(&adjoint(&upper).matmul(&upper), &a, tolerance);
            assert_alike(&adjoint(&lower), &upper, tolerance);
            assert_alike(&linalg::cholesky_inv(&lower, false), &linalg::inv(&a), tolerance);
            let n = shape[shape.len() - 1];
            assert_alike(&linalg::tri_inv(&lower, false).matmul(&lower), &identity(n, &a), tolerance);
            let (values, vectors) = linalg::eigh(&a, Triangle::Lower);
            let scaled = &vectors * values.expand_dims(-2).astype(dtype);
            assert_alike(&a.matmul(&vectors), &scaled, tolerance);
            assert_alike(&adjoint(&vectors).matmul(&vectors), &identity(n, &a), tolerance);
            // Only the named triangle is read.
            let half = a.tril(0) + Array::full(&[n, n], 7, dtype).triu(1);
            assert_alike(&linalg::eigvalsh(&half, Triangle::Lower), &values, tolerance);
            assert_alike(&linalg::cholesky(&half, false), &lower, tolerance);
            let trace = a.trace(0, -2, -1, None).real();
            assert_alike(&values.sum(-1, false), &trace.astype(values.dtype()), tolerance * 20.0);
        }
    }
}

#[test]
fn inverses_and_solutions() {
    for (dtype, tolerance) in COMPUTED {
        for shape in [&[4, 4][..], &[2, 3, 3], &[1, 1], &[0, 2, 2]] {
            let a = definite(shape, dtype, 3);
            let n = shape[shape.len() - 1];
            assert_alike(&linalg::inv(&a).matmul(&a), &identity(n, &a), tolerance);
            assert_alike(&linalg::pinv(&a), &linalg::inv(&a), tolerance);
            let sides: Vec<usize> = shape[..shape.len() - 1].iter().copied().chain([2]).collect();
            let b = drawn(&sides, dtype, 4);
            assert_alike(&a.matmul(&linalg::solve(&a, &b)), &b, tolerance);
            for upper in [false, true] {
                let triangle = if upper { a.triu(0) } else { a.tril(0) };
                assert_alike(&triangle.matmul(&linalg::solve_triangular(&a, &b, upper)), &b, tolerance);
            }
            let (p, l, u) = linalg::lu(&a);
            let rows = p.expand_dims(-1).broadcast_to(&a.shape());
            assert_alike(&l.matmul(&u).take_along_axis(&rows, -2), &a, tolerance);
            // |det| is the product of the singular values.
            let det = linalg::det(&a).abs();
            assert_alike(&det, &linalg::svdvals(&a).prod(-1, false).astype(det.dtype()), tolerance * 1e3);
            let (sign, log) = linalg::slogdet(&a);
            assert_alike(&(sign.real() * log.exp()), &linalg::det(&a).real(), tolerance * 1e3);
        }
    }
    // The four laws of a pseudoinverse, of a matrix that is neither square nor of full rank.
    let a = Array::from_slice(&[1f64, 2.0, 3.0, 2.0, 4.0, 6.0], &[2, 3]);
    let x = linalg::pinv(&a);
    assert_alike(&a.matmul(&x).matmul(&a), &a, 1e-12);
    assert_alike(&x.matmul(&a).matmul(&x), &x, 1e-12);
    for product in [a.matmul(&x), x.matmul(&a)] {
        assert_alike(&product, &product.t(), 1e-12);
    }
}

#[test]
fn eigenvalues_of_any_matrix() {
    for dtype in [DType::F32, DType::Complex64] {
        let a = drawn(&[3, 4, 4], dtype, 5);
        let (values, vectors) = linalg::eig(&a);
        assert_eq!(values.dtype(), DType::Complex64);
        let turned = a.astype(DType::Complex64).matmul(&vectors);
        assert_alike(&turned, &(&vectors * values.expand_dims(-2)), 1e-4);
        assert_alike(&values.prod(-1, false).real(), &linalg::det(&a).real(), 1e-3);
    }
    // A quarter turn has none that are real.
    let turn = floats(&[0.0, -1.0, 1.0, 0.0]).reshape(&[2, 2]);
    let found = linalg::eigvals(&turn).to_vec::<Complex32>().unwrap();
    assert!(found.iter().all(|z| z.re.abs() < 1e-6 && (z.im.abs() - 1.0).abs() < 1e-6), "{found:?}");
}

#[test]
fn a_batch_is_its_matrices() {
    let a = definite(&[2, 3, 3, 3], DType::F32, 6);
    let one = |f: fn(&Array) -> Array| {
        let whole = f(&a);
        let parts: Vec<Array> = (0..6).map(|i| f(&a.index((i / 3, i % 3)))).collect();
        let sizes: Vec<isize> = whole.shape().iter().map(|&n| n as isize).collect();
        assert_alike(&whole, &Array::stack(&parts, 0).reshape(&sizes), 0.0);
    };
    one(linalg::inv);
    one(linalg::det);
    one(linalg::svdvals);
    one(|a| linalg::cholesky(a, false));
    one(|a| linalg::qr(a).0);
    one(|a| linalg::eigh(a, Triangle::Upper).1);
    one(|a| linalg::eigvals(a).real());
    one(|a| linalg::lu(a).2);
}

#[test]
fn norms_and_products_of_vectors() {
    let x = floats(&[3.0, -4.0, 0.0]);
    for (order, wanted) in [
        (Order::Natural, 5.0),
        (Order::P(1.0), 7.0),
        (Order::P(f64::INFINITY), 4.0),
        (Order::P(0.0), 2.0),
        (Order::P(f64::NEG_INFINITY), 0.0),
    ] {
        assert_close(&linalg::norm(&x, order, .., false), &[wanted], 1e-6);
    }
    let a = drawn(&[4, 3], DType::F64, 7);
    let s = linalg::svdvals(&a);
    assert_alike(&linalg::norm(&a, Order::P(2.0), .., false), &s.max(.., false), 1e-12);
    assert_alike(&linalg::norm(&a, Order::Nuclear, .., false), &s.sum(.., false), 1e-12);
    assert_alike(&linalg::norm(&a, Order::Frobenius, .., false), &s.square().sum(.., false).sqrt(), 1e-12);
    assert_eq!(linalg::norm(&a, Order::Frobenius, .., true).shape(), [1, 1]);
    let (a, b) = (drawn(&[5, 3], DType::F64, 8), drawn(&[5, 3], DType::F64, 9));
    let c = linalg::cross(&a, &b, -1);
    assert_close(&(&c * &a).sum(-1, false), &[0.0; 5], 1e-12);
    assert_alike(&linalg::cross(&b, &a, -1), &-c, 1e-12);
}

#[test]
fn matrices_without_a_result_and_calls_without_a_meaning() {
    let told = |a: &Array, what: &str| {
        let text = a.eval().unwrap_err().to_string();
        assert!(text.contains(what), "{text}");
    };
    let singular = floats(&[1.0, 2.0, 2.0, 4.0]).reshape(&[2, 2]);
    told(&linalg::inv(&singular), "inverse");
    told(&linalg::solve(&singular, &floats(&[1.0, 2.0])), "matrix 0 of solve is not invertible");
    told(&linalg::cholesky(&-&singular, false), "positive");
    // Of a batch, the matrix is named.
    let batch = Array::stack(&[Array::identity(2, DType::F32), singular.clone()], 0);
    told(&linalg::inv(&batch), "matrix 1 of");
    assert_close(&linalg::det(&singular), &[0.0], 0.0);
    assert_fails(&linalg::inv(&floats(&[1.0])), "inv", "at least 2");
    assert_fails(&linalg::inv(&grid(&[2, 3])), "inv", "the matrix must have shape [2, 2], found [2, 3]");
    assert_fails(
        &linalg::cholesky(&grid(&[3, 2]), false),
        "cholesky",
        "the matrix must have shape [3, 3], found [3, 2]",
    );
    assert_fails(&linalg::solve(&singular, &floats(&[1.0, 2.0, 3.0])), "solve", "do not fit");
    assert_fails(
        &linalg::cross(&floats(&[1.0; 4]), &floats(&[1.0; 4]), 0),
        "cross",
        "2 or 3 numbers, found 4",
    );
    assert_fails(&linalg::norm(&singular, Order::P(3.0), .., false), "norm", "no norm of order 3");
    assert_fails(&linalg::norm(&singular, Order::Nuclear, 0, false), "norm", "no norm over 1 axes");
    assert_eq!(numbers(&linalg::det(&Array::zeros(&[0, 0], DType::F32))), [1.0]);
}
