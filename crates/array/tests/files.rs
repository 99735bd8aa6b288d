//! Arrays in GGUF files.

use oneir_array::files::{self, Blocks, Metadata};
use oneir_array::{Array, ArrayError};
use oneir_cpu as _;
use oneir_io::gguf::{self, TensorInfo};
use oneir_tensor::{BlockFormat, DType, HostTensor};

fn path(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("array-{name}.gguf"))
}

#[test]
fn blocks_are_decoded_packed_or_skipped() {
    let path = path("blocks");
    let numbers: Vec<f32> = (0..64).map(|x| (x % 16) as f32 - 8.0).collect();
    let weights = HostTensor::from_slice(&[2, 32], &numbers).unwrap();
    let norm = HostTensor::from_slice(&[2], &[0.5f32, 2.0]).unwrap().cast(DType::F16).unwrap();
    let tensors =
        [TensorInfo::encoded("w", &weights, BlockFormat::Q4_0).unwrap(), TensorInfo::plain("norm", &norm)];
    gguf::write(&path, &tensors, &Metadata::new()).unwrap();

    let (decoded, _) = files::load_gguf(&path, Blocks::Decoded).unwrap();
    assert_eq!(decoded[0].1.to_vec::<f32>().unwrap(), numbers);
    assert_eq!(decoded[1].1.dtype(), DType::F16);
    // Loaded arrays compute.
    let product = decoded[0].1.matmul(&Array::ones(&[32, 1], DType::F32));
    assert_eq!(product.to_vec::<f32>().unwrap(), [-16.0, -16.0]);

    let (packed, _) = files::load_gguf(&path, Blocks::Packed).unwrap();
    assert_eq!(packed[0].1.shape(), [2, 18]);
    assert_eq!(packed[0].1.to_vec::<u8>().unwrap(), tensors[0].bytes.bytes());

    let (plain, _) = files::load_gguf(&path, Blocks::Skipped).unwrap();
    assert_eq!(plain.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["norm"]);

    // The general functions decode.
    assert_eq!(files::load_all(&path).unwrap()[0].1.to_vec::<f32>().unwrap(), numbers);
}

#[test]
fn what_is_saved_is_loaded() {
    let path = path("saved");
    let x = Array::arange(6, DType::F32).reshape(&[2, 3]);
    let turned = x.transpose([1, 0]).astype(DType::BF16);
    let metadata: Metadata = [("layers", 2u32)].into_iter().collect();
    files::save_gguf(&path, &[("x", &x), ("turned", &turned)], &metadata).unwrap();
    let (arrays, said) = files::load_gguf(&path, Blocks::Decoded).unwrap();
    assert_eq!(said.u64("layers").unwrap(), 2);
    assert_eq!(arrays[0].1.to_vec::<f32>().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    assert_eq!(arrays[1].1.astype(DType::F32).to_vec::<f32>().unwrap(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);

    let refused = files::save_gguf(&path, &[("x", &x.astype(DType::U32))], &metadata);
    assert!(matches!(refused, Err(ArrayError::File(_))));
    assert_eq!(files::load_gguf(&path, Blocks::Decoded).unwrap().0.len(), 2);
}
