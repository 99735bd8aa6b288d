use half::{bf16, f16};
use oneir_ir::{BinaryOp, UnaryOp};
use oneir_tensor::Values;

use super::*;
use crate::simd::{Level, Work};

struct Each<'a, K>(&'a [f32], K);

trait Function {
    fn at<I: Isa>(&self, x: f32) -> f32;
}

impl<K: Function> Work for Each<'_, K> {
    type Out = Vec<f32>;

    #[inline(always)]
    fn run<I: Isa>(self) -> Vec<f32> {
        self.0.iter().map(|&x| self.1.at::<I>(x)).collect()
    }
}

/// Units in the last place of f32 between a value and the exact one.
fn ulps(found: f32, exact: f64) -> f64 {
    let rounded = exact as f32;
    if found == rounded || (found.is_nan() && exact.is_nan()) {
        return 0.0;
    }
    if !found.is_finite() || !rounded.is_finite() {
        // The largest finite number next to infinity is one unit off.
        return if found.abs().max(rounded.abs()).is_nan() || found.abs().min(rounded.abs()) < f32::MAX {
            f64::INFINITY
        } else {
            1.0
        };
    }
    let unit = (f64::from(f32::from_bits(rounded.abs().to_bits().max(0x0080_0000))) / 8_388_608.0)
        .max(f64::from(f32::from_bits(1)));
    let unit = 2f64.powi((unit.log2()).floor() as i32).max(f64::from(f32::from_bits(1)));
    (f64::from(found) - exact).abs() / unit
}

/// Numbers of every size and sign, and dense ones where functions bend.
fn points() -> Vec<f32> {
    let mut all = vec![
        0.0,
        -0.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        f32::MIN_POSITIVE,
        f32::from_bits(1),
        -f32::from_bits(1),
        f32::MAX,
        f32::MIN,
        1.0,
        -1.0,
    ];
    all.extend((0..u32::MAX / 40_009).map(|i| f32::from_bits(i * 40_009)));
    all.extend((-110_000..110_000).map(|i| i as f32 / 1000.0));
    all.extend((-40_000..40_000).map(|i| i as f32 / 20_011.0));
    all
}

fn check<K: Function + Copy>(function: K, exact: UnaryOp, most: f64, within: impl Fn(f32) -> bool) {
    let x: Vec<f32> = points().into_iter().filter(|&x| within(x)).collect();
    let wide = Values::Float(x.iter().map(|&x| f64::from(x)).collect());
    let want = exact.eval(&wide).unwrap().to_floats();
    for level in Level::available() {
        let found = level.dispatch(Each(&x, function));
        let mut worst = (0.0, 0.0);
        for ((&x, &found), &want) in x.iter().zip(&found).zip(&want) {
            let error = ulps(found, want);
            if error > worst.0 {
                worst = (error, x);
            }
            if want == 0.0 {
                assert_eq!(found.is_sign_negative(), want.is_sign_negative(), "{exact:?}({x})");
            }
        }
        eprintln!("{exact:?} {level:?}: {:.2} units at {}", worst.0, worst.1);
        assert!(worst.0 <= most, "{exact:?} at {level:?}: {} units at {}", worst.0, worst.1);
    }
}

macro_rules! functions {
    ($($test:ident $op:ident $f:ident $most:literal $within:expr;)*) => { $(
        #[test]
        fn $test() {
            #[derive(Clone, Copy)]
            struct F;
            impl Function for F {
                #[inline(always)]
                fn at<I: Isa>(&self, x: f32) -> f32 {
                    $f::<I>(x)
                }
            }
            check(F, UnaryOp::$op, $most, $within);
        }
    )* };
}

functions! {
    exp_is_close Exp exp 2.0 |_| true;
    log_is_close Log log 2.0 |_| true;
    tanh_is_close Tanh tanh 2.0 |_| true;
    sigmoid_is_close Sigmoid sigmoid 2.5 |_| true;
    erf_is_close Erf erf 2.0 |_| true;
    sin_is_close Sin sin 2.0 |x| x.abs() <= CIRCLE_LIMIT;
    cos_is_close Cos cos 2.0 |x| x.abs() <= CIRCLE_LIMIT;
    log2_is_close Log2 log2 0.6 |_| true;
    log10_is_close Log10 log10 0.6 |_| true;
    log1p_is_close Log1p log1p 0.6 |_| true;
    expm1_is_close Expm1 expm1 0.6 |_| true;
    sinh_is_close Sinh sinh 0.6 |_| true;
    cosh_is_close Cosh cosh 0.6 |_| true;
}

#[test]
fn pow_is_close() {
    struct Pow<'a>(&'a [(f32, f32)]);
    impl Work for Pow<'_> {
        type Out = Vec<f32>;

        #[inline(always)]
        fn run<I: Isa>(self) -> Vec<f32> {
            self.0.iter().map(|&(a, b)| pow::<I>(a, b)).collect()
        }
    }
    let bases: Vec<f32> = points().into_iter().step_by(997).collect();
    let special = [0.0, -0.0, 1.0, -1.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-40, -2.0, 0.3];
    let powers = [0.5, -0.5, 2.0, 3.0, -3.0, 1e-3, 17.25, 8_388_609.0, 4_194_304.5, 1e30, -7.0];
    let mut pairs = Vec::new();
    for &a in bases.iter().chain(&special).chain(&powers) {
        for &b in special.iter().chain(&powers) {
            pairs.push((a, b));
        }
    }
    let side = |f: fn(&(f32, f32)) -> f32| Values::Float(pairs.iter().map(|p| f64::from(f(p))).collect());
    let want = BinaryOp::Power.eval(&side(|p| p.0), &side(|p| p.1)).unwrap().to_floats();
    for level in Level::available() {
        for ((&(a, b), found), &want) in pairs.iter().zip(level.dispatch(Pow(&pairs))).zip(&want) {
            assert!(ulps(found, want) <= 0.6, "{a} to the {b} is {want}, found {found}");
        }
    }
}

#[test]
fn halves_convert_as_they_should() {
    for bits in 0..=u16::MAX {
        let (f, b) = (f16::from_bits(bits), bf16::from_bits(bits));
        assert!(f16_to_f32(bits) == f.to_f32() || f.is_nan() && f16_to_f32(bits).is_nan(), "{bits:x}");
        assert!(bf16_to_f32(bits) == b.to_f32() || b.is_nan() && bf16_to_f32(bits).is_nan(), "{bits:x}");
    }
    for x in (0..u32::MAX / 10_007).map(|i| f32::from_bits(i * 10_007)) {
        let (f, b) = (f16::from_f32(x), bf16::from_f32(x));
        assert!(f32_to_f16(x) == f.to_bits() || x.is_nan() && f16::from_bits(f32_to_f16(x)).is_nan(), "{x}");
        assert!(
            f32_to_bf16(x) == b.to_bits() || x.is_nan() && bf16::from_bits(f32_to_bf16(x)).is_nan(),
            "{x}"
        );
    }
    for bits in 0..0x7C00u16 {
        // Between two neighbours, and a little to either side.
        let (a, b) = (f16::from_bits(bits).to_f32(), f16::from_bits(bits + 1).to_f32());
        let middle = if b.is_finite() { (a + b) / 2.0 } else { 65_520.0 };
        for x in [middle, f32::from_bits(middle.to_bits() - 1), f32::from_bits(middle.to_bits() + 1)] {
            assert_eq!(f32_to_f16(x), f16::from_f32(x).to_bits(), "{x:e}");
        }
    }
}
