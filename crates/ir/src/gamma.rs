//! Derivatives of the logarithm of the gamma function.

use std::f64::consts::PI;

/// From here on the series in 1 / x² is exact to the last digits.
const FAR: f64 = 12.0;

/// Steps of 1 that bring any positive number as far.
pub(crate) const STEPS: usize = 12;

/// The coefficients of the series of ψ': Bernoulli numbers.
pub(crate) const TRIGAMMA: [f64; 7] =
    [1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0, 7.0 / 6.0];

/// ψ(x), the derivative of ln |Γ(x)|. At 0 and the negative integers it has poles,
/// which are no number.
pub(crate) fn digamma(x: f64) -> f64 {
    if x <= 0.0 {
        // ψ(x) = ψ(1 - x) - π / tan(πx); the angle's whole turns drop out first.
        return if x == x.floor() { f64::NAN } else { digamma(1.0 - x) - PI / (PI * (x - x.round())).tan() };
    }
    // ψ(x) = ψ(x + 1) - 1 / x, until x is far enough.
    let (mut x, mut sum) = (x, 0.0);
    while x < FAR {
        sum -= 1.0 / x;
        x += 1.0;
    }
    // Bernoulli numbers over 2k.
    const TERMS: [f64; 7] =
        [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0];
    let square = 1.0 / (x * x);
    let series = TERMS.iter().rev().fold(0.0, |rest, term| (rest + term) * square);
    sum + x.ln() - 0.5 / x - series
}

/// ψ'(x), infinite at 0 and the negative integers.
pub(crate) fn trigamma(x: f64) -> f64 {
    if x <= 0.0 {
        // ψ'(x) = (π / sin πx)² - ψ'(1 - x).
        if x == x.floor() {
            return f64::INFINITY;
        }
        let part = PI / (PI * (x - x.round())).sin();
        return part * part - trigamma(1.0 - x);
    }
    let (mut x, mut sum) = (x, 0.0);
    while x < FAR {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    let series = TRIGAMMA.iter().rev().fold(0.0, |rest, term| (rest + term) * square);
    sum + 1.0 / x + 0.5 * square + series / x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let near = |a: f64, b: f64| assert!((a - b).abs() <= 4e-15 * b.abs().max(1.0), "{a} is not {b}");
        const EULER: f64 = 0.577_215_664_901_532_9;
        near(digamma(1.0), -EULER);
        near(digamma(0.5), -EULER - 2.0 * std::f64::consts::LN_2);
        near(digamma(10.0), 2.251_752_589_066_721);
        near(digamma(-0.5), 2.0 - EULER - 2.0 * std::f64::consts::LN_2);
        near(digamma(1e9), 20.723_265_836_446_41);
        near(trigamma(1.0), PI * PI / 6.0);
        near(trigamma(0.5), PI * PI / 2.0);
        near(trigamma(-0.5), PI * PI / 2.0 + 4.0);
        near(trigamma(20.0), 0.051_270_822_935_203_12);
        assert!(digamma(-3.0).is_nan() && digamma(0.0).is_nan() && trigamma(-3.0) == f64::INFINITY);
        assert_eq!((digamma(f64::INFINITY), trigamma(f64::INFINITY)), (f64::INFINITY, 0.0));
        assert!(digamma(f64::NAN).is_nan() && digamma(f64::NEG_INFINITY).is_nan());
    }
}
