//! Scans, orders and searches along lines.

use oneir_array::{Array, Complex32, DType, SearchSide, f16, ops};

use crate::{assert_close, assert_fails, floats, grid, ints, values};

#[test]
fn running_combinations() {
    let x = Array::from_slice(&[1i32, 2, 3, 4], &[2, 2]);
    assert_eq!(values::<i32>(&x.cumsum(.., false, true)), [1, 3, 6, 10]);
    assert_eq!(values::<i32>(&x.cumsum(0, false, true)), [1, 2, 4, 6]);
    assert_eq!(values::<i32>(&x.cumsum(1, true, false)), [2, 0, 4, 0]);
    assert_eq!(values::<i32>(&ops::cumulative_prod(&x, .., true, true)), [24, 24, 12, 4]);
    assert_eq!(values::<i32>(&ints(&[3, 1, 5]).cummax(0, false, true)), [3, 3, 5]);
    assert_close(&floats(&[3.0, f32::NAN, 1.0]).cummin(0, false, true), &[3.0, f64::NAN, f64::NAN], 0.0);
    assert_close(
        &ints(&[1, 0, 3, 2]).logcumsumexp(.., false, true),
        &[1.0, 1.313_261_7, 3.169_846, 3.440_189_8],
        1e-6,
    );
    let c = Array::from_slice(&[Complex32::new(1.0, 2.0), Complex32::new(1.0, 3.0)], &[2]);
    let last = values::<Complex32>(&c.logcumsumexp(0, false, true))[1];
    assert!((last - Complex32::new(1.562_56, 2.5)).norm() < 1e-5, "{last}");
    assert_eq!(Array::scalar(3f32).cumsum(.., false, true).to_vec::<f32>().unwrap(), [3.0]);
    assert_eq!(Array::zeros(&[2, 0], DType::F32).cumsum(1, false, true).shape(), [2, 0]);
    // A sum kept in f16 would stop at 2048.
    let halves = Array::ones(&[3000], DType::F16).cumsum(0, false, true);
    assert_eq!(values::<f16>(&halves)[2999], f16::from_f32(3000.0));
    assert_fails(&x.cumsum([0, 1], false, true), "cumsum", "one axis or all");
    assert_fails(&Array::scalar(1f32).cumprod(0, false, true), "cumprod", "axis 0 is out of range");
}

#[test]
fn differences() {
    assert_eq!(values::<i32>(&ints(&[1, 4, 9, 16]).diff(1, -1)), [3, 5, 7]);
    assert_eq!(values::<i32>(&grid(&[2, 3]).diff(1, 0)), [3, 3, 3]);
    assert_eq!(ints(&[1, 4, 9]).diff(5, 0).shape(), [0]);
    assert_eq!(ints(&[1, 4, 9]).diff(usize::MAX, 0).shape(), [0]);
    assert_eq!(values::<i32>(&ints(&[1, 4]).diff(0, 0)), [1, 4]);
    assert_eq!(values::<u8>(&Array::from_slice(&[1u8, 0], &[2]).diff(1, 0)), [255]);
    assert_eq!(values::<bool>(&Array::from_slice(&[true, false, false], &[3]).diff(1, 0)), [true, false]);
    assert_fails(&Array::scalar(1i32).diff(1, -1), "diff", "axis -1");
}

#[test]
fn sorting_and_parts_of_it() {
    let x = Array::from_slice(&[3i32, 1, 2, 0], &[2, 2]);
    assert_eq!(values::<i32>(&x.sort(..)), [0, 1, 2, 3]);
    assert_eq!(values::<i32>(&x.sort(0)), [2, 0, 3, 1]);
    assert_eq!(values::<u32>(&x.argsort(..)), [3, 1, 2, 0]);
    assert_close(
        &floats(&[f32::NAN, -1.0, f32::NEG_INFINITY]).sort(-1),
        &[f64::NEG_INFINITY, -1.0, f64::NAN],
        0.0,
    );
    let y = ints(&[5, 1, 4, 2, 3]);
    let parted = values::<i32>(&y.partition(-2, 0));
    assert!(parted[3] == 4 && parted[..3].iter().all(|&v| v <= 4) && parted[4] == 5, "{parted:?}");
    let places = values::<u32>(&y.argpartition(1, ..));
    assert_eq!(values::<i32>(&y)[places[1] as usize], 2);
    assert_eq!(values::<i32>(&y.topk(2, -1)), [4, 5]);
    assert_eq!(values::<i32>(&x.topk(1, 0)), [3, 1]);
    assert_eq!(y.topk(0, 0).shape(), [0]);
    assert_eq!(Array::zeros(&[0], DType::F32).sort(..).shape(), [0]);
    assert_fails(&y.topk(6, 0), "topk", "k = 6 is more than axis 0 of shape [5]");
    assert_fails(&y.partition(5, 0), "partition", "kth 5 is out of range for axis 0 of shape [5]");
    assert_fails(&Array::scalar(1i32).sort(-1), "sort", "axis -1");
}

#[test]
fn searches_find_both_sides() {
    let x = ints(&[1, 2, 2, 4]);
    let wanted = Array::from_slice(&[0i32, 2, 3, 5], &[2, 2]);
    let left = x.searchsorted(&wanted, SearchSide::Left);
    assert_eq!((left.shape().to_vec(), values::<u32>(&left)), (vec![2, 2], vec![0, 1, 3, 4]));
    assert_eq!(values::<u32>(&x.searchsorted(&wanted, SearchSide::Right)), [0, 3, 3, 4]);
    let nan = f32::NAN;
    let y = floats(&[1.0, 2.0, nan]);
    assert_eq!(values::<u32>(&y.searchsorted(&floats(&[nan, 0.0, 9.0]), SearchSide::Left)), [2, 0, 2]);
    assert_eq!(values::<u32>(&y.searchsorted(&floats(&[nan, 0.0, 9.0]), SearchSide::Right)), [3, 0, 2]);
    assert_eq!(values::<u32>(&ints(&[]).searchsorted(&wanted, SearchSide::Left)), [0; 4]);
    assert_eq!(x.searchsorted(&ints(&[]), SearchSide::Left).shape(), [0]);
    for n in 0..20 {
        let line = Array::arange(n, DType::I32);
        let found = line.searchsorted(&Array::arange(-1..n + 2, DType::I32), SearchSide::Right);
        let right: Vec<u32> = (-1..n + 2).map(|v| (v + 1).clamp(0, n) as u32).collect();
        assert_eq!(values::<u32>(&found), right, "{n}");
    }
    assert_fails(
        &wanted.searchsorted(&x, SearchSide::Left),
        "searchsorted",
        "one dimension, found shape [2, 2]",
    );
}
