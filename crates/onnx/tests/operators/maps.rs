use oneir_onnx::proto::NodeProto;
use oneir_onnx::{Keys, Map, Term};

use super::{
    ML, build, f32s, float, floats, i64s, ints, longs, names, node, refusal, run, run_graph, text, texts,
};
use super::{words, x};
use crate::build::int;

fn named(op: &str, inputs: &[&str], output: &str, like: NodeProto) -> NodeProto {
    NodeProto { output: vec![output.into()], ..node(like.domain(), op, inputs, 1, like.attribute.clone()) }
}

#[test]
fn rows_become_maps_and_rows_again() {
    let zip = node(ML, "ZipMap", &[], 1, vec![texts("classlabels_strings", &["a", "b"])]);
    let vocabulary = node(ML, "", &[], 1, vec![texts("string_vocabulary", &["b", "c", "a"])]);
    let nodes = vec![
        named("ZipMap", &["x"], "maps", zip),
        named("SequenceAt", &["maps", "at"], "map", NodeProto::default()),
        named("DictVectorizer", &["map"], "row", vocabulary),
    ];
    let graph = build::graph(&["x", "at"], nodes, &["maps", "row"]);
    let given = [("x", x(&[1.0, 2.0, 3.0, 4.0], &[2, 2])), ("at", longs(&[1], &[]))];
    let found = run_graph(graph, (17, 1), &given).unwrap();
    let Term::Sequence(maps) = &found[0] else { panic!("{found:?}") };
    let Term::Map(first) = &maps[0] else { panic!("{maps:?}") };
    assert_eq!(first.keys, Keys::Strings(vec![b"a".to_vec(), b"b".to_vec()]));
    assert_eq!((maps.len(), f32s(&first.values)), (2, vec![1.0, 2.0]));
    assert_eq!((f32s(&found[1]), found[1].shape().unwrap()), (vec![4.0, 0.0, 3.0], vec![1, 3]));
}

#[test]
fn maps_in_the_order_of_their_keys() {
    let map = |values| Term::Map(Map { keys: Keys::Ints(vec![3, 1]), values: Box::new(values) });
    let cast = |form: &str, to: &str, most| {
        let attributes = vec![text("map_form", form), text("cast_to", to), int("max_map", most)];
        node(ML, "CastMap", &["x0"], 1, attributes)
    };
    let numbers = || map(x(&[0.5, 2.0], &[2]));
    assert_eq!(f32s(&run((17, 1), cast("DENSE", "TO_FLOAT", 1), &[numbers()]).unwrap()[0]), [2.0, 0.5]);
    let sparse = run((17, 1), cast("SPARSE", "TO_INT64", 5), &[map(words(&["7", "9"]))]);
    assert!(sparse.unwrap_err().to_string().contains("a string is not a number"));
    let sparse = run((17, 1), cast("SPARSE", "TO_FLOAT", 5), &[numbers()]).unwrap();
    assert_eq!(f32s(&sparse[0]), [0.0, 2.0, 0.0, 0.5, 0.0]);
    let whole = run((17, 1), cast("DENSE", "TO_INT64", 1), &[map(words(&["7", "9"]))]).unwrap();
    assert_eq!(i64s(&whole[0]), [9, 7]);
    let written = run((17, 1), cast("DENSE", "TO_STRING", 1), &[numbers()]).unwrap();
    assert_eq!(names(&written[0]), ["2", "0.5"]);
    assert!(
        refusal((17, 1), cast("SPARSE", "TO_FLOAT", 2), &[numbers()]).contains("key 3 has no place among 2")
    );
    assert!(refusal((17, 1), cast("DENSE", "TO_FLOAT", 1), &[x(&[1.0], &[1])]).contains("must be a map"));
}

#[test]
fn keys_and_columns_agree() {
    let zip = |attributes| node(ML, "ZipMap", &["x0"], 1, attributes);
    let row = [x(&[1.0, 2.0], &[1, 2])];
    let found = refusal((17, 1), zip(vec![ints("classlabels_int64s", &[1, 2, 3])]), &row);
    assert!(found.contains("2 columns for 3 keys"), "{found}");
    let found = refusal((17, 1), zip(vec![]), &row);
    assert!(found.contains("one of classlabels_strings and classlabels_int64s must be given"), "{found}");
}

#[test]
fn categories_and_codes() {
    let cats = || vec![ints("cats_int64s", &[3, 5]), texts("cats_strings", &["a", "b"])];
    let mapper = || node(ML, "CategoryMapper", &["x0"], 1, cats());
    assert_eq!(i64s(&run((17, 1), mapper(), &[words(&["b", "z"])]).unwrap()[0]), [5, -1]);
    assert_eq!(names(&run((17, 1), mapper(), &[longs(&[3, 4], &[2])]).unwrap()[0]), ["a", "_Unused"]);
    let encoder = |zeros| node(ML, "OneHotEncoder", &["x0"], 1, vec![cats()[1].clone(), int("zeros", zeros)]);
    let found = run((17, 1), encoder(1), &[words(&["b", "z"])]).unwrap();
    assert_eq!((f32s(&found[0]), found[0].shape().unwrap()), (vec![0.0, 1.0, 0.0, 0.0], vec![2, 2]));
    assert!(refusal((17, 1), encoder(0), &[words(&["b", "z"])]).contains(r#""z" is no category"#));
    let numbers = |zeros| node(ML, "OneHotEncoder", &["x0"], 1, vec![cats()[0].clone(), int("zeros", zeros)]);
    assert_eq!(f32s(&run((17, 1), numbers(1), &[x(&[5.7, 4.0], &[2])]).unwrap()[0]), [0.0, 1.0, 0.0, 0.0]);
    assert!(refusal((17, 1), numbers(0), &[longs(&[4], &[1])]).contains("4 is no category"));
    assert!(refusal((17, 1), numbers(1), &[words(&["b"])]).contains("the type of the elements"));
}

#[test]
fn features_replaced_and_joined() {
    let imputer = |by: &[f32], old| {
        node(
            ML,
            "Imputer",
            &["x0"],
            1,
            vec![floats("imputed_value_floats", by), float("replaced_value_float", old)],
        )
    };
    let rows = || [x(&[1.0, f32::NAN, f32::NAN, 4.0], &[2, 2])];
    assert_eq!(
        f32s(&run((17, 1), imputer(&[8.0, 9.0], f32::NAN), &rows()).unwrap()[0]),
        [1.0, 9.0, 8.0, 4.0]
    );
    assert!(
        refusal((17, 1), imputer(&[1.0; 3], 0.0), &rows()).contains("3 imputed values for features [2, 2]")
    );
    let joined = |widths: &[i64]| {
        node(ML, "FeatureVectorizer", &["x0", "x1"], 1, vec![ints("inputdimensions", widths)])
    };
    let inputs = [longs(&[1, 2, 3, 4], &[2, 2]), x(&[0.5, 1.5], &[2, 1])];
    assert_eq!(f32s(&run((17, 1), joined(&[1, 2]), &inputs).unwrap()[0]), [1.0, 0.5, 0.0, 3.0, 1.5, 0.0]);
    assert!(refusal((17, 1), joined(&[1]), &inputs).contains("1 inputdimensions for 2 inputs"));
    let zeros = node(ML, "Normalizer", &["x0"], 1, vec![text("norm", "L2")]);
    assert_eq!(
        f32s(&run((17, 1), zeros, &[x(&[0.0, 0.0, 3.0, 4.0], &[2, 2])]).unwrap()[0]),
        [0.0, 0.0, 0.6, 0.8]
    );
}
