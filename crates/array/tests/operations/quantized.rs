//! Quantized matrices: how far they may be from what they stand for.

use oneir_array::{Array, DType, Picks, QuantMode, Quantization, random};

use crate::{assert_alike, assert_close, assert_fails, floats, ints, numbers};

fn forms() -> Vec<Quantization> {
    let affine = [2, 3, 4, 5, 6, 8].into_iter().flat_map(|bits| {
        [32, 64, 128].map(|group_size| Quantization { mode: QuantMode::Affine, group_size, bits })
    });
    affine.chain([QuantMode::Mxfp4, QuantMode::Mxfp8, QuantMode::Nvfp4].map(Quantization::new)).collect()
}

fn drawn(shape: &[usize], seed: u64) -> Array {
    random::normal(shape, DType::F32, 0, 1, Some(&random::key(seed)))
}

/// The array through its quantized form.
fn through(x: &Array, form: &Quantization) -> Array {
    let (words, scales, biases) = x.quantize(form);
    words.dequantize(&scales, biases.as_ref(), form, Some(x.dtype()))
}

#[test]
fn the_error_of_an_element_is_bounded_by_its_group() {
    let x = drawn(&[3, 4, 256], 1);
    for form in forms() {
        let groups = [12, -1, form.group_size as isize];
        let error = (through(&x, &form) - &x).abs().reshape(&groups).max(-1, false);
        let grouped = x.reshape(&groups);
        let bound = match form.mode {
            // A step of the codes: one end of the range is hit exactly, which may move the
            // others by up to another half step.
            QuantMode::Affine => {
                (grouped.max(-1, false) - grouped.min(-1, false)) * (1.01 / f64::from((1 << form.bits) - 1))
            }
            // A scale that is a power of two may clip at 3/4 of what is next, and codes of
            // one mantissa bit are a quarter apart from their middle.
            QuantMode::Mxfp4 => grouped.abs().max(-1, false) * 0.26,
            QuantMode::Mxfp8 => grouped.abs().max(-1, false) * 0.13,
            _ => grouped.abs().max(-1, false) * 0.2,
        };
        assert!(error.less_equal(bound).all(.., false).item::<bool>().unwrap(), "{form:?}");
    }
}

#[test]
fn what_codes_hold_comes_back() {
    // Codes 0 to 15 times 1/2, minus 4: a group that 4 bits hold.
    let x = (Array::arange(64, DType::F32) % 16).multiply(0.5) - 4;
    let form = Quantization { mode: QuantMode::Affine, group_size: 64, bits: 4 };
    assert_close(&through(&x.reshape(&[1, 64]), &form), &numbers(&x), 0.0);
    for form in forms() {
        let zeros = Array::zeros(&[2, 128], DType::F32);
        assert_close(&through(&zeros, &form), &[0.0; 256], 0.0);
        // The second time nothing changes for scales that are powers of two.
        if matches!(form.mode, QuantMode::Mxfp4 | QuantMode::Mxfp8) {
            let once = through(&drawn(&[2, 128], 2), &form);
            assert_alike(&through(&once, &form), &once, 0.0);
        }
        assert_eq!(through(&Array::zeros(&[0, 128], DType::F16), &form).shape(), [0, 128]);
    }
}

#[test]
fn products_are_those_of_what_the_codes_stand_for() {
    let (x, w) = (drawn(&[2, 3, 128], 3), drawn(&[16, 128], 4));
    for form in forms() {
        let (words, scales, biases) = w.quantize(&form);
        let plain = words.dequantize(&scales, biases.as_ref(), &form, Some(DType::F32));
        let product = x.quantized_matmul(&words, &scales, biases.as_ref(), true, &form);
        assert_alike(&product, &x.matmul(&plain.t()), 1e-4);
        let (words, scales, biases) = drawn(&[128, 128], 5).quantize(&form);
        let plain = words.dequantize(&scales, biases.as_ref(), &form, Some(DType::F32));
        let product = x.quantized_matmul(&words, &scales, biases.as_ref(), false, &form);
        assert_alike(&product, &x.matmul(&plain), 1e-4);
    }
}

#[test]
fn a_batch_is_its_matrices() {
    for form in forms() {
        let (x, w) = (drawn(&[3, 2, 128], 6), drawn(&[3, 8, 128], 7));
        let (words, scales, biases) = w.quantize(&form);
        let whole = x.quantized_matmul(&words, &scales, biases.as_ref(), true, &form);
        let pick = |i: i32| {
            let at = ints(&[i]);
            let one = Picks { lhs: Some(&at), rhs: Some(&at), ..Picks::default() };
            x.gather_qmm(&words, &scales, biases.as_ref(), one, true, &form)
        };
        for i in 0..3 {
            let part = |a: &Array| a.index(i as isize);
            let (one, biases) = (part(&x), biases.as_ref().map(part));
            let alone = one.quantized_matmul(&part(&words), &part(&scales), biases.as_ref(), true, &form);
            assert_alike(&part(&whole), &alone, 1e-5);
            assert_alike(&pick(i).squeeze(0), &alone, 1e-5);
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let form = Quantization::new(QuantMode::Affine);
    let with = |group_size, bits| Quantization { mode: QuantMode::Affine, group_size, bits };
    let x = drawn(&[2, 128], 8);
    let told =
        |a: &Array, form: &Quantization, what: &str| assert_fails(&a.quantize(form).0, "quantize", what);
    told(&x, &with(64, 7), "bits = 7 is not valid: 1 to 6 or 8");
    told(&x, &with(48, 4), "group_size = 48 is not valid: 32, 64 or 128");
    told(&drawn(&[2, 100], 9), &form, "group_size = 64 is not valid: a divisor of the last size");
    told(&x.astype(DType::F64), &form, "dtype = f64 is not valid: f16, bf16 or f32");
    told(&Array::scalar(1f32), &form, "at least 1 dimensions");
    let (words, scales, biases) = x.quantize(&form);
    let biases = biases.as_ref();
    assert_fails(&words.dequantize(&scales, None, &form, None), "dequantize", "the affine mode needs biases");
    let mx = Quantization::new(QuantMode::Mxfp8);
    assert_fails(&words.dequantize(&scales, biases, &mx, None), "dequantize", "has no biases");
    assert_fails(
        &words.dequantize(&scales.narrow(1, 0, 1), biases, &form, None),
        "dequantize",
        "the words must have shape [2, 8], found [2, 16]",
    );
    let y = drawn(&[3, 64], 10);
    assert_fails(
        &y.quantized_matmul(&words, &scales, biases, true, &form),
        "quantized_matmul",
        "inner dimensions differ: [3, 64] by [2, 128]",
    );
    assert_fails(&floats(&[1.0; 64]).qqmm(&x, None, &form), "qqmm", "nvfp4 or mxfp8 is needed");
}
