use oneir_array::{Array, Complex32, DType, f16, ops};

use crate::{assert_close, assert_fails, floats, ints, numbers, values};

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

#[test]
fn angles_convert_and_round_once() {
    let x = floats(&[0.0, 1.0, -2.0]);
    assert_close(&x.degrees(), &[0.0, 57.29578, -114.59156], 1e-5);
    assert_close(&x.degrees().radians(), &[0.0, 1.0, -2.0], 1e-6);
    let halves = Array::ones(&[1], DType::F16).degrees();
    assert_eq!((halves.dtype(), halves.item::<f16>().unwrap()), (DType::F16, f16::from_f32(57.295_78)));
    assert_eq!(ints(&[180]).radians().dtype(), DType::F32);
}

#[test]
fn infinities_and_nan_are_told_apart() {
    let x = floats(&[1.0, NAN, INF, -INF]);
    assert_eq!(values::<bool>(&x.isfinite()), [true, false, false, false]);
    assert_eq!(values::<bool>(&x.isposinf()), [false, false, true, false]);
    assert_eq!(values::<bool>(&x.isneginf()), [false, false, false, true]);
    assert_eq!(values::<bool>(&ints(&[1, 2]).isfinite()), [true, true]);
    assert_eq!(values::<bool>(&ints(&[1, 2]).isposinf()), [false, false]);
    let c = Array::from_slice(&[Complex32::new(1.0, INF), Complex32::new(NAN, 0.0)], &[2]);
    assert_eq!(values::<bool>(&c.isfinite()), [false, false]);
    assert_eq!(values::<f32>(&x.nan_to_num(0.5, None, -1.0)), [1.0, 0.5, f32::MAX, -1.0]);
    assert_close(&x.astype(DType::F16).nan_to_num(0.0, None, None), &[1.0, 0.0, 65504.0, -65504.0], 0.0);
    let c = c.nan_to_num(7.0, 9.0, None);
    assert_eq!(values::<Complex32>(&c), [Complex32::new(1.0, 9.0), Complex32::new(7.0, 0.0)]);
    assert_eq!(values::<i32>(&ints(&[3]).nan_to_num(0.0, None, None)), [3]);
}

#[test]
fn rounding_to_decimals_and_digits() {
    assert_eq!(values::<f32>(&floats(&[0.5, 1.5, -2.5]).round(0)), [0.0, 2.0, -2.0]);
    assert_eq!(values::<f32>(&floats(&[1.25, 0.125, 3e38, INF]).round(2)), [1.25, 0.12, 3e38, INF]);
    assert_eq!(values::<f32>(&floats(&[1234.0, -1250.0]).round(-2)), [1200.0, -1200.0]);
    assert_eq!(values::<f32>(&floats(&[1.5]).round(300)), [1.5]);
    assert_eq!(values::<f32>(&floats(&[1.5]).round(-300)), [0.0]);
    assert_eq!(values::<i32>(&ints(&[15, 25, -15, -25, 35]).round(-1)), [20, 20, -20, -20, 40]);
    assert_eq!(values::<i32>(&ints(&[15]).round(3)), [15]);
    assert_eq!(values::<u8>(&Array::from_slice(&[250u8, 149, 150], &[3]).round(-2)), [200, 100, 200]);
    assert_eq!(values::<u8>(&Array::from_slice(&[250u8], &[1]).round(-3)), [0]);
    assert_eq!(values::<i64>(&Array::from_slice(&[i64::MIN], &[1]).round(-19)), [0]);
    let c = Array::scalar(Complex32::new(0.125, 2.5)).round(2);
    assert_eq!(c.item::<Complex32>().unwrap(), Complex32::new(0.12, 2.5));
}

#[test]
fn limits_may_be_arrays_numbers_or_none() {
    let x = floats(&[-1.0, 0.5, NAN, 7.0]);
    assert_close(&x.clip(0, 1), &[0.0, 0.5, f64::NAN, 1.0], 0.0);
    assert_close(&x.clip(.., 1.0), &[-1.0, 0.5, f64::NAN, 1.0], 0.0);
    assert_close(&x.clip(Some(0), None::<f32>), &[0.0, 0.5, f64::NAN, 7.0], 0.0);
    let low = Array::from_slice(&[2f32, 3.0], &[2, 1]);
    assert_eq!(x.clip(&low, ..).shape(), [2, 4]);
    assert_eq!(ints(&[1, 2]).clip(0.5, ..).dtype(), DType::F32);
    assert_fails(&Array::from_slice(&[1u8], &[1]).clip(-1, ..), "clip", "-1 does not fit u8");
    assert_fails(&x.clip(floats(&[0.0; 3]), ..), "clip", "[4] and [3] do not broadcast");
}

#[test]
fn quotients_and_remainders() {
    let (q, r) = ints(&[-7, 7, 1]).divmod(ints(&[2, -2, 0]));
    assert_eq!((values::<i32>(&q), values::<i32>(&r)), (vec![-4, -4, 0], vec![1, -1, 0]));
    let (q, r) = ops::divmod(floats(&[-7.0, 5.5]), 2);
    assert_eq!((values::<f32>(&q), values::<f32>(&r)), (vec![-4.0, 2.0], vec![1.0, 1.5]));
    let c = Array::scalar(Complex32::new(1.0, 0.0));
    assert_fails(&c.divmod(&c).1, "divmod", "not defined for complex64");
    let (t, f) = (Array::scalar(true), Array::scalar(false));
    assert!(t.floor_divide(&t).item::<bool>().unwrap() && !t.remainder(&f).item::<bool>().unwrap());
}

#[test]
fn closeness_and_equality() {
    let a = floats(&[1.0, INF, -INF, NAN, 1.0]);
    let b = floats(&[1.000_009, INF, INF, NAN, 2.0]);
    assert_eq!(values::<bool>(&a.isclose(&b, 1e-5, 1e-8, false)), [true, true, false, false, false]);
    assert_eq!(values::<bool>(&a.isclose(&b, 1e-5, 1e-8, true)), [true, true, false, true, false]);
    assert_eq!(values::<bool>(&floats(&[1.0, 5.0]).isclose(floats(&[INF, NAN]), 1e9, 0.0, true)), [false; 2]);
    assert!(a.allclose(&a, 1e-5, 1e-8, true).item::<bool>().unwrap());
    assert!(!a.allclose(&a, 1e-5, 1e-8, false).item::<bool>().unwrap());
    assert!(ints(&[1, 2]).array_equal(floats(&[1.0, 2.0]), false).item::<bool>().unwrap());
    assert!(!ints(&[1]).array_equal(ints(&[1, 1]), false).item::<bool>().unwrap());
    assert!(a.array_equal(&a, true).item::<bool>().unwrap());
    assert!(ints(&[]).array_equal(ints(&[]), false).item::<bool>().unwrap());
    assert_fails(&a.isclose(&b, -1.0, 0.0, false), "isclose", "tolerances of 0 or more");
}

#[test]
fn truth_values_and_complex_numbers_compute_as_mlx_has_them() {
    let flags = |a: &[bool]| Array::from_slice(a, &[a.len()]);
    let (a, b) = (flags(&[true, true, false]), flags(&[true, false, true]));
    assert_eq!(values::<bool>(&a.subtract(&b)), [false, true, true]);
    assert_eq!(values::<bool>(&a.sign()), [true, true, false]);
    assert_eq!(values::<bool>(&a.square()), [true, true, false]);
    assert_eq!(values::<bool>(&a.logical_xor(&b)), [false, true, true]);
    assert_eq!(values::<bool>(&ops::logical_xor(2, ints(&[0, 5]))), [true, false]);
    assert_eq!(values::<u8>(&a.left_shift(&b)), [2, 1, 0]);
    assert_eq!(values::<i32>(&ops::bitwise_left_shift(ints(&[1, -8]), 40)), [0, 0]);
    assert_eq!(values::<i32>(&ops::bitwise_right_shift(ints(&[8, -8]), 40)), [0, -1]);
    assert_eq!(values::<i32>(&ops::conj(&ints(&[3]))), [3]);
    assert_eq!(values::<i32>(&ints(&[3]).imag()), [0]);
    let c = Complex32::new;
    let x = Array::from_slice(&[c(1.0, 2.0), c(1.0, 0.0), c(0.0, 0.0)], &[3]);
    let y = Array::from_slice(&[c(1.0, 3.0), c(0.0, 9.0), c(0.0, 0.0)], &[3]);
    assert_eq!(values::<bool>(&x.less(&y)), [true, false, false]);
    assert_eq!(values::<bool>(&x.greater_equal(&y)), [false, true, true]);
    assert_eq!(values::<bool>(&x.logical_and(&y)), [true, true, false]);
    let both = x.logaddexp(&y).to_vec::<Complex32>().unwrap()[0];
    assert!((both - c(1.562_56, 2.5)).norm() < 1e-5, "{both}");
    assert_eq!(numbers(&ops::pow(ints(&[2, 3]), 2)), [4.0, 9.0]);
}

/// Numbers beside the middle of two of a narrower dtype: so little beside it that a
/// wider float between the two would forget the side.
#[test]
fn conversions_round_once() {
    let f = |x: f64| Array::scalar(x);
    let above = 1.0 + 2f64.powi(-11) + 2f64.powi(-50);
    assert_close(&f(above).astype(DType::F16), &[1.0 + 2f64.powi(-10)], 0.0);
    assert_close(&f(-above).astype(DType::F16), &[-1.0 - 2f64.powi(-10)], 0.0);
    let above = 1.0 + 2f64.powi(-8) + 2f64.powi(-40);
    assert_close(&f(above).astype(DType::BF16), &[1.0 + 2f64.powi(-7)], 0.0);
    // In the middle itself, to the even one.
    assert_close(&f(1.0 + 2f64.powi(-8)).astype(DType::BF16), &[1.0], 0.0);
    let (two, exact) = (|n: i32| 2f64.powi(n), |n: u32| 1u64 << n);
    let (i, u) = (exact(60) + exact(36) + 1, exact(63) + exact(39) + 1);
    assert_close(&Array::scalar(i as i64).astype(DType::F32), &[two(60) + two(37)], 0.0);
    assert_close(&Array::scalar(-(i as i64)).astype(DType::F32), &[-two(60) - two(37)], 0.0);
    assert_close(&Array::scalar(u).astype(DType::F32), &[two(63) + two(40)], 0.0);
    assert_close(&(Array::ones(&[1], DType::F32) * i), &[two(60) + two(37)], 0.0);
    let z = Array::scalar(i as i64).astype(DType::Complex64);
    assert_eq!(z.item::<Complex32>().unwrap(), Complex32::new((two(60) + two(37)) as f32, 0.0));
    for (low, middle) in [(24, 16), (30, 22)] {
        let x = (exact(low) + exact(middle) + 1) as i32;
        let wanted = two(low as i32) + two(middle as i32 + 1);
        assert_close(&Array::scalar(x).astype(DType::BF16), &[wanted], 0.0);
        assert_close(&Array::scalar(-x).astype(DType::BF16), &[-wanted], 0.0);
        assert_close(&Array::scalar(x as u32).astype(DType::BF16), &[wanted], 0.0);
    }
    let wanted = two(60) + two(53);
    assert_close(&Array::scalar((exact(60) + exact(52) + 1) as i64).astype(DType::BF16), &[wanted], 0.0);
    assert_close(&Array::scalar(exact(60) + exact(52) + 1).astype(DType::BF16), &[wanted], 0.0);
    // Above the middle of what f16 holds last and infinity, and of its numbers.
    assert_close(&Array::scalar(65519u32).astype(DType::F16), &[65504.0], 0.0);
    assert_close(&Array::scalar(65520i64).astype(DType::F16), &[f64::INFINITY], 0.0);
    // The same through a line that kernels take by vectors.
    let long = Array::full(&[37], 1.0 + 2f64.powi(-8) + 2f64.powi(-40), DType::F64);
    assert_close(&(long * 1.0).astype(DType::BF16), &[1.0 + 2f64.powi(-7); 37], 0.0);
}

#[test]
fn numbers_stand_on_either_side() {
    let x = ints(&[2, -3]);
    let (quotient, rest) = ops::divmod(7, &x);
    assert_eq!((values::<i32>(&quotient), values::<i32>(&rest)), (vec![3, -3], vec![1, -2]));
    let halves = Array::full(&[2], 0.5, DType::F16);
    assert_eq!(ops::divmod(1.75, &halves).1.dtype(), DType::F16);
    assert_close(&ops::divmod(1.75, &halves).0, &[3.0, 3.0], 0.0);
    assert_fails(&ops::divmod(300, Array::ones(&[1], DType::U8)).0, "divmod", "300 does not fit u8");
    // The tolerance is relative to the second operand.
    let y = floats(&[1.0, 1.11]);
    assert_eq!(values::<bool>(&ops::isclose(1.0, &y, 0.1, 0.0, false)), [true, true]);
    assert_eq!(values::<bool>(&ops::isclose(&y, 1.0, 0.1, 0.0, false)), [true, false]);
    assert!(ops::allclose(1, &y, 0.1, 0.0, false).item::<bool>().unwrap());
    assert!(ops::array_equal(3, Array::scalar(3f32), false).item::<bool>().unwrap());
    assert!(ops::array_equal(3, 3.0, false).item::<bool>().unwrap());
    assert!(!ops::array_equal(3, &x, false).item::<bool>().unwrap());
    // An integer that i32 does not hold is an i64.
    assert_eq!(ops::add(1i64 << 40, 1).item::<i64>().unwrap(), (1 << 40) + 1);
    assert_eq!(values::<i32>(&ops::where_(true, &x, 0)), [2, -3]);
    assert_eq!(ops::where_(0, 1, 2.5).item::<f32>().unwrap(), 2.5);
    let failed = x.reshape(&[3]);
    assert_fails(&ops::divmod(1, &failed).0, "reshape", "2 elements");
    assert_fails(&ops::where_(&failed, 1, 2), "reshape", "2 elements");
}
