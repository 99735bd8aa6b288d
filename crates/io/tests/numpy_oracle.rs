//! Files that NumPy, ml_dtypes and safetensors wrote, against known values.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::PathBuf;

use oneir_io::npy::{self, Endian, Options, Order, Version};
use oneir_io::{IoError, npz, open_tensors, safetensors};
use oneir_tensor::{Complex32, DType, Element, HostTensor, bf16, f16};

const FLOATS: [f32; 6] = [0.0, 1.5, -2.25, 0.15625, f32::NEG_INFINITY, 448.0];

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn table<T: Element>(elements: [T; 6]) -> HostTensor {
    HostTensor::from_slice(&[2, 3], &elements).unwrap()
}

/// What the script saved for each type that computes.
fn known(dtype: DType) -> HostTensor {
    macro_rules! signed {
        ($t:ty) => {
            table([<$t>::MIN, -1, 0, 1, 2, <$t>::MAX])
        };
    }
    macro_rules! unsigned {
        ($t:ty) => {
            table([0, 1, 2, 3, 4, <$t>::MAX])
        };
    }
    match dtype {
        DType::Bool => table([true, false, true, true, false, false]),
        DType::U8 => unsigned!(u8),
        DType::U16 => unsigned!(u16),
        DType::U32 => unsigned!(u32),
        DType::U64 => unsigned!(u64),
        DType::I8 => signed!(i8),
        DType::I16 => signed!(i16),
        DType::I32 => signed!(i32),
        DType::I64 => signed!(i64),
        DType::F16 => table(FLOATS.map(f16::from_f32)),
        DType::BF16 => table(FLOATS.map(bf16::from_f32)),
        DType::F32 => table(FLOATS),
        DType::F64 => table(FLOATS.map(f64::from)),
        DType::Complex64 => table(
            [(0.0, 0.0), (1.5, -2.0), (0.0, -0.5), (4.0, 0.0), (-8.0, 1.0), (0.25, f32::INFINITY)]
                .map(|(re, im)| Complex32::new(re, im)),
        ),
        other => panic!("no npy file of {other}"),
    }
}

/// The codes that the script saved for each type that only stores.
const CODES: [u8; 6] = [0x00, 0x01, 0x38, 0x3C, 0x7B, 0xC0];

#[test]
fn every_npy_type_reads_and_writes_the_same_bytes() {
    for dtype in DType::COMPUTE {
        let path = data(&format!("{dtype}.npy"));
        let tensor = npy::read(&path).unwrap();
        // -0.5j is (-0, -0.5) to Python: equal in value, not in bits.
        if dtype == DType::Complex64 {
            assert_eq!(tensor.values().unwrap(), known(dtype).values().unwrap());
        } else {
            assert_eq!(tensor, known(dtype), "{dtype}");
        }
        let file = fs::read(&path).unwrap();
        assert_eq!(npy::to_bytes(&tensor, Options::default()).unwrap(), file, "{dtype}");
    }
}

#[test]
fn layouts_read_and_write_the_same_bytes() {
    let big = Options { endian: Endian::Big, ..Options::default() };
    let fortran = Options { order: Order::Fortran, ..Options::default() };
    let v2 = Options { version: Version::V2, ..Options::default() };
    let v3 = Options { version: Version::V3, ..Options::default() };
    for (name, dtype, options) in [
        ("u16_big", DType::U16, big),
        ("i32_big", DType::I32, big),
        ("f16_big", DType::F16, big),
        ("f64_big", DType::F64, big),
        ("complex64_big", DType::Complex64, big),
        ("fortran", DType::I16, fortran),
        ("version2", DType::I16, v2),
        ("version3", DType::I16, v3),
    ] {
        let path = data(&format!("{name}.npy"));
        let tensor = npy::read(&path).unwrap();
        assert_eq!(tensor.values().unwrap(), known(dtype).values().unwrap(), "{name}");
        assert_eq!((tensor.dtype(), &tensor.shape()[..]), (dtype, &[2, 3][..]), "{name}");
        assert_eq!(npy::to_bytes(&tensor, options).unwrap(), fs::read(&path).unwrap(), "{name}");
    }
    let transposed = npy::read(data("fortran.npy")).unwrap();
    assert_eq!(&transposed.layout().strides[..], [1, 2]);
}

#[test]
fn scalars_and_empty_arrays() {
    assert_eq!(npy::read(data("scalar.npy")).unwrap(), HostTensor::scalar(2.5f32));
    assert_eq!(npy::read(data("empty.npy")).unwrap(), HostTensor::zeros(DType::I64, &[0, 3]).unwrap());
    assert_eq!(npz::read(data("empty.npz")).unwrap(), []);
}

#[test]
fn other_types_are_refused_by_name() {
    for (name, called) in [
        ("object", "`|O` (Python objects)"),
        ("string", "`<U2` (strings)"),
        ("structured", "structured records"),
        ("complex128", "`<c16` (complex128)"),
    ] {
        match npy::read(data(&format!("refused_{name}.npy"))) {
            Err(IoError::UnreadableDType { path, found, .. }) => {
                assert_eq!(found, called);
                assert!(path.ends_with(format!("refused_{name}.npy")));
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn npz_members_keep_their_names_and_order() {
    for name in ["stored.npz", "deflated.npz"] {
        let expected = [
            ("b".to_owned(), known(DType::F32)),
            ("a/c".to_owned(), known(DType::U8)),
            ("é".to_owned(), HostTensor::scalar(-5i64)),
        ];
        assert_eq!(open_tensors(data(name)).unwrap(), expected, "{name}");
    }
}

#[test]
fn every_safetensors_type_reads() {
    let contents = safetensors::read(data("every.safetensors")).unwrap();
    assert_eq!(contents.metadata, BTreeMap::from([("quote".to_owned(), "\"\\é".to_owned())]));
    let tensors: HashMap<_, _> = contents.tensors.into_iter().collect();
    assert_eq!(tensors.len(), 20);
    for dtype in DType::COMPUTE {
        let tensor = &tensors[dtype.name()];
        assert_eq!(tensor.values().unwrap(), known(dtype).values().unwrap(), "{dtype}");
        assert_eq!((tensor.dtype(), &tensor.shape()[..]), (dtype, &[2, 3][..]));
    }
    for dtype in [DType::F8E4M3FN, DType::F8E4M3FNUZ, DType::F8E5M2, DType::F8E5M2FNUZ, DType::F8E8M0] {
        assert_eq!(tensors[dtype.name()], HostTensor::from_bytes(dtype, &[2, 3], &CODES).unwrap());
    }
    let f4 = HostTensor::from_bytes(DType::F4E2M1, &[2, 6], &CODES).unwrap();
    assert_eq!(tensors["f4e2m1"], f4);
}

#[test]
fn safetensors_tensors_share_one_map_in_file_order() {
    let contents = safetensors::read(data("every.safetensors")).unwrap();
    for pair in contents.tensors.windows(2) {
        let end = pair[0].1.buffer().bytes().as_ptr_range().end;
        assert_eq!(end, pair[1].1.buffer().bytes().as_ptr());
    }
}
