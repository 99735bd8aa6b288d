//! GGUF files that the PyPI package `gguf` wrote, and files of several shards.
//!
//! `scripts/block_oracle.py --file` wrote `data/kinds.gguf`, and with `--check` it told
//! what the package reads in it, which is `data/kinds.json`.

use std::fs;
use std::path::PathBuf;

use oneir_io::gguf::{self, Array, Kind, Metadata, TensorInfo, Value};
use oneir_io::{IoError, open_stored, open_tensors, save_tensors};
use oneir_tensor::{BlockFormat, Buffer, DType, HostTensor, Values};

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("gguf-{name}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn told() -> serde_json::Value {
    serde_json::from_slice(&fs::read(data("kinds.json")).unwrap()).unwrap()
}

#[test]
fn every_kind_of_metadata() {
    let metadata = gguf::read(data("kinds.gguf")).unwrap().metadata;
    macro_rules! same {
        ($($name:literal $variant:ident $value:expr;)*) => {$(
            assert_eq!(metadata.get(concat!("one.", $name)), Some(&Value::$variant($value)));
            let many = Value::Array(Array::$variant(vec![$value; 2]));
            assert_eq!(metadata.get(concat!("many.", $name)), Some(&many));
        )*};
    }
    same! {
        "uint8" U8 255; "int8" I8 -128; "uint16" U16 65535; "int16" I16 -32768;
        "uint32" U32 u32::MAX; "int32" I32 i32::MIN; "uint64" U64 u64::MAX; "int64" I64 i64::MIN;
        "float32" F32 0.5; "float64" F64 1e300; "bool" Bool true;
    }
    assert_eq!(metadata.text("one.string").unwrap(), "naïve, two\nlines");
    let texts: Vec<&[u8]> = metadata.texts("many.string").unwrap().iter().collect();
    assert_eq!(texts, ["a".as_bytes(), b"", b"NUL \0 inside", "語".as_bytes()]);
    let bytes: Vec<&[u8]> = metadata.texts("bytes").unwrap().iter().collect();
    assert_eq!(bytes, [&b"\xFF\xFE"[..], b"\xC3"]);
    let nested = Array::Array(vec![Array::I32(vec![1, 2]), Array::I32(vec![3])]);
    assert_eq!(metadata.array("nested").unwrap(), &nested);
    let keys: Vec<&str> = metadata.iter().map(|(key, _)| key).collect();
    let theirs = told();
    let theirs: Vec<&str> = theirs["metadata"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, theirs);
}

#[test]
fn every_type_of_tensor() {
    let contents = gguf::read(data("kinds.gguf")).unwrap();
    let told = told();
    let theirs = told["tensors"].as_array().unwrap();
    assert_eq!(contents.tensors.len(), theirs.len());
    let mut formats = 0;
    for (ours, theirs) in contents.tensors.iter().zip(theirs) {
        assert_eq!(ours.name, theirs["name"].as_str().unwrap());
        assert_eq!(ours.kind.to_string(), theirs["type"].as_str().unwrap().to_owned().if_plain());
        assert_eq!(serde_json::json!(ours.shape), theirs["shape"], "{}", ours.name);
        // The file's alignment is 64, and a map begins at a page.
        assert_eq!(ours.bytes.bytes().as_ptr().addr() % 64, 0);
        formats += usize::from(matches!(ours.kind, Kind::Blocks(_)));
        let numbers = match ours.to_host().unwrap().values().unwrap() {
            Values::Float(numbers) => numbers,
            Values::Signed(numbers) => numbers.iter().map(|&x| x as f64).collect(),
            other => panic!("{other:?}"),
        };
        let some = match numbers.len() {
            25.. => [&numbers[..6], &numbers[numbers.len() - 6..]].concat(),
            _ => numbers,
        };
        let known: Vec<f64> = theirs["values"]
            .as_array()
            .unwrap()
            .iter()
            .map(|x| x.as_str().unwrap().parse().unwrap())
            .collect();
        assert_eq!(some, known, "{}", ours.name);
    }
    assert!(formats >= 23);
}

trait IfPlain {
    fn if_plain(self) -> String;
}

impl IfPlain for String {
    /// Element types have other names here.
    fn if_plain(self) -> String {
        if self.parse::<BlockFormat>().is_ok() { self } else { self.to_lowercase() }
    }
}

/// What is read and written again is the same file, byte for byte: so the package reads
/// what is written here.
#[test]
fn files_of_the_package_are_written_again() {
    let contents = gguf::read(data("kinds.gguf")).unwrap();
    let written = gguf::to_bytes(&contents.tensors, &contents.metadata).unwrap();
    assert!(written == fs::read(data("kinds.gguf")).unwrap());
    let path = folder("again").join("x.gguf");
    gguf::write(&path, &contents.tensors, &contents.metadata).unwrap();
    assert!(written == fs::read(&path).unwrap());
}

/// The same file, made where the tests run.
#[test]
fn the_oracle_has_the_same_file() {
    match std::env::var_os("ONEIR_ORACLES") {
        Some(oracles) => {
            let theirs = fs::read(PathBuf::from(oracles).join("blocks/kinds.gguf")).unwrap();
            assert!(theirs == fs::read(data("kinds.gguf")).unwrap());
        }
        None => eprintln!("skipped: ONEIR_ORACLES does not name the folder of the recorded files"),
    }
}

#[test]
fn scalars_empty_tensors_and_defaults() {
    let scalar = HostTensor::scalar(1.5f64);
    let empty = HostTensor::zeros(DType::F16, &[3, 0]).unwrap();
    let none = TensorInfo::blocks("none", &[0, 32], BlockFormat::Q4_0, Buffer::copy_of(&[])).unwrap();
    let tensors = [TensorInfo::plain("scalar", &scalar), none, TensorInfo::plain("empty", &empty)];
    let bytes = gguf::to_bytes(&tensors, &Metadata::new()).unwrap();
    assert!(bytes.len().is_multiple_of(32));
    let back = gguf::from_buffer(&Buffer::copy_of(&bytes)).unwrap();
    assert_eq!(back.tensor("scalar").unwrap().to_host().unwrap(), scalar);
    assert_eq!(back.tensor("empty").unwrap().to_host().unwrap(), empty);
    assert_eq!(back.tensor("none").unwrap().to_host().unwrap().shape().to_vec(), [0, 32]);
    assert!(back.tensor("other").is_none());

    // Without bytes there is nothing to align.
    let metadata: Metadata = [("general.alignment", 1u32 << 31)].into_iter().collect();
    let bytes = gguf::to_bytes(&tensors[1..], &metadata).unwrap();
    assert!(bytes.len() < 1000);
    assert_eq!(gguf::from_buffer(&Buffer::copy_of(&bytes)).unwrap().tensors.len(), 2);
}

#[test]
fn views_are_written_as_they_read() {
    let x = HostTensor::from_slice(&[2, 3], &[1i32, 2, 3, 4, 5, 6]).unwrap();
    let turned = x.transpose(&[1, 0]).unwrap();
    let part = x.slice(&[1, 0], &[1, 1], &[1, 3]).unwrap();
    let tensors = [TensorInfo::plain("turned", &turned), TensorInfo::plain("part", &part)];
    let bytes = gguf::to_bytes(&tensors, &Metadata::new()).unwrap();
    let back = gguf::from_buffer(&Buffer::copy_of(&bytes)).unwrap();
    assert_eq!(back.tensors[0].to_host().unwrap().to_vec::<i32>().unwrap(), [1, 4, 2, 5, 3, 6]);
    assert_eq!(back.tensors[1].to_host().unwrap().to_vec::<i32>().unwrap(), [4, 5, 6]);
}

#[test]
fn what_cannot_be_written_is_refused() {
    let tensor = HostTensor::from_slice(&[2, 16], &[1f32; 32]).unwrap();
    assert!(TensorInfo::encoded("q", &tensor, BlockFormat::Q4_0).is_err());
    let one = TensorInfo::plain("x", &tensor);
    let wrong = TensorInfo { shape: vec![2, 17], ..one.clone() };
    assert!(matches!(gguf::to_bytes(&[wrong], &Metadata::new()), Err(IoError::Tensor { .. })));
    let rows = TensorInfo { kind: Kind::Blocks(BlockFormat::Q4_0), ..one.clone() };
    assert!(matches!(gguf::to_bytes(&[rows], &Metadata::new()), Err(IoError::Tensor { .. })));
    for alignment in [Value::U32(24), Value::U32(0), Value::U64(32), "32".into()] {
        let metadata: Metadata = [("general.alignment", alignment)].into_iter().collect();
        let refused = gguf::to_bytes(&[], &metadata);
        assert!(matches!(refused, Err(IoError::WrongValue { .. })), "{refused:?}");
    }
}

#[test]
fn tensors_are_opened_with_the_blocks_decoded() {
    let folder = folder("open");
    let numbers: Vec<f32> = (96..128).map(|x| x as f32).collect();
    let tensor = HostTensor::from_slice(&[1, 32], &numbers).unwrap();
    let halves = tensor.cast(DType::BF16).unwrap();
    let path = folder.join("x.gguf");
    let tensors =
        [TensorInfo::encoded("q", &tensor, BlockFormat::Q8_0).unwrap(), TensorInfo::plain("h", &halves)];
    gguf::write(&path, &tensors, &Metadata::new()).unwrap();
    let opened = open_tensors(&path).unwrap();
    assert_eq!(opened[0].1.dtype(), DType::F32);
    assert_eq!(opened[0].1.to_vec::<f32>().unwrap(), numbers);
    assert_eq!(opened[1], ("h".to_owned(), halves));
    assert_eq!(open_stored(&path).unwrap().len(), 2);
    save_tensors(folder.join("y.gguf"), &opened).unwrap();
    assert_eq!(open_tensors(folder.join("y.gguf")).unwrap(), opened);
}

/// Writes one shard: its tensors' names, and what it says of itself.
fn shard(folder: &std::path::Path, file: &str, names: &[&str], said: &[(&str, Value)]) {
    let tensors: Vec<TensorInfo> =
        names.iter().map(|name| TensorInfo::plain(*name, &HostTensor::scalar(name.len() as i32))).collect();
    let metadata: Metadata = said.iter().cloned().collect();
    gguf::write(folder.join(file), &tensors, &metadata).unwrap();
}

fn split(number: u16, count: u16, tensors: i32) -> [(&'static str, Value); 3] {
    [("split.no", number.into()), ("split.count", count.into()), ("split.tensors.count", tensors.into())]
}

#[test]
fn shards_are_read_as_one() {
    let folder = folder("shards");
    let first = [&split(0, 3, 4)[..], &[("general.name", "three".into())]].concat();
    shard(&folder, "m-00001-of-00003.gguf", &["a", "bb"], &first);
    shard(&folder, "m-00002-of-00003.gguf", &[], &split(1, 3, 4));
    shard(&folder, "m-00003-of-00003.gguf", &["ccc", "d"], &split(2, 3, 4));
    for given in 1..=3 {
        let path = folder.join(format!("m-0000{given}-of-00003.gguf"));
        let all = gguf::read_sharded(&path).unwrap();
        let names: Vec<&str> = all.tensors.iter().map(|tensor| tensor.name.as_str()).collect();
        assert_eq!(names, ["a", "bb", "ccc", "d"]);
        assert_eq!(all.metadata.text("general.name").unwrap(), "three");
        assert_eq!(open_tensors(&path).unwrap().len(), 4);
    }
    assert_eq!(gguf::read(folder.join("m-00003-of-00003.gguf")).unwrap().tensors.len(), 2);

    // A file of its own is all of its model.
    shard(&folder, "alone.gguf", &["a"], &[]);
    assert_eq!(gguf::read_sharded(folder.join("alone.gguf")).unwrap().tensors.len(), 1);
}

#[test]
fn shards_that_do_not_fit_are_refused() {
    let folder = folder("misfits");
    let refused = |said: &str, file: &str| {
        let error = gguf::read_sharded(folder.join(file)).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    };
    let first = "m-00001-of-00002.gguf";
    let second = "m-00002-of-00002.gguf";
    shard(&folder, first, &["a"], &split(0, 2, 2));
    refused("cannot open", first);
    shard(&folder, second, &["b"], &split(0, 2, 2));
    refused("number 0 of 2, counted from 0, in shard 2 of 2", first);
    shard(&folder, second, &["a"], &split(1, 2, 2));
    refused("found `a` twice", second);
    shard(&folder, second, &["b", "c"], &split(1, 2, 2));
    refused("found 3 of 2", second);
    shard(&folder, second, &["b"], &[("split.count", 2u16.into())]);
    refused("expected a value of `split.no`", first);
    for name in
        ["m.gguf", "m-00001-of-00003.gguf", "m-1-of-2.gguf", "m-00003-of-00002.gguf", "m-00000-of-00002.gguf"]
    {
        shard(&folder, name, &["a"], &split(0, 2, 2));
        refused("name of a shard", name);
    }
    // A count that no folder could hold ends at the first file that is not there.
    shard(
        &folder,
        "n-00001-of-18446744073709551615.gguf",
        &[],
        &[("split.no", 0u16.into()), ("split.count", u64::MAX.into())],
    );
    refused("cannot open", "n-00001-of-18446744073709551615.gguf");
}
