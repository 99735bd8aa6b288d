//! What is written reads back the same, in every format and type.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use oneir_io::npy::{self, Endian, Options, Order, Version};
use oneir_io::npz::Compression;
use oneir_io::{Format, IoError, npz, open_tensors, safetensors, save_tensors};
use oneir_tensor::{ALIGNMENT, DType, HostTensor};

/// A folder of its own for each test.
fn folder(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("round-trip-{test}"));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Every byte pattern in turn, as bools where they must be.
fn pattern(dtype: DType, shape: &[usize]) -> HostTensor {
    let bytes = dtype.bytes_for(shape.iter().product()).unwrap();
    let code =
        |i: usize| if dtype == DType::Bool { u8::from(i.is_multiple_of(3)) } else { (i * 37 + 11) as u8 };
    HostTensor::from_bytes(dtype, shape, &(0..bytes).map(code).collect::<Vec<_>>()).unwrap()
}

/// Contiguous tensors and views of every kind.
fn samples(dtype: DType) -> Vec<HostTensor> {
    let cube = pattern(dtype, &[4, 6, 2]);
    let mut samples =
        vec![cube.clone(), pattern(dtype, &[8]), pattern(dtype, &[0, 3]), pattern(dtype, &[2; 10])];
    if dtype.bits() >= 8 {
        samples.extend([
            pattern(dtype, &[]),
            cube.transpose(&[2, 0, 1]).unwrap(),
            cube.transpose(&[2, 1, 0]).unwrap(),
            cube.slice(&[3, 1, 0], &[-1, 2, 1], &[3, 2, 2]).unwrap(),
            cube.slice(&[1, 2, 0], &[1, 1, 1], &[0, 2, 2]).unwrap(),
            pattern(dtype, &[1, 3]).broadcast(&[2, 3]).unwrap(),
        ]);
    }
    samples
}

fn named(tensors: Vec<HostTensor>) -> Vec<(String, HostTensor)> {
    tensors.into_iter().enumerate().map(|(i, tensor)| (format!("layer.{i}/w"), tensor)).collect()
}

#[test]
fn npy_in_every_layout() {
    for dtype in DType::COMPUTE {
        for tensor in samples(dtype) {
            for version in [Version::V1, Version::V2, Version::V3] {
                for order in [Order::C, Order::Fortran] {
                    for endian in [Endian::Little, Endian::Big] {
                        let options = Options { version, order, endian };
                        let bytes = npy::to_bytes(&tensor, options).unwrap();
                        let back = npy::from_bytes(&bytes).unwrap();
                        assert_eq!(back, tensor, "{options:?}");
                        let data = tensor.count() * dtype.size().unwrap();
                        assert_eq!((bytes.len() - data) % ALIGNMENT, 0);
                        assert_eq!(back.buffer().bytes().as_ptr() as usize % ALIGNMENT, 0);
                    }
                }
            }
        }
    }
}

#[test]
fn fortran_order_is_a_view() {
    let tensor = pattern(DType::F32, &[3, 4, 5]);
    let options = Options { order: Order::Fortran, ..Options::default() };
    let back = npy::from_bytes(&npy::to_bytes(&tensor, options).unwrap()).unwrap();
    assert_eq!(&back.layout().strides[..], [1, 3, 12]);
    assert_eq!(back, tensor);
}

#[test]
fn npz_stored_and_deflated() {
    let folder = folder("npz");
    let path = folder.join("x.npz");
    for dtype in DType::COMPUTE {
        let tensors = named(samples(dtype));
        for compression in [Compression::Stored, Compression::Deflated] {
            npz::write(&path, &tensors, compression).unwrap();
            assert_eq!(npz::read(&path).unwrap(), tensors);
            assert_eq!(npz::from_bytes(&fs::read(&path).unwrap()).unwrap(), tensors);
        }
    }
}

#[test]
fn deflated_tensors_far_larger_than_their_file() {
    let path = folder("inflate").join("x.npz");
    let tensors = vec![("zeros".to_owned(), HostTensor::zeros(DType::F64, &[1 << 20]).unwrap())];
    npz::write(&path, &tensors, Compression::Deflated).unwrap();
    assert!(fs::metadata(&path).unwrap().len() < 20_000);
    assert_eq!(npz::read(&path).unwrap(), tensors);
}

#[test]
fn safetensors_of_every_type_it_has() {
    let path = folder("safetensors").join("x.safetensors");
    let metadata =
        BTreeMap::from([("".to_owned(), "\u{0}\n\"".to_owned()), ("key".to_owned(), "{}".to_owned())]);
    for dtype in DType::ALL.iter().copied().filter(|d| d.computes() || d.is_float()) {
        let tensors = named(samples(dtype));
        safetensors::write(&path, &tensors, &metadata).unwrap();
        let back = safetensors::read(&path).unwrap();
        // Tensors without bytes lie where the next one does.
        let sorted = |mut tensors: Vec<(String, HostTensor)>| {
            tensors.sort_by(|a, b| a.0.cmp(&b.0));
            tensors
        };
        assert_eq!(sorted(back.tensors), sorted(tensors), "{dtype}");
        assert_eq!(back.metadata, metadata);
    }
}

#[test]
fn safetensors_elements_are_aligned_to_their_size() {
    let path = folder("aligned").join("x.safetensors");
    let dtypes = [DType::Bool, DType::F4E2M1, DType::BF16, DType::F64, DType::U8, DType::F32, DType::F16];
    let tensors = named(dtypes.iter().map(|d| pattern(*d, &[3, 2])).collect());
    save_tensors(&path, &tensors).unwrap();
    let back = safetensors::read(&path).unwrap().tensors;
    let order: Vec<DType> = back.iter().map(|(_, tensor)| tensor.dtype()).collect();
    let (f64, bf16, f16) = (DType::F64, DType::BF16, DType::F16);
    assert_eq!(order, [f64, DType::F32, bf16, f16, DType::Bool, DType::U8, DType::F4E2M1]);
    for (_, tensor) in back {
        let at = tensor.buffer().bytes().as_ptr() as usize;
        assert_eq!(at % tensor.dtype().size().unwrap_or(1), 0);
    }
}

#[test]
fn the_format_comes_from_the_name_and_the_content() {
    let folder = folder("formats");
    let tensors = named(vec![pattern(DType::I32, &[2, 3])]);
    for format in Format::ALL {
        let path = folder.join(format!("model.{}", format.name().to_uppercase()));
        save_tensors(&path, &tensors).unwrap();
        let back = open_tensors(&path).unwrap();
        assert_eq!(back[0].1, tensors[0].1);
        assert_eq!(back[0].0, if format == Format::Npy { "model" } else { "layer.0/w" });

        let unnamed = folder.join(format!("{format}-blob"));
        fs::copy(&path, &unnamed).unwrap();
        assert_eq!(open_tensors(&unnamed).unwrap()[0].1, tensors[0].1);

        let other = if format == Format::Npz { Format::Npy } else { Format::Npz };
        let misnamed = folder.join(format!("{format}.{other}"));
        fs::copy(&path, &misnamed).unwrap();
        match open_tensors(&misnamed) {
            Err(IoError::WrongFormat { expected, found, .. }) => {
                assert_eq!((expected, found), (other, format));
            }
            opened => panic!("{opened:?}"),
        }
    }
    let text = folder.join("notes.txt");
    fs::write(&text, "hello").unwrap();
    assert!(matches!(open_tensors(&text), Err(IoError::UnknownFormat { .. })));
    assert!(matches!(open_tensors(&folder), Err(IoError::Os { action: "open", .. })));
    assert!(matches!(open_tensors(folder.join("none.npy")), Err(IoError::Os { action: "open", .. })));
    assert!(matches!(save_tensors(&text, &tensors), Err(IoError::UnknownFormat { .. })));
    assert_eq!(fs::read(&text).unwrap(), b"hello");
}

#[test]
fn what_a_format_cannot_hold_is_refused_before_the_file_is_touched() {
    let folder = folder("refused");
    let one = pattern(DType::F32, &[2]);
    let twice = vec![("a".to_owned(), one.clone()), ("a".to_owned(), one.clone())];
    let reserved = vec![("__metadata__".to_owned(), one.clone())];
    let long = vec![("n".repeat(1 << 16), one)];
    let odd = named(vec![pattern(DType::F4E2M1, &[3])]);
    let cases: [(Format, Vec<(String, HostTensor)>); 12] = [
        (Format::Npy, twice.clone()),
        (Format::Npy, vec![]),
        (Format::Npy, named(vec![pattern(DType::F8E5M2, &[2])])),
        (Format::Npz, twice.clone()),
        (Format::Npz, named(vec![pattern(DType::U4, &[2])])),
        (Format::Npz, long),
        (Format::Gguf, twice.clone()),
        (Format::Gguf, named(vec![pattern(DType::Bool, &[2])])),
        (Format::Gguf, named(vec![pattern(DType::F32, &[1, 1, 1, 1, 2])])),
        (Format::Safetensors, twice),
        (Format::Safetensors, reserved),
        (Format::Safetensors, odd),
    ];
    for (format, tensors) in cases {
        let path = folder.join(format!("x.{format}"));
        fs::write(&path, "old").unwrap();
        let refused = save_tensors(&path, &tensors).unwrap_err();
        assert!(refused.to_string().contains(&*path.to_string_lossy()), "{refused}");
        assert_eq!(fs::read(&path).unwrap(), b"old", "{format}");
    }
    for dtype in [DType::I4, DType::U4, DType::I2, DType::U2] {
        let path = folder.join("x.safetensors");
        let refused = save_tensors(&path, &named(vec![pattern(dtype, &[8])]));
        assert!(matches!(refused, Err(IoError::UnwritableDType { format: Format::Safetensors, .. })));
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 4);
}

#[test]
fn a_mapped_file_can_be_replaced_while_its_tensors_live() {
    let path = folder("replace").join("x.safetensors");
    let (old, new) = (named(vec![pattern(DType::U8, &[9])]), named(vec![pattern(DType::F16, &[5])]));
    save_tensors(&path, &old).unwrap();
    let mapped = open_tensors(&path).unwrap();
    save_tensors(&path, &new).unwrap();
    assert_eq!(mapped, old);
    save_tensors(&path, &mapped).unwrap();
    assert_eq!(open_tensors(&path).unwrap(), old);
}

#[test]
fn empty_archives() {
    let folder = folder("empty");
    for format in [Format::Npz, Format::Safetensors, Format::Gguf] {
        let path = folder.join(format!("x.{format}"));
        save_tensors(&path, &[]).unwrap();
        assert_eq!(open_tensors(&path).unwrap(), []);
    }
}
