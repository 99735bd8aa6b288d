//! Traced functions come back from files as they were, elsewhere too, and bad
//! files are refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use oneir_array::{Array, ArrayError, DType, HostTensor, Traced, random};
use oneir_cpu as _;
use oneir_io::safetensors;
use oneir_ir::graph::{Body, Fill, TensorGraph};
use oneir_ir::primitive::{Expected, HostFunction, KernelCall};
use oneir_ir::{Cut, Primitive, Real, Spec, Value};
use oneir_testkit::{Random, devices};

/// A folder of this test's own, removed when it ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("oneir-saved-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self) -> PathBuf {
        self.0.join("function.safetensors")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = std::fs::remove_dir_all(&self.0);
    }
}

fn again(function: &Traced, folder: &Folder) -> Traced {
    function.save(folder.file()).unwrap();
    let loaded = Traced::load(folder.file()).unwrap();
    assert_eq!(loaded.graph(), function.graph());
    let places = |f: &Traced| f.places().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(places(&loaded), places(function));
    loaded
}

fn bytes(results: &[Array]) -> Vec<Vec<u8>> {
    results.iter().map(|x| x.to_host().unwrap().bytes().into_owned()).collect()
}

/// What both give on every device.
fn same(function: &Traced, loaded: &Traced, inputs: &[HostTensor]) {
    for device in devices().unwrap() {
        let inputs: Vec<Array> = inputs.iter().cloned().map(Array::from_host).collect();
        let expected = function.call(&device, &inputs).unwrap();
        for _ in 0..2 {
            assert_eq!(bytes(&loaded.call(&device, &inputs).unwrap()), bytes(&expected), "{}", device.name());
        }
    }
}

fn argument(x: &HostTensor) -> Array {
    Traced::argument(Spec::of(x))
}

#[test]
fn every_primitive_comes_back() {
    let folder = Folder::new("primitives");
    let cases: Vec<_> = Primitive::cases()
        .into_iter()
        .filter(|case| matches!(case.expected, Expected::Results(_) | Expected::AsReference))
        .filter(|case| !matches!(case.primitive, Primitive::Narrow { .. }))
        .collect();
    assert!(cases.len() > 500);
    for some in cases.chunks(100) {
        let (mut inputs, mut arguments, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
        for case in some {
            let own: Vec<Value> = case.inputs.iter().map(|x| Value::placeholder(Spec::of(x))).collect();
            let refs: Vec<&Value> = own.iter().collect();
            let all = Value::record_all(case.primitive.clone(), &refs, oneir_ir::Place::Internal).unwrap();
            outputs.extend(all.into_iter().map(Array::from_value));
            arguments.extend(own.into_iter().map(Array::from_value));
            inputs.extend(case.inputs.iter().cloned());
        }
        let function = Traced::new(&arguments, &outputs).unwrap();
        same(&function, &again(&function, &folder), &inputs);
    }
}

#[test]
fn captured_values_and_large_constants_of_every_dtype_come_back() {
    let folder = Folder::new("dtypes");
    for &dtype in DType::ALL {
        let count = 130;
        let size = dtype.bytes_for(count).unwrap();
        let raw: Vec<u8> =
            (0..size).map(|i| if dtype == DType::Bool { i as u8 % 2 } else { i as u8 }).collect();
        let large = HostTensor::from_bytes(dtype, &[count], &raw).unwrap();
        let x = HostTensor::scalar(2i32);
        let mut outputs = vec![Array::from_host(large.clone()).reshape(&[13, 10])];
        if dtype.computes() {
            let captured = Array::from_host(large).contiguous();
            captured.eval().unwrap();
            outputs.push(captured.reshape(&[10, 13]));
        }
        let argument = argument(&x);
        outputs.push(&argument + 1);
        let function = Traced::new(&[argument], &outputs).unwrap();
        assert_eq!(function.captured().len(), usize::from(dtype.computes()));
        let loaded = again(&function, &folder);
        same(&function, &loaded, &[x]);
        let file = safetensors::read(folder.file()).unwrap();
        assert!(file.metadata["graph"].len() < 2000, "{dtype}: the text holds no data");
    }
}

/// A loop over the rows of x that reads a large constant and draws numbers.
fn looped() -> (Traced, Vec<HostTensor>) {
    let f32s = |shape: &[usize]| Spec::new(DType::F32, shape);
    let (sum, row) = (Value::placeholder(f32s(&[70])), Value::placeholder(f32s(&[70])));
    let numbers: Vec<f32> = (0..70).map(|i| i as f32 / 7.0).collect();
    let table = Value::constant(HostTensor::from_slice(&[70], &numbers).unwrap());
    let next = sum.add(&row.multiply(&table).unwrap()).unwrap();
    let body = Cut::new(&[sum, row.clone()], &[next, row]).lift().unwrap().graph;
    let primitive = Primitive::ScanOver { body: Body::new(body), carried: 1, scanned: 1, reverse: false };
    let (key, x) = (Traced::argument(Spec::new(DType::U32, [2])), Traced::argument(f32s(&[3, 70])));
    let noise = random::normal(&[70], DType::F32, 0, 1, Some(&key));
    let inputs = [noise.value().unwrap().clone(), x.value().unwrap().clone()];
    let refs: Vec<&Value> = inputs.iter().collect();
    let made = Value::record_all(primitive, &refs, oneir_ir::Place::Internal).unwrap();
    let outputs: Vec<Array> = made.into_iter().map(Array::from_value).collect();
    let function = Traced::new(&[key, x], &outputs).unwrap();
    let rows: Vec<f32> = (0..210).map(|i| ((i * 7) % 11) as f32).collect();
    (
        function,
        vec![
            HostTensor::from_slice(&[2], &[3u32, 4]).unwrap(),
            HostTensor::from_slice(&[3, 70], &rows).unwrap(),
        ],
    )
}

#[test]
fn loops_and_random_numbers_come_back() {
    let folder = Folder::new("loops");
    let (function, inputs) = looped();
    same(&function, &again(&function, &folder), &inputs);
    let file = safetensors::read(folder.file()).unwrap();
    assert_eq!(file.tensors.len(), 1, "the body's constant stands apart");
}

#[test]
fn states_are_arguments_and_results() {
    let folder = Folder::new("states");
    let text = r#"graph "growing cache" {
      %0 = input f32[1, 2] "row"
      %1 = parameter i32[] "position"
      %2 = state f32[4, 2] "cache"
      %3 = activation f32[1, 2] "sum"
      inputs (%0, %1, %2)
      outputs (%3)
      %2 rows {pitch 2, row %1} = copy (%0)
      %3 = reduce(op = sum, axes = [0]) (%2)
    }"#;
    let function = Traced::from_graph(&text.parse().unwrap()).unwrap();
    let loaded = again(&function, &folder);
    let row = HostTensor::from_slice(&[1, 2], &[5f32, 6.0]).unwrap();
    let cache = HostTensor::from_slice(&[4, 2], &[1f32; 8]).unwrap();
    let inputs = [row, HostTensor::scalar(2i32), cache];
    same(&function, &loaded, &inputs);
    let device = &devices().unwrap()[0];
    let results = loaded.call(device, &inputs.map(Array::from_host)).unwrap();
    assert_eq!(results[0].to_vec::<f32>().unwrap(), [8.0, 9.0]);
    assert_eq!(results[1].to_vec::<f32>().unwrap(), [1.0, 1.0, 5.0, 6.0, 1.0, 1.0, 1.0, 1.0]);
}

const ELSEWHERE: &str = "ONEIR_TEST_SAVED_FUNCTION";

#[test]
fn another_process_computes_the_same() {
    let folder = Folder::new("process");
    let (function, inputs) = looped();
    function.save(folder.file()).unwrap();
    let named: Vec<(String, HostTensor)> =
        inputs.iter().enumerate().map(|(i, x)| (i.to_string(), x.clone())).collect();
    oneir_io::npz::write(folder.0.join("inputs.npz"), &named, oneir_io::npz::Compression::Stored).unwrap();
    let status = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "what_another_process_does"])
        .env(ELSEWHERE, &folder.0)
        .status()
        .unwrap();
    assert!(status.success());
    let device = &devices().unwrap()[0];
    let inputs: Vec<Array> = inputs.into_iter().map(Array::from_host).collect();
    let expected = bytes(&function.call(device, &inputs).unwrap());
    let found = oneir_io::open_tensors(folder.0.join("results.npz")).unwrap();
    assert_eq!(found.into_iter().map(|(_, x)| x.bytes().into_owned()).collect::<Vec<_>>(), expected);
}

/// Does nothing unless [`another_process_computes_the_same`] runs it.
#[test]
fn what_another_process_does() {
    let Some(folder) = std::env::var_os(ELSEWHERE).map(PathBuf::from) else { return };
    let function = Traced::load(folder.join("function.safetensors")).unwrap();
    let inputs = oneir_io::open_tensors(folder.join("inputs.npz")).unwrap();
    let inputs: Vec<Array> = inputs.into_iter().map(|(_, x)| Array::from_host(x)).collect();
    let results = function.call(&devices().unwrap()[0], &inputs).unwrap();
    let named: Vec<(String, HostTensor)> =
        results.iter().enumerate().map(|(i, x)| (i.to_string(), x.to_host().unwrap())).collect();
    oneir_io::npz::write(folder.join("results.npz"), &named, oneir_io::npz::Compression::Stored).unwrap();
}

#[test]
fn kernels_that_are_rust_functions_are_refused_by_name() {
    let folder = Folder::new("kernels");
    let call = |cpu| {
        Primitive::Kernel(Box::new(KernelCall {
            name: "halve".into(),
            inputs: vec!["x".into()],
            outputs: vec!["y".into()],
            shapes: vec![vec![2]],
            dtypes: vec![DType::F32],
            template: vec![],
            grid: vec![2],
            threadgroup: vec![1],
            init: Fill::Number(Real::new(0.0)),
            cuda: "y[i] = 0.5f * x[i];".into(),
            cpu,
        }))
    };
    let record =
        |primitive, inputs: &[&Value]| Value::record(primitive, inputs, oneir_ir::Place::Internal).unwrap();
    for inside in [false, true] {
        for (cpu, savable) in [(HostFunction::none(), true), (HostFunction::new(|x| Ok(x.to_vec())), false)] {
            let x = Value::placeholder(Spec::new(DType::F32, [2]));
            let y = if inside {
                let carried = Value::placeholder(Spec::new(DType::F32, [2]));
                let next = record(call(cpu), &[&carried]);
                let body = Body::new(Cut::new(std::slice::from_ref(&carried), &[next]).lift().unwrap().graph);
                let no = Value::constant(HostTensor::scalar(false));
                let condition = Body::new(Cut::new(&[carried], &[no]).lift().unwrap().graph);
                record(Primitive::While { condition, body, carried: 1 }, &[&x])
            } else {
                record(call(cpu), &[&x])
            };
            let function = Traced::new(&[Array::from_value(x)], &[Array::from_value(y)]).unwrap();
            match function.save(folder.file()) {
                Ok(()) => assert!(savable),
                Err(error) => {
                    assert!(!savable);
                    assert!(matches!(error, ArrayError::Unsavable { .. }));
                    assert!(error.to_string().contains("`halve`"), "{error}");
                }
            }
        }
    }
}

/// A function with a captured value, a large constant and a loop.
fn sample() -> (Traced, Vec<HostTensor>) {
    let (inner, inputs) = looped();
    let arguments: Vec<Array> = inputs.iter().map(argument).collect();
    let values: Vec<Value> = arguments.iter().map(|a| a.value().unwrap().clone()).collect();
    let made = inner.graph().as_function().call(&values).unwrap();
    let captured = Array::from_slice(&[1f32; 70], &[70]).exp();
    captured.eval().unwrap();
    let outputs = [&Array::from_value(made[0].clone()) + &captured];
    (Traced::new(&arguments, &outputs).unwrap(), inputs)
}

fn refused(path: &Path, why: &str) {
    let error = Traced::load(path).unwrap_err().to_string();
    assert!(error.contains(why), "{error:?} does not say {why:?}");
}

#[test]
fn files_that_do_not_fit_are_refused() {
    let folder = Folder::new("unfit");
    let (function, _) = sample();
    function.save(folder.file()).unwrap();
    let good = safetensors::read(folder.file()).unwrap();
    let path = folder.0.join("bad.safetensors");
    type Contents = (Vec<(String, HostTensor)>, BTreeMap<String, String>);
    type Change = Box<dyn Fn(&mut Contents)>;
    let write = |change: &dyn Fn(&mut Contents)| {
        let mut contents = (good.tensors.clone(), good.metadata.clone());
        change(&mut contents);
        safetensors::write(&path, &contents.0, &contents.1).unwrap();
    };
    let other = |name: &'static str, value: HostTensor| {
        move |c: &mut Contents| {
            c.0.retain(|(n, _)| n != name);
            c.0.push((name.into(), value.clone()));
        }
    };
    let without = |name: &'static str| move |c: &mut Contents| c.0.retain(|(n, _)| n != name);
    let text = |key: &'static str, from: &'static str, to: &'static str| {
        move |c: &mut Contents| {
            let old = c.1[key].clone();
            assert!(old.contains(from), "{old}");
            c.1.insert(key.into(), old.replacen(from, to, 1));
        }
    };
    let changes: Vec<(Change, &str)> = vec![
        (Box::new(|c| c.1.clear()), "no `oneir.function`"),
        (Box::new(text("oneir.function", "1", "2")), "version `2`; this reads version 1"),
        (Box::new(|c| _ = c.1.remove("graph")), "no `graph`"),
        (Box::new(|c| _ = c.1.remove("places")), "places for"),
        (Box::new(other("captured.0", HostTensor::zeros(DType::F32, &[71]).unwrap())), "expected f32[70]"),
        (Box::new(other("captured.0", HostTensor::zeros(DType::I32, &[70]).unwrap())), "found i32[70]"),
        (Box::new(other("captured.1", HostTensor::scalar(1f32))), "1 captured values, the file 2"),
        (Box::new(other("captured.7", HostTensor::scalar(1f32))), "`captured.7` belongs to nothing"),
        (Box::new(other("weight", HostTensor::scalar(1f32))), "`weight` belongs to nothing"),
        (Box::new(without("captured.0")), "1 captured values, the file 0"),
        (Box::new(without("constant.0")), "the place of a value that there is"),
        (
            Box::new(other("constant.0", HostTensor::zeros(DType::F32, &[7, 10]).unwrap())),
            "type and shape of value 0",
        ),
        (Box::new(text("graph", "graph", "grapf")), "line 1, column 1"),
        (Box::new(text("graph", "inputs (%0, %1", "inputs (%0, %0")), "each tensor once"),
        (Box::new(text("graph", "%0 = input", "%0 = state")), "neither an argument nor captured"),
        (Box::new(text("graph", "lifted ", "lifted 429496729")), "text"),
        (Box::new(text("graph", "lifted ", "lifted 39999")), "covered by nothing"),
        // In the body: a tensor that is not there, one read before it is made.
        (Box::new(text("graph", "(op = mul) (%1", "(op = mul) (%77")), "declares tensor %77"),
        (Box::new(text("graph", "(op = mul) (%1", "(op = mul) (%4")), "before"),
        (
            Box::new(text(
                "graph",
                "(op = mul) (%1",
                "(op = mul) (%1 view {offset 0, shape [70], strides [9223372036854775807]}",
            )),
            "view",
        ),
        (
            Box::new(text(
                "graph",
                "(op = mul) (%1",
                "(op = mul) (%1 view {offset 0, shape [70], strides [2]}",
            )),
            "view",
        ),
    ];
    for (change, why) in &changes {
        write(change.as_ref());
        refused(&path, why);
    }
    safetensors::write(&path, &[], &BTreeMap::new()).unwrap();
    refused(&path, "no `oneir.function`");
    refused(&folder.0.join("none.safetensors"), "open");
}

#[test]
fn broken_files_are_refused_without_a_panic() {
    let folder = Folder::new("broken");
    let (function, inputs) = sample();
    function.save(folder.file()).unwrap();
    let whole = std::fs::read(folder.file()).unwrap();
    let path = folder.0.join("bad.safetensors");
    for end in (0..whole.len()).step_by(97) {
        std::fs::write(&path, &whole[..end]).unwrap();
        assert!(Traced::load(&path).is_err(), "{end} bytes");
    }
    let device = oneir_runtime::Runtime::global().device("cpu-reference").unwrap();
    let inputs: Vec<Array> = inputs.into_iter().map(Array::from_host).collect();
    let good = safetensors::read(folder.file()).unwrap();
    let letters: Vec<u8> = b"0123456789 %[](){}=,.-\"abcdefghijklmnopqrstuvwxyz\n".to_vec();
    let mut random = Random::new(5);
    let mut loaded = 0;
    for round in 0..1500 {
        let mut broken = whole.clone();
        if round % 2 == 0 {
            for _ in 0..1 + random.below(4) {
                let at = random.below(broken.len());
                broken[at] = random.below(256) as u8;
            }
            std::fs::write(&path, &broken).unwrap();
        } else {
            let mut metadata = good.metadata.clone();
            let mut text = metadata["graph"].clone().into_bytes();
            for _ in 0..1 + random.below(2) {
                let at = random.below(text.len());
                text[at] = *random.of(&letters);
            }
            metadata.insert("graph".into(), String::from_utf8(text).unwrap());
            safetensors::write(&path, &good.tensors, &metadata).unwrap();
        }
        if let Ok(function) = Traced::load(&path) {
            loaded += 1;
            _ = function.call(&device, &inputs).map(|all| all.iter().map(Array::eval).count());
        }
    }
    assert!(loaded > 0, "some changes are harmless");
    let mut graph: TensorGraph = function.graph().clone();
    graph.name = "\"\\\n\u{1f980}".into();
    assert_eq!(graph.to_string().parse::<TensorGraph>().unwrap(), graph);
}

#[test]
fn functions_with_rules_of_their_own_are_refused_by_name() {
    let folder = Folder::new("rules");
    let argument = || Traced::argument(Spec::new(DType::F32, [2]));
    let plain = oneir_array::custom_function(|x: &Array| x.exp());
    let ruled = oneir_array::custom_function(|x: &Array| x.exp()).with_vjp(|x, _, _| x.clone());
    for (function, savable) in [(plain, true), (ruled, false)] {
        let x = argument();
        let traced = Traced::new(std::slice::from_ref(&x), &[function.call(&x)]).unwrap();
        let saved = traced.save(folder.file());
        assert_eq!(saved.is_ok(), savable);
        if let Err(error) = saved {
            assert!(error.to_string().contains("`custom_function`"), "{error}");
        }
    }
}
