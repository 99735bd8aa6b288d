//! Products of matrices and vectors: laws that hold exactly on small integers.

use oneir_array::{Array, Complex32, DType, Overlap, Picks, QuantMode, Quantization, random};

use crate::{assert_alike, assert_close, assert_fails, floats, grid, ints, values};

/// Integers from -3 to 3 as floats: products of a few of them are exact in every float.
fn whole(shape: &[usize], dtype: DType, seed: u64) -> Array {
    random::randint(-3, 4, shape, DType::I32, Some(&random::key(seed))).astype(dtype)
}

const EXACT: [DType; 3] = [DType::F32, DType::F64, DType::Complex64];

#[test]
fn products_are_associative_and_linear_on_integers() {
    for dtype in EXACT {
        for [m, k, n, p] in
            [[2, 3, 4, 5], [1, 1, 1, 1], [17, 33, 9, 20], [3, 0, 2, 4], [0, 2, 3, 1], [64, 65, 31, 1]]
        {
            let (a, b, c) = (whole(&[m, k], dtype, 1), whole(&[k, n], dtype, 2), whole(&[n, p], dtype, 3));
            assert_alike(&a.matmul(&b).matmul(&c), &a.matmul(&b.matmul(&c)), 0.0);
            let d = whole(&[k, n], dtype, 4);
            assert_alike(&a.matmul(&(&b + &d)), &(a.matmul(&b) + a.matmul(&d)), 0.0);
            assert_alike(&a.matmul(&b).t(), &b.t().matmul(&a.t()), 0.0);
            assert_alike(&a.matmul(&b), &(a.expand_dims(-1) * b.expand_dims(0)).sum(1, false), 0.0);
            assert_alike(&a.addmm(&a, &Array::identity(k, dtype), 2.0, -1.0), &a, 0.0);
        }
    }
}

#[test]
fn a_batch_is_its_matrices_and_vectors_are_rows_and_columns() {
    for dtype in EXACT.into_iter().chain([DType::F16, DType::BF16]) {
        let (a, b) = (whole(&[2, 3, 4, 5], dtype, 5), whole(&[3, 5, 2], dtype, 6));
        let product = a.matmul(&b);
        assert_eq!(product.shape(), [2, 3, 4, 2]);
        for (i, j) in (0..2).flat_map(|i| (0..3).map(move |j| (i, j))) {
            assert_alike(&product.index((i, j)), &a.index((i, j)).matmul(&b.index(j)), 0.0);
        }
        let (v, w) = (whole(&[5], dtype, 7), whole(&[4], dtype, 8));
        assert_alike(&a.matmul(&v), &a.matmul(&v.expand_dims(-1)).squeeze(-1), 0.0);
        assert_alike(&w.matmul(&a), &w.expand_dims(0).matmul(&a).squeeze(-2), 0.0);
        assert_alike(&v.matmul(&v), &v.inner(&v), 0.0);
        assert_alike(&v.outer(&w), &(v.expand_dims(-1) * &w), 0.0);
    }
}

#[test]
fn one_product_in_many_notations() {
    for dtype in EXACT {
        let (a, b) = (whole(&[3, 4], dtype, 9), whole(&[4, 5], dtype, 10));
        let product = a.matmul(&b);
        assert_alike(&Array::einsum("ij,jk->ik", &[&a, &b]), &product, 0.0);
        assert_alike(&Array::einsum("ij,jk->ki", &[&a, &b]), &product.t(), 0.0);
        assert_alike(&a.tensordot(&b, 1), &product, 0.0);
        assert_alike(&a.tensordot(&b, ([1], [0])), &product, 0.0);
        assert_alike(&a.inner(&b.t()), &product, 0.0);
        let square = product.matmul(&product.t());
        assert_alike(&Array::einsum("ii->", &[&square]), &square.trace(0, 0, 1, None), 0.0);
        assert_alike(&Array::einsum("ij,ij->", &[&product, &product]), &square.trace(0, 0, 1, None), 0.0);
        // (a ⊗ b)(c ⊗ d) = ac ⊗ bd.
        let (c, d) = (whole(&[4, 2], dtype, 11), whole(&[5, 2], dtype, 12));
        assert_alike(&a.kron(&b).matmul(&c.kron(&d)), &a.matmul(&c).kron(&b.matmul(&d)), 0.0);
    }
    let z = Array::from_slice(&[Complex32::new(1.0, 2.0), Complex32::new(0.0, -1.0)], &[2]);
    assert_eq!(z.vecdot(&z, -1).item::<Complex32>().unwrap(), Complex32::new(6.0, 0.0));
    assert_eq!(z.inner(&z).item::<Complex32>().unwrap(), Complex32::new(-4.0, 4.0));
}

#[test]
fn picked_matrices_are_multiplied_in_pairs() {
    let (a, b) = (whole(&[3, 2, 4], DType::F32, 13), whole(&[5, 4, 3], DType::F32, 14));
    let (left, right) = (ints(&[0, 2, 2]), ints(&[1, 1, 4]));
    let wanted = a.take(&left, 0).matmul(&b.take(&right, 0));
    assert_alike(&a.gather_mm(&b, Some(&left), Some(&right), false), &wanted, 0.0);
    // The promise says nothing where both sides have indices.
    let falling = right.flip(..);
    let wanted = a.take(&left, 0).matmul(&b.take(&falling, 0));
    assert_alike(&a.gather_mm(&b, Some(&left), Some(&falling), true), &wanted, 0.0);
    let wanted = a.matmul(&b.take(&right, 0));
    assert_alike(&a.gather_mm(&b, None, Some(&right), true), &wanted, 0.0);
    let falling = ints(&[1, 4, 0]);
    let broken = a.gather_mm(&b, None, Some(&falling), true);
    assert_fails(&broken, "gather_mm", "said to be sorted, but 4 comes before 0");
    let form = Quantization::new(QuantMode::Affine);
    let w = random::normal(&[5, 8, 64], DType::F32, 0, 1, Some(&random::key(15)));
    let (words, scales, biases) = w.quantize(&form);
    let x = random::normal(&[3, 2, 64], DType::F32, 0, 1, Some(&random::key(16)));
    let gathered = |rhs: &Array, sorted| {
        let picks = Picks { rhs: Some(rhs), sorted, ..Picks::default() };
        x.gather_qmm(&words, &scales, biases.as_ref(), picks, true, &form)
    };
    assert_alike(&gathered(&right, true), &gathered(&right, false), 0.0);
    assert_fails(&gathered(&falling, true), "gather_qmm", "said to be sorted");
    assert_fails(
        &a.gather_mm(&b, Some(&floats(&[0.0])), None, false),
        "gather_mm",
        "must be integers, found f32",
    );
    assert_fails(&a.gather_mm(&b, None, Some(&ints(&[0, 1])), false), "gather_mm", "[3] and [2]");
}

#[test]
fn segments_and_blocks_are_parts_of_the_product() {
    let (a, b) = (whole(&[3, 10], DType::F32, 17), whole(&[10, 4], DType::F32, 18));
    let cuts = ints(&[0, 4, 4, 4, 4, 10]).reshape(&[3, 2]);
    assert_alike(&a.segmented_mm(&b, &cuts).sum(0, false), &a.matmul(&b), 0.0);
    let all = Array::ones(&[1, 2], DType::Bool);
    let masked = a.block_masked_mm(&b, 8, None, Some(&all), None);
    assert_alike(&masked, &a.matmul(&b), 0.0);
    let first = Array::from_slice(&[true, false], &[1, 2]);
    let part = a.narrow(1, 0, 8).matmul(&b.narrow(0, 0, 8));
    assert_alike(&a.block_masked_mm(&b, 8, None, Some(&first), None), &part, 0.0);
    assert_fails(
        &a.block_masked_mm(&b, 8, None, Some(&all.t()), None),
        "block_masked_mm",
        "a mask of [1, 2] blocks",
    );
    assert_fails(&a.block_masked_mm(&b, 0, None, None, None), "block_masked_mm", "blocks of 0");
    assert_fails(&a.segmented_mm(&b, &ints(&[1, 2, 3])), "segmented_mm", "segments [..., 2] are needed");
}

#[test]
fn hadamard_matrices_turn_without_stretching() {
    for n in [1usize, 2, 12, 64, 20, 28 * 4] {
        let x = random::normal(&[3, n], DType::F32, 0, 1, Some(&random::key(19)));
        let turned = x.hadamard_transform(None);
        assert_alike(&turned.square().sum(-1, false), &x.square().sum(-1, false), 1e-3);
    }
    assert_fails(&floats(&[0.0; 11]).hadamard_transform(None), "hadamard_transform", "11 elements of f32");
}

#[test]
fn what_does_not_fit_is_refused() {
    let (a, b) = (grid(&[2, 3]), grid(&[2, 3]));
    assert_fails(&a.matmul(&b), "matmul", "inner dimensions differ: [2, 3] by [2, 3]");
    assert_fails(&a.matmul(&Array::scalar(1f32)), "matmul", "at least one dimension");
    assert_fails(&grid(&[2, 2, 3]).matmul(&grid(&[3, 3, 2])), "matmul", "[2] and [3]");
    assert_fails(&floats(&[1.0; 4]).addmm(&a, &b.t(), 1.0, 1.0), "addmm", "expected shape [2, 2], found [4]");
    assert_fails(&a.inner(&grid(&[2, 2])), "inner", "axes of sizes [3] and [2]");
    assert_fails(&a.tensordot(&b, 3), "tensordot", "3 axes are to be summed over of 2");
    assert_fails(&a.tensordot(&b, ([0, 0], [0, 1])), "tensordot", "axis 0 is named twice");
    assert_fails(&a.vecdot(&grid(&[2, 2]), -1), "vecdot", "3 elements on the left and 2 on the right");
    assert_fails(&Array::einsum("ij,jk", &[&a]), "einsum", "2 terms for 1 operands");
    assert_fails(&Array::einsum("ij,jk", &[&a, &b]), "einsum", "`j` is 3 and 2");
    assert_fails(&Array::einsum("ij->k", &[&a]), "einsum", "no operand has the result's `k`");
    assert_fails(&a.convolve(&b, Overlap::Full), "convolve", "two vectors");
    assert_fails(&floats(&[]).convolve(&floats(&[1.0]), Overlap::Same), "convolve", "vectors with elements");
    assert_close(
        &Array::zeros(&[2, 0], DType::F32).matmul(&Array::zeros(&[0, 2], DType::F32)),
        &[0.0; 4],
        0.0,
    );
    assert_eq!(values::<f32>(&a.matmul(&b.t())), [5.0, 14.0, 14.0, 50.0]);
}
