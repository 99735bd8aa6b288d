use oneir::HostTensor;
use oneir::io::open_tensors;

use crate::model::{FLOAT, identity};
use crate::{Folder, MODEL, fixture, oneir, printed, refused};

/// The fixture's input in a file of its own, under the model's name for it.
fn inputs(folder: &Folder, file: &str) -> String {
    let tensors = fixture("in__");
    let named: Vec<(&str, HostTensor)> = tensors.iter().map(|(n, t)| (n.as_str(), t.clone())).collect();
    folder.tensors(file, &named)
}

fn digits_of(text: &str) -> Vec<char> {
    let captions = text.lines().filter(|line| line.contains('%'));
    captions.flat_map(|line| line.split(" %").filter_map(|part| part.trim().chars().next())).collect()
}

#[test]
fn without_a_model_digits_are_drawn_and_read() {
    let shown = printed(&["run"]);
    let labels = fixture("out__").into_iter().find(|(name, _)| name == "label").unwrap().1;
    let expected: String = labels.to_vec::<i64>().unwrap().iter().map(i64::to_string).collect();
    assert_eq!(digits_of(&shown).iter().collect::<String>(), expected, "{shown}");
    assert!(shown.contains('█') && shown.contains("16 handwritten digits"), "{shown}");
    assert!(!shown.contains('\x1b'), "no colours where no terminal is");
    assert!(shown.lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn the_digits_keep_to_the_terminals_width() {
    let bin = env!("CARGO_BIN_EXE_oneir");
    for (columns, most) in [("40", 40), ("5", 19), ("not a number", 80)] {
        let output = std::process::Command::new(bin).arg("run").env("COLUMNS", columns).output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert_eq!(digits_of(&shown).len(), 16);
        let pictures = shown.lines().filter(|line| !line.contains("handwritten"));
        assert!(pictures.map(|line| line.chars().count()).all(|length| length <= most), "{shown}");
    }
}

#[test]
fn every_device_gives_the_right_outputs_from_every_kind_of_file() {
    let folder = Folder::new("outputs");
    let runs = [
        ("cpu", "in.safetensors", "out.npz"),
        ("cpu-reference", "in.npz", "out.safetensors"),
        ("cpu-unfused", "in.safetensors", "out.safetensors"),
        ("mock", "in.npz", "out.npz"),
    ];
    for (device, file, saved) in runs {
        let (inputs, saved) = (inputs(&folder, file), folder.file(saved));
        let shown = printed(&["run", MODEL, "--inputs", &inputs, "--save", &saved, "--device", device]);
        assert_eq!(shown, format!("{saved}: label, probabilities\n"));
        let found = open_tensors(&saved).unwrap();
        for (name, expected) in fixture("out__") {
            let (_, found) = found.iter().find(|(n, _)| *n == name).unwrap();
            assert_eq!((found.dtype(), found.shape()), (expected.dtype(), expected.shape()));
            let pairs = found.values().unwrap().to_floats().into_iter();
            for (a, b) in pairs.zip(expected.values().unwrap().to_floats()) {
                assert!((a - b).abs() <= 1e-3 * b.abs() + 1e-6, "{name} on {device}: {a}, expected {b}");
            }
        }
    }
}

#[test]
fn an_input_is_a_value_or_a_file_with_or_without_its_name() {
    let folder = Folder::new("input");
    let blank = printed(&["run", MODEL, "--input", "zeros:1x64"]);
    assert!(blank.contains("label: i64[1]\n[4]"), "{blank}");
    assert!(blank.contains("likeliest of each row:\n  [0]: 4 ("), "{blank}");
    let zeros =
        folder.tensors("zeros.npy", &[("any", HostTensor::zeros(oneir::DType::F32, &[1, 64]).unwrap())]);
    let ints = folder.tensors("a=b.npz", &[("any", HostTensor::zeros(oneir::DType::I64, &[1, 64]).unwrap())]);
    let row = format!("X=[{}]", vec!["0"; 64].join(", "));
    for input in ["X=zeros", "zeros", "0", "X=0.0", &row, &zeros, &format!("X={zeros}"), &ints] {
        assert_eq!(printed(&["run", MODEL, "--input", input]), blank, "{input}");
    }
    let inputs = inputs(&folder, "in.npz");
    let both = printed(&["run", MODEL, "--inputs", &inputs, "--input", "X=0"]);
    assert_eq!(both, blank, "one given alone takes the place of the file's");
}

#[test]
fn random_inputs_follow_from_the_seed() {
    let run = |seed: &str| printed(&["run", MODEL, "--input", "random:4x64", "--seed", seed]);
    assert_eq!(run("1"), run("1"));
    assert_ne!(run("1"), run("2"));
}

#[test]
fn times_go_to_the_standard_error_and_quiet_prints_nothing() {
    let output = oneir(&["run", "--time", "--quiet", "--device", "cpu"]);
    assert!(output.status.success() && output.stdout.is_empty());
    let times = String::from_utf8(output.stderr).unwrap();
    for part in ["load ", "plan and first run ", "steady ", "median of ", "on cpu"] {
        assert!(times.contains(part), "{times}");
    }
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    use std::process::{Command, Stdio};
    let mut command = Command::new(env!("CARGO_BIN_EXE_oneir"));
    command.args(["run"]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn numbers_below_zero_need_no_quotes() {
    let named = printed(&["run", MODEL, "--input", "X=-1"]);
    for input in ["-1", "-1.0", "-1e0"] {
        assert_eq!(printed(&["run", MODEL, "--input", input]), named, "{input}");
    }
}

#[test]
fn the_forms_of_inputs_are_explained() {
    let guide = printed(&["inputs"]);
    for part in ["picture:FILE", "sound:FILE", "bytes:FILE", "raw:FILE", "mean=0.485,0.456,0.406", "EXAMPLES"]
    {
        assert!(guide.contains(part), "{part}");
    }
    assert!(guide.lines().all(|line| line.chars().count() <= 80));
    assert!(printed(&["help", "inputs"]).contains("picture:FILE"));
    assert!(printed(&["--help"]).contains("Exit codes: 0"));
}

#[test]
fn shells_complete_the_commands_words() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = printed(&["completions", shell]);
        assert!(script.contains("bench") && script.contains("labels"), "{shell}");
        // What the command starts by itself is offered to nobody.
        assert!(script.contains("conformance") && !script.contains("worker"), "{shell}");
    }
}

#[test]
fn outputs_are_printed_and_saved_by_name() {
    let folder = Folder::new("chosen");
    let run = |flags: &[&str]| printed(&[&["run", MODEL, "--input", "0"], flags].concat());
    let all = run(&[]);
    let label = run(&["--output", "label"]);
    assert!(all.starts_with(&label) && label == "label: i64[1]\n[4]\n", "{label}");
    let turned = run(&["--output", "probabilities", "--output", "label", "--output", "label"]);
    assert!(turned.starts_with("probabilities: f32[1, 10]\n") && turned.ends_with(&label), "{turned}");
    // One output fits a file for one tensor.
    let saved = folder.file("label.npy");
    assert_eq!(run(&["--output", "label", "--save", &saved]), format!("{saved}: label\n"));
    assert_eq!(oneir::io::npy::read(&saved).unwrap().to_vec::<i64>().unwrap(), [4]);
    assert!(printed(&["run", "--output", "label"]).starts_with("label: i64[16]\n"));
}

#[test]
fn long_outputs_are_told_in_numbers_unless_all_are_asked_for() {
    let folder = Folder::new("long");
    let model = identity(&folder, FLOAT, &[0, 0, 0]);
    let values: Vec<f32> = (0..172 * 264).map(|i| i as f32 / 100.0).collect();
    let file = folder.tensors("x.npy", &[("x", HostTensor::from_slice(&[2, 86, 264], &values).unwrap())]);
    let run = |flags: &[&str]| {
        let output = oneir(&[&["run", &model, "--input", &file], flags].concat());
        assert!(output.status.success());
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr))
    };
    let (shown, told) = run(&[]);
    assert!(shown.starts_with("y: f32[2, 86, 264]\nmin 0., mean 227.035, max 454.07\n"), "{shown}");
    assert!(shown.lines().count() <= 24 && shown.lines().all(|line| line.len() <= 80), "{shown}");
    assert!(told.contains("--full prints all values"), "{told}");
    let (all, told) = run(&["--full"]);
    assert!(told.is_empty() && !all.contains("...") && !all.contains("mean"), "{told}");
    let numbers = all.split_once('\n').unwrap().1.split(|c: char| c.is_whitespace() || "[]".contains(c));
    assert_eq!(numbers.filter_map(|word| word.parse::<f32>().ok()).count(), 172 * 264);
    for flags in [["--top", "1"], ["--save", "x.npy"]] {
        refused(&[&["run", &model, "--input", "1", "--full"], &flags[..]].concat(), 2);
    }
    // The digits have a picture of their own.
    assert!(printed(&["run", "--full"]).starts_with("label: i64[16]\n"));
}
