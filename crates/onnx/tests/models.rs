//! Real models give their right answers on every device.
//!
//! The answers are those of other engines. Where an output is large, every
//! 97th of its numbers is compared, and what they mean: a note, a text, where
//! the lines of a page lie.

use std::ops::Range;
use std::path::{Path, PathBuf};

use oneir_array::{Array, HostTensor};
use oneir_cpu as _;
use oneir_onnx::{Model, Term};
use oneir_runtime::Runtime;
use oneir_tensor::Values;
use oneir_testkit as _;

const DEVICES: [&str; 4] = ["cpu", "cpu-reference", "cpu-unfused", "mock"];

/// How far apart the sampled numbers of an output are.
const STEP: usize = 97;

type Tensors = Vec<(String, HostTensor)>;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// A model among what `scripts/oracles.py` has fetched.
fn fetched(name: &str) -> Option<Model> {
    let Some(folder) = std::env::var_os("ONEIR_ORACLES") else {
        eprintln!("skipped: ONEIR_ORACLES names no folder of models (scripts/test sets it)");
        return None;
    };
    Some(Model::open(Path::new(&folder).join("models").join(name)).unwrap())
}

/// The inputs and right outputs of a fixture.
fn fixture(name: &str) -> (Tensors, Tensors) {
    let all = oneir_io::open_tensors(data(name)).unwrap();
    let part = |prefix: &str| {
        all.iter()
            .filter_map(|(name, value)| Some((name.strip_prefix(prefix)?.to_string(), value.clone())))
            .collect::<Vec<_>>()
    };
    let mut inputs = part("in__");
    for (name, value) in &mut inputs {
        // The one scalar: the sample rate.
        if name == "sr" {
            *value = value.reshape(&[]).unwrap();
        }
    }
    (inputs, part("out__"))
}

fn get<'a>(tensors: &'a Tensors, name: &str) -> &'a HostTensor {
    &tensors.iter().find(|(n, _)| n == name).unwrap_or_else(|| panic!("no {name}")).1
}

fn floats(tensors: &Tensors, name: &str) -> Vec<f32> {
    get(tensors, name).to_vec().unwrap()
}

fn tensor(shape: &[usize], values: &[f32]) -> HostTensor {
    HostTensor::from_slice(shape, values).unwrap()
}

/// Calls a model: as one program, or node by node.
fn call(model: &Model, inputs: &Tensors, device: &str, eager: bool) -> Tensors {
    let arguments: Vec<(&str, Array)> =
        inputs.iter().map(|(name, value)| (name.as_str(), Array::from_host(value.clone()))).collect();
    let device = Runtime::global().device(device).unwrap();
    let outputs = if eager { model.eager(&device, &arguments) } else { model.call_on(&device, &arguments) };
    outputs
        .unwrap()
        .into_iter()
        .map(|(name, value)| {
            let value = match value {
                Term::Array(array) => {
                    oneir_array::eval_on(&device, std::slice::from_ref(&array)).unwrap();
                    array.to_host().unwrap()
                }
                Term::Host(value) => value,
                other => panic!("{other:?}"),
            };
            (name.to_string(), value)
        })
        .collect()
}

/// The outputs on each device, both ways.
fn each(model: &Model, inputs: &Tensors, mut check: impl FnMut(&Tensors)) {
    for device in DEVICES {
        for eager in [false, true] {
            check(&call(model, inputs, device, eager));
        }
    }
}

/// Numbers agree to a thousandth, near zero to a small part of the largest.
fn near(name: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{name}");
    let largest = expected.iter().fold(0f32, |m, v| m.max(v.abs()));
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        assert!((a - b).abs() <= 1e-3 * b.abs() + 1e-6 * largest, "{name}[{i}] is {a}, expected {b}");
    }
}

/// All of the expected outputs are there.
fn same(found: &Tensors, expected: &Tensors) {
    for (name, value) in expected {
        let found = get(found, name);
        assert_eq!((found.dtype(), found.shape()), (value.dtype(), value.shape()), "{name}");
        match (found.values().unwrap(), value.values().unwrap()) {
            (Values::Float(_), Values::Float(_)) => {
                near(name, &found.to_vec::<f32>().unwrap(), &value.to_vec::<f32>().unwrap());
            }
            (a, b) => assert_eq!(a, b, "{name}"),
        }
    }
}

/// A sampled output is right; gives all of it.
fn sampled(found: &Tensors, name: &str, shape: &[usize], fixture: &Tensors, step: usize) -> Vec<f32> {
    assert_eq!(get(found, name).shape().to_vec(), shape, "{name}");
    let all = floats(found, name);
    let sample: Vec<f32> = all.iter().step_by(step).copied().collect();
    near(name, &sample, &floats(fixture, &format!("sample__{name}")));
    all
}

fn check(model: &Model, fixture_name: &str) {
    let (inputs, expected) = fixture(fixture_name);
    each(model, &inputs, |found| same(found, &expected));
}

/// The pixels of a picture, channel by channel; a gray picture has one.
fn picture(name: &str) -> (usize, usize, Vec<Vec<f32>>) {
    let picture = oneir_io::picture::read(data(name)).unwrap();
    let channel =
        |c| picture.pixels.iter().skip(c).step_by(picture.channels).map(|&v| f32::from(v)).collect();
    (picture.height, picture.width, (0..picture.channels).map(channel).collect())
}

/// Three channels of a gray picture, each with its mean and spread.
fn gray(pixels: &[f32], mean: [f32; 3], spread: [f32; 3]) -> Vec<f32> {
    let channel = |c: usize| pixels.iter().map(move |v| (v / 255.0 - mean[c]) / spread[c]);
    (0..3).flat_map(channel).collect()
}

fn arg_max(row: &[f32]) -> usize {
    (0..row.len()).fold(0, |best, i| if row[i] > row[best] { i } else { best })
}

fn softmax(row: &[f32]) -> Vec<f32> {
    let top = row[arg_max(row)];
    let sum: f32 = row.iter().map(|v| (v - top).exp()).sum();
    row.iter().map(|v| (v - top).exp() / sum).collect()
}

#[test]
fn mlp_digits() {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/mlp_digits.onnx");
    check(&Model::open(model).unwrap(), "mlp_digits.safetensors");
}

#[test]
fn magika() {
    let Some(model) = fetched("magika/model.onnx") else { return };
    let (inputs, expected) = fixture("magika.safetensors");
    each(&model, &inputs, |found| {
        same(found, &expected);
        // How sure the model is of what the five files are.
        let rows = floats(found, "target_label");
        for (row, known) in rows.chunks(214).zip([1.0, 1.0, 0.826, 0.922, 1.0]) {
            assert!((row[arg_max(row)] - known).abs() < 1e-3);
        }
    });
}

#[test]
fn silero_vad() {
    let Some(model) = fetched("silero-vad/silero_vad.onnx") else { return };
    check(&model, "silero_vad.safetensors");
}

#[test]
fn silero_vad_half() {
    let Some(model) = fetched("silero-vad/silero_vad_half.onnx") else { return };
    check(&model, "silero_half.safetensors");
}

#[test]
fn silero_vad_op15() {
    let Some(model) = fetched("silero-vad/silero_vad_16k_op15.onnx") else { return };
    check(&model, "silero_op15.safetensors");
}

#[test]
fn silero_vad_ifless() {
    let Some(model) = fetched("silero-vad/silero_vad_op18_ifless.onnx") else { return };
    check(&model, "silero_ifless.safetensors");
}

#[test]
fn silero_vad_openvino() {
    let Some(model) = fetched("silero-vad/silero_vad_openvino_16k.onnx") else { return };
    check(&model, "silero_openvino.safetensors");
}

/// Windows of a clip: 512 samples each, and the 64 before them.
fn windows() -> Vec<Vec<f32>> {
    let all = oneir_io::open_tensors(data("silero_sequence.npz")).unwrap();
    let clip: Vec<f32> =
        get(&all, "clip").to_vec::<i16>().unwrap().iter().map(|&v| f32::from(v) / 32768.0).collect();
    (0..155).map(|i| clip[512 * i..512 * i + 576].to_vec()).collect()
}

#[test]
fn silero_vad_sequence() {
    let Some(model) = fetched("silero-vad/silero_vad_16k_sequence.onnx") else { return };
    let (_, expected) = fixture("silero_sequence.npz");
    let inputs = vec![
        ("input".into(), tensor(&[155, 576], &windows().concat())),
        ("h".into(), tensor(&[1, 1, 128], &[0.0; 128])),
        ("c".into(), tensor(&[1, 1, 128], &[0.0; 128])),
    ];
    each(&model, &inputs, |found| {
        same(found, &expected);
        let sum: f32 = floats(found, "speech_probs").iter().sum();
        assert!((sum - 78.435).abs() < 1e-3, "{sum}");
    });
}

/// Windows one at a time, the state carried along, are as the whole clip.
fn stream(device: &str) {
    let Some(model) = fetched("silero-vad/silero_vad.onnx") else { return };
    let (_, expected) = fixture("silero_sequence.npz");
    let mut state = tensor(&[2, 1, 128], &[0.0; 256]);
    let mut found = Vec::new();
    for window in windows() {
        let inputs = vec![
            ("input".into(), tensor(&[1, 576], &window)),
            ("state".into(), state),
            ("sr".into(), HostTensor::scalar(16000i64)),
        ];
        let outputs = call(&model, &inputs, device, false);
        found.extend(floats(&outputs, "output"));
        state = get(&outputs, "stateN").clone();
    }
    near("output", &found, &floats(&expected, "speech_probs"));
    let sum: f32 = found.iter().sum();
    assert!((sum - 78.435).abs() < 1e-3, "{sum}");
    let both = [floats(&expected, "hn"), floats(&expected, "cn")].concat();
    near("stateN", &state.to_vec::<f32>().unwrap(), &both);
}

#[test]
fn silero_vad_streams() {
    DEVICES.into_iter().for_each(stream);
}

#[test]
fn minilm_int8() {
    let Some(model) = fetched("minilm-int8/model.onnx") else { return };
    check(&model, "minilm_int8.safetensors");
}

#[test]
fn basic_pitch() {
    let Some(model) = fetched("basic-pitch/nmp.onnx") else { return };
    let expected = oneir_io::open_tensors(data("basic_pitch.safetensors")).unwrap();
    // Half a second of silence, then a fading tone of 440 Hz with overtones.
    let sample = |i: u32| {
        let time = f64::from(i) / 22050.0;
        let wave = |k: f64| (std::f64::consts::TAU * 440.0 * k * time).sin() / k;
        let sum: f64 = [1.0, 2.0, 3.0, 4.0, 5.0].into_iter().map(wave).sum();
        if i < 11025 { 0.0 } else { (0.3 * (-2.0 * time).exp() * sum) as f32 }
    };
    let tone: Vec<f32> = (0..43844).map(sample).collect();
    let inputs = vec![("serving_default_input_2:0".into(), tensor(&[1, 43844, 1], &tone))];
    each(&model, &inputs, |found| {
        let found = plain(found);
        sampled(&found, "StatefulPartitionedCall_0", &[1, 172, 264], &expected, STEP);
        sampled(&found, "StatefulPartitionedCall_2", &[1, 172, 88], &expected, STEP);
        let notes = sampled(&found, "StatefulPartitionedCall_1", &[1, 172, 88], &expected, STEP);
        let sums: Vec<f32> = (0..88).map(|n| notes.iter().skip(n).step_by(88).sum()).collect();
        assert_eq!(arg_max(&sums), 48);
    });
}

/// Names as fixtures write them.
fn plain(tensors: &Tensors) -> Tensors {
    tensors.iter().map(|(name, value)| (name.replace([':', '/'], "_"), value.clone())).collect()
}

#[test]
fn ppocr4_det() {
    let Some(model) = fetched("ppocr4/ch_PP-OCRv4_det_infer.onnx") else { return };
    let expected = oneir_io::open_tensors(data("ppocr4_det.safetensors")).unwrap();
    let (height, width, channels) = picture("ppocr4_det.png");
    let page = gray(&channels[0], [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]);
    let inputs = vec![("x".into(), tensor(&[1, 3, height, width], &page))];
    each(&model, &inputs, |found| {
        let map = sampled(found, "sigmoid_0.tmp_0", &[1, 1, height, width], &expected, STEP);
        let rows: Vec<usize> =
            map.chunks(width).map(|row| row.iter().filter(|p| **p > 0.3).count()).collect();
        // Seven lines of text.
        assert_eq!(lines(&rows), [35..50, 98..113, 131..147, 163..181, 192..214, 223..247, 316..345]);
        let known = get(&expected, "rows").to_vec::<i32>().unwrap();
        assert!(rows.iter().zip(known).all(|(a, b)| (*a as i32 - b).abs() <= 1));
    });
}

/// Runs of rows that hold something.
fn lines(rows: &[usize]) -> Vec<Range<usize>> {
    let mut lines: Vec<Range<usize>> = Vec::new();
    for (i, _) in rows.iter().enumerate().filter(|(_, count)| **count > 0) {
        match lines.last_mut() {
            Some(line) if line.end == i => line.end = i + 1,
            _ => lines.push(i..i + 1),
        }
    }
    lines
}

#[test]
fn ppocr4_rec() {
    let Some(model) = fetched("ppocr4/ch_PP-OCRv4_rec_infer.onnx") else { return };
    let expected = oneir_io::open_tensors(data("ppocr4_rec.safetensors")).unwrap();
    let (height, width, channels) = picture("ppocr4_rec.png");
    let line = gray(&channels[0], [0.5; 3], [0.5; 3]);
    let inputs = vec![("x".into(), tensor(&[1, 3, height, width], &line))];
    each(&model, &inputs, |found| {
        let all = sampled(found, "softmax_11.tmp_0", &[1, 183, 6625], &expected, 5 * STEP);
        let ids: Vec<i32> = all.chunks(6625).map(|row| arg_max(row) as i32).collect();
        assert_eq!(ids, get(&expected, "ids").to_vec::<i32>().unwrap());
        let top: Vec<f32> = all.chunks(6625).map(|row| row[arg_max(row)]).collect();
        near("top", &top, &floats(&expected, "top"));
        // What repeats is one letter, unless the blank (0) lies between.
        let letters: Vec<&str> = model.file().metadata["character"].split('\n').chain([" "]).collect();
        let mut text = String::new();
        for (i, id) in ids.iter().enumerate().filter(|(_, id)| **id != 0) {
            if i == 0 || ids[i - 1] != *id {
                text += letters[*id as usize - 1];
            }
        }
        assert_eq!(text, "oackground.These markersare pixels thatwe can label");
    });
}

#[test]
fn ppocr4_cls() {
    let Some(model) = fetched("ppocr4/ch_ppocr_mobile_v2.0_cls_infer.onnx") else { return };
    let (height, width, channels) = picture("ppocr4_cls.png");
    // A line as it is, and turned around.
    let turned: Vec<f32> = channels[0].iter().rev().copied().collect();
    let both = [gray(&channels[0], [0.5; 3], [0.5; 3]), gray(&turned, [0.5; 3], [0.5; 3])].concat();
    let inputs = vec![("x".into(), tensor(&[2, 3, height, width], &both))];
    let known = tensor(&[2, 2], &[0.955_372_7, 0.044_627_35, 0.117_190_88, 0.882_809_16]);
    let expected = vec![("save_infer_model/scale_0.tmp_1".into(), known)];
    each(&model, &inputs, |found| same(found, &expected));
}

#[test]
fn efficientnet_lite0() {
    let Some(model) = fetched("efficientnet-lite0/model.onnx") else { return };
    let (_, expected) = fixture("efficientnet_lite0.safetensors");
    let logits = floats(&expected, "logits");
    let pixels = |name| {
        let (height, width, channels) = picture(name);
        assert_eq!((height, width, channels.len()), (224, 224, 3));
        channels.concat().iter().map(|v| (v - 127.0) / 128.0).collect::<Vec<f32>>()
    };
    let pictures = [
        pixels("efficientnet_cat.png"),
        pixels("efficientnet_espresso.png"),
        pixels("efficientnet_missile.png"),
    ];
    // A tabby cat or an Egyptian one, espresso, missile.
    let known: [&[(usize, f32)]; 3] = [&[(282, 0.386), (285, 0.356)], &[(967, 0.951)], &[(657, 0.296)]];
    let inputs = vec![("input".into(), tensor(&[3, 3, 224, 224], &pictures.concat()))];
    each(&model, &inputs, |found| {
        let found = floats(found, "logits");
        for ((found, expected), known) in found.chunks(1000).zip(logits.chunks(1000)).zip(known) {
            near("logits", found, expected);
            assert_eq!(arg_max(found), known[0].0);
            for (class, p) in known {
                assert!((softmax(found)[*class] - p).abs() < 1e-3);
            }
        }
    });
}
