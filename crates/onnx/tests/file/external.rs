use std::fs;
use std::path::{Path, PathBuf};

use oneir_onnx::proto::TensorProto;
use oneir_onnx::{ElemType, OnnxError, OnnxFile, TensorData};
use prost::Message;

use crate::build::*;

/// An empty folder for one test, with a folder `model` in it.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("external").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("model")).unwrap();
    folder
}

fn external(elem: ElemType, dims: &[i64], entries: &[(&str, &str)]) -> TensorProto {
    TensorProto {
        name: Some("t".into()),
        dims: dims.to_vec(),
        data_type: Some(elem.code()),
        data_location: Some(1),
        external_data: entries.iter().map(|(k, v)| entry(k, v)).collect(),
        ..Default::default()
    }
}

fn open_in(folder: &Path, tensors: Vec<TensorProto>) -> Result<Vec<TensorData>, OnnxError> {
    let mut g = graph(&["x"], vec![], &["x"]);
    g.initializer = tensors;
    for (i, t) in g.initializer.iter_mut().enumerate() {
        t.name = Some(format!("t{i}"));
    }
    let path = folder.join("model").join("m.onnx");
    fs::write(&path, model(g).encode_to_vec()).unwrap();
    Ok(OnnxFile::open(path)?.graph.initializers.into_iter().map(|(_, data)| data).collect())
}

fn refusal(folder: &Path, dims: &[i64], entries: &[(&str, &str)]) -> String {
    match open_in(folder, vec![external(ElemType::Uint8, dims, entries)]) {
        Ok(data) => data[0].to_host().unwrap_err().to_string(),
        Err(e) => e.to_string(),
    }
}

#[test]
fn data_beside_the_model_is_a_view_of_one_map() {
    let folder = folder("view");
    fs::create_dir(folder.join("model/sub")).unwrap();
    fs::write(folder.join("model/sub/w.bin"), (0..=255u8).collect::<Vec<_>>()).unwrap();
    let data = open_in(
        &folder,
        vec![
            external(ElemType::Int32, &[2], &[("location", "sub/w.bin"), ("offset", "4"), ("length", "8")]),
            external(ElemType::Uint8, &[2], &[("location", "./sub/w.bin"), ("offset", "254")]),
            external(ElemType::Uint8, &[0], &[("location", "absent")]),
        ],
    )
    .unwrap();
    assert!(data[0].is_external());
    let first = data[0].to_host().unwrap();
    let second = data[1].to_host().unwrap();
    assert_eq!(data[2].to_host().unwrap().count(), 0);
    drop(data);
    assert_eq!(first.to_vec::<i32>().unwrap(), [0x0706_0504, 0x0b0a_0908]);
    assert_eq!(second.to_vec::<u8>().unwrap(), [254, 255]);
    let distance = second.buffer().bytes().as_ptr() as usize - first.buffer().bytes().as_ptr() as usize;
    assert_eq!(distance, 250);
}

#[test]
fn shape_and_type_are_known_without_the_data() {
    let folder = folder("absent");
    let data = open_in(&folder, vec![external(ElemType::Float, &[9], &[("location", "absent")])]).unwrap();
    assert_eq!((data[0].elem(), data[0].shape()), (ElemType::Float, &[9][..]));
    let message = data[0].to_host().unwrap_err().to_string();
    assert!(message.starts_with("initializer `t0`: external data `absent`: "), "{message}");
}

#[test]
fn paths_out_of_the_folder_are_refused() {
    let folder = folder("escape");
    fs::write(folder.join("secret"), [1; 8]).unwrap();
    let absolute = folder.join("secret");
    for location in ["../secret", "sub/../../secret", "..", absolute.to_str().unwrap(), "/etc/passwd"] {
        let message = refusal(&folder, &[8], &[("location", location)]);
        assert!(message.ends_with("the path leaves the model's folder"), "{location}: {message}");
    }
    assert!(refusal(&folder, &[8], &[]).ends_with("no location is given"));
    assert!(refusal(&folder, &[8], &[("location", "a\0b")]).contains("external data"));

    let mut g = graph(&["x"], vec![], &["x"]);
    g.initializer = vec![external(ElemType::Uint8, &[1], &[("location", "w")])];
    let file = open(&model(g)).unwrap();
    let message = file.graph.initializers[0].1.to_host().unwrap_err().to_string();
    assert!(message.ends_with("the model was not read from a folder"), "{message}");
}

#[cfg(unix)]
#[test]
fn links_may_stay_inside_and_not_lead_out() {
    use std::os::unix::fs::symlink;
    let folder = folder("links");
    fs::write(folder.join("secret"), [1; 8]).unwrap();
    fs::write(folder.join("model/w"), [2; 8]).unwrap();
    symlink("w", folder.join("model/inside")).unwrap();
    symlink("../secret", folder.join("model/outside")).unwrap();
    symlink("..", folder.join("model/up")).unwrap();
    for location in ["outside", "up/secret"] {
        let message = refusal(&folder, &[8], &[("location", location)]);
        assert!(message.contains("leads out of the model's folder"), "{message}");
    }
    let data = open_in(&folder, vec![external(ElemType::Uint8, &[8], &[("location", "inside")])]).unwrap();
    assert_eq!(data[0].to_host().unwrap().to_vec::<u8>().unwrap(), [2; 8]);

    symlink("model", folder.join("alias")).unwrap();
    let file = OnnxFile::open(folder.join("alias/m.onnx")).unwrap();
    file.graph.initializers[0].1.to_host().unwrap();
}

#[test]
fn ranges_are_checked() {
    let folder = folder("ranges");
    fs::write(folder.join("model/w"), [0; 16]).unwrap();
    fs::write(folder.join("model/empty"), []).unwrap();
    let at = |dims: &[i64], entries: &[(&str, &str)]| {
        let mut all = vec![("location", "w")];
        all.extend(entries);
        refusal(&folder, dims, &all)
    };
    assert!(at(&[17], &[]).ends_with("bytes 0 to 0 + 17 go past the end of the file, at 16"));
    assert!(at(&[8], &[("offset", "9")]).contains("past the end"));
    assert!(at(&[8], &[("offset", "18446744073709551615")]).contains("past the end"));
    assert!(at(&[8], &[("length", "9")]).ends_with("needs 8 bytes, found 9"));
    assert!(at(&[8], &[("length", "7")]).ends_with("needs 8 bytes, found 7"));
    assert!(at(&[8], &[("offset", "-1")]).ends_with("offset `-1` is not a byte count"));
    assert!(at(&[8], &[("length", "many")]).ends_with("length `many` is not a byte count"));
    assert!(at(&[8], &[("offset", "99999999999999999999")]).contains("is not a byte count"));
    assert!(at(&[1], &[("location", ".")]).ends_with("not a regular file"));
    assert!(at(&[1], &[("location", "empty")]).contains("past the end"));
    assert!(at(&[1 << 60], &[]).contains("past the end"));
    let strings = external(ElemType::String, &[1], &[("location", "w")]);
    assert!(open_in(&folder, vec![strings]).unwrap_err().to_string().contains("STRING"));
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = folder("unreadable");
    let path = folder.join("model/none.onnx");
    let message = OnnxFile::open(&path).unwrap_err().to_string();
    assert!(message.contains("none.onnx"), "{message}");
    fs::write(&path, []).unwrap();
    assert!(matches!(OnnxFile::open(&path), Err(OnnxError::NoGraph)));
    assert!(matches!(OnnxFile::open(&folder), Err(OnnxError::Io { .. })));
}
