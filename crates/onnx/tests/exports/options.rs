//! Names, batches, and weights in files of their own.

use oneir_array::{Array, Traced};
use oneir_ir::Spec;
use oneir_onnx::{ExportError, ExportOptions, Exported, Model, export};
use oneir_tensor::DType;

use crate::{imported, noise};

fn argument(shape: &[usize]) -> Array {
    Traced::argument(Spec::new(DType::F32, shape))
}

fn of(arguments: &[Array], outputs: &[Array], options: &ExportOptions) -> Result<Exported, ExportError> {
    export(&Traced::new(arguments, outputs).unwrap(), options)
}

/// A function of one array.
type Made = fn(&Array) -> Array;

/// The batch's name, where a function of `x[3, 4]` is exported with one.
fn batch(f: impl FnOnce(&Array) -> Array) -> Option<String> {
    let x = argument(&[3, 4]);
    let y = f(&x);
    of(&[x], &[y], &ExportOptions::new().batch("N")).unwrap().batch().map(str::to_owned)
}

#[test]
fn sizes_are_free_only_where_items_are_treated_on_their_own() {
    let eye = || Array::from_host(noise(&[3, 4], 1));
    let free: [(&str, Made); 13] = [
        ("a function of each element", |x| x.exp() * 2.0),
        ("a row for all", |x| x + Array::from_host(noise(&[4], 1))),
        ("a sum within an item", |x| x.sum([1], false)),
        ("a product with a matrix", |x| x.matmul(&Array::from_host(noise(&[4, 5], 1)))),
        ("a part of each item", |x| x.narrow(1, 1, 2)),
        ("an axis in front", |x| x.expand_dims([0])),
        ("turned around", |x| x.t().exp().t()),
        ("one row", |x| x.reshape(&[12])),
        ("split", |x| x.reshape(&[3, 2, 2])),
        ("sorted within an item", |x| x.sort([1])),
        ("joined within an item", |x| Array::concatenate(&[x.clone(), x.exp()], 1)),
        ("padded within an item", |x| x.pad_with(&[(0, 0), (1, 2)], &Array::full(&[], 0.0, DType::F32))),
        ("compared", |x| x.greater(Array::full(&[], 0.0, DType::F32)).where_(x, x.negative())),
    ];
    for (what, f) in free {
        assert_eq!(batch(f).as_deref(), Some("N"), "{what}");
    }
    let fixed: [(&str, Made); 8] = [
        ("a sum over items", |x| x.sum([0], false)),
        ("a mean over items", |x| x - x.mean([0], true)),
        ("some of the items", |x| x.narrow(0, 0, 2)),
        ("items joined", |x| Array::concatenate(&[x.clone(), x.clone()], 0)),
        ("items torn apart", |x| x.reshape(&[2, 6])),
        ("items multiplied with each other", |x| x.matmul(&x.t())),
        ("sorted over items", |x| x.sort([0])),
        ("running sums over items", |x| x.cumsum([0], false, true)),
    ];
    for (what, f) in fixed {
        assert_eq!(batch(f), None, "{what}");
    }
    assert_eq!(batch(|x| x + eye()), None, "a number for each item");
    assert_eq!(batch(|x| x + Array::arange(3, DType::F32).expand_dims([1])), None, "the item's place");

    let one = argument(&[1, 4]);
    let error = of(std::slice::from_ref(&one), &[one.exp()], &ExportOptions::new().batch("N")).unwrap_err();
    assert!(error.to_string().contains("at least two items, found 1"), "{error}");
    let scalar = argument(&[]);
    let error =
        of(std::slice::from_ref(&scalar), &[scalar.exp()], &ExportOptions::new().batch("N")).unwrap_err();
    assert!(error.to_string().contains("has an axis"), "{error}");
}

#[test]
fn free_sizes_give_what_fixed_ones_give() {
    let function = |n: usize| {
        let (x, y) = (argument(&[n, 4]), argument(&[n, 1]));
        let z = (x.reshape(&[n as isize, 2, 2]) + y.expand_dims([2])).transpose([2, 0, 1]);
        let z = z.max([2], true).broadcast_to(&[2, n, 3]).transpose([1, 2, 0]);
        (vec![x, y], z.flatten(1, -1))
    };
    let (arguments, z) = function(3);
    let free = of(&arguments, &[z], &ExportOptions::new().batch("N")).unwrap();
    assert_eq!(free.batch(), Some("N"));
    for n in [1, 2, 5] {
        let (arguments, z) = function(n);
        let fixed = of(&arguments, &[z], &ExportOptions::new()).unwrap();
        let inputs = [noise(&[n, 4], 1), noise(&[n, 1], 2)];
        assert_eq!(imported(&free, &inputs).unwrap(), imported(&fixed, &inputs).unwrap());
    }
}

#[test]
fn names_are_those_that_were_asked_for() {
    let weight = Array::from_host(noise(&[4, 2], 3)).exp();
    weight.eval().unwrap();
    // One that was computed, and one that was given.
    let given = Array::from_host(noise(&[2], 3));
    let x = argument(&[2, 4]);
    let y = x.matmul(&weight) + &given;
    let outputs = [y.exp(), y.clone(), x.clone(), y.exp(), weight.clone()];
    // Names that values inside have already.
    let names = ["exp_1", "matmul_1", "gemm_1", "constant_1", "w again"];
    let options = ExportOptions::new()
        .graph("g")
        .inputs(&["identity_1"])
        .outputs(&names)
        .weight(&weight, "w")
        .weight(&given, "b");
    let exported = of(&[x], &outputs, &options).unwrap();
    let file = oneir_onnx::OnnxFile::from_bytes(exported.to_bytes().unwrap(), None).unwrap();
    assert_eq!(file.graph.name, "g");
    assert_eq!(file.graph.inputs[0].name, "identity_1");
    let found: Vec<&str> = file.graph.outputs.iter().map(|o| o.name.as_str()).collect();
    assert_eq!(found, names);
    for wanted in ["w", "b"] {
        assert!(file.graph.initializers.iter().any(|(name, _)| &**name == wanted), "{wanted}");
    }
    let model = Model::new(file).unwrap();
    let results = model.call(&[("identity_1", Array::from_host(noise(&[2, 4], 1)))]).unwrap();
    assert_eq!(results.len(), 5);
}

#[test]
fn options_that_do_not_fit_are_refused() {
    let refused = |options: ExportOptions, why: &str| {
        let x = argument(&[2, 4]);
        let error = of(std::slice::from_ref(&x), &[x.exp()], &options).unwrap_err();
        assert!(matches!(error, ExportError::Options(_)));
        assert!(error.to_string().contains(why), "{error}");
    };
    refused(ExportOptions::new().inputs(&["a", "b"]), "2 names for 1 inputs");
    refused(ExportOptions::new().outputs(&[]), "0 names for 1 outputs");
    refused(ExportOptions::new().inputs(&[""]), "`` of an input is empty or taken");
    refused(ExportOptions::new().inputs(&["x"]).outputs(&["x"]), "`x` of an output is empty or taken");
}

#[test]
fn refusals_name_the_primitive_and_its_line() {
    let x = argument(&[2, 4]);
    let y = x.lgamma();
    let error = of(&[x], &[y], &ExportOptions::new()).unwrap_err().to_string();
    assert!(
        error.contains("`unary`") && error.contains("options.rs:") && error.contains("`lgamma`"),
        "{error}"
    );
}

#[test]
fn large_weights_go_to_a_file_beside_the_model() {
    let folder = std::env::temp_dir().join(format!("oneir-export-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("model.onnx");
    let weights = [noise(&[64, 32], 1), noise(&[32, 64], 2)].map(|w| Array::from_host(w).exp());
    oneir_array::eval(&weights).unwrap();
    let x = argument(&[2, 64]);
    let y = x.matmul(&weights[0]).tanh().matmul(&weights[1]) + 0.5;
    let exported = of(&[x], &[y], &ExportOptions::new()).unwrap();
    let input = Array::from_host(noise(&[2, 64], 3));
    let run = || {
        let outputs = Model::open(&path).unwrap().call(&[("input_0", input.clone())]).unwrap();
        outputs[0].1.array().unwrap().to_vec::<f32>().unwrap()
    };
    exported.save(&path).unwrap();
    let inside = run();
    let size = std::fs::metadata(&path).unwrap().len();
    assert!(size > 16384);
    exported.save_with(&path, 1000).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < 2000);
    assert_eq!(std::fs::metadata(folder.join("model.onnx.data")).unwrap().len(), 16384);
    assert_eq!(run(), inside);
    // The folder may move: the path is relative.
    let moved = folder.with_extension("moved");
    std::fs::rename(&folder, &moved).unwrap();
    let outputs = Model::open(moved.join("model.onnx")).unwrap().call(&[("input_0", input.clone())]).unwrap();
    assert_eq!(outputs[0].1.array().unwrap().to_vec::<f32>().unwrap(), inside);
    assert!(exported.save(folder.join("no such folder/model.onnx")).is_err());
    std::fs::remove_dir_all(&moved).unwrap();
}
