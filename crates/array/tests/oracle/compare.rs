//! Whether results are those that were recorded.

use oneir_array::{DType, HostTensor};

use crate::case::{Case, Cases, Rule};
use crate::factors;

/// Compares all results of a call.
pub(crate) fn results(
    found: &[HostTensor],
    wanted: &[HostTensor],
    case: &Case,
    cases: &Cases,
) -> Result<(), String> {
    if found.len() != wanted.len() {
        return Err(format!("{} results, expected {}", found.len(), wanted.len()));
    }
    for (found, wanted) in found.iter().zip(wanted) {
        let (one, other) = ((found.dtype(), found.shape()), (wanted.dtype(), wanted.shape()));
        if one != other {
            return Err(format!("{}{:?}, expected {}{:?}", one.0, one.1.to_vec(), other.0, other.1.to_vec()));
        }
    }
    let rule = |t: &HostTensor| cases.compare.get(t.dtype().name()).copied().unwrap_or(Rule::Exact);
    let kind = case.kind.as_ref().unwrap_or(&cases.kind);
    let (name, more) = match kind.as_array() {
        Some(list) => (list[0].as_str(), &list[1..]),
        None => (kind.as_str(), &[][..]),
    };
    let at = |k: usize| more[k].as_i64().unwrap();
    match name {
        Some("values") => {
            for (k, (found, wanted)) in found.iter().zip(wanted).enumerate() {
                values(found, wanted, rule(wanted), case.scale)
                    .map_err(|why| format!("result {k}: {why}"))?;
            }
            Ok(())
        }
        Some("sorted") => {
            values(&factors::sorted(&found[0], at(0)), &factors::sorted(&wanted[0], at(0)), Rule::Exact, 0.0)
        }
        Some("partition") => factors::partition(&found[0], &wanted[0], at(0), at(1)),
        Some("argpartition") => {
            let x = case.seen(0);
            let pick = |t: &HostTensor| factors::picked(&x, t, at(1));
            factors::partition(&pick(&found[0]), &pick(&wanted[0]), at(0), at(1))
        }
        Some(kind @ ("svd" | "eigh" | "eig" | "eigvals" | "qr")) => {
            let Rule::Scale(limit) = rule(&wanted[0]) else { return Err("factors need a scale".into()) };
            factors::factors(kind, &case.seen(0), found, wanted, limit)
        }
        other => Err(format!("no way of comparing {other:?}")),
    }
}

/// Compares two tensors of one dtype and shape.
pub(crate) fn values(found: &HostTensor, wanted: &HostTensor, rule: Rule, scale: f64) -> Result<(), String> {
    if found.bytes() == wanted.bytes() {
        return Ok(());
    }
    let (a, b) = (parts(found), parts(wanted));
    let tell = |k: usize, far: String| {
        let spot = if wanted.dtype() == DType::Complex64 { k / 2 } else { k };
        Err(format!("element {spot}: {far}; found {}, expected {}", around(&a, k), around(&b, k)))
    };
    let alike = |x: &Part, y: &Part| x.bits == y.bits || (x.number.is_nan() && y.number.is_nan());
    let floats = wanted.dtype().is_inexact();
    let largest = b.iter().map(|p| p.number.abs()).filter(|n| n.is_finite()).fold(scale, f64::max);
    for (k, (x, y)) in a.iter().zip(&b).enumerate() {
        if (floats && alike(x, y)) || (!floats && x.bits == y.bits) {
            continue;
        }
        match rule {
            Rule::Ulps(limit) if floats => {
                let far = x.order.abs_diff(y.order);
                if far > u128::from(limit) || x.number.is_nan() || y.number.is_nan() {
                    return tell(k, format!("{far} ulps"));
                }
            }
            Rule::Scale(limit) if floats => {
                let far = (x.number - y.number).abs();
                if x.number != y.number && (far.is_nan() || far > limit * largest) {
                    return tell(k, format!("{:.3e} of the largest", far / largest));
                }
            }
            _ => return tell(k, "other bits".into()),
        }
    }
    Ok(())
}

/// An element, or one of the two numbers of a complex one.
struct Part {
    bits: u64,
    number: f64,
    /// The place among the numbers of the dtype; both zeros are 0.
    order: i128,
}

fn around(parts: &[Part], k: usize) -> String {
    parts.get(k).map_or("nothing".into(), |p| format!("{:?} ({:#x})", p.number, p.bits))
}

fn parts(t: &HostTensor) -> Vec<Part> {
    let complex = t.dtype() == DType::Complex64;
    let size = if complex { 4 } else { t.dtype().size().unwrap() };
    let numbers: Vec<f64> = if complex {
        t.values().unwrap().to_complex().iter().flat_map(|z| [z.re, z.im]).collect()
    } else {
        t.values().unwrap().to_floats()
    };
    let bytes = t.bytes();
    bytes
        .chunks_exact(size)
        .zip(numbers)
        .map(|(raw, number)| {
            let mut wide = [0; 8];
            wide[..size].copy_from_slice(raw);
            let bits = u64::from_le_bytes(wide);
            let sign = 1u64 << (size * 8 - 1);
            let magnitude = i128::from(bits & !sign);
            Part { bits, number, order: if bits & sign == 0 { magnitude } else { -magnitude } }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use oneir_array::{Complex32, bf16, f16};

    /// Each bit of each element flipped, one at a time.
    fn flips(t: &HostTensor) -> impl Iterator<Item = HostTensor> {
        let bytes = t.bytes().into_owned();
        (0..bytes.len() * 8).filter_map(move |bit| {
            let mut bytes = bytes.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            HostTensor::from_bytes(t.dtype(), t.shape(), &bytes).ok()
        })
    }

    #[test]
    fn exact_notices_every_flipped_bit() {
        for t in [
            HostTensor::from_slice(&[3], &[1i8, -128, 0]).unwrap(),
            HostTensor::from_slice(&[2], &[u64::MAX, 1 << 63]).unwrap(),
            HostTensor::from_slice(&[2], &[true, false]).unwrap(),
            HostTensor::from_slice(&[3], &[0f32, 1.5, f32::INFINITY]).unwrap(),
            HostTensor::from_slice(&[2], &[bf16::ONE, -bf16::ZERO]).unwrap(),
            HostTensor::from_slice(&[1], &[Complex32::new(1.0, -2.0)]).unwrap(),
            HostTensor::from_slice(&[1], &[3.25f64]).unwrap(),
        ] {
            assert!(values(&t, &t, Rule::Exact, 0.0).is_ok());
            for wrong in flips(&t) {
                assert!(values(&wrong, &t, Rule::Exact, 0.0).is_err(), "{wrong:?} for {t:?}");
            }
        }
    }

    #[test]
    fn ulps_notice_what_is_further_than_the_limit() {
        let t = HostTensor::from_slice(&[2], &[1.0f32, -3.0]).unwrap();
        for (bit, wrong) in flips(&t).enumerate() {
            // The two lowest bits of each element are at most 2 ulps.
            assert_eq!(values(&wrong, &t, Rule::Ulps(2), 0.0).is_ok(), bit % 32 < 2, "bit {bit}");
        }
        let halves = HostTensor::from_slice(&[1], &[f16::from_f32(0.1)]).unwrap();
        for (bit, wrong) in flips(&halves).enumerate() {
            assert_eq!(values(&wrong, &halves, Rule::Ulps(1), 0.0).is_ok(), bit < 1, "bit {bit}");
        }
        let one = |x: f32| HostTensor::from_slice(&[1], &[x]).unwrap();
        assert!(values(&one(0.0), &one(-0.0), Rule::Ulps(0), 0.0).is_ok());
        assert!(values(&one(f32::NAN), &one(1.0), Rule::Ulps(u64::MAX), 0.0).is_err());
        assert!(values(&one(1.0), &one(f32::NAN), Rule::Ulps(u64::MAX), 0.0).is_err());
        // Beside integers the rule means nothing.
        let ints = HostTensor::from_slice(&[1], &[5i32]).unwrap();
        assert!(flips(&ints).all(|wrong| values(&wrong, &ints, Rule::Ulps(9), 0.0).is_err()));
    }

    #[test]
    fn scale_notices_what_is_further_than_its_part_of_the_largest() {
        let t = HostTensor::from_slice(&[2], &[1e-3f64, 8.0]).unwrap();
        for (bit, wrong) in flips(&t).enumerate() {
            let far = wrong
                .to_vec::<f64>()
                .unwrap()
                .iter()
                .zip(&[1e-3, 8.0])
                .map(|(a, b)| (a - b).abs())
                .sum::<f64>();
            assert_eq!(values(&wrong, &t, Rule::Scale(1e-9), 0.0).is_ok(), far <= 8e-9, "bit {bit}");
        }
        let pair = |im| HostTensor::from_slice(&[1], &[Complex32::new(4.0, im)]).unwrap();
        assert!(values(&pair(1.001), &pair(1.0), Rule::Scale(1e-3), 0.0).is_ok());
        assert!(values(&pair(1.01), &pair(1.0), Rule::Scale(1e-3), 0.0).is_err());
        assert!(values(&pair(f32::NAN), &pair(1.0), Rule::Scale(1e9), 0.0).is_err());
        assert!(values(&pair(f32::INFINITY), &pair(1.0), Rule::Scale(1e9), 0.0).is_err());
    }
}
