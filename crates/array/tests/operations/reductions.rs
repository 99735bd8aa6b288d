use oneir_array::{Array, Complex32, DType, QuantileMethod, f16};

use crate::{assert_close, assert_fails, floats, grid, ints, values};

#[test]
fn small_integers_are_counted_in_32_bits() {
    let bytes = Array::from_slice(&[200u8, 100], &[2]);
    assert_eq!(bytes.sum(0, false).item::<u32>().unwrap(), 300);
    assert_eq!(bytes.prod(0, false).item::<u32>().unwrap(), 20000);
    assert_eq!(Array::from_slice(&[-100i8, -100], &[2]).sum(.., false).item::<i32>().unwrap(), -200);
    assert_eq!(bytes.max(.., false).dtype(), DType::U8);
    assert_eq!(Array::from_slice(&[true, true], &[2]).sum(.., true).to_vec::<i32>().unwrap(), [2]);
    assert_eq!(Array::from_slice(&[u64::MAX], &[1]).sum(.., false).item::<u64>().unwrap(), u64::MAX);
    let (low, high) = grid(&[2, 3]).minmax(1, false);
    assert_eq!((values::<i32>(&low), values::<i32>(&high)), (vec![0, 3], vec![2, 5]));
    assert_fails(&floats(&[]).minmax(.., false).0, "minmax", "empty axis 0");
}

#[test]
fn variances() {
    let x = floats(&[1.0, 0.0, 3.0, 2.0]);
    assert_close(&x.var(.., false, 0), &[1.25], 0.0);
    assert_close(&x.std(.., false, 1), &[1.290_994_4], 1e-6);
    assert_close(&floats(&[1.0]).var(.., false, 1), &[f64::NAN], 0.0);
    assert_close(&floats(&[1.0, 2.0]).var(.., false, 3), &[f64::INFINITY], 0.0);
    assert_close(&floats(&[]).std(.., false, 0), &[f64::NAN], 0.0);
    let c = Array::from_slice(&[Complex32::new(1.0, 1.0), Complex32::new(2.0, 3.0)], &[2]);
    assert_eq!(c.var(.., false, 0).item::<f32>().unwrap(), 1.25);
    assert_eq!(grid(&[2, 3]).var(0, true, 0).shape(), [1, 3]);
    assert_eq!(values::<f32>(&grid(&[2, 3]).var(-1, false, 0)), [2.0 / 3.0; 2]);
    // In f16 the squares would be infinite.
    let halves = floats(&[-600.0, 600.0, -600.0, 600.0]).astype(DType::F16);
    assert_eq!(halves.std(.., false, 0).item::<f16>().unwrap(), f16::from_f32(600.0));
    // In f16 the mean of many would stop growing.
    let many = Array::full(&[5000], 3, DType::F16);
    assert_eq!(many.var(.., false, 0).item::<f16>().unwrap(), f16::from_f32(0.0));
    assert_fails(&x.var(1, false, 0), "var", "axis 1 is out of range for 1 dimensions");
}

#[test]
fn logarithms_of_sums() {
    let inf = f32::INFINITY;
    assert_close(&floats(&[1.0, 0.0, 3.0, 2.0]).logsumexp(.., false), &[3.440_189_8], 1e-6);
    assert_close(&floats(&[1000.0, 1000.0]).logsumexp(.., true), &[1_000.693_1], 1e-3);
    assert_close(&floats(&[inf, 1.0]).logsumexp(.., false), &[f64::INFINITY], 0.0);
    assert_close(&floats(&[-inf, -inf]).logsumexp(.., false), &[f64::NEG_INFINITY], 0.0);
    assert_close(&floats(&[]).logsumexp(.., false), &[f64::NEG_INFINITY], 0.0);
    assert_close(&floats(&[f32::NAN, 1.0]).logsumexp(.., false), &[f64::NAN], 0.0);
    let c = Array::from_slice(&[Complex32::new(1.0, 1.0), Complex32::new(2.0, 2.0)], &[2]);
    let sum = c.logsumexp(.., false).item::<Complex32>().unwrap();
    assert!((sum - Complex32::new(2.213_57, 1.747_29)).norm() < 1e-5, "{sum}");
}

#[test]
fn counts_and_medians() {
    let x = Array::from_slice(&[0i32, 1, 1, 1], &[2, 2]);
    assert_eq!(values::<i32>(&x.count_nonzero(0, false)), [1, 2]);
    assert_eq!(floats(&[f32::NAN, -0.0]).count_nonzero(.., false).item::<i32>().unwrap(), 1);
    assert_close(&floats(&[5.0, 1.0, 2.0, 8.0]).median(.., false), &[3.5], 0.0);
    assert_close(&floats(&[5.0, f32::NAN, 2.0]).median(.., false), &[f64::NAN], 0.0);
    assert_close(&floats(&[]).median(.., true), &[f64::NAN], 0.0);
    assert_close(&grid(&[2, 3, 2]).median([0, 2], false), &[3.5, 5.5, 7.5], 0.0);
    assert_eq!(grid(&[2, 3, 2]).median([0, 2], true).shape(), [1, 3, 1]);
    assert_eq!(Array::zeros(&[0, 3], DType::F32).median(1, false).shape(), [0]);
    let halves = floats(&[60000.0, 65504.0]).astype(DType::F16);
    assert!(halves.median(.., false).item::<f16>().unwrap().is_finite());
}

#[test]
fn quantiles_by_every_method_of_numpy() {
    use QuantileMethod::*;
    let table: &[(QuantileMethod, [f64; 7], [f64; 7])] = &[
        (InvertedCdf, [1.0, 1.0, 2.0, 4.0, 16.0, 32.0, 32.0], [1.0, 1.0, 2.0, 3.0, 5.0, 9.0, 9.0]),
        (AveragedInvertedCdf, [1.0, 1.0, 2.0, 6.0, 16.0, 32.0, 32.0], [1.0, 1.0, 2.0, 3.0, 5.0, 9.0, 9.0]),
        (ClosestObservation, [1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0], [1.0, 1.0, 2.0, 2.0, 5.0, 5.0, 9.0]),
        (
            InterpolatedInvertedCdf,
            [1.0, 1.0, 1.5, 4.0, 12.0, 22.4, 32.0],
            [1.0, 1.0, 1.5, 2.5, 4.0, 7.0, 9.0],
        ),
        (Hazen, [1.0, 1.1, 2.0, 6.0, 16.0, 30.4, 32.0], [1.0, 1.0, 2.0, 3.0, 5.0, 9.0, 9.0]),
        (Weibull, [1.0, 1.0, 1.75, 6.0, 20.0, 32.0, 32.0], [1.0, 1.0, 1.8, 3.0, 5.8, 9.0, 9.0]),
        (Linear, [1.0, 1.5, 2.5, 6.0, 14.0, 24.0, 32.0], [1.0, 1.4, 2.2, 3.0, 4.6, 7.4, 9.0]),
        (
            MedianUnbiased,
            [1.0, 1.0, 1.916667, 6.0, 17.333333, 32.0, 32.0],
            [1.0, 1.0, 1.933333, 3.0, 5.266667, 9.0, 9.0],
        ),
        (NormalUnbiased, [1.0, 1.0, 1.9375, 6.0, 17.0, 32.0, 32.0], [1.0, 1.0, 1.95, 3.0, 5.2, 9.0, 9.0]),
        (Lower, [1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0], [1.0, 1.0, 2.0, 3.0, 3.0, 5.0, 9.0]),
        (Higher, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 32.0], [1.0, 2.0, 3.0, 3.0, 5.0, 9.0, 9.0]),
        (Midpoint, [1.0, 1.5, 3.0, 6.0, 12.0, 24.0, 32.0], [1.0, 1.5, 2.5, 3.0, 4.0, 7.0, 9.0]),
        (Nearest, [1.0, 1.0, 2.0, 4.0, 16.0, 16.0, 32.0], [1.0, 1.0, 2.0, 3.0, 5.0, 9.0, 9.0]),
    ];
    let six = Array::from_slice(&[4f64, 1.0, 2.0, 8.0, 16.0, 32.0], &[6]);
    let five = Array::from_slice(&[5f64, 1.0, 2.0, 3.0, 9.0], &[5]);
    let shares = |q: [f64; 7]| Array::from_slice(&q, &[7]);
    for (method, of_six, of_five) in table {
        let q = shares([0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0]);
        assert_close(&six.quantile(&q, .., false, *method), of_six, 1e-6);
        let q = shares([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]);
        assert_close(&five.quantile(&q, .., false, *method), of_five, 1e-6);
    }
}

#[test]
fn quantiles_of_edges() {
    let method = QuantileMethod::default();
    let x = grid(&[2, 3]).astype(DType::F32);
    assert_close(&x.quantile(0.5, 0, false, method), &[1.5, 2.5, 3.5], 0.0);
    let q = Array::from_slice(&[0f64, 1.0, 2.0], &[3]);
    let many = x.quantile(&q, 1, true, method);
    assert_eq!(many.shape(), [3, 2, 1]);
    assert_close(&many, &[0.0, 3.0, 2.0, 5.0, f64::NAN, f64::NAN], 0.0);
    assert_close(&floats(&[1.0, f32::NAN]).quantile(0.1, .., false, method), &[f64::NAN], 0.0);
    assert_close(&floats(&[1.0, f32::INFINITY]).quantile(0, .., false, method), &[1.0], 0.0);
    assert_close(&floats(&[]).quantile(0.1, .., false, method), &[f64::NAN], 0.0);
    assert_eq!(ints(&[1, 2]).quantile(0.5, .., false, method).item::<f32>().unwrap(), 1.5);
    assert_fails(&x.quantile(1.5, .., false, method), "quantile", "0 to 1 is needed, found 1.5");
}
