use oneir_array::{Array, DType};

use crate::{assert_close, assert_fails, floats, grid, ints, told, values};

#[test]
fn distinct_elements_of_a_given_number() {
    let x = Array::from_slice(&[3i32, 1, 3, 7], &[2, 2]);
    let found = x.unique(2, ..);
    assert_eq!((values::<i32>(&found.values), values::<u32>(&found.index)), (vec![1, 3], vec![1, 0]));
    assert_eq!(found.inverse.shape(), [2, 2]);
    assert_eq!((values::<u32>(&found.inverse), values::<i32>(&found.counts)), (vec![1, 0, 1, 1], vec![1, 2]));
    assert_eq!(values::<i32>(&x.unique(5, ..).values), [1, 3, 7, 1, 1]);
    assert_eq!(values::<i32>(&x.unique(5, -4).values), [1, 3, 7, -4, -4]);
    let nan = floats(&[1.0, f32::NAN, f32::NAN, 0.0]).unique(4, ..);
    assert_close(&nan.values, &[0.0, 1.0, f64::NAN, 0.0], 0.0);
    assert_eq!(values::<i32>(&nan.counts), [1, 1, 2, 0]);
    assert_eq!(x.unique(0, ..).values.shape(), [0]);
    let none = floats(&[]);
    assert_fails(&none.unique(2, ..).values, "unique", "a fill is needed");
    assert_eq!(values::<f32>(&none.unique(2, 5).values), [5.0, 5.0]);
    assert_eq!(none.unique(0, ..).values.shape(), [0]);
    assert_fails(&x.unique(1 << 40, ..).index, "unique", "too many");
}

#[test]
fn what_is_sized_by_data_is_computed_at_once() {
    let x = Array::from_slice(&[0i32, 5, 7, 0, 0, 5], &[2, 3]);
    let all = x.unique_all().unwrap();
    assert_eq!((values::<i32>(&all.values), values::<i32>(&all.counts)), (vec![0, 5, 7], vec![3, 2, 1]));
    let places: Vec<Vec<i64>> = x.nonzero().unwrap().iter().map(values).collect();
    assert_eq!(places, [[0, 0, 1], [1, 2, 2]]);
    assert_eq!(Array::zeros(&[0, 2], DType::F32).nonzero().unwrap().len(), 2);
    assert_eq!(floats(&[]).unique_all().unwrap().values.shape(), [0]);
    told(Array::scalar(1i32).nonzero(), "nonzero", "without dimensions");
    told(x.reshape(&[5]).nonzero(), "reshape", "6 elements do not fill");
}

#[test]
fn compressing_by_a_condition() {
    let x = grid(&[2, 3]);
    let flags = |flags: &[bool]| Array::from_slice(flags, &[flags.len()]);
    assert_eq!(values::<i32>(&x.compress(&flags(&[true, false, true]), 1).unwrap()), [0, 2, 3, 5]);
    assert_eq!(values::<i32>(&x.compress(&ints(&[0, 9]), 0).unwrap()), [3, 4, 5]);
    assert_eq!(values::<i32>(&x.compress(&flags(&[false, true, false, true]), ..).unwrap()), [1, 3]);
    assert_eq!(x.compress(&flags(&[false]), -1).unwrap().shape(), [2, 0]);
    told(x.compress(&flags(&[true; 4]), 1), "compress", "a condition of 4 does not fit 3 items");
    told(x.compress(&x, 1), "compress", "the condition must have one dimension");
}

#[test]
fn membership() {
    assert_eq!(values::<bool>(&ints(&[1, 2, 3]).isin(ints(&[3, 1, 9]))), [true, false, true]);
    assert_eq!(values::<bool>(&ints(&[1, 2, 3]).isin(2.0)), [false, true, false]);
    assert_eq!(values::<bool>(&ints(&[1, 2]).isin(ints(&[]))), [false, false]);
    assert_eq!(values::<bool>(&floats(&[f32::NAN, 1.0]).isin(floats(&[f32::NAN, 1.0]))), [false, true]);
    assert_eq!(grid(&[2, 3]).isin(grid(&[3, 1])).shape(), [2, 3]);
}

#[test]
fn bins() {
    assert_eq!(values::<i64>(&ints(&[1, 3, 1]).bincount(0).unwrap()), [0, 2, 0, 1]);
    assert_eq!(values::<i64>(&ints(&[1]).bincount(4).unwrap()), [0, 1, 0, 0]);
    assert_eq!(values::<i64>(&ints(&[]).bincount(2).unwrap()), [0, 0]);
    assert_eq!(values::<i64>(&Array::from_slice(&[true, false, true], &[3]).bincount(0).unwrap()), [1, 2]);
    let weighted = ints(&[0, 2, 2]).bincount_weighted(&floats(&[0.5, 1.0, 2.0]), 0).unwrap();
    assert_eq!(values::<f32>(&weighted), [0.5, 0.0, 3.0]);
    told(ints(&[1, -2]).bincount(0), "bincount", "found -2");
    told(floats(&[1.0]).bincount(0), "bincount", "integers and as many weights");
    told(Array::from_slice(&[i64::MAX], &[1]).bincount(0), "bincount", "");
}

#[test]
fn interpolation() {
    let (xp, fp) = (floats(&[0.0, 1.0, 1.0, 2.0]), floats(&[10.0, 20.0, 30.0, 40.0]));
    let x = floats(&[-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, f32::NAN]);
    let out = x.interp(&xp, &fp, None, None);
    assert_close(&out, &[10.0, 10.0, 15.0, 30.0, 35.0, 40.0, 40.0, f64::NAN], 0.0);
    assert_close(&x.interp(&xp, &fp, -1.0, -2.0).slice(&Array::scalar(6), 0, &[1]), &[-2.0], 0.0);
    assert_close(&ints(&[0, 5]).interp(&ints(&[3]), &ints(&[7]), None, None), &[7.0, 7.0], 0.0);
    assert_fails(&x.interp(&xp, &ints(&[1]), None, None), "interp", "as many points");
}
