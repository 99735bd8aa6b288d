use oneir_array::{Array, DType};
use oneir_onnx::Term;

use super::{build, f32s, longs, names, node, refusal, run, run_graph, text, words, x};
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

#[test]
fn places_that_a_sequence_has_not_are_refused() {
    let words = |n: usize| vec![node("", "SequenceConstruct", &["x0"; 3][..n], 1, vec![])];
    let refused = |op: &str, inputs: &[&str], at: i64, n: usize| {
        let mut nodes = if n == 0 { vec![node("", "SequenceEmpty", &[], 1, vec![])] } else { words(n) };
        nodes.push(node("", op, inputs, 1, vec![]));
        nodes.last_mut().unwrap().output = vec!["found".into()];
        let graph = build::graph(&["x0", "at"], nodes, &["found"]);
        let given = [("x0", x(&[1.0], &[1])), ("at", longs(&[at], &[]))];
        run_graph(graph, (17, 1), &given).expect_err("the place is refused").to_string()
    };
    for (op, inputs, at, n, says) in [
        (
            "SequenceAt",
            &["y0", "at"][..],
            3,
            3,
            "input 1 must be a place of a sequence of 3 items, from -3 to 2, found 3",
        ),
        ("SequenceAt", &["y0", "at"], -2, 1, "a sequence of 1 items, from -1 to 0, found -2"),
        ("SequenceAt", &["y0", "at"], 0, 0, "a sequence of 0 items, of which there is none, found 0"),
        ("SequenceErase", &["y0", "at"], i64::MIN, 2, "from -2 to 1, found -9223372036854775808"),
        (
            "SequenceInsert",
            &["y0", "x0", "at"],
            3,
            2,
            "input 2 must be a place of a sequence of 2 items, from -2 to 2, found 3",
        ),
    ] {
        let found = refused(op, inputs, at, n);
        assert!(found.contains(says) && found.contains(op), "{found}");
    }
}

#[test]
fn depths_and_values_of_one_hot_are_said() {
    let one_hot = || node("", "OneHot", &["x0", "x1", "x2"], 1, vec![]);
    let says = |depth: Term, values: Term, part: &str| {
        let found = refusal((17, 1), one_hot(), &[longs(&[1], &[1]), depth, values]);
        assert!(found.contains(part), "{found}");
    };
    let (three, two) = (longs(&[3], &[]), x(&[0.0, 1.0], &[2]));
    let classes = "input 1 (depth) must be a number of classes from 0 to below 4e9, found";
    says(longs(&[-1], &[]), two.clone(), &format!("{classes} -1"));
    says(x(&[f32::NAN], &[1]), two.clone(), &format!("{classes} NaN"));
    let several = "input 1 (depth) must be one number of classes, found 2 numbers of shape [2]";
    says(longs(&[3, 4], &[2]), two, several);
    says(three, x(&[0.0; 3], &[3]), "input 2 (values) must be two numbers, off and on, found the shape [3]");
}
