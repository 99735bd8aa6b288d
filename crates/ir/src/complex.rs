//! Inverse trigonometric functions of complex numbers. On a branch cut the sign of
//! a zero part tells the side, as C's Annex G has it; the formulas that keep it are
//! Kahan's, "Branch Cuts for Complex Elementary Functions" (1987).

use num_complex::Complex64;

/// `1 - z` and `1 + z`, where a zero imaginary part keeps the sign that it has then.
fn beside_one(z: Complex64) -> (Complex64, Complex64) {
    (Complex64::new(1.0 - z.re, -z.im), Complex64::new(1.0 + z.re, z.im))
}

/// The real part of `conj(a) · b`.
fn along(a: Complex64, b: Complex64) -> f64 {
    a.re * b.re + a.im * b.im
}

/// The imaginary part of `conj(a) · b`.
fn across(a: Complex64, b: Complex64) -> f64 {
    a.re * b.im - a.im * b.re
}

pub(crate) fn arcsin(z: Complex64) -> Complex64 {
    let (less, more) = beside_one(z);
    let (less, more) = (less.sqrt(), more.sqrt());
    // Re(a · b) is Re(conj(conj(a)) · b).
    Complex64::new(z.re.atan2(along(less.conj(), more)), across(less, more).asinh().copysign(z.im))
}

pub(crate) fn arccos(z: Complex64) -> Complex64 {
    let (less, more) = beside_one(z);
    let (less, more) = (less.sqrt(), more.sqrt());
    Complex64::new(2.0 * less.re.atan2(more.re), across(more, less).asinh().copysign(-z.im))
}

pub(crate) fn arccosh(z: Complex64) -> Complex64 {
    let (less, more) = (Complex64::new(z.re - 1.0, z.im).sqrt(), Complex64::new(z.re + 1.0, z.im).sqrt());
    Complex64::new(along(less, more).asinh(), 2.0 * less.im.atan2(more.re))
}

pub(crate) fn arctanh(z: Complex64) -> Complex64 {
    let (x, y) = (z.re, z.im);
    let apart = (1.0 - x) * (1.0 - x) + y * y;
    let angle = (2.0 * y).atan2((1.0 - x) * (1.0 + x) - y * y);
    Complex64::new((4.0 * x / apart).ln_1p() / 4.0, angle / 2.0)
}

/// `f`, turned by a right angle before and back after.
fn turned(z: Complex64, f: fn(Complex64) -> Complex64) -> Complex64 {
    let w = f(Complex64::new(-z.im, z.re));
    Complex64::new(w.im, -w.re)
}

pub(crate) fn arcsinh(z: Complex64) -> Complex64 {
    turned(z, arcsin)
}

pub(crate) fn arctan(z: Complex64) -> Complex64 {
    turned(z, arctanh)
}

#[cfg(test)]
mod tests {
    use std::f64::consts::{FRAC_PI_2, FRAC_PI_3, LN_2, PI};

    use super::*;

    /// The number whose cosh is 3.
    const COSH_3: f64 = 1.762_747_174_039_086;

    #[test]
    fn zeros_tell_the_side_of_a_cut() {
        let close = |found: Complex64, re: f64, im: f64| {
            let same = |a: f64, b: f64| {
                (a - b).abs() < 1e-12 && (a != 0.0 || a.is_sign_negative() == b.is_sign_negative())
            };
            assert!(same(found.re, re) && same(found.im, im), "{found}, expected {re} {im}");
        };
        let c = Complex64::new;
        // From C's casin, cacos, cacosh, catanh, casinh and catan.
        close(arcsin(c(3.0, 0.0)), FRAC_PI_2, COSH_3);
        close(arcsin(c(3.0, -0.0)), FRAC_PI_2, -COSH_3);
        close(arccos(c(3.0, 0.0)), 0.0, -COSH_3);
        close(arccos(c(-3.0, -0.0)), PI, COSH_3);
        close(arccosh(c(0.5, -0.0)), 0.0, -FRAC_PI_3);
        close(arccosh(c(-3.0, 0.0)), COSH_3, PI);
        close(arctanh(c(3.0, 0.0)), LN_2 / 2.0, FRAC_PI_2);
        close(arctanh(c(3.0, -0.0)), LN_2 / 2.0, -FRAC_PI_2);
        close(arcsinh(c(0.0, 3.0)), COSH_3, FRAC_PI_2);
        close(arctan(c(-0.0, 3.0)), -FRAC_PI_2, LN_2 / 2.0);
        close(arctan(c(1e-20, 0.0)), 1e-20, 0.0);
    }
}
