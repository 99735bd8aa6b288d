use oneir_array::{Array, DType};
use oneir_onnx::Term;

use super::{f32s, names, node, refusal, run, text, words, x};
use crate::build::int;

#[test]
fn a_remainder_of_zero_has_the_sign_of_the_divisor() {
    let modulo = || node("", "Mod", &["x0", "x1"], 1, vec![]);
    let inputs = [x(&[4.0, -4.0, -7.5, 5.0], &[4]), x(&[-2.0, 2.0, 2.0, f32::NEG_INFINITY], &[4])];
    let found = f32s(&run((28, 1), modulo(), &inputs).unwrap()[0]);
    let bits = |values: &[f32]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&found), bits(&[-0.0, 0.0, 0.5, f32::NEG_INFINITY]));
    assert!(refusal((13, 1), modulo(), &inputs).contains("floats need fmod = 1"));
}

#[test]
fn a_gate_has_the_shape_of_what_it_opens_for() {
    let inputs = [x(&[1.0, 2.0], &[2]), x(&[1.0], &[1])];
    let found = refusal((28, 1), node("", "SwiGLU", &["x0", "x1"], 1, vec![]), &inputs);
    assert!(found.contains("the same shape"), "{found}");
}

#[test]
fn space_to_depth_has_modes_since_28() {
    let input = [x(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &[1, 2, 2, 2])];
    let with = |mode| node("", "SpaceToDepth", &["x0"], 1, vec![int("blocksize", 2), text("mode", mode)]);
    let by_depth = [1.0, 5.0, 2.0, 6.0, 3.0, 7.0, 4.0, 8.0];
    assert_eq!(f32s(&run((13, 1), with("CRD"), &input).unwrap()[0]), by_depth);
    assert_eq!(
        f32s(&run((28, 1), with("CRD"), &input).unwrap()[0]),
        [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    );
    assert!(refusal((28, 1), with("RDC"), &input).contains("found RDC"));
}

#[test]
fn extremes_of_no_truth_values() {
    let empty = [Term::Array(Array::zeros(&[2, 0], DType::Bool))];
    for (op, right) in [("ReduceMax", false), ("ReduceMin", true)] {
        let axes = node("", op, &["x0"], 1, vec![int("keepdims", 0)]);
        let found: Vec<bool> = run((20, 1), axes, &empty).unwrap()[0].array().unwrap().to_vec().unwrap();
        assert_eq!(found, [right], "{op}");
    }
}

#[test]
fn patterns_that_are_not_right_are_refused() {
    let full = |pattern| node("", "RegexFullMatch", &["x0"], 1, vec![text("pattern", pattern)]);
    let found = run((20, 1), full(r"\w+|\d{3}-\d"), &[words(&["abc", "123-4", "a b", ""])]).unwrap();
    assert_eq!(found[0].array().unwrap().to_vec::<bool>().unwrap(), [true, true, false, false]);
    assert!(refusal((20, 1), full("(a"), &[words(&["a"])]).contains(r#"pattern "(a""#));
    // Backward references are not in the syntax.
    assert!(refusal((20, 1), full(r"(a)\1"), &[words(&["a"])]).contains("pattern"));
    assert!(refusal((20, 1), full("a"), &[x(&[1.0], &[1])]).contains("a tensor of strings"));
}

#[test]
fn depths_of_strings_move_too() {
    let mut input = words(&["a", "b", "c", "d"]);
    if let Term::Strings(strings) = &mut input {
        strings.shape = vec![1, 4, 1, 1];
    }
    let found =
        run((13, 1), node("", "DepthToSpace", &["x0"], 1, vec![int("blocksize", 2)]), &[input]).unwrap();
    assert_eq!(names(&found[0]), ["a", "b", "c", "d"]);
    assert_eq!(found[0].shape().unwrap(), [1, 1, 2, 2]);
}
