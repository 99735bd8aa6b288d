use oneir_array::{Array, Complex32, DType, DTypeKind, ops};

use crate::{assert_close, assert_fails, floats, ints, values};

#[test]
fn filling_honours_the_dtype() {
    assert_eq!(values::<i32>(&Array::full(&[2], 2.7, DType::I32)), [2, 2]);
    assert_eq!(values::<u64>(&Array::full(&[1], (1u64 << 63) + 5, DType::U64)), [(1 << 63) + 5]);
    assert_eq!(Array::full(&[], 1u64 << 63, None).dtype(), DType::U64);
    assert_eq!(Array::full(&[], 1i64 << 40, None).dtype(), DType::I64);
    assert_eq!(Array::full(&[], 1.5, None).dtype(), DType::F32);
    assert_fails(&Array::full(&[1], -1, DType::U8), "full", "-1 does not fit u8");
    assert_eq!(values::<f64>(&Array::full(&[1], 0.1, DType::F64)), [0.1]);
    assert_eq!(
        values::<Complex32>(&Array::full(&[1], Complex32::new(0.0, 1.0), None)),
        [Complex32::new(0.0, 1.0)]
    );
    let row = ints(&[1, 2]);
    assert_eq!(values::<f32>(&ops::full(&[2, 2], &row, DType::F32)), [1.0, 2.0, 1.0, 2.0]);
    assert_fails(&Array::full(&[3], &row, None), "full", "[2]");
    assert_fails(&Array::zeros(&[usize::MAX, 2], DType::F64), "zeros", "more bytes");
    assert_eq!(values::<i32>(&row.full_like(2.5, None)), [2, 2]);
    assert_eq!(row.zeros_like(DType::F16).dtype(), DType::F16);
    assert_eq!(values::<i32>(&row.ones_like(None)), [1, 1]);
    assert_eq!(row.empty_like(None).shape(), [2]);
    assert_fails(&row.reshape(&[3]).ones_like(None), "reshape", "2 elements");
    assert_eq!(Array::zeros(&[0, 3], DType::Bool).to_vec::<bool>().unwrap(), [false; 0]);
}

#[test]
fn ranges() {
    assert_eq!(values::<i32>(&Array::arange((0, -3, -1), None)), [0, -1, -2]);
    assert_eq!(Array::arange((0, 5, -1), None).shape(), [0]);
    assert_eq!(Array::arange(-3, None).shape(), [0]);
    assert_close(&Array::arange((0.1, 1.0, 0.3), None), &[0.1, 0.4, 0.7], 1e-7);
    assert_eq!(values::<i64>(&Array::arange(1i64 << 31..(1 << 31) + 2, None)), [1 << 31, (1 << 31) + 1]);
    assert_eq!(
        values::<u64>(&Array::arange(u64::MAX - 2..u64::MAX, DType::U64)),
        [u64::MAX - 2, u64::MAX - 1]
    );
    // The dtype's own elements are counted: 0 and 0.5 are both 0.
    assert_eq!(values::<i32>(&Array::arange((0.0, 2.0, 0.5), DType::I32)), [0; 4]);
    assert_eq!(values::<i8>(&Array::arange(126..130, DType::I8)), [126, 127, -128, -127]);
    assert_close(&Array::arange(1..4, DType::BF16), &[1.0, 2.0, 3.0], 0.0);
    assert_fails(&Array::arange((0, 1, 0), None), "arange", "the step must not be 0");
    assert_fails(&Array::arange(0.0..f64::NAN, None), "arange", "cannot be counted");
    assert_fails(&Array::arange(i64::MIN..i64::MAX, DType::I64), "arange", "");
    // Rounded once, however far from the start.
    let far = Array::arange((0.0, 100_000.0, 0.1), DType::F32);
    assert_eq!(values::<f32>(&far)[999_999], 99_999.9);
    assert_close(&Array::linspace(0, 10, 5, true, DType::I32), &[0.0, 2.0, 5.0, 7.0, 10.0], 0.0);
    assert_close(&Array::linspace(0, 1, 4, false, DType::F32), &[0.0, 0.25, 0.5, 0.75], 0.0);
    assert_close(&Array::linspace(3, 1, 1, true, DType::F32), &[3.0], 0.0);
    assert_eq!(Array::linspace(0, 1, 0, true, DType::F32).shape(), [0]);
    assert_close(&ops::linspace(0.1, 0.7, 4, true, DType::F64), &[0.1, 0.3, 0.5, 0.7], 1e-15);
}

#[test]
fn matrices_of_ones() {
    assert_eq!(values::<i8>(&Array::eye(2, 3, -1, DType::I8)), [0, 0, 0, 1, 0, 0]);
    assert_eq!(values::<f32>(&Array::identity(2, DType::F32)), [1.0, 0.0, 0.0, 1.0]);
    assert_eq!(values::<f32>(&Array::tri(2, 3, 1, DType::F32)), [1.0, 1.0, 0.0, 1.0, 1.0, 1.0]);
    assert_eq!(Array::eye(0, None, 0, DType::F32).shape(), [0, 0]);
    assert_fails(&Array::eye(1 << 40, None, 0, DType::F32), "eye", "more bytes");
}

#[test]
fn windows() {
    assert_close(&Array::hanning(5), &[0.0, 0.5, 1.0, 0.5, 0.0], 1e-7);
    assert_close(&Array::hamming(4), &[0.08, 0.77, 0.77, 0.08], 1e-7);
    assert_close(&Array::blackman(5), &[0.0, 0.34, 1.0, 0.34, 0.0], 1e-7);
    assert_close(&ops::bartlett(4), &[0.0, 2.0 / 3.0, 2.0 / 3.0, 0.0], 1e-7);
    assert_eq!((Array::bartlett(0).size(), values::<f32>(&Array::blackman(1))), (0, vec![1.0]));
}

#[test]
fn facts_of_dtypes() {
    assert!(DType::I32.can_cast(DType::F16) && !DType::Complex64.can_cast(DType::F32));
    assert_eq!(DType::result_type(&[DType::U8, DType::I8, DType::F16]), Some(DType::F16));
    assert!(DType::U16.is(DTypeKind::Integral) && !DType::Bool.is(DTypeKind::Numeric));
    for (dtype, max) in
        [(DType::F32, f64::from(f32::MAX)), (DType::F64, f64::MAX), (DType::BF16, 3.389_531_389_251_535_5e38)]
    {
        assert_eq!(dtype.finfo().unwrap().max, max, "{dtype}");
    }
    assert_eq!(DType::U64.iinfo(), Some((0, i128::from(u64::MAX))));
    assert_eq!(floats(&[1.0]).dtype().iinfo(), None);
}
